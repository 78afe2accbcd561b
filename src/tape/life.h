/* SPDX-License-Identifier: BSD-3-Clause */
/* Tape: which process of the system writes a tape, and whether it is still there. A recorder says
 * the former in its definitions (LULL_TAPE_DEFINE_LIFE); who reads a tape while it is written asks
 * for the latter. */
#ifndef LULL_TAPE_LIFE_H
#define LULL_TAPE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* The four numbers together name one process of one boot of a kernel; all 0: not known. */
struct lull_tape_life {
    uint64_t node;  /* the same for all that run under one kernel: lull_tape_node_key */
    uint64_t space; /* the namespace in which it has its number: the inode of /proc/self/ns/pid */
    uint64_t pid;
    uint64_t start; /* when it began, in clock ticks since the boot (proc(5), /proc/PID/stat) */
};

/* A number for this node, from the id of its last boot, because two nodes may have the same name.
 * 0: the id is not known. Allocates nothing. */
uint64_t lull_tape_node_key(void);

/* The calling process; false where the system does not tell all. Allocates nothing. */
bool lull_tape_own_life(struct lull_tape_life *ret_life);

/* What is known of the process. ELSEWHERE: it runs on another node, or in another namespace, or the
 * system does not tell; whether it is still there cannot be known here. */
enum lull_tape_living { LULL_TAPE_ALIVE, LULL_TAPE_OVER, LULL_TAPE_ELSEWHERE };

/* Whether the process is known, and runs, or ran, under this kernel. */
bool lull_tape_is_of_node(const struct lull_tape_life *life);
/* Whether it is stopped (SIGSTOP, or by a debugger); false, too, where that is not known. */
bool lull_tape_is_stopped(const struct lull_tape_life *life);

/* Watches one process. */
struct lull_tape_watch {
    struct lull_tape_life life;
    int pidfd; /* -1: the kernel has none, or none is left; /proc is asked each time */
    enum lull_tape_living living;
};

void lull_tape_watch_begin(struct lull_tape_watch *watch, const struct lull_tape_life *life);
/* Once it is LULL_TAPE_OVER, it stays so. What the process has written is all there then. */
enum lull_tape_living lull_tape_watch_look(struct lull_tape_watch *watch);
void lull_tape_watch_end(struct lull_tape_watch *watch);

#endif
