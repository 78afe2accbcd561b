/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/paraver/prv_codes.h"

#include "base/output_file.h"
#include "trace/classify.h"
#include "trace/stream_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ==== labels ================================================================================== */

/* The files around the records: the first lines of the .prv, the .pcf and the .row. */

/* ---- header ---------------------------------------------------------------------------------- */

struct header {
    const struct lull_trace *trace;
    const struct lull_prv_codes *codes;
    void (*put)(void *out, const char *text);
    void *out;
};

static void put_header_number(const struct header *header, const char *before, uint64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%llu", before, (unsigned long long)number);
    header->put(header->out, text);
}

static void put_date(const struct header *header)
{
    time_t seconds = header->trace->start_realtime > 0
                         ? (time_t)(header->trace->start_realtime / 1000000000)
                         : time(NULL);
    struct tm date;
    char text[64] = "(01/01/1970 at 00:00)";
    if (gmtime_r(&seconds, &date))
        strftime(text, sizeof text, "(%d/%m/%Y at %H:%M)", &date);
    header->put(header->out, "#Paraver ");
    header->put(header->out, text);
}

static void put_nodes(const struct header *header)
{
    const struct lull_prv_codes *codes = header->codes;
    put_header_number(header, ":", codes->n_nodes);
    for (uint32_t n = 0; n < codes->n_nodes; n++)
        put_header_number(header, n == 0 ? "(" : ",", codes->node_cpus[n]);
    header->put(header->out, ")");
}

static void put_applications(const struct header *header)
{
    const struct lull_trace *trace = header->trace;
    put_header_number(header, ":", trace->n_applications);
    uint32_t p = 0;
    for (uint32_t a = 0; a < trace->n_applications; a++) {
        uint32_t first = p;
        while (p < trace->n_processes && trace->processes[p].application == a)
            p++;
        put_header_number(header, a == 0 ? ":" : ",", p - first);
        for (uint32_t t = first; t < p; t++) {
            put_header_number(header, t == first ? "(" : ",", trace->processes[t].n_locations);
            put_header_number(header, ":", header->codes->nodes[t]);
        }
        header->put(header->out, ")");
    }
}

static void put_comm(const struct header *header, uint32_t index)
{
    const struct lull_trace *trace = header->trace;
    const struct lull_comm *comm = &trace->comms[index];
    put_header_number(header,
                      "c:", trace->processes[lull_comm_member(comm, 0)].application + UINT64_C(1));
    put_header_number(header, ":", header->codes->comms[index]);
    put_header_number(header, ":", comm->size);
    for (uint32_t r = 0; r < comm->size; r++)
        put_header_number(header, ":", header->codes->tasks[lull_comm_member(comm, r)]);
    header->put(header->out, "\n");
}

void lull_prv_write_header(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                           int64_t duration, void (*put)(void *out, const char *text), void *out)
{
    struct header header = {trace, codes, put, out};
    uint32_t comms = 0;
    for (uint32_t c = 0; c < trace->n_comms; c++)
        comms += codes->comms[c] != 0;
    put_date(&header);
    put_header_number(&header, ":", (uint64_t)duration);
    put(out, "_ns");
    put_nodes(&header);
    put_applications(&header);
    put_header_number(&header, ",", comms);
    put(out, "\n");
    for (uint32_t c = 0; c < trace->n_comms; c++)
        if (codes->comms[c] != 0)
            put_comm(&header, c);
}

/* ---- .pcf ------------------------------------------------------------------------------------ */

/* Writes a label on one line: control characters become blanks. */
static void put_label(FILE *out, const char *label)
{
    const char *begin = label;
    for (; *label; label++)
        fputc((unsigned char)*label < ' ' ? ' ' : *label, out);
    if (label == begin)
        fputs("unnamed", out);
    fputc('\n', out);
}

