/* Threads that the program makes: they arrive and wait in syncs, whose numbers have the kind above
 * the number of a thread, or of a barrier and its meeting. */
#include "replay/program/queue.h"

enum { BEGINS = UINT32_MAX, ENDS = UINT32_MAX - 1 }; /* barriers count from 1, meets are 0 */

struct thread_meeting {
    uint32_t kind, number, size; /* size: who comes; of the life of a thread it is one of two */
};

static lull_status push_part(stream_t *s, enum lull_sync_part part,
                             const struct thread_meeting *meeting, struct lull_error *err)
{
    struct entry *entry = lull_replay_push(s, LULL_OP_SYNC, LULL_OP_NO_REGION, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.collective = (uint8_t)part;
    entry->op.peer = meeting->size;
    entry->op.bytes = meeting->size;
    entry->op.tag = meeting->number;
    entry->op.comm = meeting->kind;
    return LULL_OK;
}

/* Where one of them was not recorded when it came, nobody is waited for, as in the runtime on an
 * ideal network. */
static lull_status meet_at_barrier(stream_t *s, const struct lull_step *step,
                                   struct lull_error *err)
{
    const struct thread_meeting meeting = {.kind = 1 + (uint32_t)(step->meeting.number >> 32),
                                           .number = (uint32_t)step->meeting.number,
                                           .size = step->meeting.threads};
    if (!lull_survey_all_came(s->replay->survey, s->process, step))
        return LULL_OK;
    return push_part(
        s, step->kind == LULL_STEP_THREAD_WAIT_BEGIN ? LULL_SYNC_ARRIVES : LULL_SYNC_WAITS,
        &meeting, err);
}

/* A part that has no other part would stay open to the end. */
static lull_status push_known(stream_t *s, enum lull_sync_part part, const struct lull_step *step,
                              uint32_t kind, enum lull_life other, struct lull_error *err)
{
    const struct thread_meeting meeting = {kind, (uint32_t)step->number, 1};
    return lull_survey_knows(s->replay->survey, s->process, step->number, other)
               ? push_part(s, part, &meeting, err)
               : LULL_OK;
}

lull_status lull_replay_take_thread(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    if (step->number == 0)
        return LULL_OK;
    switch (step->kind) {
    case LULL_STEP_THREAD_CREATE:
        return push_known(s, LULL_SYNC_ARRIVES, step, BEGINS, LULL_LIFE_BEGINS, err);
    case LULL_STEP_THREAD_BEGIN:
        return push_known(s, LULL_SYNC_WAITS, step, BEGINS, LULL_LIFE_MADE, err);
    case LULL_STEP_THREAD_END:
        return push_known(s, LULL_SYNC_ARRIVES, step, ENDS, LULL_LIFE_JOINED, err);
    default:
        break;
    }
    if (step->op == LULL_THREAD_WAIT_BARRIER)
        return meet_at_barrier(s, step, err);
    return step->kind == LULL_STEP_THREAD_WAIT_END
               ? push_known(s, LULL_SYNC_WAITS, step, ENDS, LULL_LIFE_ENDS, err)
               : LULL_OK;
}
