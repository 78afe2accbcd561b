/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/derive_study.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/collective.h"
#include "base/hash.h"
#include "model/derive/disturbance.h"
#include "study/census.h"
#include "study/compare.h"
#include "study/model/program_study.h"
#include "study/runs.h"
#include "trace/resources.h"
#include "trace/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== marks of iterations ===================================================================== */

/* A mark (model/derive/disturbance.h) says when the master of a process came to a certain call, and
 * how long it had been outside of MPI before. Noise, and the time that messages take, are found
 * from marks. */

/* The most marks that are kept, so that memory does not grow with the length of a run: of all
 * masters together (96 MiB), and of one; and the least of one, however many masters there are. */
enum { MOST_MARKS = 1 << 22, MOST_OF_ONE = 1 << 14, LEAST_OF_ONE = 64 };

struct mark {
    int64_t time, kept; /* ns; kept: outside of MPI, up to it */
    uint8_t operation;  /* enum lull_collective; LULL_COLLECTIVES: a message */
};

/* The marks of one master. */
struct following {
    struct mark *marks; /* [count] the first marks */
    size_t count, capacity;
    size_t all[LULL_COLLECTIVES + 1]; /* by operation, also the marks that are not kept */
    int32_t peer;                     /* of the first message; LULL_ANY: none yet */
};

struct marking {
    const struct lull_trace *trace;
    struct following *masters; /* [n_locations] */
    size_t most;               /* the most marks that are kept of one master */
};

static bool add_mark(const struct marking *marking, struct following *master,
                     const struct lull_step *step, uint8_t operation)
{
    master->all[operation]++;
    if (master->count >= marking->most)
        return true;
    if (!lull_array_reserve(&master->marks, &master->capacity, master->count + 1,
                            sizeof *master->marks))
        return false;
    master->marks[master->count++] = (struct mark){step->time, step->kept_ns, operation};
    return true;
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct marking *marking = context;
    struct following *master = &marking->masters[steps->location];
    bool good = true;
    (void)worker;
    for (uint32_t i = 0; i < steps->count && good; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SEND && step->message.peer >= 0) {
            if (master->peer == LULL_ANY)
                master->peer = step->message.peer;
            if (master->peer == step->message.peer)
                good = add_mark(marking, master, step, LULL_COLLECTIVES);
        } else if (step->kind == LULL_STEP_COLLECTIVE_END) {
            good = add_mark(marking, master, step, step->op);
        }
    }
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "no memory for marks of iterations");
}

/* Which marks are taken: messages if there are any, else the collective operation that the first
 * rank calls most. */
static unsigned choose_operation(const struct marking *marking)
{
    const struct following *first = NULL;
    size_t most = 0;
    unsigned chosen = LULL_COLLECTIVES;
    for (uint32_t l = 0; l < marking->trace->n_locations; l++) {
        const struct following *master = &marking->masters[l];
        if (master->all[LULL_COLLECTIVES] > 0)
            return LULL_COLLECTIVES;
        if (!first && master->count > 0)
            first = master;
    }
    for (unsigned op = 0; first && op < LULL_COLLECTIVES; op++)
        if (first->all[op] > most) {
            most = first->all[op];
            chosen = op;
        }
    return chosen;
}

static void keep(const struct marking *marking, const struct lull_run *run,
                 struct lull_arena *arena, struct lull_measured_marks *ret_marks)
{
    unsigned operation = choose_operation(marking);
    uint32_t rank = 0;
    for (uint32_t l = 0; l < marking->trace->n_locations && rank < run->processes; l++) {
        const struct following *master = &marking->masters[l];
        size_t kept = 0;
        if (master->all[operation] == 0)
            continue;
        double *useful = lull_arena_zero(arena, master->count, sizeof *useful);
        double *at = lull_arena_zero(arena, master->count, sizeof *at);
        for (size_t i = 0; i < master->count; i++) {
            if (master->marks[i].operation != operation)
                continue;
            at[kept] = (double)master->marks[i].time / 1e9;
            useful[kept++] = (double)master->marks[i].kept / 1e9;
        }
        ret_marks[rank++] = (struct lull_measured_marks){
            .useful = useful, .kept = kept, .count = master->all[operation], .at = at};
    }
}

/* Finds the marks of a run in one pass. A mark is a message to the process to which the
 * master's first message went, or, where no master sends, the end of the collective operation that
 * the first rank calls most. ret_marks[run->processes] live in `arena`. */
