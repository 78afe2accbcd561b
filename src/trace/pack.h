/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing: the files of a tape's processes become one file for each node, and the other way
 * round. */
#ifndef LULL_TRACE_PACK_H
#define LULL_TRACE_PACK_H

#include "base/error.h"

#include <stdbool.h>

struct lull_pack_wish {
    const char *run; /* a folder with a tape */
    const char *out; /* a folder that is not there yet; NULL: the run's name with an ending */
    bool replace;    /* the run by what was made of it, which is then not in `out` */
    void (*report)(void *context, double share); /* NULL: nobody wants to know */
    void *context;
};

/* Packs a run that has ended. What comes out appears whole or not at all, and holds what was there
 * to the last byte; what is no file of a process is copied. Uses lull_worker_count() threads; the
 * result does not depend on them. */
lull_status lull_pack(const struct lull_pack_wish *wish, struct lull_error *err);
/* The files as they were. */
lull_status lull_unpack(const struct lull_pack_wish *wish, struct lull_error *err);

#endif
