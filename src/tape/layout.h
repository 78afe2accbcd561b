/* SPDX-License-Identifier: BSD-3-Clause */
/* Tape: the byte layout of lull's own traces.
 *
 * A tape is a directory. The recorder maps its files shared and appends; whatever has been
 * committed survives the death of the program. All numbers are little endian.
 *
 *     RUN/lull-tape                       anchor: the text LULL_TAPE_ANCHOR, nothing else
 *     RUN/definitions                     definitions with ids valid in the whole run (optional)
 *     RUN/about                           properties of the run (optional)
 *     RUN/<p / 1000>/<p>.tape             all of process p, in extents
 *     RUN/<node>.tapes                    the same of all processes of a node: as their recorders
 *                                         write it (tape/container.h), or as `lull pack` does (the
 *                                         last section of this file)
 *
 * See docs/formats/tape.md for the same in prose. */
#ifndef LULL_TAPE_LAYOUT_H
#define LULL_TAPE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Orders what stands before it and what stands behind it, for readers and writers of a tape that is
 * being written. gcc's thread sanitizer knows no fences. */
#if defined(__SANITIZE_THREAD__)
#define LULL_TAPE_FENCE(order) ((void)0)
#else
#define LULL_TAPE_FENCE(order) __atomic_thread_fence(order)
#endif

#define LULL_TAPE_ANCHOR_NAME "lull-tape"
#define LULL_TAPE_ANCHOR      "lull-tape 3\n"
#define LULL_TAPE_VERSION     3 /* of all files of a tape; no other one is read */
#define LULL_TAPE_BYTE_ORDER  UINT32_C(0x01020304)
#define LULL_TAPE_GROUP       1000 /* processes per sub-folder */

/* ---- headers of locations -------------------------------------------------------------------- */

#define LULL_TAPE_MAGIC       "LULLTAPE"
#define LULL_TAPE_HEADER_SIZE 4096
#define LULL_TAPE_CORE_WORDS  16 /* of a set of cores */
#define LULL_TAPE_CHUNK \
    65536 /* no record crosses a multiple of this, counted from the first \
             record: a reader can start at any chunk */

enum lull_tape_flags {
    LULL_TAPE_SHARED_IDS = 1,     /* ids are those of RUN/definitions, peers and targets are process
                                     numbers; without the flag ids are those of the process's own
                                     definitions, peers are ranks in the communicator */
    LULL_TAPE_CLOSED = 2,         /* the location ended in an orderly way */
    LULL_TAPE_BUDGET_REACHED = 4, /* recording stopped at the size budget */
    LULL_TAPE_TAILED = 8,         /* records from `flushed` on are in LULL_TAPE_PART_TAIL */
    LULL_TAPE_WRITE_FAILED = 16,  /* recording stopped because the file could not be written */
    LULL_TAPE_PROFILE = 32,       /* only sums were asked for */
    LULL_TAPE_RING = 64           /* only the newest chunks are kept: see LULL_TAPE_PART_RING */
};

/* Which fields of struct lull_tape_ends hold something. */
enum lull_tape_known {
    LULL_TAPE_KNOWN_SPAN = 1,  /* `first` and `last` are known */
    LULL_TAPE_KNOWN_SOUND = 2, /* no damage was found in the chunks that they come from */
    LULL_TAPE_KNOWN_BEHIND = 4 /* `behind` is known: there is a slot behind the committed records */
};

/* What opening a run has to know of the records of a location. Where it stands in a file, opening
 * need not read the records themselves. */
struct lull_tape_ends {
    uint64_t first, last;     /* ticks: the earliest and the latest time in the location's first
                                 chunk and its last two; first > last: these hold no times */
    unsigned char behind[16]; /* the slot behind its last record */
    uint32_t known;           /* enum lull_tape_known */
    uint32_t reserved;
};

/* How much of its time a thread had a core, as the system's scheduler tells; all 0: not known. */
struct lull_tape_cores {
    uint64_t on;             /* ns with a core */
    uint64_t off;            /* ns in which it could have run, and had none */
    uint64_t preempted;      /* how often a core was taken from it */
    uint64_t migrated;       /* how often it went on with another core */
    uint32_t allowed, there; /* cores that it may use; that the node has */
    uint64_t which;          /* a hash of those that it may use */
};

/* What the system's kernel did for a thread; user and system both 0: not known. */
struct lull_tape_usage {
    uint64_t user, system; /* ns of processor time: in the program, in the kernel */
    uint64_t outside;      /* ns of `system` at least that were spent outside of recorded calls */
    uint64_t minor, major; /* page faults: without, and with reading from a disk */
    uint64_t voluntary;    /* how often the thread gave its core away by itself */
};

/* Of a device stream: what it belongs to. Texts are terminated, "": not known. */
struct lull_tape_stream {
    char runtime[16];  /* "OpenCL", "CUDA" */
    char device[64];   /* its name, as the runtime gives it */
    char key[64];      /* the same text in all processes of a node that use this device, and another
                           one for each other device there: "pci:0000:01:00.0", "uuid:..." */
    uint32_t context;  /* number of the runtime's context in its process, from 1 on; 0: not known */
    uint32_t in_order; /* 1: an operation begins when the one that was submitted before it has
                           ended; 0: when the operations that it was told to wait for have ended */
    uint64_t lost;     /* operations that were submitted and have no record */
    double clock_error;    /* ns: by so much the times of the records may be wrong */
    uint32_t summary;      /* 1: its operations are in its sums alone */
    int16_t priority;      /* with has_priority: lower numbers go first, by the runtime's count */
    uint16_t has_priority; /* 0 or 1 */
};

/* The number of a device stream among the locations of its process is this plus its own, so that
 * threads and streams may begin in any order. In tapes that lull itself writes, streams have the
 * numbers behind those of the threads. Records name streams by their own numbers. */
#define LULL_TAPE_FIRST_STREAM UINT32_C(0x80000000)

