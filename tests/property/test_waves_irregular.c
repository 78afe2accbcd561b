/* Idle waves among the ranks of a sparse matrix times a vector: an irregular graph, in which a wave
 * goes one message further in each iteration, whatever the numbers of the ranks.
 *
 * Rows are random points of a long strip, by their place along it; those closer than a radius are
 * coupled, and each rank has some rows in succession. Ranks exchange what coupled rows need. How
 * many messages apart two ranks are is found here by breadth-first search in the matrix, not by
 * lull. */
#include "support/seed.h"
#include "support/test.h"
#include "support/wave_run.h"

#include "stats/random.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 96, ROWS = 960, ITERATIONS = 70, EXEC = 1000000 };
#define LENGTH 24.0 /* of the strip, whose width is 1 */
#define RADIUS 0.35
#define NOISE  "exponential:mean=100us" /* a tenth of an iteration */

static struct lull_random random_numbers;

/* ---- the matrix -------------------------------------------------------------------------------
 */

struct graph {
    bool coupled[RANKS][RANKS];
};

static int compare_places(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

static void draw_graph(struct graph *graph)
{
    static double points[ROWS][2];
    memset(graph, 0, sizeof *graph);
    for (unsigned i = 0; i < ROWS; i++) {
        points[i][0] = LENGTH * lull_random_uniform(&random_numbers);
        points[i][1] = lull_random_uniform(&random_numbers);
    }
    qsort(points, ROWS, sizeof points[0], compare_places);
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < ROWS; k++) {
            unsigned a = i * RANKS / ROWS, b = k * RANKS / ROWS;
            double x = points[i][0] - points[k][0], y = points[i][1] - points[k][1];
            if (a != b && x * x + y * y < RADIUS * RADIUS)
                graph->coupled[a][b] = true;
        }
    for (unsigned r = 0; r + 1 < RANKS; r++) /* nobody is alone */
        graph->coupled[r][r + 1] = graph->coupled[r + 1][r] = true;
}

/* Messages from `from` to each rank at least. */
static void search(const struct graph *graph, uint32_t from, unsigned *hops)
{
    uint32_t queue[RANKS], begin = 0, end = 1;
    for (uint32_t r = 0; r < RANKS; r++)
        hops[r] = UINT32_MAX;
    hops[from] = 0;
    queue[0] = from;
    while (begin < end) {
        uint32_t at = queue[begin++];
        for (uint32_t r = 0; r < RANKS; r++)
            if (graph->coupled[at][r] && hops[r] == UINT32_MAX) {
                hops[r] = hops[at] + 1;
                queue[end++] = r;
            }
    }
}

/* ---- the product as a program -----------------------------------------------------------------
 */

/* Where a rank is: in an iteration, mark, computation, receives from `peer` on, sends, wait. */
struct position {
    uint32_t iteration, part, peer, requests;
};

struct product {
    struct graph graph;
    struct position positions[RANKS];
};

enum { MARK, COMPUTE, RECEIVE, SEND, WAIT, PARTS };

static struct lull_op message(unsigned part, uint32_t peer, uint32_t request)
{
    return (struct lull_op){.kind = part == SEND ? LULL_OP_SEND : LULL_OP_RECV,
                            .flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS,
                            .region = 1,
                            .peer = peer,
                            .bytes = 800,
                            .request = request};
}

/* One operation, or none. */
static uint32_t take_operation(const struct graph *graph, uint32_t rank, struct position *at,
                               struct lull_op *op)
{
    *op = (struct lull_op){.region = LULL_OP_NO_REGION, .request = LULL_OP_NO_REQUEST};
    if (at->part == RECEIVE || at->part == SEND) {
        while (at->peer < RANKS && !graph->coupled[rank][at->peer])
            at->peer++;
        if (at->peer < RANKS) {
            *op = message(at->part, at->peer++, at->requests++);
            return 1;
        }
        at->peer = 0;
        at->part++;
        return 0;
    }
    if (at->part == MARK) {
        op->kind = LULL_OP_MARK;
        op->bytes = at->iteration;
    } else if (at->part == COMPUTE) {
        op->kind = LULL_OP_COMPUTE;
        op->region = 0;
        op->duration = EXEC;
    } else {
        op->kind = LULL_OP_WAIT;
        op->region = 1;
        op->flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS | LULL_OP_WAIT_ALL;
        at->requests = 0;
        at->iteration++;
    }
    at->part = (at->part + 1) % PARTS;
    return 1;
}

static lull_status next(struct lull_program *program, uint32_t stream, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    struct product *product = program->data;
    struct position *at = &product->positions[stream];
    uint32_t count = 0;
    (void)err;
    while (count < room && at->iteration < ITERATIONS) {
        uint32_t made = take_operation(&product->graph, stream, at, &ret_ops[count]);
        count += made;
        if (made && lull_op_blocks(&ret_ops[count - 1]))
            break;
    }
    *ret_count = count;
    return LULL_OK;
}

static lull_status start_again(struct lull_program *program, struct lull_error *err)
{
    struct product *product = program->data;
    (void)err;
    memset(product->positions, 0, sizeof product->positions);
    return LULL_OK;
}

static const char *place(const struct lull_program *program, uint32_t rank,
                         const struct lull_op *op, char *text, unsigned size)
{
    (void)program;
    (void)op;
    snprintf(text, size, "rank %u", rank);
    return text;
}

