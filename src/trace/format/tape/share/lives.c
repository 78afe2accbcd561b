/* When locations begin and end of which no header tells it, as of killed programs. */
#include "trace/format/tape/share/share.h"

#include <stdlib.h>

struct heard {
    const struct lull_trace *trace;
    struct lull_tape_life *lives; /* malloc'd */
    size_t count, capacity;
};

static lull_status tell_lives(const struct lull_trace *trace, union lull_tape_slot *slots,
                              struct lull_tape_words *words, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        const struct lull_tape_file *file = &data->files[l];
        struct lull_tape_life life;
        if (!lull_tape_is_own(trace, file->process) || lull_tape_tells_life(data, file))
            continue;
        status = lull_tape_need(trace, l, err);
        if (status == LULL_OK)
            status = lull_tape_find_life(trace, l, slots, &life, err);
        if (status == LULL_OK)
            lull_tape_say(words, &life, sizeof life);
    }
    return status;
}

static lull_status hear_lives(void *context, uint32_t index, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct heard *heard = context;
    const unsigned char *at = bytes;
    struct lull_tape_ear ear = {at, at + size, false};
    (void)index;
    while (ear.at < ear.end) {
        if (!lull_array_reserve(&heard->lives, &heard->capacity, heard->count + 1,
                                sizeof *heard->lives))
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", heard->trace->path);
        struct lull_tape_life *life = &heard->lives[heard->count++];
        if (!lull_tape_hear(&ear, life, sizeof *life) ||
            life->location >= heard->trace->n_locations)
            return lull_tape_other_run(heard->trace, err);
    }
    return LULL_OK;
}

static int compare_lives(const void *a, const void *b)
{
    const struct lull_tape_life *x = a, *y = b;
    return (x->location > y->location) - (x->location < y->location);
}

lull_status lull_tape_share_lives(const struct lull_trace *trace, struct lull_tape_life **ret_lives,
                                  size_t *ret_count, struct lull_error *err)
{
    struct lull_tape_words words = {0};
    struct heard heard = {.trace = trace};
    union lull_tape_slot *slots = malloc(LULL_TAPE_CHUNK);
    lull_status status = slots ? tell_lives(trace, slots, &words, err)
                               : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    free(slots);
    status = lull_tape_tell_all(trace, &words, status, hear_lives, &heard, err);
    if (heard.count > 0)
        qsort(heard.lives, heard.count, sizeof *heard.lives, compare_lives);
    *ret_lives = heard.lives;
    *ret_count = heard.count;
    return status;
}
