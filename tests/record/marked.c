/* A program with marks: runs with and without the recorder, and is linked with neither. */
#include <lull/lull.h>
#include <pthread.h>
#include <stdio.h>

static void *other(void *argument)
{
    for (int i = 0; i < 7; i++) {
        lull_begin("in a thread");
        lull_end("in a thread");
    }
    return argument;
}

int main(void)
{
    pthread_t threads[3];
    char name[] = "solve";
    for (int step = 0; step < 10; step++) {
        lull_iteration(step);
        lull_begin("step");
        for (int i = 0; i < 3; i++) {
            lull_begin(name); /* names are compared by content */
            lull_end("solve");
        }
        lull_pause();
        lull_begin("not seen");
        lull_end("not seen");
        lull_resume();
        lull_end("step");
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            if (pthread_create(&threads[i], NULL, other, NULL) != 0)
                return 1;
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    }
    puts("expect 10 step\nexpect 30 solve\nexpect 0 not seen\nexpect 84 in a thread\n"
         "expect 12 pthread_create\nexpect 12 pthread_join\nprocesses 1");
    return 0;
}
