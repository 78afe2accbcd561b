#include "replay/ideal/lead.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

/* A member tells all others: however many there are, nobody is to hear of it more often than every
 * 50 us. */
enum { MARKS = 64, TELL_EVERY_NS = 10000000, HEAR_EVERY_NS = 50000 };

/* Letters up to this one were posted by readers that had come to this time. */
struct mark {
    int64_t time;
    uint64_t letters;
};

struct lead {
    uint64_t posted, needed; /* letters; needed: those that others may have taken already */
    struct mark marks[MARKS];
    uint32_t n_marks;
    atomic_bool too_large;
};

struct leads {
    struct lull_ideal *ideal;
    pthread_mutex_t lock; /* of all below */
    uint64_t most;        /* letters of a share */
    int64_t *read_to;     /* [members]: how far they have been read, as they told */
    uint32_t n_members, own;
    struct lead *leads;                /* of the shares here */
    int64_t told, told_at, tell_every; /* ns */
};

struct leads *lull_leads_create(struct lull_ideal *ideal)
{
    struct leads *leads = calloc(1, sizeof *leads);
    struct lull_team *team = ideal->options->division->team;
    const unsigned n_shares = ideal->end_share - ideal->first_share;
    if (!leads)
        return NULL;
    pthread_mutex_init(&leads->lock, NULL);
    leads->ideal = ideal;
    leads->n_members = lull_team_size(team);
    leads->own = lull_team_index(team);
    leads->told = -1;
    leads->tell_every = (int64_t)leads->n_members * HEAR_EVERY_NS;
    if (leads->tell_every < TELL_EVERY_NS)
        leads->tell_every = TELL_EVERY_NS;
    leads->most = ideal->options->ahead;
    if (leads->most == 0)
        leads->most = LULL_LEAD_BYTES / sizeof(struct letter) / (n_shares ? n_shares : 1);
    leads->read_to = calloc(leads->n_members, sizeof *leads->read_to);
    leads->leads = calloc(n_shares + (size_t)1, sizeof *leads->leads);
    if (leads->read_to && leads->leads)
        return leads;
    lull_leads_destroy(leads);
    return NULL;
}

void lull_leads_destroy(struct leads *leads)
{
    if (!leads)
        return;
    pthread_mutex_destroy(&leads->lock);
    free(leads->read_to);
    free(leads->leads);
    free(leads);
}

static struct lead *lead_of(struct leads *leads, const struct share *share)
{
    return &leads->leads[share->index - leads->ideal->first_share];
}

/* ---- how far ----------------------------------------------------------------------------------
 */

void lull_lead_reads(struct reader *reader, int64_t time)
{
    atomic_store_explicit(&reader->read_to, time, memory_order_relaxed);
}

static int64_t least_of(struct reader *const *readers, unsigned n_readers)
{
    int64_t least = INT64_MAX;
    for (unsigned r = 0; r < n_readers; r++) {
        const int64_t time = atomic_load_explicit(&readers[r]->read_to, memory_order_relaxed);
        least = time < least ? time : least;
    }
    return least;
}

static int64_t least_of_others(const struct leads *leads)
{
    int64_t least = INT64_MAX;
    for (uint32_t m = 0; m < leads->n_members; m++)
        if (m != leads->own && leads->read_to[m] < least)
            least = leads->read_to[m];
    return least;
}

/* ---- marks ------------------------------------------------------------------------------------
 */

static void set_mark(struct leads *leads, struct lead *lead, int64_t time)
{
    const uint64_t last = lead->n_marks ? lead->marks[lead->n_marks - 1].letters : lead->needed;
    if (lead->posted - last < leads->most / MARKS)
        return;
    if (lead->n_marks == MARKS) { /* as more was granted: every other one is enough */
        for (uint32_t i = 0; i < MARKS / 2; i++)
            lead->marks[i] = lead->marks[2 * i + 1];
        lead->n_marks = MARKS / 2;
    }
    lead->marks[lead->n_marks++] = (struct mark){time, lead->posted};
}

/* As far as the others have come. */
static bool is_too_large(struct leads *leads, struct lead *lead)
{
    const int64_t others = least_of_others(leads);
    uint32_t passed = 0;
    while (passed < lead->n_marks && lead->marks[passed].time <= others)
        lead->needed = lead->marks[passed++].letters;
    lead->n_marks -= passed;
    memmove(lead->marks, lead->marks + passed, lead->n_marks * sizeof *lead->marks);
    return others != INT64_MAX && lead->posted - lead->needed > leads->most;
}

void lull_lead_posted(struct share *share, uint32_t letters)
{
    struct leads *leads = share->ideal->leads;
    struct lead *lead = lead_of(leads, share);
    pthread_mutex_lock(&leads->lock);
    lead->posted += letters;
    set_mark(leads, lead, least_of(share->readers, share->n_readers));
    if (is_too_large(leads, lead))
        atomic_store(&lead->too_large, true);
    pthread_mutex_unlock(&leads->lock);
}

bool lull_lead_is_too_large(const struct share *share)
{
    struct leads *leads = share->ideal->leads;
    return leads && atomic_load_explicit(&lead_of(leads, share)->too_large, memory_order_relaxed);
}

/* ---- others -----------------------------------------------------------------------------------
 */

bool lull_lead_to_tell(struct leads *leads, int64_t *ret_time)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    const int64_t time = least_of(leads->ideal->readers, leads->ideal->n_readers);
    pthread_mutex_lock(&leads->lock);
    const bool tells = time != leads->told && now - leads->told_at >= leads->tell_every;
    if (tells) {
        leads->told = time;
        leads->told_at = now;
    }
    pthread_mutex_unlock(&leads->lock);
    *ret_time = time;
    return tells;
}

/* What a reader has found is not welcome, may be so now. */
static void wake_readers(struct share *share)
{
    for (unsigned r = 0; r < share->n_readers; r++) {
        atomic_store(&share->readers[r]->hungry, true);
        lull_post_rouse(share->readers[r], RESTING);
    }
}

/* The only place where a share may go on again, so that its readers learn of it. */
static void look_at_all(struct leads *leads)
{
    struct lull_ideal *ideal = leads->ideal;
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        struct share *share = ideal->shares[s];
        struct lead *lead = lead_of(leads, share);
        pthread_mutex_lock(&leads->lock);
        const bool goes_on = atomic_load(&lead->too_large) && !is_too_large(leads, lead);
        if (goes_on)
            atomic_store(&lead->too_large, false);
        pthread_mutex_unlock(&leads->lock);
        if (goes_on)
            wake_readers(share);
    }
}

void lull_lead_heard(struct leads *leads, uint32_t member, int64_t time)
{
    pthread_mutex_lock(&leads->lock);
    leads->read_to[member] = time;
    pthread_mutex_unlock(&leads->lock);
    look_at_all(leads);
}

void lull_lead_grant(struct leads *leads)
{
    bool any = false;
    for (unsigned s = leads->ideal->first_share; s < leads->ideal->end_share; s++)
        any |= lull_lead_is_too_large(leads->ideal->shares[s]);
    if (!any)
        return;
    pthread_mutex_lock(&leads->lock);
    leads->most *= 2;
    pthread_mutex_unlock(&leads->lock);
    look_at_all(leads);
}
