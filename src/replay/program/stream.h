/* From the items of one thread to operations. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_STREAM_H
#define LULL_REPLAY_PROGRAM_STREAM_H

#include "replay/program/items.h"
#include "replay/program/lost.h"
#include "replay/replay.h"
#include "replay/unreceived.h"

#include <pthread.h>

struct rooted; /* groups.c */

/* What the streams of a replay share. */
struct lull_replay {
    const struct lull_trace *trace;
    struct lull_replay_options options;
    uint32_t *ranks; /* [n_processes]: rank in the program, or LULL_NONE */
    uint32_t n_ranks, n_streams;
    uint32_t *first_stream;              /* [n_ranks + 1] */
    uint32_t *locations;                 /* [n_streams] */
    uint32_t *meets;                     /* [n_ranks]: how many threads meet at forks and joins */
    struct lull_replay_stream **streams; /* [n_streams] */
    struct lull_survey *own_survey;      /* NULL: the caller has one */
    const struct lull_survey *survey;
    uint32_t eager;              /* of the network's parameters */
    const struct rooted *rooted; /* [n_rooted]: groups with a root, see groups.h */
    uint32_t n_rooted;
    pthread_mutex_t lock; /* of these two, which are made when they are needed: */
    struct lull_lost *lost;
    struct lull_unreceived *unreceived;
};

struct lull_replay_stream;

lull_status lull_replay_stream_open(struct lull_replay *replay, uint32_t index,
                                    struct lull_replay_stream **ret_stream, struct lull_error *err);
/* Whether a delay of the disturbance, by its index, has come. */
bool lull_replay_stream_was_delayed(const struct lull_replay_stream *stream, uint32_t delay);
void lull_replay_stream_close(struct lull_replay_stream *stream); /* NULL is allowed */
/* As `next` of a program's class. */
lull_status lull_replay_stream_next(struct lull_replay_stream *stream, struct lull_op *ops,
                                    uint32_t room, uint32_t *ret_count, struct lull_error *err);

#endif
