/* A trace: the definitions of a run, and the way to its events.
 *
 * Definitions are few and live in memory, in arrays owned by the trace; events are many and are
 * visited (trace/scan.h). All strings are UTF-8 or whatever the file holds, never NULL unless
 * said. A trace is immutable after opening, except for its list of quirks, which scans add to
 * under a lock: any number of threads may read one trace.
 *
 * Order: processes by application, then rank; locations by process, then CPU threads by number
 * (the master first), then device streams. So the locations of a process are neighbours. */
#ifndef LULL_TRACE_TRACE_H
#define LULL_TRACE_TRACE_H

#include "base/arena.h"
#include "base/error.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== trace =================================================================================== */

enum lull_paradigm {
    LULL_PARADIGM_USER,
    LULL_PARADIGM_COMPILER, /* functions found by compiler instrumentation */
    LULL_PARADIGM_MPI,
    LULL_PARADIGM_OPENMP,
    LULL_PARADIGM_PTHREAD,
    LULL_PARADIGM_DEVICE, /* CUDA, HIP, OpenCL, OpenACC, Kokkos ... */
    LULL_PARADIGM_IO,     /* POSIX and C library input and output */
    LULL_PARADIGM_MEASUREMENT,
    LULL_PARADIGM_OTHER,
    LULL_PARADIGMS
};

enum lull_role {
    LULL_ROLE_FUNCTION,
    LULL_ROLE_WRAPPER,
    LULL_ROLE_LOOP,
    LULL_ROLE_CODE,
    LULL_ROLE_PARALLEL,
    LULL_ROLE_SECTIONS,
    LULL_ROLE_SECTION,
    LULL_ROLE_WORKSHARE,
    LULL_ROLE_SINGLE,
    LULL_ROLE_SINGLE_BODY,
    LULL_ROLE_MASTER,
    LULL_ROLE_CRITICAL, /* waiting for a critical section and, unless a body is inside, in it */
    LULL_ROLE_CRITICAL_BODY,
    LULL_ROLE_ATOMIC,
    LULL_ROLE_BARRIER,
    LULL_ROLE_IMPLICIT_BARRIER,
    LULL_ROLE_FLUSH,
    LULL_ROLE_ORDERED,
    LULL_ROLE_ORDERED_BODY,
    LULL_ROLE_TASK,
    LULL_ROLE_TASK_CREATE,
    LULL_ROLE_TASK_WAIT,
    LULL_ROLE_COLL_ONE2ALL,
    LULL_ROLE_COLL_ALL2ONE,
    LULL_ROLE_COLL_ALL2ALL,
    LULL_ROLE_COLL_OTHER,
    LULL_ROLE_FILE_IO,
    LULL_ROLE_POINT2POINT,
    LULL_ROLE_RMA,
    LULL_ROLE_DATA_TRANSFER,
    LULL_ROLE_ARTIFICIAL,
    LULL_ROLE_THREAD_CREATE,
    LULL_ROLE_THREAD_WAIT,
    LULL_ROLE_ALLOCATE,
    LULL_ROLE_LOCK,     /* OpenMP and pthread locks: waiting for one */
    LULL_ROLE_SCHEDULE, /* fork, join, asking for the next chunk */
    LULL_ROLE_KERNEL,   /* on a device stream */
    LULL_ROLES
};

/* What a core does with its time. The first is the only one that counts as useful. */
enum lull_activity {
    LULL_USEFUL, /* user code outside every runtime; on a device stream: a kernel */
    LULL_MPI_P2P,
    LULL_MPI_COLLECTIVE,
    LULL_MPI_ONE_SIDED,
    LULL_MPI_IO,
    LULL_MPI_OTHER,    /* init, finalize, communicator management, queries */
    LULL_OMP_SYNC,     /* barriers, taskwait */
    LULL_OMP_SCHEDULE, /* scheduling, fork and join, task creation */
    LULL_OMP_LOCK,     /* waiting for critical, lock, ordered, atomic */
    LULL_IDLE,         /* worker outside parallel regions; device stream with nothing to do */
    LULL_DEVICE,       /* host: in an accelerator's runtime; device stream: moving data */
    LULL_IO,
    LULL_FLUSH, /* the tracer writes its buffer */
    LULL_OTHER, /* tracer, not yet created, unaccounted */
    LULL_ACTIVITIES
};

struct lull_node {
    const char *name;
    const char *class_name; /* "machine", "node", ... */
    uint32_t parent;        /* index or LULL_NONE */
};

