/* What was counted between any two moments: the readings of a leaf and its useful time, in pieces
 * over each of which the amount is spread evenly. Where there are too many, neighbours are joined.
 */
#include "timeline/builder.h"

#include "base/array.h"

#include <stdlib.h>

/* Pieces of a curve, of all leaves and of one: 3 curves of these take some 75 MB. */
enum { ALL_PIECES = 1 << 20, LEAST_PIECES = 128, MOST_PIECES = 1 << 16 };

uint32_t lull_timeline_curve_room(uint32_t n_leaves)
{
    const uint32_t room = ALL_PIECES / (n_leaves ? n_leaves : 1);
    if (room < LEAST_PIECES)
        return 0;
    return room < MOST_PIECES ? room & ~1u : MOST_PIECES;
}

static void join_neighbours(struct lull_timeline_curve *curve)
{
    for (uint32_t i = 0; i + 1 < curve->count; i += 2) {
        const struct lull_timeline_amount *one = &curve->pieces[i], *next = one + 1;
        curve->pieces[i / 2] =
            (struct lull_timeline_amount){one->begin, next->end, one->value + next->value};
    }
    curve->count /= 2;
    curve->per_piece *= 2;
}

bool lull_timeline_curve_add(struct lull_timeline_curve *curve, uint32_t room,
                             const struct lull_timeline_amount *amount)
{
    if (room == 0)
        return true;
    if (curve->in_last > 0 && curve->in_last < curve->per_piece) {
        struct lull_timeline_amount *last = &curve->pieces[curve->count - 1];
        last->end = amount->end;
        last->value += amount->value;
        curve->in_last++;
        return true;
    }
    curve->per_piece = curve->per_piece ? curve->per_piece : 1;
    if (curve->count == room)
        join_neighbours(curve);
    if (!lull_array_reserve(&curve->pieces, &curve->capacity, curve->count + (size_t)1,
                            sizeof *curve->pieces))
        return false;
    curve->pieces[curve->count++] = *amount;
    curve->in_last = 1;
    return true;
}

static double part_of(const struct lull_timeline_amount *amount, int64_t from, int64_t to)
{
    const int64_t begin = amount->begin > from ? amount->begin : from;
    const int64_t end = amount->end < to ? amount->end : to;
    return begin < end ? (double)amount->value *
                             ((double)(end - begin) / (double)(amount->end - amount->begin))
                       : 0;
}

double lull_timeline_curve_between(const struct lull_timeline_curve *curve, int64_t from,
                                   int64_t to)
{
    uint32_t low = 0, high = curve->count; /* the first that ends behind `from` */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (curve->pieces[middle].end > from)
            high = middle;
        else
            low = middle + 1;
    }
    double sum = 0;
    for (; low < curve->count && curve->pieces[low].begin < to; low++)
        sum += part_of(&curve->pieces[low], from, to);
    return sum;
}
