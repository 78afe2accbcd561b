/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/store/file.h"

#include "record/core.h"
#include "tape/container.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where a write exceeds RLIMIT_FSIZE, the system sends SIGXFSZ to the thread that writes. The
 * signal is blocked there during the write, and consumed afterwards unless one was pending
 * before. */
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

static bool is_ours(const struct rec_file *file)
{
    struct stat info;
    return file->fd >= 0 && fstat(file->fd, &info) == 0 && info.st_dev == file->device &&
           info.st_ino == file->inode;
}

const char *rec_file_path(char *path, const char *what)
{
    snprintf(path, REC_PATH, "%s/%u.%s", rec_process.folder, rec_process.number, what);
    return path;
}

bool rec_file_take(struct rec_file *file, int fd)
{
    struct stat info;
    file->fd = -1;
    if (fd < 0)
        return false;
    if (fstat(fd, &info) != 0) {
        close(fd);
        return false;
    }
    *file = (struct rec_file){fd, info.st_dev, info.st_ino};
    return true;
}

bool rec_file_create(struct rec_file *file, const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
        lull_tape_write_in_place(fd);
    return rec_file_take(file, fd);
}

bool rec_file_open(struct rec_file *file, const char *path)
{
    if (is_ours(file))
        return true;
    file->fd = open(path, O_RDWR | O_CLOEXEC);
    if (is_ours(file))
        return true;
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    return false;
}

void rec_file_close(struct rec_file *file)
{
    if (is_ours(file))
        close(file->fd);
    file->fd = -1;
}

bool rec_file_write(const struct rec_file *file, const void *bytes, size_t size, off_t offset)
{
    struct guard guard;
    errno = EBADF;
    if (!is_ours(file))
        return false;
    guard_begin(&guard);
    bool good = write_all(file->fd, bytes, size, offset);
    guard_end(&guard, !good);
    return good;
}

bool rec_file_extend(const struct rec_file *file, uint64_t offset, size_t size)
{
    struct guard guard;
    errno = EBADF;
    if (!is_ours(file))
        return false;
    guard_begin(&guard);
    errno = posix_fallocate(file->fd, (off_t)offset, (off_t)size);
    bool good = errno == 0;
    guard_end(&guard, !good);
    return good;
}

/* A system call, not the C library's function: UCX 1.13, below MPICH, puts a function of its own
 * into its place, which loses the last argument, and all would be moved to address 0. */
bool rec_file_remap(void *from, size_t from_size, void *to, size_t size)
{
    return syscall(SYS_mremap, from, from_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != -1;
}

/* The memory is mapped elsewhere and then moved, because a mapping with MAP_FIXED could leave a
 * hole there when it fails. */
void rec_file_freeze(void *mapping, size_t size)
{
    void *space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space != MAP_FAILED && !rec_file_remap(space, size, mapping, size))
        munmap(space, size);
}
