/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of what-ifs that are wanted, one after the other: each learns from bursts with the
 * lengths that the kinds before it have given them. */
#include "replay/what_if/what_if.h"

#include "base/text.h"
#include "replay/program/bursts.h"
#include "replay/program/devices.h"

#include <stdlib.h>
#include <string.h>

/* ==== flow ==================================================================================== */

/* What is supposed goes from the first of a team to all. The texts follow the struct, in the order
 * of its members. */

bool lull_what_if_put(const struct lull_what_if_options *options, struct lull_flow *flow)
{
    bool good = lull_flow_put(flow, options, sizeof *options) &&
                lull_flow_put_text(flow, options->balanced);
    for (uint32_t i = 0; i < options->n_regions && good; i++)
        good = lull_flow_put_text(flow, options->regions[i]);
    for (uint32_t i = 0; i < options->n_cuts && good; i++)
        good = lull_flow_put_text(flow, options->cuts[i].node) &&
               lull_flow_put_text(flow, options->cuts[i].region);
    for (uint32_t i = 0; i < options->n_threads && good; i++)
        good = lull_flow_put_text(flow, options->threads[i].region);
    return good && lull_what_if_devices_put(&options->devices, flow);
}

bool lull_what_if_get(struct lull_what_if_options *options, struct lull_arena *arena,
                      struct lull_flow *flow)
{
    bool good = lull_flow_get(flow, options, sizeof *options) &&
                lull_flow_get_text(flow, arena, &options->balanced);
    for (uint32_t i = 0; good && i < options->n_regions; i++)
        good = lull_flow_get_text(flow, arena, &options->regions[i]);
    for (uint32_t i = 0; good && i < options->n_cuts; i++)
        good = lull_flow_get_text(flow, arena, &options->cuts[i].node) &&
               lull_flow_get_text(flow, arena, &options->cuts[i].region);
    for (uint32_t i = 0; good && i < options->n_threads; i++)
        good = lull_flow_get_text(flow, arena, &options->threads[i].region);
    return good && lull_what_if_devices_get(&options->devices, arena, flow);
}

/* ==== treatments ============================================================================== */

bool lull_region_is_named(const char *name, const struct lull_region *region)
{
    return strcmp(region->name, name) == 0 || (*region->site && strcmp(region->site, name) == 0);
}

static bool means_any(const char *name, const struct lull_region *region)
{
    return !name || lull_region_is_named(name, region);
}

/* The treatment of a region; of NULL, that of time in no region that is named. *ret_named: whether
 * an option names the region, so that it needs a mark. */
static struct lull_treatment treatment_of(const struct lull_what_if_options *wanted,
                                          const struct lull_region *region, bool *ret_named)
{
    struct lull_treatment treatment = {.factor = 1};
    const char *name = wanted->balanced;
    *ret_named = false;
    for (uint32_t i = 0; region && i < wanted->n_regions; i++)
        if (lull_region_is_named(wanted->regions[i], region)) {
            treatment.factor = wanted->factors[i];
            *ret_named = true;
        }
    for (uint32_t i = 0; i < wanted->n_cuts; i++) {
        name = wanted->cuts[i].region;
        if (!name || (region && lull_region_is_named(name, region)))
            treatment.cuts |= UINT64_C(1) << i;
        *ret_named |= name && region && lull_region_is_named(name, region);
    }
    for (uint32_t i = 0; i < wanted->n_threads; i++) {
        name = wanted->threads[i].region;
        if (wanted->threads[i].change != LULL_THREADS_NO_SERIAL)
            continue;
        if (!name || (region && lull_region_is_named(name, region)))
            treatment.serial = fmax(treatment.serial, lull_share_of(wanted->threads[i].share));
        *ret_named |= name && region && lull_region_is_named(name, region);
    }
    name = wanted->balanced;
    treatment.balanced = wanted->balance && (region ? means_any(name, region) : !name);
    *ret_named |= wanted->balance && name && region && lull_region_is_named(name, region);
    return treatment;
}

static bool is_same(const struct lull_treatment *a, const struct lull_treatment *b)
{
    return a->factor == b->factor && a->cuts == b->cuts && a->balanced == b->balanced &&
           a->serial == b->serial;
}

