/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/next_step.h"

#include <math.h>
#include <string.h>

/* ---- other forms ----------------------------------------------------------------------------- */

/* Cycles per unit of work with other lines over the links. */
static lull_status cycles_with_lines(const struct lull_kernel_prediction *prediction,
                                     const struct lull_ecm_lines *lines, unsigned cores,
                                     struct lull_arena *arena, double *ret_cycles,
                                     struct lull_error *err)
{
    struct lull_ecm ecm = prediction->ecm;
    struct lull_ecm_bandwidth memory;
    lull_status status = lull_ecm_links(prediction->machine, lines, prediction->layers.n_levels,
                                        arena, &ecm, &memory, err);
    if (status != LULL_OK)
        return status;
    *ret_cycles = fmax(lull_ecm_time(&ecm, ecm.n_links), prediction->incore.chain);
    if (cores > 1)
        *ret_cycles = fmax(*ret_cycles, cores * ecm.shared);
    return LULL_OK;
}

/* The lines if blocks of the innermost loop let a cache keep the longest reuse that they can. False: no block does. */
static bool lines_in_blocks(const struct lull_kernel_prediction *prediction, size_t level,
                            struct lull_ecm_lines *lines, double *ret_block)
{
    const struct lull_layers *layers = &prediction->layers;
    double kept = NAN; /* lines that miss with the reuses that hold now */
    size_t found = layers->n_conditions;
    for (size_t c = 0; c < layers->n_conditions; c++) {
        const struct lull_layer_held *held = lull_layers_held(layers, c, level);
        if (held->holds)
            kept = layers->conditions[c].misses;
        else if (isfinite(held->block))
            found = c;
    }
    if (found == layers->n_conditions || layers->fits[level])
        return false;
    /* Without any condition that holds, every point of a stream is a miss: that is what is counted now. */
    const double misses = isfinite(kept) ? kept : prediction->lines[level].loads;
    const double saved = misses - layers->conditions[found].misses;
    *ret_block = lull_layers_held(layers, found, level)->block;
    for (size_t l = level; l < layers->n_levels; l++)
        lines[l].loads = fmin(lines[l].loads, prediction->lines[level].loads - saved);
    return saved > 0;
}

static bool lines_without_reading(const struct lull_kernel_prediction *prediction,
                                  struct lull_ecm_lines *lines)
{
    const size_t last = prediction->layers.n_levels - 1;
    for (size_t l = 0; l <= last; l++) {
        lines[l].loads -= lines[l].allocates;
        lines[l].allocates = 0;
    }
    return prediction->lines[last].allocates > 0;
}

/* Takes a form if it is faster than the one that is known, and enough faster than the loop as it is. */
static lull_status try_lines(const struct lull_kernel_prediction *prediction,
                             const struct lull_ecm_lines *lines, unsigned cores, double now,
                             struct lull_arena *arena, bool *ret_taken,
                             struct lull_other_form *form, struct lull_error *err)
{
    static const double least_gain = 1.02; /* less is no reason to write a loop anew */
    double cycles;
    lull_status status = cycles_with_lines(prediction, lines, cores, arena, &cycles, err);
    *ret_taken = status == LULL_OK && cycles * least_gain < now && !(cycles >= form->cycles);
    if (*ret_taken)
        form->cycles = cycles;
    return status;
}

lull_status lull_next_steps_find(const struct lull_kernel_prediction *prediction, unsigned cores,
                                 struct lull_arena *arena, struct lull_next_steps *ret_steps,
                                 struct lull_error *err)
{
    struct lull_next_steps steps = {.blocked = {.cycles = NAN}, .non_temporal = {.cycles = NAN}};
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS];
    bool taken;
    double block;
    lull_status status =
        cycles_with_lines(prediction, prediction->lines, cores, arena, &steps.now, err);
    for (size_t l = 0; status == LULL_OK && l < prediction->layers.n_levels; l++) {
        memcpy(lines, prediction->lines, sizeof lines);
        if (!lines_in_blocks(prediction, l, lines, &block))
            continue;
        status = try_lines(prediction, lines, cores, steps.now, arena, &taken, &steps.blocked, err);
        if (taken) {
            steps.blocked.level = l;
            steps.blocked.block = block;
        }
    }
    memcpy(lines, prediction->lines, sizeof lines);
    if (status == LULL_OK && lines_without_reading(prediction, lines))
        status =
            try_lines(prediction, lines, cores, steps.now, arena, &taken, &steps.non_temporal, err);
    *ret_steps = steps;
    return status;
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static bool is_conflict(double bytes)
{
    bytes = fabs(bytes);
    return bytes >= LULL_CONFLICT_BYTES && fmod(bytes, LULL_CONFLICT_BYTES) == 0;
}

/* Whether a polynomial has a value that nobody has supposed. */
static bool is_said(const struct lull_kernel *kernel, const struct lull_poly *poly)
{
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (lull_poly_contains(poly, s) &&
            (kernel->symbols[s].supposed || kernel->symbols[s].varies))
            return false;
    return true;
}

const char *lull_find_conflict(const struct lull_kernel *kernel, double *ret_bytes)
{
    double values[LULL_POLY_SYMBOLS];
    lull_kernel_values(kernel, values);
    const size_t variable = kernel->loops[kernel->body].symbol;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        const struct lull_kernel_array *array = &kernel->arrays[access->array];
        struct lull_poly factor, rest, between;
        unsigned apart = 1;
        if (access->loop != kernel->body || access->index_access != LULL_KERNEL_NONE)
            continue;
        *ret_bytes = lull_kernel_stride(kernel, access, (size_t)kernel->body) * array->bytes;
        if (lull_poly_split(&access->offset, variable, &factor, &rest) &&
            is_said(kernel, &factor) && is_conflict(*ret_bytes))
            return array->name;
        for (size_t k = 0; k < kernel->n_accesses; k++) {
            const struct lull_kernel_access *other = &kernel->accesses[k];
            if (other->loop != kernel->body || other->array != access->array ||
                !lull_poly_add(&other->offset, &access->offset, -1, &between) ||
                !is_said(kernel, &between))
                continue;
            const double bytes = lull_poly_value(&between, values) * array->bytes;
            bool again = !is_conflict(bytes);
            for (size_t m = 0; m < k && !again; m++)
                again = kernel->accesses[m].loop == kernel->body &&
                        kernel->accesses[m].array == access->array &&
                        lull_poly_equal(&kernel->accesses[m].offset, &other->offset);
            if (again)
                continue;
            apart++;
            *ret_bytes = fabs(bytes);
        }
        if (apart >= 3)
            return array->name;
    }
    return NULL;
}
