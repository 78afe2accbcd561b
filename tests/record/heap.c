/* Where the program's blocks of malloc lie in the heap: the same alone and recorded. With OpenMP
 * each region of libgomp on one thread takes a block and frees it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 40 };

static uintptr_t end;
static uintptr_t places[3 * BLOCKS];
static int n_places;

static void *take(size_t size)
{
    void *block = malloc(size);
    places[n_places++] = end - (uintptr_t)block;
    return block;
}

int main(void)
{
    /* From the end of the heap: where it begins is another place in each run. */
    end = (uintptr_t)sbrk(0);
    void *kept[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        kept[i] = take((size_t)(i * i * 3 + 1));
#pragma omp parallel num_threads(1)
        __asm__ volatile("" ::: "memory");
        free(take(64));
    }
    for (int i = 0; i < BLOCKS; i += 2)
        free(kept[i]);
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = take((size_t)(i * 100));
    for (int i = 0; i < n_places; i++)
        printf("%zu\n", (size_t)places[i]);
    return 0;
}
