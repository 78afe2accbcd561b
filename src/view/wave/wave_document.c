#include "view/wave/wave_document.h"

#include "view/notices_document.h"
#include "view/wave/wave_tables.h"

#include <math.h>

static struct lull_cell number_or_empty(double value, int digits)
{
    return isfinite(value) ? lull_cell_number(value, digits)
                           : (struct lull_cell){.kind = LULL_CELL_EMPTY};
}

static struct lull_cell time_or_empty(double ns)
{
    return isfinite(ns) ? lull_cell_time((int64_t)llround(ns))
                        : (struct lull_cell){.kind = LULL_CELL_EMPTY};
}

/* What was looked for, and what was not found. */
static void add_looked_for(struct lull_document *document, const struct lull_wave_scene *scene)
{
    const struct lull_waves *waves = &scene->waves;
    lull_document_fact(document, "iterations", "Iterations",
                       lull_cell_count(scene->field->n_iterations));
    lull_document_fact(document, "ranks", "Ranks", lull_cell_count(scene->field->n_ranks));
    lull_document_fact(document, "least_delay", "Delays from",
                       lull_cell_time(waves->outliers.usual.least_delay));
    lull_document_fact(document, "least_idle", "Idleness from",
                       lull_cell_time(waves->outliers.usual.least_idle));
    lull_document_fact(document, "waves_found", "Waves", lull_cell_count(waves->count));
    if (waves->delays_alone)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%u delays made nobody else idle: others waited no longer than usual.",
                           waves->delays_alone);
    if (waves->left_out)
        lull_document_note(document, LULL_NOTE_WARNING,
                           "%u more delays are shorter and were left out: overlapping waves cannot "
                           "be told apart.",
                           waves->left_out);
}

/* ---- patterns ---------------------------------------------------------------------------------
 */

static void add_specs(struct lull_document *document, const struct lull_wave_inputs *inputs,
                      const struct lull_wave_case *result)
{
    static const struct {
        const char *id, *label;
    } names[LULL_SIMULATE_SPECS] = {{"pattern", "Pattern"},
                                    {"network", "Network"},
                                    {"noise", "Noise"},
                                    {"placement", "Placement"},
                                    {"memory", "Memory"}};
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++)
        if (result->texts[s])
            lull_document_fact(document, names[s].id, names[s].label,
                               lull_cell_text(result->texts[s]));
    lull_document_fact(document, "seed", "Seed", lull_cell_count(inputs->simulate.seed));
    if (inputs->repeat > 1)
        lull_document_fact(document, "repeat", "Simulated runs", lull_cell_count(inputs->repeat));
}

static void add_wave_noise(struct lull_document *document, const struct lull_wave_case *result)
{
    double decay = result->decay.value;
    lull_document_fact(document, "cycle_silent_s", "Iteration, no noise (T)",
                       lull_cell_time((int64_t)result->cycle_silent));
    if (!(result->noise_mean > 0))
        return;
    lull_document_fact(document, "cycle_s", "Iteration, noise (T_cyc)",
                       lull_cell_time((int64_t)result->cycle));
    lull_document_fact(document, "noise_mean_s", "Noise, mean (mu)",
                       time_or_empty(result->noise_mean));
    lull_document_fact(document, "noise_sd_s", "Noise, standard deviation",
                       time_or_empty(result->noise_sd));
    if (isnan(decay))
        return;
    lull_document_fact(document, "decay_by_mean", "Decay / mean",
                       number_or_empty(decay / result->noise_mean, 2));
    lull_document_fact(document, "decay_by_sd", "Decay / standard deviation",
                       number_or_empty(result->noise_sd > 0 ? decay / result->noise_sd : NAN, 2));
    lull_document_note(
        document, LULL_NOTE_INFO,
        "Noises of equal mean let a wave decay differently, by their shape; noises of equal "
        "standard deviation nearly alike (0.8 to 1.5 of it per rank). Compare noises by both.");
}

/* Mean waiting per iteration of the last quarter of the run: ranks that share memory do not go in
 * step any more once a wave has passed. */
