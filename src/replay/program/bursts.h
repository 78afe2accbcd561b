/* SPDX-License-Identifier: BSD-3-Clause */
/* Bursts: the computations of the masters of an application, just as a replay would have them
 * (replay.h, struct lull_replay_burst). They are found in a pass in which other analyses may take
 * part. The bursts of one stream are told in order; those of different streams may be told at the
 * same time. Memory: about 500 bytes per process. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_BURSTS_H
#define LULL_REPLAY_PROGRAM_BURSTS_H

#include "activity/pass.h"
#include "replay/replay.h"

struct lull_bursts_options {
    const struct lull_reading *reading; /* whose application it is; may be NULL */
    bool pieces;                        /* as in the options of the replay */
    bool (*take)(void *context, const struct lull_replay_burst *burst); /* false: no memory */
    void *context;
};

struct lull_bursts;

lull_status lull_bursts_create(const struct lull_trace *trace,
                               const struct lull_bursts_options *options,
                               struct lull_bursts **ret_bursts, struct lull_error *err);
void lull_bursts_destroy(struct lull_bursts *bursts); /* NULL is allowed */
/* For one pass, whose `marks` are those of the replay. */
struct lull_consumer lull_bursts_consumer(struct lull_bursts *bursts);

#endif
