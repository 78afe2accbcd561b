#include "binary/symbols.h"
#include "filter/filter.h"

#include <setjmp.h>

/* Where the process that is measured goes on when there is no memory. */
static __thread jmp_buf given_up;

static void give_up(void)
{
    longjmp(given_up, 1);
}

struct application {
    const struct lull_filter *filter;
    struct lull_symbols *symbols;
    struct lull_arena *arena;
    lull_filter_exclude *exclude;
    void *context;
};

static void judge(void *context, uint64_t offset, const char *mangled)
{
    const struct application *to = context;
    const struct lull_function function = lull_symbols_function(to->symbols, offset, to->arena);
    if (lull_filter_excludes_file(to->filter, function.file, function.path) ||
        lull_filter_excludes_name(to->filter, function.name, mangled))
        to->exclude(to->context, offset);
}

static bool apply(const char *filter_path, const char *object_path, const char *build_id,
                  struct application *to)
{
    struct lull_error err;
    if (lull_filter_read(filter_path, to->arena, &to->filter, &err) != LULL_OK ||
        lull_symbols_open(object_path, build_id, &to->symbols) != LULL_SYMBOLS_FOUND)
        return false;
    if (lull_symbols_needs(to->symbols, "__cyg_profile_func_enter"))
        lull_symbols_visit(to->symbols, judge, to);
    lull_symbols_close(to->symbols);
    return true;
}

bool lull_filter_apply(const char *filter_path, const char *object_path, const char *build_id,
                       lull_filter_exclude *exclude, void *context)
{
    struct lull_arena *volatile arena = NULL;
    if (setjmp(given_up) != 0) {
        lull_arena_destroy(arena);
        return false;
    }
    arena = lull_arena_create(give_up);
    struct application to = {.arena = arena, .exclude = exclude, .context = context};
    const bool good = apply(filter_path, object_path, build_id, &to);
    lull_arena_destroy(arena);
    return good;
}
