/* Target regions of OpenMP, by a compiler and a runtime that offload to the host, and in lines of opencl.c what a
 * recorder must find of them. `enters NAME COUNT`: how often constructs of that name begin on the host. `slept`: one
 * kernel takes as long as that at least, in ns. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { N = 1000, BYTES = N * sizeof(double), SLEEP = 20000000 };

static double x[N], y[N];

int main(void)
{
    if (omp_get_num_devices() == 0) {
        puts("no device");
        return 77;
    }
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 1;
    }
/* to: x, y; from: y */
#pragma omp target teams distribute parallel for map(tofrom : y) map(to : x)
    for (int i = 0; i < N; i++)
        y[i] += 2 * x[i];
/* to: y; from: y */
#pragma omp target data map(tofrom : y)
    {
#pragma omp target
        for (int i = 0; i < N; i++)
            y[i] *= 2;
#pragma omp target update from(y)
#pragma omp target update to(y)
    }
/* to: half of x; from: half of x */
#pragma omp target enter data map(to : x [0:N / 2])
#pragma omp target
    for (int i = 0; i < N / 2; i++)
        x[i] += 1;
#pragma omp target exit data map(from : x [0:N / 2])
#pragma omp target
    {
        const struct timespec length = {.tv_nsec = SLEEP};
        nanosleep(&length, 0);
    }
    /* Two threads, a kernel each. Both kernels wait for each other, so that they overlap, for which a recorder needs two streams.
     * The device is the host: the kernels share its memory. */
    int met = 0, threads = 1;
    int *const all_met = &met;
#pragma omp parallel num_threads(2)
    {
        const int n = omp_get_num_threads();
#pragma omp single
        threads = n;
#pragma omp target is_device_ptr(all_met)
        {
            __atomic_add_fetch(all_met, 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(all_met, __ATOMIC_SEQ_CST) < n)
                continue;
        }
    }
    printf("result %g %g\n", y[10], x[10]);
    printf("kernel !$omp@target@kernel 6\n");
    printf("copy copy@to@device 5 %d\n", 4 * BYTES + BYTES / 2);
    printf("copy copy@from@device 4 %d\n", 3 * BYTES + BYTES / 2);
    printf("streams %d\n", threads);
    printf("enters !$omp@target 6\nenters !$omp@target@update 2\nenters !$omp@target@enter@data 2\n"
           "enters !$omp@target@exit@data 2\nslept %d\n",
           SLEEP);
    return 0;
}
