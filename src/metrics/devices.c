/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/devices.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "metrics/held_operations.h"
#include "stats/quantile.h"

#include <stdlib.h>
#include <string.h>

/* ==== what an operation waited for ============================================================ */

/* Operations of a process by their numbers. */

struct submit {
    uint64_t number;
    int64_t time;
    uint32_t location;
};

struct depend {
    uint64_t number, other;
};

struct ended {
    uint64_t number;
    int64_t time;
    uint32_t device;
};

struct operations {
    struct submit *submits;
    struct depend *depends;
    struct ended
        *ends; /* where the process uses several devices, or its operations wait for others */
    size_t n_submits, n_depends, n_ends;
    size_t submits_capacity, depends_capacity, ends_capacity;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_submit(const void *a, const void *b)
{
    return compare_numbers(((const struct submit *)a)->number, ((const struct submit *)b)->number);
}

static int by_depend(const void *a, const void *b)
{
    return compare_numbers(((const struct depend *)a)->number, ((const struct depend *)b)->number);
}

static int by_end(const void *a, const void *b)
{
    return compare_numbers(((const struct ended *)a)->number, ((const struct ended *)b)->number);
}

static bool gather_submits(const struct lull_device_log *log, uint32_t location,
                           struct operations *operations)
{
    struct lull_device_submit submit = lull_device_submit_open(log, location);
    while (lull_device_submit_next(&submit)) {
        if (!lull_array_reserve(&operations->submits, &operations->submits_capacity,
                                operations->n_submits + 1, sizeof *operations->submits))
            return false;
        operations->submits[operations->n_submits++] =
            (struct submit){submit.number, submit.time, location};
    }
    return true;
}

static bool gather_depends(const struct lull_device_log *log, uint32_t location,
                           struct operations *operations)
{
    struct lull_device_depend depend = lull_device_depend_open(log, location);
    while (lull_device_depend_next(&depend)) {
        if (!lull_array_reserve(&operations->depends, &operations->depends_capacity,
                                operations->n_depends + 1, sizeof *operations->depends))
            return false;
        operations->depends[operations->n_depends++] = (struct depend){depend.number, depend.other};
    }
    return true;
}

static bool gather_ends(const struct lull_device_log *log, uint32_t location, uint32_t device,
                        struct operations *operations)
{
    struct lull_device_run run = lull_device_run_open(log, location);
    while (lull_device_run_next(&run)) {
        if (run.again) {
            operations->ends[operations->n_ends - 1].time = run.end;
            continue;
        }
        if (!lull_array_reserve(&operations->ends, &operations->ends_capacity,
                                operations->n_ends + 1, sizeof *operations->ends))
            return false;
        operations->ends[operations->n_ends++] = (struct ended){run.number, run.end, device};
    }
    return true;
}

/* They nearly always are in order: numbers are given in the order of calls. */
static void sort_unless_sorted(void *items, size_t count, size_t size,
                               int (*compare)(const void *a, const void *b))
{
    const char *item = items;
    for (size_t i = 1; i < count; i++, item += size)
        if (compare(item, item + size) > 0) {
            qsort(items, count, size, compare);
            return;
        }
}

static void operations_sort(struct operations *operations)
{
    sort_unless_sorted(operations->submits, operations->n_submits, sizeof *operations->submits,
                       by_submit);
    sort_unless_sorted(operations->depends, operations->n_depends, sizeof *operations->depends,
                       by_depend);
    sort_unless_sorted(operations->ends, operations->n_ends, sizeof *operations->ends, by_end);
}

static void operations_free(struct operations *operations)
{
    free(operations->submits);
    free(operations->depends);
    free(operations->ends);
}

/* Gathers the operations of a process; `device_of` says of which device each location is. */
static bool operations_of(const struct lull_trace *trace, const struct lull_device_log *log,
                          uint32_t process, const uint32_t *device_of,
                          struct operations *operations)
{
    const struct lull_process *of = &trace->processes[process];
    uint32_t first = LULL_NONE;
    bool ends = false, good = true;
    for (uint32_t l = of->first_location; l < of->first_location + of->n_locations; l++) {
        first = first == LULL_NONE ? device_of[l] : first;
        ends |= device_of[l] != LULL_NONE && device_of[l] != first;
    }
    for (uint32_t l = of->first_location; good && l < of->first_location + of->n_locations; l++)
        if (device_of[l] == LULL_NONE)
            good = gather_submits(log, l, operations) && gather_depends(log, l, operations);
    ends |= operations->n_depends > 0;
    for (uint32_t l = of->first_location; good && l < of->first_location + of->n_locations; l++)
        if (device_of[l] != LULL_NONE)
            good = !ends || gather_ends(log, l, device_of[l], operations);
    if (good)
        operations_sort(operations);
    return good;
}

/* ==== devices ================================================================================= */

/* A device while its streams are gathered. */
struct gathered {
    uint32_t *streams; /* locations, [n_streams] of the device */
    size_t streams_capacity;
    uint32_t n_sums;                            /* of which only sums are known */
    const struct lull_thread_breakdown *stream; /* the last one */
};

/* The piece of a thread's time that is charged. */
struct charged {
    struct lull_device_piece piece;
    uint32_t device; /* for which it is read, plus 1 */
};

struct gathering {
    struct lull_device_log *log; /* NULL: only sums are known */
    bool operations;             /* are to be told one by one */
    bool default_streams;        /* it is known what they hold */
    const struct lull_trace *trace;
    struct lull_breakdown *to;
    struct gathered *gathered; /* [to->n_devices] */
    size_t devices_capacity, gathered_capacity;
    struct lull_hash known; /* by what identifies a device: its index */
    uint32_t *device_of;    /* [n_locations]: LULL_NONE: a thread, or a stream of no device */
    uint32_t *users;        /* [n_processes]: devices that use it and are not concluded */
    struct operations **of_process; /* [n_processes]: NULL: not needed so far, or no more */
    struct charged *charged;        /* [n_locations] */
    struct operation_sums
        *sums;              /* [n_regions + 1], and what follows: where operations are to be told */
    struct lull_hash calls; /* by region of an operation and that of its call: how many */
    struct lull_hash
        waits; /* by region of an operation and that of the call that waits for it: index in */
    struct lull_device_wait_breakdown *device_waits; /* [waits.count], without names */
    size_t waits_capacity;
    struct lull_stream_breakdown *streams; /* [n_locations] */
    /* At most twice LULL_MOST_STRETCHES. */
    struct lull_device_stretch *stretches;
    size_t n_stretches;
    struct lull_arena *arena, *scratch;
};

/* ---- windows --------------------------------------------------------------------------------- */

struct spans {
    struct lull_interval *items;
    size_t count, capacity;
};

static bool add_span(struct spans *spans, int64_t begin, int64_t end)
{
    if (spans->count > 0 && spans->items[spans->count - 1].end == begin) {
        spans->items[spans->count - 1].end = end;
        return true;
    }
    if (!lull_array_reserve(&spans->items, &spans->capacity, spans->count + 1,
                            sizeof *spans->items))
        return false;
    spans->items[spans->count++] = (struct lull_interval){begin, end};
    return true;
}

/* The windows of a process are where its master is not outside. */
static bool add_windows_of(const struct gathering *gathering, uint32_t process, struct spans *spans)
{
    const struct lull_process *of = &gathering->trace->processes[process];
    if (of->n_threads == 0)
        return add_span(spans, 0, gathering->trace->duration);
    struct lull_device_piece piece = lull_device_piece_open(gathering->log, of->first_location);
    while (lull_device_piece_next(&piece))
        if (piece.place != LULL_PLACE_OUTSIDE && !add_span(spans, piece.begin, piece.end))
            return false;
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct lull_interval *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The windows of all processes of a device together. */
static bool find_windows(const struct gathering *gathering, uint32_t device, struct spans *spans)
{
    const struct gathered *gathered = &gathering->gathered[device];
    uint32_t last = LULL_NONE;
    for (uint32_t i = 0; i < gathering->to->devices[device].n_streams; i++) {
        const uint32_t process = gathering->trace->locations[gathered->streams[i]].process;
        if (process != last && !add_windows_of(gathering, process, spans))
            return false;
        last = process;
    }
    if (spans->count > 0)
        qsort(spans->items, spans->count, sizeof *spans->items, by_begin);
    size_t kept = 0;
    for (size_t i = 0; i < spans->count; i++) {
        const struct lull_interval next = spans->items[i];
        if (kept > 0 && next.begin <= spans->items[kept - 1].end)
            spans->items[kept - 1].end =
                next.end > spans->items[kept - 1].end ? next.end : spans->items[kept - 1].end;
        else
            spans->items[kept++] = next;
    }
    spans->count = kept;
    return true;
}

/* Lengths, or delays, in ns. */
struct operation_times {
    double *ns;
    size_t count, capacity;
};

/* All operations of a region. */
struct operation_sums {
    uint64_t bytes;
    int64_t ns;
    struct operation_times lengths, delays;
    uint64_t n_early;
    int64_t early_ns;
    int64_t lost[LULL_DEVICE_LOSSES]; /* while one of them was the next one of its device */
    struct lull_device_gap longest[LULL_DEVICE_LOSSES];
    int64_t held[LULL_DEVICE_HOLDS];
    struct lull_device_gap longest_held[LULL_DEVICE_HOLDS];
    uint8_t kind;
};

/* For the hashes of calls and of waits. `call`: region plus 1; 0: not known. */
struct call_key {
    uint64_t region, call;
};

/* ---- gaps ------------------------------------------------------------------------------------ */

/* The length of a union, whose parts come in the order of their begins. */
struct covered {
    int64_t ns, until;
};

static void cover(struct covered *covered, int64_t begin, int64_t end)
{
    if (end <= covered->until)
        return;
    covered->ns += end - (begin > covered->until ? begin : covered->until);
    covered->until = end;
}

struct sweep {
    struct gathering *gathering;
    uint32_t device;
    int64_t *lost;        /* [LULL_DEVICE_LOSSES] */
    int64_t returning_ns; /* of LULL_LOST_RUNTIME: in calls that wait for this device */
    struct spans windows;
    size_t window;                      /* the first that ends behind what is charged */
    size_t submit;                      /* the submission that was found last */
    uint64_t ended;                     /* region of the operation that has ended last */
    struct lull_device_stretch stretch; /* of the gap that is charged */
};

/* ---- single stretches ------------------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    const struct lull_device_stretch *x = a, *y = b;
    const int64_t left = x->end - x->begin, right = y->end - y->begin;
    return left != right ? (left > right ? -1 : 1) : (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_stretch_begin(const void *a, const void *b)
{
    const struct lull_device_stretch *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->location > y->location) - (x->location < y->location);
}

static void keep_longest(struct gathering *gathering)
{
    if (gathering->n_stretches <= LULL_MOST_STRETCHES)
        return;
    qsort(gathering->stretches, gathering->n_stretches, sizeof *gathering->stretches, by_length);
    gathering->n_stretches = LULL_MOST_STRETCHES;
}

/* Charges a part of the gap at hand to a cause, and notes the part as a stretch, or as more of the last one. */
static void lose(struct sweep *sweep, enum lull_device_loss loss, int64_t from, int64_t to)
{
    struct gathering *gathering = sweep->gathering;
    sweep->lost[loss] += to - from;
    if (!gathering->stretches || from == to)
        return;
    struct lull_device_stretch *last =
        gathering->n_stretches > 0 ? &gathering->stretches[gathering->n_stretches - 1] : NULL;
    if (last && last->end == from && last->loss == loss &&
        last->location == sweep->stretch.location) {
        last->end = to;
        return;
    }
    if (gathering->n_stretches == 2 * (size_t)LULL_MOST_STRETCHES)
        keep_longest(gathering);
    sweep->stretch.begin = from;
    sweep->stretch.end = to;
    sweep->stretch.loss = loss;
    gathering->stretches[gathering->n_stretches++] = sweep->stretch;
}

static void tell_stretches(struct gathering *gathering)
{
    keep_longest(gathering);
    if (gathering->n_stretches > 0)
        qsort(gathering->stretches, gathering->n_stretches, sizeof *gathering->stretches,
              by_stretch_begin);
    gathering->to->stretches = gathering->stretches;
    gathering->to->n_stretches = (uint32_t)gathering->n_stretches;
}

/* ---- causes of gaps -------------------------------------------------------------------------- */

static const struct ended *find_end(const struct operations *operations, uint64_t number)
{
    const size_t at =
        lull_sorted_first_u64(operations->ends, operations->n_ends, sizeof *operations->ends,
                              offsetof(struct ended, number), number);
    return number > 0 && at < operations->n_ends && operations->ends[at].number == number
               ? &operations->ends[at]
               : NULL;
}

static enum lull_device_loss loss_of(const struct sweep *sweep, const struct operations *operations,
                                     const struct lull_device_piece *piece)
{
    static const uint8_t losses[LULL_PLACES] = {[LULL_PLACE_HOST] = LULL_LOST_HOST,
                                                [LULL_PLACE_MPI] = LULL_LOST_MPI,
                                                [LULL_PLACE_RUNTIME] = LULL_LOST_RUNTIME,
                                                [LULL_PLACE_UNKNOWN] = LULL_LOST_UNKNOWN,
                                                [LULL_PLACE_OUTSIDE] = LULL_LOST_UNKNOWN};
    const struct ended *ended = find_end(operations, piece->waits_for);
    uint32_t device = ended ? ended->device : LULL_NONE;
    if (piece->stream != LULL_NONE)
        device = sweep->gathering->device_of[piece->stream];
    return piece->place == LULL_PLACE_RUNTIME && device != LULL_NONE && device != sweep->device
               ? LULL_LOST_OTHER_DEVICE
               : losses[piece->place];
}

/* Whether a thread is in a call that waits for the device which loses that. */
static bool is_wait(const struct lull_device_piece *piece, enum lull_device_loss loss)
{
    return (piece->waits_for > 0 || piece->stream != LULL_NONE) && loss == LULL_LOST_RUNTIME;
}

/* The piece of a thread's time that holds a moment, no earlier than the last one that was asked for; NULL: there is none. */
static const struct lull_device_piece *piece_at(const struct sweep *sweep, uint32_t location,
                                                int64_t time)
{
    struct charged *charged = &sweep->gathering->charged[location];
    if (charged->device != sweep->device + 1)
        *charged = (struct charged){lull_device_piece_open(sweep->gathering->log, location),
                                    sweep->device + 1};
    while (charged->piece.end <= time)
        if (!lull_device_piece_next(&charged->piece))
            return NULL;
    return &charged->piece;
}

/* Until the call begins that submits the next operation, its thread decides. */
static void charge_thread(struct sweep *sweep, const struct operations *operations,
                          uint32_t location, int64_t from, int64_t to)
{
    while (from < to) {
        const struct lull_device_piece *piece = piece_at(sweep, location, from);
        if (!piece) {
            lose(sweep, LULL_LOST_UNKNOWN, from, to);
            return;
        }
        const int64_t until = piece->end < to ? piece->end : to;
        const enum lull_device_loss loss = loss_of(sweep, operations, piece);
        lose(sweep, loss, from, until);
        sweep->returning_ns += is_wait(piece, loss) ? until - from : 0;
        from = until;
    }
}

/* Until when the operation waited for those of other devices. */
static int64_t end_of_others(const struct sweep *sweep, const struct operations *operations,
                             uint64_t number)
{
    int64_t end = 0;
    size_t at =
        lull_sorted_first_u64(operations->depends, operations->n_depends,
                              sizeof *operations->depends, offsetof(struct depend, number), number);
    for (; at < operations->n_depends && operations->depends[at].number == number; at++) {
        const struct ended *other = find_end(operations, operations->depends[at].other);
        if (other && other->device != sweep->device && other->time > end)
            end = other->time;
    }
    return end;
}

static int64_t within(int64_t time, int64_t from, int64_t to)
{
    return time < from ? from : time > to ? to : time;
}

static bool is_submit(const struct operations *operations, size_t at, uint64_t number)
{
    return at < operations->n_submits && operations->submits[at].number == number;
}

/* NULL: not known. It often is that which was found last, or the one behind it. */
static const struct submit *find_submit(struct sweep *sweep, const struct operations *operations,
                                        uint64_t number)
{
    size_t at = sweep->submit;
    if (number == 0)
        return NULL;
    if (!is_submit(operations, at, number) && !is_submit(operations, ++at, number))
        at = lull_sorted_first_u64(operations->submits, operations->n_submits,
                                   sizeof *operations->submits, offsetof(struct submit, number),
                                   number);
    if (!is_submit(operations, at, number))
        return NULL;
    sweep->submit = at;
    return &operations->submits[at];
}

/* The device did nothing from `from` to `to`, inside a window; `next` is its next operation, or NULL. */
static void charge(struct sweep *sweep, int64_t from, int64_t to,
                   const struct lull_device_run *next)
{
    sweep->stretch = (struct lull_device_stretch){
        .location = LULL_NONE, .submitter = LULL_NONE, .region = LULL_NONE};
    if (!next) {
        lose(sweep, LULL_LOST_NO_WORK, from, to);
        return;
    }
    const struct lull_trace *trace = sweep->gathering->trace;
    const struct operations *operations =
        sweep->gathering->of_process[trace->locations[next->location].process];
    const struct submit *submit = find_submit(sweep, operations, next->number);
    sweep->stretch.location = next->location;
    sweep->stretch.until = next->begin;
    if (next->region < trace->n_regions)
        sweep->stretch.region = (uint32_t)next->region;
    if (!submit) {
        lose(sweep, LULL_LOST_UNKNOWN, from, to);
        return;
    }
    sweep->stretch.submitter = submit->location;
    sweep->stretch.submitted = submit->time;
    const int64_t called = within(submit->time, from, to);
    const int64_t ready = within(end_of_others(sweep, operations, next->number), called, to);
    charge_thread(sweep, operations, submit->location, from, called);
    lose(sweep, LULL_LOST_OTHER_DEVICE, called, ready);
    lose(sweep, LULL_LOST_LAUNCH, ready, to);
}

/* ---- gaps behind waits ----------------------------------------------------------------------- */

/* The call in which a thread waits for the device at `from`, when the device runs out of work, if that thread submits the
 * next operation after the wait; NULL: there is none. */
static const struct lull_device_piece *find_wait(struct sweep *sweep, int64_t from,
                                                 const struct lull_device_run *next)
{
    const struct operations *operations =
        sweep->gathering->of_process[sweep->gathering->trace->locations[next->location].process];
    const struct submit *submit = find_submit(sweep, operations, next->number);
    if (!submit || submit->time <= from || from == 0)
        return NULL;
    const struct lull_device_piece *piece = piece_at(sweep, submit->location, from);
    return piece && is_wait(piece, loss_of(sweep, operations, piece)) ? piece : NULL;
}

/* The row of waits in a call for the operation that has ended last; NULL: no memory. */
static struct lull_device_wait_breakdown *find_row_of_wait(const struct sweep *sweep, uint32_t call)
{
    struct gathering *gathering = sweep->gathering;
    const struct call_key key = {sweep->ended, call == LULL_NONE ? 0 : call + UINT64_C(1)};
    const size_t n = gathering->waits.count;
    bool fresh;
    const uint64_t *index = lull_hash_add(&gathering->waits, &key, sizeof key, n, &fresh);
    if (!index)
        return NULL;
    gathering->device_waits =
        lull_arena_grow(gathering->scratch, gathering->device_waits, &gathering->waits_capacity,
                        n + 1, sizeof *gathering->device_waits);
    if (fresh)
        gathering->device_waits[n] = (struct lull_device_wait_breakdown){0};
    return &gathering->device_waits[*index];
}

/* The losses of a device so far that may count behind a wait: of those to the runtime only the time of calls that wait. */
static void count_behind_waits(const struct sweep *sweep, int64_t ret_lost[LULL_DEVICE_LOSSES])
{
    memcpy(ret_lost, sweep->lost, LULL_DEVICE_LOSSES * sizeof *ret_lost);
    ret_lost[LULL_LOST_RUNTIME] = sweep->returning_ns;
}

/* `before`: count_behind_waits before the gap. False: no memory. */
static bool add_gap_behind_wait(struct sweep *sweep, uint32_t call, const int64_t *before,
                                struct lull_device_gap gap)
{
    int64_t now[LULL_DEVICE_LOSSES];
    count_behind_waits(sweep, now);
    struct lull_device_breakdown *device = &sweep->gathering->to->devices[sweep->device];
    struct lull_device_wait_breakdown *row =
        sweep->gathering->operations ? find_row_of_wait(sweep, call) : NULL;
    device->n_behind_waits++;
    for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++) {
        const int64_t ns = now[loss] - before[loss];
        device->behind_wait_ns[loss] += ns;
        gap.ns += ns;
        if (row)
            row->lost_ns[loss] += ns;
    }
    if (!row)
        return !sweep->gathering->operations;
    row->n_gaps++;
    if (gap.ns > row->longest.ns)
        row->longest = gap;
    return true;
}

/* ---- all gaps -------------------------------------------------------------------------------- */

/* False: no memory. */
static bool charge_gap(struct sweep *sweep, int64_t from, int64_t to,
                       const struct lull_device_run *next)
{
    const struct spans *windows = &sweep->windows;
    int64_t before[LULL_DEVICE_LOSSES], before_wait[LULL_DEVICE_LOSSES];
    const struct lull_device_piece *wait = next ? find_wait(sweep, from, next) : NULL;
    const bool waits = wait != NULL;
    const uint32_t call = waits ? wait->call : LULL_NONE; /* charging moves the piece */
    memcpy(before, sweep->lost, sizeof before);
    count_behind_waits(sweep, before_wait);
    while (sweep->window < windows->count && windows->items[sweep->window].end <= from)
        sweep->window++;
    for (size_t w = sweep->window; w < windows->count && windows->items[w].begin < to; w++) {
        const int64_t begin = within(windows->items[w].begin, from, to);
        const int64_t end = within(windows->items[w].end, from, to);
        if (begin < end)
            charge(sweep, begin, end, next);
    }
    if (!next)
        return true;
    if (waits && !add_gap_behind_wait(sweep, call, before_wait,
                                      (struct lull_device_gap){from, to, 0, next->location}))
        return false;
    if (!sweep->gathering->operations)
        return true;
    struct operation_sums *sums = &sweep->gathering->sums[next->region];
    for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++) {
        const int64_t ns = sweep->lost[loss] - before[loss];
        sums->lost[loss] += ns;
        if (ns > sums->longest[loss].ns)
            sums->longest[loss] = (struct lull_device_gap){from, to, ns, next->location};
    }
    return true;
}

