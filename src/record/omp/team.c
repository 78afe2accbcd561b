/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/omp/team.h"

#include "base/mix.h"
#include "record/store/definitions.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

uint32_t rec_omp_ids[REC_OMP_REGIONS];
char rec_omp_tasks_ended;

#define REGION(construct, role)                                                              \
    {                                                                                        \
        LULL_TAPE_PARADIGM_OPENMP, LULL_TAPE_ROLE_##role, false, 0, "!$omp " construct, NULL \
    }

static const struct rec_region omp_regions[REC_OMP_REGIONS] = {
    [REC_OMP_FORK] = REGION("fork", SCHEDULE),
    [REC_OMP_IMPLICIT_BARRIER] = REGION("implicit barrier", IMPLICIT_BARRIER),
    [REC_OMP_BARRIER] = REGION("barrier", BARRIER),
    [REC_OMP_CRITICAL] = REGION("critical", CRITICAL),
    [REC_OMP_CRITICAL_BODY] = REGION("critical sblock", CRITICAL_BODY),
    [REC_OMP_ATOMIC] = REGION("atomic", ATOMIC),
    [REC_OMP_ORDERED] = REGION("ordered", ORDERED),
    [REC_OMP_ORDERED_BODY] = REGION("ordered sblock", ORDERED_BODY),
    [REC_OMP_FOR] = REGION("for", LOOP),
    [REC_OMP_NEXT_CHUNK] = REGION("next chunk", SCHEDULE),
    [REC_OMP_SECTIONS] = REGION("sections", SECTIONS),
    [REC_OMP_NEXT_SECTION] = REGION("next section", SCHEDULE),
    [REC_OMP_SINGLE] = REGION("single", SINGLE),
    [REC_OMP_SINGLE_WAIT] = REGION("single copyprivate", IMPLICIT_BARRIER),
    [REC_OMP_MASKED] = REGION("masked", MASTER),
    [REC_OMP_WORKSHARE] = REGION("workshare", WORKSHARE),
    [REC_OMP_DISTRIBUTE] = REGION("distribute", LOOP),
    [REC_OMP_REDUCTION] = REGION("reduction", IMPLICIT_BARRIER),
    [REC_OMP_TASK_CREATE] = REGION("create task", TASK_CREATE),
    [REC_OMP_TASKLOOP] = REGION("taskloop", TASK_WAIT),
    [REC_OMP_TASKLOOP_NOGROUP] = REGION("taskloop nogroup", TASK_CREATE),
    [REC_OMP_TASK_WAIT] = REGION("taskwait", TASK_WAIT),
    [REC_OMP_TASKGROUP] = REGION("taskgroup", TASK_WAIT),
    [REC_OMP_TASK_YIELD] = REGION("taskyield", SCHEDULE),
    [REC_OMP_TEAMS] = REGION("teams", CODE),
    [REC_OMP_SET_LOCK] = REGION("set lock", LOCK),
    [REC_OMP_TEST_LOCK] = REGION("test lock", LOCK),
    [REC_OMP_UNSET_LOCK] = REGION("unset lock", LOCK),
    [REC_OMP_SET_NEST_LOCK] = REGION("set nest lock", LOCK),
    [REC_OMP_TEST_NEST_LOCK] = REGION("test nest lock", LOCK),
    [REC_OMP_UNSET_NEST_LOCK] = REGION("unset nest lock", LOCK),
};

void rec_omp_start(void)
{
    for (int i = 0; i < REC_OMP_REGIONS; i++)
        rec_define_region_once(&rec_omp_ids[i], &omp_regions[i]);
}

uint32_t rec_omp_new_site(enum rec_omp_region construct, const void *from)
{
    const uint32_t region = rec_omp_ids[construct];
    return from ? rec_site_of_place(region, REC_OMP_SITES + construct, from) : region;
}

/* ---- regions by code ------------------------------------------------------------------------- */

/* Hash tables with open addressing; a place, once taken, belongs to its code for good. Codes for
 * which no place is free share one region. */
