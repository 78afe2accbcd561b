/* Translation of events: threads, tasks and locks. */
#include "trace/format/otf2/read/events.h"

/* ---- threads --------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_fork(COMMON, OTF2_Paradigm model, uint32_t threads)
{
    IGNORE_COMMON;
    (void)model;
    return lull_otf2_add_number(user, time, LULL_EVENT_FORK, threads);
}

static OTF2_CallbackCode on_join(COMMON, OTF2_Paradigm model)
{
    IGNORE_COMMON;
    (void)model;
    return lull_otf2_add_number(user, time, LULL_EVENT_JOIN, 0);
}

/* Teams are often undefined: their events still tell who works in a parallel region. */
static uint32_t team_index(const struct otf2_stream *stream, OTF2_CommRef team)
{
    uint32_t index = lull_otf2_find(&stream->archive->comms, team);
    bool is_team =
        index != LULL_NONE && stream->trace->comms[index].paradigm == LULL_PARADIGM_OPENMP;
    return is_team ? index : LULL_NONE;
}

static OTF2_CallbackCode on_team_begin(COMMON, OTF2_CommRef team)
{
    IGNORE_COMMON;
    lull_otf2_add(user, time, LULL_EVENT_TEAM_BEGIN, team_index(user, team))->number = 0;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_team_end(COMMON, OTF2_CommRef team)
{
    IGNORE_COMMON;
    lull_otf2_add(user, time, LULL_EVENT_TEAM_END, team_index(user, team))->number = 0;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread_begin(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    IGNORE_COMMON;
    (void)contingent;
    (void)sequence;
    return lull_otf2_add_number(user, time, LULL_EVENT_THREAD_BEGIN, 0);
}

static OTF2_CallbackCode on_thread_end(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    IGNORE_COMMON;
    (void)contingent;
    (void)sequence;
    return lull_otf2_add_number(user, time, LULL_EVENT_THREAD_END, 0);
}

static OTF2_CallbackCode on_program_begin(COMMON, OTF2_StringRef name, uint32_t n_arguments,
                                          const OTF2_StringRef *arguments)
{
    IGNORE_COMMON;
    (void)name;
    (void)n_arguments;
    (void)arguments;
    return lull_otf2_add_number(user, time, LULL_EVENT_THREAD_BEGIN, 0);
}

static OTF2_CallbackCode on_program_end(COMMON, int64_t exit_status)
{
    IGNORE_COMMON;
    (void)exit_status;
    return lull_otf2_add_number(user, time, LULL_EVENT_THREAD_END, 0);
}

static OTF2_CallbackCode on_lock(COMMON, OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)model;
    (void)order;
    return lull_otf2_add_number(user, time, LULL_EVENT_LOCK_ACQUIRE, lock);
}

static OTF2_CallbackCode on_unlock(COMMON, OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)model;
    (void)order;
    return lull_otf2_add_number(user, time, LULL_EVENT_LOCK_RELEASE, lock);
}

/* A task is known by the thread that made it and that thread's count. */
static uint64_t task_number(uint32_t creator, uint32_t generation)
{
    return (uint64_t)creator << 32 | generation;
}

static OTF2_CallbackCode on_task_create(COMMON, OTF2_CommRef team, uint32_t creator,
                                        uint32_t generation)
{
    IGNORE_COMMON;
    (void)team;
    return lull_otf2_add_number(user, time, LULL_EVENT_TASK_CREATE,
                                task_number(creator, generation));
}

static OTF2_CallbackCode on_task_switch(COMMON, OTF2_CommRef team, uint32_t creator,
                                        uint32_t generation)
{
    IGNORE_COMMON;
    (void)team;
    return lull_otf2_add_number(user, time, LULL_EVENT_TASK_SWITCH,
                                task_number(creator, generation));
}

