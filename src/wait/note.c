#include "wait/note.h"
#include "wait/wait.h"

#include <stdlib.h>
#include <string.h>

/* ---- queues -------------------------------------------------------------------------------- */

static bool add_block(struct wait_note_queue *queue)
{
    struct wait_note_block *block = malloc(sizeof *block);
    if (!block)
        return false;
    block->next = NULL;
    if (queue->last)
        queue->last->next = block;
    else
        queue->first = block;
    queue->last = block;
    queue->last_at = 0;
    return true;
}

bool lull_wait_notes_push(struct wait_note_queue *queue, const struct wait_note *notes,
                          size_t count)
{
    while (count > 0) {
        if ((!queue->last || queue->last_at == NOTES_OF_BLOCK) && !add_block(queue))
            return false;
        const size_t room = (size_t)NOTES_OF_BLOCK - queue->last_at;
        const size_t n = count < room ? count : room;
        memcpy(&queue->last->notes[queue->last_at], notes, n * sizeof *notes);
        queue->last_at = (uint8_t)(queue->last_at + n);
        notes += n;
        count -= n;
    }
    return true;
}

void lull_wait_notes_drop(struct wait_note_queue *queue)
{
    struct wait_note_block *block = queue->first;
    if (++queue->first_at < NOTES_OF_BLOCK)
        return;
    queue->first = block->next;
    queue->first_at = 0;
    if (!queue->first)
        queue->last = NULL;
    free(block);
}

