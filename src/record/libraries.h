/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that are loaded into the process: whether a caller is in a runtime, and where a library
 * is that a plug-in keeps to itself. */
#ifndef LULL_RECORD_LIBRARIES_H
#define LULL_RECORD_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

/* ==== who calls =============================================================================== */

/* Whether a place of code is in the recorder, or in a runtime whose threads and calls are its own
 * affair: MPI, OpenMP and what they need. The loader is asked once for each place; the answer is
 * kept. */
bool rec_is_runtime(const void *caller);

/* Whether a place of code is in a loaded file whose name, without its folder, begins with
 * `beginning`. */
bool rec_lies_in(const void *place, const char *beginning);

/* ==== private libraries ======================================================================= */

/* Libraries that a plug-in has loaded for itself alone (RTLD_LOCAL), as Python's modules do. No
 * search order has them behind the recorder, so that RTLD_NEXT does not find them. */

/* A handle for dlsym, of a loaded library that defines `symbol` itself and whose file name begins
 * with `beginning`; NULL: there is none. Not to be closed. */
void *rec_private_library(const char *beginning, const char *symbol);

/* The path of a library that the file with the code at `place` names as needed (DT_NEEDED): the
 * first one whose name begins with one of `beginnings` (NULL at the end). NULL: it needs none.
 * Valid as long as that code is loaded. Unlike the functions of the loader this waits for no
 * constructor. */
const char *rec_needed_library(const void *place, const char *const *beginnings);

/* Whether a library of that name, or of that path, is loaded: one has its name without its folder, or says that this is
 * its own name (DT_SONAME). The loader is not asked for it. */
bool rec_is_loaded(const char *library);

/* Whether a loaded file holds an address. */
struct dl_phdr_info;
bool rec_file_holds(const struct dl_phdr_info *info, uintptr_t address);

#endif