/* ---- operations one by one ------------------------------------------------------------------- */

/* Taken where the error of a clock is not told: times of PyTorch's profiler may be cut to microseconds. */
#define UNKNOWN_ERROR_NS 1e3

static bool add_operation_time(struct operation_times *times, int64_t ns)
{
    if (!lull_array_reserve(&times->ns, &times->capacity, times->count + 1, sizeof *times->ns))
        return false;
    times->ns[times->count++] = (double)ns;
    return true;
}

/* Whether the piece begins where a window does: the operation may have begun before. */
static bool is_cut(const struct sweep *sweep, const struct lull_device_run *run)
{
    const struct spans *windows = &sweep->windows;
    for (size_t w = sweep->window; w < windows->count && windows->items[w].begin <= run->begin; w++)
        if (windows->items[w].begin == run->begin && run->begin > 0)
            return true;
    return run->again;
}

/* By how much the times of a stream may be wrong beside those of threads, ns. */
static double clock_error_of(const struct lull_stream *stream)
{
    return stream && stream->clock_error >= 0 ? stream->clock_error : UNKNOWN_ERROR_NS;
}

static bool add_delay(struct sweep *sweep, const struct lull_device_run *run,
                      struct operation_sums *sums)
{
    const struct lull_location *of = &sweep->gathering->trace->locations[run->location];
    const struct operations *operations = sweep->gathering->of_process[of->process];
    const struct submit *submit = find_submit(sweep, operations, run->number);
    if (!submit || is_cut(sweep, run))
        return true;
    const int64_t delay = run->begin - submit->time;
    if (delay >= 0)
        return add_operation_time(&sums->delays, delay);
    if ((double)-delay > clock_error_of(of->stream)) {
        sums->n_early++;
        sums->early_ns = -delay > sums->early_ns ? -delay : sums->early_ns;
    }
    return true;
}