struct lull_tape_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size, record_size;
    uint32_t process; /* p of the file name */
    uint32_t number;  /* thread or stream number in its process, either counted from 0; of a stream
                         LULL_TAPE_FIRST_STREAM may be added */
    uint8_t kind;     /* 0 thread, 1 device stream */
    uint8_t role;     /* 0 to be decided by the reader, 1 master, 2 worker, 3 free thread */
    uint16_t flags;
    uint32_t reserved;
    uint64_t source_id;
    /* Bytes of records that are complete. It is stored with release order after the bytes
     * themselves; the bytes behind them are being written, or zero. */
    uint64_t committed;
    char name[128]; /* of the location, terminated */
    /* With LULL_TAPE_TAILED: the first `flushed` bytes of the records, a multiple of
     * LULL_TAPE_CHUNK, are in LULL_TAPE_PART_RECORDS; what follows stands at the start of
     * LULL_TAPE_PART_TAIL, which is one chunk that the recorder writes through a mapping, copies
     * behind the others when it is full, and fills again after having stored `flushed`. So no
     * record is ever in neither place, and the program pays for one copy instead of a page fault
     * for every page that it fills. */
    uint64_t flushed;
    struct lull_tape_cores cores;
    /* When the thread left MPI_Init and entered MPI_Finalize, in ticks; 0: it did not. */
    uint64_t main_begin, main_end;
    /* The cores that the thread may use: bit i % 64 of the word i / 64 is core i, as the system
     * numbers them. All 0: not known. */
    uint64_t core_set[LULL_TAPE_CORE_WORDS];
    struct lull_tape_ends ends; /* written when a recorder closes the location; before that
                                   `known` is 0 */
    struct lull_tape_usage usage;
    struct lull_tape_stream stream; /* of a thread all 0 */
};

/* ---- records --------------------------------------------------------------------------------- */

/* 16 bytes, followed by `extra` slots of 16 bytes. */
struct lull_tape_record {
    uint64_t time; /* ticks of the process's clock */
    uint32_t head; /* kind: 6 bits, extra: 4 bits, id: 22 bits, from the lowest */
    uint32_t value;
};

union lull_tape_slot {
    struct lull_tape_record record;
    uint64_t u64[2];
    uint32_t u32[4];
    int32_t i32[4];
};

#define LULL_TAPE_NO_ID      UINT32_C(0x3fffff)
#define LULL_TAPE_MOST_IDS   LULL_TAPE_NO_ID /* ids are below this */
#define LULL_TAPE_MOST_EXTRA 15
#define LULL_TAPE_OPEN       UINT32_MAX /* value of a CALL that has not ended */
/* The last CALLs with one more slot, up to so many, may still change although they are committed: calls
 * that ask in vain are added to them until something else stands behind them. */
#define LULL_TAPE_MOST_POLLED 8
/* A record stands for at most so many calls beside its own. */
#define LULL_TAPE_MOST_MERGED (UINT64_C(1) << 32)

enum lull_tape_kind {
    LULL_TAPE_NOTHING = 0, /* never written: the file was extended to here */
    LULL_TAPE_PAD,         /* skip to the next chunk */

    /* id: region. Within the time of a CALL* lies no other ENTER, LEAVE or CALL*. Its value is its
     * duration in ticks, below LULL_TAPE_OPEN. A CALL with extra 1 has its duration in that slot
     * instead. The other CALL_* have a long duration in one more slot, their last, and then their
     * value is LULL_TAPE_OPEN. A CALL with that value behind the committed length has not ended: it
     * shows where a process died or hangs. */
    LULL_TAPE_ENTER,
    LULL_TAPE_LEAVE,
    LULL_TAPE_CALL,             /* + u64[0] duration, u64[1] how many more calls of the same kind
                                   the record stands for, if extra is 1 */
    LULL_TAPE_CALL_SEND,        /* + message: the whole of a blocking send */
    LULL_TAPE_CALL_RECV,        /* + message: the whole of a blocking receive, matched */
    LULL_TAPE_CALL_ISEND,       /* + message: opens the location's next request */
    LULL_TAPE_CALL_IRECV,       /* + message: opens the location's next request */
    LULL_TAPE_CALL_WAIT,        /* + completions; without any, all open requests have completed as
                                   they were posted; these are then the newest requests, without a
                                   gap */
    LULL_TAPE_CALL_COLLECTIVE,  /* + collective, the operation follows from the region */
    LULL_TAPE_CALL_ICOLLECTIVE, /* + collective: opens the location's next request */
    LULL_TAPE_CALL_SENDRECV,    /* + message sent + message received */

    LULL_TAPE_STATE, /* id: state; value or u64[0]: duration */
    LULL_TAPE_FLUSH, /* value or u64[0]: duration */

    /* Events by themselves. id: communicator, window, file or marker, depending on the kind. */
    LULL_TAPE_MESSAGE,    /* value: LULL_TAPE_MESSAGE_*; + u64 bytes, u64 request; i32 peer, tag,
                             u32 mode of a send, 0 */
    LULL_TAPE_COLLECTIVE, /* value: op, bit 31: end; + u64 sent, received; u64 request, i32 root */
    LULL_TAPE_TRANSFER,   /* value: op, bit 31: RMA else I/O; + u64 bytes, i32[2] target */
    LULL_TAPE_NUMBER,     /* value: LULL_TAPE_NUMBER_*; + u64[0]; of a wait for threads also u32[2]
                             location, u32[3] threads */
    LULL_TAPE_COUNTERS,   /* extra readings: u64[0] value, u32[2] counter */
    LULL_TAPE_COMPLETE,   /* + completions that did not fit into a CALL_WAIT */
    LULL_TAPE_COUNTS,    /* value: number n of counters, those with the ids from `id` to id + n - 1;
                             + two u64 in each slot: what each has counted since its previous
                             reading */
    LULL_TAPE_CALL_LIKE, /* id: a shape, see lull_tape_shape_of; value: duration. A call like the
                             location's last one of that shape */
    /* Each chunk of a ring, except a location's first, begins with an OPENED for each region that
     * is open, from the outermost to the innermost, and a RESUME. They are for a reader who begins
     * at this chunk; others skip them. */
    LULL_TAPE_OPENED,    /* id: region; + u64[0] when it was entered */
    LULL_TAPE_RESUME,    /* value: 1 in a pause, else 0; + u64[0] number of the location's next
                         request: requests opened before have smaller ones. All calls before it have
                         ended, and no CALL_LIKE behind it stands for a call before it */
    LULL_TAPE_OPERATION, /* behind a CALL of a device stream: what it was. id: region of the call by
                            which the host submitted it, or LULL_TAPE_NO_ID; value: number of the
                            thread that made this call, or LULL_TAPE_NO_LOCATION; + u64[0] its
                            number, as in SUBMIT; 0: not known; u64[1] bytes that it moved, 0 of a
                            kernel; of an exchange with other devices + u64[0] its
                            sequence number, which together with the device's key and the region of
                            the CALL is the same at all ranks, or LULL_TAPE_NO_SEQUENCE, i32[2] rank
                            at the other end, or root, below 0: none */
    LULL_TAPE_CALL_OPERATION, /* a CALL of a device stream and its OPERATION in one: id and value as
                                 of a short CALL; + u32[0] number, u32[1] bytes, u32[2] region of the
                                 call by which the host submitted it, or LULL_TAPE_NO_ID, u32[3]
                                 number of the thread, or LULL_TAPE_NO_LOCATION */
    LULL_TAPE_KINDS
};

