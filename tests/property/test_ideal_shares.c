/* The ideal runtime of random programs, whose steps are handed over by 1 to 8 threads in random
 * blocks and any order, against an independent longest path (support/random_run.h): with epochs
 * and without. */
#include "activity/pass.h"
#include "metrics/windows.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/ideal.h"
#include "support/brief.h"
#include "support/drawn_team.h"
#include "support/random_run.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORKERS = 8, PROGRAMS = 3000 };

/* ---- handing it over ------------------------------------------------------------------------- */

struct feed {
    const struct random_run *run;
    const struct run_steps *locations; /* [run->n_locations]: as the consumer wants them */
    const struct lull_consumer *consumer;
    struct lull_process_range range;
    unsigned workers;
    uint64_t seed;
    bool presumes_masters;
    atomic_int status;
    atomic_uint apart; /* times that a thread was welcome, and its master was not */
};

struct feeder {
    struct feed *feed;
    unsigned worker;
};

/* Some more steps of a location. */
static lull_status hand_over(const struct feeder *feeder, uint32_t location, size_t *at,
                             struct lull_random *random)
{
    const struct run_steps *own = &feeder->feed->locations[location];
    size_t left = own->count - *at, most = 1 + (size_t)lull_random_below(random, 20);
    const struct lull_steps steps = {.location = location,
                                     .count = (uint32_t)(left < most ? left : most),
                                     .steps = own->steps + *at,
                                     .channels = own->channels};
    *at += steps.count;
    return feeder->feed->consumer->steps(feeder->feed->consumer->context, feeder->worker, &steps,
                                         NULL);
}

/* One of the worker's locations that are welcome and not at their end; LULL_NONE: none.
 * *ret_unread: some are not at their end. */
static uint32_t choose_location(const struct feeder *feeder, const size_t *at,
                                struct lull_random *random, bool *ret_unread)
{
    const struct random_run *run = feeder->feed->run;
    const struct lull_consumer *consumer = feeder->feed->consumer;
    uint32_t chosen = LULL_NONE, n = 0;
    *ret_unread = false;
    for (uint32_t l = 0; l < run->n_locations; l++) {
        uint32_t process = run->trace->locations[l].process;
        if (!lull_in_range(feeder->feed->range, process) ||
            lull_pass_worker_of(run->trace, feeder->feed->range, feeder->feed->workers, process) !=
                feeder->worker ||
            at[l] == feeder->feed->locations[l].count)
            continue;
        *ret_unread = true;
        if (!consumer->welcome(consumer->context, feeder->worker, l))
            continue;
        if (lull_random_below(random, ++n) == 0)
            chosen = l;
        const uint32_t master = run->trace->processes[process].first_location;
        if (feeder->feed->presumes_masters && feeder->feed->workers == 1 &&
            !consumer->welcome(consumer->context, feeder->worker, master))
            atomic_fetch_add(&feeder->feed->apart, 1);
    }
    return chosen;
}

static void *feed_share(void *context)
{
    const struct feeder *feeder = context;
    const struct lull_consumer *consumer = feeder->feed->consumer;
    struct lull_random random;
    size_t at[RUN_PROCESSES * RUN_THREADS] = {0};
    bool unread = true;
    lull_status status = LULL_OK;
    lull_random_seed(&random, feeder->feed->seed + feeder->worker);
    while (status == LULL_OK) {
        uint32_t location = choose_location(feeder, at, &random, &unread);
        if (location != LULL_NONE)
            status = hand_over(feeder, location, &at[location], &random);
        else if (unread)
            status = consumer->rest(consumer->context, feeder->worker, NULL);
        else
            break;
    }
    if (status == LULL_OK)
        status = consumer->finish(consumer->context, feeder->worker, NULL);
    if (status != LULL_OK)
        atomic_store(&feeder->feed->status, status);
    return NULL;
}

static void shorten_steps(const struct random_run *run, struct run_steps *ret_locations)
{
    for (uint32_t l = 0; l < run->n_locations; l++) {
        const struct run_steps *whole = &run->locations[l];
        uint32_t process = run->trace->locations[l].process;
        bool master = run->trace->processes[process].first_location == l;
        ret_locations[l] = *whole;
        ret_locations[l].steps = malloc((whole->count + 1) * sizeof *whole->steps);
        assert_non_null(ret_locations[l].steps);
        ret_locations[l].count =
            brief_steps(whole->steps, whole->count, master, ret_locations[l].steps);
    }
}

