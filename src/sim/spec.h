/* SPDX-License-Identifier: BSD-3-Clause */
/* Specs: how users name a network, a noise, a pattern or a placement, with its parameters.
 *
 *   NAME                              ideal
 *   NAME:KEY=VALUE,KEY=VALUE          hockney:latency=1us,node.latency=300ns
 *   FILE.json                         a JSON object with the same keys
 *   FILE.json:KEY=VALUE               the same, some of it said differently
 *
 * Values are numbers with units (base/text.h; bare ones count ns and bytes), words, lists joined by
 * '+' ("1+2+3"; of ranks also "0-7+16"), or extents ("8x8x8"). In a file the name stands under
 * "name", an object in the object gives keys with a dot ({"node": {"latency": "300ns"}}), an array
 * is a list; numbers may be numbers.
 *
 * A *sweep* stands for several values: FROM:TO:N gives N of them in equal steps, FROM:TO:N:log in
 * equal ratios (both ends included), A/B/C exactly these. A '/' separates numbers only where a
 * digit, sign or dot follows ("1GB/s/2GB/s" are two); it also separates words ("all/each"), and
 * lists and extents ("1+2/1+2+3"), but not in the name of a file.
 *
 * A reader asks for each key that it knows, with a function below, and then calls
 * lull_spec_finish, which fails if the user gave others. All messages are one line and begin with
 * the spec's name. */
#ifndef LULL_SIM_SPEC_H
#define LULL_SIM_SPEC_H

#include "base/arena.h"
#include "base/error.h"
#include "sim/network/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== spec ==================================================================================== */

struct lull_spec; /* lives in the arena it was made in; used by one thread */

/* LULL_ERR_RANGE: text that is no spec; otherwise a file that cannot be read. */
lull_status lull_spec_parse(const char *text, struct lull_arena *arena, struct lull_spec **ret_spec,
                            struct lull_error *err);
const char *lull_spec_name(const struct lull_spec *spec);
/* As the user wrote it; of one point of a sweep: with its values. */
const char *lull_spec_text(const struct lull_spec *spec);

/* ---- reading: `key` must live as long as the spec; results of the last functions in its arena */

/* The text as it stands, or `fallback`. */
const char *lull_spec_string(struct lull_spec *spec, const char *key, const char *fallback);
/* A number of the parameter's quantity within its limits, else its default. Times are in ns, sizes
 * in bytes, bandwidths in bytes per second ("1GB/s", "1GB", or bytes), times per byte in ns
 * ("0.1ns/B", "0.1"), factors plain or in per cent. "inf" is allowed where `most` is infinite. */
lull_status lull_spec_number(struct lull_spec *spec, const struct lull_parameter *parameter,
                             double *ret_value, struct lull_error *err);
/* The same for the key LEVEL.NAME; without it *ret_value stays as it is. */
lull_status lull_spec_level_number(struct lull_spec *spec, const char *level,
                                   const struct lull_parameter *parameter, double *ret_value,
                                   struct lull_error *err);
/* A whole number from `least` to `most`; without the key `fallback`. */
lull_status lull_spec_count(struct lull_spec *spec, const char *key, uint64_t fallback,
                            uint64_t least, uint64_t most, uint64_t *ret_value,
                            struct lull_error *err);
/* Which of the words it is ("open" of {"open", "periodic", NULL}); without the key `fallback`. */
lull_status lull_spec_choice(struct lull_spec *spec, const char *key, const char *const *words,
                             unsigned fallback, unsigned *ret_choice, struct lull_error *err);
/* "1+2+3", "0-7+16": whole numbers from `least` to `most`, in the order given, ranges spelled out.
 * Without the key *ret_count is 0. */
lull_status lull_spec_list(struct lull_spec *spec, const char *key, uint32_t least, uint32_t most,
                           const uint32_t **ret_list, uint32_t *ret_count, struct lull_error *err);
/* "1ms+2ms": times >= 0 in ns. Without the key *ret_count is 0. */
lull_status lull_spec_times(struct lull_spec *spec, const char *key, const int64_t **ret_list,
                            uint32_t *ret_count, struct lull_error *err);
/* "8x8x8": one to three extents >= 1; their product is at most `most`. Extents that are not given
 * are 1. Without the key *ret_count is 0. */
lull_status lull_spec_extents(struct lull_spec *spec, const char *key, uint32_t most,
                              uint32_t ret_extents[3], uint32_t *ret_count, struct lull_error *err);

/* Fails if the user gave a key that nobody asked for; names the nearest and all known ones. */
lull_status lull_spec_finish(const struct lull_spec *spec, struct lull_error *err);
/* Fails for a name that is not in `names` (NULL at the end); `what` is "network". */
lull_status lull_spec_unknown_name(const struct lull_spec *spec, const char *what,
                                   const char *const *names, struct lull_error *err);

/* ---- sweeps */

/* All combinations of the sweeps in some specs; the last sweep varies fastest. */
struct lull_sweep {
    const struct lull_spec *const *specs;
    uint32_t n_specs;
    uint32_t n_axes; /* 0: no sweep, one point */
    const struct lull_sweep_axis {
        uint32_t spec;
        const char *key;
        uint32_t n_values;
        const char *const *values; /* as texts */
    } * axes;
    uint64_t n_points;
};

/* Looks for sweeps in the specs (NULL among them is passed over); more than 100,000 points are
 * refused. */
lull_status lull_sweep_make(const struct lull_spec *const *specs, uint32_t n_specs,
                            struct lull_arena *arena, const struct lull_sweep **ret_sweep,
                            struct lull_error *err);
/* The text of an axis at a point. */
const char *lull_sweep_value(const struct lull_sweep *sweep, uint64_t point, uint32_t axis);
/* A copy of spec number `spec` with the values of the point; NULL where it is NULL. */
struct lull_spec *lull_sweep_spec(const struct lull_sweep *sweep, uint64_t point, uint32_t spec,
                                  struct lull_arena *arena);

/* ==== spec entry ============================================================================== */

/* What a spec holds. Internal to the sim room. */

struct lull_spec_entry {
    const char *key, *value;
};

struct lull_spec {
    struct lull_arena *arena;
    const char *name;
    const char *text;
    struct lull_spec_entry *entries; /* no key twice */
    uint32_t n_entries;
    size_t capacity;
    const char **asked; /* keys that readers asked for, each once */
    uint32_t n_asked;
    size_t asked_capacity;
};

#endif