/* The kinds whose records have shapes (tape/records.h): calls that send, receive or begin a
 * collective operation. */
#define LULL_TAPE_SHAPED                                                                  \
    (1U << LULL_TAPE_CALL_SEND | 1U << LULL_TAPE_CALL_RECV | 1U << LULL_TAPE_CALL_ISEND | \
     1U << LULL_TAPE_CALL_IRECV | 1U << LULL_TAPE_CALL_COLLECTIVE |                       \
     1U << LULL_TAPE_CALL_ICOLLECTIVE | 1U << LULL_TAPE_CALL_SENDRECV)
#define LULL_TAPE_SHAPES 256 /* shapes that a location has at a time */

/* Message slot of CALL_SEND and its like: i32[0] peer, i32[1] tag,
 * u64[1] = bytes (40 bits) | communicator << 40 (24 bits). */
#define LULL_TAPE_BYTES_MASK ((UINT64_C(1) << 40) - 1)
/* Collective slot: u64[0] = bytes sent (40) | communicator << 40,
 * u64[1] = bytes received (40) | root << 40 (LULL_TAPE_NO_ROOT: none). */
#define LULL_TAPE_NO_ROOT UINT32_C(0xffffff)

/* Completion slot of CALL_WAIT. A location's requests are numbered from 0 in the order in which
 * CALL_ISEND, CALL_IRECV and CALL_ICOLLECTIVE opened them.
 *  u32[3] = 0: requests u32[0] .. u32[0] + u32[1] - 1 have completed as they were posted;
 *  u32[3] = LULL_TAPE_CANCELLED: request u32[0] was withdrawn;
 *  u32[3] = LULL_TAPE_FREED: the program gave up the request of receive u32[0], which may still
 *              complete without a record;
 *  else:       receive u32[0] has matched source i32[1] and tag i32[2];
 *              u32[3] = LULL_TAPE_MATCHED | size in bytes, or with LULL_TAPE_LARGE the size is in
 *              u64[0] of one more slot. */
#define LULL_TAPE_CANCELLED UINT32_C(1)
#define LULL_TAPE_FREED     UINT32_C(2)
#define LULL_TAPE_MATCHED   UINT32_C(0x80000000)
#define LULL_TAPE_LARGE     UINT32_C(0x40000000)

/* As the request of a MESSAGE or a COLLECTIVE: the record opens the location's next request. */
#define LULL_TAPE_NEXT_REQUEST (UINT64_MAX - 1)

/* The operation of a COLLECTIVE record. */
enum lull_tape_op {
    LULL_TAPE_OP_BARRIER,
    LULL_TAPE_OP_BCAST,
    LULL_TAPE_OP_GATHER,
    LULL_TAPE_OP_GATHERV,
    LULL_TAPE_OP_SCATTER,
    LULL_TAPE_OP_SCATTERV,
    LULL_TAPE_OP_ALLGATHER,
    LULL_TAPE_OP_ALLGATHERV,
    LULL_TAPE_OP_ALLTOALL,
    LULL_TAPE_OP_ALLTOALLV,
    LULL_TAPE_OP_ALLTOALLW,
    LULL_TAPE_OP_ALLREDUCE,
    LULL_TAPE_OP_REDUCE,
    LULL_TAPE_OP_REDUCE_SCATTER,
    LULL_TAPE_OP_REDUCE_SCATTER_BLOCK,
    LULL_TAPE_OP_SCAN,
    LULL_TAPE_OP_EXSCAN,
    LULL_TAPE_OP_NEIGHBOUR,
    LULL_TAPE_OP_CREATE,
    LULL_TAPE_OP_FREE,
    LULL_TAPE_OP_UNKNOWN
};

/* The operation of a TRANSFER record: one-sided, or of files. */
enum lull_tape_rma {
    LULL_TAPE_RMA_PUT,
    LULL_TAPE_RMA_GET,
    LULL_TAPE_RMA_ATOMIC,
    LULL_TAPE_RMA_SYNC
};

enum lull_tape_io {
    LULL_TAPE_IO_READ,
    LULL_TAPE_IO_WRITE,
    LULL_TAPE_IO_OPEN,
    LULL_TAPE_IO_CLOSE,
    LULL_TAPE_IO_OTHER
};

/* As a peer, a target or a root. ANY: any process, or there is none; NOBODY: MPI_PROC_NULL. */
enum { LULL_TAPE_ANY = -1, LULL_TAPE_NOBODY = -2 };
#define LULL_TAPE_NO_REQUEST UINT64_MAX

enum lull_tape_message {
    LULL_TAPE_MESSAGE_SEND,
    LULL_TAPE_MESSAGE_SEND_DONE,
    LULL_TAPE_MESSAGE_RECV_POST,
    LULL_TAPE_MESSAGE_RECV,
    LULL_TAPE_MESSAGE_TEST,
    LULL_TAPE_MESSAGE_CANCELLED,
    LULL_TAPE_MESSAGE_FREED,
    LULL_TAPE_MESSAGES
};

/* The mode of a send. STANDARD: the mode is that of the function that sends, such as MPI_Ssend. */
enum lull_tape_mode {
    LULL_TAPE_MODE_STANDARD,
    LULL_TAPE_MODE_BUFFERED,
    LULL_TAPE_MODE_SYNCHRONOUS,
    LULL_TAPE_MODES
};

