/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of PyTorch's profiler, whose library is called Kineto, and of JAX's; internal to the format: what its files
 * share.
 *
 * json_text.c     takes values of JSON from a text
 * kineto_file.c   reads the file of one rank: what its threads and device streams did
 * kineto.c        makes a run of the files, and events of what they hold
 *
 * A file holds complete events ("ph": "X") with begin and length, here called spans, in no order: what threads did as
 * it was recorded, then what devices did, buffer by buffer. So all spans are kept in memory, 32 bytes for each, and
 * are sorted for each thread and stream when the file has been read. */
#ifndef LULL_TRACE_FORMAT_KINETO_KINETO_H
#define LULL_TRACE_FORMAT_KINETO_KINETO_H

#include "trace/trace.h"

/* What a span is, by its category. */
enum kineto_kind {
    KINETO_CODE,    /* on a thread: an operator, a function of Python, what the user has marked */
    KINETO_CALL,    /* on a thread: a call of the device's runtime or driver */
    KINETO_KERNEL,  /* on a device stream */
    KINETO_COPY,    /* on a device stream: a copy, or memory that is filled */
    KINETO_SPANS,   /* so many kinds are spans; what follows is none that is read */
    KINETO_LEFT_OUT /* what other events say better, or what the profiler says of itself */
};

struct kineto_span {
    int64_t begin, length; /* ns, begin as in the file */
    union {
        uint64_t bytes; /* on a device stream: that it moved */
        uint64_t order; /* on a thread: its place in the file */
    };
    uint32_t name;        /* index of a kineto_name */
    uint32_t correlation; /* of a call and of what it has submitted; 0: none */
};

struct kineto_name {
    const char *text;
    uint8_t kind; /* enum kineto_kind below KINETO_SPANS */
};

/* A thread, or a device stream. Operations of a stream that overlap are on several lanes, of which each is a location. */
struct kineto_place {
    const char *pid, *tid; /* of a stream: the device, the stream */
    const char *name;      /* NULL: the file does not tell it */
    const char *
        device; /* of a stream: name of its device, where that is not in the list of devices; or NULL */
    bool stream;
    bool plain;    /* what it is, names tell: its events have no category */
    uint32_t lane; /* 0: the first of its stream */
    struct kineto_span
        *spans; /* malloc'd; in the order of their begins, on a thread the outer ones first */
    size_t n_spans, capacity;
};

struct kineto_device {
    int64_t id;
    const char *name;
};

/* Oddities that are survived; each is told with the place where it was found first. */
enum kineto_oddity {
    KINETO_UNKNOWN_CATEGORY,
    KINETO_UNKNOWN_PHASE,
    KINETO_CUT_SPAN,
    KINETO_SEVERAL_LANES,
    KINETO_ODDITIES
};

/* What the file of a rank holds. */
struct kineto_file {
    const char *path;
    struct lull_arena *arena; /* of the texts, and of all arrays but spans */
    int64_t base;             /* ns since 1970 to which times are added */
    int64_t rank, world_size; /* -1: not told */
    const char *host;         /* NULL: not told */
    bool microseconds;        /* all times are whole numbers of microseconds */
    bool hip;                 /* its calls are those of HIP */
    bool jax;                 /* its events have no categories */
    struct kineto_name *names;
    uint32_t n_names;
    struct kineto_place
        *places; /* malloc'd; threads first, then streams; the main thread is the first */
    size_t n_places, capacity;
    struct kineto_device *devices;
    size_t n_devices;
    int64_t begin, end; /* ns, of all spans; begin > end: there are none */
    uint64_t oddities[KINETO_ODDITIES];
    char first[KINETO_ODDITIES][96]; /* where each was found first */
};

/* Reads a file whose path is set. The file is to be closed also where that fails. `trace` gets the quirks of gzip data. */
lull_status lull_kineto_read(const struct lull_trace *trace, struct kineto_file *file,
                             struct lull_error *err);
void lull_kineto_close(struct kineto_file *file);

#endif