static bool tell_operation(struct sweep *sweep, const struct lull_device_run *run)
{
    struct gathering *gathering = sweep->gathering;
    struct operation_sums *sums = &gathering->sums[run->region];
    struct lull_stream_breakdown *stream = &gathering->streams[run->location];
    const struct call_key key = {run->region, run->call};
    uint64_t *calls = lull_hash_add(&gathering->calls, &key, sizeof key, 0, NULL);
    if (!calls)
        return false;
    ++*calls;
    sums->kind = run->kind;
    sums->ns += run->end - run->begin;
    sums->bytes += run->bytes;
    stream->kinds[run->kind].count++;
    stream->kinds[run->kind].ns += run->end - run->begin;
    stream->kinds[run->kind].bytes += run->bytes;
    return add_operation_time(&sums->lengths, run->end - run->begin) && add_delay(sweep, run, sums);
}

static struct lull_lengths lengths_of(struct operation_times *times)
{
    if (times->count == 0)
        return (struct lull_lengths){0};
    lull_sort(times->ns, times->count);
    return (struct lull_lengths){.min_ns = (int64_t)times->ns[0],
                                 .median_ns = (int64_t)lull_median(times->ns, times->count),
                                 .max_ns = (int64_t)times->ns[times->count - 1]};
}

static int by_operation_time(const void *a, const void *b)
{
    const struct lull_operation_breakdown *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->name, y->name);
}

