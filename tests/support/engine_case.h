/* A fixture for tests of the engine: an arena, and a program that is made by hand or from GOAL. */
#ifndef LULL_TESTS_SUPPORT_ENGINE_CASE_H
#define LULL_TESTS_SUPPORT_ENGINE_CASE_H

#include "support/stream_program.h"

extern struct lull_arena *engine_arena;     /* of the test that runs */
extern struct lull_program *engine_program; /* NULL when it begins, closed when it ends */

int engine_set_up(void **state);
int engine_tear_down(void **state);

/* Adds an operation to a stream of the program. */
void engine_add(uint32_t stream, struct lull_op op);
/* The program becomes that of a GOAL text. */
void engine_parse(const char *text);
/* Simulates the program; each rank must end at its time, in ns. */
void engine_check_ends(const struct lull_network *network, const int64_t *ends);
/* L 1 us, o 100 ns, g 50 ns, G 2 ns, O `o_byte`, S 1000 bytes; the same object at every call. */
const struct lull_network *engine_loggops(double o_byte);

/* A line of the table of tests. */
#define ENGINE_TEST(function) \
    cmocka_unit_test_setup_teardown(function, engine_set_up, engine_tear_down)

#endif
