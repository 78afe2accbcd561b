/* Functions whose calls were left out because they are short: the user has to know that there were
 * more. */
#include "tape/definition.h"
#include "trace/format/tape/read/merge.h"

#include <stdlib.h>

void lull_tape_define_throttled(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                uint32_t id, struct lull_tape_fields *fields)
{
    struct lull_tape_data *data = merge->trace->format_data;
    const uint32_t region =
        lull_tape_index_of(&lull_tape_names_of(merge, scope)->maps[LULL_TAPE_MAP_REGION], id);
    const uint64_t ns = lull_tape_field_u64(fields), calls = lull_tape_field_u64(fields);
    if (region == LULL_NONE)
        fields->bad = true;
    if (fields->bad)
        return;
    struct lull_tape_throttled *known = data->throttled;
    while (known && known->region != region)
        known = known->next;
    if (!known) {
        known = lull_arena_zero(merge->trace->arena, 1, sizeof *known);
        *known = (struct lull_tape_throttled){.next = data->throttled, .region = region, .ns = ns};
        data->throttled = known;
    }
    if (calls != LULL_TAPE_NOT_COUNTED)
        known->calls += calls;
    else
        known->processes++; /* each says so first, and counts at its end */
    known->counted += calls != LULL_TAPE_NOT_COUNTED;
    if (ns > known->ns)
        known->ns = ns;
}

static int by_calls(const void *a, const void *b)
{
    const struct lull_left_out *x = a, *y = b;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return (x->region > y->region) - (x->region < y->region);
}

static void list_left_out(struct lull_trace *trace, const struct lull_tape_throttled *all)
{
    uint32_t count = 0;
    for (const struct lull_tape_throttled *one = all; one; one = one->next)
        count++;
    trace->left_out = lull_arena_zero(trace->arena, count, sizeof *trace->left_out);
    for (const struct lull_tape_throttled *one = all; one; one = one->next)
        trace->left_out[trace->n_left_out++] =
            (struct lull_left_out){.region = one->region,
                                   .calls = one->calls,
                                   .at_least = one->counted < one->processes,
                                   .ns = (int64_t)one->ns};
    qsort(trace->left_out, count, sizeof *trace->left_out, by_calls);
}

void lull_tape_tell_throttled(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    if (!data->throttled)
        return;
    list_left_out(trace, data->throttled);
    for (uint32_t i = 0; i < trace->n_left_out; i++)
        lull_trace_add_quirk(trace,
                             "calls of short functions are left out, their time is that of their "
                             "callers (lull record --throttle; lull info lists them)",
                             "%s", trace->regions[trace->left_out[i].region].name);
}
