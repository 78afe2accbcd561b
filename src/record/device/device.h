/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices: what a program submits to accelerators, and what these do. One interface for all runtimes
 * (OpenCL, CUDA ...), each of which has a back-end in a library of its own. The recorder opens none of
 * them and needs none: a back-end is loaded by the runtime that it is for, which is told of it where it
 * asks for a variable of the environment (variables.c), and asks the recorder for this interface by
 * dlsym(RTLD_DEFAULT, REC_DEVICE_INTERFACE). So a program without the runtime notices nothing.
 *
 * Words: an *operation* is a kernel or a copy. A thread of the host *submits* it in a call to a
 * *stream* (OpenCL: a command queue), gives it a *number*, and goes on. Operations of a stream begin in
 * the order in which they were submitted, or when those have ended on which they *depend*. A call of
 * the host may *wait* for an operation, or for all of a stream. What the device did with an operation
 * is known later: the back-end finds out and *delivers* it.
 *
 * Example: a back-end's function that stands in front of the runtime's clEnqueueNDRangeKernel does
 *
 *     struct rec_wait call;
 *     if (!recorder->begin(&call, &function, &place))
 *         return original(...);
 *     result = original(...);
 *     recorder->end(&call);
 *     recorder->submit(&call, stream, &operation);      fills in operation.number
 *     recorder->depend(&call, operation.number, number of one that it waits for);
 *     recorder->leave(&call);
 *
 * and keeps the operation; its function `drain`, which a thread of the recorder calls ten times a
 * second, and once more before the runtime is torn down, delivers the operations that have ended.
 *
 * On the tape (tape/layout.h) the host's thread has the call and behind it SUBMIT, DEPEND and
 * DEVICE_WAIT records; the stream is a location with a CALL_OPERATION for each operation, or a CALL and
 * an OPERATION, where it is long or large, or an exchange. A stream's records may come late, but in the order of their times. Where operations of one stream
 * overlap, or one becomes known after later ones, the stream has several locations, as many as it
 * needs, up to REC_MOST_LANES. With LULL_RECORD_DEVICE=summary none of these records is written: the
 * sums of a stream's locations have the number of its operations by region, their time and bytes, as
 * they also have where records are written. */
#ifndef LULL_RECORD_DEVICE_DEVICE_H
#define LULL_RECORD_DEVICE_DEVICE_H

#include "record/thread/waits.h"
#include "tape/layout.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ==== the interface of back-ends ============================================================== */

enum { REC_DEVICE_VERSION = 3, REC_MOST_LANES = 32 };

/* What an operation is. All but kernels move data; the regions of most of these are named after their
 * kind. */
enum rec_device_kind {
    REC_DEVICE_KERNEL,
    REC_DEVICE_COPY_TO,     /* from the host to the device */
    REC_DEVICE_COPY_FROM,   /* from the device to the host */
    REC_DEVICE_COPY_WITHIN, /* between memories of devices */
    REC_DEVICE_COPY,        /* between memories that both may use */
    REC_DEVICE_FILL,
    REC_DEVICE_MAP,   /* makes memory of the device readable by the host */
    REC_DEVICE_UNMAP, /* gives it back to the device */
    REC_DEVICE_MIGRATE,
    REC_DEVICE_EXCHANGE, /* with other devices, also of other processes; has a name, as kernels have */
    REC_DEVICE_KINDS
};

/* `number` stands for one submission: all operations of a graph have that of their one launch. With
 * number, call and thread it is known who submitted an operation. */
struct rec_operation {
    uint64_t number;     /* set by announce or submit; above 0. For deliver 0: not known */
    uint32_t call;       /* set likewise: region of the call; 0: not known */
    uint32_t thread;     /* set likewise: number of the calling thread; LULL_TAPE_NO_LOCATION: not
                            known */
    uint32_t region;     /* see `region` below */
    uint64_t bytes;      /* that it moves; 0 of a kernel */
    uint64_t begin, end; /* ticks of the recorder's clock; for deliver */
    bool is_exchange;    /* the next two are told */
    int32_t peer;        /* rank at the other end, or root; below 0: none */
    /* Number among the exchanges of the stream's device with this region, the same at all ranks;
     * REC_NO_SEQUENCE: none. */
    uint64_t sequence;
};
#define REC_NO_SEQUENCE UINT64_MAX

struct rec_stream; /* lives as long as the process */

/* A back-end. `drain` delivers the operations that have ended; NULL: the back-end is told of each end, and
 * calls `finish`. With `last` it is called for the last time, by a thread that may not wait: what has not
 * ended by now is lost. Never called by two threads at a time, nor in a forked child. */
struct rec_device_backend {
    const char *name;
    void (*drain)(bool last);
    /* May be NULL. A pause of the process goes on, and the runtime need not tell of operations that are
     * submitted from here on (`true`; called behind `drain`); or it ends, and the runtime has to tell
     * again (by the thread that ends it, before the next call is recorded). One call at a time. */
    void (*detach)(bool detached);
};

/* Functions of the recorder for back-ends. Between `begin` and `leave` of a call, the calling
 * thread is inside of the recorded call: what a signal handler does meanwhile is not recorded. */
