#include "trace/format/paraver/write/codes.h"

#include "trace/classify/classify.h"

#include <string.h>

enum {
    OWN_COUNTERS = 44900000,
    OWN_MARKERS = 92000000,
};

/* ---- regions --------------------------------------------------------------------------------- */

static uint64_t mpi_type(uint8_t activity)
{
    switch (activity) {
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

/* Whether the reader would make the same of the region's name under this type. */
static bool survives(const struct lull_region *region, const struct lull_prv_known_type *known)
{
    struct lull_region read = lull_prv_make_region(region->name, known, known->role);
    lull_classify_region(&read);
    return read.paradigm == region->paradigm && read.activity == region->activity &&
           read.user == region->user && read.parallel == region->parallel &&
           (read.role == region->role || region->paradigm == LULL_PARADIGM_MPI);
}

/* One of Extrae's types where one says it all, else one of lull's own. Of Extrae's only those that
 * stack: elsewhere in other hands a region may be inside another of its type. */
static uint64_t region_type(const struct lull_region *region)
{
    if (region->paradigm == LULL_PARADIGM_MPI) {
        uint64_t type = mpi_type(region->activity);
        if (survives(region, lull_prv_known_type(type)))
            return type;
    }
    if (region->paradigm == LULL_PARADIGM_USER && region->role == LULL_ROLE_FUNCTION &&
        !region->parallel && survives(region, lull_prv_known_type(LULL_PRV_USER_FUNCTION)))
        return LULL_PRV_USER_FUNCTION;
    for (size_t i = 0; i < lull_prv_n_known_types; i++) {
        const struct lull_prv_known_type *known = &lull_prv_known_types[i];
        bool flush = known->number == LULL_PRV_FLUSH; /* has one region, called so */
        if (known->kind == LULL_PRV_REGION && known->nests && known->number > 100000 &&
            known->paradigm == region->paradigm && known->role == region->role &&
            known->parallel == region->parallel &&
            (!flush || strcmp(region->name, known->label) == 0) && survives(region, known))
            return known->number;
    }
    return lull_prv_own_region_type(region->paradigm, region->role, region->parallel);
}

static uint64_t mpi_value(const char *name)
{
    for (size_t i = 0; i < lull_prv_n_mpi_calls; i++)
        if (strcmp(lull_prv_mpi_calls[i].name, name) == 0)
            return lull_prv_mpi_calls[i].number;
    return 0;
}

/* MPI calls by Extrae's numbers, the first of a name at least; all others in order. */
static uint64_t region_value(const struct lull_prv_codes *codes, uint32_t index, const char *name)
{
    const struct lull_prv_code *code = &codes->regions[index];
    bool mpi = code->type >= LULL_PRV_MPI_P2P && code->type <= LULL_PRV_MPI_IO;
    uint64_t value = mpi ? mpi_value(name) : 0;
    for (uint32_t r = 0; value > 0 && r < index; r++)
        if (codes->regions[r].type == code->type && codes->regions[r].value == value)
            value = 0;
    return value > 0 ? value : LULL_PRV_OWN_VALUES + index;
}

static void code_regions(const struct lull_trace *trace, struct lull_prv_codes *codes)
{
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_prv_code *code = &codes->regions[r];
        code->type = region_type(&trace->regions[r]);
        const struct lull_prv_known_type *known = lull_prv_known_type(code->type);
        code->nests = !known || known->nests;
        const struct lull_region *region = &trace->regions[r];
        /* Calls from one place have the code of those from anywhere. */
        code->value = region->whole == LULL_NONE ? region_value(codes, r, region->name)
                                                 : LULL_PRV_OWN_VALUES + r;
        codes->regions[trace->n_regions + r] = (struct lull_prv_code){
            .type = lull_prv_own_region_type(region->paradigm, region->role, region->parallel),
            .value = LULL_PRV_OWN_VALUES + r,
            .nests = true};
    }
}

/* ---- counters and markers -------------------------------------------------------------------- */

static bool taken(const struct lull_prv_code *codes, uint32_t count, uint64_t type)
{
    for (uint32_t i = 0; i < count; i++)
        if (codes[i].type == type)
            return true;
    return false;
}

static uint64_t counter_type(const struct lull_counter *counter)
{
    if (lull_prv_is_counter(counter->source_id))
        return counter->source_id;
    for (size_t i = 0; i < lull_prv_n_known_counters; i++)
        if (strcmp(lull_prv_known_counters[i].name, counter->name) == 0)
            return lull_prv_known_counters[i].number;
    return 0;
}

static void code_counters(const struct lull_trace *trace, struct lull_prv_codes *codes)
{
    for (uint32_t c = 0; c < trace->n_counters; c++) {
        uint64_t type = counter_type(&trace->counters[c]);
        if (type == 0 || taken(codes->counters, c, type))
            type = OWN_COUNTERS + c;
        codes->counters[c].type = type;
    }
}

/* A type that the reader would take for something else is no type for a marker. */
static bool free_for_markers(uint64_t type)
{
    struct lull_prv_known_type own;
    return type > 0 && !lull_prv_known_type(type) && !lull_prv_own_region(type, &own) &&
           !lull_prv_is_counter(type);
}

static void code_markers(const struct lull_trace *trace, struct lull_prv_codes *codes)
{
    for (uint32_t m = 0; m < trace->n_markers; m++) {
        uint64_t type = trace->markers[m].source_id;
        if (!free_for_markers(type) || taken(codes->markers, m, type))
            type = OWN_MARKERS + m;
        codes->markers[m].type = type;
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static const struct lull_prv_known_state *find_known_state(uint32_t number)
{
    for (size_t i = 0; i < lull_prv_n_known_states; i++)
        if (lull_prv_known_states[i].number == number)
            return &lull_prv_known_states[i];
    return NULL;
}

uint32_t lull_prv_state_of(uint8_t activity)
{
    static const uint8_t numbers[LULL_ACTIVITIES] = {
        [LULL_USEFUL] = 1,         [LULL_MPI_P2P] = 8,      [LULL_MPI_COLLECTIVE] = 13,
        [LULL_MPI_ONE_SIDED] = 25, [LULL_MPI_IO] = 101,     [LULL_MPI_OTHER] = 15,
        [LULL_OMP_SYNC] = 5,       [LULL_OMP_SCHEDULE] = 7, [LULL_OMP_LOCK] = 102,
        [LULL_IDLE] = 0,           [LULL_DEVICE] = 17,      [LULL_IO] = 12,
        [LULL_FLUSH] = 103,        [LULL_OTHER] = 104,
    };
    return numbers[activity];
}

static void code_states(const struct lull_trace *trace, struct lull_prv_codes *codes)
{
    for (uint32_t s = 0; s < trace->n_states; s++) {
        const struct lull_state *state = &trace->states[s];
        const struct lull_prv_known_state *known = find_known_state(state->number);
        bool good = known && known->activity == state->activity;
        codes->states[s] = good ? state->number : lull_prv_state_of(state->activity);
    }
}

/* ---- communicators, tasks, nodes and processors
 * ----------------------------------------------------- */

static void code_comms(const struct lull_trace *trace, struct lull_prv_codes *codes)
{
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        const struct lull_comm *comm = &trace->comms[c];
        bool good = comm->paradigm == LULL_PARADIGM_MPI && comm->size > 0;
        for (uint32_t r = 0; good && r < comm->size; r++)
            good = trace->processes[lull_comm_member(comm, r)].application ==
                   trace->processes[lull_comm_member(comm, 0)].application;
        codes->comms[c] = good ? c + 1 : 0;
    }
}

/* A rank may lack its process; the numbers of tasks have no gaps. */
static void code_tasks(const struct lull_trace *trace, struct lull_prv_codes *codes)
{
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        bool first =
            p == 0 || trace->processes[p].application != trace->processes[p - 1].application;
        codes->tasks[p] = first ? 1 : codes->tasks[p - 1] + 1;
    }
}

static uint32_t code_of_node(const struct lull_trace *trace, struct lull_prv_codes *codes,
                             uint32_t *seen, uint32_t node)
{
    uint32_t *code = &seen[node == LULL_NONE ? trace->n_nodes : node];
    if (*code == 0) {
        codes->node_of[codes->n_nodes++] = node;
        *code = codes->n_nodes;
    }
    return *code;
}

/* Every thread has a processor of its own, numbered node by node. */
static void code_nodes(const struct lull_trace *trace, struct lull_prv_codes *codes,
                       struct lull_arena *arena)
{
    uint32_t *seen = lull_arena_zero(arena, (size_t)trace->n_nodes + 1, sizeof *seen);
    codes->node_of = lull_arena_zero(arena, (size_t)trace->n_nodes + 1, sizeof *codes->node_of);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        codes->nodes[p] = code_of_node(trace, codes, seen, trace->processes[p].node);
    uint32_t *next = lull_arena_zero(arena, (size_t)codes->n_nodes + 2, sizeof *next);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        next[codes->nodes[trace->locations[l].process] + 1]++;
    codes->node_cpus = lull_arena_zero(arena, codes->n_nodes, sizeof *codes->node_cpus);
    for (uint32_t n = 1; n <= codes->n_nodes; n++) {
        codes->node_cpus[n - 1] = next[n + 1];
        next[n + 1] += next[n];
    }
    for (uint32_t l = 0; l < trace->n_locations; l++)
        codes->cpus[l] = ++next[codes->nodes[trace->locations[l].process]];
}

struct lull_prv_codes *lull_prv_codes_make(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_prv_codes *codes = lull_arena_zero(arena, 1, sizeof *codes);
    codes->regions = lull_arena_zero(arena, (size_t)trace->n_regions * 2, sizeof *codes->regions);
    codes->counters = lull_arena_zero(arena, trace->n_counters, sizeof *codes->counters);
    codes->markers = lull_arena_zero(arena, trace->n_markers, sizeof *codes->markers);
    codes->states = lull_arena_zero(arena, trace->n_states, sizeof *codes->states);
    codes->comms = lull_arena_zero(arena, trace->n_comms, sizeof *codes->comms);
    codes->tasks = lull_arena_zero(arena, trace->n_processes, sizeof *codes->tasks);
    codes->cpus = lull_arena_zero(arena, trace->n_locations, sizeof *codes->cpus);
    codes->nodes = lull_arena_zero(arena, trace->n_processes, sizeof *codes->nodes);
    code_regions(trace, codes);
    code_counters(trace, codes);
    code_markers(trace, codes);
    code_states(trace, codes);
    code_comms(trace, codes);
    code_tasks(trace, codes);
    code_nodes(trace, codes, arena);
    return codes;
}
