/* SPDX-License-Identifier: BSD-3-Clause */
/* SpMV, the product of a sparse matrix and a vector: how much data it moves, and how fast it can
 * be.
 *
 * alpha is the traffic of the vector that is accessed through indices, per nonzero and in units of
 * one of its elements. It is 0 if the vector stays in cache, 1 / N_nzr if it is loaded once (N_nzr:
 * nonzeros per row), 1 if nothing is reused, and more if whole lines are loaded for single
 * elements. Sources: G. Hager, Making Sense of Performance Numbers (2018); M. Kreutzer et al., SIAM
 * J. Sci. Comput. 36 (2014). */
#ifndef LULL_MODEL_SPMV_SPMV_H
#define LULL_MODEL_SPMV_SPMV_H

#include "machine/machine.h"
#include "model/cache.h"
#include "model/ecm.h"
#include "model/spmv/matrix.h"

/* What the traffic of a product follows from. */
struct lull_spmv_shape {
    double rows, columns, nonzeros;
    double value_bytes; /* 8, of complex values 16 */
    double flops;       /* per nonzero: 2, complex 8 */
    bool transposed;    /* y = A^T x by rows of A: y is updated through indices */
    double chunk;       /* C of SELL-C-sigma; 0: CRS */
    double stored;      /* elements of SELL with padding; nonzeros in CRS */
};
/* The shape of a product; `sell` NULL: the matrix is in CRS. */
struct lull_spmv_shape lull_spmv_shape(const struct lull_matrix *matrix, bool transposed,
                                       const struct lull_sell *sell);

/* Bytes from and to memory per nonzero. In CRS with 8-byte values they are 8 + 4 + 8 alpha + 20 /
 * N_nzr: the value, the index, the vector, and per row a pointer (4), the result (8) and its
 * write-allocate (8). Transposed they are 8 + 4 + 16 alpha + 12 / N_nzr. In SELL the padding
 * travels, too; instead of a pointer, a row has its number (4), and a chunk has its start (8). */
double lull_spmv_bytes(const struct lull_spmv_shape *shape, double alpha);
/* The intensity of a product, in flop / byte. */
double lull_spmv_intensity(const struct lull_spmv_shape *shape, double alpha);
/* The alpha with which one product moves that many bytes from and to memory. */
double lull_spmv_alpha(const struct lull_spmv_shape *shape, double bytes);
/* The alpha of a vector that is loaded once: columns / nonzeros, for square matrices 1 / N_nzr. */
double lull_spmv_alpha_once(const struct lull_spmv_shape *shape);

/* ---- simulated ------------------------------------------------------------------------------ */

/* The rows (in SELL: the chunks) first .. last - 1 that one of the threads works on. They are
 * contiguous, and all threads have about equally many elements. */
void lull_spmv_split(const struct lull_matrix *matrix, const struct lull_sell *sell,
                     unsigned threads, unsigned thread, uint32_t *ret_first, uint32_t *ret_last);

struct lull_spmv_traffic {
    struct lull_ecm_lines lines[LULL_CACHE_LEVELS]; /* cache lines per nonzero between each cache
                                                       and the level beyond it, of all threads */
    size_t n_levels;
    double alpha;                 /* over all threads */
    double alpha_low, alpha_high; /* the smallest and the largest alpha of a thread */
    uint64_t accesses;            /* how many were simulated in all */
};

/* Simulates one product of `threads` threads on the caches of a machine, after another product that
 * has warmed the caches. Each thread is simulated by itself with its share of the shared caches.
 * `sell` NULL: the matrix is in CRS. The simulation runs on `workers` threads of lull's own (0: as
 * many as processors); the result does not depend on their number. Fails with LULL_ERR_RANGE if the
 * machine file does not have the caches or the matrix has no nonzeros, and with LULL_ERR_MEMORY. */
lull_status lull_spmv_simulate(const struct lull_matrix *matrix, const struct lull_sell *sell,
                               bool transposed, const struct lull_machine *machine,
                               unsigned threads, unsigned workers,
                               struct lull_spmv_traffic *ret_traffic, struct lull_error *err);

/* ---- predicted ------------------------------------------------------------------------------ */

struct lull_spmv_core {
    double t_ol, t_nol; /* cycles per 8 nonzeros; NAN: estimated */
};

struct lull_spmv_prediction {
    unsigned cores;
    struct lull_ecm_bandwidth memory; /* of so many cores */
    struct lull_spmv_traffic traffic;
    double roofline_once; /* flop/s if the vector is loaded once (lull_spmv_alpha_once) */
    double roofline;      /* flop/s for the simulated traffic; NAN: there is none */
    struct lull_ecm ecm;  /* cycles per 8 nonzeros of one core's share of the work */
    bool in_cache;        /* nearly nothing comes from memory, so that Roofline says nothing */
    double update_bytes;  /* bytes per nonzero for clearing and adding up the private results of a
                             transposed product on several cores; part of both predictions */
    double ecm_naive, ecm_latency; /* flop/s of all cores */
    double seconds;                /* of one product, by ECM with naive saturation */
};

/* Estimates the in-core times for 8 nonzeros of a loop with scalar loads of value, index and
 * vector, four partial sums and, per row, a pointer and a result. T_nOL supposes two loads per
 * cycle. T_OL supposes that an addition takes four cycles; additions wait for each other within a
 * row, but overlap with those of the next rows. */
struct lull_spmv_core lull_spmv_estimate_core(const struct lull_spmv_shape *shape);

/* Predicts the product on so many cores; `traffic` must be simulated for this number of cores.
 * Fails with LULL_ERR_RANGE if the machine file lacks a number. */
lull_status lull_spmv_predict(const struct lull_spmv_shape *shape,
                              const struct lull_spmv_traffic *traffic,
                              const struct lull_machine *machine, unsigned cores,
                              const struct lull_spmv_core *core, struct lull_arena *arena,
                              struct lull_spmv_prediction *ret_prediction, struct lull_error *err);

#endif
