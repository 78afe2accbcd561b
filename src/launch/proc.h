/* Processes by their files in /proc. */
#ifndef LULL_LAUNCH_PROC_H
#define LULL_LAUNCH_PROC_H

#include <stdbool.h>

struct lull_proc {
    int parent;
    char name[32];  /* at most 15 bytes of it */
    char start[32]; /* clock ticks since boot: with its number it names the process for good */
};

bool lull_proc_look(int pid, struct lull_proc *ret_process);
/* Whether it is still that one. */
bool lull_proc_lives(int pid, const char *start);

#endif