void lull_wait_notes_free(struct wait_note_queue *queue)
{
    for (struct wait_note_block *block = queue->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *queue = (struct wait_note_queue){0};
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Some tracers know of time in MPI outside of any call. */
static uint8_t work_in(uint8_t activity)
{
    return activity >= LULL_MPI_P2P && activity <= LULL_MPI_OTHER;
}

/* Time outside of calls; spans in one region of the user become one note. */
static size_t note_work(const struct wait_reading *reading, const struct lull_step *step,
                        struct wait_note *notes, size_t count)
{
    const int64_t ns = step->span.end - step->time;
    if (reading->in_call || ns <= 0)
        return count;
    struct wait_note *last = count > 0 ? &notes[count - 1] : NULL;
    const uint8_t in_mpi = work_in(step->activity);
    if (last && last->kind == NOTE_WORK && last->region == step->span.user && last->op == in_mpi) {
        last->value += (uint64_t)ns;
        return count;
    }
    notes[count] = (struct wait_note){.kind = NOTE_WORK,
                                      .op = in_mpi,
                                      .region = step->span.user,
                                      .value = (uint64_t)ns,
                                      .time = step->time};
    return count + 1;
}

/* Of what it waited for nothing is known. */
static bool is_lost(const struct wait_reading *reading, uint8_t call)
{
    if (reading->operations || call == LULL_CALL_TEST)
        return false;
    return call == LULL_CALL_OTHER || call == LULL_CALL_PROBE || lull_call_leaves_operations(call);
}

static struct wait_note note_of_operation(const struct lull_step *step)
{
    struct wait_note note = {.time = step->time, .op = step->op};
    switch (step->kind) {
    case LULL_STEP_SEND:
        note.kind = NOTE_SEND;
        note.channel = step->channel;
        note.value = step->message.request;
        note.large = step->message.bytes > LULL_WAIT_EAGER;
        return note;
    case LULL_STEP_RECV:
        note.kind = NOTE_RECEIVE;
        note.channel = step->channel;
        note.value = step->message.request;
        return note;
    case LULL_STEP_SEND_DONE:
        note.kind = NOTE_SEND_DONE;
        note.value = step->message.request;
        return note;
    case LULL_STEP_RECV_POST:
        note.kind = NOTE_POST;
        note.comm = step->comm;
        note.value = step->message.request;
        note.root = step->message.peer;
        note.tag = step->message.tag;
        return note;
    default:
        note.kind = step->kind == LULL_STEP_COLLECTIVE_END ? NOTE_COLLECTIVE : NOTE_BEGIN;
        note.comm = step->comm;
        note.value = step->collective.request;
        note.root = step->collective.root;
        note.moves = step->collective.sent > 0 || step->collective.received > 0;
        return note;
    }
}

/* Synchronous ones do. A blocking one of the standard mode may, if it is large: then it ends after
 * its receive began, which is seen at its end. What does not block is not asked for: it may end
 * late because nobody looked. */
bool lull_wait_may_wait(const struct wait_note *send, uint8_t call)
{
    return send->op == LULL_SEND_SYNCHRONOUS ||
           (send->op == LULL_SEND_STANDARD && send->large && call == LULL_CALL_SEND);
}

/* The last two notes are the begin of a call and what it sent. */
static bool is_send_call(const struct wait_note *notes, size_t count, int64_t end)
{
    const struct wait_note *begin = notes + count - 2, *send = notes + count - 1;
    return count >= 2 && send->kind == NOTE_SEND && begin->kind == NOTE_CALL_BEGIN &&
           !lull_wait_may_wait(send, begin->op) && send->time - begin->time <= UINT32_MAX &&
           end - send->time <= UINT32_MAX;
}

/* The usual calls become one note each; those that need nothing one for all. */
static size_t note_end(const struct wait_reading *reading, const struct lull_step *step,
                       struct wait_note *notes, size_t count)
{
    const bool lost = is_lost(reading, step->op);
    struct wait_note *last = count > 0 ? &notes[count - 1] : NULL;
    if (last && last->kind == NOTE_CALL_BEGIN && !lost) {
        const int64_t began = last->time;
        struct wait_note *before = count > 1 ? last - 1 : NULL;
        if (before && before->kind == NOTE_CALL && before->time == began) {
            before->time = step->time;
            before->op = last->op;
            return count - 1;
        }
        *last = (struct wait_note){
            .kind = NOTE_CALL, .op = last->op, .time = step->time, .value = (uint64_t)began};
        return count;
    }
    if (!lost && is_send_call(notes, count, step->time)) {
        struct wait_note call = *last;
        last--;
        call.kind = NOTE_SEND_CALL;
        call.value = (uint64_t)(call.time - last->time) << 32 | (uint64_t)(step->time - call.time);
        call.call = last->op;
        call.root = (int32_t)last->region;
        *last = call;
        return count - 1;
    }
    notes[count] = (struct wait_note){.kind = NOTE_CALL_END, .time = step->time, .lost = lost};
    return count + 1;
}

static bool is_silent(const struct lull_step *step)
{
    return step->kind == LULL_STEP_COLLECTIVE_BEGIN && step->collective.request == LULL_NO_REQUEST;
}

size_t lull_wait_notes_of_steps(struct wait_reading *reading, const struct lull_step *steps,
                                size_t n_steps, struct wait_note *notes)
{
    size_t count = 0;
    for (const struct lull_step *step = steps; step < steps + n_steps; step++) {
        switch (step->kind) {
        case LULL_STEP_SPAN:
            count = note_work(reading, step, notes, count);
            break;
        case LULL_STEP_CALL_BEGIN:
            reading->in_call = true;
            reading->operations = false;
            notes[count++] = (struct wait_note){.kind = NOTE_CALL_BEGIN,
                                                .op = step->op,
                                                .time = step->time,
                                                .region = step->region};
            break;
        case LULL_STEP_CALL_END:
            count = note_end(reading, step, notes, count);
            reading->in_call = false;
            break;
        case LULL_STEP_SEND:
        case LULL_STEP_RECV:
        case LULL_STEP_COLLECTIVE_BEGIN:
        case LULL_STEP_COLLECTIVE_END:
            reading->operations = true;
            if (!is_silent(step))
                notes[count++] = note_of_operation(step);
            break;
        case LULL_STEP_SEND_DONE:
            reading->operations = true;
            if (reading->posts)
                notes[count++] = note_of_operation(step);
            break;
        case LULL_STEP_RECV_POST:
            if (reading->posts && step->message.request != LULL_NO_REQUEST)
                notes[count++] = note_of_operation(step);
            break;
        case LULL_STEP_END:
            notes[count++] = (struct wait_note){.kind = NOTE_END, .time = step->time};
            break;
        default:
            break;
        }
    }
    return count;
}
