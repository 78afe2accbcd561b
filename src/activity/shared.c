/* Making interpreters, and what they share. */
#include "activity/interpreter.h"

#include <stdlib.h>

static const uint32_t call_kinds = LULL_STEPS_OF_MPI | LULL_STEP_MASK(LULL_STEP_CALL) |
                                   LULL_STEP_MASK(LULL_STEP_ONE_SIDED) |
                                   LULL_STEP_MASK(LULL_STEP_IO);

static unsigned visits_of(const struct lull_interpretation *shared, uint32_t region)
{
    const bool *visits = shared->options->visits;
    if (shared->wants & LULL_STEP_MASK(LULL_STEP_VISIT) && (!visits || visits[region]))
        return VISITED | TOLD;
    return shared->options->regions ? VISITED : 0;
}

static struct region_code *make_codes(const struct lull_interpretation *shared,
                                      unsigned location_kind)
{
    const struct lull_trace *trace = shared->trace;
    struct region_code *codes = calloc(trace->n_regions + (size_t)1, sizeof *codes);
    for (uint32_t i = 0; codes && i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        uint8_t activity = lull_activity_on(region, location_kind);
        codes[i].activity = activity == LULL_ACTIVITIES ? INHERIT : activity;
        bool mpi = region->paradigm == LULL_PARADIGM_MPI && shared->wants & call_kinds;
        codes[i].special = (uint16_t)((mpi ? CALL_OF_MPI : 0) | visits_of(shared, i) |
                                      (region->parallel ? PARALLEL : 0));
        codes[i].call = mpi ? lull_call_of_region(region) : LULL_CALL_OTHER;
    }
    return codes;
}

static bool *find_user_regions(const struct lull_trace *trace)
{
    bool *user = calloc(trace->n_regions + (size_t)1, sizeof *user);
    for (uint32_t i = 0; user && i < trace->n_regions; i++)
        user[i] = trace->regions[i].user && trace->regions[i].paradigm != LULL_PARADIGM_MPI;
    return user;
}

/* What of a thread's time is kept, as lull_kept has it, and whether a faster processor shortens it.
 */
static void find_stretches(struct lull_interpretation *shared)
{
    static const bool waits[LULL_STEP_ACTIVITIES] = {
        [LULL_MPI_P2P] = true, [LULL_MPI_COLLECTIVE] = true, [LULL_MPI_OTHER] = true};
    static const bool fixed[LULL_STEP_ACTIVITIES] = {
        [LULL_MPI_ONE_SIDED] = true, [LULL_MPI_IO] = true, [LULL_IO] = true, [LULL_FLUSH] = true};
    for (unsigned slot = 0; slot < 2 * LULL_SLOT_ACTIVITIES; slot++) {
        const unsigned activity = ACTIVITY_OF(slot), parallel = slot / LULL_SLOT_ACTIVITIES;
        for (unsigned master = 0; activity < LULL_STEP_ACTIVITIES && master < 2; master++) {
            bool absent = !master && (activity == LULL_IDLE || activity == LULL_OTHER);
            bool kept = activity < LULL_ACTIVITIES && (parallel || !(waits[activity] || absent));
            shared->stretches[master][slot] = !kept             ? LULL_STRETCH_WAIT
                                              : fixed[activity] ? LULL_STRETCH_FIXED
                                                                : LULL_STRETCH_BURST;
        }
    }
}

/* What must be read of the trace so that the wanted steps can be made. */
static uint64_t find_mask(const struct lull_interpretation *shared)
{
    static const struct {
        uint8_t step;
        uint64_t events;
    } needs[] = {
        {LULL_STEP_CALL, LULL_MASK(LULL_EVENT_RECV_POST) | LULL_MASK(LULL_EVENT_SEND_DONE)},
        {LULL_STEP_SEND, LULL_MASK(LULL_EVENT_SEND)},
        {LULL_STEP_SEND_DONE, LULL_MASK(LULL_EVENT_SEND_DONE)},
        {LULL_STEP_RECV_POST, LULL_MASK(LULL_EVENT_RECV_POST)},
        {LULL_STEP_RECV, LULL_MASK(LULL_EVENT_RECV)},
        {LULL_STEP_TEST, LULL_MASK(LULL_EVENT_REQUEST_TEST)},
        {LULL_STEP_CANCEL, LULL_MASK(LULL_EVENT_REQUEST_CANCELLED)},
        {LULL_STEP_FREE, LULL_MASK(LULL_EVENT_REQUEST_FREED)},
        {LULL_STEP_COLLECTIVE_BEGIN, LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN)},
        {LULL_STEP_COLLECTIVE_END, LULL_MASK(LULL_EVENT_COLLECTIVE_END)},
        {LULL_STEP_ONE_SIDED, LULL_MASK(LULL_EVENT_RMA)},
        {LULL_STEP_IO, LULL_MASK(LULL_EVENT_IO)},
        {LULL_STEP_LOCK_ACQUIRE, LULL_MASK(LULL_EVENT_LOCK_ACQUIRE)},
        {LULL_STEP_LOCK_RELEASE, LULL_MASK(LULL_EVENT_LOCK_RELEASE)},
        {LULL_STEP_MARKER, LULL_MASK(LULL_EVENT_MARKER)},
        {LULL_STEP_THREAD_CREATE, LULL_MASK(LULL_EVENT_THREAD_CREATE)},
        {LULL_STEP_THREAD_WAIT_BEGIN, LULL_MASK(LULL_EVENT_THREAD_WAIT_BEGIN)},
        {LULL_STEP_THREAD_WAIT_END, LULL_MASK(LULL_EVENT_THREAD_WAIT_END)},
    };
    uint64_t mask = LULL_MASK_TIME;
    if (!shared->wants_ledger || !shared->trace->n_counters)
        mask &= ~LULL_MASK(LULL_EVENT_COUNTERS);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (shared->wants >> needs[i].step & 1)
            mask |= needs[i].events;
    return mask;
}

