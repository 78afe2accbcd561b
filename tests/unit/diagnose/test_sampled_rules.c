/* Findings say where: small runs with samples, made by hand. Each of four ranks works and meets the
 * others at a barrier, iteration by iteration; each piece of work is in one function, with a sample in
 * its middle. Functions are those of an interpreter, whose names need no file; one case looks for names
 * in the code of this program. */
#include "diagnose/diagnose.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <link.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const regions[] = {"advance",
                                      "assemble",
                                      "MPI_Barrier",
                                      "MPI_Bcast",
                                      "MPI_Finalize",
                                      "!$omp parallel @heat.c:20",
                                      "!$omp implicit barrier @heat.c:20",
                                      "!$omp critical @heat.c:22",
                                      "!$omp critical sblock @heat.c:22",
                                      "!$omp set lock @heat.c:24",
                                      "!$omp unset lock @heat.c:26",
                                      NULL};
enum {
    ADVANCE,
    ASSEMBLE,
    BARRIER,
    BCAST,
    FINALIZE,
    PARALLEL,
    IMPLICIT,
    CRITICAL,
    SECTION,
    SET_LOCK,
    UNSET_LOCK
};
enum { SMOOTH, FILL, NORM, PACK, GONE, OWN, FUNCTIONS };
enum { RANKS = 4, ITERATIONS = 40, PIECE = 1000, MOST_PIECES = 64 };

static struct lull_object objects[FUNCTIONS] = {
    [SMOOTH] = {"/src/heat.py", "", "smooth"}, [FILL] = {"/src/heat.py", "", "fill"},
    [NORM] = {"/src/norm.py", "", "norm"},     [PACK] = {"/src/pack.py", "", "pack"},
    [GONE] = {"/nowhere/heat", "", NULL},      [OWN] = {"/proc/self/exe", NULL, NULL},
};

/* ---- runs ------------------------------------------------------------------------------------ */

static struct lull_trace *open_run(uint32_t ranks, uint32_t threads)
{
    struct lull_trace *trace = memory_trace_simple(ranks, threads, 1, regions);
    memory_trace_world(trace, ranks);
    trace->objects = objects;
    trace->n_objects = FUNCTIONS;
    return trace;
}

static void add(struct lull_trace *trace, uint32_t location, int64_t time, unsigned kind,
                uint32_t id)
{
    const struct lull_event event = memory_event(time, kind, id);
    memory_trace_add(trace, location, &event);
}

static void add_sample(struct lull_trace *trace, uint32_t location, int64_t time, uint32_t object,
                       uint64_t offset)
{
    struct lull_event event = memory_event(time, LULL_EVENT_SAMPLE, object);
    event.sample.offset = offset;
    event.sample.weight = PIECE;
    memory_trace_add(trace, location, &event);
}

static void add_collective(struct lull_trace *trace, uint32_t location, uint32_t region, uint8_t op,
                           int64_t begin, int64_t end)
{
    struct lull_event event = memory_event(end, LULL_EVENT_COLLECTIVE_END, 0);
    event.op = op;
    event.collective.request = LULL_NO_REQUEST;
    event.collective.root = LULL_ANY;
    add(trace, location, begin, LULL_EVENT_ENTER, region);
    memory_trace_add(trace, location, &event);
    add(trace, location, end, LULL_EVENT_LEAVE, region);
}

/* Work in a function: so many pieces, each with a sample in its middle. Returns when it ends. */
static int64_t work_in(struct lull_trace *trace, uint32_t location, int64_t now, uint32_t object,
                       uint32_t pieces)
{
    for (uint32_t i = 0; i < pieces; i++, now += PIECE)
        add_sample(trace, location, now + PIECE / 2, object, 80 + object);
    return now;
}

/* How many pieces a rank works in each function, before each of two barriers. */
typedef uint32_t (*pieces_of)(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object);

/* All leave an operation when the last has come. */
static struct lull_trace *make_run(pieces_of pieces)
{
    struct lull_trace *trace = open_run(RANKS, 1);
    int64_t now = 0;
    for (uint32_t i = 0; i < 2 * ITERATIONS; i++) {
        int64_t come[RANKS], last = now;
        for (uint32_t r = 0; r < RANKS; r++) {
            come[r] = now;
            for (uint32_t object = 0; object < FUNCTIONS; object++)
                come[r] = work_in(trace, r, come[r], object, pieces(r, i / 2, i % 2, object));
            last = come[r] > last ? come[r] : last;
        }
        for (uint32_t r = 0; r < RANKS; r++)
            add_collective(trace, r, i % 2 ? BCAST : BARRIER,
                           i % 2 ? LULL_COLLECTIVE_ALLREDUCE : LULL_COLLECTIVE_BARRIER, come[r],
                           last);
        now = last;
    }
    trace->duration = now;
    return trace;
}

