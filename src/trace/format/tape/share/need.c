/* What is not told of a process of another member, but found out when it is about to be read: where
 * its records stand, and what its ids mean. */
#include "trace/format/tape/share/share.h"

#include <stdlib.h>

lull_status lull_tape_share_keep(struct lull_trace *trace, struct lull_tape_merge *merge,
                                 struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_share *share = data->share;
    lull_hash_free(&merge->known[LULL_TAPE_MAP_COMM]); /* the ids of communicators are known */
    merge->learns = true;
    share->merge = merge;
    share->known = calloc(trace->n_processes + (size_t)1, sizeof *share->known);
    if (!share->known)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        share->known[p] = lull_tape_is_own(trace, data->process_numbers[p]);
    free(share->heads);
    share->heads = NULL;
    lull_arena_destroy(share->texts);
    share->texts = NULL;
    return LULL_OK;
}

/* It may be recorded at this moment: of what has come since, nothing counts. */
static lull_status take_records_place(const struct lull_trace *trace, struct lull_tape_file *file,
                                      const struct lull_tape_file *now, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    if (now->header.committed < file->header.committed || now->lost != file->lost)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: changes faster than it can be read",
                         lull_tape_file_path(trace, file, path, sizeof path));
    file->header.flags = (uint16_t)((file->header.flags & ~LULL_TAPE_TAILED) |
                                    (now->header.flags & LULL_TAPE_TAILED));
    file->header.flushed = now->header.flushed;
    file->chunks = now->chunks;
    file->rest = now->rest;
    file->sums = now->sums;
    file->ring = now->ring;
    file->n_ring = now->n_ring;
    file->n_kept = now->n_kept;
    file->tail = now->tail;
    file->tail_size = now->tail_size;
    return LULL_OK;
}

/* Where the records of a location stand. */
static lull_status find_place(const struct lull_trace *view, struct lull_tape_file *file,
                              struct lull_error *err)
{
    struct lull_tape_header header;
    struct lull_tape_file now = {.process = file->process,
                                 .number = file->number,
                                 .packed = file->packed,
                                 .known = file->known,
                                 .open_region = LULL_NONE};
    lull_status status = file->packed ? lull_tape_refresh(view, &now, err) : LULL_OK;
    if (status == LULL_OK)
        status = lull_tape_read_header(view, &now, &header, err);
    return status == LULL_OK ? take_records_place(view, file, &now, err) : status;
}

static lull_status find_places(const struct lull_trace *view, uint32_t process,
                               struct lull_error *err)
{
    const struct lull_tape_data *data = view->format_data;
    const struct lull_process *all = &view->processes[process];
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < all->n_locations; l++) {
        struct lull_tape_file *file = &data->files[all->first_location + l];
        if (!file->left_out)
            status = find_place(view, file, err);
    }
    return status;
}

static lull_status find_ids(const struct lull_tape_share *share, uint32_t process,
                            struct lull_error *err)
{
    const struct lull_trace *view = &share->view;
    const struct lull_tape_data *data = view->format_data;
    struct lull_tape_scope scope = {0};
    char path[LULL_TAPE_PATH];
    bool found;
    lull_status status = lull_tape_read_definitions_of(
        view, share->merge, data->process_numbers[process], &scope, path, &found, err);
    lull_tape_keep_ids(share->merge, &scope);
    for (int map = 0; map < LULL_TAPE_MAPS; map++)
        if (map != LULL_TAPE_MAP_COMM)
            data->scopes[process].maps[map] = scope.maps[map];
    return status;
}

lull_status lull_tape_need(const struct lull_trace *trace, uint32_t location,
                           struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_share *share = data->share;
    const uint32_t process = trace->locations[location].process;
    lull_status status = LULL_OK;
    if (!share || data->files[location].left_out)
        return LULL_OK;
    pthread_mutex_lock(&share->lock);
    if (!share->known[process]) {
        if (!share->view.arena) {
            share->view = *trace;
            share->view.arena = lull_arena_create(NULL);
            share->merge->trace = &share->view;
        }
        status = find_places(&share->view, process, err);
        if (status == LULL_OK)
            status = find_ids(share, process, err);
        share->known[process] = status == LULL_OK;
    }
    pthread_mutex_unlock(&share->lock);
    return status;
}
