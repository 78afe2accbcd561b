/* Events, one after the other, each to its end. */
#include "sim/engine/large.h"
#include "sim/engine/run.h"

#include <string.h>

enum { TELL_EVERY = 1 << 16 };

static void handle(struct lull_engine *engine, const struct lull_entry *entry)
{
    switch ((enum lull_event_of_run)(entry->key & LULL_RUN_KINDS)) {
    case LULL_RUN_START:
        lull_compat_start(engine, entry);
        break;
    case LULL_RUN_ADVANCE:
        if (engine->compat)
            lull_compat_advance(engine, entry);
        else
            engine->class->advance(&engine->fabric, entry->id, entry->time);
        break;
    case LULL_RUN_UNBLOCK:
        lull_compat_unblock(engine, entry);
        break;
    case LULL_RUN_STARTED:
        lull_graph_op_started(engine, entry->rank, entry->id,
                              lull_graph_moment(engine, LULL_RUN_STARTED, entry->rank, entry->id));
        break;
    case LULL_RUN_DONE:
        lull_graph_done_event(engine, entry->rank, entry->id);
        break;
    case LULL_RUN_RESUME:
        lull_stream_wake(engine, entry->id);
        break;
    case LULL_RUN_SCRIPT:
        lull_script_step(engine, entry->id);
        break;
    case LULL_RUN_DOMAIN:
        lull_domain_event(engine, entry->id);
        break;
    }
}

/* Events of many ranks alternate, so nearly everything they touch comes from far away. Fetching it
 * while the events before are handled hides most of that. */
static inline void fetch_first(const struct lull_engine *engine, const struct lull_entry *entry)
{
    unsigned kind = entry->key & LULL_RUN_KINDS;
    lull_fetch(&engine->fabric.ranks[entry->rank]);
    lull_fetch((const char *)&engine->fabric.ranks[entry->rank] + 64);
    if (kind <= LULL_RUN_UNBLOCK)
        lull_fetch(&engine->fabric.transfers[entry->id]);
    if (engine->graph)
        lull_fetch(&engine->graph[entry->rank]);
    else if (kind == LULL_RUN_RESUME)
        lull_fetch(&engine->streams[entry->id]);
}

static inline void fetch_second(const struct lull_engine *engine, const struct lull_entry *entry)
{
    unsigned kind = entry->key & LULL_RUN_KINDS;
    const struct lull_transfer *transfers = engine->fabric.transfers;
    uint32_t posted = engine->fabric.ranks[entry->rank].posted;
    if (kind == LULL_RUN_START) {
        uint32_t behind = transfers[entry->id].child; /* in line */
        if (behind < engine->n_transfers)
            lull_fetch(&transfers[behind]);
        if (engine->graph)
            lull_graph_fetch(engine, entry->rank, transfers[entry->id].owner);
    } else if (kind == LULL_RUN_DONE) {
        lull_graph_fetch(engine, entry->rank, entry->id);
    } else if (kind == LULL_RUN_ADVANCE && posted < engine->n_transfers) {
        lull_fetch(&transfers[posted]);
    }
}

/* Whether a posted receive of the rank is at hand; a hashed rank only counts them. */
static inline bool is_posted(const struct lull_engine *engine, uint32_t rank, uint32_t id)
{
    if (id >= engine->n_transfers)
        return false;
    const struct lull_transfer *transfer = &engine->fabric.transfers[id];
    return (transfer->flags & LULL_TRANSFER_RECEIVE) && transfer->target == rank;
}

static inline void fetch_third(const struct lull_engine *engine, const struct lull_entry *entry)
{
    unsigned kind = entry->key & LULL_RUN_KINDS;
    const struct lull_transfer *transfers = engine->fabric.transfers;
    uint32_t posted = engine->fabric.ranks[entry->rank].posted;
    if (kind == LULL_RUN_START)
        lull_graph_fetch_next(engine, entry->rank, transfers[entry->id].owner);
    else if (kind == LULL_RUN_DONE)
        lull_graph_fetch_next(engine, entry->rank, entry->id);
    else if (kind == LULL_RUN_ADVANCE && is_posted(engine, entry->rank, posted))
        lull_graph_fetch(engine, entry->rank, transfers[posted].owner);
}

static inline void fetch_fourth(const struct lull_engine *engine, const struct lull_entry *entry)
{
    const struct lull_transfer *transfers = engine->fabric.transfers;
    uint32_t posted = engine->fabric.ranks[entry->rank].posted;
    if ((entry->key & LULL_RUN_KINDS) == LULL_RUN_ADVANCE && is_posted(engine, entry->rank, posted))
        lull_graph_fetch_next(engine, entry->rank, transfers[posted].owner);
}

enum { AHEAD_FIRST = 15, AHEAD_SECOND = 10, AHEAD_THIRD = 6, AHEAD_FOURTH = 3 };

/* In this order, each when what it looks at was fetched by those before. */
static inline void prefetch(const struct lull_engine *engine)
{
    const struct lull_entry *entry = lull_queue_ahead(&engine->queue, AHEAD_FIRST);
    if (entry)
        fetch_first(engine, entry);
    entry = lull_queue_ahead(&engine->queue, AHEAD_SECOND);
    if (entry)
        fetch_second(engine, entry);
    if (!engine->graph)
        return;
    entry = lull_queue_ahead(&engine->queue, AHEAD_THIRD);
    if (entry)
        fetch_third(engine, entry);
    entry = lull_queue_ahead(&engine->queue, AHEAD_FOURTH);
    if (entry)
        fetch_fourth(engine, entry);
}

