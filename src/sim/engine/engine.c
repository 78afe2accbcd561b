/* Set-up, loop and result of a simulation. */
#include "sim/engine/engine.h"

#include "sim/engine/large.h"
#include "sim/engine/run.h"

#include <stdlib.h>
#include <string.h>

enum { TELL_EVERY = 1 << 16 };

/* --- set-up -------------------------------------------------------------------------------- */

static bool is_uniform(const struct lull_network *network)
{
    for (unsigned i = 1; i < LULL_LEVELS; i++)
        if (memcmp(network->values[i], network->values[0], sizeof network->values[0]) != 0)
            return false;
    return true;
}

static lull_status check_options(const struct lull_program *program,
                                 const struct lull_sim_options *options, struct lull_error *err)
{
    if (program->n_ranks > LULL_MOST_RANKS)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%u ranks, at most %u can be simulated",
                         program->n_ranks, LULL_MOST_RANKS);
    for (uint32_t i = 0; i < options->n_delays; i++) {
        const struct lull_delay *delay = &options->delays[i];
        if (delay->rank >= program->n_ranks)
            return lull_fail(err, LULL_ERR_RANGE, "delay of rank %u: the program has %u ranks",
                             delay->rank, program->n_ranks);
        if (delay->when < 0 || delay->length < 0 || delay->length > LULL_COST_MOST)
            return lull_fail(err, LULL_ERR_RANGE, "delay of rank %u: times must not be negative",
                             delay->rank);
    }
    return lull_network_check(options->network, program->n_ranks, err);
}

/* Clocks of a rank's processors and NICs beyond the first. */
static uint64_t n_extra(const struct lull_rank_state *rank)
{
    return rank->last_cpu + 2 * (uint64_t)rank->last_nic;
}

/* The most processors and NICs of any rank: with compat all ranks have so many, because a message
 * takes those with its sender's numbers. */
static void count_most(const struct lull_program *program, uint32_t *n_cpus, uint32_t *n_nics)
{
    for (uint32_t r = 0; r < program->n_ranks; r++) {
        const struct lull_graph_rank *rank = &program->graph->ranks[r];
        *n_cpus = rank->n_cpus > *n_cpus ? rank->n_cpus : *n_cpus;
        *n_nics = rank->n_nics > *n_nics ? rank->n_nics : *n_nics;
    }
}

static lull_status count_processors(struct lull_engine *engine, uint64_t *ret_extra)
{
    const struct lull_program *program = engine->program;
    uint32_t most_cpus = 1, most_nics = 1;
    uint64_t sum = 0;
    if (program->graph && engine->compat)
        count_most(program, &most_cpus, &most_nics);
    for (uint32_t r = 0; r < program->n_ranks; r++) {
        struct lull_rank_state *rank = &engine->fabric.ranks[r];
        uint32_t n_cpus = most_cpus, n_nics = most_nics;
        if (program->graph && !engine->compat) {
            n_cpus = program->graph->ranks[r].n_cpus;
            n_nics = program->graph->ranks[r].n_nics;
        } else if (program->first_stream) {
            n_cpus = program->first_stream[r + 1] - program->first_stream[r];
        }
        if (n_cpus > UINT8_MAX + 1)
            return lull_fail(engine->err, LULL_ERR_UNSUPPORTED,
                             "rank %u: %u threads communicate, at most %d can be simulated", r,
                             n_cpus, UINT8_MAX + 1);
        rank->last_cpu = (uint8_t)(n_cpus ? n_cpus - 1 : 0);
        rank->last_nic = (uint8_t)(n_nics ? n_nics - 1 : 0);
        rank->extra = (uint32_t)sum;
        sum += n_extra(rank);
    }
    if (sum > UINT32_MAX)
        return lull_fail(engine->err, LULL_ERR_MEMORY, "too many processors");
    *ret_extra = sum;
    return LULL_OK;
}