/* ---- diagnoses ------------------------------------------------------------------------------- */

struct diagnosed {
    struct lull_work *work;
    struct lull_breakdown *breakdown;
    struct lull_wait_result *waits;
};

static struct diagnosed read_run(const struct lull_trace *trace)
{
    struct lull_arena *arena = trace->arena;
    const struct lull_wait_options waiting = {.threads = true};
    const struct lull_reading reading = {.workers = 1};
    const struct lull_pass_options pass = {.reading = &reading};
    const struct lull_breakdown_options wanted = {.reading = &reading, .regions = true};
    struct diagnosed run = {.work = lull_arena_zero(arena, 1, sizeof *run.work),
                            .waits = lull_arena_zero(arena, 1, sizeof *run.waits)};
    struct lull_work_collector *collector;
    struct lull_waits *follower;
    struct lull_error err;
    assert_int_equal(lull_waits_create(trace, &waiting, &follower, &err), LULL_OK);
    assert_int_equal(lull_work_create(trace, 1, &collector, &err), LULL_OK);
    const struct lull_consumer consumers[] = {lull_waits_consumer(follower),
                                              lull_work_consumer(collector)};
    assert_int_equal(lull_pass_run(trace, &pass, consumers, 2, &err), LULL_OK);
    assert_int_equal(lull_waits_conclude(follower, arena, run.waits, &err), LULL_OK);
    lull_work_conclude(collector, arena, run.work);
    lull_waits_destroy(follower);
    lull_work_destroy(collector);
    assert_int_equal(lull_breakdown_compute(trace, &wanted, arena, &run.breakdown, &err), LULL_OK);
    return run;
}

static uint32_t diagnose_run(const struct lull_trace *trace, const struct diagnosed *run,
                             struct lull_finding **ret_findings)
{
    const struct lull_evidence evidence = {.path = "a run",
                                           .trace = trace,
                                           .breakdown = run->breakdown,
                                           .waits = run->waits,
                                           .work = run->work};
    return lull_diagnose(&evidence, trace->arena, ret_findings);
}

static uint32_t diagnose(const struct lull_trace *trace, struct lull_finding **ret_findings)
{
    const struct diagnosed run = read_run(trace);
    return diagnose_run(trace, &run, ret_findings);
}

static uint32_t diagnose_without_samples(const struct lull_trace *trace,
                                         struct lull_finding **ret_findings)
{
    const struct diagnosed run = read_run(trace);
    run.work->sampled = NULL;
    return diagnose_run(trace, &run, ret_findings);
}

static double fact(const struct lull_finding *finding, const char *id)
{
    for (uint32_t i = 0; i < finding->n_facts; i++)
        if (strcmp(finding->facts[i].id, id) == 0)
            return finding->facts[i].value;
    return NAN;
}

/* The finding of a rule; fails where there is none. */
static struct lull_finding *find(struct lull_finding *findings, uint32_t n, const char *rule)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(lull_finding_rule_id(&findings[i]), rule) == 0)
            return &findings[i];
    fail_msg("no finding of %s", rule);
    return NULL;
}

