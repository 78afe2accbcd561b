/* What threads wait for: the last one at a barrier, who has a lock, the end of a thread. */
#include "base/array.h"
#include "wait/crew.h"

#include <stdlib.h>

/* As far as it is known, who was late did not do anything the others did not: it came late. */
static uint64_t nowhere(void)
{
    return lull_wait_key(LULL_WAIT_OWN, LULL_NONE);
}

static void add_time(struct wait_crew *crew, struct crew_thread *thread, uint64_t key,
                     uint32_t call, int64_t ns)
{
    crew->no_memory |= !lull_wait_ledger_add(&thread->ledger, key, call, ns);
}

static struct wait_moment take_moment(struct wait_crew *crew, struct crew_thread *thread)
{
    const struct wait_moment moment = lull_wait_moment_take(&thread->ledger);
    crew->no_memory |= !moment.snapshot;
    return moment;
}

/* ---- charges ------------------------------------------------------------------------------- */

/* Who waits, from when on, how long, and for what. */
struct thread_wait {
    uint32_t thread, late, call;
    int64_t begin, ns;
    uint8_t kind;
};

static void charge_parts(struct lull_waits *waits, struct wait_crew *crew,
                         const struct thread_wait *wait, const struct wait_part *parts,
                         uint32_t count)
{
    const struct wait_charged charged = {.location = crew->first_location + wait->thread,
                                         .begin = wait->begin,
                                         .wait = wait->ns,
                                         .late = crew->first_location + wait->late,
                                         .call = wait->call,
                                         .kind = wait->kind};
    crew->threads[wait->thread].sums.waited_ns[wait->kind] += wait->ns;
    pthread_mutex_lock(&waits->lock);
    crew->no_memory |= !lull_wait_charge_parts(waits, &charged, parts, count);
    pthread_mutex_unlock(&waits->lock);
}

static void charge_between(struct lull_waits *waits, struct wait_crew *crew,
                           const struct thread_wait *wait, struct wait_moment late,
                           struct wait_moment since)
{
    const struct wait_between between = {.late = crew->first_location + wait->late,
                                         .other = crew->first_location + wait->thread,
                                         .at = late,
                                         .ledger = &crew->threads[wait->thread].ledger,
                                         .other_since = since};
    struct wait_part parts[LULL_WAIT_LEDGER + 2];
    const uint32_t n = lull_wait_divide(&between, wait->ns, nowhere(), parts);
    charge_parts(waits, crew, wait, parts, n);
}

/* ---- barriers ------------------------------------------------------------------------------ */

static void arrive(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    if (!crew->open)
        crew->open = calloc(1, sizeof *crew->open);
    struct crew_meeting *meeting = crew->open;
    if (!meeting || thread->meeting) {
        crew->no_memory |= !meeting;
        return;
    }
    if (meeting->references == 0 || note->time > meeting->last_time) {
        lull_wait_moment_move(&meeting->late, take_moment(crew, thread));
        meeting->last_time = note->time;
        meeting->last = t;
        meeting->region = note->region;
    }
    meeting->members++;
    meeting->references++;
    thread->meeting = meeting;
    thread->at_end = note->number == 1;
    thread->began = thread->stamp = note->time;
    thread->settled = thread->pending = 0;
}

/* All of the time before an arrival that came since was waited. */
static void settle_pending_wait(struct crew_thread *thread)
{
    if (thread->meeting->last_time <= thread->stamp)
        return;
    thread->settled += thread->pending;
    thread->pending = 0;
    thread->stamp = thread->meeting->last_time;
}

static int64_t part_before(int64_t time, const struct crew_note *note)
{
    const int64_t until = time < note->time ? time : note->time;
    return until > note->began ? until - note->began : 0;
}

/* All have met when the last came; whoever takes long to leave is late from then on. */
static void leave(struct lull_waits *waits, struct wait_crew *crew, uint32_t t, int64_t time)
{
    struct crew_thread *thread = &crew->threads[t];
    struct crew_meeting *meeting = thread->meeting;
    if (!meeting)
        return;
    settle_pending_wait(thread);
    if (crew->open == meeting)
        crew->open = NULL;
    const struct thread_wait wait = {.thread = t,
                                     .late = meeting->last,
                                     .call = meeting->region,
                                     .begin = thread->began,
                                     .ns = thread->settled,
                                     .kind = LULL_WAIT_THREAD_BARRIER};
    const bool waited = wait.ns > 0 && meeting->last != t;
    if (waited)
        charge_between(waits, crew, &wait, meeting->late, (struct wait_moment){0});
    if (thread->at_end) {
        thread->sums.threads_ns += waited ? wait.ns : 0;
        thread->sums.threads_ends_ns += waited ? wait.ns : 0;
    } else {
        thread->sums.threads_rest_ns += thread->pending + (waited ? 0 : wait.ns);
    }
    if (meeting->members > 1) {
        lull_wait_ledger_begin_anew(&thread->ledger);
        add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, meeting->region), LULL_NONE,
                 time - meeting->last_time);
    }
    thread->meeting = NULL;
    if (--meeting->references == 0) {
        lull_wait_moment_drop(&meeting->late);
        free(meeting);
    }
}

