/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/simulation_document.h"

#include "base/text.h"
#include "sim/memory.h"
#include "sim/pattern/pattern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== the list of what specs can name ========================================================= */

/* What `lull simulate --list` shows. */

static const char *default_text(const struct lull_parameter *parameter, struct lull_arena *arena)
{
    char text[64];
    double value = parameter->value;
    if (isnan(value))
        return "";
    if (isinf(value))
        return "inf";
    switch (parameter->quantity) {
    case LULL_TIME_NS:
        return lull_arena_strdup(arena, lull_format_time((int64_t)value, text, sizeof text));
    case LULL_BYTES:
        return lull_arena_printf(arena, "%.15g B", value);
    case LULL_BANDWIDTH:
        return lull_arena_printf(arena, "%g GB/s", value / 1e9);
    case LULL_TIME_PER_BYTE:
        return lull_arena_printf(arena, "%g ns/B", value);
    default:
        return lull_arena_printf(arena, "%g", value);
    }
}

static struct lull_table *begin(struct lull_document *document, const char *id, const char *title,
                                const char *corner)
{
    struct lull_table *table = lull_document_table(document, id, title, LULL_BY_COLUMN);
    lull_table_corner(table, corner);
    lull_table_column(table, "default", "Default");
    lull_table_column(table, "about", "What it is");
    return table;
}

static uint32_t add(struct lull_table *table, const char *id, const char *name, uint32_t parent,
                    const char *value, const char *about)
{
    uint32_t row = lull_table_row(table, id, name, parent);
    if (*value)
        lull_table_set(table, row, 0, lull_cell_text(value));
    lull_table_set(table, row, 1, lull_cell_text(about));
    return row;
}

static void add_class_parameters(struct lull_table *table, const char *class, uint32_t row,
                                 const struct lull_parameter *parameters, uint32_t count,
                                 struct lull_arena *arena)
{
    for (uint32_t p = 0; p < count; p++)
        add(table, lull_arena_printf(arena, "%s.%s", class, parameters[p].name), parameters[p].name,
            row, default_text(&parameters[p], arena), parameters[p].summary);
}

static void add_networks(struct lull_document *document, struct lull_arena *arena)
{
    struct lull_table *table = begin(document, "networks", "--network", "Network");
    for (unsigned n = 0; lull_networks[n]; n++) {
        const struct lull_network_class *class = lull_networks[n];
        uint32_t row = add(table, class->name, class->name, LULL_NO_ROW, "", class->summary);
        add_class_parameters(table, class->name, row, class->parameters, class->n_parameters,
                             arena);
    }
}

static void add_noises(struct lull_document *document, struct lull_arena *arena)
{
    struct lull_table *table = begin(document, "noises", "--noise", "Noise");
    for (unsigned n = 0; n < lull_n_noise_classes; n++) {
        const struct lull_noise_class *class = lull_noise_classes[n];
        uint32_t row = add(table, class->name, class->name, LULL_NO_ROW, "", class->summary);
        add_class_parameters(table, class->name, row, class->parameters, class->n_parameters,
                             arena);
    }
}

static void add_patterns(struct lull_document *document, struct lull_arena *arena)
{
    struct lull_table *table = begin(document, "patterns", "--pattern", "Pattern");
    for (const struct lull_pattern_class *class = lull_patterns; class->name; class ++) {
        uint32_t row = add(table, class->name, class->name, LULL_NO_ROW, "", class->summary);
        for (const struct lull_pattern_key *key = class->keys; key->key; key++)
            add(table, lull_arena_printf(arena, "%s.%s", class->name, key->key), key->key, row,
                key->fallback, key->about);
    }
}

static void add_placements(struct lull_document *document)
{
    struct lull_table *table =
        lull_document_table(document, "placements", "--placement", LULL_BY_COLUMN);
    lull_table_corner(table, "Placement");
    lull_table_column(table, "keys", "Keys");
    for (const struct lull_placement_kind *kind = lull_placement_kinds; kind->name; kind++)
        lull_table_set(table, lull_table_row(table, kind->name, kind->name, LULL_NO_ROW), 0,
                       lull_cell_text(kind->keys));
}

