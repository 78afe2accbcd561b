/* A noise from what the user says. */
#include "sim/spec.h"
#include "sim/noise/noise.h"

#include <string.h>

static lull_status find_noise_class(const struct lull_spec *spec,
                                    const struct lull_noise_class **ret, struct lull_error *err)
{
    const char *names[32];
    unsigned count = 0;
    *ret = lull_noise_find(lull_spec_name(spec));
    if (*ret)
        return LULL_OK;
    for (; count < lull_n_noise_classes && count < 31; count++)
        names[count] = lull_noise_classes[count]->name;
    names[count] = NULL;
    return lull_spec_unknown_name(spec, "noise", names, err);
}

static lull_status read_per(struct lull_spec *spec, double *ret_per, struct lull_error *err)
{
    static const struct lull_parameter per = {
        "per", "time of computation that one amount is for", LULL_TIME_NS, 0, 1, 1e18, false};
    if (strcmp(lull_spec_string(spec, "per", "operation"), "operation") == 0)
        return LULL_OK;
    return lull_spec_number(spec, &per, ret_per, err);
}

static lull_status read_noisy_ranks(struct lull_spec *spec, uint32_t n_ranks,
                                    struct lull_arena *arena, struct lull_noise_spec *noise,
                                    struct lull_error *err)
{
    const uint32_t *list;
    uint32_t count;
    lull_status status = lull_spec_list(spec, "ranks", 0, n_ranks - 1, &list, &count, err);
    if (status != LULL_OK || count == 0)
        return status;
    struct lull_rank_range *ranges = lull_arena_alloc(arena, count * sizeof *ranges);
    for (uint32_t i = 0; i < count; i++) {
        if (noise->n_ranges && ranges[noise->n_ranges - 1].last + 1 == list[i])
            ranges[noise->n_ranges - 1].last = list[i];
        else
            ranges[noise->n_ranges++] = (struct lull_rank_range){list[i], list[i]};
    }
    noise->ranges = ranges;
    return LULL_OK;
}

lull_status lull_noise_read(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                            const struct lull_noise **ret_noise, struct lull_error *err)
{
    static const char *const phases[] = {"random", "synchronised", NULL};
    const struct lull_noise_class *class;
    unsigned phase = 0;
    lull_status status = find_noise_class(spec, &class, err);
    if (status != LULL_OK)
        return status;
    struct lull_noise_spec noise = lull_noise_spec_empty(class);
    for (unsigned i = 0; i < class->n_parameters && status == LULL_OK; i++)
        status = lull_spec_number(spec, &class->parameters[i], &noise.values[i], err);
    if (status == LULL_OK && class->has_per)
        status = read_per(spec, &noise.per, err);
    if (status == LULL_OK && class->has_phase)
        status = lull_spec_choice(spec, "phase", phases, 0, &phase, err);
    noise.synchronised = phase == 1;
    if (status == LULL_OK && class->has_file)
        noise.file = lull_spec_string(spec, "file", NULL);
    if (status == LULL_OK)
        status = read_noisy_ranks(spec, n_ranks, arena, &noise, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    return status == LULL_OK ? lull_noise_create(&noise, arena, ret_noise, err) : status;
}
