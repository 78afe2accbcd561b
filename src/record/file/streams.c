/* SPDX-License-Identifier: BSD-3-Clause */
/* Files by the C library's streams: fopen, fread, fprintf and their like. What a stream reads and
 * writes by itself, when its buffer is empty or full, happens inside of these calls. */
#include "record/file/call.h"

/* Otherwise the C library's headers define some of these functions themselves. */
#undef __USE_EXTERN_INLINES

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Macros in some C libraries. */
#undef fread_unlocked
#undef fwrite_unlocked
#undef fputs_unlocked
#undef getline
#undef getdelim

/* clang-format off */
#define STREAM_FUNCTIONS(X)                                                                            \
    X(fopen) X(fopen64) X(freopen) X(freopen64) X(fclose) X(fflush)                             \
    X(fread) X(fread_unlocked) X(__fread_chk) X(fgets) X(__fgets_chk) X(getline) X(getdelim)    \
    X(__getdelim)                                                                               \
    X(fwrite) X(fwrite_unlocked) X(fputs) X(fputs_unlocked) X(puts)                             \
    X(vfprintf) X(__vfprintf_chk) X(fprintf) X(__fprintf_chk)                                   \
    X(vprintf) X(__vprintf_chk) X(printf) X(__printf_chk)
/* clang-format on */
enum { STREAM_FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
enum { FIRST_SITE = REC_FILE_SITES + 0x400 };

ssize_t __getdelim(char **line, size_t *room, int end, FILE *stream);
int __vfprintf_chk(FILE *stream, int flag, const char *form, va_list arguments);
int __fprintf_chk(FILE *stream, int flag, const char *form, ...);
int __vprintf_chk(int flag, const char *form, va_list arguments);
int __printf_chk(int flag, const char *form, ...);

static const char *const stream_names[N_NEXT] = {STREAM_FUNCTIONS(REC_NEXT_NAME)};
static rec_function next[N_NEXT];
static struct rec_wait_function functions[N_NEXT] = {STREAM_FUNCTIONS(REC_FILE_FUNCTION)};

__attribute__((constructor)) static void find_stream_functions(void)
{
    rec_next_find(next, stream_names, N_NEXT);
}

/* The descriptor of a stream; less than 0: the stream is in memory. */
static int descriptor_of(FILE *stream)
{
    const int reason = errno, descriptor = stream ? fileno(stream) : -1;
    errno = reason;
    return descriptor;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void end_open_stream(struct rec_wait *wait, FILE *stream)
{
    const int descriptor = descriptor_of(stream);
    rec_file_forget(descriptor);
    if (wait)
        rec_file_end(wait, LULL_TAPE_IO_OPEN, rec_file_of(descriptor), descriptor >= 0 ? 0 : -1);
}

#define OPEN_STREAM(name, declared, passed)               \
    REC_EXPORT FILE *name declared;                       \
    FILE *name declared                                   \
    {                                                     \
        struct rec_wait wait;                             \
        const bool follows = REC_FILE_BEGIN(&wait, name); \
        FILE *result = REC_NEXT(name) passed;             \
        end_open_stream(follows ? &wait : NULL, result);  \
        return result;                                    \
    }

OPEN_STREAM(fopen, (const char *path, const char *mode), (path, mode))
OPEN_STREAM(fopen64, (const char *path, const char *mode), (path, mode))
OPEN_STREAM(freopen, (const char *path, const char *mode, FILE *stream), (path, mode, stream))
OPEN_STREAM(freopen64, (const char *path, const char *mode, FILE *stream), (path, mode, stream))

REC_EXPORT int fclose(FILE *stream)
{
    struct rec_wait wait;
    const bool follows = REC_FILE_BEGIN(&wait, fclose);
    const int descriptor = descriptor_of(stream);
    const uint32_t file = follows ? rec_file_of(descriptor) : 0;
    rec_file_forget(descriptor);
    const int result = REC_NEXT(fclose)(stream);
    if (follows)
        rec_file_end(&wait, LULL_TAPE_IO_CLOSE, file, descriptor >= 0 ? result : -1);
    return result;
}

/* ---- reading and writing --------------------------------------------------------------------- */

/* The bytes of a call, if the stream is a file; of a stream in memory only the call is recorded. */
static int64_t in_file(FILE *stream, int64_t bytes)
{
    return descriptor_of(stream) >= 0 ? bytes : -1;
}

#define MOVES(type, name, declared, passed, op, stream, moved)             \
    REC_FILE_CALL(type, name, declared, passed, op, descriptor_of(stream), \
                  in_file(stream, (int64_t)(moved)))
#define READ_STREAM(type, name, declared, passed, moved) \
    MOVES(type, name, declared, passed, LULL_TAPE_IO_READ, stream, moved)
#define WRITE_STREAM(type, name, declared, passed, moved) \
    MOVES(type, name, declared, passed, LULL_TAPE_IO_WRITE, stream, moved)

READ_STREAM(size_t, fread, (void *into, size_t size, size_t count, FILE *stream),
            (into, size, count, stream), size *result)
READ_STREAM(size_t, fread_unlocked, (void *into, size_t size, size_t count, FILE *stream),
            (into, size, count, stream), size *result)
READ_STREAM(size_t, __fread_chk, (void *into, size_t room, size_t size, size_t count, FILE *stream),
            (into, room, size, count, stream), size *result)
READ_STREAM(char *, fgets, (char *into, int size, FILE *stream), (into, size, stream),
            result ? strlen(result) : 0)
READ_STREAM(char *, __fgets_chk, (char *into, size_t room, int size, FILE *stream),
            (into, room, size, stream), result ? strlen(result) : 0)
READ_STREAM(ssize_t, getline, (char **line, size_t *room, FILE *stream), (line, room, stream),
            result > 0 ? result : 0)
READ_STREAM(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *stream),
            (line, room, end, stream), result > 0 ? result : 0)
READ_STREAM(ssize_t, __getdelim, (char **line, size_t *room, int end, FILE *stream),
            (line, room, end, stream), result > 0 ? result : 0)

WRITE_STREAM(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *stream),
             (from, size, count, stream), size *result)
