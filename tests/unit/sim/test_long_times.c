/* What takes long is exact to the ns, too. */
#include "base/collective.h"
#include "support/engine_case.h"
#include "support/test.h"

/* 10 GB at 1 GB/s and a startup of 1 us, once between two ranks. */
static void collective_of_ten_seconds(void **state)
{
    (void)state;
    const int64_t end = INT64_C(10000001000);
    struct lull_network network = network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, NULL);
    engine_program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++)
        engine_add(r, op_collective(LULL_COLLECTIVE_ALLREDUCE, LULL_OP_ANY, UINT64_C(10000000000),
                                    LULL_OP_NO_REQUEST));
    engine_check_ends(&network, (const int64_t[]){end, end});
}

TEST_GROUP(test_long_times)
{
    const struct CMUnitTest tests[] = {ENGINE_TEST(collective_of_ten_seconds)};
    return run_cases(tests, NULL, NULL);
}
