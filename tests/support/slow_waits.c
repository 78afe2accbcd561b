#include "support/slow_waits.h"

#include "base/array.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

#include <stdlib.h>

static const char *const regions[] = {"alpha",          "beta",        "gamma",     "MPI_Send",
                                      "MPI_Waitall",    "MPI_Barrier", "MPI_Bcast", "MPI_Allreduce",
                                      "MPI_Iallreduce", "MPI_Ssend",   "MPI_Recv",  "MPI_Irecv",
                                      "MPI_Finalize",   NULL};
enum {
    SEND = SLOW_REGIONS,
    WAITALL,
    COLLECTIVE,
    IALLREDUCE = COLLECTIVE + 3,
    SSEND,
    RECV,
    IRECV,
    FINALIZE
};
enum { ACTIONS = 120, MOST_INBOX = 256, COMMS = 2, LONGEST = 1000 };
enum { FIRST_GROUP = COMMS, SECOND_GROUP, ALL_COMMS }; /* of an inter-communicator */
enum { KEPT = LULL_WAIT_HELD, LARGE = LULL_WAIT_EAGER + 1 };

/* What a process did in the time that ends at `end`: own (process -1), or waiting for a place of a
 * process. */
struct deed {
    int64_t end, ns;
    int process, place;
};

/* Who was late: for a receive, or in a collective operation. */
struct lateness {
    int64_t time, since; /* -1: as the two last met */
    uint32_t process;
    uint8_t kind;
};

/* A wait for a sender, and what it is charged to. */
struct tardy {
    int64_t begin, ns;
    bool wrong_order;
    int64_t charged[SLOW_RANKS][SLOW_PLACES];
};

struct letter {
    struct lateness late;
    struct lull_step step; /* with which it ends */
};

struct rank {
    int64_t clock;
    struct deed *deeds;
    size_t n_deeds, deed_capacity;
    struct letter inbox[MOST_INBOX];
    uint32_t first, count;
    struct tardy *tardies;
    size_t n_tardies, tardy_capacity;
};

struct drawing {
    struct slow_run *run;
    struct lull_random *random;
    struct rank ranks[SLOW_RANKS];
    int64_t met[SLOW_RANKS][SLOW_RANKS]; /* [late][other]: when */
    int64_t met_all[COMMS];              /* when all members last waited for all */
    int64_t met_last[COMMS][SLOW_RANKS]; /* ... and a thread took part */
    uint32_t threads;                    /* of a process */
    int64_t gathered[SLOW_RANKS];        /* when a process has last ended an operation */
    uint32_t split;                      /* the first rank of the second group */
    uint64_t requests;
};

static uint32_t draw(struct drawing *d, uint32_t below)
{
    return (uint32_t)lull_random_below(d->random, below);
}

/* ---- steps --------------------------------------------------------------------------------- */

static void put(struct drawing *d, uint32_t rank, const struct lull_step *step)
{
    struct slow_steps *own = &d->run->steps[rank];
    assert_true(
        lull_array_reserve(&own->steps, &own->capacity, own->count + 1, sizeof *own->steps));
    own->steps[own->count++] = *step;
}

static void put_call(struct drawing *d, uint32_t rank, uint8_t kind, uint32_t region, int64_t time)
{
    const struct lull_step step = {
        .kind = kind,
        .time = time,
        .region = region,
        .op = (uint8_t)lull_call_of_region(&d->run->trace->regions[region])};
    put(d, rank, &step);
}

/* ---- histories ----------------------------------------------------------------------------- */

static void add_deed(struct drawing *d, uint32_t rank, int64_t end, int64_t ns, int process,
                     int place)
{
    struct rank *own = &d->ranks[rank];
    assert_true(
        lull_array_reserve(&own->deeds, &own->deed_capacity, own->n_deeds + 1, sizeof *own->deeds));
    own->deeds[own->n_deeds++] = (struct deed){end, ns, process, place};
}

static int64_t time_of(const struct rank *rank, int64_t since, int64_t until, int process,
                       int place)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rank->n_deeds; i++) {
        const struct deed *deed = &rank->deeds[i];
        if (deed->end > since && deed->end <= until && deed->process == process &&
            deed->place == place)
            sum += deed->ns;
    }
    return sum;
}