/* The result lives in `arena`. LULL_ERR_RANGE: there are more different treatments than marks. */
static lull_status treatments_find(const struct lull_trace *trace,
                                   const struct lull_what_if_options *wanted,
                                   struct lull_arena *arena,
                                   struct lull_treatments **ret_treatments, struct lull_error *err)
{
    const uint32_t most =
        sizeof((struct lull_treatments *)0)->treatments / sizeof(struct lull_treatment);
    struct lull_treatments *treatments = lull_arena_zero(arena, 1, sizeof *treatments);
    bool named;
    treatments->marks = lull_arena_try(arena, trace->n_regions + (size_t)1, 1);
    if (!treatments->marks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    treatments->treatments[treatments->count++] = treatment_of(wanted, NULL, &named);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_treatment treatment = treatment_of(wanted, &trace->regions[i], &named);
        uint32_t mark = 1;
        while (named && mark < treatments->count &&
               !is_same(&treatment, &treatments->treatments[mark]))
            mark++;
        if (!named)
            continue;
        if (mark == most)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: more than %u different things are supposed of regions",
                             trace->path, most - 1);
        treatments->marks[i] = (uint8_t)mark;
        treatments->treatments[mark] = treatment;
        treatments->count = mark == treatments->count ? mark + 1 : treatments->count;
    }
    *ret_treatments = treatments;
    return LULL_OK;
}

/* ==== spelled ================================================================================= */

/* What was typed, and whether what it names is there. */

/* ---- what was typed ------------------------------------------------------------------------ */

bool lull_factor_read(const char *text, double *ret_factor)
{
    char *end;
    *ret_factor = strtod(text, &end);
    return end != text && *end == '\0' && *ret_factor > 0 && *ret_factor <= 1e6;
}

lull_status lull_what_if_regions_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_options *options, struct lull_error *err)
{
    for (; texts && *texts; texts++) {
        const char *sign = strrchr(*texts, '=');
        double factor;
        if (!sign || sign == *texts || !lull_factor_read(sign + 1, &factor))
            return lull_fail(err, LULL_ERR_RANGE,
                             "--region is '%s', expected NAME=FACTOR with a factor above 0",
                             *texts);
        if (options->n_regions == LULL_WHAT_IF_REGIONS)
            return lull_fail(err, LULL_ERR_RANGE, "--region is given more than %d times",
                             LULL_WHAT_IF_REGIONS);
        options->regions[options->n_regions] =
            lull_arena_strndup(arena, *texts, (size_t)(sign - *texts));
        options->factors[options->n_regions++] = factor;
    }
    return LULL_OK;
}

/* Moves *text behind a key such as "rank="; false: it does not begin with this key. */
static bool skip_key(const char **text, const char *key)
{
    const size_t length = strlen(key);
    if (strncmp(*text, key, length) != 0)
        return false;
    *text += length;
    return true;
}

/* Reads a number such as "7" that ends at a comma or at the end of the text, and moves *text behind
 * both. False: there is no number, or nothing behind the comma. */
static bool read_rank(const char **text, uint32_t *ret_rank)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    const unsigned long long rank = strtoull(*text, &end, 10);
    if ((*end != ',' && *end != '\0') || rank >= LULL_NONE)
        return false;
    *ret_rank = (uint32_t)rank;
    *text = *end == ',' ? end + 1 : end;
    return *end == '\0' || **text != '\0';
}

/* Reads a share such as "0.8" that ends at a comma or at the end of the text, and moves *text behind
 * both. */
