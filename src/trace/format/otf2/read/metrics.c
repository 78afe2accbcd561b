/* Counters, and which classes of metrics are made of them. */
#include "trace/format/otf2/read/build.h"

#include <inttypes.h>
#include <string.h>

static uint8_t metric_mode(OTF2_MetricMode mode)
{
    OTF2_MetricMode value = mode & OTF2_METRIC_VALUE_MASK;
    OTF2_MetricMode timing = mode & OTF2_METRIC_TIMING_MASK;
    if (value == OTF2_METRIC_VALUE_ABSOLUTE)
        return LULL_OTF2_DIFFERENCE;
    if (timing == OTF2_METRIC_TIMING_NEXT)
        return LULL_OTF2_DELAYED;
    if (value == OTF2_METRIC_VALUE_RELATIVE || timing == OTF2_METRIC_TIMING_LAST)
        return LULL_OTF2_AS_IS;
    return LULL_OTF2_DIFFERENCE;
}

/* "ms" for unit "s" and 10^-3 would need a table of prefixes: "10^-3 s" says the same. */
static const char *metric_unit(const struct lull_otf2_builder *builder,
                               const struct lull_otf2_member *member)
{
    const char *unit = lull_otf2_text(builder->definitions, member->unit);
    struct lull_arena *arena = builder->trace->arena;
    if (member->exponent == 0)
        return lull_arena_strdup(arena, unit);
    return lull_arena_printf(arena, "%d^%" PRIi64 "%s%s", member->base == OTF2_BASE_BINARY ? 2 : 10,
                             member->exponent, *unit ? " " : "", unit);
}

/* Counters are told apart by name: tracers that do not unify ids define one per process. */
static uint32_t counter_of(const struct lull_otf2_builder *builder,
                           const struct lull_otf2_member *member)
{
    struct lull_trace *trace = builder->trace;
    const char *name = lull_otf2_text(builder->definitions, member->name);
    for (uint32_t c = 0; c < trace->n_counters; c++)
        if (strcmp(trace->counters[c].name, name) == 0)
            return c;
    trace->counters[trace->n_counters] =
        (struct lull_counter){.name = lull_arena_strdup(trace->arena, name),
                              .unit = metric_unit(builder, member),
                              .source_id = member->id};
    return trace->n_counters++;
}

static bool is_state_class(const struct lull_otf2_builder *builder,
                           const struct lull_otf2_map *members,
                           const struct lull_otf2_metric_class *source)
{
    static const char *const names[] = {LULL_OTF2_STATE, LULL_OTF2_STATE_DURATION};
    for (uint32_t m = 0; m < 2; m++) {
        uint32_t index =
            source->n_members == 2 ? lull_otf2_find(members, source->members[m]) : LULL_NONE;
        if (index == LULL_NONE ||
            strcmp(lull_otf2_text(builder->definitions,
                                  builder->definitions->members.items[index].name),
                   names[m]) != 0)
            return false;
    }
    return true;
}

static lull_status build_class(struct lull_otf2_builder *builder,
                               const struct lull_otf2_map *members,
                               const struct lull_otf2_metric_class *source,
                               struct lull_otf2_class *class, struct lull_error *err)
{
    struct lull_arena *arena = builder->trace->arena;
    class->state = is_state_class(builder, members, source);
    class->n_members = source->n_members;
    if (class->state)
        return LULL_OK;
    class->counters = lull_arena_alloc(arena, source->n_members * sizeof *class->counters);
    class->modes = lull_arena_alloc(arena, source->n_members);
    for (uint32_t m = 0; m < source->n_members; m++) {
        uint32_t index = lull_otf2_find(members, source->members[m]);
        if (index == LULL_NONE)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: metric class %" PRIu64 " has member %u, which is not defined",
                             builder->trace->path, source->id, source->members[m]);
        const struct lull_otf2_member *member = &builder->definitions->members.items[index];
        class->counters[m] = counter_of(builder, member);
        class->modes[m] = metric_mode(member->mode);
    }
    if (class->n_members > builder->archive->most_members)
        builder->archive->most_members = class->n_members;
    return LULL_OK;
}

/* Classes, and instances under their own ids: events may name either. */
static void index_classes(struct lull_otf2_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_otf2_map classes;
    uint32_t n_classes = definitions->classes.count;
    uint32_t count = n_classes + definitions->instances.count;
    uint64_t *ids = lull_arena_alloc(definitions->arena, count * sizeof *ids);
    uint32_t *values = lull_arena_alloc(definitions->arena, count * sizeof *values);
    lull_otf2_map_build(&classes, definitions->arena, definitions->classes.items,
                        sizeof *definitions->classes.items, NULL, n_classes);
    for (uint32_t i = 0; i < n_classes; i++) {
        ids[i] = definitions->classes.items[i].id;
        values[i] = i;
    }
    for (uint32_t i = n_classes; i < count; i++) {
        const struct lull_otf2_metric_instance *instance =
            &definitions->instances.items[i - n_classes];
        ids[i] = instance->id;
        values[i] = lull_otf2_find(&classes, instance->class_id);
    }
    lull_otf2_map_build(&builder->archive->classes, builder->trace->arena, ids, sizeof *ids, values,
                        count);
}

lull_status lull_otf2_build_metrics(struct lull_otf2_builder *builder, struct lull_error *err)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_trace *trace = builder->trace;
    struct lull_otf2_map members;
    lull_otf2_map_build(&members, definitions->arena, definitions->members.items,
                        sizeof *definitions->members.items, NULL, definitions->members.count);
    trace->counters =
        lull_arena_zero(trace->arena, definitions->members.count, sizeof *trace->counters);
    builder->archive->class_list = lull_arena_zero(trace->arena, definitions->classes.count,
                                                   sizeof *builder->archive->class_list);
    for (uint32_t i = 0; i < definitions->classes.count; i++) {
        struct lull_otf2_class *class = &builder->archive->class_list[i];
        lull_status status =
            build_class(builder, &members, &definitions->classes.items[i], class, err);
        if (status != LULL_OK)
            return status;
        trace->has_states |= class->state;
    }
    index_classes(builder);
    return LULL_OK;
}
