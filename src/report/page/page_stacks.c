#include "report/page/page_stacks.h"

#include "report/page/html.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { BAR_WIDTH = 420, BAR_HEIGHT = 16 };

/* Lines across, along and both ways; what is useful is plain. The page's script draws the same. */
static const char *const hatchings[LULL_PAINTS] = {
    [LULL_PAINT_MESSAGES] = "M0 8L8 0",
    [LULL_PAINT_COLLECTIVE] = "M0 0L8 8",
    [LULL_PAINT_MPI] = "M4 0V8",
    [LULL_PAINT_SYNC] = "M0 0L8 8M0 8L8 0",
    [LULL_PAINT_SCHEDULE] = "M0 4H8",
    [LULL_PAINT_LOCK] = "M0 4H8M4 0V8",
    [LULL_PAINT_DEVICE] = "M2 2h1v1h-1zM6 6h1v1h-1z",
    [LULL_PAINT_IO] = "M0 2H8M0 6H8",
    [LULL_PAINT_TRACER] = "M2 0V8M6 0V8",
};

void lull_page_hatchings(FILE *out)
{
    fputs("<svg class=\"hatchings\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>\n", out);
    for (unsigned i = 0; i < LULL_PAINTS; i++)
        if (hatchings[i])
            fprintf(out,
                    "<pattern id=\"hatch-%u\" width=\"8\" height=\"8\" "
                    "patternUnits=\"userSpaceOnUse\"><path class=\"hatch\" d=\"%s\"/></pattern>\n",
                    i, hatchings[i]);
    fputs("</defs></svg>\n", out);
}

/* What a row spent on each activity, in ns. */
static int64_t row_times(const struct lull_picture_timeline *timeline, uint32_t row,
                         int64_t times[LULL_PICTURE_ACTIVITIES])
{
    int64_t sum = 0;
    timeline->cells(timeline->data, row, 0, 0, 1, times);
    for (uint32_t i = 0; i < timeline->n_activities; i++)
        sum += times[i];
    return sum;
}

static void put_bar_part(FILE *out, unsigned paint, double begin, double width)
{
    fprintf(out, "<rect class=\"paint%u\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"/>", paint, begin,
            width, BAR_HEIGHT);
    if (hatchings[paint])
        fprintf(out, "<rect fill=\"url(#hatch-%u)\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"/>",
                paint, begin, width, BAR_HEIGHT);
}

static void put_stack(FILE *out, const struct lull_picture_timeline *timeline, uint32_t row,
                      struct lull_arena *arena)
{
    int64_t times[LULL_PICTURE_ACTIVITIES];
    int64_t sum = row_times(timeline, row, times);
    fputs("<tr><th scope=\"row\">", out);
    lull_html_name(out, arena, timeline->rows[row].name);
    fprintf(out,
            "</th><td><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" aria-hidden=\"true\">",
            BAR_WIDTH, BAR_HEIGHT, BAR_WIDTH, BAR_HEIGHT);
    double at = 0;
    for (uint32_t i = 0; i < timeline->n_activities && sum > 0; i++) {
        double width = BAR_WIDTH * ((double)times[i] / (double)sum);
        if (times[i] > 0)
            put_bar_part(out, timeline->activities[i].paint, at, width);
        at += width;
    }
    fputs("</svg></td>", out);
    for (uint32_t i = 0; i < timeline->n_activities; i++)
        fprintf(out, times[i] > 0 ? "<td>%.1f</td>" : "<td>%.0f</td>",
                times[i] > 0 ? 100 * ((double)times[i] / (double)sum) : 0);
    fputs("</tr>\n", out);
}

static unsigned depth_of_timeline_row(const struct lull_picture_timeline *timeline, uint32_t row)
{
    unsigned depth = 0;
    for (uint32_t up = timeline->rows[row].parent; up != LULL_PICTURE_NO_ROW;
         up = timeline->rows[up].parent)
        depth++;
    return depth;
}

/* Rows of that depth, and leaves above it. */
static bool is_in_generation(const struct lull_picture_timeline *timeline, uint32_t row,
                             unsigned generation)
{
    unsigned depth = depth_of_timeline_row(timeline, row);
    return depth == generation ||
           (depth < generation && timeline->rows[row].leaf != LULL_PICTURE_NO_ROW);
}

static uint32_t count_generation(const struct lull_picture_timeline *timeline, unsigned generation)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        count += is_in_generation(timeline, row, generation);
    return count;
}

static bool has_deeper(const struct lull_picture_timeline *timeline, unsigned generation)
{
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        if (depth_of_timeline_row(timeline, row) > generation)
            return true;
    return false;
}

/* Where threads begin. */
static unsigned generation_of_threads(const struct lull_picture_timeline *timeline)
{
    unsigned least = UINT_MAX;
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        if (strcmp(timeline->rows[row].kind, "thread") == 0 ||
            strcmp(timeline->rows[row].kind, "device") == 0) {
            unsigned depth = depth_of_timeline_row(timeline, row);
            least = depth < least ? depth : least;
        }
    return least;
}

/* As deep as the bars allow, to processes; to threads where there is one process. */
static unsigned find_generation(const struct lull_picture_timeline *timeline)
{
    unsigned generation = 0, threads = generation_of_threads(timeline);
    while (has_deeper(timeline, generation) &&
           count_generation(timeline, generation + 1) <= LULL_PAGE_STACKS &&
           (generation + 1 < threads || count_generation(timeline, generation) == 1))
        generation++;
    return generation;
}

static void put_stack_head(FILE *out, const struct lull_picture_timeline *timeline,
                           struct lull_arena *arena)
{
    fputs("<thead><tr><th scope=\"col\">Where</th><th scope=\"col\">Share of the time</th>", out);
    for (uint32_t i = 0; i < timeline->n_activities; i++) {
        unsigned paint = timeline->activities[i].paint;
        fprintf(out,
                "<th scope=\"col\"><svg class=\"key\" viewBox=\"0 0 16 16\" width=\"16\" "
                "height=\"16\" aria-hidden=\"true\"><rect class=\"paint%u\" width=\"16\" "
                "height=\"16\"/>",
                paint);
        if (hatchings[paint])
            fprintf(out, "<rect fill=\"url(#hatch-%u)\" width=\"16\" height=\"16\"/>", paint);
        fputs("</svg><br>", out);
        lull_html_name(out, arena, timeline->activities[i].label);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void lull_page_stacks(FILE *out, const struct lull_picture_timeline *timeline, size_t number,
                      struct lull_arena *arena)
{
    const unsigned generation = find_generation(timeline);
    uint32_t shown = 0, count = count_generation(timeline, generation);
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-labelledby=\"stacks-%zu\"><table class=\"plain stacks\">\n"
            "<caption id=\"stacks-%zu\">What the time was spent on, in %%: ",
            number, number);
    lull_html_name(out, arena, timeline->title);
    fputs("</caption>\n", out);
    put_stack_head(out, timeline, arena);
    for (uint32_t row = 0; row < timeline->n_rows && shown < LULL_PAGE_STACKS; row++) {
        if (!is_in_generation(timeline, row, generation))
            continue;
        put_stack(out, timeline, row, arena);
        shown++;
    }
    fputs("</tbody></table></div>\n", out);
    if (count > shown)
        fprintf(out, "<p>%" PRIu32 " more rows are in the timeline.</p>\n", count - shown);
}
