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

/* {T_OL || T_nOL | T_L1L2 | T_L2L3 | T_L3Mem} */
struct lull_ecm {
    double t_ol;  /* in-core work that overlaps with everything */
    double t_nol; /* loads and stores of registers: nothing overlaps with them */
    size_t n_links;
    struct {
        const char *name; /* "L1-L2", "L3-Mem" */
        double cycles;
        /* Overlap as a machine file states it: with every other part, so that the link enters the
         * maximum and not the sum. */
        bool overlaps;
        /* Overlap as it was measured; all 0 where it is stated or assumed. */
        double whole; /* cycles, from the first cache on, of a stream behind this link alone */
        double shares[LULL_ECM_LINKS]; /* of what could overlap of lines behind this link and lines
                                          of each level before it, the first cache first, how much
                                          does; below 0 they hinder each other */
    } links[LULL_ECM_LINKS];           /* nearest first; the last one is to memory */
    double shared; /* cycles for which a unit of work occupies the bottleneck that all cores share,
                      the memory; most models take those of the last link */
};

/* Runtime on one core with the data beyond the first `level` links: 0 in the first cache, n_links
 * in memory. Two rules, of which a machine uses one:
 *
 * stated overlap: max(T_OL, links that overlap, T_nOL + sum of the other links);
 * measured overlap: no link overlaps wholly. Of lines that come from one level at least the time
 * could vanish that they take, or that the links behind that level take, whichever is shorter. Of
 * that the share is left out that was measured of lines from that level beside lines from beyond,
 * where these come from several levels in proportion to their times. With all shares 0 this is the
 * first rule, with all shares 1 the largest of T_OL, T_nOL and what all lines take that pass a
 * level. */
double lull_ecm_time(const struct lull_ecm *ecm, size_t level);
/* Cycles to move lines over a link: half duplex loads + stores, full duplex the larger. */
double lull_ecm_transfer(double loads, double stores, double line_bytes, double bytes_per_cycle,
                         bool full_duplex);

/* ---- several cores; t: single core with the data in memory, shared: the shared bottleneck ---- */

/* max(t / cores, shared). */
double lull_ecm_scale(double t, double shared, unsigned cores);
/* Cores from which on the bottleneck is saturated: ceil(t / shared); 0: never (shared is 0). */
unsigned lull_ecm_saturation(double t, double shared);
/* With a latency that grows with the bottleneck's utilisation u: u_1 = shared / t and u_n = min(1,
 * n shared / (t + (n - 1) u_(n-1) shared / 2)). Returns shared / u_n, or t / cores where shared is
 * 0. */
double lull_ecm_scale_latency(double t, double shared, unsigned cores);

/* ---- what a machine file says --------------------------------------------------------------- */

/* Hz: clock.effective, or else clock.nominal. */
lull_status lull_ecm_clock(const struct lull_machine *machine, double *ret_clock,
                           struct lull_error *err);

/* Of mixes that one is the nearest whose share of lines written is, and of those that are equally
 * near the one whose share of lines is that are read only because the code writes to them. A copy
 * and a += b both read two lines for each that they write. */
struct lull_ecm_bandwidth {
    double value;       /* B/s, lines that are read because they are written to counted */
    bool mean;          /* of the mean of the blocks; else what the machine file quotes of them */
    const char *kernel; /* benchmark with the nearest mix: "copy" */
    unsigned threads;   /* that it was measured with */
};
struct lull_ecm_lines { /* cache lines per unit of work over one link */
    double loads, stores;
    double allocates; /* of `loads`, those that travel only because the code writes to them */
};
/* Of memory, measured with the mix that comes nearest, on `threads` threads or the most below that;
 * threads 0: the largest over all numbers of threads, what saturates the memory. Fails with
 * LULL_ERR_RANGE where there is no number, and says which benchmark gives it. */
lull_status lull_ecm_memory_bandwidth(const struct lull_machine *machine,
                                      const struct lull_ecm_lines *lines, unsigned threads,
                                      struct lull_ecm_bandwidth *ret_bandwidth,
                                      struct lull_error *err);

/* Cycles that one core was measured to take for so many lines that its instructions load from the
 * first cache and store to it, in the mix of the benchmark that comes nearest; NAN: not measured.
 */
double lull_ecm_first_cache(const struct lull_machine *machine, double loads, double stores);

/* Whether transfers overlap. */
struct lull_ecm_overlap {
    enum { LULL_ECM_STATED, LULL_ECM_MEASURED, LULL_ECM_ASSUMED } source;
    bool caches; /* stated or assumed: those between the caches do */
    /* Measured, -1 to 1: of lines from each level, L2 first, beside lines from each level before
     * it, L1 first. Beside L1 it is at least 0, as nothing travels there. A pair of caches that was
     * not measured has the share of the pair with the level before the farther one, or 0. */
    double shares[LULL_ECM_LINKS][LULL_ECM_LINKS];
    double memory[LULL_ECM_LINKS]; /* the same of lines from memory; 0 where not measured */
};
/* As core/overlap of the machine file says. Where it says nothing, as `lull bench dot beside` has
 * measured: the time of a scalar product of an array in one level with one in a level before it
 * lies between that of both one after the other (share 0) and that of the longer one (share 1), or
 * is longer (below 0). Where that was not measured, as AMD's processors were known to do, and
 * others not. */
struct lull_ecm_overlap lull_ecm_overlap(const struct lull_machine *machine);

/* Fills the links of an ECM, and what is shared, for the lines per unit of work that travel over
 * each; lines[n_lines - 1] is the traffic with memory, and n_lines the number of cache levels.
 *
 * With links between its caches in the machine file (published machines) these count, and the
 * memory has its saturated bandwidth. Without (machines that lull has measured) a link takes, per
 * line, what the benchmark with the nearest mix takes longer on one core with its data behind that
 * link than before it; only `shared` has the saturated bandwidth. In-core times are left alone.
 * Texts live in the arena or the machine. Fails with LULL_ERR_RANGE where the machine file does not
 * know a link, the clock or a bandwidth, and says which benchmark gives it. */
lull_status lull_ecm_links(const struct lull_machine *machine, const struct lull_ecm_lines *lines,
                           size_t n_lines, struct lull_arena *arena, struct lull_ecm *ecm,
                           struct lull_ecm_bandwidth *ret_memory, struct lull_error *err);

#endif
