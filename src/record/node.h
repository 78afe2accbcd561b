/* SPDX-License-Identifier: BSD-3-Clause */
/* The node that the process is on: which one, and its clock. */
#ifndef LULL_RECORD_NODE_H
#define LULL_RECORD_NODE_H

#include <stdint.h>

/* Finds the key and the clock; after the rank is known, before the environment is cleared. */
void rec_node_start(void);

/* A number that is the same for processes which read the same clock, and different for all others;
 * never 0. */
uint64_t rec_node_key(void);

/* The clock of the node in ns: CLOCK_MONOTONIC, which all processes of a node share, and with
 * LULL_RECORD_SKEW (tests) what that pretends. rec_node_clock_of converts a time of
 * CLOCK_MONOTONIC. */
int64_t rec_node_clock(void);
int64_t rec_node_clock_of(int64_t monotonic);

#endif
