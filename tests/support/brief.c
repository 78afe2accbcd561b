#include "support/brief.h"

struct call {
    bool open, told, sends;
    int64_t kept_ns;
    unsigned posts;
};

/* Functions that complete nothing and take part in nothing, and those that are not known. */
static bool may_leave_nothing(uint8_t call)
{
    return !(call == LULL_CALL_SEND || call == LULL_CALL_SSEND || call == LULL_CALL_BSEND ||
             call == LULL_CALL_RECV || call == LULL_CALL_SENDRECV || call == LULL_CALL_WAIT ||
             call == LULL_CALL_WAITALL || call == LULL_CALL_TEST || call == LULL_CALL_COLLECTIVE ||
             call == LULL_CALL_ICOLLECTIVE);
}

static bool tells_posts(uint8_t kind)
{
    return kind == LULL_STEP_SEND || kind == LULL_STEP_RECV || kind == LULL_STEP_CANCEL ||
           kind == LULL_STEP_FREE || kind == LULL_STEP_COLLECTIVE_END;
}

/* Whether the step is told; then *step is as it is told. */
static bool shorten(struct call *call, bool master, struct lull_step *step)
{
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        *call = (struct call){.open = true, .kept_ns = step->kept_ns, .posts = call->posts};
        return false;
    case LULL_STEP_CALL_END:
        call->open = false;
        if (master && !call->told && may_leave_nothing(step->op))
            return false;
        step->kind = LULL_STEP_CALL;
        step->sends = call->sends;
        step->posts = (uint8_t)call->posts;
        call->posts = 0;
        return true;
    case LULL_STEP_SEND_DONE:
        call->sends = true;
        return false;
    case LULL_STEP_RECV_POST:
        if (++call->posts < LULL_STEP_MOST_POSTS)
            return false;
        step->kept_ns = call->kept_ns;
        step->region = step->comm = LULL_NONE;
        step->posts = (uint8_t)call->posts;
        call->posts = 0;
        return true;
    default:
        if (!(BRIEF_STEPS >> step->kind & 1))
            return false;
        if (step->kind == LULL_STEP_END || step->kind == LULL_STEP_USER)
            return true;
        if (step->kind == LULL_STEP_SEND)
            call->sends = true;
        else
            call->told = true;
        if (step->kind == LULL_STEP_COLLECTIVE_BEGIN && step->collective.request == LULL_NO_REQUEST)
            return false;
        step->kept_ns = call->open ? call->kept_ns : step->kept_ns;
        if (tells_posts(step->kind)) {
            step->posts = (uint8_t)call->posts;
            call->posts = 0;
        }
        return true;
    }
}

size_t brief_steps(const struct lull_step *steps, size_t count, bool master,
                   struct lull_step *ret_steps)
{
    struct call call = {0};
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        ret_steps[n] = steps[i];
        n += shorten(&call, master, &ret_steps[n]);
    }
    return n;
}
