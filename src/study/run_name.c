#include "study/run_name.h"

#include <string.h>

static const char *const extensions[] = {".gz", ".prv", ".otf2", ".json", ".tape", ".lull"};
/* Names that the tracers give to every run. */
static const char *const generic[] = {"traces", "eztrace_log", "trace"};

static size_t drop_extension(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        size_t size = strlen(extensions[i]);
        if (length > size && memcmp(name + length - size, extensions[i], size) == 0)
            return length - size;
    }
    return length;
}

static bool is_generic(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
        if (strlen(generic[i]) == length && memcmp(generic[i], name, length) == 0)
            return true;
    return false;
}

/* Moves [begin, end) to the last part of the path that ends at `end`; trailing slashes go. */
static size_t last_part(const char *path, size_t *end)
{
    while (*end > 1 && path[*end - 1] == '/')
        --*end;
    size_t begin = *end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return begin;
}

const char *lull_run_name(const char *path, struct lull_arena *arena)
{
    size_t end = strlen(path);
    size_t begin = last_part(path, &end);
    size_t length = end - begin;
    for (size_t shorter = drop_extension(path + begin, length); shorter < length;
         shorter = drop_extension(path + begin, length))
        length = shorter;
    if (begin > 0 && is_generic(path + begin, length)) {
        size_t folder_end = begin;
        size_t folder = last_part(path, &folder_end);
        bool tells = folder_end > folder && path[folder] != '.' && path[folder] != '/';
        if (tells)
            return lull_arena_strndup(arena, path + folder, folder_end - folder);
    }
    return length ? lull_arena_strndup(arena, path + begin, length) : path;
}

static bool taken(const struct lull_runs *runs, uint32_t index)
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (i != index && strcmp(runs->runs[i].name, runs->runs[index].name) == 0)
            return true;
    return false;
}

static bool taken_before(const struct lull_runs *runs, uint32_t index, const char *name)
{
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(runs->runs[i].name, name) == 0)
            return true;
    return false;
}

void lull_run_make_names_differ(struct lull_runs *runs, struct lull_arena *arena)
{
    bool *ambiguous = lull_arena_zero(arena, runs->count, sizeof(*ambiguous));
    for (uint32_t i = 0; i < runs->count; i++)
        ambiguous[i] = taken(runs, i);
    for (uint32_t i = 0; i < runs->count; i++) {
        struct lull_run *run = &runs->runs[i];
        if (ambiguous[i])
            run->name =
                run->trace ? run->path : lull_arena_printf(arena, "%s:%s", run->path, run->name);
        const char *plain = run->name;
        for (unsigned n = 2; taken_before(runs, i, run->name); n++)
            run->name = lull_arena_printf(arena, "%s#%u", plain, n);
    }
}