lull_status lull_interpretation_create(const struct lull_trace *trace,
                                       const struct lull_pass_options *options,
                                       const struct lull_consumer *consumers, uint32_t n_consumers,
                                       struct lull_interpretation **ret_shared,
                                       struct lull_error *err)
{
    struct lull_interpretation *shared = calloc(1, sizeof *shared);
    if (shared) {
        shared->trace = trace;
        shared->options = options;
        for (uint32_t i = 0; i < n_consumers; i++) {
            shared->wants |= consumers[i].wants;
            shared->wants_ledger |= consumers[i].wants_ledger;
        }
        shared->whole = (struct lull_interval){0, trace->duration};
        shared->event_mask = find_mask(shared);
        shared->codes[LULL_LOCATION_THREAD] = make_codes(shared, LULL_LOCATION_THREAD);
        shared->codes[LULL_LOCATION_DEVICE] = make_codes(shared, LULL_LOCATION_DEVICE);
        shared->user = find_user_regions(trace);
        find_stretches(shared);
    }
    if (!shared || !shared->codes[LULL_LOCATION_THREAD] || !shared->codes[LULL_LOCATION_DEVICE] ||
        !shared->user) {
        lull_interpretation_destroy(shared);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u regions", trace->path,
                         trace->n_regions);
    }
    *ret_shared = shared;
    return LULL_OK;
}

void lull_interpretation_destroy(struct lull_interpretation *shared)
{
    if (!shared)
        return;
    free(shared->codes[LULL_LOCATION_THREAD]);
    free(shared->codes[LULL_LOCATION_DEVICE]);
    free(shared->user);
    free(shared);
}

static void place_interpreter(struct lull_interpreter *it, uint32_t index)
{
    const struct lull_interpretation *shared = it->shared;
    const struct lull_location *location = &shared->trace->locations[index];
    const struct lull_process *process = &shared->trace->processes[location->process];
    it->location = index;
    it->process = location->process;
    it->thread = index - process->first_location;
    it->cpu = it->thread < process->n_threads;
    it->master = it->thread == 0;
    it->kind = location->kind;
    it->codes = shared->codes[location->kind];
    it->role = location->role;
}

static bool allocate_counters(struct lull_interpreter *it)
{
    const struct lull_trace *trace = it->shared->trace;
    if (!it->shared->wants_ledger || !trace->n_counters)
        return true;
    it->ledger.counters =
        calloc((size_t)trace->n_counters * LULL_ACTIVITIES, sizeof *it->ledger.counters);
    it->read_at = calloc(trace->n_counters, sizeof *it->read_at);
    return it->ledger.counters && it->read_at;
}

static void set_deadlines(struct lull_interpreter *it)
{
    const struct lull_pass_options *options = it->shared->options;
    const struct lull_windows *windows = options->windows;
    it->state_end = it->call_end = it->flush_end = NEVER;
    it->window_at = it->shared->whole.begin;
    if (windows)
        it->window_at =
            windows->counts[it->process] ? windows->intervals[it->process][0].begin : NEVER;
    it->tick_at = options->tick > 0 && it->cpu && !it->master ? options->tick : NEVER;
}

lull_status lull_interpreter_create(const struct lull_interpretation *shared, uint32_t location,
                                    struct lull_interpreter **ret_interpreter,
                                    struct lull_error *err)
{
    struct lull_interpreter *it = calloc(1, sizeof *it);
    if (it) {
        it->shared = shared;
        place_interpreter(it, location);
        it->state = NO_STATE;
        it->last = LULL_ACTIVITY_OUTSIDE;
        it->call_region = it->parallel_region = LULL_NONE;
        it->spans = lull_wants(it, LULL_STEP_SPAN);
        it->brief = lull_wants(it, LULL_STEP_CALL) && !lull_wants(it, LULL_STEP_CALL_BEGIN);
        if (lull_wants(it, LULL_STEP_STRETCH))
            it->stretches = shared->stretches[it->master];
        it->span.slot = NO_STATE;
        it->ledger.forked.time = LULL_NOT_FORKED;
        it->detail = shared->options->regions || it->spans || it->stretches ||
                     (shared->wants_ledger && shared->trace->n_counters);
        it->channels = lull_channels_create();
    }
    if (!it || !it->channels || !allocate_counters(it)) {
        lull_interpreter_destroy(it);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u locations",
                         shared->trace->path, shared->trace->n_locations);
    }
    set_deadlines(it);
    lull_interpreter_refresh(it);
    *ret_interpreter = it;
    return LULL_OK;
}

void lull_interpreter_destroy(struct lull_interpreter *it)
{
    if (!it)
        return;
    free(it->stack);
    free(it->ledger.counters);
    free(it->read_at);
    lull_channels_destroy(it->channels);
    free(it);
}
