/* SPDX-License-Identifier: BSD-3-Clause */
/* Paraver traces (.prv, .pcf, .row), as Extrae writes them; internal to the format: what its files
 * share.
 *
 * Reading:
 * paraver.c      recognises and opens a trace: the lines before the records, and the labels of the
 *                .pcf and .row
 * prv_number.c   reads numbers fast
 * prv_types.c    says which event type is a region, a counter or a marker, by labels or by what is
 *                known of Extrae
 * prv_extent.c   finds when the run ends, where the header says it wrongly
 * prv_batch.c    keeps lines taken apart, as items, and puts late ones where they belong
 * prv_records.c  makes items of lines, in batches, by several threads
 * prv_scan.c     makes events of items
 *
 * Writing:
 * prv_codes.c    says which types and values definitions become; writes the header, .pcf and .row
 * prv_writer.c   makes lines of events, and the final files
 * prv_spool.c    keeps lines that may change until the end */
#ifndef LULL_TRACE_FORMAT_PARAVER_PARAVER_H
#define LULL_TRACE_FORMAT_PARAVER_PARAVER_H

#include "base/hash.h"
#include "base/mix.h"
#include "trace/format.h"
#include "trace/format/paraver/prv_number.h"

/* ---- event types ----------------------------------------------------------------------------- */

enum lull_prv_kind {
    LULL_PRV_IGNORED,
    LULL_PRV_REGION,    /* a value enters a region, 0 leaves it */
    LULL_PRV_COUNTER,   /* a value is what was counted since the last one */
    LULL_PRV_MARKER,    /* anything else */
    LULL_PRV_PARAMETER, /* of the collective or event on the same line */
    LULL_PRV_SWITCH,    /* measurement on and off */
    LULL_PRV_OWN        /* events that only lull writes; index: enum lull_event_kind */
};

/* What a parameter is: the `index` of its type. */
enum lull_prv_parameter {
    LULL_PRV_SENT,
    LULL_PRV_RECEIVED,
    LULL_PRV_ROOT, /* a flag: this process is the root */
    LULL_PRV_COMM,
    LULL_PRV_TARGET,
    LULL_PRV_BYTES,
    LULL_PRV_ROOT_RANK,  /* lull's own: process index + 1 */
    LULL_PRV_TAG,        /* lull's own, of 32 bits */
    LULL_PRV_LOCATION,   /* lull's own, as all that follow: number of a stream or thread, from 1 */
    LULL_PRV_CALL_TYPE,  /* region of the call that submitted an operation, as a type ... */
    LULL_PRV_CALL_VALUE, /* ... and a value of that type */
    LULL_PRV_OTHER,      /* number of the operation that another one depends on */
    LULL_PRV_SEQUENCE,   /* of an exchange between devices */
    LULL_PRV_PEER,       /* likewise: rank + 1 */
    LULL_PRV_PARAMETERS
};

/* The state in which nothing is traced, "Tracing Disabled". */
enum { LULL_PRV_STATE_OFF = 14 };

/* A value of a region type and the region that it stands for. */
struct lull_prv_value {
    uint64_t value;
    uint32_t region;
};

struct lull_prv_type {
    uint64_t number;
    const char *label;
    uint8_t kind;    /* enum lull_prv_kind */
    bool nests;      /* values stack up; otherwise a new value replaces the last one */
    bool collective; /* MPI's collective operations: parameters on the line belong to its regions */
    uint32_t index;  /* of the counter or marker; enum lull_prv_parameter or lull_event_kind; of a
                          region type: the region of values that are named nowhere */
    uint32_t n_values;             /* of region types only */
    struct lull_prv_value *values; /* ascending */
    uint32_t n_dense;              /* values below it are looked up in `dense` */
    uint32_t *dense;               /* [n_dense]: region or LULL_NONE */
};

struct lull_prv_text_key {
    uint64_t key; /* the digits of a number as lull_prv_align makes them; 0: the slot is free */
    uint32_t index;
};

