/* Several processes that simulate a program together, each a part of its ranks, find what one
 * finds: 2 to 7 parts, each on a thread, whose letters come in any order but in order within a
 * pair; on random programs of streams, against one process that handles events by time. What only
 * one can simulate (wildcards, streams that share a channel, sizes that choose the algorithm), or
 * what is wrong with the program (left without a partner, other collective operations), at least
 * one of them notices. LULL_TEST_SEED and LULL_TEST_CASES in the environment choose others. */
#include "base/collective.h"
#include "sim/engine/engine.h"
#include "support/random_streams.h"
#include "support/seed.h"
#include "support/stream_program.h"
#include "support/test.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 7, MOST_RANKS = 64, MOST_GROUPS = 3 };

static uint64_t seed;
static unsigned cases = 2000;

/* ---- parts that are threads --------------------------------------------------------------------
 */

/* Letters of one part to another. */
struct queue {
    struct lull_sim_letter *letters;
    size_t count, taken, room;
};

struct company {
    pthread_mutex_t lock;
    pthread_cond_t moved; /* a letter has come, or it is over */
    uint32_t n, idle;
    struct queue queues[MOST_PARTS][MOST_PARTS]; /* from, to */
    uint32_t cuts[MOST_PARTS + 1];
    bool over;
};

struct member {
    struct company *company;
    struct lull_program *program;
    const struct lull_network *network;
    struct lull_arena *arena;
    struct lull_random random;
    uint32_t index;
    bool idle;
    struct lull_sim_letter reading[16];
    uint64_t signatures[MOST_GROUPS];
    struct lull_sim_result result;
    lull_status status;
};

static lull_status post(void *context, uint32_t to, const struct lull_sim_letter *letter,
                        struct lull_error *err)
{
    struct member *member = context;
    struct queue *queue = &member->company->queues[member->index][to];
    (void)err;
    pthread_mutex_lock(&member->company->lock);
    if (queue->count == queue->room) {
        queue->room = queue->room ? 2 * queue->room : 16;
        queue->letters = realloc(queue->letters, queue->room * sizeof *queue->letters);
    }
    queue->letters[queue->count++] = *letter;
    pthread_cond_broadcast(&member->company->moved);
    pthread_mutex_unlock(&member->company->lock);
    return LULL_OK;
}

static bool has_letters(const struct company *company)
{
    for (uint32_t from = 0; from < company->n; from++)
        for (uint32_t to = 0; to < company->n; to++)
            if (company->queues[from][to].taken < company->queues[from][to].count)
                return true;
    return false;
}

static bool has_mail(const struct company *company, uint32_t to)
{
    for (uint32_t from = 0; from < company->n; from++)
        if (company->queues[from][to].taken < company->queues[from][to].count)
            return true;
    return false;
}

/* Some of those of one other, or none although there are some: as the random numbers will. */
static size_t take_some(struct member *member)
{
    struct company *company = member->company;
    const uint32_t from = (uint32_t)lull_random_below(&member->random, company->n);
    struct queue *queue = &company->queues[from][member->index];
    const size_t there = queue->count - queue->taken, most = lull_random_below(&member->random, 16);
    const size_t count = there < most ? there : most;
    if (count > 0)
        memcpy(member->reading, queue->letters + queue->taken, count * sizeof *queue->letters);
    queue->taken += count;
    return count;
}

static lull_status take(void *context, bool idle, uint32_t kept, struct lull_sim_news *ret_news,
                        struct lull_error *err)
{
    struct member *member = context;
    struct company *company = member->company;
    (void)kept, (void)err;
    pthread_mutex_lock(&company->lock);
    const size_t count = company->over ? 0 : take_some(member);
    const bool rests = idle && count == 0;
    company->idle += rests - (uint32_t)member->idle;
    member->idle = rests;
    company->over |= company->idle == company->n && !has_letters(company);
    if (company->over)
        pthread_cond_broadcast(&company->moved);
    while (rests && !company->over && !has_mail(company, member->index))
        pthread_cond_wait(&company->moved, &company->lock);
    *ret_news = (struct lull_sim_news){.letters = member->reading,
                                       .count = count,
                                       .full = lull_random_below(&member->random, 8) == 0,
                                       .over = company->over};
    pthread_mutex_unlock(&company->lock);
    return LULL_OK;
}

