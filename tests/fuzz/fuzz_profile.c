/* Profiles of any content, and the metrics of those that are accepted. */
#include "metrics/pop.h"
#include "metrics/profile.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compute(const struct lull_breakdown *breakdown, struct lull_arena *arena)
{
    struct lull_pop_input *input;
    struct lull_pop_parallel *parallels;
    struct lull_metric_value *values =
        lull_arena_zero(arena, (size_t)lull_metric_count, sizeof *values);
    if (lull_pop_from_breakdown(breakdown, true, arena, &input, NULL) != LULL_OK)
        return;
    lull_pop_compute(input, input, LULL_SCALING_STRONG, values, NULL);
    lull_pop_parallels(breakdown, arena, &parallels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown, *again;
    struct lull_error err;
    if (lull_profile_parse((const char *)data, size, "fuzz", arena, &breakdown, &err) == LULL_OK) {
        compute(breakdown, arena);
        if (lull_profile_parse((const char *)data, size, "fuzz", arena, &again, &err) != LULL_OK)
            abort();
        lull_breakdown_merge(breakdown, again, arena, &err);
    }
    lull_arena_destroy(arena);
    return 0;
}
