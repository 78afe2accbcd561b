/* The trust box: what the reader of a report should know of how it was measured, as numbers. */
#include "view/report/report_parts.h"

#include "study/replay/replayed_run.h"

#include <math.h>
#include <string.h>

static const char no_trace[] = "a saved profile does not tell";

/* Of such a run no tracer could tell more. */
static bool is_simulated(const struct lull_run *run)
{
    return run->trace && lull_trace_is_simulated(run->trace);
}

static struct lull_cell clock_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    if (run->processes == 1 || is_simulated(run))
        return lull_cell_text("one clock");
    if (!run->trace)
        return lull_cell_absent(no_trace);
    if (run->trace->clock_error < 0)
        return lull_cell_absent("the tracer does not tell how far the clocks are apart");
    return lull_cell_time(llround(run->trace->clock_error));
}

/* A replay is made where it could change what is said of the run. */
static struct lull_cell replay_cell(const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    const double difference = lull_replay_difference(breakdown);
    const double saved = (double)(breakdown->runtime_ns - breakdown->ideal_runtime_ns);
    if (isfinite(difference))
        return lull_cell_share(difference);
    if (breakdown->ideal_absent)
        return lull_cell_absent(breakdown->ideal_absent);
    if (run->processes == 1)
        return lull_cell_absent("one process waits for no other");
    if (breakdown->ideal_runtime_ns > 0 &&
        saved <= LULL_REPLAY_MISSES_MOST * (double)breakdown->runtime_ns)
        return lull_cell_absent(
            lull_arena_printf(arena,
                              "not replayed, because even an ideal network would save less than "
                              "%g %% of the runtime",
                              100 * LULL_REPLAY_MISSES_MOST));
    return lull_cell_absent("not replayed here; lull replay does it");
}

static struct lull_cell tracer_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    return lull_cell_share(run->input->flush_share);
}

/* Calls that the tracer left out because they were too short. */
static struct lull_cell left_out_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    uint64_t calls = 0;
    if (!run->trace)
        return lull_cell_absent(no_trace);
    for (uint32_t i = 0; i < run->trace->n_left_out; i++)
        calls += run->trace->left_out[i].calls;
    return lull_cell_count(calls);
}

/* Locations whose events are not all there. */
static struct lull_cell lost_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    uint64_t lost = 0;
    if (!run->trace)
        return lull_cell_absent(no_trace);
    for (uint32_t l = 0; l < run->trace->n_locations; l++)
        lost +=
            run->trace->locations[l].cut != LULL_CUT_NOT || lull_trace_is_left_out(run->trace, l);
    return lull_cell_count(lost);
}

static struct lull_cell oddities_cell(const struct lull_run *run, struct lull_arena *arena)
{
    struct lull_quirk *quirks;
    return run->trace ? lull_cell_count(lull_trace_quirks(run->trace, arena, &quirks))
                      : lull_cell_absent(no_trace);
}

/* Of the time in which threads could have run, that in which they had no core. */
static struct lull_cell cores_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    double on = 0, off = 0;
    for (uint32_t l = 0; run->trace && l < run->trace->n_locations; l++) {
        on += (double)run->trace->locations[l].cores.on;
        off += (double)run->trace->locations[l].cores.off;
    }
    if (is_simulated(run))
        return lull_cell_absent("a simulated rank has a core of its own");
    if (on <= 0)
        return lull_cell_absent("the tracer does not tell whether threads had cores");
    return lull_cell_share(off / (on + off));
}

static struct lull_cell counters_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    const bool instructions = isfinite(run->input->instructions);
    const bool cycles = isfinite(run->input->cycles);
    if (!instructions && !cycles && is_simulated(run))
        return lull_cell_absent("a simulation counts no instructions and cycles");
    if (!instructions && !cycles)
        return lull_cell_absent("no counters of instructions and cycles were recorded");
    return lull_cell_text(instructions && cycles ? "instructions, cycles"
                          : instructions         ? "instructions, no cycles"
                                                 : "cycles, no instructions");
}

static struct lull_cell disturbed_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    return run->trace ? lull_cell_text(run->trace->disturbed ? "yes" : "no")
                      : lull_cell_absent(no_trace);
}

static const struct item {
    const char *id, *label, *about;
    struct lull_cell (*cell)(const struct lull_run *run, struct lull_arena *arena);
} items[] = {
    {"clock_error", "Clocks apart by up to", "bound of the error between the clocks of locations",
     clock_cell},
    {"replay_difference", "Replay against measured",
     "T_replayed / T - 1, on the network that the messages show; how uncertain Transfer and "
     "Serialisation are",
     replay_cell},
    {"tracer", "Tracer's writing",
     "largest share of the runtime in which the tracer wrote the buffer of a thread", tracer_cell},
    {"lost", "Locations with lost events", "killed, damaged, or beyond a size budget", lost_cell},
    {"left_out", "Calls left out as too short", "their time counts as that of what is around them",
     left_out_cell},
    {"oddities", "Oddities of the trace", "kinds of what was put right, see lull info",
     oddities_cell},
    {"without_core", "Time without a core",
     "of the time in which threads could have run; more than a few percent: oversubscribed",
     cores_cell},
    {"counters", "Hardware counters", "without them work and speed cannot be told apart",
     counters_cell},
    {"disturbed", "Disturbed on purpose", "lull record --inject", disturbed_cell},
};

void lull_report_add_trust(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    struct lull_table *table = lull_table_of_runs(document, "trust", "How far to trust this",
                                                  "Quality of the data", runs, arena);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        uint32_t row = lull_table_row(table, items[i].id, items[i].label, LULL_NO_ROW);
        lull_table_row_about(table, row, items[i].about);
        for (uint32_t r = 0; r < runs->count; r++)
            lull_table_set(table, row, r, items[i].cell(&runs->runs[r], arena));
    }
}