static struct lull_program *make_product(const struct graph *graph)
{
    static const struct lull_program_class class = {
        .name = "product", .next = next, .rewind = start_again, .place = place};
    static const char *const regions[] = {"multiply", "MPI_Waitall"};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program = lull_arena_zero(arena, 1, sizeof *program);
    struct product *product = lull_arena_zero(arena, 1, sizeof *product);
    product->graph = *graph;
    *program = (struct lull_program){.class = &class,
                                     .name = "product",
                                     .arena = arena,
                                     .n_ranks = RANKS,
                                     .n_streams = RANKS,
                                     .n_regions = 2,
                                     .regions = regions,
                                     .data = product};
    return program;
}

static void simulate(const struct graph *graph, const char *delays, bool noisy,
                     struct wave_run *run)
{
    const struct wave_wish wish = {.pattern = "product",
                                   .program = make_product(graph),
                                   .noise = noisy ? NOISE : NULL,
                                   .delays = delays,
                                   .seed = lull_random_u64(&random_numbers)};
    wave_run_make(&wish, run);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static uint32_t draw(uint32_t least, uint32_t bound)
{
    return least + (uint32_t)lull_random_below(&random_numbers, bound);
}

static void assert_origin(const struct lull_wave *wave, uint32_t rank, uint32_t iteration)
{
    fail_if(wave->rank != rank || wave->iteration != (int32_t)iteration,
            "a wave from rank %u, iteration %d, expected %u, %u", wave->rank, wave->iteration, rank,
            iteration);
}

/* Without noise each rank is idle in the iteration that its distance says, for the whole delay. */
static void test_silent(void **state)
{
    static struct graph graph;
    unsigned hops[RANKS], far = 0;
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t rank = draw(0, RANKS), iteration = draw(5, 10), farthest = 0;
        char delay[64];
        struct wave_run run;
        snprintf(delay, sizeof delay, "%u@i%u:10ms", rank, iteration);
        draw_graph(&graph);
        search(&graph, rank, hops);
        for (uint32_t r = 0; r < RANKS; r++)
            farthest = hops[r] > farthest ? hops[r] : farthest;
        simulate(&graph, delay, false, &run);
        assert_int_equal(run.waves.count, 1);
        assert_origin(&run.waves.waves[0], rank, iteration);
        for (uint32_t r = 0; r < RANKS; r++)
            if (r != rank)
                assert_int_equal(run.waves.waves[0].path.arrivals[r], iteration + hops[r] - 1);
        assert_int_equal(run.waves.waves[0].n_ranks, RANKS - 1);
        assert_true(fabs(run.waves.waves[0].hops_per_iteration.value - 1) < 1e-9);
        far += farthest > 20;
        wave_run_free(&run);
    }
    assert_reached("a rank is more than twenty messages away", far, 10, 10);
}

static void find_in_noise(const char *length, double within)
{
    static struct graph graph;
    unsigned far = 0;
    for (unsigned i = 0; i < 20; i++) {
        uint32_t rank = draw(0, 20), iteration = draw(5, 10);
        char delay[64];
        struct wave_run run;
        snprintf(delay, sizeof delay, "%u@i%u:%s", rank, iteration, length);
        draw_graph(&graph);
        simulate(&graph, delay, true, &run);
        fail_if(run.waves.count != 1, "%s: %u waves", delay, run.waves.count);
        const struct lull_wave *wave = &run.waves.waves[0];
        assert_origin(wave, rank, iteration);
        double speed = wave->hops_per_iteration.value;
        fail_if(!(fabs(speed - 1) <= within), "%s: %g messages per iteration, expected 1", delay,
                speed);
        far += wave->n_ranks > 5;
        wave_run_free(&run);
    }
    assert_reached("the wave comes to more than five ranks", far, 15, 20);
}

static void test_in_noise(void **state)
{
    (void)state;
    find_in_noise("10ms", 0.05);
}

/* A wave of two iterations is soon lost: it is found where it began, its speed is not judged. */
static void test_short_in_noise(void **state)
{
    (void)state;
    find_in_noise("2ms", INFINITY);
}

static void test_two_in_noise(void **state)
{
    static struct graph graph;
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t low = draw(5, 15), high = draw(75, 15), first = draw(5, 10), later = first + 2;
        char delays[128];
        struct wave_run run;
        snprintf(delays, sizeof delays, "%u@i%u:10ms %u@i%u:10ms", low, first, high, later);
        draw_graph(&graph);
        simulate(&graph, delays, true, &run);
        fail_if(run.waves.count != 2, "%s: %u waves", delays, run.waves.count);
        assert_origin(&run.waves.waves[0], low, first);
        assert_origin(&run.waves.waves[1], high, later);
        assert_int_equal(run.waves.waves[0].up.end, LULL_WAVE_END_OTHER);
        assert_int_equal(run.waves.waves[1].down.end, LULL_WAVE_END_OTHER);
        wave_run_free(&run);
    }
}

TEST_GROUP(test_waves_irregular)
{
    lull_random_seed(&random_numbers, lull_test_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_in_noise),
        cmocka_unit_test(test_short_in_noise),
        cmocka_unit_test(test_two_in_noise),
    };
    return run_cases(tests, NULL, NULL);
}
