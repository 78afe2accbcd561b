#include "cli/metrics_json.h"

#include "metrics/profile/profile.h"

static void write_string(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_count(struct lull_json *json, const char *key, uint64_t value)
{
    lull_json_key(json, key);
    lull_json_uint(json, value);
}

static void write_settings(struct lull_json *json, const void *data)
{
    const struct lull_metrics_settings *settings = data;
    const struct lull_runs *runs = settings->runs;
    lull_json_object_begin(json);
    write_string(json, "reference", runs->count > 1 ? runs->runs[runs->reference].name : NULL);
    write_string(json, "scaling",
                 runs->count < 2                        ? NULL
                 : runs->scaling == LULL_SCALING_STRONG ? "strong"
                                                        : "weak");
    write_string(json, "region", settings->region);
    write_string(json, "window", settings->window);
    lull_json_object_end(json);
}

static void write_run(struct lull_json *json, const struct lull_run *run)
{
    lull_json_object_begin(json);
    write_string(json, "name", run->name);
    write_string(json, "path", run->path);
    write_count(json, "nodes", run->breakdown->n_nodes);
    write_count(json, "processes", run->processes);
    write_count(json, "threads", run->threads);
    lull_json_key(json, "profile");
    lull_profile_write(json, run->breakdown);
    lull_json_object_end(json);
}

static void write_runs(struct lull_json *json, const void *data)
{
    const struct lull_metrics_settings *settings = data;
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < settings->runs->count; i++)
        write_run(json, &settings->runs->runs[i]);
    lull_json_array_end(json);
}

void lull_metrics_attach(struct lull_document *document,
                         const struct lull_metrics_settings *settings)
{
    lull_document_attach(document, "settings", write_settings, settings);
    lull_document_attach(document, "runs", write_runs, settings);
}
