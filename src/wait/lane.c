/* The threads of a process that communicate side by side: what they do is numbered in the order of
 * time, and then each is a stream of its own, which waits without keeping the others. */
#include "wait/share.h"

#include <stdlib.h>

struct lane_thread {
    struct wait_stream *stream; /* NULL: nothing has been read */
    struct wait_note_queue notes;
    bool ended;
};

struct wait_lane {
    uint32_t n_threads;
    struct lane_thread threads[]; /* from the process's first location on */
};

bool lull_wait_lanes_create(struct lull_waits *waits)
{
    const struct lull_trace *trace = waits->trace;
    waits->lanes = calloc(trace->n_processes + (size_t)1, sizeof(struct wait_lane *));
    for (uint32_t p = 0; waits->lanes && p < trace->n_processes; p++) {
        const uint32_t n = trace->processes[p].n_threads;
        struct wait_lane *lane = calloc(1, sizeof *lane + n * sizeof *lane->threads);
        if (!lane)
            return false;
        lane->n_threads = n;
        waits->lanes[p] = lane;
    }
    return waits->lanes != NULL;
}

void lull_wait_lanes_free(struct lull_waits *waits)
{
    for (uint32_t p = 0; waits->lanes && p < waits->trace->n_processes; p++) {
        struct wait_lane *lane = waits->lanes[p];
        for (uint32_t t = 0; lane && t < lane->n_threads; t++)
            lull_wait_notes_free(&lane->threads[t].notes);
        free(lane);
    }
    free(waits->lanes);
}

/* The thread with the first of all notes, the lower one of two; NULL: of a thread that has not
 * ended none is known. */
static struct lane_thread *find_earliest_lane_thread(struct wait_lane *lane)
{
    struct lane_thread *first = NULL;
    int64_t time = 0;
    for (uint32_t t = 0; t < lane->n_threads; t++) {
        const struct wait_note *note = lull_wait_notes_first(&lane->threads[t].notes);
        if (!note && !lane->threads[t].ended)
            return NULL;
        if (note && (!first || note->time < time)) {
            first = &lane->threads[t];
            time = note->time;
        }
    }
    return first;
}

static void number_note(struct lull_waits *waits, const struct wait_stream *stream,
                        struct wait_note *note)
{
    bool alone;
    const bool sends = note->kind == NOTE_SEND || note->kind == NOTE_SEND_CALL;
    if (sends || note->kind == NOTE_RECEIVE) {
        const uint32_t index =
            note->channel == LULL_NONE ? LULL_NONE : stream->routes[note->channel].queue;
        if (index == LULL_NONE)
            return;
        struct wait_queue *queue = &waits->queues[index];
        note->number = sends ? queue->n_sent++ : queue->n_received++;
    } else if ((note->kind == NOTE_BEGIN || note->kind == NOTE_COLLECTIVE) &&
               lull_wait_is_known(waits, note->comm, note->op, &alone) && !alone) {
        note->number = lull_wait_number_operation(waits, note, stream->process);
    }
}

void lull_wait_lane_take(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *notes, size_t count)
{
    struct wait_lane *lane = waits->lanes[stream->process];
    struct lane_thread *own =
        &lane->threads[stream->location - waits->trace->processes[stream->process].first_location];
    own->stream = stream;
    for (size_t i = 0; i < count; i++) {
        waits->no_memory |= !lull_wait_notes_push(&own->notes, &notes[i], 1);
        own->ended |= notes[i].kind == NOTE_END;
    }
    for (struct lane_thread *first;
         !waits->no_memory && (first = find_earliest_lane_thread(lane)) != NULL;) {
        struct wait_note note = *lull_wait_notes_first(&first->notes);
        lull_wait_notes_drop(&first->notes);
        number_note(waits, first->stream, &note);
        lull_wait_stream_take(waits, first->stream, &note, 1);
    }
}
