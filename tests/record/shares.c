/* Functions with known shares of two threads' processor time, in an order by chance, and pauses that take none.
 *
 *     shares MS
 *
 * Says for each thread and function how many ns of processor time it took, by the thread's own clock:
 * "share THREAD FUNCTION NS". The second thread has a tenth of the time. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MANY, SOME, FEW, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"work_many", "work_some", "work_few"};
static const unsigned weights[FUNCTIONS] = {10, 3, 1};

static _Thread_local volatile unsigned sink;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Three times the same, so that each is a function of its own. */
#define WORK(name)                                  \
    __attribute__((noinline)) void name(unsigned n) \
    {                                               \
        for (unsigned i = 0; i < n; i++)            \
            sink += i ^ n;                          \
    }
WORK(work_many)
WORK(work_some)
WORK(work_few)

static void (*const functions[FUNCTIONS])(unsigned) = {work_many, work_some, work_few};

static unsigned draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    unsigned left = (unsigned)(*state >> 33) % 14, function = 0;
    while (left >= weights[function])
        left -= weights[function++];
    return function;
}

struct part {
    int64_t length, took[FUNCTIONS];
    uint64_t random;
};

static void *run(void *argument)
{
    struct part *part = argument;
    const struct timespec rest = {.tv_nsec = 20000000};
    unsigned turn = 0;
    for (const int64_t end = now() + part->length; now() < end; turn++) {
        const unsigned function = draw(&part->random);
        const int64_t begin = now();
        functions[function](100000);
        part->took[function] += now() - begin;
        if (turn % 100 == 0)
            nanosleep(&rest, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const int64_t length = (argc > 1 ? atol(argv[1]) : 1000) * INT64_C(1000000);
    struct part parts[2] = {{.length = length, .random = 1}, {.length = length / 10, .random = 2}};
    pthread_t second;
    pthread_create(&second, NULL, run, &parts[1]);
    run(&parts[0]);
    pthread_join(second, NULL);
    for (unsigned t = 0; t < 2; t++)
        for (unsigned f = 0; f < FUNCTIONS; f++)
            printf("share %u %s %lld\n", t, names[f], (long long)parts[t].took[f]);
    return 0;
}
