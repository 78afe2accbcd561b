/* SPDX-License-Identifier: BSD-3-Clause */
/* Empty tables for OpenSHMEM, in builds in which its functions are not wrapped; in others the
 * linker takes the tables of the wrappers. They are in a file of their own, so that the compiler
 * does not conclude from their length that the files which use the tables may not go beyond it. */
#include "record/mpi/wrap.h"

__attribute__((weak)) uint32_t rec_shmem_regions[1];
__attribute__((weak)) const char *const rec_shmem_names[1] = {NULL};
