/* Patience: how a member waits that looks for mail again and again. It looks at once at first, then
 * sleeps longer and longer, as another member may need the core. */
#ifndef LULL_TEAM_PATIENCE_H
#define LULL_TEAM_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct lull_patience {
    unsigned at_once; /* so many times it looks at once */
    unsigned looks;   /* since it was renewed ... */
    int64_t nap;      /* ... and how long it sleeps next, ns; 0: not yet */
    int64_t since; /* since when it has had nothing to do, ns of the monotonic clock; 0: has not */
};

/* Something has come. */
void lull_patience_renew(struct lull_patience *patience);

/* Whether who has nothing to do, as `settled` says, has had nothing for so long that it is worth a
 * word: most are woken sooner. */
bool lull_patience_is_worth_a_word(struct lull_patience *patience, bool settled);

/* Nothing has come: how long to wait for it, in ns; 0: it looks at once. */
int64_t lull_patience_lose(struct lull_patience *patience);

/* Sleeps so long, or lets another member have the core. */
void lull_patience_wait(int64_t ns);

#endif
