/* What the user types for `lull record`, for the recorder. */
#ifndef LULL_LAUNCH_WISH_H
#define LULL_LAUNCH_WISH_H

#include "launch/recording.h"

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

#endif
