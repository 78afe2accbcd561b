/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/survey.h"

#include "activity/channel.h"
#include "activity/step.h"
#include "base/array.h"
#include "base/hash.h"
#include "replay/program/devices.h"
#include "replay/program/items.h"
#include "stats/quantile.h"
#include "team/team.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A thread that the program made; a key of lull_survey.lives. */
struct survey_life_key {
    uint64_t process, number;
};

/* ==== polls =================================================================================== */

/* The steps that count. */
#define STEPS_OF_POLLS                                                           \
    (LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) | \
     LULL_STEP_MASK(LULL_STEP_RECV) | LULL_STEP_MASK(LULL_STEP_SEND_DONE) |      \
     LULL_STEP_MASK(LULL_STEP_CANCEL) | LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))

/* Places in one series. A series with more places tells nothing. */
enum { MOST_PLACES = 8 };

/* The queries of a place are waits if at most one part in ten of their time was in vain. */
enum { PARTS = 10 };

struct poll_place {
    uint32_t region;
    int64_t in_vain, answered; /* ns of queries in series */
};

struct poll_thread {
    struct poll_place *places;
    size_t n_places, capacity;
    /* The present series has the places series[0 .. n_series), which are indices in `places`, in
     * the order of their first queries. since[a][b] is the time, in ns, of the queries of its b-th
     * place since the first query of its a-th place. */
    uint32_t n_series, series[MOST_PLACES];
    int64_t since[MOST_PLACES][MOST_PLACES];
    bool open;         /* the last call was a query that found nothing, and this is its ... */
    uint8_t call;      /* ... enum lull_call, ... */
    uint32_t region;   /* ... place, ... */
    int64_t ns, ended; /* ... length and measured end */
    bool found;        /* the call that has begun found something */
};

struct lull_polls {
    uint32_t n_locations;
    struct poll_thread **threads; /* [n_locations]; NULL: the location has not queried */
};

static bool is_query(uint8_t call)
{
    return call == LULL_CALL_TEST || call == LULL_CALL_IPROBE;
}

/* ---- series -------------------------------------------------------------------------------- */

/* The series ends with an answer to its place `a`, so the queries since the first of `a` were
 * answered; or (MOST_PLACES) with no answer. */
static void end_series(struct poll_thread *thread, uint32_t a)
{
    for (uint32_t b = 0; b < thread->n_series; b++) {
        struct poll_place *place = &thread->places[thread->series[b]];
        int64_t answered = a < MOST_PLACES ? thread->since[a][b] : 0;
        place->answered += answered;
        place->in_vain += thread->since[b][b] - answered;
    }
    thread->n_series = 0;
}

/* The series ends with a blocking wait: all its queries had their answer. */
static void answer_series(struct poll_thread *thread)
{
    for (uint32_t b = 0; b < thread->n_series; b++)
        thread->places[thread->series[b]].answered += thread->since[b][b];
    thread->n_series = 0;
}

/* Which place of the series a region is; n_series: none. */
static uint32_t find_in_series(const struct poll_thread *thread, uint32_t region)
{
    uint32_t b = 0;
    while (b < thread->n_series && thread->places[thread->series[b]].region != region)
        b++;
    return b;
}

static bool find_poll_place(struct poll_thread *thread, uint32_t region, uint32_t *ret_index)
{
    uint32_t index = 0;
    while (index < thread->n_places && thread->places[index].region != region)
        index++;
    if (index == thread->n_places) {
        if (!lull_array_reserve(&thread->places, &thread->capacity, thread->n_places + 1,
                                sizeof *thread->places))
            return false;
        thread->places[thread->n_places++] = (struct poll_place){.region = region};
    }
    *ret_index = index;
    return true;
}

static bool add_query(struct poll_thread *thread)
{
    uint32_t b = find_in_series(thread, thread->region);
    if (b == MOST_PLACES)
        b = thread->n_series = 0;
    if (b == thread->n_series) {
        if (!find_poll_place(thread, thread->region, &thread->series[b]))
            return false;
        thread->n_series++;
        memset(thread->since[b], 0, sizeof thread->since[b]);
        for (uint32_t a = 0; a < b; a++)
            thread->since[a][b] = 0;
    }
    for (uint32_t a = 0; a < thread->n_series; a++)
        thread->since[a][b] += thread->ns;
    return true;
}

/* ---- calls --------------------------------------------------------------------------------- */

