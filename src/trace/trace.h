/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace: the definitions of a run, and the way to its events.
 *
 * Definitions are few and live in memory, in arrays owned by the trace. Events are many and stay in
 * the file: scans and cursors visit them (trace/scan.h). Strings hold what the file holds, usually
 * UTF-8, and are never NULL unless a comment says so. A trace does not change after opening, except
 * for its list of quirks, which scans add to under a lock, so any number of threads may read one
 * trace.
 *
 * Order: processes are sorted by application, then rank. Locations are sorted by process; within a
 * process the CPU threads come first, by number (the master is the first), then the device streams.
 * So the locations of a process are neighbours. */
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

/* Memory of a process, in bytes, as its recorder learned. Where `peak` is 0 nothing is known. */
struct lull_process_memory {
    uint64_t peak;     /* the most that was resident at a time (the system's high-water mark) */
    uint64_t resident; /* what was resident when the recorder looked last */
    uint64_t swapped;  /* the most that was swapped out when the recorder looked */
    uint64_t node;     /* all memory of its node; 0: not known */
    uint64_t limit;    /* of its control group; 0: there is none */
    uint64_t group;    /* processes of a node with the same number have that limit together */
};

/* How much memory a process had at a time. */
struct lull_memory_reading {
    int64_t time;   /* ns from the begin of the run */
    uint64_t bytes; /* resident or swapped out */
};

struct lull_process {
    const char *name;
    uint32_t application; /* 0 unless the trace holds several programs (Paraver) */
    uint32_t rank;        /* in its application */
    uint32_t node;        /* index of a lull_node or LULL_NONE */
    uint32_t first_location, n_locations;
    uint32_t n_threads;           /* CPU threads among the locations; the first is the master */
    int64_t main_begin, main_end; /* ns, valid with lull_trace.has_main: main_begin is the end of
                                     MPI_Init, or 0 where the process did not call it; main_end is
                                     the begin of MPI_Finalize, or the end of the run */
    struct lull_process_memory memory;
    struct lull_memory_reading *readings; /* ascending in time; NULL where there are none */
    uint32_t n_readings;
};

enum lull_location_kind { LULL_LOCATION_THREAD, LULL_LOCATION_DEVICE };

enum lull_thread_role {
    LULL_THREAD_UNKNOWN, /* only before lull_trace_complete, which decides */
    LULL_THREAD_MASTER,
    LULL_THREAD_WORKER, /* idle unless inside a parallel region */
    LULL_THREAD_FREE    /* made by the program (pthread): useful unless it waits */
};

/* Why events of a location are missing. BUDGET (the size budget was used up) and DISK (the file
 * could not be written): those at its end. RING (only the newest were kept): those at its begin. */
enum lull_cut { LULL_CUT_NOT, LULL_CUT_BUDGET, LULL_CUT_DISK, LULL_CUT_RING, LULL_CUTS };

/* How much of its time a thread had a core, as the system's scheduler told. Where `on` is 0 nothing
 * is known. */
struct lull_cores {
    uint64_t on, off;             /* ns with a core; ns in which it was ready to run and had none */
    uint64_t preempted, migrated; /* how often a core was taken from it; how often it moved to
                                     another one */
    uint32_t allowed, there;      /* cores that it might use; cores that the node has */
    uint64_t which;               /* a hash of the cores that it might use */
    /* The cores that it might use: bit i % 64 of the word i / 64 is core i of the node. NULL: not
     * known. Lives as long as the trace. */
    const uint64_t *set;
};

enum { LULL_CORE_WORDS = 16 }; /* 64-bit words in a set of cores */

/* What the system's kernel did for a thread in its whole life. Where `user` and `system` are 0
 * nothing is known. */
struct lull_usage {
    uint64_t user, system; /* ns of processor time: in the program, in the kernel */
    uint64_t outside;      /* ns of `system` at least that were spent outside of recorded calls */
    uint64_t minor, major; /* page faults: without, and with reading from a disk */
    uint64_t voluntary;    /* how often the thread gave its core away by itself */
};

/* A device, on which streams run operations (kernels and copies). Several processes of a node may
 * use one. */
