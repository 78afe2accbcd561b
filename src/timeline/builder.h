/* SPDX-License-Identifier: BSD-3-Clause */
/* A timeline while its run is read: what each file of the room adds up. Internal to the room;
 * memory as timeline.h says. */
#ifndef LULL_TIMELINE_BUILDER_H
#define LULL_TIMELINE_BUILDER_H

#include "timeline/timeline.h"

#include "base/hash.h"
#include "team/team.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- builder.c: rows ----------------------------------------------------------------------- */

/* Rows, leaves, parties, and which rows have fine cells. */
struct lull_timeline_layout {
    uint32_t *fine_rows; /* the lowest rows with fine cells, in order */
    uint32_t n_fine_rows;
    uint32_t *fine_of_leaf; /* [n_leaves]: index into fine_rows */
    uint32_t *leaf_of;      /* [n_locations of the trace] or LULL_NONE */
    uint32_t *party_of;     /* [n_processes of the trace] or LULL_NONE */
};

/* ---- grid.c: cells ------------------------------------------------------------------------- */

/* The fine cells of a row for one activity. A row of one leaf has ns in 32 bits if bins are short
 * enough, which takes a third of the memory. Other rows have, for each bin, the ns of steps that
 * fill only part of it, and the number of leaves that spend all of it on the activity. These
 * numbers are kept as changes from bin to bin, so that a long step costs no more than a short one.
 */
struct lull_timeline_plane {
    uint32_t *narrow;        /* [2^fine], ns; NULL: the other two are used, which else are NULL */
    _Atomic int64_t *parts;  /* [2^fine], ns; after the conclusion all of the cell */
    _Atomic int32_t *wholes; /* [2^fine + 1]: change of the number of leaves */
};
struct lull_timeline_fine_row {
    _Atomic(struct lull_timeline_plane *) planes[LULL_STEP_ACTIVITIES];
    bool shared; /* it has several leaves, whose workers may add at the same time */
    bool narrow; /* its planes are narrow */
};
/* The fine and the coarse bin that a leaf is in now, with its sums of the fine one. */
struct lull_timeline_pen {
    uint32_t bin, used; /* used: mask of activities with a sum */
    int64_t bin_end;
    int64_t sums[LULL_STEP_ACTIVITIES]; /* ns */
    uint32_t coarse_bin;
    int64_t coarse_end;
};
struct lull_timeline_grid {
    const struct lull_timeline *timeline;
    struct lull_timeline_layout layout;
    struct lull_timeline_fine_row *fine;      /* [layout.n_fine_rows] */
    int64_t *(*coarse)[LULL_STEP_ACTIVITIES]; /* [n_leaves], [2^COARSE]; NULL: leaves are fine */
    struct lull_timeline_pen *pens;           /* [n_leaves] */
    int64_t *lengths;                         /* [2^fine]: of bins */
};
bool lull_timeline_grid_create(struct lull_timeline *timeline,
                               const struct lull_timeline_layout *layout);
void lull_timeline_grid_destroy(struct lull_timeline_grid *grid); /* NULL is allowed */
/* Time of a leaf inside the axis; begins where the time before ended. False: no memory.
 */
bool lull_timeline_grid_add(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                            int64_t begin, int64_t end);
bool lull_timeline_grid_end(struct lull_timeline_grid *grid, uint32_t leaf);
/* From member to member of a team, before the conclusion: coarse cells of a leaf, and all fine ones
 * that were filled, to which the first adds. */
bool lull_timeline_grid_put_leaf(const struct lull_timeline_grid *grid, uint32_t leaf,
                                 struct lull_flow *flow);
bool lull_timeline_grid_get_leaf(struct lull_timeline_grid *grid, uint32_t leaf,
                                 struct lull_flow *flow);
bool lull_timeline_grid_put(const struct lull_timeline_grid *grid, struct lull_flow *flow);
bool lull_timeline_grid_get(struct lull_timeline_grid *grid, struct lull_flow *flow);
void lull_timeline_grid_conclude(struct lull_timeline_grid *grid); /* behind the pass, once */

/* ---- grid.c: curves ------------------------------------------------------------------------ */

