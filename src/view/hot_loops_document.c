/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/hot_loops_document.h"

#include "report/chart.h"
#include "view/document_parts.h"

#include <math.h>

static const char *machine_of_loops(const struct lull_hot_loops *loops)
{
    const char *label = lull_machine_label(loops->machine);
    return label ? label : "unnamed";
}

/* ==== tables ================================================================================== */

static struct lull_cell nanoseconds(double seconds, const char *absent)
{
    return isfinite(seconds) ? lull_cell_number(1e9 * seconds, 3) : lull_cell_absent(absent);
}

static struct lull_cell saturation_cell(const struct lull_kernel_prediction *prediction)
{
    return prediction->saturation ? lull_cell_count(prediction->saturation)
                                  : lull_cell_absent("never: no traffic with memory");
}

static struct lull_table *table_of_loops(struct lull_document *document, const char *id,
                                         const char *title, const struct lull_run *run,
                                         struct lull_arena *arena)
{
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "%s:%s", id, run->name),
                            lull_arena_printf(arena, "%s of %s", title, run->name), LULL_BY_COLUMN);
    lull_table_corner(table, "Loop");
    return table;
}

/* What each loop takes, and what the model allows. */
static void add_hot_limits(struct lull_document *document, const struct lull_run *run,
                           const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    struct lull_table *table =
        table_of_loops(document, "hot_loops",
                       loops->other ? lull_arena_printf(arena, "Hot loops on another machine (%s),",
                                                        machine_of_loops(loops))
                                    : "Hot loops",
                       run, arena);
    const char *on = loops->other ? "\n(other machine)" : "";
    lull_table_column(table, "function", "in");
    lull_table_column(table, "useful", "useful");
    lull_table_column(table, "share", "of all\nuseful time");
    lull_table_column(table, "limit", lull_arena_printf(arena, "limited by%s", on));
    lull_table_column(table, "allowed", lull_arena_printf(arena, "model\n(ns/iteration)%s", on));
    lull_table_column(table, "measured", "measured\n(ns/iteration)");
    lull_table_column(table, "of_limit",
                      lull_arena_printf(arena, "of what the\nmodel allows%s", on));
    lull_table_column(table, "next", lull_arena_printf(arena, "then by%s", on));
    lull_table_column(table, "gain", lull_arena_printf(arena, "faster then\nby at most%s", on));
    lull_table_column(table, "cores", "cores\nin use");
    lull_table_column(table, "saturation",
                      lull_arena_printf(arena, "memory saturated\nfrom cores%s", on));
    lull_table_column(table, "steps", lull_arena_printf(arena, "other forms,\nby the model%s", on));
    for (uint32_t i = 0; i < loops->n_loops; i++) {
        const struct lull_hot_loop *loop = &loops->loops[i];
        const uint32_t row = lull_table_row(table, loop->row->id, loop->row->label, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(loop->row->function));
        lull_table_set(table, row, 1, lull_cell_time(loop->row->useful_ns));
        lull_table_set(table, row, 2, lull_cell_share(loop->row->share));
        if (loop->why) {
            lull_table_set(table, row, 3, lull_cell_absent("not understood"));
            continue;
        }
        lull_table_set(table, row, 3, lull_cell_text(loop->limit));
        lull_table_set(table, row, 4, nanoseconds(loop->allowed, ""));
        lull_table_set(
            table, row, 5,
            nanoseconds(loop->measured, loop->uncounted ? "trip count unknown" : "not known"));
        if (isfinite(loop->share))
            lull_table_set(table, row, 6, lull_cell_share(loop->share));
        if (loop->next)
            lull_table_set(table, row, 7, lull_cell_text(loop->next));
        if (isfinite(loop->gain))
            lull_table_set(table, row, 8, lull_cell_number(loop->gain, 2));
        lull_table_set(table, row, 9, lull_cell_count(loop->cores));
        lull_table_set(table, row, 10, saturation_cell(loop->prediction));
        lull_table_set(table, row, 11,
                       loop->steps ? lull_cell_text(loop->steps)
                                   : lull_cell_absent("none that is faster"));
    }
}

