/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/device_log.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 8 }; /* of one item of a list */

/* ==== the log ================================================================================= */

struct log_location {
    /* Of a stream, for each operation: the time since the one before, 4 times its length plus what it is
     * (enum lull_operation_kind), its number; with NAMES also its region (n_regions: none), the region of the call that
     * submitted it plus 1, and its bytes; of a communicator's operation also its sequence and its peer, plus 1; 0: none.
     * Of a thread, with PLACES, for each piece of time: 16 times its length, plus twice where it is, plus 1 if there
     * follow the number of the operation and the stream, plus 1, that it waits for, and the region, plus 1, of the
     * call that does so. */
    struct lull_varints phases;
    struct lull_varints submits; /* of a thread: numbers of operations, and when the calls began */
    struct lull_varints depends; /* numbers of operations, and of those that they wait for */
    struct lull_varints
        waits;   /* of a thread: when it began to wait, the operation, the stream plus 1 */
    int64_t end; /* of the last phase, ns */
    int64_t submitted, waited;     /* when the last submitting call, and the last wait began, ns */
    uint64_t number, region, call; /* of the last operation in `phases` */
    uint64_t submit, depend, wait; /* the last numbers in the lists */
    int64_t begin;                 /* of the thread's piece that goes on: it is in no list so far */
    uint64_t waits_for;
    uint32_t stream, waiting; /* waiting: region of the call that does so */
    uint8_t place;            /* enum lull_device_place */
    bool of_communicator;     /* its operations are those of a communicator */
};

struct lull_device_log {
    const struct lull_trace *trace;
    unsigned keeps;
    bool *uses;      /* [n_processes]: it has device streams */
    bool *exchanges; /* [n_regions]: kernels that move data */
    struct log_location locations[];
};

static bool reserve_item(struct lull_varints *list)
{
    return lull_varints_reserve(list, MOST_NUMBERS);
}

static bool close_place(struct log_location *of)
{
    const bool refers = of->waits_for > 0 || of->stream != LULL_NONE;
    if (of->begin == of->end)
        return true;
    if (!reserve_item(&of->phases))
        return false;
    lull_varints_put(&of->phases, 16 * (uint64_t)(of->end - of->begin) + 2 * of->place + refers);
    if (refers) {
        lull_varints_put(&of->phases, of->waits_for);
        lull_varints_put(&of->phases, of->stream == LULL_NONE ? 0 : (uint64_t)of->stream + 1);
        lull_varints_put(&of->phases, of->waiting == LULL_NONE ? 0 : (uint64_t)of->waiting + 1);
    }
    of->begin = of->end;
    return true;
}

static uint8_t place_of(uint8_t activity)
{
    if (activity >= LULL_ACTIVITIES)
        return activity == LULL_ACTIVITY_OUTSIDE ? LULL_PLACE_OUTSIDE : LULL_PLACE_UNKNOWN;
    if (activity >= LULL_MPI_P2P && activity <= LULL_MPI_OTHER)
        return LULL_PLACE_MPI;
    return activity == LULL_DEVICE ? LULL_PLACE_RUNTIME : LULL_PLACE_HOST;
}

static bool take_phase_of_thread(struct log_location *of, const struct lull_step *phase)
{
    const uint8_t place = place_of(phase->activity);
    const uint64_t waits_for = place == LULL_PLACE_RUNTIME ? phase->phase.number : 0;
    const uint32_t stream = place == LULL_PLACE_RUNTIME ? phase->phase.stream : LULL_NONE;
    const uint32_t waiting = place == LULL_PLACE_RUNTIME ? phase->phase.call : LULL_NONE;
    if (place != of->place || waits_for != of->waits_for || stream != of->stream ||
        waiting != of->waiting) {
        if (!close_place(of))
            return false;
        of->place = place;
        of->waits_for = waits_for;
        of->stream = stream;
        of->waiting = waiting;
    }
    of->end = phase->phase.end;
    return true;
}

