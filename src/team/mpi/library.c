/* SPDX-License-Identifier: BSD-3-Clause */
/* The library for a family of MPI, compiled with the family's mpi.h. Messages are sent without
 * blocking from copies, each of which is freed when its sending is complete. MPI is only asked
 * whether a message is there (MPI_Iprobe), because waiting in MPI would keep a core busy. An error
 * of MPI ends all processes, with MPI's own message. */
#include "team/mpi/library.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

struct sending {
    MPI_Request request;
    void *copy;
};

static MPI_Comm comm;
static struct sending *sendings;
static size_t n_sendings, capacity;
static int source, expected; /* of the message that was probed */

static bool begin(uint32_t *index, uint32_t *size)
{
    int provided, rank, ranks, initialised;
    MPI_Initialized(&initialised);
    if (!initialised)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    else
        MPI_Query_thread(&provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    *index = (uint32_t)rank;
    *size = (uint32_t)ranks;
    return provided >= MPI_THREAD_SERIALIZED;
}

/* Frees the copies of messages whose sending is complete. */
static void look_after_sendings(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < n_sendings; i++) {
        int done;
        MPI_Test(&sendings[i].request, &done, MPI_STATUS_IGNORE);
        if (done)
            free(sendings[i].copy);
        else
            sendings[kept++] = sendings[i];
    }
    n_sendings = kept;
}

/* Room for one sending more. This library is linked without the room base. */
static bool reserve(void)
{
    if (n_sendings < capacity)
        return true;
    size_t more = capacity ? 2 * capacity : 64;
    struct sending *grown = realloc(sendings, more * sizeof *grown);
    if (!grown)
        return false;
    sendings = grown;
    capacity = more;
    return true;
}

static bool send(uint32_t to, const void *head, size_t head_size, const void *bytes, size_t size)
{
    look_after_sendings();
    unsigned char *copy = head_size + size <= INT_MAX ? malloc(head_size + size) : NULL;
    if (!copy || !reserve()) {
        free(copy);
        return false;
    }
    memcpy(copy, head, head_size);
    if (size)
        memcpy(copy + head_size, bytes, size);
    struct sending *sending = &sendings[n_sendings++];
    sending->copy = copy;
    MPI_Isend(copy, (int)(head_size + size), MPI_BYTE, (int)to, TAG, comm, &sending->request);
    return true;
}

static bool probe(uint32_t *from, size_t *size)
{
    MPI_Status status;
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, comm, &flag, &status);
    if (!flag) {
        look_after_sendings();
        return false;
    }
    source = status.MPI_SOURCE;
    MPI_Get_count(&status, MPI_BYTE, &expected);
    *from = (uint32_t)source;
    *size = (size_t)expected;
    return true;
}

static void fetch(void *bytes)
{
    MPI_Recv(bytes, expected, MPI_BYTE, source, TAG, comm, MPI_STATUS_IGNORE);
}

static void end(bool orderly)
{
    if (!orderly)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < n_sendings; i++) {
        MPI_Wait(&sendings[i].request, MPI_STATUS_IGNORE);
        free(sendings[i].copy);
    }
    free(sendings);
    MPI_Comm_free(&comm);
    MPI_Finalize();
}

__attribute__((visibility("default"))) extern const struct lull_team_library lull_team_library;
const struct lull_team_library lull_team_library = {begin, send, probe, fetch, end};
