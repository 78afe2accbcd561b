/* The state machine of a breakdown in short: only four kinds of time are told apart, and what
 * counts is when the kind changes. */
#include "replay/reader.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NEVER INT64_MAX

enum time_kind { BURST, FIXED, IN_MPI, OFF };
enum { NO_ACTIVITY = 0xff, MAX_DEPTH = 1 << 20, ITEMS_OF_AN_EVENT = 12, ROOM = 32 };

static const uint8_t kinds[LULL_ACTIVITIES] = {
    [LULL_MPI_P2P] = IN_MPI, [LULL_MPI_COLLECTIVE] = IN_MPI, [LULL_MPI_ONE_SIDED] = FIXED,
    [LULL_MPI_IO] = FIXED,   [LULL_MPI_OTHER] = IN_MPI,      [LULL_IO] = FIXED,
    [LULL_FLUSH] = FIXED,
};

struct region_use {
    uint8_t activity; /* NO_ACTIVITY: takes over what surrounds it */
    uint8_t call;     /* enum lull_replay_call */
    uint8_t mark;
    bool mpi, parallel, user;
    bool plain; /* a burst goes on inside, whatever surrounds it */
};

struct frame {
    uint32_t region;
    uint8_t activity;
    uint8_t outer_mark;
};

struct lull_replay_reader {
    const struct lull_replay_codes *codes;
    const struct lull_location *location;
    struct lull_cursor *cursor;
    struct lull_block block;
    uint32_t at;
    bool ended, opened;

    struct frame *stack;
    uint32_t depth, capacity;
    uint32_t mpi_depth, parallel_depth, team_depth;
    uint8_t mark;
    bool alive, off, master;
    uint8_t state; /* activity of the STATE or NO_ACTIVITY */
    int64_t state_end, flush_end, call_end;
    int64_t limit; /* the earliest of them */

    enum time_kind kind; /* of the time from `since` on */
    int64_t since;
    int64_t now;
    int64_t ns[2];    /* BURST and FIXED that wait to be handed out */
    int64_t began[2]; /* where they began */
    int64_t call_began;

    struct lull_replay_item *items; /* of the caller */
    uint32_t count;
    struct lull_follower *follower; /* of a thread that is not the master; else NULL */
};

/* Where a thread is told of the forks and joins of its master. */
struct lull_follower {
    struct lull_replay_reader *leader;
    struct lull_replay_item leads[ROOM], own[ROOM];
    uint32_t n_leads, leads_at, n_own, own_at;
    bool leads_over, own_over;
};

/* ---- functions of MPI ---------------------------------------------------------------------- */

static const struct {
    const char *name; /* without MPI_ */
    uint8_t call;
} calls[] = {
    {"send", LULL_CALL_SEND},         {"bsend", LULL_CALL_SEND},
    {"rsend", LULL_CALL_SEND},        {"ssend", LULL_CALL_SSEND},
    {"recv", LULL_CALL_RECV},         {"mrecv", LULL_CALL_RECV},
    {"sendrecv", LULL_CALL_SENDRECV}, {"sendrecv_replace", LULL_CALL_SENDRECV},
    {"isend", LULL_CALL_ISEND},       {"ibsend", LULL_CALL_ISEND},
    {"irsend", LULL_CALL_ISEND},      {"issend", LULL_CALL_ISSEND},
    {"irecv", LULL_CALL_IRECV},       {"imrecv", LULL_CALL_IRECV},
    {"wait", LULL_CALL_WAIT},         {"waitany", LULL_CALL_WAIT},
    {"waitsome", LULL_CALL_WAIT},     {"waitall", LULL_CALL_WAITALL},
    {"test", LULL_CALL_TEST},         {"testany", LULL_CALL_TEST},
    {"testsome", LULL_CALL_TEST},     {"testall", LULL_CALL_TEST},
};

/* "PMPI_Isend", "mpi_isend_", "MPI_Isend_c" */
static bool is_called(const char *region, const char *name)
{
    if (strncasecmp(region, "pmpi_", 5) == 0)
        region++;
    if (strncasecmp(region, "mpi_", 4) != 0)
        return false;
    size_t length = strlen(name);
    if (strncasecmp(region + 4, name, length) != 0)
        return false;
    static const char *const suffixes[] = {"", "_", "__", "_c", "_f08", "_f08ts"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(region + 4 + length, suffixes[i]) == 0)
            return true;
    return false;
}

