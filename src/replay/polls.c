#include "replay/polls.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* Places in one series; one that has more tells nothing. */
enum { MOST_PLACES = 8 };
/* A place waits if at most one of so many parts of its time was in vain. */
enum { PARTS = 10 };

struct poll_place {
    uint32_t region;
    int64_t in_vain, answered; /* ns */
};

struct poll_thread {
    struct poll_place *places;
    size_t n_places, capacity;
    /* The series: since[a][b] is the time of the queries of its place b from the first of its place
     * a on. */
    uint32_t n_series, series[MOST_PLACES]; /* indices of places */
    int64_t since[MOST_PLACES][MOST_PLACES];
    bool open; /* the last call was a query that found nothing: */
    uint8_t call;
    uint32_t region;
    int64_t ns, ended;
    bool found; /* the call that has begun found something */
};

struct lull_polls {
    uint32_t n_locations;
    struct poll_thread **threads; /* [n_locations]; NULL: has not queried */
};

static bool is_query(uint8_t call)
{
    return call == LULL_CALL_TEST || call == LULL_CALL_IPROBE;
}

/* ---- series -------------------------------------------------------------------------------- */

/* Ends with the answer to its place `a`, or to none (MOST_PLACES). */
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

/* Ends with a blocking wait: all had their answer. */
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

bool lull_polls_take(struct lull_polls *polls, uint32_t location, const struct lull_step *step)
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

bool lull_polls_put(const struct lull_polls *polls, struct lull_flow *flow)
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

bool lull_polls_get(struct lull_polls *polls, struct lull_flow *flow)
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

bool lull_polls_wait(const struct lull_polls *polls, uint32_t location, uint32_t region)
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

bool lull_has_polls(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].paradigm == LULL_PARADIGM_MPI &&
            is_query((uint8_t)lull_call_of_region(&trace->regions[r])))
            return true;
    return false;
}

struct lull_polls *lull_polls_create(const struct lull_trace *trace)
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

void lull_polls_destroy(struct lull_polls *polls)
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
