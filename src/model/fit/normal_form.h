/* Internal to fit: hypotheses of the performance model normal form, and the search among them. */
#ifndef LULL_MODEL_FIT_NORMAL_FORM_H
#define LULL_MODEL_FIT_NORMAL_FORM_H

#include "model/fit/law.h"

enum { LULL_FIT_GROWING = 42, LULL_FIT_TERMS = 63, LULL_FIT_KEPT = 64, LULL_FIT_KEPT_OF_MANY = 16 };

/* The 42 published terms, and behind them those that fall. */
extern const struct lull_fit_term lull_fit_terms[LULL_FIT_TERMS];

/* Which parameters are multiplied in each block: bit p for parameter p. */
struct lull_fit_form {
    size_t n_blocks;
    unsigned masks[LULL_FIT_PARAMETERS];
    bool divided; /* the first block is 1/x of parameter 0 */
};

/* A form with a term for every parameter that is in it; `terms[block][parameter]`. */
struct lull_fit_hypothesis {
    unsigned char terms[LULL_FIT_PARAMETERS][LULL_FIT_PARAMETERS];
    double gain; /* the share of the weighted squares around the mean that it explains */
};

/* The hypotheses of a form that explain most, with the weights of the measurements themselves: all
 * of one parameter, LULL_FIT_KEPT_OF_MANY of several. Every hypothesis is looked at: centred
 * columns of unit length make that a few multiplications each, and for products of three parameters
 * a few per point. */
struct lull_fit_search;
struct lull_fit_search *lull_fit_search_create(const struct lull_fit_data *data, size_t n_terms);
size_t lull_fit_search_form(struct lull_fit_search *search, const struct lull_fit_form *form,
                            struct lull_fit_hypothesis ret_kept[LULL_FIT_KEPT]);

#endif
