/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/devices.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "base/varint.h"
#include "stats/quantile.h"
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

/* ==== which streams are of one device ========================================================= */

/* "CUDA[0:7]", "HIP[1:0]", "CUDA[2]", "CUDA-D1.S2-host": the number of the device within its process. False: the name
 * does not say it. */
static bool read_number(const char *name, unsigned long *ret_number)
{
    const char *digits = name + strcspn(name, "[-");
    char *end;
    if (*digits == '\0' || digits == name)
        return false;
    const bool extrae = strncmp(digits, "-D", 2) == 0;
    digits += extrae ? 2 : 1;
    *ret_number = strtoul(digits, &end, 10);
    return end > digits && *digits >= '0' && *digits <= '9' &&
           (extrae ? strncmp(end, ".S", 2) == 0 : *end == ':' || *end == ']');
}

/* A text that is the same for streams of one device alone. */
static const char *identify(const struct lull_trace *trace, uint32_t location,
                            struct lull_arena *arena)
{
    const struct lull_location *stream = &trace->locations[location];
    const uint32_t rank = trace->processes[stream->process].rank;
    unsigned long number;
    if (stream->stream) {
        const struct lull_device *device = &trace->devices[stream->stream->device];
        return lull_arena_printf(
            arena, "%s%s%s", device->node == LULL_NONE ? "" : trace->nodes[device->node].name,
            device->node == LULL_NONE ? "" : " ",
            *device->key ? device->key : lull_arena_printf(arena, "%u", stream->stream->device));
    }
    if (read_number(stream->name, &number))
        return lull_arena_printf(arena, "rank %u device %lu", rank, number);
    return lull_arena_printf(arena, "rank %u stream %u", rank, stream->number);
}

/* Communicators are no devices: their operations are kernels of streams of a device. */
static bool is_of_device(const struct lull_trace *trace, uint32_t location, uint32_t application)
{
    const struct lull_location *stream = &trace->locations[location];
    return stream->kind == LULL_LOCATION_DEVICE &&
           trace->processes[stream->process].application == application &&
           !(stream->stream && lull_is_communicator(&trace->devices[stream->stream->device]));
}

/* ==== lists =================================================================================== */

/* A location has lists of numbers (base/varint.h). A number near the one before it takes a byte or two: its difference
 * is kept, which may be negative. */

struct list {
    unsigned char *bytes;
    size_t size, capacity;
};

static void put_number(struct list *list, uint64_t number)
{
    unsigned char *at = list->bytes + list->size;
    list->size += (size_t)(lull_put_varint(at, number) - at);
}

static void put_difference(struct list *list, uint64_t to, uint64_t from)
{
    put_number(list, lull_zigzag(to - from));
}

struct reader {
    const unsigned char *at, *end;
};

static struct reader read_list(const struct list *list)
{
    return (struct reader){list->bytes, list->bytes + list->size};
}

static uint64_t get_number(struct reader *reader)
{
    return lull_get_varint(&reader->at, reader->end);
}