struct rec_device_interface {
    /* `version` and `say` come first in each version, so that a back-end of another one can say so. */
    uint32_t version; /* REC_DEVICE_VERSION */
    void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2))); /* rec_report_say */

    /* False: nothing is recorded any more, or in this process (a forked child). */
    bool (*is_on)(void);
    uint64_t (*now)(void);       /* ticks of the recorder's clock */
    double (*ns_per_tick)(void); /* roughly, within 1e-4 */
    /* Called once, before the first operation is submitted. The program's exit then drains the
     * back-end before all that was loaded or registered for the exit earlier is torn down. */
    void (*attach)(const struct rec_device_backend *backend);
    /* The region of operations of a kind; of kernels and exchanges `name` is their name. 0: it cannot be
     * had. */
    uint32_t (*region)(enum rec_device_kind kind, const char *name);
    /* A new stream; `name` is short ("queue 1", 16 bytes at most): the name of the device is set
     * behind it. NULL: the stream cannot be recorded. */
    struct rec_stream *(*stream)(const struct lull_tape_stream *what, const char *name);

    /* A call of the host, in this order; see rec_wait_begin_at. `region` and REC_DEVICE_SITES +
     * n of the place are the back-end's. False: the call is not recorded, and nothing more is to
     * be called. */
    bool (*begin)(struct rec_wait *call, struct rec_wait_function *function,
                  const struct rec_wait_place *place);
    /* Sets what `submit` sets else, before the runtime's function does its work: for runtimes
     * that may tell of the operation before the function returns. A number that is not submitted
     * after all is not used. */
    void (*announce)(struct rec_wait *call, struct rec_operation *operation);
    void (*end)(struct rec_wait *call); /* the runtime's function has returned */
    void (*submit)(struct rec_wait *call, const struct rec_stream *stream,
                   struct rec_operation *operation);
    void (*depend)(struct rec_wait *call, uint64_t number,
                   uint64_t other); /* other 0: on all before */
    void (*wait)(struct rec_wait *call, const struct rec_stream *stream,
                 uint64_t number); /* number 0: for all of the stream; stream NULL: not known */
    void (*leave)(struct rec_wait *call);

    /* An operation has ended, and is delivered when it is drained next. Any thread may call this. Region
     * 0: when it ran is not known. */
    void (*finish)(struct rec_stream *stream, const struct rec_operation *operation);

    /* Only `drain` calls these, or within `aside` a thread on which the runtime hands over
     * results: one thread at a time, and none any more once `drain` has returned with `last`. */
    void (*deliver)(struct rec_stream *stream, const struct rec_operation *operation);
    void (*lose)(struct rec_stream *stream,
                 uint64_t operations); /* of them nothing will be known */
    void (*doubt)(struct rec_stream *stream,
                  double ns); /* times may be wrong by so much from here on */

    /* Has the calling thread, which may be one of the program or of the runtime, do `work` as
     * the recorder's affair. */
    void (*aside)(void (*work)(void *context), void *context);
    /* The runtime has taken so much of the program's time for the recorder's sake. */
    void (*charge)(double ns);

    /* Has all back-ends drained, unless another thread does that just now: for back-ends that
     * keep too many operations. */
    void (*drain)(void);

    /* Takes a lock of a back-end, for `drain` with `last`; false: whoever has it does not give it back
     * within a second (record/patience.h). */
    bool (*lock_at_end)(pthread_mutex_t *lock);
};

/* The symbol `const struct rec_device_interface *lull_record_device(void)`. NULL: nothing is
 * recorded, or devices are not to be (LULL_RECORD_DEVICE is off). */
#define REC_DEVICE_INTERFACE "lull_record_device"
typedef const struct rec_device_interface *rec_device_interface_of(void);
__attribute__((visibility("default"))) rec_device_interface_of lull_record_device;

/* For back-ends, which `runtime` loads: the interface, or NULL. It is NULL where nothing is
 * recorded, and where the recorder belongs to another build, whose interface differs; of the latter
 * the user is told once. Called by one thread at a time. */
static inline const struct rec_device_interface *rec_device_find(const char *runtime)
{
    static bool said;
    rec_device_interface_of *of = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, REC_DEVICE_INTERFACE);
    memcpy(&of, &symbol, sizeof of);
    const struct rec_device_interface *found = of ? of() : NULL;
    if (found && found->version == REC_DEVICE_VERSION)
        return found;
    if (found && found->version > 1 && !said) /* version 1 had no `say` there */
        found->say(
            "%s: the library for it belongs to another build of lull than the recorder: what is "
            "done with %s is not recorded",
            runtime, runtime);
    said = found != NULL;
    return NULL;
}

/* ==== the recorder's side ===================================================================== */

/* Reads LULL_RECORD_DEVICE, before it is taken out of the environment. */
void rec_device_prepare(void);
/* Whether what devices do is recorded in this process. */
bool rec_device_is_wanted(void);
/* Drains all back-ends for the last time; from here on nobody writes to streams. Called before
 * recording ends, and safe to call again. The recorder's thread for devices asks the runtimes; it is
 * waited for until it has delivered nothing for two seconds, or more than runtimes keep, and then for
 * a second, until it does not call the system any more (record/patience.h says which time counts). */
void rec_device_stop(void);
/* Whether streams can be concluded: false where a thread hangs in a runtime, and may still
 * write. */
bool rec_device_is_still(void);

#endif