enum lull_tape_number {
    LULL_TAPE_NUMBER_FORK,
    LULL_TAPE_NUMBER_JOIN,
    LULL_TAPE_NUMBER_TEAM_BEGIN,
    LULL_TAPE_NUMBER_TEAM_END,
    LULL_TAPE_NUMBER_THREAD_BEGIN,
    LULL_TAPE_NUMBER_THREAD_END,
    LULL_TAPE_NUMBER_TASK_CREATE,
    LULL_TAPE_NUMBER_TASK_SWITCH,
    LULL_TAPE_NUMBER_TASK_COMPLETE,
    LULL_TAPE_NUMBER_LOCK_ACQUIRE,
    LULL_TAPE_NUMBER_LOCK_RELEASE,
    LULL_TAPE_NUMBER_MEASURE_OFF,
    LULL_TAPE_NUMBER_MEASURE_ON,
    LULL_TAPE_NUMBER_MARKER,
    /* The number of the thread that is made: in its process, from 1 on. THREAD_BEGIN and THREAD_END
     * of that thread have the same number, or 0 where it is not known. */
    LULL_TAPE_NUMBER_THREAD_CREATE,
    /* A wait for the end of another thread has the number of that thread, its location (its number
     * in its process; LULL_TAPE_NO_LOCATION: not known) and 0 threads. A wait at a barrier
     * has a number that is the same for all who meet there, how many threads these are, and no
     * location. */
    LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN,
    LULL_TAPE_NUMBER_THREAD_WAIT_END,
    /* An operation was submitted to a device stream, in the call before this record. Its number is
     * unique in the process and above 0; a graph is submitted as one, and all its operations have
     * that number. u32[2]: the number of the stream, or LULL_TAPE_NO_LOCATION.
     * The record of the operation may be that of another stream: where operations of one queue
     * overlap, the queue has several streams, of which the first is named here. */
    LULL_TAPE_NUMBER_SUBMIT,
    /* The operation u64[0] does not begin before the operation u64[1] has ended; 0: before all
     * operations that were submitted to its stream earlier have ended. */
    LULL_TAPE_NUMBER_DEPEND,
    /* The call before this record ended when the operation with that number had ended; 0: when all
     * operations had that were submitted to the stream u32[2] before. */
    LULL_TAPE_NUMBER_DEVICE_WAIT,
    LULL_TAPE_NUMBERS
};
#define LULL_TAPE_NO_LOCATION UINT32_MAX
#define LULL_TAPE_NO_RANK     UINT64_MAX
#define LULL_TAPE_NO_SEQUENCE UINT64_MAX

/* ---- sums ------------------------------------------------------------------------------------ */

#define LULL_TAPE_SUMS_MAGIC    "LULLSUMS"
#define LULL_TAPE_MOST_COUNTERS 6 /* of one location */

/* The header is followed by two lull_tape_sum for each region id below `regions`: outside, then
 * inside of OpenMP parallel regions. The recorder updates all of it in place while the thread runs,
 * whether or not events are kept, so that the times of a whole run are exact even where its events
 * are not complete. The rest of the thread's life, which is in none of the sums and fields, was
 * spent outside of all regions. The sum of a region that is still open holds its time up to the
 * moment when the recorder last filled a chunk. */
struct lull_tape_sums_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size, sum_size;
    uint32_t process, number;
    uint64_t regions;
    uint64_t begin, end; /* ticks: the thread's life so far; the sums never add up to more */
    uint64_t paused;     /* ticks in which the program did not want to be measured */
    uint64_t absent;     /* ticks between one thread's end and the next one's begin */
    uint64_t
        flushing[2]; /* ticks in which the recorder wrote: outside, inside of parallel regions */
    uint32_t n_counters;
    uint32_t
        has_bytes; /* 1: a sum has, behind its counts, a word more: the bytes that were moved */
    uint32_t counters[LULL_TAPE_MOST_COUNTERS]; /* the ids of the counters */
    uint64_t counted[LULL_TAPE_MOST_COUNTERS];  /* what they counted outside of all regions */
};

struct lull_tape_sum {
    uint64_t visits, ticks; /* ticks directly in the region, without the regions within it */
    uint64_t counts[];      /* [n_counters + has_bytes]: what was counted in these ticks, bytes */
};

/* ---- samples --------------------------------------------------------------------------------- */

#define LULL_TAPE_SAMPLES_MAGIC "LULLSAMP"

/* How the samples of a location were taken. */
enum lull_tape_sample_source {
    LULL_TAPE_SAMPLES_REFUSED = 0, /* they were not: `refused` says why */
    LULL_TAPE_SAMPLES_PERF = 1,    /* by perf_event_open(2), the software task clock */
    LULL_TAPE_SAMPLES_FAKE = 2,    /* made up, for tests */
    LULL_TAPE_SAMPLES_TIMER = 3,   /* by a timer of the thread's processor time, and its signal */
    LULL_TAPE_SAMPLE_SOURCES
};

/* What samples have behind struct lull_tape_sample, in this order. */
enum lull_tape_sample_field {
    LULL_TAPE_SAMPLE_COUNTS = 1, /* struct lull_tape_sample_counts */
    LULL_TAPE_SAMPLE_STACK =
        2 /* the rest of `sample_size`: words of the stack, and 0 behind them */
};

/* Samples say in which code a thread was at some instants. They are taken at intervals of processor
 * time that was spent in the program; those of a timer also of time in the kernel. The header is followed by room for `room`
 * samples of `sample_size` bytes. All of it is changed in place:
 *
 *  - A sample is written behind the others, then `state` counts it.
 *  - When there is no more room, the samples are thinned: of each two neighbours one is kept, with
 *    the weight of both, and the interval doubles. Meanwhile `state` says how far that has come, so
 *    that the samples can be read also when the program dies there: its lower half is the number n
 *    of samples before, its upper half the number k of those that are kept already. The samples
 *    that count are those with the indices 0 to k - 1 and 2k to n - 1; without thinning k is 0.
 *    Where the program dies in the middle of the first step, one sample may count twice. */
struct lull_tape_samples_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size, sample_size;
    uint32_t process, number;
    uint32_t source;        /* enum lull_tape_sample_source */
    uint32_t refused;       /* an errno of Linux */
    uint64_t interval;      /* ns of processor time between two samples, as asked for */
    uint64_t last_interval; /* the present one */
    uint64_t room;
    uint64_t state;
    uint64_t taken;  /* samples that were ever put here */
    uint64_t lost;   /* samples for which the kernel had no room, as it says itself */
    uint64_t fields; /* a set of enum lull_tape_sample_field. Headers may end in front of it: 0 */
};

