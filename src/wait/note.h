/* Notes: what of a step matters here; internal to the room. */
#ifndef LULL_WAIT_NOTE_H
#define LULL_WAIT_NOTE_H

#include "activity/pass.h"

enum wait_note_kind {
    NOTE_WORK, /* value: ns outside of calls; region: of the user, or LULL_NONE; op: 1 in MPI */
    NOTE_CALL, /* calls, one behind the other, that need nothing: time of their end; value: that of
                  their begin; op: enum lull_call of the last */
    NOTE_CALL_BEGIN, /* time; region; op: enum lull_call */
    NOTE_CALL_END,   /* time; lost: what should have been recorded was not */
    NOTE_SEND,       /* time; channel; op: enum lull_send_mode; value: the request; large */
    NOTE_SEND_CALL,  /* a call that does nothing but send a message, for whose receive it does not
                        wait: time, channel and op as of NOTE_SEND; call; its region as root; value:
                        how long before the time it began, and how long behind it ended, each in 32
                        bits */
    NOTE_SEND_DONE,  /* time; value: the request */
    NOTE_RECEIVE,    /* time; channel; value: the request */
    NOTE_POST,       /* time; comm, later the queue as channel; root: from whom; tag; value */
    NOTE_BEGIN,      /* of a collective operation that does not block: time; comm; op; value: the
                        request; root */
    NOTE_COLLECTIVE, /* it ends: the same; value LULL_NO_REQUEST: it blocks */
    NOTE_END         /* of the location */
};

struct wait_note {
    int64_t time;
    uint64_t value;
    union {
        uint32_t region, channel, comm;
    };
    int32_t root; /* process index, or LULL_ANY; of NOTE_SEND_CALL a region */
    union {
        int32_t tag;
        uint32_t
            number; /* lane.c: of a message in its channel, of a collective operation; else 0 */
    };
    uint8_t kind, op;
    union {
        bool lost;
        uint8_t call; /* enum lull_call */
    };
    union {
        bool large; /* a send may wait for its receive */
        bool moves; /* a collective operation: this process sends or receives something in it, which
                       between groups tells the root from the rest of its group */
    };
};

/* Where a location's steps are read. */
struct wait_reading {
    bool posts; /* those of receives are wanted */
    bool in_call;
    bool operations; /* of this call there are some */
};

enum { NOTES_OF_BLOCK = 30 };

struct wait_note_block {
    struct wait_note_block *next;
    struct wait_note notes[NOTES_OF_BLOCK];
};

struct wait_note_queue {
    struct wait_note_block *first, *last;
    uint8_t first_at, last_at;
};

/* False: no memory. */
bool lull_wait_notes_push(struct wait_note_queue *queue, const struct wait_note *notes,
                          size_t count);
/* NULL: there is none. It stays where it is until it is dropped. */
static inline const struct wait_note *lull_wait_notes_first(const struct wait_note_queue *queue)
{
    if (!queue->first || (queue->first == queue->last && queue->first_at == queue->last_at))
        return NULL;
    return &queue->first->notes[queue->first_at];
}
void lull_wait_notes_drop(struct wait_note_queue *queue); /* the first; there is one */
void lull_wait_notes_free(struct wait_note_queue *queue);

/* Whether the send of a note may wait for its receive, in a call of that kind, or LULL_CALL_OTHER.
 */
bool lull_wait_may_wait(const struct wait_note *send, uint8_t call);

/* `notes` has room for as many as there are steps; returns how many there are. */
size_t lull_wait_notes_of_steps(struct wait_reading *reading, const struct lull_step *steps,
                                size_t count, struct wait_note *notes);

#endif
