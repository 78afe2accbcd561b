#include "trace/format/paraver/read/pipe.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    FEW_LINES = 64, /* of a batch of a single thread, so that it stays in the fastest cache */
    SLOTS_OF_WORKER = 2
};

struct slot {
    struct lull_prv_piece piece;
    struct lull_prv_batch batch;
    bool ready;
};

/* What a thread takes lines apart with, in cache lines of its own. */
struct hand {
    struct lull_prv_wish wish;
    struct lull_prv_parser parser;
};

struct pipe {
    lull_prv_take take;
    void *context;
    uint64_t line;
    struct lull_prv_records records; /* of whoever has set `reading` */
    struct hand **hands;             /* [workers] */
    unsigned workers;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot **slots;            /* [n_slots] */
    uint64_t n_slots, taken, begun; /* pieces so far: used; read from the file */
    bool reading;                   /* somebody reads the next piece */
    bool ended;                     /* there are no more */
    bool stopped;
    lull_status status; /* of the reading; told when all before has been used */
    struct lull_error err;
};

lull_status lull_prv_bad_batch(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                               uint64_t line, struct lull_error *err)
{
    if (batch->no_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: %s", trace->path,
                     (unsigned long long)line, batch->what.text);
}

void lull_prv_tell_late(const struct lull_trace *trace, const struct lull_prv_item *item,
                        uint64_t line)
{
    for (unsigned i = 0; i < item->late; i++)
        lull_trace_add_quirk(trace, "records lie behind the end of the run; moved to its end",
                             "line %llu", (unsigned long long)line);
}

static lull_status use_batch(struct pipe *pipe, const struct lull_prv_batch *batch,
                             struct lull_error *err)
{
    double share = lull_prv_source_share(pipe->records.source);
    lull_status status = pipe->take(pipe->context, batch, pipe->line, share, err);
    pipe->line += batch->n_lines;
    if (status == LULL_OK && batch->no_memory)
        status = lull_prv_bad_batch(pipe->records.trace, batch, pipe->line, err);
    return status;
}

/* ---- one thread ---------------------------------------------------------------------------- */

static lull_status run_alone(struct pipe *pipe, struct lull_error *err)
{
    struct slot *slot = pipe->slots[0];
    struct lull_prv_piece *piece = &slot->piece;
    struct hand *hand = pipe->hands[0];
    lull_status status;
    while ((status = lull_prv_records_next(&pipe->records, piece, err)) == LULL_OK &&
           piece->begin < piece->end) {
        while (status == LULL_OK && piece->begin < piece->end) {
            lull_prv_parse(&hand->wish, &hand->parser, &piece->begin, piece->end, FEW_LINES,
                           &slot->batch);
            status = use_batch(pipe, &slot->batch, err);
        }
        if (status != LULL_OK)
            break;
    }
    return status;
}

/* ---- several ------------------------------------------------------------------------------- */

static bool is_piece_to_read(const struct pipe *pipe)
{
    return !pipe->stopped && !pipe->ended && !pipe->reading &&
           pipe->begun - pipe->taken < pipe->n_slots;
}

/* Reads the next piece and takes it apart. Under the lock, which it gives back meanwhile. */
static void parse_piece(struct pipe *pipe, unsigned worker)
{
    struct slot *slot = pipe->slots[pipe->begun % pipe->n_slots];
    struct hand *hand = pipe->hands[worker];
    struct lull_error err = {""};
    pipe->reading = true;
    pthread_mutex_unlock(&pipe->lock);
    lull_status status = lull_prv_records_next(&pipe->records, &slot->piece, &err);
    pthread_mutex_lock(&pipe->lock);
    pipe->reading = false;
    pipe->ended = status != LULL_OK || slot->piece.begin == slot->piece.end;
    pthread_cond_broadcast(&pipe->changed);
    if (pipe->ended) {
        pipe->status = status;
        pipe->err = err;
        return;
    }
    slot->ready = false;
    pipe->begun++;
    pthread_mutex_unlock(&pipe->lock);
    lull_prv_parse(&hand->wish, &hand->parser, &slot->piece.begin, slot->piece.end, UINT32_MAX,
                   &slot->batch);
    pthread_mutex_lock(&pipe->lock);
    slot->ready = true;
    pthread_cond_broadcast(&pipe->changed);
}

static void help(struct pipe *pipe, unsigned worker)
{
    pthread_mutex_lock(&pipe->lock);
    while (!pipe->stopped && !pipe->ended) {
        if (is_piece_to_read(pipe))
            parse_piece(pipe, worker);
        else
            pthread_cond_wait(&pipe->changed, &pipe->lock);
    }
    pthread_mutex_unlock(&pipe->lock);
}

