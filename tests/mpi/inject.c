/* Every way in which messages come, with the moment of sending in them: prints how many may be seen
 * earlier than LATENCY_US after they were sent (argument 1) plus 1 ns for each byte, "early N of
 * M", and for each kind the name of those that were. Collective operations: how many ranks went on
 * before those that they wait for had come and the rounds were over, "soon N of M".
 *
 *     inject LATENCY_US             messages
 *     inject LATENCY_US poll        tests and probes instead: what they found too early
 *     inject COUNT marks|barriers   COUNT iterations, marked or not, and a barrier in each */
#include <lull/lull.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 64, MANY = 40, TIMES = 3 };

static int rank, size;
static int64_t least; /* ns */
static int early, messages, soon, operations;

struct letter {
    int64_t sent;
    char rest[BYTES - 8];
};

static int64_t now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (int64_t)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

static void check(const struct letter *letter, const char *what)
{
    messages++;
    if (least == 0 || now() - letter->sent >= least + BYTES) /* 0: it is held back by nobody */
        return;
    early++;
    printf("rank %d: %s: after %lld ns\n", rank, what, (long long)(now() - letter->sent));
}

/* ---- messages from rank 0 to rank 1 -----------------------------------------------------------
 */

static struct letter letters[MANY];
static MPI_Request requests[MANY];

static void write_letters(int n)
{
    for (int i = 0; i < n; i++)
        letters[i].sent = now();
}

