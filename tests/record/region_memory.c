/* A program that has known amounts of fresh memory in marked regions and gives them back there:
 *
 *     region_memory all [killed] | big | small | outer | threads | often VISITS | refused
 *
 * "all" visits the regions big (96 MiB), small (32 MiB), and outer, which has 8 MiB, and within it
 * inner, which has 40 MiB more. The name of a region: it visits that one alone, so that the system's
 * high-water mark of the whole program is that of the region. "threads": the region of one thread is
 * open while another thread visits another one. "often": visits a region many times, within another
 * one. "refused": as "all", but the system refuses to open clear_refs; with REGION_MEMORY_REFUSED in the environment it
 * does so before main begins.
 *
 * Prints at its end the most that was resident, in KiB, as getrusage(2) tells. */
#include <errno.h>
#include <fcntl.h>
#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, BIG = 96, SMALL = 32, OUTER = 8, INNER = 40 };

static bool refuses;

/* Stands in front of the C library's function, also for the recorder. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (strstr(path, "clear_refs") && (refuses || getenv("REGION_MEMORY_REFUSED"))) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static char *take(size_t mib)
{
    char *memory =
        mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(2);
    for (size_t i = 0; i < mib << 20; i += PAGE)
        memory[i] = 1;
    return memory;
}

static void visit(const char *region, size_t mib)
{
    lull_begin(region);
    munmap(take(mib), mib << 20);
    lull_end(region);
}

static void visit_nested(void)
{
    lull_begin("outer");
    char *kept = take(OUTER);
    visit("inner", INNER);
    munmap(kept, (size_t)OUTER << 20);
    lull_end("outer");
}

static pthread_barrier_t together;

static void *be_open(void *nothing)
{
    lull_begin("waits");
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    munmap(take(OUTER), (size_t)OUTER << 20);
    lull_end("waits");
    return nothing;
}

/* Before the region of one thread begins the program has more than at any time within it. */
static void visit_in_threads(void)
{
    pthread_t thread;
    visit("big", BIG);
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&thread, NULL, be_open, NULL);
    pthread_barrier_wait(&together);
    visit("small", SMALL);
    pthread_barrier_wait(&together);
    pthread_join(thread, NULL);
}

static void visit_often(long visits)
{
    lull_begin("around");
    for (long i = 0; i < visits; i++) {
        lull_begin("often");
        lull_end("often");
    }
    lull_end("around");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    struct rusage usage;
    refuses = strcmp(what, "refused") == 0;
    const bool all = refuses || strcmp(what, "all") == 0;
    if (all || strcmp(what, "big") == 0)
        visit("big", BIG);
    if (all || strcmp(what, "small") == 0)
        visit("small", SMALL);
    if (all || strcmp(what, "outer") == 0)
        visit_nested();
    if (strcmp(what, "threads") == 0)
        visit_in_threads();
    if (strcmp(what, "often") == 0)
        visit_often(argc > 2 ? atol(argv[2]) : 1000);
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
    fflush(stdout);
    if (argc > 2 && strcmp(argv[2], "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