/* The cycles of the parts, "{2 || 4 | 6.7 | 10 | 16.9}". */
static const char *parts_text(const struct lull_kernel_prediction *prediction,
                              struct lull_arena *arena)
{
    const struct lull_ecm *ecm = &prediction->ecm;
    const char *text = lull_arena_printf(arena, "{%.1f || %.1f", ecm->t_ol, ecm->t_nol);
    for (size_t i = 0; i < ecm->n_links; i++)
        text = lull_arena_printf(arena, "%s | %.1f", text, ecm->links[i].cycles);
    return lull_arena_printf(arena, "%s}", text);
}

static const char *counted_text(const struct lull_hot_loop *loop)
{
    switch ((enum lull_hot_count)loop->counted) {
    case LULL_HOT_BY_PARALLEL:
        return "executions of its parallel region";
    case LULL_HOT_BY_REGION:
        return "visits of its function";
    case LULL_HOT_BY_SOURCE:
        return "the source";
    case LULL_HOT_NOT_COUNTED:
        break;
    }
    return "not known";
}

/* From what the predictions of the loops that are understood were made. */
static void add_hot_predictions(struct lull_document *document, const struct lull_run *run,
                                const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    struct lull_table *table =
        table_of_loops(document, "hot_predictions", "Predictions for hot loops", run, arena);
    lull_table_column(table, "nest", "nest from\nline");
    lull_table_column(table, "sizes", "sizes");
    lull_table_column(table, "supposed", "sizes that are\nnot known");
    lull_table_column(table, "arrays", "arrays");
    lull_table_column(table, "executions", "executions\nof the nest");
    lull_table_column(table, "counted", "known by");
    lull_table_column(table, "iterations", "iterations\nin all");
    lull_table_column(table, "flops", "flop per\niteration");
    lull_table_column(table, "unit", "unit of work\n(iterations)");
    lull_table_column(table, "ecm", "ECM parts\n(cy per unit)");
    lull_table_column(table, "cycles", "ECM\n(cy per unit)");
    lull_table_column(table, "first_cache", "in L1\n(cy per unit)");
    lull_table_column(table, "roofline", "Roofline");
    lull_table_column(table, "roof", "its roof");
    lull_table_column(table, "vectors", "an instruction of\nthe program calculates");
    lull_table_column(table, "compiled", "model, as compiled\n(ns/iteration)");
    for (uint32_t i = 0; i < loops->n_loops; i++) {
        const struct lull_hot_loop *loop = &loops->loops[i];
        const struct lull_kernel_prediction *prediction = loop->prediction;
        if (loop->why)
            continue;
        const struct lull_roofline *roofline = &prediction->roofline;
        const uint32_t row = lull_table_row(table, loop->row->id, loop->row->label, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(prediction->kernel->code_line));
        lull_table_set(table, row, 1, lull_cell_text(loop->sizes));
        if (loop->supposed)
            lull_table_set(table, row, 2, lull_cell_text(loop->supposed));
        lull_table_set(table, row, 3, lull_cell_bytes((uint64_t)prediction->layers.footprint));
        if (isfinite(loop->executions))
            lull_table_set(table, row, 4, lull_cell_number(loop->executions, 0));
        lull_table_set(table, row, 5, lull_cell_text(counted_text(loop)));
        if (isfinite(loop->iterations))
            lull_table_set(table, row, 6, lull_cell_number(loop->iterations, 0));
        lull_table_set(table, row, 7, lull_cell_number(prediction->flops / prediction->unit, 1));
        lull_table_set(table, row, 8, lull_cell_number(prediction->unit, 0));
        lull_table_set(table, row, 9, lull_cell_text(parts_text(prediction, arena)));
        lull_table_set(table, row, 10, lull_cell_number(prediction->cycles, 1));
        lull_table_set(table, row, 11, lull_cell_number(lull_prediction_cycles(prediction, 0), 1));
        lull_table_set(
            table, row, 12,
            lull_cell_quantity(roofline->performance, roofline->counts_flops ? "flop/s" : "it/s"));
        lull_table_set(table, row, 13,
                       lull_cell_text(roofline->limit != LULL_KERNEL_NONE
                                          ? roofline->roofs[roofline->limit].level
                                          : "core"));
        const char *lanes = loop->code ? lull_hot_lanes(loop->code, arena) : NULL;
        if (lanes)
            lull_table_set(table, row, 14, lull_cell_text(lanes));
        lull_table_set(table, row, 15, nanoseconds(loop->compiled, "not known"));
    }
}