/* Says which call submitted most of the operations of each region. `row_of` is [n_regions + 1]. */
static void tell_calls(const struct gathering *gathering, const uint32_t *row_of)
{
    const struct lull_trace *trace = gathering->trace;
    for (size_t i = 0; i < gathering->calls.count; i++) {
        struct call_key key;
        memcpy(&key, lull_hash_key(&gathering->calls, i), sizeof key);
        struct lull_operation_breakdown *row = &gathering->to->operations[row_of[key.region]];
        const uint64_t n = gathering->calls.entries[i].value;
        if (key.call == 0)
            continue;
        const struct lull_region *call = &trace->regions[key.call - 1];
        row->n_calls++;
        if (n <= row->n_from_there)
            continue;
        row->n_from_there = n;
        row->call = call->name;
        row->site = call->site;
    }
}

static const char *name_of_operations(const struct lull_trace *trace, uint64_t region)
{
    return region < trace->n_regions ? trace->regions[region].name : "(no name)";
}

static void tell_operations(struct gathering *gathering)
{
    const struct lull_trace *trace = gathering->trace;
    struct lull_breakdown *to = gathering->to;
    uint32_t *row_of =
        lull_arena_zero(gathering->scratch, trace->n_regions + (size_t)1, sizeof *row_of);
    to->operations =
        lull_arena_zero(gathering->arena, trace->n_regions + (size_t)1, sizeof *to->operations);
    for (uint32_t r = 0; r <= trace->n_regions; r++) {
        struct operation_sums *sums = &gathering->sums[r];
        const char *name = name_of_operations(trace, r);
        if (sums->lengths.count == 0)
            continue;
        row_of[r] = to->n_operations;
        to->operations[to->n_operations++] =
            (struct lull_operation_breakdown){.name = lull_arena_strdup(gathering->arena, name),
                                              .kind = sums->kind,
                                              .count = sums->lengths.count,
                                              .ns = sums->ns,
                                              .length = lengths_of(&sums->lengths),
                                              .bytes = sums->bytes,
                                              .n_delays = sums->delays.count,
                                              .delay = lengths_of(&sums->delays),
                                              .n_early = sums->n_early,
                                              .early_ns = sums->early_ns,
                                              .call = "",
                                              .site = ""};
        memcpy(to->operations[row_of[r]].lost_ns, sums->lost, sizeof sums->lost);
        memcpy(to->operations[row_of[r]].longest, sums->longest, sizeof sums->longest);
        memcpy(to->operations[row_of[r]].held_ns, sums->held, sizeof sums->held);
        memcpy(to->operations[row_of[r]].longest_held, sums->longest_held,
               sizeof sums->longest_held);
    }
    tell_calls(gathering, row_of);
    for (uint32_t i = 0; i < to->n_operations; i++) {
        to->operations[i].call = lull_arena_strdup(gathering->arena, to->operations[i].call);
        to->operations[i].site = lull_arena_strdup(gathering->arena, to->operations[i].site);
    }
    if (to->n_operations > 0)
        qsort(to->operations, to->n_operations, sizeof *to->operations, by_operation_time);
}