static bool begin_polled_call(struct poll_thread *thread, const struct lull_step *step)
{
    bool open = thread->open, probed = open && thread->call == LULL_CALL_IPROBE;
    thread->open = thread->found = false;
    if (open && step->time - thread->ended >= thread->ns) /* it has worked, or had no processor */
        thread->n_series = 0;
    else if (open && !add_query(thread))
        return false;
    switch (step->op) {
    case LULL_CALL_TEST:
    case LULL_CALL_IPROBE:
        break;
    case LULL_CALL_WAIT:
    case LULL_CALL_WAITALL:
    case LULL_CALL_RECV:
    case LULL_CALL_PROBE:
        answer_series(thread);
        break;
    case LULL_CALL_IRECV:
        if (probed) {
            answer_series(thread);
            break;
        }
        /* fall through */
    default:
        end_series(thread, MOST_PLACES);
    }
    return true;
}

static void end_polled_call(struct poll_thread *thread, const struct lull_step *step)
{
    if (!is_query(step->op))
        return;
    if (thread->found) {
        uint32_t b = find_in_series(thread, step->region);
        end_series(thread, b < thread->n_series ? b : MOST_PLACES);
        return;
    }
    thread->open = true;
    thread->call = step->op;
    thread->region = step->region;
    thread->ns = step->time - step->call_began;
    thread->ended = step->time;
}

/* The next step of a location; steps of different locations may come at the same time. False: no
 * memory. */
static bool polls_take(struct lull_polls *polls, uint32_t location, const struct lull_step *step)
{
    struct poll_thread *thread = polls->threads[location];
    if (!thread) {
        if (step->kind != LULL_STEP_CALL_BEGIN || !is_query(step->op))
            return true;
        thread = polls->threads[location] = calloc(1, sizeof *thread);
        if (!thread)
            return false;
    }
    if (step->kind == LULL_STEP_CALL_BEGIN)
        return begin_polled_call(thread, step);
    if (step->kind == LULL_STEP_CALL_END)
        end_polled_call(thread, step);
    else
        thread->found = true;
    return true;
}

