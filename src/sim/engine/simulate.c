/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up, loop and result of a simulation. */
#include "sim/engine/engine.h"

#include "base/parallel.h"
#include "base/sorted.h"
#include "sim/engine/large.h"
#include "sim/engine/run.h"

#include <stdlib.h>
#include <string.h>

/* ==== a part of a simulation ================================================================== */

/* In a simulation of which this process has a part of the ranks, letters become events, and events
 * for other processes become letters. */

uint32_t lull_part_of(const struct lull_engine *engine, uint32_t rank)
{
    const struct lull_sim_part *part = engine->options->part;
    return (uint32_t)lull_sorted_first_u32(part->cuts + 1, part->n - 1, sizeof *part->cuts, 0,
                                           rank + 1); /* behind which the next process begins */
}

/* --- letters that go ----------------------------------------------------------------------- */

static void take_letter(struct lull_engine *engine, const struct lull_sim_letter *letter);

/* Posts a letter to a process, which may be this one. */
void lull_part_post(struct lull_engine *engine, uint32_t to, const struct lull_sim_letter *letter)
{
    const struct lull_sim_part *part = engine->options->part;
    engine->since_look++;
    if (to == part->index)
        take_letter(engine, letter);
    else if (engine->status == LULL_OK)
        engine->status = part->post(part->context, to, letter, engine->err);
}

void lull_part_send(struct lull_engine *engine, uint32_t id, int64_t time)
{
    struct lull_transfer *message = lull_transfer_at(engine, id);
    const struct lull_sim_letter letter = {
        .kind = LULL_LETTER_MESSAGE,
        .flags = message->flags & (LULL_TRANSFER_SYNCHRONOUS | LULL_TRANSFER_OF_SCRIPT),
        .buffered = message->buffered,
        .source = message->source,
        .target = message->target,
        .tag = message->tag,
        .comm = message->comm,
        .id = id,
        .bytes = message->bytes,
        .sent_at = message->time,
        .time = time};
    lull_part_post(engine, lull_part_of(engine, message->target), &letter);
}

void lull_part_sent(struct lull_engine *engine, uint32_t id, int64_t time)
{
    const struct lull_transfer *message = lull_transfer_at(engine, id);
    const struct lull_sim_letter letter = {.kind = LULL_LETTER_SENT,
                                           .source = message->source,
                                           .id = message->open_next,
                                           .time = time};
    lull_part_post(engine, lull_part_of(engine, message->source), &letter);
}

/* --- letters that come --------------------------------------------------------------------- */

/* The message gets a record of its own here; the number of the sender's record is in `open_next`.
 */
static void take_message(struct lull_engine *engine, const struct lull_sim_letter *letter)
{
    uint32_t id = lull_transfer_new(engine);
    if (id == LULL_NO_TRANSFER)
        return;
    struct lull_transfer *message = lull_transfer_at(engine, id);
    message->flags = LULL_TRANSFER_HELD | LULL_TRANSFER_OVER | letter->flags;
    message->buffered = letter->buffered;
    message->source = letter->source;
    message->target = letter->target;
    message->tag = letter->tag;
    message->comm = letter->comm;
    message->bytes = letter->bytes;
    message->time = letter->sent_at;
    message->partner = LULL_NO_TRANSFER;
    message->open_next = letter->id;
    engine->n_foreign++;
    engine->at = letter->target;
    lull_push(engine, LULL_RUN_ADVANCE, letter->time, letter->target, id);
}

static void take_letter(struct lull_engine *engine, const struct lull_sim_letter *letter)
{
    const struct lull_moment moment = {letter->time, 0};
    switch ((enum lull_sim_letter_kind)letter->kind) {
    case LULL_LETTER_MESSAGE:
        take_message(engine, letter);
        return;
    case LULL_LETTER_SENT:
        engine->at = letter->source;
        lull_sent(&engine->fabric, letter->id, moment);
        break;
    case LULL_LETTER_CAME:
        lull_collect_came(engine, letter->group, letter->number, letter->n_ranks, letter->time);
        break;
    case LULL_LETTER_LEAVES:
        lull_collect_leaves(engine, letter->group, letter->number, moment);
        break;
    }
}

/* Takes all that has come. A failure of the engine is kept in it: others may wait for a word of
 * this process, and all come to the end together. */
