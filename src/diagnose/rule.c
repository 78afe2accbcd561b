#include "diagnose/rule.h"

#include "base/hash.h"
#include "base/text.h"
#include "diagnose/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== suspects ================================================================================ */

/* Who made others wait, by process and region of the user, and by region over all processes.
 * Charges to MPI itself, and charges for which a ledger had no room, are nobody's. Rules of their
 * own look at threads that wait for each other. */

static int compare_suspects(const void *a, const void *b)
{
    const struct lull_suspect *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->at_end != y->at_end)
        return x->at_end ? 1 : -1;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int compare_suspicions(const void *a, const void *b)
{
    const struct lull_suspicion *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->at_end - y->at_end;
}

static void charge_suspect(struct lull_suspect *suspect, const struct lull_wait_charge *charge)
{
    suspect->ns += charge->ns;
    suspect->kinds[charge->kind] += charge->ns;
    suspect->passed_ns += charge->passed_ns;
    suspect->waits += charge->waits;
    if (!suspect->longest || charge->longest.ns > suspect->longest->longest.ns)
        suspect->longest = charge;
    if (!suspect->most || charge->ns > suspect->most->ns)
        suspect->most = charge;
}

static bool names_suspect(const struct lull_case *c, const struct lull_wait_charge *charge)
{
    return charge->kind < LULL_WAIT_MPI_KINDS && !charge->place.in_mpi &&
           charge->place.region != LULL_WAIT_ELSEWHERE &&
           charge->place.process < c->evidence->trace->n_processes;
}

/* Whether the others waited in MPI_Finalize for what a process did after its last operation of MPI.
 * Else it was late before, and the waits there are of the same cause as those before. */
static bool is_at_end(const struct lull_case *c, const struct lull_wait_charge *charge)
{
    const struct lull_wait_place *place = &charge->place;
    const uint32_t location = place->thread != LULL_NONE
                                  ? place->thread
                                  : c->evidence->trace->processes[place->process].first_location;
    return charge->kind == LULL_WAIT_FINALIZE &&
           2 * c->evidence->waits->locations[location].tail_ns >= charge->longest.ns;
}

/* Gathers the charges of each suspect. Charges come with most ns first, so that the first charge of
 * a suspect is its largest. */
static uint32_t gather(struct lull_case *c)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    struct lull_hash numbers = {0};
    uint32_t count = 0;
    c->suspects = lull_arena_zero(c->arena, waits->n_charges + (size_t)1, sizeof *c->suspects);
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const struct lull_wait_charge *charge = &waits->charges[i];
        bool is_new = false;
        if (!names_suspect(c, charge))
            continue;
        const bool at_end = is_at_end(c, charge);
        const uint32_t key[] = {charge->place.process, charge->place.region, at_end};
        const uint64_t *number = lull_hash_add(&numbers, key, sizeof key, count, &is_new);
        if (!number)
            break; /* without memory: those with less time are not told */
        if (is_new)
            c->suspects[count++] =
                (struct lull_suspect){.process = key[0], .region = key[1], .at_end = at_end};
        charge_suspect(&c->suspects[*number], charge);
    }
    lull_hash_free(&numbers);
    return count;
}

void lull_suspicion_divide(struct lull_case *c, struct lull_suspicion *suspicion)
{
    struct lull_suspect *suspects = &c->suspects[suspicion->first];
    double sum = 0;
    qsort(suspects, suspicion->count, sizeof *suspects, compare_suspects);
    suspicion->principal = 0;
    while (suspicion->principal < suspicion->count &&
           sum < LULL_SUSPECTS_MOST * (double)suspicion->ns)
        sum += (double)suspects[suspicion->principal++].ns;
    suspicion->few = suspicion->principal <= 1 || 4 * suspicion->principal <= c->processes;
}

void lull_suspect_explain(struct lull_suspicion *suspicion, struct lull_suspect *suspect)
{
    suspicion->ns -= suspect->ns;
    suspect->ns = 0;
}

