/* Communicators and their members, for collective operations; internal to the room. */
#ifndef LULL_REPLAY_IDEAL_GATHER_H
#define LULL_REPLAY_IDEAL_GATHER_H

#include "replay/ideal/share.h"

/* The process of a rank; both sides of an inter-communicator are one sequence. */
uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank);
/* NULL: no memory, which is noted. */
struct circle *lull_circle_open(struct share *share, uint32_t comm);
/* The series of a kind of operation; LULL_NONE: no memory. */
uint32_t lull_circle_series(struct share *share, uint32_t comm, uint8_t kind);
/* A process in a series; NULL: no memory, or `ret_stranger`: it is no member at all. */
struct member *lull_circle_member(struct share *share, struct process *process, uint32_t comm,
                                  uint8_t kind, bool *ret_stranger);

#endif
