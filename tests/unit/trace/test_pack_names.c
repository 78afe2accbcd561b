/* Where a packed run goes if nobody says where: beside the run, under its name. */
#include "base/file.h"
#include "lull_features.h"
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "trace/pack.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if LULL_HAVE_ZSTD

/* A path may end in slashes, as a shell completes it. */
static void test_slashes(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "/", "//"};
    char packed[4400], inside[4500], wished[4400];
    snprintf(packed, sizeof packed, "%s.packed", run.path);
    snprintf(inside, sizeof inside, "%s/.packed", run.path);
    run_empty_processes(0, 2, 2);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(wished, sizeof wished, "%s%s", run.path, endings[i]);
        const struct lull_pack_wish wish = {.run = wished};
        fail_if(lull_pack(&wish, &run.err) != LULL_OK, "%s", run.err.text);
        fail_if(access(packed, F_OK) != 0, "'%s' became no %s", wished, packed);
        assert_int_not_equal(access(inside, F_OK), 0);
        run_open(packed);
        assert_int_equal(run.trace->n_processes, 2);
        run_close();
        assert_int_equal(lull_remove_tree(packed, NULL), LULL_OK);
    }
}

TEST_GROUP(test_pack_names)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slashes, run_set_up, run_tear_down)};
    return run_cases(tests, NULL, NULL);
}

#else

TEST_GROUP(test_pack_names)
{
    printf("skipped: built without zstd\n");
    return TEST_SKIPPED;
}

#endif
