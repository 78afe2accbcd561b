/* Packing a run: which of its files go to which node. */
#include "base/array.h"
#include "base/text.h"
#include "tape/container.h"
#include "trace/format/tape/pack/node_writer.h"
#include "trace/format/tape/pack/rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The files of the run's processes, and those of nodes. */
struct pack_file {
    struct lull_tape_node_file file;
    uint32_t node;    /* an index of the trace, LULL_NONE where none is known; of a file of a node a
                         number behind these */
    const char *name; /* of a file of a node: it goes into a file with the same name */
};

struct packing {
    struct pack_run run;
    struct pack_file *files;
    size_t n_files, capacity;
    const char **names; /* of the nodes' files so far, in the arena of the trace */
    size_t n_names, names_capacity;
    struct pack_progress progress;
};

/* Of the folder for a thousand processes that it is in. */
static bool parse_path(const char *path, struct lull_tape_name *name,
                       enum lull_tape_node_kind *kind)
{
    const char *slash = strchr(path, '/');
    char group[24];
    if (!slash || !lull_tape_parse_name(slash + 1, name, kind))
        return false;
    const int length = snprintf(group, sizeof group, "%u", name->process / LULL_TAPE_GROUP);
    return slash - path == length && memcmp(path, group, (size_t)length) == 0;
}

static bool is_used(const struct packing *packing, const char *name)
{
    size_t i = 0;
    while (i < packing->n_names && strcmp(packing->names[i], name) != 0)
        i++;
    return i < packing->n_names;
}

static void keep_name(struct packing *packing, const char *name)
{
    packing->names =
        lull_arena_grow(packing->run.trace->arena, packing->names, &packing->names_capacity,
                        packing->n_names + 1, sizeof *packing->names);
    packing->names[packing->n_names++] = name;
}

/* NULL: it is not the file of a node. */
static const struct lull_tape_container *container_at(const struct lull_trace *trace,
                                                      const char *path)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_containers *all = data->containers;
    for (size_t c = 0; all && c < all->n; c++)
        if (strcmp(strrchr(all->list[c]->path, '/') + 1, path) == 0)
            return all->list[c];
    return NULL;
}

/* False: it is of no process or node. */
static bool describe_file(const struct lull_trace *trace, const char *path,
                          struct pack_file *ret_file)
{
    const struct lull_tape_container *container = container_at(trace, path);
    struct lull_tape_name name;
    enum lull_tape_node_kind kind;
    if (container) {
        *ret_file = (struct pack_file){
            .file = {.number = container->number, .kind = LULL_TAPE_NODE_CONTAINER},
            .node = trace->n_nodes + container->number,
            .name = lull_arena_strdup(trace->arena, path)};
        return true;
    }
    if (!parse_path(path, &name, &kind))
        return false;
    const uint32_t process = lull_tape_process_index(trace, name.process);
    if (process == LULL_NONE)
        return false;
    *ret_file =
        (struct pack_file){.file = {.process = name.process, .number = name.number, .kind = kind},
                           .node = trace->processes[process].node};
    return true;
}

