/* Parallel regions in parallel regions, more threads than anybody asks for: each of them counts,
 * and what is kept of each is small. Prints what must be found. */
#include <lull/lull.h>
#include <omp.h>
#include <stdio.h>

enum { WIDTH = 16 };

int main(void)
{
    int visits = 0;
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
#pragma omp parallel num_threads(WIDTH) reduction(+ : visits)
#pragma omp parallel num_threads(WIDTH) reduction(+ : visits)
    {
        lull_begin("visit");
        visits++;
        lull_end("visit");
    }
    printf("expect %d visit\n", visits);
    printf("expect %d !$omp parallel\n", WIDTH + WIDTH * WIDTH);
    return visits != WIDTH * WIDTH;
}