static bool is_non_blocking(const char *region)
{
    const char *base = strncasecmp(region, "pmpi_", 5) == 0 ? region + 5 : region + 4;
    return strlen(base) > 1 && (base[0] == 'i' || base[0] == 'I');
}

static uint8_t find_call(const struct lull_region *region)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (is_called(region->name, calls[i].name))
            return calls[i].call;
    if (region->collective >= LULL_COLLECTIVE_CREATE || strlen(region->name) < 5)
        return LULL_CALL_OTHER;
    return is_non_blocking(region->name) ? LULL_CALL_ICOLLECTIVE : LULL_CALL_COLLECTIVE;
}

lull_status lull_replay_codes_create(const struct lull_trace *trace, struct lull_arena *arena,
                                     struct lull_replay_codes **ret_codes, struct lull_error *err)
{
    struct lull_replay_codes *codes = lull_arena_zero(arena, 1, sizeof *codes);
    codes->trace = trace;
    codes->from = 0;
    codes->to = trace->duration;
    codes->regions = lull_arena_try(arena, trace->n_regions + (size_t)1, sizeof *codes->regions);
    if (!codes->regions)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u regions", trace->path,
                         trace->n_regions);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        struct region_use *use = &codes->regions[i];
        uint8_t activity = lull_activity_on(region, LULL_LOCATION_THREAD);
        use->activity = activity == LULL_ACTIVITIES ? NO_ACTIVITY : activity;
        use->mpi = region->paradigm == LULL_PARADIGM_MPI;
        use->parallel = region->parallel;
        use->user = region->user && !use->mpi;
        use->call = use->mpi ? find_call(region) : LULL_CALL_OTHER;
        use->plain = !use->mpi && !use->parallel && !trace->has_states &&
                     (use->activity == NO_ACTIVITY || kinds[use->activity] == BURST);
    }
    *ret_codes = codes;
    return LULL_OK;
}

void lull_replay_codes_mark(struct lull_replay_codes *codes, uint32_t region, uint8_t mark)
{
    codes->regions[region].mark = mark;
    codes->regions[region].plain = false;
}

enum lull_replay_call lull_replay_call_of(const struct lull_replay_codes *codes, uint32_t region)
{
    return codes->regions[region].call;
}

/* ---- the kind of time ---------------------------------------------------------------------- */

static uint8_t base_of(const struct lull_replay_reader *r)
{
    if (r->location->role == LULL_THREAD_WORKER)
        return r->parallel_depth ? LULL_USEFUL : LULL_IDLE;
    return r->alive ? LULL_USEFUL : LULL_OTHER;
}

static uint8_t activity_of(const struct lull_replay_reader *r)
{
    uint8_t top = r->depth ? r->stack[r->depth - 1].activity : NO_ACTIVITY;
    if (!r->codes->trace->has_states) {
        if (r->flush_end != NEVER)
            return LULL_FLUSH;
        return top == NO_ACTIVITY ? base_of(r) : top;
    }
    if (r->state == LULL_USEFUL)
        return LULL_USEFUL;
    if (r->flush_end != NEVER)
        return LULL_FLUSH;
    if (top != NO_ACTIVITY && top != LULL_USEFUL)
        return top;
    return r->state == NO_ACTIVITY ? LULL_OTHER : r->state;
}

static enum time_kind kind_of(const struct lull_replay_reader *r)
{
    if (r->off)
        return OFF;
    uint8_t activity = activity_of(r);
    if (!r->master && r->parallel_depth == 0 && (activity == LULL_IDLE || activity == LULL_OTHER))
        return OFF; /* a worker waits for work, or has not begun */
    enum time_kind kind = kinds[activity];
    return kind == IN_MPI && r->parallel_depth > 0 ? BURST : kind;
}

/* ---- items --------------------------------------------------------------------------------- */

static struct lull_replay_item *add_item(struct lull_replay_reader *r, uint8_t kind, int64_t time)
{
    struct lull_replay_item *item = &r->items[r->count++];
    *item = (struct lull_replay_item){.kind = kind, .begin = time, .end = time};
    return item;
}

