/* What a message about a replay says of the place of an operation. */
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"
#include "support/test.h"

static const char *const regions[] = {"MPI_Recv", "MPI_Wait", NULL};
enum { RECV, WAIT };

static void check(const struct lull_program *program, unsigned kind, uint32_t region,
                  const char *expected)
{
    const struct lull_op op = {.kind = (uint8_t)kind, .region = region, .measured = 1500000000};
    char text[200];
    assert_string_equal(program->class->place(program, 1, &op, text, sizeof text), expected);
}

/* Messages and computations are told with their measured time, waits and collective operations
 * without. */
static void test_places(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(2, 1, 100, regions);
    memory_trace_world(trace, 2);
    memory_trace_end_in(trace, WAIT);
    struct lull_network network;
    lull_network_init(&network, lull_network_find("ideal"));
    const struct lull_replay_options options = {.network = &network};
    struct lull_program *program;
    struct lull_error err;
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    check(program, LULL_OP_RECV, RECV, "rank 1 at 1.5 s in MPI_Recv");
    check(program, LULL_OP_SEND, LULL_OP_NO_REGION, "rank 1 at 1.5 s");
    check(program, LULL_OP_WAIT, WAIT, "rank 1 in MPI_Wait");
    check(program, LULL_OP_WAIT, LULL_OP_NO_REGION, "rank 1");
    check(program, LULL_OP_COLLECTIVE, RECV, "rank 1 in MPI_Recv");
    lull_program_close(program);
    lull_trace_close(trace);
}

TEST_GROUP(test_place)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places)};
    return run_cases(tests, NULL, NULL);
}