struct lull_tape_sample {
    uint64_t time;   /* ticks of the process's clock, as in records */
    uint64_t place;  /* offset (40 bits) in an object, as the object file counts addresses, and the
                        object's id << 40 (24 bits) */
    uint64_t weight; /* ns of processor time that it stands for */
};
/* What the processor counted in the time that the sample stands for. */
struct lull_tape_sample_counts {
    uint64_t instructions, cycles;
};
#define LULL_TAPE_OFFSET_MASK ((UINT64_C(1) << 40) - 1)
/* The object of a place in code that no file holds. Its offset means nothing. */
#define LULL_TAPE_NO_OBJECT UINT32_C(0xffffff)

static inline uint64_t lull_tape_place(uint32_t object, uint64_t offset)
{
    return (uint64_t)object << 40 | (offset & LULL_TAPE_OFFSET_MASK);
}

/* A word of a stack, or a register, that points to code or into the stack; others are not kept. The lowest
 * LULL_TAPE_STACK_OFFSET_BITS bits are an offset: in the object that the next 16 bits name, or, for
 * LULL_TAPE_IN_STACK, behind the stack pointer. The upper bits are the word's number, counted from the
 * stack pointer upwards, or one of the registers. 0: there is none. */
#define LULL_TAPE_STACK_OFFSET_BITS 36
#define LULL_TAPE_IN_STACK          UINT64_C(0xffff)
enum lull_tape_stack_slot {
    LULL_TAPE_STACK_FRAME = 0xfff, /* the register that may point to the frame: rbp, x29 */
    LULL_TAPE_STACK_LINK =
        0xffe, /* the register with the return address, where there is one: x30 */
    LULL_TAPE_STACK_SLOTS = 0xf00 /* words of the stack have smaller numbers */
};

static inline uint64_t lull_tape_stack_word(uint32_t slot, uint64_t object, uint64_t offset)
{
    return (uint64_t)slot << 52 | object << LULL_TAPE_STACK_OFFSET_BITS | offset;
}

/* ---- files of spawned worlds ----------------------------------------------------------------- */

#define LULL_TAPE_SPAWNED_NAME  "spawned" /* a folder */
#define LULL_TAPE_NODES_NAME    "nodes"   /* a folder that only recorders use */
#define LULL_TAPE_ABOUT_NAME    "about"   /* a file of definitions, all of them PROPERTY */
#define LULL_TAPE_SPAWNED_MAGIC "LULLSPWN"

/* RUN/spawned/<application> tells the recorders which process numbers a world of MPI has that other
 * processes have spawned. This struct, followed by the process numbers of its parents, u32 each. */
struct lull_tape_spawned {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t application;  /* as in PROCESS definitions */
    uint32_t first, count; /* rank r is process `first` + r, r < `count` */
    uint32_t n_parents;
};

/* ---- heads of records ------------------------------------------------------------------------ */

static inline uint32_t lull_tape_head(unsigned kind, unsigned extra, uint32_t id)
{
    return kind | extra << 6 | id << 10;
}

static inline unsigned lull_tape_kind_of(uint32_t head)
{
    return head & 0x3f;
}

static inline unsigned lull_tape_extra_of(uint32_t head)
{
    return head >> 6 & 0xf;
}

static inline uint32_t lull_tape_id_of(uint32_t head)
{
    return head >> 10;
}

/* ---- definitions ----------------------------------------------------------------------------- */

#define LULL_TAPE_DEFINITIONS_MAGIC "LULLDEFS"

struct lull_tape_definitions_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size; /* of this struct; the first definition starts there */
    uint32_t process;     /* LULL_TAPE_WHOLE_RUN in RUN/definitions */
    uint64_t committed;   /* bytes of definitions that are complete, as in lull_tape_header */
};

#define LULL_TAPE_WHOLE_RUN UINT32_MAX

/* The enumerations that follow are values of fields. New values go to the end; none may change its
 * number, because files hold them. */

/* What a region belongs to (paradigm) and what it is for (role). */
enum lull_tape_paradigm {
    LULL_TAPE_PARADIGM_USER = 0,
    LULL_TAPE_PARADIGM_COMPILER = 1,
    LULL_TAPE_PARADIGM_MPI = 2,
    LULL_TAPE_PARADIGM_OPENMP = 3,
    LULL_TAPE_PARADIGM_PTHREAD = 4,
    LULL_TAPE_PARADIGM_DEVICE = 5,
    LULL_TAPE_PARADIGM_IO = 6,
    LULL_TAPE_PARADIGM_MEASUREMENT = 7,
    LULL_TAPE_PARADIGM_OTHER = 8
};

enum lull_tape_role {
    LULL_TAPE_ROLE_FUNCTION = 0,
    LULL_TAPE_ROLE_WRAPPER = 1,
    LULL_TAPE_ROLE_LOOP = 2,
    LULL_TAPE_ROLE_CODE = 3,
    LULL_TAPE_ROLE_PARALLEL = 4,
    LULL_TAPE_ROLE_SECTIONS = 5,
    LULL_TAPE_ROLE_SECTION = 6,
    LULL_TAPE_ROLE_WORKSHARE = 7,
    LULL_TAPE_ROLE_SINGLE = 8,
    LULL_TAPE_ROLE_SINGLE_BODY = 9,
    LULL_TAPE_ROLE_MASTER = 10,
    LULL_TAPE_ROLE_CRITICAL = 11,
    LULL_TAPE_ROLE_CRITICAL_BODY = 12,
    LULL_TAPE_ROLE_ATOMIC = 13,
    LULL_TAPE_ROLE_BARRIER = 14,
    LULL_TAPE_ROLE_IMPLICIT_BARRIER = 15,
    LULL_TAPE_ROLE_FLUSH = 16,
    LULL_TAPE_ROLE_ORDERED = 17,
    LULL_TAPE_ROLE_ORDERED_BODY = 18,
    LULL_TAPE_ROLE_TASK = 19,
    LULL_TAPE_ROLE_TASK_CREATE = 20,
    LULL_TAPE_ROLE_TASK_WAIT = 21,
    LULL_TAPE_ROLE_COLL_ONE2ALL = 22,
    LULL_TAPE_ROLE_COLL_ALL2ONE = 23,
    LULL_TAPE_ROLE_COLL_ALL2ALL = 24,
    LULL_TAPE_ROLE_COLL_OTHER = 25,
    LULL_TAPE_ROLE_FILE_IO = 26,
    LULL_TAPE_ROLE_POINT2POINT = 27,
    LULL_TAPE_ROLE_RMA = 28,
    LULL_TAPE_ROLE_DATA_TRANSFER = 29,
    LULL_TAPE_ROLE_ARTIFICIAL = 30,
    LULL_TAPE_ROLE_THREAD_CREATE = 31,
    LULL_TAPE_ROLE_THREAD_WAIT = 32,
    LULL_TAPE_ROLE_ALLOCATE = 33,
    LULL_TAPE_ROLE_LOCK = 34,
    LULL_TAPE_ROLE_SCHEDULE = 35,
    LULL_TAPE_ROLE_KERNEL = 36
};