static double waiting_at_the_end(const struct lull_wave_field *field)
{
    uint32_t first = field->n_iterations - (field->n_iterations + 3) / 4;
    double sum = 0;
    for (uint32_t r = 0; r < field->n_ranks; r++)
        for (uint32_t i = first; i < field->n_iterations; i++)
            sum += (double)field->rows[r].cells[i].wait;
    return sum / field->n_ranks / (field->n_iterations - first);
}

static void add_memory(struct lull_document *document, const struct lull_wave_case *result)
{
    lull_document_fact(document, "end_wait_s", "Waiting per iteration, at the end",
                       time_or_empty(waiting_at_the_end(result->scene.field)));
    lull_document_note(document, LULL_NOTE_INFO,
                       "Ranks that are idle leave their memory bandwidth to the others, which "
                       "catch up: waves decay without noise, and ranks go out of step behind them. "
                       "For this there is no rule that predicts it, only the simulation.");
}

static void add_collective(struct lull_document *document, const struct lull_wave_case *result)
{
    lull_document_fact(document, "delayed_share", "Other ranks delayed",
                       isnan(result->delayed) ? lull_cell_absent("no --delay")
                                              : lull_cell_share(result->delayed));
    if (!isnan(result->delayed_mean))
        lull_document_fact(document, "delayed_share_mean", "Mean over the delayed rank",
                           lull_cell_share(result->delayed_mean));
    lull_document_note(document, LULL_NOTE_INFO,
                       "Ranks exchange messages in the collective operation alone. It lets a wave "
                       "pass to as many of the other ranks as are delayed by one that is late; "
                       "where these are all, it ends every wave.");
}

static const char *scene_heading(const struct lull_wave_inputs *inputs, struct lull_arena *arena)
{
    return inputs->repeat > 1 ? lull_arena_printf(arena, "Simulated\n(%u runs)", inputs->repeat)
                              : "Simulated";
}

static bool is_first_delay(const struct lull_wave_inputs *inputs, const struct lull_wave *wave)
{
    const struct lull_delay *delay = inputs->simulate.delays;
    return inputs->simulate.n_delays && wave->rank == delay->rank &&
           (!delay->at_iteration || wave->iteration == delay->when);
}

static void add_waves(struct lull_document *document, const struct lull_wave_inputs *inputs,
                      const struct lull_wave_case *result, struct lull_arena *arena)
{
    const struct lull_waves *waves = &result->scene.waves;
    struct lull_wave_shown *shown = lull_arena_zero(arena, waves->count + 1, sizeof *shown);
    struct lull_wave_json *json = lull_arena_zero(arena, 1, sizeof *json);
    for (uint32_t w = 0; w < waves->count; w++) {
        bool first = is_first_delay(inputs, &waves->waves[w]);
        struct lull_wave_prediction *predicted = lull_arena_zero(arena, 1, sizeof *predicted);
        *predicted = result->predicted;
        predicted->length = (double)waves->waves[w].length;
        if (!isnan(predicted->survival))
            predicted->survival =
                predicted->decay > 0 ? predicted->length / predicted->decay : INFINITY;
        shown[w] =
            (struct lull_wave_shown){.wave = &waves->waves[w],
                                     .predicted = predicted,
                                     .cost = waves->count == 1 ? result->cost : NAN,
                                     .repeated = first && inputs->repeat > 1 ? result : NULL};
        lull_wave_table(document, &shown[w], w + 1, scene_heading(inputs, arena), arena);
    }
    if (waves->count == 0) {
        shown[0].predicted = &result->predicted;
        lull_wave_table(document, &shown[0], 1, "Simulated", arena);
        lull_document_note(document, LULL_NOTE_INFO, "No wave was found.");
    }
    if (waves->count > 1 && isfinite(result->cost))
        lull_document_fact(document, "cost_s", "Run is longer by",
                           lull_cell_time((int64_t)result->cost));
    *json = (struct lull_wave_json){&result->predicted, shown, waves->count};
    lull_wave_attach(document, json);
}

