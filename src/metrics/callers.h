/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers: which functions called the code at a sample, from the words of the stack that it has
 * (lull_trace_read_detail), by the tables of the files with the code (lull_symbols_unwind), which must be
 * those that were recorded. Example: of a sample in smooth(), called by main(), the call in main() and the
 * one in the C library that called main().
 *
 * Where a file has no table for the code, it is taken to keep its frame in the frame register, as code does
 * that is compiled with -fno-omit-frame-pointer. Stubs through which Python executes a function do nothing but
 * call the interpreter, with a frame of 16 bytes (Python/asm_trampoline.S of CPython 3.12 and 3.13).
 *
 * Several workers may ask at the same time, each about another location. */
#ifndef LULL_METRICS_CALLERS_H
#define LULL_METRICS_CALLERS_H

#include "activity/step.h"
#include "trace/trace.h"

/* A place in the code: of a call that of its last byte. As a key of hash tables it has no padding. */
struct lull_caller {
    uint64_t offset; /* in the object */
    uint64_t object; /* index into trace->objects, or LULL_NONE */
};

struct lull_callers;
/* `trace` is borrowed. Fails with LULL_ERR_MEMORY. */
lull_status lull_callers_create(const struct lull_trace *trace, unsigned workers,
                                struct lull_callers **ret_callers, struct lull_error *err);
void lull_callers_destroy(struct lull_callers *callers); /* NULL is allowed */
/* Writes up to `most` callers of the code at a sample (a SAMPLE) of a location, the innermost first, and
 * returns their number. *ret_whole is false where there are more: the stack that was kept ends in front
 * of them, or nobody knows how to find them. Of a sample without a stack there are none. */
uint32_t lull_callers_find(struct lull_callers *callers, unsigned worker, uint32_t location,
                           const struct lull_step *sample, struct lull_caller *ret_callers,
                           uint32_t most, bool *ret_whole);
/* Whether the run knows functions of Python. */
bool lull_callers_has_python(const struct lull_trace *trace);
/* The place that a sample counts for: its own; or, where the interpreter of Python was executing a function
 * that is known by its stub, that function, also while the interpreter was in the C library (in malloc, say).
 * What the interpreter calls in other files, as in an extension, counts for itself. With NULL its own. */
struct lull_caller lull_callers_place(struct lull_callers *callers, unsigned worker,
                                      uint32_t location, const struct lull_step *sample);

#endif
