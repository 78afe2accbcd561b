/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/run.h"

#include <string.h>

const struct lull_division *lull_run_division(const struct lull_run *run)
{
    const struct lull_division *division = lull_reading_of(run->reading)->division;
    return lull_division_divides(division) ? division : NULL;
}

void *lull_run_state(const struct lull_run *run, const struct lull_analysis *analysis)
{
    return lull_asked_find(run->asked, run->n_asked, analysis);
}

const bool *lull_run_callers(const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    const struct lull_trace *trace = run->trace;
    bool *callers = NULL;
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        int64_t ns = 0;
        for (int parallel = 0; parallel < 2; parallel++)
            ns += thread->times.ns[LULL_MPI_P2P][parallel] +
                  thread->times.ns[LULL_MPI_COLLECTIVE][parallel];
        if (thread->master || ns == 0)
            continue;
        if (!callers)
            callers = lull_arena_zero(arena, trace->n_locations, sizeof *callers);
        uint32_t rank = breakdown->processes[thread->process].rank;
        for (uint32_t l = 0; l < trace->n_locations; l++) {
            const struct lull_process *process = &trace->processes[trace->locations[l].process];
            if (process->application == run->reading->application && process->rank == rank &&
                trace->locations[l].kind == thread->kind &&
                trace->locations[l].number == thread->number)
                callers[l] = true;
        }
    }
    return callers;
}

/* ---- names ----------------------------------------------------------------------------------- */

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

const char *lull_run_shape(const struct lull_run *run, struct lull_arena *arena)
{
    if (run->min_threads == run->max_threads)
        return lull_arena_printf(arena, "%u x %u", run->processes, run->max_threads);
    return lull_arena_printf(arena, "%u x %u-%u", run->processes, run->min_threads,
                             run->max_threads);
}