static uint64_t get_near(struct reader *reader, uint64_t from)
{
    return from + lull_unzigzag(get_number(reader));
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Where a thread is: in user code, OpenMP, input and output; in MPI; in the runtime of devices; the recorder was off;
 * outside of the windows. */
enum { HOST, MPI, RUNTIME, UNKNOWN, OUTSIDE, PLACES };

struct device_user {
    /* A stream: for each operation the time since the one before, 4 times its length plus what it is
     * (enum lull_operation_kind), its number; where operations are to be told also its region (the number of all
     * regions: none), the region of the call that submitted it plus 1, and its bytes.
     * A thread: for each piece of time 16 times its length, plus twice where it is, plus 1 if there follow the number of
     * the operation and the stream, plus 1, that it waits for. */
    struct list phases;
    struct list submits;   /* of a thread: numbers of operations, and when the calls began */
    struct list depends;   /* numbers of operations, and of those that they wait for */
    int64_t end;           /* of the last phase, ns */
    int64_t submitted;     /* when the last submitting call began, ns */
    uint64_t number;       /* the last one in `phases`; in `submits` and `depends`: */
    uint64_t region, call; /* of the last operation in `phases` */
    uint64_t submit, depend;
    int64_t begin; /* of the thread's piece that goes on: it is in no list so far */
    uint64_t waits_for;
    uint32_t stream;
    uint8_t place;
};

struct lull_devices {
    const struct lull_trace *trace;
    bool *uses;      /* [n_processes]: it has device streams */
    bool *exchanges; /* [n_regions]: kernels that move data */
    bool operations; /* are to be told */
    struct device_user locations[];
};

static bool make_room(struct list *list)
{
    enum { NUMBERS = 6 };
    return lull_array_reserve(&list->bytes, &list->capacity,
                              list->size + (size_t)NUMBERS * LULL_MOST_VARINT, 1);
}

static bool close_place(struct device_user *of)
{
    const bool refers = of->waits_for > 0 || of->stream != LULL_NONE;
    if (of->begin == of->end)
        return true;
    if (!make_room(&of->phases))
        return false;
    put_number(&of->phases, 16 * (uint64_t)(of->end - of->begin) + 2 * of->place + refers);
    if (refers) {
        put_number(&of->phases, of->waits_for);
        put_number(&of->phases, of->stream == LULL_NONE ? 0 : (uint64_t)of->stream + 1);
    }
    of->begin = of->end;
    return true;
}

static uint8_t place_of(uint8_t activity)
{
    if (activity >= LULL_ACTIVITIES)
        return activity == LULL_ACTIVITY_OUTSIDE ? OUTSIDE : UNKNOWN;
    if (activity >= LULL_MPI_P2P && activity <= LULL_MPI_OTHER)
        return MPI;
    return activity == LULL_DEVICE ? RUNTIME : HOST;
}

static bool take_phase_of_thread(struct device_user *of, const struct lull_step *phase)
{
    const uint8_t place = place_of(phase->activity);
    const uint64_t waits_for = place == RUNTIME ? phase->phase.number : 0;
    const uint32_t stream = place == RUNTIME ? phase->phase.stream : LULL_NONE;
    if (place != of->place || waits_for != of->waits_for || stream != of->stream) {
        if (!close_place(of))
            return false;
        of->place = place;
        of->waits_for = waits_for;
        of->stream = stream;
    }
    of->end = phase->phase.end;
    return true;
}

static bool take_phase_of_stream(const struct lull_devices *devices, struct device_user *of,
                                 const struct lull_step *phase)
{
    if (phase->activity != LULL_USEFUL && phase->activity != LULL_DEVICE)
        return true;
    const bool exchanges = phase->region != LULL_NONE && devices->exchanges[phase->region];
    const unsigned kind = exchanges                        ? LULL_OPERATION_EXCHANGE
                          : phase->activity == LULL_USEFUL ? LULL_OPERATION_KERNEL
                                                           : LULL_OPERATION_COPY;
    if (!make_room(&of->phases))
        return false;
    put_number(&of->phases, (uint64_t)(phase->time - of->end));
    put_number(&of->phases, 4 * (uint64_t)(phase->phase.end - phase->time) + kind);
    put_difference(&of->phases, phase->phase.number, of->number);
    if (devices->operations) {
        const uint64_t call = phase->phase.call == LULL_NONE ? 0 : phase->phase.call + UINT64_C(1);
        const uint64_t region =
            phase->region == LULL_NONE ? devices->trace->n_regions : phase->region;
        put_difference(&of->phases, region, of->region);
        put_difference(&of->phases, call, of->call);
        put_number(&of->phases, phase->phase.bytes);
        of->region = region;
        of->call = call;
    }
    of->end = phase->phase.end;
    of->number = phase->phase.number;
    return true;
}

static bool take_submit(struct device_user *of, const struct lull_step *submit)
{
    if (!make_room(&of->submits))
        return false;
    put_difference(&of->submits, submit->number, of->submit);
    put_difference(&of->submits, (uint64_t)submit->time, (uint64_t)of->submitted);
    of->submit = submit->number;
    of->submitted = submit->time;
    return true;
}

static bool take_depend(struct device_user *of, const struct lull_step *depend)
{
    if (depend->depend.other == 0) /* all that its stream had: an operation of the same device */
        return true;
    if (!make_room(&of->depends))
        return false;
    put_difference(&of->depends, depend->depend.number, of->depend);
    put_difference(&of->depends, depend->depend.other, depend->depend.number);
    of->depend = depend->depend.number;
    return true;
}

lull_status lull_devices_take(struct lull_devices *devices, uint32_t location,
                              const struct lull_step *step, struct lull_error *err)
{
    struct device_user *of = &devices->locations[location];
    const struct lull_location *told = &devices->trace->locations[location];
    bool taken = true;
    if (!devices->uses[told->process])
        return LULL_OK;
    if (step->kind == LULL_STEP_SUBMIT)
        taken = take_submit(of, step);
    else if (step->kind == LULL_STEP_DEPEND)
        taken = take_depend(of, step);
    else if (told->kind == LULL_LOCATION_DEVICE)
        taken = take_phase_of_stream(devices, of, step);
    else
        taken = take_phase_of_thread(of, step);
    return taken ? LULL_OK
                 : lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what devices did");
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool fill_uses(struct lull_devices *devices, uint32_t application)
{
    const struct lull_trace *trace = devices->trace;
    devices->uses = calloc(trace->n_processes + (size_t)1, sizeof *devices->uses);
    devices->exchanges = calloc(trace->n_regions + (size_t)1, sizeof *devices->exchanges);
    if (!devices->uses || !devices->exchanges)
        return false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        devices->exchanges[r] = trace->regions[r].paradigm == LULL_PARADIGM_DEVICE &&
                                lull_is_exchange(trace->regions[r].name);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        devices->uses[trace->locations[l].process] |= is_of_device(trace, l, application);
        devices->locations[l].stream = LULL_NONE;
    }
    return true;
}

lull_status lull_devices_create(const struct lull_trace *trace, uint32_t application,
                                bool operations, struct lull_devices **ret_devices,
                                struct lull_error *err)
{
    bool any = false;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        any |= is_of_device(trace, l, application);
    *ret_devices = NULL;
    if (!any)
        return LULL_OK;
    struct lull_devices *devices =
        calloc(1, sizeof *devices + trace->n_locations * sizeof *devices->locations);
    if (devices) {
        devices->trace = trace;
        devices->operations = operations;
    }
    if (!devices || !fill_uses(devices, application)) {
        lull_devices_destroy(devices);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for what devices did",
                         trace->path);
    }
    *ret_devices = devices;
    return LULL_OK;
}

