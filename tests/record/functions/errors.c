/* errno is the program's: a function tells by it why it fails, and its caller looks at it behind
 * other calls. */
#include <errno.h>
#include <lull/lull.h>
#include <pthread.h>
#include <stdio.h>

#define APART __attribute__((noinline))

APART static int fail(int why)
{
    errno = why;
    return -1;
}

APART static int why(void)
{
    return errno;
}

APART static void mark(void)
{
    lull_begin("a");
    lull_iteration(1);
    lull_end("a");
    lull_pause();
    lull_resume();
}

/* So often that records are written to the disk in between. */
static void *in_thread(void *argument)
{
    int wrong = 0;
    for (int i = 0; i < 50000; i++)
        wrong += fail(EDOM) != -1 || why() != EDOM;
    errno = ERANGE;
    mark();
    wrong += errno != ERANGE;
    printf("%d wrong\n", wrong);
    return argument;
}

int main(void)
{
    pthread_t thread;
    in_thread(NULL);
    if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    return 0;
}