static bool take_phase_of_stream(const struct lull_device_log *log, struct log_location *of,
                                 const struct lull_step *phase)
{
    if (phase->activity != LULL_USEFUL && phase->activity != LULL_DEVICE)
        return true;
    const bool exchanges = phase->region != LULL_NONE && log->exchanges[phase->region];
    const unsigned kind = exchanges                        ? LULL_OPERATION_EXCHANGE
                          : phase->activity == LULL_USEFUL ? LULL_OPERATION_KERNEL
                                                           : LULL_OPERATION_COPY;
    if (!reserve_item(&of->phases))
        return false;
    lull_varints_put(&of->phases, (uint64_t)(phase->time - of->end));
    lull_varints_put(&of->phases, 4 * (uint64_t)(phase->phase.end - phase->time) + kind);
    lull_varints_put_near(&of->phases, phase->phase.number, of->number);
    if (log->keeps & LULL_DEVICE_LOG_NAMES) {
        const uint64_t call = phase->phase.call == LULL_NONE ? 0 : phase->phase.call + UINT64_C(1);
        const uint64_t region = phase->region == LULL_NONE ? log->trace->n_regions : phase->region;
        lull_varints_put_near(&of->phases, region, of->region);
        lull_varints_put_near(&of->phases, call, of->call);
        lull_varints_put(&of->phases, phase->phase.bytes);
        if (of->of_communicator) {
            lull_varints_put(&of->phases, phase->phase.sequence + UINT32_C(1));
            lull_varints_put(&of->phases, phase->peer < 0 ? 0 : (uint64_t)phase->peer + 1);
        }
        of->region = region;
        of->call = call;
    }
    of->end = phase->phase.end;
    of->number = phase->phase.number;
    return true;
}

static bool take_submit(struct log_location *of, const struct lull_step *submit)
{
    if (!reserve_item(&of->submits))
        return false;
    lull_varints_put_near(&of->submits, submit->number, of->submit);
    lull_varints_put_near(&of->submits, (uint64_t)submit->time, (uint64_t)of->submitted);
    of->submit = submit->number;
    of->submitted = submit->time;
    return true;
}

static bool take_depend(struct log_location *of, const struct lull_step *depend)
{
    if (depend->depend.other == 0) /* all that its stream had: an operation of the same device */
        return true;
    if (!reserve_item(&of->depends))
        return false;
    lull_varints_put_near(&of->depends, depend->depend.number, of->depend);
    lull_varints_put_near(&of->depends, depend->depend.other, depend->depend.number);
    of->depend = depend->depend.number;
    return true;
}

static bool take_wait(struct log_location *of, const struct lull_step *wait)
{
    if (!reserve_item(&of->waits))
        return false;
    lull_varints_put_near(&of->waits, (uint64_t)wait->time, (uint64_t)of->waited);
    lull_varints_put_near(&of->waits, wait->phase.number, of->wait);
    lull_varints_put(&of->waits,
                     wait->phase.stream == LULL_NONE ? 0 : (uint64_t)wait->phase.stream + 1);
    of->waited = wait->time;
    of->wait = wait->phase.number;
    return true;
}

lull_status lull_device_log_take(struct lull_device_log *log, uint32_t location,
                                 const struct lull_step *step, struct lull_error *err)
{
    struct log_location *of = &log->locations[location];
    const struct lull_location *told = &log->trace->locations[location];
    bool taken = true;
    if (!log->uses[told->process])
        return LULL_OK;
    if (step->kind == LULL_STEP_SUBMIT)
        taken = take_submit(of, step);
    else if (step->kind == LULL_STEP_DEPEND)
        taken = take_depend(of, step);
    else if (step->kind == LULL_STEP_DEVICE_WAIT)
        taken = !(log->keeps & LULL_DEVICE_LOG_WAITS) || take_wait(of, step);
    else if (told->kind == LULL_LOCATION_DEVICE)
        taken = take_phase_of_stream(log, of, step);
    else if (log->keeps & LULL_DEVICE_LOG_PLACES)
        taken = take_phase_of_thread(of, step);
    return taken ? LULL_OK
                 : lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what devices did");
}

bool lull_device_log_end(struct lull_device_log *log, uint32_t location)
{
    return log->trace->locations[location].kind == LULL_LOCATION_DEVICE ||
           close_place(&log->locations[location]);
}

bool lull_is_of_device(const struct lull_trace *trace, uint32_t location, uint32_t application)
{
    const struct lull_location *stream = &trace->locations[location];
    return stream->kind == LULL_LOCATION_DEVICE &&
           trace->processes[stream->process].application == application &&
           !(stream->stream && lull_is_communicator(&trace->devices[stream->stream->device]));
}

bool lull_is_of_communicator(const struct lull_trace *trace, uint32_t location,
                             uint32_t application)
{
    const struct lull_location *stream = &trace->locations[location];
    return stream->kind == LULL_LOCATION_DEVICE &&
           trace->processes[stream->process].application == application &&
           !lull_is_of_device(trace, location, application);
}

static bool is_exchange(const struct lull_region *region)
{
    return region->paradigm == LULL_PARADIGM_DEVICE && lull_is_exchange(region->name);
}

