/* When receives begin: a synchronous send is over no earlier. Its sender asks; the receiver answers
 * as soon as it is known which receive takes the message, and the thread has come to its beginning.
 * Which message a receive takes that does not block is known where its completion is read, which
 * may be far ahead of the thread; so a thread that waits for something else meanwhile keeps nobody
 * waiting whom MPI would let go on. Lists are in share->messages and hold what is in flight. */
#include "base/array.h"
#include "replay/ideal/channels.h"
#include "replay/ideal/epochs.h"

/* ---- lists --------------------------------------------------------------------------------- */

static void add_to_list(struct share *share, uint32_t *list, const struct message *item)
{
    const uint32_t place = lull_channel_place(share);
    if (place == LULL_NONE) {
        lull_share_no_memory(share);
        return;
    }
    share->messages[place] = *item;
    share->messages[place].next = *list;
    *list = place;
}

static bool remove_item(struct share *share, uint32_t *list, uint32_t number,
                        struct message *ret_item)
{
    for (uint32_t *at = list; *at != LULL_NONE; at = &share->messages[*at].next) {
        const uint32_t place = *at;
        struct message *item = &share->messages[place];
        if (item->number != number)
            continue;
        *ret_item = *item;
        *at = item->next;
        item->next = share->free_message;
        share->free_message = place;
        return true;
    }
    return false;
}

/* ---- the sender ---------------------------------------------------------------------------- */

static void take_answer(struct share *share, uint32_t index, uint32_t number, int64_t time)
{
    const struct message answer = {.time = time, .number = number};
    add_to_list(share, &share->links[index].answers, &answer);
    for (struct stream **at = &share->links[index].waiting; *at; at = &(*at)->next_waiting)
        if ((*at)->pending[(*at)->pending_at].number == number) {
            struct stream *stream = *at;
            *at = stream->next_waiting;
            lull_share_ready(share, stream);
            return;
        }
}

bool lull_synchronous_answer(struct share *share, uint32_t link, uint32_t number, int64_t *ret_time)
{
    struct message answer;
    if (!remove_item(share, &share->links[link].answers, number, &answer))
        return false;
    *ret_time = answer.time;
    return true;
}

/* ---- the receiver -------------------------------------------------------------------------- */

static void tell_sender(struct share *share, uint64_t asker, uint32_t number, int64_t time)
{
    const uint32_t to = (uint32_t)(asker >> 32), link = (uint32_t)asker;
    if (to == share->index) {
        take_answer(share, link, number, time);
        return;
    }
    struct letter *letter = lull_post(share, to, LETTER_ANSWER);
    if (!letter)
        return;
    letter->a = link;
    letter->b = number;
    letter->time = time;
}

static void begin_receive(struct share *share, uint32_t queue, uint32_t number, int64_t time)
{
    const struct message begun = {.time = time, .number = number};
    struct message asked;
    if (remove_item(share, &share->queues[queue].asked, number, &asked))
        tell_sender(share, (uint64_t)asked.sent, number, time);
    else
        add_to_list(share, &share->queues[queue].begun, &begun);
}

static void take_question(struct share *share, uint32_t queue, uint32_t number, uint64_t asker)
{
    const struct message asked = {.sent = (int64_t)asker, .number = number};
    struct message begun;
    if (remove_item(share, &share->queues[queue].begun, number, &begun))
        tell_sender(share, asker, number, begun.time);
    else
        add_to_list(share, &share->queues[queue].asked, &asked);
}

void lull_synchronous_taken(struct share *share, uint32_t queue, uint32_t number)
{
    if (!share->ideal->synchronous)
        return;
    struct message begun; /* it is there unless somebody asked */
    remove_item(share, &share->queues[queue].begun, number, &begun);
}

void lull_synchronous_ask(struct share *share, uint32_t index, uint32_t number)
{
    const struct link *link = &share->links[index];
    if (link->share == share->index) {
        take_question(share, link->queue, number, (uint64_t)share->index << 32 | index);
        return;
    }
    struct letter *letter = lull_post(share, link->share, LETTER_ASK);
    if (!letter)
        return;
    letter->a = link->queue;
    letter->b = number;
    letter->c = index;
}