struct lull_document *lull_wave_case_document(const struct lull_wave_inputs *inputs,
                                              const struct lull_wave_case *result,
                                              struct lull_arena *arena)
{
    struct lull_document *document =
        lull_document_create(arena, "lull-wave/1", "Idle waves in a simulated pattern");
    add_specs(document, inputs, result);
    if (result->collective_only) {
        add_collective(document, result);
        return document;
    }
    add_looked_for(document, &result->scene);
    add_wave_noise(document, result);
    if (result->texts[LULL_SIMULATE_MEMORY])
        add_memory(document, result);
    add_waves(document, inputs, result, arena);
    if (result->note)
        lull_document_note(document, LULL_NOTE_INFO, "%s.", result->note);
    return document;
}

/* ---- sweeps -----------------------------------------------------------------------------------
 */

enum {
    KAPPA_UP,
    UP,
    UP_LOW,
    UP_HIGH,
    KAPPA_DOWN,
    DOWN,
    DOWN_LOW,
    DOWN_HIGH,
    DECAY_PREDICTED,
    DECAY,
    DECAY_LOW,
    DECAY_HIGH,
    BY_MEAN,
    BY_SD,
    RANKS,
    SHARE,
    COST,
    SWEEP_COLUMNS
};

static const struct {
    const char *id, *heading;
} sweep_columns[SWEEP_COLUMNS] = {
    [KAPPA_UP] = {"kappa_up", "Up,\npredicted"},
    [UP] = {"up", "simulated"},
    [UP_LOW] = {"up_low", "from"},
    [UP_HIGH] = {"up_high", "to"},
    [KAPPA_DOWN] = {"kappa_down", "Down,\npredicted"},
    [DOWN] = {"down", "simulated"},
    [DOWN_LOW] = {"down_low", "from"},
    [DOWN_HIGH] = {"down_high", "to"},
    [DECAY_PREDICTED] = {"decay_predicted", "Decay,\npredicted"},
    [DECAY] = {"decay", "simulated"},
    [DECAY_LOW] = {"decay_low", "from"},
    [DECAY_HIGH] = {"decay_high", "to"},
    [BY_MEAN] = {"decay_by_mean", "Decay /\nmean"},
    [BY_SD] = {"decay_by_sd", "Decay /\nstd. dev."},
    [RANKS] = {"ranks_reached", "Ranks\nidle"},
    [SHARE] = {"delayed_share", "Share\ndelayed"},
    [COST] = {"cost", "Cost"},
};

static void set_speed(struct lull_table *table, uint32_t row, uint32_t column, double kappa,
                      struct lull_wave_value value)
{
    lull_table_set(table, row, column, number_or_empty(kappa, 0));
    lull_table_set(table, row, column + 1, number_or_empty(value.value, 3));
    lull_table_set(table, row, column + 2, number_or_empty(value.low, 3));
    lull_table_set(table, row, column + 3, number_or_empty(value.high, 3));
}

static void set_case(struct lull_table *table, uint32_t row, uint32_t first,
                     const struct lull_wave_case *result)
{
    lull_table_set(table, row, first + COST, time_or_empty(result->cost));
    if (result->collective_only) {
        double share = isnan(result->delayed_mean) ? result->delayed : result->delayed_mean;
        if (!isnan(share))
            lull_table_set(table, row, first + SHARE, lull_cell_share(share));
        return;
    }
    const struct lull_wave_prediction *predicted = &result->predicted;
    set_speed(table, row, first + KAPPA_UP, predicted->kappa_up, result->up);
    set_speed(table, row, first + KAPPA_DOWN, predicted->kappa_down, result->down);
    lull_table_set(table, row, first + DECAY_PREDICTED, time_or_empty(predicted->decay));
    lull_table_set(table, row, first + DECAY, time_or_empty(result->decay.value));
    lull_table_set(table, row, first + DECAY_LOW, time_or_empty(result->decay.low));
    lull_table_set(table, row, first + DECAY_HIGH, time_or_empty(result->decay.high));
    if (result->noise_mean > 0)
        lull_table_set(table, row, first + BY_MEAN,
                       number_or_empty(result->decay.value / result->noise_mean, 2));
    if (result->noise_sd > 0)
        lull_table_set(table, row, first + BY_SD,
                       number_or_empty(result->decay.value / result->noise_sd, 2));
    lull_table_set(
        table, row, first + RANKS,
        lull_cell_count(result->scene.waves.count ? result->scene.waves.waves[0].n_ranks : 0));
}