static lull_status look(struct lull_engine *engine, bool idle, struct lull_sim_news *news,
                        struct lull_error *err)
{
    const struct lull_sim_part *part = engine->options->part;
    engine->since_look = 0;
    do {
        const uint32_t kept = engine->status == LULL_OK ? engine->n_foreign : 0;
        lull_status status = part->take(part->context, idle, kept, news, err);
        if (status != LULL_OK)
            return status;
        for (size_t i = 0; i < news->count && engine->status == LULL_OK; i++) {
            engine->now = news->letters[i].time;
            take_letter(engine, &news->letters[i]);
            if (engine->n_ready)
                lull_stream_run_ready(engine);
        }
        idle = idle && news->count == 0;
    } while (news->count > 0);
    return LULL_OK;
}

/* --- running ------------------------------------------------------------------------------- */

static void keep_failure(struct lull_engine *engine, lull_status status)
{
    if (engine->status == LULL_OK)
        engine->status = status;
}

lull_status lull_part_run(struct lull_engine *engine)
{
    const struct lull_sim_part *part = engine->options->part;
    struct lull_sim_news news = {0};
    struct lull_error err; /* of the letters; the engine has its own */
    keep_failure(engine, lull_stream_start(engine));
    for (bool more = true; !news.over;) {
        if (engine->status == LULL_OK && !news.full)
            keep_failure(engine, lull_run_some(engine, LULL_LOOK_EVERY, &more));
        const bool idle = engine->status != LULL_OK || (!more && !news.full);
        const lull_status status = look(engine, idle, &news, &err);
        if (status != LULL_OK)
            return lull_fail(engine->err, status, "%s", err.text);
    }
    if (engine->status != LULL_OK)
        return engine->status;
    lull_collect_sign(engine, part->signatures);
    const bool waits = lull_stream_waits(engine) && !engine->program->unfinished;
    return lull_run_has_left_over(engine) || waits ? LULL_ERR_FORMAT : LULL_OK;
}

/* ==== set-up, run and result ================================================================== */

/* --- set-up -------------------------------------------------------------------------------- */

static bool is_uniform(const struct lull_network *network)
{
    for (unsigned i = 1; i < LULL_LEVELS; i++)
        if (memcmp(network->values[i], network->values[0], sizeof network->values[0]) != 0 ||
            network->ranges[i] != network->ranges[0])
            return false;
    return true;
}