static OTF2_CallbackCode on_task_complete(COMMON, OTF2_CommRef team, uint32_t creator,
                                          uint32_t generation)
{
    IGNORE_COMMON;
    (void)team;
    return lull_otf2_add_number(user, time, LULL_EVENT_TASK_COMPLETE,
                                task_number(creator, generation));
}

/* Records of OTF2 before 1.2. */

static OTF2_CallbackCode on_old_fork(COMMON, uint32_t threads)
{
    IGNORE_COMMON;
    return lull_otf2_add_number(user, time, LULL_EVENT_FORK, threads);
}

static OTF2_CallbackCode on_old_join(COMMON)
{
    IGNORE_COMMON;
    return lull_otf2_add_number(user, time, LULL_EVENT_JOIN, 0);
}

static OTF2_CallbackCode on_old_lock(COMMON, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)order;
    return lull_otf2_add_number(user, time, LULL_EVENT_LOCK_ACQUIRE, lock);
}

static OTF2_CallbackCode on_old_unlock(COMMON, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)order;
    return lull_otf2_add_number(user, time, LULL_EVENT_LOCK_RELEASE, lock);
}

static OTF2_CallbackCode on_old_task_create(COMMON, uint64_t task)
{
    IGNORE_COMMON;
    return lull_otf2_add_number(user, time, LULL_EVENT_TASK_CREATE, task);
}

static OTF2_CallbackCode on_old_task_switch(COMMON, uint64_t task)
{
    IGNORE_COMMON;
    return lull_otf2_add_number(user, time, LULL_EVENT_TASK_SWITCH, task);
}

static OTF2_CallbackCode on_old_task_complete(COMMON, uint64_t task)
{
    IGNORE_COMMON;
    return lull_otf2_add_number(user, time, LULL_EVENT_TASK_COMPLETE, task);
}

/* ---- registration ---------------------------------------------------------------------------- */

void lull_otf2_set_threads(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_FORK)) {
        SET(ThreadFork, on_fork);
        SET(OmpFork, on_old_fork);
    }
    if (mask & LULL_MASK(LULL_EVENT_JOIN)) {
        SET(ThreadJoin, on_join);
        SET(OmpJoin, on_old_join);
    }
    if (mask & LULL_MASK(LULL_EVENT_TEAM_BEGIN))
        SET(ThreadTeamBegin, on_team_begin);
    if (mask & LULL_MASK(LULL_EVENT_TEAM_END))
        SET(ThreadTeamEnd, on_team_end);
    if (mask & LULL_MASK(LULL_EVENT_THREAD_BEGIN)) {
        SET(ThreadBegin, on_thread_begin);
        SET(ProgramBegin, on_program_begin);
    }
    if (mask & LULL_MASK(LULL_EVENT_THREAD_END)) {
        SET(ThreadEnd, on_thread_end);
        SET(ProgramEnd, on_program_end);
    }
}

void lull_otf2_set_tasks_and_locks(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_TASK_CREATE)) {
        SET(ThreadTaskCreate, on_task_create);
        SET(OmpTaskCreate, on_old_task_create);
    }
    if (mask & LULL_MASK(LULL_EVENT_TASK_SWITCH)) {
        SET(ThreadTaskSwitch, on_task_switch);
        SET(OmpTaskSwitch, on_old_task_switch);
    }
    if (mask & LULL_MASK(LULL_EVENT_TASK_COMPLETE)) {
        SET(ThreadTaskComplete, on_task_complete);
        SET(OmpTaskComplete, on_old_task_complete);
    }
    if (mask & LULL_MASK(LULL_EVENT_LOCK_ACQUIRE)) {
        SET(ThreadAcquireLock, on_lock);
        SET(OmpAcquireLock, on_old_lock);
    }
    if (mask & LULL_MASK(LULL_EVENT_LOCK_RELEASE)) {
        SET(ThreadReleaseLock, on_unlock);
        SET(OmpReleaseLock, on_old_unlock);
    }
}
