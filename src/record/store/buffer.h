/* The tape of one thread: a file that grows by whole chunks, and the chunk that is being filled. */
#ifndef LULL_RECORD_STORE_BUFFER_H
#define LULL_RECORD_STORE_BUFFER_H

#include "record/core.h"

/* Where things stand in the space of a thread. */
enum { REC_SPACE_TAIL = LULL_TAPE_HEADER_SIZE, REC_SPACE_SUMS = REC_SPACE_TAIL + LULL_TAPE_CHUNK };

/* Creates the files of a thread. False: it cannot be recorded. */
bool rec_buffer_begin(struct rec_thread *self);
/* Closes the files of a thread and gives its memory back. */
void rec_buffer_end(struct rec_thread *self);
/* What the thread writes from now on goes nowhere: neither into files nor to a forked parent. */
void rec_buffer_detach(struct rec_thread *self);
/* "rank 3", "rank 3 thread 1" */
void rec_buffer_name(struct rec_thread *self);
/* Events go nowhere from now on; the flag says why. */
void rec_buffer_stop(struct rec_thread *self, unsigned flag);

#endif
