/* A simulation of which this process has a part of the ranks: letters become events, and events
 * letters. */
#include "sim/engine/part.h"

#include "sim/engine/run.h"

uint32_t lull_part_of(const struct lull_engine *engine, uint32_t rank)
{
    const struct lull_sim_part *part = engine->options->part;
    uint32_t low = 0, high = part->n - 1; /* the last whose first rank is not behind it */
    while (low < high) {
        const uint32_t middle = high - (high - low) / 2;
        if (part->cuts[middle] <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* --- letters that go ----------------------------------------------------------------------- */

static void take_letter(struct lull_engine *engine, const struct lull_sim_letter *letter);

/* To a process, which may be this one. */
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

/* A record of its own here; the number of the sender's stands in `open_next`. */
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
    return lull_run_has_left_over(engine) || lull_stream_waits(engine) ? LULL_ERR_FORMAT : LULL_OK;
}
