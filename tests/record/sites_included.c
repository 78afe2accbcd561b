/* The same parallel region in two functions, from a file that both include, and one that is not
 * included. */
enum { CELLS = 1000, TURNS = 3 };
static double cells[CELLS];
static volatile int turns; /* so that no function ends with its region */

__attribute__((noinline)) static void smooth(void)
{
#include "sites_included.inc"
    turns++;
}

__attribute__((noinline)) static void scale(void)
{
#include "sites_included.inc"
    turns++;
}

int main(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
        smooth();
        scale();
    }
#pragma omp parallel
    turns = 0;
    return turns;
}
