/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps: what a measured thread did. The activity room makes them from events, and everything else
 * that asks what a thread did reads steps: the breakdown, the ideal runtime, replays.
 *
 * A step belongs to a location. What is guaranteed, whatever tracer the events come from:
 *
 * Order. The steps of a location come in order of non-decreasing time; a SPAN, STRETCH, PHASE or VISIT
 * counts at its end, when it is known. Between a CALL_BEGIN and its CALL_END stand the operations
 * of that call, in the order of the trace. Calls do not nest: MPI that is called by MPI belongs to
 * the outermost call. Operations that a tracer recorded outside of any call come as they are; their
 * region is LULL_NONE.
 *
 * Completeness. The SPANs of a location cover the whole run: the first begins at 0, each other one
 * begins where the one before ended, and the last ends with the run. The same holds for STRETCHes.
 * Every CALL_BEGIN has its CALL_END, every FORK its JOIN: what is open at the end of a cut trace
 * ends with the run. END is the last step of a location and always comes.
 *
 * Calls in short. CALL_BEGIN, CALL_END, RECV_POST and SEND_DONE are most of the steps of a program
 * that passes messages. A consumer that only follows the messages of masters asks for CALL instead
 * of these four. Then:
 *  - operations of a call have the kept time of its begin;
 *  - the next SEND, RECV, CANCEL, COLLECTIVE_END or CALL tells in `posts` how many receives were
 *    posted before it;
 *  - a CALL comes at the end of a master's call that had operations other than SENDs, or should
 *    have had operations, and at the end of every call of other threads;
 *  - a blocking collective operation has no COLLECTIVE_BEGIN.
 * The consumers of one pass must agree: if one of them wants CALLs, none may want CALL_BEGINs.
 *
 * Waits. The time of MPI_Wait, MPI_Test and their like is LULL_MPI_P2P, and LULL_MPI_COLLECTIVE where a
 * non-blocking collective operation completes in the call before another region is entered.
 *
 * Windows. Steps come from the whole run, but time outside of the analysed windows goes to
 * LULL_ACTIVITY_OUTSIDE, and SPANs are cut at the borders of windows. Calls and operations are not
 * cut; whoever wants only those of the windows looks at their times.
 *
 * Pauses. While the recorder was switched off, the activity is LULL_ACTIVITY_DISABLED. A call that
 * was open goes on; operations of the pause are missing. All the time of a device stream is such a pause,
 * whose operations are in its sums alone (lull_stream.summary).
 *
 * Devices. SUBMITs, DEPENDs and DEVICE_WAITs say what threads submit to devices and wait for there; PHASEs
 * say when streams ran it. In a pass with DEVICE_WAITs, STRETCHes end at them and at SUBMITs.
 *
 * Samples. A SAMPLE says in which code the thread was at a moment, and what the interpreter knows of
 * that moment: activity, innermost region, innermost region of the user, and whether the thread had a
 * lock: in a critical or ordered section, or one that a call had set (where the run tells when such locks
 * are given back; one that a test had set is not known). It changes nothing: all
 * other steps are the same with and without it. The samples whose activity is LULL_USEFUL divide the
 * useful time of a location among its code, in proportion to their weights. These are processor time
 * spent in the program: time without a core, and time in the kernel, has no samples.
 *
 * Threads. THREAD_CREATE, THREAD_BEGIN, THREAD_END and the THREAD_WAITs say how the threads of a
 * process wait for each other, where the program makes them itself (pthreads) and the recorder
 * tells it; SPANs and STRETCHes end at these steps. The creation of a thread comes before its
 * begin, and its end before the end of the wait for it. These steps come in pauses, too.
 *
 * The user's regions. USERs say how the innermost region of the user changes: which one is entered
 * and which one is left, so that who follows them knows all of the user's regions that are open, and
 * SPANs end there. A region that is entered again directly within itself is not told: there the
 * innermost one stays the same. Example: of main, which calls f, which calls f, which calls g, are
 * told the beginnings and ends of main, of one f, and of g.
 *
 * Crews. The threads of a process with several are a crew. CREWs say how they wait for each other:
 * at barriers, for locks, and for ends of threads, and what they did meanwhile. They come beside
 * the steps that they are made of (SPAN, FORK, JOIN, LOCK_ACQUIRE, LOCK_RELEASE and those of
 * threads), each when it is known, and so not in the order of time: that a thread came to a barrier
 * is perhaps told when it leaves it.
 * Example: a thread computes from 0 to 100, is in a barrier until 130, and computes until 150. That
 * is WORK until 100, ARRIVE at 100, SYNC until 130, LEAVE at 130, and WORK until 150.
 *
 * The kept time. `kept_ns` is how long the location has, up to `time` and inside the windows, done
 * what no faster network shortens: everything outside MPI, one-sided and file operations of MPI,
 * and MPI inside an OpenMP parallel region, whose length the other threads decide as well. Of the
 * time of a thread other than the master outside of parallel regions, two parts do not count: that
 * in which it was idle, and that before its begin. A pass in which nobody wants steps of MPI leaves
 * `kept_ns` 0 in FORK, JOIN and TICK. */