static uint32_t user_region(const struct lull_replay_reader *r)
{
    for (uint32_t i = r->depth; i-- > 0;)
        if (r->codes->regions[r->stack[i].region].user)
            return r->stack[i].region;
    return LULL_NONE;
}

static void hand_out(struct lull_replay_reader *r, enum time_kind kind, bool always)
{
    if (r->ns[kind] == 0 && !always)
        return;
    struct lull_replay_item *item =
        add_item(r, kind == BURST ? LULL_ITEM_BURST : LULL_ITEM_FIXED, r->now);
    item->begin = r->began[kind];
    item->ns = r->ns[kind];
    item->mark = r->mark;
    item->region = user_region(r);
    r->ns[kind] = 0;
}

/* Accounts for the time since the kind was last looked at. */
static void account(struct lull_replay_reader *r)
{
    if (r->kind == BURST || r->kind == FIXED) {
        int64_t from = r->since > r->codes->from ? r->since : r->codes->from;
        int64_t to = r->now < r->codes->to ? r->now : r->codes->to;
        if (r->ns[r->kind] == 0)
            r->began[r->kind] = r->since;
        r->ns[r->kind] += to > from ? to - from : 0;
    }
    r->since = r->now;
}

static void hand_out_all(struct lull_replay_reader *r)
{
    account(r);
    hand_out(r, BURST, false);
    hand_out(r, FIXED, false);
}

/* After a change of anything. */
static void refresh(struct lull_replay_reader *r)
{
    enum time_kind kind = kind_of(r);
    if (kind == r->kind)
        return;
    account(r);
    if (r->codes->pieces && (r->kind == BURST || r->kind == FIXED))
        hand_out(r, r->kind, false);
    r->kind = kind;
}

static void begin_call(struct lull_replay_reader *r, uint32_t region)
{
    account(r);
    hand_out(r, FIXED, false);
    if (r->ns[BURST] == 0)
        r->began[BURST] = r->now;
    hand_out(r, BURST, r->codes->pieces);
    struct lull_replay_item *item = add_item(r, LULL_ITEM_CALL_BEGIN, r->now);
    item->region = region;
    item->call = r->codes->regions[region].call;
    r->call_began = r->now;
}

static void end_call(struct lull_replay_reader *r, uint32_t region)
{
    hand_out_all(r);
    struct lull_replay_item *item = add_item(r, LULL_ITEM_CALL_END, r->now);
    item->begin = r->call_began;
    item->region = region;
    item->call = r->codes->regions[region].call;
}

/* ---- regions ------------------------------------------------------------------------------- */

static void change_parallel(struct lull_replay_reader *r, bool begins)
{
    bool outermost = begins ? r->parallel_depth++ == 0 : --r->parallel_depth == 0;
    if (!outermost || !r->master)
        return;
    hand_out_all(r);
    add_item(r, begins ? LULL_ITEM_FORK : LULL_ITEM_JOIN, r->now);
}

static bool grow_stack(struct lull_replay_reader *r)
{
    uint32_t capacity = r->capacity ? 2 * r->capacity : 16;
    struct frame *stack = r->depth < MAX_DEPTH ? realloc(r->stack, capacity * sizeof *stack) : NULL;
    if (!stack)
        return false;
    r->stack = stack;
    r->capacity = capacity;
    return true;
}

static bool enter(struct lull_replay_reader *r, uint32_t region)
{
    if (r->depth == r->capacity && !grow_stack(r))
        return false;
    const struct region_use *use = &r->codes->regions[region];
    if (use->mpi && r->mpi_depth++ == 0)
        begin_call(r, region);
    uint8_t outer_mark = r->mark;
    if (use->mark && use->mark != r->mark) {
        hand_out_all(r);
        r->mark = use->mark;
    }
    uint8_t outer = r->depth ? r->stack[r->depth - 1].activity : NO_ACTIVITY;
    r->stack[r->depth++] =
        (struct frame){.region = region,
                       .activity = use->activity == NO_ACTIVITY ? outer : use->activity,
                       .outer_mark = outer_mark};
    if (use->parallel)
        change_parallel(r, true);
    refresh(r);
    return true;
}

