#include "record/inject/computation.h"

#include "record/core.h"
#include "record/inject/inject.h"
#include "record/keep.h"
#include "record/omp/team.h"
#include "record/report.h"

static struct {
    const struct lull_tape_inject *settings;
    const struct lull_tape_delay *delays;
    const int64_t *draws;
    const struct lull_tape_detour *detours;
    bool *over; /* [n_delays], atomic; NULL: no delays */
    bool noise;
    uint32_t rank;
    int64_t origin; /* CLOCK_MONOTONIC at the end of MPI_Init */
    uint64_t next;  /* draw */
    int64_t iteration;
    uint32_t noise_region, delay_region; /* 0: not defined yet */
} lengthening;

/* Of the thread that called MPI_Init. */
static __thread struct {
    bool is_main;
    int64_t began; /* the computation, if there is one */
} own_computation __attribute__((tls_model("initial-exec")));

void rec_computation_start(const struct lull_tape_inject *settings,
                           const struct lull_tape_delay *delays, const int64_t *draws,
                           const struct lull_tape_detour *detours)
{
    lengthening.settings = settings;
    lengthening.delays = delays;
    lengthening.draws = draws;
    lengthening.detours = detours;
    lengthening.over = settings->n_delays > 0 ? rec_keep(settings->n_delays) : NULL;
    lengthening.noise = settings->n_draws > 0 || settings->n_detours > 0;
    lengthening.rank = rec_process.rank;
    lengthening.iteration = -1;
}

void rec_computation_begin(uint32_t rank)
{
    if (lengthening.noise && rank != lengthening.settings->rank) {
        lengthening.noise = false;
        rec_report_say("no noise on rank %u: it was not known before the program began which rank "
                       "it would be",
                       rank);
    }
    lengthening.rank = rank;
    lengthening.origin = own_computation.began = rec_inject_now();
    own_computation.is_main = true;
}

/* ---- how much ---------------------------------------------------------------------------------
 */

/* The first detour that ends behind `at`, of n in order that do not overlap; n: none. */
static uint32_t first_behind(const struct lull_tape_detour *detours, uint32_t n, int64_t at)
{
    uint32_t low = 0;
    while (low < n) {
        const uint32_t middle = low + (n - low) / 2;
        if (detours[middle].begin + detours[middle].length <= at)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

int64_t rec_lost_to_detours(const struct lull_tape_detour *detours, uint32_t n, int64_t period,
                            int64_t at, int64_t work)
{
    int64_t lost = 0, round = 0;
    for (uint32_t next = first_behind(detours, n, at);; next++) {
        if (next == n) {
            next = 0;
            round += period;
        }
        const struct lull_tape_detour *detour = &detours[next];
        const int64_t begin = round + detour->begin;
        if (begin > at) {
            if (begin - at >= work)
                return lost;
            work -= begin - at;
            at = begin;
        }
        lost += begin + detour->length - at;
        at = begin + detour->length;
    }
}

static int64_t noise_of(int64_t began, int64_t duration)
{
    const struct lull_tape_inject *s = lengthening.settings;
    if (!lengthening.noise)
        return 0;
    if (s->n_detours > 0)
        return rec_lost_to_detours(lengthening.detours, s->n_detours, s->period,
                                   (began - lengthening.origin + s->phase) % s->period, duration);
    const int64_t amount = lengthening.draws[lengthening.next++ % s->n_draws];
    return s->per > 0 ? (int64_t)((double)amount * (double)duration / s->per + 0.5) : amount;
}

/* `time` and `iteration` of the computation; negative: it has none. */
static int64_t due_delays(int64_t time, int64_t iteration)
{
    int64_t sum = 0;
    for (uint32_t i = 0; lengthening.over && i < lengthening.settings->n_delays; i++) {
        const struct lull_tape_delay *delay = &lengthening.delays[i];
        if (delay->rank == lengthening.rank &&
            (delay->at_iteration ? iteration : time) >= delay->when &&
            !__atomic_exchange_n(&lengthening.over[i], true, __ATOMIC_RELAXED))
            sum += delay->length;
    }
    return sum;
}

/* ---- doing it ---------------------------------------------------------------------------------
 */

/* False: there is nothing to be added. */
static bool spend(int64_t ns, uint32_t *region, const char *name)
{
    const struct rec_region what = {
        .paradigm = LULL_TAPE_PARADIGM_USER, .role = LULL_TAPE_ROLE_FUNCTION, .name = name};
    struct rec_thread *self = rec_current();
    if (ns <= 0)
        return false;
    if (!rec_admits(self) || rec_define_region_once(region, &what) == 0) {
        rec_inject_hold(rec_inject_now() + ns, NULL);
        return true;
    }
    if (self->omp)
        rec_omp_unfold(self);
    rec_reserve(self, REC_MOST_SLOTS);
    rec_enter(self, *region, rec_now());
    rec_inject_hold(rec_inject_now() + ns, NULL);
    rec_reserve(self, REC_MOST_SLOTS);
    rec_leave(self, *region, rec_now());
    return true;
}

int64_t rec_inject_come(bool begins_iteration)
{
    const int64_t now = rec_inject_now(), duration = now - own_computation.began;
    if (!own_computation.is_main)
        return now;
    lengthening.iteration += begins_iteration;
    if (duration < LULL_TAPE_LEAST_COMPUTATION)
        return now;
    bool longer =
        spend(noise_of(own_computation.began, duration), &lengthening.noise_region, "noise");
    longer |= spend(due_delays(own_computation.began - lengthening.origin, lengthening.iteration),
                    &lengthening.delay_region, "delay");
    return longer ? rec_inject_now() : now;
}

void rec_inject_go(void)
{
    if (own_computation.is_main)
        own_computation.began = rec_inject_now();
}

void rec_inject_mark(uint64_t iteration)
{
    if (!rec_inject_iterations() && iteration <= INT64_MAX)
        spend(due_delays(-1, (int64_t)iteration), &lengthening.delay_region, "delay");
}
