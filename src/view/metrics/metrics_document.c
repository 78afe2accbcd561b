#include "view/metrics/metrics_document.h"

#include "view/metrics/metrics_json.h"
#include "view/notices_document.h"

#include <string.h>

static const struct lull_metrics_part metrics_parts[] = {
    {"region", true, false, false, lull_tables_by_region},
    {"callsite", true, false, false, lull_tables_by_callsite},
    {"process", false, false, false, lull_tables_by_process},
    {"thread", false, false, false, lull_tables_by_thread},
    {"file", false, true, false, lull_tables_by_file},
    {"wait", false, false, true, lull_tables_by_wait},
};

const struct lull_metrics_part *lull_metrics_part_find(const char *name)
{
    for (size_t i = 0; i < sizeof metrics_parts / sizeof *metrics_parts; i++)
        if (strcmp(metrics_parts[i].name, name) == 0)
            return &metrics_parts[i];
    return NULL;
}

/* Devices have a tree of their own. */
static void add_schemes(struct lull_document *document, const struct lull_runs *runs,
                        const struct lull_metrics_wish *wish, struct lull_arena *arena)
{
    bool hybrid = lull_runs_are_hybrid(runs);
    bool additive =
        wish->scheme == LULL_CHOICE_ALL || lull_choice_is_additive(wish->scheme, hybrid);
    bool multiplicative = wish->scheme == LULL_CHOICE_ALL || !additive;
    enum lull_scheme sums = lull_scheme_of(true, hybrid);
    enum lull_scheme products =
        hybrid && wish->nag ? LULL_SCHEME_MULTIPLICATIVE_NAG : lull_scheme_of(false, hybrid);
    if (additive)
        lull_table_of_scheme(document, runs, sums, arena);
    if (multiplicative)
        lull_table_of_scheme(document, runs, products, arena);
    bool devices = lull_runs_have_devices(runs);
    if (devices)
        lull_table_of_scheme(document, runs, LULL_SCHEME_DEVICE, arena);
    lull_note_of_loss(document, runs,
                      devices    ? LULL_SCHEME_DEVICE
                      : additive ? sums
                                 : products,
                      arena);
    if (multiplicative && products == LULL_SCHEME_MULTIPLICATIVE)
        lull_document_note(document, LULL_NOTE_INFO,
                           "The parallel efficiency is split twice: it is load balance x "
                           "communication efficiency, and also MPI x outside x OpenMP.");
    if (wish->scheme == LULL_CHOICE_USUAL)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Scheme: %s is usual for %s; --scheme %s or all shows the other.",
                           additive ? "additive" : "multiplicative",
                           devices  ? "runs with devices"
                           : hybrid ? "runs with OpenMP or several threads"
                                    : "runs with one thread per process",
                           additive ? "multiplicative" : "additive");
}

struct lull_document *lull_metrics_document(const struct lull_runs *runs,
                                            const struct lull_metrics_wish *wish,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-metrics/1", "");
    lull_document_add_notices(document, notices);
    if (runs->count > 1)
        lull_document_note(document, LULL_NOTE_INFO, "Reference: %s%s.",
                           runs->runs[runs->reference].name,
                           wish->reference_named ? "" : ", the run with the fewest threads");
    add_schemes(document, runs, wish, arena);
    if (wish->raw) {
        lull_table_of_times(document, runs, arena);
        lull_table_of_activities(document, runs, arena);
    }
    if (wish->counters)
        lull_table_of_counters(document, runs, arena);
    if (wish->part)
        wish->part->add(document, runs, arena);
    lull_metrics_attach(document, runs, wish, arena);
    return document;
}
