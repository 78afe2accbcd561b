/* What the measured program starts: forked children, and programs that it executes. */
#ifndef LULL_RECORD_THREAD_FORK_H
#define LULL_RECORD_THREAD_FORK_H

#include <stdbool.h>

/* Sees to what the program starts: forked children do not record, and programs that it executes
 * are recorded only with LULL_RECORD_FOLLOW=1. False: this is a shell that is only followed. */
bool rec_prepare_children(void);
/* The environment that makes a program record into this run as this process was told to: strings
 * "NAME=VALUE", LD_PRELOAD first. Returns their number; 0: it is not known. */
unsigned rec_settings(char *const **ret_settings);

#endif
