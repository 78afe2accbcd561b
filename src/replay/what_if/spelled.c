/* What was typed, and whether what it names is there. */
#include "base/text/suggest.h"
#include "replay/what_if/treatments.h"

#include <stdlib.h>
#include <string.h>

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

/* Moves *text behind a key, "rank=". */
static bool skip_key(const char **text, const char *key)
{
    const size_t length = strlen(key);
    if (strncmp(*text, key, length) != 0)
        return false;
    *text += length;
    return true;
}

/* "7" up to a comma or the end, behind which *text is then. */
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
    if (*text == '\0')
        return cut->node || cut->rank != LULL_NONE;
    if (!skip_key(&text, "region=") || *text == '\0')
        return false;
    cut->region = lull_arena_strdup(arena, text);
    return true;
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
                "behind one of the others and a comma, or all",
                *texts);
        options->n_cuts++;
    }
    return LULL_OK;
}

bool lull_what_if_supposes(const struct lull_what_if_options *options)
{
    return options->eager || options->no_noise || options->balance || options->n_regions > 0 ||
           options->n_cuts > 0 || options->n_threads > 0;
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

/* "--balance", "--balance=solve" */
static void add_option(struct words *words, const char *option, const char *name)
{
    add_word(words, name ? lull_arena_printf(words->arena, "%s=%s", option, name) : option);
}

static void add_cut(struct words *words, const struct lull_what_if_cut *cut)
{
    struct lull_arena *arena = words->arena;
    const char *who = cut->node                ? lull_arena_printf(arena, "node=%s", cut->node)
                      : cut->rank != LULL_NONE ? lull_arena_printf(arena, "rank=%u", cut->rank)
                      : cut->region            ? ""
                                               : "all";
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
        add_option(&words, threads[options->threads[i].change], options->threads[i].region);
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
        add_option(&words, "--balance", options->balanced);
    *ret_words = words.items;
    return words.count;
}

/* ---- whether it is there ------------------------------------------------------------------- */

/* Ends a message about a name with the one that may be meant. */
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

/* Whether there are processes of the application that a cut means, and others that compare. */
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

lull_status lull_what_if_check(const struct lull_trace *trace,
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
    return status;
}
