/* The writing half of the OTF2 format. Internal to it. */
#ifndef LULL_TRACE_FORMAT_OTF2_WRITE_WRITER_H
#define LULL_TRACE_FORMAT_OTF2_WRITE_WRITER_H

#include "trace/format/otf2/otf2.h"

lull_status lull_otf2_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err);

/* Ids in the archives we write. Definitions of a kind are numbered from 0 without gaps, as
 * libotf2's tools expect: processes, locations, regions, counters and markers by their indices. */
enum { LULL_OTF2_IO_HANDLE = 0 };

/* Counters that were read together: a metric class. */
struct lull_otf2_counter_set {
    uint32_t *counters;
    uint8_t count;
};

/* The state of writing one location. */
struct lull_otf2_output_location {
    OTF2_EvtWriter *events; /* NULL before its first event */
    uint64_t n_events;
    uint64_t *totals; /* per counter, NULL before the first reading */
    uint32_t last_set;
    bool call_open; /* a CALL was entered and not yet left */
    uint32_t call_region;
    int64_t call_end;
};

struct lull_otf2_output {
    const struct lull_trace *trace;
    struct lull_arena *arena;
    struct lull_output *files;
    OTF2_Archive *archive;
    struct lull_otf2_output_location *locations;
    struct lull_otf2_counter_set *sets;
    size_t sets_capacity;
    uint32_t n_sets;
    uint32_t
        first_set_class; /* metric class of set 0; before it, that of states if there are any */
    uint32_t *comm_ids;  /* per communicator; two groups share one inter-communicator */
    bool *self_comms;    /* per communicator: of every process its own */
    uint32_t world_comm; /* id of the communicator of all processes */
    bool own_world;      /* the trace has none: written in addition if it is used */
    bool world_used;
    uint32_t *windows; /* by id, in the order of first use: index or LULL_NONE */
    size_t windows_capacity;
    uint32_t n_windows;
    uint64_t io_operations;
};

/* Everything but the events; after all of them have been written. */
OTF2_ErrorCode lull_otf2_write_definitions(struct lull_otf2_output *output);

/* ---- events.c -------------------------------------------------------------------------------- */

/* Where the events of a block go: the file of their location. */
struct lull_otf2_target {
    struct lull_otf2_output *output;
    struct lull_otf2_output_location *location;
    OTF2_EvtWriter *writer;
    uint32_t process;
};

OTF2_ErrorCode lull_otf2_write_events(struct lull_otf2_target *target,
                                      const struct lull_block *block);
/* Leaves the CALL that is open. */
OTF2_ErrorCode lull_otf2_leave_call(struct lull_otf2_target *target);

/* ---- addresses.c ----------------------------------------------------------------------------- */

/* Where a message or a root goes: a communicator's id, and the rank of `process` in it. Processes
 * that the communicator does not have are named by their rank in the world. */
struct lull_otf2_address {
    OTF2_CommRef comm;
    uint32_t rank;
};
struct lull_otf2_address lull_otf2_address(struct lull_otf2_output *output, uint32_t comm,
                                           uint32_t self, int32_t process, uint32_t none_rank);
/* The root of a collective operation: between groups it is this process, or somebody in its own
 * group, or a rank of the other. */
struct lull_otf2_address lull_otf2_root_address(struct lull_otf2_output *output, uint32_t self,
                                                const struct lull_event *event);

/* Gives every communicator its id. */
void lull_otf2_number_comms(struct lull_otf2_output *output);

#endif
