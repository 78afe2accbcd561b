/* Who calls a function of the C library: the program, or somebody whose calls are of no interest.
 */
#ifndef LULL_RECORD_LIBRARIES_H
#define LULL_RECORD_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

/* ==== caller ================================================================================== */

/* Whether that place is in the recorder, or in a library whose threads and calls are its own
 * affair: MPI, OpenMP and what they need. Who that is, is asked of the loader once for each place.
 */
bool rec_is_runtime(const void *caller);

/* ==== private ================================================================================= */

/* Libraries that a plug-in has brought along for itself alone (RTLD_LOCAL), as Python's modules do:
 * they are behind us in no search order. */

/* A handle for dlsym, of a loaded library that defines `symbol` itself and whose file's name begins
 * so; NULL where there is none. Not to be closed. */
void *rec_private_library(const char *beginning, const char *symbol);

/* The file of the loaded library that the file with the code at `place` needs by itself and whose
 * name begins with one of `beginnings` (to NULL), the first of those; NULL: it needs none. As long
 * as that code is loaded. Other than the functions of the loader this waits for no constructor. */
const char *rec_needed_library(const void *place, const char *const *beginnings);

/* Whether a loaded file holds an address. */
struct dl_phdr_info;
bool rec_file_holds(const struct dl_phdr_info *info, uintptr_t address);

#endif
