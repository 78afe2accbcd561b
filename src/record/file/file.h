/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: what a descriptor, or a handle of MPI, stands for, and how many bytes go there. The calls
 * of the C library are recorded where that was asked for (LULL_RECORD_FILES), those of MPI always.
 * Behind a call comes a record that says which file the call was for, and how many bytes it
 * moved. */
#ifndef LULL_RECORD_FILE_FILE_H
#define LULL_RECORD_FILE_FILE_H

#include "record/core.h"

extern bool rec_files_on; /* atomic: calls of the C library are recorded */

/* rec_files_prepare reads the setting, before it is taken out of the environment; rec_files_start
 * is called when recording begins. */
void rec_files_prepare(void);
void rec_files_start(void);

/* The id of the file that a descriptor stands for; the system is asked at the descriptor's first
 * use. 0: the descriptor is not open, or the file cannot be defined. */
uint32_t rec_file_of(int descriptor);
/* The descriptor is closed, or about to stand for another file. */
void rec_file_forget(int descriptor);
/* The id of the file with that path, which may be relative. */
uint32_t rec_file_of_path(const char *path);

/* Writes a record that says what a call did, behind the record of the call, which was just written.
 * `op`: enum lull_tape_io; `file` 0: it is not known which file. */
static inline void rec_file_put(struct rec_thread *self, uint64_t time, unsigned op, uint32_t file,
                                uint64_t bytes)
{
    rec_put_transfer(self, time, op, file != 0 ? file : LULL_TAPE_NO_ID, bytes, LULL_TAPE_ANY);
}

#endif
