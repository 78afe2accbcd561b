/* SPDX-License-Identifier: BSD-3-Clause */
/* Which file an address lies in: for addresses that are looked up long after the code ran there, and
 * in large numbers, as those of samples are. The map of all loaded code is made again when the
 * loader says that something was loaded or unloaded. */
#ifndef LULL_RECORD_SITE_CODE_H
#define LULL_RECORD_SITE_CODE_H

#include <stdint.h>

/* Brings the map up to date; called before a series of rec_code_place, by a thread that has stepped
 * aside. From here to rec_code_done the calling thread has the map for itself. */
void rec_code_look(void);
/* The place in code (lull_tape_place) of an address where a thread was at `ns` of CLOCK_MONOTONIC.
 * Code made at run time has the function that it was made for as its object, where an interpreter
 * has written that down (record/site/perf_map.h), and offset 0. LULL_TAPE_NO_OBJECT stands for all
 * other code that no file holds, for code of a file that was unloaded before anybody looked, and
 * for an address at which one file was unloaded and another one loaded since `ns`. */
uint64_t rec_code_place(uintptr_t address, int64_t ns);
void rec_code_done(void);

#endif
