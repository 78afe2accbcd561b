/* The product of a sparse matrix and a vector: how much data it moves, and how fast it can be.
 *
 * alpha is the traffic of the vector that is accessed through indices, per nonzero and in units of
 * one of its elements: 0 if it stays in cache, 1 / N_nzr if it is loaded once (N_nzr: nonzeros per
 * row), 1 if nothing is reused, more where lines are loaded for single elements. Source: G. Hager,
 * Making Sense of Performance Numbers (2018); M. Kreutzer et al., SIAM J. Sci. Comput. 36 (2014).
 */
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
struct lull_spmv_shape lull_spmv_shape(const struct lull_matrix *matrix, bool transposed,
                                       const struct lull_sell *sell);

/* Bytes from and to memory per nonzero. In CRS with 8-byte values they are 8 + 4 + 8 alpha + 20 /
 * N_nzr: the value, the index, the vector, and per row a pointer, the result and its
 * write-allocate. Transposed they are 8 + 4 + 16 alpha + 12 / N_nzr. In SELL the padding travels,
 * too; instead of a pointer per row there are two numbers per chunk, and per place the number of
 * the row that it belongs to. */
double lull_spmv_bytes(const struct lull_spmv_shape *shape, double alpha);
/* flop / byte. */
double lull_spmv_intensity(const struct lull_spmv_shape *shape, double alpha);
/* The alpha with which one product moves that many bytes from and to memory. */
double lull_spmv_alpha(const struct lull_spmv_shape *shape, double bytes);
/* The alpha of a vector that is loaded once: its elements per nonzero; for square matrices 1 /
 * N_nzr. */
double lull_spmv_alpha_once(const struct lull_spmv_shape *shape);

/* ---- simulated ------------------------------------------------------------------------------ */

/* The rows (in SELL: the chunks) first .. last - 1 that one of the threads works on. They are
 * contiguous, and every thread has about as many nonzeros. */
void lull_spmv_split(const struct lull_matrix *matrix, const struct lull_sell *sell,
                     unsigned threads, unsigned thread, uint32_t *ret_first, uint32_t *ret_last);

struct lull_spmv_traffic {
    struct lull_ecm_lines lines[LULL_CACHE_LEVELS]; /* per nonzero, all threads together, between
                                                       each cache and the level beyond it */
    size_t n_levels;
    double alpha;                 /* over all threads */
    double alpha_low, alpha_high; /* the smallest and the largest alpha of a thread */
    uint64_t accesses;            /* simulated in all */
};

/* Simulates one product of `threads` threads on the caches of a machine, after another product that
 * has warmed the caches. Each thread is simulated by itself with its share of the shared caches.
 * `sell` NULL: the matrix is in CRS. The simulation runs on `workers` threads of lull's own (0: all
 * processors); the result does not depend on their number. Fails with LULL_ERR_RANGE where the
 * machine file does not know the caches, and with LULL_ERR_MEMORY. */
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
    struct lull_ecm_bandwidth memory; /* of that many cores */
    struct lull_spmv_traffic traffic;
    double roofline_once; /* flop/s if the vector is loaded once (lull_spmv_alpha_once) */
    double roofline;      /* flop/s for the simulated traffic; NAN: there is none */
    struct lull_ecm ecm;  /* cycles per 8 nonzeros of one core's share of the work */
    bool in_cache;        /* nothing comes from memory: Roofline says nothing */
    double update_bytes;  /* of the transposed product on several cores: bytes per nonzero for
                             clearing and adding up private results, part of both predictions */
    double ecm_naive, ecm_latency; /* flop/s of all cores */
    double seconds;                /* of one product, by ECM with naive saturation */
};

/* Estimates the in-core times of a loop over 8 nonzeros with scalar loads of value, index and
 * vector, four partial sums and, per row, a pointer and a result. T_nOL counts two loads per cycle.
 * T_OL counts additions of four cycles, which wait for each other within a row but overlap with
 * those of the next rows. */
struct lull_spmv_core lull_spmv_estimate_core(const struct lull_spmv_shape *shape);

/* Predicts the product on so many cores. `traffic` has been simulated for that number of cores.
 * Fails with LULL_ERR_RANGE where the machine file lacks a number. */
lull_status lull_spmv_predict(const struct lull_spmv_shape *shape,
                              const struct lull_spmv_traffic *traffic,
                              const struct lull_machine *machine, unsigned cores,
                              const struct lull_spmv_core *core, struct lull_arena *arena,
                              struct lull_spmv_prediction *ret_prediction, struct lull_error *err);

#endif