/* ---- locks --------------------------------------------------------------------------------- */

static void note_hold(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    if (crew->n_lock_waiters == 0)
        return;
    if (!lull_array_reserve(&crew->holds, &crew->hold_capacity, crew->n_holds + 1,
                            sizeof *crew->holds)) {
        crew->no_memory = true;
        return;
    }
    crew->holds[crew->n_holds++] = (struct crew_hold){.began = note->began,
                                                      .ended = note->time,
                                                      .thread = t,
                                                      .region = note->region,
                                                      .call = (uint32_t)note->number,
                                                      .lock = note->lock};
}

/* Who had it last before `time`; NULL: nobody after `begin`. Holds are in the order of their ends.
 */
static const struct crew_hold *last_hold(const struct wait_crew *crew, uint32_t t, uint64_t lock,
                                         int64_t begin, int64_t time)
{
    for (size_t i = crew->n_holds; i-- > 0 && crew->holds[i].ended > begin;) {
        const struct crew_hold *hold = &crew->holds[i];
        if (hold->thread != t && hold->lock == lock && hold->began < time && hold->ended <= time)
            return hold;
    }
    return NULL;
}

/* Nobody asks any more for what ended before all who wait now began. */
static void forget_holds(struct wait_crew *crew)
{
    enum { FEW = 64 };
    int64_t first = INT64_MAX;
    if (crew->n_lock_waiters == 0)
        crew->n_holds = 0;
    if (crew->n_holds < FEW)
        return;
    for (uint32_t t = 0; t < crew->n_threads; t++)
        if (crew->threads[t].waits_for_lock && crew->threads[t].lock_began < first)
            first = crew->threads[t].lock_began;
    size_t kept = 0;
    for (size_t i = 0; i < crew->n_holds; i++)
        if (crew->holds[i].ended > first)
            crew->holds[kept++] = crew->holds[i];
    crew->n_holds = kept;
}

static void end_lock(struct lull_waits *waits, struct wait_crew *crew, uint32_t t,
                     const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    const struct crew_hold *hold;
    int64_t until = note->time, left = note->time - note->began;
    while ((hold = last_hold(crew, t, note->lock, note->began, until)) != NULL) {
        const int64_t from = hold->began > note->began ? hold->began : note->began;
        const struct thread_wait wait = {.thread = t,
                                         .late = hold->thread,
                                         .call = hold->call,
                                         .begin = note->began,
                                         .ns = hold->ended - from,
                                         .kind = LULL_WAIT_LOCK};
        const struct wait_part part = {lull_wait_key(LULL_WAIT_OWN, hold->region), LULL_NONE,
                                       LULL_NONE, wait.ns};
        charge_parts(waits, crew, &wait, &part, 1);
        add_time(crew, thread, lull_wait_key(crew->first_location + hold->thread, hold->region),
                 hold->call, wait.ns);
        left -= wait.ns;
        until = from;
    }
    add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, note->region), LULL_NONE, left);
    thread->sums.threads_ns += note->time - note->began;
    thread->sums.threads_rest_ns += left;
    thread->waits_for_lock = false;
    crew->n_lock_waiters--;
    forget_holds(crew);
}

/* ---- lives --------------------------------------------------------------------------------- */

static struct crew_life *find_life(struct wait_crew *crew, uint64_t number)
{
    for (size_t i = crew->n_lives; i-- > 0;)
        if (crew->lives[i].number == number)
            return &crew->lives[i];
    return NULL;
}

static void create_life(struct wait_crew *crew, uint32_t t, uint64_t number)
{
    if (!lull_array_reserve(&crew->lives, &crew->life_capacity, crew->n_lives + 1,
                            sizeof *crew->lives)) {
        crew->no_memory = true;
        return;
    }
    crew->lives[crew->n_lives++] = (struct crew_life){
        .number = number, .made = take_moment(crew, &crew->threads[t]), .ended = -1};
}

static void end_life(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    struct crew_life *life = find_life(crew, note->number);
    if (!life)
        return;
    life->ended = note->time;
    life->thread = t;
    lull_wait_moment_move(&life->late, take_moment(crew, &crew->threads[t]));
}