/* After all steps: from member to member of a team. Each member has threads of its own. */
static bool polls_put(const struct lull_polls *polls, struct lull_flow *flow)
{
    const uint32_t last = UINT32_MAX;
    bool good = true;
    for (uint32_t l = 0; polls && good && l < polls->n_locations; l++) {
        const struct poll_thread *thread = polls->threads[l];
        if (thread)
            good =
                lull_flow_put(flow, &l, sizeof l) &&
                lull_flow_put_items(flow, thread->places, thread->n_places, sizeof *thread->places);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool polls_get(struct lull_polls *polls, struct lull_flow *flow)
{
    uint32_t l = 0;
    while (lull_flow_get(flow, &l, sizeof l) && polls && l < polls->n_locations) {
        struct poll_thread *thread = polls->threads[l] = calloc(1, sizeof *thread);
        if (!thread || !(thread->places =
                             lull_flow_get_items(flow, sizeof *thread->places, &thread->n_places)))
            return false;
        thread->capacity = thread->n_places + 1;
    }
    return l == UINT32_MAX;
}

/* After all steps: whether the queries of a place that found nothing are waits, as its series tell.
 */
static bool polls_wait(const struct lull_polls *polls, uint32_t location, uint32_t region)
{
    const struct poll_thread *thread = polls ? polls->threads[location] : NULL;
    for (size_t i = 0; thread && i < thread->n_places; i++) {
        const struct poll_place *place = &thread->places[i];
        if (place->region == region)
            return place->in_vain <= (place->in_vain + place->answered) / PARTS;
    }
    return true;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Whether the program of a run may query at all. */
static bool has_polls(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].paradigm == LULL_PARADIGM_MPI &&
            is_query((uint8_t)lull_call_of_region(&trace->regions[r])))
            return true;
    return false;
}

/* NULL: no memory */
static struct lull_polls *polls_create(const struct lull_trace *trace)
{
    struct lull_polls *polls = calloc(1, sizeof *polls);
    if (!polls)
        return NULL;
    polls->n_locations = trace->n_locations;
    polls->threads = calloc(trace->n_locations + (size_t)1, sizeof *polls->threads);
    if (!polls->threads) {
        free(polls);
        return NULL;
    }
    return polls;
}

/* NULL is allowed */
static void polls_destroy(struct lull_polls *polls)
{
    if (!polls)
        return;
    for (uint32_t l = 0; l < polls->n_locations; l++) {
        if (polls->threads[l])
            free(polls->threads[l]->places);
        free(polls->threads[l]);
    }
    free(polls->threads);
    free(polls);
}

/* ==== barriers ================================================================================ */

enum { BARRIER_MOST_AHEAD = 1 << 20 };

struct lull_barrier {
    uint32_t complete; /* so many meetings, from the first on, all came to */
    uint32_t *came;    /* [begin, end): how many threads came to each of the meetings after these */
    size_t begin, end, capacity;
};

struct barrier_key {
    uint32_t process, barrier;
};

static struct barrier_key key_of(uint32_t process, uint64_t meeting)
{
    return (struct barrier_key){process, (uint32_t)(meeting >> 32)};
}

static struct lull_barrier *find_or_add_meeting(struct lull_barriers *barriers, uint32_t process,
                                                uint64_t meeting)
{
    const struct barrier_key key = key_of(process, meeting);
    bool is_new;
    uint64_t *index = lull_hash_add(&barriers->by_key, &key, sizeof key, barriers->count, &is_new);
    if (!index)
        return NULL;
    if (is_new) {
        if (!lull_array_reserve(&barriers->items, &barriers->capacity, barriers->count + 1,
                                sizeof *barriers->items))
            return NULL;
        barriers->items[barriers->count++] = (struct lull_barrier){0};
    }
    return &barriers->items[*index];
}

/* Room for `count` meetings behind the complete ones. */
static bool reserve(struct lull_barrier *barrier, size_t count)
{
    const size_t open = barrier->end - barrier->begin;
    if (count <= open)
        return true;
    if (barrier->begin > barrier->capacity / 2) {
        memmove(barrier->came, barrier->came + barrier->begin, open * sizeof *barrier->came);
        barrier->begin = 0;
        barrier->end = open;
    }
    if (!lull_array_reserve(&barrier->came, &barrier->capacity, barrier->begin + count,
                            sizeof *barrier->came))
        return false;
    memset(barrier->came + barrier->end, 0, (count - open) * sizeof *barrier->came);
    barrier->end = barrier->begin + count;
    return true;
}

bool lull_barriers_come(struct lull_barriers *barriers, uint32_t process, uint64_t meeting,
                        uint32_t threads)
{
    struct lull_barrier *barrier = find_or_add_meeting(barriers, process, meeting);
    if (!barrier)
        return false;
    const uint32_t number = (uint32_t)meeting;
    if (number < barrier->complete || number - barrier->complete >= BARRIER_MOST_AHEAD)
        return true;
    const size_t at = number - barrier->complete;
    if (!reserve(barrier, at + 1))
        return false;
    barrier->came[barrier->begin + at]++;
    while (barrier->begin < barrier->end && barrier->came[barrier->begin] >= threads) {
        barrier->begin++;
        barrier->complete++;
    }
    return true;
}

bool lull_barriers_all_came(const struct lull_barriers *barriers, uint32_t process,
                            uint64_t meeting, uint32_t threads)
{
    const struct barrier_key key = key_of(process, meeting);
    const uint64_t *index = lull_hash_find(&barriers->by_key, &key, sizeof key);
    if (!index)
        return false;
    const struct lull_barrier *barrier = &barriers->items[*index];
    const uint32_t number = (uint32_t)meeting;
    if (number < barrier->complete)
        return true;
    const size_t at = number - barrier->complete;
    return at < barrier->end - barrier->begin && barrier->came[barrier->begin + at] >= threads;
}

/* From member to member of a team. Each member has the barriers of its processes. */
static bool barriers_put(const struct lull_barriers *barriers, struct lull_flow *flow)
{
    const uint64_t count = barriers->count;
    bool good = lull_flow_put(flow, &count, sizeof count);
    for (size_t i = 0; good && i < count; i++) {
        const struct lull_barrier *barrier = &barriers->items[i];
        const uint32_t *came = barrier->came ? barrier->came + barrier->begin : NULL;
        good =
            lull_flow_put(flow, lull_hash_key(&barriers->by_key, i), sizeof(struct barrier_key)) &&
            lull_flow_put(flow, &barrier->complete, sizeof barrier->complete) &&
            lull_flow_put_items(flow, came, barrier->end - barrier->begin, sizeof *came);
    }
    return good;
}

static bool barriers_get(struct lull_barriers *barriers, struct lull_flow *flow)
{
    uint64_t count;
    bool good = lull_flow_get(flow, &count, sizeof count);
    for (uint64_t i = 0; good && i < count; i++) {
        struct barrier_key key;
        good = lull_flow_get(flow, &key, sizeof key);
        struct lull_barrier *barrier =
            good ? find_or_add_meeting(barriers, key.process, (uint64_t)key.barrier << 32) : NULL;
        good = barrier && lull_flow_get(flow, &barrier->complete, sizeof barrier->complete) &&
               (barrier->came = lull_flow_get_items(flow, sizeof *barrier->came, &barrier->end));
        if (good)
            barrier->capacity = barrier->end + 1;
    }
    return good;
}

void lull_barriers_free(struct lull_barriers *barriers)
{
    for (size_t i = 0; i < barriers->count; i++)
        free(barriers->items[i].came);
    free(barriers->items);
    lull_hash_free(&barriers->by_key);
}

/* ==== clocks ================================================================================== */

#define CLOCKS_OPERATIONS 64

static uint32_t common_count(const struct lull_passages *a, const struct lull_passages *b)
{
    return a->count < b->count ? a->count : b->count;
}

static bool contradict(const struct lull_passages *a, const struct lull_passages *b)
{
    for (uint32_t i = 0; i < common_count(a, b); i++)
        if (a->items[i].exit < b->items[i].enter || b->items[i].exit < a->items[i].enter)
            return true;
    return false;
}

static int64_t find_offset(const struct lull_passages *a, const struct lull_passages *b)
{
    double differences[CLOCKS_OPERATIONS];
    uint32_t count = common_count(a, b);
    for (uint32_t i = 0; i < count; i++)
        differences[i] = (double)(a->items[i].exit - b->items[i].exit);
    lull_sort(differences, count);
    return llround(lull_median(differences, count));
}

/* Fills ret_shifts[n] with what is to be added to the times of each of n processes, in ns, at least
 * 0. All are 0 where the clocks do not contradict each other; a process without passages gets the
 * least shift. */
static void clocks_compare(const struct lull_passages *processes, uint32_t n, int64_t *ret_shifts)
{
    const struct lull_passages *first = processes;
    bool wrong = false;
    int64_t least = 0;
    while (first < processes + n && first->count == 0)
        first++;
    for (uint32_t p = 0; p < n; p++) { /* all are compared with the first */
        ret_shifts[p] = processes[p].count ? find_offset(first, &processes[p]) : 0;
        wrong |= processes[p].count && contradict(first, &processes[p]);
        least = ret_shifts[p] < least ? ret_shifts[p] : least;
    }
    for (uint32_t p = 0; p < n; p++)
        ret_shifts[p] = wrong ? ret_shifts[p] - least : 0;
}

/* ==== survey ================================================================================== */

static lull_status no_memory_for_survey(const struct lull_survey *survey, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                     survey->trace->path);
}

