/* SPDX-License-Identifier: BSD-3-Clause */
/* The breakdown of a run: where the time of each thread went, in integers that add up.
 *
 * It takes one pass over the events, and memory that is bounded by the number of locations (plus
 * regions x workers when regions are asked for). For every thread the nanoseconds of all
 * activities, inside and outside parallel regions, plus `disabled_ns`, are exactly the length of
 * the analysed windows.
 *
 * Where a trace has states (Paraver), the state decides what is useful: useful = Running. An open
 * region refines the other states (MPI point-to-point or collective, lock ...). Without states the
 * innermost runtime region decides. A worker outside every parallel region is idle. A reading of a
 * counter belongs to the activity of the time (begin, end] that ends with it. Where a window cuts
 * the time since the counter's previous reading (or the first event), the reading counts in
 * proportion to the time inside, in integers that add up over adjoining windows. */
#ifndef LULL_METRICS_BREAKDOWN_H
#define LULL_METRICS_BREAKDOWN_H

#include "activity/pass.h"
#include "match/device_log.h"
#include "metrics/windows.h"
#include "team/division.h"

/* ==== breakdown =============================================================================== */

/* ns[activity][p], with p = 1 inside an OpenMP parallel region and 0 outside. */
struct lull_times {
    int64_t ns[LULL_ACTIVITIES][2];
};

struct lull_thread_breakdown {
    uint32_t process; /* index into the breakdown's processes */
    uint32_t number;
    uint8_t kind; /* enum lull_location_kind */
    bool master;
    struct lull_times times;
    int64_t disabled_ns; /* while measurement was switched off */
    uint64_t *counters;  /* [n_counters * LULL_ACTIVITIES], counter-major; sums modulo 2^64 */
};

struct lull_process_breakdown {
    const char *name;
    uint32_t rank, node;
    uint32_t first_thread, n_threads; /* in threads[]: CPU threads first, then device streams */
    uint32_t n_cpu_threads;
    int64_t window_ns;                 /* length of its analysed windows: that of its threads */
    struct lull_process_memory memory; /* of the whole run, whatever the windows */
};

/* One region (function, MPI call, construct) summed over all threads. */
struct lull_region_breakdown {
    const char *name;
    const char *site; /* where it is called, as in lull_region; "": unknown, or all places */
    uint8_t paradigm, role, activity;
    uint64_t visits;
    int64_t inclusive_ns; /* of outermost visits only, so that recursion counts once; 0 where times
                             come from sums */
    int64_t exclusive_ns; /* not in a region inside */
    int64_t useful_ns;    /* useful time directly inside */
};

/* One OpenMP parallel region of one process, summed over its executions, which are those of the
 * master's outermost regions. Sums over threads are over all CPU threads of the process; threads
 * that take no part count as not useful. A worker's time inside parallel regions belongs to the
 * execution that it overlaps. */
struct lull_parallel_breakdown {
    uint32_t process;
    const char *name;
    uint64_t executions;
    int64_t duration_ns;   /* on the master: sum of (end - begin) */
    int64_t useful_ns;     /* sum over threads and executions of useful time inside */
    int64_t max_useful_ns; /* sum over executions of the largest useful time of a thread */
    /* sums over threads of time inside, by cause */
    int64_t schedule_ns, lock_ns, sync_ns, mpi_ns, other_ns;
};

/* What a device did while it ran no kernel. A moment at which it did nothing is charged to what the next operation of the
 * device waited for at that moment: first for the thread that submits it to come to the call which does that, then for
 * operations of other devices, then for the start. */
enum lull_device_loss {
    LULL_LOST_COPYING,    /* copies ran */
    LULL_LOST_EXCHANGING, /* kernels by which NCCL moves data ran */
    LULL_LOST_HOST, /* the thread that submits the next operation was outside of MPI and of the runtime */
    LULL_LOST_MPI,     /* it was in MPI */
    LULL_LOST_RUNTIME, /* it was in the runtime: it launched or allocated something else, or waited */
    LULL_LOST_LAUNCH, /* the call that submits the next operation had begun, and the operation had not */
    LULL_LOST_OTHER_DEVICE, /* the operation, or the thread that submits it, waited for another device */
    LULL_LOST_NO_WORK,      /* there was no next operation */
    LULL_LOST_UNKNOWN, /* it is not known which call submitted the next operation, or the recorder was off */
    LULL_DEVICE_LOSSES
};
const char *lull_device_loss_id(unsigned loss); /* "copying", "host" ... */

