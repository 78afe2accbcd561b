/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions whose code an interpreter makes while the program runs, by the file in which it writes them
 * down for Linux's perf: /tmp/perf-PID.map, a line "ADDRESS SIZE NAME" for each, both numbers
 * hexadecimal (tools/perf/Documentation/jit-interface.txt of Linux). Of Python 3.12 and newer NAME is
 * "py::FUNCTION:FILE", and the code is a stub through which that function is executed
 * (python -X perf). The file must be the user's own, and
 * written to since the process began: one of an earlier process may lie there.
 *
 * Used by one thread at a time. Memory: 32 bytes for each function, of which 2^17 are known at most. */
#ifndef LULL_RECORD_SITE_PERF_MAP_H
#define LULL_RECORD_SITE_PERF_MAP_H

#include <stdint.h>

struct rec_perf_function {
    uintptr_t begin, end;
    uint64_t at;     /* where its line is in the file */
    uint32_t object; /* for the caller; 0 at first */
};

/* Reads the lines that were written into the file since the last call. */
void rec_perf_map_look(void);
/* The function whose code holds `address`; NULL: there is none. Where several functions begin at
 * one address, it is the one that was written last. Valid until rec_perf_map_look is called. */
struct rec_perf_function *rec_perf_map_find(uintptr_t address);

enum { REC_PERF_TEXT = 4096 };
struct rec_perf_name {
    char text[REC_PERF_TEXT];
    const char *function, *file; /* in `text`; file "": it is not told */
};
/* Reads the name of a function; "" where it cannot be read any more. */
void rec_perf_map_name(const struct rec_perf_function *function, struct rec_perf_name *ret_name);

#endif
