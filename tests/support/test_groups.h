/* The groups of one test program. CMake writes the table (tests/CMakeLists.txt). */
#ifndef LULL_TESTS_SUPPORT_TEST_GROUPS_H
#define LULL_TESTS_SUPPORT_TEST_GROUPS_H

#include <stddef.h>

struct test_group {
    const char *name;
    int (*run)(void); /* how many cases failed, or TEST_SKIPPED */
};

extern const struct test_group test_groups[];
extern const size_t test_n_groups;

/* Only cases of that name run from now on; NULL: all. */
void test_choose_case(const char *name);
/* Runs a group in this process; returns what it returns. */
int test_run_group(const struct test_group *group);

#endif
