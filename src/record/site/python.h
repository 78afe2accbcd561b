/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a program in Python is: the functions of Python that the calling thread is in, with file and
 * line. The interpreter's structures are read and nothing in it is changed, because bindings of MPI
 * call without the interpreter's lock: no object is made, none gets a reference, and no function of
 * the interpreter is called but two that only read. The structures of CPython 3.8 to 3.13 are known;
 * before they are used, they are read by a system call that refuses addresses which do not exist, and
 * what they say of themselves is compared. Of other interpreters nothing is told. */
#ifndef LULL_RECORD_SITE_PYTHON_H
#define LULL_RECORD_SITE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* A function that is being executed, and where in it. */
struct rec_python_frame {
    uint64_t key;   /* hash of file, function, the line where that begins, and
                       instruction */
    uintptr_t code; /* the function's code object */
    int at;         /* byte of the instruction */
};

/* Fills in the innermost functions, at most `most` of them, the innermost first, and their number by
 * *ret_n: 0 where Python has none on this thread, or does not tell. Those of the interpreter's own
 * modules ("<frozen importlib._bootstrap>") are left out, as in Python's tracebacks. `exact`: the
 * thread is where the interpreter has called something, and not in a signal's handler, which may find
 * a function half begun. False: rec_python_learn has not found an interpreter at work yet. */
bool rec_python_frames(struct rec_python_frame *frames, unsigned most, bool exact, unsigned *ret_n);

/* The same, for whoever holds the lock of the sites: looks for an interpreter that is not known yet.
 * Returns the number of functions. */
unsigned rec_python_learn(struct rec_python_frame *frames, unsigned most);

enum { REC_PYTHON_TEXT = 4096 };
struct rec_python_place {
    char file[REC_PYTHON_TEXT], function[REC_PYTHON_TEXT]; /* UTF-8 */
    uint32_t line;
};
/* File, function and line of a frame that has just been found; with the lock of the sites held. */
void rec_python_describe(const struct rec_python_frame *frame, struct rec_python_place *ret_place);

#endif