static lull_status open_ranks(struct lull_engine *engine)
{
    struct lull_fabric *fabric = &engine->fabric;
    uint32_t n_ranks = engine->program->n_ranks;
    fabric->ranks = lull_large_zero(n_ranks, sizeof *fabric->ranks);
    if (!fabric->ranks)
        return lull_run_out_of_memory(engine);
    for (uint32_t r = 0; r < n_ranks; r++) {
        struct lull_rank_state *rank = &fabric->ranks[r];
        rank->posted = rank->posted_last = LULL_NO_TRANSFER;
        rank->unexpected = rank->unexpected_last = LULL_NO_TRANSFER;
        if (engine->compat)
            rank->blocked[LULL_LINE_SEND] = rank->blocked[LULL_LINE_COMPUTE] = LULL_NO_TRANSFER;
        rank->blocked_messages = LULL_NO_TRANSFER;
    }
    uint64_t extra;
    lull_status status = count_processors(engine, &extra);
    if (status != LULL_OK)
        return status;
    fabric->extra = calloc(extra ? extra : 1, sizeof *fabric->extra);
    if (!fabric->extra)
        return lull_run_out_of_memory(engine);
    if (!engine->options->path)
        return LULL_OK;
    fabric->path = lull_path_create(engine->program->n_regions);
    fabric->rank_path = calloc(3 * (size_t)n_ranks + 1, sizeof *fabric->rank_path);
    fabric->extra_path = calloc(extra + 1, sizeof *fabric->extra_path);
    engine->end_path = calloc((size_t)n_ranks + 1, sizeof *engine->end_path);
    return fabric->path && fabric->rank_path && fabric->extra_path && engine->end_path
               ? LULL_OK
               : lull_run_out_of_memory(engine);
}

static lull_status open_run(struct lull_engine *engine)
{
    engine->delay_over = calloc(engine->options->n_delays + (size_t)1, sizeof *engine->delay_over);
    if (!engine->delay_over)
        return lull_run_out_of_memory(engine);
    lull_status status = open_ranks(engine);
    if (status == LULL_OK)
        status = lull_channel_open(engine);
    if (status == LULL_OK && engine->class->open)
        status = engine->class->open(&engine->fabric, engine->err);
    if (status != LULL_OK)
        return status;
    return engine->program->graph ? lull_graph_open_run(engine) : lull_stream_open_run(engine);
}

static void close_run(struct lull_engine *engine)
{
    struct lull_fabric *fabric = &engine->fabric;
    lull_graph_close_run(engine);
    lull_stream_close_run(engine);
    lull_channel_close(engine);
    lull_queue_close(&engine->queue);
    lull_matcher_close(&engine->matcher);
    lull_path_destroy(fabric->path);
    lull_arena_destroy(fabric->arena);
    free(fabric->ranks);
    free(fabric->transfers);
    free(fabric->transfer_path);
    free(fabric->rank_path);
    free(fabric->extra);
    free(fabric->extra_path);
    free(engine->transfer_ops);
    free(engine->gone);
    free(engine->over_path);
    free(engine->end_path);
    free(engine->delay_over);
    free(engine->next_events);
}

/* --- loop ---------------------------------------------------------------------------------- */

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
        lull_graph_op_done(engine, entry->rank, entry->id,
                           lull_graph_moment(engine, LULL_RUN_DONE, entry->rank, entry->id));
        break;
    case LULL_RUN_RESUME:
        lull_stream_wake(engine, entry->id);
        break;
    case LULL_RUN_SCRIPT:
        lull_script_step(engine, entry->id);
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
        for (uint64_t i = 0; i < n_extra(rank); i++)
            lull_path_root(path, &engine->fabric.extra_path[rank->extra + i]);
        lull_path_root(path, &engine->end_path[r]);
    }
    if (engine->graph)
        lull_graph_roots(engine);
    else
        lull_stream_roots(engine);
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
                         "simulation: rank %u: time passes 2^62 ns, 146 years", entry->rank);
    if (engine->fabric.path && lull_path_is_full(engine->fabric.path))
        return compact_path(engine);
    return LULL_OK;
}

