/* Tests of loops in C need libclang, which lull loads when it reads the first. */
#ifndef LULL_TESTS_SUPPORT_LOOPS_H
#define LULL_TESTS_SUPPORT_LOOPS_H

#include <stdbool.h>

/* Whether this lull reads loops; where it does not, prints that the tests are skipped, and why. */
bool reads_loops(void);

#endif