static void blocking(MPI_Comm comm)
{
    struct letter letter = {0};
    char buffer[4 * BYTES + MPI_BSEND_OVERHEAD];
    void *detached;
    int length;
    if (rank == 0) {
        letter.sent = now();
        MPI_Send(&letter, BYTES, MPI_BYTE, 1, 1, comm);
        letter.sent = now();
        MPI_Ssend(&letter, BYTES, MPI_BYTE, 1, 2, comm);
        MPI_Buffer_attach(buffer, sizeof buffer);
        letter.sent = now();
        MPI_Bsend(&letter, BYTES, MPI_BYTE, 1, 3, comm);
        MPI_Buffer_detach(&detached, &length);
        letter.sent = now();
        MPI_Send(&letter, BYTES, MPI_BYTE, 1, 4, comm);
    } else {
        MPI_Status status;
        MPI_Recv(&letter, BYTES, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
        check(&letter, "MPI_Send");
        MPI_Recv(&letter, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE);
        check(&letter, "MPI_Ssend");
        MPI_Recv(&letter, BYTES, MPI_BYTE, 0, MPI_ANY_TAG, comm, &status);
        check(&letter, "MPI_Bsend");
        MPI_Probe(0, 4, comm, &status);
        const int64_t found = now();
        MPI_Recv(&letter, BYTES, MPI_BYTE, 0, 4, comm, MPI_STATUS_IGNORE);
        letter.sent += now() - found;
        check(&letter, "MPI_Probe");
    }
}

/* The requests are complete in another order than that of their posting. */
static void several(void)
{
    if (rank == 0) {
        write_letters(4);
        for (int i = 0; i < 4; i++)
            MPI_Isend(&letters[i], BYTES, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else {
        for (int i = 0; i < 4; i++)
            MPI_Irecv(&letters[i], BYTES, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &requests[i]);
        for (int i = 3; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            check(&letters[i], "MPI_Wait");
        }
    }
}

/* The second message of a channel must not take the moment of the first. */
static void apart(void)
{
    const struct timespec nap = {0, 20000000};
    if (rank == 0) {
        write_letters(1);
        MPI_Send(&letters[0], BYTES, MPI_BYTE, 1, 8, MPI_COMM_WORLD);
        nanosleep(&nap, NULL);
        letters[1].sent = now();
        MPI_Send(&letters[1], BYTES, MPI_BYTE, 1, 8, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&letters[i], BYTES, MPI_BYTE, 0, 8, MPI_COMM_WORLD, &requests[i]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        check(&letters[1], "the second of a channel");
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        check(&letters[0], "the first of a channel");
    }
}

static void together(void)
{
    int done, which[MANY], one;
    if (rank == 0) {
        for (int round = 0; round < 3; round++) {
            write_letters(MANY);
            for (int i = 0; i < MANY; i++)
                MPI_Isend(&letters[i], BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
            MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        }
        return;
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            MPI_Irecv(&letters[i], BYTES, MPI_BYTE, round == 1 ? MPI_ANY_SOURCE : 0, i,
                      MPI_COMM_WORLD, &requests[i]);
        if (round == 0) {
            MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
            for (int i = 0; i < MANY; i++)
                check(&letters[i], "MPI_Waitall");
        }
        for (int left = round == 1 ? MANY : 0; left > 0; left--) {
            MPI_Waitany(MANY, requests, &one, MPI_STATUS_IGNORE);
            check(&letters[one], "MPI_Waitany");
        }
        for (int left = round == 2 ? MANY : 0; left > 0; left -= done) {
            MPI_Waitsome(MANY, requests, &done, which, MPI_STATUSES_IGNORE);
            for (int i = 0; i < done; i++)
                check(&letters[which[i]], "MPI_Waitsome");
        }
    }
}

static void persistent(void)
{
    struct letter letter = {0};
    MPI_Request request;
    if (rank == 0)
        MPI_Send_init(&letter, BYTES, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(&letter, BYTES, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request);
    for (int i = 0; i < TIMES; i++) {
        letter.sent = now();
        if (i % 2)
            MPI_Start(&request);
        else
            MPI_Startall(1, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1)
            check(&letter, "a persistent message");
    }
    MPI_Request_free(&request);
}

static void exchange(void)
{
    struct letter mine = {.sent = now()}, theirs;
    MPI_Sendrecv(&mine, BYTES, MPI_BYTE, 1 - rank, 5, &theirs, BYTES, MPI_BYTE, 1 - rank, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(&theirs, "MPI_Sendrecv");
    mine.sent = now();
    MPI_Sendrecv_replace(&mine, BYTES, MPI_BYTE, 1 - rank, 6, 1 - rank, 6, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    check(&mine, "MPI_Sendrecv_replace");
}

/* To itself; and a receive that is withdrawn does not take the moment of the next message. */
static void alone(void)
{
    struct letter mine = {0}, got;
    MPI_Request request;
    MPI_Irecv(&got, BYTES, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&got, BYTES, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
        mine.sent = now();
        MPI_Send(&mine, BYTES, MPI_BYTE, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(&got, "a message to itself");
    }
}

static void matched(void)
{
    struct letter letter = {0};
    MPI_Message message;
    if (rank == 0) {
        letter.sent = now();
        MPI_Send(&letter, BYTES, MPI_BYTE, 1, 11, MPI_COMM_WORLD);
    } else {
        MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&letter, BYTES, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        check(&letter, "MPI_Mprobe");
    }
}

/* ---- what is asked for again and again ---------------------------------------------------------
 */

static void send_all(int tag)
{
    write_letters(4);
    for (int i = 0; i < 4; i++)
        MPI_Send(&letters[i], BYTES, MPI_BYTE, 1, tag + i, MPI_COMM_WORLD);
}

static void receive_all(int tag)
{
    for (int i = 0; i < 4; i++)
        MPI_Irecv(&letters[i], BYTES, MPI_BYTE, 0, tag + i, MPI_COMM_WORLD, &requests[i]);
}

static void test_one(void)
{
    int flag = 0;
    receive_all(0);
    for (int i = 0; i < 4; i++, flag = 0) {
        while (!flag)
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        check(&letters[i], "MPI_Test");
    }
}

static void test_all(void)
{
    int flag = 0;
    receive_all(10);
    while (!flag)
        MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        check(&letters[i], "MPI_Testall");
}

static void test_any(void)
{
    int flag, which;
    receive_all(20);
    for (int left = 4; left > 0;) {
        MPI_Testany(4, requests, &which, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            continue;
        if (which == MPI_UNDEFINED)
            exit(1);
        check(&letters[which], "MPI_Testany");
        left--;
    }
    MPI_Testany(4, requests, &which, &flag, MPI_STATUS_IGNORE);
    if (!flag || which != MPI_UNDEFINED)
        exit(1);
}

static void test_some(void)
{
    int done, which[4];
    receive_all(30);
    for (int left = 4; left > 0; left -= done) {
        MPI_Testsome(4, requests, &done, which, MPI_STATUSES_IGNORE);
        if (done == MPI_UNDEFINED)
            exit(1);
        for (int i = 0; i < done; i++)
            check(&letters[which[i]], "MPI_Testsome");
    }
    MPI_Testsome(4, requests, &done, which, MPI_STATUSES_IGNORE);
    if (done != MPI_UNDEFINED)
        exit(1);
}

static void get_status(void)
{
    int flag = 0;
    receive_all(40);
    while (!flag)
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    check(&letters[0], "MPI_Request_get_status");
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void probes(void)
{
    int flag = 0;
    MPI_Message message;
    MPI_Request request;
    for (int i = 0; i < 4; i++, flag = 0) {
        while (!flag && i % 2)
            MPI_Iprobe(0, 50 + i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Improbe(0, 50 + i, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        const int64_t found = now();
        if (i % 2) {
            MPI_Recv(&letters[i], BYTES, MPI_BYTE, 0, 50 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Imrecv(&letters[i], BYTES, MPI_BYTE, &message, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        letters[i].sent += now() - found;
        check(&letters[i], i % 2 ? "MPI_Iprobe" : "MPI_Improbe");
    }
}

/* A test that fails (Open MPI 4.1 does not say so) takes its request away, and leaves one that is
 * not yet to be seen. */
static void fail_beside_early(void)
{
    const struct timespec nap = {2 * least / 1000000000, 2 * least % 1000000000};
    int flag, which, result = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH asks this one */
    MPI_Irecv(&letters[0], BYTES, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&letters[1], 1, MPI_BYTE, 0, 2, MPI_COMM_SELF, &requests[1]); /* too short */
    MPI_Send(&letters[2], BYTES, MPI_BYTE, 0, 2, MPI_COMM_SELF);
    nanosleep(&nap, NULL);
    MPI_Send(&letters[3], BYTES, MPI_BYTE, 0, 1, MPI_COMM_SELF);
    while (result == MPI_SUCCESS && requests[1] != MPI_REQUEST_NULL)
        result = MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);
    if (requests[1] != MPI_REQUEST_NULL || MPI_Wait(&requests[0], MPI_STATUS_IGNORE) != MPI_SUCCESS)
        exit(1);
}

static void poll(void)
{
    void (*const kinds[])(void) = {test_one, test_all, test_any, test_some, get_status, probes};
    for (int i = 0; i < 6; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            send_all(10 * i);
        else
            kinds[i]();
    }
    fail_beside_early();
}

/* ---- collective operations --------------------------------------------------------------------
 */

enum { BARRIER, ALLREDUCE, BCAST, REDUCE, ALLGATHER, ALLTOALL, SCAN, IBARRIER, OPERATIONS };
enum { ROOT = 1 };

static void operate(int kind)
{
    double mine = rank, all[64] = {0};
    MPI_Request request;
    switch (kind) {
    case BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case ALLREDUCE:
        MPI_Allreduce(&mine, all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case BCAST:
        MPI_Bcast(&mine, 1, MPI_DOUBLE, ROOT, MPI_COMM_WORLD);
        break;
    case REDUCE:
        MPI_Reduce(&mine, all, 1, MPI_DOUBLE, MPI_SUM, ROOT, MPI_COMM_WORLD);
        break;
    case ALLGATHER:
        MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        break;
    case ALLTOALL:
        MPI_Alltoall(all, 1, MPI_DOUBLE, all + 32, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        break;
    case SCAN:
        MPI_Scan(&mine, all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    default:
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* The rounds that docs/record-reference.md tells, counted by hand for each rank of 2, 3 or 4. */
static int rounds_of(int kind, int from)
{
    const int rounds = size > 2 ? 2 : 1, behind = (rank - ROOT + size) % size;
    switch (kind) {
    case BCAST:
        return from != ROOT || rank == ROOT ? 0 : behind == 3 ? 2 : 1;
    case REDUCE:
        return rank == ROOT ? rounds : 0;
    case ALLTOALL:
        return 1;
    case SCAN:
        return from > rank || rank == 0 ? 0 : rank > 1 ? 2 : 1;
    default:
        return rounds;
    }
}

/* The last rank to come is another one each time. */
static void collectives(void)
{
    for (int kind = 0; kind < OPERATIONS * size; kind++) {
        const struct timespec nap = {0, 2000000};
        int64_t moments[2], all[2 * 4];
        if (kind / OPERATIONS == rank)
            nanosleep(&nap, NULL);
        moments[0] = now();
        operate(kind % OPERATIONS);
        moments[1] = now();
        MPI_Allgather(moments, 16, MPI_BYTE, all, 16, MPI_BYTE, MPI_COMM_WORLD);
        for (int from = 0; from < size; from++) {
            const int rounds = rounds_of(kind % OPERATIONS, from);
            operations += rounds > 0;
            if (rounds > 0 && moments[1] - all[2 * from] < rounds * least) {
                soon++;
                printf("rank %d: operation %d: %lld ns after rank %d\n", rank, kind % OPERATIONS,
                       (long long)(moments[1] - all[2 * from]), from);
            }
        }
    }
}

static void iterate(int count, int marks)
{
    const struct timespec nap = {0, 20000};
    for (int i = 0; i < count; i++) {
        if (marks)
            lull_iteration(i);
        nanosleep(&nap, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    int sums[4], mine[4];
    const char *what = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int number = argc > 1 ? atoi(argv[1]) : 1000;
    least = number * INT64_C(1000);
    if (strcmp(what, "marks") == 0 || strcmp(what, "barriers") == 0) {
        iterate(number, strcmp(what, "marks") == 0);
        MPI_Finalize();
        return 0;
    }
    if (size != 2) {
        collectives();
    } else if (strcmp(what, "poll") == 0) {
        poll();
    } else {
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        for (int i = 0; i < TIMES; i++) {
            blocking(MPI_COMM_WORLD);
            blocking(other);
            several();
            apart();
            together();
            persistent();
            exchange();
            alone();
            matched();
        }
        collectives();
        MPI_Comm_free(&other);
    }
    mine[0] = early;
    mine[1] = messages;
    mine[2] = soon;
    mine[3] = operations;
    MPI_Reduce(mine, sums, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("early %d of %d\nsoon %d of %d\n", sums[0], sums[1], sums[2], sums[3]);
    MPI_Finalize();
    return 0;
}
