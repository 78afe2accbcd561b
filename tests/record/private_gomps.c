/* Modules that have brought along a copy of libgomp each, loaded for themselves alone. With THREADS
 * defined this is a module, whose regions have so many threads; else
 *
 *     private_gomps MODULE OTHER
 *
 * calls both in turns and one out of the other's regions. Prints what must be found; the status is
 * 1 if a thread has not the number that it must have, as when a region is run by one copy and the
 * number is asked of another.
 */
#ifdef THREADS
#include <omp.h>
#include <stdbool.h>

/* Without anything behind it the call of the runtime is a jump, which leaves no trace of this. */
__attribute__((noinline)) void module_wait(void)
{
#pragma omp barrier
}

static int numbers, shares;

__attribute__((noinline)) static void look(void)
{
#pragma omp critical
    numbers |= 1 << omp_get_thread_num();
    module_wait();
#pragma omp for schedule(dynamic, 1) nowait
    for (int i = 0; i < 5; i++) {
#pragma omp atomic
        shares++;
    }
}

/* Parallel regions, each with two barriers and a critical section for each thread. */
bool module_work(int regions)
{
    bool good = true;
    for (int i = 0; i < regions; i++) {
        numbers = shares = 0;
#pragma omp parallel num_threads(THREADS)
        look();
        good &= numbers == (1 << THREADS) - 1 && shares == 5;
    }
    return good;
}

/* One thread of a region calls the other module. */
bool module_around(bool (*work)(int), int regions)
{
    bool good = false;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp single
        good = work(regions);
        module_wait();
    }
    return good;
}

#else
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef bool work(int);
typedef bool around(work *, int);
struct module {
    int threads;
    work *work;
    around *around;
};

static bool load(const char *path, int threads, struct module *module)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *work = library ? dlsym(library, "module_work") : NULL;
    void *around = library ? dlsym(library, "module_around") : NULL;
    if (!work || !around)
        return false;
    module->threads = threads;
    memcpy(&module->work, &work, sizeof work);
    memcpy(&module->around, &around, sizeof around);
    return true;
}

int main(int argc, char **argv)
{
    enum { REGIONS = 20, AROUND = 3 };
    struct module a, b;
    if (argc != 3 || !load(argv[1], 2, &a)) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    bool good = a.work(REGIONS);
    if (!load(argv[2], 3, &b))
        return 2;
    for (int i = 0; i < REGIONS; i++)
        good = b.work(1) && a.work(1) && good;
    good = a.around(b.work, AROUND) && good;
    good = b.around(a.work, AROUND) && good;
    int regions_a = 2 * REGIONS + AROUND, regions_b = REGIONS + AROUND;
    printf("expect %d !$omp parallel\n", 2 * (regions_a + 1) + 3 * (regions_b + 1));
    printf("expect %d !$omp critical\n", 2 * regions_a + 3 * regions_b);
    printf("expect %d !$omp for\n", 2 * regions_a + 3 * regions_b);
    printf("expect %d !$omp single\n", 2 + 3);
    /* a barrier each in the regions, and two around the others' */
    printf("expect %d !$omp barrier\n", 2 * (regions_a + 2) + 3 * (regions_b + 2));
    return !good;
}
#endif
