#include "trace/format/otf2/read/share.h"

#include "base/array.h"
#include "trace/shared.h"

#include <stdlib.h>

/* Every list of definitions, in the order in which they are told. */
#define LISTS(each)                                                                         \
    each(strings) each(nodes) each(shared_memory) each(location_groups) each(group_numbers) \
        each(locations) each(regions) each(groups) each(comms) each(members) each(classes)  \
            each(instances) each(windows) each(parameters) each(contexts)

/* What the reading of definitions has come to; behind it the lists, then what they point to, each
 * from a multiple of 8 bytes on. */
struct share_head {
    lull_status status;
    struct lull_error error; /* of the first, where it has failed */
    struct lull_otf2_clock_properties clock;
};

static const struct lull_exchange *exchange_of(const struct lull_trace *trace)
{
    return trace->shared->exchange;
}

static uint64_t sight_of(const struct lull_trace *trace)
{
    const struct lull_otf2_archive *archive = trace->format_data;
    return archive->sight;
}

/* ---- packing ----------------------------------------------------------------------------------
 */

struct pack {
    unsigned char *bytes;
    size_t size, capacity;
    bool full; /* there was no memory */
};

static void put_padded(struct pack *pack, const void *bytes, size_t size)
{
    const size_t padded = (size + 7) / 8 * 8;
    if (pack->full || !lull_array_reserve(&pack->bytes, &pack->capacity, pack->size + padded, 1)) {
        pack->full = true;
        return;
    }
    if (size > 0) {
        memcpy(pack->bytes + pack->size, bytes, size);
        memset(pack->bytes + pack->size + size, 0, padded - size);
    }
    pack->size += padded;
}

static void put_list(struct pack *pack, const void *items, uint32_t count, size_t size)
{
    const uint64_t n = count;
    put_padded(pack, &n, sizeof n);
    put_padded(pack, items, count * size);
}

static void put_all(struct pack *pack, const struct lull_otf2_definitions *definitions)
{
#define PUT(list)                                                    \
    put_list(pack, definitions->list.items, definitions->list.count, \
             sizeof *definitions->list.items);
    LISTS(PUT)
#undef PUT
    for (uint32_t i = 0; i < definitions->strings.count; i++)
        put_padded(pack, definitions->strings.items[i].text,
                   strlen(definitions->strings.items[i].text) + 1);
    for (uint32_t i = 0; i < definitions->groups.count; i++)
        put_padded(pack, definitions->groups.items[i].members,
                   definitions->groups.items[i].n_members * sizeof(uint64_t));
    for (uint32_t i = 0; i < definitions->classes.count; i++)
        put_padded(pack, definitions->classes.items[i].members,
                   definitions->classes.items[i].n_members * sizeof(OTF2_MetricMemberRef));
}

/* ---- unpacking --------------------------------------------------------------------------------
 */

/* A copy that the definitions point into. */
struct definition_reader {
    unsigned char *bytes;
    size_t at;
};

static void *get(struct definition_reader *pack, size_t size)
{
    unsigned char *bytes = pack->bytes + pack->at;
    pack->at += (size + 7) / 8 * 8;
    return bytes;
}

static void *get_list(struct definition_reader *pack, size_t size, uint32_t *ret_count,
                      size_t *ret_capacity)
{
    const uint64_t *n = get(pack, sizeof *n);
    *ret_count = (uint32_t)*n;
    *ret_capacity = *ret_count;
    return get(pack, *ret_count * size);
}

static void get_all(struct definition_reader *pack, struct lull_otf2_definitions *definitions)
{
#define GET(list)                                                             \
    definitions->list.items = get_list(pack, sizeof *definitions->list.items, \
                                       &definitions->list.count, &definitions->list.capacity);
    LISTS(GET)
#undef GET
    for (uint32_t i = 0; i < definitions->strings.count; i++) {
        const char *text = (const char *)pack->bytes + pack->at;
        definitions->strings.items[i].text = get(pack, strlen(text) + 1);
    }
    for (uint32_t i = 0; i < definitions->groups.count; i++)
        definitions->groups.items[i].members =
            get(pack, definitions->groups.items[i].n_members * sizeof(uint64_t));
    for (uint32_t i = 0; i < definitions->classes.count; i++)
        definitions->classes.items[i].members =
            get(pack, definitions->classes.items[i].n_members * sizeof(OTF2_MetricMemberRef));
}