static int64_t above_zero(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

/* ---- who is charged ------------------------------------------------------------------------ */

struct share {
    int process, place; /* process -1: the late one itself */
    int64_t excess, ns, rest;
};

static uint32_t find_shares(struct drawing *d, const struct lateness *late, uint32_t other,
                            int64_t begin, struct share *shares)
{
    const struct rank *b = &d->ranks[late->process], *a = &d->ranks[other];
    const int64_t since = late->since;
    uint32_t n = 0;
    for (int q = 0; q <= (int)d->run->n_ranks; q++)
        for (int place = 0; place < SLOW_PLACES; place++) {
            const int process = q == (int)d->run->n_ranks ? -1 : q; /* in the order of ledgers */
            const int64_t longer =
                time_of(b, since, late->time, -1, place) - time_of(a, since, begin, -1, place);
            const int64_t for_it = time_of(a, since, begin, (int)late->process, place);
            int64_t excess = time_of(b, since, late->time, process, place) -
                             time_of(a, since, begin, process, place);
            if (process < 0)
                excess -= for_it;
            else if (process == (int)late->process)
                excess += for_it < above_zero(longer) ? for_it : above_zero(longer);
            if (process == (int)other)
                excess -= above_zero(-longer);
            if (excess > 0)
                shares[n++] = (struct share){process, place, excess, 0, 0};
        }
    return n;
}

/* Of what kind waits for senders are, is known at the end. */
static struct tardy *note_tardy(struct drawing *d, uint32_t rank, int64_t begin, int64_t wait)
{
    struct rank *own = &d->ranks[rank];
    assert_true(lull_array_reserve(&own->tardies, &own->tardy_capacity, own->n_tardies + 1,
                                   sizeof *own->tardies));
    own->tardies[own->n_tardies] = (struct tardy){.begin = begin, .ns = wait};
    return &own->tardies[own->n_tardies++];
}

/* A call begins to receive what was sent then. */
static void receive_sent(struct rank *own, int64_t sent)
{
    for (size_t i = own->n_tardies; i-- > 0 && i + KEPT >= own->n_tardies;)
        own->tardies[i].wrong_order |= sent <= own->tardies[i].begin;
}

static void charge(struct drawing *d, const struct lateness *late, uint32_t other, int64_t begin,
                   int64_t wait)
{
    struct tardy *tardy =
        late->kind == LULL_WAIT_LATE_SENDER ? note_tardy(d, other, begin, wait) : NULL;
    struct share shares[(SLOW_RANKS + 1) * SLOW_PLACES + 1];
    uint32_t n = find_shares(d, late, other, begin, shares);
    int64_t sum = 0, left = wait;
    for (uint32_t i = 0; i < n; i++)
        sum += shares[i].excess;
    assert_true(sum >= wait); /* who has met has done as much */
    for (uint32_t i = 0; i < n; i++) {
        shares[i].ns = wait * shares[i].excess / sum; /* times are short enough for 64 bits */
        shares[i].rest = wait * shares[i].excess % sum;
        left -= shares[i].ns;
    }
    for (; left > 0; left--) {
        uint32_t most = 0;
        for (uint32_t i = 0; i < n; i++)
            most = shares[i].rest > shares[most].rest ? i : most;
        shares[most].ns++;
        shares[most].rest = -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        const int process = shares[i].process < 0 ? (int)late->process : shares[i].process;
        if (shares[i].ns == 0)
            continue;
        add_deed(d, other, late->time, shares[i].ns, process, shares[i].place);
        if (tardy)
            tardy->charged[process][shares[i].place] += shares[i].ns;
        else
            d->run->charged[process][shares[i].place][late->kind] += shares[i].ns;
    }
    d->run->waited_ns += wait;
}

/* A call ends that needed all this. `told`: the begin of its wait. */
static void end_call(struct drawing *d, uint32_t rank, uint32_t region, int64_t began, int64_t told,
                     const struct lateness *lates, uint32_t n_lates)
{
    struct rank *own = &d->ranks[rank];
    struct lull_wait_location *sums = &d->run->sums[rank];
    const struct lateness *last = NULL;
    int64_t wait = 0;
    for (uint32_t i = 0; i < n_lates; i++)
        if (!last || lates[i].time > last->time ||
            (lates[i].time == last->time && lates[i].process < last->process))
            last = &lates[i];
    if (last && last->time > told) {
        struct lateness late = *last;
        int64_t *met = &d->met[late.process][rank];
        if (late.since < 0)
            late.since = *met > d->met_all[0] || d->threads > 1 ? *met : d->met_all[0];
        wait = late.time - told;
        charge(d, &late, rank, told, wait);
        if (last->since < 0)
            *met = late.time;
        if (late.kind != LULL_WAIT_LATE_SENDER)
            sums->waited_ns[late.kind] += wait;
    }
    own->clock = told + wait + draw(d, 20);
    if (own->clock > told + wait)
        add_deed(d, rank, own->clock, own->clock - told - wait, -1, SLOW_MPI);
    sums->mpi_ns += own->clock - began;
    sums->transfer_ns += own->clock - began - wait;
    put_call(d, rank, LULL_STEP_CALL_END, region, own->clock);
}

/* ---- what they do -------------------------------------------------------------------------- */

static void compute(struct drawing *d, uint32_t rank)
{
    struct rank *own = &d->ranks[rank];
    const int64_t ns = 1 + draw(d, LONGEST);
    const uint32_t region = draw(d, SLOW_REGIONS);
    const struct lull_step step = {.kind = LULL_STEP_SPAN,
                                   .time = own->clock,
                                   .region = region,
                                   .span = {.end = own->clock + ns, .user = region}};
    put(d, rank, &step);
    own->clock += ns;
    add_deed(d, rank, own->clock, ns, -1, (int)region);
}

static void deliver(struct drawing *d, uint32_t rank, const struct letter *letter)
{
    struct rank *own = &d->ranks[rank];
    assert_true(own->first + own->count < MOST_INBOX);
    own->inbox[own->first + own->count++] = *letter;
}

/* Which of two groups a rank is in, as its communicator. */
static uint32_t group_of(const struct drawing *d, uint32_t rank)
{
    if (d->threads > 1)
        return FIRST_GROUP;
    return rank < d->split ? FIRST_GROUP : SECOND_GROUP;
}

/* From one group to the other also by the inter-communicator, which both groups are one for. */
static struct lull_channel channel_to(struct drawing *d, uint32_t rank, uint32_t target,
                                      int32_t tag)
{
    const bool across = group_of(d, rank) != group_of(d, target) && draw(d, 2);
    if (d->threads > 1) /* each two threads have a channel of their own */
        tag = 8 * (int32_t)(rank * SLOW_RANKS + target) + tag;
    return (struct lull_channel){rank / d->threads, target / d->threads, across ? FIRST_GROUP : 0,
                                 tag};
}

static uint32_t comm_of(const struct drawing *d, uint32_t rank, const struct lull_channel *channel)
{
    return channel->comm == FIRST_GROUP ? group_of(d, rank) : channel->comm;
}

/* In a call that has begun; returns when it was sent. */
static int64_t send_one(struct drawing *d, uint32_t rank, int64_t began)
{
    const uint32_t n = d->run->n_ranks, target = (rank + 1 + draw(d, n - 1)) % n;
    const struct lull_channel channel = channel_to(d, rank, target, (int32_t)draw(d, 2));
    const int64_t time = began + (draw(d, 2) ? draw(d, 10) : 0);
    struct lull_step step = {
        .kind = LULL_STEP_SEND, .time = time, .comm = comm_of(d, rank, &channel)};
    step.channel = lull_channels_find(d->run->steps[rank].channels, &channel);
    step.message.peer = (int32_t)channel.target;
    step.message.tag = channel.tag;
    step.message.request = LULL_NO_REQUEST;
    put(d, rank, &step);
    if (time > began)
        add_deed(d, rank, time, time - began, -1, SLOW_MPI);
    struct letter letter = {.late = {time, -1, rank, LULL_WAIT_LATE_SENDER}, .step = step};
    letter.step.kind = LULL_STEP_RECV;
    letter.step.channel = lull_channels_find(d->run->steps[target].channels, &channel);
    letter.step.message.peer = (int32_t)channel.source;
    letter.step.comm = comm_of(d, target, &channel);
    deliver(d, target, &letter);
    return time;
}

/* Sends or not, and waits for some of what is on its way. */
static void exchange(struct drawing *d, uint32_t rank, bool sends, bool waits)
{
    struct rank *own = &d->ranks[rank];
    const int64_t began = own->clock;
    const uint32_t region = waits ? WAITALL : SEND;
    struct lateness lates[MOST_INBOX];
    uint32_t n = waits && own->count ? 1 + draw(d, own->count) : 0;
    if (!sends && n == 0)
        return;
    put_call(d, rank, LULL_STEP_CALL_BEGIN, region, began);
    const int64_t told = sends ? send_one(d, rank, began) : began;
    for (uint32_t i = 0; i < n; i++) {
        struct letter *letter = &own->inbox[own->first++];
        own->count--;
        letter->step.time = told;
        put(d, rank, &letter->step);
        lates[i] = letter->late;
        if (letter->step.kind == LULL_STEP_RECV)
            receive_sent(own, letter->late.time);
    }
    end_call(d, rank, region, began, told, lates, n);
}

/* ---- sends that wait for their receives ---------------------------------------------------- */

static struct lull_step message_step(struct drawing *d, uint32_t rank, uint8_t kind,
                                     const struct lull_channel *channel, int64_t time)
{
    struct lull_step step = {
        .kind = kind, .time = time, .comm = comm_of(d, rank, channel), .channel = LULL_NONE};
    if (kind != LULL_STEP_RECV_POST)
        step.channel = lull_channels_find(d->run->steps[rank].channels, channel);
    step.message.peer = (int32_t)(kind == LULL_STEP_SEND ? channel->target : channel->source);
    step.message.tag = channel->tag;
    step.message.request = LULL_NO_REQUEST;
    step.message.bytes = LARGE;
    return step;
}

/* A receive that blocks, from `began` on. */
static void receive_now(struct drawing *d, const struct lull_channel *channel, int64_t began,
                        const struct lateness *sent)
{
    const struct lull_step step = message_step(d, channel->target, LULL_STEP_RECV, channel, began);
    put_call(d, channel->target, LULL_STEP_CALL_BEGIN, RECV, began);
    put(d, channel->target, &step);
    receive_sent(&d->ranks[channel->target], sent->time);
    end_call(d, channel->target, RECV, began, began, sent, 1);
}

/* One that is waited for later. */
static void post_now(struct drawing *d, const struct lull_channel *channel, int64_t began,
                     const struct lateness *sent)
{
    struct lull_step step = message_step(d, channel->target, LULL_STEP_RECV_POST, channel, began);
    struct letter letter = {.late = *sent};
    step.message.request = ++d->requests;
    put_call(d, channel->target, LULL_STEP_CALL_BEGIN, IRECV, began);
    put(d, channel->target, &step);
    end_call(d, channel->target, IRECV, began, began, NULL, 0);
    letter.step = message_step(d, channel->target, LULL_STEP_RECV, channel, began);
    letter.step.message.request = step.message.request;
    deliver(d, channel->target, &letter);
}

/* One sends while the other receives, or later. A large message may be sent without waiting all the
 * same, where the send is over before. */
static void meet(struct drawing *d, uint32_t rank)
{
    const uint32_t n = d->run->n_ranks, target = (rank + 1 + draw(d, n - 1)) % n;
    const bool blocks = draw(d, 2), synchronous = draw(d, 2);
    const struct lull_channel channel = channel_to(d, rank, target, blocks ? 2 : 3);
    const uint32_t region = synchronous ? SSEND : SEND;
    const int64_t began = d->ranks[rank].clock, posted = d->ranks[target].clock;
    const struct lateness sent = {began, -1, rank, LULL_WAIT_LATE_SENDER};
    const struct lateness receiver = {posted, -1, target, LULL_WAIT_LATE_RECEIVER};
    const bool eager = !synchronous && posted > began + 20 && draw(d, 2);
    struct lull_step step = message_step(d, rank, LULL_STEP_SEND, &channel, began);
    if (synchronous)
        step.op = LULL_SEND_SYNCHRONOUS;
    put_call(d, rank, LULL_STEP_CALL_BEGIN, region, began);
    put(d, rank, &step);
    end_call(d, rank, region, began, began, &receiver, eager ? 0 : 1);
    if (blocks)
        receive_now(d, &channel, posted, &sent);
    else
        post_now(d, &channel, posted, &sent);
}

static struct lateness latest_of(struct drawing *d, uint32_t from, uint32_t to, uint8_t kind)
{
    struct lateness late = {-1, -1, 0, kind};
    for (uint32_t r = from; r < to; r++)
        if (d->ranks[r].clock > late.time) {
            late.time = d->ranks[r].clock;
            late.process = r;
        }
    return late;
}

static struct lateness latest_member(struct drawing *d, const uint32_t *members, uint32_t from,
                                     uint32_t to, uint8_t kind)
{
    struct lateness late = {-1, -1, 0, kind};
    for (uint32_t m = from; m < to; m++) {
        const struct lateness one = latest_of(d, members[m], members[m] + 1, kind);
        late = one.time > late.time ? one : late;
    }
    return late;
}

/* A thread of each process from `from` on, after what the process has taken part in before. */
static uint32_t find_members(struct drawing *d, uint32_t from, uint32_t *members)
{
    const uint32_t n = d->run->n_ranks / d->threads;
    for (uint32_t p = from; p < n; p++) {
        const uint32_t r = p * d->threads + draw(d, d->threads);
        while (d->threads > 1 && d->ranks[r].clock <= d->gathered[p])
            compute(d, r);
        members[p - from] = r;
    }
    return n - from;
}

/* Of two members: when they met in an operation of this communicator; -1: as they met in others. */
static int64_t met_in(const struct drawing *d, uint32_t comm, uint32_t late, uint32_t other)
{
    if (d->threads > 1)
        return d->met_last[comm][late] == d->met_last[comm][other] ? d->met_last[comm][late] : -1;
    return d->met_all[comm] > d->met_all[0] ? d->met_all[comm] : d->met_all[0];
}

/* The ranks from `from` on are the members. */
static void gather(struct drawing *d, uint32_t comm, uint32_t from)
{
    static const uint8_t ops[] = {LULL_COLLECTIVE_BARRIER, LULL_COLLECTIVE_BCAST,
                                  LULL_COLLECTIVE_ALLREDUCE, LULL_COLLECTIVE_REDUCE,
                                  LULL_COLLECTIVE_SCAN};
    static const uint8_t kinds[] = {LULL_WAIT_BARRIER, LULL_WAIT_LATE_BROADCAST, LULL_WAIT_N_TO_N,
                                    LULL_WAIT_EARLY_REDUCE, LULL_WAIT_EARLY_SCAN};
    uint32_t members[SLOW_RANKS];
    const uint32_t n = find_members(d, from, members), chosen = draw(d, 5), root = draw(d, n);
    const bool all = chosen == 0 || chosen == 2;
    struct lateness lates[SLOW_RANKS];
    for (uint32_t m = 0; m < n; m++) {
        const bool lower = chosen == 4, of_root = chosen == 1;
        lates[m] = latest_member(d, members, of_root ? root : 0,
                                 of_root ? root + 1
                                 : lower ? m + 1
                                         : n,
                                 kinds[chosen]);
        if ((of_root && m == root) || (chosen == 3 && m != root))
            lates[m].time = -1;
        else if (all)
            lates[m].since = met_in(d, comm, lates[m].process, members[m]);
    }
    const int64_t last = latest_member(d, members, 0, n, 0).time;
    for (uint32_t m = 0; m < n; m++) {
        const uint32_t r = members[m], region = COLLECTIVE + chosen % 3;
        struct lull_step step = {.kind = LULL_STEP_COLLECTIVE_END,
                                 .op = ops[chosen],
                                 .time = d->ranks[r].clock,
                                 .comm = comm};
        step.collective.root = chosen == 1 || chosen == 3 ? (int32_t)(from + root) : LULL_ANY;
        step.collective.request = LULL_NO_REQUEST;
        put_call(d, r, LULL_STEP_CALL_BEGIN, region, d->ranks[r].clock);
        put(d, r, &step);
        end_call(d, r, region, d->ranks[r].clock, d->ranks[r].clock, &lates[m], 1);
        d->gathered[from + m] = d->ranks[r].clock;
        if (all)
            d->met_last[comm][r] = last;
    }
    if (all)
        d->met_all[comm] = last;
}

/* A thread of each process ends MPI, for which each waits for the last; no operation is told. */
static void finalize(struct drawing *d)
{
    uint32_t members[SLOW_RANKS];
    const uint32_t n = find_members(d, 0, members);
    const struct lateness late = latest_member(d, members, 0, n, LULL_WAIT_FINALIZE);
    for (uint32_t m = 0; m < n; m++) {
        const int64_t began = d->ranks[members[m]].clock;
        put_call(d, members[m], LULL_STEP_CALL_BEGIN, FINALIZE, began);
        end_call(d, members[m], FINALIZE, began, began, &late, 1);
    }
}

/* All members begin one that does not block; each waits for it later. */
static void begin_gathering(struct drawing *d, uint32_t comm, uint32_t from)
{
    uint32_t members[SLOW_RANKS];
    const uint32_t n = find_members(d, from, members);
    struct letter letter = {.late = latest_member(d, members, 0, n, LULL_WAIT_N_TO_N)};
    struct lull_step *step = &letter.step;
    *step = (struct lull_step){.op = LULL_COLLECTIVE_ALLREDUCE, .comm = comm};
    step->collective.root = LULL_ANY;
    step->collective.request = ++d->requests;
    for (uint32_t m = 0; m < n; m++) {
        const uint32_t r = members[m];
        const int64_t began = d->ranks[r].clock;
        d->gathered[from + m] = began;
        step->kind = LULL_STEP_COLLECTIVE_BEGIN;
        step->time = began;
        put_call(d, r, LULL_STEP_CALL_BEGIN, IALLREDUCE, began);
        put(d, r, step);
        end_call(d, r, IALLREDUCE, began, began, NULL, 0);
        step->kind = LULL_STEP_COLLECTIVE_END;
        deliver(d, r, &letter);
    }
}

/* Between two groups: each waits for the other one, all of the other one for the root, or the root
 * for all of the other one. Those of the root's own group pass, and do not tell who it is. */
static void gather_between(struct drawing *d)
{
    static const uint8_t ops[] = {LULL_COLLECTIVE_BARRIER, LULL_COLLECTIVE_BCAST,
                                  LULL_COLLECTIVE_ALLREDUCE, LULL_COLLECTIVE_REDUCE};
    static const uint8_t kinds[] = {LULL_WAIT_BARRIER, LULL_WAIT_LATE_BROADCAST, LULL_WAIT_N_TO_N,
                                    LULL_WAIT_EARLY_REDUCE};
    const uint32_t n = d->run->n_ranks, chosen = draw(d, 4), root = draw(d, n);
    const bool of_root = chosen == 1, to_root = chosen == 3;
    struct lateness lates[SLOW_RANKS];
    for (uint32_t r = 0; r < n; r++) {
        const bool first = group_of(d, r) == FIRST_GROUP;
        const bool roots = group_of(d, r) == group_of(d, root);
        lates[r] = latest_of(d, first ? d->split : 0, first ? n : d->split, kinds[chosen]);
        if (of_root)
            lates[r] = latest_of(d, root, root + 1, kinds[chosen]);
        if ((of_root && roots) || (to_root && r != root))
            lates[r].time = -1;
    }
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t region = COLLECTIVE + chosen % 3, comm = group_of(d, r);
        const bool rooted = of_root || to_root, roots = comm == group_of(d, root);
        struct lull_step step = {.kind = LULL_STEP_COLLECTIVE_END,
                                 .op = ops[chosen],
                                 .time = d->ranks[r].clock,
                                 .comm = comm};
        step.collective.root = rooted && !roots ? (int32_t)root : LULL_ANY;
        step.collective.sent = !rooted || (to_root && !roots) || (of_root && r == root);
        step.collective.received = !rooted || (of_root && !roots) || (to_root && r == root);
        step.collective.request = LULL_NO_REQUEST;
        put_call(d, r, LULL_STEP_CALL_BEGIN, region, d->ranks[r].clock);
        put(d, r, &step);
        end_call(d, r, region, d->ranks[r].clock, d->ranks[r].clock, &lates[r], 1);
    }
}

