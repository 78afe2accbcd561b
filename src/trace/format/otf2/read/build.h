/* From the definitions of an archive to those of a trace: what the parts share. */
#ifndef LULL_TRACE_FORMAT_OTF2_READ_BUILD_H
#define LULL_TRACE_FORMAT_OTF2_READ_BUILD_H

#include "trace/format/otf2/read/definitions.h"

struct lull_otf2_builder {
    struct lull_trace *trace;
    struct lull_otf2_archive *archive;
    struct lull_otf2_definitions *definitions;
    struct lull_otf2_map node_index;     /* -> trace->nodes */
    struct lull_otf2_map group_index;    /* -> definitions->location_groups */
    struct lull_otf2_map location_index; /* -> trace->locations */
    struct lull_otf2_map world_rank;     /* location id -> rank */
};

/* A string of the archive in the arena of the trace. */
static inline const char *lull_otf2_keep_text(const struct lull_otf2_builder *builder,
                                              OTF2_StringRef string)
{
    return lull_arena_strdup(builder->trace->arena, lull_otf2_text(builder->definitions, string));
}

static inline int lull_otf2_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* locations.c: the machine, then processes and their threads. */
void lull_otf2_build_nodes(struct lull_otf2_builder *builder);
lull_status lull_otf2_build_locations(struct lull_otf2_builder *builder, struct lull_error *err);

/* regions.c */
void lull_otf2_build_regions(struct lull_otf2_builder *builder);

/* metrics.c */
lull_status lull_otf2_build_metrics(struct lull_otf2_builder *builder, struct lull_error *err);

#endif
