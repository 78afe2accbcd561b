/* SYNC: threads of one rank wait for each other. */
#include "sim/engine/run.h"

#include <stdlib.h>

enum { NO_SYNC = UINT32_MAX };

struct lull_sync {
    uint64_t number;
    uint32_t arrived;
    uint32_t gone;             /* on, of those that only wait */
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
    all->free = NO_SYNC;
    all->of_rank = malloc((engine->fabric.n_ranks + (size_t)1) * sizeof *all->of_rank);
    for (uint32_t r = 0; all->of_rank && r < engine->fabric.n_ranks; r++)
        all->of_rank[r] = NO_SYNC;
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

static uint32_t new_sync(struct lull_syncs *all, uint32_t rank, uint64_t number)
{
    uint32_t id = all->free;
    if (id != NO_SYNC)
        all->free = all->syncs[id].next;
    else if (lull_run_grow((void **)&all->syncs, &all->room, all->n + 1, sizeof *all->syncs))
        id = (uint32_t)all->n++;
    else
        return NO_SYNC;
    all->syncs[id] = (struct lull_sync){
        .number = number, .waiting = NO_SYNC, .next = all->of_rank[rank], .last = NO_SYNC};
    all->of_rank[rank] = id;
    return id;
}

static void close_sync(struct lull_syncs *all, uint32_t *before)
{
    uint32_t id = *before;
    *before = all->syncs[id].next;
    all->syncs[id].next = all->free;
    all->free = id;
}

static struct lull_moment later_moment(struct lull_moment a, struct lull_moment b)
{
    return b.time > a.time ? b : a;
}

/* Those that wait go on. In two parts each does so when it has come itself, too. */
static uint32_t wake_all(struct lull_engine *engine, struct lull_sync *sync, bool apart)
{
    uint32_t woken = 0;
    for (uint32_t s = sync->waiting, next; s != NO_SYNC; s = next, woken++) {
        struct lull_moment moment = sync->moment;
        next = engine->streams[s].link;
        if (apart) {
            const struct lull_moment own = {engine->streams[s].resume,
                                            engine->stream_path ? engine->stream_path[s] : 0};
            moment = later_moment(own, moment);
        }
        lull_stream_resume(engine, s, moment);
    }
    sync->waiting = NO_SYNC;
    return woken;
}

/* The place of a sync in its rank's list; NULL: no memory. */
static uint32_t *find_sync(struct lull_engine *engine, uint32_t rank, uint64_t number)
{
    if (!engine->syncs && !open_syncs(engine))
        return NULL;
    struct lull_syncs *all = engine->syncs;
    uint32_t *before = &all->of_rank[rank];
    while (*before != NO_SYNC && all->syncs[*before].number != number)
        before = &all->syncs[*before].next;
    if (*before == NO_SYNC) {
        if (new_sync(all, rank, number) == NO_SYNC)
            return NULL;
        before = &all->of_rank[rank];
    }
    return before;
}

static void arrive_at_sync(struct lull_sync *sync, uint32_t s, struct lull_moment moment)
{
    if (sync->last == NO_SYNC || moment.time > sync->moment.time ||
        (moment.time == sync->moment.time && s < sync->last)) {
        sync->last = s;
        sync->moment = moment;
    }
    sync->arrived++;
}

static void await_sync(struct lull_engine *engine, struct lull_sync *sync, uint32_t s,
                       struct lull_moment moment)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    stream->state = LULL_STREAM_SYNC;
    stream->resume = moment.time;
    if (engine->stream_path)
        engine->stream_path[s] = moment.path;
    stream->link = sync->waiting;
    sync->waiting = s;
}

lull_status lull_sync_begin(struct lull_engine *engine, uint32_t s, const struct lull_op *op,
                            struct lull_moment moment)
{
    const uint64_t number = (uint64_t)op->comm << 32 | op->tag;
    uint32_t *before = find_sync(engine, engine->streams[s].rank, number);
    if (!before)
        return lull_run_out_of_memory(engine);
    struct lull_sync *sync = &engine->syncs->syncs[*before];
    const bool apart = op->collective != LULL_SYNC_BOTH;
    if (op->collective != LULL_SYNC_WAITS)
        arrive_at_sync(sync, s, moment);
    if (op->collective != LULL_SYNC_ARRIVES)
        await_sync(engine, sync, s, moment);
    if (sync->arrived < op->peer)
        return LULL_OK;
    sync->gone += wake_all(engine, sync, apart);
    if (!apart || sync->gone >= op->bytes)
        close_sync(engine->syncs, before);
    return LULL_OK;
}
