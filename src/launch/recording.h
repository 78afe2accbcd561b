/* A program made ready to be recorded: the recorder that fits it is found, the folder of the run is
 * made, and the environment is set, so that the program loads the one and writes into the other. */
#ifndef LULL_LAUNCH_RECORDING_H
#define LULL_LAUNCH_RECORDING_H

#include "base/error.h"
#include "launch/target.h"
#include "sim/disturbance.h"

#include <stdint.h>

/* ==== recording =============================================================================== */

/* Where the processes of a run record. */
enum lull_recording_store {
    LULL_STORE_CHOSEN, /* in the file of their node where a node has many of them */
    LULL_STORE_NODE,
    LULL_STORE_PROCESS
};

/* What the user wants; what is NULL or false is left to the recorder. */
struct lull_recording_wish {
    const char *output; /* folder of the run; NULL: named after the program and its size */
    bool replace;       /* what is there, if it is a run */
    bool has_bytes;
    uint64_t bytes; /* with has_bytes: of the events of each process */
    bool last;      /* the newest ones, not the first ones */
    bool profile;   /* sums only */
    bool follow;    /* record also what the program starts */
    bool files;     /* record also the C library's calls for files */
    const char *counters, *callpath;
    const char *filter;   /* path of a filter of functions (filter/filter.h), from the root on */
    const char *throttle; /* as the recorder reads it (record/core.h), and the following */
    const char *start, *duration, *signals, *iterations, *waits;
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

/* Changes the environment of this process, which the program inherits. Whatever is missing or
 * refused, the program can be run all the same, without recording, and `warning` says why; fails
 * only where a run would be overwritten. Strings live in `arena`. */
lull_status lull_recording_prepare(const char *word, const struct lull_recording_wish *wish,
                                   struct lull_arena *arena, struct lull_recording *ret_recording,
                                   struct lull_error *err);

/* ==== wish ==================================================================================== */

/* What the user types for `lull record`, for the recorder. */

/* What is NULL was not said. */
struct lull_recording_texts {
    const char *max_size;
    const char *keep;                   /* "last:64MiB" */
    const char *throttle;               /* "100000:1us": calls and their mean; "none" */
    const char *start_after, *duration; /* times */
    const char *iterations;             /* "3:10", or "solve:3:10": of marked regions */
    const char *waits;                  /* a time; "none" */
    const char *callpath;               /* how many callers */
    const char *signals;                /* "on", "off": what is at first */
    const char *mpi;                    /* "openmpi", "mpich", "none" */
    const char *store;                  /* "node", "process" */
    const char *filter;                 /* a file (filter/filter.h) */
};

/* Sets these members of *wish. Fails with LULL_ERR_RANGE and a text that begins with the option, or
 * as a filter is read. */
lull_status lull_recording_wish_read(const struct lull_recording_texts *texts,
                                     struct lull_arena *arena, struct lull_recording_wish *wish,
                                     struct lull_error *err);

/* ==== injection =============================================================================== */

/* What the recorder is to disturb a program with, left in the folder of its run before it begins:
 * plain numbers (tape/inject.h), and the environment that leads to them. */

/* For the process that `recording` is about, after lull_recording_prepare; NULL: nothing. */
lull_status lull_injection_write(const struct lull_disturbance *disturbance,
                                 const struct lull_recording *recording, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
