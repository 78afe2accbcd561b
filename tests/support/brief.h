/* Steps of message passing in short (activity/step.h, "Calls in short"), made from the whole ones
 * one by one. */
#ifndef LULL_TESTS_SUPPORT_BRIEF_H
#define LULL_TESTS_SUPPORT_BRIEF_H

#include "activity/step.h"

#define BRIEF_STEPS                                                                \
    (LULL_STEP_MASK(LULL_STEP_CALL) | LULL_STEP_MASK(LULL_STEP_SEND) |             \
     LULL_STEP_MASK(LULL_STEP_RECV) | LULL_STEP_MASK(LULL_STEP_CANCEL) |           \
     LULL_STEP_MASK(LULL_STEP_FREE) | LULL_STEP_MASK(LULL_STEP_COLLECTIVE_BEGIN) | \
     LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END) | LULL_STEP_MASK(LULL_STEP_USER) |   \
     LULL_STEP_MASK(LULL_STEP_END))

/* What a location did, of a master or another thread; ret_steps has room for `count`. Returns how
 * many there are. */
size_t brief_steps(const struct lull_step *steps, size_t count, bool master,
                   struct lull_step *ret_steps);

#endif
