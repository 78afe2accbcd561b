#include "replay/survey_state.h"

#include "activity/channel.h"
#include "base/array.h"
#include "replay/program/epoch.h"

#include <stdlib.h>
#include <string.h>

static lull_status no_memory_for_survey(const struct lull_survey *survey, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                     survey->trace->path);
}

/* ---- roots --------------------------------------------------------------------------------- */

bool lull_survey_put_root(struct lull_survey_roots *roots, size_t number, uint32_t process)
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
    uint64_t *next = lull_hash_add(&visitor->numbers, &comm, sizeof comm, 0, NULL);
    if (!next)
        return false;
    size_t number = (size_t)(*next)++;
    int32_t root = step->collective.root;
    bool tells = root == (int32_t)process || trace->comms[comm].remote != LULL_NONE;
    if (root < 0 || !tells)
        return true;
    pthread_mutex_lock(&survey->lock);
    bool fits = lull_survey_put_root(&survey->roots[comm], number, (uint32_t)root);
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
    if (passages->count == LULL_CLOCKS_OPERATIONS ||
        !lull_is_epoch(survey->trace, step, survey->n_processes))
        return true;
    if (!passages->items)
        passages->items = malloc(LULL_CLOCKS_OPERATIONS * sizeof *passages->items);
    if (!passages->items)
        return false;
    passages->items[passages->count++] =
        (struct lull_passage){survey->visitors[process].entered, step->time};
    return true;
}

void lull_survey_conclude(struct lull_survey *survey)
{
    lull_clocks_compare(survey->passages, survey->trace->n_processes, survey->shifts);
}

int64_t lull_survey_shift(const struct lull_survey *survey, uint32_t process)
{
    return survey->shifts[process];
}

/* ---- requests ------------------------------------------------------------------------------ */

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
        atomic_store_explicit(&survey->completes_receives, true, memory_order_relaxed);
        break;
    case LULL_STEP_SEND_DONE:
        atomic_store_explicit(&survey->completes_sends, true, memory_order_relaxed);
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
    return lull_polls_wait(survey->polls, location, region);
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
    const struct lull_survey_life_key key = {survey->trace->locations[location].process,
                                             step->number};
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
    const struct lull_survey_life_key key = {process, number};
    const uint64_t *life = lull_hash_find(&survey->lives, &key, sizeof key);
    return life && *life & what;
}

/* ---- the pass ------------------------------------------------------------------------------ */

#define OF_REQUESTS                                                         \
    (LULL_STEP_MASK(LULL_STEP_RECV_POST) | LULL_STEP_MASK(LULL_STEP_RECV) | \
     LULL_STEP_MASK(LULL_STEP_SEND_DONE) | LULL_STEP_MASK(LULL_STEP_CANCEL))
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

static lull_status take_steps_for_survey(void *context, unsigned worker,
                                         const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    struct lull_survey *survey = context;
    const struct lull_trace *trace = survey->trace;
    const uint32_t process = trace->locations[steps->location].process;
    const bool master = trace->processes[process].first_location == steps->location;
    if (trace->processes[process].application != survey->application)
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (survey->polls && LULL_STEP_MASK(step->kind) & LULL_STEPS_OF_POLLS &&
            !lull_polls_take(survey->polls, steps->location, step))
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
    return (struct lull_consumer){.context = survey,
                                  .wants = OF_REQUESTS | OF_COLLECTIVES |
                                           (survey->polls ? LULL_STEPS_OF_POLLS : 0) |
                                           (survey->makes_threads ? LULL_STEPS_OF_THREADS : 0),
                                  .steps = take_steps_for_survey};
}

lull_status lull_survey_take(const struct lull_trace *trace, uint32_t application, bool callers,
                             struct lull_survey **ret_survey, struct lull_error *err)
{
    struct lull_survey *survey;
    lull_status status = lull_survey_create(trace, application, &survey, err);
    if (status != LULL_OK)
        return status;
    const struct lull_pass_options options = {
        .application = application, .masters_only = !callers && !lull_makes_threads(trace)};
    const struct lull_consumer consumer = lull_survey_consumer(survey);
    status = lull_pass_run(trace, &options, &consumer, 1, err);
    if (status != LULL_OK) {
        lull_survey_destroy(survey);
        return status;
    }
    lull_survey_conclude(survey);
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
    bool polls = lull_has_polls(trace);
    if (polls)
        survey->polls = lull_polls_create(trace);
    if ((polls && !survey->polls) || !survey->visitors || !survey->passages || !survey->shifts ||
        !survey->roots || !survey->requests || !survey->meets) {
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
    lull_polls_destroy(survey->polls);
    free(survey->visitors);
    free(survey->passages);
    free(survey->shifts);
    free(survey->roots);
    free(survey->requests);
    free(survey->meets);
    free(survey);
}