struct lull_device {
    const char *name;    /* "" if unknown */
    const char *runtime; /* "OpenCL", "CUDA" */
    const char *key;     /* tells it from the other devices of its node: "pci:0000:01:00.0" */
    uint32_t node;       /* index of a lull_node or LULL_NONE */
};

/* Whether it is a communicator of NCCL, which the tape has in the form of a device. Its operations are kernels that run
 * on streams of devices proper. */
bool lull_is_communicator(const struct lull_device *device);
/* How many ranks it has; 0: that is not told. */
uint32_t lull_communicator_ranks(const struct lull_device *device);
/* Which of the ranks a stream on a communicator is, by its name; LULL_NONE: that is not told. */
uint32_t lull_communicator_rank(const char *stream);

/* Whether the stream that a runtime calls by that number ("7", perhaps with more words behind it) is its default stream, for
 * which all other streams of the process wait on the device, and which waits for them, unless they were made not to. CUDA: 7,
 * as CUPTI numbers it in the first context of a process; ROCm: 0. False: it is another one, or that is not known. */
bool lull_is_default_stream(const char *runtime, const char *number);

/* What a tracer tells of a device stream. */
struct lull_stream {
    uint32_t device;    /* index of a lull_device */
    uint32_t context;   /* number of the runtime's context in the process; 0: not known */
    bool in_order;      /* its operations run one after the other */
    bool is_default;    /* lull_is_default_stream */
    bool summary;       /* its operations are in its sums alone: it has no events but pauses */
    bool has_priority;  /* the next member is told */
    int16_t priority;   /* as the runtime counts; CUDA: what has the lowest number goes first */
    uint64_t lost;      /* operations that were submitted and have no record */
    double clock_error; /* ns: by so much the times of the stream may be wrong beside those of
                           threads; negative: not known */
};

struct lull_location {
    const char *name;
    uint64_t source_id; /* as the file calls it, for messages to the user */
    uint32_t process;
    uint32_t number; /* thread or stream number within the process */
    uint8_t kind;    /* enum lull_location_kind */
    uint8_t role;    /* enum lull_thread_role */
    uint8_t cut;     /* enum lull_cut */
    struct lull_cores cores;
    struct lull_usage usage;
    struct lull_stream *stream; /* NULL: a thread, or the tracer tells nothing of the stream. Lives
                                   as long as the trace */
    bool is_recorded;           /* it had not ended in an orderly way when the trace was opened */
    /* With it: the call in which it was then, and since when, ns. LULL_NONE: in none. */
    uint32_t open_region;
    int64_t open_since;
};

struct lull_region {
    const char *name;
    const char *file; /* "" if unknown */
    uint32_t line;    /* 0 if unknown */
    uint8_t paradigm; /* enum lull_paradigm, corrected by name where a tracer says USER for all */
    uint8_t role;     /* enum lull_role, corrected likewise */
    uint8_t activity; /* of time spent directly inside; LULL_USEFUL for user code */
    bool user;        /* user code: its activity is that of the region around it */
    bool parallel;    /* time inside counts as inside an OpenMP parallel region */
    int8_t
        locks; /* locks that a thread has more when it leaves it: 1 sets one, -1 gives one back */
    uint8_t collective; /* enum lull_collective of an MPI call, or LULL_COLLECTIVE_UNKNOWN */
    /* A region may stand for the calls of a function from one call site only. Its name is then that
     * of the function, file and line are those of the call, and `site` describes the call site and
     * its callers, innermost first: "exchange (heat.c:120) < main (heat.c:40)". Otherwise `site` is
     * "". `whole` is the index of the region with the same name that stands for calls from
     * anywhere, or LULL_NONE. */
    const char *site;
    uint32_t whole;
};

#define LULL_SITE_CALLER " < " /* between a call site and its caller */

struct lull_state {
    const char *name;
    uint32_t number;  /* in the file */
    uint8_t activity; /* of time in this state that no region accounts for */
};

