/* generate FORMAT OUT EVENTS PROCESSES THREADS: writes a synthetic hybrid run through lull's own
 * writers, for benchmarks. Every iteration of a rank is a halo exchange, a parallel region with a
 * few kernel calls per thread, and an allreduce. EVENTS is the number in all, as `lull info` counts
 * them on a tape (a call counts once). Prints what was written. */
#include "trace/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum region { STEP, IRECV, ISEND, WAITALL, PARALLEL, KERNEL, BARRIER, ALLREDUCE, REGIONS };

static const char *const region_names[REGIONS] = {
    [STEP] = "time_step",
    [IRECV] = "MPI_Irecv",
    [ISEND] = "MPI_Isend",
    [WAITALL] = "MPI_Waitall",
    [PARALLEL] = "!$omp parallel",
    [KERNEL] = "update_cells",
    [BARRIER] = "!$omp implicit barrier",
    [ALLREDUCE] = "MPI_Allreduce",
};

enum { KERNELS = 6, BLOCK = 4096, MASTER_EVENTS = 22 + KERNELS, WORKER_EVENTS = 3 + KERNELS };

struct generator {
    struct lull_writer writer;
    struct lull_event events[BLOCK];
    uint32_t location, count;
    int64_t now;
    uint64_t request, written;
    struct lull_error err;
};

static void deliver(struct generator *g)
{
    struct lull_block block = {g->location, g->count, g->events};
    if (g->count > 0 && g->writer.block(g->writer.state, &block, &g->err) != LULL_OK) {
        fprintf(stderr, "generate: %s\n", g->err.text);
        exit(1);
    }
    g->written += g->count;
    g->count = 0;
}

static struct lull_event *add(struct generator *g, unsigned kind, uint32_t id)
{
    if (g->count == BLOCK)
        deliver(g);
    struct lull_event *event = &g->events[g->count++];
    memset(event, 0, sizeof *event);
    event->time = g->now;
    event->kind = (uint8_t)kind;
    event->id = id;
    return event;
}

static void region_event(struct generator *g, unsigned kind, uint32_t region, int64_t after)
{
    add(g, kind, region);
    g->now += after;
}

static void call(struct generator *g, uint32_t region, int64_t duration)
{
    add(g, LULL_EVENT_CALL, region)->duration = duration;
    g->now += duration;
}

static void message(struct generator *g, unsigned kind, int32_t peer, uint64_t request)
{
    struct lull_event *event = add(g, kind, 0);
    event->message.bytes = 8192;
    event->message.peer = peer;
    event->message.tag = 1;
    event->message.request = request;
}

static void collective(struct generator *g, unsigned kind)
{
    struct lull_event *event = add(g, kind, 0);
    event->op = LULL_COLLECTIVE_ALLREDUCE;
    event->collective.sent = event->collective.received = 8;
    event->collective.root = LULL_ANY;
    event->collective.request = LULL_NO_REQUEST;
}

static void parallel(struct generator *g, unsigned thread)
{
    region_event(g, LULL_EVENT_ENTER, PARALLEL, 200);
    for (int k = 0; k < KERNELS; k++) {
        call(g, KERNEL, 900 + 40 * (int64_t)thread);
        g->now += 20;
    }
    call(g, BARRIER, 600 - 6 * 40 * (int64_t)(thread % 2));
    region_event(g, LULL_EVENT_LEAVE, PARALLEL, 100);
}

static void halo_exchange(struct generator *g, int32_t left, int32_t right)
{
    const int32_t peers[2] = {left, right};
    for (int i = 0; i < 2; i++) {
        call(g, IRECV, 150);
        message(g, LULL_EVENT_RECV_POST, peers[i], g->request + (uint64_t)i);
    }
    for (int i = 0; i < 2; i++) {
        call(g, ISEND, 300);
        message(g, LULL_EVENT_SEND, peers[i], g->request + 2 + (uint64_t)i);
    }
    call(g, WAITALL, 2500);
    for (int i = 0; i < 2; i++)
        message(g, LULL_EVENT_RECV, peers[i], g->request + (uint64_t)i);
    for (int i = 0; i < 2; i++)
        message(g, LULL_EVENT_SEND_DONE, peers[i], g->request + 2 + (uint64_t)i);
    g->request += 4;
}

