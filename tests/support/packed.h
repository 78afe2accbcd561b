/* Whether a tape says the same when it is packed, and comes back. */
#ifndef LULL_TESTS_PACKED_H
#define LULL_TESTS_PACKED_H

#include "base/error.h"

/* Packs a run that can be opened, beside it, and unpacks it: every file must be as it was, every
 * block must say its part of its file when it is decoded alone, by a walk through the tables that
 * is not the reader's, and every event must be there, or end with the same error. Ends the test
 * where that is not so; passes over what cannot be opened. In a build without libzstd nothing is
 * done. */
void packed_check(const char *run);
/* The same at the first call and at every 16th, for what is called for hundreds of runs. */
void packed_check_some(const char *run);

#endif
