#include "record/thread/left.h"

#include "record/site/site.h"

/* An open call is below in the stack, which grows downwards, and its return address still stands
 * where it was called. */
__attribute__((no_sanitize("address"))) static bool is_below(const struct rec_thread *self,
                                                             uintptr_t frame)
{
    if (frame >= self->frame)
        return false;
#if defined(__x86_64__)
    return ((const uintptr_t *)self->frame)[-1] == self->from;
#else
    return true;
#endif
}

/* How long it took is not known: an error is told at once, so that it counts without time. */
bool rec_forget_left(struct rec_thread *self, uintptr_t frame)
{
    if (self->frame == 0 || REC_LIKELY(is_below(self, frame)) || !rec_site_is_stack(self, frame) ||
        !rec_site_is_stack(self, self->frame))
        return false;
    const struct lull_tape_record open = self->at->record;
    if (!self->paused && lull_tape_kind_of(open.head) == LULL_TAPE_CALL &&
        open.value == LULL_TAPE_OPEN)
        rec_call(self, lull_tape_id_of(open.head), open.time, 0);
    self->frame = 0;
    rec_gate_open(self);
    return true;
}