static lull_status run(struct lull_engine *engine)
{
    const struct lull_sim_options *options = engine->options;
    uint64_t n = 0, n_runs = 0;
    struct lull_entry entry;
    while (take_event(engine, &entry)) {
        lull_status status = check_events(engine, &entry);
        if (status != LULL_OK)
            return status;
        prefetch(engine);
        if (engine->queue.n_runs != n_runs)
            prefetch_run(engine);
        n_runs = engine->queue.n_runs;
        engine->now = entry.time;
        engine->at = entry.rank;
        engine->key = entry.key;
        handle(engine, &entry);
        if (engine->n_released)
            lull_graph_start_released(engine);
        if (engine->n_ready)
            lull_stream_run_ready(engine);
        if (++n % TELL_EVERY == 0 && options->progress)
            options->progress(options->progress_context, engine->now);
    }
    if (engine->queue.out_of_memory || engine->matcher.out_of_memory)
        return lull_run_out_of_memory(engine);
    return engine->status;
}

/* --- result -------------------------------------------------------------------------------- */

/* The end of a rank's streams; with compat only processors count. */
static struct lull_moment end_of_streams(const struct lull_engine *engine, uint32_t r)
{
    struct lull_moment end = {0, 0};
    const uint32_t *first = engine->program->first_stream;
    uint32_t begin = first ? first[r] : r;
    for (uint32_t s = begin; s < (first ? first[r + 1] : r + 1) && !engine->compat; s++)
        if (s == begin || engine->streams[s].resume > end.time)
            end = (struct lull_moment){engine->streams[s].resume,
                                       engine->stream_path ? engine->stream_path[s] : 0};
    return end;
}

static struct lull_moment end_of(const struct lull_engine *engine, uint32_t r)
{
    const struct lull_rank_state *rank = &engine->fabric.ranks[r];
    struct lull_moment end = {rank->end, engine->end_path ? engine->end_path[r] : 0};
    if (!engine->graph)
        end = end_of_streams(engine, r);
    for (unsigned cpu = 0; cpu <= rank->last_cpu; cpu++) {
        struct lull_clock clock = lull_cpu(&engine->fabric, r, cpu);
        if (*clock.busy > end.time)
            end = (struct lull_moment){*clock.busy, clock.path ? *clock.path : 0};
    }
    return end;
}

static void sum_path(const struct lull_engine *engine, uint32_t node, struct lull_arena *arena,
                     struct lull_sim_result *result)
{
    struct lull_path_sum sum;
    uint32_t n_regions = engine->program->n_regions;
    if (n_regions)
        result->path_compute = lull_arena_zero(arena, n_regions, sizeof *result->path_compute);
    lull_path_total(engine->fabric.path, node, &sum, result->path_compute);
    memcpy(result->path, sum.parts, sizeof result->path);
    result->path_hops = sum.hops;
}

static lull_status take_result(struct lull_engine *engine, struct lull_arena *arena,
                               struct lull_sim_result *ret_result)
{
    struct lull_sim_result result = engine->result;
    uint32_t path = 0;
    result.n_ranks = engine->program->n_ranks;
    result.ranks = lull_arena_zero(arena, result.n_ranks, sizeof *result.ranks);
    for (uint32_t r = 0; r < result.n_ranks; r++) {
        const struct lull_rank_state *rank = &engine->fabric.ranks[r];
        struct lull_moment end = end_of(engine, r);
        if (end.time > LULL_TIME_MOST)
            return lull_fail(engine->err, LULL_ERR_RANGE,
                             "simulation: rank %u: time passes 2^62 ns, 146 years", r);
        result.ranks[r] = (struct lull_sim_rank){.end = end.time,
                                                 .compute = rank->compute,
                                                 .noise = rank->noise,
                                                 .overhead = rank->overhead,
                                                 .sent = rank->sent,
                                                 .received = rank->received,
                                                 .bytes_sent = rank->bytes_sent,
                                                 .bytes_received = rank->bytes_received};
        if (end.time <= result.runtime)
            continue;
        result.runtime = end.time;
        result.path_rank = r;
        path = end.path;
    }
    if (engine->fabric.path)
        sum_path(engine, path, arena, &result);
    *ret_result = result;
    return LULL_OK;
}