struct lull_comm {
    const char *name;
    uint32_t size;
    const uint32_t *members; /* process indices by rank; NULL: rank r is process `first` + r */
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

/* A file that the program read or wrote. */
struct lull_file {
    const char *name; /* its path; where it has none, what it is: "stdout", "pipe" */
    uint8_t kind;     /* enum lull_file_kind */
};

/* A file with code: the program or a library. Or a function of a source file that an interpreter
 * executes: then offsets are lines. */
struct lull_object {
    const char *path;
    const char *build_id; /* hexadecimal; "": none is known */
    const char *function; /* NULL: it is a file with code */
};

/* Which of a run's events the trace has. */
enum lull_events_kept {
    LULL_EVENTS_ALL,
    LULL_EVENTS_FIRST, /* some location has none from events_end on: its size budget was used up, or
                          the disk was full */
    LULL_EVENTS_LAST,  /* some location has none before events_begin: a ring kept the newest only */
    LULL_EVENTS_NONE   /* sums were asked for instead */
};

/* Whether only a part of the run has events: that between events_begin and events_end. */
static inline bool lull_has_part(enum lull_events_kept events)
{
    return events == LULL_EVENTS_FIRST || events == LULL_EVENTS_LAST;
}

/* An oddity of the input that could be survived. */
struct lull_quirk {
    const char *kind; /* one sentence: what was found and what was done about it */
    uint64_t count;
    char first[160]; /* a place where it was found: on opening the one found first, in scans the
                        first in the order of strverscmp(3); "" if it has none */
};

enum { LULL_MOST_QUIRKS = 64 }; /* kinds of quirks that a trace can hold */

/* A region of which the tracer stopped recording calls because they were too short. The time of
 * these calls counts for the region around them. */
struct lull_left_out {
    uint32_t region; /* index */
    uint64_t calls;  /* that were left out, in all processes together */
    bool at_least;   /* some processes did not say how many: there were at least so many calls */
    int64_t ns;      /* mean length of its calls before they were left out; of the means of all
                        processes the longest */
};

/* The most memory that a process had while one of its threads was in a marked region. */
struct lull_region_memory {
    uint32_t process, region; /* indices */
    uint64_t peak; /* the most that was resident at a time in visits that were measured, bytes */
    uint64_t measured, visits; /* how many visits were measured, and all of them */
};

/* Something that a run says of itself: its command, a variable of its environment, what the user
 * called it. */
struct lull_property {
    const char *key;   /* "command", "OMP_NUM_THREADS", "label:input", ... (docs/formats/tape.md) */
    const char *value; /* may hold anything; "": these processes have none */
    uint32_t processes; /* so many processes say it of themselves; 0: it was said once, of all that
                           say nothing else */
    uint32_t first;     /* index of the first of these processes */
};

#define LULL_PROPERTY_LABEL "label:" /* begin of the keys of the user's own (lull record --label) */

struct lull_format;

#define LULL_SIMULATOR "lull simulate" /* the producer of runs that lull simulated */

/* Neighbouring processes, [first, end) by index. `end` 0 means all processes; else the range is
 * empty where `first` equals `end`. */
struct lull_process_range {
    uint32_t first, end;
};

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
    bool has_sums;           /* there are sums of all locations (lull_trace_read_sums) */
    bool live;               /* opened by lull_trace_open_live */
    bool has_main;  /* recorded by lull, and some process is known to have called MPI_Init */
    uint8_t events; /* enum lull_events_kept */
    int64_t events_begin, events_end; /* ns, with LULL_EVENTS_FIRST or _LAST: between them all
                                         locations have their events */
    const int64_t *ends; /* [n_locations], ns: no event behind it is read (lull_trace_cut); NULL:
                            all are */
    uint32_t n_applications;

    struct lull_node *nodes;
    uint32_t n_nodes;
    struct lull_process *processes;
    uint32_t n_processes;
    struct lull_location *locations;
    uint32_t n_locations;
    struct lull_device *devices; /* that streams name; formats that do not tell them have none */
    uint32_t n_devices;
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
    struct lull_object *objects; /* of call sites and SAMPLEs */
    uint32_t n_objects;
    struct lull_left_out *left_out; /* the most calls first */
    uint32_t n_left_out;
    struct lull_region_memory *region_memory; /* where the recorder was asked for it */
    uint32_t n_region_memory;
    struct lull_property *properties; /* in the order in which they were said */
    uint32_t n_properties;