#ifndef LULL_ACTIVITY_STEP_H
#define LULL_ACTIVITY_STEP_H

#include "trace/trace.h"

#include <assert.h>

/* The kinds; behind each, the fields of struct lull_step that it uses. */
enum lull_step_kind {
    LULL_STEP_SPAN, /* a piece of time with one activity and one innermost region: `span` */

    LULL_STEP_STRETCH, /* neighbouring SPANs that are the same to a replay, in one. op: enum
                          lull_stretch; `span`: mark, and the user's region at its end */

    LULL_STEP_PHASE, /* a piece of time with one activity, whatever the regions: activity; `phase`. On
                        device streams one for each operation; region: that operation */

    LULL_STEP_CALL_BEGIN, /* a call of MPI begins: region; op */
    LULL_STEP_CALL_END,   /* it ends: region; op; call_began */

    LULL_STEP_SEND,      /* comm, channel; message: posted. request LULL_NO_REQUEST: blocking;
                            op: enum lull_send_mode, also where the call says it */
    LULL_STEP_SEND_DONE, /* message.request: a non-blocking send is complete */
    LULL_STEP_RECV_POST, /* comm or LULL_NONE; message; peer and tag may be LULL_ANY, bytes is the
                            size of the buffer or 0. No channel. */
    LULL_STEP_RECV,      /* comm, channel; message: complete, with the matched source and size */
    LULL_STEP_TEST,      /* message.request: tested, not complete */
    LULL_STEP_CANCEL,    /* message.request was cancelled */
    LULL_STEP_FREE,      /* message.request, a receive, was given up: it may still take a message,
                            but no RECV will follow */
    LULL_STEP_COLLECTIVE_BEGIN, /* comm or LULL_NONE; op: enum lull_collective; collective. Of a
                                   blocking operation only the time and collective.request hold */
    LULL_STEP_COLLECTIVE_END,   /* comm; op; collective */
    LULL_STEP_ONE_SIDED,        /* op: enum lull_rma; transfer */
    LULL_STEP_IO,               /* file or LULL_NONE; op: enum lull_io; transfer */

    LULL_STEP_CALL, /* the steps of a call in short, at its end (see above): region; op; call_began;
                       sends; posts */

    LULL_STEP_FORK, /* the location's outermost OpenMP parallel region begins: region or LULL_NONE;
                       forked */
    LULL_STEP_JOIN, /* it ends; region: the first that was known since the FORK, or LULL_NONE;
                       forked */

    LULL_STEP_SUBMIT, /* number: an operation that the thread submits to a device, in the call of the
                         device's runtime that has begun at `time` */
    LULL_STEP_DEPEND,      /* depend: an operation, which waits for another one */
    LULL_STEP_DEVICE_WAIT, /* the call of the device's runtime that has begun at `time` waits:
                              phase.number, phase.stream, as in the PHASE of a thread; a call that waits
                              for several streams has several */

    LULL_STEP_LOCK_ACQUIRE, /* number: the lock */
    LULL_STEP_LOCK_RELEASE,

    LULL_STEP_MARKER, /* marker; number: its value */

    LULL_STEP_SAMPLE, /* object or LULL_NONE: no file holds the code; sample; activity; region: the
                         innermost, or LULL_NONE */

    LULL_STEP_THREAD_CREATE, /* number: of the thread that is made, unique in its process */
    LULL_STEP_THREAD_BEGIN,  /* number: of the thread that lives in the location from here on; 0:
                                it is not known which thread made it. A location may hold several
                                threads, one after the other. */
    LULL_STEP_THREAD_END,    /* the same number: the thread has ended by itself */
    LULL_STEP_THREAD_WAIT_BEGIN, /* op: enum lull_thread_wait; meeting: the thread begins to wait
                                    for the THREAD_END with that number, or for the
                                    THREAD_WAIT_BEGINs of all others with that number */
    LULL_STEP_THREAD_WAIT_END,   /* the same: it goes on */

    LULL_STEP_CREW, /* how a thread waits for others of its process, see above: op: enum
                       lull_crew_kind */