/* What a state is spent on. */
enum lull_tape_activity {
    LULL_TAPE_ACTIVITY_USEFUL = 0,
    LULL_TAPE_ACTIVITY_MPI_P2P = 1,
    LULL_TAPE_ACTIVITY_MPI_COLLECTIVE = 2,
    LULL_TAPE_ACTIVITY_MPI_ONE_SIDED = 3,
    LULL_TAPE_ACTIVITY_MPI_IO = 4,
    LULL_TAPE_ACTIVITY_MPI_OTHER = 5,
    LULL_TAPE_ACTIVITY_OMP_SYNC = 6,
    LULL_TAPE_ACTIVITY_OMP_SCHEDULE = 7,
    LULL_TAPE_ACTIVITY_OMP_LOCK = 8,
    LULL_TAPE_ACTIVITY_IDLE = 9,
    LULL_TAPE_ACTIVITY_DEVICE = 10,
    LULL_TAPE_ACTIVITY_IO = 11,
    LULL_TAPE_ACTIVITY_FLUSH = 12,
    LULL_TAPE_ACTIVITY_OTHER = 13
};

/* What a counter counts. */
enum lull_tape_counter_role {
    LULL_TAPE_COUNTER_OTHER = 0,
    LULL_TAPE_COUNTER_INSTRUCTIONS = 1,
    LULL_TAPE_COUNTER_CYCLES = 2,
    LULL_TAPE_COUNTER_PROCESSOR_TIME = 3 /* ns with a core */
};

/* What a thread is, in lull_tape_header. */
enum lull_tape_thread {
    LULL_TAPE_THREAD_UNKNOWN = 0,
    LULL_TAPE_THREAD_MASTER = 1,
    LULL_TAPE_THREAD_WORKER = 2,
    LULL_TAPE_THREAD_FREE = 3
};

/* A definition is this struct and `size` - 16 bytes of fields, padded to a multiple of 8. The enum
 * below lists the fields of each kind in their order: u32, u64, i64 and f64 by width, text as a u32
 * length and its bytes. */
struct lull_tape_definition {
    uint32_t size; /* bytes, with this struct and the padding */
    uint16_t kind;
    uint16_t reserved;
    uint32_t id; /* what records and other definitions call it: counted from 0, so below
                    LULL_TAPE_MOST_IDS and below the file's number of bytes */
    uint32_t reserved2;
};

enum lull_tape_definition_kind {
    LULL_TAPE_DEFINE_RUN = 1, /* i64 duration ns, i64 origin ns, i64 start_realtime, f64 resolution,
                                 f64 error, u32 has_states, text producer. In RUN/definitions it is
                                 the last definition, written when a run ends in an orderly way; in
                                 definitions of a process it is the first, and duration and origin
                                 mean nothing */
    LULL_TAPE_DEFINE_CLOCK,   /* u64 ticks, i64 ns, f64 error: a point of the process's clock; with
                                 none, ticks are ns */
    LULL_TAPE_DEFINE_NODE,    /* u32 parent, text name, text class */
    LULL_TAPE_DEFINE_PROCESS, /* id: process number; u32 application, u32 rank, u32 node, text name,
                                 u64 clock (optional): the same for processes with one clock */
    LULL_TAPE_DEFINE_REGION,  /* u32 paradigm, u32 role, u32 parallel, u32 line, text name, file;
                                 of the calls from one place: u32 whole, text site */
    LULL_TAPE_DEFINE_STATE,   /* u32 number, u32 activity, text name */
    LULL_TAPE_DEFINE_COMM,    /* u64 key, u32 paradigm, u32 size, u32 first, u32 parent, u32 remote,
                                 u32 members listed, that many u32 process numbers (or locations of
                                 a team), text name. Across processes, communicators with the same
                                 key are one; one of them lists the members unless they are the
                                 `size` processes from `first` on. Behind the text, u64 rank
                                 (optional): the process does not know all members, but has this
                                 rank among them; LULL_TAPE_NO_RANK: it is no member */
    LULL_TAPE_DEFINE_COUNTER, /* u64 source, u32 role, text name, text unit */
    LULL_TAPE_DEFINE_MARKER,  /* u64 source, text name */
    LULL_TAPE_DEFINE_OBJECT, /* text path, text build id (hexadecimal or ""): a file with code. Behind
                                 them, text function (optional): a function in a source file that an
                                 interpreter executes; an offset in it is a line */
    LULL_TAPE_DEFINE_SITE,   /* id: that of a region; u32 region, u32 code, u32 n, n times: u32
                                 object, u64 offset. The region `id` stands for the calls of
                                 `region` from the first place; that place is called from the second
                                 one, and so on. An offset is that of the calling instruction, as
                                 the object file counts addresses. With the codes of blocks and
                                 functions (enum lull_tape_code) there is one place */
    LULL_TAPE_DEFINE_OFFSET, /* i64 ns, i64 offset, f64 error: when the process's clock says `ns`,
                                 the clock of the run is `offset` ns ahead of it, within `error` ns.
                                 Between two of these, and beyond, the offset is a straight line */
    LULL_TAPE_DEFINE_WORLD,  /* u32 first, u32 size, u32 rank: the process has `rank` in a world of
                                 MPI with `size` ranks. Where definitions and records of these
                                 processes hold process numbers, `first` + r means rank r of it */
    LULL_TAPE_DEFINE_FAR,    /* id: that of a communicator, one group of an intercommunicator; u64
                                 link, u64 own, u64 theirs, u32 size, u32 first, u32 members listed,
                                 that many u32 process numbers: its other group, where no key could
                                 name both. The FAR of the other group has the same link, where a
                                 member knows it (0: none does), else `own` and `theirs` swapped */
    LULL_TAPE_DEFINE_THROTTLED,   /* id: that of a region; u64 ns, u64 calls: its calls are left out
                                   from here on because their mean duration was only `ns`. `calls`
                                   is LULL_TAPE_NOT_COUNTED at first; a later definition says how
                                   many were left out */
    LULL_TAPE_DEFINE_DISTURBANCE, /* u64 seed, text: the recorder disturbed the program on purpose,
                                     as the lines of the text say (lull record --inject) */
    LULL_TAPE_DEFINE_HELD, /* u64 known, u64 unknown: `known` messages of the process were delayed,
                              or were late enough by themselves; `unknown` could not be delayed,
                              because the time when they were sent was not known */
    LULL_TAPE_DEFINE_FILE, /* u32 kind (enum lull_tape_file_kind), text path or name: a file that
                              I/O TRANSFERs have as their id */
    LULL_TAPE_DEFINE_PROPERTY, /* text key, text value: what was known of the run when it began. In
                                  RUN/about it holds for all processes; in definitions of a process,
                                  which has only what differs from that, for this one, and an empty
                                  value says that it has none. In RUN/definitions behind the texts,
                                  u32 processes, u32 first (optional): it holds for that many
                                  processes, of which `first` is the first */
    LULL_TAPE_DEFINE_EXIT,     /* u64: with which status the process ended; LULL_TAPE_NOT_EXITED: it
                                  has not ended by exit or by return from main */
    LULL_TAPE_DEFINE_MEMORY, /* id: process number; struct lull_tape_memory. The recorder changes it in place
                                  while the program runs, so that it is known of a process that is killed */
    LULL_TAPE_DEFINE_READINGS, /* id: process number; struct lull_tape_reading, as many as fit: how much memory the
                                  process had, over time. The recorder fills them, and thins them out, in place. A
                                  reading of 0 bytes, or not later than those before it, does not count */
    LULL_TAPE_DEFINE_REGION_MEMORY, /* u32 region, u32 process number, struct lull_tape_region_memory: how
                                       much memory the process had while it was in the region. The
                                       recorder changes the numbers in place */
    LULL_TAPE_DEFINE_LIFE, /* u64 node, u64 space, u64 pid, u64 start: which process of the system
                              it is (tape/life.h) */
    LULL_TAPE_DEFINITIONS
};

