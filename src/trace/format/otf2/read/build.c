/* From the definitions of an archive to those of a trace. */
#include "trace/format/otf2/read/build.h"

#include "trace/format/otf2/read/share.h"

static void build_markers(struct lull_otf2_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_trace *trace = builder->trace;
    trace->n_markers = definitions->parameters.count;
    trace->markers = lull_arena_zero(trace->arena, trace->n_markers, sizeof *trace->markers);
    for (uint32_t i = 0; i < trace->n_markers; i++) {
        const struct lull_otf2_parameter *source = &definitions->parameters.items[i];
        trace->markers[i] = (struct lull_marker){.name = lull_otf2_keep_text(builder, source->name),
                                                 .source_id = source->id};
    }
    lull_otf2_map_build(&builder->archive->parameters, trace->arena, definitions->parameters.items,
                        sizeof *definitions->parameters.items, NULL, trace->n_markers);
}

lull_status lull_otf2_build(struct lull_trace *trace, struct lull_otf2_archive *archive,
                            OTF2_Reader *reader, struct lull_otf2_clock_properties *ret_clock,
                            struct lull_error *err)
{
    struct lull_otf2_definitions definitions = {.arena = lull_arena_create(NULL)};
    struct lull_otf2_builder builder = {
        .trace = trace, .archive = archive, .definitions = &definitions};
    lull_status status = lull_otf2_share_definitions(trace, &definitions, reader, err);
    if (status == LULL_OK) {
        lull_otf2_build_nodes(&builder);
        status = lull_otf2_build_locations(&builder, err);
    }
    if (status == LULL_OK) {
        lull_otf2_build_regions(&builder);
        lull_otf2_build_comms(trace, archive, &definitions, &builder.location_index);
        build_markers(&builder);
        status = lull_otf2_build_metrics(&builder, err);
    }
    *ret_clock = definitions.clock;
    lull_arena_destroy(definitions.arena);
    return status;
}