static bool read_share(const char **text, double *ret_share)
{
    char *end;
    const double share = strtod(*text, &end);
    if (end == *text || (*end != ',' && *end != '\0') || !(share > 0 && share <= 1) ||
        (*end == ',' && end[1] == '\0'))
        return false;
    *ret_share = share;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

static bool read_cut(const char *text, struct lull_arena *arena, struct lull_what_if_cut *cut)
{
    *cut = (struct lull_what_if_cut){.rank = LULL_NONE};
    if (strcmp(text, "all") == 0)
        return true;
    if (skip_key(&text, "rank=")) {
        if (!read_rank(&text, &cut->rank))
            return false;
    } else if (skip_key(&text, "node=")) {
        const size_t length = strcspn(text, ",");
        cut->node = lull_arena_strndup(arena, text, length);
        if (length == 0 || (text[length] == ',' && text[length + 1] == '\0'))
            return false;
        text += text[length] == ',' ? length + 1 : length;
    }
    const bool of_some = cut->node || cut->rank != LULL_NONE;
    if (of_some && skip_key(&text, "share=") && !read_share(&text, &cut->share))
        return false;
    if (*text == '\0')
        return of_some;
    if (!skip_key(&text, "region=") || *text == '\0')
        return false;
    cut->region = lull_arena_strdup(arena, text);
    return true;
}

lull_status lull_what_if_extent_read(const char *text, const char *option, struct lull_arena *arena,
                                     const char **ret_region, double *ret_share,
                                     struct lull_error *err)
{
    const char *rest = text;
    double share = 0;
    if (text && skip_key(&rest, "share=") &&
        (!read_share(&rest, &share) || (*rest && (!skip_key(&rest, "region=") || !*rest))))
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s is '%s', expected NAME, share=S with S above 0 and at most 1, or "
                         "share=S,region=NAME",
                         option, text);
    *ret_region = rest && *rest ? lull_arena_strdup(arena, rest) : NULL;
    *ret_share = share;
    return LULL_OK;
}

lull_status lull_what_if_cuts_read(char *const *texts, struct lull_arena *arena,
                                   struct lull_what_if_options *options, struct lull_error *err)
{
    for (; texts && *texts; texts++) {
        if (options->n_cuts == LULL_WHAT_IF_CUTS)
            return lull_fail(err, LULL_ERR_RANGE, "--median is given more than %d times",
                             LULL_WHAT_IF_CUTS);
        if (!read_cut(*texts, arena, &options->cuts[options->n_cuts]))
            return lull_fail(
                err, LULL_ERR_RANGE,
                "--median is '%s', expected rank=N, node=NAME, region=NAME, the region "
                "behind one of the others and a comma, with share=S between them, or all",
                *texts);
        options->n_cuts++;
    }
    return LULL_OK;
}

bool lull_what_if_supposes(const struct lull_what_if_options *options)
{
    return options->eager || options->no_noise || options->balance || options->n_regions > 0 ||
           options->n_cuts > 0 || options->n_threads > 0 ||
           lull_what_if_devices_supposes(&options->devices);
}

/* ---- how it is typed ----------------------------------------------------------------------- */

struct words {
    struct lull_arena *arena;
    const char **items;
    size_t capacity;
    uint32_t count;
};

static void add_word(struct words *words, const char *word)
{
    words->items = lull_arena_grow(words->arena, words->items, &words->capacity,
                                   words->count + (size_t)1, sizeof *words->items);
    words->items[words->count++] = word;
}

/* Adds an option, with how far it goes: "--balance", "--balance=solve", "--balance=share=0.8",
 * "--balance=share=0.8,region=solve". */
static void add_option(struct words *words, const char *option, const char *name, double share)
{
    const char *word = option;
    if (share > 0 && share < 1)
        word = lull_arena_printf(words->arena, "%s=share=%g%s%s", option, share,
                                 name ? ",region=" : "", name ? name : "");
    else if (name)
        word = lull_arena_printf(words->arena, "%s=%s", option, name);
    add_word(words, word);
}

static void add_cut(struct words *words, const struct lull_what_if_cut *cut)
{
    struct lull_arena *arena = words->arena;
    const char *who = cut->node                ? lull_arena_printf(arena, "node=%s", cut->node)
                      : cut->rank != LULL_NONE ? lull_arena_printf(arena, "rank=%u", cut->rank)
                      : cut->region            ? ""
                                               : "all";
    if (cut->share > 0 && cut->share < 1)
        who = lull_arena_printf(arena, "%s,share=%g", who, cut->share);
    add_word(words, "--median");
    add_word(words, cut->region ? lull_arena_printf(arena, "%s%sregion=%s", who, *who ? "," : "",
                                                    cut->region)
                                : who);
}

