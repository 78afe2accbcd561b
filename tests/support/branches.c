#include "support/branches.h"

#include "support/test.h"

void branch_reach(struct branch *branch, bool holds)
{
    branch->now |= holds;
}

void branches_next(struct branch *branches, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        branches[i].reached += branches[i].now;
        branches[i].now = false;
    }
}

static unsigned long least_of(const struct branch *branch, unsigned long inputs)
{
    const unsigned long least = inputs * branch->least / 1000;
    return least > 0 ? least : 1;
}

void branches_assert(struct branch *branches, size_t n, unsigned long inputs)
{
    const struct branch *lacking = NULL;
    for (size_t i = 0; i < n; i++) {
        const unsigned long least = least_of(&branches[i], inputs);
        if (branches[i].what && branches[i].reached < least)
            lacking = &branches[i];
        else if (branches[i].what)
            assert_reached(branches[i].what, branches[i].reached, least, inputs);
    }
    if (lacking)
        assert_reached(lacking->what, lacking->reached, least_of(lacking, inputs), inputs);
    for (size_t i = 0; i < n; i++)
        branches[i].reached = 0;
}
