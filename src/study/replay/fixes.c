/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/replay/fixes.h"

#include "base/parallel.h"
#include "study/runs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One replay. */
struct job {
    struct lull_what_if *what_if; /* NULL: computations stay as they are */
    const struct lull_network *network;
    uint8_t exchanges; /* enum lull_exchange_cost */
    bool is_own;       /* this member makes it; false: another member does */
    bool has_learned;  /* it has got its steps in a pass */
    int64_t runtime;
    lull_status status;
    struct lull_error err;
};

struct fixes {
    const struct lull_run *run;
    struct lull_team *team;
    struct job *jobs; /* one for each fix; behind them the replay without any, unless it is known */
    uint32_t n_fixes, n_jobs;
    atomic_uint next;
};

static lull_status no_memory(const struct lull_run *run, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", run->trace->path);
}

/* ---- learning ------------------------------------------------------------------------------ */

static bool has_to_learn(const struct job *job)
{
    return job->what_if && lull_what_if_learns(job->what_if) && !job->has_learned;
}

static bool asks_alike(const struct fixes *fixes, const struct job *a, const struct job *b)
{
    return memcmp(lull_what_if_marks(a->what_if), lull_what_if_marks(b->what_if),
                  fixes->run->trace->n_regions) == 0;
}

/* Makes one pass for all jobs that mark the same regions as the job `first` and have to learn. */
static lull_status learn_with(struct fixes *fixes, uint32_t first, struct lull_consumer *consumers,
                              struct lull_error *err)
{
    const struct lull_reading *run = fixes->run->reading;
    const struct lull_reading reading = {/* of all processes */
                                         .application = run->application,
                                         .windows = run->windows,
                                         .workers = run->workers};
    struct lull_pass_options pass = {.reading = &reading,
                                     .masters_only = true,
                                     .marks = lull_what_if_marks(fixes->jobs[first].what_if)};
    uint32_t n = 0;
    for (uint32_t i = first; i < fixes->n_jobs; i++) {
        struct job *job = &fixes->jobs[i];
        if (!has_to_learn(job) || !asks_alike(fixes, &fixes->jobs[first], job))
            continue;
        if (lull_what_if_needs_all(job->what_if))
            pass.masters_only = false;
        lull_status status = lull_what_if_consumer(job->what_if, &consumers[n++], err);
        if (status != LULL_OK)
            return status;
        job->has_learned = true;
    }
    return lull_pass_run(fixes->run->trace, &pass, consumers, n, err);
}

static lull_status learn(struct fixes *fixes, struct lull_error *err)
{
    struct lull_consumer *consumers = calloc(fixes->n_jobs, sizeof *consumers);
    lull_status status = LULL_OK;
    if (!consumers)
        return no_memory(fixes->run, err);
    for (uint32_t i = 0; i < fixes->n_jobs && status == LULL_OK; i++)
        if (has_to_learn(&fixes->jobs[i]))
            status = learn_with(fixes, i, consumers, err);
    free(consumers);
    return status;
}

/* ---- replaying ----------------------------------------------------------------------------- */

static void replay_job(const struct fixes *fixes, struct job *job)
{
    const struct lull_replay_base *base = fixes->run->replay_base;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_replay_wish wish = {.reading = fixes->run->reading,
                                          .devices = true,
                                          .callers = base->callers,
                                          .network = job->network,
                                          .survey = base->measured.survey,
                                          .keep_calls = lull_replay_kept_on(job->network),
                                          .exchanges = job->exchanges,
                                          .what_if = job->what_if,
                                          .workers = 1};
    struct lull_replayed replayed;
    job->status = lull_replayed_make(fixes->run->trace, &wish, arena, &replayed, &job->err);
    if (job->status == LULL_OK) {
        job->runtime = replayed.runtime;
        lull_replayed_close(&replayed);
    }
    lull_arena_destroy(arena);
}

static void replay_some(void *context, unsigned worker)
{
    (void)worker;
    struct fixes *fixes = context;
    uint32_t i;
    while ((i = atomic_fetch_add(&fixes->next, 1)) < fixes->n_jobs)
        if (fixes->jobs[i].is_own)
            replay_job(fixes, &fixes->jobs[i]);
}

static lull_status replay_all_jobs(struct fixes *fixes, struct lull_error *err)
{
    const unsigned workers =
        fixes->run->reading->workers ? fixes->run->reading->workers : lull_worker_count();
    lull_parallel_run(workers < fixes->n_jobs ? workers : fixes->n_jobs, replay_some, fixes);
    for (uint32_t i = 0; i < fixes->n_jobs; i++)
        if (fixes->jobs[i].status != LULL_OK)
            return lull_fail(err, fixes->jobs[i].status, "%s", fixes->jobs[i].err.text);
    return LULL_OK;
}

/* ---- this process's ------------------------------------------------------------------------- */

static bool is_own_job(const struct fixes *fixes, uint32_t job)
{
    return job % lull_team_size(fixes->team) == lull_team_index(fixes->team);
}

static lull_status make_jobs(struct fixes *fixes, const struct lull_fix *wanted,
                             const struct lull_network *measured, struct lull_error *err)
{
    const uint32_t n = fixes->n_fixes;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < fixes->n_jobs && status == LULL_OK; i++) {
        struct job *job = &fixes->jobs[i];
        job->is_own = is_own_job(fixes, i);
        job->network = i < n && wanted[i].network ? wanted[i].network : measured;
        if (job->network != measured)
            job->exchanges = lull_replay_exchanges_on(job->network);
        if (!job->is_own || i == n || !wanted[i].what_if ||
            !lull_what_if_supposes(wanted[i].what_if))
            continue;
        status =
            lull_what_if_create(fixes->run->trace, wanted[i].what_if, NULL, &job->what_if, err);
        if (status == LULL_OK) /* one worker each: many jobs replay at once */
            lull_what_if_limit(job->what_if, 1);
    }
    return status;
}