/* Uses the next batch. Under the lock, which it gives back meanwhile. */
static lull_status use_next(struct pipe *pipe, struct lull_error *err)
{
    const struct slot *slot = pipe->slots[pipe->taken % pipe->n_slots];
    pthread_mutex_unlock(&pipe->lock);
    lull_status status = use_batch(pipe, &slot->batch, err);
    pthread_mutex_lock(&pipe->lock);
    pipe->taken++;
    pthread_cond_broadcast(&pipe->changed);
    return status;
}

/* The thread that uses the batches. */
static void lead(struct pipe *pipe)
{
    lull_status status = LULL_OK;
    struct lull_error err = {""};
    pthread_mutex_lock(&pipe->lock);
    while (status == LULL_OK && !(pipe->ended && pipe->taken == pipe->begun)) {
        const struct slot *next = pipe->slots[pipe->taken % pipe->n_slots];
        if (pipe->taken < pipe->begun && next->ready)
            status = use_next(pipe, &err);
        else if (is_piece_to_read(pipe))
            parse_piece(pipe, 0);
        else
            pthread_cond_wait(&pipe->changed, &pipe->lock);
    }
    pipe->stopped = true;
    pthread_cond_broadcast(&pipe->changed);
    while (pipe->reading)
        pthread_cond_wait(&pipe->changed, &pipe->lock);
    if (status != LULL_OK) { /* it comes before what the reading may have met further on */
        pipe->status = status;
        pipe->err = err;
    }
    pthread_mutex_unlock(&pipe->lock);
}

static void work_on_pipe(void *context, unsigned worker)
{
    struct pipe *pipe = context;
    if (worker == 0)
        lead(pipe);
    else
        help(pipe, worker);
}

/* ---- both ---------------------------------------------------------------------------------- */

static struct hand *create_hand(const struct lull_trace *trace, const struct lull_prv_wish *wish)
{
    struct hand *hand = lull_alloc_apart(sizeof *hand);
    if (hand) {
        hand->wish = *wish;
        hand->parser.trace = trace;
        hand->parser.paraver = trace->format_data;
    }
    return hand;
}

static struct slot *create_slot(void)
{
    struct slot *slot = lull_alloc_apart(sizeof *slot);
    if (!slot || (slot->piece.memory = lull_prv_source_memory()))
        return slot;
    free(slot);
    return NULL;
}

static bool make_pipe_room(struct pipe *pipe, const struct lull_trace *trace,
                           const struct lull_prv_wish *wish)
{
    pipe->n_slots = pipe->workers == 1 ? 1 : SLOTS_OF_WORKER * pipe->workers;
    pipe->slots = calloc(pipe->n_slots, sizeof(struct slot *));
    pipe->hands = calloc(pipe->workers, sizeof(struct hand *));
    for (unsigned w = 0; pipe->hands && w < pipe->workers; w++)
        if (!(pipe->hands[w] = create_hand(trace, wish)))
            return false;
    for (uint64_t i = 0; pipe->slots && i < pipe->n_slots; i++)
        if (!(pipe->slots[i] = create_slot()))
            return false;
    return pipe->slots && pipe->hands;
}

static void release_pipe(struct pipe *pipe)
{
    for (uint64_t i = 0; pipe->slots && i < pipe->n_slots && pipe->slots[i]; i++) {
        free(pipe->slots[i]->piece.memory);
        lull_prv_batch_free(&pipe->slots[i]->batch);
        free(pipe->slots[i]);
    }
    for (unsigned w = 0; pipe->hands && w < pipe->workers; w++)
        free(pipe->hands[w]);
    free(pipe->slots);
    free(pipe->hands);
}

lull_status lull_prv_pipe_run(const struct lull_trace *trace, bool again, unsigned workers,
                              const struct lull_prv_wish *wish, lull_prv_take take, void *context,
                              struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    struct pipe pipe = {
        .take = take, .context = context, .line = paraver->records_line, .workers = workers};
    lull_status status = LULL_OK;
    if (!make_pipe_room(&pipe, trace, wish))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    if (status == LULL_OK)
        status = lull_prv_records_open(trace, again, &pipe.records, err);
    if (status == LULL_OK) {
        pthread_mutex_init(&pipe.lock, NULL);
        pthread_cond_init(&pipe.changed, NULL);
        if (workers == 1) {
            status = run_alone(&pipe, err);
        } else {
            lull_parallel_run(workers, work_on_pipe, &pipe);
            status = pipe.status;
            if (status != LULL_OK && err)
                *err = pipe.err;
        }
        pthread_cond_destroy(&pipe.changed);
        pthread_mutex_destroy(&pipe.lock);
        lull_prv_records_close(&pipe.records);
    }
    release_pipe(&pipe);
    return status;
}