    LULL_STEP_READING, /* counter; reading: what it counted, inside the windows, up to `time`;
                          activity: where the ledger adds it. Only in passes in which a consumer
                          wants the ledger */

    LULL_STEP_USER, /* the innermost region of the user changes: region, op (enum lull_user_op), see
                        above */
    LULL_STEP_VISIT, /* a region is left: region; `visit`. Of the regions in the pass's `visits` */
    LULL_STEP_TICK,  /* the time is a multiple of the pass's `tick`, within the run; only on threads
                        other than the master, and only inside parallel regions; region and forked
                        as in JOIN */
    LULL_STEP_END,   /* the location has ended, at the end of the run: last_time */
    LULL_STEP_KINDS
};

/* A set of kinds has 64 bits. */
#define LULL_STEP_MASK(kind) (UINT64_C(1) << (kind))
#define LULL_STEPS_OF_MPI                                                          \
    (LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) |   \
     LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_SEND_DONE) |        \
     LULL_STEP_MASK(LULL_STEP_RECV_POST) | LULL_STEP_MASK(LULL_STEP_RECV) |        \
     LULL_STEP_MASK(LULL_STEP_TEST) | LULL_STEP_MASK(LULL_STEP_CANCEL) |           \
     LULL_STEP_MASK(LULL_STEP_FREE) | LULL_STEP_MASK(LULL_STEP_COLLECTIVE_BEGIN) | \
     LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))
#define LULL_STEPS_OF_THREADS                                                             \
    (LULL_STEP_MASK(LULL_STEP_THREAD_CREATE) | LULL_STEP_MASK(LULL_STEP_THREAD_BEGIN) |   \
     LULL_STEP_MASK(LULL_STEP_THREAD_END) | LULL_STEP_MASK(LULL_STEP_THREAD_WAIT_BEGIN) | \
     LULL_STEP_MASK(LULL_STEP_THREAD_WAIT_END))
/* All kinds but CALL, CREW and PHASE, which say nothing that the others do not say, and DEVICE_WAIT,
 * which divides STRETCHes. */
#define LULL_STEPS_ALL                                                          \
    ((UINT64_MAX >> (64 - LULL_STEP_KINDS)) & ~LULL_STEP_MASK(LULL_STEP_CALL) & \
     ~LULL_STEP_MASK(LULL_STEP_CREW) & ~LULL_STEP_MASK(LULL_STEP_PHASE) &       \
     ~LULL_STEP_MASK(LULL_STEP_DEVICE_WAIT))
static_assert((int)LULL_STEP_KINDS <= 64, "a set of kinds has 64 bits");

/* In a pass with CALLs: when so many posted receives are not told yet, a RECV_POST tells them. */
enum { LULL_STEP_MOST_POSTS = 128 };

/* Activities of steps beyond those of enum lull_activity (trace/trace.h): the recorder was switched
 * off, and time outside of the windows. */
enum { LULL_ACTIVITY_DISABLED = LULL_ACTIVITIES, LULL_ACTIVITY_OUTSIDE, LULL_STEP_ACTIVITIES };

/* The functions of MPI, as far as analyses tell them apart. */
enum lull_call {
    LULL_CALL_OTHER,
    LULL_CALL_SEND,  /* blocking */
    LULL_CALL_SSEND, /* blocking, synchronous */
    LULL_CALL_BSEND, /* blocking, buffered */
    LULL_CALL_RECV,
    LULL_CALL_SENDRECV,
    LULL_CALL_ISEND,
    LULL_CALL_ISSEND,
    LULL_CALL_IBSEND,
    LULL_CALL_IRECV,
    LULL_CALL_START, /* of persistent requests, also MPI_Startall; and MPI_Isendrecv */
    LULL_CALL_WAIT,  /* for one request; also Waitany, Waitsome */
    LULL_CALL_WAITALL,
    LULL_CALL_TEST,
    LULL_CALL_PROBE, /* waits for a message that another call receives */
    LULL_CALL_IPROBE,
    LULL_CALL_REQUEST_FREE,
    LULL_CALL_COLLECTIVE, /* blocking */
    LULL_CALL_ICOLLECTIVE,
    LULL_CALL_FINALIZE, /* waits for all processes, and leaves no operation */
    LULL_CALLS
};

/* What a stretch of time is to a replay. */
enum lull_stretch {
    LULL_STRETCH_BURST,  /* kept: computation, and MPI inside of parallel regions */
    LULL_STRETCH_FIXED,  /* kept, but no faster processor shortens it: I/O, one-sided and file
                           operations of MPI, the tracer's flush */
    LULL_STRETCH_DEVICE, /* kept: a wait for a device; only in passes with DEVICE_WAITs */
    LULL_STRETCH_WAIT    /* not kept */
};