/* ---- roots --------------------------------------------------------------------------------- */

/* Notes the root of the operation with this number. False: there is no memory. */
static bool survey_put_root(struct lull_survey_roots *roots, size_t number, uint32_t process)
{
    if (!lull_array_reserve(&roots->processes, &roots->capacity, number + 1,
                            sizeof *roots->processes))
        return false;
    while (roots->count <= number)
        roots->processes[roots->count++] = LULL_NONE;
    roots->processes[number] = process;
    return true;
}

static bool take_root(struct lull_survey *survey, uint32_t process, const struct lull_step *step)
{
    struct lull_survey_visitor *visitor = &survey->visitors[process];
    const struct lull_trace *trace = survey->trace;
    if (step->comm >= trace->n_comms || step->collective.request != LULL_NO_REQUEST)
        return true;
    uint32_t comm = lull_comm_canonical(trace, step->comm);
    if (!visitor->next || visitor->comm != comm) {
        visitor->comm = comm;
        visitor->next = lull_hash_add(&visitor->numbers, &comm, sizeof comm, 0, NULL);
        if (!visitor->next)
            return false;
    }
    size_t number = (size_t)(*visitor->next)++;
    int32_t root = step->collective.root;
    bool tells = root == (int32_t)process || trace->comms[comm].remote != LULL_NONE;
    if (root < 0 || !tells)
        return true;
    pthread_mutex_lock(&survey->lock);
    bool fits = survey_put_root(&survey->roots[comm], number, (uint32_t)root);
    pthread_mutex_unlock(&survey->lock);
    return fits;
}

uint32_t lull_survey_root(const struct lull_survey *survey, uint32_t comm, uint32_t number)
{
    const struct lull_survey_roots *roots =
        &survey->roots[lull_comm_canonical(survey->trace, comm)];
    return number < roots->count ? roots->processes[number] : LULL_NONE;
}