static void leave(struct lull_replay_reader *r)
{
    if (r->depth == 0)
        return;
    const struct frame frame = r->stack[r->depth - 1];
    const struct region_use *use = &r->codes->regions[frame.region];
    if (frame.outer_mark != r->mark) {
        hand_out_all(r);
        r->mark = frame.outer_mark;
    }
    r->depth--;
    if (use->parallel)
        change_parallel(r, false);
    if (use->mpi && --r->mpi_depth == 0)
        end_call(r, frame.region);
    refresh(r);
}

static void cut_call(struct lull_replay_reader *r)
{
    if (r->call_end == NEVER)
        return;
    r->call_end = NEVER;
    leave(r);
}

/* ---- time ---------------------------------------------------------------------------------- */

static void find_limit(struct lull_replay_reader *r)
{
    r->limit = r->state_end < r->flush_end ? r->state_end : r->flush_end;
    r->limit = r->call_end < r->limit ? r->call_end : r->limit;
}

/* Moves over all that ends by itself up to `time`. */
static void advance(struct lull_replay_reader *r, int64_t time)
{
    while (r->limit <= time) {
        int64_t at = r->limit;
        r->now = at > r->now ? at : r->now;
        if (r->call_end <= at)
            cut_call(r);
        if (r->state_end <= at) {
            r->state_end = NEVER;
            r->state = NO_ACTIVITY;
        }
        if (r->flush_end <= at)
            r->flush_end = NEVER;
        find_limit(r);
        refresh(r);
    }
    r->now = time > r->now ? time : r->now;
}

static int64_t end_of(const struct lull_replay_reader *r, const struct lull_event *event)
{
    int64_t most = r->codes->trace->duration;
    return event->duration > most - event->time ? most : event->time + event->duration;
}

/* A call of a function in a burst that goes on as one, as nearly all of them: nothing happens. */
static bool changes_nothing(const struct lull_replay_reader *r, const struct lull_event *event)
{
    const struct region_use *use = &r->codes->regions[event->id];
    return use->plain && r->kind == BURST && r->limit == NEVER && r->opened &&
           (r->master || r->parallel_depth > 0);
}

static lull_status regions(struct lull_replay_reader *r, const struct lull_event *event,
                           struct lull_error *err)
{
    cut_call(r);
    if (event->kind == LULL_EVENT_LEAVE) {
        leave(r);
        find_limit(r);
        return LULL_OK;
    }
    if (!enter(r, event->id))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: %s: more regions are open than fit",
                         r->codes->trace->path, r->location->name);
    if (event->kind == LULL_EVENT_CALL)
        r->call_end = end_of(r, event);
    find_limit(r);
    return LULL_OK;
}

static void begin_state(struct lull_replay_reader *r, const struct lull_event *event)
{
    if (event->duration == 0)
        return;
    r->state = r->codes->trace->states[event->id].activity;
    r->state_end = end_of(r, event);
}

static void change_team(struct lull_replay_reader *r, bool begins)
{
    if (begins) {
        r->team_depth++;
        change_parallel(r, true);
    } else if (r->team_depth > 0) {
        r->team_depth--;
        change_parallel(r, false);
    }
}

static void others(struct lull_replay_reader *r, const struct lull_event *event)
{
    switch (event->kind) {
    case LULL_EVENT_STATE:
        begin_state(r, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        change_team(r, event->kind == LULL_EVENT_TEAM_BEGIN);
        break;
    case LULL_EVENT_THREAD_BEGIN:
    case LULL_EVENT_THREAD_END:
        r->alive = event->kind == LULL_EVENT_THREAD_BEGIN;
        break;
    case LULL_EVENT_FLUSH:
        if (r->flush_end == NEVER || r->flush_end < end_of(r, event))
            r->flush_end = end_of(r, event);
        break;
    default: /* MEASURE_OFF and MEASURE_ON */
        r->off = event->kind == LULL_EVENT_MEASURE_OFF;
    }
    find_limit(r);
    refresh(r);
}

static const uint64_t message_mask = LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
                                     LULL_MASK(LULL_EVENT_COLLECTIVE_END);
static const uint64_t region_mask =
    LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) | LULL_MASK(LULL_EVENT_CALL);

