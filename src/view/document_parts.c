/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/document_parts.h"

#include "base/hash.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* ==== number cell ============================================================================= */

struct lull_cell lull_number_cell(double value)
{
    enum { MOST_DECIMALS = 10 };
    double decimals = value == 0 ? 3 : 3 - floor(log10(fabs(value)));
    return lull_cell_number(value, decimals > MOST_DECIMALS ? 3 : (int)fmax(0, decimals));
}

struct lull_cell lull_value_cell(double value, const char *unit)
{
    return *unit ? lull_cell_quantity(value, unit) : lull_number_cell(value);
}

struct lull_cell lull_received_cell(uint64_t bytes)
{
    return bytes == LULL_UNKNOWN_BYTES
               ? lull_cell_absent("the receives tell of larger messages than any that was sent")
               : lull_cell_bytes(bytes);
}

/* ==== notices document ======================================================================== */

void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices)
{
    for (size_t i = 0; i < notices->count; i++) {
        const struct lull_notice *notice = &notices->items[i];
        enum lull_note_kind kind =
            notice->kind == LULL_NOTICE_WARNING ? LULL_NOTE_WARNING : LULL_NOTE_INFO;
        lull_document_note(document, kind, "%s", notice->text);
    }
}

/* ==== what runs say of themselves ============================================================= */

/* ---- keys ------------------------------------------------------------------------------------ */

/* What lull's own keys are called; others, those of the user and of the environment, have their own
 * names. In the order in which they are shown. */
static const struct {
    const char *key, *label;
} known_keys[] = {
    {"command", "Command"},     {"program", "Program"},       {"executable", "Executable"},
    {"compilers", "Compilers"}, {"folder", "Working folder"}, {"commit", "Commit (git)"},
    {"mpi", "MPI library"},     {"processor", "Processor"},   {"cores", "Cores"},
    {"limits", "Limits"},       {"clock", "Clock"},           {"clock_drift", "Clock drift"},
    {"exit", "Exit status"}};
enum { KNOWN_KEYS = sizeof known_keys / sizeof *known_keys };

static bool is_label(const char *key)
{
    return strncmp(key, LULL_PROPERTY_LABEL, strlen(LULL_PROPERTY_LABEL)) == 0;
}

static const char *label_of_key(const char *key, struct lull_arena *arena)
{
    for (size_t i = 0; i < KNOWN_KEYS; i++)
        if (strcmp(known_keys[i].key, key) == 0)
            return known_keys[i].label;
    return is_label(key) ? lull_arena_printf(arena, "Label %s", key + strlen(LULL_PROPERTY_LABEL))
                         : key;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The numbers of the cores in a set, as "0-3,8". */
static const char *list_cores(const uint64_t *set, struct lull_arena *arena)
{
    const char *text = "";
    const unsigned n = LULL_CORE_WORDS * 64;
    for (unsigned core = 0; core < n; core++) {
        if (!(set[core / 64] >> core % 64 & 1))
            continue;
        unsigned last = core;
        while (last + 1 < n && set[(last + 1) / 64] >> (last + 1) % 64 & 1)
            last++;
        text = last > core
                   ? lull_arena_printf(arena, "%s%s%u-%u", text, *text ? "," : "", core, last)
                   : lull_arena_printf(arena, "%s%s%u", text, *text ? "," : "", core);
        core = last;
    }
    return text;
}

/* Which cores the threads may use; NULL: it is not known. */
static const char *cores_text(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_hash sets = {0};
    const struct lull_cores *first = NULL;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_cores *cores = &trace->locations[l].cores;
        if (!cores->set)
            continue;
        first = first ? first : cores;
        lull_hash_add(&sets, cores->set, LULL_CORE_WORDS * sizeof *cores->set, 0, NULL);
    }
    const size_t count = sets.count;
    lull_hash_free(&sets);
    if (!first)
        return NULL;
    if (count == 1)
        return lull_arena_printf(arena, "all threads may use %u of the node's %u: %s",
                                 first->allowed, first->there, list_cores(first->set, arena));
    return lull_arena_printf(arena,
                             "threads have %zu different sets; the first has %u of the "
                             "node's %u: %s",
                             count, first->allowed, first->there, list_cores(first->set, arena));
}

