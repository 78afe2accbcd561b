/* Calls that never return: left by longjmp, or by an exception out of an error handler. */
#ifndef LULL_RECORD_THREAD_LEFT_H
#define LULL_RECORD_THREAD_LEFT_H

#include "record/core.h"

/* The thread is inside a call that is recorded, or paused, and calls something from `frame`
 * (REC_FRAME). False: that is a call inside the other one. True: the other one was left without a
 * return; it has been closed, and nothing is open. */
bool rec_forget_left(struct rec_thread *self, uintptr_t frame);

#endif
