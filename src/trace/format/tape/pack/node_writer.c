/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers take units of a few blocks in turn and encode them side by side. The units get their
 * places in the file in their order. So the file is the same for any number of workers, and none of
 * them holds more than one unit. */
#include "trace/format/tape/pack/node_writer.h"

#include "base/array.h"
#include "base/parallel.h"
#include "trace/format/tape/pack/blocks.h"
#include "trace/format/tape/pack/record_columns.h"
#include "trace/format/tape/read/tape_source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== plan ==================================================================================== */

/* Which blocks a file is divided into. */

struct pack_part {
    uint64_t origin;
    uint32_t length;
    uint16_t lead; /* slots of records that belong to a record that began in another block */
    bool records;
};

/* The parts of a file: first those that are no records, then chunks of records; each of the two in
 * the order of origins. */
struct pack_plan {
    struct pack_part *parts; /* malloc'd */
    size_t n, capacity;
    size_t n_plain;
};

enum { PLAIN = 16384 /* bytes of a part that is no records: so little is decoded quickly */ };

static bool add_part(struct pack_plan *plan, uint64_t origin, uint64_t length, bool records,
                     unsigned lead)
{
    if (!lull_array_reserve(&plan->parts, &plan->capacity, plan->n + 1, sizeof *plan->parts))
        return false;
    plan->parts[plan->n++] = (struct pack_part){origin, (uint32_t)length, (uint16_t)lead, records};
    return true;
}

/* ---- chunks of records ----------------------------------------------------------------------- */

/* How many slots of the last record in `slots` stand behind them. `lead`: the slots at the begin
 * that belong to a record before. */
static unsigned missing_slots(const union lull_tape_slot *slots, size_t count, unsigned lead)
{
    size_t i = lead;
    while (i < count)
        i += 1 + lull_tape_extra_of(slots[i].record.head);
    return (unsigned)(i - count);
}

/* Sets `lead` of the parts of a chunk that stands in several places of the file: each but the first
 * may begin in the middle of a record. */
static lull_status find_leads(struct lull_tape_source *source, struct pack_part *parts, size_t n)
{
    unsigned char *bytes = n > 1 ? aligned_alloc(16, LULL_TAPE_CHUNK) : NULL;
    if (n > 1 && !bytes)
        return LULL_ERR_MEMORY;
    for (size_t i = 1; i < n; i++) {
        const struct pack_part *before = &parts[i - 1];
        const ssize_t got = lull_tape_source_read(source, bytes, before->length, before->origin);
        parts[i].lead =
            got == (ssize_t)before->length
                ? (uint16_t)missing_slots((const void *)bytes, before->length / 16, before->lead)
                : 0;
    }
    free(bytes);
    return LULL_OK;
}

/* Adds one chunk: `size` bytes from `begin` on of what is in `pieces`. */
static lull_status add_chunk(struct pack_plan *plan, struct lull_tape_source *source,
                             const struct lull_tape_pieces *pieces, uint64_t begin, uint64_t size)
{
    const size_t first = plan->n;
    for (size_t i = 0; i < pieces->n && size > 0; i++) {
        const struct lull_tape_piece *piece = &pieces->list[i];
        if (begin >= piece->size) {
            begin -= piece->size;
            continue;
        }
        const uint64_t left = piece->size - begin, part = left < size ? left : size;
        if (!add_part(plan, piece->offset + begin, part, true, 0))
            return LULL_ERR_MEMORY;
        size -= part;
        begin = 0;
    }
    return find_leads(source, plan->parts + first, plan->n - first);
}

