/* Loaded before lull: the process stops itself (SIGSTOP) where it first maps the events of a run,
 * so that a test knows where it is. LULL_TEST_STOP is which of the processes that lull forks, from
 * 1 on, or 0 for the one that loads this. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

static int is_chosen(int fd)
{
    char link[64], path[4096];
    const char *chosen = getenv("LULL_TEST_STOP");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (!chosen || atoi(chosen) != self || length < 5)
        return 0;
    return memcmp(path + length - 5, ".tape", 5) == 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && is_chosen(fd) && !atomic_flag_test_and_set(&stopped))
        raise(SIGSTOP);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}
