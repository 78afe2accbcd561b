/* Where the draws of a test with random inputs begin, and how many it makes. */
#ifndef LULL_TESTS_SUPPORT_SEED_H
#define LULL_TESTS_SUPPORT_SEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The seed of this process, the same at every call, printed at the first: 1, or what
 * LULL_TEST_SEED says. That is a number, decimal or with 0x in front, or the word "random", for
 * which a seed is drawn from the clock. Anything else ends the process with status 2. */
uint64_t lull_test_seed(void);

/* How many draws to make of the `all` that a test makes usually: under sanitizers, where each is
 * five to twenty times as dear, a sixteenth, rounded up. */
unsigned lull_test_rounds(unsigned all);

/* Whether a test that goes through places, or through combinations, goes to the i-th one: under
 * sanitizers one of `share` of them, elsewhere all. With a sum of indices it picks combinations so
 * that each value of each index comes up. */
bool lull_test_picks(size_t i, unsigned share);

#endif
