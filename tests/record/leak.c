/* A program that takes so many KiB of fresh memory in each of its steps and never gives them back:
 *
 *     leak KIB STEPS end | killed
 *
 * Prints after each step when that was, in ns since its begin, and what it has by the system (resident and
 * swapped out), in KiB. `killed`: it kills itself at its end. */
#include <lull/lull.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void take(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(2);
    for (size_t i = 0; i < bytes; i += PAGE)
        memory[i] = 1;
}

static long own_memory(void)
{
    char line[256];
    long resident = -1, swapped = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "VmRSS: %ld kB", &resident);
        sscanf(line, "VmSwap: %ld kB", &swapped);
    }
    if (status)
        fclose(status);
    return resident + swapped;
}

static long long since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begin->tv_sec) * 1000000000LL + (now.tv_nsec - begin->tv_nsec);
}

int main(int argc, char **argv)
{
    struct timespec begin;
    const size_t bytes = (argc > 1 ? (size_t)atol(argv[1]) : 1) << 10;
    const int steps = argc > 2 ? atoi(argv[2]) : 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int step = 0; step < steps; step++) {
        take(bytes);
        lull_begin("step");
        usleep(120000); /* the recorder asks the system every 100 ms, where a region ends */
        lull_end("step");
        printf("%lld %ld\n", since(&begin), own_memory());
    }
    fflush(stdout);
    if (argc > 3 && strcmp(argv[3], "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
