/* What the JSON of `lull metrics` holds beside its tables. */
#ifndef LULL_CLI_METRICS_JSON_H
#define LULL_CLI_METRICS_JSON_H

#include "cli/runs.h"

struct lull_metrics_settings {
    const struct lull_runs *runs;
    const char *region, *window; /* NULL: the whole run */
};

/* Attaches "settings" and "runs"; `settings` is borrowed until the document is rendered. */
void lull_metrics_attach(struct lull_document *document,
                         const struct lull_metrics_settings *settings);

#endif