static void act(struct drawing *d)
{
    const uint32_t rank = draw(d, d->run->n_ranks), comm = draw(d, COMMS);
    const uint32_t from = comm; /* communicator 1 is all but the first rank */
    const uint32_t chosen = draw(d, 15);
    switch (d->threads > 1 && chosen > 11 ? 7 : chosen) { /* what threads do not, is for others */
    case 14:
        gather_between(d);
        break;
    case 12:
    case 13:
        meet(d, rank);
        break;
    case 0:
    case 1:
        exchange(d, rank, true, false);
        break;
    case 2:
    case 3:
        exchange(d, rank, false, true);
        break;
    case 4:
        exchange(d, rank, true, true);
        break;
    case 5:
        gather(d, comm, from);
        break;
    case 6:
        begin_gathering(d, comm, from);
        break;
    default:
        compute(d, rank);
    }
}

/* ---- the run ------------------------------------------------------------------------------- */

static void define_comms(const struct drawing *d)
{
    const struct slow_run *run = d->run;
    struct lull_trace *trace = run->trace;
    trace->comms = lull_arena_zero(trace->arena, ALL_COMMS, sizeof *trace->comms);
    trace->n_comms = ALL_COMMS;
    for (uint32_t c = 0; c < COMMS; c++)
        trace->comms[c] = (struct lull_comm){.name = "",
                                             .size = run->n_ranks / d->threads - c,
                                             .first = c,
                                             .parent = LULL_NONE,
                                             .remote = LULL_NONE,
                                             .paradigm = LULL_PARADIGM_MPI};
    trace->comms[FIRST_GROUP] = trace->comms[SECOND_GROUP] = trace->comms[0];
    trace->comms[FIRST_GROUP].size = d->split;
    trace->comms[FIRST_GROUP].remote = SECOND_GROUP;
    trace->comms[SECOND_GROUP].size = run->n_ranks - d->split;
    trace->comms[SECOND_GROUP].first = d->split;
    trace->comms[SECOND_GROUP].remote = FIRST_GROUP;
}