uint32_t lull_what_if_spell(const struct lull_what_if_options *options, struct lull_arena *arena,
                            const char ***ret_words)
{
    static const char *const threads[] = {
        [LULL_THREADS_BALANCED] = "--balance-threads",
        [LULL_THREADS_NO_LOCKS] = "--no-locks",
        [LULL_THREADS_NO_SCHEDULING] = "--no-scheduling",
        [LULL_THREADS_NO_SERIAL] = "--no-serial",
    };
    struct words words = {.arena = arena};
    for (uint32_t i = 0; i < options->n_threads; i++)
        add_option(&words, threads[options->threads[i].change], options->threads[i].region,
                   options->threads[i].share);
    if (options->eager)
        add_word(&words, "--eager");
    if (options->no_noise)
        add_word(&words, "--no-noise");
    for (uint32_t i = 0; i < options->n_regions; i++) {
        add_word(&words, "--region");
        add_word(&words,
                 lull_arena_printf(arena, "%s=%g", options->regions[i], options->factors[i]));
    }
    for (uint32_t i = 0; i < options->n_cuts; i++)
        add_cut(&words, &options->cuts[i]);
    if (options->balance)
        add_option(&words, "--balance", options->balanced, options->balance_share);
    for (uint32_t i = 0; i < options->devices.n_kernels; i++) {
        add_word(&words, "--kernel");
        add_word(&words, lull_arena_printf(arena, "%s*%g", options->devices.kernels[i],
                                           options->devices.factors[i]));
    }
    if (options->devices.speed > 0) {
        add_word(&words, "--device-speed");
        add_word(&words, lull_arena_printf(arena, "%g", options->devices.speed));
    }
    if (options->devices.no_latency)
        add_word(&words, "--no-launch-latency");
    if (options->devices.ahead)
        add_word(&words, "--submit-ahead");
    if (options->devices.no_copies)
        add_word(&words, "--no-copies");
    if (options->devices.overlap)
        add_word(&words, "--overlap-copies");
    if (options->devices.graphs || options->devices.graphs_if_any)
        add_word(&words, "--launch-graph");
    if (options->devices.balance)
        add_word(&words, "--balance-devices");
    if (options->devices.free_exchanges) { /* and messages of MPI */
        add_word(&words, "--network");
        add_word(&words, "ideal");
    }
    *ret_words = words.items;
    return words.count;
}

/* ---- whether it is there ------------------------------------------------------------------- */

/* Fails because the trace does not have what is named; `meant`: a name that it has, or NULL. */
static lull_status tell_missing(const struct lull_trace *trace, const char *what, const char *name,
                                const char *meant, struct lull_error *err)
{
    if (!meant)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no %s '%s'", trace->path, what, name);
    return lull_fail(err, LULL_ERR_RANGE, "%s: has no %s '%s'; did you mean '%s'?", trace->path,
                     what, name, meant);
}

static lull_status check_region(const struct lull_trace *trace, const char *name, bool parallel,
                                struct lull_error *err)
{
    const char **names = calloc(2 * (size_t)trace->n_regions + 1, sizeof(const char *));
    bool found = name == NULL;
    for (uint32_t i = 0; names && !found && i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        if (parallel && !region->parallel)
            continue;
        found = lull_region_is_named(name, region);
        names[2 * i] = region->name;
        names[2 * i + 1] = *region->site ? region->site : NULL;
    }
    const char *meant =
        found || !names ? NULL : lull_suggest(name, names, 2 * (size_t)trace->n_regions);
    free(names);
    return found ? LULL_OK
                 : tell_missing(trace, parallel ? "parallel region" : "region", name, meant, err);
}

/* Whether there are processes of the application that a cut means, and others to compare these
 * with. */
static lull_status check_cut(const struct lull_trace *trace, uint32_t application,
                             const struct lull_what_if_cut *cut, struct lull_error *err)
{
    const char **nodes = calloc(trace->n_nodes + (size_t)1, sizeof(const char *));
    uint32_t meant = 0, others = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        const char *node = process->node < trace->n_nodes ? trace->nodes[process->node].name : NULL;
        if (process->application != application || process->n_threads == 0)
            continue;
        if (nodes && node)
            nodes[process->node] = node;
        if (cut->node ? node && strcmp(node, cut->node) == 0
                      : cut->rank == LULL_NONE || cut->rank == process->rank)
            meant++;
        else
            others++;
    }
    const bool all = !cut->node && cut->rank == LULL_NONE;
    const char *near = cut->node && nodes ? lull_suggest(cut->node, nodes, trace->n_nodes) : NULL;
    free(nodes);
    if (meant == 0 && cut->node)
        return tell_missing(trace, "node", cut->node, near, err);
    if (meant == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no rank %u, only %u rank%s", trace->path,
                         cut->rank, others, others == 1 ? "" : "s");
    if (all ? meant < 2 : others == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has one %s only, nothing to be compared with",
                         trace->path, cut->node ? "node" : "process");
    return LULL_OK;
}

