/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenSHMEM, as Open MPI has it on top of MPI. Calls that put and get are recorded as one-sided
 * communication, calls of several PEs as collective operations. A PE has the number that its
 * process has as a rank of MPI_COMM_WORLD. generate.py makes the wrappers, which are like those of
 * record/mpi. */
#ifndef LULL_RECORD_SHMEM_SHMEM_H
#define LULL_RECORD_SHMEM_SHMEM_H

#include "record/mpi/wrap.h"

/* In a wrapper: sets `real` to the library's function. */
#define REC_SHMEM_REAL(name)                                              \
    static __typeof__(&name) found_; /* atomic */                         \
    __typeof__(found_) real = __atomic_load_n(&found_, __ATOMIC_ACQUIRE); \
    if (REC_UNLIKELY(!real)) {                                            \
        real = (__typeof__(real))rec_mpi_real(#name);                     \
        __atomic_store_n(&found_, real, __ATOMIC_RELEASE);                \
    }

/* As rec_mpi_begin and rec_mpi_begin_followed; they also open the call and set its begin. */
bool rec_shmem_begin(struct rec_mpi_call *call, unsigned function, const void *from,
                     const void *frame);
bool rec_shmem_begin_followed(struct rec_mpi_call *call, unsigned function, const void *from,
                              const void *frame);

/* In shmem_init and its like: before the library's function, and after it. */
void rec_shmem_beginning(void);
void rec_shmem_begun(struct rec_mpi_call *call, int provided);
/* Before the library's shmem_finalize: rec_shmem_end_call where that call is recorded,
 * rec_shmem_end where it is not. */
void rec_shmem_end_call(struct rec_mpi_call *call);
void rec_shmem_end(void);

/* The call has ended, and moves that many bytes to or from the PE. */
void rec_shmem_transfer(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int pe);
/* The communicator of the `size` PEs first, first + 2^log_stride, ..., to which the calling PE
 * belongs. */
const struct rec_mpi_comm *rec_shmem_set(int first, int log_stride, int size);

#endif
