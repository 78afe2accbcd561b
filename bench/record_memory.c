/* What it takes to ask the system how much memory the process has, as the recorder does it, beside one system call that
 * tells less:
 *
 *     bench_record_memory THREADS MIB ROUNDS [used]
 *
 * A line for each round, in turn: "NS of a reading, NS of getrusage, NS of a visit of a marked region", for which the
 * high-water mark is read and reset, and read again. The process has so many threads, which sleep, and so
 * much memory. `used`: before each round it writes to all of it, so that caches have nothing else. */
#include "record/proc_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *wait_for_end(void *argument)
{
    for (;;)
        pause();
    return argument;
}

/* Not a loop that a compiler can leave out because nobody reads what it has written. */
static void write_to(char *memory, int value, size_t bytes)
{
    memset(memory, value, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

/* As read_memory of src/record/memory.c does. */
static unsigned long long ask_memory(void)
{
    struct rec_proc_number of[] = {{.word = "VmHWM"}, {.word = "VmRSS"}, {.word = "VmSwap"}};
    if (!rec_read_proc_numbers(REC_OWN_THREAD, "status", of, 3))
        exit(1);
    return of[0].value + of[1].value + of[2].value;
}

/* As src/record/region_memory.c does where a region begins and where it ends. */
static unsigned long long measure_visit(void)
{
    struct rec_proc_number before = {.word = "VmHWM"}, after = before;
    rec_read_proc_numbers(REC_OWN_THREAD, "status", &before, 1);
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1)
        exit(1);
    close(fd);
    rec_read_proc_numbers(REC_OWN_THREAD, "status", &after, 1);
    return before.value + after.value;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 3 ? atoi(argv[3]) : 1000;
    const bool used = argc > 4 && strcmp(argv[4], "used") == 0;
    const size_t bytes = (argc > 2 ? (size_t)atol(argv[2]) : 1) << 20;
    char *memory = malloc(bytes);
    unsigned long long sum = 0;
    struct rusage usage;
    if (!memory)
        return 1;
    write_to(memory, 1, bytes);
    for (int t = 1; t < threads; t++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
            return 1;
    }
    for (int round = 0; round < rounds; round++) {
        if (used)
            write_to(memory, round, bytes);
        const long long begin = now();
        sum += ask_memory();
        const long long middle = now();
        getrusage(RUSAGE_SELF, &usage);
        sum += (unsigned long long)usage.ru_maxrss;
        const long long end = now();
        sum += measure_visit();
        printf("%lld %lld %lld\n", middle - begin, end - middle, now() - end);
    }
    free(memory);
    return sum == 0; /* the system has told nothing */
}
