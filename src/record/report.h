/* What the recorder tells the user at the end: where the run is, and what recording has cost. */
#ifndef LULL_RECORD_REPORT_H
#define LULL_RECORD_REPORT_H

#include "record/core.h"

void rec_report_begin(void);
/* One line of rank 0, when something that was asked for cannot be had. */
void rec_report_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* This process cannot record; errno says why. */
void rec_report_refused(const char *run);
/* Before the tape of a thread is closed; NULL: it is not known what is there. */
void rec_report_add(const struct rec_thread *self);
void rec_report(void);

#endif
