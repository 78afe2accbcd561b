#include "team/patience.h"

#include "base/clock.h"

#include <sched.h>
#include <time.h>

enum { FIRST_NAP_NS = 10000, LONGEST_NAP_NS = 500000, WORTH_A_WORD_NS = 200000 };

void lull_patience_renew(struct lull_patience *patience)
{
    patience->looks = 0;
    patience->nap = 0;
    patience->since = 0;
}

bool lull_patience_is_worth_a_word(struct lull_patience *patience, bool settled)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    if (!settled)
        patience->since = 0;
    else if (patience->since == 0)
        patience->since = now;
    return settled && now - patience->since >= WORTH_A_WORD_NS;
}

int64_t lull_patience_lose(struct lull_patience *patience)
{
    if (patience->looks < patience->at_once) {
        patience->looks++;
        return 0;
    }
    const int64_t nap = patience->nap;
    patience->nap = nap == 0 ? FIRST_NAP_NS : nap < LONGEST_NAP_NS ? nap + nap / 4 : nap;
    return patience->nap;
}

void lull_patience_wait(int64_t ns)
{
    const struct timespec span = {.tv_nsec = ns};
    if (ns > 0)
        nanosleep(&span, NULL);
    else
        sched_yield();
}