static void add_tardies(struct slow_run *run, const struct rank *rank,
                        struct lull_wait_location *sums)
{
    for (size_t i = 0; i < rank->n_tardies; i++) {
        const struct tardy *tardy = &rank->tardies[i];
        const uint8_t kind = tardy->wrong_order ? LULL_WAIT_WRONG_ORDER : LULL_WAIT_LATE_SENDER;
        sums->waited_ns[kind] += tardy->ns;
        for (uint32_t r = 0; r < run->n_ranks; r++)
            for (int place = 0; place < SLOW_PLACES; place++)
                run->charged[r][place][kind] += tardy->charged[r][place];
    }
}

void slow_run_draw(struct slow_run *run, struct lull_random *random)
{
    struct drawing *d = calloc(1, sizeof *d);
    assert_non_null(d);
    *run = (struct slow_run){.n_ranks = 3 + (uint32_t)lull_random_below(random, SLOW_RANKS - 2)};
    d->run = run;
    d->random = random;
    run->each_thread = draw(d, 3) == 0;
    if (run->each_thread)
        run->n_ranks = SLOW_RANKS;
    d->threads = run->each_thread ? 2 : 1;
    run->trace =
        memory_trace_simple(run->n_ranks / d->threads, d->threads, (int64_t)1 << 40, regions);
    d->split = 1 + draw(d, run->n_ranks - 1);
    define_comms(d);
    for (uint32_t r = 0; r < run->n_ranks; r++)
        assert_non_null(run->steps[r].channels = lull_channels_create());
    for (uint32_t i = 0; i < ACTIONS; i++)
        act(d);
    for (uint32_t r = 0; r < run->n_ranks; r++)
        while (d->ranks[r].count > 0 &&
               d->ranks[r].inbox[d->ranks[r].first].step.kind == LULL_STEP_COLLECTIVE_END)
            exchange(d, r, false, true);
    finalize(d);
    for (uint32_t r = 0; r < run->n_ranks; r++) {
        const struct lull_step end = {.kind = LULL_STEP_END, .time = d->ranks[r].clock};
        put(d, r, &end);
    }
    for (uint32_t r = 0; r < run->n_ranks; r++) {
        add_tardies(run, &d->ranks[r], &run->sums[r]);
        free(d->ranks[r].deeds);
        free(d->ranks[r].tardies);
    }
    free(d);
}

void slow_run_free(struct slow_run *run)
{
    for (uint32_t r = 0; r < run->n_ranks; r++) {
        free(run->steps[r].steps);
        lull_channels_destroy(run->steps[r].channels);
    }
    lull_trace_close(run->trace);
}