/* What the machine code says of loops that are not understood. */
static void set_hot_code(struct lull_table *table, uint32_t row, const struct lull_hot_loop *loop,
                         struct lull_arena *arena)
{
    const struct lull_hot_code *code = loop->code;
    if (!code) {
        lull_table_set(table, row, 3, lull_cell_absent(loop->no_code));
        return;
    }
    lull_table_set(table, row, 3, lull_cell_number(code->in_core.cycles, 1));
    lull_table_set(table, row, 4, lull_cell_number(1e9 * code->seconds, 3));
    lull_table_set(table, row, 5, lull_cell_text(code->in_core.limit));
    lull_table_set(table, row, 6, lull_cell_count(code->in_core.n_instructions));
    const char *lanes = lull_hot_lanes(code, arena);
    lull_table_set(table, row, 7,
                   lanes ? lull_cell_text(lanes) : lull_cell_absent("no floating point"));
    lull_table_set(table, row, 8, lull_cell_absent("unknown"));
}

static void add_hot_gaps(struct lull_document *document, const struct lull_run *run,
                         const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    struct lull_table *table = NULL;
    const char *on = loops->other ? "\n(other machine)" : "";
    for (uint32_t i = 0; i < loops->n_loops; i++) {
        const struct lull_hot_loop *loop = &loops->loops[i];
        if (!loop->why)
            continue;
        if (!table) {
            table = table_of_loops(document, "hot_not_understood", "Hot loops not understood", run,
                                   arena);
            lull_table_column(table, "function", "in");
            lull_table_column(table, "share", "of all\nuseful time");
            lull_table_column(table, "why", "why");
            lull_table_column(table, "cycles",
                              lull_arena_printf(arena, "in-core at least\n(cy/pass)%s", on));
            lull_table_column(table, "in_core",
                              lull_arena_printf(arena, "in-core at least\n(ns/pass)%s", on));
            lull_table_column(table, "limit",
                              lull_arena_printf(arena, "limited\nin-core by%s", on));
            lull_table_column(table, "instructions", "instructions\nof a pass");
            lull_table_column(table, "vectors", "an instruction\ncalculates");
            lull_table_column(table, "traffic", "traffic");
        }
        const uint32_t row = lull_table_row(table, loop->row->id, loop->row->label, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(loop->row->function));
        lull_table_set(table, row, 1, lull_cell_share(loop->row->share));
        lull_table_set(table, row, 2, lull_cell_text(loop->why));
        set_hot_code(table, row, loop, arena);
    }
}

/* ==== sentences =============================================================================== */