    const char *disturbed;   /* how the recorder disturbed the program on purpose (lull record
                                --inject), one disturbance a line; NULL: it did not */
    uint64_t disturbed_seed; /* of the noise among these disturbances */
    uint64_t held, not_held; /* `held` messages took at least as long as the disturbance asked for;
                                `not_held` could not be delayed, because the time when they were
                                sent was not known */

    void *format_data;                /* the format's own */
    struct lull_trace_shared *shared; /* what scans may change, under a lock: the quirks */
    uint64_t *tally; /* where this trace is part of a lull_quirk_tally, its `found`; else NULL */
};

/* A copy of a trace for one reading of the run from begin to end, whose quirks are counted apart.
 * The trace then reports, for each kind, the count of the tally that found most of it. So a run may
 * be read several times, also at the same time, and no quirk counts twice. Scans make tallies of
 * their own; whoever finds quirks outside of a scan has to make one. */
struct lull_quirk_tally {
    struct lull_trace trace;
    uint64_t found[LULL_MOST_QUIRKS];
};
void lull_quirk_tally_begin(struct lull_quirk_tally *tally, const struct lull_trace *trace);

/* Which format the run at `path` has; reads no more than the begin of the file. */
lull_status lull_trace_recognise(const char *path, const struct lull_format **ret_format,
                                 struct lull_error *err);
/* Opens a run of any known format, which is recognised by content; `path` is a file, an archive's
 * anchor file or a directory. The trace gets its own arena; release it with lull_trace_close. */
lull_status lull_trace_open(const char *path, struct lull_trace **ret_trace,
                            struct lull_error *err);
/* Opens a run in several processes at once. They share the reading where the format can do that,
 * and each gets the same trace as lull_trace_open would give. `exchange` is NULL for a process
 * alone. */
struct lull_exchange;
lull_status lull_trace_open_together(const char *path, const struct lull_exchange *exchange,
                                     struct lull_trace **ret_trace, struct lull_error *err);
/* Opens a run that may still be recorded. Its definitions are those that there were at that moment;
 * cursors read the events of its locations as they come (lull_cursor_state), scans do not read it, and
 * the duration is LULL_LIVE_DURATION, because nobody knows it. There are no samples. Fails with
 * LULL_ERR_UNSUPPORTED where that is not possible: formats other than lull's own, and runs that keep
 * their newest events only. */
lull_status lull_trace_open_live(const char *path, struct lull_trace **ret_trace,
                                 struct lull_error *err);
#define LULL_LIVE_DURATION (INT64_C(1) << 60)

/* Why no events of a location come. */
enum lull_events_state {
    LULL_EVENTS_ENDED, /* there are no more events */
    LULL_EVENTS_WAIT,  /* there are none yet */
    LULL_EVENTS_STALE /* the next event needs definitions that were made after the trace was opened:
                          the run must be opened again */
};

/* Whether a process of a run is still there, as far as that can be known here. */
enum lull_living {
    LULL_LIVING_UNKNOWN, /* it runs on another node, or nothing tells which process it is */
    LULL_LIVING_RUNS,
    LULL_LIVING_STOPPED, /* by a signal or a debugger */
    LULL_LIVING_OVER
};
enum lull_living lull_trace_living(const struct lull_trace *trace, uint32_t process);
/* The present, in ns of the run. False: the run was recorded on another node, or does not tell. */
bool lull_trace_now(const struct lull_trace *trace, int64_t *ret_now);

/* Decides whether the run can do without the rest of a damaged location. If so, the location is
 * left out: its events end at the damage, a quirk says what `err` says, and LULL_OK is returned.
 * Otherwise `status` is returned: for formats without leaves_out_damage (trace/format.h), for
 * failures other than LULL_ERR_FORMAT, and where no location would be left. */
lull_status lull_trace_leave_out(const struct lull_trace *trace, uint32_t location,
                                 lull_status status, const struct lull_error *err);