static void begin_join(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    thread->joins = true;
    thread->joined = note->number;
    thread->began = note->time;
    thread->settled = thread->pending = 0;
}

static void end_join(struct lull_waits *waits, struct wait_crew *crew, uint32_t t)
{
    struct crew_thread *thread = &crew->threads[t];
    struct crew_life *life = find_life(crew, thread->joined);
    const bool known = life && life->ended >= 0 && thread->settled > 0 && life->thread != t;
    const struct thread_wait wait = {.thread = t,
                                     .late = known ? life->thread : 0,
                                     .call = LULL_NONE,
                                     .begin = thread->began,
                                     .ns = thread->settled,
                                     .kind = LULL_WAIT_THREAD_JOIN};
    thread->joins = false;
    thread->sums.threads_rest_ns += thread->pending + (known ? 0 : thread->settled);
    if (known) {
        charge_between(waits, crew, &wait, life->late, life->made);
        add_time(crew, thread, nowhere(), LULL_NONE, wait.ns);
    }
    if (life) {
        lull_wait_moment_drop(&life->made);
        lull_wait_moment_drop(&life->late);
        *life = crew->lives[--crew->n_lives];
    }
}

/* ---- notes --------------------------------------------------------------------------------- */

/* Of it the part before the last arrival counts, when that is known. */
static void spend_at_end(struct crew_thread *thread, const struct crew_note *note)
{
    if (!thread->meeting)
        return;
    settle_pending_wait(thread);
    const int64_t before = part_before(thread->meeting->last_time, note);
    thread->settled += before;
    thread->pending += note->time - note->began - before;
}

/* In a barrier, or in a join: until the thread has ended, if it has. */
static void spend_waiting(struct wait_crew *crew, struct crew_thread *thread,
                          const struct crew_note *note)
{
    const int64_t ns = note->time - note->began;
    int64_t before = 0;
    thread->sums.threads_ns += ns;
    if (thread->joins) {
        const struct crew_life *life = find_life(crew, thread->joined);
        before = life && life->ended >= 0 ? part_before(life->ended, note) : ns;
    } else if (thread->meeting) {
        settle_pending_wait(thread);
        before = part_before(thread->meeting->last_time, note);
    } else {
        thread->sums.threads_rest_ns += ns;
        return;
    }
    thread->settled += before;
    thread->pending += ns - before;
}

/* Whoever begins later than the others has lost that time somewhere in the runtime. */
static void fork_team(struct wait_crew *crew, uint32_t t, int64_t time)
{
    struct crew_thread *thread = &crew->threads[t];
    lull_wait_ledger_begin_anew(&thread->ledger);
    if (t == 0)
        crew->forked = time;
    else
        add_time(crew, thread, nowhere(), LULL_NONE, time - crew->forked);
}

static void spend(struct wait_crew *crew, struct crew_thread *thread, const struct crew_note *note)
{
    const int64_t ns = note->time - note->began;
    if (note->region == WAIT_IN_MPI)
        thread->ledger.in_mpi += ns;
    else
        add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, note->region), LULL_NONE, ns);
    if (note->kind == CREW_REST) {
        thread->sums.threads_ns += ns;
        thread->sums.threads_rest_ns += ns;
    }
}

void lull_wait_crew_note(struct lull_waits *waits, struct wait_crew *crew, uint32_t t,
                         const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    switch ((enum crew_note_kind)note->kind) {
    case CREW_WORK:
    case CREW_REST:
        spend(crew, thread, note);
        break;
    case CREW_FORK:
        fork_team(crew, t, note->time);
        break;
    case CREW_ARRIVE:
        arrive(crew, t, note);
        break;
    case CREW_SYNC:
        spend_waiting(crew, thread, note);
        break;
    case CREW_AT_END:
        spend_at_end(thread, note);
        break;
    case CREW_HELD:
        note_hold(crew, t, note);
        break;
    case CREW_LOCK_BEGIN:
        thread->waits_for_lock = true;
        thread->lock_began = note->time;
        crew->n_lock_waiters++;
        break;
    case CREW_CREATE:
        create_life(crew, t, note->number);
        break;
    case CREW_LIFE_BEGIN:
        lull_wait_ledger_begin_anew(&thread->ledger);
        break;
    case CREW_LIFE_END:
        end_life(crew, t, note);
        break;
    case CREW_JOIN_BEGIN:
        begin_join(crew, t, note);
        break;
    case CREW_LEAVE:
        leave(waits, crew, t, note->time);
        break;
    case CREW_LOCK_END:
        end_lock(waits, crew, t, note);
        break;
    case CREW_JOIN_END:
        end_join(waits, crew, t);
        break;
    case CREW_END:
        break;
    }
}
