/* Which files a tape has, by their names. */
#include "base/text.h"
#include "trace/format/tape/read/source.h"
#include "trace/format/tape/share/share.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number as we write it: "0" and "12", but not "00" or "012", which would name a file twice. */
static bool parse_number(const char *text, size_t length, uint64_t *ret_number)
{
    return lull_parse_u64(text, length, ret_number) == LULL_OK && (length == 1 || text[0] != '0');
}

/* "12.3.tape" -> 12 and 3 and "tape" */
static bool parse_file_name(const char *name, struct lull_tape_name *ret_name,
                            const char **ret_what)
{
    const char *dot = strchr(name, '.');
    const char *second = dot ? strchr(dot + 1, '.') : NULL;
    uint64_t process, number;
    if (!second || !parse_number(name, (size_t)(dot - name), &process) ||
        !parse_number(dot + 1, (size_t)(second - dot - 1), &number) || process >= UINT32_MAX ||
        number >= UINT32_MAX)
        return false;
    *ret_name = (struct lull_tape_name){(uint32_t)process, (uint32_t)number};
    *ret_what = second + 1;
    return true;
}

/* "12.tape" -> 12 */
static bool parse_process_name(const char *name, const char *ending, uint32_t *ret_process)
{
    const char *dot = strchr(name, '.');
    uint64_t process;
    if (!dot || strcmp(dot + 1, ending) != 0 ||
        !parse_number(name, (size_t)(dot - name), &process) || process >= UINT32_MAX)
        return false;
    *ret_process = (uint32_t)process;
    return true;
}

static const struct {
    const char *ending;
    enum lull_tape_node_kind kind;
} file_endings[] = {
    {"tape", LULL_TAPE_NODE_TAPE}, {"tail", LULL_TAPE_NODE_TAIL}, {"sums", LULL_TAPE_NODE_SUMS}};

bool lull_tape_parse_name(const char *name, struct lull_tape_name *ret_name,
                          enum lull_tape_node_kind *ret_kind)
{
    const char *what;
    ret_name->number = 0;
    if (parse_process_name(name, "tape", &ret_name->process)) {
        *ret_kind = LULL_TAPE_NODE_PROCESS;
        return true;
    }
    if (parse_process_name(name, "definitions", &ret_name->process)) {
        *ret_kind = LULL_TAPE_NODE_DEFINITIONS;
        return true;
    }
    if (!parse_file_name(name, ret_name, &what))
        return false;
    for (size_t i = 0; i < sizeof file_endings / sizeof *file_endings; i++)
        if (strcmp(what, file_endings[i].ending) == 0) {
            *ret_kind = file_endings[i].kind;
            return true;
        }
    return false;
}

static void note_process(struct lull_trace *trace, uint32_t number)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_make_room(trace, &data->packed, &data->packed_capacity, data->n_packed + 1,
                        sizeof *data->packed);
    data->packed[data->n_packed++] = number;
}

static void note_file(struct lull_trace *trace, struct lull_tape_name name,
                      enum lull_tape_node_kind kind)
{
    struct lull_tape_data *data = trace->format_data;
    if (kind == LULL_TAPE_NODE_PROCESS) {
        note_process(trace, name.process);
    } else if (kind == LULL_TAPE_NODE_TAPE) {
        lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                            sizeof *data->files);
        data->files[data->n_files++] = (struct lull_tape_file){
            .process = name.process, .number = name.number, .open_region = LULL_NONE};
    } else if (kind == LULL_TAPE_NODE_SUMS) {
        lull_tape_make_room(trace, &data->sums, &data->sums_capacity, data->n_sums + 1,
                            sizeof *data->sums);
        data->sums[data->n_sums++] = name;
    }
}

static lull_status list_group(struct lull_trace *trace, uint32_t group, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/%u", trace->path, group);
    DIR *folder = opendir(path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct lull_tape_name name;
        enum lull_tape_node_kind kind;
        if (lull_tape_parse_name(entry->d_name, &name, &kind) &&
            name.process / LULL_TAPE_GROUP == group)
            note_file(trace, name, kind);
    }
    closedir(folder);
    return LULL_OK;
}

int lull_tape_compare_names(const void *a, const void *b)
{
    const struct lull_tape_name *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int compare_file_names(const void *a, const void *b)
{
    const struct lull_tape_file *x = a, *y = b;
    const struct lull_tape_name left = {x->process, x->number}, right = {y->process, y->number};
    return lull_tape_compare_names(&left, &right);
}

void lull_tape_sort_files(struct lull_tape_data *data)
{
    if (data->n_files > 0)
        qsort(data->files, data->n_files, sizeof *data->files, compare_file_names);
}

/* Which of the files, sorted, have sums beside them. */
static void match_sums(struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    if (data->n_sums)
        qsort(data->sums, data->n_sums, sizeof *data->sums, lull_tape_compare_names);
    trace->has_sums = true;
    size_t s = 0;
    for (size_t f = 0; f < data->n_files; f++) {
        const struct lull_tape_name name = {data->files[f].process, data->files[f].number};
        while (s < data->n_sums && lull_tape_compare_names(&data->sums[s], &name) < 0)
            s++;
        data->files[f].has_sums |=
            s < data->n_sums && lull_tape_compare_names(&data->sums[s], &name) == 0;
        trace->has_sums &= data->files[f].has_sums;
    }
}

static int compare_listed_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* One location stands for all that are lost. */
static void add_damaged(struct lull_trace *trace, uint32_t process, const struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                        sizeof *data->files);
    data->files[data->n_files++] =
        (struct lull_tape_file){.process = process,
                                .open_region = LULL_NONE,
                                .packed = true,
                                .damage = lull_arena_strdup(trace->arena, err->text)};
}