/* What was counted from `begin` to `end`, taken as spread evenly over that time. */
struct lull_timeline_amount {
    int64_t begin, end; /* begin < end */
    int64_t value;
};
/* Amounts by time; each piece but the last one holds `per_piece` of them. */
struct lull_timeline_curve {
    struct lull_timeline_amount *pieces; /* of malloc */
    size_t capacity;
    uint32_t count, per_piece, in_last;
};
/* The most pieces of a curve of each leaf; 0: of so many leaves none are kept. */
uint32_t lull_timeline_curve_room(uint32_t n_leaves);
/* Behind those before. False: no memory. */
bool lull_timeline_curve_add(struct lull_timeline_curve *curve, uint32_t room,
                             const struct lull_timeline_amount *amount);
double lull_timeline_curve_between(const struct lull_timeline_curve *curve, int64_t from,
                                   int64_t to);

/* ---- grid.c: counters ---------------------------------------------------------------------- */

enum { LULL_TIMELINE_CURVES = LULL_TIMELINE_COUNTS + 1 /* the last one: useful ns */ };

struct lull_timeline_tally {
    uint32_t counters[LULL_TIMELINE_COUNTS]; /* of the trace, or LULL_NONE */
    uint64_t *(*bins)[LULL_TIMELINE_COUNTS]; /* [n_leaves], [2^COARSE]; NULL: nothing yet */
    struct lull_timeline_curve (*curves)[LULL_TIMELINE_CURVES]; /* [n_leaves]; NULL: not kept */
    uint32_t room;                                              /* of a curve */
    uint32_t n_leaves;
};
bool lull_timeline_tally_create(struct lull_timeline_tally *tally, struct lull_timeline *timeline);
void lull_timeline_tally_release(struct lull_timeline_tally *tally);
/* A READING of a leaf. False: no memory. */
bool lull_timeline_tally_add(struct lull_timeline_tally *tally,
                             const struct lull_timeline *timeline, uint32_t leaf,
                             const struct lull_step *reading);
/* Useful time of a leaf inside the axis. False: no memory. */
bool lull_timeline_tally_useful(struct lull_timeline_tally *tally, uint32_t leaf, int64_t begin,
                                int64_t end);
/* All of a leaf, from member to member of a team. */
bool lull_timeline_tally_put(const struct lull_timeline_tally *tally, uint32_t leaf,
                             struct lull_flow *flow);
bool lull_timeline_tally_get(struct lull_timeline_tally *tally, uint32_t leaf,
                             struct lull_flow *flow);

/* ---- recorder.c ---------------------------------------------------------------------------- */

/* The steps of one leaf. */
struct lull_timeline_recorder {
    struct lull_timeline_step now; /* the step that goes on, and ... */
    int64_t began;                 /* ... when it began */
    bool open;                     /* there is one */
    uint64_t count;                /* of all steps that have ended */
    struct lull_timeline_step *all;
    size_t n_all, all_capacity;
    int64_t all_began;
    struct lull_timeline_step *ring;   /* [ring size]: the last steps; NULL: none yet */
    uint64_t n_ring;                   /* that were ever put there */
    struct lull_timeline_step *around; /* [2 x ring size]: those around the longest wait */
    uint32_t n_around, behind;         /* `behind`: how many steps behind that wait are to come */
    int64_t around_began;
    struct lull_timeline_place waits[8]; /* the longest first */
    uint32_t n_waits;
};
struct lull_timeline_recording {
    struct lull_timeline_recorder *recorders; /* [n_leaves] */
    uint32_t n_leaves, ring_size;             /* a power of two */
    uint64_t most;
    atomic_uint_fast64_t count;
    atomic_bool over; /* more than `most` */
};
bool lull_timeline_recording_create(struct lull_timeline_recording *recording, uint32_t n_leaves,
                                    uint64_t most);
void lull_timeline_recording_release(struct lull_timeline_recording *recording);
/* A span of a leaf inside the axis. False: no memory. */
bool lull_timeline_record(struct lull_timeline_recording *recording, uint32_t leaf,
                          const struct lull_timeline_step *step, int64_t began);
bool lull_timeline_record_end(struct lull_timeline_recording *recording, uint32_t leaf);
/* From member to member of a team: the longest waits of a leaf, with all of its steps or those
 * around the longest. */
bool lull_timeline_record_put(const struct lull_timeline_recording *recording, uint32_t leaf,
                              bool all_steps, struct lull_flow *flow);
bool lull_timeline_record_get(struct lull_timeline_recording *recording, uint32_t leaf,
                              bool all_steps, struct lull_flow *flow);
/* Behind the pass: pieces and places. */
lull_status lull_timeline_record_conclude(struct lull_timeline_recording *recording,
                                          struct lull_timeline *timeline, struct lull_arena *arena,
                                          struct lull_error *err);

