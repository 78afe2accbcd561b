/* In place of the tables of OpenSHMEM's functions, where these are not wrapped; else the linker
 * takes those of the wrappers. Apart from who reads them, so that no compiler takes them for that
 * short. */
#include "record/mpi/wrap.h"

__attribute__((weak)) uint32_t rec_shmem_regions[1];
__attribute__((weak)) const char *const rec_shmem_names[1] = {NULL};
