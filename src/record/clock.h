/* SPDX-License-Identifier: BSD-3-Clause */
/* Which clock the recorder reads, and whether that clock stays right.
 *
 * There are two: the processor's counter (the time stamp counter; on 64-bit ARM that of the generic
 * timer), and CLOCK_MONOTONIC of the system, which takes two to four times as long to read. The
 * counter is read where the kernel itself keeps time by it, because the kernel has then checked
 * that it runs alike on all cores. In a virtual machine whose kernel keeps time by a clock of the
 * hypervisor (kvm-clock, Hyper-V, Xen) the counter is read where the hypervisor declares it stable
 * and where it agrees with CLOCK_MONOTONIC on each core that the process may run on. The user can
 * decide otherwise: LULL_CLOCK=tsc or LULL_CLOCK=system.
 *
 * While the program runs, the counter is compared with the system's clock again whenever the run
 * gets a point of its clock (store/definitions.h). */
#ifndef LULL_RECORD_CLOCK_H
#define LULL_RECORD_CLOCK_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== the process's clock ===================================================================== */

/* Chooses the clock of this process, before anything else reads it. Returns the `tsc` for
 * lull_clock_now. Where cores have to be compared, this takes as long as a forked process needs to
 * be made and to get each of them, a second at most. */
bool rec_clock_choose(void);
/* Which clock this process reads, and why not the other one: the value of the run's property
 * "clock". */
const char *rec_clock_text(void);

/* Compares the counter with CLOCK_MONOTONIC_RAW; one thread at a time may call this. Returns by how
 * many ns the two have gone apart since the last call, beyond what the errors of reading them
 * explain; 0: they have not, or the recorder reads no counter. */
double rec_clock_check(void);
/* When and by how much the two went apart first, for the run's property "clock_drift"; NULL: they
 * have not. */
const char *rec_clock_drift_text(void);

/* ==== the decision ============================================================================ */

/* A processor's counter as the kernel knows it. */
struct rec_clock_counter {
    const char *name;          /* for the user */
    const char *source;        /* of the kernel's clock source that reads it */
    const char *const *guests; /* NULL at the end: clock sources that a hypervisor offers instead */
};
extern const struct rec_clock_counter rec_clock_tsc, rec_clock_generic_timer;

enum rec_clock_wish { REC_CLOCK_ANY, REC_CLOCK_TSC, REC_CLOCK_SYSTEM };

/* What kernel, processor and hypervisor say of the counter. */
struct rec_clock_facts {
    char current[64];    /* the kernel's clock source; "": not known */
    char available[256]; /* those that the kernel offers, between blanks */
    bool invariant;      /* the counter is constant and does not stop in sleep states (Intel SDM
                            volume 3, "Invariant TSC"; flags constant_tsc and nonstop_tsc) */
    bool rate_known;     /* the hypervisor tells the counter's rate, or vouches for the counter
                            (flags tsc_known_freq and tsc_reliable of /proc/cpuinfo) */
    bool unstable;       /* the hypervisor is KVM and does not say that its clock is the same on all
                            cores (KVM_FEATURE_CLOCKSOURCE_STABLE_BIT, Documentation/virt/kvm/x86/
                            cpuid.rst of Linux), which it can only say where their counters are */
};

/* Asks the system; where `folder` is not NULL instead the files current_clocksource,
 * available_clocksource, cpuinfo (its line "flags") and kvm ("stable" or another word; none: the
 * hypervisor is not KVM) in it. Facts that the decision does not need are not asked for. */
void rec_clock_look(const struct rec_clock_counter *counter, const char *folder,
                    struct rec_clock_facts *ret_facts);

enum rec_clock_verdict {
    REC_CLOCK_READ_SYSTEM,
    REC_CLOCK_READ_COUNTER,
    REC_CLOCK_COMPARE /* the counter, if it agrees with the system's clock on all cores */
};
/* Decides by the facts; `counter` is NULL on processors without. `why` gets the reason, in a
 * sentence without an end. */
enum rec_clock_verdict rec_clock_judge(const struct rec_clock_counter *counter,
                                       const struct rec_clock_facts *facts,
                                       enum rec_clock_wish wish, char *why, size_t size);

/* ==== comparing =============================================================================== */

/* A point that was read on a core. */
struct rec_clock_reading {
    struct lull_clock_point point;
    uint32_t core;
};

/* Whether points that were read within milliseconds, one per core and at the end another one on the
 * core of the first, can be those of one counter: each lies on the line through the first and the
 * last, within the errors of reading. *ret_worst gets the index of the reading that lies farthest
 * from the line, and *ret_apart by how many ns. False also where the counter stands still. */
bool rec_clock_fit(const struct rec_clock_reading *readings, size_t count, size_t *ret_worst,
                   double *ret_apart);

/* Points of a counter and a clock that have kept together, from the first to the last. */
struct rec_clock_track {
    struct lull_clock_point first, last;
    unsigned count; /* 2: two or more */
};
/* Adds a point that was read later than `last`. Returns by how many ns it lies off the line through
 * `first` and `last`, if that is more than the errors of reading and 10 parts in a million of the
 * time since `last` explain, else 0; positive where the counter has gained. A new line begins
 * behind a point that lies off. */
double rec_clock_follow(struct rec_clock_track *track, const struct lull_clock_point *point);

#endif
