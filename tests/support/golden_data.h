/* The small traces of tests/data/golden, whose numbers can be computed on paper
 * (tests/golden/README.md). */
#ifndef LULL_TESTS_GOLDEN_DATA_H
#define LULL_TESTS_GOLDEN_DATA_H

#include "base/arena.h"

/* The path of a file there; ends the test where it cannot be known. */
const char *golden_data(const char *name, struct lull_arena *arena);

#endif