/* Why an operation that could begin did not (metrics/held_operations.h): operations of the default stream of its process
 * ran, or, for those of the default stream, of other streams; or kernels of other processes ran and nothing of its own. */
enum lull_device_hold { LULL_HELD_BY_DEFAULT_STREAM, LULL_HELD_BY_PROCESS, LULL_DEVICE_HOLDS };

struct lull_device_held {
    int64_t held_ns;    /* how long at least one operation was held */
    int64_t overlap_ns; /* how long those ran at the same time that would hold each other */
    /* What the device could save at most by running them side by side: of what a process ran on its default stream and
     * what it ran on others, the shorter, summed over processes; or what all processes ran, without the longest. */
    int64_t shorter_ns;
};

/* A device, on which streams of one or several processes run kernels and copies, also at the same time. */
struct lull_device_breakdown {
    /* Tells it from the other devices of the run: "node1 pci:0000:01:00.0"; where the tracer does not tell devices,
     * "rank 3 device 0" or "rank 3 stream 7" (metrics/devices.h). */
    const char *id;
    const char *name;                /* "NVIDIA H200"; "": not known */
    uint32_t n_streams, n_processes; /* that use it */
    const char *absent; /* why the following are not known, in a few words; NULL: they are */
    int64_t kernel_ns;  /* in the windows: how long at least one kernel ran */
    int64_t busy_ns;    /* how long at least one kernel, copy or exchange ran */
    /* How long at least one copy ran, at least one exchange; and of that, while a kernel ran, too. */
    int64_t copy_ns, copy_beside_ns, exchange_ns, exchange_beside_ns;
    /* With kernel_ns the length of the windows of its processes, each moment once. */
    int64_t lost_ns[LULL_DEVICE_LOSSES];
    /* What of lost_ns lies behind waits of the host, and in how many gaps (struct lull_device_wait_breakdown); of
     * LULL_LOST_RUNTIME what calls take that wait for this device. */
    uint64_t n_behind_waits;
    int64_t behind_wait_ns[LULL_DEVICE_LOSSES];
    struct lull_device_held held[LULL_DEVICE_HOLDS];
};

/* The least, the median, and the largest of several lengths, ns. */
struct lull_lengths {
    int64_t min_ns, median_ns, max_ns;
};

/* A stretch in which a device ran nothing. */
struct lull_device_gap {
    int64_t begin, end, ns; /* ns: lost to one cause */
    uint32_t location;      /* the stream of the operation that ended it, in the trace */
};

/* A stretch in which a device ran nothing, for one cause (a gap may have several). */
struct lull_device_stretch {
    int64_t begin, end;
    int64_t
        until; /* when the operation begins which ends the gap; behind `end`: other causes follow */
    int64_t submitted; /* when the call begins that submits it */
    uint32_t
        location; /* the stream of that operation, in the trace; LULL_NONE: nothing comes any more */
    uint32_t submitter; /* the thread that makes the call; LULL_NONE: it is not known */
    uint32_t region;    /* of the operation; LULL_NONE: it has none */
    uint8_t loss;       /* enum lull_device_loss */
};
enum { LULL_MOST_STRETCHES = 4096 };

/* All operations of one name: kernels of a function, copies of a kind. An operation that is cut by windows counts
 * in each of them, with what lies inside. */
struct lull_operation_breakdown {
    const char *name;
    uint8_t kind; /* enum lull_operation_kind */
    uint64_t count;
    int64_t ns; /* of all of them together, also where they run at the same time */
    struct lull_lengths length;
    uint64_t bytes; /* that they moved; 0: none, or it is not known */
    /* From the begin of the call that submitted an operation to the begin of the operation. */
    uint64_t n_delays; /* operations of which it is known; 0: of none */
    struct lull_lengths delay;
    /* Operations that began before that call did, by more than the clock of their stream may be wrong; and by how much at
     * most. They have no delay. */
    uint64_t n_early;
    int64_t early_ns;
    /* The call that submitted most of them: region and call site; "": not known. */
    const char *call, *site;
    uint64_t n_from_there;
    uint32_t n_calls; /* calls, by call site, that submitted some */
    /* What devices lost while one of these operations was their next one. */
    int64_t lost_ns[LULL_DEVICE_LOSSES];
    struct lull_device_gap
        longest[LULL_DEVICE_LOSSES];    /* that with most of each loss; ns 0: none */
    int64_t held_ns[LULL_DEVICE_HOLDS]; /* of all of them together */
    struct lull_device_gap longest_held[LULL_DEVICE_HOLDS]; /* from ready to begin */
};

