#include "wait/shared/office.h"

#include "base/array.h"
#include "base/clock.h"
#include "team/ending.h"
#include "team/patience.h"
#include "wait/shared/letters.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PARCEL = 64 << 10,
    MARK_EVERY = 1 << 20, /* bytes of letters, of which this member may be ahead by ... */
    MARKS = 64            /* ... so many times */
};
enum {
    FLUSH_EVERY_NS = 2000000,
    HEAR_EVERY_NS = 50000, /* nobody is told more often how far others are */
    LOOKS = 20,
    REST_NS = 1000000, /* of a reader that is ahead, */
    MOST_RESTS = 100   /* ... for each block */
};

enum parcel_kind { LETTERS, READ_TO, NOTE };

struct head {
    uint64_t kind;
    union {
        int64_t time;                 /* READ_TO */
        struct lull_ending_note note; /* NOTE */
    };
};

enum { HEAD_OF_LETTERS = sizeof(uint64_t) };

/* Another member. */
struct other {
    unsigned char *bytes; /* a parcel of letters that wait for company; NULL: there are none */
    size_t size;
    uint32_t n_ports; /* of queues whose receivers it has */
    uint32_t *queues; /* by port, of those that it sends on */
    size_t n_queues, queue_capacity;
    int64_t read_to; /* as it told */
};

struct wait_office {
    struct lull_waits *waits;
    struct lull_team *team;
    unsigned workers;
    _Atomic int64_t *read_to; /* [workers] */
    atomic_bool ahead;        /* readers are to rest */
    atomic_bool stops;        /* the thread */
    pthread_t thread;
    bool has_thread;

    /* under the lock of the waits */
    struct other *others; /* [members] */
    struct wait_told told, heard;
    struct lull_ending ending;
    lull_status status; /* of the first failure */
    struct lull_error error;
    int64_t flushed_at, told_time;
    uint64_t posted;      /* bytes, since the last mark */
    int64_t marks[MARKS]; /* how far this member had been read: n_marks were there in all */
    uint64_t n_marks;
};

static void fail_office(struct wait_office *office, lull_status status,
                        const struct lull_error *err)
{
    if (office->status != LULL_OK || status == LULL_OK)
        return;
    office->status = status;
    office->error = *err;
}

/* ---- how far ------------------------------------------------------------------------------- */

static int64_t own_time(const struct wait_office *office)
{
    int64_t least = INT64_MAX;
    for (unsigned w = 0; w < office->workers; w++) {
        const int64_t time = atomic_load_explicit(&office->read_to[w], memory_order_relaxed);
        least = time < least ? time : least;
    }
    return least;
}

static int64_t time_of_others(const struct wait_office *office)
{
    int64_t least = INT64_MAX;
    for (uint32_t m = 0; m < lull_team_size(office->team); m++)
        if (m != lull_team_index(office->team) && office->others[m].read_to < least)
            least = office->others[m].read_to;
    return least;
}

static void look_how_far(struct wait_office *office)
{
    const int64_t oldest = office->marks[office->n_marks % MARKS];
    atomic_store(&office->ahead, office->n_marks >= MARKS && oldest > time_of_others(office));
}

static void count_posted(struct wait_office *office, size_t size)
{
    office->posted += size;
    if (office->posted < MARK_EVERY)
        return;
    office->posted = 0;
    office->marks[office->n_marks++ % MARKS] = own_time(office);
    look_how_far(office);
}

/* ---- sending ------------------------------------------------------------------------------- */

static void tell(struct wait_office *office, uint32_t to, const struct head *head)
{
    struct lull_error err;
    fail_office(office, lull_team_post(office->team, LULL_TEAM_WAITS, to, head, sizeof *head, &err),
                &err);
}

static lull_status tell_note(void *context, uint32_t to, const struct lull_ending_note *note,
                             struct lull_error *err)
{
    const struct wait_office *office = context;
    const struct head head = {.kind = NOTE, .note = *note};
    return lull_team_post(office->team, LULL_TEAM_WAITS, to, &head, sizeof head, err);
}

static void post_parcel(struct wait_office *office, uint32_t to)
{
    struct other *other = &office->others[to];
    struct lull_error err;
    fail_office(office,
                lull_team_post(office->team, LULL_TEAM_WAITS, to, other->bytes, other->size, &err),
                &err);
    office->ending.sent++;
    count_posted(office, other->size);
    free(other->bytes);
    other->bytes = NULL;
}