/* Runs in which epochs were found void, and in which there were several. */
static unsigned voids, in_epochs;
static unsigned messages; /* runs with any */

static struct lull_ideal_result read_once(const struct random_run *run, unsigned workers,
                                          uint64_t seed, struct lull_ideal_options *wished,
                                          bool *ret_others, bool *ret_again)
{
    const struct lull_ideal_options options = *wished;
    struct lull_ideal_result result = {0};
    struct lull_ideal *ideal;
    struct lull_consumer consumer;
    assert_int_equal(lull_ideal_create(run->trace, &options, workers, &ideal, NULL), LULL_OK);
    lull_ideal_consumer(ideal, &consumer);
    struct run_steps brief[RUN_PROCESSES * RUN_THREADS] = {{0}};
    bool in_short = consumer.wants & LULL_STEP_MASK(LULL_STEP_CALL);
    if (in_short)
        shorten_steps(run, brief);
    struct feed feed = {.run = run,
                        .locations = in_short ? brief : run->locations,
                        .consumer = &consumer,
                        .range = lull_reading_of(options.reading)->range,
                        .workers = workers,
                        .presumes_masters = options.presumes_masters,
                        .seed = seed};
    struct feeder feeders[MOST_WORKERS];
    pthread_t threads[MOST_WORKERS];
    for (unsigned w = 0; w < workers; w++) {
        feeders[w] = (struct feeder){&feed, w};
        assert_int_equal(pthread_create(&threads[w], NULL, feed_share, &feeders[w]), 0);
    }
    for (unsigned w = 0; w < workers; w++)
        pthread_join(threads[w], NULL);
    assert_int_equal(atomic_load(&feed.status), LULL_OK);
    assert_int_equal(atomic_load(&feed.apart), 0);
    if (ret_others)
        *ret_others = lull_ideal_others_call(ideal);
    assert_int_equal(lull_ideal_look_back(ideal, wished, ret_again, NULL), LULL_OK);
    if (!*ret_again) {
        assert_int_equal(lull_ideal_conclude(ideal, run->arena, &result, NULL), LULL_OK);
        in_epochs += ideal->n_epochs > 1;
    }
    voids += wished->without_epochs && !options.without_epochs;
    lull_ideal_destroy(ideal);
    for (uint32_t l = 0; l < run->n_locations; l++)
        free(brief[l].steps);
    return result;
}

/* `ret_others`: other threads are presumed not to communicate; whether they did. NULL: any may. */
/* ---- the critical path ----------------------------------------------------------------------- */

/* The regions of the user that are put into a run, and their parts of the path; the random runs have none. */
enum { USERS = 3, PARTS = 4 };

static const uint32_t *parts_of_users(const struct random_run *run)
{
    uint32_t *parts =
        lull_arena_zero(run->arena, run->trace->n_regions + (size_t)USERS, sizeof *parts);
    for (uint32_t r = 0; r < USERS; r++)
        parts[r] = r + 1;
    return parts;
}

/* Puts USERs behind some steps of a location. */
static void add_users(struct run_steps *own, struct lull_random *random)
{
    struct lull_step *steps = malloc((2 * own->count + 1) * sizeof *steps);
    uint32_t depth = 0;
    size_t n = 0;
    assert_non_null(steps);
    for (size_t i = 0; i < own->count; i++) {
        steps[n++] = own->steps[i];
        if (own->steps[i].kind == LULL_STEP_END || lull_random_below(random, 3))
            continue;
        const bool leaves = depth > 0 && lull_random_below(random, 2);
        struct lull_step *user = &steps[n++];
        *user = (struct lull_step){.time = own->steps[i].time,
                                   .kept_ns = own->steps[i].kept_ns,
                                   .kind = LULL_STEP_USER,
                                   .op = leaves ? LULL_USER_LEFT : LULL_USER_ENTERED,
                                   .region = (uint32_t)lull_random_below(random, USERS)};
        depth += leaves ? -1 : 1;
    }
    free(own->steps);
    own->steps = steps;
    own->count = own->capacity = n;
}