bool lull_trace_is_left_out(const struct lull_trace *trace, uint32_t location);
/* Notes that another process of the team has left the location out. Fails with LULL_ERR_MEMORY. */
lull_status lull_trace_add_left_out(const struct lull_trace *trace, uint32_t location,
                                    struct lull_error *err);
/* Gives regions and call sites the names that their functions have in the source. Names of C++ need
 * a library that may be missing on this machine (binary/demangle.h): lull_trace_demangles_cpp says
 * whether it is there. Whoever shows names to people calls this right after opening. */
void lull_trace_demangle(struct lull_trace *trace);
bool lull_trace_demangles_cpp(void);
void lull_trace_close(struct lull_trace *trace); /* NULL is allowed */

/* A trace without events, for writers of simulated or generated runs: the caller fills the
 * arrays (allocated in trace->arena) and calls lull_trace_complete. */
struct lull_trace *lull_trace_create(void);

/* Derives what readers leave open: activity, user, parallel and collective of regions (paradigm
 * and role from the name where the tracer did not say), counter roles, thread roles, and
 * first_location and n_locations of processes. Checks all indices. Every reader calls it once,
 * before the first scan. */
lull_status lull_trace_complete(struct lull_trace *trace, struct lull_error *err);

/* The main part of an application, in ns: from the time when the first of its processes leaves
 * MPI_Init until the last one enters MPI_Finalize. Returns false where that is the whole run, and
 * where it is not known, as in traces of other recorders. */
bool lull_trace_main_part(const struct lull_trace *trace, uint32_t application, int64_t *ret_begin,
                          int64_t *ret_end);

bool lull_trace_is_simulated(const struct lull_trace *trace);

/* What was said of all processes, or the first value that processes said of themselves. NULL: nobody
 * said anything. */
const char *lull_trace_property(const struct lull_trace *trace, const char *key);

/* The member of a communicator: process index of a rank; LULL_NONE out of range. */
uint32_t lull_comm_member(const struct lull_comm *comm, uint32_t rank);
/* The rank of a process; LULL_NONE if it is no member. Takes constant time where comm->members is
 * NULL, else time linear in the size: build a map where it is called often. */
uint32_t lull_comm_rank(const struct lull_comm *comm, uint32_t process);

/* The activity of a region on a location of a kind (enum lull_location_kind); LULL_ACTIVITIES for
 * user code, whose activity is that of the region around it. On a device stream kernels are useful
 * and the moving of data is LULL_DEVICE; on the host every region of LULL_PARADIGM_DEVICE is
 * LULL_DEVICE. */
uint8_t lull_activity_on(const struct lull_region *region, unsigned location_kind);

/* Whether a kernel is one by which NCCL or RCCL move data: "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_...",
 * also as C++ mangles them: "_Z40ncclDevKernel_...". */
bool lull_is_exchange(const char *kernel);

/* Counts a quirk. `kind` is a string constant and compared by content; kinds beyond
 * LULL_MOST_QUIRKS are dropped. `where` is printf-style and becomes `first` if it comes before the
 * one that is there. Safe from several threads. A cursor finds again what a scan has found, so
 * quirks outside of tallies count only where no tally has any of their kind. */
