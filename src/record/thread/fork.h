/* SPDX-License-Identifier: BSD-3-Clause */
/* What the measured program starts: forked children, and programs that it executes. */
#ifndef LULL_RECORD_THREAD_FORK_H
#define LULL_RECORD_THREAD_FORK_H

#include <stdbool.h>

/* Arranges what happens to forked children, which are not recorded, and to programs that this one
 * executes, which are recorded with LULL_RECORD_FOLLOW alone. Takes the recorder's settings out of
 * the environment where they are not handed on. False: this program itself is not recorded: it is a
 * shell, or not yet the program that LULL_RECORD_FOLLOW=program is looking for. */
bool rec_prepare_children(void);
/* The environment that makes a program record into this run with the settings of this process:
 * strings "NAME=VALUE", LD_PRELOAD first. Returns their number; 0: they are not known. */
unsigned rec_settings(char *const **ret_settings);

#endif