bool lull_is_copy(const struct lull_region *region)
{
    return lull_activity_on(region, LULL_LOCATION_DEVICE) == LULL_DEVICE && !is_exchange(region);
}

bool lull_device_log_uses(const struct lull_device_log *log, uint32_t process)
{
    return log->uses[process];
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool fill_uses(struct lull_device_log *log, uint32_t application)
{
    const struct lull_trace *trace = log->trace;
    log->uses = calloc(trace->n_processes + (size_t)1, sizeof *log->uses);
    log->exchanges = calloc(trace->n_regions + (size_t)1, sizeof *log->exchanges);
    if (!log->uses || !log->exchanges)
        return false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        log->exchanges[r] = is_exchange(&trace->regions[r]);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        log->uses[trace->locations[l].process] |= lull_is_of_device(trace, l, application);
        log->locations[l].stream = log->locations[l].waiting = LULL_NONE;
        log->locations[l].of_communicator = lull_is_of_communicator(trace, l, application);
    }
    return true;
}

lull_status lull_device_log_create(const struct lull_trace *trace, uint32_t application,
                                   unsigned keeps, struct lull_device_log **ret_log,
                                   struct lull_error *err)
{
    bool any = false;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        any |= lull_is_of_device(trace, l, application);
    *ret_log = NULL;
    if (!any)
        return LULL_OK;
    struct lull_device_log *log =
        calloc(1, sizeof *log + trace->n_locations * sizeof *log->locations);
    if (log) {
        log->trace = trace;
        log->keeps = keeps;
    }
    if (!log || !fill_uses(log, application)) {
        lull_device_log_destroy(log);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for what devices did",
                         trace->path);
    }
    *ret_log = log;
    return LULL_OK;
}

void lull_device_log_destroy(struct lull_device_log *log)
{
    if (!log)
        return;
    for (uint32_t l = 0; l < log->trace->n_locations; l++) {
        free(log->locations[l].phases.bytes);
        free(log->locations[l].submits.bytes);
        free(log->locations[l].depends.bytes);
        free(log->locations[l].waits.bytes);
    }
    free(log->uses);
    free(log->exchanges);
    free(log);
}

bool lull_device_log_is_empty(const struct lull_device_log *log, uint32_t location)
{
    const struct log_location *of = &log->locations[location];
    return of->phases.size + of->submits.size + of->depends.size + of->waits.size == 0 &&
           of->begin == of->end;
}

/* ---- from member to member ------------------------------------------------------------------- */

static bool put_list(const struct lull_varints *list, struct lull_flow *flow)
{
    return lull_flow_put_items(flow, list->bytes, list->size, 1);
}

static bool get_list(struct lull_varints *list, struct lull_flow *flow)
{
    size_t size;
    unsigned char *bytes = lull_flow_get_items(flow, 1, &size);
    if (!bytes)
        return false;
    free(list->bytes);
    *list = (struct lull_varints){bytes, size, size};
    return true;
}

bool lull_device_log_put(struct lull_device_log *log, uint32_t location, struct lull_flow *flow)
{
    if (!log || !log->uses[log->trace->locations[location].process])
        return true;
    const struct log_location *of = &log->locations[location];
    return lull_device_log_end(log, location) && put_list(&of->phases, flow) &&
           put_list(&of->submits, flow) && put_list(&of->depends, flow) &&
           put_list(&of->waits, flow);
}

bool lull_device_log_get(struct lull_device_log *log, uint32_t location, struct lull_flow *flow)
{
    if (!log || !log->uses[log->trace->locations[location].process])
        return true;
    struct log_location *of = &log->locations[location];
    return get_list(&of->phases, flow) && get_list(&of->submits, flow) &&
           get_list(&of->depends, flow) && get_list(&of->waits, flow);
}

/* ==== which streams are of one device ========================================================= */

#define UUID_BEGIN "GPU_"
enum { UUID_DIGITS = 32 };

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

/* "GPU_a2f80454.1": how many digits of the device's UUID stand before the number of the stream. 0: the name does not have
 * them. */
static int count_uuid_digits(const char *name)
{
    const size_t n = strncmp(name, UUID_BEGIN, strlen(UUID_BEGIN)) == 0
                         ? strspn(name + strlen(UUID_BEGIN), "0123456789abcdef")
                         : 0;
    return n > 0 && n <= UUID_DIGITS && name[strlen(UUID_BEGIN) + n] == '.' ? (int)n : 0;
}

