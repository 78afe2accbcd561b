/* The node that the process is on: which one, and its clock. */
#ifndef LULL_RECORD_NODE_H
#define LULL_RECORD_NODE_H

#include <stdint.h>

/* After the rank is known, before the environment is cleared. */
void rec_node_start(void);

/* The same for processes that read the same clock, different for all others; never 0. */
uint64_t rec_node_key(void);

/* CLOCK_MONOTONIC, which all processes of a node share, in ns. */
int64_t rec_node_clock(void);
int64_t rec_node_clock_of(int64_t monotonic);

#endif
