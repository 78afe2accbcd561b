/* A session instead of the world: the processes are known all the same.
 *
 *= ranks 3
 *= alone
 *= * calls MPI_Session_init x1
 *= * calls MPI_Session_finalize x1
 *= * calls MPI_Comm_create_from_group x1
 *= * calls MPI_Comm_dup x1
 *= * create in 3 root -1 sent 0 received 0 x2
 *= * calls MPI_Comm_free x2
 *= * free in 3 root -1 sent 0 received 0 x2
 *= * calls MPI_Barrier x5
 *= * barrier in 3 root -1 sent 0 received 0 x5
 *= * calls MPI_Sendrecv x5
 *= 0 sends 1 tag 4 bytes 8 in 3 x5
 *= 1 sends 2 tag 4 bytes 8 in 3 x5
 *= 2 sends 0 tag 4 bytes 8 in 3 x5
 *= 0 receives 2 tag 4 bytes 8 in 3 x5
 *= 1 receives 0 tag 4 bytes 8 in 3 x5
 *= 2 receives 1 tag 4 bytes 8 in 3 x5
 */
#include <mpi.h>

#if defined(MPI_SESSION_NULL)

int main(void)
{
    int rank, size;
    double out = 1, in;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all, copy;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all);
    MPI_Group_free(&group);
    MPI_Comm_dup(all, &copy);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    for (int i = 0; i < 5; i++) {
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % size, 4, &in, 1, MPI_DOUBLE,
                     (rank + size - 1) % size, 4, copy, MPI_STATUS_IGNORE);
        MPI_Barrier(all);
    }
    MPI_Comm_free(&copy);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
