/* Quirks that several processes found, each in locations of its own, as if one had found them all.
 */
#include "trace/shared.h"

#include <string.h>

/* One kind; the text of the kind follows, with its 0, filled up to a multiple of 8. */
struct packed {
    uint64_t length; /* of the text, filled up */
    uint64_t by_tally, elsewhere;
    char first[sizeof((struct lull_quirk *)0)->first];
};

const void *lull_trace_quirks_pack(const struct lull_trace *trace, struct lull_arena *arena,
                                   size_t *ret_size)
{
    struct lull_trace_shared *shared = trace->shared;
    char *bytes = NULL;
    size_t capacity = 0, size = 0;
    pthread_mutex_lock(&shared->lock);
    for (uint32_t i = 0; i < shared->n_quirks; i++) {
        struct lull_quirk_counts *counts = &shared->counts[i];
        struct packed packed = {.length = (strlen(shared->quirks[i].kind) + 8) / 8 * 8,
                                .by_tally = counts->by_tally - counts->told_by_tally,
                                .elsewhere = counts->elsewhere - counts->told_elsewhere};
        if (packed.by_tally + packed.elsewhere == 0)
            continue;
        counts->told_by_tally = counts->by_tally;
        counts->told_elsewhere = counts->elsewhere;
        memcpy(packed.first, shared->quirks[i].first, sizeof packed.first);
        bytes = lull_arena_grow(arena, bytes, &capacity, size + sizeof packed + packed.length, 1);
        memcpy(bytes + size, &packed, sizeof packed);
        memset(bytes + size + sizeof packed, 0, packed.length);
        strcpy(bytes + size + sizeof packed, shared->quirks[i].kind);
        size += sizeof packed + packed.length;
    }
    pthread_mutex_unlock(&shared->lock);
    *ret_size = size;
    return bytes;
}

static void add_kind(const struct lull_trace *trace, const struct packed *packed, const char *kind)
{
    struct lull_trace_shared *shared = trace->shared;
    uint32_t i = 0;
    while (i < shared->n_quirks && strcmp(shared->quirks[i].kind, kind) != 0)
        i++;
    if (i >= LULL_MOST_QUIRKS)
        return;
    struct lull_quirk *quirk = &shared->quirks[i];
    if (i == shared->n_quirks) {
        shared->n_quirks++;
        quirk->kind = lull_arena_strdup(trace->arena, kind);
        strcpy(quirk->first, packed->first);
    } else if (strverscmp(packed->first, quirk->first) < 0) {
        strcpy(quirk->first, packed->first);
    }
    shared->counts[i].by_tally += packed->by_tally;
    shared->counts[i].elsewhere += packed->elsewhere;
}

lull_status lull_trace_quirks_add(const struct lull_trace *trace, const void *bytes, size_t size,
                                  struct lull_error *err)
{
    const char *at = bytes;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&trace->shared->lock);
    while (size > 0 && status == LULL_OK) {
        struct packed packed = {.length = 0};
        if (size >= sizeof packed)
            memcpy(&packed, at, sizeof packed);
        if (packed.length == 0 || packed.length > size - sizeof packed ||
            at[sizeof packed + packed.length - 1] != '\0') {
            status = lull_fail(err, LULL_ERR_FORMAT, "%s: quirks of another process are cut short",
                               trace->path);
            break;
        }
        packed.first[sizeof packed.first - 1] = '\0';
        add_kind(trace, &packed, at + sizeof packed);
        at += sizeof packed + packed.length;
        size -= sizeof packed + packed.length;
    }
    pthread_mutex_unlock(&trace->shared->lock);
    return status;
}
