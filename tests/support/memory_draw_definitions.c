/* Drawing of random traces: their definitions. */
#include "support/memory_draw.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t paradigm, role;
} region_table[] = {
    {"main", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION},
    {"compute", LULL_PARADIGM_COMPILER, LULL_ROLE_FUNCTION},
    {"solve<double, 3>(int, char const*)", LULL_PARADIGM_COMPILER, LULL_ROLE_FUNCTION},
    {"outer loop", LULL_PARADIGM_USER, LULL_ROLE_LOOP},
    {"MPI_Init", LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION},
    {"MPI_Send", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Recv", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Isend", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Irecv", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Waitall", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Test", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Comm_rank", LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION},
    {"MPI_Barrier", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Bcast", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ONE2ALL},
    {"MPI_Reduce", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ONE},
    {"MPI_Allreduce", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Alltoallv", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Comm_split", LULL_PARADIGM_MPI, LULL_ROLE_COLL_OTHER},
    {"MPI_Put", LULL_PARADIGM_MPI, LULL_ROLE_RMA},
    {"MPI_File_write_all", LULL_PARADIGM_MPI, LULL_ROLE_FILE_IO},
    {"MPI_Ibarrier", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Iallreduce", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"!$omp parallel @heat.c:10", LULL_PARADIGM_OPENMP, LULL_ROLE_PARALLEL},
    {"!$omp for @heat.c:12", LULL_PARADIGM_OPENMP, LULL_ROLE_LOOP},
    {"!$omp implicit barrier @heat.c:20", LULL_PARADIGM_OPENMP, LULL_ROLE_IMPLICIT_BARRIER},
    {"!$omp critical @heat.c:15", LULL_PARADIGM_OPENMP, LULL_ROLE_CRITICAL},
    {"!$omp critical sblock @heat.c:15", LULL_PARADIGM_OPENMP, LULL_ROLE_CRITICAL_BODY},
    {"!$omp taskwait @heat.c:33", LULL_PARADIGM_OPENMP, LULL_ROLE_TASK_WAIT},
    {"pthread_mutex_lock", LULL_PARADIGM_PTHREAD, LULL_ROLE_LOCK},
    {"write", LULL_PARADIGM_IO, LULL_ROLE_FILE_IO},
    {"TRACE BUFFER FLUSH", LULL_PARADIGM_MEASUREMENT, LULL_ROLE_ARTIFICIAL},
    {"axpy kernel", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL},
    {"copy to device", LULL_PARADIGM_DEVICE, LULL_ROLE_DATA_TRANSFER},
};
enum { TABLED_REGIONS = sizeof region_table / sizeof *region_table };

uint32_t draw_region_named(const char *name)
{
    uint32_t r = 0;
    while (strcmp(region_table[r].name, name) != 0)
        r++;
    return r;
}

static void draw_regions(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    uint32_t more = (uint32_t)below(draw, 40);
    trace->n_regions = TABLED_REGIONS + more;
    trace->regions = lull_arena_zero(trace->arena, trace->n_regions, sizeof *trace->regions);
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_region *region = &trace->regions[r];
        bool tabled = r < TABLED_REGIONS;
        const char *plain = lull_arena_printf(trace->arena, "function_%u", r);
        const char *odd = lull_arena_printf(trace->arena, "größe \"%u\", α", r);
        region->name =
            tabled ? region_table[r].name : (draw->options->without_extremes ? plain : odd);
        region->file = chance(draw, 50) ? "" : "src/heat.c";
        region->line = *region->file ? (uint32_t)below(draw, 5000) + 1 : 0;
        region->paradigm = tabled ? region_table[r].paradigm : LULL_PARADIGM_USER;
        region->role = tabled ? region_table[r].role : LULL_ROLE_FUNCTION;
        region->site = "";
        region->whole = LULL_NONE;
    }
}

static void draw_nodes(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    trace->n_nodes = 1 + (uint32_t)below(draw, 3);
    trace->nodes = lull_arena_zero(trace->arena, trace->n_nodes, sizeof *trace->nodes);
    for (uint32_t n = 0; n < trace->n_nodes; n++)
        trace->nodes[n] =
            (struct lull_node){.name = lull_arena_printf(trace->arena, n ? "n%u" : "cluster", n),
                               .class_name = n ? "node" : "machine",
                               .parent = n ? 0 : LULL_NONE};
}

static void draw_processes(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    const struct memory_trace_options *options = draw->options;
    enum { MOST_THREADS = 3, MOST_DEVICES = 2 };
    uint32_t per_application[3] = {1 + (uint32_t)below(draw, 5)};
    trace->n_processes = per_application[0];
    for (uint32_t a = 1; a < 3 && !options->without_applications && chance(draw, 40); a++)
        trace->n_processes += per_application[a] = 1 + (uint32_t)below(draw, 3);
    trace->processes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *trace->processes);
    trace->locations =
        lull_arena_zero(trace->arena, (size_t)trace->n_processes * (MOST_THREADS + MOST_DEVICES),
                        sizeof *trace->locations);
    for (uint32_t p = 0, application = 0, rank = 0; p < trace->n_processes; p++, rank++) {
        if (rank == per_application[application]) {
            application++;
            rank = 0;
        }
        trace->processes[p] = (struct lull_process){
            .name = lull_arena_printf(trace->arena, "rank %u.%u", application, rank),
            .application = application,
            .rank = rank,
            .node = (uint32_t)below(draw, trace->n_nodes)};
        uint32_t threads = 1 + (uint32_t)below(draw, MOST_THREADS);
        uint32_t devices = options->without_devices || chance(draw, options->operations ? 20 : 70)
                               ? 0
                               : (uint32_t)below(draw, MOST_DEVICES);
        for (uint32_t i = 0; i < threads + devices; i++)
            trace->locations[trace->n_locations++] = (struct lull_location){
                .name = lull_arena_printf(trace->arena,
                                          i < threads ? "thread %u.%u" : "stream %u.%u", p, i),
                .source_id = UINT64_C(0x100000000) * p + i,
                .process = p,
                .number = i < threads ? i : i - threads,
                .kind = i < threads ? LULL_LOCATION_THREAD : LULL_LOCATION_DEVICE};
    }
}

