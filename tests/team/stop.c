/* Loaded before lull: the process stops itself (SIGSTOP) where it is about to read events of a run
 * (LULL_TEST_STOP), or to begin a pass (LULL_TEST_STOP_PASS), or where it is in the middle of a
 * replay (LULL_TEST_STOP_REPLAY), so that a test knows where it is; or it gets no file for the
 * replay (LULL_TEST_NO_FILE), or no folder (LULL_TEST_NO_FOLDER). They say which of the processes
 * that lull forks, from 1 on, or 0 for the one that loads this. */
#include <dlfcn.h>
#include <errno.h>
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

static int is_chosen(const char *variable)
{
    const char *chosen = getenv(variable);
    return chosen && atoi(chosen) == self;
}

/* A whole line of the cache is where parts of the records of a location are read to, two are what
 * workers of a pass get. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *(*original)(size_t alignment, size_t size);
    *(void **)&original = dlsym(RTLD_NEXT, "aligned_alloc");
    if (((alignment == 64 && is_chosen("LULL_TEST_STOP")) ||
         (alignment == 128 && is_chosen("LULL_TEST_STOP_PASS"))) &&
        !atomic_flag_test_and_set(&stopped))
        raise(SIGSTOP);
    return original(alignment, size);
}

/* A sequence is copied into a temporary folder. */
char *mkdtemp(char *template)
{
    char *(*original)(char *template);
    *(void **)&original = dlsym(RTLD_NEXT, "mkdtemp");
    if (is_chosen("LULL_TEST_NO_FOLDER")) {
        errno = ENOSPC;
        return NULL;
    }
    return original(template);
}

/* A replay keeps its times in a file without a name. */
int mkostemp(char *template, int flags)
{
    int (*original)(char *template, int flags);
    *(void **)&original = dlsym(RTLD_NEXT, "mkostemp");
    if (is_chosen("LULL_TEST_NO_FILE")) {
        errno = ENOSPC;
        return -1;
    }
    if (is_chosen("LULL_TEST_STOP_REPLAY") && !atomic_flag_test_and_set(&stopped))
        raise(SIGSTOP);
    return original(template, flags);
}
