/* The branches that a random test is about, and how many of its inputs have reached each of them. A
 * test whose inputs never come to what it is for passes without having checked anything. */
#ifndef LULL_TESTS_SUPPORT_BRANCHES_H
#define LULL_TESTS_SUPPORT_BRANCHES_H

#include <stdbool.h>
#include <stddef.h>

struct branch {
    const char *what; /* as of an input that reaches it: "a message is received"; NULL: none */
    unsigned least;   /* of 1000 inputs; one of all inputs has to reach it in any case */
    unsigned long reached;
    bool now; /* by the input that is being checked */
};

/* The input that is being checked reaches the branch if the condition holds. It counts once,
 * however often that is called. */
void branch_reach(struct branch *branch, bool holds);

/* The input has been checked, and the next one comes. */
void branches_next(struct branch *branches, size_t n);

/* After all inputs: prints how many reached each branch, fails where they are too few, and begins
 * anew. */
void branches_assert(struct branch *branches, size_t n, unsigned long inputs);

#endif
