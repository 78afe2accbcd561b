/* Simulated patterns written as tapes, and their replays, for tests. What fails ends the test with
 * a message. */
#ifndef LULL_TESTS_SUPPORT_REPLAY_CASE_H
#define LULL_TESTS_SUPPORT_REPLAY_CASE_H

#include "study/replay/fixes.h"
#include "study/runs.h"

/* Messages that hold nobody back: replays of simulated runs are exact to the ns. */
#define REPLAY_CASE_NETWORK "hockney:latency=3us,bandwidth=1GB/s,eager=inf"

struct replay_case {
    struct lull_arena *arena;
    struct lull_notices notices;
    struct lull_runs runs;
    struct lull_network network; /* as above, with the nodes of the run */
};

/* What is simulated: specs, or NULL; delays as for --delay, separated by blanks. */
struct replay_case_wish {
    const char *pattern, *noise, *delays;
    uint64_t seed;
};

/* Simulates; with a path, also writes a tape there. Returns the runtime in ns. */
int64_t replay_case_simulate(const struct replay_case_wish *wish, const char *path);

/* Opens and analyses a run. */
void replay_case_open(struct replay_case *replay, const char *path);
void replay_case_close(struct replay_case *replay);

/* How long the run takes with each of the what-ifs on the network of the simulation (`exact`) or on
 * that of its messages; the unchanged replay is returned. */
int64_t replay_case_fixes(const struct replay_case *replay,
                          const struct lull_what_if_options *what_ifs, uint32_t n, bool exact,
                          unsigned workers, int64_t *ret_runtimes);
/* One of them. */
int64_t replay_case_fix(const struct replay_case *replay,
                        const struct lull_what_if_options *what_if);

#endif
