#include "record/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The signal of RLIMIT_FSIZE is sent to the thread that writes: it is held back, and taken away if
 * it was not pending before. */
struct guard {
    sigset_t limit, before, pending;
};

static void guard_begin(struct guard *guard)
{
    sigemptyset(&guard->limit);
    sigaddset(&guard->limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &guard->limit, &guard->before);
    sigemptyset(&guard->pending);
    sigpending(&guard->pending);
}

static void guard_end(const struct guard *guard, bool failed)
{
    static const struct timespec now;
    int reason = errno;
    if (failed && !sigismember(&guard->pending, SIGXFSZ))
        sigtimedwait(&guard->limit, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = reason;
}

static bool write_all(int fd, const char *bytes, size_t size, off_t offset)
{
    while (size > 0) {
        ssize_t wrote = pwrite(fd, bytes, size, offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        offset += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

bool rec_file_write(int fd, const void *bytes, size_t size, off_t offset)
{
    struct guard guard;
    guard_begin(&guard);
    bool good = write_all(fd, bytes, size, offset);
    guard_end(&guard, !good);
    return good;
}

bool rec_file_extend(int fd, size_t size)
{
    struct guard guard;
    guard_begin(&guard);
    errno = posix_fallocate(fd, 0, (off_t)size);
    bool good = errno == 0;
    guard_end(&guard, !good);
    return good;
}
