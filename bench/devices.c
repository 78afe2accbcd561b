/* devices OUT KERNELS: writes a run of a thread that launches so many kernels, on two streams of a device by turns, and waits
 * for all of them after each hundred: for benchmarks. Kernels take 1 to 6 us, a launch 2 us, and each tenth operation is a
 * copy. Prints how many operations there are, and how long the kernels run, in ns, at least one at a time. */
#include "stats/random.h"
#include "trace/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum region { LAUNCH, WAIT, PREPARE, KERNEL, COPY = KERNEL + 20, REGIONS };
enum { STREAMS = 2, BLOCK = 4096, LAUNCH_NS = 2000, LATENCY = 3000, RETURN = 1000 };

static struct lull_event events[BLOCK];
static struct lull_error err;

struct schedule {
    struct lull_random random;
    uint64_t number;       /* of the operation that was launched last */
    int64_t now;           /* of the thread */
    int64_t free[STREAMS]; /* when all of a stream has ended */
};

/* What the thread does next. */
struct turn {
    uint64_t number;
    int64_t prepares, launched, begin, end, waits, waited; /* waits: 0: it does not wait */
    uint32_t stream, region;
};

static struct turn next_turn(struct schedule *s)
{
    const uint64_t number = ++s->number;
    struct turn turn = {.number = number,
                        .prepares = s->now,
                        .stream = number / 3 % STREAMS,
                        .region = number % 10 == 0
                                      ? (uint32_t)COPY
                                      : KERNEL + (uint32_t)lull_random_below(&s->random, 20)};
    turn.launched = s->now + (int64_t)lull_random_below(&s->random, 500);
    turn.begin = turn.launched + LATENCY;
    if (s->free[turn.stream] > turn.begin)
        turn.begin = s->free[turn.stream];
    turn.end = turn.begin + 1000 + (int64_t)lull_random_below(&s->random, 5000);
    s->free[turn.stream] = turn.end;
    s->now = turn.launched + LAUNCH_NS;
    if (number % 100 == 0) {
        turn.waits = s->now;
        for (int i = 0; i < STREAMS; i++)
            if (s->free[i] > s->now)
                s->now = s->free[i];
        turn.waited = s->now += RETURN;
    }
    return turn;
}

