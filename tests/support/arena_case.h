/* A fixture: an arena for each test of a program. */
#ifndef LULL_TESTS_SUPPORT_ARENA_CASE_H
#define LULL_TESTS_SUPPORT_ARENA_CASE_H

#include "base/arena.h"

extern struct lull_arena *arena; /* of the test that runs */

int arena_begin(void **state);
int arena_end(void **state);

/* A line of the table of tests. */
#define ARENA_TEST(function) cmocka_unit_test_setup_teardown(function, arena_begin, arena_end)

#endif