static lull_status handle(struct lull_replay_reader *r, const struct lull_event *event,
                          struct lull_error *err)
{
    uint64_t kind = LULL_MASK(event->kind);
    if (event->kind == LULL_EVENT_CALL && changes_nothing(r, event))
        return LULL_OK;
    if (!r->opened) {
        r->opened = r->alive = true;
        r->now = event->time;
        refresh(r);
    }
    if (kind & message_mask) { /* those of a call may come at its very end */
        if (event->time >= r->limit)
            advance(r, r->limit == r->call_end && event->time == r->limit ? event->time - 1
                                                                          : event->time);
        r->now = event->time > r->now ? event->time : r->now;
        add_item(r, LULL_ITEM_EVENT, event->time)->event = event;
        return LULL_OK;
    }
    advance(r, event->time);
    if (kind & region_mask)
        return regions(r, event, err);
    others(r, event);
    return LULL_OK;
}

static void advance_to_end(struct lull_replay_reader *r)
{
    refresh(r);
    advance(r, r->codes->trace->duration);
}

static void finish(struct lull_replay_reader *r)
{
    if (r->call_end != NEVER)
        advance(r, r->call_end);
    r->alive = false;
    if (!r->codes->no_tail || r->codes->trace->has_states)
        advance_to_end(r);
    hand_out_all(r);
}

/* ---- the reader ---------------------------------------------------------------------------- */

static lull_status open_one(const struct lull_replay_codes *codes, uint32_t location,
                            struct lull_replay_reader **ret_reader, struct lull_error *err)
{
    const struct lull_trace *trace = codes->trace;
    struct lull_replay_reader *r = calloc(1, sizeof *r);
    if (!r)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    r->codes = codes;
    r->location = &trace->locations[location];
    r->master = trace->processes[r->location->process].first_location == location;
    r->state = NO_ACTIVITY;
    r->state_end = r->flush_end = r->call_end = r->limit = NEVER;
    r->kind = kind_of(r);
    r->ns[FIXED] = codes->shifts ? codes->shifts[r->location->process] : 0;
    uint64_t mask = (LULL_MASK_TIME & ~LULL_MASK(LULL_EVENT_COUNTERS)) | message_mask;
    lull_status status = lull_cursor_open(trace, location, mask, &r->cursor, err);
    if (status != LULL_OK) {
        free(r);
        return status;
    }
    *ret_reader = r;
    return LULL_OK;
}

lull_status lull_replay_reader_open(const struct lull_replay_codes *codes, uint32_t location,
                                    struct lull_replay_reader **ret_reader, struct lull_error *err)
{
    struct lull_replay_reader *r;
    lull_status status = open_one(codes, location, &r, err);
    if (status != LULL_OK)
        return status;
    if (!r->master && r->location->role != LULL_THREAD_FREE) {
        uint32_t leader = codes->trace->processes[r->location->process].first_location;
        r->follower = calloc(1, sizeof *r->follower);
        status = r->follower ? open_one(codes, leader, &r->follower->leader, err)
                             : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                                         codes->trace->path);
    }
    if (status != LULL_OK) {
        lull_replay_reader_close(r);
        return status;
    }
    *ret_reader = r;
    return LULL_OK;
}

static lull_status refill(struct lull_replay_reader *r, struct lull_error *err)
{
    if (r->at < r->block.count || r->ended)
        return LULL_OK;
    lull_status status = lull_cursor_next(r->cursor, &r->block, err);
    r->at = 0;
    r->ended = status == LULL_OK && r->block.count == 0;
    return status;
}

static lull_status next_own(struct lull_replay_reader *r, struct lull_replay_item *items,
                            uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    r->items = items;
    r->count = 0;
    while (r->count == 0 && !r->ended) {
        lull_status status = refill(r, err);
        while (status == LULL_OK && r->at < r->block.count && r->count + ITEMS_OF_AN_EVENT <= room)
            status = handle(r, &r->block.events[r->at++], err);
        if (status != LULL_OK)
            return status;
        if (r->ended)
            finish(r);
    }
    *ret_count = r->count;
    return LULL_OK;
}

