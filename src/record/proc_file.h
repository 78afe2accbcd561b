/* SPDX-License-Identifier: BSD-3-Clause */
/* Files below /proc, in which the system tells of the process and its threads. */
#ifndef LULL_RECORD_PROC_FILE_H
#define LULL_RECORD_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread, in the place of a thread's number in the system. */
enum { REC_OWN_THREAD = 0 };

/* Reads the begin of a file of a thread in /proc, as "stat"; false: the system does not have it. */
bool rec_read_proc(uint32_t thread, const char *name, char *text, size_t size);

/* A number of such a file, in a line like "VmHWM:  12 kB". */
struct rec_proc_number {
    const char *word; /* with which its line begins, in front of blanks and the colon */
    uint64_t value;   /* 0: no line begins with the word */
};
/* Reads numbers from a file of a thread, of whatever length it is. False: the system does not have the file. It takes less
 * than 1 KiB of the stack, since programs have threads with the smallest stacks that there are. */
bool rec_read_proc_numbers(uint32_t thread, const char *name, struct rec_proc_number *numbers,
                           size_t n_numbers);

#endif