/* Readings that a recorder has room for. When all are used, every second one is given up. */
#define LULL_TAPE_READINGS 128

struct lull_tape_reading {
    uint64_t time;  /* in ticks */
    uint64_t bytes; /* resident or swapped out; 0: not (yet) a reading */
};

/* Memory of a process, in bytes; 0: not known. */
struct lull_tape_memory {
    uint64_t peak;     /* the most that was resident at a time, as the system tells exactly */
    uint64_t resident; /* what was resident when the recorder looked last */
    uint64_t swapped;  /* the most that was swapped out when the recorder looked */
    uint64_t node;     /* all memory of the node */
    uint64_t
        limit; /* the least limit of the control groups that the process is in; 0: there is none */
    uint64_t group; /* the same number in all processes of a node which that limit is for */
};

/* Memory of a process within a region. */
struct lull_tape_region_memory {
    uint64_t
        peak; /* the most that was resident, in bytes, in visits that were measured; 0: none was */
    uint64_t measured; /* visits of which that is known */
    uint64_t visits;   /* all visits */
};

/* What can be read and written. */
enum lull_tape_file_kind {
    LULL_TAPE_FILE_REGULAR = 0,
    LULL_TAPE_FILE_PIPE = 1,
    LULL_TAPE_FILE_SOCKET = 2,
    LULL_TAPE_FILE_TERMINAL = 3,
    LULL_TAPE_FILE_DEVICE = 4,
    LULL_TAPE_FILE_OTHER = 5
};

/* Keys of properties that the recorder itself says: which clock it reads and why, and that this
 * clock went apart from the system's. */
#define LULL_TAPE_PROPERTY_CLOCK       "clock"
#define LULL_TAPE_PROPERTY_CLOCK_DRIFT "clock_drift"

#define LULL_TAPE_NOT_COUNTED UINT64_MAX
#define LULL_TAPE_NOT_EXITED  UINT64_MAX

/* What the place of a SITE is. */
enum lull_tape_code {
    LULL_TAPE_CODE_CALLS = 0, /* where the region is called from */
    LULL_TAPE_CODE_BLOCK = 1, /* where the code of the region begins, as of a parallel region; it is
                                   called like `region` and the place together */
    LULL_TAPE_CODE_FUNCTION = 2, /* where a function begins; the region is called like it */
    LULL_TAPE_CODE_PATHS = 3     /* as CALLS, and the user has asked for callers */
};

/* ==== the file of a process =================================================================== */

/* RUN/<p / 1000>/<p>.tape, with all that is recorded of process p: extents,
 * and tables that say what each extent is part of. The file of a node that recorders write
 * (tape/container.h) holds the same for each of its processes. */

#define LULL_TAPE_PROCESS_MAGIC "LULLPROC"
#define LULL_TAPE_PAGE          4096 /* begin and size of extents are multiples of this */
#define LULL_TAPE_TABLES        20   /* of extents, beside the one behind the header */

/* What an extent is part of. The parts of one location, or the definitions, follow each other in
 * the order of their extents' numbers. */
enum lull_tape_part {
    LULL_TAPE_PART_NONE,        /* not (yet) in use */
    LULL_TAPE_PART_DEFINITIONS, /* each like a file of definitions: a header, then definitions */
    LULL_TAPE_PART_HEAD,        /* struct lull_tape_header */
    LULL_TAPE_PART_RECORDS,     /* chunks; the first `flushed` bytes of all of them are records */
    LULL_TAPE_PART_TAIL,        /* the chunk that is being filled */
    LULL_TAPE_PART_SUMS,        /* like a file of sums */
    LULL_TAPE_PART_RING,    /* one chunk of a ring; `pages` is its number among the chunks of its
                            location, from 0. When a newer chunk, of any location, takes its place,
                            the entry is NONE until the newer one is written. The chunks of a
                            location that count are the last ones without a gap up to `flushed` */
    LULL_TAPE_PART_SAMPLES, /* struct lull_tape_samples_header and samples */
    LULL_TAPE_PARTS
};

/* An entry of a table. `part` is stored last, with release order, before the extent is used. */
struct lull_tape_extent {
    uint32_t page, pages; /* where it begins and how long it is, in pages */
    uint32_t location;    /* the location's number in the process; 0 for definitions */
    uint32_t part;
};