void lull_synchronous_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    if (letter->kind == LETTER_ANSWER)
        take_answer(share, letter->a, letter->b, letter->time);
    else
        take_question(share, share->ports[from].queues[letter->a], letter->b,
                      (uint64_t)from << 32 | letter->c);
}

static void release_asked(struct share *share, struct queue *queue, bool all)
{
    for (uint32_t *at = &queue->asked; *at != LULL_NONE;) {
        const uint32_t place = *at;
        const struct message asked = share->messages[place];
        if (!all && (int32_t)(asked.number - queue->received) < 0) {
            at = &share->messages[place].next;
            continue;
        }
        *at = asked.next;
        share->messages[place].next = share->free_message;
        share->free_message = place;
        tell_sender(share, (uint64_t)asked.sent, asked.number, 0);
    }
}

static bool asks(const struct share *share, const struct queue *queue, bool all)
{
    for (uint32_t at = queue->asked; at != LULL_NONE; at = share->messages[at].next)
        if (all || (int32_t)(share->messages[at].number - queue->received) >= 0)
            return true;
    return false;
}

bool lull_synchronous_asks(const struct lull_ideal *ideal, bool all)
{
    for (unsigned s = ideal->first_share; ideal->synchronous && s < ideal->end_share; s++) {
        const struct share *share = ideal->shares[s];
        for (size_t q = 0; q < share->queues_by_channel.count; q++)
            if (asks(share, &share->queues[q], all))
                return true;
    }
    return false;
}

/* Who gets a letter wakes, but does nothing before all are done with. */
void lull_synchronous_release(struct lull_ideal *ideal, bool all)
{
    if (all) /* whose receive may begin when others have come as far without epochs */
        lull_epochs_spoil(ideal);
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        pthread_mutex_lock(&ideal->shares[s]->evaluation);
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        struct share *share = ideal->shares[s];
        for (size_t q = 0; q < share->queues_by_channel.count; q++)
            release_asked(share, &share->queues[q], all);
        lull_post_flush(share);
    }
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        pthread_mutex_unlock(&ideal->shares[s]->evaluation);
}

/* ---- posts --------------------------------------------------------------------------------- */

/* NULL: it is none that is known. */
static struct posting *find_posting(struct stream *stream, uint32_t post)
{
    size_t i = 0;
    while (i < stream->n_postings && stream->postings[i].post != post)
        i++;
    return i < stream->n_postings && post != LULL_NONE ? &stream->postings[i] : NULL;
}

static void remove_posting(struct stream *stream, struct posting *posting)
{
    *posting = stream->postings[--stream->n_postings];
}

void lull_synchronous_foresee(struct share *share, struct stream *stream, const struct note *note)
{
    if (!share->ideal->synchronous)
        return;
    if (note->kind == LULL_STEP_RECV_POST && note->ticket != LULL_NONE) {
        if (lull_array_reserve(&stream->postings, &stream->posting_capacity, stream->n_postings + 1,
                               sizeof *stream->postings))
            stream->postings[stream->n_postings++] =
                (struct posting){.time = -1, .post = note->ticket, .queue = LULL_NONE};
        else
            lull_share_no_memory(share);
        return;
    }
    struct posting *posting =
        note->kind == LULL_STEP_RECV ? find_posting(stream, note->ticket) : NULL;
    if (!posting || note->what == LULL_NONE)
        return;
    posting->queue = note->what;
    posting->number = note->number;
    if (posting->time >= 0)
        begin_receive(share, posting->queue, posting->number, posting->time);
}

void lull_synchronous_post(struct share *share, struct stream *stream, const struct note *note)
{
    struct posting *posting = find_posting(stream, note->ticket);
    if (!posting)
        return;
    posting->time = stream->time;
    if (posting->queue != LULL_NONE)
        begin_receive(share, posting->queue, posting->number, posting->time);
}

void lull_synchronous_receive(struct share *share, struct stream *stream, const struct note *note)
{
    if (!share->ideal->synchronous)
        return;
    struct posting *posting = find_posting(stream, note->ticket);
    if (posting)
        remove_posting(stream, posting);
    else
        begin_receive(share, note->what, note->number, stream->time);
}

void lull_synchronous_drop(struct stream *stream, uint32_t post)
{
    struct posting *posting = find_posting(stream, post);
    if (posting)
        remove_posting(stream, posting);
}
