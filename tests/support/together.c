#include "support/together.h"
#include "support/test.h"

#include "support/check_trace.h"
#include "support/same_trace.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

/* ---- members --------------------------------------------------------------------------------- */

struct meeting {
    const char *run;
    unsigned members;
    pthread_mutex_t lock;
    pthread_cond_t all;
    unsigned waiting, rounds;
    bool failed; /* one of them has; set while they wait for each other */
    struct member *list;
};

struct member {
    struct meeting *meeting;
    struct lull_exchange exchange;
    uint64_t sight;
    const void *bytes;
    size_t size;
    bool parted; /* it has failed together with the others */
    struct lull_trace *trace;
    lull_status status;
    struct lull_error err;
};

static void wait_for_all(struct meeting *meeting)
{
    pthread_mutex_lock(&meeting->lock);
    const unsigned round = meeting->rounds;
    if (++meeting->waiting == meeting->members) {
        meeting->waiting = 0;
        meeting->rounds++;
        pthread_cond_broadcast(&meeting->all);
    }
    while (meeting->rounds == round)
        pthread_cond_wait(&meeting->all, &meeting->lock);
    pthread_mutex_unlock(&meeting->lock);
}

static lull_status agree(struct member *member, lull_status status, struct lull_error *err)
{
    struct meeting *meeting = member->meeting;
    pthread_mutex_lock(&meeting->lock);
    meeting->failed |= status != LULL_OK;
    pthread_mutex_unlock(&meeting->lock);
    wait_for_all(meeting);
    if (!meeting->failed)
        return LULL_OK;
    member->parted = true;
    return status != LULL_OK ? status : lull_fail(err, LULL_ERR_CANCELLED, "another has failed");
}

static lull_status exchange(void *context, lull_status status, uint64_t sight, const void *bytes,
                            size_t size,
                            lull_status (*take)(void *context, uint32_t index, const void *bytes,
                                                size_t size, struct lull_error *err),
                            void *take_context, struct lull_error *err)
{
    struct member *member = context;
    const struct meeting *meeting = member->meeting;
    member->sight = sight;
    member->bytes = bytes;
    member->size = size;
    status = agree(member, status, err);
    if (status != LULL_OK)
        return status;
    if (meeting->list[0].sight != sight)
        abort(); /* not by cmocka: it is no thread of its */
    for (uint32_t m = 0; status == LULL_OK && m < meeting->members; m++)
        status = take(take_context, m, meeting->list[m].bytes, meeting->list[m].size, err);
    wait_for_all(member->meeting); /* the bytes may go */
    return status;
}

static void *open_run(void *context)
{
    struct member *member = context;
    member->status = lull_trace_open_together(member->meeting->run, &member->exchange,
                                              &member->trace, &member->err);
    if (!member->parted) {
        struct lull_error ignored;
        agree(member, member->status, &ignored);
    }
    return NULL;
}