static lull_status replay_own(struct fixes *fixes, const struct lull_fix *wanted,
                              const struct lull_network *measured, struct lull_error *err)
{
    lull_status status = make_jobs(fixes, wanted, measured, err);
    if (status == LULL_OK)
        status = learn(fixes, err);
    if (status == LULL_OK)
        status = replay_all_jobs(fixes, err);
    for (uint32_t i = 0; i < fixes->n_jobs; i++)
        lull_what_if_destroy(fixes->jobs[i].what_if);
    return status;
}

/* ---- those of all --------------------------------------------------------------------------- */

/* What a member sends to the first; behind it follow the runtimes of all jobs, 0 for those that it
 * did not make. */
struct found {
    int64_t status; /* enum lull_status */
    struct lull_error err;
};

/* What the first member gathers. */
struct gathered {
    struct lull_error *err;
    int64_t *runtimes; /* [n_jobs] */
    uint32_t n_jobs;
    lull_status status; /* of the first member that failed */
};

static lull_status take_found(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct gathered *gathered = context;
    const struct found *found = bytes;
    const int64_t *runtimes = (const int64_t *)(found + 1);
    (void)member;
    (void)size;
    (void)err;
    const lull_status status = (lull_status)found->status;
    if (gathered->status == LULL_OK && status != LULL_OK)
        gathered->status = lull_fail(gathered->err, status, "%s", found->err.text);
    for (uint32_t i = 0; i < gathered->n_jobs; i++)
        gathered->runtimes[i] += runtimes[i];
    return LULL_OK;
}

/* Gathers the runtimes on the first member. `status` is that of this member's replays. */
static lull_status gather_runtimes(const struct fixes *fixes, lull_status status, int64_t *runtimes,
                                   struct lull_error *err)
{
    struct lull_error why;
    struct gathered gathered = {.err = &why, .runtimes = runtimes, .n_jobs = fixes->n_jobs};
    const size_t size = sizeof(struct found) + fixes->n_jobs * sizeof *runtimes;
    struct found *found = calloc(1, size);
    if (!found)
        return no_memory(fixes->run, err);
    found->status = (int64_t)status;
    if (status != LULL_OK && err)
        found->err = *err;
    int64_t *own = (int64_t *)(found + 1);
    for (uint32_t i = 0; i < fixes->n_jobs; i++)
        own[i] = fixes->jobs[i].runtime;
    status = lull_team_collect(fixes->team, found, size, take_found, &gathered, err);
    free(found);
    if (status == LULL_OK && gathered.status != LULL_OK)
        status = lull_fail(err, gathered.status, "%s", why.text);
    return status;
}

/* The runtime without any fix is known where that replay was made as the replays with one are. */
static int64_t known_runtime(const struct lull_replay_base *base)
{
    return lull_replay_kept_on(&base->network) == LULL_KEEP_ALL ? base->runtime : 0;
}

static lull_status replay_fixes(struct fixes *fixes, const struct lull_fix *wanted,
                                int64_t *runtimes, struct lull_error *err)
{
    const struct lull_replay_base *base = fixes->run->replay_base;
    lull_status status = lull_replay_base_fill(fixes->run, err);
    int64_t known = status == LULL_OK ? known_runtime(base) : 0;
    if (status == LULL_OK)
        status = lull_team_broadcast(fixes->team, &known, sizeof known, err);
    fixes->n_jobs = fixes->n_fixes + (known == 0);
    runtimes[fixes->n_fixes] = known;
    if (status == LULL_OK)
        status =
            gather_runtimes(fixes, replay_own(fixes, wanted, &base->network, err), runtimes, err);
    return status;
}

const char *lull_fixes_absent(const struct lull_run *run)
{
    if (!run->trace || run->breakdown->from_sums || run->trace->events != LULL_EVENTS_ALL)
        return "it does not have the events of the whole run";
    if (run->ideal && run->ideal->absent)
        return "it has no runtime on an ideal network";
    return NULL;
}

lull_status lull_fixes_replay(const struct lull_run *run, const struct lull_fix *wanted, uint32_t n,
                              int64_t *ret_runtimes, int64_t *ret_replayed, struct lull_error *err)
{
    struct lull_team *team = lull_division_team(lull_run_division(run));
    const char *absent = lull_team_is_first(team) ? lull_fixes_absent(run) : NULL;
    if (absent)
        return lull_fail(err, LULL_ERR_RANGE, "%s: cannot be replayed: %s", run->path, absent);
    struct fixes fixes = {
        .run = run, .team = team, .jobs = calloc(n + (size_t)1, sizeof(struct job)), .n_fixes = n};
    int64_t *runtimes = calloc(n + (size_t)1, sizeof *runtimes);
    atomic_init(&fixes.next, 0);
    lull_status status =
        fixes.jobs && runtimes ? replay_fixes(&fixes, wanted, runtimes, err) : no_memory(run, err);
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK) {
        memcpy(ret_runtimes, runtimes, n * sizeof *runtimes);
        *ret_replayed = runtimes[n];
    }
    free(runtimes);
    free(fixes.jobs);
    return status;
}