/* Event types, and two tables from their numbers to indices in types[]. `by_text` finds a number by
 * its digits as they stand in the file, which every pair of an event needs: converting the digits
 * and asking `by_number` made the scan of a trace of 160 MB 1.23 times as slow (median of 7 pairs,
 * 1.17 .. 1.25). */
struct lull_prv_types {
    struct lull_prv_type *types;
    uint32_t n_types;
    struct lull_hash by_number; /* -> index */
    struct lull_prv_text_key *by_text;
    uint32_t mask;
    unsigned shift;
    uint32_t unnamed_marker; /* the marker of types that are named nowhere */
};

static inline uint32_t lull_prv_hash(uint64_t key, unsigned shift)
{
    return (uint32_t)(lull_spread(key) >> shift);
}

/* LULL_NONE if unknown. */
uint32_t lull_prv_type_index(const struct lull_prv_types *types, uint64_t number);
/* The region of a value. *ret_named becomes false, and the region is type->index, if the value is
 * named nowhere. */
uint32_t lull_prv_type_region(const struct lull_prv_type *type, uint64_t value, bool *ret_named);

/* ---- an open trace --------------------------------------------------------------------------- */

struct lull_prv_application {
    uint32_t first_process, n_processes;
    uint32_t world; /* communicator of all its processes */
};

struct lull_prv_comm_id {
    uint32_t application;
    uint64_t id;
    uint32_t comm;
};

struct lull_paraver {
    struct lull_prv_application *applications;
    uint32_t n_applications;
    uint32_t n_cpus; /* 0: unknown */
    uint64_t ticks_to_ns;
    struct lull_prv_comm_id *comm_ids; /* sorted by application, id */
    uint32_t n_comm_ids;
    uint64_t records_offset; /* of the first record, in bytes of the uncompressed content */
    uint64_t records_line;   /* number of its line, from 1 */
    uint64_t file_size;      /* bytes, as the file lies on the disk */
    bool gzip;
    struct lull_prv_types types;
};

/* Types that occur in the first megabyte of records. */
struct lull_prv_sample {
    uint64_t *types;
    size_t n_types, capacity;
    bool states;
};

/* ---- labels ---------------------------------------------------------------------------------- */

struct lull_prv_label {
    uint64_t number;
    const char *text;
};

/* An EVENT_TYPE of the .pcf; types of one block share their values. */
struct lull_prv_label_type {
    uint64_t number;
    const char *text;
    struct lull_prv_label *values;
    size_t n_values;
};

struct lull_prv_labels {
    bool found; /* there is a .pcf */
    struct lull_prv_label *states;
    size_t n_states, states_capacity;
    struct lull_prv_label_type *types;
    size_t n_types, types_capacity;
};

/* "dir/run.prv.gz" with ".pcf" -> "dir/run.pcf"; lives in `arena`. */
const char *lull_prv_sibling(const char *path, const char *suffix, struct lull_arena *arena);

/* A thread whose name in the .row begins like this is a stream of a device, in traces that lull
 * wrote. Those of Extrae are called "CUDA-D1.S1". */
#define LULL_PRV_STREAM "STREAM "

/* A type of lull's own, in the .pcf alone: its values say what streams are (trace/stream_text.h). */
enum { LULL_PRV_OWN_STREAMS = 91900110 };

/* Fills regions, states, counters and markers of the trace, and paraver->types. */
bool lull_prv_build_types(struct lull_trace *trace, struct lull_paraver *paraver,
                          const struct lull_prv_labels *labels,
                          const struct lull_prv_sample *sample);

/* ---- reading and writing --------------------------------------------------------------------- */

/* Moves the end of the run to the last record, with a warning, if records go on behind the end that
 * the header gives. To be called when all definitions are complete. */
lull_status lull_prv_find_end(struct lull_trace *trace, struct lull_error *err);

lull_status lull_prv_drive(const struct lull_trace *trace, uint64_t mask, bool unordered,
                           struct lull_sink *sink, struct lull_error *err);

lull_status lull_prv_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                 struct lull_writer *ret_writer, struct lull_error *err);

#endif
