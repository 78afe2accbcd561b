/* late_calls barrier|lock|busy|threads: a thread is in a call when the program ends, for good, or
 * makes short ones one after the other, or threads that do nothing. Linked with late_library.c: the
 * thread goes on behind the recorder's end. Prints what must be found. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int late_ending, late_marked; /* atomic */

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int begun; /* the thread, as the system calls it */

static void *wait_at_barrier(void *nothing)
{
    begun = gettid();
    pthread_barrier_wait(&barrier);
    return nothing;
}

static void *wait_for_lock(void *nothing)
{
    begun = gettid();
    pthread_mutex_lock(&lock);
    return nothing;
}

static void *make_calls(void *nothing)
{
    while (!__atomic_load_n(&late_ending, __ATOMIC_RELAXED)) {
        pthread_barrier_wait(&barrier);
        begun = 1;
    }
    __atomic_store_n(&late_marked, 1, __ATOMIC_RELAXED);
    return nothing;
}

static void *do_nothing(void *nothing)
{
    return nothing;
}

static void *make_threads(void *nothing)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (!__atomic_load_n(&late_ending, __ATOMIC_RELAXED)) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, do_nothing, NULL) == 0)
            begun = 1;
    }
    __atomic_store_n(&late_marked, 1, __ATOMIC_RELAXED);
    return nothing;
}

static const struct {
    const char *name;
    void *(*work)(void *);
    unsigned comers; /* that the barrier waits for */
    const char *expected;
} forms[] = {{"barrier", wait_at_barrier, 2, "threads 2\nexpect 1 pthread_barrier_wait"},
             {"lock", wait_for_lock, 2, "threads 2\nexpect 1 pthread_mutex_lock"},
             {"busy", make_calls, 1, "threads 2\natleast 1 pthread_barrier_wait\ntorn 1"},
             {"threads", make_threads, 1, "atleast 1 pthread_create\ntorn 1"}};

/* Until the thread sleeps. */
static void wait_until_blocked(void)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", begun);
    while (state != 'S') {
        FILE *stat = fopen(path, "r");
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            exit(2);
        fclose(stat);
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    enum { FORMS = sizeof forms / sizeof *forms };
    unsigned form = 0;
    pthread_t thread;
    while (form < FORMS && (argc != 2 || strcmp(argv[1], forms[form].name) != 0))
        form++;
    if (form == FORMS)
        return 2;
    pthread_mutex_lock(&lock);
    pthread_barrier_init(&barrier, NULL, forms[form].comers);
    if (pthread_create(&thread, NULL, forms[form].work, NULL) != 0)
        return 2;
    pthread_detach(thread);
    while (!begun)
        sched_yield();
    if (forms[form].comers > 1) {
        wait_until_blocked();
        __atomic_store_n(&late_marked, 1, __ATOMIC_RELAXED);
    }
    printf("open 1\n%s\n", forms[form].expected);
    return 0;
}
