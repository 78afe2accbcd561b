#include "trace/format/tape/pack/plan.h"

#include "base/array.h"
#include "trace/format/tape/pack/columns.h"

#include <stdlib.h>
#include <string.h>

enum { PLAIN = 16384 /* bytes of what is no records: to read a part does not take long */ };

static bool add_part(struct pack_plan *plan, uint64_t origin, uint64_t length, bool records,
                     unsigned lead)
{
    if (!lull_array_reserve(&plan->parts, &plan->capacity, plan->n + 1, sizeof *plan->parts))
        return false;
    plan->parts[plan->n++] = (struct pack_part){origin, (uint32_t)length, (uint16_t)lead, records};
    return true;
}

/* ---- chunks of records ------------------------------------------------------------------------
 */

/* How many slots of the last record of `slots` are missing. */
static unsigned missing_slots(const union lull_tape_slot *slots, size_t count, unsigned lead)
{
    size_t i = lead;
    while (i < count)
        i += 1 + lull_tape_extra_of(slots[i].record.head);
    return (unsigned)(i - count);
}

/* A chunk that stands in several places: each but the first begins somewhere in a record. */
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

/* One chunk: `size` bytes from `begin` on of what is in `pieces`. */
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

/* The first `size` bytes in `pieces`. */
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

/* In the file of a process. */
static lull_status add_packed(struct pack_plan *plan, struct lull_tape_source *source,
                              const struct lull_tape_file *file)
{
    const struct lull_tape_told *header = &file->header;
    const uint64_t in_chunks = file->tail ? header->flushed : header->committed;
    lull_status status =
        add_chunks(plan, source, &file->chunks, least(in_chunks, file->chunks.size));
    if (status == LULL_OK && file->tail)
        status = add_chunks(plan, source, &file->rest, least(file->tail_size, file->rest.size));
    return status;
}

static lull_status add_whole(struct pack_plan *plan, struct lull_tape_source *source,
                             uint64_t offset, uint64_t size)
{
    struct lull_tape_piece piece = {offset, size};
    const struct lull_tape_pieces pieces = {.list = &piece, .n = 1, .size = size};
    return add_chunks(plan, source, &pieces, size);
}

static lull_status add_of_location(struct pack_plan *plan, struct lull_tape_source *source,
                                   enum lull_tape_node_kind kind, const struct lull_tape_file *file)
{
    const struct lull_tape_told *header = &file->header;
    if (file->left_out || file->damage)
        return LULL_OK;
    if (kind == LULL_TAPE_NODE_PROCESS && file->packed)
        return add_packed(plan, source, file);
    if (kind == LULL_TAPE_NODE_TAPE && !file->packed)
        return add_whole(plan, source, LULL_TAPE_HEADER_SIZE,
                         file->tail ? header->flushed : header->committed);
    if (kind == LULL_TAPE_NODE_TAIL && file->tail)
        return add_whole(plan, source, 0, file->tail_size);
    return LULL_OK;
}

/* ---- the whole file ---------------------------------------------------------------------------
 */

static int compare_parts(const void *a, const void *b)
{
    const struct pack_part *x = a, *y = b;
    return (x->origin > y->origin) - (x->origin < y->origin);
}

/* Those of a damaged file may lie in each other's place or behind its end. */
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

/* What lies between and behind the chunks; goes to the front. */
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

/* The locations of a process, or with a number the one of a file. */
static lull_status add_of_process(struct pack_plan *plan, const struct lull_trace *trace,
                                  struct lull_tape_source *source, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t index = lull_tape_process_index(trace, process);
    lull_status status = LULL_OK;
    if (index == LULL_NONE)
        return LULL_OK; /* it has no location */
    const struct lull_process *of = &trace->processes[index];
    for (uint32_t l = of->first_location;
         status == LULL_OK && l < of->first_location + of->n_locations; l++)
        if (kind == LULL_TAPE_NODE_PROCESS || data->files[l].number == number)
            status = add_of_location(plan, source, kind, &data->files[l]);
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
            status = add_of_process(plan, trace, source, LULL_TAPE_NODE_PROCESS,
                                    all->processes[p].process, 0);
    return status;
}

lull_status lull_pack_plan(const struct lull_trace *trace, struct lull_tape_source *source,
                           const struct lull_tape_node_file *file, struct pack_plan *ret_plan,
                           struct lull_error *err)
{
    struct pack_plan plan = {0};
    lull_status status =
        file->kind == LULL_TAPE_NODE_CONTAINER
            ? add_of_container(&plan, trace, source)
            : add_of_process(&plan, trace, source, file->kind, file->process, file->number);
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
