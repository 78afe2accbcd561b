#include "support/arena_case.h"

struct lull_arena *arena;

int arena_begin(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return 0;
}

int arena_end(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    return 0;
}
