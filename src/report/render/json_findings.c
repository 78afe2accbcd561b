#include "report/render/json_findings.h"

static void put_finding_string(struct lull_json *json, const char *key, const char *text)
{
    lull_json_key(json, key);
    lull_json_string(json, text);
}

static void put_fact_number(struct lull_json *json, const char *key, double number)
{
    lull_json_key(json, key);
    lull_json_number(json, number);
}

/* Negative: not one. */
static void put_place_index(struct lull_json *json, const char *key, int64_t index)
{
    lull_json_key(json, key);
    if (index < 0)
        lull_json_null(json);
    else
        lull_json_int(json, index);
}

static void put_seconds(struct lull_json *json, const char *key, bool there, int64_t ns)
{
    lull_json_key(json, key);
    if (there)
        lull_json_number(json, (double)ns / 1e9);
    else
        lull_json_null(json);
}

static void put_gain(struct lull_json *json, const struct lull_shown_gain *gain)
{
    lull_json_key(json, "gain");
    lull_json_object_begin(json);
    if (gain->absent) {
        put_finding_string(json, "absent", gain->absent);
    } else {
        put_fact_number(json, "seconds", (double)gain->ns / 1e9);
        put_fact_number(json, "factor", gain->factor);
        put_fact_number(json, "low", (double)gain->low_ns / 1e9);
        put_fact_number(json, "high", (double)gain->high_ns / 1e9);
        lull_json_key(json, "too_small");
        lull_json_bool(json, gain->too_small);
    }
    lull_json_object_end(json);
}

static void put_place(struct lull_json *json, const struct lull_shown_finding *finding)
{
    lull_json_key(json, "place");
    lull_json_object_begin(json);
    put_place_index(json, "process", finding->rank);
    put_finding_string(json, "node", finding->node);
    put_place_index(json, "thread", finding->thread);
    put_finding_string(json, "region", finding->region);
    put_finding_string(json, "site", finding->site);
    put_seconds(json, "begin", finding->end > 0, finding->begin);
    put_seconds(json, "end", finding->end > 0, finding->end);
    lull_json_object_end(json);
}

static void put_evidence(struct lull_json *json, const struct lull_shown_finding *finding)
{
    lull_json_key(json, "evidence");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < finding->n_facts; i++) {
        const struct lull_shown_fact *fact = &finding->facts[i];
        lull_json_object_begin(json);
        put_finding_string(json, "id", fact->id);
        put_finding_string(json, "label", fact->label);
        put_finding_string(json, "unit", lull_cell_unit(fact->value, "ratio"));
        lull_json_key(json, "value");
        lull_json_cell(json, fact->value);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

void lull_json_findings(struct lull_json *json, const struct lull_document *document)
{
    if (!document->findings_none)
        return;
    lull_json_key(json, "findings");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < document->n_findings; i++) {
        const struct lull_shown_finding *finding = &document->findings[i];
        lull_json_object_begin(json);
        put_finding_string(json, "run", finding->run);
        put_finding_string(json, "rule", finding->rule);
        put_finding_string(json, "sentence", finding->sentence);
        put_fact_number(json, "seconds", (double)finding->lost_ns / 1e9);
        put_gain(json, &finding->gain);
        put_place(json, finding);
        put_finding_string(json, "cause", finding->cause);
        put_evidence(json, finding);
        put_finding_string(json, "next", finding->next);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}