static void open_all(struct meeting *meeting, struct member *members)
{
    pthread_t threads[MOST];
    for (unsigned m = 0; m < meeting->members; m++) {
        members[m] = (struct member){.meeting = meeting};
        members[m].exchange = (struct lull_exchange){
            .index = m, .size = meeting->members, .context = &members[m], .all = exchange};
    }
    for (unsigned m = 0; m < meeting->members; m++)
        pthread_create(&threads[m], NULL, open_run, &members[m]);
    for (unsigned m = 0; m < meeting->members; m++)
        pthread_join(threads[m], NULL);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool differ(struct lull_error *ret_difference, const char *what)
{
    lull_fail(ret_difference, LULL_ERR_RANGE, "%s differs", what);
    return false;
}

static bool same_rest(const struct lull_trace *a, const struct lull_trace *b,
                      struct lull_error *ret_difference)
{
    if (a->events != b->events || a->events_begin != b->events_begin ||
        a->events_end != b->events_end || a->has_sums != b->has_sums || a->has_main != b->has_main)
        return differ(ret_difference, "which events there are");
    if (a->held != b->held || a->not_held != b->not_held || a->n_left_out != b->n_left_out ||
        !a->disturbed != !b->disturbed)
        return differ(ret_difference, "what a recorder says of itself");
    if (a->n_region_memory != b->n_region_memory ||
        (a->n_region_memory > 0 && memcmp(a->region_memory, b->region_memory,
                                          a->n_region_memory * sizeof *a->region_memory) != 0))
        return differ(ret_difference, "the memory of regions");
    for (uint32_t i = 0; i < a->n_left_out; i++)
        if (memcmp(&a->left_out[i], &b->left_out[i], sizeof *a->left_out) != 0)
            return differ(ret_difference, "a function that is left out");
    for (uint32_t p = 0; p < a->n_processes; p++)
        if (a->processes[p].main_begin != b->processes[p].main_begin ||
            a->processes[p].main_end != b->processes[p].main_end)
            return differ(ret_difference, "a main part");
    for (uint32_t l = 0; l < a->n_locations; l++) {
        const struct lull_location *x = &a->locations[l], *y = &b->locations[l];
        struct lull_cores left = x->cores, right = y->cores;
        const bool set = left.set && right.set &&
                         memcmp(left.set, right.set, LULL_CORE_WORDS * sizeof *left.set) == 0;
        if (!set && (left.set || right.set))
            return differ(ret_difference, "a set of cores");
        left.set = right.set = NULL;
        if (memcmp(&left, &right, sizeof left) != 0 || x->cut != y->cut ||
            lull_trace_is_left_out(a, l) != lull_trace_is_left_out(b, l))
            return differ(ret_difference, "a location");
    }
    return true;
}

static bool same_quirks(const struct lull_trace *a, const struct lull_trace *b,
                        struct lull_error *ret_difference)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_quirk *left, *right;
    const uint32_t n = lull_trace_quirks(a, arena, &left);
    bool same = n == lull_trace_quirks(b, arena, &right);
    for (uint32_t i = 0; same && i < n; i++)
        same = strcmp(left[i].kind, right[i].kind) == 0 &&
               strcmp(left[i].first, right[i].first) == 0 && left[i].count == right[i].count;
    lull_arena_destroy(arena);
    return same || differ(ret_difference, "a quirk");
}

static bool same_sums(const struct lull_trace *a, const struct lull_trace *b,
                      struct lull_error *ret_difference)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    bool same = true;
    for (uint32_t l = 0; same && a->has_sums && l < a->n_locations; l++) {
        struct lull_sums left = {0}, right = {0};
        struct lull_error x = {""}, y = {""};
        same = lull_trace_read_sums(a, l, arena, &left, &x) ==
                   lull_trace_read_sums(b, l, arena, &right, &y) &&
               strcmp(x.text, y.text) == 0 && left.n_regions == right.n_regions;
        for (uint32_t i = 0; same && i < left.n_regions; i++)
            same = left.regions[i].region == right.regions[i].region &&
                   memcmp(left.regions[i].ns, right.regions[i].ns, sizeof left.regions->ns) == 0 &&
                   memcmp(left.regions[i].visits, right.regions[i].visits,
                          sizeof left.regions->visits) == 0;
    }
    lull_arena_destroy(arena);
    return same || differ(ret_difference, "a sum");
}

/* All events, or why they cannot be read. */
static bool same_readings(const struct lull_trace *a, const struct lull_trace *b,
                          struct lull_error *ret_difference)
{
    static const struct same_events_options all = {.same_definitions = true};
    struct lull_error left = {""}, right = {""}, broken;
    const lull_status status = check_trace(a, 1, &left, &broken);
    if (check_trace(b, 1, &right, &broken) != status || strcmp(left.text, right.text) != 0)
        return differ(ret_difference, "whether it can be read");
    return status != LULL_OK || same_events(a, b, &all, ret_difference);
}

