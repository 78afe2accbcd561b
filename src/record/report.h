/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recorder tells the user: rank 0 says at the end what was recorded, what that has cost
 * and where the run is, and earlier what cannot be had. Every message is one line on stderr. */
#ifndef LULL_RECORD_REPORT_H
#define LULL_RECORD_REPORT_H

#include "record/core.h"

void rec_report_begin(void);
/* One line of rank 0: something that was asked for cannot be had. */
void rec_report_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* This process cannot record; errno says why. */
void rec_report_refused(const char *run);
/* Counts the visits and bytes of a thread, before its tape is closed; NULL: a thread of whose tape
 * nothing is known. */
void rec_report_add(const struct rec_thread *self);
/* A runtime says that it has taken so much of the program's time for the recorder's sake. */
void rec_report_charge(double ns);
void rec_report(void);

#endif
