/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing a run: which of its files go into the file of which node. And unpacking it. */
#include "trace/pack.h"

#include "base/array.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "tape/container.h"
#include "trace/format.h"
#include "trace/format/tape/pack/blocks.h"
#include "trace/format/tape/pack/record_columns.h"
#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_data.h"
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== the packed file of a node =============================================================== */

/* Workers take units of a few blocks in turn and encode them side by side. The units get their
 * places in the file in their order. So the file is the same for any number of workers, and none of
 * them holds more than one unit. */

struct pack_progress {
    void (*report)(void *context, double share);
    void *context;
    uint64_t done, all; /* bytes */
};

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

/* Writes all of `size` bytes at `offset`. */
static lull_status write_all_at(int fd, const char *path, const void *bytes, size_t size,
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
        status = write_all_at(writer->fd, writer->path, worker.out, size, place, &err);
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
        write_all_at(writer->fd, writer->path, tables, files + of, sizeof header, err);
    if (status == LULL_OK)
        status = write_all_at(writer->fd, writer->path, writer->blocks,
                              writer->n_blocks * sizeof *writer->blocks, sizeof header + files + of,
                              err);
    if (status == LULL_OK)
        status = write_all_at(writer->fd, writer->path, &header, sizeof header, 0, err);
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

/* Packs `n_files` files, which are sorted, with the locations that are in them, into a new file.
 * Sets the fields of `files` that describe their blocks. */
static lull_status write_node_file(const struct lull_trace *trace, const char *path,
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

/* ==== rest ==================================================================================== */

/* What packing and unpacking have in common: the folder of a run, and the other files in it. */

/* A tape that is open, and the folder that is made of it. */
struct pack_run {
    struct lull_trace *trace;
    const char *target; /* in the arena of the trace */
    struct lull_output *output;
};

/* The name of the run with an ending; NULL: the run has no name, as ".". */
static const char *make_target(const struct lull_trace *trace, const char *ending)
{
    const char *path = trace->path, *slash;
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    char *name = lull_arena_strndup(trace->arena, path, length);
    slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    if (*last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return NULL;
    return lull_arena_printf(trace->arena, "%s%s", name, ending);
}

static lull_status begin_output(const struct lull_pack_wish *wish, const char *ending,
                                struct pack_run *run, struct lull_error *err)
{
    if (run->trace->format != &lull_format_tape)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: is no tape; lull convert --to tape makes one of it", wish->run);
    run->target = wish->out ? wish->out : make_target(run->trace, ending);
    if (!run->target)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no name for a folder beside it", wish->run);
    return lull_output_begin(run->target, true, false, &run->output, err);
}

/* Opens the run, which must be a tape, and begins the output; `ending` is what the name of the
 * output ends in. */
static lull_status pack_begin(const struct lull_pack_wish *wish, const char *ending,
                              struct pack_run *ret_run, struct lull_error *err)
{
    struct pack_run run = {0};
    lull_status status = lull_pack_check_built(wish->run, err);
    if (status == LULL_OK)
        status = lull_trace_open(wish->run, &run.trace, err);
    if (status != LULL_OK)
        return status;
    status = begin_output(wish, ending, &run, err);
    if (status != LULL_OK) {
        lull_trace_close(run.trace);
        return status;
    }
    *ret_run = run;
    return LULL_OK;
}

/* Gives the new run the name of the old one, and then removes the old one. */
static lull_status exchange(const char *old, const char *new, struct lull_error *err)
{
    if (renameat2(AT_FDCWD, new, AT_FDCWD, old, RENAME_EXCHANGE) != 0)
        return lull_fail_errno(err, "%s: cannot be replaced; what was made of it is %s", old, new);
    return lull_remove_tree(new, err);
}

/* Makes the output appear, in the place of the run if that was asked for; removes it if `status` is
 * a failure. */
static lull_status pack_end(const struct lull_pack_wish *wish, struct pack_run *run,
                            lull_status status, struct lull_error *err)
{
    if (status == LULL_OK)
        status = lull_output_commit(run->output, err);
    else
        lull_output_discard(run->output);
    if (status == LULL_OK && wish->replace)
        status = exchange(run->trace->path, run->target, err);
    lull_trace_close(run->trace);
    return status;
}

/* ---- other files ----------------------------------------------------------------------------- */

struct rest_copy {
    const struct pack_run *run;
    lull_status (*takes)(void *context, const char *path, bool *ret_taken, struct lull_error *err);
    void *context;
};

static lull_status copy_bytes(int from, int to, const char *path, const char *target,
                              struct lull_error *err)
{
    char bytes[65536];
    for (;;) {
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0)
            return lull_fail_errno(err, "%s: cannot read", path);
        if (got == 0)
            return LULL_OK;
        for (ssize_t done = 0, n; done < got; done += n)
            if ((n = write(to, bytes + done, (size_t)(got - done))) < 0)
                return lull_fail_errno(err, "%s: cannot write", target);
    }
}

static lull_status copy_file(const char *path, const char *target, struct lull_error *err)
{
    struct stat info;
    int from;
    lull_status status = lull_open_read(path, &from, &info, err);
    if (status != LULL_OK)
        return status;
    const int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777);
    if (to < 0)
        status = lull_fail_errno(err, "%s: cannot create", target);
    else
        status = copy_bytes(from, to, path, target, err);
    close(from);
    if (to >= 0 && close(to) != 0 && status == LULL_OK)
        status = lull_fail_errno(err, "%s: cannot write", target);
    return status;
}

static lull_status copy_folder(const struct rest_copy *copy, const char *below,
                               struct lull_error *err);

static lull_status copy_entry(const struct rest_copy *copy, const char *below,
                              struct lull_error *err)
{
    char path[LULL_TAPE_PATH], target[LULL_TAPE_PATH];
    struct stat info;
    bool taken = false;
    snprintf(path, sizeof path, "%s/%s", copy->run->trace->path, below);
    snprintf(target, sizeof target, "%s/%s", lull_output_path(copy->run->output), below);
    if (stat(path, &info) != 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    if (S_ISDIR(info.st_mode))
        return copy_folder(copy, below, err);
    lull_status status = copy->takes(copy->context, below, &taken, err);
    return status != LULL_OK || taken ? status : copy_file(path, target, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Copies in the order of names, so that the result does not depend on the order of the file
 * system. */
static lull_status copy_entries(const struct rest_copy *copy, const char *below, DIR *folder,
                                struct lull_error *err)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    char **names = NULL;
    size_t n = 0, capacity = 0;
    lull_status status = LULL_OK;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names = lull_arena_grow(arena, names, &capacity, n + 1, sizeof *names);
        names[n++] = *below ? lull_arena_printf(arena, "%s/%s", below, entry->d_name)
                            : lull_arena_strdup(arena, entry->d_name);
    }
    if (n > 0)
        qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; status == LULL_OK && i < n; i++)
        status = copy_entry(copy, names[i], err);
    lull_arena_destroy(arena);
    return status;
}

static lull_status copy_folder(const struct rest_copy *copy, const char *below,
                               struct lull_error *err)
{
    char path[LULL_TAPE_PATH], target[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/%s", copy->run->trace->path, below);
    snprintf(target, sizeof target, "%s/%s", lull_output_path(copy->run->output), below);
    DIR *folder = opendir(path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", path);
    lull_status status = LULL_OK;
    if (*below && mkdir(target, 0777) != 0 && errno != EEXIST)
        status = lull_fail_errno(err, "%s: cannot create", target);
    if (status == LULL_OK)
        status = copy_entries(copy, below, folder, err);
    closedir(folder);
    if (*below && strspn(below, "0123456789") == strlen(below))
        rmdir(target); /* a folder of processes, if all its files have been taken and it is empty */
    return status;
}

/* Copies all that is in the folder of the run to the output, without the files that `takes` takes;
 * `path` is the path below the run, as "0/12.tape". */
static lull_status pack_copy_rest(const struct pack_run *run,
                                  lull_status (*takes)(void *context, const char *path,
                                                       bool *ret_taken, struct lull_error *err),
                                  void *context, struct lull_error *err)
{
    const struct rest_copy copy = {run, takes, context};
    return copy_folder(&copy, "", err);
}

/* ==== unpack ================================================================================== */

/* Unpacking a run: every file becomes what it was. Workers take one file after the other. */

struct unpacking {
    struct pack_run run;
    const struct lull_tape_packed *packed;
    struct pack_progress progress;
    pthread_mutex_t lock;
    size_t next; /* file */
    lull_status status;
    struct lull_error err;
};

/* Takes the files of nodes, which are not copied. */
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

/* Creates the file of a node in which processes had recorded. It has the name of the packed file in
 * which it was. */
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

/* Writes the blocks of a file, without those that are all zero: the file has its length already. */
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
            status = write_all_at(fd, path, bytes, (size_t)got, at, err);
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
    lull_status status = pack_begin(wish, ".unpacked", &unpacking.run, err);
    if (status != LULL_OK)
        return status;
    const struct lull_tape_data *data = unpacking.run.trace->format_data;
    unpacking.packed = data->packed_run;
    if (!unpacking.packed)
        status = lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: is not packed", wish->run);
    else if (data->lacks_packed)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s", data->damage);
    if (status == LULL_OK)
        status = pack_copy_rest(&unpacking.run, takes_node_file, &unpacking, err);
    if (status == LULL_OK)
        status = unpack_files(&unpacking, err);
    return pack_end(wish, &unpacking.run, status, err);
}

/* ==== pack ==================================================================================== */

/* A file of a process, or of a node. */
struct pack_file {
    struct lull_tape_node_file file;
    uint32_t node; /* index of the node in the trace, LULL_NONE where it is not known; for the file
                         of a node a number behind these indices */
    const char *name; /* of the file of a node: it goes into a file with the same name; else NULL */
};

struct packing {
    struct pack_run run;
    struct pack_file *files;
    size_t n_files, capacity;
    const char **names; /* of the nodes' files so far, in the arena of the trace */
    size_t n_names, names_capacity;
    struct pack_progress progress;
};

/* Whether a path is that of a process's file, in the folder of its thousand processes. */
static bool parse_path(const char *path, uint32_t *ret_number)
{
    const char *slash = strchr(path, '/');
    char group[24];
    if (!slash || !lull_tape_parse_name(slash + 1, ret_number))
        return false;
    const int length = snprintf(group, sizeof group, "%u", *ret_number / LULL_TAPE_GROUP);
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

/* The file of a node with that path; NULL: it is no such file. */
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

/* Describes a file; false: it is that of no process or node. */
static bool describe_file(const struct lull_trace *trace, const char *path,
                          struct pack_file *ret_file)
{
    const struct lull_tape_container *container = container_at(trace, path);
    uint32_t number;
    if (container) {
        *ret_file = (struct pack_file){
            .file = {.number = container->number, .kind = LULL_TAPE_NODE_CONTAINER},
            .node = trace->n_nodes + container->number,
            .name = lull_arena_strdup(trace->arena, path)};
        return true;
    }
    if (!parse_path(path, &number))
        return false;
    const uint32_t process = lull_tape_process_index(trace, number);
    if (process == LULL_NONE)
        return false;
    *ret_file = (struct pack_file){.file = {.process = number, .kind = LULL_TAPE_NODE_PROCESS},
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

/* ---- names ----------------------------------------------------------------------------------- */

/* Makes a file name of a text, not too long. */
static char *clean_name(struct lull_arena *arena, const char *text)
{
    enum { MOST = 100 };
    char *name = lull_arena_strndup(arena, text, strnlen(text, MOST));
    lull_tape_clean_name(name);
    return *name ? name : lull_arena_strdup(arena, "node");
}

/* A name for the packed file of a node, which no other node has. */
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

/* ---- nodes ----------------------------------------------------------------------------------- */

static lull_status describe_location(const struct lull_trace *trace,
                                     const struct lull_tape_file *file,
                                     struct lull_tape_node_location *ret_location,
                                     union lull_tape_slot *slots, struct lull_error *err)
{
    *ret_location = (struct lull_tape_node_location){
        .process = file->process, .number = file->number, .committed = file->header.committed};
    return lull_tape_measure_location(trace, file, slots, &ret_location->ends, err);
}

/* Describes the locations of a process that could be read. */
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
        status =
            write_node_file(trace, path, list, n, locations, n_locations, &packing->progress, err);
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

/* Fails unless the header of a location says what it said when the run was opened. */
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
    lull_status status = pack_begin(wish, ".packed", &packing.run, err);
    if (status != LULL_OK)
        return status;
    const struct lull_tape_data *data = packing.run.trace->format_data;
    if (data->packed_run)
        status = lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: is packed already", wish->run);
    if (status == LULL_OK)
        status = pack_copy_rest(&packing.run, take_packed_file, &packing, err);
    if (status == LULL_OK)
        status = pack_files(&packing, err);
    if (status == LULL_OK)
        status = check_ended(packing.run.trace, err);
    free(packing.files);
    return pack_end(wish, &packing.run, status, err);
}
