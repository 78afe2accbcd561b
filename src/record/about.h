/* The facts of a process beside its events: in what it differs from the run as a whole, as
 * `lull record` has found out (launch/about.h), and with which status it ends. */
#ifndef LULL_RECORD_ABOUT_H
#define LULL_RECORD_ABOUT_H

/* `lines` is LULL_RECORD_ABOUT (core.h), or NULL. */
void rec_about_start(const char *lines);
/* When nothing more is recorded: ends the definitions. The C library tells the status of an exit
 * before or after this. A process that is killed, or ends by _exit, has none. */
void rec_about_end(void);

#endif