/* A CREW says one of these. `time` is when it happened, or until when it lasted; the other members,
 * beside region and activity, are those of `crew`. */
enum lull_crew_kind {
    LULL_CREW_WORK,   /* since when: began; activity; region: of the user, or else the innermost */
    LULL_CREW_REST,   /* the same, in a wait for what is not known */
    LULL_CREW_FORK,   /* it joins in a parallel region */
    LULL_CREW_ARRIVE, /* at a barrier: region; call: the outermost parallel region that it is in, or
                         LULL_NONE */
    LULL_CREW_ARRIVE_AT_END, /* at the end of a parallel region whose barrier is not told: region;
                                call likewise */
    LULL_CREW_SYNC,          /* in the barrier, or in a join: began */
    LULL_CREW_AT_END,        /* at such an end of a parallel region: began */
    LULL_CREW_HELD,          /* it had a lock: began; region as of WORK; number: the lock; call:
                                region of the construct, or LULL_NONE */
    LULL_CREW_LOCK_BEGIN,    /* it waits for a lock */
    LULL_CREW_CREATE,        /* number: of a thread that it makes */
    LULL_CREW_LIFE_BEGIN,    /* number: of the thread itself */
    LULL_CREW_LIFE_END,      /* the same */
    LULL_CREW_JOIN_BEGIN,    /* number: of the thread that it waits for */
    /* The following end a wait, and come after what others did at the same time. */
    LULL_CREW_LEAVE,    /* the barrier, or the end of a parallel region */
    LULL_CREW_LOCK_END, /* began; region as of WORK; number: the lock */
    LULL_CREW_JOIN_END
};

/* OUTERMOST: the region was not open already. COUNTED: it was entered inside a window. */
enum lull_visit_flags { LULL_VISIT_OUTERMOST = 1, LULL_VISIT_COUNTED = 2 };

enum lull_user_op { LULL_USER_ENTERED, LULL_USER_LEFT };

/* When the outermost parallel region that a location is in began. */
struct lull_forked {
    int64_t time; /* ns; LULL_NOT_FORKED: the location is in none */
    bool inside;  /* `time` lies inside a window */
};
#define LULL_NOT_FORKED INT64_MAX

struct lull_step {
    int64_t time; /* ns since the origin of the trace; SPAN, STRETCH, PHASE, VISIT: when it began */
    int64_t kept_ns; /* the kept time, see above; of SPANs and STRETCHes that at their end */
    uint8_t kind;    /* enum lull_step_kind */
    uint8_t op;      /* collective, one-sided or I/O operation; CALL_*: enum lull_call */
    union {
        uint8_t activity; /* SPAN, PHASE, READING, CREW, SAMPLE */
        uint8_t posts; /* in a pass with CALLs: receives posted since the last step with `posts` */
    };
    uint8_t parallel; /* 1: inside an OpenMP parallel region */
    uint32_t
        region; /* SPAN, SAMPLE: the innermost region or LULL_NONE; operations: that of the call they
                         belong to, or LULL_NONE */
    union {
        uint32_t comm;    /* index into trace->comms */
        uint32_t marker;  /* MARKER: index into trace->markers */
        uint32_t counter; /* READING: index into trace->counters */
        uint32_t file;    /* IO: index into trace->files */
        uint32_t object;  /* SAMPLE: index into trace->objects */
    };
    union {
        uint32_t channel; /* SEND, RECV: which of the location's channels (activity/channel.h) */
        int32_t peer; /* PHASE of a device stream: of an exchange, rank at the other end, or root;
                             below 0: none */
    };
    union {
        struct {
            int64_t end;
            uint32_t user; /* innermost region of the user, or LULL_NONE */
            uint8_t mark;  /* of the innermost marked region; 0: in none */
        } span;
        struct {
            int64_t end;
            uint64_t
                number; /* device stream: the operation; thread: the operation that it waits for; 0:
                                not known, or none */
            uint64_t bytes; /* device stream: that the operation moved */
            union {
                uint32_t stream; /* thread: it waits for all operations of this location; LULL_NONE:
                                      of none */
                uint32_t sequence; /* device stream: number of an exchange (trace/event.h) modulo
                                      LULL_NONE; LULL_NONE: none */
            };
            uint32_t call; /* device stream: region of the call that submitted it; thread: of that
                              which waits; or LULL_NONE */
        } phase;
        struct {
            uint64_t number, other;
        } depend;
        struct {
            int64_t call_began; /* CALL_END, CALL */
            bool sends;         /* CALL: there were SENDs or SEND_DONEs in it */
        };
        struct {
            struct lull_forked forked; /* FORK, JOIN, TICK */
            /* JOIN, TICK: the ledger's times inside parallel regions at this moment, by activity
             * (ns), if a consumer wants the ledger; else NULL. They live as long as the steps. */
            const int64_t *parallel_ns;
        };
        struct {
            uint64_t bytes;
            uint64_t request; /* unique among this location's open requests */
            int32_t peer;     /* process index, LULL_ANY or LULL_PROC_NULL */
            int32_t tag;
        } message;
        struct {
            uint64_t sent, received; /* bytes of this process */
            uint64_t request;        /* LULL_NO_REQUEST: blocking */
            int32_t root;            /* process index, or LULL_ANY where there is none */
        } collective;
        struct {
            uint64_t bytes;
            int32_t target; /* process index or LULL_ANY */
        } transfer;
        uint64_t number;
        struct {
            uint64_t offset; /* in the object, as the object file counts addresses */
            uint64_t weight; /* ns of processor time that it stands for */
            uint64_t number; /* for lull_trace_read_detail */
            uint32_t user;   /* innermost region of the user, or LULL_NONE */
            bool locked;     /* the thread has a lock */
        } sample;
        struct {
            uint64_t value; /* modulo 2^64 */
            int64_t since;  /* ns: the time of the location's previous reading of this counter, or
                               of its first event */
        } reading;
        struct {
            uint64_t number;   /* of a thread, or of a meeting at a barrier */
            uint32_t location; /* JOIN: that of the thread, or LULL_NONE */
            uint32_t threads;  /* BARRIER: how many meet */
        } meeting;
        struct {
            int64_t end;
            int64_t inclusive_ns; /* inside the windows, not paused */
            uint8_t flags;        /* enum lull_visit_flags */
        } visit;
        struct {
            int64_t began;
            uint64_t number;
            uint32_t call;
        } crew;
        int64_t last_time; /* END: of the location's last region, state or message */
    };
};