static void put_states(FILE *out, const struct lull_trace *trace,
                       const struct lull_prv_codes *codes)
{
    fputs("STATES\n", out);
    for (size_t i = 0; i < lull_prv_n_known_states; i++) {
        const char *name = lull_prv_known_states[i].label;
        for (uint32_t s = trace->n_states; s-- > 0;)
            if (codes->states[s] == lull_prv_known_states[i].number &&
                trace->states[s].number == codes->states[s])
                name = trace->states[s].name;
        fprintf(out, "%u    ", lull_prv_known_states[i].number);
        put_label(out, name);
    }
    fputs("\n\n", out);
}

static void begin_type(FILE *out, int gradient, uint64_t type)
{
    fprintf(out, "EVENT_TYPE\n%d    %llu    ", gradient, (unsigned long long)type);
}

static void put_own_label(FILE *out, uint64_t type)
{
    struct lull_prv_known_type own;
    const struct lull_prv_known_type *known = lull_prv_known_type(type);
    if (known)
        put_label(out, known->label);
    else if (lull_prv_own_region(type, &own))
        fprintf(out, "%s, %s\n", lull_paradigm_name(own.paradigm), lull_role_name(own.role));
}

/* Writes the type of the code `first` and all values of that type. */
static void put_region_type(FILE *out, const struct lull_trace *trace,
                            const struct lull_prv_codes *codes, uint32_t first)
{
    uint64_t type = codes->regions[first].type;
    uint32_t n = trace->n_regions;
    begin_type(out, trace->regions[first % n].paradigm == LULL_PARADIGM_MPI ? 1 : 2, type);
    put_own_label(out, type);
    fputs("VALUES\n0    End\n", out);
    for (uint32_t r = first; r < 2 * n; r++) {
        if (!codes->regions[r].used || codes->regions[r].type != type)
            continue;
        fprintf(out, "%llu    ", (unsigned long long)codes->regions[r].value);
        put_label(out, trace->regions[r % n].name);
    }
    fputs("\n\n", out);
}

static void put_region_types(FILE *out, const struct lull_trace *trace,
                             const struct lull_prv_codes *codes)
{
    for (uint32_t r = 0; r < 2 * trace->n_regions; r++) {
        bool first = codes->regions[r].used;
        for (uint32_t before = 0; first && before < r; before++)
            first = !codes->regions[before].used ||
                    codes->regions[before].type != codes->regions[r].type;
        if (first)
            put_region_type(out, trace, codes, r);
    }
}

/* Writes the places that calls come from as values of Extrae's type for callers. */
static void put_callers(FILE *out, const struct lull_trace *trace,
                        const struct lull_prv_codes *codes)
{
    bool any = false;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        if (!codes->regions[r].called)
            continue;
        if (!any) {
            begin_type(out, 1, LULL_PRV_CALLER);
            fputs("Caller at level 1\nVALUES\n0    End\n", out);
        }
        any = true;
        fprintf(out, "%llu    ", (unsigned long long)LULL_PRV_OWN_VALUES + r);
        put_label(out, trace->regions[r].site);
    }
    if (any)
        fputs("\n\n", out);
}

/* Writes what is known of streams, as values of a type that no record has: the number of the thread in the file, from 1. */
static void put_streams(FILE *out, const struct lull_trace *trace)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    bool any = false;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        if (!trace->locations[l].stream)
            continue;
        fprintf(out, "%s%llu    ", any ? "" : "VALUES\n", l + 1ull);
        put_label(out, lull_stream_print(trace, l, arena));
        any = true;
    }
    lull_arena_destroy(arena);
}

/* Writes the types of parameters and of lull's own events. They are few, so all are written, used
 * or not. */