static bool tells(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- one rank ------------------------------------------------------------------------------ */

/* All work 6 pieces in smooth and 4 in fill. Rank 2 works 10 more in smooth. */
static uint32_t long_in_smooth(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    (void)iteration;
    if (phase == 1)
        return 0;
    return object == SMOOTH ? 6 + (rank == 2 ? 10 : 0) : object == FILL ? 4 : 0;
}

static void one_function(void **state)
{
    struct lull_trace *trace = make_run(long_in_smooth);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    assert_string_equal(findings->sentence,
                        "Rank 2 is 100 % longer than the median of its peers before MPI_Barrier, "
                        "100 % of it in smooth (heat.py:80): others wait 1.200 ms for its "
                        "MPI_Barrier.");
    assert_string_equal(findings->place.site, "smooth (heat.py:80)");
    assert_true(fact(findings, "in_function") == 1);
    /* A thread begins with its first event: what was sampled before is not useful. */
    assert_true(fact(findings, "samples") == 16 * (ITERATIONS - 1));
    assert_true(findings->fix->cuts[0].share == 1);
    assert_string_equal(findings->next, "lull replay 'a run' --median rank=2");
    lull_trace_close(trace);
}

/* ... or 8 more in smooth and 2 in fill: four fifths are in smooth, which is what a fix shortens. */
static uint32_t long_in_two(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    (void)iteration;
    if (phase == 1)
        return 0;
    return object == SMOOTH ? 6 + (rank == 2 ? 8 : 0)
           : object == FILL ? 4 + (rank == 2 ? 2 : 0)
                            : 0;
}

static void most_in_one_function(void **state)
{
    struct lull_trace *trace = make_run(long_in_two);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    assert_true(tells(findings->sentence, ", 80 % of it in smooth (heat.py:80): others wait"));
    assert_true(fabs(fact(findings, "in_function") - 0.8) < 1e-9);
    assert_true(findings->fix->cuts[0].share == 0.8);
    assert_string_equal(findings->next, "lull replay 'a run' --median rank=2,share=0.8");
    lull_trace_close(trace);
}

/* ... or as much more in each of four functions. */
static uint32_t long_everywhere(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    (void)iteration;
    return phase == 0 && object <= PACK ? 3 + (rank == 2 ? 3 : 0) : 0;
}

static void no_function_has_most(void **state)
{
    struct lull_trace *trace = make_run(long_everywhere);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    assert_true(tells(findings->sentence, "before MPI_Barrier: others wait"));
    assert_true(isnan(fact(findings, "in_function")));
    assert_true(findings->fix->cuts[0].share == 1);
    lull_trace_close(trace);
}

/* Only every tenth iteration has samples: rank 2 has 4 x 5 in smooth, the others 4 x 2 and 4 x 2 in
 * fill. That rank 2 is longer in smooth by half of its excess at least is not certain. */
static void too_few_samples(void **state)
{
    struct lull_trace *trace = open_run(RANKS, 1);
    struct lull_finding *findings;
    int64_t now = 0;
    (void)state;
    for (uint32_t i = 0; i < ITERATIONS; i++, now += 9 * PIECE)
        for (uint32_t r = 0; r < RANKS; r++) {
            const int64_t length = (r == 2 ? 9 : 6) * PIECE;
            for (uint32_t s = 0; i % 20 == 0 && s < length / PIECE / 3; s++)
                add_sample(trace, r, now + (int64_t)s * PIECE, s % 2 ? FILL : SMOOTH, 80);
            add_collective(trace, r, BARRIER, LULL_COLLECTIVE_BARRIER, now + length,
                           now + 9 * PIECE);
        }
    trace->duration = now;
    assert_int_equal(diagnose(trace, &findings), 1);
    assert_true(tells(findings->sentence, "Rank 2 is 50 % longer"));
    assert_false(tells(findings->sentence, " of it "));
    lull_trace_close(trace);
}

/* Rank 2 is longer in smooth before the barrier by 10 pieces, and before the other operation shorter
 * in smooth by 6 and longer in fill by 6. */
static uint32_t long_before_barriers(uint32_t rank, uint32_t iteration, uint32_t phase,
                                     uint32_t object)
{
    (void)iteration;
    if (phase == 0)
        return object == SMOOTH ? (rank == 2 ? 14 : 4) : 0;
    return object == SMOOTH ? (rank == 2 ? 2 : 8) : object == FILL ? (rank == 2 ? 6 : 0) : 0;
}

/* Over the whole run smooth has less than half of the excess, and of the bursts before the barrier all
 * of it. */
static void bursts_before_the_call(void **state)
{
    struct lull_trace *trace = make_run(long_before_barriers);
    struct lull_finding *findings;
    (void)state;
    const uint32_t n = diagnose(trace, &findings);
    const struct lull_finding *finding = find(findings, n, "barrier");
    assert_int_equal(finding->place.rank, 2);
    assert_true(tells(finding->sentence, ", 100 % of it in smooth (heat.py:80)"));
    lull_trace_close(trace);
}

static uint32_t nobody_is_long(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    return long_in_smooth(rank == 2 ? 0 : rank, iteration, phase, object);
}

static void nothing_planted(void **state)
{
    struct lull_trace *trace = make_run(nobody_is_long);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 0);
    lull_trace_close(trace);
}