/* Adds the chunks in the first `size` bytes of `pieces`. */
static lull_status add_chunks(struct pack_plan *plan, struct lull_tape_source *source,
                              const struct lull_tape_pieces *pieces, uint64_t size)
{
    lull_status status = LULL_OK;
    for (uint64_t at = 0; status == LULL_OK && at < size; at += LULL_TAPE_CHUNK)
        status = add_chunk(plan, source, pieces, at,
                           size - at < LULL_TAPE_CHUNK ? size - at : LULL_TAPE_CHUNK);
    return status;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static lull_status add_of_location(struct pack_plan *plan, struct lull_tape_source *source,
                                   const struct lull_tape_file *file)
{
    const struct lull_tape_told *header = &file->header;
    if (file->left_out || file->damage)
        return LULL_OK;
    const uint64_t in_chunks = file->tail ? header->flushed : header->committed;
    lull_status status =
        add_chunks(plan, source, &file->chunks, least(in_chunks, file->chunks.size));
    if (status == LULL_OK && file->tail)
        status = add_chunks(plan, source, &file->rest, least(file->tail_size, file->rest.size));
    return status;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
    const struct pack_part *x = a, *y = b;
    return (x->origin > y->origin) - (x->origin < y->origin);
}

/* Sorts the parts and drops those that overlap others or lie behind the end, as in a damaged
 * file. */
static void drop_odd(struct pack_plan *plan, uint64_t size)
{
    size_t kept = 0;
    uint64_t at = 0;
    if (plan->n > 0)
        qsort(plan->parts, plan->n, sizeof *plan->parts, compare_parts);
    for (size_t i = 0; i < plan->n; i++) {
        const struct pack_part part = plan->parts[i];
        if (part.origin < at || part.origin > size || part.length > size - part.origin)
            continue;
        at = part.origin + part.length;
        plan->parts[kept++] = part;
    }
    plan->n = kept;
}

static bool add_plain(struct pack_plan *plan, uint64_t begin, uint64_t end)
{
    for (uint64_t next; begin < end; begin = next) {
        next = least(end, (begin / PLAIN + 1) * PLAIN);
        if (!add_part(plan, begin, next - begin, false, 0))
            return false;
    }
    return true;
}

/* Adds parts for the bytes before, between and behind the chunks; they go to the front. */
static bool fill_gaps(struct pack_plan *plan, uint64_t size)
{
    struct pack_plan whole = {0};
    uint64_t at = 0;
    bool good = true;
    for (size_t i = 0; good && i < plan->n; i++) {
        good = add_plain(&whole, at, plan->parts[i].origin);
        at = plan->parts[i].origin + plan->parts[i].length;
    }
    good = good && add_plain(&whole, at, size);
    whole.n_plain = whole.n;
    for (size_t i = 0; good && i < plan->n; i++)
        good = add_part(&whole, plan->parts[i].origin, plan->parts[i].length, true,
                        plan->parts[i].lead);
    free(plan->parts);
    *plan = whole;
    return good;
}

static lull_status add_of_process(struct pack_plan *plan, const struct lull_trace *trace,
                                  struct lull_tape_source *source, uint32_t process)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t index = lull_tape_process_index(trace, process);
    lull_status status = LULL_OK;
    if (index == LULL_NONE)
        return LULL_OK; /* it has no location */
    const struct lull_process *of = &trace->processes[index];
    for (uint32_t l = of->first_location;
         status == LULL_OK && l < of->first_location + of->n_locations; l++)
        status = add_of_location(plan, source, &data->files[l]);
    return status;
}

static lull_status add_of_container(struct pack_plan *plan, const struct lull_trace *trace,
                                    struct lull_tape_source *source)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_containers *all = data->containers;
    lull_status status = LULL_OK;
    for (size_t p = 0; status == LULL_OK && p < all->n_processes; p++)
        if (all->processes[p].container == source->container)
            status = add_of_process(plan, trace, source, all->processes[p].process);
    return status;
}

/* Divides a file on disk, which is open in `source`, into blocks. The chunks are those that the
 * trace knows of; chunks that make no sense are left out. */
static lull_status plan_file(const struct lull_trace *trace, struct lull_tape_source *source,
                             const struct lull_tape_node_file *file, struct pack_plan *ret_plan,
                             struct lull_error *err)
{
    struct pack_plan plan = {0};
    lull_status status = file->kind == LULL_TAPE_NODE_CONTAINER
                             ? add_of_container(&plan, trace, source)
                             : add_of_process(&plan, trace, source, file->process);
    if (status == LULL_OK) {
        drop_odd(&plan, file->size);
        status = fill_gaps(&plan, file->size) ? LULL_OK : LULL_ERR_MEMORY;
    }
    if (status != LULL_OK) {
        free(plan.parts);
        return lull_fail(err, status, "%s: out of memory", trace->path);
    }
    *ret_plan = plan;
    return LULL_OK;
}