/* How a simulation is carried out: it changes nothing in the result. */
struct manner {
    bool any_order; /* events in any order; fails where that may not be */
    int64_t window; /* rank by rank for so many ns; 0: by time */
    bool places;    /* it is known at the end where operations come from */
};

static lull_status simulate(struct lull_program *program, const struct lull_sim_options *options,
                            struct manner manner, struct lull_arena *arena,
                            struct lull_sim_result *ret_result, const char *const **ret_problems,
                            bool *ret_left_over, struct lull_error *err)
{
    struct lull_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return lull_fail(err, LULL_ERR_MEMORY, "simulation: not enough memory");
    engine->fabric = (struct lull_fabric){.network = options->network,
                                          .arena = lull_arena_create(NULL),
                                          .n_ranks = program->n_ranks,
                                          .uniform = is_uniform(options->network)};
    engine->program = program;
    engine->options = options;
    engine->class = options->network->class;
    engine->sink = manner.places ? NULL : options->sink;
    engine->keeps_ops = manner.places || options->sink;
    engine->compat = engine->class->compat;
    engine->scaled = options->network->cpu_speed != 1;
    engine->any_order = manner.any_order;
    engine->by_time = !manner.any_order && manner.window <= 1;
    engine->err = err;
    lull_queue_open(&engine->queue, manner.window);
    lull_matcher_open(&engine->matcher, &engine->fabric);
    lull_status status = open_run(engine);
    if (status == LULL_OK)
        status = run(engine);
    if (status == LULL_OK) {
        status = lull_run_diagnose(engine, arena, ret_problems);
        *ret_left_over = status != LULL_OK;
    }
    if (status == LULL_OK)
        status = take_result(engine, arena, ret_result);
    close_run(engine);
    free(engine);
    return status;
}

/* Threads of one rank share its random numbers and its delays. */
static bool may_take_any_order(const struct lull_program *program,
                               const struct lull_sim_options *options)
{
    return options->network->class->any_order && !program->graph &&
           (program->n_streams == program->n_ranks || (!options->noise && !options->n_delays));
}

static struct manner fastest(const struct lull_program *program,
                             const struct lull_sim_options *options)
{
    const struct lull_network_class *class = options->network->class;
    return (struct manner){.any_order = may_take_any_order(program, options),
                           .window = class->lookahead ? class->lookahead(options->network) : 0};
}

lull_status lull_simulate(struct lull_program *program, const struct lull_sim_options *options,
                          struct lull_arena *arena, struct lull_sim_result *ret_result,
                          const char *const **ret_problems, struct lull_error *err)
{
    lull_status status = check_options(program, options, err);
    if (status != LULL_OK)
        return status;
    bool left_over = false;
    /* Whatever fails out of order is done again by time, for the words and for what needs it. A
     * sink is told by time. */
    struct manner manner = fastest(program, options);
    if (!options->sink && (manner.any_order || manner.window > 1) &&
        simulate(program, options, manner, arena, ret_result, NULL, &left_over, err) == LULL_OK)
        return LULL_OK;
    status = simulate(program, options, (struct manner){.places = false}, arena, ret_result,
                      ret_problems, &left_over, err);
    if (!left_over || program->graph || options->sink)
        return status;
    /* What is left over has forgotten where it comes from: the same once more, with places. */
    return simulate(program, options, (struct manner){.places = true}, arena, ret_result,
                    ret_problems, &left_over, err);
}
