/* Two threads that allocate a large array in each turn, fill it, and free it: the system gives out
 * its pages anew each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    const size_t size = (size_t)40 << 20;
    double sum = 0;
    for (int turn = 0; turn < 8; turn++) {
#pragma omp parallel reduction(+ : sum)
        {
            double *array = malloc(size);
            memset(array, turn, size);
            for (size_t i = 0; i < size / sizeof *array; i++)
                sum += array[i];
            free(array);
        }
    }
    printf("%g\n", sum);
    return 0;
}
