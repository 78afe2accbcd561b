/* One replay of a measured run, and the run that it makes. */
#ifndef LULL_STUDY_REPLAY_REPLAYED_H
#define LULL_STUDY_REPLAY_REPLAYED_H

#include "replay/warp/warp.h"
#include "replay/what_if/what_if.h"
#include "sim/network/network.h"
#include "team/division.h"

/* A replay and the run that it makes. */
struct lull_replayed {
    int64_t runtime; /* ns */
    uint64_t messages;
    struct lull_program *program;
    struct lull_warp *warp;   /* NULL: only the runtime was asked for */
    struct lull_trace *trace; /* the run through the warp; likewise */
    bool shared;              /* each member of the division has the run of its processes */
};

struct lull_replay_wish {
    uint32_t application;
    const bool *callers; /* replay/replay.h */
    const struct lull_network *network;
    const struct lull_survey *survey;
    uint8_t keep_calls; /* enum lull_replay_keep */
    /* Made with `run` as its pieces, of the part of this member where there is a division; NULL: as
     * measured. */
    struct lull_what_if *what_if;
    const struct lull_windows *windows;         /* replay/replay.h */
    const struct lull_disturbance *disturbance; /* replay/replay.h */
    bool run;                                   /* the run is wanted, not only its length */
    /* Makes a sink that follows the simulation, when the program is open; it lives as long as that.
     * Called again where one process has to simulate it alone. Not with `run`. NULL, or *ret_sink
     * is: nobody follows. */
    lull_status (*follow)(void *follower, const struct lull_program *program,
                          const struct lull_sim_sink **ret_sink, struct lull_error *err);
    void *follower;
    unsigned workers; /* threads of the simulation; 0: as many as pay */
    /* Of a team all of whose members simulate it, each its processes. NULL: this process does it
     * alone. */
    const struct lull_division *division;
    int64_t (*length)(void *context,
                      const struct lull_replay_burst *burst); /* replay/replay.h ... */
    void *context; /* ... of a thread as of any other; without what_if */
};

/* Ends with lull_replayed_close, after success only. With a division, by all members together:
 * fails where one of them has gone, and where only one process can simulate it, on all, it is not
 * `shared`, and nothing is there. */
lull_status lull_replayed_make(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                               struct lull_arena *arena, struct lull_replayed *ret_replayed,
                               struct lull_error *err);
void lull_replayed_close(struct lull_replayed *replayed);

/* What of the calls that wait for nobody keeps its length on a network (enum lull_replay_keep): on
 * the ideal one no call takes time, and where the network says what a message costs the processor,
 * it is not counted twice. */
uint8_t lull_replay_kept_on(const struct lull_network *network);

/* A network from what the user typed, with the nodes of the trace (NULL: only to check it). On the
 * ideal network collectives with a root wait for it alone, unless the spec says otherwise. */
struct lull_spec;
lull_status lull_replay_read_network(struct lull_spec *spec, const struct lull_trace *trace,
                                     uint32_t application, struct lull_arena *arena,
                                     struct lull_network *ret_network, struct lull_error *err);

#endif