/* ---- with regions -------------------------------------------------------------------------- */

/* Rank 1 computes longer in advance, all of that in smooth, which assemble calls as well. */
static void function_within_a_region(void **state)
{
    struct lull_trace *trace = open_run(RANKS, 1);
    struct lull_finding *findings;
    int64_t begin = 0;
    (void)state;
    for (uint32_t i = 0; i < ITERATIONS; i++, begin += 24 * PIECE)
        for (uint32_t r = 0; r < RANKS; r++) {
            int64_t now = begin;
            add(trace, r, now, LULL_EVENT_ENTER, ASSEMBLE);
            now = work_in(trace, r, now, SMOOTH, 6);
            add(trace, r, now, LULL_EVENT_LEAVE, ASSEMBLE);
            add(trace, r, now, LULL_EVENT_ENTER, ADVANCE);
            now = work_in(trace, r, now, FILL, 4);
            now = work_in(trace, r, now, SMOOTH, r == 1 ? 14 : 4);
            add(trace, r, now, LULL_EVENT_LEAVE, ADVANCE);
            add_collective(trace, r, BARRIER, LULL_COLLECTIVE_BARRIER, now, begin + 24 * PIECE);
        }
    trace->duration = begin;
    assert_int_equal(diagnose(trace, &findings), 1);
    assert_string_equal(findings->place.region, "advance");
    assert_true(tells(findings->sentence, "125 % longer than the median of its peers in advance, "
                                          "100 % of it in smooth (heat.py:80): others wait"));
    assert_true(fact(findings, "samples") == 14 * ITERATIONS);
    assert_string_equal(findings->next, "lull replay 'a run' --median rank=1,region=advance");
    lull_trace_close(trace);
}

/* ---- names --------------------------------------------------------------------------------- */

static uint32_t long_in_gone(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    return object == GONE ? long_in_smooth(rank, iteration, phase, SMOOTH) : 0;
}

static void file_is_gone(void **state)
{
    struct lull_trace *trace = make_run(long_in_gone);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    assert_true(tells(findings->sentence, ", 100 % of it in heat: others wait"));
    assert_true(tells(findings->cause, "Samples in /nowhere/heat have no names: "));
    lull_trace_close(trace);
}

static int take_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1; /* the program comes first */
}

/* The place in this program from which this is called, as its file counts addresses. */
__attribute__((noinline)) static uint64_t offset_of_call(void)
{
    uint64_t base = 0;
    dl_iterate_phdr(take_base, &base);
    return (uint64_t)(uintptr_t)__builtin_return_address(0) - 1 - base;
}

static unsigned line_of_relax;

__attribute__((noinline)) static uint64_t relax(void)
{
    line_of_relax = __LINE__ + 1;
    const uint64_t offset = offset_of_call();
    __asm__ volatile("" ::: "memory"); /* so that the call above is not the last thing, a jump */
    return offset;
}

static void function_of_a_program(void **state)
{
    struct lull_trace *trace = open_run(RANKS, 1);
    struct lull_finding *findings;
    const uint64_t offset = relax();
    char expected[100];
    (void)state;
    for (uint32_t i = 0; i < ITERATIONS; i++)
        for (uint32_t r = 0; r < RANKS; r++) {
            const int64_t now = 12 * PIECE * (int64_t)i, end = now + (r == 2 ? 12 : 6) * PIECE;
            for (int64_t at = now; at < end; at += PIECE)
                add_sample(trace, r, at + 1, OWN, offset);
            add_collective(trace, r, BARRIER, LULL_COLLECTIVE_BARRIER, end, now + 12 * PIECE);
        }
    trace->duration = 12 * PIECE * (int64_t)ITERATIONS;
    assert_int_equal(diagnose(trace, &findings), 1);
    if (tells(findings->cause, "without libdw")) {
        print_message("skipped: lull was built without libdw\n");
        skip();
    }
    snprintf(expected, sizeof expected, "of it in relax (test_sampled_rules.c:%u)", line_of_relax);
    assert_true(tells(findings->sentence, expected));
    lull_trace_close(trace);
}

static unsigned line_of_inlined;

__attribute__((always_inline)) static inline uint64_t inlined(void)
{
    line_of_inlined = __LINE__ + 1;
    return offset_of_call() + 0 * (uint64_t)line_of_inlined;
}