/* `context`: where they go; NULL on the first, which has them. */
static lull_status take_told_definitions(void *context, uint32_t index, const void *bytes,
                                         size_t size, struct lull_error *err)
{
    struct lull_otf2_definitions *definitions = context;
    const struct share_head *head = bytes;
    if (index > 0)
        return LULL_OK;
    if (head->status != LULL_OK)
        return lull_fail(err, head->status, "%s", head->error.text);
    if (!definitions)
        return LULL_OK;
    struct definition_reader pack = {lull_arena_alloc(definitions->arena, size), 0};
    memcpy(pack.bytes, bytes, size);
    get(&pack, sizeof *head);
    definitions->clock = head->clock;
    get_all(&pack, definitions);
    return LULL_OK;
}

/* ---- definitions ------------------------------------------------------------------------------
 */

static lull_status tell_definitions(const struct lull_trace *trace,
                                    struct lull_otf2_definitions *definitions, lull_status status,
                                    struct lull_error *err)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    const bool first = exchange->index == 0;
    struct share_head head = {.status = status, .clock = definitions->clock};
    struct pack pack = {0};
    if (first) {
        if (status != LULL_OK)
            head.error = *err;
        put_padded(&pack, &head, sizeof head);
        put_all(&pack, definitions);
    }
    status =
        pack.full ? lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path) : LULL_OK;
    status = exchange->all(exchange->context, status, sight_of(trace), pack.bytes, pack.size,
                           take_told_definitions, first ? NULL : definitions, err);
    free(pack.bytes);
    return status;
}

lull_status lull_otf2_share_definitions(const struct lull_trace *trace,
                                        struct lull_otf2_definitions *definitions,
                                        OTF2_Reader *reader, struct lull_error *err)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    lull_status status = LULL_OK;
    if (!exchange || exchange->index == 0)
        status = lull_otf2_collect(definitions, reader, trace->path, err);
    if (exchange)
        status = tell_definitions(trace, definitions, status, err);
    if (status == LULL_OK)
        lull_otf2_map_build(&definitions->string_map, definitions->arena,
                            definitions->strings.items, sizeof *definitions->strings.items, NULL,
                            definitions->strings.count);
    return status;
}

/* ---- files of locations -----------------------------------------------------------------------
 */

void lull_otf2_share_range(const struct lull_trace *trace, uint32_t *ret_first, uint32_t *ret_end)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    const uint64_t n = trace->n_locations;
    *ret_first = exchange ? (uint32_t)(n * exchange->index / exchange->size) : 0;
    *ret_end = exchange ? (uint32_t)(n * (exchange->index + 1) / exchange->size) : (uint32_t)n;
}

void lull_otf2_found_add(struct lull_otf2_found *all, const struct lull_otf2_found *found)
{
    all->local_definitions |= found->local_definitions;
    if (found->any && (!all->any || found->first < all->first))
        all->first = found->first;
    if (found->any && (!all->any || found->last > all->last))
        all->last = found->last;
    all->any |= found->any;
    if (found->failed < all->failed) {
        all->failed = found->failed;
        all->status = found->status;
        all->error = found->error;
    }
}

static lull_status take_found(void *context, uint32_t index, const void *bytes, size_t size,
                              struct lull_error *err)
{
    (void)index, (void)size, (void)err;
    lull_otf2_found_add(context, bytes);
    return LULL_OK;
}

lull_status lull_otf2_share_found(const struct lull_trace *trace, struct lull_otf2_found *found,
                                  struct lull_error *err)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    struct lull_otf2_found all = {.failed = UINT32_MAX};
    if (exchange) {
        lull_status status = exchange->all(exchange->context, LULL_OK, sight_of(trace), found,
                                           sizeof *found, take_found, &all, err);
        if (status != LULL_OK)
            return status;
        *found = all;
    }
    return found->failed == UINT32_MAX ? LULL_OK
                                       : lull_fail(err, found->status, "%s", found->error.text);
}