static lull_status marks_find(const struct lull_run *run, unsigned workers,
                              struct lull_arena *arena, struct lull_measured_marks **ret_marks,
                              struct lull_error *err)
{
    const struct lull_trace *trace = run->trace;
    size_t most = MOST_MARKS / (trace->n_locations + (size_t)1);
    struct marking marking = {.trace = trace,
                              .masters =
                                  calloc(trace->n_locations + (size_t)1, sizeof *marking.masters),
                              .most = most > MOST_OF_ONE    ? MOST_OF_ONE
                                      : most < LEAST_OF_ONE ? LEAST_OF_ONE
                                                            : most};
    const struct lull_reading reading = {.windows = run->reading->windows, .workers = workers};
    const struct lull_pass_options options = {.reading = &reading, .masters_only = true};
    const struct lull_consumer consumer = {.context = &marking,
                                           .wants = LULL_STEP_MASK(LULL_STEP_SEND) |
                                                    LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END),
                                           .steps = take_steps};
    if (!marking.masters)
        return lull_fail(err, LULL_ERR_MEMORY, "no memory for marks of iterations");
    for (uint32_t l = 0; l < trace->n_locations; l++)
        marking.masters[l].peer = LULL_ANY;
    *ret_marks = lull_arena_zero(arena, run->processes, sizeof **ret_marks);
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, err);
    if (status == LULL_OK)
        keep(&marking, run, arena, *ret_marks);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        free(marking.masters[l].marks);
    free(marking.masters);
    return status;
}

/* ==== the study =============================================================================== */

/* ---- links ----------------------------------------------------------------------------------- */

struct tagged_link {
    int32_t tag;
    struct lull_link link;
};

/* The links of what one worker has read, by tags; or, if there are more tags than are told apart,
 * by some of them. */
struct link_counting {
    struct lull_hash index; /* of pairs of ranks and tags */
    struct tagged_link *links;
    size_t count, capacity;
    int32_t tags[LULL_SHAPE_TAGS];
    size_t n_tags;
    bool has_more_tags;
};

struct linking {
    const struct lull_trace *trace;
    struct link_counting *parts; /* [workers] */
    /* [n_locations]: the target of the message before; LULL_NONE: there was none, or that message
     * was the second of a pair. */
    uint32_t *last;
    uint64_t *pairs; /* [n_locations]: messages that are the second in a row to one target */
    uint64_t *sent;  /* [n_locations]: all messages */
    uint64_t *own;   /* [n_locations]: messages to the sender itself */
};

/* Adds a tag to a set of them; false: it has no room for it. */
static bool add_tag(int32_t tags[LULL_SHAPE_TAGS], size_t *n_tags, int32_t tag)
{
    for (size_t i = 0; i < *n_tags; i++)
        if (tags[i] == tag)
            return true;
    if (*n_tags == LULL_SHAPE_TAGS)
        return false;
    tags[(*n_tags)++] = tag;
    return true;
}

static bool add_messages(struct link_counting *counting, const struct lull_link *link, int32_t tag)
{
    bool is_new;
    if (!add_tag(counting->tags, &counting->n_tags, tag)) {
        counting->has_more_tags = true;
        tag = counting->tags[0];
    }
    const uint32_t key[] = {link->source, link->target, (uint32_t)tag};
    if (!lull_array_reserve(&counting->links, &counting->capacity, counting->count + 1,
                            sizeof *counting->links))
        return false;
    uint64_t *at = lull_hash_add(&counting->index, key, sizeof key, counting->count, &is_new);
    if (!at)
        return false;
    if (is_new)
        counting->links[counting->count++] =
            (struct tagged_link){tag, {link->source, link->target, 0, 0}};
    counting->links[*at].link.messages += link->messages;
    counting->links[*at].link.bytes += link->bytes;
    return true;
}

static lull_status see_block(void *context, unsigned worker, const struct lull_block *block,
                             struct lull_error *err)
{
    struct linking *linking = context;
    const struct lull_trace *trace = linking->trace;
    uint32_t source = trace->processes[trace->locations[block->location].process].rank;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        if (event->kind != LULL_EVENT_SEND || event->message.peer < 0)
            continue;
        struct lull_link link = {source, trace->processes[event->message.peer].rank, 1,
                                 lull_believed_bytes(trace, block->location, event->message.bytes)};
        linking->pairs[block->location] += linking->last[block->location] == link.target;
        /* of three messages in a row to one target the third begins another pair */
        linking->last[block->location] =
            linking->last[block->location] == link.target ? LULL_NONE : link.target;
        linking->sent[block->location]++;
        linking->own[block->location] += link.source == link.target;
        if (link.source != link.target &&
            !add_messages(&linking->parts[worker], &link, event->message.tag))
            return lull_fail(err, LULL_ERR_MEMORY, "no memory for the links between processes");
    }
    return LULL_OK;
}

