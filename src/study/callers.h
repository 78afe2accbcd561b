/* SPDX-License-Identifier: BSD-3-Clause */
/* The callers of the code at a sample, from the words of the stack that it has (lull_trace_read_detail),
 * by the tables of the files with the code (lull_symbols_unwind), which must be those that were
 * recorded. Example: of a sample in smooth(), called by main(), the call in main() and the one in the C
 * library that called main().
 *
 * Where a file has no table for the code, it is taken to keep its frame in the frame register, as code does
 * that is compiled with -fno-omit-frame-pointer.
 *
 * Not for several threads at a time. */
#ifndef LULL_STUDY_CALLERS_H
#define LULL_STUDY_CALLERS_H

#include "trace/trace.h"

/* Where a call is: its last byte. */
struct lull_caller {
    uint64_t offset;
    uint32_t object; /* index into trace->objects */
};

/* `trace` is borrowed. Fails with LULL_ERR_MEMORY. */
struct lull_callers;
lull_status lull_callers_create(const struct lull_trace *trace, struct lull_callers **ret_callers,
                                struct lull_error *err);
/* Writes up to `most` callers of the code at `offset` in `object`, the innermost first, and returns
 * their number. *ret_whole is false where there are more: the stack that was kept ends in front of
 * them, or nobody knows how to find them. */
uint32_t lull_callers_find(struct lull_callers *callers, uint32_t object, uint64_t offset,
                           const struct lull_sample_detail *detail, struct lull_caller *ret_callers,
                           uint32_t most, bool *ret_whole);
void lull_callers_destroy(struct lull_callers *callers); /* NULL is allowed */

#endif