enum { OUTLINED_PLACES = 8192, OUTLINED_PROBES = 64 };

static struct outlined_place {
    const void *code; /* atomic */
    uint32_t id;      /* atomic; 0: being defined */
} outlined_places[REC_OMP_OUTLINED][OUTLINED_PLACES];

static const struct {
    const char *name;
    uint32_t role;
    bool parallel;
} outlined[REC_OMP_OUTLINED] = {
    [REC_OMP_PARALLEL] = {"parallel", LULL_TAPE_ROLE_PARALLEL, true},
    [REC_OMP_LEAGUE] = {"teams", LULL_TAPE_ROLE_PARALLEL, true},
    [REC_OMP_TASK] = {"task", LULL_TAPE_ROLE_TASK, false},
};

static uint32_t define_outlined(enum rec_omp_outlined kind, const void *code, uint32_t *id)
{
    static uint32_t parents[REC_OMP_OUTLINED];
    char name[32];
    snprintf(name, sizeof name, "!$omp %s", outlined[kind].name);
    const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_OPENMP,
                                      .role = outlined[kind].role,
                                      .parallel = outlined[kind].parallel,
                                      .name = name};
    uint32_t parent = rec_define_region_once(&parents[kind], &region);
    uint32_t fresh = code ? rec_site_of_code(parent, code) : parent, known = 0;
    /* Another thread may have defined it, too; the reader makes one region of both definitions. */
    if (!__atomic_compare_exchange_n(id, &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return known;
    return fresh;
}

static uint32_t id_of(enum rec_omp_outlined kind, const void *code, uint32_t *place)
{
    uint32_t id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    return REC_LIKELY(id != 0) ? id : define_outlined(kind, code, place);
}

uint32_t rec_omp_outlined(enum rec_omp_outlined kind, const void *code)
{
    static uint32_t others[REC_OMP_OUTLINED]; /* atomic */
    uint64_t hash = lull_spread((uintptr_t)code);
    for (unsigned i = 0; code && i < OUTLINED_PROBES; i++) {
        struct outlined_place *place = &outlined_places[kind][((hash >> 40) + i) % OUTLINED_PLACES];
        const void *there = __atomic_load_n(&place->code, __ATOMIC_ACQUIRE);
        if (!there && __atomic_compare_exchange_n(&place->code, &there, code, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            there = code;
        if (there == code)
            return id_of(kind, code, &place->id);
    }
    return id_of(kind, NULL, &others[kind]);
}

struct rec_omp_known rec_omp_learn(struct rec_omp *omp, enum rec_omp_outlined kind,
                                   const void *code)
{
    const struct rec_omp_known fresh = {
        code, rec_omp_outlined(kind, code),
        rec_omp_at(REC_OMP_IMPLICIT_BARRIER, rec_omp_place_of(code))};
    if (kind == REC_OMP_PARALLEL)
        omp->known[REC_OMP_KNOWN_AT(code)] = fresh;
    return fresh;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct rec_omp *rec_omp_make(struct rec_thread *self)
{
    if (self == &rec_nobody)
        return NULL;
    void *space = mmap(NULL, sizeof(struct rec_omp), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return NULL;
    rec_omp_start();
    struct rec_omp *omp = space;
    omp->last = rec_now();
    self->omp = omp;
    return omp;
}

void rec_omp_forget(struct rec_thread *self)
{
    struct rec_omp *omp = self->omp;
    if (!omp)
        return;
    rec_omp_unfold(self);
    omp->tests_lock = omp->ended_alone = false;
    omp->unseen = omp->request = 0;
    omp->n_constructs = omp->n_forks = omp->n_leagues = omp->n_tasks = 0;
    omp->hidden[0] = 0;
    omp->called_from = NULL;
}

void rec_omp_thread_begin(void)
{
    struct rec_thread *self = rec_thread_begin(REC_ROLE_WORKER);
    if (self->omp) /* `omp` is there where another thread had this location before */
        rec_omp_of(self)->last = rec_now();
}

/* When the region ended at whose end a worker waits. Where the master has since begun more regions
 * than its ring holds, that time is lost; the wait then has no length. Where the master has not
 * gone on yet, the region ends at `now`, or at present if `now` is 0. */
static uint64_t end_of_region(const struct rec_omp *omp, uint64_t now)
{
    const struct rec_omp_end *end = &omp->ends[omp->generation % REC_OMP_ENDS];
    uint64_t generation = __atomic_load_n(&end->generation, __ATOMIC_ACQUIRE);
    uint64_t time = __atomic_load_n(&end->time, __ATOMIC_ACQUIRE);
    if (generation < omp->generation)
        return now ? now : rec_now();
    if (generation > omp->generation ||
        __atomic_load_n(&end->generation, __ATOMIC_RELAXED) != generation)
        return omp->opened;
    return now && now < time ? now : time;
}

static void settle_at(struct rec_thread *self, uint64_t end)
{
    struct rec_omp *omp = rec_omp_of(self);
    if (end < omp->opened)
        end = omp->opened;
    if (end < rec_last_time(self))
        end = rec_last_time(self);
    rec_omp_close_at(self, omp->barrier, end);
    rec_put_leave(self, omp->region, end);
    self->parallel = omp->around;
    omp->last = end;
}

void rec_omp_settle(struct rec_thread *self, uint64_t now)
{
    struct rec_omp *omp = self->omp;
    if (omp && __atomic_exchange_n(&omp->waits, false, __ATOMIC_ACQ_REL))
        settle_at(self, end_of_region(omp, now));
}

/* Whether a worker waits in the barrier at the end of a region and runs no task there. The runtime
 * may keep it there for long. */
static bool is_parked(const struct rec_thread *self)
{
    const struct rec_omp *omp = self->omp;
    uint32_t n = self->n_frames;
    if (!__atomic_load_n(&omp->waits, __ATOMIC_ACQUIRE))
        return false;
    return omp->open != 0 || omp->unseen != 0 ||
           (n > 0 && n <= REC_MOST_FRAMES && self->frames[n - 1].region == omp->barrier);
}

void rec_omp_before_pause(struct rec_thread *self, uint64_t time)
{
    if (!self->omp)
        return;
    if (is_parked(self))
        rec_omp_settle(self, time);
    rec_omp_unfold(self);
}

void rec_omp_before_resume(struct rec_thread *self, uint64_t time)
{
    struct rec_omp *omp = self->omp;
    if (!omp)
        return;
    if (is_parked(self))
        rec_omp_settle(self, time);
    if (omp->unseen != 0) { /* from here on the wait is recorded */
        omp->open = omp->unseen;
        omp->unseen = 0;
        omp->opened = time;
    }
}

/* Ends the wait of a worker that comes to another region. As a rule it waited at the end of the
 * last region of the same master; the new fork says when that ended. */
static void settle_for(struct rec_thread *self, const struct rec_fork *fork)
{
    struct rec_omp *omp = rec_omp_of(self);
    if (!__atomic_exchange_n(&omp->waits, false, __ATOMIC_ACQ_REL))
        return;
    bool last = omp->ends == fork->ends && omp->generation + 1 == fork->generation;
    settle_at(self, last ? fork->previous : end_of_region(omp, fork->begin));
}

/* The time between the fork and the first instruction of the region's code is the runtime's. */
void rec_omp_begin(struct rec_thread *self, const struct rec_fork *fork)
{
    struct rec_omp *omp = rec_omp_of(self);
    uint64_t begin = fork->begin;
    if (fork->ends != omp->ring) {
        settle_for(self, fork);
        if (begin < omp->last)
            begin = omp->last;
        self->in_calls += begin - omp->last;
        omp->around = self->parallel;
        self->parallel = 1;
        rec_enter(self, fork->region, begin);
    }
    omp->begun = omp->forked;
    uint64_t now = rec_now();
    rec_call(self, rec_omp_ids[REC_OMP_FORK], begin, now > begin ? now - begin : 0);
}
