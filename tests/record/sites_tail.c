/* Functions that end in a call, which becomes a jump: the call returns to whoever has called them,
 * and that may be the recorder. For sites_omp.py. */
#include <stdio.h>

static double field[1000];

int main(void)
{
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp for nowait schedule(static)
            for (int i = 0; i < 1000; i++)
                field[i] += i;
#pragma omp barrier
        }
    }
    printf("%g\n", field[9]);
    return 0;
}
