/* Rasters as paths: one per level, with a stroke as wide as a row for each run of that level. */
#include "report/chart/axis.h"

static void draw_level(FILE *out, const struct lull_chart_raster *raster, unsigned level,
                       const double x[2], const double y[2])
{
    double width = (x[1] - x[0]) / raster->columns, height = (y[0] - y[1]) / raster->rows;
    for (uint32_t row = 0; row < raster->rows; row++) {
        const uint8_t *levels = &raster->levels[(size_t)row * raster->columns];
        for (uint32_t c = 0, next; c < raster->columns; c = next) {
            next = c + 1;
            if (levels[c] != level)
                continue;
            while (next < raster->columns && levels[next] == level)
                next++;
            fprintf(out, "M%.1f %.1fh%.1f", x[0] + c * width, y[0] - (row + 0.5) * height,
                    (next - c) * width);
        }
    }
}

void lull_chart_draw_raster(FILE *out, const struct lull_chart_raster *raster, unsigned colour,
                            const double x[2], const double y[2])
{
    for (unsigned level = 1; level < LULL_RASTER_LEVELS; level++) {
        fprintf(out,
                "<path class=\"s%u raster\" stroke-width=\"%.2f\" "
                "stroke-opacity=\"%.2f\" d=\"",
                colour, (y[0] - y[1]) / raster->rows + 0.2,
                0.85 * level / (LULL_RASTER_LEVELS - 1));
        draw_level(out, raster, level, x, y);
        fputs("\"/>\n", out);
    }
}
