/* From labels and tables to definitions: regions, states, counters, markers, and the look-up that
 * the scan uses.
 *
 * Definitions must be complete before the scan, so every region type has a catch-all for values
 * that are named nowhere, and there is one marker for types that are named nowhere. */
#include "trace/format/paraver/read/number.h"
#include "trace/format/paraver/tables.h"

#include "trace/classify/classify.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_COUNTERS = 1024, /* per location a bit each and a reading each are held */
    DENSE_VALUES = 4096
};

struct type_builder {
    struct lull_trace *trace;
    struct lull_paraver *paraver;
    const struct lull_prv_labels *labels;
    struct lull_prv_types *types;
    size_t types_capacity, regions_capacity, counters_capacity, markers_capacity, states_capacity;
};

/* ---- which types there are ------------------------------------------------------------------- */

struct candidate {
    uint64_t number;
    const struct lull_prv_label_type *label; /* NULL: not in the .pcf */
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    /* the labelled first; of two labels the one that stands first in the file */
    if (!left->label || !right->label)
        return (left->label == NULL) - (right->label == NULL);
    return left->label < right->label ? -1 : left->label > right->label;
}

/* Sorted by number, each once. */
static struct candidate *collect(const struct type_builder *builder,
                                 const struct lull_prv_sample *sample, size_t *ret_count)
{
    size_t most = builder->labels->n_types + lull_prv_n_known_types + sample->n_types, n = 0;
    struct candidate *all = lull_arena_zero(builder->trace->arena, most, sizeof *all);
    for (size_t i = 0; i < builder->labels->n_types; i++)
        all[n++] = (struct candidate){builder->labels->types[i].number, &builder->labels->types[i]};
    for (size_t i = 0; i < lull_prv_n_known_types; i++)
        all[n++].number = lull_prv_known_types[i].number;
    for (size_t i = 0; i < sample->n_types; i++)
        all[n++].number = sample->types[i];
    qsort(all, n, sizeof *all, compare_candidates);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || all[kept - 1].number != all[i].number)
            all[kept++] = all[i];
    *ret_count = kept;
    return all;
}

/* ---- regions --------------------------------------------------------------------------------- */

struct lull_region lull_prv_make_region(const char *name, const struct lull_prv_known_type *known,
                                        uint8_t role)
{
    struct lull_region region = {.name = name,
                                 .file = "",
                                 .paradigm = known->paradigm,
                                 .role = role,
                                 .parallel = known->parallel};
    if (known->number == LULL_PRV_MPI_COLLECTIVE) {
        /* the type knows that it is a collective, the name knows which */
        struct lull_region named = {.name = name, .file = "", .paradigm = LULL_PARADIGM_MPI};
        lull_classify_region(&named);
        if (named.role != LULL_ROLE_FUNCTION)
            region.role = named.role;
    }
    return region;
}

static uint32_t add_region(struct type_builder *builder, const char *name,
                           const struct lull_prv_known_type *known, uint8_t role)
{
    struct lull_trace *trace = builder->trace;
    trace->regions = lull_arena_grow(trace->arena, trace->regions, &builder->regions_capacity,
                                     trace->n_regions + 1, sizeof *trace->regions);
    trace->regions[trace->n_regions] = lull_prv_make_region(name, known, role);
    return trace->n_regions++;
}

static const struct lull_prv_known_value *find_value(uint64_t type, uint64_t value)
{
    for (size_t i = 0; i < lull_prv_n_known_values; i++)
        if (lull_prv_known_values[i].type == type && lull_prv_known_values[i].value == value)
            return &lull_prv_known_values[i];
    return NULL;
}

static void add_value(struct type_builder *builder, struct lull_prv_type *type,
                      const struct lull_prv_known_type *known, uint64_t value, const char *label,
                      size_t *capacity)
{
    struct lull_arena *arena = builder->trace->arena;
    const struct lull_prv_known_value *meaning = find_value(type->number, value);
    if (known->prefixed && value < LULL_PRV_OWN_VALUES)
        label = lull_arena_printf(arena, "%s: %s", type->label, label);
    type->values =
        lull_arena_grow(arena, type->values, capacity, type->n_values + 1, sizeof *type->values);
    type->values[type->n_values++] = (struct lull_prv_value){
        value, add_region(builder, label, known, meaning ? meaning->role : known->role)};
}