void lull_devices_destroy(struct lull_devices *devices)
{
    if (!devices)
        return;
    for (uint32_t l = 0; l < devices->trace->n_locations; l++) {
        free(devices->locations[l].phases.bytes);
        free(devices->locations[l].submits.bytes);
        free(devices->locations[l].depends.bytes);
    }
    free(devices->uses);
    free(devices->exchanges);
    free(devices);
}

/* ---- from member to member ------------------------------------------------------------------- */

static bool put_list(const struct list *list, struct lull_flow *flow)
{
    return lull_flow_put_items(flow, list->bytes, list->size, 1);
}

static bool get_list(struct list *list, struct lull_flow *flow)
{
    size_t size;
    unsigned char *bytes = lull_flow_get_items(flow, 1, &size);
    if (!bytes)
        return false;
    free(list->bytes);
    *list = (struct list){bytes, size, size};
    return true;
}

bool lull_devices_put(struct lull_devices *devices, uint32_t location, struct lull_flow *flow)
{
    if (!devices || !devices->uses[devices->trace->locations[location].process])
        return true;
    struct device_user *of = &devices->locations[location];
    const bool ended =
        devices->trace->locations[location].kind == LULL_LOCATION_DEVICE || close_place(of);
    return ended && put_list(&of->phases, flow) && put_list(&of->submits, flow) &&
           put_list(&of->depends, flow);
}

bool lull_devices_get(struct lull_devices *devices, uint32_t location, struct lull_flow *flow)
{
    if (!devices || !devices->uses[devices->trace->locations[location].process])
        return true;
    struct device_user *of = &devices->locations[location];
    return get_list(&of->phases, flow) && get_list(&of->submits, flow) &&
           get_list(&of->depends, flow);
}

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
    struct ended *ends; /* where the process uses several devices, and something waits for one */
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

