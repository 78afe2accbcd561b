#include "wait/shared/letters.h"

#include "activity/channel.h"
#include "wait/shared/office.h"

#include <string.h>

enum letter_kind {
    LETTER_QUEUE,   /* a: port; b, c: source and target; d: communicator; time: tag */
    LETTER_MESSAGE, /* a: port; b: number; yes: it waits for its receive; a cause */
    LETTER_WATCH,   /* a: port; b: number; c: the sender's queue; time: its call ends */
    LETTER_GIVE_UP, /* a: port; b: number */
    LETTER_ANSWER,  /* a: the sender's queue; b: number; yes: a cause, else it was not posted */
    LETTER_NEWS     /* a: communicator; b: number; c: rank or group; d: how many; of operations of
                       that kind; a cause */
};

struct letter {
    uint8_t kind, news;
    bool yes;
    uint8_t padding;
    uint32_t a, b, c, d, operations;
    int64_t time;
};

/* ---- writing ------------------------------------------------------------------------------- */

/* `cause` NULL: without. Those of messages are told by what was told before. */
static void post(struct lull_waits *waits, uint32_t member, const struct letter *letter,
                 const struct wait_cause *cause)
{
    struct wait_office *office = waits->office;
    const bool sequence = letter->kind != LETTER_NEWS;
    unsigned char *begin = lull_wait_office_room(office, member, sizeof *letter + WIRE_CAUSE);
    if (!begin) {
        waits->no_memory = true;
        return;
    }
    memcpy(begin, letter, sizeof *letter);
    unsigned char *end = begin + sizeof *letter;
    if (cause)
        end = lull_wait_write_cause(end, cause, sequence ? lull_wait_office_told(office) : NULL,
                                    member, &waits->no_memory);
    lull_wait_office_fill(office, member, (size_t)(end - begin));
}

static uint32_t receiver_of(const struct lull_waits *waits, uint32_t queue)
{
    return lull_division_owner(waits->options.division, waits->queues[queue].target);
}

void lull_wait_post_queue(struct lull_waits *waits, uint32_t queue,
                          const struct lull_channel *channel)
{
    const uint32_t member = receiver_of(waits, queue);
    waits->queues[queue].port = lull_wait_office_new_port(waits->office, member);
    const struct letter letter = {.kind = LETTER_QUEUE,
                                  .a = waits->queues[queue].port,
                                  .b = channel->source,
                                  .c = channel->target,
                                  .d = channel->comm,
                                  .time = channel->tag};
    post(waits, member, &letter, NULL);
}

void lull_wait_post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                            bool waits_for_receive, const struct wait_cause *sent)
{
    const struct letter letter = {.kind = LETTER_MESSAGE,
                                  .yes = waits_for_receive,
                                  .a = waits->queues[queue].port,
                                  .b = number};
    post(waits, receiver_of(waits, queue), &letter, sent);
}

void lull_wait_post_watch(struct lull_waits *waits, uint32_t queue, uint32_t number,
                          int64_t call_ends)
{
    const struct letter letter = {.kind = LETTER_WATCH,
                                  .a = waits->queues[queue].port,
                                  .b = number,
                                  .c = queue,
                                  .time = call_ends};
    post(waits, receiver_of(waits, queue), &letter, NULL);
}

void lull_wait_post_give_up(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    const struct letter letter = {
        .kind = LETTER_GIVE_UP, .a = waits->queues[queue].port, .b = number};
    post(waits, receiver_of(waits, queue), &letter, NULL);
}

void lull_wait_post_answer(struct lull_waits *waits, const struct wait_watcher *watcher,
                           const struct wait_cause *posted)
{
    const bool there = posted->late.snapshot;
    const struct letter letter = {
        .kind = LETTER_ANSWER, .yes = there, .a = watcher->far_queue, .b = watcher->number};
    post(waits, watcher->member, &letter, there ? posted : NULL);
}

void lull_wait_post_news(struct lull_waits *waits, uint32_t member,
                         const struct wait_series *series, uint32_t number,
                         const struct wait_news *news)
{
    const struct letter letter = {.kind = LETTER_NEWS,
                                  .news = news->kind,
                                  .a = series->comm,
                                  .b = number,
                                  .c = news->which,
                                  .d = news->count,
                                  .operations = series->kind};
    post(waits, member, &letter, news->cause);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_queue(struct lull_waits *waits, uint32_t from, const struct letter *letter)
{
    const struct lull_channel channel = {
        .source = letter->b, .target = letter->c, .comm = letter->d, .tag = (int32_t)letter->time};
    const uint32_t queue = lull_wait_queue(waits, &channel);
    if (queue == LULL_NONE || !lull_wait_office_add_port(waits->office, from, queue))
        waits->no_memory = true;
}

static void read_news(struct lull_waits *waits, const struct letter *letter,
                      const struct wait_cause *cause)
{
    const struct wait_news news = {
        .kind = letter->news, .which = letter->c, .count = letter->d, .cause = cause};
    const uint32_t series = lull_wait_series(waits, letter->a, letter->operations);
    if (series == LULL_NONE ||
        !lull_wait_hear_news(waits, &waits->series[series], letter->b, &news))
        waits->no_memory = true;
}

static bool has_cause(const struct letter *letter)
{
    return letter->kind == LETTER_MESSAGE ||
           (letter->kind == LETTER_NEWS && letter->news != NEWS_FEWEST) ||
           (letter->kind == LETTER_ANSWER && letter->yes);
}

/* The references of `cause` are taken, but for those of news. */
static void take(struct lull_waits *waits, uint32_t from, const struct letter *letter,
                 struct wait_cause *cause)
{
    struct wait_office *office = waits->office;
    switch ((enum letter_kind)letter->kind) {
    case LETTER_QUEUE:
        read_queue(waits, from, letter);
        break;
    case LETTER_MESSAGE:
        lull_wait_deliver(waits, lull_wait_office_queue(office, from, letter->a), letter->b,
                          letter->yes, cause);
        break;
    case LETTER_WATCH:
        lull_wait_watch_from(waits, from, letter->c,
                             lull_wait_office_queue(office, from, letter->a), letter->b,
                             letter->time);
        break;
    case LETTER_GIVE_UP:
        lull_wait_post_is_done(waits, lull_wait_office_queue(office, from, letter->a), letter->b);
        break;
    case LETTER_ANSWER:
        lull_wait_take_answer(waits, letter->a, letter->b, cause);
        break;
    case LETTER_NEWS:
        read_news(waits, letter, cause);
        lull_wait_cause_drop(cause);
        break;
    }
}

void lull_wait_read_letters(struct lull_waits *waits, uint32_t from, const unsigned char *bytes,
                            size_t size)
{
    for (const unsigned char *at = bytes; at < bytes + size && !waits->no_memory;) {
        struct letter letter;
        struct wait_cause cause = {.time = -1};
        memcpy(&letter, at, sizeof letter);
        at += sizeof letter;
        if (has_cause(&letter))
            at = lull_wait_read_cause(
                at, letter.kind == LETTER_NEWS ? NULL : lull_wait_office_heard(waits->office), from,
                &cause, &waits->no_memory);
        if (waits->no_memory)
            lull_wait_cause_drop(&cause);
        else
            take(waits, from, &letter, &cause);
    }
}