static bool is_said(const struct member *members, unsigned n, lull_status status, const char *text)
{
    bool said = false;
    for (unsigned m = 0; m < n; m++)
        said |= members[m].status == status && strcmp(members[m].err.text, text) == 0;
    return said;
}

static bool alike(const struct lull_trace *a, const struct lull_trace *b,
                  struct lull_error *ret_difference)
{
    return same_definitions(a, b, 0, ret_difference) && same_rest(a, b, ret_difference);
}

/* Of one member, a different one each time, the events are read, too: all have been told the same. Reading adds
 * to what a trace says of itself, so that all members are looked at before. */
static bool compare_traces(const struct lull_trace *alone, const struct member *members, unsigned n,
                           struct lull_error *ret_difference)
{
    static unsigned calls;
    const unsigned reader = calls++ % n;
    for (unsigned m = 0; m < n; m++)
        if (!alike(alone, members[m].trace, ret_difference))
            return false;
    for (unsigned m = 0; m < n; m++) {
        const struct lull_trace *trace = members[m].trace;
        if (m == reader && (!same_readings(alone, trace, ret_difference) ||
                            !same_rest(alone, trace, ret_difference)))
            return false;
        if (!same_sums(alone, trace, ret_difference) ||
            (m == 0 && !same_quirks(alone, trace, ret_difference)))
            return false;
    }
    return true;
}

static bool compare(const struct lull_trace *alone, lull_status status, const char *text,
                    const struct member *members, unsigned n, struct lull_error *ret_difference)
{
    for (unsigned m = 0; m < n; m++)
        if ((members[m].status == LULL_OK) != (status == LULL_OK)) {
            lull_fail(ret_difference, LULL_ERR_RANGE, "alone '%s', member %u says '%s'", text, m,
                      members[m].status == LULL_OK ? "" : members[m].err.text);
            return false;
        }
    if (status == LULL_OK)
        return compare_traces(alone, members, n, ret_difference);
    if (is_said(members, n, status, text))
        return true;
    lull_fail(ret_difference, LULL_ERR_RANGE, "nobody says '%s'", text);
    return false;
}

static void meet(struct meeting *meeting, struct member *list)
{
    pthread_mutex_init(&meeting->lock, NULL);
    pthread_cond_init(&meeting->all, NULL);
    open_all(meeting, list);
}

static void part(struct meeting *meeting)
{
    for (unsigned m = 0; m < meeting->members; m++)
        lull_trace_close(meeting->list[m].trace);
    pthread_cond_destroy(&meeting->all);
    pthread_mutex_destroy(&meeting->lock);
}

bool opens_together(const char *run, unsigned members, struct lull_error *ret_difference)
{
    struct member list[MOST];
    struct meeting meeting = {.run = run, .members = members, .list = list};
    struct lull_trace *alone = NULL;
    struct lull_error err = {""};
    lull_status status = lull_trace_open(run, &alone, &err);
    meet(&meeting, list);
    const bool same = compare(alone, status, err.text, list, members, ret_difference);
    part(&meeting);
    lull_trace_close(alone);
    return same;
}

void together_look(const char *run, unsigned members,
                   void (*look)(unsigned member, const struct lull_trace *trace))
{
    struct member list[MOST];
    struct meeting meeting = {.run = run, .members = members, .list = list};
    meet(&meeting, list);
    for (unsigned m = 0; m < members; m++) {
        fail_if(list[m].status != LULL_OK, "member %u: %s", m, list[m].err.text);
        look(m, list[m].trace);
    }
    part(&meeting);
}

void together_check(const char *run)
{
    static const unsigned sizes[] = {2, 3, 5};
    static unsigned calls;
    struct lull_error difference;
    const unsigned members = sizes[calls++ % 3];
    fail_if(!opens_together(run, members, &difference), "%s, opened by %u: %s", run, members,
            difference.text);
}

void together_check_some(const char *run)
{
    static unsigned calls;
    if (calls++ % 16 == 0)
        together_check(run);
}
