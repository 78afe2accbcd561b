/* SPDX-License-Identifier: BSD-3-Clause */
/* RUN/definitions of a tape that lull writes itself. */
#include "base/array.h"
#include "tape/definition.h"
#include "trace/format/tape/tape_data.h"

#include <stdio.h>
#include <stdlib.h>

struct definitions_output {
    FILE *file;
    unsigned char *space; /* for one definition; grows to the largest one */
    size_t capacity;
    uint64_t committed;
    bool failed;
};

/* Fills one definition; called a second time where the first call has shown that the space is too
 * small. */
typedef void fill(struct lull_tape_builder *builder, const struct lull_trace *trace,
                  uint32_t index);

static void write_one(struct definitions_output *out, unsigned kind, uint32_t id,
                      const struct lull_trace *trace, fill *body)
{
    struct lull_tape_builder builder;
    size_t size = 0;
    for (int attempt = 0; attempt < 2 && !out->failed; attempt++) {
        lull_tape_build_begin(&builder, out->space, out->capacity, kind, id);
        body(&builder, trace, id);
        size = lull_tape_build_end(&builder);
        if (size <= out->capacity)
            break;
        if (size > UINT32_MAX || !lull_array_reserve(&out->space, &out->capacity, size, 1)) {
            out->failed = true;
            return;
        }
    }
    if (!out->failed && fwrite(out->space, 1, size, out->file) != size)
        out->failed = true;
    out->committed += size;
}

static void fill_node(struct lull_tape_builder *builder, const struct lull_trace *trace, uint32_t n)
{
    lull_tape_build_u32(builder, trace->nodes[n].parent);
    lull_tape_build_text(builder, trace->nodes[n].name);
    lull_tape_build_text(builder, trace->nodes[n].class_name);
}

static void fill_process(struct lull_tape_builder *builder, const struct lull_trace *trace,
                         uint32_t p)
{
    const struct lull_process *process = &trace->processes[p];
    lull_tape_build_u32(builder, process->application);
    lull_tape_build_u32(builder, process->rank);
    lull_tape_build_u32(builder, process->node);
    lull_tape_build_text(builder, process->name);
}

static void fill_region(struct lull_tape_builder *builder, const struct lull_trace *trace,
                        uint32_t r)
{
    const struct lull_region *region = &trace->regions[r];
    lull_tape_build_u32(builder, region->paradigm);
    lull_tape_build_u32(builder, region->role);
    lull_tape_build_u32(builder, region->parallel);
    lull_tape_build_u32(builder, region->line);
    lull_tape_build_text(builder, region->name);
    lull_tape_build_text(builder, region->file);
    if (!*region->site)
        return;
    lull_tape_build_u32(builder, region->whole);
    lull_tape_build_text(builder, region->site);
}

static void fill_state(struct lull_tape_builder *builder, const struct lull_trace *trace,
                       uint32_t s)
{
    lull_tape_build_u32(builder, trace->states[s].number);
    lull_tape_build_u32(builder, trace->states[s].activity);
    lull_tape_build_text(builder, trace->states[s].name);
}

static void fill_comm(struct lull_tape_builder *builder, const struct lull_trace *trace, uint32_t c)
{
    const struct lull_comm *comm = &trace->comms[c];
    lull_tape_build_u64(builder, 0);
    lull_tape_build_u32(builder, comm->paradigm);
    lull_tape_build_u32(builder, comm->size);
    lull_tape_build_u32(builder, comm->first);
    lull_tape_build_u32(builder, comm->parent);
    lull_tape_build_u32(builder, comm->remote);
    lull_tape_build_u32(builder, comm->members ? comm->size : 0);
    for (uint32_t r = 0; comm->members && r < comm->size; r++)
        lull_tape_build_u32(builder, comm->members[r]);
    lull_tape_build_text(builder, comm->name);
}

static void fill_counter(struct lull_tape_builder *builder, const struct lull_trace *trace,
                         uint32_t c)
{
    lull_tape_build_u64(builder, trace->counters[c].source_id);
    lull_tape_build_u32(builder, trace->counters[c].role);
    lull_tape_build_text(builder, trace->counters[c].name);
    lull_tape_build_text(builder, trace->counters[c].unit);
}

static void fill_marker(struct lull_tape_builder *builder, const struct lull_trace *trace,
                        uint32_t m)
{
    lull_tape_build_u64(builder, trace->markers[m].source_id);
    lull_tape_build_text(builder, trace->markers[m].name);
}

static void fill_object(struct lull_tape_builder *builder, const struct lull_trace *trace,
                        uint32_t o)
{
    lull_tape_build_text(builder, trace->objects[o].path);
    lull_tape_build_text(builder, trace->objects[o].build_id);
    if (trace->objects[o].function)
        lull_tape_build_text(builder, trace->objects[o].function);
}

static void fill_file(struct lull_tape_builder *builder, const struct lull_trace *trace, uint32_t f)
{
    lull_tape_build_u32(builder, trace->files[f].kind);
    lull_tape_build_text(builder, trace->files[f].name);
}

static void fill_run(struct lull_tape_builder *builder, const struct lull_trace *trace, uint32_t i)
{
    (void)i;
    lull_tape_build_u64(builder, (uint64_t)trace->duration);
    lull_tape_build_u64(builder, 0); /* origin: times start at 0 already */
    lull_tape_build_u64(builder, (uint64_t)trace->start_realtime);
    lull_tape_build_f64(builder, trace->clock_resolution);
    lull_tape_build_f64(builder, trace->clock_error);
    lull_tape_build_u32(builder, trace->has_states);
    lull_tape_build_text(builder, trace->producer);
}

