/* Random GOAL programs, nasty on purpose: few different times and sizes, so that much happens at
 * the same moment; wildcards, rendezvous, several processors and NICs, requirements of both kinds
 * in any order. Most can be carried out; some end with messages or operations left over. */
#ifndef LULL_TESTS_RANDOM_GOAL_H
#define LULL_TESTS_RANDOM_GOAL_H

#include "stats/random.h"

struct random_goal_options {
    unsigned ranks, steps; /* at most: a step is a computation or a message */
    unsigned cpus, nics;   /* at most; 1: none is named */
    unsigned wildcards;    /* per cent of receives with any source or tag */
    unsigned starts;       /* per cent of requirements that are irequires */
};

/* Text as slow_goal_run reads it; malloc'd. */
char *random_goal(struct lull_random *random, const struct random_goal_options *options);

#endif