uint32_t lull_survey_operations(const struct lull_survey *survey, uint32_t comm)
{
    return (uint32_t)survey->roots[lull_comm_canonical(survey->trace, comm)].count;
}

/* ---- clocks -------------------------------------------------------------------------------- */

static bool take_passage(struct lull_survey *survey, uint32_t process, const struct lull_step *step)
{
    struct lull_passages *passages = &survey->passages[process];
    if (passages->count == CLOCKS_OPERATIONS ||
        !lull_is_epoch(survey->trace, step, survey->n_processes))
        return true;
    if (!passages->items)
        passages->items = malloc(CLOCKS_OPERATIONS * sizeof *passages->items);
    if (!passages->items)
        return false;
    passages->items[passages->count++] =
        (struct lull_passage){survey->visitors[process].entered, step->time};
    return true;
}

lull_status lull_survey_conclude(struct lull_survey *survey, struct lull_error *err)
{
    lull_status status = LULL_OK;
    bool ended = true;
    clocks_compare(survey->passages, survey->trace->n_processes, survey->shifts);
    for (uint32_t l = 0; ended && survey->log && l < survey->trace->n_locations; l++)
        ended = lull_device_log_end(survey->log, l);
    if (!ended)
        status = no_memory_for_survey(survey, err);
    else if (survey->log)
        status = lull_replay_devices_make(survey->trace, survey->application, survey->log,
                                          survey->meets, survey->shifts, &survey->devices, err);
    lull_device_log_destroy(survey->log);
    survey->log = NULL;
    return status;
}

const struct lull_replay_devices *lull_survey_devices(const struct lull_survey *survey)
{
    return survey->devices;
}

int64_t lull_survey_shift(const struct lull_survey *survey, uint32_t process)
{
    return survey->shifts[process];
}

/* ---- requests ------------------------------------------------------------------------------ */

/* Writes the flag the first time only: all threads read it, and each write would take its cache line
 * from the others. */
static void note_once(atomic_bool *flag)
{
    if (!atomic_load_explicit(flag, memory_order_relaxed))
        atomic_store_explicit(flag, true, memory_order_relaxed);
}

static void take_request(struct lull_survey *survey, uint32_t location,
                         const struct lull_step *step)
{
    struct lull_survey_requests *requests = &survey->requests[location];
    if (step->message.request == LULL_NO_REQUEST)
        return;
    switch (step->kind) {
    case LULL_STEP_RECV_POST:
        requests->posted++;
        break;
    case LULL_STEP_RECV:
        requests->received++;
        note_once(&survey->completes_receives);
        break;
    case LULL_STEP_SEND_DONE:
        note_once(&survey->completes_sends);
        break;
    default:
        requests->cancelled = true;
    }
}

bool lull_survey_completes_receives(const struct lull_survey *survey)
{
    return atomic_load(&survey->completes_receives);
}

bool lull_survey_completes_sends(const struct lull_survey *survey)
{
    return atomic_load(&survey->completes_sends);
}

bool lull_survey_withdraws(const struct lull_survey *survey, uint32_t location)
{
    const struct lull_survey_requests *requests = &survey->requests[location];
    return requests->cancelled || requests->posted > requests->received;
}

bool lull_survey_polls_wait(const struct lull_survey *survey, uint32_t location, uint32_t region)
{
    return polls_wait(survey->polls, location, region);
}

/* ---- threads ------------------------------------------------------------------------------- */

static unsigned life_of(const struct lull_step *step)
{
    switch (step->kind) {
    case LULL_STEP_THREAD_CREATE:
        return LULL_LIFE_MADE;
    case LULL_STEP_THREAD_BEGIN:
        return LULL_LIFE_BEGINS;
    case LULL_STEP_THREAD_END:
        return LULL_LIFE_ENDS;
    case LULL_STEP_THREAD_WAIT_END:
        return step->op == LULL_THREAD_WAIT_JOIN ? LULL_LIFE_JOINED : 0;
    default:
        return 0;
    }
}

static bool survey_barrier(struct lull_survey *survey, uint32_t process,
                           const struct lull_step *step)
{
    pthread_mutex_lock(&survey->lock);
    bool fits =
        lull_barriers_come(&survey->barriers, process, step->meeting.number, step->meeting.threads);
    pthread_mutex_unlock(&survey->lock);
    return fits;
}

