/* What stands below the pictures: who differs, who waited longest, and what to do next. */
#include "view/report/report_parts.h"

#include "base/text.h"

/* "heat-2: " where there are several runs. */
static const char *prefix_of(const struct lull_report *report, uint32_t run,
                             struct lull_arena *arena)
{
    return report->runs.count > 1 ? lull_arena_printf(arena, "%s: ", report->runs.runs[run].name)
                                  : "";
}

static void tell_difference(struct lull_document *document, const struct lull_report *report,
                            uint32_t run, const struct lull_report_difference *difference,
                            struct lull_arena *arena)
{
    const struct lull_report_run *of = &report->of[run];
    char useful[32], median[32];
    lull_format_time(difference->useful_ns, useful, sizeof useful);
    lull_format_time(difference->median_ns, median, sizeof median);
    const char *name = lull_report_row_name(of->timeline, difference->row, arena);
    const char *times =
        difference->median_ns > 0
            ? lull_arena_printf(arena, "%.2f x the median of all %ss",
                                (double)difference->useful_ns / (double)difference->median_ns,
                                of->peers)
            : "where the median does not";
    lull_document_note(document, LULL_NOTE_INFO, "%s%s computes %s: %s, median %s.",
                       prefix_of(report, run, arena), name, times, useful, median);
}

static void tell_differences(struct lull_document *document, const struct lull_report *report,
                             uint32_t run, struct lull_arena *arena)
{
    const struct lull_report_run *of = &report->of[run];
    for (uint32_t d = 0; d < of->n_differences; d++)
        tell_difference(document, report, run, &of->differences[d], arena);
    if (of->peers && of->n_differences == 0)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%sNo %s's useful time is more than %.0f %% of the run away from the "
                           "median.",
                           prefix_of(report, run, arena), of->peers,
                           100 * LULL_REPORT_DIFFERS_LEAST);
}

/* The call; where it is a region of the user's (as of a barrier without one of its own), both. */
static const char *what_waits(const struct lull_timeline *timeline,
                              const struct lull_timeline_place *wait, struct lull_arena *arena)
{
    const char *activity = lull_activity_name(wait->activity);
    if (wait->region == LULL_NONE)
        return activity;
    const struct lull_region *region = &timeline->trace->regions[wait->region];
    return region->activity == wait->activity
               ? region->name
               : lull_arena_printf(arena, "%s (%s)", activity, region->name);
}

/* The longest wait, with as much time again on both sides where the run has it. */
static void tell_wait(struct lull_document *document, const struct lull_report *report,
                      uint32_t run, const struct lull_report_wish *wish, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = report->of[run].timeline;
    if (timeline->n_places == 0)
        return;
    const struct lull_timeline_place *wait = &timeline->places[0];
    const int64_t length = wait->end - wait->begin;
    const int64_t from = wait->begin - length > 0 ? wait->begin - length : 0;
    const int64_t duration = timeline->trace->duration;
    const int64_t to = length < duration - wait->end ? wait->end + length : duration;
    char took[32], when[32];
    lull_format_time(length, took, sizeof took);
    lull_format_time(wait->begin, when, sizeof when);
    lull_document_note(document, LULL_NOTE_INFO,
                       "%sThe longest wait: %s in %s of %s, from %s on. Closer: %s %.9gs:%.9gs",
                       prefix_of(report, run, arena), took, what_waits(timeline, wait, arena),
                       lull_report_row_name(timeline, timeline->leaves[wait->leaf].row, arena),
                       when, lull_report_command(&report->runs.runs[run], wish, arena),
                       1e-9 * (double)from, 1e-9 * (double)to);
}

static void tell_kept(struct lull_document *document, const struct lull_report *report,
                      uint32_t run, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = report->of[run].timeline;
    if (!timeline->all_steps)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%sOf %llu steps those around the longest waits are kept one by one; a "
                           "report of a --window keeps more.",
                           prefix_of(report, run, arena), (unsigned long long)timeline->n_steps);
    if (!timeline->all_messages)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s%llu messages are counted, not kept one by one; a report of a "
                           "--window keeps them.",
                           prefix_of(report, run, arena), (unsigned long long)timeline->n_messages);
}

void lull_report_add_remarks(struct lull_document *document, const struct lull_report *report,
                             const struct lull_report_wish *wish, struct lull_arena *arena)
{
    for (uint32_t run = 0; run < report->runs.count; run++) {
        const struct lull_timeline *timeline = report->of[run].timeline;
        if (!timeline || timeline->begin == timeline->end)
            continue;
        tell_differences(document, report, run, arena);
        tell_wait(document, report, run, wish, arena);
        tell_kept(document, report, run, arena);
    }
    lull_document_note(document, LULL_NOTE_HINT,
                       "-o report.html makes a page of this, with all tables, in which one can "
                       "zoom.");
}
