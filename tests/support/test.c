#include "support/test.h"

#include "support/test_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *wanted_case; /* NULL: all */
static const char *group_name;  /* of the group that runs */

const char *test_group_running(void)
{
    return group_name;
}

void test_choose_case(const char *name)
{
    wanted_case = name;
}

int test_run_group(const struct test_group *group)
{
    group_name = group->name;
    return group->run();
}

/* ---- cases -------------------------------------------------------------------------------------
 */

static unsigned long assertions;           /* of the case that runs; atomic */
static const struct CMUnitTest *cases;     /* those of the group that were asked for */
static size_t next_case;                   /* of `cases` */
static const struct CMUnitTest *this_case; /* the one that runs */

void test_count_assertion(void)
{
    __atomic_fetch_add(&assertions, 1, __ATOMIC_RELAXED);
}

/* cmocka calls the set-up of each case once and in order, so that it tells which case comes. */
static int set_up_case(void **state)
{
    this_case = &cases[next_case++];
    __atomic_store_n(&assertions, 0, __ATOMIC_RELAXED);
    return this_case->setup_func ? this_case->setup_func(state) : 0;
}

static void run_case(void **state)
{
    this_case->test_func(state);
    if (__atomic_load_n(&assertions, __ATOMIC_RELAXED) == 0)
        fail_msg("%s asserts nothing", this_case->name);
}

static int tear_down_case(void **state)
{
    return this_case->teardown_func ? this_case->teardown_func(state) : 0;
}

int test_run_cases(const struct CMUnitTest *tests, size_t n, CMFixtureFunction set_up,
                   CMFixtureFunction tear_down)
{
    struct CMUnitTest *chosen = calloc(n + 1, sizeof *chosen);
    struct CMUnitTest *counted = calloc(n + 1, sizeof *counted);
    size_t n_chosen = 0;
    if (!chosen || !counted)
        abort();
    for (size_t i = 0; i < n; i++) {
        if (wanted_case && strcmp(tests[i].name, wanted_case) != 0)
            continue;
        chosen[n_chosen] = tests[i];
        counted[n_chosen] = tests[i];
        counted[n_chosen].test_func = run_case;
        counted[n_chosen].setup_func = set_up_case;
        counted[n_chosen].teardown_func = tear_down_case;
        n_chosen++;
    }
    cases = chosen;
    next_case = 0;
    int failed = 0;
    if (n_chosen > 0)
        failed = _cmocka_run_group_tests(group_name, counted, n_chosen, set_up, tear_down);
    free(chosen);
    free(counted);
    return failed;
}

void test_assert_reached(const char *what, unsigned long reached, unsigned long least,
                         unsigned long inputs, const char *file, int line)
{
    printf("reached: %s in %lu of %lu inputs\n", what, reached, inputs);
    fflush(stdout);
    test_count_assertion();
    if (reached >= least)
        return;
    print_error("%s in %lu of %lu inputs, expected %lu at least\n", what, reached, inputs, least);
    _fail(file, line);
}
