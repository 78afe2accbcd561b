/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/path.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* ==== the store =============================================================================== */

struct holders {
    uint32_t count;
    uint32_t next_free; /* of a path that nobody holds */
};

struct lull_ideal_paths {
    unsigned n_parts, size;
    struct holders *holders; /* [n_paths], by number of the path - 1 */
    int64_t *all;            /* [n_paths][size] */
    size_t n_paths, capacity, all_capacity;
    uint32_t free; /* the first of the paths that nobody holds; 0: there is none */
    bool failed;
};

struct lull_ideal_paths *lull_ideal_paths_create(unsigned n_parts, unsigned size)
{
    struct lull_ideal_paths *paths = calloc(1, sizeof *paths);
    if (paths) {
        paths->n_parts = n_parts;
        paths->size = size;
    }
    return paths;
}

void lull_ideal_paths_destroy(struct lull_ideal_paths *paths)
{
    if (!paths)
        return;
    free(paths->holders);
    free(paths->all);
    free(paths);
}

bool lull_ideal_paths_failed(const struct lull_ideal_paths *paths)
{
    return paths->failed;
}

static int64_t *numbers_of(const struct lull_ideal_paths *paths, uint32_t path)
{
    return paths->all + (size_t)(path - 1) * paths->size;
}

/* A path of zeros; 0: no memory, which is noted. */
static uint32_t make_path(struct lull_ideal_paths *paths)
{
    uint32_t path = paths->free;
    if (path) {
        paths->free = paths->holders[path - 1].next_free;
    } else if (paths->n_paths < UINT32_MAX &&
               lull_array_reserve(&paths->holders, &paths->capacity, paths->n_paths + 1,
                                  sizeof *paths->holders) &&
               lull_array_reserve(&paths->all, &paths->all_capacity,
                                  (paths->n_paths + 1) * paths->size, sizeof *paths->all)) {
        path = (uint32_t)++paths->n_paths;
    } else {
        paths->failed = true;
        return 0;
    }
    paths->holders[path - 1].count = 1;
    memset(numbers_of(paths, path), 0, paths->size * sizeof *paths->all);
    return path;
}

/* Makes a path one that nobody else holds. False: no memory, which is noted. */
static bool make_own(struct lull_ideal_paths *paths, uint32_t *path)
{
    if (*path && paths->holders[*path - 1].count == 1)
        return true;
    const uint32_t fresh = make_path(paths);
    if (fresh && *path)
        memcpy(numbers_of(paths, fresh), numbers_of(paths, *path),
               paths->size * sizeof *paths->all);
    if (fresh)
        lull_ideal_path_set(paths, path, fresh);
    return fresh;
}

uint32_t lull_ideal_path_keep(struct lull_ideal_paths *paths, uint32_t path)
{
    paths->holders[path - 1].count++;
    return path;
}

void lull_ideal_path_give_up(struct lull_ideal_paths *paths, uint32_t path)
{
    struct holders *holders = &paths->holders[path - 1];
    if (--holders->count > 0)
        return;
    holders->next_free = paths->free;
    paths->free = path;
}

const int64_t *lull_ideal_path_numbers(const struct lull_ideal_paths *paths, uint32_t path)
{
    return path ? numbers_of(paths, path) : NULL;
}

bool lull_ideal_path_is_greater(const struct lull_ideal_paths *paths, uint32_t path, uint32_t than)
{
    for (unsigned i = 0; i < paths->size; i++) {
        const int64_t a = path ? numbers_of(paths, path)[i] : 0;
        const int64_t b = than ? numbers_of(paths, than)[i] : 0;
        if (a != b)
            return a > b;
    }
    return false;
}

void lull_ideal_path_add(struct lull_ideal_paths *paths, uint32_t *path, uint32_t number,
                         int64_t more)
{
    if (more != 0 && make_own(paths, path))
        numbers_of(paths, *path)[number] += more;
}

void lull_ideal_path_spend(struct lull_ideal_paths *paths, uint32_t *path, int64_t *to_come,
                           int64_t ns)
{
    if (ns == 0 || !make_own(paths, path))
        return;
    int64_t *parts = numbers_of(paths, *path);
    for (unsigned p = 0; p < paths->n_parts && ns > 0; p++) {
        const int64_t some = to_come[p] < ns ? to_come[p] : ns;
        parts[p] += some;
        to_come[p] -= some;
        ns -= some;
    }
    parts[0] += ns;
}

/* ==== reading ================================================================================= */

struct path_reading *lull_ideal_path_reading_create(const uint32_t *part_of, unsigned n_parts)
{
    struct path_reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return NULL;
    reading->part_of = part_of;
    reading->ns = calloc(n_parts, sizeof *reading->ns);
    reading->all = calloc(n_parts, sizeof *reading->all);
    reading->some = calloc(n_parts, sizeof *reading->some);
    if (reading->ns && reading->all && reading->some)
        return reading;
    lull_ideal_path_reading_destroy(reading);
    return NULL;
}

void lull_ideal_path_reading_destroy(struct path_reading *reading)
{
    if (!reading)
        return;
    free(reading->open);
    free(reading->ns);
    free(reading->all);
    free(reading->some);
    free(reading);
}

static uint32_t innermost_part(const struct path_reading *reading)
{
    return reading->n_open > 0 ? reading->open[reading->n_open - 1] : 0;
}

void lull_ideal_path_reach(struct path_reading *reading, int64_t kept)
{
    if (kept == reading->kept)
        return;
    const uint32_t part = innermost_part(reading);
    if (reading->ns[part] == 0)
        reading->some[reading->n_some++] = part;
    reading->ns[part] += kept - reading->kept;
    reading->all[part] += kept - reading->kept;
    reading->kept = kept;
}

void lull_ideal_path_change(struct path_reading *reading, int64_t kept, uint32_t region,
                            bool is_left)
{
    lull_ideal_path_reach(reading, kept);
    if (is_left) {
        reading->n_open -= reading->n_open > 0;
        return;
    }
    const uint32_t part = region == UINT32_MAX ? innermost_part(reading) : reading->part_of[region];
    if (lull_array_reserve(&reading->open, &reading->capacity, reading->n_open + 1,
                           sizeof *reading->open))
        reading->open[reading->n_open++] = part;
    else
        reading->failed = true;
}
