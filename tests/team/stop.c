/* Loaded before lull: the process stops itself (SIGSTOP) where it is about to read events of a run,
 * so that a test knows where it is. LULL_TEST_STOP is which of the processes that lull forks, from
 * 1 on, or 0 for the one that loads this. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int forks, self;
static atomic_flag stopped = ATOMIC_FLAG_INIT;

pid_t fork(void)
{
    pid_t (*original)(void);
    *(void **)&original = dlsym(RTLD_NEXT, "fork");
    forks++;
    const pid_t child = original();
    if (child == 0)
        self = forks;
    return child;
}

static int is_chosen(void)
{
    const char *chosen = getenv("LULL_TEST_STOP");
    return chosen && atoi(chosen) == self;
}

/* A whole line of the cache is where parts of the records of a location are read to. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *(*original)(size_t alignment, size_t size);
    *(void **)&original = dlsym(RTLD_NEXT, "aligned_alloc");
    if (alignment == 64 && is_chosen() && !atomic_flag_test_and_set(&stopped))
        raise(SIGSTOP);
    return original(alignment, size);
}
