/* Whether a run that several open together (trace/trace.h) is what one opens alone: the same
 * definitions to the last index, quirks, events, sums for each of them, or the same refusal. */
#ifndef LULL_TESTS_TOGETHER_H
#define LULL_TESTS_TOGETHER_H

#include "base/error.h"

#include <stdbool.h>

/* By threads of this process. false: *ret_difference tells the first. */
bool opens_together(const char *run, unsigned members, struct lull_error *ret_difference);

/* Each member's trace, once all have opened the run well. */
struct lull_trace;
void together_look(const char *run, unsigned members,
                   void (*look)(unsigned member, const struct lull_trace *trace));

/* Fails a test of cmocka, by turns with 2, 3 and 5 of them. */
void together_check(const char *run);
/* Every sixteenth time. */
void together_check_some(const char *run);

#endif
