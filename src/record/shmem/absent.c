/* Empty tables in place of those of OpenSHMEM's functions, where these are not wrapped; else the
 * linker takes the wrappers' tables. They are in a file of their own, so that no compiler sees in
 * the files that use them how short they are. */
#include "record/mpi/wrap.h"

__attribute__((weak)) uint32_t rec_shmem_regions[1];
__attribute__((weak)) const char *const rec_shmem_names[1] = {NULL};
