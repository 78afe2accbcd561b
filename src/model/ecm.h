/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of the execution-cache-memory (ECM) model: numbers in, numbers out.
 *
 * All times are in cycles per unit of work, which is the caller's: most often one cache line of
 * results. Sources: G. Hager, Making Sense of Performance Numbers (2018); J. Hofmann, G. Hager and
 * D. Fey, On the accuracy and usefulness of analytic energy models (ISC 2018) for the latency
 * penalty. */
#ifndef LULL_MODEL_ECM_H
#define LULL_MODEL_ECM_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct lull_machine;

enum { LULL_ECM_LINKS = 4 };

/* The parts of the time of a unit of work; the literature writes them as {T_OL || T_nOL | T_L1L2 |
 * T_L2L3 | T_L3Mem}. */
struct lull_ecm {
    double t_ol;  /* in-core work that overlaps with everything */
    double t_nol; /* loads and stores of registers: nothing overlaps with them */
    size_t n_links;
    struct {
        const char *name; /* "L1-L2", "L3-Mem" */
        double cycles;
        /* Overlap as a machine file states it: the transfer overlaps with every other part, so that
         * the link enters the maximum and not the sum. */
        bool overlaps;
        /* Overlap as it was measured; all 0 where it is stated or assumed. */
        double whole; /* cycles that the lines take in all if they come from behind this link: not
                         what they take longer than before it, which is `cycles` */
        double
            shares[LULL_ECM_LINKS]; /* shares[i]: lines from behind this link and lines from level
                                          i (0: the first cache) could overlap for some time; the
                                          share of it in which they do. Below 0: they hinder each
                                          other. */
    } links[LULL_ECM_LINKS];        /* nearest first; the last one is to memory */
    double shared; /* cycles for which a unit of work occupies the bottleneck that all cores share,
                      the memory; most models take those of the last link */
};

/* Cycles per unit of work on one core with the data beyond the first `level` links: 0 in the first
 * cache, n_links in memory. There are two rules, of which a machine uses one:
 *
 * Stated overlap: max(T_OL, links that overlap, T_nOL + sum of the other links).
 *
 * Measured overlap: no link overlaps wholly, and the sum T_nOL + all links is too long by the time
 * for which transfers overlap. Lines that come from one level (and no farther) can overlap with
 * lines from beyond it for as long as the shorter of the two takes: the lines themselves, or the
 * links behind that level. The measured share of that time is subtracted, for every level; where
 * lines from beyond come from several levels, it is the mean of their shares, weighted with the
 * time that the lines of each level take. The result is at least T_OL. With all shares 0 this is
 * the first rule without links that overlap; with all shares 1 it is the largest of T_OL, T_nOL
 * and, for each level, the time of all lines that pass it. */
double lull_ecm_time(const struct lull_ecm *ecm, size_t level);
/* Cycles to move lines over a link: half duplex loads + stores, full duplex the larger. */
double lull_ecm_transfer(double loads, double stores, double line_bytes, double bytes_per_cycle,
                         bool full_duplex);

/* ---- several cores -------------------------------------------------------------------------- */

/* In these functions `t` is the time of one core with its data in memory, and `shared` the time for
 * which the bottleneck that all cores share is occupied, both in cycles per unit of work. */

/* Cycles per unit of work of all cores together: max(t / cores, shared). */
double lull_ecm_scale(double t, double shared, unsigned cores);
/* Cores from which on the bottleneck is saturated: ceil(t / shared); 0: never (shared is 0). */
unsigned lull_ecm_saturation(double t, double shared);
/* As lull_ecm_scale, but with a latency that grows with the bottleneck's utilisation u: u_1 =
 * shared / t and u_n = min(1, n shared / (t + (n - 1) u_(n-1) shared / 2)). Returns shared / u_n,
 * or t / cores where shared is 0. */
double lull_ecm_scale_latency(double t, double shared, unsigned cores);

/* ---- what a machine file says --------------------------------------------------------------- */

/* The clock in Hz: the machine file's clock.effective, or else clock.nominal. Fails with
 * LULL_ERR_RANGE where it knows neither. */
lull_status lull_ecm_clock(const struct lull_machine *machine, double *ret_clock,
                           struct lull_error *err);