struct lull_document *lull_wave_sweep_document(const struct lull_wave_inputs *inputs,
                                               const struct lull_wave_case *cases,
                                               struct lull_arena *arena)
{
    const struct lull_sweep *sweep = inputs->simulate.sweep;
    struct lull_document *document =
        lull_document_create(arena, "lull-wave/1", "Idle waves in simulated patterns");
    lull_document_fact(document, "seed", "Seed", lull_cell_count(inputs->simulate.seed));
    if (inputs->repeat > 1)
        lull_document_fact(document, "repeat", "Runs per point", lull_cell_count(inputs->repeat));
    struct lull_table *table = lull_document_table(
        document, "points", "Speed in ranks per iteration, decay in time per rank", LULL_BY_COLUMN);
    lull_table_corner(table, "Point");
    for (uint32_t a = 0; a < sweep->n_axes; a++)
        lull_table_column(table, sweep->axes[a].key, sweep->axes[a].key);
    for (uint32_t c = 0; c < SWEEP_COLUMNS; c++)
        lull_table_column(table, sweep_columns[c].id, sweep_columns[c].heading);
    for (uint64_t p = 0; p < sweep->n_points; p++) {
        const char *name = lull_arena_printf(arena, "%llu", (unsigned long long)p + 1);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        for (uint32_t a = 0; a < sweep->n_axes; a++)
            lull_table_set(table, row, a, lull_cell_text(lull_sweep_value(sweep, p, a)));
        set_case(table, row, sweep->n_axes, &cases[p]);
    }
    return document;
}

/* ---- recorded runs ----------------------------------------------------------------------------
 */

/* The wave of the replay that comes from the same delay. */
static const struct lull_wave *same_wave(const struct lull_waves *waves,
                                         const struct lull_wave *wanted)
{
    for (uint32_t w = 0; w < waves->count; w++)
        if (waves->waves[w].rank == wanted->rank && waves->waves[w].iteration == wanted->iteration)
            return &waves->waves[w];
    return NULL;
}

struct lull_document *lull_wave_run_document(const char *path, const struct lull_wave_run *run,
                                             const struct lull_notices *notices,
                                             struct lull_arena *arena)
{
    const struct lull_waves *waves = &run->measured.waves;
    struct lull_document *document =
        lull_document_create(arena, "lull-wave/1", "Idle waves in a recorded run");
    struct lull_wave_shown *shown = lull_arena_zero(arena, waves->count + 1, sizeof *shown);
    struct lull_wave_json *json = lull_arena_zero(arena, 1, sizeof *json);
    lull_document_fact(document, "run", "Run", lull_cell_text(path));
    add_looked_for(document, &run->measured);
    lull_document_fact(document, "cycle_s", "Iteration",
                       time_or_empty(waves->outliers.usual.cycle));
    lull_document_fact(document, "runtime_s", "Runtime", lull_cell_time(run->measured.runtime));
    if (run->replay_runtime)
        lull_document_fact(document, "replay_s", "Runtime of its replay",
                           lull_cell_time(run->replay_runtime));
    lull_document_fact(
        document, "protocol", "Messages",
        lull_cell_text(run->measured.graph->rendezvous ? "some by rendezvous" : "eager"));
    for (uint32_t w = 0; w < waves->count; w++) {
        shown[w] =
            (struct lull_wave_shown){.wave = &waves->waves[w],
                                     .predicted = &run->predicted[w],
                                     .replayed = same_wave(&run->replayed.waves, &waves->waves[w]),
                                     .cost = run->costs[w]};
        lull_wave_table(document, &shown[w], w + 1, "Measured", arena);
    }
    if (waves->count == 0) {
        shown[0].predicted = &run->predicted[0];
        lull_wave_table(document, &shown[0], 1, "Measured", arena);
        lull_document_note(document, LULL_NOTE_INFO, "No wave was found.");
    }
    *json = (struct lull_wave_json){&run->predicted[0], shown, waves->count};
    lull_wave_attach(document, json);
    lull_document_add_notices(document, notices);
    return document;
}
