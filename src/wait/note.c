#include "wait/note.h"
#include "wait/wait.h"

#include <stdlib.h>

/* ---- queues -------------------------------------------------------------------------------- */

bool lull_wait_notes_push(struct wait_note_queue *queue, const struct wait_note *note)
{
    if (!queue->last || queue->last_at == NOTES_OF_BLOCK) {
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
    }
    queue->last->notes[queue->last_at++] = *note;
    return true;
}

static bool is_empty(const struct wait_note_queue *queue)
{
    return !queue->first || (queue->first == queue->last && queue->first_at == queue->last_at);
}

const struct wait_note *lull_wait_notes_first(const struct wait_note_queue *queue)
{
    return is_empty(queue) ? NULL : &queue->first->notes[queue->first_at];
}

bool lull_wait_notes_pop(struct wait_note_queue *queue, struct wait_note *ret_note)
{
    if (is_empty(queue))
        return false;
    struct wait_note_block *block = queue->first;
    *ret_note = block->notes[queue->first_at++];
    if (queue->first_at < NOTES_OF_BLOCK)
        return true;
    queue->first = block->next;
    queue->first_at = 0;
    if (!queue->first)
        queue->last = NULL;
    free(block);
    return true;
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
            notes[count++] = (struct wait_note){
                .kind = NOTE_CALL_END, .time = step->time, .lost = is_lost(reading, step->op)};
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
