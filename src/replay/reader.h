/* One thread of a trace as a replay sees it: stretches of time that stay as they are, and MPI calls
 * with the records that belong to them. Internal to the room.
 *
 * Time is one of four things, by the rules of a breakdown (metrics/breakdown/breakdown.h):
 *  - burst: everything outside MPI, and MPI inside an OpenMP parallel region, whose length the
 * other threads decide as well;
 *  - fixed: I/O, one-sided and file operations of MPI, the tracer's flush: no faster processor and
 * no better network shortens it;
 *  - MPI: the rest; a replay finds out how long it takes;
 *  - off: not measured, or outside the analysed span of time. It takes no time in a replay.
 * So the bursts and fixed times of a master add up to the time that its breakdown has outside MPI,
 * plus one-sided and file operations. */
#ifndef LULL_REPLAY_READER_H
#define LULL_REPLAY_READER_H

#include "trace/scan.h"

/* What matters of a function of MPI, from its name. */
enum lull_replay_call {
    LULL_CALL_OTHER,
    LULL_CALL_SEND,  /* blocking */
    LULL_CALL_SSEND, /* blocking, synchronous */
    LULL_CALL_RECV,
    LULL_CALL_SENDRECV,
    LULL_CALL_ISEND,
    LULL_CALL_ISSEND,
    LULL_CALL_IRECV,
    LULL_CALL_WAIT, /* for one request; also Waitany, Waitsome */
    LULL_CALL_WAITALL,
    LULL_CALL_TEST,
    LULL_CALL_COLLECTIVE, /* blocking */
    LULL_CALL_ICOLLECTIVE,
    LULL_REPLAY_CALLS
};

enum lull_replay_item_kind {
    LULL_ITEM_BURST, /* from begin to end: ns, less than end - begin where some of it was off */
    LULL_ITEM_FIXED, /* likewise */
    LULL_ITEM_CALL_BEGIN,
    LULL_ITEM_CALL_END,
    LULL_ITEM_EVENT, /* a message, collective, transfer: usually inside a call */
    LULL_ITEM_FORK,  /* the master's outermost parallel region begins ... */
    LULL_ITEM_JOIN   /* ... ends; readers of other threads of the process tell it, too */
};

struct lull_replay_item {
    uint8_t kind;
    uint8_t call;    /* CALL_*: enum lull_replay_call */
    uint8_t mark;    /* BURST: of the innermost marked region, 0: in none */
    uint32_t region; /* BURST: innermost region of the user or LULL_NONE; CALL: the function */
    int64_t begin, end, ns;
    const struct lull_event *event; /* EVENT; valid until the next call of the reader */
};

/* What all readers of a trace share; made once. */
struct lull_replay_codes {
    struct region_use *regions; /* [n_regions] */
    const struct lull_trace *trace;
    int64_t from, to; /* the analysed span */
    bool pieces;      /* a BURST or FIXED for each stretch without a break, also of no length before
                         each call: for who needs to know when each happened. Otherwise one BURST and
                         one FIXED between two calls. */
    bool no_tail;     /* the time behind the last event of a thread does not count */
    const int64_t *shifts; /* [n_processes]: time before a process begins; NULL: none */
};

lull_status lull_replay_codes_create(const struct lull_trace *trace, struct lull_arena *arena,
                                     struct lull_replay_codes **ret_codes, struct lull_error *err);
/* Marks a region: time inside it (outside MPI) comes in BURSTs of their own, with its mark > 0. */
void lull_replay_codes_mark(struct lull_replay_codes *codes, uint32_t region, uint8_t mark);
enum lull_replay_call lull_replay_call_of(const struct lull_replay_codes *codes, uint32_t region);

struct lull_replay_reader;
lull_status lull_replay_reader_open(const struct lull_replay_codes *codes, uint32_t location,
                                    struct lull_replay_reader **ret_reader, struct lull_error *err);
/* The next items, in room for at least 16; 0: the end. */
lull_status lull_replay_reader_next(struct lull_replay_reader *reader,
                                    struct lull_replay_item *items, uint32_t room,
                                    uint32_t *ret_count, struct lull_error *err);
int64_t lull_replay_reader_now(const struct lull_replay_reader *reader); /* measured time */
void lull_replay_reader_close(struct lull_replay_reader *reader);        /* NULL is allowed */

#endif
