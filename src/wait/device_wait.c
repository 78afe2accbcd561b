/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait/device_wait.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "match/device_log.h"
#include "match/exchange.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *lull_device_cause_name(unsigned cause)
{
    static const char *const names[LULL_DEVICE_CAUSES] = {
        [LULL_DEVICE_CAUSE_RAN] = "running",   [LULL_DEVICE_CAUSE_LAUNCH] = "launch",
        [LULL_DEVICE_CAUSE_HOST] = "host",     [LULL_DEVICE_CAUSE_OTHER_RANK] = "MPI for a rank",
        [LULL_DEVICE_CAUSE_MPI] = "MPI",       [LULL_DEVICE_CAUSE_RUNTIME] = "runtime",
        [LULL_DEVICE_CAUSE_RETURN] = "return", [LULL_DEVICE_CAUSE_NOT_KNOWN] = "not known",
    };
    return cause < LULL_DEVICE_CAUSES ? names[cause] : "unknown";
}

/* ==== what is known =========================================================================== */

enum { MARK_EVERY = 128 }; /* pieces of a list between two marks */

/* An operation of a stream. */
struct awaited_operation {
    int64_t begin, end;    /* behind the one before it on its stream */
    int64_t submitted;     /* the call begins that submits it; -1: not known */
    uint64_t number;       /* in its process; 0: not known */
    uint32_t stream;       /* location */
    uint32_t order;        /* how many pieces of operations are before it on its stream */
    uint32_t region, call; /* of the operation, and of the call that submits it, or LULL_NONE */
    uint32_t thread;       /* location that submits it, or LULL_NONE */
    /* Of a kernel in exchanges: the operation that begins last, of itself and those that it waits for; LULL_NONE: nobody knows. */
    uint32_t last;
};

struct operation_number {
    uint64_t number;
    uint32_t operation;
};

struct operation_need {
    uint64_t number, other;
};

/* A wait in MPI. */
struct rank_wait {
    int64_t begin, until;
    uint32_t process;
};

/* One call that waits: from when on, and for which operation. */
enum { AWAITS_NOTHING = UINT32_MAX - 1, AWAITS_UNKNOWN = UINT32_MAX };
struct awaiting_call {
    int64_t time;
    uint32_t operation; /* or one of these two */
};

/* A piece of a thread's time in one region. */
struct region_piece {
    struct lull_varint_reader reader;
    int64_t begin, end;
    uint32_t region;
};

/* A place in a list of pieces of a thread's time, at every MARK_EVERY-th piece, so that one finds the piece at a moment. */
struct piece_mark {
    int64_t begin;           /* of the piece */
    const unsigned char *at; /* its bytes */
};
struct piece_marks {
    struct piece_mark *items;
    size_t count, capacity;
};

/* An operation of a stream whose submission is known. */
struct submitted_operation {
    int64_t submitted;
    uint32_t operation;
    uint32_t last; /* of those that were submitted up to this one, the one that ends last */
};

struct device_location {
    /* Of a thread, for each piece of its time in one region: the length, and the region plus 1. */
    struct lull_varints regions;
    int64_t begin, end; /* of the piece that goes on, which is in no list so far */
    uint32_t region;
    struct rank_wait *waits;
    size_t n_waits, wait_capacity;
    /* When all is taken. */
    uint32_t first, count;                 /* of a stream: its operations */
    struct submitted_operation *by_submit; /* of a stream for which threads wait as a whole */
    size_t n_submitted;
    struct awaiting_call *calls; /* of a thread, in the order of their times */
    size_t n_calls, call_capacity;
    struct piece_marks piece_marks, region_marks;
};

/* What refers to operations of a process by their numbers. */
struct device_process {
    struct operation_number *numbers; /* by number, then by operation */
    struct operation_need *needs;     /* by number, then by other */
    size_t n_numbers, n_needs, number_capacity, need_capacity;
};

struct wait_devices {
    const struct lull_trace *trace;
    const struct lull_reading *reading;
    struct lull_device_log *log;
    struct device_process *processes;
    struct awaited_operation *operations; /* those of a stream together, in their order */
    size_t n_operations, operation_capacity;
    struct device_location locations[];
};

/* ---- life ------------------------------------------------------------------------------------ */

static lull_status no_memory_for_devices(const struct wait_devices *devices, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for waits for its devices",
                     devices->trace->path);
}

lull_status lull_wait_devices_create(const struct lull_trace *trace,
                                     const struct lull_reading *reading,
                                     struct wait_devices **ret_devices, struct lull_error *err)
{
    struct lull_device_log *log;
    const unsigned keeps = LULL_DEVICE_LOG_PLACES | LULL_DEVICE_LOG_NAMES | LULL_DEVICE_LOG_WAITS;
    const lull_status status =
        lull_device_log_create(trace, reading->application, keeps, &log, err);
    *ret_devices = NULL;
    if (status != LULL_OK || !log)
        return status;
    struct wait_devices *devices =
        calloc(1, sizeof *devices + trace->n_locations * sizeof *devices->locations);
    if (devices)
        devices->processes = calloc(trace->n_processes + (size_t)1, sizeof *devices->processes);
    if (!devices || !devices->processes) {
        free(devices);
        lull_device_log_destroy(log);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for waits for its devices",
                         trace->path);
    }
    devices->trace = trace;
    devices->reading = reading;
    devices->log = log;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        devices->locations[l].region = LULL_NONE;
    *ret_devices = devices;
    return LULL_OK;
}

