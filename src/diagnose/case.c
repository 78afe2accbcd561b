/* A run under diagnosis: findings are added, named and put in order. */
#include "base/text.h"
#include "diagnose/rule.h"

#include <stdlib.h>
#include <string.h>

/* ---- what rules add ------------------------------------------------------------------------ */

struct lull_finding *lull_case_add(struct lull_case *c, int64_t lost_ns)
{
    c->findings = lull_arena_grow(c->arena, c->findings, &c->capacity, c->n_findings + (size_t)1,
                                  sizeof *c->findings);
    struct lull_finding *finding = &c->findings[c->n_findings++];
    *finding = (struct lull_finding){.rule = c->rule,
                                     .lost_ns = lost_ns,
                                     .bound_ns = c->evidence->breakdown->runtime_ns,
                                     .place = {.process = LULL_NONE,
                                               .rank = LULL_NONE,
                                               .node = LULL_NONE,
                                               .location = LULL_NONE,
                                               .instance = LULL_NONE},
                                     .gain = {.absent = "No replay tells what it would save."}};
    return finding;
}

void lull_finding_add_fact(struct lull_finding *finding, const char *id, const char *label,
                           uint8_t kind, double value)
{
    if (finding->n_facts < LULL_FINDING_FACTS && isfinite(value))
        finding->facts[finding->n_facts++] = (struct lull_finding_fact){id, label, kind, value};
}

void lull_finding_set_process(struct lull_case *c, struct lull_finding *finding, uint32_t process)
{
    finding->place.process = process;
    finding->place.rank = c->evidence->trace->processes[process].rank;
}

static const struct lull_region *region_at(const struct lull_case *c, uint32_t region)
{
    const struct lull_trace *trace = c->evidence->trace;
    return trace && region < trace->n_regions ? &trace->regions[region] : NULL;
}

/* "solve.f90:120" */
static const char *site_of(const struct lull_case *c, const struct lull_region *region)
{
    if (!region)
        return NULL;
    if (*region->site)
        return region->site;
    const char *slash = strrchr(region->file, '/'), *file = slash ? slash + 1 : region->file;
    if (!*file)
        return NULL;
    return region->line ? lull_arena_printf(c->arena, "%s:%u", file, region->line) : file;
}

void lull_finding_set_region(struct lull_case *c, struct lull_finding *finding, uint32_t region,
                             uint32_t call)
{
    const struct lull_region *of = region_at(c, region);
    finding->place.region = of ? of->name : NULL;
    finding->place.site = site_of(c, of);
    if (!finding->place.site)
        finding->place.site = site_of(c, region_at(c, call));
}

struct lull_what_if_options *lull_finding_fix(struct lull_case *c, struct lull_finding *finding)
{
    struct lull_what_if_options *fix = lull_arena_zero(c->arena, 1, sizeof *fix);
    fix->application = c->evidence->application;
    finding->fix = fix;
    return fix;
}

/* ---- texts --------------------------------------------------------------------------------- */

const char *lull_case_time(const struct lull_case *c, int64_t ns)
{
    char text[32];
    return lull_arena_strdup(c->arena, lull_format_time(ns, text, sizeof text));
}

const char *lull_case_where(const struct lull_case *c, uint32_t region, uint32_t call)
{
    const struct lull_region *of = region_at(c, region), *ended = region_at(c, call);
    const char *site = site_of(c, of ? of : ended);
    const char *name = of ? of->name : ended ? ended->name : NULL;
    if (!name)
        return "outside of any region";
    return site ? lull_arena_printf(c->arena, "%s %s (%s)", of ? "in" : "before", name, site)
                : lull_arena_printf(c->arena, "%s %s", of ? "in" : "before", name);
}

const char *lull_case_word(const struct lull_case *c, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./+,:@%=-";
    const char *quoted = "'";
    if (*text && strspn(text, plain) == strlen(text))
        return text;
    for (const char *quote; (quote = strchr(text, '\'')); text = quote + 1)
        quoted = lull_arena_printf(c->arena, "%s%.*s'\\''", quoted, (int)(quote - text), text);
    return lull_arena_printf(c->arena, "%s%s'", quoted, text);
}

/* ---- order --------------------------------------------------------------------------------- */

double lull_finding_worth(const struct lull_finding *finding, uint32_t cores)
{
    if (!finding->gain.absent)
        return (double)finding->gain.ns;
    const double lost = (double)finding->lost_ns / (cores ? cores : 1);
    return fmin(lost, (double)finding->bound_ns);
}

void lull_findings_sort(struct lull_finding *findings, uint32_t count, uint32_t cores)
{
    for (uint32_t i = 1; i < count; i++) { /* keeps the order of the rules; they are few */
        const struct lull_finding finding = findings[i];
        const double worth = lull_finding_worth(&finding, cores);
        uint32_t at = i;
        for (; at > 0 && lull_finding_worth(&findings[at - 1], cores) < worth; at--)
            findings[at] = findings[at - 1];
        findings[at] = finding;
    }
}

const char *lull_finding_rule_id(const struct lull_finding *finding)
{
    return finding->rule->id;
}

const char *lull_finding_rule_name(const struct lull_finding *finding)
{
    return finding->rule->name;
}

/* ---- how to go on --------------------------------------------------------------------------- */

/* The command that supposes what the finding's replay does. */
static void spell_fix(const struct lull_case *c, struct lull_finding *finding)
{
    const char **words;
    const uint32_t n = lull_what_if_spell(finding->fix, c->arena, &words);
    finding->next =
        lull_arena_printf(c->arena, "lull replay %s", lull_case_word(c, c->evidence->path));
    for (uint32_t i = 0; i < n; i++) {
        const char *sign = strncmp(words[i], "--", 2) == 0 ? strchr(words[i], '=') : NULL;
        const int option =
            sign ? (int)(sign + 1 - words[i]) : 0; /* of the word "--balance=solve" */
        finding->next = lull_arena_printf(c->arena, "%s %.*s%s", finding->next, option, words[i],
                                          lull_case_word(c, words[i] + option));
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

uint32_t lull_diagnose(const struct lull_evidence *evidence, struct lull_arena *arena,
                       struct lull_finding **ret_findings)
{
    struct lull_case c = {.evidence = evidence,
                          .arena = arena,
                          .core_ns = lull_evidence_core_ns(evidence),
                          .processes = evidence->breakdown->n_processes};
    c.least_ns = (int64_t)ceil(LULL_FINDING_LEAST * (double)c.core_ns);
    c.least_ns = c.least_ns > 1 ? c.least_ns : 1;
    lull_case_find_suspects(&c);
    for (uint32_t i = 0; lull_rules[i]; i++) {
        c.rule = lull_rules[i];
        c.rule->find(&c);
    }
    for (uint32_t i = 0; i < c.n_findings; i++)
        if (c.findings[i].fix)
            spell_fix(&c, &c.findings[i]);
    const int64_t runtime = evidence->breakdown->runtime_ns;
    lull_findings_sort(c.findings, c.n_findings, runtime > 0 ? (uint32_t)(c.core_ns / runtime) : 1);
    *ret_findings = c.findings;
    return c.n_findings;
}
