/* Libraries that a plug-in has brought along for itself alone (RTLD_LOCAL), as Python's modules do:
 * they are behind us in no search order. */
#ifndef LULL_RECORD_PRIVATE_H
#define LULL_RECORD_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

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