/* Of a result: whether its path is there and adds up, and is that of another result, if there is one. */
static bool path_is(const struct lull_ideal_result *result, const struct lull_ideal_result *like)
{
    int64_t sum = 0;
    if (result->absent || !result->path)
        return !result->path && (!like || !like->path);
    for (unsigned p = 0; p < PARTS; p++)
        sum += result->path[p];
    return sum == result->runtime &&
           (!like || (memcmp(result->path, like->path, PARTS * sizeof *like->path) == 0 &&
                      memcmp(result->spent, like->spent, PARTS * sizeof *like->spent) == 0 &&
                      memcmp(result->changes, like->changes, PARTS * sizeof *like->changes) == 0));
}

/* With the critical path where `paths` is given (parts_of_users). */
static struct lull_ideal_result evaluate_part(const struct random_run *run, unsigned workers,
                                              uint64_t seed, size_t waiting,
                                              const struct lull_division *division,
                                              const uint32_t *paths, bool *ret_others)
{
    struct lull_ideal_options options = {
        .reading =
            &(const struct lull_reading){.range = lull_pass_range(division), .division = division},
        .waiting = waiting,
        .presumes_masters = ret_others,
        .part_of = paths,
        .n_parts = paths ? PARTS : 0,
        .site_of = paths, /* any numbers below n_sites */
        .n_sites = PARTS,
        .ahead = seed % 3 ? (size_t)(seed / 3 % 7) : 0,
        .readers = (unsigned)(seed % 5)};
    bool again = false;
    struct lull_ideal_result result = read_once(run, workers, seed, &options, ret_others, &again);
    if (again && options.without_epochs) /* who presumes that masters alone call, reads no more */
        result = read_once(run, workers, seed, &options, ret_others, &again);
    return result;
}

/* Also where there is one share, which needs none. */
static void set_epochs(bool always)
{
    setenv("LULL_IDEAL_EPOCHS", always ? "1" : "0", 1);
}

static struct lull_ideal_result evaluate(const struct random_run *run, unsigned workers,
                                         uint64_t seed, size_t waiting, bool *ret_others)
{
    return evaluate_part(run, workers, seed, waiting, NULL, NULL, ret_others);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static unsigned programs(void)
{
    const char *text = getenv("LULL_TEST_PROGRAMS");
    return text ? (unsigned)strtoul(text, NULL, 10)
                : lull_test_rounds(PROGRAMS) * lull_test_rounds(3) / 3;
}

static void check_run(const struct random_run *run, struct lull_random *random, uint64_t seed)
{
    unsigned workers = 1 + (unsigned)lull_random_below(random, MOST_WORKERS);
    size_t waiting = lull_random_below(random, 2) ? 0 : 1 + (size_t)lull_random_below(random, 20);
    set_epochs(lull_random_below(random, 4));
    struct lull_ideal_result result = evaluate(run, workers, seed, waiting, NULL);
    int64_t wanted = 0;
    for (uint32_t i = 0; i < run->n_locations; i++)
        wanted = run->locations[i].ideal > wanted ? run->locations[i].ideal : wanted;
    fail_if(result.absent, "seed %lu, %u workers: %s: %s", seed, workers, result.absent,
            result.detail);
    fail_if(result.runtime != wanted, "seed %lu, %u workers: %ld ns, the reference has %ld", seed,
            workers, result.runtime, wanted);
    assert_int_equal(result.messages, run->received);
    assert_int_equal(result.unmatched_sends, run->sent - run->received);
    assert_int_equal(result.collectives, run->gathered);
    messages += run->received > 0;
}

/* As drawn: messages, collective operations, and calls of functions that are for these. */
static bool communicates(const struct random_run *run, uint32_t location)
{
    const struct run_steps *all = &run->locations[location];
    for (size_t i = 0; i < all->count; i++) {
        const struct lull_step *step = &all->steps[i];
        if (step->kind >= LULL_STEP_SEND && step->kind <= LULL_STEP_COLLECTIVE_END)
            return true;
        if (step->kind == LULL_STEP_CALL_BEGIN &&
            strcmp(run->trace->regions[step->region].name, "MPI_Comm_rank") != 0)
            return true;
    }
    return false;
}

/* What is presumed to be so is either true, and makes no difference, or is found out. */
static void other_threads_are_found_out(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    unsigned with = 0, without = 0, count = programs();
    struct random_run run;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct lull_random random;
        bool wanted = false, found;
        set_epochs(seed % 2);
        lull_random_seed(&random, seed);
        random_run_draw(&run, &random, false);
        for (uint32_t l = 0; l < run.n_locations; l++) {
            uint32_t process = run.trace->locations[l].process;
            if (run.trace->processes[process].first_location != l)
                wanted |= communicates(&run, l);
        }
        wanted &= !lull_makes_threads(run.trace); /* then nothing is presumed */
        unsigned workers = 1 + (unsigned)lull_random_below(&random, MOST_WORKERS);
        struct lull_ideal_result result = evaluate(&run, workers, seed, 0, &found);
        assert_int_equal(found, wanted);
        if (!found) {
            struct lull_ideal_result exact = evaluate(&run, 1, seed, 0, NULL);
            assert_int_equal(result.runtime, exact.runtime);
            assert_int_equal(result.messages, exact.messages);
            assert_int_equal(result.collectives, exact.collectives);
            assert_int_equal(result.lost_ns, exact.lost_ns);
            result = evaluate(&run, 1, seed, 1 + (size_t)(seed % 20), &found);
            assert_int_equal(result.runtime, exact.runtime);
        }
        with += found;
        without += !found;
        random_run_free(&run);
    }
    assert_reached("others than masters communicate", with, count / 20, count);
    assert_reached("masters alone communicate", without, count / 20, count);
}

