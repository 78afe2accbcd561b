/* Tables of measurements of any content. What is accepted goes through everything that takes a
 * table: every law, the choice, predictions, documents. */
#include "model/fit/measurements.h"
#include "view/fit_document.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void report(const struct lull_fit_study *study, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    const double at[][LULL_FIT_PARAMETERS] = {{1, 1, 1}, {1e6, 3, 0.5}};
    const struct lull_fit_show show = {.at = at, .n_at = 2, .extrapolate = true};
    const struct lull_document *document = lull_fit_document(study, &show, &notices, arena);
    const struct lull_chart *chart = lull_fit_chart(study, &show, arena);
    for (size_t i = 0; lull_renderers[i]; i++) {
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        must(out != NULL);
        lull_renderers[i]->render(document, &(struct lull_render_options){0}, out);
        if (chart)
            lull_chart_write(chart, out);
        fclose(out);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const struct lull_fit_format *format = lull_fit_recognise_text(text, size);
    if (!format || size > 4096) /* larger ones are no different, only slower */
        return 0;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_fit_table *table;
    struct lull_fit_study study;
    struct lull_error err;
    const struct lull_fit_read_options all = {0};
    const struct lull_fit_options options = {0};
    if (lull_fit_parse(text, size, "fuzz", format, &all, arena, &table, &err) == LULL_OK) {
        must(table->n_series > 0 && table->n_params > 0);
        if (table->n_params < 3 && table->n_series < 20 &&
            lull_fit_study_make(table, 0, &options, arena, &study, &err) == LULL_OK)
            report(&study, arena);
    }
    lull_arena_destroy(arena);
    return 0;
}
