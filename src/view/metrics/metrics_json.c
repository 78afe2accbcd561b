#include "view/metrics/metrics_json.h"

#include "metrics/profile.h"

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

struct attached {
    const struct lull_runs *runs;
    const struct lull_metrics_wish *wish;
};

static void write_settings(struct lull_json *json, const void *data)
{
    const struct attached *attached = data;
    const struct lull_runs *runs = attached->runs;
    lull_json_object_begin(json);
    write_string(json, "reference", runs->count > 1 ? runs->runs[runs->reference].name : NULL);
    write_string(json, "scaling",
                 runs->count < 2                        ? NULL
                 : runs->scaling == LULL_SCALING_STRONG ? "strong"
                                                        : "weak");
    write_string(json, "region", attached->wish->region);
    write_string(json, "window", attached->wish->window);
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
    const struct lull_runs *runs = ((const struct attached *)data)->runs;
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < runs->count; i++)
        write_run(json, &runs->runs[i]);
    lull_json_array_end(json);
}

void lull_metrics_attach(struct lull_document *document, const struct lull_runs *runs,
                         const struct lull_metrics_wish *wish, struct lull_arena *arena)
{
    struct attached *attached = lull_arena_zero(arena, 1, sizeof *attached);
    *attached = (struct attached){runs, wish};
    lull_document_attach(document, "settings", write_settings, attached);
    lull_document_attach(document, "runs", write_runs, attached);
}
