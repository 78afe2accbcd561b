/* SPDX-License-Identifier: BSD-3-Clause */
/* Files by descriptors: open, read, write and their like. Functions with 64 in their names do the
 * same as those without on machines with 64 bits. Programs that are compiled with _FORTIFY_SOURCE
 * call the functions that end in _chk and _2. */
#include "record/file/call.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/uio.h>
#include <unistd.h>

/* clang-format off */
#define DESCRIPTOR_FUNCTIONS(X)                                                                            \
    X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64)                                 \
    X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2)                                     \
    X(close) X(dup2) X(dup3)                                                                    \
    X(read) X(pread) X(pread64) X(readv) X(preadv) X(preadv64)                                  \
    X(__read_chk) X(__pread_chk) X(__pread64_chk)                                               \
    X(write) X(pwrite) X(pwrite64) X(writev) X(pwritev) X(pwritev64)                            \
    X(fsync) X(fdatasync)
/* clang-format on */
enum { DESCRIPTOR_FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
enum { FIRST_SITE = REC_FILE_SITES };
static const char *const descriptor_names[N_NEXT] = {DESCRIPTOR_FUNCTIONS(REC_NEXT_NAME)};
static rec_function next[N_NEXT];
static struct rec_wait_function functions[N_NEXT] = {DESCRIPTOR_FUNCTIONS(REC_FILE_FUNCTION)};

__attribute__((constructor)) static void find_descriptor_functions(void)
{
    rec_next_find(next, descriptor_names, N_NEXT);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* `wait` is NULL where the call is not recorded. Also then the descriptor stands for another file
 * from here on. */
static void end_open_descriptor(struct rec_wait *wait, int descriptor)
{
    rec_file_forget(descriptor);
    if (wait)
        rec_file_end(wait, LULL_TAPE_IO_OPEN, descriptor >= 0 ? rec_file_of(descriptor) : 0,
                     descriptor >= 0 ? 0 : -1);
}

#define OPEN_DESCRIPTOR(name, declared, passed)              \
    REC_EXPORT int name declared;                            \
    int name declared                                        \
    {                                                        \
        struct rec_wait wait;                                \
        const bool follows = REC_FILE_BEGIN(&wait, name);    \
        const int result = REC_NEXT(name) passed;            \
        end_open_descriptor(follows ? &wait : NULL, result); \
        return result;                                       \
    }
#define OPEN_WITH_MODE(name, declared, passed)                     \
    REC_EXPORT int name declared;                                  \
    int name declared                                              \
    {                                                              \
        mode_t mode = 0;                                           \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list arguments;                                     \
            va_start(arguments, flags);                            \
            mode = va_arg(arguments, mode_t);                      \
            va_end(arguments);                                     \
        }                                                          \
        struct rec_wait wait;                                      \
        const bool follows = REC_FILE_BEGIN(&wait, name);          \
        const int result = REC_NEXT(name) passed;                  \
        end_open_descriptor(follows ? &wait : NULL, result);       \
        return result;                                             \
    }

OPEN_WITH_MODE(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_WITH_MODE(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_WITH_MODE(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN_WITH_MODE(openat64, (int folder, const char *path, int flags, ...),
               (folder, path, flags, mode))
OPEN_DESCRIPTOR(creat, (const char *path, mode_t mode), (path, mode))
OPEN_DESCRIPTOR(creat64, (const char *path, mode_t mode), (path, mode))
OPEN_DESCRIPTOR(__open_2, (const char *path, int flags), (path, flags))
OPEN_DESCRIPTOR(__open64_2, (const char *path, int flags), (path, flags))
OPEN_DESCRIPTOR(__openat_2, (int folder, const char *path, int flags), (folder, path, flags))
OPEN_DESCRIPTOR(__openat64_2, (int folder, const char *path, int flags), (folder, path, flags))

/* The file is found and forgotten before the call: once the descriptor is closed, it may stand for
 * another thread's new file. */
REC_EXPORT int close(int fd)
{
    struct rec_wait wait;
    const bool follows = REC_FILE_BEGIN(&wait, close);
    const uint32_t file = follows ? rec_file_of(fd) : 0;
    rec_file_forget(fd);
    const int result = REC_NEXT(close)(fd);
    if (follows)
        rec_file_end(&wait, LULL_TAPE_IO_CLOSE, file, result);
    return result;
}

REC_EXPORT int dup2(int from, int to)
{
    const int result = REC_NEXT(dup2)(from, to);
    if (from != to)
        rec_file_forget(result);
    return result;
}

REC_EXPORT int dup3(int from, int to, int flags)
{
    const int result = REC_NEXT(dup3)(from, to, flags);
    rec_file_forget(result);
    return result;
}

/* ---- reading and writing --------------------------------------------------------------------- */

#define READ_DESCRIPTOR(name, declared, passed) \
    REC_FILE_CALL(ssize_t, name, declared, passed, LULL_TAPE_IO_READ, fd, result)
#define WRITE_DESCRIPTOR(name, declared, passed) \
    REC_FILE_CALL(ssize_t, name, declared, passed, LULL_TAPE_IO_WRITE, fd, result)
#define SYNC(name) REC_FILE_CALL(int, name, (int fd), (fd), LULL_TAPE_IO_OTHER, fd, result)

READ_DESCRIPTOR(read, (int fd, void *into, size_t size), (fd, into, size))
READ_DESCRIPTOR(__read_chk, (int fd, void *into, size_t size, size_t room), (fd, into, size, room))
READ_DESCRIPTOR(pread, (int fd, void *into, size_t size, off_t at), (fd, into, size, at))
READ_DESCRIPTOR(pread64, (int fd, void *into, size_t size, off64_t at), (fd, into, size, at))
READ_DESCRIPTOR(__pread_chk, (int fd, void *into, size_t size, off_t at, size_t room),
                (fd, into, size, at, room))
READ_DESCRIPTOR(__pread64_chk, (int fd, void *into, size_t size, off64_t at, size_t room),
                (fd, into, size, at, room))
READ_DESCRIPTOR(readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
READ_DESCRIPTOR(preadv, (int fd, const struct iovec *parts, int count, off_t at),
                (fd, parts, count, at))
READ_DESCRIPTOR(preadv64, (int fd, const struct iovec *parts, int count, off64_t at),
                (fd, parts, count, at))
WRITE_DESCRIPTOR(write, (int fd, const void *from, size_t size), (fd, from, size))
WRITE_DESCRIPTOR(pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
WRITE_DESCRIPTOR(pwrite64, (int fd, const void *from, size_t size, off64_t at),
                 (fd, from, size, at))
WRITE_DESCRIPTOR(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITE_DESCRIPTOR(pwritev, (int fd, const struct iovec *parts, int count, off_t at),
                 (fd, parts, count, at))
WRITE_DESCRIPTOR(pwritev64, (int fd, const struct iovec *parts, int count, off64_t at),
                 (fd, parts, count, at))
SYNC(fsync)
SYNC(fdatasync)