static int64_t time_of_waits(const struct lull_device_wait_breakdown *of)
{
    int64_t ns = 0;
    for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        ns += of->lost_ns[loss];
    return ns;
}

static int by_time_of_waits(const void *a, const void *b)
{
    const struct lull_device_wait_breakdown *x = a, *y = b;
    const int64_t i = time_of_waits(x), j = time_of_waits(y);
    int order = i != j ? (i > j ? -1 : 1) : strcmp(x->call, y->call);
    order = order != 0 ? order : strcmp(x->site, y->site);
    return order != 0 ? order : strcmp(x->operation, y->operation);
}

static void tell_waits(struct gathering *gathering)
{
    const struct lull_trace *trace = gathering->trace;
    struct lull_breakdown *to = gathering->to;
    to->n_device_waits = (uint32_t)gathering->waits.count;
    to->device_waits =
        lull_arena_zero(gathering->arena, to->n_device_waits, sizeof *to->device_waits);
    for (uint32_t i = 0; i < to->n_device_waits; i++) {
        struct lull_device_wait_breakdown *row = &to->device_waits[i];
        struct call_key key;
        memcpy(&key, lull_hash_key(&gathering->waits, i), sizeof key);
        const struct lull_region *call = key.call > 0 ? &trace->regions[key.call - 1] : NULL;
        *row = gathering->device_waits[i];
        row->call = lull_arena_strdup(gathering->arena, call ? call->name : "");
        row->site = lull_arena_strdup(gathering->arena, call ? call->site : "");
        row->operation = lull_arena_strdup(gathering->arena, name_of_operations(trace, key.region));
    }
    if (to->n_device_waits > 0)
        qsort(to->device_waits, to->n_device_waits, sizeof *to->device_waits, by_time_of_waits);
}