static int compare_links(const void *a, const void *b)
{
    const struct tagged_link *x = a, *y = b;
    if (x->tag != y->tag)
        return x->tag > y->tag ? 1 : -1;
    if (x->link.source != y->link.source)
        return x->link.source > y->link.source ? 1 : -1;
    return (x->link.target > y->link.target) - (x->link.target < y->link.target);
}

static bool is_in_pairs(const struct linking *linking)
{
    for (uint32_t l = 0; l < linking->trace->n_locations; l++)
        if (2 * linking->pairs[l] != linking->sent[l])
            return false;
    return true;
}

static lull_status merge_links(struct linking *linking, unsigned workers, struct lull_error *err)
{
    struct link_counting *all = &linking->parts[0];
    for (unsigned w = 1; w < workers; w++) {
        all->has_more_tags = all->has_more_tags || linking->parts[w].has_more_tags;
        for (size_t i = 0; i < linking->parts[w].count; i++)
            if (!add_messages(all, &linking->parts[w].links[i].link,
                              linking->parts[w].links[i].tag))
                return lull_fail(err, LULL_ERR_MEMORY, "no memory for the links between processes");
    }
    if (all->count > 0)
        qsort(all->links, all->count, sizeof *all->links, compare_links);
    return LULL_OK;
}

/* The links of a run by tags, each tag's one behind the other, in the order of compare_links. */
struct run_links {
    int32_t tags[LULL_SHAPE_TAGS]; /* ascending */
    size_t n_tags;
    bool has_more_tags;
    struct lull_links *of_tag; /* [n_tags] */
    struct lull_links all;
};

