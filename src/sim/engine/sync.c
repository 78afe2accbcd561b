/* SYNC: threads of one rank wait for each other. */
#include "sim/engine/run.h"

#include <stdlib.h>

enum { NONE = UINT32_MAX };

struct lull_sync {
    uint32_t number, arrived;
    uint32_t waiting;          /* streams, through `link` */
    uint32_t next;             /* of the rank; of the free ones */
    uint32_t last;             /* the stream that came last, of those the first */
    struct lull_moment moment; /* when it came */
};

struct lull_syncs {
    uint32_t *of_rank; /* [n_ranks]: those that wait */
    struct lull_sync *syncs;
    size_t n, room;
    uint32_t free;
};

static bool open_syncs(struct lull_engine *engine)
{
    struct lull_syncs *all = engine->syncs = calloc(1, sizeof *all);
    if (!all)
        return false;
    all->free = NONE;
    all->of_rank = malloc((engine->fabric.n_ranks + (size_t)1) * sizeof *all->of_rank);
    for (uint32_t r = 0; all->of_rank && r < engine->fabric.n_ranks; r++)
        all->of_rank[r] = NONE;
    return all->of_rank;
}

void lull_sync_roots(struct lull_engine *engine)
{
    for (size_t i = 0; engine->syncs && i < engine->syncs->n; i++)
        lull_path_root(engine->fabric.path, &engine->syncs->syncs[i].moment.path);
}

void lull_sync_close(struct lull_engine *engine)
{
    if (!engine->syncs)
        return;
    free(engine->syncs->of_rank);
    free(engine->syncs->syncs);
    free(engine->syncs);
}

static uint32_t new_sync(struct lull_syncs *all, uint32_t rank, uint32_t number)
{
    uint32_t id = all->free;
    if (id != NONE)
        all->free = all->syncs[id].next;
    else if (lull_run_grow((void **)&all->syncs, &all->room, all->n + 1, sizeof *all->syncs))
        id = (uint32_t)all->n++;
    else
        return NONE;
    all->syncs[id] = (struct lull_sync){number, 0, NONE, all->of_rank[rank], NONE, {0, 0}};
    all->of_rank[rank] = id;
    return id;
}

static void wake_all(struct lull_engine *engine, uint32_t *before)
{
    struct lull_syncs *all = engine->syncs;
    uint32_t id = *before;
    *before = all->syncs[id].next;
    all->syncs[id].next = all->free;
    all->free = id;
    for (uint32_t s = all->syncs[id].waiting, next; s != NONE; s = next) {
        next = engine->streams[s].link;
        lull_stream_resume(engine, s, all->syncs[id].moment);
    }
}

lull_status lull_sync_begin(struct lull_engine *engine, uint32_t s, const struct lull_op *op,
                            struct lull_moment moment)
{
    uint32_t rank = engine->streams[s].rank;
    if (!engine->syncs && !open_syncs(engine))
        return lull_run_out_of_memory(engine);
    struct lull_syncs *all = engine->syncs;
    uint32_t *before = &all->of_rank[rank];
    while (*before != NONE && all->syncs[*before].number != op->tag)
        before = &all->syncs[*before].next;
    if (*before == NONE) {
        if (new_sync(all, rank, op->tag) == NONE)
            return lull_run_out_of_memory(engine);
        before = &all->of_rank[rank];
    }
    struct lull_sync *sync = &all->syncs[*before];
    engine->streams[s].state = LULL_STREAM_SYNC;
    engine->streams[s].link = sync->waiting;
    sync->waiting = s;
    if (sync->last == NONE || moment.time > sync->moment.time ||
        (moment.time == sync->moment.time && s < sync->last)) {
        sync->last = s;
        sync->moment = moment;
    }
    if (++sync->arrived >= op->peer)
        wake_all(engine, before);
    return LULL_OK;
}