static void *simulate_part(void *context)
{
    struct member *member = context;
    struct lull_error err;
    const struct lull_sim_part part = {.index = member->index,
                                       .n = member->company->n,
                                       .cuts = member->company->cuts,
                                       .signatures = member->signatures,
                                       .context = member,
                                       .post = post,
                                       .take = take};
    const struct lull_sim_options options = {.network = member->network, .part = &part};
    member->status =
        lull_simulate(member->program, &options, member->arena, &member->result, NULL, &err);
    return NULL;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

/* Whether all parts came to the end, and called the same on each group. */
static bool all_agree(const struct member *members, uint32_t n)
{
    uint64_t called[MOST_GROUPS] = {0};
    for (uint32_t m = 0; m < n; m++) {
        if (members[m].status != LULL_OK)
            return false;
        for (unsigned g = 0; g < MOST_GROUPS; g++) {
            const uint64_t own = members[m].signatures[g];
            if (own && called[g] && own != called[g])
                return false;
            called[g] = own ? own : called[g];
        }
    }
    return true;
}

static void must_be_equal(const struct member *members, const struct company *company,
                          const struct lull_sim_result *whole, uint64_t number)
{
    struct lull_sim_result sum = {0};
    for (uint32_t m = 0; m < company->n; m++) {
        const struct lull_sim_result *part = &members[m].result;
        for (uint32_t r = company->cuts[m]; r < company->cuts[m + 1]; r++)
            fail_if(memcmp(&part->ranks[r], &whole->ranks[r], sizeof *part->ranks) != 0,
                    "LULL_TEST_SEED=%llu: rank %u of part %u of %u ends at %lld, not %lld",
                    (unsigned long long)number, r, m, company->n, (long long)part->ranks[r].end,
                    (long long)whole->ranks[r].end);
        sum.runtime = part->runtime > sum.runtime ? part->runtime : sum.runtime;
        sum.n_sends += part->n_sends;
        sum.n_receives += part->n_receives;
        sum.n_messages += part->n_messages;
        sum.n_computes += part->n_computes;
        sum.n_collectives += part->n_collectives;
    }
    fail_if(sum.runtime != whole->runtime || sum.n_sends != whole->n_sends ||
                sum.n_receives != whole->n_receives || sum.n_messages != whole->n_messages ||
                sum.n_computes != whole->n_computes || sum.n_collectives != whole->n_collectives,
            "LULL_TEST_SEED=%llu: the sums of %u parts are others", (unsigned long long)number,
            company->n);
}

/* Some parts may have no rank. */
static void cut(struct lull_random *random, struct company *company, uint32_t n_ranks)
{
    company->n = 2 + (uint32_t)lull_random_below(random, MOST_PARTS - 1);
    company->cuts[company->n] = n_ranks;
    for (uint32_t m = 1; m < company->n; m++)
        company->cuts[m] = (uint32_t)lull_random_below(random, n_ranks + 1);
    for (uint32_t i = 1; i < company->n; i++)
        for (uint32_t k = i; k > 1 && company->cuts[k - 1] > company->cuts[k]; k--) {
            const uint32_t other = company->cuts[k];
            company->cuts[k] = company->cuts[k - 1];
            company->cuts[k - 1] = other;
        }
}

static struct lull_network draw_network(struct lull_random *random)
{
    static const double limits[] = {0, 8, 1000, 1e9};
    static const double latencies[] = {0, 10, 20};
    const double eager = limits[lull_random_below(random, 4)];
    const double latency = latencies[lull_random_below(random, 3)];
    struct lull_network network = network_of("ideal", "eager", eager, NULL);
    if (lull_random_below(random, 2))
        network = network_of("hockney", "latency", latency, "bandwidth", 1e9, "eager", eager,
                             "receive", latency, NULL);
    if (lull_random_below(random, 4) == 0)
        network.collectives = LULL_COLLECTIVES_ALGORITHM;
    return network;
}

/* The same program for each part, and for one process. Whether all came to the end. */
static bool compare(const struct random_streams_options *wanted, uint64_t number, bool *ret_agree)
{
    struct company company = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    struct member members[MOST_PARTS] = {{0}};
    pthread_t threads[MOST_PARTS];
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_random random;
    lull_random_seed(&random, number);
    struct lull_program *program = random_streams(&random, wanted);
    const struct lull_network network = draw_network(&random);
    cut(&random, &company, program->n_ranks);
    for (uint32_t m = 0; m < company.n; m++) {
        struct lull_random same;
        lull_random_seed(&same, number);
        members[m] = (struct member){.company = &company,
                                     .program = random_streams(&same, wanted),
                                     .network = &network,
                                     .arena = lull_arena_create(NULL),
                                     .index = m};
        lull_random_seed(&members[m].random, number ^ m);
    }
    for (uint32_t m = 0; m < company.n; m++)
        assert_int_equal(pthread_create(&threads[m], NULL, simulate_part, &members[m]), 0);
    for (uint32_t m = 0; m < company.n; m++)
        pthread_join(threads[m], NULL);

    static const struct lull_sim_sink by_time = {.context = NULL};
    const struct lull_sim_options options = {.network = &network, .sink = &by_time};
    struct lull_sim_result whole;
    struct lull_error err = {""};
    const lull_status expected = lull_simulate(program, &options, arena, &whole, NULL, &err);
    *ret_agree = all_agree(members, company.n);
    fail_if(*ret_agree && expected != LULL_OK, "LULL_TEST_SEED=%llu: nobody notices '%s'",
            (unsigned long long)number, err.text);
    if (*ret_agree)
        must_be_equal(members, &company, &whole, number);

    for (uint32_t m = 0; m < company.n; m++) {
        lull_program_close(members[m].program);
        lull_arena_destroy(members[m].arena);
    }
    for (uint32_t from = 0; from < company.n; from++)
        for (uint32_t to = 0; to < company.n; to++)
            free(company.queues[from][to].letters);
    lull_program_close(program);
    lull_arena_destroy(arena);
    return expected == LULL_OK;
}

/* `free`: whatever one process can simulate, several can. */
static void run(const struct random_streams_options *wanted, bool free)
{
    unsigned complete = 0, together = 0;
    for (unsigned i = 0; i < cases; i++) {
        bool agree;
        const bool good = compare(wanted, seed + i, &agree);
        fail_if(free && good != agree, "LULL_TEST_SEED=%llu: %s", (unsigned long long)seed + i,
                good ? "several cannot" : "one cannot");
        complete += good;
        together += agree;
    }
    assert_reached("it comes to the end", complete, cases / 5, cases);
    assert_reached("it comes to the end on several", together, cases / 10, cases);
    if (!free)
        assert_reached("only one can simulate it", complete - together, cases / 50, cases);
}

static void one_stream_for_each_rank(void **state)
{
    (void)state;
    run(&(struct random_streams_options){12, 1, 10, 0, 100, 0, 0}, true);
}

static void groups_of_some_ranks(void **state)
{
    (void)state;
    run(&(struct random_streams_options){12, 1, 12, 0, 100, 0, 80}, true);
}

static void several_streams(void **state)
{
    (void)state;
    run(&(struct random_streams_options){6, 4, 8, 0, 0, 0, 30}, true);
}

static void what_one_has_to_do(void **state)
{
    (void)state;
    run(&(struct random_streams_options){6, 2, 4, 1, 5, 30, 30}, false);
}

/* ---- programs that are wrong -------------------------------------------------------------------
 */

/* Two ranks, each a part. */
static void must_notice(void (*write)(struct lull_program *program))
{
    struct company company = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .moved = PTHREAD_COND_INITIALIZER,
                              .n = 2,
                              .cuts = {0, 1, 2}};
    struct member members[MOST_PARTS] = {{0}};
    const struct lull_network network = network_of("hockney", NULL);
    pthread_t threads[2];
    for (uint32_t m = 0; m < 2; m++) {
        members[m] = (struct member){.company = &company,
                                     .program = stream_program(2, NULL, 4),
                                     .network = &network,
                                     .arena = lull_arena_create(NULL),
                                     .index = m};
        write(members[m].program);
        lull_random_seed(&members[m].random, m);
        assert_int_equal(pthread_create(&threads[m], NULL, simulate_part, &members[m]), 0);
    }
    for (uint32_t m = 0; m < 2; m++)
        pthread_join(threads[m], NULL);
    assert_false(all_agree(members, 2));
    for (uint32_t m = 0; m < 2; m++) {
        lull_program_close(members[m].program);
        lull_arena_destroy(members[m].arena);
    }
    free(company.queues[0][1].letters);
    free(company.queues[1][0].letters);
}