static lull_status take_packed_file(void *context, const char *path, bool *ret_taken,
                                    struct lull_error *err)
{
    struct packing *packing = context;
    const struct lull_trace *trace = packing->run.trace;
    struct pack_file file;
    *ret_taken = false;
    if (!describe_file(trace, path, &file))
        return LULL_OK;
    if (!lull_array_reserve(&packing->files, &packing->capacity, packing->n_files + 1,
                            sizeof *packing->files))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    packing->files[packing->n_files++] = file;
    if (file.name)
        keep_name(packing, file.name);
    *ret_taken = true;
    char whole[LULL_TAPE_PATH];
    struct stat info;
    snprintf(whole, sizeof whole, "%s/%s", trace->path, path);
    if (stat(whole, &info) == 0)
        packing->progress.all += (uint64_t)info.st_size;
    return LULL_OK;
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_pack_files(const void *a, const void *b)
{
    const struct pack_file *x = a, *y = b;
    if (x->node != y->node)
        return compare_u32(x->node, y->node);
    if (x->file.process != y->file.process)
        return compare_u32(x->file.process, y->file.process);
    return x->file.number != y->file.number ? compare_u32(x->file.number, y->file.number)
                                            : compare_u32(x->file.kind, y->file.kind);
}

/* ---- names ------------------------------------------------------------------------------------
 */

/* A name of a file, not too long. */
static char *clean_name(struct lull_arena *arena, const char *text)
{
    enum { MOST = 100 };
    char *name = lull_arena_strndup(arena, text, strnlen(text, MOST));
    lull_tape_clean_name(name);
    return *name ? name : lull_arena_strdup(arena, "node");
}

/* That of the node's file, which no other node has. */
static const char *name_node(struct packing *packing, uint32_t node)
{
    const struct lull_trace *trace = packing->run.trace;
    struct lull_arena *arena = trace->arena;
    const char *base = clean_name(arena, node == LULL_NONE ? "node" : trace->nodes[node].name);
    char *name = lull_arena_printf(arena, "%s" LULL_TAPE_NODE_ENDING, base);
    for (unsigned i = 2; is_used(packing, name); i++)
        name = lull_arena_printf(arena, "%s-%u" LULL_TAPE_NODE_ENDING, base, i);
    keep_name(packing, name);
    return name;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static lull_status describe_location(const struct lull_trace *trace,
                                     const struct lull_tape_file *file,
                                     struct lull_tape_node_location *ret_location,
                                     union lull_tape_slot *slots, struct lull_error *err)
{
    *ret_location = (struct lull_tape_node_location){
        .process = file->process, .number = file->number, .committed = file->header.committed};
    return lull_tape_measure_location(trace, file, slots, &ret_location->ends, err);
}

/* What the file tells of those locations of a process that could be read. */
static lull_status measure_process(const struct lull_trace *trace, uint32_t number,
                                   struct lull_tape_node_location *locations, uint32_t *count,
                                   union lull_tape_slot *slots, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t index = lull_tape_process_index(trace, number);
    lull_status status = LULL_OK;
    if (index == LULL_NONE)
        return LULL_OK;
    const struct lull_process *process = &trace->processes[index];
    for (uint32_t l = process->first_location;
         status == LULL_OK && l < process->first_location + process->n_locations; l++)
        if (!data->files[l].left_out)
            status = describe_location(trace, &data->files[l], &locations[(*count)++], slots, err);
    return status;
}

static lull_status measure_container(const struct lull_trace *trace, uint32_t number,
                                     struct lull_tape_node_location *locations, uint32_t *count,
                                     union lull_tape_slot *slots, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_containers *all = data->containers;
    lull_status status = LULL_OK;
    for (size_t p = 0; status == LULL_OK && p < all->n_processes; p++)
        if (all->processes[p].container->number == number)
            status =
                measure_process(trace, all->processes[p].process, locations, count, slots, err);
    return status;
}

static lull_status pack_node(struct packing *packing, const struct pack_file *files, uint32_t n,
                             struct lull_error *err)
{
    const struct lull_trace *trace = packing->run.trace;
    char path[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/%s", lull_output_path(packing->run.output),
             files[0].name ? files[0].name : name_node(packing, files[0].node));
    struct lull_tape_node_file *list = malloc(n * sizeof *list);
    struct lull_tape_node_location *locations =
        malloc((trace->n_locations + (size_t)1) * sizeof *locations);
    union lull_tape_slot *slots = malloc(LULL_TAPE_CHUNK);
    uint32_t n_locations = 0;
    lull_status status = list && locations && slots
                             ? LULL_OK
                             : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t f = 0; status == LULL_OK && f < n; f++) {
        list[f] = files[f].file;
        if (files[f].name)
            status =
                measure_container(trace, files[f].file.number, locations, &n_locations, slots, err);
        else if (f == 0 || files[f].file.process != files[f - 1].file.process)
            status =
                measure_process(trace, files[f].file.process, locations, &n_locations, slots, err);
    }
    free(slots);
    if (status == LULL_OK)
        status = lull_pack_write_node(trace, path, list, n, locations, n_locations,
                                      &packing->progress, err);
    free(list);
    free(locations);
    return status;
}

static lull_status pack_files(struct packing *packing, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (packing->n_files > 0)
        qsort(packing->files, packing->n_files, sizeof *packing->files, compare_pack_files);
    for (size_t i = 0, n; status == LULL_OK && i < packing->n_files; i += n) {
        n = 1;
        while (i + n < packing->n_files && packing->files[i + n].node == packing->files[i].node)
            n++;
        status = pack_node(packing, packing->files + i, (uint32_t)n, err);
    }
    return status;
}

/* What the header of a location said when the run was opened must be what it says now. */
static lull_status check_unchanged(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, struct lull_error *err)
{
    struct lull_tape_source source;
    struct lull_tape_header now;
    char path[LULL_TAPE_PATH];
    lull_status status = lull_tape_open_records(trace, file, &source, err);
    if (status != LULL_OK)
        return status;
    const ssize_t got = lull_tape_source_read(&source, &now, sizeof now, file->head);
    lull_tape_source_close(&source);
    if (got == sizeof now && now.committed == file->header.committed + file->lost)
        return LULL_OK;
    return lull_fail(err, LULL_ERR_FORMAT,
                     "%s: changes while it is packed: is it still being recorded?",
                     lull_tape_file_path(trace, file, path, sizeof path));
}

static lull_status check_ended(const struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
        if (!data->files[l].left_out)
            status = check_unchanged(trace, &data->files[l], err);
    return status;
}

lull_status lull_pack(const struct lull_pack_wish *wish, struct lull_error *err)
{
    struct packing packing = {.progress = {.report = wish->report, .context = wish->context}};
    lull_status status = lull_pack_begin(wish, ".packed", &packing.run, err);
    if (status != LULL_OK)
        return status;
    const struct lull_tape_data *data = packing.run.trace->format_data;
    if (data->packed_run)
        status = lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: is packed already", wish->run);
    if (status == LULL_OK)
        status = lull_pack_copy_rest(&packing.run, take_packed_file, &packing, err);
    if (status == LULL_OK)
        status = pack_files(&packing, err);
    if (status == LULL_OK)
        status = check_ended(packing.run.trace, err);
    free(packing.files);
    return lull_pack_end(wish, &packing.run, status, err);
}
