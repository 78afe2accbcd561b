/* SPDX-License-Identifier: BSD-3-Clause */
/* Status codes and caller-owned error texts.
 *
 * A function that can fail returns a lull_status and fills the caller's lull_error with one line:
 * file, place, cause, what was expected. Each level may put its own view in front of the text
 * (lull_fail_prefix). A NULL lull_error is allowed everywhere and means "the status is enough".
 * Library rooms never print, log or exit. */
#ifndef LULL_BASE_ERROR_H
#define LULL_BASE_ERROR_H

typedef enum lull_status {
    LULL_OK = 0,
    LULL_ERR_IO,          /* the operating system refused (open, read, write, map) */
    LULL_ERR_FORMAT,      /* the content of a file is wrong */
    LULL_ERR_RANGE,       /* a value lies outside of what the function accepts */
    LULL_ERR_MEMORY,      /* not enough memory for what the input asks for */
    LULL_ERR_UNSUPPORTED, /* known, but not built in or not readable here */
    LULL_ERR_CANCELLED    /* a visitor or the user asked to stop */
} lull_status;

struct lull_error {
    char text[1024]; /* one line, no trailing newline; always terminated */
};

/* Writes the message and returns `status`, so that `return lull_fail(...)` reads as one step. */
lull_status lull_fail(struct lull_error *err, lull_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": <strerror(errno)>" behind the message; the status is LULL_ERR_IO. */
lull_status lull_fail_errno(struct lull_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "<message>: " in front of the text that is there and returns `status` unchanged. */
lull_status lull_fail_prefix(struct lull_error *err, lull_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
