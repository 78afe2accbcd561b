#include "support/golden_data.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

const char *golden_data(const char *name, struct lull_arena *arena)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    fail_if(!tests, "LULL_TESTS_DIR is not set: run this test with ctest");
    return lull_arena_printf(arena, "%s/data/golden/%s", tests, name);
}