struct lull_process {
    const char *name;
    uint32_t application; /* 0 unless the trace holds several programs (Paraver) */
    uint32_t rank;        /* in its application */
    uint32_t node;        /* index of a lull_node or LULL_NONE */
    uint32_t first_location, n_locations;
    uint32_t n_threads;           /* CPU threads among the locations; the first is the master */
    int64_t main_begin, main_end; /* ns; with lull_trace.has_main: the end of MPI_Init, or 0, and
                                     the begin of MPI_Finalize, or the end of the run */
};

enum lull_location_kind { LULL_LOCATION_THREAD, LULL_LOCATION_DEVICE };

enum lull_thread_role {
    LULL_THREAD_UNKNOWN, /* only before lull_trace_complete, which decides */
    LULL_THREAD_MASTER,
    LULL_THREAD_WORKER, /* idle unless inside a parallel region */
    LULL_THREAD_FREE    /* made by the program (pthread): useful unless it waits */
};

/* Why the events of a location end before it does; RING: why they begin after it does. */
enum lull_cut { LULL_CUT_NOT, LULL_CUT_BUDGET, LULL_CUT_DISK, LULL_CUT_RING, LULL_CUTS };

/* How much of its time a thread had a core, as the system's scheduler told; `on` 0: not known. */
struct lull_cores {
    uint64_t on, off;             /* ns with a core; in which it could have run, and had none */
    uint64_t preempted, migrated; /* how often a core was taken from it; it went on with another */
    uint32_t allowed, there;      /* cores that it might use, that the node has */
    uint64_t which;               /* the same for threads that might use the same cores */
    /* Those: bit i % 64 of the word i / 64 is core i of the node. NULL: not known; lives as long
     * as the trace. */
    const uint64_t *set;
};

enum { LULL_CORE_WORDS = 16 }; /* of a set of cores */

struct lull_location {
    const char *name;
    uint64_t source_id; /* as the file calls it, for messages to the user */
    uint32_t process;
    uint32_t number; /* thread or stream number within the process */
    uint8_t kind;    /* enum lull_location_kind */
    uint8_t role;    /* enum lull_thread_role */
    uint8_t cut;     /* enum lull_cut */
    struct lull_cores cores;
};

struct lull_region {
    const char *name;
    const char *file;   /* "" if unknown */
    uint32_t line;      /* 0 if unknown */
    uint8_t paradigm;   /* enum lull_paradigm, corrected by name where a tracer says USER for all */
    uint8_t role;       /* enum lull_role, corrected likewise */
    uint8_t activity;   /* of time spent directly inside; LULL_USEFUL for user code */
    bool user;          /* user code: takes over the activity of what surrounds it */
    bool parallel;      /* time inside counts as inside an OpenMP parallel region */
    uint8_t collective; /* enum lull_collective of an MPI call, or LULL_COLLECTIVE_UNKNOWN */
    /* A region may be the calls of a function from one place; its name is the function's, file and
     * line are the caller's. `site` is then the place, "exchange (heat.c:120)", with the places
     * that this one is called from behind LULL_SITE_CALLER; "" else. `whole`: index of the region
     * with the same name that stands for calls from anywhere, or LULL_NONE. */
    const char *site;
    uint32_t whole;
};

#define LULL_SITE_CALLER " < "

struct lull_state {
    const char *name;
    uint32_t number;  /* in the file */
    uint8_t activity; /* when no region says it better */
};

struct lull_comm {
    const char *name;
    uint32_t size;
    const uint32_t *members; /* process indices by rank; NULL: rank r is process first + r */
    uint32_t first;
    uint32_t parent;  /* index or LULL_NONE */
    uint32_t remote;  /* inter-communicator: index of the other group's lull_comm;
                         otherwise LULL_NONE */
    uint8_t paradigm; /* MPI, or OPENMP for thread teams (whose members are locations) */
};

enum lull_counter_role {
    LULL_COUNTER_OTHER,
    LULL_COUNTER_INSTRUCTIONS,
    LULL_COUNTER_CYCLES,
    LULL_COUNTER_PROCESSOR_TIME, /* ns in which the thread had a core */
    LULL_COUNTER_ROLES
};

struct lull_counter {
    const char *name;
    const char *unit; /* "" if unknown */
    uint64_t source_id;
    uint8_t role; /* enum lull_counter_role, from the name */
};

struct lull_marker {
    const char *name;
    uint64_t source_id; /* Paraver event type */
};