static void tell_hot_loop(struct lull_document *document, const struct lull_hot_loop *loop,
                          const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    const char *then =
        loop->next && isfinite(loop->gain)
            ? lull_arena_printf(arena,
                                " Without that it would be %.2f times as fast, and limited by %s.",
                                loop->gain, loop->next)
            : "";
    const char *on =
        loops->other ? lull_arena_printf(arena, " (on %s)", machine_of_loops(loops)) : "";
    const struct lull_code_row *row = loop->row; /* its useful time is as uncertain as its share */
    const char *sampled = lull_arena_printf(arena, " (%.0f to %.0f %% by its samples)",
                                            100 * loop->share * row->share / row->high,
                                            100 * loop->share * row->share / row->low);
    if (!isfinite(loop->share))
        lull_document_note(document, LULL_NOTE_INFO, "%s in %s: limited by %s%s%s.%s %s",
                           loop->row->label, loop->row->function, loop->limit, on,
                           loop->supposed ? ", if its arrays are larger than the caches" : "", then,
                           loop->uncounted);
    else if (loop->share > 1 / LULL_HOT_AT_LIMIT)
        lull_document_note(
            document, LULL_NOTE_INFO,
            "%s in %s takes less than the model says%s: %.3g ns an iteration, where it "
            "says %.3g ns: %.0f %% of what it allows%s. Its sizes, or what caches keep of its "
            "arrays, are not as "
            "the model takes them.",
            loop->row->label, loop->row->function, on, 1e9 * loop->measured, 1e9 * loop->allowed,
            100 * loop->share, sampled);
    else if (loop->share >= LULL_HOT_AT_LIMIT)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s in %s is at the limit%s, which is %s: %.0f %% of what the model "
                           "allows%s. It is done, unless that limit is changed.%s",
                           loop->row->label, loop->row->function, on, loop->limit,
                           100 * loop->share, sampled, then);
    else
        lull_document_note(
            document, LULL_NOTE_INFO,
            "%s in %s runs at %.0f %% of what the model allows%s%s: %.3g ns an iteration "
            "instead of %.3g ns. Its limit is %s.%s",
            loop->row->label, loop->row->function, 100 * loop->share, sampled, on,
            1e9 * loop->measured, 1e9 * loop->allowed, loop->limit, then);
    if (loop->compilation)
        lull_document_note(document, LULL_NOTE_INFO, "%s: %s", loop->row->label, loop->compilation);
    if (*loop->notes)
        lull_document_note(document, LULL_NOTE_INFO, "%s: %s", loop->row->label, loop->notes);
}

/* What the machine code of a loop says that is not understood. */
static void tell_hot_code(struct lull_document *document, const struct lull_hot_loop *loop,
                          const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    const struct lull_hot_code *code = loop->code;
    const struct lull_incore_binary *in_core = &code->in_core;
    const char *vectors = lull_hot_vectors(code, loops->machine, arena);
    const char *left_out = code->n_calls > 0    ? ", without what it calls"
                           : code->n_others > 0 ? ", without what stands in branches"
                                                : "";
    const char *on =
        loops->other ? lull_arena_printf(arena, " (on %s)", machine_of_loops(loops)) : "";
    lull_document_note(
        document, LULL_NOTE_INFO,
        "%s in %s is not understood. By its machine code a pass takes %s %.1f cycles "
        "(%.3g ns) in the core%s%s, limited by %s. It has %zu instructions%s%s. "
        "Its traffic is unknown.",
        loop->row->label, loop->row->function,
        in_core->incore.source == LULL_INCORE_MCA ? "at least" : "about", in_core->cycles,
        1e9 * code->seconds, on, left_out, in_core->limit, in_core->n_instructions,
        vectors ? "; those of floating point calculate with " : "", vectors ? vectors : "");
}

void lull_hot_loops_add(struct lull_document *document, const struct lull_run *run,
                        const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    if (loops->absent) {
        lull_document_note(document, LULL_NOTE_INFO, "Hot loops of %s: %s.", run->name,
                           loops->absent);
        return;
    }
    add_hot_limits(document, run, loops, arena);
    add_hot_gaps(document, run, loops, arena);
    for (uint32_t i = 0; i < loops->n_loops; i++) {
        const struct lull_hot_loop *loop = &loops->loops[i];
        if (!loop->why)
            tell_hot_loop(document, loop, loops, arena);
        else if (loop->code)
            tell_hot_code(document, loop, loops, arena);
    }
}

void lull_hot_loops_add_details(struct lull_document *document, const struct lull_run *run,
                                const struct lull_hot_loops *loops, struct lull_arena *arena)
{
    if (!loops->absent)
        add_hot_predictions(document, run, loops, arena);
}

/* ==== the Roofline ============================================================================ */

/* The roof of a bandwidth, from the intensity `left` to where it meets the peak. */
static void add_hot_roof(struct lull_chart *chart, const struct lull_roof *roof, double peak,
                         double left, double right)
{
    const double corner = peak / roof->bandwidth;
    struct lull_chart_point points[3] = {{left, left * roof->bandwidth, NAN, NAN},
                                         {corner, peak, NAN, NAN},
                                         {right, peak, NAN, NAN}};
    lull_chart_series(chart, roof->level, LULL_CHART_LINE, points, 3);
}

