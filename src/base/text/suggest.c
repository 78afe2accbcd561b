#include "base/text/suggest.h"

#include <string.h>

#define LONGEST 32 /* of words that are looked at */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, remove, replace, swap neighbours) that lead from one word to the other: the
 * restricted Damerau-Levenshtein distance, row by row. */
static size_t distance(const char *from, const char *to)
{
    size_t n = strlen(from), m = strlen(to);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] =
                least(above[j - 1] + (from[i - 1] != to[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *lull_suggest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 1 + strlen(word) / 3; /* farther ones would only confuse */
    for (size_t i = 0; i < count; i++) {
        if (!candidates[i])
            continue;
        size_t edits = distance(word, candidates[i]);
        if (edits <= best_distance && (!best || edits < best_distance)) {
            best = candidates[i];
            best_distance = edits;
        }
    }
    return best;
}