/* Whether a run may have steps of threads that the program makes: it has a region that makes them.
 */
bool lull_makes_threads(const struct lull_trace *trace);

/* The function that an MPI region is, by its name: "MPI_Isend", "pmpi_isend_", "MPI_Isend_c". */
enum lull_call lull_call_of_region(const struct lull_region *region);
/* Whether a function of MPI makes a request, also a persistent one, for a collective operation. */
bool lull_makes_collective_requests(const struct lull_region *region);
/* Whether a run has functions of MPI that send synchronously, or make requests for such sends. */
bool lull_call_sends_synchronously(const struct lull_trace *trace);

/* Whether a call should have left operations: it sends, completes something or takes part in a
 * collective operation. A test may have completed nothing. */
bool lull_call_leaves_operations(uint8_t call);

const char *lull_step_kind_name(unsigned kind); /* "send": for messages to the user and tests */

/* ==== ledger ================================================================================== */

/* A ledger says where the time of a location went, as sums that grow while the location is read. It
 * is the sum of the location's SPANs. Most analyses need no single SPAN, and handing over one per
 * event would cost more than reading the events. */

enum { LULL_SLOT_ACTIVITIES = 16 };
static_assert((int)LULL_STEP_ACTIVITIES <= (int)LULL_SLOT_ACTIVITIES,
              "slots hold an activity in 4 bits");
/* A slot: an activity (below LULL_STEP_ACTIVITIES) outside (0) or inside (1) of OpenMP parallel
 * regions. */
#define LULL_SLOT(activity, parallel) ((uint8_t)((parallel)*LULL_SLOT_ACTIVITIES + (activity)))

struct lull_ledger {
    int64_t now;                          /* ns: the time up to which it is exact */
    int64_t ns[LULL_SLOT_ACTIVITIES * 2]; /* by slot */
    struct lull_forked forked;            /* the parallel region that is open now */
    /* [n_counters][LULL_ACTIVITIES], modulo 2^64: what was counted inside the windows; a reading
     * goes to the activity of the time right before it. NULL: the trace has no counters, or no
     * consumer wants the ledger. */
    uint64_t *counters;
};

/* The sums of one region, over several locations. Times are inside the windows and not paused. */
struct lull_region_ledger {
    uint64_t visits;      /* entered inside a window */
    int64_t inclusive_ns; /* of outermost visits only, so that recursion counts once */
    int64_t exclusive_ns; /* directly in the region, not in one that it called */
    int64_t useful_ns;    /* the useful part of exclusive_ns */
};

#endif