/* Which of the MPI types a call is recorded under. */
static uint64_t type_of_call(const char *name)
{
    struct lull_region region = {.name = name, .file = ""};
    lull_classify_region(&region);
    switch (region.activity) {
    case LULL_MPI_P2P:
        return LULL_PRV_MPI_P2P;
    case LULL_MPI_COLLECTIVE:
        return LULL_PRV_MPI_COLLECTIVE;
    case LULL_MPI_ONE_SIDED:
        return LULL_PRV_MPI_RMA;
    case LULL_MPI_IO:
        return LULL_PRV_MPI_IO;
    default:
        return LULL_PRV_MPI_OTHER;
    }
}

/* What the tables say, for types whose values the .pcf does not list. */
static void add_known_values(struct type_builder *builder, struct lull_prv_type *type,
                             const struct lull_prv_known_type *known, size_t *capacity)
{
    for (size_t i = 0; i < lull_prv_n_known_values; i++) {
        const struct lull_prv_known_value *value = &lull_prv_known_values[i];
        if (value->type == type->number)
            add_value(builder, type, known, value->value, value->label, capacity);
    }
    if (known->paradigm != LULL_PARADIGM_MPI)
        return;
    for (size_t i = 0; i < lull_prv_n_mpi_calls; i++) {
        const struct lull_prv_known_name *call = &lull_prv_mpi_calls[i];
        if (type_of_call(call->name) == type->number)
            add_value(builder, type, known, call->number, call->name, capacity);
    }
}

static int compare_values(const void *a, const void *b)
{
    const struct lull_prv_value *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? -1 : 1;
    return left->region < right->region ? -1 : left->region > right->region;
}

static void index_values(struct type_builder *builder, struct lull_prv_type *type)
{
    qsort(type->values, type->n_values, sizeof *type->values, compare_values);
    uint64_t most = 0;
    for (uint32_t i = 0; i < type->n_values; i++)
        if (type->values[i].value < DENSE_VALUES)
            most = type->values[i].value + 1;
    type->n_dense = (uint32_t)most;
    type->dense = lull_arena_zero(builder->trace->arena, most, sizeof *type->dense);
    memset(type->dense, 0xff, most * sizeof *type->dense); /* LULL_NONE */
    for (uint32_t i = type->n_values; i-- > 0;)
        if (type->values[i].value < most)
            type->dense[type->values[i].value] = type->values[i].region;
}

static void fill_region_type(struct type_builder *builder, struct lull_prv_type *type,
                             const struct lull_prv_known_type *known,
                             const struct lull_prv_label_type *label)
{
    size_t capacity = 0;
    type->nests = known->nests;
    type->collective = known->number == LULL_PRV_MPI_COLLECTIVE;
    bool single = known->number == LULL_PRV_FLUSH; /* all values are one region, lull's name */
    bool listed = false;
    for (size_t i = 0; !single && label && i < label->n_values; i++)
        listed |= label->values[i].number != 0;
    for (size_t i = 0; listed && i < label->n_values; i++)
        if (label->values[i].number != 0)
            add_value(builder, type, known, label->values[i].number, label->values[i].text,
                      &capacity);
    if (!listed && !single)
        add_known_values(builder, type, known, &capacity);
    type->index = add_region(builder, single ? known->label : type->label, known, known->role);
    if (type->n_values > 0)
        index_values(builder, type);
}

/* ---- counters and markers -------------------------------------------------------------------- */

/* "PAPI_TOT_INS ([Instr completed])" and "(PAPI_TOT_INS) Instr completed" -> "PAPI_TOT_INS" */
static const char *short_name(struct lull_arena *arena, const char *label)
{
    size_t inside = *label == '(' ? strcspn(label + 1, " \t)") : 0;
    if (inside > 0 && label[inside + 1] == ')')
        return lull_arena_strndup(arena, label + 1, inside);
    const char *end = label + strcspn(label, " \t");
    const char *rest = end + strspn(end, " \t");
    if (end == label || (*rest != '[' && *rest != '('))
        return label;
    return lull_arena_strndup(arena, label, (size_t)(end - label));
}

static const char *known_counter(uint64_t number)
{
    for (size_t i = 0; i < lull_prv_n_known_counters; i++)
        if (lull_prv_known_counters[i].number == number)
            return lull_prv_known_counters[i].name;
    return NULL;
}

/* A label counts where it is PAPI's name of an event; else the type's number says more. */
static const char *counter_name(struct lull_arena *arena, const struct lull_prv_type *type,
                                bool labelled)
{
    const char *known = known_counter(type->number);
    const char *name = labelled ? short_name(arena, type->label) : type->label;
    return known && strncmp(name, "PAPI_", 5) != 0 ? known : name;
}