/* ==== node writer ============================================================================= */

enum { UNIT = 16 /* blocks */ };

/* Blocks of one file that a worker takes at a time. */
struct unit {
    uint32_t file;
    uint32_t count;
    uint64_t first; /* of all blocks */
};

struct node_writer {
    const struct lull_trace *trace;
    const char *path;
    int fd;
    struct lull_tape_node_file *files;
    struct pack_part *parts; /* of all blocks */
    struct lull_tape_node_block *blocks;
    size_t n_blocks, parts_capacity;
    struct unit *units;
    size_t n_units, units_capacity;
    struct pack_progress *progress;
    pthread_mutex_t lock;
    pthread_cond_t turn_has_come;
    size_t next, turn; /* the unit to be taken next; the unit to get its place next */
    uint64_t place;    /* where the unit `turn` begins in the file */
    lull_status status;
    struct lull_error err;
};

lull_status lull_pack_write_at(int fd, const char *path, const void *bytes, size_t size,
                               uint64_t offset, struct lull_error *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lull_fail_errno(err, "%s: cannot write", path);
        done += (size_t)n;
    }
    return LULL_OK;
}

/* ---- what is to be done ---------------------------------------------------------------------- */

static lull_status no_memory_for_node(const struct node_writer *writer, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->path);
}

static bool add_plan(struct node_writer *writer, uint32_t f, const struct pack_plan *plan)
{
    struct lull_tape_node_file *file = &writer->files[f];
    file->first = writer->n_blocks;
    file->n_plain = (uint32_t)plan->n_plain;
    file->n_chunks = plan->n - plan->n_plain;
    if (!lull_array_reserve(&writer->parts, &writer->parts_capacity, writer->n_blocks + plan->n,
                            sizeof *writer->parts))
        return false;
    if (plan->n > 0)
        memcpy(writer->parts + writer->n_blocks, plan->parts, plan->n * sizeof *plan->parts);
    for (size_t i = 0; i < plan->n; i += UNIT) {
        if (!lull_array_reserve(&writer->units, &writer->units_capacity, writer->n_units + 1,
                                sizeof *writer->units))
            return false;
        const size_t left = plan->n - i;
        writer->units[writer->n_units++] = (struct unit){
            .file = f, .count = left < UNIT ? (uint32_t)left : UNIT, .first = writer->n_blocks + i};
    }
    writer->n_blocks += plan->n;
    return true;
}

static lull_status open_input_file(const struct node_writer *writer, uint32_t f,
                                   struct lull_tape_source *source, struct lull_error *err)
{
    const struct lull_tape_node_file *file = &writer->files[f];
    return lull_tape_source_open(writer->trace, file->kind, file->process, file->number, source,
                                 err);
}

static lull_status plan_all(struct node_writer *writer, uint32_t n_files, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t f = 0; status == LULL_OK && f < n_files; f++) {
        struct lull_tape_source source;
        struct pack_plan plan = {0};
        status = open_input_file(writer, f, &source, err);
        if (status != LULL_OK)
            break;
        writer->files[f].size = source.size;
        status = plan_file(writer->trace, &source, &writer->files[f], &plan, err);
        if (status == LULL_OK && !add_plan(writer, f, &plan))
            status = no_memory_for_node(writer, err);
        free(plan.parts);
        lull_tape_source_close(&source);
    }
    if (status == LULL_OK)
        writer->blocks = calloc(writer->n_blocks + 1, sizeof *writer->blocks);
    return status == LULL_OK && !writer->blocks ? no_memory_for_node(writer, err) : status;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* The memory of a worker. */
struct worker {
    struct pack_encoder *encoder;
    struct pack_decoder *decoder;
    unsigned char *bytes, *back; /* a block */
    unsigned char *out;          /* a unit */
};