/* The last roof from which data come; NULL: none has traffic. */
static const struct lull_roof *roof_of_loop(const struct lull_roofline *roofline)
{
    const struct lull_roof *last = NULL;
    for (size_t i = 0; i < roofline->n_roofs; i++)
        if (isfinite(roofline->roofs[i].intensity))
            last = &roofline->roofs[i];
    return last;
}

/* The roof of a loop that a Roofline shows; NULL: it is not understood, has no flop, or no traffic. */
static const struct lull_roof *shown_roof(const struct lull_hot_loop *loop)
{
    const struct lull_kernel_prediction *prediction = loop->prediction;
    return prediction && prediction->roofline.counts_flops ? roof_of_loop(&prediction->roofline)
                                                           : NULL;
}

struct lull_chart *lull_hot_loops_chart(const struct lull_run *run,
                                        const struct lull_hot_loops *loops,
                                        struct lull_arena *arena)
{
    const struct lull_roofline *widest = NULL;
    double left = INFINITY, right = 0, peak = 0;
    for (uint32_t i = 0; i < loops->n_loops; i++) {
        const struct lull_roof *roof = shown_roof(&loops->loops[i]);
        if (!roof)
            continue;
        const struct lull_roofline *roofline = &loops->loops[i].prediction->roofline;
        left = fmin(left, roof->intensity);
        right = fmax(right, roof->intensity);
        /* Without a peak in the machine file, the fastest of the loops in the first cache. */
        peak = fmax(peak, isfinite(roofline->peak) ? roofline->peak : roofline->in_core);
        if (!widest || roofline->cores > widest->cores)
            widest = roofline;
    }
    if (!widest)
        return NULL;
    struct lull_chart *chart =
        lull_chart_create(arena, lull_arena_printf(arena, "Hot loops of %s on %s, %u core%s",
                                                   run->name, machine_of_loops(loops),
                                                   widest->cores, widest->cores == 1 ? "" : "s"));
    lull_chart_x_axis(chart, "Intensity (flop/B)", "", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "Performance", "flop/s", LULL_CHART_LOG);
    right *= 2;
    for (size_t i = 0; i < widest->n_roofs; i++)
        right = fmax(right, 2 * peak / widest->roofs[i].bandwidth);
    for (size_t i = 0; i < widest->n_roofs; i++)
        add_hot_roof(chart, &widest->roofs[i], peak, left / 2, right);
    for (uint32_t i = 0; i < loops->n_loops; i++) {
        const struct lull_hot_loop *loop = &loops->loops[i];
        const struct lull_roof *roof = shown_roof(loop);
        if (!roof)
            continue;
        const bool known = isfinite(loop->measured);
        const double flops = loop->prediction->flops / loop->prediction->unit * loop->cores;
        const struct lull_chart_point at = {
            roof->intensity, flops / (known ? loop->measured : loop->allowed), NAN, NAN};
        lull_chart_series(chart,
                          known ? loop->row->label
                                : lull_arena_printf(arena, "%s, by the model", loop->row->label),
                          LULL_CHART_POINTS, &at, 1);
    }
    return chart;
}

/* ==== the document ============================================================================ */

struct lull_document *lull_hot_loops_document(const struct lull_run *run,
                                              const struct lull_hot_loops *loops,
                                              const struct lull_notices *notices,
                                              struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-hot-loops/1", "");
    lull_document_fact(document, "run", "Run", lull_cell_text(run->name));
    lull_document_fact(document, "machine", "Machine", lull_cell_text(machine_of_loops(loops)));
    lull_document_fact(document, "covered", "Useful time in these loops",
                       lull_cell_share(loops->covered));
    lull_document_fact(document, "no_loop", "Useful time in no loop",
                       lull_cell_share(loops->no_loop));
    for (uint32_t i = 0; i < loops->n_gaps; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s: %s.", run->name,
                           lull_code_tell_gap(&loops->gaps[i], run->trace, arena));
    lull_hot_loops_add(document, run, loops, arena);
    lull_hot_loops_add_details(document, run, loops, arena);
    lull_document_add_notices(document, notices);
    return document;
}