static bool gather_submits(const struct lull_devices *devices, uint32_t location,
                           struct operations *operations)
{
    struct reader reader = read_list(&devices->locations[location].submits);
    struct submit submit = {.location = location};
    while (reader.at < reader.end) {
        submit.number = get_near(&reader, submit.number);
        submit.time = (int64_t)get_near(&reader, (uint64_t)submit.time);
        if (!lull_array_reserve(&operations->submits, &operations->submits_capacity,
                                operations->n_submits + 1, sizeof submit))
            return false;
        operations->submits[operations->n_submits++] = submit;
    }
    return true;
}

static bool gather_depends(const struct lull_devices *devices, uint32_t location,
                           struct operations *operations)
{
    struct reader reader = read_list(&devices->locations[location].depends);
    struct depend depend = {0};
    while (reader.at < reader.end) {
        depend.number = get_near(&reader, depend.number);
        depend.other = get_near(&reader, depend.number);
        if (!lull_array_reserve(&operations->depends, &operations->depends_capacity,
                                operations->n_depends + 1, sizeof depend))
            return false;
        operations->depends[operations->n_depends++] = depend;
    }
    return true;
}

/* An operation of a stream, as it is read from its list. */
struct run {
    struct reader reader;
    int64_t begin, end;
    uint64_t number;
    uint64_t region, call, bytes; /* where operations are to be told */
    uint32_t location;
    uint8_t kind; /* enum lull_operation_kind */
    bool again;   /* it is another piece of the operation before, which windows have cut */
    bool told;    /* with regions */
};

/* False: there is no further one. */
static bool go_to_next(struct run *run)
{
    if (run->reader.at == run->reader.end)
        return false;
    run->begin = run->end + (int64_t)get_number(&run->reader);
    const uint64_t length = get_number(&run->reader), before = run->number;
    run->end = run->begin + (int64_t)(length / 4);
    run->kind = length % 4;
    run->number = get_near(&run->reader, before);
    run->again = run->number > 0 && run->number == before;
    if (run->told) {
        run->region = get_near(&run->reader, run->region);
        run->call = get_near(&run->reader, run->call);
        run->bytes = get_number(&run->reader);
    }
    return true;
}