static int compare_tags(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Takes what has been counted of a run. */
static void keep_links(const struct linking *linking, uint32_t processes, struct lull_arena *arena,
                       struct run_links *ret_links)
{
    const struct link_counting *counting = &linking->parts[0];
    *ret_links = (struct run_links){
        .n_tags = counting->n_tags,
        .has_more_tags = counting->has_more_tags,
        .of_tag = lull_arena_zero(arena, counting->n_tags + 1, sizeof *ret_links->of_tag)};
    memcpy(ret_links->tags, counting->tags, sizeof ret_links->tags);
    qsort(ret_links->tags, ret_links->n_tags, sizeof *ret_links->tags, compare_tags);
    struct lull_link *links = lull_arena_zero(arena, counting->count + 1, sizeof *links);
    size_t at = 0;
    for (size_t t = 0; t < counting->n_tags; t++) {
        const size_t begin = at;
        for (; at < counting->count && counting->links[at].tag == ret_links->tags[t]; at++)
            links[at] = counting->links[at].link;
        ret_links->of_tag[t] = (struct lull_links){
            .processes = processes, .items = links + begin, .count = at - begin};
    }
    ret_links->all = lull_links_join(ret_links->of_tag, counting->n_tags, processes, arena);
    ret_links->all.in_pairs = is_in_pairs(linking);
    for (uint32_t l = 0; l < linking->trace->n_locations; l++)
        ret_links->all.own += linking->own[l];
}

static lull_status find_links(const struct lull_run *run, unsigned workers,
                              struct lull_arena *arena, struct run_links *ret_links,
                              struct lull_error *err)
{
    const struct lull_trace *trace = run->trace;
    const struct lull_scan_options options = {.mask = LULL_MASK(LULL_EVENT_SEND),
                                              .workers = workers,
                                              .application = 0,
                                              .unordered = true};
    unsigned parts = lull_scan_workers(trace, &options);
    struct linking linking = {
        .trace = trace,
        .parts = lull_arena_zero(arena, parts, sizeof *linking.parts),
        .last = lull_arena_zero(arena, trace->n_locations, sizeof *linking.last),
        .pairs = lull_arena_zero(arena, trace->n_locations, sizeof *linking.pairs),
        .sent = lull_arena_zero(arena, trace->n_locations, sizeof *linking.sent),
        .own = lull_arena_zero(arena, trace->n_locations, sizeof *linking.own)};
    for (uint32_t l = 0; l < trace->n_locations; l++)
        linking.last[l] = LULL_NONE;
    const struct lull_visitor visitor = {.context = &linking, .block = see_block};
    lull_status status = lull_scan(trace, &options, &visitor, err);
    if (status == LULL_OK)
        status = merge_links(&linking, parts, err);
    if (status == LULL_OK)
        keep_links(&linking, run->processes, arena, ret_links);
    for (unsigned w = 0; w < parts; w++) {
        lull_hash_free(&linking.parts[w].index);
        free(linking.parts[w].links);
    }
    return status;
}

/* ---- computation ----------------------------------------------------------------------------- */

struct runs_filling {
    const struct lull_runs *runs;
    struct lull_arena *arena;
    struct lull_measured_runs *measured;
    double *useful, *most_useful, *seconds, *cores, *threads;
    struct lull_processor_time *times; /* [runs] */
};

/* Mean useful time of the threads of a process, in seconds. */
static double useful_of_process(const struct runs_filling *filling, uint32_t run, uint32_t process)
{
    const struct lull_breakdown *breakdown = filling->runs->runs[run].breakdown;
    const struct lull_process_breakdown *p = &breakdown->processes[process];
    double seconds = 0;
    for (uint32_t t = p->first_thread; t < p->first_thread + p->n_cpu_threads; t++)
        seconds += lull_useful_seconds(&filling->times[run], breakdown, t);
    return seconds / p->n_cpu_threads;
}

static bool shares_cores(const struct runs_filling *filling, uint32_t run)
{
    return filling->cores[run] > 0 && filling->runs->runs[run].threads > filling->cores[run];
}

/* Whether the useful time of no run contains waiting for a core. */
static bool all_had_cores(const struct runs_filling *filling)
{
    for (uint32_t i = 0; i < filling->runs->count; i++)
        if (shares_cores(filling, i) && !filling->times[i].is_known)
            return false;
    return true;
}

static lull_status fill_times(struct runs_filling *filling, uint32_t run,
                              struct lull_notices *notices, struct lull_error *err)
{
    const struct lull_run *of = &filling->runs->runs[run];
    const struct lull_breakdown *breakdown = of->breakdown;
    double sum = 0, most = 0;
    lull_status status = lull_processor_time_read(of, filling->arena, &filling->times[run], err);
    if (status != LULL_OK)
        return status;
    filling->threads[run] = (double)of->threads / of->processes;
    filling->cores[run] = of->trace ? lull_cores_of(of->trace, filling->arena) : 0;
    if (shares_cores(filling, run) && !filling->times[run].is_known)
        lull_notices_add(
            notices, LULL_NOTICE_WARNING,
            "%s: %u threads share %.0f cores, and its computations contain waiting for "
            "one; lull record --counters processor-time leaves that out",
            of->path, of->threads, filling->cores[run]);
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        double useful = useful_of_process(filling, run, p);
        sum += useful;
        most = fmax(most, useful);
    }
    filling->useful[run] = sum / breakdown->n_processes;
    filling->most_useful[run] = most;
    filling->seconds[run] = (double)breakdown->runtime_ns / 1e9;
    return LULL_OK;
}

/* Mean useful time and whole time of a thread in all regions of one name, in seconds. */
static void region_times(const struct runs_filling *filling, uint32_t number, const char *name,
                         double *ret_useful, double *ret_whole)
{
    const struct lull_run *run = &filling->runs->runs[number];
    const struct lull_breakdown *breakdown = run->breakdown;
    int64_t useful = 0, whole = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++)
        if (strcmp(breakdown->regions[r].name, name) == 0) {
            useful += breakdown->regions[r].useful_ns;
            whole += breakdown->regions[r].inclusive_ns;
        }
    double waits = lull_processor_waits(&filling->times[number], name);
    *ret_useful = fmax(0, (double)useful / 1e9 - waits) / run->threads;
    *ret_whole = fmax(0, (double)whole / 1e9 - waits) / run->threads;
}

static bool is_known_region(const struct lull_measured_region *regions, size_t count,
                            const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(regions[i].name, name) == 0)
            return true;
    return false;
}

static void fill_region(const struct runs_filling *filling, const char *name,
                        struct lull_measured_region *ret_region, double *ret_share)
{
    uint32_t count = filling->runs->count;
    double *seconds = lull_arena_zero(filling->arena, count, sizeof *seconds), whole;
    *ret_region = (struct lull_measured_region){
        .name = lull_arena_strdup(filling->arena, name), .useful = seconds, .is_whole = true};
    *ret_share = 0;
    for (uint32_t i = 0; i < count; i++) {
        region_times(filling, i, name, &seconds[i], &whole);
        ret_region->is_whole = ret_region->is_whole && whole > 0 && seconds[i] > 0.99 * whole;
        *ret_share = fmax(*ret_share, seconds[i] / filling->seconds[i]);
    }
}

