/* Libraries that a plug-in has brought along for itself alone (RTLD_LOCAL), as Python's modules do:
 * they are behind us in no search order. */
#ifndef LULL_RECORD_PRIVATE_H
#define LULL_RECORD_PRIVATE_H

/* A handle for dlsym, of a loaded library that defines `symbol` itself and whose file's name begins
 * so; NULL where there is none. Not to be closed. */
void *rec_private_library(const char *beginning, const char *symbol);

#endif