static bool begin_worker(struct worker *worker)
{
    *worker = (struct worker){.encoder = lull_pack_encoder_create(),
                              .decoder = lull_pack_decoder_create(),
                              .bytes = aligned_alloc(64, PACK_MOST_LENGTH),
                              .back = aligned_alloc(64, PACK_MOST_LENGTH),
                              .out = malloc((size_t)UNIT * PACK_MOST_LENGTH)};
    return worker->encoder && worker->decoder && worker->bytes && worker->back && worker->out;
}

static void end_worker(struct worker *worker)
{
    lull_pack_encoder_destroy(worker->encoder);
    lull_pack_decoder_destroy(worker->decoder);
    free(worker->bytes);
    free(worker->back);
    free(worker->out);
}

static lull_status encode_unit(struct node_writer *writer, const struct unit *unit,
                               struct worker *worker, size_t *ret_size, struct lull_error *err)
{
    struct lull_tape_source source;
    lull_status status = open_input_file(writer, unit->file, &source, err);
    size_t size = 0;
    if (status != LULL_OK)
        return status;
    for (uint64_t b = unit->first; status == LULL_OK && b < unit->first + unit->count; b++) {
        const struct pack_part *part = &writer->parts[b];
        struct lull_tape_node_block *block = &writer->blocks[b];
        const ssize_t got =
            lull_tape_source_read(&source, worker->bytes, part->length, part->origin);
        if (got != (ssize_t)part->length) {
            char path[LULL_TAPE_PATH];
            const struct lull_tape_node_file *file = &writer->files[unit->file];
            lull_tape_source_path(writer->trace, file->kind, file->process, file->number, path,
                                  sizeof path);
            status = got < 0 ? lull_tape_source_fail(&source, path, err)
                             : lull_fail(err, LULL_ERR_FORMAT,
                                         "%s: became shorter: is it still being recorded?", path);
            break;
        }
        block->origin = part->origin;
        lull_pack_block(worker->encoder, worker->decoder, worker->bytes, part->length,
                        part->records, part->lead, worker->out + size, worker->back, block);
        block->place = size; /* in the unit, until the unit has its place */
        size += block->size;
    }
    lull_tape_source_close(&source);
    *ret_size = size;
    return status;
}

/* Keeps the first failure of all workers. */
static void keep_failure(struct node_writer *writer, lull_status status,
                         const struct lull_error *err)
{
    pthread_mutex_lock(&writer->lock);
    if (writer->status == LULL_OK) {
        writer->status = status;
        writer->err = *err;
    }
    pthread_cond_broadcast(&writer->turn_has_come);
    pthread_mutex_unlock(&writer->lock);
}

/* Waits until all units before this one have their places, and gives it the next place. False:
 * another worker has failed. */
static bool take_unit_place(struct node_writer *writer, size_t u, size_t size, uint64_t *ret_place)
{
    struct pack_progress *progress = writer->progress;
    pthread_mutex_lock(&writer->lock);
    while (writer->turn != u && writer->status == LULL_OK)
        pthread_cond_wait(&writer->turn_has_come, &writer->lock);
    const bool good = writer->status == LULL_OK;
    if (good) {
        const struct unit *unit = &writer->units[u];
        *ret_place = writer->place;
        writer->place += size;
        writer->turn++;
        for (uint64_t b = unit->first; b < unit->first + unit->count; b++)
            progress->done += writer->parts[b].length;
        if (progress->report && progress->all > 0)
            progress->report(progress->context, (double)progress->done / (double)progress->all);
    }
    pthread_cond_broadcast(&writer->turn_has_come);
    pthread_mutex_unlock(&writer->lock);
    return good;
}

static bool take_unit(struct node_writer *writer, size_t *ret_unit)
{
    pthread_mutex_lock(&writer->lock);
    const bool good = writer->next < writer->n_units && writer->status == LULL_OK;
    *ret_unit = writer->next;
    writer->next += good;
    pthread_mutex_unlock(&writer->lock);
    return good;
}

