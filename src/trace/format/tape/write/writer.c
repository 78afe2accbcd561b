/* Writing a tape from events: for conversion, and for runs that lull itself makes. Definitions are
 * written once for the run. */
#include "trace/format/tape/write/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lull_status write_tape_block(void *state, const struct lull_block *block,
                                    struct lull_error *err)
{
    return lull_tape_take_events(state, block, err);
}

static uint16_t flag_of_cut(const struct lull_location *location)
{
    static const uint16_t flags[LULL_CUTS] = {
        [LULL_CUT_BUDGET] = LULL_TAPE_BUDGET_REACHED, [LULL_CUT_DISK] = LULL_TAPE_WRITE_FAILED};
    return flags[location->cut];
}

/* The first location of a process tells its main part. */
static void put_main(const struct lull_trace *trace, uint32_t location,
                     struct lull_tape_header *header)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (process->first_location != location || process->main_begin <= 0)
        return;
    header->main_begin = (uint64_t)process->main_begin;
    header->main_end = (uint64_t)process->main_end;
}

static lull_status finish_location(struct tape_writer *writer, uint32_t location,
                                   struct lull_error *err)
{
    const struct lull_location *definition = &writer->trace->locations[location];
    struct tape_location *out = &writer->locations[location];
    lull_status status = lull_tape_release_pending(writer, location, err);
    if (status != LULL_OK)
        return status;
    union {
        struct lull_tape_header header;
        unsigned char page[LULL_TAPE_HEADER_SIZE];
    } top = {.page = {0}};
    memcpy(top.header.magic, LULL_TAPE_MAGIC, sizeof top.header.magic);
    top.header.version = LULL_TAPE_VERSION;
    top.header.byte_order = LULL_TAPE_BYTE_ORDER;
    top.header.header_size = LULL_TAPE_HEADER_SIZE;
    top.header.record_size = sizeof(struct lull_tape_record);
    top.header.process = definition->process;
    top.header.number = definition->number;
    top.header.kind = definition->kind == LULL_LOCATION_DEVICE;
    top.header.role = definition->role;
    top.header.flags = LULL_TAPE_SHARED_IDS | LULL_TAPE_CLOSED | flag_of_cut(definition);
    top.header.source_id = definition->source_id;
    top.header.committed = out->flushed + out->used;
    top.header.cores = (struct lull_tape_cores){.on = definition->cores.on,
                                                .off = definition->cores.off,
                                                .preempted = definition->cores.preempted,
                                                .migrated = definition->cores.migrated,
                                                .allowed = definition->cores.allowed,
                                                .there = definition->cores.there,
                                                .which = definition->cores.which};
    if (definition->cores.set)
        memcpy(top.header.core_set, definition->cores.set, sizeof top.header.core_set);
    put_main(writer->trace, location, &top.header);
    snprintf(top.header.name, sizeof top.header.name, "%s", definition->name);
    status = lull_tape_flush(writer, location, &top, err);
    if (status != LULL_OK || !writer->trace->has_sums || writer->trace->events != LULL_EVENTS_FIRST)
        return status;
    return lull_tape_write_sums(writer, location, err);
}

static lull_status write_anchor(const struct tape_writer *writer, struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, lull_output_path(writer->output));
    FILE *out = fopen(path, "w");
    bool good = out && fputs(LULL_TAPE_ANCHOR, out) != EOF;
    if (out && fclose(out) != 0)
        good = false;
    return good ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

static lull_status close_tape_writer(void *state, bool commit, struct lull_error *err)
{
    struct tape_writer *writer = state;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; commit && status == LULL_OK && l < writer->trace->n_locations; l++)
        status = finish_location(writer, l, err);
    if (commit && status == LULL_OK)
        status = lull_tape_write_definitions(writer->trace, lull_output_path(writer->output), err);
    if (commit && status == LULL_OK)
        status = write_anchor(writer, err);
    for (uint32_t l = 0; l < writer->trace->n_locations; l++) {
        free(writer->locations[l].buffer);
        free(writer->locations[l].shapes);
        lull_tape_free_numbers(&writer->locations[l]);
    }
    free(writer->locations);
    if (commit && status == LULL_OK)
        status = lull_output_commit(writer->output, err);
    else
        lull_output_discard(writer->output);
    free(writer);
    return status;
}

/* In runs of many locations less for each, so that all together stay below this. */
static uint32_t shapes_for(uint32_t n_locations)
{
    const uint64_t most_bytes = 64 << 20;
    uint32_t n = LULL_TAPE_SHAPES;
    while (n > 1 && (uint64_t)n * sizeof(struct lull_tape_shape) * n_locations > most_bytes)
        n /= 2;
    return n;
}

lull_status lull_tape_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err)
{
    if (trace->n_nodes > LULL_TAPE_MOST_IDS || trace->n_regions > LULL_TAPE_MOST_IDS ||
        trace->n_states > LULL_TAPE_MOST_IDS || trace->n_comms > LULL_TAPE_MOST_IDS ||
        trace->n_counters > LULL_TAPE_MOST_IDS || trace->n_markers > LULL_TAPE_MOST_IDS)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: more than %u definitions of one kind",
                         trace->path, LULL_TAPE_MOST_IDS);
    struct tape_writer *writer = calloc(1, sizeof *writer);
    struct tape_location *locations = calloc(trace->n_locations, sizeof *locations);
    if (!writer || !locations) {
        free(writer);
        free(locations);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    writer->trace = trace;
    writer->locations = locations;
    writer->n_shapes = shapes_for(trace->n_locations);
    lull_status status = lull_output_begin(path, true, replace, &writer->output, err);
    if (status != LULL_OK) {
        free(writer);
        free(locations);
        return status;
    }
    *ret_writer = (struct lull_writer){
        .state = writer, .block = write_tape_block, .close = close_tape_writer};
    return LULL_OK;
}
