/* Who calls a function of the C library: the program, or somebody whose calls are of no interest.
 */
#ifndef LULL_RECORD_CALLER_H
#define LULL_RECORD_CALLER_H

#include <stdbool.h>

/* Whether that place is in the recorder, or in a library whose threads and calls are its own
 * affair: MPI, OpenMP and what they need. Who that is, is asked of the loader once for each place.
 */
bool rec_is_runtime(const void *caller);

#endif