static void add_memories(struct lull_document *document)
{
    struct lull_table *table =
        lull_document_table(document, "memories", "--memory", LULL_BY_COLUMN);
    lull_table_corner(table, "Memory");
    lull_table_column(table, "keys", "Keys");
    for (const struct lull_memory_kind *kind = lull_memory_kinds; kind->name; kind++)
        lull_table_set(table, lull_table_row(table, kind->name, kind->name, LULL_NO_ROW), 0,
                       lull_cell_text(kind->keys));
}

struct lull_document *lull_simulate_list(struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-simulate-list/1", "");
    add_networks(document, arena);
    add_noises(document, arena);
    add_patterns(document, arena);
    add_placements(document);
    add_memories(document);
    lull_document_note(
        document, LULL_NOTE_INFO,
        "Networks also know cpu-speed, collectives and algorithms; noises ranks, and "
        "per, phase or file where they mean something.");
    return document;
}

/* ==== results ================================================================================= */

static const struct {
    const char *id, *label;
} path_parts[LULL_PATH_PARTS] = {
    [LULL_PATH_COMPUTE] = {"compute", "Computation"},
    [LULL_PATH_NOISE] = {"noise", "Noise and delays"},
    [LULL_PATH_OVERHEAD] = {"overhead", "Overhead of messages"},
    [LULL_PATH_LATENCY] = {"latency", "Latency"},
    [LULL_PATH_BANDWIDTH] = {"bandwidth", "Bandwidth"},
    [LULL_PATH_WAITING] = {"waiting", "Waiting for the network"},
};

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* ---- one simulation -------------------------------------------------------------------------- */

static void write_ends(struct lull_json *json, const void *data)
{
    const struct lull_simulate_point *point = data;
    lull_json_array_begin(json);
    for (uint32_t r = 0; r < point->result.n_ranks; r++)
        lull_json_int(json, point->ends[r]);
    lull_json_array_end(json);
}

static void add_settings(struct lull_document *document, const struct lull_simulate_inputs *inputs,
                         const struct lull_simulate_point *point)
{
    const char *noise = point->texts[LULL_SIMULATE_NOISE];
    const char *placement = point->texts[LULL_SIMULATE_PLACEMENT];
    const char *memory = point->texts[LULL_SIMULATE_MEMORY];
    lull_document_fact(document, "program", "Program", lull_cell_text(point->program->name));
    lull_document_fact(document, "network", "Network",
                       lull_cell_text(point->texts[LULL_SIMULATE_NETWORK]));
    if (placement)
        lull_document_fact(document, "placement", "Placement", lull_cell_text(placement));
    if (memory)
        lull_document_fact(document, "memory", "Memory", lull_cell_text(memory));
    lull_document_fact(document, "noise", "Noise", lull_cell_text(noise ? noise : "none"));
    lull_document_fact(document, "seed", "Seed", lull_cell_count(inputs->seed));
}

static void add_path(struct lull_document *document, const struct lull_simulate_point *point)
{
    const struct lull_sim_result *result = &point->result;
    struct lull_table *table =
        lull_document_table(document, "path", "Longest path", LULL_BY_COLUMN);
    lull_table_corner(table, "Spent on");
    uint32_t time = lull_table_column(table, "time", "Time");
    uint32_t part = lull_table_column(table, "share", "Share");
    for (unsigned p = 0; p < LULL_PATH_PARTS; p++) {
        uint32_t row = lull_table_row(table, path_parts[p].id, path_parts[p].label, LULL_NO_ROW);
        lull_table_set(table, row, time, lull_cell_time(result->path[p]));
        lull_table_set(table, row, part, lull_cell_share(share(result->path[p], result->runtime)));
        for (uint32_t r = 0;
             p == LULL_PATH_COMPUTE && result->path_compute && r < point->program->n_regions; r++) {
            if (result->path_compute[r] == 0)
                continue;
            const char *name = point->program->regions[r];
            uint32_t child = lull_table_row(table, name, name, row);
            lull_table_set(table, child, time, lull_cell_time(result->path_compute[r]));
            lull_table_set(table, child, part,
                           lull_cell_share(share(result->path_compute[r], result->runtime)));
        }
    }
    lull_document_note(document, LULL_NOTE_INFO,
                       "The longest path ends on rank %u and passes from rank to rank %llu times.",
                       result->path_rank, (unsigned long long)result->path_hops);
}