void lull_wait_devices_destroy(struct wait_devices *devices)
{
    if (!devices)
        return;
    for (uint32_t l = 0; l < devices->trace->n_locations; l++) {
        struct device_location *of = &devices->locations[l];
        free(of->regions.bytes);
        free(of->waits);
        free(of->by_submit);
        free(of->calls);
        free(of->piece_marks.items);
        free(of->region_marks.items);
    }
    for (uint32_t p = 0; p < devices->trace->n_processes; p++) {
        free(devices->processes[p].numbers);
        free(devices->processes[p].needs);
    }
    free(devices->processes);
    free(devices->operations);
    lull_device_log_destroy(devices->log);
    free(devices);
}

/* ---- while the run is read ------------------------------------------------------------------- */

uint64_t lull_wait_devices_wants(const struct wait_devices *devices)
{
    return devices ? LULL_DEVICE_LOG_WANTS | LULL_STEP_MASK(LULL_STEP_DEVICE_WAIT) |
                         LULL_STEP_MASK(LULL_STEP_SPAN)
                   : 0;
}

static bool close_region(struct device_location *of)
{
    if (of->begin == of->end)
        return true;
    if (!lull_varints_reserve(&of->regions, 2))
        return false;
    lull_varints_put(&of->regions, (uint64_t)(of->end - of->begin));
    lull_varints_put(&of->regions, of->region == LULL_NONE ? 0 : of->region + UINT64_C(1));
    of->begin = of->end;
    return true;
}

/* In code of the user the innermost region of the user counts, elsewhere the call. */
static bool take_span(struct device_location *of, const struct lull_step *span)
{
    const bool in_mpi = span->activity >= LULL_MPI_P2P && span->activity <= LULL_MPI_OTHER;
    const bool in_call = in_mpi || span->activity == LULL_DEVICE;
    const uint32_t region =
        in_call || span->span.user == LULL_NONE ? span->region : span->span.user;
    if (region != of->region && !close_region(of))
        return false;
    of->region = region;
    of->end = span->span.end;
    return true;
}

