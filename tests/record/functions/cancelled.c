/* A thread is cancelled where it says so, and goes on up to there with what it has locked. */
#include <pthread.h>
#include <stdio.h>

#define APART __attribute__((noinline))
static volatile int ready, cancelled;
static volatile long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

APART static void tick(void)
{
    sum++;
}

/* So often that records are written to the disk in between. */
static void *in_thread(void *argument)
{
    ready = 1;
    while (!cancelled) {
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 50000; i++)
        tick();
    pthread_mutex_unlock(&lock);
    if (argument)
        pthread_testcancel();
    return NULL;
}

static void cancel_one(void *argument)
{
    pthread_t thread;
    void *result = NULL;
    ready = cancelled = 0;
    if (pthread_create(&thread, NULL, in_thread, argument) != 0)
        return;
    while (!ready) {
    }
    pthread_cancel(thread);
    cancelled = 1;
    pthread_join(thread, &result);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "came to its end");
}

int main(void)
{
    int here;
    cancel_one(NULL);
    cancel_one(&here);
    return 0;
}
