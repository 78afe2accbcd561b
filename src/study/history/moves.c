/* Which parts of the time of runs have changed. */
#include "study/history/gate.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The median over the runs. A run without the part spends nothing on it, as does one in which it is
 * so short that the line of a history leaves it out. */
static int64_t median_time(const struct lull_history_entry *runs, uint32_t count,
                           const struct lull_part *like, double *scratch)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_part *part = lull_parts_find(&runs[i].parts, like);
        scratch[i] = part && lull_part_is_kept(part, &runs[i].parts) ? (double)part->ns : 0;
    }
    lull_sort(scratch, count);
    return (int64_t)llround(lull_median(scratch, count));
}

static double median_value(const struct lull_history_entry *runs, uint32_t count, const char *id,
                           double *scratch)
{
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = lull_history_value_of(&runs[i], id);
    lull_sort(scratch, count);
    return lull_median(scratch, count);
}

static int64_t growth(const struct lull_move *move)
{
    return move->after_ns - move->before_ns;
}

static int by_growth(const void *left, const void *right)
{
    const int64_t a = growth(left), b = growth(right);
    return a < b   ? 1
           : a > b ? -1
                   : lull_part_compare(((const struct lull_move *)left)->part,
                                       ((const struct lull_move *)right)->part);
}

static int by_loss(const void *left, const void *right)
{
    const int64_t a = growth(left), b = growth(right);
    return a < b   ? -1
           : a > b ? 1
                   : lull_part_compare(((const struct lull_move *)left)->part,
                                       ((const struct lull_move *)right)->part);
}

/* A thread that computes, or reads and writes files, waits for no other one. */
static bool is_own_time(const struct lull_part *part)
{
    return part->activity == LULL_USEFUL || part->activity == LULL_IO ||
           part->activity == LULL_MPI_IO;
}

/* Puts what explains the longer runtime in front of its consequences. */
static void put_cause_first(struct lull_gate *gate, double longer_ns)
{
    static const double enough = 0.5;
    for (uint32_t i = 0; i < gate->n_moves; i++) {
        const struct lull_move cause = gate->moves[i];
        if (!is_own_time(cause.part) || (double)growth(&cause) < enough * longer_ns)
            continue;
        memmove(gate->moves + 1, gate->moves, i * sizeof(*gate->moves));
        gate->moves[0] = cause;
        return;
    }
}

/* The part of any of the runs that names it first: of new ones, which know its file and line. */
static uint32_t gather_moves(const struct lull_history_entry *runs, uint32_t count,
                             struct lull_move *moves, uint32_t n_moves)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = 0; p < runs[i].parts.count; p++) {
            const struct lull_part *part = &runs[i].parts.parts[p];
            uint32_t known = 0;
            while (known < n_moves && lull_part_compare(moves[known].part, part) != 0)
                known++;
            if (known == n_moves)
                moves[n_moves++] = (struct lull_move){.part = part};
        }
    return n_moves;
}

static uint32_t count_parts_at_most(const struct lull_history_entry *runs, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += runs[i].parts.count;
    return sum;
}

void lull_gate_moves(const struct lull_history_entry *before, uint32_t n_before,
                     const struct lull_history_entry *after, uint32_t n_after,
                     struct lull_arena *arena, struct lull_gate *gate)
{
    if (!n_before || !n_after)
        return;
    const uint32_t room =
        count_parts_at_most(before, n_before) + count_parts_at_most(after, n_after);
    double *scratch = lull_arena_zero(arena, n_before + n_after, sizeof(*scratch));
    gate->moves = lull_arena_zero(arena, room + 1, sizeof(*gate->moves));
    gate->n_moves = gather_moves(after, n_after, gate->moves, 0);
    gate->n_moves = gather_moves(before, n_before, gate->moves, gate->n_moves);
    for (uint32_t i = 0; i < gate->n_moves; i++) {
        struct lull_move *move = &gate->moves[i];
        move->before_ns = median_time(before, n_before, move->part, scratch);
        move->after_ns = median_time(after, n_after, move->part, scratch);
    }
    const double longer = median_value(after, n_after, "runtime", scratch) -
                          median_value(before, n_before, "runtime", scratch);
    if (gate->n_moves > 1)
        qsort(gate->moves, gate->n_moves, sizeof(*gate->moves), longer < 0 ? by_loss : by_growth);
    if (longer > 0)
        put_cause_first(gate, 1e9 * longer);
}
