/* SPDX-License-Identifier: BSD-3-Clause */
/* What event types, values and states mean where no .pcf says it; internal to the Paraver
 * format. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_TYPES_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_TYPES_H

#include "trace/format/paraver/paraver.h"

/* An event type. For a type of regions, paradigm, role and parallel are those of all its regions
 * whose name says no more. */
struct lull_prv_known_type {
    uint32_t number;
    const char *label;
    uint8_t kind;  /* enum lull_prv_kind */
    uint8_t index; /* parameters: enum lull_prv_parameter; own events: enum lull_event_kind */
    uint8_t paradigm, role;
    bool parallel; /* time inside counts as inside an OpenMP parallel region */
    bool nests;
    bool prefixed; /* regions are called "type: value", because a value like "Lock" says too
                     little */
};

struct lull_prv_known_state {
    uint32_t number;
    uint8_t activity;
    const char *label;
};

/* The name of an MPI call, by its value, which is unique over all types of MPI; or of a counter, by
 * its type. */
struct lull_prv_known_name {
    uint32_t number;
    const char *name;
};

extern const struct lull_prv_known_type lull_prv_known_types[]; /* sorted by number */
extern const size_t lull_prv_n_known_types;
extern const struct lull_prv_known_state lull_prv_known_states[]; /* sorted by number */
extern const size_t lull_prv_n_known_states;
extern const struct lull_prv_known_name lull_prv_mpi_calls[];
extern const size_t lull_prv_n_mpi_calls;
extern const struct lull_prv_known_name lull_prv_known_counters[];
extern const size_t lull_prv_n_known_counters;

const struct lull_prv_known_type *lull_prv_known_type(uint64_t number); /* NULL if unknown */

/* Whether this is a type that lull wrote for regions. Its number says paradigm, role and parallel.
 */
bool lull_prv_own_region(uint64_t number, struct lull_prv_known_type *ret_known);

/* The region that a value called `name` of a type becomes. */
struct lull_region lull_prv_make_region(const char *name, const struct lull_prv_known_type *known,
                                        uint8_t role);

enum {
    LULL_PRV_MPI_P2P = 50000001,
    LULL_PRV_MPI_COLLECTIVE = 50000002,
    LULL_PRV_MPI_OTHER = 50000003,
    LULL_PRV_MPI_RMA = 50000004,
    LULL_PRV_MPI_IO = 50000005,
    LULL_PRV_FLUSH = 40000003,
    LULL_PRV_CALLER = 70000001, /* value: the place */
    LULL_PRV_TRACING = 40000012,
    LULL_PRV_COUNTERS = 42000000,
    LULL_PRV_NATIVE_COUNTERS = 44000000,
    LULL_PRV_UNCORE_COUNTERS = 46000000,
    LULL_PRV_SEND_SIZE = 50100001,
    LULL_PRV_RECEIVE_SIZE = 50100002,
    LULL_PRV_IS_ROOT = 50100003,
    LULL_PRV_COMMUNICATOR = 50100004,
    LULL_PRV_RMA_SIZE = 50001000,
    LULL_PRV_RMA_TARGET = 50001001,
    LULL_PRV_USER_FUNCTION = 60000019,
    /* Types of lull's own. Regions that no type of Extrae describes have one type per paradigm,
     * role and `parallel`: 91PPRR0p. Events that Extrae does not write: 919000xx. */
    LULL_PRV_OWN_REGIONS = 91000000,
    LULL_PRV_OWN_REGIONS_END = 91800000,
    LULL_PRV_OWN_EVENTS = 91900000,
    LULL_PRV_OWN_SEND = 91900016,
    LULL_PRV_OWN_RECEIVE = 91900017,
    LULL_PRV_OWN_ROOT = 91900100,
    LULL_PRV_OWN_TAG = 91900101,
    LULL_PRV_OWN_LOCATION = 91900102,
    LULL_PRV_OWN_CALL_TYPE = 91900103,
    LULL_PRV_OWN_CALL_VALUE = 91900104,
    LULL_PRV_OWN_OTHER = 91900105,
    LULL_PRV_OWN_SEQUENCE = 91900106,
    LULL_PRV_OWN_PEER = 91900107,
    LULL_PRV_NOBODY = INT32_MAX, /* as a target: MPI_PROC_NULL */
    /* lull numbers the values of regions from here on; their labels are the regions' full names. */
    LULL_PRV_OWN_VALUES = 1000
};

static inline uint64_t lull_prv_own_region_type(unsigned paradigm, unsigned role, bool parallel)
{
    return LULL_PRV_OWN_REGIONS + paradigm * 10000 + role * 100 + parallel;
}

/* Whether the type belongs to a family of counters whose values are differences. */
static inline bool lull_prv_is_counter(uint64_t type)
{
    uint64_t family = type / 1000000;
    return family == 42 || family == 44 || family == 46;
}

#endif