/* Also tells the others how far this member has been read. */
static void flush(struct wait_office *office)
{
    const int64_t time = own_time(office);
    const struct head head = {.kind = READ_TO, .time = time};
    const bool tells = time != office->told_time;
    for (uint32_t m = 0; m < lull_team_size(office->team); m++) {
        if (office->others[m].bytes)
            post_parcel(office, m);
        if (tells && m != lull_team_index(office->team))
            tell(office, m, &head);
    }
    office->told_time = time;
}

static void flush_sometimes(struct wait_office *office)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    int64_t every = (int64_t)lull_team_size(office->team) * HEAR_EVERY_NS;
    every = every > FLUSH_EVERY_NS ? every : FLUSH_EVERY_NS;
    if (now - office->flushed_at < every)
        return;
    office->flushed_at = now;
    flush(office);
}

unsigned char *lull_wait_office_room(struct wait_office *office, uint32_t member, size_t most)
{
    struct other *other = &office->others[member];
    const uint64_t kind = LETTERS;
    if (other->bytes && other->size + most > PARCEL)
        post_parcel(office, member);
    if (!other->bytes) {
        if (!(other->bytes = malloc(PARCEL)))
            return NULL;
        memcpy(other->bytes, &kind, HEAD_OF_LETTERS);
        other->size = HEAD_OF_LETTERS;
    }
    return other->bytes + other->size;
}

void lull_wait_office_fill(struct wait_office *office, uint32_t member, size_t size)
{
    office->others[member].size += size;
}

/* ---- ports --------------------------------------------------------------------------------- */

uint32_t lull_wait_office_new_port(struct wait_office *office, uint32_t member)
{
    return office->others[member].n_ports++;
}

bool lull_wait_office_add_port(struct wait_office *office, uint32_t member, uint32_t queue)
{
    struct other *other = &office->others[member];
    if (!lull_array_reserve(&other->queues, &other->queue_capacity, other->n_queues + 1,
                            sizeof *other->queues))
        return false;
    other->queues[other->n_queues++] = queue;
    return true;
}

uint32_t lull_wait_office_queue(const struct wait_office *office, uint32_t member, uint32_t port)
{
    return office->others[member].queues[port];
}

struct wait_told *lull_wait_office_told(struct wait_office *office)
{
    return &office->told;
}

struct wait_told *lull_wait_office_heard(struct wait_office *office)
{
    return &office->heard;
}

/* ---- taking -------------------------------------------------------------------------------- */

static void take_parcel(struct wait_office *office, const struct lull_team_parcel *parcel)
{
    const struct head *head = parcel->bytes;
    struct lull_error err;
    switch ((enum parcel_kind)head->kind) {
    case LETTERS:
        office->ending.received++;
        lull_wait_read_letters(office->waits, parcel->from,
                               (const unsigned char *)parcel->bytes + HEAD_OF_LETTERS,
                               parcel->size - HEAD_OF_LETTERS);
        lull_wait_run_ready(office->waits);
        break;
    case READ_TO:
        office->others[parcel->from].read_to = head->time;
        look_how_far(office);
        break;
    case NOTE:
        if (office->ending.settled) /* what it has written counts as sent */
            flush(office);
        fail_office(office, lull_ending_hear(&office->ending, parcel->from, &head->note, &err),
                    &err);
        break;
    }
}

/* What has come; by one thread at a time, without the lock. */
static bool take_all(struct wait_office *office)
{
    struct lull_waits *waits = office->waits;
    bool any = false;
    for (bool more = true; more;) {
        struct lull_team_parcel parcel;
        struct lull_error err;
        lull_status status = lull_team_take(office->team, LULL_TEAM_WAITS, &parcel, &err);
        pthread_mutex_lock(&waits->lock);
        fail_office(office, status, &err);
        if (office->status == LULL_OK && !waits->no_memory && parcel.bytes)
            take_parcel(office, &parcel);
        more = office->status == LULL_OK && parcel.bytes && !office->ending.over;
        pthread_mutex_unlock(&waits->lock);
        any |= parcel.bytes != NULL;
        lull_team_give_back(&parcel);
    }
    return any;
}

