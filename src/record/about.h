/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of a process beside its events: what `lull record` has found out about this process
 * that differs from the run as a whole (launch/about.h), and the status with which the process
 * ends. */
#ifndef LULL_RECORD_ABOUT_H
#define LULL_RECORD_ABOUT_H

/* `lines` is LULL_RECORD_ABOUT (core.h), or NULL. */
void rec_about_start(const char *lines);
/* Called when nothing more is recorded: ends the definitions. The C library tells the exit status
 * before or after this call. A process that is killed, or that ends by _exit, has no status. */
void rec_about_end(void);

#endif
