/* Communicators: which processes they hold, and how all of them call the same one the same. */
#ifndef LULL_RECORD_MPI_COMMS_H
#define LULL_RECORD_MPI_COMMS_H

#include "record/mpi/wrap.h"

/* After MPI_Init, collectively: exchanges the process numbers. False: nothing can be recorded. */
bool rec_mpi_begin_world(MPI_Comm world);

#endif
