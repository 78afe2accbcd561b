/* Unpacking a run: every file as it was, one after the other in each of the workers. */
#include "base/parallel.h"
#include "trace/format/tape/pack/columns.h"
#include "trace/format/tape/pack/node_writer.h"
#include "trace/format/tape/pack/rest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct unpacking {
    struct pack_run run;
    const struct lull_tape_packed *packed;
    struct pack_progress progress;
    pthread_mutex_t lock;
    size_t next; /* file */
    lull_status status;
    struct lull_error err;
};

/* The files of nodes, which are not copied. */
static lull_status takes_node_file(void *context, const char *path, bool *ret_taken,
                                   struct lull_error *err)
{
    const struct unpacking *unpacking = context;
    const struct lull_tape_packed *packed = unpacking->packed;
    (void)err;
    *ret_taken = false;
    for (size_t n = 0; !*ret_taken && n < packed->n_nodes; n++)
        *ret_taken = strcmp(strrchr(packed->nodes[n]->path, '/') + 1, path) == 0;
    return LULL_OK;
}

/* It has the name of the file that it was packed in. */
static lull_status create_container(const struct unpacking *unpacking, uint32_t number,
                                    const char *folder, char *path, int *ret_fd,
                                    struct lull_error *err)
{
    const struct lull_tape_container *container =
        lull_tape_container_find(unpacking->run.trace, number);
    if (!container)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has no container %u",
                         unpacking->run.trace->path, number);
    snprintf(path, LULL_TAPE_PATH, "%s/%s", folder, strrchr(container->path, '/') + 1);
    *ret_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *ret_fd < 0 ? lull_fail_errno(err, "%s: cannot create", path) : LULL_OK;
}

static lull_status create(const struct unpacking *unpacking, const struct lull_tape_node_file *file,
                          char *path, int *ret_fd, struct lull_error *err)
{
    const char *folder = lull_output_path(unpacking->run.output);
    char name[LULL_TAPE_PATH];
    if (file->kind == LULL_TAPE_NODE_CONTAINER)
        return create_container(unpacking, file->number, folder, path, ret_fd, err);
    lull_tape_source_path(unpacking->run.trace, file->kind, file->process, file->number, name,
                          sizeof name);
    snprintf(path, LULL_TAPE_PATH, "%s/%u", folder, file->process / LULL_TAPE_GROUP);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return lull_fail_errno(err, "%s: cannot create", path);
    snprintf(path, LULL_TAPE_PATH, "%s/%u/%s", folder, file->process / LULL_TAPE_GROUP,
             strrchr(name, '/') + 1);
    *ret_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *ret_fd < 0 ? lull_fail_errno(err, "%s: cannot create", path) : LULL_OK;
}

static bool is_all_zero(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Zeros are left out: the file has its length already. */
static lull_status write_file_blocks(struct lull_tape_source *source, int fd, const char *path,
                                     unsigned char *bytes, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (ftruncate(fd, (off_t)source->size) != 0)
        return lull_fail_errno(err, "%s: cannot write", path);
    for (uint64_t at = 0; status == LULL_OK && at < source->size;) {
        const ssize_t got = lull_tape_source_read_block(source, bytes, at);
        if (got <= 0)
            return lull_tape_source_fail(source, path, err);
        if (!is_all_zero(bytes, (size_t)got))
            status = lull_pack_write_at(fd, path, bytes, (size_t)got, at, err);
        at += (uint64_t)got;
    }
    return status;
}

static lull_status unpack_file(const struct unpacking *unpacking,
                               const struct lull_tape_node_file *file, unsigned char *bytes,
                               struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_source source;
    int fd;
    lull_status status = create(unpacking, file, path, &fd, err);
    if (status != LULL_OK)
        return status;
    status = lull_tape_source_open(unpacking->run.trace, file->kind, file->process, file->number,
                                   &source, err);
    if (status == LULL_OK)
        status = write_file_blocks(&source, fd, path, bytes, err);
    if (close(fd) != 0 && status == LULL_OK)
        status = lull_fail_errno(err, "%s: cannot write", path);
    return status;
}

static const struct lull_tape_node_file *take_next_file(struct unpacking *unpacking)
{
    const struct lull_tape_packed *packed = unpacking->packed;
    struct pack_progress *progress = &unpacking->progress;
    const struct lull_tape_node_file *file = NULL;
    pthread_mutex_lock(&unpacking->lock);
    if (unpacking->next < packed->n_files && unpacking->status == LULL_OK) {
        file = &packed->files[unpacking->next++].file;
        if (progress->report && progress->all > 0)
            progress->report(progress->context, (double)progress->done / (double)progress->all);
        progress->done += file->size;
    }
    pthread_mutex_unlock(&unpacking->lock);
    return file;
}

static void work_on_files(void *context, unsigned number)
{
    struct unpacking *unpacking = context;
    unsigned char *bytes = aligned_alloc(64, LULL_TAPE_CHUNK);
    struct lull_error err;
    lull_status status = LULL_OK;
    (void)number;
    if (!bytes)
        status = lull_fail(&err, LULL_ERR_MEMORY, "%s: out of memory", unpacking->run.target);
    for (const struct lull_tape_node_file *file;
         status == LULL_OK && (file = take_next_file(unpacking));)
        status = unpack_file(unpacking, file, bytes, &err);
    free(bytes);
    if (status == LULL_OK)
        return;
    pthread_mutex_lock(&unpacking->lock);
    if (unpacking->status == LULL_OK) {
        unpacking->status = status;
        unpacking->err = err;
    }
    pthread_mutex_unlock(&unpacking->lock);
}

static lull_status unpack_files(struct unpacking *unpacking, struct lull_error *err)
{
    for (size_t f = 0; f < unpacking->packed->n_files; f++)
        unpacking->progress.all += unpacking->packed->files[f].file.size;
    pthread_mutex_init(&unpacking->lock, NULL);
    lull_parallel_run(lull_worker_count(), work_on_files, unpacking);
    pthread_mutex_destroy(&unpacking->lock);
    return unpacking->status == LULL_OK
               ? LULL_OK
               : lull_fail(err, unpacking->status, "%s", unpacking->err.text);
}

lull_status lull_unpack(const struct lull_pack_wish *wish, struct lull_error *err)
{
    struct unpacking unpacking = {.progress = {.report = wish->report, .context = wish->context}};
    lull_status status = lull_pack_begin(wish, ".unpacked", &unpacking.run, err);
    if (status != LULL_OK)
        return status;
    const struct lull_tape_data *data = unpacking.run.trace->format_data;
    unpacking.packed = data->packed_run;
    if (!unpacking.packed)
        status = lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: is not packed", wish->run);
    else if (data->lacks_packed)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s", data->damage);
    if (status == LULL_OK)
        status = lull_pack_copy_rest(&unpacking.run, takes_node_file, &unpacking, err);
    if (status == LULL_OK)
        status = unpack_files(&unpacking, err);
    return lull_pack_end(wish, &unpacking.run, status, err);
}
