/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a program ready to be recorded: the recorder that fits the program is found, the folder of
 * its run is made, and the environment is set, so that the program loads the recorder, which writes
 * into the folder. */
#ifndef LULL_LAUNCH_RECORDING_H
#define LULL_LAUNCH_RECORDING_H

#include "base/error.h"
#include "launch/target.h"
#include "sim/disturbance.h"

#include <stdint.h>

/* ==== preparation ============================================================================= */

/* Where the processes of a run record. */
enum lull_recording_store {
    LULL_STORE_CHOSEN, /* in the file of their node where a node has many of them */
    LULL_STORE_NODE,
    LULL_STORE_PROCESS
};

/* What the user wants. Members that are NULL or false leave the choice to the recorder. */
struct lull_recording_wish {
    const char *output; /* folder of the run; NULL: named after the program and its size */
    bool replace;       /* an existing run at `output` is replaced */
    bool has_bytes;
    uint64_t bytes;     /* with has_bytes: budget for the events of each process */
    bool last;          /* the newest events within the budget are kept, not the first ones */
    bool profile;       /* sums only */
    bool follow;        /* record also what the program starts */
    bool files;         /* record also the C library's calls for files */
    bool region_memory; /* note the most memory of a process in each marked region */
    bool sample_stack;  /* with each sample the begin of the thread's stack */
    const char *counters, *callpath;
    char *const *command; /* what will be executed */
    char *const *labels;  /* "KEY=VALUE", NULL at the end; may be NULL */
    const char *filter;   /* path of a filter of functions (filter/filter.h), from the root on */
    const char *throttle; /* as the recorder reads them (record/core.h), like the following */
    const char *start, *duration, *signals, *iterations, *waits, *sample, *device;
    enum lull_recording_store store;
    enum lull_mpi_family mpi; /* with mpi_named: which MPI the program uses */
    bool mpi_named;
};

struct lull_recording {
    struct lull_executable executable;
    struct lull_job job;
    const char *library; /* the recorder; NULL: the program will run without recording */
    const char *run;     /* with `library`: the folder */
    const char *warning; /* one line for the user, told by rank 0 only; NULL: nothing to say */
};

/* Prepares the program that wish->command begins with. Changes the environment of this process, which the
 * program inherits. Where something is missing or refused, the program can be run all the same,
 * without recording, and `warning` says why; fails only where a run would be overwritten. Strings
 * live in `arena`. */
lull_status lull_recording_prepare(const struct lull_recording_wish *wish, struct lull_arena *arena,
                                   struct lull_recording *ret_recording, struct lull_error *err);

/* ==== what the user types ===================================================================== */

/* Values of options of `lull record`; NULL: the option was not given. */
struct lull_recording_texts {
    const char *max_size;
    const char *keep;                   /* "last:64MiB" */
    const char *throttle;               /* "100000:1us": calls and their mean; "none" */
    const char *start_after, *duration; /* times */
    const char *iterations;             /* "3:10", or "solve:3:10": of marked regions */
    const char *waits;                  /* a time; "none" */
    const char *sample;   /* "off", "100", "100:1MiB", "timer:100": samples per second,
                             and bytes for those of a thread; NULL: as the recorder does by itself
                             (record/sample/sample.h) */
    const char *callpath; /* how many callers a call site has */
    const char *device;   /* "full", "off": whether what devices do is recorded */
    const char *signals;  /* "on", "off": whether recording is on at first */
    const char *mpi;      /* "openmpi", "mpich", "none" */
    const char *store;    /* "node", "process" */
    char *const *labels;  /* each "KEY=VALUE" */
    const char *filter;   /* a file (filter/filter.h) */
};

/* Translates the texts into members of *wish. Fails with LULL_ERR_RANGE and a text that begins with
 * the option, or with what reading the filter gives. */
lull_status lull_recording_wish_read(const struct lull_recording_texts *texts,
                                     struct lull_arena *arena, struct lull_recording_wish *wish,
                                     struct lull_error *err);

/* ==== injection =============================================================================== */

/* What the recorder is to disturb a program with. It is left in the folder of the run before the
 * program begins, as plain numbers (tape/inject.h), and the environment leads to it. */

/* Writes it for the process that `recording` is about, after lull_recording_prepare; `disturbance`
 * NULL: nothing is written. */
lull_status lull_injection_write(const struct lull_disturbance *disturbance,
                                 const struct lull_recording *recording, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