/* Whether a process has other threads than its master and those that the program makes itself. */
static bool has_workers(const struct lull_trace *trace, uint32_t application)
{
    bool any = false;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        const struct lull_process *process = &trace->processes[location->process];
        any |= process->application == application && l != process->first_location &&
               location->kind == LULL_LOCATION_THREAD && location->role != LULL_THREAD_FREE;
    }
    return any;
}

static lull_status check_threads(const struct lull_trace *trace, uint32_t application,
                                 const struct lull_what_if_threads *threads, struct lull_error *err)
{
    bool parallel = false;
    for (uint32_t i = 0; i < trace->n_regions; i++)
        parallel |= trace->regions[i].parallel;
    if (!parallel)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no parallel regions of OpenMP", trace->path);
    if (!has_workers(trace, application))
        return lull_fail(err, LULL_ERR_RANGE, "%s: has one thread in each process", trace->path);
    return check_region(trace, threads->region, threads->change != LULL_THREADS_NO_SERIAL, err);
}

/* Fails if something that the options name is not in the trace. */
static lull_status what_if_check(const struct lull_trace *trace,
                                 const struct lull_what_if_options *wanted, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < wanted->n_regions && status == LULL_OK; i++)
        status = check_region(trace, wanted->regions[i], false, err);
    if (wanted->balance && status == LULL_OK)
        status = check_region(trace, wanted->balanced, false, err);
    for (uint32_t i = 0; i < wanted->n_cuts && status == LULL_OK; i++) {
        status = check_region(trace, wanted->cuts[i].region, false, err);
        if (status == LULL_OK)
            status = check_cut(trace, wanted->application, &wanted->cuts[i], err);
    }
    for (uint32_t i = 0; i < wanted->n_threads && status == LULL_OK; i++)
        status = check_threads(trace, wanted->application, &wanted->threads[i], err);
    return status == LULL_OK
               ? lull_what_if_devices_check(trace, wanted->application, &wanted->devices, err)
               : status;
}

/* ==== what if ================================================================================= */

/* All kinds, in the order in which they apply. */
static const struct lull_what_if_kind *const kinds[] = {
    &lull_kind_threads, &lull_kind_serial, &lull_kind_noise,
    &lull_kind_factors, &lull_kind_cuts,   &lull_kind_balance,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct lull_what_if {
    struct lull_arena *arena;
    struct lull_what_if_scene scene;
    struct lull_treatments *treatments;
    const struct lull_what_if_kind *kinds[KINDS]; /* [n]: those that are wanted */
    void *states[KINDS];                          /* [n]: what each of them knows */
    unsigned n;
    unsigned stage;             /* the kind that learns next; n: all have learned */
    bool rides;                 /* it has made a consumer for a pass, which is not concluded yet */
    struct lull_bursts *bursts; /* the bursts of this pass; NULL if its kind reads steps */
    bool no_memory;
    unsigned workers; /* threads of its own passes */
};

lull_status lull_what_if_no_memory(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
}

static lull_status no_memory_for_what_if(const struct lull_what_if *w, struct lull_error *err)
{
    return lull_what_if_no_memory(w->scene.trace, err);
}

/* ---- a burst ------------------------------------------------------------------------------- */

/* The length that the first `n` kinds give a burst, in ns. */
static int64_t changed(const struct lull_what_if *w, const struct lull_replay_burst *burst,
                       unsigned n)
{
    int64_t ns = burst->ns;
    for (unsigned i = 0; i < n; i++)
        ns = w->kinds[i]->apply(w->states[i], burst, ns);
    return ns;
}

static bool learn_burst(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    if (burst->fixed)
        return true;
    return w->kinds[w->stage]->learn(w->states[w->stage], burst, changed(w, burst, w->stage));
}

static int64_t find_length(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    if (w->stage == w->n)
        return burst->fixed ? burst->ns : changed(w, burst, w->n);
    w->no_memory |= !learn_burst(w, burst);
    return burst->ns;
}

void lull_what_if_rewind(struct lull_what_if *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->kinds[i]->rewind)
            w->kinds[i]->rewind(w->states[i]);
}