/* Takes the regions of user code that have 1 % of the time of some run or more, MOST_REGIONS at
 * most, and the rest as one region. */
static void fill_regions(struct runs_filling *filling)
{
    enum { MOST_REGIONS = 64 };
    const struct lull_runs *runs = filling->runs;
    struct lull_measured_region *regions =
        lull_arena_zero(filling->arena, MOST_REGIONS + 1, sizeof *regions);
    double *rest = lull_arena_zero(filling->arena, runs->count, sizeof *rest), share;
    size_t count = 0;
    memcpy(rest, filling->useful, runs->count * sizeof *rest);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        for (uint32_t r = 0; r < breakdown->n_regions && count < MOST_REGIONS; r++) {
            const char *name = breakdown->regions[r].name;
            if (breakdown->regions[r].useful_ns <= 0 || is_known_region(regions, count, name))
                continue;
            fill_region(filling, name, &regions[count], &share);
            if (share < 0.01)
                continue;
            for (uint32_t run = 0; run < runs->count; run++)
                rest[run] = fmax(0, rest[run] - regions[count].useful[run]);
            count++;
        }
    }
    regions[count++] = (struct lull_measured_region){.name = "", .useful = rest};
    filling->measured->regions = regions;
    filling->measured->n_regions = count;
}

/* ---- collective operations ------------------------------------------------------------------- */

static void fill_collectives(struct runs_filling *filling, struct lull_census *const *censuses)
{
    uint32_t n_runs = filling->runs->count;
    struct lull_measured_collective *list =
        lull_arena_zero(filling->arena, LULL_COLLECTIVES, sizeof *list);
    size_t count = 0;
    for (unsigned op = 0; op < LULL_COLLECTIVES; op++) {
        double *calls = lull_arena_zero(filling->arena, n_runs, sizeof *calls);
        double *bytes = lull_arena_zero(filling->arena, n_runs, sizeof *bytes), most = 0;
        for (uint32_t i = 0; i < n_runs; i++) {
            double all = (double)censuses[i]->collectives[op];
            calls[i] = all / filling->runs->runs[i].processes;
            bytes[i] = all > 0 ? (double)censuses[i]->collective_bytes[op] / all : 0;
            most = fmax(most, all);
        }
        if (most > 0 && op != LULL_COLLECTIVE_CREATE && op != LULL_COLLECTIVE_FREE)
            list[count++] = (struct lull_measured_collective){(uint8_t)op, calls, bytes};
    }
    filling->measured->collectives = list;
    filling->measured->n_collectives = count;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool have_one_size(const struct lull_runs *runs, const double *sizes)
{
    for (uint32_t i = 1; i < runs->count; i++)
        if (runs->runs[i].processes != runs->runs[0].processes ||
            (sizes && sizes[runs->runs[i].order] != sizes[runs->runs[0].order]))
            return false;
    return true;
}

/* Finds the marks of the last run, the largest, whose threads had a core each: marks of other runs
 * would tell of waiting for a core. */
static lull_status find_marks(struct runs_filling *filling, unsigned workers,
                              struct lull_error *err)
{
    uint32_t count = filling->runs->count;
    while (count > 0 && shares_cores(filling, count - 1))
        count--;
    if (count == 0)
        return LULL_OK;
    const struct lull_run *run = &filling->runs->runs[count - 1];
    struct lull_measured_marks *marks;
    lull_status status = marks_find(run, workers, filling->arena, &marks, err);
    if (status == LULL_OK) {
        filling->measured->marks = marks;
        filling->measured->n_marks = run->processes;
    }
    return status;
}

/* Tells the messages of all runs apart by their tags, if these are few. */
static void fill_tagged(struct runs_filling *filling, const struct run_links *runs)
{
    const size_t n_runs = filling->runs->count;
    struct lull_tagged *tagged = &filling->measured->tagged;
    bool few = true;
    for (size_t i = 0; i < n_runs; i++) {
        few = few && !runs[i].has_more_tags;
        for (size_t t = 0; t < runs[i].n_tags; t++)
            few = few && add_tag(tagged->tags, &tagged->n_tags, runs[i].tags[t]);
    }
    if (!few)
        tagged->n_tags = 0;
    qsort(tagged->tags, tagged->n_tags, sizeof *tagged->tags, compare_tags);
    struct lull_links *links =
        lull_arena_zero(filling->arena, n_runs * tagged->n_tags + 1, sizeof *links);
    for (size_t i = 0; i < n_runs; i++)
        for (size_t t = 0; t < tagged->n_tags; t++) {
            struct lull_links *of = &links[i * tagged->n_tags + t];
            of->processes = runs[i].all.processes;
            for (size_t k = 0; k < runs[i].n_tags; k++)
                if (runs[i].tags[k] == tagged->tags[t])
                    *of = runs[i].of_tag[k];
        }
    tagged->links = links;
}

static lull_status read_links_and_census(struct runs_filling *filling, unsigned workers,
                                         struct lull_error *err)
{
    const struct lull_runs *runs = filling->runs;
    struct lull_links *links = lull_arena_zero(filling->arena, runs->count, sizeof *links);
    struct run_links *by_tags = lull_arena_zero(filling->arena, runs->count, sizeof *by_tags);
    struct lull_census **censuses = lull_arena_zero(filling->arena, runs->count, sizeof *censuses);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        if (!run->trace)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: is a saved profile, expected a run with its messages", run->path);
        lull_status status = find_links(run, workers, filling->arena, &by_tags[i], err);
        links[i] = by_tags[i].all;
        const struct lull_reading whole = {.application = LULL_NONE, .workers = workers};
        if (status == LULL_OK)
            status = lull_census_take(run->trace, &whole, filling->arena, &censuses[i], err);
        if (status != LULL_OK)
            return status;
    }
    filling->measured->links = links;
    fill_tagged(filling, by_tags);
    fill_collectives(filling, censuses);
    return find_marks(filling, workers, err);
}