static void *serve(void *context)
{
    struct wait_office *office = context;
    struct lull_patience patience = {.at_once = 0};
    while (!atomic_load(&office->stops)) {
        const bool any = take_all(office);
        pthread_mutex_lock(&office->waits->lock);
        flush_sometimes(office);
        const bool failed = office->status != LULL_OK;
        pthread_mutex_unlock(&office->waits->lock);
        if (failed)
            break;
        if (any)
            lull_patience_renew(&patience);
        lull_patience_wait(lull_patience_lose(&patience));
    }
    return NULL;
}

static void end_thread(struct wait_office *office)
{
    if (!office->has_thread)
        return;
    atomic_store(&office->stops, true);
    pthread_join(office->thread, NULL);
    office->has_thread = false;
}

static lull_status failure(const struct wait_office *office, struct lull_error *err)
{
    return office->status == LULL_OK ? LULL_OK
                                     : lull_fail(err, office->status, "%s", office->error.text);
}

lull_status lull_wait_office_reads(struct lull_waits *waits, unsigned worker, int64_t time,
                                   struct lull_error *err)
{
    struct wait_office *office = waits->office;
    const struct timespec span = {.tv_nsec = REST_NS};
    atomic_store_explicit(&office->read_to[worker], time, memory_order_relaxed);
    for (unsigned i = 0; i < MOST_RESTS && atomic_load(&office->ahead) && time != INT64_MAX; i++)
        nanosleep(&span, NULL);
    pthread_mutex_lock(&waits->lock);
    lull_status status = failure(office, err);
    pthread_mutex_unlock(&waits->lock);
    return status;
}

/* Nothing has come. */
static void wait_a_little(struct wait_office *office, struct lull_patience *patience)
{
    struct lull_error err;
    if (lull_patience_is_worth_a_word(patience, true)) {
        pthread_mutex_lock(&office->waits->lock);
        fail_office(office, lull_ending_report(&office->ending, &err), &err);
        pthread_mutex_unlock(&office->waits->lock);
    }
    lull_patience_wait(lull_patience_lose(patience));
}

lull_status lull_wait_office_settle(struct lull_waits *waits, struct lull_error *err)
{
    struct wait_office *office = waits->office;
    struct lull_patience patience = {.at_once = LOOKS};
    end_thread(office);
    lull_ending_again(&office->ending);
    office->ending.settled = true;
    flush(office);
    while (office->status == LULL_OK && !waits->no_memory && !office->ending.over) {
        const bool any = take_all(office);
        flush(office);
        if (office->ending.over || office->status != LULL_OK)
            break;
        if (any)
            lull_patience_renew(&patience);
        else
            wait_a_little(office, &patience);
    }
    return failure(office, err);
}

/* ---- life ---------------------------------------------------------------------------------- */

lull_status lull_wait_office_open(struct lull_waits *waits, unsigned workers,
                                  struct lull_error *err)
{
    struct lull_team *team = waits->options.division->team;
    const uint32_t members = lull_team_size(team);
    struct wait_office *office = calloc(1, sizeof *office);
    lull_team_begin(team, LULL_TEAM_WAITS);
    if (!office)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for waits");
    waits->office = office;
    office->waits = waits;
    office->team = team;
    office->workers = workers;
    office->told_time = INT64_MIN;
    office->read_to = calloc(workers, sizeof *office->read_to);
    office->others = calloc(members, sizeof *office->others);
    office->ending = (struct lull_ending){.team = team, .tell = tell_note, .context = office};
    if (!office->read_to || !office->others || !lull_ending_open(&office->ending))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for waits");
    for (uint32_t m = 0; m < members; m++)
        office->others[m].read_to = INT64_MIN;
    for (unsigned w = 0; w < workers; w++)
        atomic_store(&office->read_to[w], INT64_MIN);
    office->has_thread = pthread_create(&office->thread, NULL, serve, office) == 0;
    return office->has_thread ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "cannot start a thread");
}

void lull_wait_office_close(struct lull_waits *waits)
{
    struct wait_office *office = waits->office;
    if (!office)
        return;
    end_thread(office);
    for (uint32_t m = 0; office->others && m < lull_team_size(office->team); m++) {
        free(office->others[m].bytes);
        free(office->others[m].queues);
    }
    lull_wait_told_free(&office->told);
    lull_wait_told_free(&office->heard);
    lull_ending_close(&office->ending);
    free(office->others);
    free(office->read_to);
    free(office);
    waits->office = NULL;
}