/* In a file of its own and in that of a node. */
static lull_status process_twice(const struct lull_trace *trace, uint32_t process,
                                 struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    return lull_fail(err, LULL_ERR_FORMAT, "%s: there is a file of process %u, too",
                     lull_tape_process_path(trace, process, path, sizeof path), process);
}

static lull_status sort_processes(const struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    if (data->n_packed > 0)
        qsort(data->packed, data->n_packed, sizeof *data->packed, compare_listed_numbers);
    for (size_t p = 1; p < data->n_packed; p++)
        if (data->packed[p] == data->packed[p - 1])
            return process_twice(trace, data->packed[p], err);
    return LULL_OK;
}

/* Those that are not somebody else's to read. */
static lull_status read_listed_processes(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (size_t p = 0; status == LULL_OK && p < data->n_packed; p++) {
        if (!lull_tape_is_own(trace, data->packed[p]))
            continue;
        status = lull_tape_read_process(trace, data->packed[p], err);
        if (status == LULL_ERR_FORMAT) {
            add_damaged(trace, data->packed[p], err);
            status = LULL_OK;
        }
    }
    return status;
}

void lull_tape_note_damage(struct lull_trace *trace, const struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_trace_add_quirk(trace, "a file of a node is damaged; what it holds is left out", "%s",
                         err->text);
    if (data->damage[0] == '\0')
        snprintf(data->damage, sizeof data->damage, "%s", err->text);
}

static lull_status open_node(struct lull_trace *trace, const char *name, struct lull_error *err)
{
    lull_status status = lull_tape_node_open(trace, name, err);
    if (status != LULL_ERR_FORMAT)
        return status;
    struct lull_tape_data *data = trace->format_data;
    data->lacks_packed = true;
    lull_tape_note_damage(trace, err);
    return LULL_OK;
}

static bool is_node_name(const char *name)
{
    const size_t length = strlen(name), ending = strlen(LULL_TAPE_NODE_ENDING);
    return length > ending && strcmp(name + length - ending, LULL_TAPE_NODE_ENDING) == 0;
}

static lull_status note_packed(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = lull_tape_nodes_join(trace, err);
    for (size_t f = 0; status == LULL_OK && data->packed_run && f < data->packed_run->n_files;
         f++) {
        const struct lull_tape_packed_file *packed = &data->packed_run->files[f];
        const struct lull_tape_node_file *file = &packed->file;
        if (file->kind == LULL_TAPE_NODE_CONTAINER)
            lull_tape_container_note(trace, packed->node->path, -1, packed);
        note_file(trace, (struct lull_tape_name){file->process, file->number}, file->kind);
    }
    return status;
}

/* The processes in files of nodes. */
static lull_status note_contained(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = lull_tape_containers_read(trace, err);
    for (size_t p = 0; status == LULL_OK && data->containers && p < data->containers->n_processes;
         p++)
        note_process(trace, data->containers->processes[p].process);
    return status;
}

lull_status lull_tape_list_files(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    DIR *folder = opendir(trace->path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", trace->path);
    lull_status status = LULL_OK;
    for (struct dirent *entry; status == LULL_OK && (entry = readdir(folder));) {
        uint64_t group;
        if (parse_number(entry->d_name, strlen(entry->d_name), &group) &&
            group <= UINT32_MAX / LULL_TAPE_GROUP)
            status = list_group(trace, (uint32_t)group, err);
        else if (is_node_name(entry->d_name))
            status = open_node(trace, entry->d_name, err);
    }
    closedir(folder);
    if (status == LULL_OK)
        status = note_packed(trace, err);
    if (status == LULL_OK)
        status = note_contained(trace, err);
    if (status == LULL_OK)
        status = sort_processes(trace, err);
    if (status == LULL_OK)
        status = lull_tape_share_begin(trace, err);
    if (status != LULL_OK)
        return status;
    status = read_listed_processes(trace, err);
    if (status == LULL_OK)
        status = lull_tape_check_holdings(trace, err);
    if (data->share)
        status = lull_tape_share_heads(trace, status, err);
    if (status != LULL_OK)
        return status;
    if (data->n_files == 0 && data->damage[0] != '\0')
        return lull_fail(err, LULL_ERR_FORMAT, "%s", data->damage);
    if (data->n_files == 0)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: holds no tape files, expected 0/0.tape or 0/0.0.tape", trace->path);
    lull_tape_sort_files(data);
    lull_tape_sort_heads(trace);
    for (size_t f = 0; f < data->n_files; f++)
        data->files[f].known =
            lull_tape_packed_location(trace, data->files[f].process, data->files[f].number);
    match_sums(trace);
    return LULL_OK;
}