/* The path adds up to the runtime, and is the same whoever reads which steps when. Whether it is the right one is tested by
 * test_ideal, which knows its programs. */
static void paths_are_the_same_by_all(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    unsigned several = 0;
    struct random_run run;
    set_epochs(true);
    for (uint64_t seed = first; seed < first + programs(); seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        random_run_draw(&run, &random, false);
        for (uint32_t l = 0; l < run.n_locations; l++)
            add_users(&run.locations[l], &random);
        const uint32_t *paths = parts_of_users(&run);
        const struct lull_ideal_result alone = evaluate_part(&run, 1, 0, 0, NULL, paths, NULL);
        const struct lull_ideal_result without = evaluate(&run, 1, 0, 0, NULL);
        const unsigned workers = 1 + (unsigned)lull_random_below(&random, MOST_WORKERS);
        const size_t waiting = (size_t)lull_random_below(&random, 20);
        const struct lull_ideal_result by_all =
            evaluate_part(&run, workers, seed, waiting, NULL, paths, NULL);
        fail_if(alone.absent || alone.runtime != without.runtime || !path_is(&alone, NULL),
                "seed %lu: the path does not add up to %ld ns", seed, without.runtime);
        fail_if(!path_is(&by_all, &alone), "seed %lu: another path by %u workers", seed, workers);
        unsigned parts = 0;
        for (unsigned p = 0; p < PARTS; p++)
            parts += alone.path[p] > 0;
        several += parts > 1;
        random_run_free(&run);
    }
    assert_reached("a path has several parts", several, programs() / 2, programs());
}

static void programs_last_as_long_as_their_longest_path(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    struct random_run run;
    voids = in_epochs = 0;
    for (uint64_t seed = first; seed < first + programs(); seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        random_run_draw(&run, &random, false);
        check_run(&run, &random, seed);
        random_run_free(&run);
    }
    assert_reached("there are epochs", in_epochs, programs() / 40, programs());
    assert_reached("epochs are found void", voids, programs() / 100 + 1, programs());
    assert_reached("a message is received", messages, programs() / 2, programs());
}

/* A send is missing: whether and where somebody waits for it does not depend on who reads what
 * when. */