/* The first page holds this, and behind it as many extents as fit. The table with index k has
 * 256 << k more extents. Extents and tables are found by their distance from the begin of the file.
 */
struct lull_tape_process_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size; /* of this struct; the first extent stands there */
    uint32_t process;     /* its number, p of the file name */
    uint64_t end;         /* bytes of the file that are given out; 0 in the file of a node */
    uint32_t n_extents;   /* entries that are given out; some of them may be NONE */
    uint32_t reserved;
    uint64_t tables[LULL_TAPE_TABLES]; /* where each table stands; 0: there is none yet */
};

/* Extents in the first page. */
#define LULL_TAPE_FIRST_EXTENTS                                              \
    ((uint32_t)((LULL_TAPE_PAGE - sizeof(struct lull_tape_process_header)) / \
                sizeof(struct lull_tape_extent)))

/* Returns the index of the table that holds an entry, or -1 for the page of the header, which holds
 * `first` entries; the table with index k holds 256 << k more. *ret_place becomes the entry's place
 * in that table or page. */
static inline int lull_tape_table_behind(uint32_t first, uint32_t entry, uint32_t *ret_place)
{
    int table = -1;
    uint32_t size = first;
    while (entry >= size && table < LULL_TAPE_TABLES) {
        entry -= size;
        size = UINT32_C(256) << ++table;
    }
    *ret_place = entry;
    return table;
}

/* The same for the extents of a process. */
static inline int lull_tape_table_of(uint32_t extent, uint32_t *ret_place)
{
    return lull_tape_table_behind(LULL_TAPE_FIRST_EXTENTS, extent, ret_place);
}

/* ==== the packed file of a node =============================================================== */

/* RUN/<node>.tapes, as `lull pack` makes it of the files of the node's processes.
 *
 * It holds the bytes of these files in blocks, each of which can be decoded alone: chunks of
 * records by columns, all others as they are or compressed. The tables stand in front, so that a
 * file that has been cut short is readable up to where it ends:
 *
 *     struct lull_tape_node_header
 *     struct lull_tape_node_file[n_files]           by process, number and kind
 *     struct lull_tape_node_location[n_locations]   by process and number
 *     struct lull_tape_node_block[n_blocks]         of one file after the other
 *     the blocks, without gaps, in the order of the table
 *
 * docs/formats/tape.md says the same in prose, and how blocks are coded. */

#define LULL_TAPE_NODE_ENDING ".tapes"
#define LULL_TAPE_NODE_MAGIC  "LULLNODE"

/* Flags: a file has exactly one of these; a file with others is of a newer lull. */
#define LULL_TAPE_NODE_PACKED   1
#define LULL_TAPE_NODE_RECORDED 2 /* not this form, but that of tape/container.h */

struct lull_tape_node_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size, flags;
    uint32_t n_files, n_locations;
    uint64_t n_blocks;
    uint64_t size;     /* bytes of the whole file */
    uint64_t checksum; /* lull_tape_checksum of the tables of files and of locations */
};

/* The kinds of packed files, by the names that they had. Others, up to 4, are of older versions. */
enum lull_tape_node_kind {
    LULL_TAPE_NODE_PROCESS = 0,  /* <p>.tape: all of a process */
    LULL_TAPE_NODE_CONTAINER = 4 /* <node>.tapes, what all processes of the node have recorded; the
                                    packed file has the same name. Its `process` is 0, and `number`
                                    counts such files in the run */
};

struct lull_tape_node_file {
    uint32_t process, number; /* number: 0, but of a container */
    uint32_t kind;            /* enum lull_tape_node_kind */
    uint32_t n_plain;         /* blocks that are not chunks of records; they stand first */
    uint64_t size;            /* bytes of the unpacked file */
    uint64_t first;           /* index of its first block in the table of blocks */
    uint64_t n_chunks; /* blocks that are chunks of records, behind the plain ones. Both sorts
                                 are in the order of their origins */
};

/* What opening a run has to know of a packed location. */
struct lull_tape_node_location {
    uint32_t process, number;
    uint64_t committed; /* bytes of records that are kept */
    struct lull_tape_ends ends;
};

enum lull_tape_node_coding {
    LULL_TAPE_NODE_ZEROS,   /* zeros; nothing is stored */
    LULL_TAPE_NODE_STORED,  /* as it is */
    LULL_TAPE_NODE_FRAME,   /* one zstd frame */
    LULL_TAPE_NODE_COLUMNS, /* records by columns */
    LULL_TAPE_NODE_CODINGS
};

struct lull_tape_node_block {
    uint64_t origin;   /* byte offset in the unpacked file */
    uint64_t place;    /* byte offset in the packed file */
    uint32_t size;     /* bytes in the packed file */
    uint32_t form;     /* lower 24 bits: bytes in the unpacked file; upper 8 bits: coding (enum
                          lull_tape_node_coding) */
    uint64_t checksum; /* of the bytes in the packed file; the seed is `origin` mixed with `form` */
};

static inline uint32_t lull_tape_block_length(const struct lull_tape_node_block *block)
{
    return block->form & 0xffffff;
}

static inline uint32_t lull_tape_block_coding(const struct lull_tape_node_block *block)
{
    return block->form >> 24;
}

/* This is lull_mix of base/mix.h, which a part of the layout cannot leave to another room. */
static inline uint64_t lull_tape_mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

/* A checksum that finds damage, not malice. Sum s takes every fourth 8-byte word from word s on, so
 * that the processor can work on four sums at once; the last word is filled up with zeros. Then
 * `seed`, the four sums and the size are mixed into one. Words are little endian. */
static inline uint64_t lull_tape_checksum(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t sums[4] = {1, 2, 3, 4}, all = seed;
    size_t left = size;
    for (; left >= sizeof sums; at += sizeof sums, left -= sizeof sums)
        for (int s = 0; s < 4; s++) {
            uint64_t word;
            __builtin_memcpy(&word, at + s * sizeof word, sizeof word);
            sums[s] = lull_tape_mix(sums[s], word);
        }
    for (int s = 0; left > 0; s++) {
        uint64_t word = 0;
        const size_t part = left < sizeof word ? left : sizeof word;
        __builtin_memcpy(&word, at, part);
        sums[s] = lull_tape_mix(sums[s], word);
        at += part;
        left -= part;
    }
    for (int s = 0; s < 4; s++)
        all = lull_tape_mix(all, sums[s]);
    return lull_tape_mix(all, size);
}

#endif