static struct lull_comm *new_comm(struct draw *draw, const char *name)
{
    struct lull_comm *comm = &draw->trace->comms[draw->trace->n_comms++];
    *comm = (struct lull_comm){
        .name = name, .parent = LULL_NONE, .remote = LULL_NONE, .paradigm = LULL_PARADIGM_MPI};
    return comm;
}

/* `size` different numbers below `bound`, in random order. */
static const uint32_t *draw_members(struct draw *draw, uint32_t bound, uint32_t size)
{
    uint32_t *all = lull_arena_zero(draw->trace->arena, bound, sizeof *all);
    for (uint32_t i = 0; i < bound; i++)
        all[i] = i;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t other = i + (uint32_t)below(draw, bound - i), value = all[i];
        all[i] = all[other];
        all[other] = value;
    }
    return all;
}

static void draw_intercomm(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    uint32_t half = trace->n_processes / 2, first = trace->n_comms;
    const uint32_t *all = draw_members(draw, trace->n_processes, trace->n_processes);
    struct lull_comm *left = new_comm(draw, "left"), *right = new_comm(draw, "right");
    left->size = half;
    left->members = all;
    right->size = trace->n_processes - half;
    right->members = all + half;
    left->remote = first + 1;
    right->remote = first;
}

static void draw_comms(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    const struct memory_trace_options *options = draw->options;
    trace->comms = lull_arena_zero(trace->arena, 8 + trace->n_processes, sizeof *trace->comms);
    struct lull_comm *world = new_comm(draw, "MPI_COMM_WORLD");
    world->size = trace->n_processes;
    struct lull_comm *part = new_comm(draw, "part");
    part->first = (uint32_t)below(draw, trace->n_processes);
    part->size = 1 + (uint32_t)below(draw, trace->n_processes - part->first);
    part->parent = 0;
    if (!options->without_listed) {
        struct lull_comm *listed = new_comm(draw, "shuffled");
        listed->size = 1 + (uint32_t)below(draw, trace->n_processes);
        listed->members = draw_members(draw, trace->n_processes, listed->size);
        listed->parent = 1;
    }
    if (!options->without_intercomms && trace->n_processes > 1)
        draw_intercomm(draw);
    if (!options->without_teams) {
        struct lull_comm *team = new_comm(draw, "OpenMP team");
        team->paradigm = LULL_PARADIGM_OPENMP;
        team->size = 1 + (uint32_t)below(draw, trace->n_locations);
        team->members = draw_members(draw, trace->n_locations, team->size);
    }
}

static void draw_small_definitions(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    static const struct lull_state states[] = {{"Idle", 0, LULL_IDLE},
                                               {"Running", 1, LULL_USEFUL},
                                               {"Waiting a message", 3, LULL_MPI_P2P},
                                               {"Group communication", 13, LULL_MPI_COLLECTIVE}};
    static const struct lull_counter counters[] = {{"PAPI_TOT_INS", "", 42000050, 0},
                                                   {"PAPI_TOT_CYC", "cycles", 42000059, 0},
                                                   {"rapl energy", "nJ", 7, 0}};
    static const struct lull_file files[] = {{"/data/field.bin", LULL_FILE_REGULAR},
                                             {"stdout", LULL_FILE_PIPE},
                                             {"/dev/null", LULL_FILE_DEVICE}};
    static const struct lull_object objects[] = {{"/bin/heat", "c0ffee", NULL},
                                                 {"/lib/libm.so.6", "", NULL},
                                                 {"/home/solve.py", "", "step"}};
    static const struct lull_marker markers[] = {{"iteration", 9000001}, {"phase", 9000002}};
    bool with_states = !draw->options->without_states &&
                       !(draw->options->without & LULL_MASK(LULL_EVENT_STATE)) &&
                       (draw->options->with_states || chance(draw, 50));
    trace->has_states = with_states;
    trace->n_states = with_states ? sizeof states / sizeof *states : 0;
    trace->states = lull_arena_alloc(trace->arena, sizeof states);
    memcpy(trace->states, states, sizeof states);
    trace->n_counters = sizeof counters / sizeof *counters;
    trace->counters = lull_arena_alloc(trace->arena, sizeof counters);
    memcpy(trace->counters, counters, sizeof counters);
    trace->n_markers = sizeof markers / sizeof *markers;
    trace->markers = lull_arena_alloc(trace->arena, sizeof markers);
    memcpy(trace->markers, markers, sizeof markers);
    trace->n_files = sizeof files / sizeof *files;
    trace->files = lull_arena_alloc(trace->arena, sizeof files);
    memcpy(trace->files, files, sizeof files);
    trace->n_objects = draw->options->samples ? sizeof objects / sizeof *objects : 0;
    trace->objects = lull_arena_alloc(trace->arena, sizeof objects);
    memcpy(trace->objects, objects, sizeof objects);
}

void draw_definitions(struct draw *draw)
{
    struct lull_error err;
    draw_regions(draw);
    draw_nodes(draw);
    draw_processes(draw);
    draw_comms(draw);
    draw_small_definitions(draw);
    if (lull_trace_complete(draw->trace, &err) != LULL_OK)
        abort();
}