const char *lull_device_identify(const struct lull_trace *trace, uint32_t location,
                                 struct lull_arena *arena)
{
    const struct lull_location *stream = &trace->locations[location];
    const uint32_t rank = trace->processes[stream->process].rank;
    const int digits = count_uuid_digits(stream->name);
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
    if (digits > 0)
        return lull_arena_printf(arena, "GPU %.*s", digits, stream->name + strlen(UUID_BEGIN));
    return lull_arena_printf(arena, "rank %u stream %u", rank, stream->number);
}

/* ==== reading a log =========================================================================== */

struct lull_device_run lull_device_run_open(const struct lull_device_log *log, uint32_t location)
{
    return (struct lull_device_run){.reader = lull_varints_read(&log->locations[location].phases),
                                    .location = location,
                                    .numbered = log->locations[location].of_communicator,
                                    .named = log->keeps & LULL_DEVICE_LOG_NAMES};
}

bool lull_device_run_next(struct lull_device_run *run)
{
    if (!lull_varints_more(&run->reader))
        return false;
    run->begin = run->end + (int64_t)lull_varints_get(&run->reader);
    const uint64_t length = lull_varints_get(&run->reader), before = run->number;
    run->end = run->begin + (int64_t)(length / 4);
    run->kind = length % 4;
    run->number = lull_varints_get_near(&run->reader, before);
    run->again = run->number > 0 && run->number == before;
    if (run->named) {
        run->region = lull_varints_get_near(&run->reader, run->region);
        run->call = lull_varints_get_near(&run->reader, run->call);
        run->bytes = lull_varints_get(&run->reader);
        if (run->numbered) {
            run->sequence = (uint32_t)lull_varints_get(&run->reader) - 1;
            run->peer = (int32_t)((int64_t)lull_varints_get(&run->reader) - 1);
        }
    }
    return true;
}

struct lull_device_submit lull_device_submit_open(const struct lull_device_log *log,
                                                  uint32_t location)
{
    return (struct lull_device_submit){.reader =
                                           lull_varints_read(&log->locations[location].submits)};
}

bool lull_device_submit_next(struct lull_device_submit *submit)
{
    if (!lull_varints_more(&submit->reader))
        return false;
    submit->number = lull_varints_get_near(&submit->reader, submit->number);
    submit->time = (int64_t)lull_varints_get_near(&submit->reader, (uint64_t)submit->time);
    return true;
}

struct lull_device_depend lull_device_depend_open(const struct lull_device_log *log,
                                                  uint32_t location)
{
    return (struct lull_device_depend){.reader =
                                           lull_varints_read(&log->locations[location].depends)};
}

bool lull_device_depend_next(struct lull_device_depend *depend)
{
    if (!lull_varints_more(&depend->reader))
        return false;
    depend->number = lull_varints_get_near(&depend->reader, depend->number);
    depend->other = lull_varints_get_near(&depend->reader, depend->number);
    return true;
}

struct lull_device_wait lull_device_wait_open(const struct lull_device_log *log, uint32_t location)
{
    return (struct lull_device_wait){.reader = lull_varints_read(&log->locations[location].waits)};
}

bool lull_device_wait_next(struct lull_device_wait *wait)
{
    if (!lull_varints_more(&wait->reader))
        return false;
    wait->time = (int64_t)lull_varints_get_near(&wait->reader, (uint64_t)wait->time);
    wait->number = lull_varints_get_near(&wait->reader, wait->number);
    const uint64_t stream = lull_varints_get(&wait->reader);
    wait->stream = stream > 0 ? (uint32_t)(stream - 1) : LULL_NONE;
    return true;
}

struct lull_device_piece lull_device_piece_open(const struct lull_device_log *log,
                                                uint32_t location)
{
    return (struct lull_device_piece){.reader =
                                          lull_varints_read(&log->locations[location].phases)};
}

bool lull_device_piece_next(struct lull_device_piece *piece)
{
    if (!lull_varints_more(&piece->reader))
        return false;
    const uint64_t length = lull_varints_get(&piece->reader);
    const bool refers = length & 1;
    piece->begin = piece->end;
    piece->end = piece->begin + (int64_t)(length / 16);
    piece->place = length / 2 % 8;
    piece->waits_for = refers ? lull_varints_get(&piece->reader) : 0;
    const uint64_t stream = refers ? lull_varints_get(&piece->reader) : 0;
    const uint64_t call = refers ? lull_varints_get(&piece->reader) : 0;
    piece->stream = stream > 0 ? (uint32_t)(stream - 1) : LULL_NONE;
    piece->call = call > 0 ? (uint32_t)(call - 1) : LULL_NONE;
    return true;
}