static const char *value_of_key(const struct lull_trace *trace, const char *key,
                                struct lull_arena *arena)
{
    if (!trace)
        return NULL;
    return strcmp(key, "cores") == 0 ? cores_text(trace, arena) : lull_trace_property(trace, key);
}

static const char *shown(const char *value)
{
    return *value ? value : "none";
}

/* What some processes say instead; NULL: all say the same. */
static const char *exceptions_of(const struct lull_trace *trace, const char *key,
                                 struct lull_arena *arena)
{
    const char *usual = trace ? lull_trace_property(trace, key) : NULL, *text = NULL;
    for (uint32_t i = 0; usual && i < trace->n_properties; i++) {
        const struct lull_property *property = &trace->properties[i];
        if (strcmp(property->key, key) != 0 || property->value == usual || property->processes == 0)
            continue;
        const char *who = trace->processes[property->first].name;
        const char *where =
            property->processes > 1
                ? lull_arena_printf(arena, "%u processes, %s first", property->processes, who)
                : who;
        text = lull_arena_printf(arena, "%s%s%s (%s)", text ? text : "", text ? "; " : "",
                                 shown(property->value), where);
    }
    return text;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_property_row(struct lull_table *table, const struct lull_property_column *columns,
                             uint32_t count, const char *key, struct lull_arena *arena)
{
    const char **values = lull_arena_zero(arena, 2 * (size_t)count, sizeof *values),
               **others = values + count;
    bool any = false, some_differ = false;
    for (uint32_t c = 0; c < count; c++) {
        values[c] = value_of_key(columns[c].trace, key, arena);
        others[c] = exceptions_of(columns[c].trace, key, arena);
        any |= values[c] != NULL;
        some_differ |= others[c] != NULL;
    }
    if (!any)
        return;
    const uint32_t row = lull_table_row(table, key, label_of_key(key, arena), LULL_NO_ROW);
    for (uint32_t c = 0; c < count; c++)
        lull_table_set(table, row, c,
                       values[c] ? lull_cell_text(shown(values[c])) : lull_cell_absent("not said"));
    if (!some_differ)
        return;
    const uint32_t below =
        lull_table_row(table, lull_arena_printf(arena, "%s:others", key), "others say", row);
    for (uint32_t c = 0; c < count; c++)
        lull_table_set(table, below, c, lull_cell_text(others[c] ? others[c] : ""));
}

/* Adds the keys that are not lull's own: the user's labels, or variables of the environment. */
static void add_other_keys(struct lull_table *table, const struct lull_property_column *columns,
                           uint32_t count, bool labels, struct lull_arena *arena)
{
    struct lull_hash done = {0};
    for (uint32_t c = 0; c < count; c++)
        for (uint32_t i = 0; columns[c].trace && i < columns[c].trace->n_properties; i++) {
            const char *key = columns[c].trace->properties[i].key;
            bool fresh = false;
            if (label_of_key(key, arena) != key && !is_label(key))
                continue;
            if (is_label(key) == labels && lull_hash_add(&done, key, strlen(key), 0, &fresh) &&
                fresh)
                add_property_row(table, columns, count, key, arena);
        }
    lull_hash_free(&done);
}

void lull_table_of_properties(struct lull_document *document,
                              const struct lull_property_column *columns, uint32_t count,
                              struct lull_arena *arena)
{
    bool any = false;
    for (uint32_t c = 0; c < count; c++)
        any |= columns[c].trace && columns[c].trace->n_properties > 0;
    if (!any)
        return;
    struct lull_table *table = lull_document_table(document, "about", "", LULL_BY_COLUMN);
    lull_table_corner(table, "About the run");
    for (uint32_t c = 0; c < count; c++)
        lull_table_column(table, columns[c].id, columns[c].heading);
    add_other_keys(table, columns, count, true, arena);
    for (size_t k = 0; k < KNOWN_KEYS; k++)
        add_property_row(table, columns, count, known_keys[k].key, arena);
    add_other_keys(table, columns, count, false, arena);
}
