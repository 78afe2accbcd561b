/* What a survey keeps. Internal to it: survey.c fills it, survey_flow.c brings it from member to
 * member of a team. */
#ifndef LULL_REPLAY_SURVEY_STATE_H
#define LULL_REPLAY_SURVEY_STATE_H

#include "base/hash.h"
#include "replay/polls.h"
#include "replay/program/barriers.h"
#include "replay/program/clocks.h"
#include "replay/survey.h"

#include <pthread.h>
#include <stdatomic.h>

/* The roots of the operations on one communicator. */
struct lull_survey_roots {
    uint32_t *processes;
    size_t count, capacity;
};

/* The master of a process on its way. */
struct lull_survey_visitor {
    int64_t entered;          /* the collective operation that it is in */
    struct lull_hash numbers; /* by communicator: its blocking operations so far */
};

/* What a thread did with its requests. */
struct lull_survey_requests {
    uint64_t posted, received;
    bool cancelled;
};

/* A thread that the program made. */
struct lull_survey_life_key {
    uint64_t process, number;
};

struct lull_survey {
    const struct lull_trace *trace;
    uint32_t application, n_processes;    /* of the application */
    struct lull_survey_visitor *visitors; /* these three by process of the trace */
    struct lull_passages *passages;
    int64_t *shifts;
    pthread_mutex_t lock;                  /* of roots, lives and barriers */
    struct lull_survey_roots *roots;       /* [n_comms] */
    struct lull_survey_requests *requests; /* by location */
    atomic_bool completes_receives, completes_sends;
    bool makes_threads;     /* the program may */
    struct lull_hash lives; /* struct lull_survey_life_key -> enum lull_life, several */
    struct lull_barriers barriers;
    bool *meets;              /* by location */
    struct lull_polls *polls; /* NULL: the program does not query */
};

/* The operation with this number has this root. False: there is no memory. */
bool lull_survey_put_root(struct lull_survey_roots *roots, size_t number, uint32_t process);

#endif