static void write_message_without_receive(struct lull_program *program)
{
    stream_program_add(program, 0, op_send(1, 0, 8, 0));
    stream_program_add(program, 0, op_wait_all());
}

static void write_receive_without_message(struct lull_program *program)
{
    stream_program_add(program, 1, op_receive(0, 0, 0));
    stream_program_add(program, 1, op_wait_all());
}

static void write_circle(struct lull_program *program)
{
    for (uint32_t r = 0; r < 2; r++) {
        stream_program_add(program, r, op_receive(1 - r, 0, 0));
        stream_program_add(program, r, op_wait_all());
        stream_program_add(program, r, op_send(1 - r, 0, 8, 0));
        stream_program_add(program, r, op_wait_all());
    }
}

/* Both operations are one message from the second to the first, so that nothing is left over. */
static void write_other_operations(struct lull_program *program)
{
    stream_program_add(program, 0, op_collective(LULL_COLLECTIVE_REDUCE, 0, 8, LULL_OP_NO_REQUEST));
    stream_program_add(program, 1, op_collective(LULL_COLLECTIVE_GATHER, 0, 8, LULL_OP_NO_REQUEST));
}

static void wrong_programs(void **state)
{
    (void)state;
    must_notice(write_message_without_receive);
    must_notice(write_receive_without_message);
    must_notice(write_circle);
    must_notice(write_other_operations);
}

TEST_GROUP(test_sim_parts)
{
    seed = lull_test_seed();
    cases = lull_test_rounds(cases) * lull_test_rounds(2) / 2;
    if (getenv("LULL_TEST_CASES"))
        cases = (unsigned)strtoul(getenv("LULL_TEST_CASES"), NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_for_each_rank), cmocka_unit_test(groups_of_some_ranks),
        cmocka_unit_test(several_streams),          cmocka_unit_test(what_one_has_to_do),
        cmocka_unit_test(wrong_programs),
    };
    return run_cases(tests, NULL, NULL);
}