static bool take_thread(struct lull_survey *survey, uint32_t location, const struct lull_step *step)
{
    const struct survey_life_key key = {survey->trace->locations[location].process, step->number};
    if (step->number == 0)
        return true;
    survey->meets[location] = true;
    if (step->kind == LULL_STEP_THREAD_WAIT_BEGIN && step->op == LULL_THREAD_WAIT_BARRIER)
        return survey_barrier(survey, (uint32_t)key.process, step);
    if (life_of(step) == 0)
        return true;
    pthread_mutex_lock(&survey->lock);
    uint64_t *life = lull_hash_add(&survey->lives, &key, sizeof key, 0, NULL);
    if (life)
        *life |= life_of(step);
    pthread_mutex_unlock(&survey->lock);
    return life;
}

bool lull_survey_all_came(const struct lull_survey *survey, uint32_t process,
                          const struct lull_step *step)
{
    return lull_barriers_all_came(&survey->barriers, process, step->meeting.number,
                                  step->meeting.threads);
}

bool lull_survey_meets(const struct lull_survey *survey, uint32_t location)
{
    return survey->meets[location];
}

bool lull_survey_knows(const struct lull_survey *survey, uint32_t process, uint64_t number,
                       enum lull_life what)
{
    const struct survey_life_key key = {process, number};
    const uint64_t *life = lull_hash_find(&survey->lives, &key, sizeof key);
    return life && *life & what;
}

/* ---- the pass ------------------------------------------------------------------------------ */

#define OF_REQUESTS                                                         \
    (LULL_STEP_MASK(LULL_STEP_RECV_POST) | LULL_STEP_MASK(LULL_STEP_RECV) | \
     LULL_STEP_MASK(LULL_STEP_SEND_DONE) | LULL_STEP_MASK(LULL_STEP_CANCEL))
#define STEPS_OF_DEVICES (LULL_DEVICE_LOG_WANTS | LULL_STEP_MASK(LULL_STEP_DEVICE_WAIT))
#define OF_COLLECTIVES \
    (LULL_STEP_MASK(LULL_STEP_COLLECTIVE_BEGIN) | LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))

static bool take_collective(struct lull_survey *survey, uint32_t process,
                            const struct lull_step *step)
{
    if (step->kind == LULL_STEP_COLLECTIVE_BEGIN) {
        survey->visitors[process].entered = step->time;
        return true;
    }
    return take_passage(survey, process, step) && take_root(survey, process, step);
}

static uint64_t wants_of_survey(const struct lull_survey *survey)
{
    return OF_REQUESTS | OF_COLLECTIVES | (survey->polls ? STEPS_OF_POLLS : 0) |
           (survey->makes_threads ? LULL_STEPS_OF_THREADS : 0) |
           (survey->log ? STEPS_OF_DEVICES : 0);
}

static lull_status take_steps_for_survey(void *context, unsigned worker,
                                         const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    struct lull_survey *survey = context;
    const struct lull_trace *trace = survey->trace;
    const uint32_t process = trace->locations[steps->location].process;
    const bool master = trace->processes[process].first_location == steps->location;
    const uint64_t wanted = wants_of_survey(survey);
    if (trace->processes[process].application != survey->application)
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (!(LULL_STEP_MASK(step->kind) & wanted))
            continue;
        if (LULL_STEP_MASK(step->kind) & STEPS_OF_DEVICES) {
            lull_status status = survey->log
                                     ? lull_device_log_take(survey->log, steps->location, step, err)
                                     : LULL_OK;
            if (status != LULL_OK)
                return status;
            continue;
        }
        if (survey->polls && LULL_STEP_MASK(step->kind) & STEPS_OF_POLLS &&
            !polls_take(survey->polls, steps->location, step))
            return no_memory_for_survey(survey, err);
        if (LULL_STEP_MASK(step->kind) & LULL_STEPS_OF_THREADS &&
            !take_thread(survey, steps->location, step))
            return no_memory_for_survey(survey, err);
        if (LULL_STEP_MASK(step->kind) & OF_REQUESTS)
            take_request(survey, steps->location, step);
        else if (master && LULL_STEP_MASK(step->kind) & OF_COLLECTIVES &&
                 !take_collective(survey, process, step))
            return no_memory_for_survey(survey, err);
    }
    return LULL_OK;
}

struct lull_consumer lull_survey_consumer(struct lull_survey *survey)
{
    return (struct lull_consumer){
        .context = survey, .wants = wants_of_survey(survey), .steps = take_steps_for_survey};
}