static void iteration(struct generator *g, unsigned thread, int32_t left, int32_t right)
{
    int64_t begin = g->now;
    if (thread == 0) {
        region_event(g, LULL_EVENT_ENTER, STEP, 500);
        halo_exchange(g, left, right);
    } else {
        g->now += 4000;
    }
    parallel(g, thread);
    if (thread == 0) {
        call(g, ALLREDUCE, 1200);
        g->now -= 1200;
        collective(g, LULL_EVENT_COLLECTIVE_BEGIN);
        g->now += 1200;
        collective(g, LULL_EVENT_COLLECTIVE_END);
        region_event(g, LULL_EVENT_LEAVE, STEP, 0);
    }
    g->now = begin + 20000;
}

static struct lull_trace *definitions(uint32_t processes, uint32_t threads, uint64_t iterations)
{
    struct lull_trace *trace = lull_trace_create();
    struct lull_arena *arena = trace->arena;
    trace->path = "generated run";
    trace->producer = "lull bench generator";
    trace->duration = (int64_t)(iterations * 20000);
    trace->n_nodes = 1;
    trace->nodes = lull_arena_zero(arena, 1, sizeof *trace->nodes);
    *trace->nodes = (struct lull_node){"node", "node", LULL_NONE};
    trace->n_processes = processes;
    trace->processes = lull_arena_zero(arena, processes, sizeof *trace->processes);
    trace->n_locations = processes * threads;
    trace->locations = lull_arena_zero(arena, trace->n_locations, sizeof *trace->locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        uint32_t p = l / threads, t = l % threads;
        trace->processes[p] =
            (struct lull_process){.name = lull_arena_printf(arena, "rank %u", p), .rank = p};
        trace->locations[l] =
            (struct lull_location){.name = lull_arena_printf(arena, "rank %u thread %u", p, t),
                                   .source_id = l,
                                   .process = p,
                                   .number = t};
    }
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(arena, REGIONS, sizeof *trace->regions);
    for (int r = 0; r < REGIONS; r++)
        trace->regions[r] = (struct lull_region){.name = region_names[r], .file = ""};
    trace->n_comms = 1;
    trace->comms = lull_arena_zero(arena, 1, sizeof *trace->comms);
    *trace->comms = (struct lull_comm){.name = "MPI_COMM_WORLD",
                                       .size = processes,
                                       .parent = LULL_NONE,
                                       .remote = LULL_NONE,
                                       .paradigm = LULL_PARADIGM_MPI};
    return trace;
}

static void generate_location(struct generator *g, uint32_t process, uint32_t processes,
                              uint32_t thread, uint64_t iterations)
{
    g->now = 0;
    g->request = 0;
    int32_t left = (int32_t)((process + processes - 1) % processes);
    int32_t right = (int32_t)((process + 1) % processes);
    for (uint64_t i = 0; i < iterations; i++)
        iteration(g, thread, left, right);
    deliver(g);
}

static void generate(struct generator *g, const struct lull_trace *trace, uint32_t processes,
                     uint32_t threads, uint64_t iterations)
{
    for (g->location = 0; g->location < trace->n_locations; g->location++)
        generate_location(g, g->location / threads, processes, g->location % threads, iterations);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: generate FORMAT OUT EVENTS PROCESSES THREADS\n");
        return 2;
    }
    uint64_t events = strtoull(argv[3], NULL, 10);
    uint32_t processes = (uint32_t)strtoul(argv[4], NULL, 10);
    uint32_t threads = (uint32_t)strtoul(argv[5], NULL, 10);
    uint64_t per_iteration =
        (uint64_t)processes * (MASTER_EVENTS + (uint64_t)(threads - 1) * WORKER_EVENTS);
    uint64_t iterations = events / per_iteration;
    static struct generator g;
    const struct lull_format *format = lull_format_find(argv[1]);
    struct lull_trace *trace = definitions(processes, threads, iterations);
    if (!format || !format->writer_open || lull_trace_complete(trace, &g.err) != LULL_OK ||
        format->writer_open(trace, argv[2], true, &g.writer, &g.err) != LULL_OK ||
        g.writer.global_order) { /* events are made location by location */
        fprintf(stderr, "generate: cannot write %s as %s: %s\n", argv[2], argv[1], g.err.text);
        return 1;
    }
    generate(&g, trace, processes, threads, iterations);
    lull_status status = g.writer.close(g.writer.state, true, &g.err);
    if (status != LULL_OK)
        fprintf(stderr, "generate: %s\n", g.err.text);
    else
        printf("%" PRIu64 " events in %u locations, %" PRIu64 " iterations\n", g.written,
               trace->n_locations, iterations);
    lull_trace_close(trace);
    return status != LULL_OK;
}