static void fill_property(struct lull_tape_builder *builder, const struct lull_trace *trace,
                          uint32_t p)
{
    const struct lull_property *property = &trace->properties[p];
    lull_tape_build_text(builder, property->key);
    lull_tape_build_text(builder, property->value);
    lull_tape_build_u32(builder, property->processes);
    lull_tape_build_u32(builder, property->first);
}

static void fill_disturbance(struct lull_tape_builder *builder, const struct lull_trace *trace,
                             uint32_t i)
{
    (void)i;
    lull_tape_build_u64(builder, trace->disturbed_seed);
    lull_tape_build_text(builder, trace->disturbed);
}

static void fill_held(struct lull_tape_builder *builder, const struct lull_trace *trace, uint32_t i)
{
    (void)i;
    lull_tape_build_u64(builder, trace->held);
    lull_tape_build_u64(builder, trace->not_held);
}

static void fill_memory(struct lull_tape_builder *builder, const struct lull_trace *trace,
                        uint32_t p)
{
    const struct lull_process_memory *memory = &trace->processes[p].memory;
    lull_tape_build_memory(builder, &(struct lull_tape_memory){.peak = memory->peak,
                                                               .resident = memory->resident,
                                                               .swapped = memory->swapped,
                                                               .node = memory->node,
                                                               .limit = memory->limit,
                                                               .group = memory->group});
}

static void fill_readings(struct lull_tape_builder *builder, const struct lull_trace *trace,
                          uint32_t p)
{
    const struct lull_process *process = &trace->processes[p];
    for (uint32_t i = 0; i < process->n_readings; i++)
        lull_tape_build_reading(
            builder, &(struct lull_tape_reading){.time = (uint64_t)process->readings[i].time,
                                                 .bytes = process->readings[i].bytes});
}

static void fill_region_memory(struct lull_tape_builder *builder, const struct lull_trace *trace,
                               uint32_t i)
{
    const struct lull_region_memory *memory = &trace->region_memory[i];
    lull_tape_build_u32(builder, memory->region);
    lull_tape_build_u32(builder, memory->process);
    lull_tape_build_region_memory(
        builder, &(struct lull_tape_region_memory){
                     .peak = memory->peak, .measured = memory->measured, .visits = memory->visits});
}

static bool knows_memory(const struct lull_trace *trace)
{
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].memory.peak > 0)
            return true;
    return false;
}

static bool has_readings(const struct lull_trace *trace)
{
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].n_readings > 0)
            return true;
    return false;
}

static void write_definitions(struct definitions_output *out, const struct lull_trace *trace)
{
    const struct {
        unsigned kind;
        uint32_t count;
        fill *body;
    } kinds[] = {
        {LULL_TAPE_DEFINE_NODE, trace->n_nodes, fill_node},
        {LULL_TAPE_DEFINE_PROCESS, trace->n_processes, fill_process},
        {LULL_TAPE_DEFINE_MEMORY, knows_memory(trace) ? trace->n_processes : 0, fill_memory},
        {LULL_TAPE_DEFINE_READINGS, has_readings(trace) ? trace->n_processes : 0, fill_readings},
        {LULL_TAPE_DEFINE_REGION, trace->n_regions, fill_region},
        {LULL_TAPE_DEFINE_REGION_MEMORY, trace->n_region_memory, fill_region_memory},
        {LULL_TAPE_DEFINE_STATE, trace->n_states, fill_state},
        {LULL_TAPE_DEFINE_COMM, trace->n_comms, fill_comm},
        {LULL_TAPE_DEFINE_COUNTER, trace->n_counters, fill_counter},
        {LULL_TAPE_DEFINE_MARKER, trace->n_markers, fill_marker},
        {LULL_TAPE_DEFINE_FILE, trace->n_files, fill_file},
        {LULL_TAPE_DEFINE_OBJECT, trace->n_objects, fill_object},
        {LULL_TAPE_DEFINE_PROPERTY, trace->n_properties, fill_property},
        {LULL_TAPE_DEFINE_DISTURBANCE, trace->disturbed != NULL, fill_disturbance},
        {LULL_TAPE_DEFINE_HELD, trace->disturbed != NULL, fill_held},
        {LULL_TAPE_DEFINE_RUN, 1, fill_run},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t i = 0; i < kinds[k].count && !out->failed; i++)
            write_one(out, kinds[k].kind, i, trace, kinds[k].body);
}

lull_status lull_tape_write_definitions(const struct lull_trace *trace, const char *folder,
                                        struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/definitions", folder);
    struct definitions_output out = {.file = fopen(path, "wb")};
    if (!out.file)
        return lull_fail_errno(err, "%s: cannot create", path);
    struct lull_tape_definitions_header header = {.magic = {0},
                                                  .version = LULL_TAPE_VERSION,
                                                  .byte_order = LULL_TAPE_BYTE_ORDER,
                                                  .header_size = sizeof header,
                                                  .process = LULL_TAPE_WHOLE_RUN};
    for (size_t i = 0; i < sizeof header.magic; i++)
        header.magic[i] = LULL_TAPE_DEFINITIONS_MAGIC[i];
    out.failed = fwrite(&header, sizeof header, 1, out.file) != 1;
    write_definitions(&out, trace);
    header.committed = out.committed;
    out.failed = out.failed || fseek(out.file, 0, SEEK_SET) != 0 ||
                 fwrite(&header, sizeof header, 1, out.file) != 1;
    free(out.space);
    if (fclose(out.file) != 0 || out.failed)
        return lull_fail_errno(err, "%s: cannot write", path);
    return LULL_OK;
}
