/* record_dense CALLS: takes and gives back locks of OpenMP that are free, and does nothing else: of
 * all programs the one that fills the recorder's chunks fastest. */
#include <omp.h>
#include <stdlib.h>

enum { LOCKS = 1000 };

int main(int argc, char **argv)
{
    static omp_lock_t locks[LOCKS];
    const long calls = argc > 1 ? atol(argv[1]) : 2000000;
    for (int i = 0; i < LOCKS; i++)
        omp_init_lock(&locks[i]);
    for (long i = 0; i < calls / 2; i++) {
        omp_set_lock(&locks[i % LOCKS]);
        omp_unset_lock(&locks[i % LOCKS]);
    }
    for (int i = 0; i < LOCKS; i++)
        omp_destroy_lock(&locks[i]);
    return 0;
}
