/* SPDX-License-Identifier: BSD-3-Clause */
/* What a clock of a device, or of its runtime, said when the recorder's clock said what. Between
 * such points time is a straight line; before the first and behind the last both clocks are
 * taken to go equally fast. */
#ifndef LULL_RECORD_DEVICE_POINTS_H
#define LULL_RECORD_DEVICE_POINTS_H

#include <stdbool.h>
#include <stdint.h>

enum { REC_MOST_POINTS = 256 };

/* The device's clock said `device` ns when the recorder's said `ticks`, give or take `error`
 * ticks. */
struct rec_point {
    uint64_t device, ticks, error;
};

struct rec_points {
    unsigned n;
    struct rec_point all[REC_MOST_POINTS]; /* ascending */
};

/* Whether both clocks have gone equally fast since an earlier point, to a thousandth. */
static inline bool rec_points_agree(const struct rec_point *one, const struct rec_point *other,
                                    double ns_per_tick)
{
    const double ns = (double)(int64_t)(other->ticks - one->ticks) * ns_per_tick,
                 apart = (double)(int64_t)(other->device - one->device) - ns,
                 most = 1e-3 * ns + 2 * (double)(one->error + other->error) * ns_per_tick;
    return apart <= most && apart >= -most;
}

/* A point of the same time as the last one is left out. Where there are too many, every other one is
 * dropped; the last stays. */
static inline void rec_points_append(struct rec_points *points, const struct rec_point *point)
{
    const unsigned n = points->n;
    if (n > 0 &&
        (point->device <= points->all[n - 1].device || point->ticks <= points->all[n - 1].ticks))
        return;
    if (n == REC_MOST_POINTS) {
        for (unsigned i = 0; i < REC_MOST_POINTS / 2; i++)
            points->all[i] = points->all[2 * i + 1];
        points->n = REC_MOST_POINTS / 2;
    }
    points->all[points->n++] = *point;
}

/* The same for clocks that may be set: then all earlier points are forgotten. Times from before turn
 * into times that are wrong by as much as the clock was set, which shows. */
static inline void rec_points_add(struct rec_points *points, double ns_per_tick,
                                  const struct rec_point *point)
{
    if (points->n > 0 && !rec_points_agree(&points->all[points->n - 1], point, ns_per_tick))
        points->n = 0;
    rec_points_append(points, point);
}

/* The recorder's time of a time of the device; there is a point. *error, in ticks, is made
 * larger, if need be. */
static inline uint64_t rec_points_ticks(const struct rec_points *points, double ns_per_tick,
                                        uint64_t time, uint64_t *error)
{
    unsigned i = points->n - 1;
    while (i > 0 && points->all[i].device > time)
        i--;
    const struct rec_point *one = &points->all[i], *next = one + 1;
    const double since = (double)(int64_t)(time - one->device);
    double slope = 1 / ns_per_tick;
    *error = one->error > *error ? one->error : *error;
    if (time >= one->device && i + 1 < points->n) {
        slope = (double)(next->ticks - one->ticks) / (double)(next->device - one->device);
        *error = next->error > *error ? next->error : *error;
    }
    return one->ticks + (uint64_t)(int64_t)(since * slope);
}

#endif
