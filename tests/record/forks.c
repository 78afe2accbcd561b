/* Children that are forked in every way, outside of regions and inside, and go on with what their
 * parent was doing: nothing of that is recorded, and the parent's run is as if they were not.
 * Prints what must be found. */
#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern pid_t _Fork(void) __attribute__((weak));

enum { WAYS = 3, TIMES = 5 };

static int failures;

static pid_t fork_by(int way)
{
    if (way == 1 && _Fork)
        return _Fork();
    if (way == 2)
        return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    return fork();
}

static void mark(void)
{
    lull_begin("mark");
    lull_end("mark");
}

/* True in a child. */
static int divide(int way)
{
    pid_t child = fork_by(way);
    if (child == 0)
        return 1;
    int status = -1;
    failures += child < 0 || waitpid(child, &status, 0) != child || status != 0;
    return 0;
}

static void *thread(void *argument)
{
    mark();
    return argument;
}

static void go_on_in_child(void)
{
    pthread_t made;
    lull_pause();
    for (int i = 0; i < 100; i++)
        mark();
    lull_resume();
    mark();
    if (pthread_create(&made, NULL, thread, NULL) == 0)
        pthread_join(made, NULL);
}

/* The child leaves every construct that it was forked in. */
static void divide_in_constructs(int way)
{
    int child = 0;
    lull_begin("outer");
#pragma omp parallel num_threads(1)
    {
        mark();
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 2; i++) {
#pragma omp task shared(child)
            if (i == 0 && divide(way))
                child = 1;
#pragma omp taskwait
            mark();
        }
    }
    lull_end("outer");
    if (child) {
        go_on_in_child();
        exit(0);
    }
}

int main(void)
{
    for (int i = 0; i < TIMES; i++)
        for (int way = 0; way < WAYS; way++) {
            if (divide(way)) {
                go_on_in_child();
                _exit(0);
            }
            mark();
            divide_in_constructs(way);
        }
    printf("expect %d mark\n", TIMES * WAYS * 4);
    printf("expect %d outer\n", TIMES * WAYS);
    printf("expect 0 pthread_create\nthreads 1\nprocesses 1\n");
    return failures != 0;
}
