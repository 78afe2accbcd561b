/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/waterfall.h"

#include "base/output_file.h"
#include "report/asset.h"
#include "report/markup.h"

#include <math.h>
#include <stdbool.h>

enum {
    WATERFALL_WIDTH = 900,
    BARS_LEFT = 400,
    BARS_RIGHT = 760,
    TOP = 48,
    STEP_ROW = 26,
    BAR = 16
};

struct scale {
    double low, high;
};

static bool is_whole(const struct lull_waterfall_step *step)
{
    return step->from == 0;
}

/* The range of the axis: from a quarter of the steps' extent below the lowest amount to the
 * highest; from 0 where its begin would be below 0.3 of the highest amount. */
static struct scale find_scale(const struct lull_waterfall *waterfall)
{
    struct scale scale = {INFINITY, -INFINITY};
    for (size_t i = 0; i < waterfall->count; i++) {
        const struct lull_waterfall_step *step = &waterfall->steps[i];
        const double from = is_whole(step) ? step->to : step->from;
        scale.low = fmin(scale.low, fmin(from, step->to));
        scale.high = fmax(scale.high, fmax(from, step->to));
    }
    const double extent = scale.high - scale.low;
    scale.low -= extent > 0 ? 0.25 * extent : scale.high;
    scale.low = scale.low < 0.3 * scale.high ? 0 : scale.low;
    return scale;
}

static double x_of_amount(const struct scale *scale, double value)
{
    const double share = (value - scale->low) / (scale->high - scale->low);
    return BARS_LEFT + (BARS_RIGHT - BARS_LEFT) * fmax(0, fmin(1, share));
}

static void put_step_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    lull_markup_text(out, text);
    fputs("</text>\n", out);
}

/* Growth, decrease and wholes have a colour each. */
static void put_step(FILE *out, const struct scale *scale, const struct lull_waterfall_step *step,
                     double y)
{
    const double from = x_of_amount(scale, step->from), to = x_of_amount(scale, step->to);
    const double left = fmin(from, to), width = fmax(1, fabs(to - from));
    const char *colour = is_whole(step) ? "s0" : step->to > step->from ? "s1" : "s2";
    put_step_text(out, BARS_LEFT - 12, y + 12, "end", step->label);
    fprintf(out, "<rect class=\"%s bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
            colour, left, y, width, BAR);
    if (is_whole(step) && scale->low > 0)
        fprintf(out, "<path class=\"back\" d=\"M%d %.1fl5 -10h5l-5 10l5 10h-5z\"/>\n",
                BARS_LEFT + 8, y + BAR / 2.0);
    put_step_text(out, left + width + 8, y + 12, "start", step->text);
}

static void write_waterfall(const void *content, FILE *out)
{
    const struct lull_waterfall *waterfall = content;
    const struct scale scale = find_scale(waterfall);
    const int height = TOP + STEP_ROW * (int)waterfall->count + 12;
    fprintf(out,
            "<svg class=\"lull-chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
            "role=\"img\">\n<title>",
            WATERFALL_WIDTH, height, WATERFALL_WIDTH, height);
    lull_markup_text(out, waterfall->title);
    fprintf(out, "</title>\n<style>\n%s</style>\n", lull_asset_chart_style.text);
    fprintf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", WATERFALL_WIDTH, height);
    put_step_text(out, WATERFALL_WIDTH / 2.0, 26, "middle", waterfall->title);
    for (size_t i = 0; i < waterfall->count; i++) {
        const double y = TOP + STEP_ROW * (double)i;
        put_step(out, &scale, &waterfall->steps[i], y);
        if (i + 1 == waterfall->count)
            break;
        const double x = x_of_amount(&scale, waterfall->steps[i].to);
        fprintf(out, "<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x,
                y + BAR, x, y + STEP_ROW);
    }
    fputs("</svg>\n", out);
}

lull_status lull_waterfall_save(const char *path, const struct lull_waterfall *waterfall,
                                struct lull_error *err)
{
    return lull_file_write(path, write_waterfall, waterfall, err);
}
