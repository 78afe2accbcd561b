/* OpenSHMEM: what is put, got and changed at other PEs, one by one, with strides, in contexts;
 * collective operations of all PEs, and of the active set of PEs 0 and 2.
 *
 *= ranks 3
 *= * calls shmem_init x1
 *= * calls shmem_finalize x1
 *= * calls shmem_malloc x2
 *= * calls shmem_free x2
 *= * calls shmem_barrier_all x5
 *= * barrier in 3 root -1 sent 0 received 0 x6
 *= * calls shmem_sync_all x1
 *= 0 calls shmem_long_put x10
 *= 0 rma put to 1 bytes 40 x10
 *= 0 calls shmem_double_iput x1
 *= 0 rma put to 2 bytes 24 x1
 *= 0 calls shmem_put16 x1
 *= 0 rma put to 2 bytes 14 x1
 *= 0 calls shmem_putmem_nbi x1
 *= 0 rma put to 0 bytes 100 x1
 *= 0 calls shmem_short_p x1
 *= 0 rma put to 1 bytes 2 x1
 *= 0 calls shmem_ctx_int_put x1
 *= 0 rma put to 1 bytes 12 x1
 *= 0 calls shmem_ctx_create x1
 *= 0 calls shmem_ctx_quiet x1
 *= 0 calls shmem_ctx_destroy x1
 *= 0 calls shmem_fence x1
 *= 0 calls shmem_quiet x1
 *= 1 calls shmem_getmem x3
 *= 1 rma get to 0 bytes 33 x3
 *= 1 calls shmem_float_get_nbi x1
 *= 1 rma get to 2 bytes 20 x1
 *= 1 calls shmem_iget64 x1
 *= 1 rma get to 2 bytes 16 x1
 *= 1 calls shmem_char_g x1
 *= 1 rma get to 0 bytes 1 x1
 *= 1 calls shmem_quiet x1
 *= 2 calls shmem_int_atomic_fetch_add x4
 *= 2 calls shmem_int_atomic_inc x1
 *= 2 rma atomic to 0 bytes 4 x5
 *= 2 calls shmem_long_atomic_compare_swap x1
 *= 2 calls shmem_double_atomic_swap x1
 *= 2 rma atomic to 1 bytes 8 x2
 *= 0 calls shmem_int_wait_until x1
 *= 1 calls shmem_set_lock x1
 *= 1 calls shmem_clear_lock x1
 *= 1 calls shmem_test_lock x1
 *= 1 calls shmem_int_test x100
 *= * calls shmem_broadcast64 x1
 *= * calls shmem_fcollect32 x1
 *= * calls shmem_collect64 x1
 *= * calls shmem_alltoall64 x1
 *= * calls shmem_double_sum_to_all x1
 *= 0 bcast in 3 root 1 sent 0 received 40 x1
 *= 1 bcast in 3 root 1 sent 40 received 0 x1
 *= 2 bcast in 3 root 1 sent 0 received 40 x1
 *= * allgather in 3 root -1 sent 12 received 36 x1
 *= * allgatherv in 3 root -1 sent 16 received 16 x1
 *= * alltoall in 3 root -1 sent 48 received 48 x1
 *= * allreduce in 3 root -1 sent 56 received 56 x1
 *= 0 calls shmem_barrier x2
 *= 2 calls shmem_barrier x2
 *= 0 calls shmem_int_max_to_all x1
 *= 2 calls shmem_int_max_to_all x1
 *= 0 barrier in 2 root -1 sent 0 received 0 x2
 *= 2 barrier in 2 root -1 sent 0 received 0 x2
 *= 0 allreduce in 2 root -1 sent 12 received 12 x1
 *= 2 allreduce in 2 root -1 sent 12 received 12 x1
 */
#include <shmem.h>

enum { ROOM = 64 };

static long sync_all[SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE +
                     SHMEM_BCAST_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE];
static long sync_more[3][sizeof sync_all / sizeof *sync_all],
    sync_pair[2][sizeof sync_all / sizeof *sync_all];
static double work[ROOM + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static int int_work[ROOM + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long there[ROOM], lock;
static double numbers[ROOM], others[ROOM];
static int counter, flag;

static void transfer(int me, char *memory, char *more)
{
    shmem_ctx_t context;
    if (me == 0) {
        for (int i = 0; i < 10; i++)
            shmem_long_put(there, (long *)memory, 5, 1);
        shmem_double_iput(numbers, others, 2, 1, 3, 2);
        shmem_put16(memory, more, 7, 2);
        shmem_putmem_nbi(memory, more, 100, 0);
        shmem_short_p((short *)memory, 1, 1);
        shmem_fence();
        shmem_quiet();
        shmem_ctx_create(0, &context);
        shmem_ctx_int_put(context, (int *)memory, (int *)more, 3, 1);
        shmem_ctx_quiet(context);
        shmem_ctx_destroy(context);
    } else if (me == 1) {
        for (int i = 0; i < 3; i++)
            shmem_getmem(more, memory, 33, 0);
        shmem_float_get_nbi((float *)more, (float *)memory, 5, 2);
        shmem_quiet();
        shmem_iget64(others, numbers, 1, 2, 2, 2);
        shmem_char_g(memory, 0);
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        shmem_test_lock(&lock);
        for (int i = 0; i < 100; i++)
            shmem_int_test(&flag, SHMEM_CMP_NE, 0);
    } else {
        for (int i = 0; i < 4; i++)
            shmem_int_atomic_fetch_add(&counter, 1, 0);
        shmem_int_atomic_inc(&counter, 0);
        shmem_long_atomic_compare_swap(there, 0, 1, 1);
        shmem_double_atomic_swap(numbers, 1.0, 1);
    }
    if (me == 0)
        shmem_int_wait_until(&counter, SHMEM_CMP_EQ, 5);
}

static void communicate(int me)
{
    shmem_broadcast64(there, others, 5, 1, 0, 0, 3, sync_all);
    shmem_barrier_all();
    shmem_fcollect32(there, others, 3, 0, 0, 3, sync_more[0]);
    shmem_collect64(there, others, 2, 0, 0, 3, sync_more[1]);
    shmem_barrier_all();
    shmem_alltoall64(there, others, 2, 0, 0, 3, sync_more[2]);
    shmem_barrier_all();
    shmem_double_sum_to_all(numbers, others, 7, 0, 0, 3, work, sync_all);
    shmem_sync_all();
    if (me != 1) {
        shmem_barrier(0, 1, 2, sync_pair[0]);
        shmem_int_max_to_all((int *)there, (int *)others, 3, 0, 1, 2, int_work, sync_pair[1]);
        shmem_barrier(0, 1, 2, sync_pair[0]);
    }
}

int main(void)
{
    for (unsigned i = 0; i < sizeof sync_all / sizeof *sync_all; i++)
        sync_all[i] = sync_more[0][i] = sync_more[1][i] = sync_more[2][i] = sync_pair[0][i] =
            sync_pair[1][i] = SHMEM_SYNC_VALUE;
    shmem_init();
    char *memory = shmem_malloc(1000), *more = shmem_malloc(1000);
    shmem_barrier_all();
    transfer(shmem_my_pe(), memory, more);
    shmem_barrier_all();
    communicate(shmem_my_pe());
    shmem_free(more);
    shmem_free(memory);
    shmem_finalize();
    return 0;
}
