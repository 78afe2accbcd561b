/* lull simulate --list */
#include "base/text.h"
#include "sim/memory.h"
#include "sim/pattern/pattern.h"
#include "view/simulation/simulation_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
