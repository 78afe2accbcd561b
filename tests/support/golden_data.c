#include "support/golden_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

const char *golden_data(const char *name, struct lull_arena *arena)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    if (!tests)
        fail_msg("LULL_TESTS_DIR is not set: run this test with ctest");
    return lull_arena_printf(arena, "%s/data/golden/%s", tests, name);
}
