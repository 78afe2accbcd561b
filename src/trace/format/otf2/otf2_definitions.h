/* SPDX-License-Identifier: BSD-3-Clause */
/* Global definitions as they stand in the file: every record in a list of its kind. References are
 * not followed yet, because they may point forward. Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_DEFINITIONS_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_DEFINITIONS_H

#include "trace/format/otf2/otf2_archive.h"

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

/* A property of a location that is a text. */
struct lull_otf2_location_text {
    uint64_t id;
    OTF2_StringRef name, value;
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
    LULL_OTF2_LIST(lull_otf2_location_text) location_texts;
    LULL_OTF2_LIST(lull_otf2_region) regions;
    LULL_OTF2_LIST(lull_otf2_group) groups;
    LULL_OTF2_LIST(lull_otf2_comm) comms;
    LULL_OTF2_LIST(lull_otf2_member) members;
    LULL_OTF2_LIST(lull_otf2_metric_class) classes;
    LULL_OTF2_LIST(lull_otf2_metric_instance) instances;
    LULL_OTF2_LIST(lull_otf2_window) windows;
    LULL_OTF2_LIST(lull_otf2_parameter) parameters;
    LULL_OTF2_LIST(lull_otf2_context) contexts;
    struct lull_otf2_map string_map; /* made when all strings are there */
};

/* The text of a string; "" for an unknown or undefined one. */
const char *lull_otf2_text(const struct lull_otf2_definitions *definitions, OTF2_StringRef string);

/* Builds trace->comms, archive->comms and archive->windows; `location_index` maps ids of locations
 * to indices into trace->locations. */
void lull_otf2_build_comms(struct lull_trace *trace, struct lull_otf2_archive *archive,
                           struct lull_otf2_definitions *definitions,
                           const struct lull_otf2_map *location_index);

/* The locations that take part in the message passing, in the order of their ranks, or NULL. */
const struct lull_otf2_group *
lull_otf2_world_group(const struct lull_otf2_definitions *definitions);

/* ==== archives that several processes open together =========================================== */

/* With an exchange (trace/trace.h) the first process reads the global definitions and sends them to
 * all, and each process looks at the files of a range of locations. Alone, a process does all of
 * that. */

/* Collects the global definitions: the first process reads them, all get them. `reader` is used in
 * the first process only. */
lull_status lull_otf2_share_definitions(const struct lull_trace *trace,
                                        struct lull_otf2_definitions *definitions,
                                        OTF2_Reader *reader, struct lull_error *err);

/* The locations whose files this process looks at: [*ret_first, *ret_end). */
void lull_otf2_share_range(const struct lull_trace *trace, uint32_t *ret_first, uint32_t *ret_end);

/* What was found in the files of locations. */
struct lull_otf2_found {
    bool local_definitions; /* some locations have definitions of their own */
    bool any;               /* there are events, from `first` to `last` (ticks) */
    uint64_t first, last;
    uint32_t failed;         /* the lowest location that could not be read; UINT32_MAX: none */
    lull_status status;      /* how it failed */
    struct lull_error error; /* the message of that */
};

/* Adds the findings of another part of the locations. */
void lull_otf2_found_add(struct lull_otf2_found *all, const struct lull_otf2_found *found);
/* Turns the findings of this process into those of all processes. Fails where a location could not
 * be read, with its status. */
lull_status lull_otf2_share_found(const struct lull_trace *trace, struct lull_otf2_found *found,
                                  struct lull_error *err);

#endif