static bool gather_ends(const struct lull_devices *devices, uint32_t location, uint32_t device,
                        struct operations *operations)
{
    struct run run = {.reader = read_list(&devices->locations[location].phases),
                      .told = devices->operations};
    while (go_to_next(&run)) {
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
static bool operations_of(const struct lull_devices *devices, uint32_t process,
                          const uint32_t *device_of, struct operations *operations)
{
    const struct lull_process *of = &devices->trace->processes[process];
    uint32_t first = LULL_NONE;
    bool several = false, good = true;
    for (uint32_t l = of->first_location; l < of->first_location + of->n_locations; l++) {
        first = first == LULL_NONE ? device_of[l] : first;
        several |= device_of[l] != LULL_NONE && device_of[l] != first;
    }
    for (uint32_t l = of->first_location; good && l < of->first_location + of->n_locations; l++) {
        if (device_of[l] != LULL_NONE)
            good = !several || gather_ends(devices, l, device_of[l], operations);
        else
            good = gather_submits(devices, l, operations) && gather_depends(devices, l, operations);
    }
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

/* A piece of a thread's time, as it is read from its list. */
struct piece {
    struct reader reader;
    int64_t begin, end;
    uint64_t waits_for;
    uint32_t stream;
    uint8_t place;
    uint32_t device; /* for which it is read, plus 1 */
};

struct gathering {
    struct lull_devices *devices; /* NULL: only sums are known */
    const struct lull_trace *trace;
    struct lull_breakdown *to;
    struct gathered *gathered; /* [to->n_devices] */
    size_t devices_capacity, gathered_capacity;
    struct lull_hash known; /* by what identifies a device: its index */
    uint32_t *device_of;    /* [n_locations]: LULL_NONE: a thread, or a stream of no device */
    uint32_t *users;        /* [n_processes]: devices that use it and are not concluded */
    struct operations **operations; /* [n_processes]: NULL: not needed so far, or no more */
    struct piece *pieces;           /* [n_locations] */
    struct operation_sums
        *sums;              /* [n_regions + 1], and what follows: where operations are to be told */
    struct lull_hash calls; /* by region of an operation and that of its call: how many */
    struct lull_stream_breakdown *streams; /* [n_locations] */
    struct lull_arena *arena, *scratch;
};

/* ---- pieces of a thread's time --------------------------------------------------------------- */

static bool go_to_next_piece(struct piece *piece)
{
    if (piece->reader.at == piece->reader.end)
        return false;
    const uint64_t length = get_number(&piece->reader);
    const bool refers = length & 1;
    piece->begin = piece->end;
    piece->end = piece->begin + (int64_t)(length / 16);
    piece->place = length / 2 % 8;
    piece->waits_for = refers ? get_number(&piece->reader) : 0;
    const uint64_t stream = refers ? get_number(&piece->reader) : 0;
    piece->stream = stream > 0 ? (uint32_t)(stream - 1) : LULL_NONE;
    return true;
}

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
    struct piece piece = {.reader =
                              read_list(&gathering->devices->locations[of->first_location].phases)};
    while (go_to_next_piece(&piece))
        if (piece.place != OUTSIDE && !add_span(spans, piece.begin, piece.end))
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
    int64_t *lost; /* [LULL_DEVICE_LOSSES] */
    struct spans windows;
    size_t window; /* the first that ends behind what is charged */
    size_t submit; /* behind the submission that was found last */
};

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
                                     const struct piece *piece)
{
    static const uint8_t losses[PLACES] = {[HOST] = LULL_LOST_HOST,
                                           [MPI] = LULL_LOST_MPI,
                                           [RUNTIME] = LULL_LOST_RUNTIME,
                                           [UNKNOWN] = LULL_LOST_UNKNOWN,
                                           [OUTSIDE] = LULL_LOST_UNKNOWN};
    const struct ended *ended = find_end(operations, piece->waits_for);
    uint32_t device = ended ? ended->device : LULL_NONE;
    if (piece->stream != LULL_NONE)
        device = sweep->gathering->device_of[piece->stream];
    return piece->place == RUNTIME && device != LULL_NONE && device != sweep->device
               ? LULL_LOST_OTHER_DEVICE
               : losses[piece->place];
}

/* Until the call begins that submits the next operation, its thread decides. */
static void charge_thread(struct sweep *sweep, const struct operations *operations,
                          uint32_t location, int64_t from, int64_t to)
{
    const struct lull_devices *devices = sweep->gathering->devices;
    struct piece *piece = &sweep->gathering->pieces[location];
    if (piece->device != sweep->device + 1)
        *piece = (struct piece){.reader = read_list(&devices->locations[location].phases),
                                .device = sweep->device + 1};
    while (from < to) {
        while (piece->end <= from)
            if (!go_to_next_piece(piece)) {
                sweep->lost[LULL_LOST_UNKNOWN] += to - from;
                return;
            }
        const int64_t until = piece->end < to ? piece->end : to;
        sweep->lost[loss_of(sweep, operations, piece)] += until - from;
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

/* NULL: not known. It often is the one behind that which was found last. */
static const struct submit *find_submit(struct sweep *sweep, const struct operations *operations,
                                        uint64_t number)
{
    size_t at = sweep->submit;
    if (at >= operations->n_submits || operations->submits[at].number != number)
        at = lull_sorted_first_u64(operations->submits, operations->n_submits,
                                   sizeof *operations->submits, offsetof(struct submit, number),
                                   number);
    if (number == 0 || at == operations->n_submits || operations->submits[at].number != number)
        return NULL;
    sweep->submit = at + 1;
    return &operations->submits[at];
}

/* The device did nothing from `from` to `to`, inside a window; `next` is its next operation, or NULL. */
static void charge(struct sweep *sweep, int64_t from, int64_t to, const struct run *next)
{
    if (!next) {
        sweep->lost[LULL_LOST_NO_WORK] += to - from;
        return;
    }
    const struct lull_trace *trace = sweep->gathering->trace;
    const struct operations *operations =
        sweep->gathering->operations[trace->locations[next->location].process];
    const struct submit *submit = find_submit(sweep, operations, next->number);
    if (!submit) {
        sweep->lost[LULL_LOST_UNKNOWN] += to - from;
        return;
    }
    const int64_t called = within(submit->time, from, to);
    const int64_t ready = within(end_of_others(sweep, operations, next->number), called, to);
    charge_thread(sweep, operations, submit->location, from, called);
    sweep->lost[LULL_LOST_OTHER_DEVICE] += ready - called;
    sweep->lost[LULL_LOST_LAUNCH] += to - ready;
}

static void charge_gap(struct sweep *sweep, int64_t from, int64_t to, const struct run *next)
{
    const struct spans *windows = &sweep->windows;
    while (sweep->window < windows->count && windows->items[sweep->window].end <= from)
        sweep->window++;
    for (size_t w = sweep->window; w < windows->count && windows->items[w].begin < to; w++) {
        const int64_t begin = within(windows->items[w].begin, from, to);
        const int64_t end = within(windows->items[w].end, from, to);
        if (begin < end)
            charge(sweep, begin, end, next);
    }
}

/* ---- operations one by one ------------------------------------------------------------------- */

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
    uint8_t kind;
};

/* For the hash of calls. */
struct call_key {
    uint64_t region, call;
};

static bool add_operation_time(struct operation_times *times, int64_t ns)
{
    if (!lull_array_reserve(&times->ns, &times->capacity, times->count + 1, sizeof *times->ns))
        return false;
    times->ns[times->count++] = (double)ns;
    return true;
}

/* Whether the piece begins where a window does: the operation may have begun before. */
static bool is_cut(const struct sweep *sweep, const struct run *run)
{
    const struct spans *windows = &sweep->windows;
    for (size_t w = sweep->window; w < windows->count && windows->items[w].begin <= run->begin; w++)
        if (windows->items[w].begin == run->begin && run->begin > 0)
            return true;
    return run->again;
}

static bool add_delay(struct sweep *sweep, const struct run *run, struct operation_sums *sums)
{
    const struct operations *operations =
        sweep->gathering->operations[sweep->gathering->trace->locations[run->location].process];
    const struct submit *submit = find_submit(sweep, operations, run->number);
    return !submit || submit->time > run->begin || is_cut(sweep, run) ||
           add_operation_time(&sums->delays, run->begin - submit->time);
}

static bool tell_operation(struct sweep *sweep, const struct run *run)
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
        const char *name = r < trace->n_regions ? trace->regions[r].name : "(no name)";
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
                                              .call = "",
                                              .site = ""};
    }
    tell_calls(gathering, row_of);
    for (uint32_t i = 0; i < to->n_operations; i++) {
        to->operations[i].call = lull_arena_strdup(gathering->arena, to->operations[i].call);
        to->operations[i].site = lull_arena_strdup(gathering->arena, to->operations[i].site);
    }
    if (to->n_operations > 0)
        qsort(to->operations, to->n_operations, sizeof *to->operations, by_operation_time);
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
    struct run *runs;
    uint32_t count;
};