/* What that leaves out of the first entries of a run. */
static void prefetch_run(const struct lull_engine *engine)
{
    const struct lull_entry *entry;
    for (size_t i = 0; i < AHEAD_FIRST; i++)
        if ((entry = lull_queue_ahead(&engine->queue, i)))
            fetch_first(engine, entry);
    for (size_t i = 0; i < AHEAD_SECOND; i++)
        if ((entry = lull_queue_ahead(&engine->queue, i)))
            fetch_second(engine, entry);
}

static lull_status compact_path(struct lull_engine *engine)
{
    struct lull_path *path = engine->fabric.path;
    lull_path_begin_compact(path);
    for (uint32_t i = 0; i < engine->n_transfers; i++) {
        lull_path_root(path, &engine->fabric.transfer_path[i]);
        lull_path_root(path, &engine->over_path[i]);
    }
    for (uint32_t r = 0; r < engine->fabric.n_ranks; r++) {
        for (unsigned i = 0; i < 3; i++)
            lull_path_root(path, &engine->fabric.rank_path[3 * (size_t)r + i]);
        const struct lull_rank_state *rank = &engine->fabric.ranks[r];
        for (uint64_t i = 0; i < lull_clocks_beyond(rank); i++)
            lull_path_root(path, &engine->fabric.extra_path[rank->extra + i]);
        lull_path_root(path, &engine->end_path[r]);
    }
    if (engine->graph)
        lull_graph_roots(engine);
    else
        lull_stream_roots(engine);
    lull_domain_roots(engine);
    return lull_path_end_compact(path, engine->err);
}

void lull_run_next(struct lull_engine *engine, const struct lull_entry *entry)
{
    bool late = (entry->key & LULL_RUN_KINDS) == LULL_RUN_RESUME;
    if (late) { /* what was put off waits for those that are behind; messages must keep their order
                 */
        lull_queue_push(&engine->queue, entry);
        return;
    }
    if (engine->n_next == engine->next_room && engine->next_at > engine->n_next / 2) {
        engine->n_next -= engine->next_at;
        memmove(engine->next_events, engine->next_events + engine->next_at,
                engine->n_next * sizeof *entry);
        engine->next_at = 0;
    }
    if (!lull_run_grow((void **)&engine->next_events, &engine->next_room, engine->n_next + 1,
                       sizeof *engine->next_events))
        lull_run_out_of_memory(engine);
    else
        engine->next_events[engine->n_next++] = *entry;
}

static inline bool take_event(struct lull_engine *engine, struct lull_entry *ret_entry)
{
    if (engine->next_at == engine->n_next)
        return lull_queue_pop(&engine->queue, ret_entry);
    *ret_entry = engine->next_events[engine->next_at++];
    return true;
}

static lull_status check_events(struct lull_engine *engine, const struct lull_entry *entry)
{
    if (engine->status != LULL_OK)
        return engine->status;
    if (engine->queue.out_of_memory || engine->matcher.out_of_memory)
        return lull_run_out_of_memory(engine);
    if (entry->time > LULL_TIME_MOST)
        return lull_fail(engine->err, LULL_ERR_RANGE,
                         "simulation: rank %u: time passes 2^60 ns, 36 years", entry->rank);
    if (engine->fabric.path && lull_path_is_full(engine->fabric.path))
        return compact_path(engine);
    return LULL_OK;
}

static lull_status check_memory(struct lull_engine *engine)
{
    if (engine->queue.out_of_memory || engine->matcher.out_of_memory)
        return lull_run_out_of_memory(engine);
    return engine->status;
}

static inline lull_status handle_whole(struct lull_engine *engine, const struct lull_entry *entry)
{
    lull_status status = check_events(engine, entry);
    if (status != LULL_OK)
        return status;
    prefetch(engine);
    bool again = engine->by_time && entry->time == engine->now && engine->front > entry->key;
    engine->front = again ? engine->front : entry->key;
    engine->now = entry->time;
    engine->at = entry->rank;
    engine->key = entry->key;
    handle(engine, entry);
    if (engine->n_released)
        lull_graph_start_released(engine);
    if (engine->n_ready)
        lull_stream_run_ready(engine);
    if (++engine->n_handled % TELL_EVERY == 0 && engine->options->progress && engine->shard == 0)
        engine->options->progress(engine->options->progress_context, engine->now);
    return LULL_OK;
}

lull_status lull_run_all(struct lull_engine *engine)
{
    uint64_t n_runs = 0;
    struct lull_entry entry;
    while (take_event(engine, &entry)) {
        if (engine->queue.n_runs != n_runs)
            prefetch_run(engine);
        n_runs = engine->queue.n_runs;
        lull_status status = handle_whole(engine, &entry);
        if (status != LULL_OK)
            return status;
    }
    return check_memory(engine);
}

lull_status lull_run_some(struct lull_engine *engine, uint32_t most, bool *ret_more)
{
    struct lull_entry entry;
    for (uint32_t i = 0; i < most; i++) {
        if (!take_event(engine, &entry)) {
            *ret_more = false;
            return check_memory(engine);
        }
        lull_status status = handle_whole(engine, &entry);
        if (status != LULL_OK)
            return status;
    }
    *ret_more = true;
    return check_memory(engine);
}

lull_status lull_run_window(struct lull_engine *engine)
{
    struct lull_entry entry;
    if (engine->queue.run.count == engine->queue.run_at && engine->queue.side.count == 0)
        lull_queue_refill(&engine->queue);
    prefetch_run(engine);
    while (lull_queue_pop_run(&engine->queue, &entry)) {
        lull_status status = handle_whole(engine, &entry);
        if (status != LULL_OK)
            return status;
    }
    return check_memory(engine);
}