/* Returns its own place, and that of a function which is inlined into it. */
__attribute__((noinline)) static uint64_t around(uint64_t *ret_inlined)
{
    const uint64_t own = offset_of_call();
    *ret_inlined = inlined();
    return own;
}

/* Before the barrier all samples of `around` are in the function that is inlined into it: both have
 * the same time there. The inner one is told. */
static void inlined_function(void **state)
{
    struct lull_trace *trace = open_run(RANKS, 1);
    struct lull_finding *findings;
    uint64_t inner;
    const uint64_t own = around(&inner);
    char expected[100];
    (void)state;
    for (uint32_t i = 0; i < ITERATIONS; i++)
        for (uint32_t r = 0; r < RANKS; r++) {
            const int64_t now = 14 * PIECE * (int64_t)i, end = now + (r == 2 ? 12 : 6) * PIECE;
            const int64_t met = now + 12 * PIECE, last = met + 2 * PIECE;
            for (int64_t at = now; at < end; at += PIECE)
                add_sample(trace, r, at + 1, OWN, inner);
            add_collective(trace, r, BARRIER, LULL_COLLECTIVE_BARRIER, end, met);
            for (int64_t at = met; at < last; at += PIECE)
                add_sample(trace, r, at + 1, OWN, own);
            add_collective(trace, r, BCAST, LULL_COLLECTIVE_ALLREDUCE, last, last);
        }
    trace->duration = 14 * PIECE * (int64_t)ITERATIONS;
    assert_int_equal(diagnose(trace, &findings), 1);
    if (tells(findings->cause, "without libdw")) {
        print_message("skipped: lull was built without libdw\n");
        skip();
    }
    snprintf(expected, sizeof expected, "of it in inlined (test_sampled_rules.c:%u)",
             line_of_inlined);
    if (!tells(findings->sentence, expected))
        fail_msg("%s", findings->sentence);
    lull_trace_close(trace);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Pieces of what threads do in an iteration, in two functions each. */
struct plan {
    uint32_t ranks;
    uint32_t fills, packs_alone;  /* the first thread, alone */
    uint32_t smooths, packs;      /* thread 2 longer than the others, in the parallel region */
    uint32_t norms, fills_locked; /* each in a critical section, by turns */
    bool by_call;                 /* in its place they set a lock and give it back */
};

static void lock_begin(struct lull_trace *trace, uint32_t location, bool by_call, int64_t ask,
                       int64_t begin)
{
    add(trace, location, ask, LULL_EVENT_ENTER, by_call ? SET_LOCK : CRITICAL);
    add(trace, location, begin, by_call ? LULL_EVENT_LEAVE : LULL_EVENT_ENTER,
        by_call ? SET_LOCK : SECTION);
}

static void lock_end(struct lull_trace *trace, uint32_t location, bool by_call, int64_t end)
{
    add(trace, location, end, by_call ? LULL_EVENT_ENTER : LULL_EVENT_LEAVE,
        by_call ? UNSET_LOCK : SECTION);
    add(trace, location, end, LULL_EVENT_LEAVE, by_call ? UNSET_LOCK : CRITICAL);
}

/* Four threads of each rank, which are no ranks of MPI to each other. All smooth and pack in a parallel
 * region. */
static struct lull_trace *make_threads(struct plan plan)
{
    struct lull_trace *trace = open_run(plan.ranks, 4);
    const uint32_t locked = plan.norms + plan.fills_locked;
    int64_t begin = 0;
    for (uint32_t i = 0; i < ITERATIONS; i++) {
        const int64_t forked = begin + (plan.fills + plan.packs_alone) * (int64_t)PIECE;
        const int64_t end = forked + (8 + plan.smooths + plan.packs + 4 * (int64_t)locked) * PIECE;
        for (uint32_t l = 0; l < 4 * plan.ranks; l++) {
            const uint32_t t = l % 4;
            int64_t now = forked;
            if (t == 0)
                work_in(trace, l, work_in(trace, l, begin, FILL, plan.fills), PACK,
                        plan.packs_alone);
            add(trace, l, now, LULL_EVENT_ENTER, PARALLEL);
            if (locked > 0) {
                lock_begin(trace, l, plan.by_call, now, now + (int64_t)(t * locked) * PIECE);
                now += (int64_t)(t * locked) * PIECE;
                now = work_in(trace, l, now, NORM, plan.norms);
                now = work_in(trace, l, now, FILL, plan.fills_locked);
                lock_end(trace, l, plan.by_call, now);
            }
            now = work_in(trace, l, now, PACK, 4 + (t == 2 ? plan.packs : 0));
            now = work_in(trace, l, now, SMOOTH, 4 + (t == 2 ? plan.smooths : 0));
            add(trace, l, now, LULL_EVENT_ENTER, IMPLICIT);
            add(trace, l, end, LULL_EVENT_LEAVE, IMPLICIT);
            add(trace, l, end, LULL_EVENT_LEAVE, PARALLEL);
        }
        begin = end;
    }
    trace->duration = begin;
    return trace;
}

/* Four fifths of the serial part are in one function: its price is that of so much. */
static void serial_part(void **state)
{
    static const struct plan plans[] = {{.ranks = 1, .fills = 6},
                                        {.ranks = 1, .fills = 8, .packs_alone = 2}};
    static const char *const told[] = {"100 % in fill (heat.py:81).", "80 % in fill (heat.py:81)."};
    static const char *const next[] = {"lull replay 'a run' --no-serial",
                                       "lull replay 'a run' --no-serial=share=0.8"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lull_trace *trace = make_threads(plans[i]);
        struct lull_finding *findings;
        const uint32_t n = diagnose(trace, &findings);
        const struct lull_finding *finding = find(findings, n, "serial");
        assert_true(tells(finding->cause, told[i]));
        assert_string_equal(finding->place.site, "fill (heat.py:81)");
        assert_string_equal(finding->next, next[i]);
        lull_trace_close(trace);
    }
}

/* The first thread had no core for 3 of the 18 pieces that it computes. The price is without so much of the
 * serial part. */
static void serial_part_without_a_core(void **state)
{
    struct lull_trace *trace = make_threads((struct plan){.ranks = 1, .fills = 10});
    struct lull_finding *findings;
    (void)state;
    for (size_t i = 0; i < trace->n_locations; i++)
        trace->locations[i].cores = (struct lull_cores){.on = 1, .allowed = 4};
    trace->locations[0].cores.on = 15 * (uint64_t)ITERATIONS * PIECE;
    trace->locations[0].cores.off = 3 * (uint64_t)ITERATIONS * PIECE;
    const uint32_t n = diagnose_without_samples(trace, &findings);
    const struct lull_finding *finding = find(findings, n, "serial");
    assert_true(tells(finding->cause, " It had no core for "));
    assert_string_equal(finding->next, "lull replay 'a run' --no-serial=share=0.833");
    lull_trace_close(trace);
}

static void long_thread(void **state)
{
    static const struct plan plans[] = {{.ranks = 1, .smooths = 8},
                                        {.ranks = 1, .smooths = 6, .packs = 2},
                                        {.ranks = 2, .smooths = 8}};
    static const char *const who[] = {"for thread 2 of rank 0,", "for thread 2 of rank 0,",
                                      "for thread 2 of 2 ranks,"};
    static const char *const told[] = {
        "with 100 % of what it computes longer in smooth (heat.py:80).",
        "with 75 % of what it computes longer in smooth (heat.py:80).",
        "with 100 % of what it computes longer in smooth (heat.py:80)."};
    static const char *const next[] = {
        "lull replay 'a run' --balance-threads='!$omp parallel @heat.c:20'",
        "lull replay 'a run' --balance-threads='share=0.75,region=!$omp parallel @heat.c:20'",
        "lull replay 'a run' --balance-threads='!$omp parallel @heat.c:20'"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct lull_trace *trace = make_threads(plans[i]);
        struct lull_finding *findings;
        const uint32_t n = diagnose(trace, &findings);
        const struct lull_finding *finding = find(findings, n, "imbalance");
        assert_true(tells(finding->cause, who[i]));
        assert_true(tells(finding->cause, told[i]));
        assert_string_equal(finding->next, next[i]);
        lull_trace_close(trace);
    }
}

/* Thread 2 computes 16 pieces, the others 8, and had no core for 3 of them: 5 of 8 pieces are its excess. */
static void long_thread_without_a_core(void **state)
{
    struct lull_trace *trace = make_threads((struct plan){.ranks = 1, .smooths = 8});
    struct lull_finding *findings;
    (void)state;
    for (size_t i = 0; i < trace->n_locations; i++)
        trace->locations[i].cores = (struct lull_cores){.on = 1, .allowed = 4};
    trace->locations[2].cores.on = 13 * (uint64_t)ITERATIONS * PIECE;
    trace->locations[2].cores.off = 3 * (uint64_t)ITERATIONS * PIECE;
    const uint32_t n = diagnose_without_samples(trace, &findings);
    const struct lull_finding *finding = find(findings, n, "imbalance");
    assert_true(tells(finding->cause, " It had no core for 120.0 us of that time"));
    assert_string_equal(
        finding->next,
        "lull replay 'a run' --balance-threads='share=0.625,region=!$omp parallel @heat.c:20'");
    lull_trace_close(trace);
}

static void lock(void **state)
{
    static const struct plan plans[] = {
        {.ranks = 1, .norms = 3},
        {.ranks = 1, .norms = 3, .fills_locked = 1},
        {.ranks = 1, .norms = 3, .fills_locked = 1, .by_call = true}};
    static const char *const told[] = {"and is 100 % of that time in norm (norm.py:82)",
                                       "and is 75 % of that time in norm (norm.py:82)",
                                       "and is 75 % of that time in norm (norm.py:82)"};
    static const char *const next[] = {"lull replay 'a run' --no-locks",
                                       "lull replay 'a run' --no-locks=share=0.75",
                                       "lull replay 'a run' --no-locks=share=0.75"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct lull_trace *trace = make_threads(plans[i]);
        struct lull_finding *findings;
        const uint32_t n = diagnose(trace, &findings);
        const struct lull_finding *finding = find(findings, n, "lock");
        assert_true(tells(finding->cause, told[i]));
        assert_string_equal(finding->next, next[i]);
        lull_trace_close(trace);
    }
}

static void even_threads(void **state)
{
    struct lull_trace *trace = make_threads((struct plan){.ranks = 1});
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 0);
    lull_trace_close(trace);
}