lull_status lull_survey_take(const struct lull_trace *trace, uint32_t application, bool callers,
                             struct lull_survey **ret_survey, struct lull_error *err)
{
    struct lull_survey *survey;
    lull_status status = lull_survey_create(trace, application, &survey, err);
    if (status != LULL_OK)
        return status;
    const struct lull_reading reading = {.application = application};
    const struct lull_pass_options options = {
        .reading = &reading,
        .masters_only = !callers && !lull_makes_threads(trace) && !survey->log};
    const struct lull_consumer consumer = lull_survey_consumer(survey);
    status = lull_pass_run(trace, &options, &consumer, 1, err);
    if (status != LULL_OK) {
        lull_survey_destroy(survey);
        return status;
    }
    status = lull_survey_conclude(survey, err);
    if (status != LULL_OK) {
        lull_survey_destroy(survey);
        return status;
    }
    *ret_survey = survey;
    return LULL_OK;
}

/* ---- life ---------------------------------------------------------------------------------- */

lull_status lull_survey_create(const struct lull_trace *trace, uint32_t application,
                               struct lull_survey **ret_survey, struct lull_error *err)
{
    struct lull_survey *survey = calloc(1, sizeof *survey);
    if (!survey)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    const size_t n = trace->n_processes + (size_t)1;
    pthread_mutex_init(&survey->lock, NULL);
    survey->trace = trace;
    survey->application = application;
    survey->makes_threads = lull_makes_threads(trace);
    survey->n_processes = lull_count_processes(trace, application);
    survey->visitors = calloc(n, sizeof *survey->visitors);
    survey->passages = calloc(n, sizeof *survey->passages);
    survey->shifts = calloc(n, sizeof *survey->shifts);
    survey->roots = calloc(trace->n_comms + (size_t)1, sizeof *survey->roots);
    survey->requests = calloc(trace->n_locations + (size_t)1, sizeof *survey->requests);
    survey->meets = calloc(trace->n_locations + (size_t)1, sizeof *survey->meets);
    const lull_status devices = lull_device_log_create(
        trace, application, LULL_DEVICE_LOG_PLACES | LULL_DEVICE_LOG_NAMES | LULL_DEVICE_LOG_WAITS,
        &survey->log, err);
    bool polls = has_polls(trace);
    if (polls)
        survey->polls = polls_create(trace);
    if (devices != LULL_OK || (polls && !survey->polls) || !survey->visitors || !survey->passages ||
        !survey->shifts || !survey->roots || !survey->requests || !survey->meets) {
        lull_status status = no_memory_for_survey(survey, err);
        lull_survey_destroy(survey);
        return status;
    }
    *ret_survey = survey;
    return LULL_OK;
}

void lull_survey_destroy(struct lull_survey *survey)
{
    if (!survey)
        return;
    for (uint32_t p = 0; survey->visitors && p < survey->trace->n_processes; p++)
        lull_hash_free(&survey->visitors[p].numbers);
    for (uint32_t p = 0; survey->passages && p < survey->trace->n_processes; p++)
        free(survey->passages[p].items);
    for (uint32_t c = 0; survey->roots && c < survey->trace->n_comms; c++)
        free(survey->roots[c].processes);
    pthread_mutex_destroy(&survey->lock);
    lull_hash_free(&survey->lives);
    lull_barriers_free(&survey->barriers);
    lull_device_log_destroy(survey->log);
    lull_replay_devices_destroy(survey->devices);
    polls_destroy(survey->polls);
    free(survey->visitors);
    free(survey->passages);
    free(survey->shifts);
    free(survey->roots);
    free(survey->requests);
    free(survey->meets);
    free(survey);
}

/* ==== from member to member of a team ========================================================= */

/* Each member has surveyed its own processes; the first gets what all have found. */

/* What is known of a thread; sent only where something is. */
struct fact {
    uint32_t location;
    bool meets;
    struct lull_survey_requests requests;
};

