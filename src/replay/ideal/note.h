/* Notes: what the ideal runtime keeps of a step, where it cannot be evaluated at once; internal to
 * the room. A stream that waits has its notes in a queue of blocks, which go back to a pool as they
 * are read, so that memory is what is in flight. */
#ifndef LULL_REPLAY_IDEAL_NOTE_H
#define LULL_REPLAY_IDEAL_NOTE_H

#include "activity/step.h"

#include <stdlib.h>

/* What a thread did that matters. Its ideal time moves with `kept`; the operations of a call happen
 * when the call begins, so theirs is that of its begin. */
struct note {
    int64_t time;    /* measured */
    int64_t kept;    /* as in the steps */
    uint64_t value;  /* RECV: bytes; SEND, SEND_DONE, COLLECTIVE_*: the request; CALL_END: when the
                        call began; THREAD_*: the number */
    uint32_t what;   /* SEND: link; RECV: queue; COLLECTIVE_*: communicator; CALL_END: region;
                        FORK, JOIN of a master: the number of the meeting; THREAD_*: which life or
                        barrier, or LULL_NONE */
    uint32_t number; /* SEND, RECV of a crew: which message of the channel, also RECV where posts
                        matter; COLLECTIVE_*: root; FORK, JOIN of a master: who meets;
                        THREAD_WAIT_*: at a barrier likewise */
    uint32_t ticket; /* COLLECTIVE_*: which operation of its series; LULL_NONE: the next. RECV_POST,
                        RECV, CANCEL, FREE where posts matter: which post, or LULL_NONE */
    uint8_t kind;    /* enum lull_step_kind */
    uint8_t op;      /* of the step; SEND_DONE: the call's */
    uint8_t flags;   /* enum note_flags */
    uint8_t posts;   /* receives that were posted since the note before */
};

enum note_flags {
    NOTE_MOVES = 1,       /* time up to `kept` passes first */
    NOTE_WAITS = 2,       /* outside of calls: an operation waits for itself */
    NOTE_REQUEST = 4,     /* a message or collective operation that does not block */
    NOTE_LOST = 8,        /* CALL_END: nothing of the call was recorded */
    NOTE_SENDS = 16,      /* CALL_END: the call waited for sends */
    NOTE_ROOT = 64,       /* COLLECTIVE_*: its process is the root between two groups */
    NOTE_SYNCHRONOUS = 32 /* SEND: is over when its receive has begun */
};

enum { NOTES_OF_BLOCK = 25 };

struct note_block {
    struct note_block *next;
    struct note notes[NOTES_OF_BLOCK];
};

struct note_pool {
    struct note_block *free;
    size_t queued; /* notes in all queues */
};

/* Notes from `first` to `last`. Of a process with several threads those from `middle` on are not
 * yet in order with those of the others. */
struct note_queue {
    struct note_block *first, *middle, *last;
    uint8_t first_at, middle_at, last_at;
};

/* A place for one more note; NULL: no memory. */
static inline struct note *lull_notes_push(struct note_pool *pool, struct note_queue *queue)
{
    if (!queue->last || queue->last_at == NOTES_OF_BLOCK) {
        struct note_block *block = pool->free;
        if (block)
            pool->free = block->next;
        else if (!(block = malloc(sizeof *block)))
            return NULL;
        block->next = NULL;
        if (queue->last) {
            queue->last->next = block;
            if (queue->middle == queue->last && queue->middle_at == NOTES_OF_BLOCK) {
                queue->middle = block;
                queue->middle_at = 0;
            }
        } else {
            queue->first = queue->middle = block;
            queue->first_at = queue->middle_at = 0;
        }
        queue->last = block;
        queue->last_at = 0;
    }
    pool->queued++;
    return &queue->last->notes[queue->last_at++];
}

static inline bool lull_notes_empty(const struct note_queue *queue)
{
    return !queue->last;
}

/* The first note; the queue is not empty. */
static inline struct note *lull_notes_front(const struct note_queue *queue)
{
    return &queue->first->notes[queue->first_at];
}

/* Whether the first note is behind the middle, or there is none. */
static inline bool lull_notes_at_middle(const struct note_queue *queue)
{
    return !queue->last || (queue->first == queue->middle && queue->first_at == queue->middle_at);
}

/* The first note from the middle on, or NULL. */
static inline struct note *lull_notes_middle(const struct note_queue *queue)
{
    if (!queue->last || (queue->middle == queue->last && queue->middle_at == queue->last_at))
        return NULL;
    return &queue->middle->notes[queue->middle_at];
}

static inline void lull_notes_advance_middle(struct note_queue *queue)
{
    if (++queue->middle_at == NOTES_OF_BLOCK && queue->middle->next) {
        queue->middle = queue->middle->next;
        queue->middle_at = 0;
    }
}

static inline void lull_notes_give_back(struct note_pool *pool, struct note_queue *queue)
{
    struct note_block *block = queue->first;
    queue->first = block->next;
    queue->first_at = 0;
    if (queue->middle == block) {
        queue->middle = queue->first;
        queue->middle_at = 0;
    }
    block->next = pool->free;
    pool->free = block;
    if (!queue->first)
        *queue = (struct note_queue){0};
}

/* Blocks at the front of which nothing is left. */
static inline void lull_notes_tidy(struct note_pool *pool, struct note_queue *queue)
{
    while (queue->first && (queue->first == queue->last ? queue->first_at == queue->last_at
                                                        : queue->first_at == NOTES_OF_BLOCK))
        lull_notes_give_back(pool, queue);
}

static inline void lull_notes_pop(struct note_pool *pool, struct note_queue *queue)
{
    pool->queued--;
    queue->first_at++;
    lull_notes_tidy(pool, queue);
}

#endif
