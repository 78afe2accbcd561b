/* SPDX-License-Identifier: BSD-3-Clause */
/* What is supposed of devices: other lengths of kernels and copies, copies beside kernels, no latency of launches, fewer
 * launches. Nothing is to be learned for that but what the survey of a replay knows. Internal to the room but for the
 * options and their reading. */
#ifndef LULL_REPLAY_WHAT_IF_DEVICES_H
#define LULL_REPLAY_WHAT_IF_DEVICES_H

#include "replay/replay.h"
#include "team/team.h"

#define LULL_WHAT_IF_KERNELS 64

struct lull_what_if_devices {
    uint32_t n_kernels;
    const char *kernels[LULL_WHAT_IF_KERNELS]; /* names */
    double factors[LULL_WHAT_IF_KERNELS];      /* >= 0 */
    double speed;                              /* of all devices; 0: as measured */
    bool no_latency;     /* operations may begin when the call that submits them does */
    bool ahead;          /* operations need not wait for the call that submits them */
    bool no_copies;      /* copies and fills take no time */
    bool overlap;        /* copies and fills run beside the other operations of their stream */
    bool graphs;         /* sequences that a thread submits again are submitted by one call */
    bool graphs_if_any;  /* the same; where no sequence is submitted again, nothing changes */
    bool balance;        /* kernels of each device take as long in all as on average */
    bool free_exchanges; /* exchanges (match/exchange.h) only wait for their ranks */
};

/* Whether anything is supposed. */
bool lull_what_if_devices_supposes(const struct lull_what_if_devices *devices);

/* Adds kernels from texts "NAME*FACTOR"; `texts` ends with NULL, or is NULL. Fails with LULL_ERR_RANGE and a text that
 * begins with --kernel. */
lull_status lull_what_if_kernels_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_devices *devices, struct lull_error *err);

bool lull_what_if_devices_put(const struct lull_what_if_devices *devices, struct lull_flow *flow);
bool lull_what_if_devices_get(struct lull_what_if_devices *devices, struct lull_arena *arena,
                              struct lull_flow *flow);

/* Fails with LULL_ERR_RANGE where the run has no devices, or not a kernel that is named. */
lull_status lull_what_if_devices_check(const struct lull_trace *trace, uint32_t application,
                                       const struct lull_what_if_devices *devices,
                                       struct lull_error *err);

/* What is supposed, for a replay with this survey; in `arena`. Fails with LULL_ERR_RANGE where the run does not tell what
 * was submitted to its devices, so that they take no part in a replay, and for `graphs` where no sequence is submitted again. */
lull_status lull_what_if_devices_change(const struct lull_trace *trace,
                                        const struct lull_what_if_devices *devices,
                                        const struct lull_survey *survey, struct lull_arena *arena,
                                        const struct lull_device_change **ret_change,
                                        struct lull_error *err);

#endif
