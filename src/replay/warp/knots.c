#include "replay/warp/knots.h"
#include "base/array.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK ((size_t)64) /* knots */
#define STEP  ((size_t)16 << 20)

struct knot_list {
    struct lull_knot *newest; /* [BLOCK] */
    uint32_t *blocks;         /* which of the file, for all before */
    size_t n_blocks, capacity;
    size_t count;
};

struct lull_knots {
    struct knot_list *lists;
    uint32_t n_lists;
    int fd;                 /* -1: no file yet */
    struct lull_knot *file; /* mapped up to `size` bytes */
    size_t size;
    uint32_t n_blocks; /* in the file */
};

struct lull_knots *lull_knots_create(uint32_t n_processes)
{
    struct lull_knots *knots = calloc(1, sizeof *knots);
    struct knot_list *lists = calloc(n_processes + (size_t)1, sizeof *lists);
    if (!knots || !lists) {
        free(knots);
        free(lists);
        return NULL;
    }
    *knots = (struct lull_knots){.lists = lists, .n_lists = n_processes, .fd = -1};
    return knots;
}

void lull_knots_destroy(struct lull_knots *knots)
{
    if (!knots)
        return;
    for (uint32_t i = 0; i < knots->n_lists; i++) {
        free(knots->lists[i].newest);
        free(knots->lists[i].blocks);
    }
    if (knots->file)
        munmap(knots->file, knots->size);
    if (knots->fd >= 0)
        close(knots->fd);
    free(knots->lists);
    free(knots);
}

static lull_status open_file(struct lull_knots *knots, struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lull-XXXXXX", lull_temporary_folder());
    knots->fd = mkostemp(path, O_CLOEXEC);
    if (knots->fd < 0)
        return lull_fail_errno(err, "cannot create a temporary file '%s'", path);
    unlink(path);
    return LULL_OK;
}

/* The blocks of the file are asked for before they are written through the mapping. */
static lull_status grow_file(struct lull_knots *knots, struct lull_error *err)
{
    lull_status status = knots->fd >= 0 ? LULL_OK : open_file(knots, err);
    if (status != LULL_OK)
        return status;
    errno = posix_fallocate(knots->fd, (off_t)knots->size, (off_t)STEP);
    if (errno != 0)
        return lull_fail_errno(err, "no room for a temporary file");
    size_t size = knots->size + STEP;
    void *file = knots->file ? mremap(knots->file, knots->size, size, MREMAP_MAYMOVE)
                             : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, knots->fd, 0);
    if (file == MAP_FAILED)
        return lull_fail_errno(err, "cannot map a temporary file");
    knots->file = file;
    knots->size = size;
    return LULL_OK;
}

static lull_status spill(struct lull_knots *knots, struct knot_list *list, struct lull_error *err)
{
    if (!lull_array_reserve(&list->blocks, &list->capacity, list->n_blocks + (size_t)1,
                            sizeof *list->blocks))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the simulated run");
    size_t bytes = BLOCK * sizeof *list->newest;
    if ((knots->n_blocks + (size_t)1) * bytes > knots->size) {
        lull_status status = grow_file(knots, err);
        if (status != LULL_OK)
            return status;
    }
    memcpy(knots->file + knots->n_blocks * BLOCK, list->newest, bytes);
    list->blocks[list->n_blocks++] = knots->n_blocks++;
    return LULL_OK;
}

lull_status lull_knots_add(struct lull_knots *knots, uint32_t process, int64_t measured,
                           int64_t simulated, struct lull_error *err)
{
    struct knot_list *list = &knots->lists[process];
    if (list->count > 0) {
        const struct lull_knot *last = &list->newest[(list->count - 1) % BLOCK];
        if (last->measured == measured && last->simulated == simulated)
            return LULL_OK;
    } else if (!list->newest && !(list->newest = malloc(BLOCK * sizeof *list->newest))) {
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the simulated run");
    }
    if (list->count > 0 && list->count % BLOCK == 0) {
        lull_status status = spill(knots, list, err);
        if (status != LULL_OK)
            return status;
    }
    list->newest[list->count++ % BLOCK] = (struct lull_knot){measured, simulated};
    return LULL_OK;
}

size_t lull_knots_count(const struct lull_knots *knots, uint32_t process)
{
    return knots->lists[process].count;
}

const struct lull_knot *lull_knots_at(const struct lull_knots *knots, uint32_t process, size_t i)
{
    const struct knot_list *list = &knots->lists[process];
    size_t block = i / BLOCK;
    if (block < list->n_blocks)
        return &knots->file[list->blocks[block] * BLOCK + i % BLOCK];
    return &list->newest[i % BLOCK];
}
