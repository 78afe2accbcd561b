#include "support/engine_case.h"
#include "support/test.h"

#include "sim/goal/goal.h"

#include <stddef.h>
#include <string.h>

struct lull_arena *engine_arena;
struct lull_program *engine_program;

int engine_set_up(void **state)
{
    (void)state;
    engine_arena = lull_arena_create(NULL);
    engine_program = NULL;
    return 0;
}

int engine_tear_down(void **state)
{
    (void)state;
    lull_program_close(engine_program);
    lull_arena_destroy(engine_arena);
    return 0;
}

void engine_add(uint32_t stream, struct lull_op op)
{
    stream_program_add(engine_program, stream, op);
}

void engine_check_ends(const struct lull_network *network, const int64_t *ends)
{
    struct lull_sim_result result = simulate(engine_program, network, engine_arena);
    for (uint32_t r = 0; r < result.n_ranks; r++)
        fail_if(result.ranks[r].end != ends[r], "rank %u ends at %lld, not at %lld", r,
                (long long)result.ranks[r].end, (long long)ends[r]);
}

void engine_parse(const char *text)
{
    struct lull_error err = {""};
    fail_if(lull_goal_parse("test", text, strlen(text), &engine_program, &err) != LULL_OK, "%s",
            err.text);
}

const struct lull_network *engine_loggops(double o_byte)
{
    static struct lull_network network;
    network = network_of("loggops", "L", 1000.0, "o", 100.0, "g", 50.0, "G", 2.0, "O", o_byte, "S",
                         1000.0, NULL);
    return &network;
}