static void add_counter(struct type_builder *builder, struct lull_prv_type *type, bool labelled)
{
    struct lull_trace *trace = builder->trace;
    trace->counters = lull_arena_grow(trace->arena, trace->counters, &builder->counters_capacity,
                                      trace->n_counters + 1, sizeof *trace->counters);
    type->kind = LULL_PRV_COUNTER;
    type->index = trace->n_counters;
    trace->counters[trace->n_counters++] = (struct lull_counter){
        .name = counter_name(trace->arena, type, labelled), .unit = "", .source_id = type->number};
}

static uint32_t add_marker(struct type_builder *builder, const char *name, uint64_t source_id)
{
    struct lull_trace *trace = builder->trace;
    trace->markers = lull_arena_grow(trace->arena, trace->markers, &builder->markers_capacity,
                                     trace->n_markers + 1, sizeof *trace->markers);
    trace->markers[trace->n_markers] = (struct lull_marker){.name = name, .source_id = source_id};
    return trace->n_markers++;
}

/* ---- types ----------------------------------------------------------------------------------- */

bool lull_prv_own_region(uint64_t number, struct lull_prv_known_type *ret_known)
{
    if (number < LULL_PRV_OWN_REGIONS || number >= LULL_PRV_OWN_REGIONS_END)
        return false;
    uint32_t code = (uint32_t)(number - LULL_PRV_OWN_REGIONS);
    unsigned paradigm = code / 10000, role = code / 100 % 100, parallel = code % 100;
    if (paradigm >= LULL_PARADIGMS || role >= LULL_ROLES || parallel > 1)
        return false;
    *ret_known = (struct lull_prv_known_type){.kind = LULL_PRV_REGION,
                                              .paradigm = (uint8_t)paradigm,
                                              .role = (uint8_t)role,
                                              .parallel = parallel,
                                              .nests = true};
    return true;
}

static void add_type(struct type_builder *builder, const struct candidate *candidate)
{
    struct lull_arena *arena = builder->trace->arena;
    struct lull_prv_types *types = builder->types;
    struct lull_prv_known_type own;
    const struct lull_prv_known_type *known = lull_prv_known_type(candidate->number);
    if (!known && lull_prv_own_region(candidate->number, &own))
        known = &own;
    bool labelled = candidate->label && candidate->label->text[0];
    types->types = lull_arena_grow(arena, types->types, &builder->types_capacity,
                                   types->n_types + 1, sizeof *types->types);
    struct lull_prv_type *type = &types->types[types->n_types++];
    type->number = candidate->number;
    if (labelled)
        type->label = candidate->label->text;
    else
        type->label = known && known->label ? known->label
                                            : lull_arena_printf(arena, "event type %llu",
                                                                (unsigned long long)type->number);
    if (known) {
        type->kind = known->kind;
        type->index = known->index;
        if (known->kind == LULL_PRV_REGION)
            fill_region_type(builder, type, known, candidate->label);
    } else if (lull_prv_is_counter(type->number) && builder->trace->n_counters < MOST_COUNTERS) {
        add_counter(builder, type, labelled);
    } else {
        type->kind = LULL_PRV_MARKER;
        type->index = add_marker(builder, type->label, type->number);
    }
}

/* ---- look-up --------------------------------------------------------------------------------- */

/* The type's digits as the scan meets them (lull_prv_align); 0 for numbers that do not fit. */
static uint64_t text_key(uint64_t number)
{
    uint64_t key = 0;
    if (number > 99999999)
        return 0;
    for (unsigned bit = 56; number > 0; number /= 10, bit -= 8)
        key |= (number % 10) << bit;
    return key;
}

/* False: no memory. */
static bool build_index(struct type_builder *builder)
{
    struct lull_prv_types *types = builder->types;
    struct lull_arena *arena = builder->trace->arena;
    unsigned bits = 8;
    while ((UINT64_C(1) << bits) < (uint64_t)types->n_types * 4)
        bits++;
    types->mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    types->shift = 64 - bits;
    size_t size = (size_t)types->mask + 1;
    types->by_text = lull_arena_zero(arena, size, sizeof *types->by_text);
    for (uint32_t i = 0; i < types->n_types; i++) {
        uint64_t number = types->types[i].number, key = text_key(number);
        if (!lull_hash_add(&types->by_number, &number, sizeof number, i, NULL))
            return false;
        if (key == 0)
            continue;
        uint32_t at = lull_prv_hash(key, types->shift);
        while (types->by_text[at].key)
            at = (at + 1) & types->mask;
        types->by_text[at] = (struct lull_prv_text_key){key, i};
    }
    return true;
}