/* The next fork or join of the master; false: there is none any more. */
static lull_status find_lead(struct lull_follower *f, struct lull_error *err)
{
    while (!f->leads_over) {
        for (; f->leads_at < f->n_leads; f->leads_at++) {
            uint8_t kind = f->leads[f->leads_at].kind;
            if (kind == LULL_ITEM_FORK || kind == LULL_ITEM_JOIN)
                return LULL_OK;
        }
        f->leads_at = 0;
        lull_status status = next_own(f->leader, f->leads, ROOM, &f->n_leads, err);
        if (status != LULL_OK)
            return status;
        f->leads_over = f->n_leads == 0;
    }
    return LULL_OK;
}

/* The part of a stretch of time before a fork or join; the rest stays. */
static struct lull_replay_item split(struct lull_replay_item *item, int64_t at)
{
    struct lull_replay_item part = *item;
    part.end = at;
    part.ns = item->ns < at - item->begin ? item->ns : at - item->begin;
    item->begin = at;
    item->ns -= part.ns;
    return part;
}

/* One more item of a thread, with the forks and joins of its master where they belong. */
static lull_status follow(struct lull_replay_reader *r, struct lull_replay_item *ret_item,
                          bool *ret_some, struct lull_error *err)
{
    struct lull_follower *f = r->follower;
    lull_status status = find_lead(f, err);
    if (status == LULL_OK && f->own_at == f->n_own && !f->own_over) {
        f->own_at = 0;
        status = next_own(r, f->own, ROOM, &f->n_own, err);
        f->own_over = f->n_own == 0;
    }
    if (status != LULL_OK)
        return status;
    struct lull_replay_item *own = f->own_at < f->n_own ? &f->own[f->own_at] : NULL;
    const struct lull_replay_item *lead = f->leads_over ? NULL : &f->leads[f->leads_at];
    *ret_some = own || lead;
    if (lead && (!own || own->begin >= lead->begin)) {
        *ret_item = *lead;
        f->leads_at++;
    } else if (lead && own->end > lead->begin &&
               (own->kind == LULL_ITEM_BURST || own->kind == LULL_ITEM_FIXED)) {
        *ret_item = split(own, lead->begin);
    } else if (own) {
        *ret_item = *own;
        f->own_at++;
    }
    return LULL_OK;
}

lull_status lull_replay_reader_next(struct lull_replay_reader *r, struct lull_replay_item *items,
                                    uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    if (!r->follower)
        return next_own(r, items, room, ret_count, err);
    *ret_count = 0;
    for (bool some = true; *ret_count < room;) {
        /* what items point to lives until the own items are read on */
        if (*ret_count > 0 && r->follower->own_at == r->follower->n_own && !r->follower->own_over)
            break;
        lull_status status = follow(r, &items[*ret_count], &some, err);
        if (status != LULL_OK || !some)
            return status;
        ++*ret_count;
    }
    return LULL_OK;
}

int64_t lull_replay_reader_now(const struct lull_replay_reader *r)
{
    return r->now;
}

void lull_replay_reader_close(struct lull_replay_reader *r)
{
    if (!r)
        return;
    if (r->follower)
        lull_replay_reader_close(r->follower->leader);
    free(r->follower);
    lull_cursor_close(r->cursor);
    free(r->stack);
    free(r);
}

#include "replay/lost.h"

bool lull_lost_is_epoch(const struct lull_trace *trace, const struct lull_event *event,
                        uint32_t n_processes)
{
    static const bool waits_for_all[LULL_COLLECTIVES] = {
        [LULL_COLLECTIVE_BARRIER] = true,        [LULL_COLLECTIVE_ALLGATHER] = true,
        [LULL_COLLECTIVE_ALLTOALL] = true,       [LULL_COLLECTIVE_ALLREDUCE] = true,
        [LULL_COLLECTIVE_REDUCE_SCATTER] = true, [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = true,
    };
    if (event->kind != LULL_EVENT_COLLECTIVE_END || event->id >= trace->n_comms ||
        event->op >= LULL_COLLECTIVES || !waits_for_all[event->op] ||
        event->collective.request != LULL_NO_REQUEST)
        return false;
    return trace->comms[event->id].size == n_processes;
}