/* ---- traffic.c: messages of leaves --------------------------------------------------------- */

/* One direction of a channel at a leaf. */
struct lull_timeline_link {
    uint64_t before; /* messages so far, also outside of the windows */
    uint64_t count, bytes;
    int64_t wait_ns;
    size_t gap; /* index + 1 of its last note of a gap; 0: none */
};
/* Of a message, or of a gap: of `bytes` messages outside of the windows that come before the window
 * which begins at `time`. Where several threads use a channel, gaps are needed to number its
 * messages. */
struct lull_timeline_note {
    int64_t time;
    uint64_t bytes, number; /* of the message on its channel, from 0; LULL_TIMELINE_GAP */
    uint32_t channel;       /* of the leaf */
};
#define LULL_TIMELINE_GAP UINT64_MAX
struct lull_timeline_notes {
    struct lull_timeline_note *items;
    size_t count, capacity;
};
struct lull_timeline_arrival {
    int64_t time;
    uint32_t channel;
};
struct lull_timeline_post {
    struct lull_timeline_link *links[2]; /* [channel]: sent, received */
    size_t capacity[2];
    uint32_t n_links[2];
    struct lull_timeline_notes notes[2];
    struct lull_channel *channels; /* [n_channels]: copied at the end, where notes need them */
    uint32_t n_channels;
    struct lull_timeline_arrival *arrivals; /* in the span that goes on */
    size_t n_arrivals, arrivals_capacity;
};
struct lull_timeline_totals { /* of one worker */
    uint64_t sizes[LULL_TIMELINE_SIZES];
    struct lull_message_sums
        sums[2]; /* by side, inside the windows; the largest of the whole run */
};
struct lull_timeline_mail {
    const struct lull_timeline *timeline;
    const struct lull_timeline_layout *layout;
    const struct lull_windows *windows;
    struct lull_timeline_post *posts;     /* [n_leaves] */
    struct lull_timeline_totals **totals; /* [workers] */
    unsigned workers;
    uint64_t most;
    atomic_uint_fast64_t count;
    atomic_bool over;
    pthread_mutex_t lock; /* of the traffic */
    struct lull_hash pairs;
    struct lull_timeline_traffic *traffic;
    size_t n_traffic, traffic_capacity;
    bool has_lock;
};
bool lull_timeline_mail_create(struct lull_timeline_mail *mail, unsigned workers);
void lull_timeline_mail_release(struct lull_timeline_mail *mail);
/* A SEND or RECV of a leaf. False: no memory. */
bool lull_timeline_mail_message(struct lull_timeline_mail *mail, unsigned worker, uint32_t leaf,
                                const struct lull_step *step);
/* A span has ended: what waited in it is known. */
void lull_timeline_mail_span(struct lull_timeline_mail *mail, uint32_t leaf,
                             const struct lull_step *span);
bool lull_timeline_mail_end(struct lull_timeline_mail *mail, uint32_t leaf,
                            const struct lull_channels *channels);
/* From member to member of a team: the notes of a leaf, where those of all are kept; and all sums,
 * to which the first adds. */
bool lull_timeline_mail_put_leaf(const struct lull_timeline_mail *mail, uint32_t leaf,
                                 bool all_messages, struct lull_flow *flow);
bool lull_timeline_mail_get_leaf(struct lull_timeline_mail *mail, uint32_t leaf, bool all_messages,
                                 struct lull_flow *flow);
bool lull_timeline_mail_put(const struct lull_timeline_mail *mail, struct lull_flow *flow);
bool lull_timeline_mail_get(struct lull_timeline_mail *mail, struct lull_flow *flow);
lull_status lull_timeline_mail_conclude(struct lull_timeline_mail *mail,
                                        struct lull_timeline *timeline, struct lull_arena *arena,
                                        struct lull_error *err);

/* ---- traffic.c: messages with both ends ---------------------------------------------------- */

/* Joins the notes of all leaves to messages. */
lull_status lull_timeline_match(const struct lull_timeline_mail *mail,
                                struct lull_timeline *timeline, struct lull_arena *arena,
                                struct lull_error *err);

/* ---- builder.c: the builder ---------------------------------------------------------------- */

struct lull_timeline_builder {
    struct lull_timeline timeline;
    struct lull_timeline_layout layout;
    struct lull_timeline_tally tally;
    struct lull_timeline_recording recording;
    struct lull_timeline_mail mail;
    struct lull_arena *arena;
    _Atomic uint64_t activities; /* mask */
};

#endif
