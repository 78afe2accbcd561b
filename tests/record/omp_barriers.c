/* More events than fit into a small file. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    omp_set_num_threads(2);
#pragma omp parallel
    {
        /* Threads share the file: a thread that comes when it is full has no place in it. */
#pragma omp barrier
        for (int i = 0; i < 40000; i++) {
#pragma omp critical
            __asm__ volatile("");
        }
    }
    /* 256 KiB less a header, by three records of 16 bytes, in whole chunks */
    puts("atleast 8000 !$omp critical\nthreads 2\natleast 2 !$omp parallel");
    return 0;
}
