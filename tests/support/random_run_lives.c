/* Threads of a random run that others of their process make: they are joined, or meet at barriers.
 */
#include "support/random_run_drawing.h"

static struct lull_step *add_point(struct thread *t, unsigned kind, uint64_t number)
{
    struct lull_step *step = add(t, kind);
    take_time(t);
    step->number = number;
    return step;
}

static struct lull_step *add_wait(struct thread *t, unsigned kind, uint64_t number,
                                  uint32_t threads)
{
    struct lull_step *step = add_point(t, kind, number);
    step->op = threads ? LULL_THREAD_WAIT_BARRIER : LULL_THREAD_WAIT_JOIN;
    step->meeting.threads = threads;
    step->meeting.location = LULL_NONE;
    return step;
}

/* ---- lives ----------------------------------------------------------------------------------- */

static void make(struct program *p, struct thread *t, struct thread *child)
{
    child->number = ++p->processes[t->process].numbers;
    add_point(t, LULL_STEP_THREAD_CREATE, child->number);
    child->clock = t->clock + 1 + draw(p, 30);
    child->ideal = t->ideal;
    child->doing = AT_WORK;
    add(child, LULL_STEP_THREAD_BEGIN)->number = child->number;
}

void run_end_life(struct thread *t)
{
    t->doing = DONE;
    if (t->number == 0)
        return;
    add_point(t, LULL_STEP_THREAD_END, t->number);
    t->ended = true;
    t->ended_clock = t->clock;
}

static void begin_to_join(struct thread *t, struct thread *other)
{
    t->joins = other;
    other->joined = true;
    add_wait(t, LULL_STEP_THREAD_WAIT_BEGIN, other->number, 0);
    t->tries = 40;
    t->doing = JOINING;
}

/* Or gives up. */
void run_go_on_joining(struct program *p, struct thread *t)
{
    const struct thread *other = t->joins;
    spend(t, 1 + draw(p, 20), false);
    if (!other->ended && t->tries-- > 0)
        return;
    t->doing = AT_WORK;
    if (!other->ended)
        return;
    if (t->clock <= other->ended_clock)
        spend(t, other->ended_clock + 1 - t->clock, false);
    add_wait(t, LULL_STEP_THREAD_WAIT_END, other->number, 0);
    t->ideal = other->ideal > t->ideal ? other->ideal : t->ideal;
    spend(t, 1, false);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static void come_to_barrier(struct program *p, struct thread *t)
{
    struct process *own = &p->processes[t->process];
    struct pair *pair = &own->pair;
    if (pair->come != 1)
        *pair = (struct pair){.number = UINT64_C(1) << 32 | ++own->numbers};
    add_wait(t, LULL_STEP_THREAD_WAIT_BEGIN, pair->number, 2);
    pair->come++;
    pair->latest = t->ideal > pair->latest ? t->ideal : pair->latest;
    pair->clock = t->clock;
    t->tries = 20;
    t->doing = AT_BARRIER;
    t->meets = *pair;
    if (pair->come < 2)
        return;
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].doing == AT_BARRIER && p->threads[i].process == t->process &&
            p->threads[i].meets.number == pair->number)
            p->threads[i].meets = *pair;
}

/* Or gives up, and so does the barrier. */
void run_go_on_at_barrier(struct program *p, struct thread *t)
{
    const struct pair *pair = &t->meets;
    spend(t, 1 + draw(p, 20), false);
    if (pair->come < 2 && t->tries-- > 0)
        return;
    t->doing = AT_WORK;
    if (pair->come < 2) {
        p->processes[t->process].pair.come = 0;
        return;
    }
    if (t->clock <= pair->clock)
        spend(t, pair->clock + 1 - t->clock, false);
    add_wait(t, LULL_STEP_THREAD_WAIT_END, pair->number, 2);
    t->ideal = pair->latest > t->ideal ? pair->latest : t->ideal;
    spend(t, 1, false);
}

/* ---- both ------------------------------------------------------------------------------------ */

bool run_meet_others(struct program *p, struct thread *t, struct thread *team)
{
    const uint32_t n = p->processes[t->process].n_threads;
    struct thread *other = &team[draw(p, n)];
    if (t->in_region || (t->index > 0 && !t->free))
        return false;
    if (draw(p, 3) == 0 && n > 1) {
        come_to_barrier(p, t);
        return true;
    }
    if (other->doing == NOT_MADE)
        make(p, t, other);
    else if (other != t && other->number > 0 && !other->joined)
        begin_to_join(t, other);
    else
        return false;
    return true;
}