void lull_trace_add_quirk(const struct lull_trace *trace, const char *kind, const char *where, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies the quirks so far into `arena`: first those found on opening, in the order in which they
 * were found, then those of scans, sorted by kind, so that the list does not depend on the number
 * of threads. Returns how many there are. */
uint32_t lull_trace_quirks(const struct lull_trace *trace, struct lull_arena *arena,
                           struct lull_quirk **ret_quirks);

/* The quirks that were found since the last call, as bytes for another process that has opened the
 * same run and reads other locations of it: lull_trace_quirks_add adds them to its own. The bytes
 * live in `arena`. lull_trace_quirks_add fails with LULL_ERR_FORMAT where they are cut short. */
const void *lull_trace_quirks_pack(const struct lull_trace *trace, struct lull_arena *arena,
                                   size_t *ret_size);
lull_status lull_trace_quirks_add(const struct lull_trace *trace, const void *bytes, size_t size,
                                  struct lull_error *err);

/* No size of a message or transfer is larger (1 PiB). Tracers that do not know a size have written
 * whatever stood in their memory, for example 2^61 bytes. */
#define LULL_MOST_BYTES (UINT64_C(1) << 50)

/* The size of a message or transfer as lull uses it: a size beyond LULL_MOST_BYTES becomes 0 and
 * counts as a quirk. */
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

/* Messages of one direction. */
struct lull_message_sums {
    uint64_t count, bytes, largest; /* bytes of the largest */
};
#define LULL_UNKNOWN_BYTES UINT64_MAX

/* The bytes of received messages as lull tells them. No message is larger than the largest that was
 * sent. Where a receive says so although as many were sent, as tracers do that write a size of which
 * they do not know, that is a quirk; then the bytes are those that were sent if all messages were
 * received, else LULL_UNKNOWN_BYTES. */
uint64_t lull_received_bytes(const struct lull_trace *trace, const struct lull_message_sums *sent,
                             const struct lull_message_sums *received);

const char *lull_activity_id(unsigned activity);   /* "mpi_p2p": key in documents */
const char *lull_activity_name(unsigned activity); /* "MPI point-to-point": for people */
const char *lull_paradigm_name(unsigned paradigm);
const char *lull_role_name(unsigned role);
const char *lull_file_kind_name(unsigned kind);    /* "pipe" */
const char *lull_counter_role_name(unsigned role); /* "processor-time": of profiles */

/* ==== sums ==================================================================================== */

/* Sums: visits, times and counters that a recorder kept per location and region beside the events,
 * or instead of them.
 *
 * A run may hold all events and sums that say the same, a part of the events and sums of the whole
 * run (lull_trace.events is LULL_EVENTS_FIRST or _LAST), or sums alone (LULL_EVENTS_NONE). */

/* Visits, times and counts directly in a region, without the regions within it. Index 0 holds what
 * happened outside of OpenMP parallel regions, index 1 what happened inside. */
struct lull_region_sum {
    uint32_t region;
    uint64_t visits[2];
    int64_t ns[2];
    const uint64_t *counts[2]; /* [trace->n_counters] each */
    uint64_t bytes;            /* that operations of a device stream moved */
};

/* The sums of one location. `paused`, `absent`, `flush`, `outside` and the `ns` of the regions add
 * up to end - begin exactly. All times in ns. */
struct lull_sums {
    int64_t begin, end;              /* its life, ns since the trace's origin */
    int64_t paused;                  /* measurement was switched off */
    int64_t absent;                  /* no thread lived here: one had ended, the next not begun */
    int64_t flush[2];                /* the recorder wrote its buffer; index as above */
    int64_t outside;                 /* outside of all regions */
    const uint64_t *counts_outside;  /* [trace->n_counters]: counted outside of all regions */
    struct lull_region_sum *regions; /* those with visits or time, ascending by region */
    uint32_t n_regions;
};

/* Reads the sums of a location; they live in `arena`. Fails with LULL_ERR_UNSUPPORTED where
 * trace->has_sums is false, with LULL_ERR_FORMAT for sums that contradict themselves. */
lull_status lull_trace_read_sums(const struct lull_trace *trace, uint32_t location,
                                 struct lull_arena *arena, struct lull_sums *ret_sums,
                                 struct lull_error *err);

/* ==== sampling ================================================================================ */

/* What a user is told who looks for samples in a trace that has none. */
#define LULL_HOW_TO_SAMPLE \
    "lull record takes 100 a second of processor time, unless told --sample off"

/* How the SAMPLEs of a location were taken. */

enum lull_samples_way {
    LULL_SAMPLES_NONE,    /* none were taken */
    LULL_SAMPLES_REFUSED, /* none could be taken */
    LULL_SAMPLES_PERF,  /* by Linux's perf_event, of the time that the thread had a core and was not
                             in the kernel */
    LULL_SAMPLES_FAKE,  /* made up, for tests */
    LULL_SAMPLES_TIMER, /* by a timer of the thread's processor time, also in the kernel */
    LULL_SAMPLES_WAYS
};

struct lull_sampling {
    uint8_t way;           /* enum lull_samples_way */
    uint32_t refused;      /* an errno of Linux */
    int64_t interval;      /* ns of processor time between two samples, as the user asked */
    int64_t last_interval; /* at the end: it doubles whenever the room for samples is full */
    uint64_t kept;         /* samples that there are */
    uint64_t taken;        /* samples that these stand for, by their weights */
    uint64_t lost;         /* samples that the kernel had no room for */
};

/* Reads how a location was sampled. Formats without samples have LULL_SAMPLES_NONE. */
lull_status lull_trace_read_sampling(const struct lull_trace *trace, uint32_t location,
                                     struct lull_sampling *ret_sampling, struct lull_error *err);
/* "perf_event"; "": none were taken */
const char *lull_samples_way_name(unsigned way);

/* What a sample has besides its place, read where somebody wants it. */

/* A word of the thread's stack, or a register, that points to code or into the stack. */
struct lull_stack_word {
    uint32_t slot;   /* its number, from the stack pointer upwards, or one of the next two */
    uint32_t object; /* index into lull_trace.objects; LULL_NONE: it points into the stack */
    uint64_t offset; /* in the object; or how many bytes behind the stack pointer */
};
#define LULL_STACK_FRAME UINT32_C(0xfff) /* the register that may point to the frame */
#define LULL_STACK_LINK  UINT32_C(0xffe) /* the register with the return address, if there is one */

struct lull_sample_detail {
    bool counted;                  /* the processor's counts are known */
    uint64_t instructions, cycles; /* of the time that the sample stands for */
    const struct lull_stack_word
        *stack;       /* registers, then ascending slots; valid until the next read */
    uint32_t n_stack; /* 0: no stack was kept */
};

struct lull_sample_details;

/* *ret_details is NULL where the samples of the location have no more than their place. */
lull_status lull_trace_details_open(const struct lull_trace *trace, uint32_t location,
                                    struct lull_sample_details **ret_details,
                                    struct lull_error *err);
/* Of the sample with that number. Fast where numbers ascend. */
lull_status lull_trace_read_detail(const struct lull_trace *trace,
                                   struct lull_sample_details *details, uint64_t number,
                                   struct lull_sample_detail *ret_detail, struct lull_error *err);
void lull_trace_details_close(const struct lull_trace *trace,
                              struct lull_sample_details *details); /* NULL is allowed */

/* ==== exchange ================================================================================ */

/* An exchange: how several processes open a run together. Each of them reads a part of what opening
 * a run reads, and they send each other what they have found. The trace room does not know who they
 * are and how they reach each other: the caller provides that. */

struct lull_exchange {
    uint32_t index, size; /* the number of this process, from 0; how many there are */
    void *context;
    /* Sends this process's bytes to all, and receives those of all. All processes make the same
     * calls in the same order. A process that has failed calls it, too, with its `status`. `sight`
     * is a hash of the run that a process sees; where it differs, the processes have opened
     * different runs.
     * Where one process has failed, or sees another run than the first one does, `all` fails in all
     * of them, and they exchange nothing any more. Otherwise `take` is called once for each
     * process, in their order; the bytes are aligned to 8 and live until `all` returns. A failure
     * of `take` is the status that `all` returns. */
    lull_status (*all)(void *context, lull_status status, uint64_t sight, const void *bytes,
                       size_t size,
                       lull_status (*take)(void *context, uint32_t index, const void *bytes,
                                           size_t size, struct lull_error *err),
                       void *take_context, struct lull_error *err);
};

/* ==== silent traces =========================================================================== */

/* A copy of a trace that has no quirks, and whose quirks nobody will see. A process makes one to
 * read locations whose quirks another process of its team counts. `trace` must outlive the copy.
 * NULL: no memory. */
struct lull_trace *lull_trace_silent_create(const struct lull_trace *trace);
void lull_trace_silent_destroy(struct lull_trace *silent); /* NULL is allowed */

#endif
