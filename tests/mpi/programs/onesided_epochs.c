/* The other ways to make a window, the other kinds of epochs, and operations with requests; targets
 * of a window on some of the processes are told as ranks of the world.
 *
 *= ranks 3
 *= * calls MPI_Comm_split x1
 *= * create in 3 root -1 sent 0 received 0 x2
 *= * calls MPI_Win_allocate x1
 *= * calls MPI_Win_lock_all x1
 *= * calls MPI_Win_unlock_all x1
 *= * calls MPI_Win_free x1
 *= * calls MPI_Comm_free x1
 *= * calls MPI_Barrier x1
 *= * barrier in 3 root -1 sent 0 received 0 x1
 *= 0 free in 1 root -1 sent 0 received 0 x1
 *= 0 calls MPI_Rput x1
 *= 0 calls MPI_Rget x1
 *= 0 calls MPI_Raccumulate x1
 *= 0 calls MPI_Rget_accumulate x1
 *= 0 calls MPI_Get_accumulate x1
 *= 0 calls MPI_Waitall x1
 *= 0 calls MPI_Win_flush_all x1
 *= 0 calls MPI_Win_flush_local x1
 *= 0 calls MPI_Win_flush_local_all x1
 *= 0 calls MPI_Win_sync x1
 *= 0 rma put to 2 bytes 40 x1
 *= 0 rma get to 2 bytes 80 x1
 *= 0 rma atomic to 2 bytes 12 x1
 *= 0 rma atomic to 2 bytes 20 x1
 *= 0 rma atomic to 2 bytes 28 x1
 *= 1 calls MPI_Win_create_dynamic x1
 *= 1 calls MPI_Win_allocate_shared x1
 *= 1 calls MPI_Win_attach x1
 *= 1 calls MPI_Win_detach x1
 *= 1 calls MPI_Recv x1
 *= 1 calls MPI_Win_start x1
 *= 1 calls MPI_Win_complete x1
 *= 1 calls MPI_Put x1
 *= 1 calls MPI_Barrier x2
 *= 1 calls MPI_Win_free x3
 *= 1 create in 2 root -1 sent 0 received 0 x2
 *= 1 free in 2 root -1 sent 0 received 0 x1
 *= 1 barrier in 2 root -1 sent 0 received 0 x1
 *= 1 receives 2 tag 7 bytes 8 in 2 x1
 *= 1 rma put to 2 bytes 4 x1
 *= 2 calls MPI_Win_create_dynamic x1
 *= 2 calls MPI_Win_allocate_shared x1
 *= 2 calls MPI_Win_attach x1
 *= 2 calls MPI_Win_detach x1
 *= 2 calls MPI_Send x1
 *= 2 calls MPI_Win_post x1
 *= 2 calls MPI_Win_test any
 *= 2 calls MPI_Barrier x2
 *= 2 calls MPI_Win_free x3
 *= 2 create in 2 root -1 sent 0 received 0 x2
 *= 2 free in 2 root -1 sent 0 received 0 x1
 *= 2 barrier in 2 root -1 sent 0 received 0 x1
 *= 2 sends 1 tag 7 bytes 8 in 2 x1
 */
#include <mpi.h>

static int rank, data[100];

static void with_requests(void)
{
    MPI_Win window;
    MPI_Request r[4];
    int *memory;
    MPI_Win_allocate(400, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        MPI_Rput(data, 10, MPI_INT, 2, 0, 10, MPI_INT, window, &r[0]);
        MPI_Rget(data + 10, 10, MPI_DOUBLE, 2, 10, 10, MPI_DOUBLE, window, &r[1]);
        MPI_Raccumulate(data, 3, MPI_INT, 2, 40, 3, MPI_INT, MPI_SUM, window, &r[2]);
        MPI_Rget_accumulate(data, 5, MPI_INT, data + 40, 5, MPI_INT, 2, 50, 5, MPI_INT, MPI_SUM,
                            window, &r[3]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        MPI_Win_flush_local(2, window);
        MPI_Win_flush_local_all(window);
        MPI_Get_accumulate(data, 7, MPI_INT, data + 50, 7, MPI_INT, 2, 60, 7, MPI_INT, MPI_SUM,
                           window);
        MPI_Win_flush_all(window);
        MPI_Win_sync(window);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* World ranks 1 and 2, which are 0 and 1 here. */
static void between_two(MPI_Comm pair)
{
    static int memory[10];
    MPI_Aint place;
    MPI_Win window, shared;
    MPI_Group all, other;
    int peer = 2 - rank, flag = 0;
    void *base;
    MPI_Win_allocate_shared(40, 4, MPI_INFO_NULL, pair, &base, &shared);
    MPI_Win_create_dynamic(MPI_INFO_NULL, pair, &window);
    MPI_Win_attach(window, memory, sizeof memory);
    MPI_Get_address(memory, &place);
    if (rank == 2)
        MPI_Send(&place, 1, MPI_AINT, 0, 7, pair);
    else
        MPI_Recv(&place, 1, MPI_AINT, 1, 7, pair, MPI_STATUS_IGNORE);
    MPI_Comm_group(pair, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    if (rank == 2) {
        MPI_Win_post(other, 0, window);
        while (!flag)
            MPI_Win_test(window, &flag);
    } else {
        MPI_Win_start(other, 0, window);
        MPI_Put(data, 1, MPI_INT, 1, place, 1, MPI_INT, window);
        MPI_Win_complete(window);
    }
    MPI_Barrier(pair);
    MPI_Win_detach(window, memory);
    MPI_Win_free(&window);
    MPI_Win_free(&shared);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Comm part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &part);
    with_requests();
    if (rank > 0)
        between_two(part);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&part);
    MPI_Finalize();
    return 0;
}