static void case_find_suspects(struct lull_case *c)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    if (!waits || waits->absent || !c->evidence->trace)
        return;
    const uint32_t count = gather(c);
    qsort(c->suspects, count, sizeof *c->suspects, compare_suspects);
    c->suspicions = lull_arena_zero(c->arena, count + (size_t)1, sizeof *c->suspicions);
    for (uint32_t i = 0; i < count; i++) {
        struct lull_suspicion *last = c->n_suspicions ? &c->suspicions[c->n_suspicions - 1] : NULL;
        const struct lull_suspect *suspect = &c->suspects[i];
        if (!last || last->region != suspect->region || last->at_end != suspect->at_end) {
            last = &c->suspicions[c->n_suspicions++];
            *last = (struct lull_suspicion){
                .region = suspect->region, .at_end = suspect->at_end, .first = i};
        }
        last->count++;
        last->ns += c->suspects[i].ns;
    }
    for (uint32_t i = 0; i < c->n_suspicions; i++)
        lull_suspicion_divide(c, &c->suspicions[i]);
    qsort(c->suspicions, c->n_suspicions, sizeof *c->suspicions, compare_suspicions);
}

/* ==== the case ================================================================================ */

/* ---- what rules add -------------------------------------------------------------------------- */

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

/* ---- texts ----------------------------------------------------------------------------------- */

const char *lull_case_time(const struct lull_case *c, int64_t ns)
{
    char text[32];
    return lull_arena_strdup(c->arena, lull_format_time(ns, text, sizeof text));
}

const char *lull_case_name(const struct lull_case *c, uint32_t region)
{
    const struct lull_region *of = region_at(c, region);
    const char *site = site_of(c, of);
    if (!of || !site || strstr(of->name, site))
        return of ? of->name : NULL;
    return lull_arena_printf(c->arena, strchr(site, '(') ? "%s in %s" : "%s (%s)", of->name, site);
}

const char *lull_case_where(const struct lull_case *c, uint32_t region, uint32_t call)
{
    const char *name = lull_case_name(c, region);
    const char *word = name ? "in" : "before";
    name = name ? name : lull_case_name(c, call);
    return name ? lull_arena_printf(c->arena, "%s %s", word, name) : "outside of any region";
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

/* ---- order ----------------------------------------------------------------------------------- */

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

/* ---- how to go on ---------------------------------------------------------------------------- */

/* Writes the command that supposes the same as the finding's replay. */
static void spell_fix(const struct lull_case *c, struct lull_finding *finding)
{
    const char **words;
    const uint32_t n = lull_what_if_spell(finding->fix, c->arena, &words);
    finding->next =
        lull_arena_printf(c->arena, "lull replay %s", lull_case_word(c, c->evidence->path));
    for (uint32_t i = 0; i < n; i++) {
        const char *sign = strncmp(words[i], "--", 2) == 0 ? strchr(words[i], '=') : NULL;
        const int option =
            sign ? (int)(sign + 1 - words[i]) : 0; /* bytes of "--balance=" in the word
                                                      "--balance=solve" */
        finding->next = lull_arena_printf(c->arena, "%s %.*s%s", finding->next, option, words[i],
                                          lull_case_word(c, words[i] + option));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

uint32_t lull_diagnose(const struct lull_evidence *evidence, struct lull_arena *arena,
                       struct lull_finding **ret_findings)
{
    struct lull_case c = {.evidence = evidence,
                          .arena = arena,
                          .core_ns = lull_evidence_core_ns(evidence),
                          .processes = evidence->breakdown->n_processes};
    c.least_ns = (int64_t)ceil(LULL_FINDING_LEAST * (double)c.core_ns);
    c.least_ns = c.least_ns > 1 ? c.least_ns : 1;
    if (evidence->trace)
        c.shortage = lull_core_shortage_of(evidence->trace, evidence->application, arena);
    c.without_core_ns =
        (int64_t)(c.shortage.share * c.shortage.known * (double)evidence->breakdown->runtime_ns);
    case_find_suspects(&c);
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
