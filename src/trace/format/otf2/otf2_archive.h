/* SPDX-License-Identifier: BSD-3-Clause */
/* OTF2 archives, as Score-P and EZTrace write them; internal to the format: what its files share.
 *
 * otf2.c              recognises and opens an archive, finds the first and last time of all
 *                     locations
 * otf2_archive.c      wraps libotf2's error messages, maps the ids of a file to indices, and OTF2's
 *                     enumerations to ours
 * otf2_definitions.c  collects the global definitions as they stand in the file; several processes
 *                     that open an archive together share that work
 * otf2_build.c        makes a lull_trace of the collected definitions
 * otf2_stream.c       gives the events of one location in blocks, decoding the file itself or
 *                     through libotf2
 * otf2_events.c       translates records to our events, and turns byte totals of Score-P into those
 *                     of one process
 * otf2_writer.c       writes archives */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_ARCHIVE_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_ARCHIVE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/mix.h"
#include "trace/format.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- library --------------------------------------------------------------------------------- */

/* Forgets this thread's last message and makes libotf2 silent; call before the library. */
void lull_otf2_quiet(void);
/* "<message>: <what libotf2 said first, or its description of `code`>". */
lull_status lull_otf2_fail(struct lull_error *err, OTF2_ErrorCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- maps ------------------------------------------------------------------------------------ */

/* Maps ids, which may be sparse 64-bit numbers, to indices: an array while the ids are dense, else
 * a hash table with open addressing. Every event looks something up. With the hash table of base,
 * whose keys lie two pointers away, the scan of an archive with sparse ids took 1.35 times as long
 * (median of 7 pairs, 20 M events). */
struct lull_otf2_map {
    uint32_t *dense;
    uint64_t n_dense;
    struct lull_otf2_slot {
        uint64_t id;
        uint32_t value; /* LULL_NONE: free */
    } * slots;
    uint64_t slot_mask;
};

/* Makes the map of `count` definitions. The id of definition i stands `stride` * i bytes behind
 * `ids`; it gets the index values[i] (LULL_NONE: it is left out), or i where `values` is NULL. Of
 * equal ids the first counts; returns how many were dropped. */
uint32_t lull_otf2_map_build(struct lull_otf2_map *map, struct lull_arena *arena, const void *ids,
                             size_t stride, const uint32_t *values, uint32_t count);

/* LULL_NONE for an unknown id. */
static inline uint32_t lull_otf2_find(const struct lull_otf2_map *map, uint64_t id)
{
    if (id < map->n_dense)
        return map->dense[id];
    if (!map->slots)
        return LULL_NONE;
    uint64_t at = lull_mix(0, id) & map->slot_mask;
    while (map->slots[at].value != LULL_NONE && map->slots[at].id != id)
        at = (at + 1) & map->slot_mask;
    return map->slots[at].value;
}

/* ---- enumerations ---------------------------------------------------------------------------- */

uint8_t lull_otf2_role_from(OTF2_RegionRole role);
OTF2_RegionRole lull_otf2_role_to(uint8_t role);
uint8_t lull_otf2_paradigm_from(OTF2_Paradigm paradigm);
OTF2_Paradigm lull_otf2_paradigm_to(uint8_t paradigm);
uint8_t lull_otf2_collective_from(OTF2_CollectiveOp op);
OTF2_CollectiveOp lull_otf2_collective_to(uint8_t op);

/* Roles and paradigms that OTF2 does not have are written into the region's description, as "lull:
 * lock"; "" where there is nothing to add. */
const char *lull_otf2_describe_region(const struct lull_region *region);
void lull_otf2_read_description(struct lull_region *region, const char *description);

/* Names in archives that lull wrote, for what OTF2 has no records for. */
#define LULL_OTF2_CREATOR        "lull"
#define LULL_OTF2_PRODUCER       "LULL::PRODUCER" /* property: who recorded the original */
#define LULL_OTF2_STATE          "lull state"
#define LULL_OTF2_STATE_DURATION "lull state duration"
#define LULL_OTF2_APPLICATION    "lull application"
#define LULL_OTF2_STREAM         "lull stream" /* property of a location: trace/stream_text.h */

/* Parameters in archives that lull wrote: what threads submit to devices, and what devices run. An event is told by one
 * of the last four, whose value is the number of the operation. Those before it, on the same location, have its fields. */
enum lull_otf2_device_parameter {
    LULL_OTF2_LOCATION, /* id of a location: the stream, or on a stream the thread that submitted */
    LULL_OTF2_REGION,   /* id of the region of the call that submitted */
    LULL_OTF2_BYTES,
    LULL_OTF2_OTHER,    /* number of the operation that another one depends on */
    LULL_OTF2_SEQUENCE, /* of an exchange between devices */
    LULL_OTF2_PEER,     /* likewise: rank */
    LULL_OTF2_SUBMIT,   /* LULL_EVENT_SUBMIT */
    LULL_OTF2_DEPEND,
    LULL_OTF2_WAIT,
    LULL_OTF2_RUN, /* LULL_EVENT_OPERATION */
    LULL_OTF2_DEVICE_PARAMETERS
};
extern const char *const lull_otf2_device_parameter_names[LULL_OTF2_DEVICE_PARAMETERS];

/* The name and the value of the archive property that describes state `index`. */
void lull_otf2_state_property(char *buffer, size_t size, uint32_t index);
void lull_otf2_state_print(char *buffer, size_t size, const struct lull_state *state);
bool lull_otf2_state_parse(struct lull_state *ret_state, const char *text,
                           struct lull_arena *arena);

/* ---- clock ----------------------------------------------------------------------------------- */

/* Ticks to ns by one multiplication: (ticks - origin) * multiplier / 2^shift, to the nearest. */
struct lull_otf2_clock {
    uint64_t origin;
    uint64_t multiplier;
    uint64_t half_low, half_high; /* half of 2^shift as a 128-bit number, for rounding */
    unsigned shift;
};

static inline int64_t lull_otf2_ns(const struct lull_otf2_clock *clock, uint64_t ticks)
{
    unsigned __int128 product = (unsigned __int128)(ticks - clock->origin) * clock->multiplier;
    product += (unsigned __int128)clock->half_high << 64 | clock->half_low;
    return (int64_t)(product >> clock->shift);
}

/* 1e9 s, about 30 years, in ns. Times that span more do not come from a run: some of them are times
 * of day, while others count from a start. */
#define LULL_OTF2_LONGEST_RUN (INT64_C(1000000000) * 1000000000)

/* ---- the open archive ------------------------------------------------------------------------ */

/* How the values of a metric become differences. */
enum lull_otf2_metric_mode {
    LULL_OTF2_DIFFERENCE, /* totals and absolute values: the value minus the previous one */
    LULL_OTF2_AS_IS,      /* values that are relative, or count since the last reading */
    LULL_OTF2_DELAYED /* the value holds until the next reading, and is reported with that one */
};

/* A metric class, or an instance of it. */
struct lull_otf2_class {
    uint32_t *counters; /* index per member */
    uint8_t *modes;     /* enum lull_otf2_metric_mode per member */
    uint32_t n_members;
    bool state; /* its metrics are states, in archives that lull wrote */
};

struct lull_otf2_archive {
    char *anchor;           /* path of the anchor file */
    char *location_dir;     /* folder of the files per location */
    bool own;               /* written by us: its clock properties can be trusted */
    bool totals;            /* written by Score-P: bytes of collective operations are totals over
                               all ranks */
    bool local_definitions; /* there are .def files per location */
    struct lull_otf2_clock clock;
    struct lull_otf2_map locations, regions, comms, classes, windows, contexts;
    struct lull_otf2_map parameters; /* enum lull_otf2_device_parameter; or, for a marker,
                                        LULL_OTF2_DEVICE_PARAMETERS + its index */
    bool *self_comms; /* per communicator: it is like MPI_COMM_SELF, one for every process */
    uint32_t *context_regions;                 /* region index per calling context */
    uint32_t *window_comms;                    /* communicator index per window */
    uint32_t copy_to_device, copy_from_device; /* regions for copies on device streams; LULL_NONE:
                                                  the archive has none, or regions of its own */
    struct lull_otf2_class *class_list;
    uint32_t most_members; /* of a metric class */
    uint32_t world;        /* communicator of all processes, or LULL_NONE */
    uint64_t event_chunk;  /* bytes per chunk of an event file */
    uint64_t sight;        /* a hash of the anchor file */
    bool library_only;     /* read through libotf2 only, for tests that compare both ways */
};

/* Puts everything that global definitions say into trace and archive. Only origin and duration are
 * left open: *ret_clock holds what the file says about them. */
struct lull_otf2_clock_properties {
    bool given;
    uint64_t resolution, offset, length, realtime;
};
lull_status lull_otf2_build(struct lull_trace *trace, struct lull_otf2_archive *archive,
                            OTF2_Reader *reader, struct lull_otf2_clock_properties *ret_clock,
                            struct lull_error *err);

/* ---- streams --------------------------------------------------------------------------------- */

struct lull_otf2_handle {
    OTF2_Reader *reader;
    OTF2_EvtReader *events;
};

enum { LULL_OTF2_PENDING_IO = 64 };

struct otf2_stream {
    const struct lull_trace *trace;
    const struct lull_otf2_archive *archive;
    uint32_t location;
    uint32_t process;
    uint64_t mask;
    struct lull_otf2_decoder *decoder; /* our own decoder; NULL: libotf2 reads */
    struct lull_otf2_handle handle;    /* by which libotf2 reads */
    bool ended;
    bool reported_end;
    bool probing; /* only the first and last time are looked for: no quirks are reported */

    struct lull_event *next; /* where the next event goes */
    lull_status status;      /* of a callback that has stopped the reading */
    struct lull_error error;

    struct lull_counter_reading *readings; /* of the current block */
    uint32_t n_readings, most_readings;
    uint64_t *previous; /* per counter: last total or delayed value */

    struct lull_otf2_pending_io { /* I/O operations that have begun and not completed, a ring */
        uint64_t matching_id;
        OTF2_IoHandleRef handle;
        uint8_t op;
    } io[LULL_OTF2_PENDING_IO];
    unsigned n_io;

    /* What device parameters have told of the event whose number comes next; else lull_otf2_nothing_told. */
    struct lull_event submission;

    /* Copies on a device stream. They are put and get records with a record of their completion;
     * here they become regions. Time in which a kernel runs as well belongs to the kernel. */
    bool makes_copies;                       /* the location is a device stream with copies */
    uint64_t depth;                          /* of the file's regions that are open */
    uint64_t copies_begun, copies_completed; /* counted while makes_copies */
    uint32_t copy;                           /* the region of the copies that go on */

    uint64_t receives_posted, receives_completed;
    uint64_t sends_posted, sends_completed;
    uint64_t requests_cancelled;                   /* of either kind; they need not complete */
    uint64_t collectives_begun, collectives_ended; /* non-blocking */
};

extern const struct lull_event lull_otf2_nothing_told;

lull_status lull_otf2_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *err);
lull_status lull_otf2_stream_read(void *stream, struct lull_event *events, size_t capacity,
                                  size_t *ret_count, struct lull_error *err);
void lull_otf2_stream_close(void *stream);

/* Opens a stream that looks for the ends of a location: through libotf2, which can jump there. */
lull_status lull_otf2_probe_open(const struct lull_trace *trace, uint32_t location,
                                 void **ret_stream, struct lull_error *err);

/* Opens a writer of an archive at `path`, which must not be there unless `replace` (otf2_writer.c).
 * Fails as `open` of a format's writer does (trace/format.h). */
lull_status lull_otf2_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err);

#endif
