/* SPDX-License-Identifier: BSD-3-Clause */
/* Where: which function of the program's own code a time was spent in, and whether the samples make
 * that certain. Internal to the room.
 *
 * Of a thread whose useful samples weigh W together, a function whose samples weigh w has the part w / W
 * of the useful time T, less what the thread had no core for. The interval of a part is E. B. Wilson's score interval
 * (Probable Inference, the Law of Succession, and Statistical Inference, J. Amer. Stat. Assoc. 22, 1927),
 * 95 %, with W divided by the weight of the heaviest sample as the number of samples: it is no more than
 * their effective number W^2 / (sum of w^2) (L. Kish, Survey Sampling, 1965), as the sum of w^2 is at
 * most W times the heaviest. The interval of a difference or sum of such times has the limits
 *     t1 - t2 - sqrt((t1 - low1)^2 + (high2 - t2)^2), and likewise above
 * (R. G. Newcombe, Interval Estimation for the Difference Between Independent Proportions, Stat. Med.
 * 17, 1998, method 10; of scaled proportions G. Y. Zou and A. Donner, Stat. Med. 27, 2008). The median of
 * several times lies between the median of their lower and that of their upper limits.
 *
 * A function is told if it has, at the lower limit of its interval, half of what is asked about: of
 * those the smallest one that has about as much as any, as functions that were inlined are within the
 * one that has the code. */
#ifndef LULL_DIAGNOSE_WHERE_H
#define LULL_DIAGNOSE_WHERE_H

#include "diagnose/rule.h"

/* Which samples are meant. Zeros: all. */
struct lull_where_samples {
    /* Where the thread was among the user's regions: directly in `region`, with LULL_NONE outside of
     * all; or with `inside` in it or in what it called. Of first threads only. */
    bool in_region, inside;
    uint32_t region;
    bool before_call; /* only in bursts that end with `call`. Of first threads only */
    uint32_t call;
    bool serial;          /* only outside of OpenMP parallel regions */
    bool locked;          /* only inside critical and ordered sections */
    const char *parallel; /* only in the parallel regions of that name; NULL: everywhere */
};

/* A function with its part of what was asked about. */
struct lull_where {
    const char *function; /* "heat::smooth" */
    bool named;       /* else `function` is "libfoo.so", the file whose functions are not known */
    const char *site; /* "heat.c:84-87", the innermost loop that has most of its samples, or
                             "heat.c:85", the line with most; NULL: not known */
    double share;     /* at most 1 */
    double low, high; /* its interval, in [0, 1] */
    double ns;
    uint64_t samples; /* in the function, of the threads that are meant */
};

/* The function in which a thread computed longer than the median of its peers by most of `excess_ns`,
 * of which the share is; with 0 of what it computed longer in all that is meant. Peers are `n_peers`
 * locations; those without samples do not count, and half of them must have some. False: none is
 * certain, or there are no samples. */
bool lull_where_longer(struct lull_case *c, const struct lull_where_samples *samples,
                       uint32_t location, const uint32_t *peers, uint32_t n_peers, double excess_ns,
                       struct lull_where *ret_where);

/* The function in which the first thread of a suspect is longer than its peers: in the bursts that end
 * with the call that the others wait for, or else in all where the suspect is. */
bool lull_where_late(struct lull_case *c, const struct lull_suspect *suspect,
                     struct lull_where *ret_where);

/* Functions in which so many locations spent the time that is meant, all together: the one that has
 * most of it, or else up to `most` that have a twentieth or more at least, those with most first.
 * Returns how many there are. */
uint32_t lull_where_spent(struct lull_case *c, const struct lull_where_samples *samples,
                          const uint32_t *locations, uint32_t n_locations, uint32_t most,
                          struct lull_where *ret_wheres);

/* The functions in which all threads computed longer than in the reference, with a core, as
 * lull_where_spent; the times of the reference are multiplied by `scale`. */
uint32_t lull_where_grown(struct lull_case *c, double scale, uint32_t most,
                          struct lull_where *ret_wheres);

/* Puts the function into the place and the numbers of a finding. */
void lull_where_set(struct lull_case *c, struct lull_finding *finding,
                    const struct lull_where *where);
/* Where no function is told, or what is told is a file: ends the cause of a finding with why code has
 * no names, if that is so. Where it is Python's interpreter, with how functions of Python are known. */
void lull_where_explain(struct lull_case *c, struct lull_finding *finding,
                        const struct lull_where *wheres, uint32_t n);

/* "80 % of it in smooth (heat.c:84-87), 12 % in fill (heat.c:20)"; `of`: " of it", or "". */
const char *lull_where_text(const struct lull_case *c, const struct lull_where *wheres, uint32_t n,
                            const char *of);
#endif