static bool comes_before(const struct run *a, const struct run *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->location < b->location;
}

static void sift_down(struct heap *heap, uint32_t at)
{
    struct run *runs = heap->runs;
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (comes_before(&runs[child], &runs[least]))
                least = child;
        if (least == at)
            return;
        const struct run moved = runs[at];
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
        struct run run = {.reader = read_list(&gathering->devices->locations[location].phases),
                          .location = location,
                          .told = gathering->devices->operations};
        if (go_to_next(&run))
            heap->runs[heap->count++] = run;
    }
    for (uint32_t i = heap->count / 2; i-- > 0;)
        sift_down(heap, i);
}

static bool sweep_device(struct sweep *sweep, struct lull_device_breakdown *device)
{
    struct covered kernels = {0}, copies = {0}, busy = {0};
    struct heap heap = {0};
    fill_heap(sweep->gathering, sweep->device, &heap);
    while (heap.count > 0) {
        struct run *run = &heap.runs[0];
        if (run->begin > busy.until)
            charge_gap(sweep, busy.until, run->begin, run);
        if (run->kind == LULL_OPERATION_KERNEL)
            cover(&kernels, run->begin, run->end);
        if (run->kind != LULL_OPERATION_EXCHANGE)
            cover(&copies, run->begin, run->end);
        cover(&busy, run->begin, run->end);
        if (run->told && !tell_operation(sweep, run))
            return false;
        if (!go_to_next(run))
            *run = heap.runs[--heap.count];
        sift_down(&heap, 0);
    }
    charge_gap(sweep, busy.until, INT64_MAX, NULL);
    device->kernel_ns = kernels.ns;
    device->busy_ns = busy.ns;
    device->lost_ns[LULL_LOST_COPYING] = copies.ns - kernels.ns;
    device->lost_ns[LULL_LOST_EXCHANGING] = busy.ns - copies.ns;
    return true;
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
    device->lost_ns[LULL_LOST_COPYING] = time_of(stream, LULL_DEVICE);
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
        struct operations *of = gathering->operations[p];
        if (needed && !of) {
            gathering->operations[p] = of =
                lull_arena_zero(gathering->scratch, 1, sizeof *gathering->operations[p]);
            if (!operations_of(gathering->devices, p, gathering->device_of, of))
                return false;
        }
        if (!needed && p != last && --gathering->users[p] == 0) {
            operations_free(of);
            gathering->operations[p] = NULL;
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
    good = good && sweep_device(&sweep, device) && need_operations(gathering, index, false);
    free(sweep.windows.items);
    return good;
}

/* The index of a location's device; LULL_NONE: no memory. */
static uint32_t find_device(struct gathering *gathering, uint32_t location)
{
    const struct lull_trace *trace = gathering->trace;
    const char *id = identify(trace, location, gathering->scratch);
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
    gathered->n_sums += !gathering->devices || (of->stream && of->stream->summary);
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
        if (is_of_device(trace, l, application)) {
            if (!gather_stream(gathering, l, stream))
                return false;
        } else if (gathering->devices && trace->locations[l].kind == LULL_LOCATION_THREAD &&
                   !close_place(&gathering->devices->locations[l])) {
            return false;
        }
    }
    return true;
}