static void work_on_units(void *context, unsigned number)
{
    struct node_writer *writer = context;
    struct worker worker;
    struct lull_error err;
    lull_status status = LULL_OK;
    (void)number;
    if (!begin_worker(&worker))
        status = no_memory_for_node(writer, &err);
    for (size_t u; status == LULL_OK && take_unit(writer, &u);) {
        const struct unit *unit = &writer->units[u];
        size_t size;
        uint64_t place;
        status = encode_unit(writer, unit, &worker, &size, &err);
        if (status != LULL_OK || !take_unit_place(writer, u, size, &place))
            break;
        for (uint64_t b = unit->first; b < unit->first + unit->count; b++)
            writer->blocks[b].place += place;
        status = lull_pack_write_at(writer->fd, writer->path, worker.out, size, place, &err);
    }
    if (status != LULL_OK)
        keep_failure(writer, status, &err);
    end_worker(&worker);
}

/* ---- the file -------------------------------------------------------------------------------- */

static lull_status write_tables(const struct node_writer *writer, uint32_t n_files,
                                const struct lull_tape_node_location *locations,
                                uint32_t n_locations, struct lull_error *err)
{
    struct lull_tape_node_header header = {.version = LULL_TAPE_VERSION,
                                           .byte_order = LULL_TAPE_BYTE_ORDER,
                                           .header_size = sizeof header,
                                           .flags = LULL_TAPE_NODE_PACKED,
                                           .n_files = n_files,
                                           .n_locations = n_locations,
                                           .n_blocks = writer->n_blocks,
                                           .size = writer->place};
    const size_t files = n_files * sizeof *writer->files, of = n_locations * sizeof *locations;
    unsigned char *tables = malloc(files + of + 1);
    if (!tables)
        return no_memory_for_node(writer, err);
    memcpy(header.magic, LULL_TAPE_NODE_MAGIC, sizeof header.magic);
    memcpy(tables, writer->files, files);
    if (of > 0)
        memcpy(tables + files, locations, of);
    header.checksum = lull_tape_checksum(header.n_blocks, tables, files + of);
    lull_status status =
        lull_pack_write_at(writer->fd, writer->path, tables, files + of, sizeof header, err);
    if (status == LULL_OK)
        status = lull_pack_write_at(writer->fd, writer->path, writer->blocks,
                                    writer->n_blocks * sizeof *writer->blocks,
                                    sizeof header + files + of, err);
    if (status == LULL_OK)
        status = lull_pack_write_at(writer->fd, writer->path, &header, sizeof header, 0, err);
    free(tables);
    return status;
}

static lull_status write_node_blocks(struct node_writer *writer, uint32_t n_files,
                                     uint32_t n_locations, struct lull_error *err)
{
    writer->place = sizeof(struct lull_tape_node_header) + n_files * sizeof *writer->files +
                    n_locations * sizeof(struct lull_tape_node_location) +
                    writer->n_blocks * sizeof *writer->blocks;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->turn_has_come, NULL);
    lull_parallel_run(lull_worker_count(), work_on_units, writer);
    pthread_cond_destroy(&writer->turn_has_come);
    pthread_mutex_destroy(&writer->lock);
    return writer->status == LULL_OK ? LULL_OK
                                     : lull_fail(err, writer->status, "%s", writer->err.text);
}

lull_status lull_pack_write_node(const struct lull_trace *trace, const char *path,
                                 struct lull_tape_node_file *files, uint32_t n_files,
                                 const struct lull_tape_node_location *locations,
                                 uint32_t n_locations, struct pack_progress *progress,
                                 struct lull_error *err)
{
    struct node_writer writer = {
        .trace = trace, .path = path, .files = files, .progress = progress};
    lull_status status = plan_all(&writer, n_files, err);
    writer.fd = -1;
    if (status == LULL_OK) {
        writer.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer.fd < 0)
            status = lull_fail_errno(err, "%s: cannot create", path);
    }
    if (status == LULL_OK)
        status = write_node_blocks(&writer, n_files, n_locations, err);
    if (status == LULL_OK)
        status = write_tables(&writer, n_files, locations, n_locations, err);
    if (writer.fd >= 0 && close(writer.fd) != 0 && status == LULL_OK)
        status = lull_fail_errno(err, "%s: cannot write", path);
    free(writer.parts);
    free(writer.blocks);
    free(writer.units);
    return status;
}