/* ---- learning ------------------------------------------------------------------------------ */

static bool learns_anything(const struct lull_what_if_kind *kind)
{
    return kind->learn || kind->consumer;
}

static void begin_stage(struct lull_what_if *w)
{
    while (w->stage < w->n && !learns_anything(w->kinds[w->stage]))
        w->stage++;
    lull_what_if_rewind(w);
}

/* Concludes the kind that has learned; `status`: how this member's reading for it ended. */
static lull_status end_stage(struct lull_what_if *w, lull_status status, struct lull_error *err)
{
    const struct lull_what_if_kind *kind = w->kinds[w->stage];
    lull_bursts_destroy(w->bursts);
    w->bursts = NULL;
    if (status == LULL_OK && kind->conclude)
        status = kind->conclude(w->states[w->stage], err);
    status = lull_team_agree(w->scene.part.team, status, err);
    if (status != LULL_OK)
        return status;
    w->stage++;
    begin_stage(w);
    return LULL_OK;
}

/* Learns from the operations of the whole program. Needed where its streams are not those of the
 * masters alone, or do not begin when the masters do. */
static lull_status read_program(const struct lull_what_if *w,
                                const struct lull_replay_options *options, struct lull_error *err)
{
    struct lull_program *program;
    struct lull_op ops[64];
    uint32_t count;
    lull_status status = lull_replay_open(w->scene.trace, options, &program, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t s = 0; s < program->n_streams && status == LULL_OK; s++) {
        count = lull_in_range(lull_reading_of(options->reading)->range,
                              lull_replay_process(program, s));
        while (status == LULL_OK && count > 0)
            status = program->class->next(program, s, ops, 64, &count, err);
    }
    lull_program_close(program);
    return status == LULL_OK && w->no_memory ? no_memory_for_what_if(w, err) : status;
}

lull_status lull_what_if_consumer(struct lull_what_if *w, struct lull_consumer *ret_consumer,
                                  struct lull_error *err)
{
    const struct lull_what_if_kind *kind = w->kinds[w->stage];
    const struct lull_reading reading = {.application = w->scene.wanted->application};
    const struct lull_bursts_options options = {
        .reading = &reading, .pieces = true, .take = learn_burst, .context = w};
    w->rides = true;
    if (kind->consumer) {
        *ret_consumer = kind->consumer(w->states[w->stage]);
        return LULL_OK;
    }
    lull_status status = lull_bursts_create(w->scene.trace, &options, &w->bursts, err);
    if (status == LULL_OK)
        *ret_consumer = lull_bursts_consumer(w->bursts);
    return status;
}

/* Learns in a pass of its own. */
static lull_status read_steps(struct lull_what_if *w, const struct lull_replay_options *replay,
                              struct lull_error *err)
{
    const struct lull_reading reading = {.application = w->scene.wanted->application,
                                         .windows = lull_reading_of(replay->reading)->windows,
                                         .range = w->scene.part.range,
                                         .workers = w->workers};
    const struct lull_pass_options options = {.reading = &reading,
                                              .masters_only = !lull_what_if_needs_all(w),
                                              .marks = w->treatments->marks};
    struct lull_consumer consumer;
    lull_status status = lull_what_if_consumer(w, &consumer, err);
    return status == LULL_OK ? lull_pass_run(w->scene.trace, &options, &consumer, 1, err) : status;
}

/* Whether the streams of the replay are those of the masters, and begin when they do. */
static bool are_masters(const struct lull_what_if *w, const struct lull_replay_options *options)
{
    bool masters = !options->callers && !(options->devices && lull_survey_devices(options->survey));
    for (uint32_t p = 0; masters && p < w->scene.trace->n_processes; p++)
        masters = lull_survey_shift(options->survey, p) == 0;
    for (uint32_t l = 0; masters && l < w->scene.trace->n_locations; l++)
        masters = !lull_survey_meets(options->survey, l);
    return masters;
}

/* Ends the learning in a pass that was shared. Its bursts are those of the masters: if the replay
 * has other streams, what was learned from them is forgotten. */
static lull_status end_ride(struct lull_what_if *w, bool masters, struct lull_error *err)
{
    const struct lull_what_if_kind *kind = w->kinds[w->stage];
    const bool useful = masters || kind->consumer;
    w->rides = false;
    if (useful)
        return end_stage(w, LULL_OK, err);
    lull_bursts_destroy(w->bursts);
    w->bursts = NULL;
    kind->forget(w->states[w->stage]);
    lull_what_if_rewind(w);
    return LULL_OK;
}

