/* Long bursts now and then, on one process and then on another: the system took the core away. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/uneven.h"

enum { REPEATS_LEAST = 30 }; /* fewer do not tell a rare burst from a usual one */
/* Long bursts are rare: more of them are how the program works. */
#define LONG_MOST 0.1
/* So much of the waits must follow from the long bursts, each of which all others wait for. */
#define EXPLAINED_LEAST 0.5

static bool is_noisy(const struct lull_case *c, const struct lull_suspicion *suspicion,
                     const struct lull_uneven *uneven)
{
    return uneven->least_bursts >= REPEATS_LEAST && uneven->long_bursts > 0 &&
           (double)uneven->long_bursts <= LONG_MOST * (double)uneven->bursts &&
           4 * uneven->with_long >= c->processes && uneven->with_long > 1 &&
           uneven->long_ns * (c->processes - 1) >= EXPLAINED_LEAST * (double)suspicion->ns;
}

struct noise {
    int64_t ns;
    uint64_t bursts, long_bursts;
    double long_ns;
    uint32_t processes;
    const struct lull_suspicion *first;
};

static void add(struct noise *noise, struct lull_suspicion *suspicion,
                const struct lull_uneven *uneven)
{
    if (!noise->first)
        noise->first = suspicion;
    noise->ns += suspicion->ns;
    noise->bursts += uneven->bursts;
    noise->long_bursts += uneven->long_bursts;
    noise->long_ns += uneven->long_ns;
    noise->processes =
        uneven->with_long > noise->processes ? uneven->with_long : noise->processes;
}

/* The longest burst of the region, where it was. */
static void set_instance(const struct lull_case *c, struct lull_finding *finding, uint32_t region)
{
    const struct lull_work *work = c->evidence->work;
    int64_t longest = 0;
    for (uint32_t i = 0; i < work->n_places; i++)
        if (work->places[i].region == region && work->places[i].longest_ns > longest) {
            longest = work->places[i].longest_ns;
            finding->place.begin = work->places[i].longest_begin;
            finding->place.end = finding->place.begin + longest;
        }
}

static void tell(struct lull_case *c, const struct noise *noise)
{
    struct lull_finding *finding = lull_case_add(c, noise->ns);
    const uint32_t region = noise->first->region;
    lull_finding_set_region(c, finding, region,
                            c->suspects[noise->first->first].most->place.call);
    set_instance(c, finding, region);
    finding->bound_ns = noise->long_ns < (double)finding->bound_ns ? (int64_t)noise->long_ns
                                                                    : finding->bound_ns;
    lull_finding_add_fact(finding, "bursts", "computations", LULL_FACT_COUNT,
                          (double)noise->bursts);
    lull_finding_add_fact(finding, "long_bursts", "more than twice as long as their median",
                          LULL_FACT_COUNT, (double)noise->long_bursts);
    lull_finding_add_fact(finding, "long_time", "what they take beyond it", LULL_FACT_TIME,
                          noise->long_ns);
    lull_finding_add_fact(finding, "processes", "processes that have some", LULL_FACT_COUNT,
                          noise->processes);
    finding->sentence = lull_arena_printf(
        c->arena,
        "Now and then a computation takes more than twice as long as usual, on changing "
        "processes: %.0f of %.0f, %s in all; others wait %s for them.",
        (double)noise->long_bursts, (double)noise->bursts,
        lull_case_time(c, (int64_t)noise->long_ns), lull_case_time(c, noise->ns));
    finding->cause = "What takes the core away (noise of the system) or memory that is slow at "
                     "first; the program itself would be as long each time.";
    lull_finding_fix(c, finding)->no_noise = true;
    finding->next = lull_arena_printf(c->arena, "lull replay %s --no-noise",
                                      lull_case_word(c, c->evidence->path));
}

static void find(struct lull_case *c)
{
    const struct lull_work *work = c->evidence->work;
    struct noise noise = {0};
    for (uint32_t s = 0; s < c->n_suspicions && work && !work->absent; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        if (suspicion->few || suspicion->ns < c->least_ns)
            continue;
        const struct lull_uneven uneven = lull_uneven_of(c, suspicion->region);
        if (!is_noisy(c, suspicion, &uneven))
            continue;
        add(&noise, suspicion, &uneven);
        suspicion->ns = 0;
    }
    if (noise.ns >= c->least_ns)
        tell(c, &noise);
}

const struct lull_rule lull_rule_noise = {
    "noise", "noise", "rare long computations on changing processes", find};