WRITE_STREAM(size_t, fwrite_unlocked, (const void *from, size_t size, size_t count, FILE *stream),
             (from, size, count, stream), size *result)
WRITE_STREAM(int, fputs, (const char *text, FILE *stream), (text, stream),
             result >= 0 ? strlen(text) : 0)
WRITE_STREAM(int, fputs_unlocked, (const char *text, FILE *stream), (text, stream),
             result >= 0 ? strlen(text) : 0)
MOVES(int, puts, (const char *text), (text), LULL_TAPE_IO_WRITE, stdout,
      result >= 0 ? strlen(text) + 1 : 0)
MOVES(int, fflush, (FILE * stream), (stream), LULL_TAPE_IO_OTHER, stream, result)

/* ---- formatted ------------------------------------------------------------------------------- */

WRITE_STREAM(int, vfprintf, (FILE * stream, const char *form, va_list arguments),
             (stream, form, arguments), result)
WRITE_STREAM(int, __vfprintf_chk, (FILE * stream, int flag, const char *form, va_list arguments),
             (stream, flag, form, arguments), result)
MOVES(int, vprintf, (const char *form, va_list arguments), (form, arguments), LULL_TAPE_IO_WRITE,
      stdout, result)
MOVES(int, __vprintf_chk, (int flag, const char *form, va_list arguments), (flag, form, arguments),
      LULL_TAPE_IO_WRITE, stdout, result)

/* Functions with "..." call the library's function of the same kind that takes a va_list. */
#define FORMATTED(name, declared, real, passed, stream)                                 \
    REC_EXPORT int name declared;                                                       \
    int name declared                                                                   \
    {                                                                                   \
        struct rec_wait wait;                                                           \
        va_list arguments;                                                              \
        va_start(arguments, form);                                                      \
        const bool follows = REC_FILE_BEGIN(&wait, name);                               \
        const int result = REC_NEXT(real) passed;                                       \
        va_end(arguments);                                                              \
        if (REC_UNLIKELY(follows))                                                      \
            rec_file_end(&wait, LULL_TAPE_IO_WRITE, rec_file_of(descriptor_of(stream)), \
                         in_file(stream, result));                                      \
        return result;                                                                  \
    }

FORMATTED(fprintf, (FILE * stream, const char *form, ...), vfprintf, (stream, form, arguments),
          stream)
FORMATTED(__fprintf_chk, (FILE * stream, int flag, const char *form, ...), __vfprintf_chk,
          (stream, flag, form, arguments), stream)
FORMATTED(printf, (const char *form, ...), vprintf, (form, arguments), stdout)
FORMATTED(__printf_chk, (int flag, const char *form, ...), __vprintf_chk, (flag, form, arguments),
          stdout)