/* Whether receives take time, for which the largest ones are asked. */
static bool takes_receiving(const struct lull_network *network)
{
    bool takes = false;
    for (unsigned i = 0; network->class->receiving && i < LULL_LEVELS; i++)
        takes |= network->class->receiving(network, (enum lull_level)i, UINT64_MAX) > 0;
    return takes;
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
    const bool is_pattern = !program->graph && !program->first_stream;
    if (options->memory && (!is_pattern || !options->network->class->any_order))
        return lull_fail(
            err, LULL_ERR_RANGE,
            "%s: ranks can share memory in patterns alone, on a network whose messages "
            "take no time of processors (ideal, hockney, ranges)",
            is_pattern ? options->network->class->name : program->name);
    return lull_network_check(options->network, program->n_ranks, err);
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

static bool has_one_of_each(const struct lull_program *program)
{
    for (uint32_t r = 0; program->graph && r < program->n_ranks; r++)
        if (program->graph->ranks[r].n_cpus > 1 || program->graph->ranks[r].n_nics > 1)
            return false;
    return !program->first_stream;
}

/* Cuts a range of ranks down to those that this process simulates. */
static void clip(const struct lull_engine *engine, uint32_t *first, uint32_t *end)
{
    const uint32_t own_end = engine->first_rank + engine->n_own;
    if (!engine->options->part)
        return;
    *first = *first > engine->first_rank ? *first : engine->first_rank;
    *end = *end < own_end ? *end : own_end;
}

static lull_status count_processors(struct lull_engine *engine, uint64_t *ret_extra)
{
    const struct lull_program *program = engine->program;
    uint32_t most_cpus = 1, most_nics = 1;
    uint64_t sum = *ret_extra = 0;
    if (has_one_of_each(program)) /* as it is when all is zero */
        return LULL_OK;
    if (program->graph && engine->compat)
        count_most(program, &most_cpus, &most_nics);
    uint32_t first = 0, end = program->n_ranks;
    clip(engine, &first, &end);
    for (uint32_t r = first; r < end; r++) {
        struct lull_rank_state *rank = &engine->fabric.ranks[r];
        uint32_t n_cpus = most_cpus, n_nics = most_nics;
        if (program->graph && !engine->compat) {
            n_cpus = program->graph->ranks[r].n_cpus;
            n_nics = program->graph->ranks[r].n_nics;
        } else if (program->first_stream) {
            n_cpus = program->first_stream[r + 1] - program->first_stream[r];
        }
        if (n_cpus > LULL_RANK_STREAMS)
            return lull_fail(engine->err, LULL_ERR_UNSUPPORTED,
                             "rank %u: %u threads communicate, at most %d can be simulated", r,
                             n_cpus, LULL_RANK_STREAMS);
        rank->last_cpu = (uint8_t)(n_cpus ? n_cpus - 1 : 0);
        rank->last_nic = (uint8_t)(n_nics ? n_nics - 1 : 0);
        rank->extra = (uint32_t)sum;
        sum += lull_clocks_beyond(rank);
    }
    if (sum > UINT32_MAX)
        return lull_fail(engine->err, LULL_ERR_MEMORY, "too many processors");
    *ret_extra = sum;
    return LULL_OK;
}

static void open_piece(struct lull_engine *engine, void *context, uint32_t piece, uint32_t first,
                       uint32_t end)
{
    (void)context, (void)piece;
    clip(engine, &first, &end);
    for (uint32_t r = first; r < end; r++) {
        struct lull_rank_state *rank = &engine->fabric.ranks[r];
        rank->posted = rank->posted_last = LULL_NO_TRANSFER;
        rank->unexpected = rank->unexpected_last = LULL_NO_TRANSFER;
        if (engine->compat)
            rank->blocked[LULL_LINE_SEND] = rank->blocked[LULL_LINE_COMPUTE] = LULL_NO_TRANSFER;
        rank->blocked_messages = LULL_NO_TRANSFER;
    }
}

static lull_status open_ranks(struct lull_engine *engine)
{
    struct lull_fabric *fabric = &engine->fabric;
    uint32_t n_ranks = engine->program->n_ranks;
    fabric->ranks = lull_large_zero(n_ranks, sizeof *fabric->ranks);
    if (!fabric->ranks)
        return lull_run_out_of_memory(engine);
    lull_run_pieces(engine, open_piece, NULL);
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

/* What all engines of a simulation share. */
static lull_status open_shared(struct lull_engine *engine)
{
    engine->delay_over = calloc(engine->options->n_delays + (size_t)1, sizeof *engine->delay_over);
    if (!engine->delay_over)
        return lull_run_out_of_memory(engine);
    lull_status status = open_ranks(engine);
    if (status == LULL_OK)
        status = lull_domain_open(engine);
    if (status == LULL_OK && engine->class->open)
        status = engine->class->open(&engine->fabric, engine->err);
    if (status != LULL_OK)
        return status;
    return engine->program->graph ? lull_graph_open(engine) : lull_stream_open(engine);
}

static lull_status open_own(struct lull_engine *engine, int64_t window)
{
    lull_queue_open(&engine->queue, window);
    lull_matcher_open(&engine->matcher, &engine->fabric);
    lull_status status = lull_channel_open(engine);
    return status == LULL_OK ? lull_collect_open(engine) : status;
}

static void close_own(struct lull_engine *engine)
{
    lull_queue_close(&engine->queue);
    lull_matcher_close(&engine->matcher);
    lull_channel_close(engine);
    lull_collect_close(engine);
    lull_script_close(engine);
    lull_sync_close(engine);
    lull_large_free(engine->fabric.transfers,
                    engine->transfer_room * sizeof *engine->fabric.transfers);
    lull_large_free(engine->gone, engine->transfer_room * sizeof *engine->gone);
    free(engine->fabric.transfer_path);
    free(engine->transfer_ops);
    free(engine->over_path);
    free(engine->next_events);
    free(engine->released);
    free(engine->ready);
    free(engine->deferred);
}

static void close_shared(struct lull_engine *engine)
{
    struct lull_fabric *fabric = &engine->fabric;
    lull_graph_close(engine);
    lull_stream_close(engine);
    lull_path_destroy(fabric->path);
    lull_arena_destroy(fabric->arena);
    lull_large_free(fabric->ranks, fabric->n_ranks * sizeof *fabric->ranks);
    free(fabric->rank_path);
    free(fabric->extra);
    free(fabric->extra_path);
    free(engine->end_path);
    lull_domain_close(engine);
    free(engine->delay_over);
}

struct lull_engine *lull_run_follower(const struct lull_engine *leader)
{
    struct lull_engine *engine = lull_alloc_apart(sizeof *engine);
    if (!engine)
        return NULL;
    engine->fabric = leader->fabric;
    engine->fabric.transfers = NULL;
    engine->program = leader->program;
    engine->options = leader->options;
    engine->class = leader->class;
    engine->scaled = leader->scaled;
    engine->receives = leader->receives;
    engine->window = leader->window;
    engine->graph = leader->graph;
    engine->steps = leader->steps;
    engine->waits = leader->waits;
    engine->from_start = leader->from_start;
    engine->streams = leader->streams;
    engine->delay_over = leader->delay_over;
    if (open_own(engine, leader->window) == LULL_OK)
        return engine;
    lull_run_close_follower(engine);
    return NULL;
}

void lull_run_close_follower(struct lull_engine *engine)
{
    close_own(engine);
    free(engine);
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

lull_status lull_delay_missed(const struct lull_delay *delay, struct lull_error *err)
{
    return lull_fail(
        err, LULL_ERR_RANGE,
        delay->at_iteration
            ? "delay of rank %u: it has no computation in iteration %lld, nor behind it"
            : "delay of rank %u: no computation of it begins at %lld ns or later",
        delay->rank, (long long)delay->when);
}

static lull_status check_delays(const struct lull_engine *engine)
{
    for (uint32_t i = 0; i < engine->options->n_delays; i++)
        if (!engine->delay_over[i])
            return lull_delay_missed(&engine->options->delays[i], engine->err);
    return LULL_OK;
}

/* Of some ranks: the first of those that end last, and the first whose end cannot be told. */
struct latest_ranks {
    struct lull_moment end;
    uint32_t rank, beyond;
};

struct rank_results {
    struct lull_sim_rank *ranks;
    struct latest_ranks *latest; /* [pieces] */
};

static void take_piece(struct lull_engine *engine, void *context, uint32_t piece, uint32_t first,
                       uint32_t end)
{
    const struct rank_results *results = context;
    struct latest_ranks latest = {.beyond = UINT32_MAX};
    clip(engine, &first, &end);
    for (uint32_t r = first; r < end; r++) {
        const struct lull_rank_state *rank = &engine->fabric.ranks[r];
        struct lull_moment moment = end_of(engine, r);
        if (moment.time > LULL_TIME_MOST && latest.beyond == UINT32_MAX)
            latest.beyond = r;
        results->ranks[r] = (struct lull_sim_rank){.end = moment.time,
                                                   .compute = rank->compute,
                                                   .noise = rank->noise,
                                                   .overhead = rank->overhead,
                                                   .sent = rank->sent,
                                                   .received = rank->received,
                                                   .bytes_sent = rank->bytes_sent,
                                                   .bytes_received = rank->bytes_received};
        if (moment.time > latest.end.time) {
            latest.end = moment;
            latest.rank = r;
        }
    }
    results->latest[piece] = latest;
}

static lull_status take_result(struct lull_engine *engine, struct lull_arena *arena,
                               struct lull_sim_result *ret_result)
{
    struct lull_sim_result result = engine->result;
    uint32_t path = 0, n_pieces = lull_run_n_pieces(engine);
    struct rank_results results = {.latest = calloc(n_pieces, sizeof *results.latest)};
    if (!results.latest)
        return lull_run_out_of_memory(engine);
    result.n_ranks = engine->program->n_ranks;
    result.ranks = results.ranks = lull_arena_zero(arena, result.n_ranks, sizeof *results.ranks);
    lull_run_pieces(engine, take_piece, &results);
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < n_pieces && status == LULL_OK; i++) {
        const struct latest_ranks *latest = &results.latest[i];
        if (latest->beyond != UINT32_MAX)
            status =
                lull_fail(engine->err, LULL_ERR_RANGE,
                          "simulation: rank %u: time passes 2^60 ns, 36 years", latest->beyond);
        if (latest->end.time <= result.runtime)
            continue;
        result.runtime = latest->end.time;
        result.path_rank = latest->rank;
        path = latest->end.path;
    }
    free(results.latest);
    if (status == LULL_OK && engine->fabric.path)
        sum_path(engine, path, arena, &result);
    if (status == LULL_OK)
        *ret_result = result;
    return status;
}

enum { FEWEST_RANKS = 512 }; /* for a thread */

/* How a simulation is carried out; the result is the same in any manner. */
struct manner {
    bool any_order;     /* events in any order; fails where that may not be */
    int64_t window;     /* rank by rank for so many ns; 0: by time */
    unsigned n_threads; /* with a window: ranks are followed by so many, if at least 2 */
    bool places;        /* it is known at the end where operations come from */
};

static lull_status run_alone(struct lull_engine *engine)
{
    if (engine->options->part)
        return lull_part_run(engine);
    engine->n_own = engine->program->n_ranks;
    lull_status status = engine->graph ? lull_graph_start(engine) : lull_stream_start(engine);
    return status == LULL_OK ? lull_run_all(engine) : status;
}

static lull_status simulate(struct lull_program *program, const struct lull_sim_options *options,
                            struct manner manner, struct lull_arena *arena,
                            struct lull_sim_result *ret_result, const char *const **ret_problems,
                            bool *ret_left_over, struct lull_error *err)
{
    struct lull_engine *engine = lull_alloc_apart(sizeof *engine);
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
    engine->receives = takes_receiving(options->network);
    engine->any_order = manner.any_order;
    engine->by_time = !manner.any_order && manner.window <= 1;
    engine->err = err;
    engine->window = manner.window;
    if (options->part) {
        engine->first_rank = options->part->cuts[options->part->index];
        engine->n_own = options->part->cuts[options->part->index + 1] - engine->first_rank;
    }
    engine->n_threads = manner.n_threads > 1 ? manner.n_threads : 1;
    lull_status status = open_shared(engine);
    if (status == LULL_OK)
        status = open_own(engine, manner.window);
    if (status == LULL_OK)
        status =
            manner.n_threads > 1 ? lull_shards_run(engine, manner.n_threads) : run_alone(engine);
    if (status == LULL_OK && !options->part) {
        status = lull_run_diagnose(engine, arena, ret_problems);
        *ret_left_over = status != LULL_OK;
    }
    if (status == LULL_OK)
        status = check_delays(engine);
    if (status == LULL_OK)
        status = take_result(engine, arena, ret_result);
    close_own(engine);
    close_shared(engine);
    free(engine);
    return status;
}

/* Threads of one rank share its random numbers and its delays. */
static bool may_take_any_order(const struct lull_program *program,
                               const struct lull_sim_options *options)
{
    return options->network->class->any_order && !program->graph && !options->memory &&
           (program->n_streams == program->n_ranks || (!options->noise && !options->n_delays));
}

/* More threads than processors, or for few ranks, are only taken when they are asked for. */
static unsigned count_threads(const struct lull_program *program,
                              const struct lull_sim_options *options)
{
    unsigned wanted = options->workers;
    if (wanted == 0) {
        wanted = lull_worker_count();
        if (program->n_ranks / FEWEST_RANKS < wanted)
            wanted = program->n_ranks / FEWEST_RANKS;
    }
    if (options->path) /* follows all ranks in one memory */
        return 1;
    return wanted < program->n_ranks ? wanted : program->n_ranks;
}

static struct manner fastest(const struct lull_program *program,
                             const struct lull_sim_options *options)
{
    const struct lull_network *network = options->network;
    struct manner manner = {.any_order = may_take_any_order(program, options)};
    if (network->class->lookahead && !options->memory && !program->has_meetings &&
        network->collectives == LULL_COLLECTIVES_ALGORITHM)
        manner.window = network->class->lookahead(network);
    if (manner.window > 1)
        manner.n_threads = count_threads(program, options);
    return manner;
}

/* On the ranks of this process alone. */
static lull_status simulate_part(struct lull_program *program,
                                 const struct lull_sim_options *options, struct lull_arena *arena,
                                 struct lull_sim_result *ret_result, struct lull_error *err)
{
    const struct manner manner = {.any_order = true};
    bool left_over = false;
    if (!may_take_any_order(program, options) || options->path ||
        (options->sink && !options->sink->any_order))
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: is simulated by one process",
                         program->name);
    return simulate(program, options, manner, arena, ret_result, NULL, &left_over, err);
}

lull_status lull_simulate(struct lull_program *program, const struct lull_sim_options *options,
                          struct lull_arena *arena, struct lull_sim_result *ret_result,
                          const char *const **ret_problems, struct lull_error *err)
{
    lull_status status = check_options(program, options, err);
    if (status != LULL_OK)
        return status;
    bool left_over = false;
    if (options->part)
        return simulate_part(program, options, arena, ret_result, err);
    /* What fails out of order is done again by time: that has a text for the failure, or succeeds
     * where the order of time matters. */
    struct manner manner = fastest(program, options);
    const struct lull_sim_sink *sink = options->sink;
    const bool out_of_order =
        sink ? sink->any_order && manner.any_order : manner.any_order || manner.window > 1;
    if (out_of_order &&
        simulate(program, options, manner, arena, ret_result, NULL, &left_over, err) == LULL_OK)
        return LULL_OK;
    if (out_of_order && sink && sink->again)
        sink->again(sink->context);
    status = simulate(program, options, (struct manner){.places = false}, arena, ret_result,
                      ret_problems, &left_over, err);
    if (!left_over || program->graph || options->sink)
        return status;
    /* Something is left over, but it is not known where in the program it comes from: the same once
     * more, with places. */
    return simulate(program, options, (struct manner){.places = true}, arena, ret_result,
                    ret_problems, &left_over, err);
}
