/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths: which regions an ideal time is made of. Internal to the room.
 *
 * The path of an ideal time says how many ns of it were spent in each part (a region of the user, a parallel region, or several,
 * lull_ideal_options.part_of): its numbers add up to the time. While a thread computes, its path grows with
 * its time. Where it waits until a time that another thread has come to, it adopts the path of that time. So the
 * path of the last thread to end is the critical path of the run. Example: A computes for 3 s in `f` and sends; B has
 * computed for 1 s in `g`, waits for the message, and computes for 1 s in `g`. The path of B's 4 s is 3 s of `f` and
 * 1 s of `g`.
 *
 * Behind the parts a path has numbers that count, by place, how often it was adopted from another thread.
 *
 * Of two equal times the one with the greater path counts (the first number that differs decides), so that the
 * result does not depend on the order in which threads are evaluated.
 *
 * A path is an item of a store, and is known by its number; 0 is the path of the time 0. Whoever keeps a number
 * holds the path: lull_ideal_path_hold makes one holder more, lull_ideal_path_drop one less. A path that has several holders is
 * copied before it grows. Each share has a store; to another share a path goes as letters (mail.h).
 *
 * The simulator keeps its longest path as nodes that point at each other, and drops from time to time those that no
 * state refers to (sim/engine/path.h). For that somebody has to know all states; here they lie in several shares, which
 * evaluate side by side, and a path has to fit into letters. So a path is a list of numbers, and holders are counted.
 *
 * Where paths are not wanted, the store is NULL, all numbers are 0, and the inline functions do nothing. Memory:
 * 8 bytes for each part, for each thread and each time that somebody may wait for. */
#ifndef LULL_REPLAY_IDEAL_PATH_H
#define LULL_REPLAY_IDEAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_ideal_paths;

/* `size`: numbers of a path, of which the first n_parts are ns of parts. NULL: no memory. */
struct lull_ideal_paths *lull_ideal_paths_create(unsigned n_parts, unsigned size);
void lull_ideal_paths_destroy(struct lull_ideal_paths *paths); /* NULL is allowed */
/* Whether there was no memory for a path since the store was made. */
bool lull_ideal_paths_failed(const struct lull_ideal_paths *paths);

uint32_t lull_ideal_path_keep(struct lull_ideal_paths *paths, uint32_t path);
void lull_ideal_path_give_up(struct lull_ideal_paths *paths, uint32_t path);
bool lull_ideal_path_is_greater(const struct lull_ideal_paths *paths, uint32_t path, uint32_t than);
/* One number of *path, which the caller holds, grows. */
void lull_ideal_path_add(struct lull_ideal_paths *paths, uint32_t *path, uint32_t number,
                         int64_t more);
/* *path grows by ns: first by what is `to_come` ([n_parts], which shrinks), in the order of parts, and by the rest of
 * part 0. */
void lull_ideal_path_spend(struct lull_ideal_paths *paths, uint32_t *path, int64_t *to_come,
                           int64_t ns);
/* The numbers of a path, until a path is made; NULL: all are 0. */
const int64_t *lull_ideal_path_numbers(const struct lull_ideal_paths *paths, uint32_t path);

static inline uint32_t lull_ideal_path_hold(struct lull_ideal_paths *paths, uint32_t path)
{
    return path ? lull_ideal_path_keep(paths, path) : 0;
}

static inline void lull_ideal_path_drop(struct lull_ideal_paths *paths, uint32_t path)
{
    if (path)
        lull_ideal_path_give_up(paths, path);
}

/* Puts a path in the place of another one. The caller held `path`, and now whoever has `to` does. */
static inline void lull_ideal_path_set(struct lull_ideal_paths *paths, uint32_t *to, uint32_t path)
{
    lull_ideal_path_drop(paths, *to);
    *to = path;
}

/* *time with its *path becomes the later of it and of `other`. The caller held `other_path`, and does so no
 * more. Returns whether it was the other. */
static inline bool lull_ideal_path_later(struct lull_ideal_paths *paths, int64_t *time,
                                         uint32_t *path, int64_t other, uint32_t other_path)
{
    if (other > *time || (other == *time && other_path != *path &&
                          lull_ideal_path_is_greater(paths, other_path, *path))) {
        *time = other;
        lull_ideal_path_set(paths, path, other_path);
        return true;
    }
    lull_ideal_path_drop(paths, other_path);
    return false;
}

/* ==== reading ================================================================================= */

/* What is known of a thread where its steps are read: how long it was in each part since the last note that
 * moves its time. */
struct path_reading {
    const uint32_t *part_of; /* by region */
    uint32_t
        *open; /* [n_open]: the parts of the user's regions and of the outermost parallel region
                                that are open, the innermost last */
    size_t n_open, capacity;
    int64_t kept;   /* the kept time up to which `ns` tells all */
    int64_t *ns;    /* [n_parts] */
    int64_t *all;   /* [n_parts]: the same since the begin */
    uint32_t *some; /* [n_some]: the parts whose ns are not 0 */
    uint32_t n_some;
    bool failed; /* there was no memory */
};

/* NULL: no memory. */
struct path_reading *lull_ideal_path_reading_create(const uint32_t *part_of, unsigned n_parts);
void lull_ideal_path_reading_destroy(struct path_reading *reading); /* NULL is allowed */
/* The innermost region changes when the thread has come to a kept time: `region` (LULL_NONE: one that the trace
 * does not name) is entered, or the innermost one is left. */
void lull_ideal_path_change(struct path_reading *reading, int64_t kept, uint32_t region,
                            bool is_left);
/* The thread has come to a kept time. */
void lull_ideal_path_reach(struct path_reading *reading, int64_t kept);

#endif