enum measure { END, COMPUTE, NOISE, OVERHEAD, WAITING, SENT, BYTES_SENT, MEASURES };

static const struct {
    const char *id, *label;
} measures[MEASURES] = {
    [END] = {"end", "End"},
    [COMPUTE] = {"compute", "Computation"},
    [NOISE] = {"noise", "Noise and delays"},
    [OVERHEAD] = {"overhead", "Overhead of messages"},
    [WAITING] = {"waiting", "Waiting"},
    [SENT] = {"sent", "Messages sent"},
    [BYTES_SENT] = {"bytes_sent", "Bytes sent"},
};

/* A number of a rank. With several processors a rank may have more busy time than passes; then it
 * has not waited. */
static int64_t measure_of(const struct lull_sim_rank *rank, unsigned measure)
{
    int64_t busy = rank->compute + rank->noise + rank->overhead;
    switch (measure) {
    case END:
        return rank->end;
    case COMPUTE:
        return rank->compute;
    case NOISE:
        return rank->noise;
    case OVERHEAD:
        return rank->overhead;
    case WAITING:
        return rank->end > busy ? rank->end - busy : 0;
    case SENT:
        return (int64_t)rank->sent;
    default:
        return (int64_t)rank->bytes_sent;
    }
}

static struct lull_cell cell_of_measure(int64_t value, unsigned measure)
{
    return measure < SENT    ? lull_cell_time(value)
           : measure == SENT ? lull_cell_count((uint64_t)value)
                             : lull_cell_bytes((uint64_t)value);
}

static void add_summary(struct lull_document *document, const struct lull_sim_result *result)
{
    struct lull_table *table = lull_document_table(document, "ranks", "Ranks", LULL_BY_ROW);
    uint32_t least = lull_table_column(table, "min", "Min");
    uint32_t mean = lull_table_column(table, "mean", "Mean");
    uint32_t most = lull_table_column(table, "max", "Max");
    uint32_t where = lull_table_column(table, "max_rank", "Rank of max");
    for (unsigned m = 0; m < MEASURES; m++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        double sum = 0;
        uint32_t at = 0;
        for (uint32_t r = 0; r < result->n_ranks; r++) {
            int64_t value = measure_of(&result->ranks[r], m);
            low = value < low ? value : low;
            at = value > high ? r : at;
            high = value > high ? value : high;
            sum += (double)value;
        }
        uint32_t row = lull_table_row(table, measures[m].id, measures[m].label, LULL_NO_ROW);
        lull_table_set(table, row, least, cell_of_measure(low, m));
        lull_table_set(table, row, mean,
                       cell_of_measure((int64_t)(sum / result->n_ranks + 0.5), m));
        lull_table_set(table, row, most, cell_of_measure(high, m));
        lull_table_set(table, row, where, lull_cell_count(at));
    }
}

static void add_ranks(struct lull_document *document, const struct lull_sim_result *result,
                      struct lull_arena *arena)
{
    struct lull_table *table =
        lull_document_table(document, "per_rank", "Every rank", LULL_BY_COLUMN);
    lull_table_corner(table, "Rank");
    for (unsigned m = 0; m < MEASURES; m++)
        lull_table_column(table, measures[m].id, measures[m].label);
    for (uint32_t r = 0; r < result->n_ranks; r++) {
        const char *name = lull_arena_printf(arena, "%u", r);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        for (unsigned m = 0; m < MEASURES; m++)
            lull_table_set(table, row, m, cell_of_measure(measure_of(&result->ranks[r], m), m));
    }
}