static lull_status fill(struct runs_filling *filling, const char *size_name, const double *sizes,
                        unsigned workers, struct lull_notices *notices, struct lull_error *err)
{
    const struct lull_runs *runs = filling->runs;
    uint32_t count = runs->count;
    const char **names = lull_arena_zero(filling->arena, count, sizeof *names);
    double *size = lull_arena_zero(filling->arena, count, sizeof *size);
    if (count < 2 || have_one_size(runs, sizes))
        return lull_fail(err, LULL_ERR_RANGE,
                         "a model is derived from two runs or more, with different numbers of "
                         "processes or sizes");
    filling->useful = lull_arena_zero(filling->arena, count, sizeof *filling->useful);
    filling->most_useful = lull_arena_zero(filling->arena, count, sizeof *filling->most_useful);
    filling->seconds = lull_arena_zero(filling->arena, count, sizeof *filling->seconds);
    filling->cores = lull_arena_zero(filling->arena, count, sizeof *filling->cores);
    filling->threads = lull_arena_zero(filling->arena, count, sizeof *filling->threads);
    filling->times = lull_arena_zero(filling->arena, count, sizeof *filling->times);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = lull_arena_strdup(filling->arena, runs->runs[i].name);
        size[i] = sizes ? sizes[runs->runs[i].order] : 1;
        lull_status status = fill_times(filling, i, notices, err);
        if (status != LULL_OK)
            return status;
    }
    fill_regions(filling);
    *filling->measured = (struct lull_measured_runs){
        .title = lull_arena_printf(filling->arena, "derived from %s and others", names[0]),
        .size_name = size_name,
        .n_runs = count,
        .names = names,
        .size = size,
        .cores = filling->cores,
        .threads = filling->threads,
        .seconds = filling->seconds,
        .useful = filling->useful,
        .most_useful = filling->most_useful,
        .had_cores = all_had_cores(filling),
        .regions = filling->measured->regions,
        .n_regions = filling->measured->n_regions};
    return read_links_and_census(filling, workers, err);
}

lull_status lull_derive_read(const struct lull_derive_wish *wish,
                             const struct lull_runs_options *options, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_measured_runs *ret_measured,
                             struct lull_error *err)
{
    struct lull_runs runs;
    struct runs_filling filling = {.runs = &runs, .arena = arena, .measured = ret_measured};
    lull_status status =
        lull_runs_load(wish->paths, wish->count, options, notices, arena, &runs, err);
    if (status == LULL_OK)
        status = lull_study_check(&runs, options->force, notices, arena, err);
    if (status == LULL_OK)
        status = fill(&filling, wish->size_name, wish->sizes, options->workers, notices, err);
    lull_runs_close(&runs);
    return status;
}