static void put_fixed_types(FILE *out, const struct lull_trace *trace)
{
    bool free_threads = false;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        free_threads |= trace->locations[l].role == LULL_THREAD_FREE;
    for (size_t i = 0; i < lull_prv_n_known_types; i++) {
        const struct lull_prv_known_type *known = &lull_prv_known_types[i];
        if (known->kind == LULL_PRV_REGION && !(free_threads && known->number == 61000000))
            continue;
        begin_type(out, 6, known->number);
        put_label(out, known->label);
        if (known->number == LULL_PRV_OWN_STREAMS)
            put_streams(out, trace);
        fputs("\n\n", out);
    }
}

lull_status lull_prv_write_pcf(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err)
{
    int failure;
    FILE *out = lull_output_stream_open(path, &failure);
    if (!out)
        return lull_fail_errno(err, "%s: cannot create", path);
    fputs("DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\n\n"
          "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\n",
          out);
    put_states(out, trace, codes);
    put_region_types(out, trace, codes);
    put_callers(out, trace, codes);
    put_fixed_types(out, trace);
    for (uint32_t c = 0; c < trace->n_counters; c++) {
        begin_type(out, 7, codes->counters[c].type);
        put_label(out, trace->counters[c].name);
        fputs("\n\n", out);
    }
    for (uint32_t m = 0; m < trace->n_markers; m++) {
        if (!codes->markers[m].used)
            continue;
        begin_type(out, 9, codes->markers[m].type);
        put_label(out, trace->markers[m].name);
        fputs("\n\n", out);
    }
    return lull_output_stream_close(out, &failure, path, err);
}

/* ---- .row ------------------------------------------------------------------------------------ */

static const char *node_name(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                             uint32_t code)
{
    uint32_t node = codes->node_of[code - 1];
    return node == LULL_NONE ? "node" : trace->nodes[node].name;
}

lull_status lull_prv_write_row(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err)
{
    int failure;
    FILE *out = lull_output_stream_open(path, &failure);
    if (!out)
        return lull_fail_errno(err, "%s: cannot create", path);
    fprintf(out, "LEVEL NODE SIZE %u\n", codes->n_nodes);
    for (uint32_t n = 1; n <= codes->n_nodes; n++)
        put_label(out, node_name(trace, codes, n));
    fprintf(out, "\nLEVEL TASK SIZE %u\n", trace->n_processes);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        put_label(out, trace->processes[p].name);
    fprintf(out, "\nLEVEL THREAD SIZE %u\n", trace->n_locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        if (trace->locations[l].kind == LULL_LOCATION_DEVICE)
            fputs(LULL_PRV_STREAM, out);
        put_label(out, trace->locations[l].name);
    }
    return lull_output_stream_close(out, &failure, path, err);
}

/* ==== codes =================================================================================== */

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

/* Whether the reader would make the same region of this name and type. */
static bool survives(const struct lull_region *region, const struct lull_prv_known_type *known)
{
    struct lull_region read = lull_prv_make_region(region->name, known, known->role);
    lull_classify_region(&read);
    return read.paradigm == region->paradigm && read.activity == region->activity &&
           read.user == region->user && read.parallel == region->parallel &&
           (read.role == region->role || region->paradigm == LULL_PARADIGM_MPI);
}

/* The type of a region: one of Extrae's if the reader makes the same region of it, else one of
 * lull's own. Of Extrae's types, except those of MPI calls, only those that stack are taken: in
 * other types a region cannot be inside another one of its type. */
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
        /* This type has one region, called like the type. */
        bool flush = known->number == LULL_PRV_FLUSH;
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

/* The value of a region. An MPI call has Extrae's number for its name, if no region before has it;
 * all others are numbered in order. */
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
        /* Calls from one site are entered by the code of all calls (`whole`); this value names the
         * site. */
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

/* Whether a type can be that of a marker: the reader takes it for nothing else. */
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

/* ---- communicators, tasks, nodes and processors ---------------------------------------------- */

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

/* Numbers the tasks of each application without gaps, although the process of a rank may be
 * missing. */
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

/* Gives every thread a processor of its own; processors are numbered node by node. */
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
