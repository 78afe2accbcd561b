/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps: what each location did when, without gaps. Samples: in which code it was. */
#include "columns/tables.h"

#include <stdlib.h>

enum step_column {
    STEP_LOCATION,
    STEP_BEGIN,
    STEP_END,
    STEP_ACTIVITY,
    STEP_PARALLEL,
    STEP_REGION,
    STEP_NAME,
    STEP_USER,
    STEP_COLUMNS
};

enum sample_column {
    SAMPLE_LOCATION,
    SAMPLE_TIME,
    SAMPLE_WEIGHT,
    SAMPLE_ACTIVITY,
    SAMPLE_PARALLEL,
    SAMPLE_REGION,
    SAMPLE_NAME,
    SAMPLE_USER,
    SAMPLE_OBJECT,
    SAMPLE_OFFSET,
    SAMPLE_COLUMNS
};

struct lull_step_tables {
    const struct lull_tables *shared;
    struct lull_arrow_file steps, samples;
};

static lull_status put_span(struct lull_step_tables *tables, uint32_t location,
                            const struct lull_step *step, struct lull_error *err)
{
    struct lull_arrow_file *file = &tables->steps;
    const struct lull_tables *shared = tables->shared;
    lull_set_int32(file, STEP_LOCATION, location);
    lull_set_int64(file, STEP_BEGIN, step->time);
    lull_set_int64(file, STEP_END, step->span.end);
    lull_set_word(file, STEP_ACTIVITY, &shared->activities, step->activity);
    lull_set_bool(file, STEP_PARALLEL, step->parallel);
    lull_set_index(file, STEP_REGION, step->region);
    lull_set_word(file, STEP_NAME, &shared->regions, step->region);
    lull_set_word(file, STEP_USER, &shared->regions, step->span.user);
    return lull_arrow_row(file, err);
}

static lull_status put_sample(struct lull_step_tables *tables, uint32_t location,
                              const struct lull_step *step, struct lull_error *err)
{
    struct lull_arrow_file *file = &tables->samples;
    const struct lull_tables *shared = tables->shared;
    lull_set_int32(file, SAMPLE_LOCATION, location);
    lull_set_int64(file, SAMPLE_TIME, step->time);
    lull_set_int64(file, SAMPLE_WEIGHT, (int64_t)step->sample.weight);
    lull_set_word(file, SAMPLE_ACTIVITY, &shared->activities, step->activity);
    lull_set_bool(file, SAMPLE_PARALLEL, step->parallel);
    lull_set_index(file, SAMPLE_REGION, step->region);
    lull_set_word(file, SAMPLE_NAME, &shared->regions, step->region);
    lull_set_word(file, SAMPLE_USER, &shared->regions, step->sample.user);
    lull_set_word(file, SAMPLE_OBJECT, &shared->objects, step->object);
    if (step->object != LULL_NONE)
        lull_set_uint64(file, SAMPLE_OFFSET, step->sample.offset);
    else
        lull_set_null(file, SAMPLE_OFFSET);
    return lull_arrow_row(file, err);
}

static lull_status put_steps(void *context, unsigned worker, const struct lull_steps *steps,
                             struct lull_error *err)
{
    struct lull_step_tables *tables = context;
    lull_status status = LULL_OK;
    (void)worker;
    for (uint32_t i = 0; i < steps->count && status == LULL_OK; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SPAN)
            status = put_span(tables, steps->location, step, err);
        else if (step->kind == LULL_STEP_SAMPLE)
            status = put_sample(tables, steps->location, step, err);
    }
    return status;
}

lull_status lull_step_tables_open(const struct lull_tables *shared,
                                  struct lull_step_tables **ret_tables, struct lull_error *err)
{
    struct lull_step_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return lull_tables_no_memory(shared, err);
    tables->shared = shared;
    const struct lull_hash *regions = &shared->regions.texts;
    const struct lull_hash *activities = &shared->activities.texts;
    const struct lull_arrow_column steps[STEP_COLUMNS] = {
        [STEP_LOCATION] = {"location", LULL_ARROW_INT32, false, NULL},
        [STEP_BEGIN] = {"begin", LULL_ARROW_INT64, false, NULL},
        [STEP_END] = {"end", LULL_ARROW_INT64, false, NULL},
        [STEP_ACTIVITY] = {"activity", LULL_ARROW_NAME, false, activities},
        [STEP_PARALLEL] = {"parallel", LULL_ARROW_BOOL, false, NULL},
        [STEP_REGION] = {"region", LULL_ARROW_INT32, true, NULL},
        [STEP_NAME] = {"name", LULL_ARROW_NAME, true, regions},
        [STEP_USER] = {"user", LULL_ARROW_NAME, true, regions},
    };
    const struct lull_arrow_column samples[SAMPLE_COLUMNS] = {
        [SAMPLE_LOCATION] = {"location", LULL_ARROW_INT32, false, NULL},
        [SAMPLE_TIME] = {"time", LULL_ARROW_INT64, false, NULL},
        [SAMPLE_WEIGHT] = {"weight", LULL_ARROW_INT64, false, NULL},
        [SAMPLE_ACTIVITY] = {"activity", LULL_ARROW_NAME, false, activities},
        [SAMPLE_PARALLEL] = {"parallel", LULL_ARROW_BOOL, false, NULL},
        [SAMPLE_REGION] = {"region", LULL_ARROW_INT32, true, NULL},
        [SAMPLE_NAME] = {"name", LULL_ARROW_NAME, true, regions},
        [SAMPLE_USER] = {"user", LULL_ARROW_NAME, true, regions},
        [SAMPLE_OBJECT] = {"object", LULL_ARROW_NAME, true, &shared->objects.texts},
        [SAMPLE_OFFSET] = {"offset", LULL_ARROW_UINT64, true, NULL},
    };
    lull_status status = lull_table_open(shared, "steps", steps, STEP_COLUMNS, &tables->steps, err);
    if (status == LULL_OK)
        status = lull_table_open(shared, "samples", samples, SAMPLE_COLUMNS, &tables->samples, err);
    if (status != LULL_OK) {
        lull_step_tables_close(tables, false, NULL);
        return status;
    }
    *ret_tables = tables;
    return LULL_OK;
}

struct lull_consumer lull_step_tables_consumer(struct lull_step_tables *tables)
{
    return (struct lull_consumer){.context = tables,
                                  .wants = LULL_STEP_MASK(LULL_STEP_SPAN) |
                                           LULL_STEP_MASK(LULL_STEP_SAMPLE),
                                  .steps = put_steps,
                                  .abreast = true};
}

lull_status lull_step_tables_close(struct lull_step_tables *tables, bool complete,
                                   struct lull_error *err)
{
    const lull_status status = lull_arrow_close(&tables->steps, complete, err);
    const lull_status other = lull_arrow_close(&tables->samples, complete && status == LULL_OK,
                                               status == LULL_OK ? err : NULL);
    free(tables);
    return status != LULL_OK ? status : other;
}