uint32_t lull_prv_type_index(const struct lull_prv_types *types, uint64_t number)
{
    const uint64_t *index = lull_hash_find(&types->by_number, &number, sizeof number);
    return index ? (uint32_t)*index : LULL_NONE;
}

uint32_t lull_prv_type_region(const struct lull_prv_type *type, uint64_t value, bool *ret_named)
{
    *ret_named = true;
    if (value < type->n_dense && type->dense[value] != LULL_NONE)
        return type->dense[value];
    size_t low = 0, high = value < type->n_dense ? 0 : type->n_values;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (type->values[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < type->n_values && type->values[low].value == value)
        return type->values[low].region;
    *ret_named = type->n_values == 0;
    return type->index;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void add_state(struct type_builder *builder, uint32_t number, const char *name,
                      uint8_t activity)
{
    struct lull_trace *trace = builder->trace;
    trace->states = lull_arena_grow(trace->arena, trace->states, &builder->states_capacity,
                                    trace->n_states + 1, sizeof *trace->states);
    trace->states[trace->n_states++] =
        (struct lull_state){.name = name, .number = number, .activity = activity};
}

static int compare_states(const void *a, const void *b)
{
    const struct lull_state *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

static bool has_state(const struct lull_trace *trace, uint32_t count, uint64_t number)
{
    for (uint32_t s = 0; s < count; s++)
        if (trace->states[s].number == number)
            return true;
    return false;
}

/* All that the tables know, under the names of the .pcf, and what only the .pcf knows; the last one
 * is for numbers that neither knows. */
static void add_states(struct type_builder *builder)
{
    const struct lull_prv_labels *labels = builder->labels;
    struct lull_trace *trace = builder->trace;
    for (size_t i = 0; i < lull_prv_n_known_states; i++) {
        const struct lull_prv_known_state *known = &lull_prv_known_states[i];
        const char *name = known->label;
        for (size_t l = labels->n_states; l-- > 0;)
            if (labels->states[l].number == known->number)
                name = labels->states[l].text;
        add_state(builder, known->number, name, known->activity);
    }
    for (size_t l = 0; l < labels->n_states && trace->n_states < 1000; l++)
        if (labels->states[l].number < UINT32_MAX &&
            !has_state(trace, trace->n_states, labels->states[l].number))
            add_state(builder, (uint32_t)labels->states[l].number, labels->states[l].text,
                      LULL_OTHER);
    add_state(builder, UINT32_MAX, "state named nowhere", LULL_OTHER);
    qsort(trace->states, trace->n_states, sizeof *trace->states, compare_states);
}

/* ---- roles of threads ------------------------------------------------------------------------ */

/* Threads other than the first belong to OpenMP unless the trace knows pthreads alone. The tables
 * define OpenMP regions for every trace, so these say nothing. */
static void decide_roles_by_types(struct type_builder *builder, const struct candidate *candidates,
                                  size_t n, const struct lull_prv_sample *sample)
{
    bool openmp = false, pthreads = false;
    for (size_t i = 0; i < n; i++) {
        const struct lull_prv_known_type *known = lull_prv_known_type(candidates[i].number);
        bool used = candidates[i].label != NULL;
        for (size_t s = 0; !used && s < sample->n_types; s++)
            used = sample->types[s] == candidates[i].number;
        openmp |= used && known && (known->paradigm == LULL_PARADIGM_OPENMP || known->parallel);
        pthreads |= used && (candidates[i].number == 61000000 || candidates[i].number == 60000020);
    }
    struct lull_trace *trace = builder->trace;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        trace->locations[l].role = trace->locations[l].number == 0 ? LULL_THREAD_MASTER
                                   : openmp || !pthreads           ? LULL_THREAD_WORKER
                                                                   : LULL_THREAD_FREE;
}

bool lull_prv_build_types(struct lull_trace *trace, struct lull_paraver *paraver,
                          const struct lull_prv_labels *labels,
                          const struct lull_prv_sample *sample)
{
    struct type_builder builder = {
        .trace = trace, .paraver = paraver, .labels = labels, .types = &paraver->types};
    size_t n;
    struct candidate *candidates = collect(&builder, sample, &n);
    for (size_t i = 0; i < n; i++)
        add_type(&builder, &candidates[i]);
    paraver->types.unnamed_marker = add_marker(&builder, "event types named nowhere", 0);
    bool indexed = build_index(&builder);
    add_states(&builder);
    decide_roles_by_types(&builder, candidates, n, sample);
    trace->has_states = sample->states;
    return indexed;
}