enum lull_file_kind {
    LULL_FILE_REGULAR,
    LULL_FILE_PIPE,
    LULL_FILE_SOCKET,
    LULL_FILE_TERMINAL,
    LULL_FILE_DEVICE,
    LULL_FILE_OTHER,
    LULL_FILE_KINDS
};

/* What a program reads and writes. */
struct lull_file {
    const char *name; /* a path; of what has none, what it is: "stdout", "pipe" */
    uint8_t kind;     /* enum lull_file_kind */
};

/* What there is of a run's events. */
enum lull_events_kept {
    LULL_EVENTS_ALL,
    LULL_EVENTS_FIRST, /* some location has none from events_end on: a size budget, a full disk */
    LULL_EVENTS_LAST,  /* some location has none before events_begin: a ring of the newest ones */
    LULL_EVENTS_NONE   /* sums were asked for instead */
};

/* Whether there are events of a part of the run alone, which events_begin and events_end tell. */
static inline bool lull_has_part(enum lull_events_kept events)
{
    return events == LULL_EVENTS_FIRST || events == LULL_EVENTS_LAST;
}

struct lull_quirk {
    const char *kind; /* one sentence: what was found and what was done about it */
    uint64_t count;
    char first[160]; /* a place where it was found, the first by its name; "" if there is none */
};

enum { LULL_MOST_QUIRKS = 64 }; /* kinds */

/* A region of which the tracer has left calls out, because they were too short. Their time is that
 * of what is around them. */
struct lull_left_out {
    uint32_t region; /* index */
    uint64_t calls;  /* of all processes; at_least: some of them did not say how many */
    bool at_least;
    int64_t ns; /* mean length of the calls before; the longest one of all processes */
};

struct lull_format;

#define LULL_SIMULATOR "lull simulate" /* the producer of runs that lull simulated */

struct lull_trace {
    const char *path;
    const char *producer; /* "Extrae", "Score-P 2.0.2", LULL_SIMULATOR, ...; "" if unknown */
    const struct lull_format *format;
    struct lull_arena *arena; /* holds everything below */

    int64_t duration;        /* ns; events lie in [0, duration] */
    int64_t start_realtime;  /* ns since 1970 UTC of the origin, 0 if unknown */
    double clock_resolution; /* ns per tick of the recording clock */
    double clock_error;      /* bound in ns between locations; negative: unknown */
    bool has_states;         /* STATE events partition the time and decide what is useful */
    bool has_sums;           /* of all locations (trace/sums.h) */
    bool has_main;  /* recorded by lull, and some process is known to have called MPI_Init */
    uint8_t events; /* enum lull_events_kept */
    int64_t events_begin, events_end; /* ns, with LULL_EVENTS_FIRST or _LAST: in between all
                                         locations have events */
    uint32_t n_applications;

    struct lull_node *nodes;
    uint32_t n_nodes;
    struct lull_process *processes;
    uint32_t n_processes;
    struct lull_location *locations;
    uint32_t n_locations;
    struct lull_region *regions;
    uint32_t n_regions;
    struct lull_state *states;
    uint32_t n_states;
    struct lull_comm *comms;
    uint32_t n_comms;
    struct lull_counter *counters;
    uint32_t n_counters;
    struct lull_marker *markers;
    uint32_t n_markers;
    struct lull_file *files; /* of IO events; formats that do not tell them have none */
    uint32_t n_files;
    struct lull_left_out *left_out; /* the most calls first */
    uint32_t n_left_out;

    const char *disturbed;   /* what the recorder disturbed the program with on purpose, in lines
                                (lull record --inject); NULL: nothing */
    uint64_t disturbed_seed; /* of the noise in it */
    uint64_t held, not_held; /* messages that took as long as was asked for; that could not be held
                                back, because it was not known when they were sent */

    void *format_data;                /* the format's own */
    struct lull_trace_shared *shared; /* what scans may change, under a lock: the quirks */
    uint64_t *tally; /* NULL, or this is the trace of a tally, whose `found` it is */
};

/* The same trace, whose quirks are counted apart, for one reading of the run from begin to end. Of
 * each kind a trace has as many as the tally that counted most, so that a run may be read several
 * times, also at once. Scans keep tallies themselves; who finds quirks beside a scan needs one. */
struct lull_quirk_tally {
    struct lull_trace trace;
    uint64_t found[LULL_MOST_QUIRKS];
};
void lull_quirk_tally_begin(struct lull_quirk_tally *tally, const struct lull_trace *trace);

