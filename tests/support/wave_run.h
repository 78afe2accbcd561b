/* A simulated pattern with its waves, for tests. */
#ifndef LULL_TESTS_SUPPORT_WAVE_RUN_H
#define LULL_TESTS_SUPPORT_WAVE_RUN_H

#include "sim/noise/noise.h"
#include "wave/wave.h"

struct wave_run {
    struct lull_arena *arena;
    struct lull_program *program;
    struct lull_network network;
    struct lull_wave_collector *collector;
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    struct lull_waves waves;
    struct lull_sim_result result;
};

/* What the run is to be; NULL and 0: nothing. `delays` as for --delay, separated by blanks. A
 * `program` is simulated instead of the pattern, which then is its name; it is closed with the run.
 */
struct wave_wish {
    const char *pattern, *network, *noise, *delays;
    struct lull_program *program;
    uint64_t seed;
    int64_t least;
};

/* Ends the test with a message where something fails. */
void wave_run_make(const struct wave_wish *wish, struct wave_run *ret_run);
/* Looks for its waves again, behind a change to its field. */
void wave_run_find(struct wave_run *run, const struct lull_wave_options *options);
void wave_run_free(struct wave_run *run);

#endif