struct lull_document *lull_simulate_one(const struct lull_simulate_inputs *inputs,
                                        const struct lull_simulate_point *points, bool per_rank,
                                        struct lull_arena *arena)
{
    const struct lull_sim_result *result = &points[0].result;
    struct lull_document *document = lull_document_create(arena, "lull-simulate/1", "");
    add_settings(document, inputs, &points[0]);
    lull_document_fact(document, "ranks", "Ranks", lull_cell_count(result->n_ranks));
    lull_document_fact(document, "events", "Events", lull_cell_count(lull_simulate_events(result)));
    lull_document_fact(document, "messages", "Messages", lull_cell_count(result->n_messages));
    lull_document_fact(document, "runtime", "Runtime", lull_cell_time(result->runtime));
    if (inputs->path)
        add_path(document, &points[0]);
    add_summary(document, result);
    if (per_rank)
        add_ranks(document, result, arena);
    if (points[0].note)
        lull_document_note(document, LULL_NOTE_INFO, "%s.", points[0].note);
    lull_document_attach(document, "rank_end_ns", write_ends, &points[0]);
    return document;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

struct sweep_data {
    const struct lull_simulate_inputs *inputs;
    const struct lull_simulate_point *points;
};

static void write_points(struct lull_json *json, const void *data)
{
    const struct sweep_data *sweep_data = data;
    const struct lull_sweep *sweep = sweep_data->inputs->sweep;
    lull_json_array_begin(json);
    for (uint64_t p = 0; p < sweep->n_points; p++) {
        lull_json_object_begin(json);
        for (uint32_t a = 0; a < sweep->n_axes; a++) {
            lull_json_key(json, sweep->axes[a].key);
            lull_json_string(json, lull_sweep_value(sweep, p, a));
        }
        lull_json_key(json, "runtime_ns");
        lull_json_int(json, sweep_data->points[p].result.runtime);
        lull_json_key(json, "rank_end_ns");
        write_ends(json, &sweep_data->points[p]);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void add_simulated_point(struct lull_table *table, const struct lull_sweep *sweep,
                                uint64_t number, const struct lull_simulate_point *points,
                                bool path, struct lull_arena *arena)
{
    const struct lull_sim_result *result = &points[number].result;
    const char *id = lull_arena_printf(arena, "%llu", (unsigned long long)number);
    uint32_t row = lull_table_row(table, id, lull_sweep_value(sweep, number, 0), LULL_NO_ROW);
    uint32_t column = 0;
    for (uint32_t a = 1; a < sweep->n_axes; a++)
        lull_table_set(table, row, column++, lull_cell_text(lull_sweep_value(sweep, number, a)));
    lull_table_set(table, row, column++, lull_cell_time(result->runtime));
    if (points[0].result.runtime > 0)
        lull_table_set(
            table, row, column,
            lull_cell_number((double)result->runtime / (double)points[0].result.runtime, 3));
    column++;
    for (unsigned p = 0; path && p < LULL_PATH_PARTS; p++)
        lull_table_set(table, row, column++,
                       lull_cell_share(share(result->path[p], result->runtime)));
}

struct lull_document *lull_simulate_sweep(const struct lull_simulate_inputs *inputs,
                                          const struct lull_simulate_point *points,
                                          struct lull_arena *arena)
{
    const struct lull_sweep *sweep = inputs->sweep;
    struct lull_document *document = lull_document_create(arena, "lull-simulate/1", "");
    lull_document_fact(document, "seed", "Seed", lull_cell_count(inputs->seed));
    lull_document_fact(document, "points", "Points", lull_cell_count(sweep->n_points));
    struct lull_table *table = lull_document_table(
        document, "sweep", "Runtime, its ratio to the first, and shares of the longest path",
        LULL_BY_COLUMN);
    lull_table_corner(table, sweep->axes[0].key);
    for (uint32_t a = 1; a < sweep->n_axes; a++)
        lull_table_column(table, sweep->axes[a].key, sweep->axes[a].key);
    lull_table_column(table, "runtime", "Runtime");
    lull_table_column(table, "ratio", "Ratio");
    for (unsigned p = 0; inputs->path && p < LULL_PATH_PARTS; p++)
        lull_table_column(table, path_parts[p].id, path_parts[p].id);
    for (uint64_t p = 0; p < sweep->n_points; p++)
        add_simulated_point(table, sweep, p, points, inputs->path, arena);
    struct sweep_data *data = lull_arena_zero(arena, 1, sizeof *data);
    *data = (struct sweep_data){inputs, points};
    lull_document_attach(document, "points", write_points, data);
    return document;
}