static lull_status learn_all_kinds(struct lull_what_if *w,
                                   const struct lull_replay_options *options,
                                   struct lull_error *err)
{
    const bool masters = are_masters(w, options);
    lull_status status = w->rides ? end_ride(w, masters, err) : LULL_OK;
    while (w->stage < w->n && status == LULL_OK) {
        const bool steps = masters || w->kinds[w->stage]->consumer;
        status = steps ? read_steps(w, options, err) : read_program(w, options, err);
        status = end_stage(w, status, err);
    }
    return status;
}

/* ---- the what-if --------------------------------------------------------------------------- */

static lull_status create_kinds(struct lull_what_if *w, struct lull_error *err)
{
    for (unsigned i = 0; i < KINDS; i++) {
        if (!kinds[i]->is_wanted(w->scene.wanted))
            continue;
        w->kinds[w->n] = kinds[i];
        w->states[w->n] = kinds[i]->create(&w->scene);
        if (!w->states[w->n])
            return no_memory_for_what_if(w, err);
        w->n++;
    }
    begin_stage(w);
    return LULL_OK;
}

lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                const struct lull_what_if_part *part,
                                struct lull_what_if **ret_what_if, struct lull_error *err)
{
    lull_status status = what_if_check(trace, wanted, err);
    if (status != LULL_OK)
        return status;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_what_if *w = lull_arena_zero(arena, 1, sizeof *w);
    w->arena = arena;
    status = treatments_find(trace, wanted, arena, &w->treatments, err);
    w->scene = (struct lull_what_if_scene){.trace = trace,
                                           .wanted = wanted,
                                           .treatments = w->treatments,
                                           .n_streams = lull_replay_most_streams(trace),
                                           .part = part ? *part : (struct lull_what_if_part){0}};
    if (status == LULL_OK)
        status = create_kinds(w, err);
    if (status == LULL_OK)
        *ret_what_if = w;
    else
        lull_what_if_destroy(w);
    return status;
}

const uint8_t *lull_what_if_marks(const struct lull_what_if *w)
{
    return w->treatments->marks;
}

bool lull_what_if_learns(const struct lull_what_if *w)
{
    return w->stage < w->n;
}

bool lull_what_if_needs_all(const struct lull_what_if *w)
{
    return w->stage < w->n && w->kinds[w->stage]->consumer;
}

lull_status lull_what_if_conclude(struct lull_what_if *w, struct lull_replay_options *options,
                                  struct lull_error *err)
{
    struct lull_survey *survey = NULL;
    options->pieces = true; /* results must not depend on whether the caller wants pieces */
    options->marks = w->treatments->marks;
    options->length = find_length;
    options->context = w;
    options->eager_sends = w->scene.wanted->eager;
    struct lull_replay_options read = *options;
    lull_status status = LULL_OK;
    const bool of_devices =
        options->devices && lull_what_if_devices_supposes(&w->scene.wanted->devices);
    if ((lull_what_if_learns(w) || of_devices) && !options->survey) {
        status = lull_survey_take(w->scene.trace, lull_reading_of(options->reading)->application,
                                  options->callers != NULL, &survey, err);
        read.survey = survey;
    }
    if (status == LULL_OK && of_devices)
        status = lull_what_if_devices_change(w->scene.trace, &w->scene.wanted->devices, read.survey,
                                             w->arena, &options->change, err);
    if (w->scene.wanted->devices.free_exchanges)
        options->exchanges = LULL_EXCHANGES_FREE;
    read.change = options->change; /* it decides which streams there are */
    if (status == LULL_OK && lull_what_if_learns(w))
        status = learn_all_kinds(w, &read, err);
    lull_survey_destroy(survey);
    return status;
}

void lull_what_if_limit(struct lull_what_if *w, unsigned workers)
{
    w->workers = workers;
}

void lull_what_if_destroy(struct lull_what_if *w)
{
    if (!w)
        return;
    lull_bursts_destroy(w->bursts);
    for (unsigned i = 0; i < w->n; i++)
        w->kinds[i]->destroy(w->states[i]);
    lull_arena_destroy(w->arena);
}
