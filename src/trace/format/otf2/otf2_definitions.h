/* Global definitions as they stand in the file: every record in a list of its kind, references
 * not yet followed, because they may point forward. Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_DEFINITIONS_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_DEFINITIONS_H

#include "trace/format/otf2/otf2.h"

/* ==== definitions ============================================================================= */

/* In every record `id` comes first: maps are built from it. */
struct lull_otf2_string {
    uint64_t id;
    const char *text;
};

struct lull_otf2_node {
    uint64_t id;
    OTF2_StringRef name, class_name;
    OTF2_SystemTreeNodeRef parent;
};

struct lull_otf2_domain { /* a system tree node whose processes share memory */
    uint64_t id;
};

struct lull_otf2_location_group {
    uint64_t id;
    OTF2_StringRef name;
    OTF2_LocationGroupType type;
    OTF2_SystemTreeNodeRef node;
    OTF2_LocationGroupRef creator;
};

struct lull_otf2_group_number { /* a property of a location group that is a number */
    uint64_t id;
    OTF2_StringRef name;
    uint32_t value;
};

struct lull_otf2_location {
    uint64_t id;
    OTF2_StringRef name;
    OTF2_LocationType type;
    OTF2_LocationGroupRef group;
};

struct lull_otf2_region {
    uint64_t id;
    OTF2_StringRef name, canonical_name, description, file;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
    uint32_t line;
};

struct lull_otf2_group {
    uint64_t id;
    OTF2_StringRef name;
    OTF2_GroupType type;
    OTF2_Paradigm paradigm;
    OTF2_GroupFlag flags;
    uint32_t n_members;
    const uint64_t *members;
};

struct lull_otf2_comm {
    uint64_t id;
    OTF2_StringRef name;
    OTF2_GroupRef group;
    OTF2_GroupRef remote_group; /* OTF2_UNDEFINED_GROUP: no inter-communicator */
    OTF2_CommRef parent;
};

struct lull_otf2_member {
    uint64_t id;
    OTF2_StringRef name, unit;
    OTF2_MetricMode mode;
    OTF2_Base base;
    int64_t exponent;
};

struct lull_otf2_metric_class {
    uint64_t id;
    uint32_t n_members;
    const OTF2_MetricMemberRef *members;
};

struct lull_otf2_metric_instance {
    uint64_t id;
    OTF2_MetricRef class_id;
};

struct lull_otf2_window {
    uint64_t id;
    OTF2_CommRef comm;
};

struct lull_otf2_parameter {
    uint64_t id;
    OTF2_StringRef name;
};

struct lull_otf2_context {
    uint64_t id;
    OTF2_RegionRef region;
};

#define LULL_OTF2_LIST(type) \
    struct {                 \
        struct type *items;  \
        size_t capacity;     \
        uint32_t count;      \
    }

struct lull_otf2_definitions {
    struct lull_arena *arena; /* scratch memory of everything here */
    struct lull_otf2_clock_properties clock;
    LULL_OTF2_LIST(lull_otf2_string) strings;
    LULL_OTF2_LIST(lull_otf2_node) nodes;
    LULL_OTF2_LIST(lull_otf2_domain) shared_memory;
    LULL_OTF2_LIST(lull_otf2_location_group) location_groups;
    LULL_OTF2_LIST(lull_otf2_group_number) group_numbers;
    LULL_OTF2_LIST(lull_otf2_location) locations;
    LULL_OTF2_LIST(lull_otf2_region) regions;
    LULL_OTF2_LIST(lull_otf2_group) groups;
    LULL_OTF2_LIST(lull_otf2_comm) comms;
    LULL_OTF2_LIST(lull_otf2_member) members;
    LULL_OTF2_LIST(lull_otf2_metric_class) classes;
    LULL_OTF2_LIST(lull_otf2_metric_instance) instances;
    LULL_OTF2_LIST(lull_otf2_window) windows;
    LULL_OTF2_LIST(lull_otf2_parameter) parameters;
    LULL_OTF2_LIST(lull_otf2_context) contexts;
    struct lull_otf2_map string_map; /* made when all are there */
};

/* "" for an unknown or undefined string. */
const char *lull_otf2_text(const struct lull_otf2_definitions *definitions, OTF2_StringRef string);

/* What comms.c builds: trace->comms, archive->comms, archive->windows; `location_index` maps
 * ids to trace->locations. */
void lull_otf2_build_comms(struct lull_trace *trace, struct lull_otf2_archive *archive,
                           struct lull_otf2_definitions *definitions,
                           const struct lull_otf2_map *location_index);

/* The locations that take part in the message passing, in the order of their ranks, or NULL. */
const struct lull_otf2_group *
lull_otf2_world_group(const struct lull_otf2_definitions *definitions);

/* ==== share =================================================================================== */

/* Archives that several processes open together (trace/trace.h): the first reads the global
 * definitions and tells them to all, and each looks at the files of some locations, neighbours by
 * number. Alone, a process does all of that. Internal to the OTF2 format. */

/* lull_otf2_collect by the first, for all. `reader` is not used on others. */
lull_status lull_otf2_share_definitions(const struct lull_trace *trace,
                                        struct lull_otf2_definitions *definitions,
                                        OTF2_Reader *reader, struct lull_error *err);

/* The locations whose files this process looks at: [*ret_first, *ret_end). */
void lull_otf2_share_range(const struct lull_trace *trace, uint32_t *ret_first, uint32_t *ret_end);

/* What processes have found in the files of locations. */
struct lull_otf2_found {
    bool local_definitions; /* some have definitions of their own */
    bool any;               /* first and last are times of events, in ticks */
    uint64_t first, last;
    uint32_t failed; /* the lowest location that failed, UINT32_MAX: none; as `status`, with ... */
    lull_status status;
    struct lull_error error; /* ... these words */
};

/* Adds what another one has found. */
void lull_otf2_found_add(struct lull_otf2_found *all, const struct lull_otf2_found *found);
/* From what this process has found to what all have. Fails where a location has. */
lull_status lull_otf2_share_found(const struct lull_trace *trace, struct lull_otf2_found *found,
                                  struct lull_error *err);

#endif