lull_status lull_wait_devices_take(struct wait_devices *devices, const struct lull_steps *steps,
                                   struct lull_error *err)
{
    if (!devices)
        return LULL_OK;
    const uint64_t of_log = LULL_DEVICE_LOG_WANTS | LULL_STEP_MASK(LULL_STEP_DEVICE_WAIT);
    const struct lull_location *location = &devices->trace->locations[steps->location];
    if (!lull_device_log_uses(devices->log, location->process))
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        lull_status status = LULL_OK;
        if (of_log >> step->kind & 1)
            status = lull_device_log_take(devices->log, steps->location, step, err);
        else if (step->kind == LULL_STEP_SPAN && location->kind == LULL_LOCATION_THREAD &&
                 !take_span(&devices->locations[steps->location], step))
            status = no_memory_for_devices(devices, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

bool lull_wait_devices_note(struct wait_devices *devices, uint32_t location, int64_t begin,
                            int64_t until, uint32_t process)
{
    if (!devices ||
        !lull_device_log_uses(devices->log, devices->trace->locations[location].process))
        return true;
    struct device_location *of = &devices->locations[location];
    if (!lull_array_reserve(&of->waits, &of->wait_capacity, of->n_waits + 1, sizeof *of->waits))
        return false;
    of->waits[of->n_waits++] = (struct rank_wait){begin, until, process};
    return true;
}

bool lull_wait_devices_put(struct wait_devices *devices, uint32_t location, struct lull_flow *flow)
{
    if (!devices ||
        !lull_device_log_uses(devices->log, devices->trace->locations[location].process))
        return true;
    struct device_location *of = &devices->locations[location];
    return lull_device_log_put(devices->log, location, flow) && close_region(of) &&
           lull_flow_put_items(flow, of->regions.bytes, of->regions.size, 1) &&
           lull_flow_put_items(flow, of->waits, of->n_waits, sizeof *of->waits);
}

bool lull_wait_devices_get(struct wait_devices *devices, uint32_t location, struct lull_flow *flow)
{
    if (!devices ||
        !lull_device_log_uses(devices->log, devices->trace->locations[location].process))
        return true;
    struct device_location *of = &devices->locations[location];
    if (!lull_device_log_get(devices->log, location, flow))
        return false;
    free(of->regions.bytes);
    free(of->waits);
    of->waits = NULL;
    of->regions.bytes = lull_flow_get_items(flow, 1, &of->regions.size);
    of->regions.capacity = of->regions.size;
    if (of->regions.bytes)
        of->waits = lull_flow_get_items(flow, sizeof *of->waits, &of->n_waits);
    return of->waits != NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool gather_operations(struct wait_devices *devices, uint32_t stream)
{
    struct device_process *process = &devices->processes[devices->trace->locations[stream].process];
    struct device_location *of = &devices->locations[stream];
    struct lull_device_run run = lull_device_run_open(devices->log, stream);
    int64_t until = 0;
    of->first = (uint32_t)devices->n_operations;
    for (uint32_t order = 0; lull_device_run_next(&run); order++) {
        const int64_t begin = run.begin > until ? run.begin : until;
        until = run.end > begin ? run.end : begin;
        if (run.again && of->count > 0) {
            devices->operations[devices->n_operations - 1].end = until;
            continue;
        }
        if (devices->n_operations >= AWAITS_NOTHING ||
            !lull_array_reserve(&devices->operations, &devices->operation_capacity,
                                devices->n_operations + 1, sizeof *devices->operations) ||
            !lull_array_reserve(&process->numbers, &process->number_capacity,
                                process->n_numbers + 1, sizeof *process->numbers))
            return false;
        if (run.number > 0)
            process->numbers[process->n_numbers++] =
                (struct operation_number){run.number, (uint32_t)devices->n_operations};
        devices->operations[devices->n_operations++] = (struct awaited_operation){
            .begin = begin,
            .end = until,
            .submitted = -1,
            .number = run.number,
            .stream = stream,
            .order = order,
            .region = run.region < devices->trace->n_regions ? (uint32_t)run.region : LULL_NONE,
            .call = run.call > 0 ? (uint32_t)(run.call - 1) : LULL_NONE,
            .thread = LULL_NONE,
            .last = LULL_NONE};
        of->count++;
    }
    return true;
}

static int by_number_and_place(const void *a, const void *b)
{
    const struct operation_number *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->operation > y->operation) - (x->operation < y->operation);
}

static int by_need(const void *a, const void *b)
{
    const struct operation_need *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->other > y->other) - (x->other < y->other);
}

static size_t first_of_number(const struct device_process *process, uint64_t number)
{
    return lull_sorted_first_u64(process->numbers, process->n_numbers, sizeof *process->numbers,
                                 offsetof(struct operation_number, number), number);
}

/* Of the operations with a number, the one that ends last, of several the first; LULL_NONE: there is none. */
static uint32_t find_operation(const struct wait_devices *devices,
                               const struct device_process *process, uint64_t number)
{
    uint32_t last = LULL_NONE;
    for (size_t at = first_of_number(process, number);
         at < process->n_numbers && process->numbers[at].number == number; at++) {
        const uint32_t i = process->numbers[at].operation;
        if (last == LULL_NONE || devices->operations[i].end > devices->operations[last].end)
            last = i;
    }
    return last;
}

static void gather_submissions(struct wait_devices *devices, const struct device_process *process,
                               uint32_t thread)
{
    struct lull_device_submit submit = lull_device_submit_open(devices->log, thread);
    while (lull_device_submit_next(&submit))
        for (size_t at = first_of_number(process, submit.number);
             at < process->n_numbers && process->numbers[at].number == submit.number; at++) {
            struct awaited_operation *of = &devices->operations[process->numbers[at].operation];
            of->submitted = submit.time;
            of->thread = thread;
        }
}

static bool gather_needs(struct wait_devices *devices, struct device_process *process,
                         uint32_t thread)
{
    struct lull_device_depend depend = lull_device_depend_open(devices->log, thread);
    while (lull_device_depend_next(&depend)) {
        if (!lull_array_reserve(&process->needs, &process->need_capacity, process->n_needs + 1,
                                sizeof *process->needs))
            return false;
        process->needs[process->n_needs++] = (struct operation_need){depend.number, depend.other};
    }
    return true;
}

static bool gather_process(struct wait_devices *devices, uint32_t p)
{
    const struct lull_process *told = &devices->trace->processes[p];
    struct device_process *process = &devices->processes[p];
    const uint32_t end = told->first_location + told->n_locations;
    bool good = true;
    for (uint32_t l = told->first_location; good && l < end; l++)
        if (lull_is_of_device(devices->trace, l, devices->reading->application))
            good = gather_operations(devices, l);
    if (process->n_numbers > 0)
        qsort(process->numbers, process->n_numbers, sizeof *process->numbers, by_number_and_place);
    for (uint32_t l = told->first_location; good && l < end; l++)
        if (devices->trace->locations[l].kind == LULL_LOCATION_THREAD) {
            good = lull_device_log_end(devices->log, l) && close_region(&devices->locations[l]) &&
                   gather_needs(devices, process, l);
            gather_submissions(devices, process, l);
        }
    if (process->n_needs > 0)
        qsort(process->needs, process->n_needs, sizeof *process->needs, by_need);
    return good;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static struct awaited_operation *operation_of_kernel(const struct wait_devices *devices,
                                                     const struct lull_exchange_kernel *kernel)
{
    const struct device_location *of = &devices->locations[kernel->location];
    struct awaited_operation *own = devices->operations + of->first;
    const size_t at = lull_sorted_first_u32(
        own, of->count, sizeof *own, offsetof(struct awaited_operation, order), kernel->order);
    return &own[at];
}

static lull_status join_exchanges(struct wait_devices *devices, struct lull_error *err)
{
    struct lull_exchanges exchanges;
    const lull_status status = lull_exchanges_find(devices->trace, devices->reading->application,
                                                   devices->log, NULL, &exchanges, err);
    if (status != LULL_OK)
        return status;
    for (size_t i = 0; i < exchanges.n_kernels; i++) {
        const struct lull_exchange_kernel *kernel = &exchanges.kernels[i];
        if (kernel->known)
            operation_of_kernel(devices, kernel)->last =
                (uint32_t)(operation_of_kernel(devices, &exchanges.kernels[kernel->latest]) -
                           devices->operations);
    }
    lull_exchanges_free(&exchanges);
    return LULL_OK;
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static int by_submitted(const void *a, const void *b)
{
    const struct submitted_operation *x = a, *y = b;
    if (x->submitted != y->submitted)
        return x->submitted < y->submitted ? -1 : 1;
    return (x->operation > y->operation) - (x->operation < y->operation);
}

/* Fills by_submit of a stream. False: no memory. */
static bool order_by_submit(const struct wait_devices *devices, struct device_location *of)
{
    struct submitted_operation *items = malloc((of->count + (size_t)1) * sizeof *items);
    size_t n = 0;
    bool in_order = true; /* as they nearly always are */
    if (!items)
        return false;
    for (uint32_t i = of->first; i < of->first + of->count; i++) {
        const int64_t submitted = devices->operations[i].submitted;
        if (submitted < 0)
            continue;
        in_order &= n == 0 || items[n - 1].submitted <= submitted;
        items[n++] = (struct submitted_operation){submitted, i, i};
    }
    if (!in_order)
        qsort(items, n, sizeof *items, by_submitted);
    for (size_t i = 1; i < n; i++) {
        const uint32_t before = items[i - 1].last;
        if (devices->operations[items[i].operation].end <= devices->operations[before].end)
            items[i].last = before;
    }
    of->by_submit = items;
    of->n_submitted = n;
    return true;
}

/* Of the operations of a stream that were submitted by a moment, the one that ends last. A call that copies waits for what
 * it submits itself. False: no memory. */
static bool last_submitted(struct wait_devices *devices, uint32_t stream, int64_t time,
                           uint32_t *ret_operation)
{
    struct device_location *of = &devices->locations[stream];
    if (!of->by_submit && !order_by_submit(devices, of))
        return false;
    const size_t behind =
        lull_sorted_first_i64(of->by_submit, of->n_submitted, sizeof *of->by_submit,
                              offsetof(struct submitted_operation, submitted), time + 1);
    *ret_operation = behind > 0 ? of->by_submit[behind - 1].last : AWAITS_NOTHING;
    return true;
}

/* What one DEVICE_WAIT is for. An operation that is submitted later cannot be waited for. */
static bool find_awaited_operation(struct wait_devices *devices, uint32_t thread,
                                   const struct lull_device_wait *wait, uint32_t *ret_operation)
{
    const uint32_t process = devices->trace->locations[thread].process;
    *ret_operation = AWAITS_UNKNOWN;
    if (wait->number > 0) {
        const uint32_t found = find_operation(devices, &devices->processes[process], wait->number);
        if (found != LULL_NONE && devices->operations[found].submitted <= wait->time)
            *ret_operation = found;
        return true;
    }
    return wait->stream >= devices->trace->n_locations ||
           devices->trace->locations[wait->stream].process != process ||
           !lull_is_of_device(devices->trace, wait->stream, devices->reading->application) ||
           last_submitted(devices, wait->stream, wait->time, ret_operation);
}

/* Of what a call waits for, what ends last; nothing, if that is all; and else it is not known. */
static uint32_t later_of(const struct wait_devices *devices, uint32_t a, uint32_t b)
{
    if (a >= AWAITS_NOTHING || b >= AWAITS_NOTHING)
        return a < AWAITS_NOTHING ? a : b < AWAITS_NOTHING ? b : a > b ? a : b;
    return devices->operations[b].end > devices->operations[a].end ? b : a;
}

static bool gather_calls(struct wait_devices *devices, uint32_t thread)
{
    struct device_location *of = &devices->locations[thread];
    struct lull_device_wait wait = lull_device_wait_open(devices->log, thread);
    while (lull_device_wait_next(&wait)) {
        uint32_t operation;
        if (!find_awaited_operation(devices, thread, &wait, &operation) ||
            !lull_array_reserve(&of->calls, &of->call_capacity, of->n_calls + 1, sizeof *of->calls))
            return false;
        struct awaiting_call *last = of->n_calls > 0 ? &of->calls[of->n_calls - 1] : NULL;
        if (last && last->time == wait.time)
            last->operation = later_of(devices, last->operation, operation);
        else
            of->calls[of->n_calls++] = (struct awaiting_call){wait.time, operation};
    }
    return true;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static bool next_region(struct region_piece *piece)
{
    if (!lull_varints_more(&piece->reader))
        return false;
    piece->begin = piece->end;
    piece->end = piece->begin + (int64_t)lull_varints_get(&piece->reader);
    const uint64_t region = lull_varints_get(&piece->reader);
    piece->region = region > 0 ? (uint32_t)(region - 1) : LULL_NONE;
    return true;
}

/* Before the i-th piece of a list is read, which begins then. False: no memory. */
static bool mark_piece(struct piece_marks *marks, size_t i, int64_t begin, const unsigned char *at)
{
    if (i % MARK_EVERY > 0)
        return true;
    if (!lull_array_reserve(&marks->items, &marks->capacity, marks->count + 1,
                            sizeof *marks->items))
        return false;
    marks->items[marks->count++] = (struct piece_mark){begin, at};
    return true;
}

static bool mark_pieces(struct wait_devices *devices, uint32_t thread)
{
    struct device_location *of = &devices->locations[thread];
    struct lull_device_piece piece = lull_device_piece_open(devices->log, thread);
    struct region_piece region = {.reader = lull_varints_read(&of->regions)};
    bool good = true;
    for (size_t i = 0; good && lull_varints_more(&piece.reader); i++) {
        good = mark_piece(&of->piece_marks, i, piece.end, piece.reader.at);
        lull_device_piece_next(&piece);
    }
    for (size_t i = 0; good && lull_varints_more(&region.reader); i++) {
        good = mark_piece(&of->region_marks, i, region.end, region.reader.at);
        next_region(&region);
    }
    return good;
}

/* The last mark that is not behind a moment; NULL: there is none. */
static const struct piece_mark *find_mark(const struct piece_marks *marks, int64_t time)
{
    const size_t behind = lull_sorted_first_i64(marks->items, marks->count, sizeof *marks->items,
                                                offsetof(struct piece_mark, begin), time + 1);
    return behind > 0 ? &marks->items[behind - 1] : NULL;
}

/* The piece of a thread that holds a moment. False: there is none. */
static bool seek_piece(const struct wait_devices *devices, uint32_t thread, int64_t time,
                       struct lull_device_piece *ret_piece)
{
    const struct piece_mark *mark = find_mark(&devices->locations[thread].piece_marks, time);
    if (!mark)
        return false;
    *ret_piece = lull_device_piece_open(devices->log, thread);
    ret_piece->reader.at = mark->at;
    ret_piece->end = mark->begin;
    while (ret_piece->end <= time)
        if (!lull_device_piece_next(ret_piece))
            return false;
    return true;
}

static bool seek_region(const struct wait_devices *devices, uint32_t thread, int64_t time,
                        struct region_piece *ret_piece)
{
    const struct device_location *of = &devices->locations[thread];
    const struct piece_mark *mark = find_mark(&of->region_marks, time);
    if (!mark)
        return false;
    *ret_piece =
        (struct region_piece){.reader = lull_varints_read(&of->regions), .end = mark->begin};
    ret_piece->reader.at = mark->at;
    while (ret_piece->end <= time)
        if (!next_region(ret_piece))
            return false;
    return true;
}

/* ==== from a wait to its causes =============================================================== */

/* A wait, and the way from it to its causes. */
struct way {
    struct wait_devices *devices;
    uint32_t of_device, location, call, awaited; /* as in struct lull_device_charge */
    int64_t begin, ns;
    uint64_t number; /* of the wait, from 1 on */
    int64_t *sums;   /* [LULL_DEVICE_CAUSES] of the location */
    struct lull_hash known;
    struct lull_device_charge *charges; /* [known.count] */
    uint64_t *charged;                  /* [known.count]: the last wait that has a part in it */
    size_t charge_capacity, charged_capacity;
    bool no_memory;
};

/* What tells charges apart, without padding. */
struct cause_key {
    uint32_t of_device, call, awaited, cause, operation, stream, submit, thread, region, other;
};

static struct lull_device_charge *find_device_charge(struct way *way, const struct cause_key *key)
{
    const size_t n = way->known.count;
    bool is_new;
    const uint64_t *index = NULL;
    if (lull_array_reserve(&way->charges, &way->charge_capacity, n + 1, sizeof *way->charges) &&
        lull_array_reserve(&way->charged, &way->charged_capacity, n + 1, sizeof *way->charged))
        index = lull_hash_add(&way->known, key, sizeof *key, n, &is_new);
    if (!index)
        return NULL;
    if (is_new) {
        way->charged[n] = 0;
        way->charges[n] = (struct lull_device_charge){.of_device = key->of_device,
                                                      .call = key->call,
                                                      .awaited = key->awaited,
                                                      .cause = key->cause,
                                                      .operation = key->operation,
                                                      .stream = key->stream,
                                                      .submit = key->submit,
                                                      .thread = key->thread,
                                                      .region = key->region,
                                                      .other = key->other,
                                                      .longest.ns = -1};
    }
    return &way->charges[*index];
}

/* `of` NULL: the operation is not known. */
static void charge_cause(struct way *way, enum lull_device_cause cause,
                         const struct awaited_operation *of, uint32_t region, uint32_t other,
                         int64_t ns)
{
    const struct cause_key key = {.of_device = way->of_device,
                                  .call = way->call,
                                  .awaited = way->awaited,
                                  .cause = cause,
                                  .operation = of ? of->region : LULL_NONE,
                                  .stream = of ? of->stream : LULL_NONE,
                                  .submit = of ? of->call : LULL_NONE,
                                  .thread = of ? of->thread : LULL_NONE,
                                  .region = region,
                                  .other = other};
    if (ns <= 0)
        return;
    struct lull_device_charge *charge = find_device_charge(way, &key);
    if (!charge) {
        way->no_memory = true;
        return;
    }
    uint64_t *last = &way->charged[charge - way->charges];
    charge->ns += ns;
    charge->waits += *last != way->number;
    *last = way->number;
    way->sums[cause] += ns;
    bool longer = way->location < charge->longest.location;
    if (way->ns != charge->longest.ns)
        longer = way->ns > charge->longest.ns;
    else if (way->begin != charge->longest.begin)
        longer = way->begin < charge->longest.begin;
    if (!longer)
        return;
    charge->longest.location = way->location;
    charge->longest.begin = way->begin;
    charge->longest.ns = way->ns;
}

static int64_t within_span(int64_t time, int64_t from, int64_t to)
{
    return time < from ? from : time > to ? to : time;
}

/* ---- what a thread did ----------------------------------------------------------------------- */

/* The thread that submits an operation was there for a cause. */
static void charge_regions(struct way *way, enum lull_device_cause cause,
                           const struct awaited_operation *of, uint32_t other, int64_t from,
                           int64_t to)
{
    struct region_piece piece;
    bool known = seek_region(way->devices, of->thread, from, &piece);
    while (known && from < to) {
        const int64_t until = piece.end < to ? piece.end : to;
        charge_cause(way, cause, of, piece.region, other, until - from);
        from = until;
        known = from < piece.end || next_region(&piece);
    }
    charge_cause(way, cause, of, LULL_NONE, other, to - from);
}

static void charge_mpi(struct way *way, const struct awaited_operation *of, int64_t from,
                       int64_t to)
{
    const struct device_location *thread = &way->devices->locations[of->thread];
    size_t at = lull_sorted_first_i64(thread->waits, thread->n_waits, sizeof *thread->waits,
                                      offsetof(struct rank_wait, until), from + 1);
    for (; from < to && at < thread->n_waits && thread->waits[at].begin < to; at++) {
        const int64_t begin = within_span(thread->waits[at].begin, from, to),
                      until = within_span(thread->waits[at].until, from, to);
        charge_regions(way, LULL_DEVICE_CAUSE_MPI, of, LULL_NONE, from, begin);
        charge_regions(way, LULL_DEVICE_CAUSE_OTHER_RANK, of, thread->waits[at].process, begin,
                       until);
        from = until;
    }
    charge_regions(way, LULL_DEVICE_CAUSE_MPI, of, LULL_NONE, from, to);
}

static void follow_operation(struct way *way, uint32_t operation, int64_t from, int64_t to,
                             unsigned hops);

/* The call by which a thread waits at a moment; NULL: it is not known. */
static const struct awaiting_call *find_awaiting_call(const struct device_location *of,
                                                      int64_t time)
{
    const size_t behind = lull_sorted_first_i64(of->calls, of->n_calls, sizeof *of->calls,
                                                offsetof(struct awaiting_call, time), time + 1);
    return behind > 0 ? &of->calls[behind - 1] : NULL;
}

/* Where the next call begins to wait, if that is before `to`; else `to`. */
static int64_t end_of_call(const struct device_location *of, const struct awaiting_call *call,
                           int64_t to)
{
    const size_t next = call ? (size_t)(call - of->calls) + 1 : 0;
    return next < of->n_calls && of->calls[next].time < to ? of->calls[next].time : to;
}

/* The thread that submits an operation waits for a device itself. */
static void follow_wait(struct way *way, const struct awaited_operation *of, int64_t from,
                        int64_t to, unsigned hops)
{
    const struct device_location *thread = &way->devices->locations[of->thread];
    while (from < to) {
        const struct awaiting_call *call = find_awaiting_call(thread, from);
        const int64_t until = end_of_call(thread, call, to);
        int64_t waits = from;
        if (call && call->operation < AWAITS_NOTHING) {
            waits = within_span(way->devices->operations[call->operation].end, from, until);
            follow_operation(way, call->operation, from, waits, hops + 1);
        }
        charge_regions(way, LULL_DEVICE_CAUSE_RUNTIME, of, LULL_NONE, waits, until);
        from = until;
    }
}

static bool is_waiting(const struct lull_device_piece *piece)
{
    return piece->place == LULL_PLACE_RUNTIME &&
           (piece->waits_for > 0 || piece->stream != LULL_NONE);
}

/* The operation is not submitted yet: its thread decides. */
static void follow_thread(struct way *way, const struct awaited_operation *of, int64_t from,
                          int64_t to, unsigned hops)
{
    struct lull_device_piece piece;
    bool known = seek_piece(way->devices, of->thread, from, &piece);
    while (known && from < to) {
        const int64_t until = piece.end < to ? piece.end : to;
        if (is_waiting(&piece))
            follow_wait(way, of, from, until, hops);
        else if (piece.place == LULL_PLACE_MPI)
            charge_mpi(way, of, from, until);
        else if (piece.place == LULL_PLACE_HOST || piece.place == LULL_PLACE_RUNTIME)
            charge_regions(way,
                           piece.place == LULL_PLACE_HOST ? LULL_DEVICE_CAUSE_HOST
                                                          : LULL_DEVICE_CAUSE_RUNTIME,
                           of, LULL_NONE, from, until);
        else
            charge_cause(way, LULL_DEVICE_CAUSE_NOT_KNOWN, of, LULL_NONE, LULL_NONE, until - from);
        from = until;
        known = from < piece.end || lull_device_piece_next(&piece);
    }
    charge_cause(way, LULL_DEVICE_CAUSE_NOT_KNOWN, of, LULL_NONE, LULL_NONE, to - from);
}

/* ---- what an operation needed ---------------------------------------------------------------- */

/* Whether an operation may have needed another one: that ended before it began. Of operations without length, of which
 * several are at one moment, the order in which they are kept decides. */
static bool comes_behind(const struct awaited_operation *of, const struct awaited_operation *other)
{
    return other->end <= of->begin &&
           (other->begin < of->begin || (other->begin == of->begin && other < of));
}

/* The operation before it on its stream; LULL_NONE: there is none, or the stream runs operations in any order. */
static uint32_t find_operation_before(const struct wait_devices *devices, uint32_t operation)
{
    const uint32_t stream = devices->operations[operation].stream;
    const struct lull_stream *told = devices->trace->locations[stream].stream;
    return operation > devices->locations[stream].first && (!told || told->in_order) ? operation - 1
                                                                                     : LULL_NONE;
}

/* Of the operations that one needs, the one that ends last, of several the one before it on its stream, and then that with
 * the lowest number; LULL_NONE: it needs none. */
static uint32_t find_needed(const struct wait_devices *devices, uint32_t operation)
{
    const struct awaited_operation *of = &devices->operations[operation];
    const struct device_process *process =
        &devices->processes[devices->trace->locations[of->stream].process];
    uint32_t needed = find_operation_before(devices, operation);
    size_t at = process->n_needs;
    if (of->number > 0)
        at = lull_sorted_first_u64(process->needs, process->n_needs, sizeof *process->needs,
                                   offsetof(struct operation_need, number), of->number);
    for (; at < process->n_needs && process->needs[at].number == of->number; at++) {
        const uint32_t other = find_operation(devices, process, process->needs[at].other);
        if (other != LULL_NONE && comes_behind(of, &devices->operations[other]) &&
            (needed == LULL_NONE ||
             devices->operations[other].end > devices->operations[needed].end))
            needed = other;
    }
    return needed;
}

/* While an operation runs. */
static void follow_running(struct way *way, const struct awaited_operation *of, int64_t from,
                           int64_t to, unsigned hops)
{
    const struct awaited_operation *last =
        of->last == LULL_NONE ? of : &way->devices->operations[of->last];
    const int64_t met = last == of ? from : within_span(last->begin, from, to);
    if (from < met)
        follow_operation(way, of->last, from, met, hops + 1);
    charge_cause(way, LULL_DEVICE_CAUSE_RAN, of, LULL_NONE, LULL_NONE, to - met);
}

/* Charges the time in which an operation had not ended. */
static void follow_operation(struct way *way, uint32_t operation, int64_t from, int64_t to,
                             unsigned hops)
{
    const struct awaited_operation *of = &way->devices->operations[operation];
    while (from < to && hops <= WAIT_MOST_HOPS) {
        if (of->begin < to) {
            const int64_t begin = within_span(of->begin, from, to);
            follow_running(way, of, begin, to, hops);
            to = begin;
        }
        if (of->submitted < 0)
            break;
        const uint32_t needed = find_needed(way->devices, operation);
        const int64_t ended = needed == LULL_NONE ? 0 : way->devices->operations[needed].end,
                      ready = within_span(of->submitted > ended ? of->submitted : ended, from, to);
        charge_cause(way, LULL_DEVICE_CAUSE_LAUNCH, of, LULL_NONE, LULL_NONE, to - ready);
        to = ready;
        if (of->submitted >= ended) {
            follow_thread(way, of, from, to, hops);
            return;
        }
        operation = needed;
        of = &way->devices->operations[operation];
    }
    charge_cause(way, LULL_DEVICE_CAUSE_NOT_KNOWN, of, LULL_NONE, LULL_NONE, to - from);
}

/* ---- waits of threads ------------------------------------------------------------------------ */

static void follow_call(struct way *way, const struct awaiting_call *call, int64_t from, int64_t to)
{
    const struct awaited_operation *of = call && call->operation < AWAITS_NOTHING
                                             ? &way->devices->operations[call->operation]
                                             : NULL;
    const bool is_idle = call && call->operation == AWAITS_NOTHING;
    way->begin = from;
    way->ns = to - from;
    way->number++;
    way->awaited = of ? of->region : LULL_NONE;
    if (!of) {
        charge_cause(way, is_idle ? LULL_DEVICE_CAUSE_RETURN : LULL_DEVICE_CAUSE_NOT_KNOWN, NULL,
                     LULL_NONE, LULL_NONE, to - from);
        return;
    }
    const int64_t ended = within_span(of->end, from, to);
    charge_cause(way, LULL_DEVICE_CAUSE_RETURN, of, LULL_NONE, LULL_NONE, to - ended);
    follow_operation(way, call->operation, from, ended, 0);
}

static void follow_calls(struct way *way, uint32_t thread, struct lull_wait_location *sums)
{
    const struct device_location *of = &way->devices->locations[thread];
    struct lull_device_piece piece = lull_device_piece_open(way->devices->log, thread);
    way->location = thread;
    way->sums = sums->device_ns;
    while (lull_device_piece_next(&piece) && !way->no_memory) {
        way->call = piece.call;
        for (int64_t from = piece.begin; is_waiting(&piece) && from < piece.end;) {
            const struct awaiting_call *call = find_awaiting_call(of, from);
            const int64_t until = end_of_call(of, call, piece.end);
            follow_call(way, call, from, until);
            from = until;
        }
    }
}

/* ---- waits of devices ------------------------------------------------------------------------ */

/* A stream of a device, and which of its operations comes next. */
struct device_stream {
    uint32_t device, location, next, end;
};

/* The stream whose next operation begins first, of several the first; NULL: all have ended. */
static struct device_stream *find_next_stream(const struct wait_devices *devices,
                                              struct device_stream *streams, uint32_t n)
{
    struct device_stream *first = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (streams[i].next < streams[i].end &&
            (!first ||
             devices->operations[streams[i].next].begin < devices->operations[first->next].begin))
            first = &streams[i];
    return first;
}

/* The device ran nothing until an operation began; only what is inside of windows of that operation's process counts. */
static void follow_gap(struct way *way, uint32_t operation, int64_t from)
{
    const struct awaited_operation *of = &way->devices->operations[operation];
    const struct lull_windows *windows = way->devices->reading->windows;
    const uint32_t process = way->devices->trace->locations[of->stream].process;
    const struct lull_interval all = {from, of->begin};
    const struct lull_interval *intervals = windows ? windows->intervals[process] : &all;
    way->location = of->stream;
    way->awaited = of->region;
    const size_t n = windows ? windows->counts[process] : 1;
    size_t i = lull_sorted_first_i64(intervals, n, sizeof *intervals,
                                     offsetof(struct lull_interval, end), from + 1);
    for (; i < n && intervals[i].begin < of->begin; i++) {
        const int64_t begin = within_span(intervals[i].begin, from, of->begin);
        while (i + 1 < n && intervals[i + 1].begin <= intervals[i].end) /* they touch */
            i++;
        const int64_t end = within_span(intervals[i].end, from, of->begin);
        way->begin = begin;
        way->ns = end - begin;
        way->number++;
        follow_operation(way, operation, begin, end, 0);
    }
}

static void follow_device(struct way *way, struct device_stream *streams, uint32_t n,
                          struct lull_wait_location *locations)
{
    struct device_stream *stream;
    int64_t until = 0;
    while (!way->no_memory && (stream = find_next_stream(way->devices, streams, n)) != NULL) {
        const struct awaited_operation *of = &way->devices->operations[stream->next];
        way->sums = locations[stream->location].device_ns;
        if (of->begin > until)
            follow_gap(way, stream->next, until);
        until = of->end > until ? of->end : until;
        stream->next++;
    }
}

static int by_device(const void *a, const void *b)
{
    const struct device_stream *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->location > y->location) - (x->location < y->location);
}

static void follow_devices(struct way *way, struct lull_wait_location *locations)
{
    const struct wait_devices *devices = way->devices;
    const struct lull_trace *trace = devices->trace;
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct device_stream *streams =
        lull_arena_alloc(scratch, (trace->n_locations + (size_t)1) * sizeof *streams);
    struct lull_hash known = {0};
    uint32_t n = 0, same;
    way->of_device = 1;
    way->call = LULL_NONE;
    for (uint32_t l = 0; l < trace->n_locations && !way->no_memory; l++) {
        const struct device_location *of = &devices->locations[l];
        if (of->count == 0)
            continue;
        const char *id = lull_device_identify(trace, l, scratch);
        const uint64_t *device = lull_hash_add(&known, id, strlen(id), known.count, NULL);
        way->no_memory = !device;
        if (device)
            streams[n++] =
                (struct device_stream){(uint32_t)*device, l, of->first, of->first + of->count};
    }
    qsort(streams, n, sizeof *streams, by_device);
    for (uint32_t i = 0; i < n; i += same) {
        for (same = 1; i + same < n && streams[i + same].device == streams[i].device;)
            same++;
        follow_device(way, streams + i, same, locations);
    }
    lull_hash_free(&known);
    lull_arena_destroy(scratch);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int by_charged_time(const void *a, const void *b)
{
    const struct lull_device_charge *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    const uint32_t keys[][2] = {
        {x->call, y->call},           {x->awaited, y->awaited}, {x->cause, y->cause},
        {x->operation, y->operation}, {x->stream, y->stream},   {x->submit, y->submit},
        {x->thread, y->thread},       {x->region, y->region},   {x->other, y->other}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool is_thread_with_devices(const struct wait_devices *devices, uint32_t location)
{
    const struct lull_location *of = &devices->trace->locations[location];
    return of->kind == LULL_LOCATION_THREAD && lull_device_log_uses(devices->log, of->process);
}

lull_status lull_wait_devices_conclude(struct wait_devices *devices, struct lull_arena *arena,
                                       struct lull_wait_result *result,
                                       struct lull_wait_location *locations, struct lull_error *err)
{
    const struct lull_trace *trace = devices->trace;
    struct way way = {.devices = devices};
    bool good = true;
    for (uint32_t p = 0; good && p < trace->n_processes; p++)
        good = !lull_device_log_uses(devices->log, p) || gather_process(devices, p);
    if (!good)
        return no_memory_for_devices(devices, err);
    const lull_status status = join_exchanges(devices, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t l = 0; good && l < trace->n_locations; l++)
        if (is_thread_with_devices(devices, l))
            good = gather_calls(devices, l) && mark_pieces(devices, l);
    for (uint32_t l = 0; good && l < trace->n_locations; l++)
        if (is_thread_with_devices(devices, l))
            follow_calls(&way, l, &locations[l]);
    if (good)
        follow_devices(&way, locations);
    good = good && !way.no_memory;
    if (good) {
        struct lull_device_charge *charges =
            lull_arena_alloc(arena, (way.known.count + 1) * sizeof *charges);
        if (way.known.count > 0) {
            memcpy(charges, way.charges, way.known.count * sizeof *charges);
            qsort(charges, way.known.count, sizeof *charges, by_charged_time);
        }
        result->device_charges = charges;
        result->n_device_charges = (uint32_t)way.known.count;
    }
    lull_hash_free(&way.known);
    free(way.charges);
    free(way.charged);
    return good ? LULL_OK : no_memory_for_devices(devices, err);
}
