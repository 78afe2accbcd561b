/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/held_operations.h"

enum held_state { NOT_READY, READY, RUNNING };

struct held_stream {
    struct lull_held_operation operation;
    uint8_t state;   /* enum held_state */
    int64_t changes; /* when that does */
    int64_t
        stamps[LULL_DEVICE_HOLDS]; /* the clocks of its process when the operation became ready */
};

/* Operations of a process by the sides of their streams. Times are those of the windows. */
struct held_process {
    uint32_t ready[LULL_HELD_SIDES], running[LULL_HELD_SIDES], kernels; /* operations now */
    uint32_t n_ready, n_running;
    int64_t told, told_kernels; /* until when the following are known: two clocks of the sweep */
    int64_t ran[LULL_HELD_SIDES],
        kernel_ns;  /* how long a side ran something; and kernels of the process */
    int64_t beside; /* how long it ran nothing while kernels of others ran */
    bool is_held, overlaps, is_starving, has_kernels; /* as they are counted in the sweep */
};

struct held_sweep {
    const struct lull_held_device *device;
    struct held_stream *streams;
    struct held_process *processes;
    uint32_t *heap; /* [n_heap]: streams by when they change */
    uint32_t n_heap;
    int64_t time;
    size_t window;
    int64_t clock, kernels; /* in windows: in all, and while kernels ran */
    /* Processes of which default and other streams hold each other; run both; have ready operations and run nothing; run
     * kernels. */
    uint32_t n_held, n_overlapping, n_starving, n_with_kernels;
    struct lull_device_held *sums;
};

/* ---- time ------------------------------------------------------------------------------------ */

/* What of the time until then lies in windows. */
static int64_t window_time_until(struct held_sweep *sweep, int64_t time)
{
    const struct lull_held_device *device = sweep->device;
    int64_t ns = 0;
    for (; sweep->window < device->n_windows; sweep->window++) {
        const struct lull_interval *window = &device->windows[sweep->window];
        const int64_t begin = window->begin > sweep->time ? window->begin : sweep->time;
        const int64_t end = window->end < time ? window->end : time;
        ns += end > begin ? end - begin : 0;
        if (window->end > time)
            break;
    }
    sweep->time = time;
    return ns;
}

static void advance_held(struct held_sweep *sweep, int64_t time)
{
    const int64_t ns = time > sweep->time ? window_time_until(sweep, time) : 0;
    sweep->clock += ns;
    sweep->kernels += sweep->n_with_kernels > 0 ? ns : 0;
    sweep->sums[LULL_HELD_BY_DEFAULT_STREAM].held_ns += sweep->n_held > 0 ? ns : 0;
    sweep->sums[LULL_HELD_BY_DEFAULT_STREAM].overlap_ns += sweep->n_overlapping > 0 ? ns : 0;
    sweep->sums[LULL_HELD_BY_PROCESS].held_ns +=
        sweep->n_starving > 0 && sweep->n_with_kernels > 0 ? ns : 0;
    sweep->sums[LULL_HELD_BY_PROCESS].overlap_ns += sweep->n_with_kernels > 1 ? ns : 0;
}

/* Before a process changes. */
static void bring_up_to_date(const struct held_sweep *sweep, struct held_process *process)
{
    const int64_t ns = sweep->clock - process->told;
    for (int side = 0; side < LULL_HELD_SIDES; side++)
        process->ran[side] += process->running[side] > 0 ? ns : 0;
    process->kernel_ns += process->kernels > 0 ? ns : 0;
    if (process->n_running == 0)
        process->beside += sweep->kernels - process->told_kernels;
    process->told = sweep->clock;
    process->told_kernels = sweep->kernels;
}

static void count_held(bool *was, bool is, uint32_t *count)
{
    *count += is;
    *count -= *was;
    *was = is;
}

/* After it has changed. */
static void count_process(struct held_sweep *sweep, struct held_process *process)
{
    const uint32_t *ready = process->ready, *running = process->running;
    const bool looks = sweep->device->default_streams;
    const bool others_run = running[LULL_SIDE_OTHER] > 0,
               default_runs = running[LULL_SIDE_DEFAULT] > 0;
    count_held(&process->is_held,
               looks && ((ready[LULL_SIDE_OTHER] > 0 && default_runs) ||
                         (ready[LULL_SIDE_DEFAULT] > 0 && others_run)),
               &sweep->n_held);
    count_held(&process->overlaps, looks && default_runs && others_run, &sweep->n_overlapping);
    count_held(&process->is_starving, process->n_ready > 0 && process->n_running == 0,
               &sweep->n_starving);
    count_held(&process->has_kernels, process->kernels > 0, &sweep->n_with_kernels);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The clocks that go on while operations of a side are held. */
static int64_t clock_of(const struct held_process *process, unsigned side, unsigned hold)
{
    if (hold == LULL_HELD_BY_PROCESS)
        return process->beside;
    return process->ran[side == LULL_SIDE_DEFAULT ? LULL_SIDE_OTHER : LULL_SIDE_DEFAULT];
}

/* False: the stream runs nothing any more. */
static bool take_next(const struct held_sweep *sweep, uint32_t index)
{
    struct held_stream *stream = &sweep->streams[index];
    struct lull_held_operation *operation = &stream->operation;
    if (!sweep->device->next(sweep->device->context, index, operation))
        return false;
    stream->state = NOT_READY;
    stream->changes = operation->ready < operation->begin ? operation->ready : operation->begin;
    return true;
}

static void make_ready(struct held_stream *stream, struct held_process *process, unsigned side)
{
    process->ready[side]++;
    process->n_ready++;
    for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++)
        stream->stamps[hold] = clock_of(process, side, hold);
    stream->state = READY;
    stream->changes = stream->operation.begin;
}