static bool put_facts(const struct lull_survey *survey, struct lull_flow *flow)
{
    const struct fact last = {.location = LULL_NONE};
    bool good = true;
    for (uint32_t l = 0; good && l < survey->trace->n_locations; l++) {
        const struct lull_survey_requests *requests = &survey->requests[l];
        const struct fact fact = {l, survey->meets[l], *requests};
        if (fact.meets || requests->posted || requests->received || requests->cancelled)
            good = lull_flow_put(flow, &fact, sizeof fact);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_facts(struct lull_survey *survey, struct lull_flow *flow)
{
    struct fact fact = {.location = 0};
    while (lull_flow_get(flow, &fact, sizeof fact) && fact.location < survey->trace->n_locations) {
        survey->meets[fact.location] = fact.meets;
        survey->requests[fact.location] = fact.requests;
    }
    return fact.location == LULL_NONE;
}

static bool put_devices(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t l = 0; good && survey->log && l < survey->trace->n_locations; l++)
        if (!lull_device_log_is_empty(survey->log, l))
            good = lull_flow_put(flow, &l, sizeof l) && lull_device_log_put(survey->log, l, flow);
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_devices(struct lull_survey *survey, struct lull_flow *flow)
{
    uint32_t l;
    bool good;
    while ((good = lull_flow_get(flow, &l, sizeof l)) && survey->log &&
           l < survey->trace->n_locations && lull_device_log_get(survey->log, l, flow))
        ;
    return good && l == LULL_NONE;
}

static bool put_passages(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t p = 0; good && p < survey->trace->n_processes; p++) {
        const struct lull_passages *passages = &survey->passages[p];
        if (passages->count > 0)
            good = lull_flow_put(flow, &p, sizeof p) &&
                   lull_flow_put_items(flow, passages->items, passages->count,
                                       sizeof *passages->items);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_passages(struct lull_survey *survey, struct lull_flow *flow)
{
    uint32_t p = 0;
    while (lull_flow_get(flow, &p, sizeof p) && p < survey->trace->n_processes) {
        struct lull_passages *passages = &survey->passages[p];
        size_t count;
        free(passages->items);
        passages->items = lull_flow_get_items(flow, sizeof *passages->items, &count);
        passages->count = (uint32_t)count;
        if (!passages->items)
            return false;
    }
    return p == LULL_NONE;
}

static bool put_roots(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t c = 0; good && c < survey->trace->n_comms; c++) {
        const struct lull_survey_roots *roots = &survey->roots[c];
        if (roots->count > 0)
            good =
                lull_flow_put(flow, &c, sizeof c) &&
                lull_flow_put_items(flow, roots->processes, roots->count, sizeof *roots->processes);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_roots(struct lull_survey *survey, struct lull_flow *flow)
{
    uint32_t c = 0;
    while (lull_flow_get(flow, &c, sizeof c) && c < survey->trace->n_comms) {
        size_t count;
        uint32_t *processes = lull_flow_get_items(flow, sizeof *processes, &count);
        bool good = processes != NULL;
        for (size_t i = 0; good && i < count; i++)
            good = processes[i] == LULL_NONE || survey_put_root(&survey->roots[c], i, processes[i]);
        free(processes);
        if (!good)
            return false;
    }
    return c == LULL_NONE;
}

struct told_life {
    struct survey_life_key key;
    uint64_t what;
};

static bool put_lives(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint64_t count = survey->lives.count;
    bool good = lull_flow_put(flow, &count, sizeof count);
    for (size_t i = 0; good && i < count; i++) {
        struct told_life life = {.what = survey->lives.entries[i].value};
        memcpy(&life.key, lull_hash_key(&survey->lives, i), sizeof life.key);
        good = lull_flow_put(flow, &life, sizeof life);
    }
    return good;
}

static bool get_lives(struct lull_survey *survey, struct lull_flow *flow)
{
    uint64_t count;
    bool good = lull_flow_get(flow, &count, sizeof count);
    for (uint64_t i = 0; good && i < count; i++) {
        struct told_life life;
        good = lull_flow_get(flow, &life, sizeof life) &&
               lull_hash_add(&survey->lives, &life.key, sizeof life.key, life.what, NULL);
    }
    return good;
}

bool lull_survey_put(const struct lull_survey *survey, struct lull_flow *flow)
{
    const bool completes[2] = {lull_survey_completes_receives(survey),
                               lull_survey_completes_sends(survey)};
    return lull_flow_put(flow, completes, sizeof completes) && put_facts(survey, flow) &&
           put_passages(survey, flow) && put_roots(survey, flow) && put_lives(survey, flow) &&
           barriers_put(&survey->barriers, flow) && polls_put(survey->polls, flow) &&
           put_devices(survey, flow);
}

bool lull_survey_get(struct lull_survey *survey, struct lull_flow *flow)
{
    bool completes[2];
    if (!lull_flow_get(flow, completes, sizeof completes))
        return false;
    if (completes[0])
        atomic_store(&survey->completes_receives, true);
    if (completes[1])
        atomic_store(&survey->completes_sends, true);
    return get_facts(survey, flow) && get_passages(survey, flow) && get_roots(survey, flow) &&
           get_lives(survey, flow) && barriers_get(&survey->barriers, flow) &&
           polls_get(survey->polls, flow) && get_devices(survey, flow);
}