/* ---- growing functions --------------------------------------------------------------------- */

static uint32_t grown(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    (void)rank, (void)iteration;
    return phase ? 0 : object == SMOOTH ? 14 : object == FILL ? 5 : object == PACK ? 4 : 0;
}

static uint32_t as_before(uint32_t rank, uint32_t iteration, uint32_t phase, uint32_t object)
{
    (void)rank, (void)iteration;
    return phase ? 0 : object == SMOOTH ? 6 : object == FILL ? 4 : object == PACK ? 4 : 0;
}

static void growing_function(void **state)
{
    struct lull_trace *trace = make_run(grown), *before = make_run(as_before);
    struct lull_finding *findings;
    (void)state;
    const struct diagnosed now = read_run(trace), then = read_run(before);
    const struct lull_evidence evidence = {.path = "a run",
                                           .trace = trace,
                                           .breakdown = now.breakdown,
                                           .waits = now.waits,
                                           .work = now.work,
                                           .reference = then.breakdown,
                                           .reference_work = then.work,
                                           .reference_name = "before",
                                           .scaling = LULL_SCALING_STRONG};
    const uint32_t n = lull_diagnose(&evidence, trace->arena, &findings);
    const struct lull_finding *finding = find(findings, n, "computation_scaling");
    assert_true(tells(finding->sentence,
                      "more than in before, 89 % of what had a core in smooth (heat.py:80): "));
    lull_trace_close(trace);
    lull_trace_close(before);
}

TEST_GROUP(test_sampled_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_function),
        cmocka_unit_test(most_in_one_function),
        cmocka_unit_test(no_function_has_most),
        cmocka_unit_test(too_few_samples),
        cmocka_unit_test(bursts_before_the_call),
        cmocka_unit_test(nothing_planted),
        cmocka_unit_test(function_within_a_region),
        cmocka_unit_test(file_is_gone),
        cmocka_unit_test(function_of_a_program),
        cmocka_unit_test(inlined_function),
        cmocka_unit_test(serial_part),
        cmocka_unit_test(serial_part_without_a_core),
        cmocka_unit_test(long_thread),
        cmocka_unit_test(long_thread_without_a_core),
        cmocka_unit_test(lock),
        cmocka_unit_test(even_threads),
        cmocka_unit_test(growing_function),
    };
    return run_cases(tests, NULL, NULL);
}
