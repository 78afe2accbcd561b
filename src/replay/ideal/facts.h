/* What the members of a team know at the end; internal to the room. */
#ifndef LULL_REPLAY_IDEAL_FACTS_H
#define LULL_REPLAY_IDEAL_FACTS_H

#include "replay/ideal/share.h"

/* A stream that waits, as who has not its share can tell of it. */
struct lull_blocked {
    bool any;
    uint8_t blocked; /* enum blocked */
    uint8_t op;
    int32_t tag;
    uint32_t process, source, comm;
    int64_t stopped_at;
};

struct lull_facts {
    uint64_t messages, collectives, unmatched_sends, steps;
    int64_t runtime, lost_ns;
    uint32_t lost; /* region */
    struct complaint complaint;
    struct lull_blocked blocked;
};

/* What comes behind is of later processes. */
void lull_facts_add(struct lull_facts *to, const struct lull_facts *more);
/* Which forms of calls have records, of any thread of any member. */
lull_status lull_facts_recorded(const struct lull_ideal *ideal, bool ret_recorded[FORMS_OF_CALLS],
                                struct lull_error *err);
/* The first has those of all. */
lull_status lull_facts_gather(const struct lull_ideal *ideal, struct lull_facts *facts,
                              struct lull_error *err);

#endif