lull_status lull_devices_fill(struct lull_devices *devices, const struct lull_trace *trace,
                              uint32_t application, struct lull_arena *arena,
                              struct lull_breakdown *breakdown, struct lull_error *err)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    const size_t locations = trace->n_locations + (size_t)1,
                 processes = trace->n_processes + (size_t)1;
    struct gathering gathering = {
        .devices = devices,
        .trace = trace,
        .to = breakdown,
        .device_of = lull_arena_zero(scratch, locations, sizeof(uint32_t)),
        .users = lull_arena_zero(scratch, processes, sizeof(uint32_t)),
        .operations = lull_arena_zero(scratch, processes, sizeof(struct operations *)),
        .pieces = lull_arena_zero(scratch, devices ? locations : 1, sizeof(struct piece)),
        .arena = arena,
        .scratch = scratch};
    if (devices && devices->operations) {
        gathering.sums =
            lull_arena_zero(scratch, trace->n_regions + (size_t)1, sizeof *gathering.sums);
        gathering.streams = lull_arena_zero(scratch, locations, sizeof *gathering.streams);
    }
    bool good = gather_streams(&gathering, application);
    for (uint32_t d = 0; good && d < breakdown->n_devices; d++)
        good = conclude(&gathering, d);
    if (good && gathering.sums) {
        tell_operations(&gathering);
        tell_streams(&gathering);
    }
    for (uint32_t r = 0; gathering.sums && r <= trace->n_regions; r++) {
        free(gathering.sums[r].lengths.ns);
        free(gathering.sums[r].delays.ns);
    }
    lull_hash_free(&gathering.calls);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (gathering.operations[p])
            operations_free(gathering.operations[p]);
    lull_hash_free(&gathering.known);
    lull_arena_destroy(scratch);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for what devices did",
                            trace->path);
}