/* Opens a run of any known format; `path` is a file, an archive's anchor file or a directory. What
 * is there is recognised by content, by itself without reading more than its begin. The trace gets
 * its own arena; release it with lull_trace_close. */
lull_status lull_trace_recognise(const char *path, const struct lull_format **ret_format,
                                 struct lull_error *err);
lull_status lull_trace_open(const char *path, struct lull_trace **ret_trace,
                            struct lull_error *err);
/* The same by several processes, which share the reading where the format can (trace/exchange.h);
 * the trace is the same. `exchange` is NULL for one alone. */
struct lull_exchange;
lull_status lull_trace_open_together(const char *path, const struct lull_exchange *exchange,
                                     struct lull_trace **ret_trace, struct lull_error *err);
/* Whether what is wrong with a location can be lived with. Of a format that leaves out damage
 * (trace/format.h) the location's events end at the damage; that is told by a quirk, which
 * says what err says, and LULL_OK. Of others, for other failures than LULL_ERR_FORMAT, and where no
 * location would be left, it is `status` again. */
lull_status lull_trace_leave_out(const struct lull_trace *trace, uint32_t location,
                                 lull_status status, const struct lull_error *err);
bool lull_trace_is_left_out(const struct lull_trace *trace, uint32_t location);
/* Another process has left it out, and has told that. LULL_ERR_MEMORY. */
lull_status lull_trace_add_left_out(const struct lull_trace *trace, uint32_t location,
                                    struct lull_error *err);
/* Gives regions and call sites the names that their functions have in the source, those of C++ if
 * there is a library on this machine that can (binary/demangle.h). To be called right after
 * opening, by whoever shows names to people. */
void lull_trace_demangle(struct lull_trace *trace);
bool lull_trace_demangles_cpp(void);
void lull_trace_close(struct lull_trace *trace); /* NULL is allowed */

/* A trace without events, for writers of simulated or generated runs: the caller fills the
 * arrays (allocated in trace->arena) and calls lull_trace_complete. */
struct lull_trace *lull_trace_create(void);

/* Derives what readers leave open: activity, user, parallel and collective of regions (paradigm
 * and role from the name where the tracer did not say), counter roles, thread roles, first and
 * n_locations of processes. Checks all indices. Every reader calls it once, before its scan. */
lull_status lull_trace_complete(struct lull_trace *trace, struct lull_error *err);

/* The main part of an application: from when the first of its processes leaves MPI_Init until the
 * last one enters MPI_Finalize. False where that is all of the run, or not known, as of traces that
 * others recorded. */
bool lull_trace_main_part(const struct lull_trace *trace, uint32_t application, int64_t *ret_begin,
                          int64_t *ret_end);

bool lull_trace_is_simulated(const struct lull_trace *trace);

/* The member of a communicator: process index of a rank; LULL_NONE out of range. */
uint32_t lull_comm_member(const struct lull_comm *comm, uint32_t rank);
/* The rank of a process; LULL_NONE if it is no member. Constant time for contiguous ones, linear
 * otherwise: build a map where it is called often. */
uint32_t lull_comm_rank(const struct lull_comm *comm, uint32_t process);

/* The activity of a region on a location of a kind (enum lull_location_kind); user code, which
 * takes over what surrounds it: LULL_ACTIVITIES. On a device stream kernels are useful and the
 * moving of data is LULL_DEVICE; on the host all of an accelerator's paradigm is its runtime. */
uint8_t lull_activity_on(const struct lull_region *region, unsigned location_kind);

/* Counts an oddity of the input that was survived, of a kind of which there are LULL_MOST_QUIRKS
 * at most. `kind` is a string constant (compared by content); `where` is printf-style and kept for
 * the first. Safe from several threads. Cursors find again what scans have found: what they find
 * counts where no tally has any of its kind. */
