#include "support/record/recorded.h"

#include "support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char run[4096];

/* ---- at work ----------------------------------------------------------------------------------
 */

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

int recorded_main(int argc, char **argv, int (*tests)(void))
{
    if (argc == 3 && strcmp(argv[1], "recorded") == 0) {
        snprintf(run, sizeof run, "%s", argv[2]);
        return tests();
    }
    int status = 1;
    folder_make();
    snprintf(run, sizeof run, "%s", folder_path("run"));
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        setenv("LULL_RECORD_DIR", run, 1);
        setenv("LULL_RECORD_QUIET", "1", 1);
        execl("/proc/self/exe", argv[0], "recorded", run, (char *)NULL);
        _exit(1);
    }
    must(waitpid(child, &status, 0) == child, "waitpid");
    folder_remove();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

const char *recorded_path(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/0/%s", run, name);
    return path;
}

struct started {
    pthread_t thread;
    void (*body)(unsigned);
    unsigned number;
};

static void *start(void *argument)
{
    const struct started *started = argument;
    started->body(started->number);
    return NULL;
}

void recorded_threads(unsigned n, void (*body)(unsigned number))
{
    struct started all[64];
    must(n <= sizeof all / sizeof *all, "too many threads");
    for (unsigned i = 0; i < n; i++) {
        all[i] = (struct started){.body = body, .number = i};
        must(pthread_create(&all[i].thread, NULL, start, &all[i]) == 0, "pthread_create");
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(all[i].thread, NULL);
}

/* ---- refused ----------------------------------------------------------------------------------
 *
 * The linker leads the calls of all that is linked statically to these (--wrap). */

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__real_mremap(void *, size_t, size_t, int, ...);
int __real_posix_fallocate(int, off_t, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mremap(void *, size_t, size_t, int, ...);
int __wrap_posix_fallocate(int, off_t, off_t);

static size_t most = SIZE_MAX; /* atomic */
static bool full;              /* atomic */

void recorded_refuse_memory(size_t above)
{
    __atomic_store_n(&most, above, __ATOMIC_RELAXED);
}

void recorded_refuse_space(bool refuse)
{
    __atomic_store_n(&full, refuse, __ATOMIC_RELAXED);
}

static bool refuses(size_t size)
{
    if (size <= __atomic_load_n(&most, __ATOMIC_RELAXED))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
    return refuses(size) ? MAP_FAILED : __real_mmap(place, size, protection, flags, fd, offset);
}

void *__wrap_mremap(void *place, size_t size, size_t wanted, int flags, ...)
{
    if (refuses(wanted))
        return MAP_FAILED;
    if (!(flags & MREMAP_FIXED))
        return __real_mremap(place, size, wanted, flags);
    va_list arguments;
    va_start(arguments, flags);
    void *target = va_arg(arguments, void *);
    va_end(arguments);
    return __real_mremap(place, size, wanted, flags, target);
}

int __wrap_posix_fallocate(int fd, off_t offset, off_t size)
{
    return __atomic_load_n(&full, __ATOMIC_RELAXED) ? ENOSPC
                                                    : __real_posix_fallocate(fd, offset, size);
}
