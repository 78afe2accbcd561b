/* Two threads that mark regions and iterations, which they number, and count in a file, which stays
 * when they are killed, how often they have done so:  killed COUNTS MOST [US]
 * A thread that has done so MOST times waits to be killed. With US, the threads rest for so many
 * microseconds after each time. */
#include <fcntl.h>
#include <lull/lull.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 2 };

static long *counts, most;
static unsigned rest; /* us */

static void *mark(void *argument)
{
    long *count = argument;
    while (*count < most) {
        lull_begin("mark");
        lull_end("mark");
        lull_iteration(*count);
        __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
        if (rest > 0)
            usleep(rest);
    }
    for (;;)
        pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    most = argc > 2 ? atol(argv[2]) : 0;
    rest = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED)
        return 1;
    pthread_create(&thread, NULL, mark, &counts[8]);
    mark(&counts[0]);
    return 0;
}
