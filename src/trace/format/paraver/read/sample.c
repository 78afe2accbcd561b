/* A look at the first records, for traces without a .pcf. */
#include "base/array.h"
#include "trace/format/paraver/read/header.h"

enum { SAMPLE = 1 << 20, MOST_SAMPLED = 1024 /* types */ };

static void add_sampled_type(struct lull_prv_sample *sample, uint64_t type)
{
    for (size_t i = 0; i < sample->n_types; i++)
        if (sample->types[i] == type)
            return;
    /* A sample may miss some. */
    if (sample->n_types == MOST_SAMPLED ||
        !lull_array_reserve(&sample->types, &sample->capacity, sample->n_types + 1,
                            sizeof *sample->types))
        return;
    sample->types[sample->n_types++] = type;
}

/* 2:cpu:application:task:thread:time:type:value:type:value... */
static void sample_types(struct lull_prv_sample *sample, const uint8_t *line)
{
    const uint8_t *at = line;
    uint64_t value;
    for (int field = 0; lull_prv_number(&at, &value); field++) {
        if (field >= 6 && field % 2 == 0)
            add_sampled_type(sample, value);
        if (*at != ':')
            return;
        at++;
    }
}

lull_status lull_prv_take_sample(struct lull_prv_lines *lines, struct lull_prv_sample *sample,
                                 struct lull_error *err)
{
    uint64_t until = lines->offset + SAMPLE;
    while (!lines->ended && lines->offset < until) {
        if (lines->line[0] == '1')
            sample->states = true;
        else if (lines->line[0] == '2')
            sample_types(sample, lines->line);
        lull_status status = lull_prv_next_line(lines, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}
