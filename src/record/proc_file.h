/* SPDX-License-Identifier: BSD-3-Clause */
/* Files below /proc, in which the system tells of the process and its threads. */
#ifndef LULL_RECORD_PROC_FILE_H
#define LULL_RECORD_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread, in the place of a thread's number in the system. */
enum { REC_OWN_THREAD = 0 };

/* Reads a file of a thread in /proc, as "status"; false: the system does not have it. */
bool rec_read_proc(uint32_t thread, const char *name, char *text, size_t size);
/* The number behind a word, in lines like "nr_migrations  :  12"; 0: the word is not there. */
uint64_t rec_number_behind(const char *text, const char *word);

#endif