static struct schedule first_turn(void)
{
    struct schedule schedule = {0};
    lull_random_seed(&schedule.random, 1);
    return schedule;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct out {
    struct lull_writer writer;
    uint32_t location, count;
};

static struct lull_event *add(struct out *out, unsigned kind, int64_t time, uint32_t id)
{
    struct lull_event *event = &events[out->count++];
    *event = (struct lull_event){.kind = (uint8_t)kind, .time = time, .id = id};
    return event;
}

static void deliver(struct out *out, uint32_t most)
{
    const struct lull_block block = {out->location, out->count, events};
    if (out->count <= most)
        return;
    if (out->writer.block(out->writer.state, &block, &err) != LULL_OK) {
        fprintf(stderr, "devices: %s\n", err.text);
        exit(1);
    }
    out->count = 0;
}

static void call(struct out *out, int64_t begin, int64_t end, uint32_t region)
{
    add(out, LULL_EVENT_CALL, begin, region)->duration = end - begin;
}

static void refer(struct lull_event *event, uint64_t number, uint32_t location)
{
    event->operation.number = number;
    event->operation.sequence = LULL_NO_SEQUENCE;
    event->operation.location = location;
    event->operation.peer = -1;
}

static void write_thread(struct out *out, uint64_t kernels)
{
    struct schedule schedule = first_turn();
    out->location = 0;
    while (schedule.number < kernels) {
        const struct turn turn = next_turn(&schedule);
        if (turn.launched > turn.prepares)
            call(out, turn.prepares, turn.launched, PREPARE);
        call(out, turn.launched, turn.launched + LAUNCH_NS, LAUNCH);
        refer(add(out, LULL_EVENT_SUBMIT, turn.launched, 0), turn.number, 1 + turn.stream);
        if (turn.waits > 0) {
            call(out, turn.waits, turn.waited, WAIT);
            for (uint32_t i = 0; i < STREAMS; i++)
                refer(add(out, LULL_EVENT_DEVICE_WAIT, turn.waits, 0), 0, 1 + i);
        }
        deliver(out, BLOCK - 8);
    }
    deliver(out, 0);
}

static void write_stream(struct out *out, uint64_t kernels, uint32_t stream)
{
    struct schedule schedule = first_turn();
    out->location = 1 + stream;
    while (schedule.number < kernels) {
        const struct turn turn = next_turn(&schedule);
        if (turn.stream != stream)
            continue;
        call(out, turn.begin, turn.end, turn.region);
        struct lull_event *event = add(out, LULL_EVENT_OPERATION, turn.begin, LAUNCH);
        refer(event, turn.number, 0);
        event->operation.bytes = turn.region == COPY ? 65536 : 0;
        deliver(out, BLOCK - 8);
    }
    deliver(out, 0);
}

/* ---- the run --------------------------------------------------------------------------------- */

static struct lull_trace *definitions(uint64_t kernels)
{
    struct lull_trace *trace = lull_trace_create();
    struct lull_arena *arena = trace->arena;
    struct schedule schedule = first_turn();
    while (schedule.number < kernels)
        next_turn(&schedule);
    for (uint32_t i = 0; i < STREAMS; i++)
        schedule.now = schedule.free[i] > schedule.now ? schedule.free[i] : schedule.now;
    trace->path = "generated run";
    trace->producer = "lull bench generator";
    trace->duration = schedule.now;
    trace->n_processes = 1;
    trace->processes = lull_arena_zero(arena, 1, sizeof *trace->processes);
    *trace->processes = (struct lull_process){.name = "rank 0", .node = LULL_NONE};
    trace->n_devices = 1;
    trace->devices = lull_arena_zero(arena, 1, sizeof *trace->devices);
    *trace->devices = (struct lull_device){"Made-up GPU", "CUDA", "pci:0000:01:00.0", LULL_NONE};
    trace->n_locations = 1 + STREAMS;
    trace->locations = lull_arena_zero(arena, trace->n_locations, sizeof *trace->locations);
    trace->locations[0] = (struct lull_location){.name = "thread 0"};
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct lull_stream *stream = lull_arena_zero(arena, 1, sizeof *stream);
        *stream = (struct lull_stream){.in_order = true, .clock_error = -1};
        trace->locations[1 + i] =
            (struct lull_location){.name = lull_arena_printf(arena, "stream %u", 20 + i),
                                   .source_id = 1 + i,
                                   .number = i,
                                   .kind = LULL_LOCATION_DEVICE,
                                   .stream = stream};
    }
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(arena, REGIONS, sizeof *trace->regions);
    for (int r = 0; r < REGIONS; r++)
        trace->regions[r] =
            (struct lull_region){.name = lull_arena_printf(arena, "kernel_%d", r),
                                 .file = "",
                                 .paradigm = LULL_PARADIGM_DEVICE,
                                 .role = r < KERNEL ? LULL_ROLE_FUNCTION : LULL_ROLE_KERNEL};
    trace->regions[LAUNCH].name = "cudaLaunchKernel";
    trace->regions[WAIT].name = "cudaDeviceSynchronize";
    trace->regions[PREPARE].name = "prepare";
    trace->regions[PREPARE].paradigm = LULL_PARADIGM_USER;
    trace->regions[COPY].name = "Memcpy HtoD";
    trace->regions[COPY].role = LULL_ROLE_DATA_TRANSFER;
    return trace;
}

/* How long at least one kernel runs. Those of a stream come by their begins, those of both streams nearly so: the last end of
 * each stream is enough. */
static int64_t kernel_ns(uint64_t kernels)
{
    struct schedule schedules[STREAMS] = {first_turn(), first_turn()};
    struct turn next[STREAMS] = {0};
    int64_t ns = 0, until = 0;
    for (;;) {
        uint32_t first = STREAMS;
        for (uint32_t i = 0; i < STREAMS; i++) {
            while (schedules[i].number < kernels &&
                   (next[i].end <= 0 || next[i].stream != i || next[i].region == COPY))
                next[i] = next_turn(&schedules[i]);
            const bool any = next[i].end > 0 && next[i].stream == i && next[i].region != COPY;
            if (any && (first == STREAMS || next[i].begin < next[first].begin))
                first = i;
        }
        if (first == STREAMS)
            return ns;
        const struct turn *turn = &next[first];
        if (turn->end > until)
            ns += turn->end - (turn->begin > until ? turn->begin : until);
        until = turn->end > until ? turn->end : until;
        next[first].end = 0;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: devices OUT KERNELS\n");
        return 2;
    }
    const uint64_t kernels = strtoull(argv[2], NULL, 10);
    struct lull_trace *trace = definitions(kernels);
    const struct lull_format *format = lull_format_find("tape");
    struct out out = {0};
    if (!format || lull_trace_complete(trace, &err) != LULL_OK ||
        format->writer_open(trace, argv[1], true, &out.writer, &err) != LULL_OK) {
        fprintf(stderr, "devices: cannot write %s: %s\n", argv[1], err.text);
        return 1;
    }
    write_thread(&out, kernels);
    for (uint32_t i = 0; i < STREAMS; i++)
        write_stream(&out, kernels, i);
    const lull_status status = out.writer.close(out.writer.state, true, &err);
    if (status != LULL_OK)
        fprintf(stderr, "devices: %s\n", err.text);
    else
        printf("%" PRIu64 " operations, kernels for %" PRId64 " ns\n", kernels, kernel_ns(kernels));
    lull_trace_close(trace);
    return status != LULL_OK;
}