void lull_trace_add_quirk(const struct lull_trace *trace, const char *kind, const char *where, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies the quirks so far into `arena`: those found on opening in the order of their appearance,
 * then those of scans by name, so that the list does not depend on how many threads read. Returns
 * their number. */
uint32_t lull_trace_quirks(const struct lull_trace *trace, struct lull_arena *arena,
                           struct lull_quirk **ret_quirks);

/* What scans have found since this was called last, as bytes that another process with the same
 * trace adds to what it has found in other locations: lengths in 8 bytes, then the bytes. Fails
 * with LULL_ERR_FORMAT. */
const void *lull_trace_quirks_pack(const struct lull_trace *trace, struct lull_arena *arena,
                                   size_t *ret_size);
lull_status lull_trace_quirks_add(const struct lull_trace *trace, const void *bytes, size_t size,
                                  struct lull_error *err);

/* Sizes above are no sizes: tracers that did not learn one have written what was there, 2^61 bytes
 * say. */
#define LULL_MOST_BYTES (UINT64_C(1) << 50)

/* What is to be believed of the size of a message or transfer: 0, and an oddity, if it is beyond
 * LULL_MOST_BYTES. */
static inline uint64_t lull_believed_bytes(const struct lull_trace *trace, uint32_t location,
                                           uint64_t bytes)
{
    if (bytes <= LULL_MOST_BYTES)
        return bytes;
    lull_trace_add_quirk(trace, "a size beyond 1 PiB cannot be one; taken as 0 bytes",
                         "%s: %llu bytes", trace->locations[location].name,
                         (unsigned long long)bytes);
    return 0;
}

const char *lull_activity_id(unsigned activity);   /* "mpi_p2p": key in documents */
const char *lull_activity_name(unsigned activity); /* "MPI point-to-point": for people */
const char *lull_paradigm_name(unsigned paradigm);
const char *lull_role_name(unsigned role);
const char *lull_file_kind_name(unsigned kind);    /* "pipe" */
const char *lull_counter_role_name(unsigned role); /* "processor-time": of profiles */

/* ==== sums ==================================================================================== */

/* Sums: what a recorder kept per location, region and state beside the events, or instead of them.
 *
 * A run may hold both (all events, and sums that say the same), the first events and sums of the
 * whole (lull_trace.events is LULL_EVENTS_FIRST), or sums alone (LULL_EVENTS_NONE). */

/* [0]: outside, [1]: inside of OpenMP parallel regions. Times are those spent directly in the
 * region, without the regions within. */
struct lull_region_sum {
    uint32_t region;
    uint64_t visits[2];
    int64_t ns[2];
    const uint64_t *counts[2]; /* by counter of the trace; in time directly inside */
};

/* One location. paused, absent, flush, outside and the regions add up to end - begin exactly. */
struct lull_sums {
    int64_t begin, end;              /* its life, ns since the trace's origin */
    int64_t paused;                  /* measurement switched off */
    int64_t absent;                  /* nobody lived here: between one thread and the next */
    int64_t flush[2];                /* the recorder wrote its buffer */
    int64_t outside;                 /* outside of all regions */
    const uint64_t *counts_outside;  /* by counter of the trace; while outside of all regions */
    struct lull_region_sum *regions; /* those with visits or time, by region */
    uint32_t n_regions;
};

/* The sums of a location; they live in `arena`. Fails with LULL_ERR_UNSUPPORTED for a trace without
 * (trace->has_sums is false), with LULL_ERR_FORMAT for sums that contradict themselves. */
lull_status lull_trace_read_sums(const struct lull_trace *trace, uint32_t location,
                                 struct lull_arena *arena, struct lull_sums *ret_sums,
                                 struct lull_error *err);

/* ==== exchange ================================================================================ */

/* Several processes open a run together: each reads a part of what opening a run reads, and they
 * tell each other what they have found. Who they are and how they reach each other, the trace room
 * does not know. */

struct lull_exchange {
    uint32_t index, size; /* of this process, of all */
    void *context;
    /* All processes call it, in the same order, each with its own bytes, or with what it has failed
     * with. `sight` stands for what they see and is the same for all, or they see different runs.
     * Where one has failed, or sees another run than the first, all fail and exchange nothing any
     * more; else `take` is called for each process, in their order, with bytes that are aligned to
     * 8 and live until `all` returns, and its status is that of `all`. */
    lull_status (*all)(void *context, lull_status status, uint64_t sight, const void *bytes,
                       size_t size,
                       lull_status (*take)(void *context, uint32_t index, const void *bytes,
                                           size_t size, struct lull_error *err),
                       void *take_context, struct lull_error *err);
};

/* ==== silent ================================================================================== */

/* A trace that is read once more by a process which is not to count what is odd there, as others of
 * its team do. */

/* The same trace, without quirks; the other one must outlive it. NULL: no memory. */
struct lull_trace *lull_trace_silent_create(const struct lull_trace *trace);
void lull_trace_silent_destroy(struct lull_trace *silent); /* NULL is allowed */

#endif