static void tell_streams(struct gathering *gathering)
{
    const struct lull_trace *trace = gathering->trace;
    struct lull_breakdown *to = gathering->to;
    to->streams =
        lull_arena_zero(gathering->arena, trace->n_locations + (size_t)1, sizeof *to->streams);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (gathering->device_of[l] != LULL_NONE && gathering->streams[l].device)
            to->streams[to->n_streams++] = gathering->streams[l];
}

/* ---- all operations of a device in their order ----------------------------------------------- */

/* A binary heap of runs, the one that begins first on top, of several the one with the lowest location. */
struct heap {
    struct lull_device_run *runs;
    uint32_t count;
};

static bool comes_before(const struct lull_device_run *a, const struct lull_device_run *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->location < b->location;
}

static void sift_down(struct heap *heap, uint32_t at)
{
    struct lull_device_run *runs = heap->runs;
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (comes_before(&runs[child], &runs[least]))
                least = child;
        if (least == at)
            return;
        const struct lull_device_run moved = runs[at];
        runs[at] = runs[least];
        runs[least] = moved;
        at = least;
    }
}

static void fill_heap(const struct gathering *gathering, uint32_t device, struct heap *heap)
{
    const uint32_t n = gathering->to->devices[device].n_streams;
    heap->runs = lull_arena_zero(gathering->scratch, n, sizeof *heap->runs);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t location = gathering->gathered[device].streams[i];
        struct lull_device_run run = lull_device_run_open(gathering->log, location);
        if (lull_device_run_next(&run))
            heap->runs[heap->count++] = run;
    }
    for (uint32_t i = heap->count / 2; i-- > 0;)
        sift_down(heap, i);
}

static bool sweep_device(struct sweep *sweep, struct lull_device_breakdown *device)
{
    struct covered kernels = {0}, copies = {0}, exchanges = {0}, busy = {0};
    struct covered with_copies = {0}, with_exchanges = {0}; /* kernels or those */
    struct heap heap = {0};
    fill_heap(sweep->gathering, sweep->device, &heap);
    while (heap.count > 0) {
        struct lull_device_run *run = &heap.runs[0];
        if (run->begin > busy.until && !charge_gap(sweep, busy.until, run->begin, run))
            return false;
        if (run->end > busy.until)
            sweep->ended = run->region;
        struct covered *own = run->kind == LULL_OPERATION_KERNEL ? &kernels
                              : run->kind == LULL_OPERATION_COPY ? &copies
                                                                 : &exchanges;
        cover(own, run->begin, run->end);
        if (own != &exchanges)
            cover(&with_copies, run->begin, run->end);
        if (own != &copies)
            cover(&with_exchanges, run->begin, run->end);
        cover(&busy, run->begin, run->end);
        if (sweep->gathering->operations && !tell_operation(sweep, run))
            return false;
        if (!lull_device_run_next(run))
            *run = heap.runs[--heap.count];
        sift_down(&heap, 0);
    }
    if (!charge_gap(sweep, busy.until, INT64_MAX, NULL))
        return false;
    device->kernel_ns = kernels.ns;
    device->busy_ns = busy.ns;
    device->copy_ns = copies.ns;
    device->copy_beside_ns = kernels.ns + copies.ns - with_copies.ns;
    device->exchange_ns = exchanges.ns;
    device->exchange_beside_ns = kernels.ns + exchanges.ns - with_exchanges.ns;
    device->lost_ns[LULL_LOST_COPYING] = with_copies.ns - kernels.ns;
    device->lost_ns[LULL_LOST_EXCHANGING] = busy.ns - with_copies.ns;
    return true;
}

/* ---- operations that were held --------------------------------------------------------------- */

/* Operations of streams may wait for others by events, graphs and functions of the host, of which nobody tells which: where
 * a program uses these, what a default stream holds is not known. */