/* What devices lost behind waits of the host in one call for one operation: the calls of one call site, and the
 * operations of one name. A gap of a device is *behind a wait* if it begins, because the last operation has ended, while
 * the thread that submits the next one is in a call that waits for this device. Example: a thread launches a kernel that
 * ends at 10, waits for it until 12, allocates until 13, computes until 15, and launches the next one, which begins at 19: the
 * gap from 10 to 19 is behind that wait, with 2 of the runtime, 2 of the host and 4 of the launch. The allocation would take as
 * long without the wait, and is not counted. */
struct lull_device_wait_breakdown {
    const char *call, *site; /* of the call that waits; "": not known */
    const char *operation;   /* the one that has ended when the gap begins */
    uint64_t n_gaps;
    int64_t lost_ns
        [LULL_DEVICE_LOSSES];       /* in these gaps; the same time is in lost_ns of their device */
    struct lull_device_gap longest; /* ns: to all causes */
};

/* A device stream. */
struct lull_stream_breakdown {
    uint32_t rank, number; /* of its process; of the stream among those of the process */
    const char *device;    /* id of its device */
    int64_t window_ns;     /* length of its windows */
    struct {
        uint64_t count; /* operations, each piece of one that windows cut */
        int64_t ns;
        uint64_t bytes; /* that they moved */
    } kinds[LULL_OPERATION_KINDS];
};

struct lull_breakdown_counter {
    const char *name;
    uint8_t role;
};

/* Processes are sorted by rank, threads by process, kind and number, devices by id, regions by name and site,
 * counters by name, parallels by process and name. */
struct lull_breakdown {
    const char *run;     /* as the user named it */
    int64_t duration_ns; /* length of the trace */
    int64_t runtime_ns;  /* T: the longest time that a master was measured, or that another thread
                            computed or a device was busy while the masters were paused */
    int64_t ideal_runtime_ns; /* T_id of the same windows, 0: not known. The caller adds it from a
                                 replay (replay/ideal/ideal.h), and merging parts loses it. */
    const char *ideal_absent; /* why a replay found no T_id, in a few words; NULL: there was no
                                 replay */
    int64_t replayed_runtime_ns; /* runtime of a replay of the same windows on the network that the
                                    messages of the run show, added as T_id is; 0: not known */
    int64_t replayed_error_ns;   /* 0: the whole run was replayed. Else the replay was that of an
                                    excerpt, and in 95 of 100 runs the replay of the whole run is
                                    nearer to replayed_runtime_ns than this */
    uint32_t n_nodes;            /* 0: unknown */
    struct lull_process_breakdown *processes;
    uint32_t n_processes;
    struct lull_thread_breakdown *threads;
    uint32_t n_threads;
    struct lull_device_breakdown *devices;
    uint32_t n_devices;
    struct lull_breakdown_counter *counters;
    uint32_t n_counters;
    /* Those with most time first, and streams in the order of threads. NULL unless asked for; NULL also where only
     * sums are known, and in breakdowns that were merged or saved. */
    struct lull_operation_breakdown *operations;
    uint32_t n_operations;
    struct lull_device_wait_breakdown *device_waits;
    uint32_t n_device_waits;
    struct lull_stream_breakdown *streams;
    uint32_t n_streams;
    /* The longest of all devices, by their begins; with `operations`, and NULL like them. */
    struct lull_device_stretch *stretches;
    uint32_t n_stretches;
    struct lull_region_breakdown *regions; /* NULL unless asked for */
    uint32_t n_regions;
    struct lull_parallel_breakdown *parallels;
    uint32_t n_parallels;
    bool from_sums; /* it or a part of it comes from sums: no inclusive times, no parallels */
};

/* Where the times come from. Sums give the same times as events for the whole run; they do not tell
 * windows, inclusive times and single executions of parallel regions. */
enum lull_breakdown_source {
    LULL_FROM_ANY, /* events if all are there or windows are wanted, else sums if there are any */
    LULL_FROM_EVENTS,
    LULL_FROM_SUMS
};

