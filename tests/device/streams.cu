/* streams FORM [COUNT]: a program for scripts/device-check, compiled by nvcc; and by a C compiler with -DMOCK for the mock of
 * tests/record/cuda. Forms:
 *
 *     streams     COUNT kernels on each of two streams behind two others, each between two events: "kernel STREAM NUMBER NS", as the events say
 *     launches    COUNT launches of a kernel that does nothing: "launch NS", of the host's time for each
 *
 * With MPI (-DWITH_MPI) each rank does the same, and prints its number in front of "kernel". */
#ifdef MOCK
#include "mock.h"
#else
#include <cuda_runtime.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define CHECK(call)                                           \
    do {                                                      \
        const int error_ = (int)(call);                       \
        if (error_ != 0) {                                    \
            fprintf(stderr, "%s: error %d\n", #call, error_); \
            exit(1);                                          \
        }                                                     \
    } while (0)

#ifdef MOCK
typedef stream_t a_stream;
typedef event_t an_event;
static function_t spin_kernel, nothing_kernel;

static void set_up(void)
{
    context_t context;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleGetFunction(&spin_kernel, NULL, "spin"));
    CHECK(cuModuleGetFunction(&nothing_kernel, NULL, "nothing"));
}

static void launch(function_t kernel, a_stream stream)
{
    static const unsigned one[3] = {1, 1, 1};
    CHECK(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
}
#define SPIN(cycles, stream) launch(spin_kernel, (stream))
#define NOTHING(stream)      launch(nothing_kernel, (stream))
#define MAKE_STREAM(stream)  CHECK(cuStreamCreate((stream), 0))
#define MAKE_EVENT(event)    CHECK(cuEventCreate((event), 0))
#define ELAPSED              cuEventElapsedTime
#else
typedef cudaStream_t a_stream;
typedef cudaEvent_t an_event;

__global__ void spin(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

__global__ void nothing()
{
}

static void set_up(void)
{
    CHECK(cudaFree(0));
}
#define SPIN(cycles, stream) spin<<<1, 1, 0, (stream)>>>(cycles)
#define NOTHING(stream)      nothing<<<1, 1, 0, (stream)>>>()
#define MAKE_STREAM(stream)  CHECK(cudaStreamCreateWithFlags((stream), cudaStreamNonBlocking))
#define MAKE_EVENT(event)    CHECK(cudaEventCreate((event)))
#define ELAPSED              cudaEventElapsedTime
#endif

enum { STREAMS = 2, MOST = 64 };

/* Lengths from 0.2 to 2 ms at 1.5 GHz. */
static void streams(const char *prefix, int count)
{
    static an_event begins[STREAMS][MOST], ends[STREAMS][MOST];
    a_stream made[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        MAKE_STREAM(&made[s]);
        for (int i = 0; i < count; i++) {
            MAKE_EVENT(&begins[s][i]);
            MAKE_EVENT(&ends[s][i]);
        }
    }
    SPIN(1000, made[0]); /* loads the code */
    SPIN(1000, made[1]);
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < STREAMS; s++) /* 50 ms, in which the host submits all the others: no gaps between */
        SPIN(75000000LL, made[s]);
    for (int i = 0; i < count; i++)
        for (int s = 0; s < STREAMS; s++) {
            CHECK(cudaEventRecord(begins[s][i], made[s]));
            SPIN(300000LL * (1 + i % 10), made[s]);
            CHECK(cudaEventRecord(ends[s][i], made[s]));
        }
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < STREAMS; s++)
        for (int i = 0; i < count; i++) {
            float ms = 0;
            CHECK(ELAPSED(&ms, begins[s][i], ends[s][i]));
            printf("%skernel %d %d %.0f\n", prefix, s, i, 1e6 * (double)ms);
        }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* The device is waited for between batches, so that no launch waits for a place in the queue. */
static void launches(int count)
{
    enum { BATCH = 100 };
    double spent = 0;
    a_stream stream;
    MAKE_STREAM(&stream);
    for (int done = -BATCH; done < count; done += BATCH) {
        const double begin = now();
        for (int i = 0; i < BATCH; i++)
            NOTHING(stream);
        spent += done < 0 ? 0 : now() - begin; /* not the first ones */
        CHECK(cudaDeviceSynchronize());
    }
    printf("launch %.1f\n", spent / count);
}

int main(int argc, char **argv)
{
    const int count = argc > 2 ? atoi(argv[2]) : 20;
    char prefix[32] = "";
#ifdef WITH_MPI
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(prefix, sizeof prefix, "%d ", rank);
#endif
    set_up();
    if (argc > 1 && strcmp(argv[1], "launches") == 0)
        launches(count);
    else
        streams(prefix, count < MOST ? count : MOST);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
