/* Three threads that touch so many fresh pages each, of 4 KiB:
 *
 *     page_faults PAGES end | killed
 *
 * Of the two threads that the program makes one ends, and the other one runs on when the program
 * ends. Or the program kills itself a while later, when it has left a marked region. */
#include <lull/lull.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static size_t pages;
static sem_t touched;

static void touch(void)
{
    char *memory =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(2);
    madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        memory[i * PAGE] = 1;
}

static void *touch_and_end(void *nothing)
{
    touch();
    return nothing;
}

static void *touch_and_stay(void *nothing)
{
    touch();
    sem_post(&touched);
    for (;;)
        pause();
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t ends, stays;
    pages = argc > 1 ? (size_t)atol(argv[1]) : 1000;
    sem_init(&touched, 0, 0);
    pthread_create(&ends, NULL, touch_and_end, NULL);
    pthread_join(ends, NULL);
    pthread_create(&stays, NULL, touch_and_stay, NULL);
    sem_wait(&touched);
    lull_begin("touch");
    touch();
    usleep(60000); /* the recorder asks the system every 50 ms */
    lull_end("touch");
    if (argc > 2 && strcmp(argv[2], "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