static void begin_held(const struct held_sweep *sweep, uint32_t index, struct held_process *process,
                       unsigned side)
{
    const struct lull_held_device *device = sweep->device;
    struct held_stream *stream = &sweep->streams[index];
    for (unsigned hold = 0; stream->state == READY && hold < LULL_DEVICE_HOLDS; hold++) {
        const int64_t ns = clock_of(process, side, hold) - stream->stamps[hold];
        if (ns > 0 && (hold != LULL_HELD_BY_DEFAULT_STREAM || device->default_streams))
            device->held(device->context, index, &stream->operation, hold, ns);
    }
    process->ready[side] -= stream->state == READY;
    process->n_ready -= stream->state == READY;
    process->running[side]++;
    process->n_running++;
    process->kernels += stream->operation.is_kernel;
    stream->state = RUNNING;
    stream->changes = stream->operation.end;
}

/* The stream changes now. False: it has ended. */
static bool change_held(struct held_sweep *sweep, uint32_t index)
{
    struct held_stream *stream = &sweep->streams[index];
    const struct lull_held_stream *of = &sweep->device->streams[index];
    struct held_process *process = &sweep->processes[of->process];
    bool goes_on = true;
    bring_up_to_date(sweep, process);
    if (stream->state == NOT_READY && stream->operation.ready < stream->operation.begin) {
        make_ready(stream, process, of->side);
    } else if (stream->state != RUNNING) {
        begin_held(sweep, index, process, of->side);
    } else {
        process->running[of->side]--;
        process->n_running--;
        process->kernels -= stream->operation.is_kernel;
        goes_on = take_next(sweep, index);
    }
    count_process(sweep, process);
    return goes_on;
}

/* ---- in the order of time -------------------------------------------------------------------- */

static bool changes_before(const struct held_sweep *sweep, uint32_t a, uint32_t b)
{
    const int64_t x = sweep->streams[a].changes, y = sweep->streams[b].changes;
    return x != y ? x < y : a < b;
}

static void sift_held(const struct held_sweep *sweep, uint32_t at)
{
    uint32_t *heap = sweep->heap;
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < sweep->n_heap; child++)
            if (changes_before(sweep, heap[child], heap[least]))
                least = child;
        if (least == at)
            return;
        const uint32_t moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What the device would save at most if nothing had been held: beside what runs longest, the rest. */
static void add_shorter(const struct held_sweep *sweep)
{
    int64_t kernels = 0, most = 0;
    for (uint32_t p = 0; p < sweep->device->n_processes; p++) {
        const struct held_process *process = &sweep->processes[p];
        if (sweep->device->default_streams)
            sweep->sums[LULL_HELD_BY_DEFAULT_STREAM].shorter_ns +=
                min_ns(process->ran[LULL_SIDE_OTHER], process->ran[LULL_SIDE_DEFAULT]);
        kernels += process->kernel_ns;
        most = process->kernel_ns > most ? process->kernel_ns : most;
    }
    sweep->sums[LULL_HELD_BY_PROCESS].shorter_ns = kernels - most;
}

void lull_held_operations_find(const struct lull_held_device *device, struct lull_arena *scratch,
                               struct lull_device_held ret_held[LULL_DEVICE_HOLDS])
{
    const uint32_t n = device->n_streams;
    struct held_sweep sweep = {
        .device = device,
        .streams = lull_arena_zero(scratch, n, sizeof *sweep.streams),
        .processes = lull_arena_zero(scratch, device->n_processes, sizeof *sweep.processes),
        .heap = lull_arena_zero(scratch, n, sizeof *sweep.heap),
        .sums = ret_held};
    for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++)
        ret_held[hold] = (struct lull_device_held){0};
    for (uint32_t s = 0; s < n; s++)
        if (take_next(&sweep, s))
            sweep.heap[sweep.n_heap++] = s;
    for (uint32_t i = sweep.n_heap / 2; i-- > 0;)
        sift_held(&sweep, i);
    while (sweep.n_heap > 0) {
        advance_held(&sweep, sweep.streams[sweep.heap[0]].changes);
        if (!change_held(&sweep, sweep.heap[0]))
            sweep.heap[0] = sweep.heap[--sweep.n_heap];
        sift_held(&sweep, 0);
    }
    add_shorter(&sweep);
}