static bool knows_default_streams(const struct lull_trace *trace)
{
    static const char *const calls[] = {"StreamWaitEvent", "StreamWaitValue", "GraphLaunch",
                                        "LaunchHostFunc", "StreamAddCallback"};
    for (uint32_t r = 0; r < trace->n_regions; r++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (trace->regions[r].paradigm == LULL_PARADIGM_DEVICE &&
                strstr(trace->regions[r].name, calls[i]))
                return false;
    return true;
}

/* The operations of a device, for lull_held_operations_find. */
struct holding {
    struct sweep *sweep;
    const struct lull_held_stream *streams;
    struct lull_device_run *runs; /* [n_streams] */
    int64_t *until;               /* [n_streams]: when the last operation has ended */
};

/* INT64_MAX: not known. */
static int64_t ready_of(struct sweep *sweep, const struct lull_device_run *run)
{
    const struct operations *operations =
        sweep->gathering->of_process[sweep->gathering->trace->locations[run->location].process];
    const struct submit *submit = find_submit(sweep, operations, run->number);
    if (!submit)
        return INT64_MAX;
    int64_t ready = submit->time;
    size_t at = lull_sorted_first_u64(operations->depends, operations->n_depends,
                                      sizeof *operations->depends, offsetof(struct depend, number),
                                      run->number);
    for (; at < operations->n_depends && operations->depends[at].number == run->number; at++) {
        const struct ended *other = find_end(operations, operations->depends[at].other);
        if (!other)
            return INT64_MAX;
        ready = other->time > ready ? other->time : ready;
    }
    return ready;
}

static bool next_of_stream(void *context, uint32_t stream,
                           struct lull_held_operation *ret_operation)
{
    const struct holding *holding = context;
    struct lull_device_run *run = &holding->runs[stream];
    int64_t *until = &holding->until[stream];
    if (!lull_device_run_next(run))
        return false;
    const int64_t begin = run->begin > *until ? run->begin : *until;
    const bool knows = holding->streams[stream].side != LULL_SIDE_NEITHER && !run->again;
    int64_t ready = knows ? ready_of(holding->sweep, run) : INT64_MAX;
    ready = ready > *until ? ready : *until;
    *until = run->end > begin ? run->end : begin;
    *ret_operation = (struct lull_held_operation){.ready = ready,
                                                  .begin = begin,
                                                  .end = *until,
                                                  .region = run->region,
                                                  .is_kernel = run->kind == LULL_OPERATION_KERNEL};
    return true;
}

static void tell_held(void *context, uint32_t stream, const struct lull_held_operation *operation,
                      enum lull_device_hold hold, int64_t ns)
{
    const struct holding *holding = context;
    struct gathering *gathering = holding->sweep->gathering;
    if (!gathering->operations)
        return;
    struct operation_sums *sums = &gathering->sums[operation->region];
    sums->held[hold] += ns;
    if (ns > sums->longest_held[hold].ns)
        sums->longest_held[hold] = (struct lull_device_gap){operation->ready, operation->begin, ns,
                                                            holding->runs[stream].location};
}

static uint8_t side_of(const struct lull_stream *stream)
{
    if (!stream || !stream->in_order)
        return LULL_SIDE_NEITHER;
    return stream->is_default ? LULL_SIDE_DEFAULT : LULL_SIDE_OTHER;
}

static void find_held(struct sweep *sweep, struct lull_device_breakdown *device)
{
    struct gathering *gathering = sweep->gathering;
    const uint32_t n = device->n_streams;
    const uint32_t *locations = gathering->gathered[sweep->device].streams;
    struct lull_held_stream *streams = lull_arena_zero(gathering->scratch, n, sizeof *streams);
    struct holding holding = {.sweep = sweep,
                              .streams = streams,
                              .runs = lull_arena_zero(gathering->scratch, n, sizeof *holding.runs),
                              .until =
                                  lull_arena_zero(gathering->scratch, n, sizeof *holding.until)};
    uint32_t last = LULL_NONE, process = 0;
    unsigned sides = 0; /* of the streams of a process */
    bool both = false;  /* a process has a default stream and others */
    for (uint32_t s = 0; s < n; s++) {
        const struct lull_location *of = &gathering->trace->locations[locations[s]];
        const bool fresh = of->process != last;
        process += fresh && s > 0;
        last = of->process;
        streams[s] = (struct lull_held_stream){process, side_of(of->stream)};
        sides = (fresh ? 0 : sides) | 1u << streams[s].side;
        both |= (sides & 1u << LULL_SIDE_DEFAULT) && (sides & 1u << LULL_SIDE_OTHER);
        holding.runs[s] = lull_device_run_open(gathering->log, locations[s]);
    }
    const struct lull_held_device of = {.streams = streams,
                                        .n_streams = n,
                                        .n_processes = process + 1,
                                        .windows = sweep->windows.items,
                                        .n_windows = sweep->windows.count,
                                        .default_streams = both && gathering->default_streams,
                                        .context = &holding,
                                        .next = next_of_stream,
                                        .held = tell_held};
    if (of.default_streams || of.n_processes > 1)
        lull_held_operations_find(&of, gathering->scratch, device->held);
}

/* ==== the result ============================================================================== */

/* Nothing is known of a stream of which sums alone were kept, in a part of the run. */
static bool is_measured(const struct lull_thread_breakdown *stream)
{
    return lull_thread_window(stream) > stream->disabled_ns || stream->disabled_ns == 0;
}

static int64_t time_of(const struct lull_thread_breakdown *stream, int activity)
{
    return stream->times.ns[activity][0] + stream->times.ns[activity][1];
}

/* From the sums of its only stream. */
static void take_sums(const struct lull_thread_breakdown *stream,
                      struct lull_device_breakdown *device)
{
    device->kernel_ns = time_of(stream, LULL_USEFUL);
    device->copy_ns = device->lost_ns[LULL_LOST_COPYING] = time_of(stream, LULL_DEVICE);
    device->busy_ns = device->kernel_ns + device->lost_ns[LULL_LOST_COPYING];
    device->lost_ns[LULL_LOST_UNKNOWN] = lull_thread_window(stream) - device->busy_ns;
}

/* Sees to it that the operations of the device's processes are there, or, afterwards, that they go when no other
 * device needs them. */
static bool need_operations(struct gathering *gathering, uint32_t device, bool needed)
{
    uint32_t last = LULL_NONE;
    for (uint32_t i = 0; i < gathering->to->devices[device].n_streams; i++) {
        const uint32_t p =
            gathering->trace->locations[gathering->gathered[device].streams[i]].process;
        struct operations *of = gathering->of_process[p];
        if (needed && !of) {
            gathering->of_process[p] = of =
                lull_arena_zero(gathering->scratch, 1, sizeof *gathering->of_process[p]);
            if (!operations_of(gathering->trace, gathering->log, p, gathering->device_of, of))
                return false;
        }
        if (!needed && p != last && --gathering->users[p] == 0) {
            operations_free(of);
            gathering->of_process[p] = NULL;
        }
        last = p;
    }
    return true;
}

static bool conclude(struct gathering *gathering, uint32_t index)
{
    struct lull_device_breakdown *device = &gathering->to->devices[index];
    const struct gathered *gathered = &gathering->gathered[index];
    bool good = true;
    if (device->absent)
        return true;
    if (gathered->n_sums > 0 && device->n_streams > 1) {
        device->absent = "sums of several streams do not tell when their device was busy";
        return true;
    }
    if (gathered->n_sums > 0) {
        take_sums(gathered->stream, device);
        return true;
    }
    struct sweep sweep = {.gathering = gathering, .device = index, .lost = device->lost_ns};
    good =
        find_windows(gathering, index, &sweep.windows) && need_operations(gathering, index, true);
    good = good && sweep_device(&sweep, device);
    if (good)
        find_held(&sweep, device);
    good = good && need_operations(gathering, index, false);
    free(sweep.windows.items);
    return good;
}

/* The index of a location's device; LULL_NONE: no memory. */
static uint32_t find_device(struct gathering *gathering, uint32_t location)
{
    const struct lull_trace *trace = gathering->trace;
    const char *id = lull_device_identify(trace, location, gathering->scratch);
    struct lull_breakdown *to = gathering->to;
    bool fresh;
    const uint64_t *index = lull_hash_add(&gathering->known, id, strlen(id), to->n_devices, &fresh);
    if (!index || !fresh)
        return index ? (uint32_t)*index : LULL_NONE;
    const struct lull_stream *stream = trace->locations[location].stream;
    to->devices = lull_arena_grow(gathering->arena, to->devices, &gathering->devices_capacity,
                                  to->n_devices + (size_t)1, sizeof *to->devices);
    gathering->gathered =
        lull_arena_grow(gathering->scratch, gathering->gathered, &gathering->gathered_capacity,
                        to->n_devices + (size_t)1, sizeof *gathering->gathered);
    gathering->gathered[to->n_devices] = (struct gathered){0};
    to->devices[to->n_devices] = (struct lull_device_breakdown){
        .id = lull_arena_strdup(gathering->arena, id),
        .name =
            lull_arena_strdup(gathering->arena, stream ? trace->devices[stream->device].name : "")};
    return to->n_devices++;
}

static bool gather_stream(struct gathering *gathering, uint32_t location,
                          const struct lull_thread_breakdown *stream)
{
    const struct lull_location *of = &gathering->trace->locations[location];
    const uint32_t d = find_device(gathering, location);
    if (d == LULL_NONE)
        return false;
    struct lull_device_breakdown *device = &gathering->to->devices[d];
    struct gathered *gathered = &gathering->gathered[d];
    const bool fresh =
        device->n_streams == 0 ||
        gathering->trace->locations[gathered->streams[device->n_streams - 1]].process !=
            of->process;
    gathered->streams =
        lull_arena_grow(gathering->scratch, gathered->streams, &gathered->streams_capacity,
                        device->n_streams + (size_t)1, sizeof *gathered->streams);
    gathered->streams[device->n_streams++] = location;
    gathered->n_sums += !gathering->log || (of->stream && of->stream->summary);
    gathered->stream = stream;
    device->n_processes += fresh;
    gathering->users[of->process] += fresh;
    gathering->device_of[location] = d;
    if (gathering->streams)
        gathering->streams[location] =
            (struct lull_stream_breakdown){.rank = gathering->trace->processes[of->process].rank,
                                           .number = of->number,
                                           .device = device->id,
                                           .window_ns = lull_thread_window(stream)};
    if (!is_measured(stream))
        device->absent = "devices not measured in this part";
    return true;
}

static bool gather_streams(struct gathering *gathering, uint32_t application)
{
    const struct lull_trace *trace = gathering->trace;
    uint32_t thread = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        gathering->device_of[l] = LULL_NONE;
        if (trace->processes[trace->locations[l].process].application != application)
            continue;
        const struct lull_thread_breakdown *stream = &gathering->to->threads[thread++];
        if (lull_is_of_device(trace, l, application)) {
            if (!gather_stream(gathering, l, stream))
                return false;
        } else if (gathering->log && !lull_device_log_end(gathering->log, l)) {
            return false;
        }
    }
    return true;
}