static void what_is_missing_is_told_the_same_by_all(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    unsigned absent = 0, count = programs() / 4 + 1;
    struct random_run run;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        random_run_draw(&run, &random, true);
        set_epochs(false);
        struct lull_ideal_result alone = evaluate(&run, 1, seed, 0, NULL);
        for (unsigned round = 0; round < 3; round++) {
            set_epochs(round > 0);
            unsigned workers = 1 + (unsigned)lull_random_below(&random, MOST_WORKERS);
            size_t waiting =
                lull_random_below(&random, 2) ? 0 : 1 + (size_t)lull_random_below(&random, 20);
            struct lull_ideal_result result = evaluate(&run, workers, seed + round, waiting, NULL);
            fail_if(!alone.detail != !result.detail ||
                        (alone.detail && strcmp(alone.detail, result.detail) != 0),
                    "seed %lu: '%s' by one, '%s' by %u workers", seed, alone.detail, result.detail,
                    workers);
            if (!alone.absent)
                assert_int_equal(alone.runtime, result.runtime);
        }
        absent += alone.absent != NULL;
        random_run_free(&run);
    }
    assert_reached("somebody waits for what is missing", absent, count / 20, count);
    assert_reached("nobody waits for what is missing", count - absent, count / 20, count);
}

/* ---- teams ----------------------------------------------------------------------------------- */

enum { MEMBERS, MISSING, MATCHED };

/* The same run, by one and by a team: 0 where the first of the team finds what one does. */
static int differs(struct random_run *run, uint64_t seed, struct lull_random *random)
{
    const size_t waiting =
        lull_random_below(random, 2) ? 0 : 1 + (size_t)lull_random_below(random, 20);
    set_epochs(false);
    const uint32_t *paths = lull_random_below(random, 2) ? parts_of_users(run) : NULL;
    for (uint32_t l = 0; paths && l < run->n_locations; l++)
        add_users(&run->locations[l], random);
    const struct lull_ideal_result alone = evaluate_part(run, 1, seed, 0, NULL, paths, NULL);
    set_epochs(lull_random_below(random, 4));
    struct lull_team *team = drawn_team_open(random, seed, 1);
    const unsigned members = lull_team_size(team);
    const struct lull_division *division =
        drawn_team_divide(team, run->trace->n_processes, random, run->arena);
    const unsigned workers = 1 + (unsigned)((seed + lull_team_index(team)) % 3);
    const struct lull_ideal_result result =
        evaluate_part(run, workers, seed, waiting, division, paths, NULL);
    int wrong = 0;
    if (lull_team_is_first(team)) {
        if (members > 1)
            drawn_team_reach(MEMBERS);
        if (alone.absent)
            drawn_team_reach(MISSING);
        else if (alone.messages > 0)
            drawn_team_reach(MATCHED);
    }
    if (lull_team_is_first(team) &&
        (!alone.detail != !result.detail ||
         (alone.detail && strcmp(alone.detail, result.detail) != 0) ||
         (!alone.absent &&
          (alone.messages != result.messages || alone.lost_ns != result.lost_ns ||
           alone.runtime != result.runtime || alone.operations != result.operations ||
           alone.collectives != result.collectives ||
           alone.unmatched_sends != result.unmatched_sends)) ||
         !path_is(&alone, NULL) || !path_is(&result, &alone))) {
        fprintf(stderr, "seed %lu, team of %u: %ld ns and '%s', alone %ld and '%s'%s\n", seed,
                members, result.runtime, result.detail, alone.runtime, alone.detail,
                paths ? ", with paths" : "");
        wrong = 1;
    }
    return lull_team_end(team) ? wrong : 3;
}

/* Also where a send is missing. */
static int drawn_run_differs(uint64_t seed)
{
    struct lull_random random;
    struct random_run run;
    lull_random_seed(&random, seed);
    random_run_draw(&run, &random, seed % 4 == 0);
    const int wrong = differs(&run, seed, &random);
    random_run_free(&run);
    return wrong;
}

static void teams_find_what_one_finds(void **state)
{
    (void)state;
    const unsigned count = drawn_teams_run(drawn_run_differs);
    assert_reached("there are several members", drawn_teams_reached(MEMBERS), count / 2, count);
    assert_reached("messages are matched", drawn_teams_reached(MATCHED), count / 2, count);
    assert_reached("somebody waits for what is missing", drawn_teams_reached(MISSING), count / 50,
                   count);
}

TEST_GROUP(test_ideal_shares)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_find_what_one_finds), /* while there is little to fork */
        cmocka_unit_test(programs_last_as_long_as_their_longest_path),
        cmocka_unit_test(paths_are_the_same_by_all), cmocka_unit_test(other_threads_are_found_out),
        cmocka_unit_test(what_is_missing_is_told_the_same_by_all)};
    return run_cases(tests, NULL, NULL);
}