/* Benchmarks of bandwidth differ in their mix of lines read and written. There are two rules for
 * lines whose mix no benchmark has.
 *
 * Interpolated, where the machine file has mixes of more lines read than a triad's (add8, sum8) or
 * of as many (add3): the time of a line is a linear function of the share of lines written,
 * between the two benchmarks whose shares are next to it; beyond the last it is that of the last.
 * That is done for benchmarks that read a line only because they write to it (copy, triad, sum8,
 * store) and for those that do not (update, daxpy, add3, add8), with load as the end of both, and
 * the two times count by the share of the lines written that are read only because of that.
 *
 * Nearest, where it has none: the one benchmark whose share of lines written is the nearest; of
 * those that are equally near the one that is nearest in the share of lines that are read only
 * because the code writes to them. The second part tells apart a copy and a += b, which both read
 * two lines for each that they write. Published predictions are made so. */
enum { LULL_ECM_KERNELS_BYTES = 48 };
struct lull_ecm_bandwidth {
    double value; /* B/s; lines that are read only because the code writes to them count */
    bool mean;    /* it follows from the mean of the measured blocks, else from the quantile that
                     the machine file quotes */
    enum lull_ecm_mix {
        LULL_ECM_SAME, /* the benchmark writes as large a share of lines, within 1 % */
        LULL_ECM_INTERPOLATED,
        LULL_ECM_NEAREST
    } mix;
    char kernel[LULL_ECM_KERNELS_BYTES]; /* the benchmark, "copy", or those between which it is
                                            interpolated, that with the most weight first, "sum8
                                            and load" */
    double written;                      /* share of lines written of the first of them */
    unsigned threads; /* the number of threads that the first one was measured with */
};
struct lull_ecm_lines { /* cache lines per unit of work over one link */
    double loads, stores;
    double allocates; /* of `loads`, those that travel only because the code writes to them */
};
/* The bandwidth of memory for a mix, as measured on `threads` threads or the most below that;
 * threads 0: the largest over all numbers of threads, which saturates the memory. Fails with
 * LULL_ERR_RANGE where there is no number, and says which benchmark gives it. */
lull_status lull_ecm_memory_bandwidth(const struct lull_machine *machine,
                                      const struct lull_ecm_lines *lines, unsigned threads,
                                      struct lull_ecm_bandwidth *ret_bandwidth,
                                      struct lull_error *err);

/* Cycles that one core takes for so many lines that its instructions load from the first cache and
 * store to it, as measured by the benchmark with the nearest share of stores; NAN: not measured. */
double lull_ecm_first_cache(const struct lull_machine *machine, double loads, double stores);

/* Whether transfers overlap. */
struct lull_ecm_overlap {
    enum { LULL_ECM_STATED, LULL_ECM_MEASURED, LULL_ECM_ASSUMED } source;
    bool caches; /* STATED, ASSUMED: transfers between the caches overlap with everything */
    /* MEASURED: shares[i][j], from -1 to 1, is of lines from level i + 2 (0: L2) beside lines from
     * level j + 1 (0: L1). Beside L1 it is at least 0, as nothing travels there. Where a pair was
     * not measured, its share is that of level i + 1 beside j + 1, or 0. */
    double shares[LULL_ECM_LINKS][LULL_ECM_LINKS];
    double memory[LULL_ECM_LINKS]; /* the same of lines from memory; 0 where not measured */
};
/* What is known of overlap. If the machine file says it (core/overlap), it is STATED. Else it is
 * MEASURED by `lull bench dot beside`, a scalar product of an array in a far level with an array in
 * a near one. With share 0 it takes the time of both, one after the other; with share 1 the longer
 * of the far array's time and that of both on the way that they have in common; with a share below
 * 0 more than the former. Where that was not measured either, overlap is ASSUMED: transfers between
 * the caches of AMD's processors overlap, those of others do not. */
struct lull_ecm_overlap lull_ecm_overlap(const struct lull_machine *machine);

/* Fills the links of an ECM, and `shared`, for the lines that travel over each link per unit of
 * work. n_lines is the number of cache levels; lines[n_lines - 1] is the traffic with memory.
 *
 * Where the machine file has links between its caches (published machines), their widths count, and
 * the link to memory has the saturated bandwidth. Where it has none (machines that lull has
 * measured), a line takes on a link what benchmarks of its mix take longer for it on one core with
 * their data behind that link than with their data before it; only `shared` follows from
 * the saturated bandwidth. In-core times are left as they are. Texts live in the arena or the
 * machine. Fails with LULL_ERR_RANGE where the machine file does not know a link, the clock or a
 * bandwidth, and says which benchmark gives it. */
lull_status lull_ecm_links(const struct lull_machine *machine, const struct lull_ecm_lines *lines,
                           size_t n_lines, struct lull_arena *arena, struct lull_ecm *ecm,
                           struct lull_ecm_bandwidth *ret_memory, struct lull_error *err);

#endif
