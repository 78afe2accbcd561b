/* Files: what a descriptor, or a handle of MPI's, stands for, and what is done with it. The calls
 * of the C library are recorded where that was asked for (LULL_RECORD_FILES), those of MPI always;
 * a call is followed by a record that says which file it was for, and how many bytes went there. */
#ifndef LULL_RECORD_FILE_FILE_H
#define LULL_RECORD_FILE_FILE_H

#include "record/core.h"

extern bool rec_files_on; /* atomic: calls of the C library are recorded */

/* Reads the setting, before it is taken out of the environment; recording begins. */
void rec_files_prepare(void);
void rec_files_start(void);

/* The id of what a descriptor stands for; asks the system at its first use. 0: there is no memory
 * left to know it. */
uint32_t rec_file_of(int descriptor);
/* It is closed, or about to become something else. */
void rec_file_forget(int descriptor);
/* The id of the file with that path, which may be relative. */
uint32_t rec_file_of_path(const char *path);

/* What a call did that is on the tape already; `op`: enum lull_tape_io; file 0: which one is not
 * known. */
static inline void rec_file_put(struct rec_thread *self, uint64_t time, unsigned op, uint32_t file,
                                uint64_t bytes)
{
    rec_put_transfer(self, time, op, file != 0 ? file : LULL_TAPE_NO_ID, bytes, LULL_TAPE_ANY);
}

#endif
