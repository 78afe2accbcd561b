/* A program that is looked at while it runs: makes marks, says so, and goes on when it is told. */
#include <lull/lull.h>
#include <stdio.h>

/* Together more than two chunks of the tape hold. */
enum { FIRST = 7001, SECOND = 3002 };

static void mark(int times)
{
    for (int i = 0; i < times; i++) {
        lull_begin("mark");
        lull_end("mark");
    }
}

static void say(int times)
{
    printf("processes 1\nthreads 1\nexpect %d mark\nready\n", times);
    fflush(stdout);
}

int main(void)
{
    mark(FIRST);
    say(FIRST);
    getchar();
    mark(SECOND);
    say(FIRST + SECOND);
    return 0;
}