struct lull_breakdown_options {
    /* Which part of the run is broken down. In a team the first member gets the breakdown, the others
     * none. May be NULL: all of the first application, by this process alone. */
    const struct lull_reading *reading;
    bool regions; /* fill regions[] */
    /* Fill operations[], device_waits[], streams[] and stretches[]: some 3 bytes more for each operation while the run is
     * read, and 16 when its lengths are sorted. */
    bool operations;
    uint8_t source;  /* enum lull_breakdown_source */
    bool main_part;  /* with sums: MPI_Init and MPI_Finalize are left out, with their time; with
                        events the windows say what is left out */
    int64_t life_ns; /* with sums: ns from the begin of the application to its end; 0: those of the
                        run */
};

/* Computes a breakdown, which lives in `arena`; NULL where another member of a team has it.
 * LULL_ERR_RANGE when windows are wanted of a run without events. */
lull_status lull_breakdown_compute(const struct lull_trace *trace,
                                   const struct lull_breakdown_options *options,
                                   struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                   struct lull_error *err);

/* The same as a consumer, for a pass that serves others, too: create the collector, let
 * lull_collector_prepare set tick and regions of the pass's options, run the
 * pass with the consumer, take the result. `options` and `trace` must outlive the collector. It
 * needs events, whatever options->source says. */
struct lull_collector;
lull_status lull_collector_create(const struct lull_trace *trace,
                                  const struct lull_breakdown_options *options, unsigned workers,
                                  struct lull_collector **ret_collector, struct lull_error *err);
void lull_collector_prepare(const struct lull_collector *collector,
                            struct lull_pass_options *pass_options);
struct lull_consumer lull_collector_consumer(struct lull_collector *collector);
/* After the pass, called once by all members of a team: the first gets what the others have, and what the
 * sums of device streams tell that have no events (lull_stream.summary). */
lull_status lull_collector_gather(struct lull_collector *collector, struct lull_error *err);
/* Then called by the first; the result lives in `arena`. */
lull_status lull_collector_result(const struct lull_collector *collector, struct lull_arena *arena,
                                  struct lull_breakdown **ret_breakdown, struct lull_error *err);
void lull_collector_destroy(struct lull_collector *collector); /* NULL is allowed */

/* Whether the breakdown of these options comes from sums or from events (enum
 * lull_breakdown_source); fails where the trace does not have what they ask for. */
lull_status lull_breakdown_find_source(const struct lull_trace *trace,
                                       const struct lull_breakdown_options *options,
                                       uint8_t *ret_source, struct lull_error *err);

/* Adds `part` (other processes, other threads, or other windows of the same run) to `whole`:
 * processes and threads are matched by rank and number, regions by name and site, counters by name.
 * Parallel regions belong with their process: parts that hold different threads of one process have
 * them in one of the parts only. The times of a device add up: it has to be in one part only, or in
 * parts that are other windows. Merging is associative and commutative, as long as windows are not
 * cut inside an execution of a parallel region. `whole` is left as it was on failure:
 * LULL_ERR_RANGE when a counter or a thread means different things in both, or when a thread gets
 * more time than the run lasts (a part was added twice). */
lull_status lull_breakdown_merge(struct lull_breakdown *whole, const struct lull_breakdown *part,
                                 struct lull_arena *arena, struct lull_error *err);

/* ==== merging ================================================================================= */

/* The sum of `a` and `b` (NULL: nothing), copied into `arena`: processes by rank, threads by kind
 * and number, regions, counters and parallels by name, each once; window_ns, runtime_ns and
 * n_nodes derived from them. ret_joined may be one of the parts. */
lull_status lull_breakdown_join(const struct lull_breakdown *a, const struct lull_breakdown *b,
                                struct lull_arena *arena, struct lull_breakdown *ret_joined,
                                struct lull_error *err);

/* The sum of a thread's times: the length of its windows; negative where it overflows. */
int64_t lull_thread_window(const struct lull_thread_breakdown *thread);

/* ==== a breakdown before its numbers ========================================================== */

/* A breakdown that has the processes, threads and counters of an application, and no times. */
struct lull_breakdown *lull_breakdown_outline(const struct lull_trace *trace, uint32_t application,
                                              struct lull_arena *arena);

#endif
