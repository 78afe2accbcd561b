/* SPDX-License-Identifier: BSD-3-Clause */
/* Replay: a measured run as a program (sim/program.h, class "trace").
 *
 * Ranks are the processes of one application in their order. A process has a stream for its master
 * thread, and one for each other thread that communicates; these threads meet (SYNC) when the
 * master forks and joins. A thread that the program makes itself, where that is recorded, has a
 * stream, too: it begins when it is made, a join waits for its end, and a barrier for all that come
 * to it; such waits last at least as long as measured.
 *
 * Device streams are streams, too, where that is asked for (program/devices.h). A replay without them keeps the
 * waits of threads for devices as measured.
 *
 * What is not MPI becomes COMPUTE (not scaled: one-sided operations, I/O, the tracer's flush, and waits
 * for devices).
 * Sends, receives, waits and collective operations become what they were:
 *  - a receive takes the message that it took in the trace, even if it was posted with wildcards;
 *  - a wait, or a test that succeeded, waits for the requests that it completed;
 *  - Probe takes no time, and neither do calls that wait for nobody (unless `keep_calls` says
 *    otherwise);
 *  - a test or Iprobe that found nothing is such a call, too, unless the next call tests or waits
 *    again before the program has computed for as long, and the place in the program waits
 *    (survey.h): then it is part of a wait, which ends when what it waits for is there;
 *  - operations with MPI_PROC_NULL do nothing, neighbourhood collectives and the freeing of
 *    communicators wait for nobody, the making of communicators is a barrier.
 *
 * A stream is read ahead to the completion of a posted receive, to know what the receive will take.
 * At most LULL_REPLAY_AHEAD operations wait for that; a receive that completes later is posted when
 * it completes. Memory: what is in flight, and this read-ahead.
 *
 * Clocks that contradict each other are set right first (replay/survey.h): a process whose clock is
 * behind begins later. The time behind the last event of a thread counts (replay/ideal/ideal.h).
 *
 * Traces differ in what they hold. Where receives do not say what they received, the sends decide
 * (replay/program/lost.h). A wait of which nothing was recorded is taken to be for the oldest send,
 * MPI_Waitall for all sends. */
#ifndef LULL_REPLAY_REPLAY_H
#define LULL_REPLAY_REPLAY_H

#include "activity/reading.h"
#include "replay/survey.h"
#include "sim/disturbance.h"
#include "sim/network/network.h"
#include "sim/program.h"
#include "trace/trace.h"

#define LULL_REPLAY_AHEAD 16384

struct lull_device_change;
struct lull_excerpt; /* replay/excerpt.h */

/* A computation on its way into the program. */
struct lull_replay_burst {
    uint32_t stream, location;
    uint32_t region;    /* innermost of the user, or LULL_NONE */
    uint8_t mark;       /* of the innermost marked region; 0: in none */
    bool fixed;         /* no faster processor shortens it (program/items.h) */
    uint32_t phase;     /* how many collective operations of all processes, in which all wait for
                           all, come before it */
    uint32_t ordinal;   /* its number among the bursts of this phase */
    uint32_t execution; /* in which of the master's outermost parallel regions it lies, counted from
                           0 for each process; LULL_NONE: in none */
    int64_t begin, end; /* measured */
    int64_t ns;         /* its length; less than end - begin if it was interrupted */
};

/* The execution in which a burst lies that comes after so many forks and joins of the master. */
static inline uint32_t lull_replay_execution(uint32_t meets)
{
    return meets % 2 ? meets / 2 : LULL_NONE;
}

/* Which of the calls that wait for nobody take as long as they took in the run; others take no
 * time. */
enum lull_replay_keep {
    LULL_KEEP_NONE,
    LULL_KEEP_OTHERS, /* that move no data: Init, Comm_rank ...; for networks whose messages occupy
                         the processor */
    LULL_KEEP_ALL     /* Isend and Irecv, too, and blocking sends that are eager */
};

struct lull_replay_options {
    /* What is replayed. Its windows have one interval, the same for all processes: what lies outside takes no
     * time. If the run goes on behind it, threads end with the call that they are in at its end, and the program
     * is unfinished. Of its range alone can streams be run, as far as nothing need be found in the events of other
     * processes. The reading is copied, the windows are to live as long as the program; the other members are not
     * looked at. NULL: as in activity/reading.h. */
    const struct lull_reading *reading;
    bool devices; /* device streams take part, where the survey knows what was submitted to them */
    const struct lull_device_change
        *change;       /* of devices (program/devices.h); NULL: they are as measured */
    uint8_t exchanges; /* enum lull_exchange_cost (program/devices.h) */
    const bool
        *callers; /* [n_locations]: threads that communicate beside the masters; NULL: none */
    const uint8_t *marks; /* [n_regions]: regions whose time comes in bursts of its own, with a mark
                             > 0; NULL: none */
    bool pieces;          /* a COMPUTE for every stretch of time, whatever its length, see
                             lull_replay_measured; for users that map measured to simulated time */
    uint8_t keep_calls;   /* enum lull_replay_keep */
    bool eager_sends; /* no send waits for its receive; LULL_KEEP_ALL still follows the network */
    const struct lull_network *network; /* with LULL_KEEP_ALL: whose eager limit counts; NULL: none
                                           is known */
    const struct lull_disturbance *disturbance; /* noise and delays that masters have besides;
                                                   NULL: none */
    /* Returns how long a burst is to be; NULL: as measured. Called for the bursts of a stream in
     * order, each time the program runs. */
    int64_t (*length)(void *context, const struct lull_replay_burst *burst);
    void *context;
    /* Instead of the trace; usable, and alive as long as the program. Masters alone have streams
     * then, devices take no part, and each epoch of the excerpt ends with a MARK, which counts them
     * from 0. NULL: the trace is read. */
    const struct lull_excerpt *excerpt;
    /* Of the same application, concluded, and alive as long as the program; NULL: a pass is made for
     * it when the replay is opened. */
    const struct lull_survey *survey;
};

lull_status lull_replay_open(const struct lull_trace *trace,
                             const struct lull_replay_options *options,
                             struct lull_program **ret_program, struct lull_error *err);

/* For a COMPUTE of a replay: when it was measured. */
void lull_replay_measured(const struct lull_op *op, int64_t *ret_begin, int64_t *ret_end);

/* Whether a stream is that of the copies of a device stream, whose other operations are on another one (program/devices.h).
 */
bool lull_replay_is_of_copies(const struct lull_program *program, uint32_t stream);

/* A replay of the trace has no more streams. */
uint32_t lull_replay_most_streams(const struct lull_trace *trace);

/* Whether a stream is that of a master thread. */
bool lull_replay_is_master(const struct lull_program *program, uint32_t stream);

/* After a simulation to the end: whether a delay of the disturbance, by its index, has come. False
 * also if its rank is not in the range of the options. */
bool lull_replay_was_delayed(const struct lull_program *program, uint32_t delay);

/* How many ranks the processes in front of one have. */
uint32_t lull_replay_ranks_before(const struct lull_program *program, uint32_t process);

/* The location of a stream, and its process. */
uint32_t lull_replay_location(const struct lull_program *program, uint32_t stream);
uint32_t lull_replay_process(const struct lull_program *program, uint32_t stream);

#endif
