/* SPDX-License-Identifier: BSD-3-Clause */
#include "columns/words.h"

#include "base/array.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ==== words =================================================================================== */

/* What may be shown of a text, in memory of malloc; NULL: no memory. */
static char *clean_text(const char *text, size_t *ret_length)
{
    char *clean = NULL;
    size_t length = 0, capacity = 0;
    do {
        if (!lull_array_reserve(&clean, &capacity, length + LULL_UTF8_PIECE, 1)) {
            free(clean);
            return NULL;
        }
        if (*text)
            length += lull_utf8_clean(&text, clean + length);
    } while (*text);
    *ret_length = length;
    return clean;
}

bool lull_column_words_add(struct lull_column_words *words, const char *name)
{
    size_t length;
    char *clean = clean_text(name, &length);
    uint64_t *place =
        clean ? lull_hash_add(&words->texts, clean, length, words->texts.count, NULL) : NULL;
    free(clean);
    if (!place ||
        !lull_array_reserve(&words->of, &words->capacity, words->count + 1, sizeof *words->of))
        return false;
    words->of[words->count++] = (uint32_t)*place;
    return true;
}

bool lull_column_words_add_all(struct lull_column_words *words, unsigned count,
                               const char *(*name)(unsigned))
{
    for (unsigned i = 0; i < count; i++)
        if (!lull_column_words_add(words, name(i)))
            return false;
    return true;
}

void lull_column_words_free(struct lull_column_words *words)
{
    lull_hash_free(&words->texts);
    free(words->of);
    *words = (struct lull_column_words){0};
}

/* ==== definitions ============================================================================= */

bool lull_column_words_of_regions(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_regions; i++)
        if (!lull_column_words_add(words, trace->regions[i].name))
            return false;
    return true;
}

bool lull_column_words_of_comms(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_comms; i++)
        if (!lull_column_words_add(words, trace->comms[i].name))
            return false;
    return true;
}

bool lull_column_words_of_objects(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_objects; i++) {
        const struct lull_object *object = &trace->objects[i];
        if (!lull_column_words_add(words, object->function ? object->function : object->path))
            return false;
    }
    return true;
}