lull_status lull_devices_fill(struct lull_device_log *log, bool operations,
                              const struct lull_trace *trace, uint32_t application,
                              struct lull_arena *arena, struct lull_breakdown *breakdown,
                              struct lull_error *err)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    const size_t locations = trace->n_locations + (size_t)1,
                 processes = trace->n_processes + (size_t)1;
    struct gathering gathering = {
        .log = log,
        .operations = log && operations,
        .default_streams = knows_default_streams(trace),
        .trace = trace,
        .to = breakdown,
        .device_of = lull_arena_zero(scratch, locations, sizeof(uint32_t)),
        .users = lull_arena_zero(scratch, processes, sizeof(uint32_t)),
        .of_process = lull_arena_zero(scratch, processes, sizeof(struct operations *)),
        .charged = lull_arena_zero(scratch, log ? locations : 1, sizeof(struct charged)),
        .arena = arena,
        .scratch = scratch};
    if (gathering.operations) {
        gathering.sums =
            lull_arena_zero(scratch, trace->n_regions + (size_t)1, sizeof *gathering.sums);
        gathering.streams = lull_arena_zero(scratch, locations, sizeof *gathering.streams);
        gathering.stretches =
            lull_arena_alloc(arena, 2 * LULL_MOST_STRETCHES * sizeof *gathering.stretches);
    }
    bool good = gather_streams(&gathering, application);
    for (uint32_t d = 0; good && d < breakdown->n_devices; d++)
        good = conclude(&gathering, d);
    if (good && gathering.sums) {
        tell_operations(&gathering);
        tell_waits(&gathering);
        tell_streams(&gathering);
        tell_stretches(&gathering);
    }
    for (uint32_t r = 0; gathering.sums && r <= trace->n_regions; r++) {
        free(gathering.sums[r].lengths.ns);
        free(gathering.sums[r].delays.ns);
    }
    lull_hash_free(&gathering.calls);
    lull_hash_free(&gathering.waits);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (gathering.of_process[p])
            operations_free(gathering.of_process[p]);
    lull_hash_free(&gathering.known);
    lull_arena_destroy(scratch);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for what devices did",
                            trace->path);
}
