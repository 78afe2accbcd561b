/* The findings of all runs, as the document carries them. */
#include "view/report/report_parts.h"

#include <stdlib.h>

struct ranked {
    const struct lull_finding *finding;
    uint32_t run, place; /* of the run: which of its findings */
    double worth;        /* core time, ns */
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* ---- where it is on the timeline ----------------------------------------------------------- */

static bool is_row_of(const struct lull_timeline *timeline, const struct lull_timeline_row *row,
                      const struct lull_finding_place *place, uint32_t process)
{
    if (place->location != LULL_NONE)
        return timeline->leaves[row->first_leaf].location == place->location && row->n_leaves == 1;
    if (place->node != LULL_NONE)
        return row->kind == LULL_TIMELINE_NODE && row->node == place->node;
    return row->kind == LULL_TIMELINE_PROCESS && row->process == process;
}

/* The first row that shows it, or the first of all. */
static uint32_t row_of(const struct lull_timeline *timeline, const struct lull_finding_place *place)
{
    const uint32_t process = place->process == LULL_NONE ? place->instance : place->process;
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        if (is_row_of(timeline, &timeline->rows[row], place, process))
            return row;
    for (uint32_t row = 0; row < timeline->n_rows; row++) { /* one thread: no row of the process */
        const uint32_t leaf = timeline->rows[row].first_leaf;
        if (timeline->trace->locations[timeline->leaves[leaf].location].process == process &&
            timeline->rows[row].n_leaves == 1)
            return row;
    }
    return 0;
}

/* ---- one finding --------------------------------------------------------------------------- */

static struct lull_cell cell_of_fact(const struct lull_finding_fact *fact)
{
    switch (fact->kind) {
    case LULL_FACT_COUNT:
        return lull_cell_count((uint64_t)fact->value);
    case LULL_FACT_TIME:
        return lull_cell_time((int64_t)fact->value);
    case LULL_FACT_SHARE:
        return lull_cell_share(fact->value);
    case LULL_FACT_BYTES:
        return lull_cell_bytes((uint64_t)fact->value);
    default:
        return lull_cell_number(fact->value, 2);
    }
}

static struct lull_shown_gain gain_of(const struct lull_finding_gain *gain, const char *fixed)
{
    return (struct lull_shown_gain){.fixed = fixed,
                                    .absent = gain->absent,
                                    .ns = gain->ns,
                                    .low_ns = gain->low_ns,
                                    .high_ns = gain->high_ns,
                                    .factor = gain->factor,
                                    .too_small = gain->too_small};
}

static int64_t index_of(uint32_t index)
{
    return index == LULL_NONE ? -1 : (int64_t)index;
}

static int64_t thread_of_finding(const struct lull_run *run, const struct lull_finding_place *place)
{
    return place->location == LULL_NONE ? -1
                                        : (int64_t)run->trace->locations[place->location].number;
}

static void show(struct lull_shown_finding *shown, const struct lull_report *report,
                 const struct ranked *ranked, struct lull_arena *arena)
{
    const struct lull_finding *finding = ranked->finding;
    const struct lull_finding_place *place = &finding->place;
    const struct lull_run *run = &report->runs.runs[ranked->run];
    const struct lull_timeline *timeline = report->of[ranked->run].timeline;
    struct lull_shown_fact *facts = lull_arena_zero(arena, LULL_FINDING_FACTS, sizeof *facts);
    for (uint32_t f = 0; f < finding->n_facts; f++)
        facts[f] = (struct lull_shown_fact){finding->facts[f].id, finding->facts[f].label,
                                            cell_of_fact(&finding->facts[f])};
    *shown = (struct lull_shown_finding){.run = run->name,
                                         .rule = lull_finding_rule_id(finding),
                                         .sentence = finding->sentence,
                                         .cause = finding->cause,
                                         .next = finding->next,
                                         .lost_ns = finding->lost_ns,
                                         .gain = gain_of(&finding->gain, finding->fixed),
                                         .rank = index_of(place->rank),
                                         .thread = thread_of_finding(run, place),
                                         .node = place->node_name,
                                         .region = place->region,
                                         .site = place->site,
                                         .begin = place->begin,
                                         .end = place->end,
                                         .facts = facts,
                                         .n_facts = finding->n_facts,
                                         .timeline = SIZE_MAX};
    if (!timeline || timeline->begin >= timeline->end)
        return;
    shown->timeline = ranked->run;
    shown->row = row_of(timeline, place);
}

/* ---- all of them --------------------------------------------------------------------------- */

static struct ranked *rank_all(const struct lull_report *report, struct lull_arena *arena,
                               uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->runs.count; i++)
        count += report->of[i].diagnosis.count;
    struct ranked *ranked = lull_arena_zero(arena, count + (size_t)1, sizeof *ranked);
    *ret_count = count;
    count = 0;
    for (uint32_t i = 0; i < report->runs.count; i++) {
        const struct lull_diagnosis *diagnosis = &report->of[i].diagnosis;
        for (uint32_t f = 0; f < diagnosis->count; f++) {
            const struct lull_finding *finding = &diagnosis->findings[f];
            const double worth = lull_finding_worth(finding, diagnosis->cores) * diagnosis->cores;
            ranked[count++] = (struct ranked){finding, i, f, worth};
        }
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    return ranked;
}

static const char *append(const char *text, const char *more, struct lull_arena *arena)
{
    return text ? lull_arena_printf(arena, "%s %s", text, more) : more;
}

/* What all fixes of a run together would save, where several have a price. */
static const char *tell_together(const struct lull_diagnosis *diagnosis, const char *of,
                                 struct lull_arena *arena)
{
    const struct lull_shown_gain gain = gain_of(&diagnosis->together, NULL);
    return lull_arena_printf(arena, "%sAll that have a price at once (they do not add): %s", of,
                             lull_gain_text(&gain, arena));
}

/* Why findings on waits may be missing; NULL: they are not. */
static const char *tell_missing(const struct lull_run *run, const struct lull_report_run *of,
                                struct lull_arena *arena)
{
    if (run->waits && !run->waits->absent)
        return NULL;
    const char *why = run->waits     ? run->waits->absent
                      : of->timeline ? "it was not followed (--no-waits)"
                                     : "that needs events, and there are sums only";
    return lull_arena_printf(arena, "%s: who made others wait is not known: %s.", run->name, why);
}

/* What holds for all findings; NULL: nothing. */
static const char *about(const struct lull_report *report, struct lull_arena *arena)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < report->runs.count; i++) {
        const struct lull_run *run = &report->runs.runs[i];
        const struct lull_diagnosis *diagnosis = &report->of[i].diagnosis;
        const char *of = report->runs.count > 1 ? lull_arena_printf(arena, "%s: ", run->name) : "";
        const char *missing = tell_missing(run, &report->of[i], arena);
        if (!diagnosis->together.absent)
            text = append(text, tell_together(diagnosis, of, arena), arena);
        if (missing)
            text = append(text, missing, arena);
    }
    return text;
}

void lull_report_add_findings(struct lull_document *document, const struct lull_report *report,
                              struct lull_arena *arena)
{
    uint32_t count;
    bool any = false, complete = true;
    for (uint32_t i = 0; i < report->runs.count; i++) {
        any |= report->of[i].diagnosis.cores > 0;
        complete = complete && !tell_missing(&report->runs.runs[i], &report->of[i], arena);
    }
    if (!any) /* of a region nothing is said */
        return;
    const struct ranked *ranked = rank_all(report, arena, &count);
    struct lull_shown_finding *shown = lull_arena_zero(arena, count + (size_t)1, sizeof *shown);
    for (uint32_t i = 0; i < count; i++)
        show(&shown[i], report, &ranked[i], arena);
    lull_document_findings(
        document, shown, count, about(report, arena),
        lull_arena_printf(arena,
                          "No findings%s: nothing%s costs more than %.0f %% of the core time.",
                          complete ? "" : " but for waits, which are not known",
                          complete ? "" : " else", 100 * LULL_FINDING_LEAST));
}
