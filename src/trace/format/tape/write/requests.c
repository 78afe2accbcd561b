/* Requests of a tape that is written. Where those of a trace are numbered as a reader of tapes
 * numbers them, from 0 on in the order in which a location opens them, what opens one needs no
 * number, and what completes several of them is one record. Others have their numbers in records of
 * their own. */
#include "trace/format/tape/write/writer.h"

#include <stdlib.h>

/* How many are remembered from the oldest open one on. One that is open for longer is completed by
 * a record with its number. */
enum { FIRST_KEPT = 16, MOST_KEPT = 1 << 16 };

/* As it was opened. */
struct tape_opened {
    struct lull_event event;
    bool open;
};

struct tape_numbers {
    struct tape_opened *ring; /* number n at n % size */
    uint32_t size;
    uint64_t oldest, next;
    union lull_tape_slot slots[1 + LULL_TAPE_MOST_EXTRA]; /* [0] is for the record's head */
    unsigned n_slots;                                     /* of completions */
    bool holds_large;                                     /* the last one has two */
    int64_t time;                                         /* of the completions */
};

static bool is_collective(const struct lull_event *event)
{
    return event->kind == LULL_EVENT_COLLECTIVE_BEGIN || event->kind == LULL_EVENT_COLLECTIVE_END;
}

static bool opens(const struct lull_event *event)
{
    return event->kind == LULL_EVENT_SEND || event->kind == LULL_EVENT_RECV_POST ||
           event->kind == LULL_EVENT_COLLECTIVE_BEGIN;
}

static bool completes(const struct lull_event *event)
{
    return event->kind == LULL_EVENT_SEND_DONE || event->kind == LULL_EVENT_RECV ||
           event->kind == LULL_EVENT_COLLECTIVE_END ||
           event->kind == LULL_EVENT_REQUEST_CANCELLED || event->kind == LULL_EVENT_REQUEST_FREED;
}

static uint64_t request_of(const struct lull_event *event)
{
    return is_collective(event) ? event->collective.request : event->message.request;
}

void lull_tape_free_numbers(struct tape_location *out)
{
    if (out->numbers)
        free(out->numbers->ring);
    free(out->numbers);
    out->numbers = NULL;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

bool lull_tape_opens_next(const struct tape_location *out, const struct lull_event *event)
{
    return opens(event) && request_of(event) == (out->numbers ? out->numbers->next : 0);
}

static bool enlarge_ring(struct tape_numbers *numbers)
{
    const uint32_t size = numbers->size > 0 ? numbers->size * 2 : FIRST_KEPT;
    struct tape_opened *ring = calloc(size, sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t n = numbers->oldest; n < numbers->next; n++)
        ring[n % size] = numbers->ring[n % numbers->size];
    free(numbers->ring);
    numbers->ring = ring;
    numbers->size = size;
    return true;
}

static void forget_completed(struct tape_numbers *numbers)
{
    while (numbers->oldest < numbers->next && !numbers->ring[numbers->oldest % numbers->size].open)
        numbers->oldest++;
}

lull_status lull_tape_open_next(const struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    if (!out->numbers)
        out->numbers = calloc(1, sizeof *out->numbers);
    struct tape_numbers *numbers = out->numbers;
    if (!numbers)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    if (numbers->next - numbers->oldest == MOST_KEPT) {
        numbers->ring[numbers->oldest % MOST_KEPT].open = false;
        forget_completed(numbers);
    }
    if (numbers->next - numbers->oldest == numbers->size && !enlarge_ring(numbers))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    numbers->ring[numbers->next++ % numbers->size] = (struct tape_opened){*event, true};
    return LULL_OK;
}

/* ---- completing -------------------------------------------------------------------------------
 */

static bool same_collective(const struct lull_event *opened, const struct lull_event *done)
{
    return done->kind == LULL_EVENT_COLLECTIVE_END && done->op == opened->op &&
           done->collective.sent == opened->collective.sent &&
           done->collective.received == opened->collective.received &&
           done->collective.root == opened->collective.root;
}

/* Nobody sends anything to MPI_PROC_NULL, and a reader knows that. */
static bool same_message(const struct lull_event *opened, const struct lull_event *done)
{
    const uint64_t bytes = opened->message.peer == LULL_PROC_NULL ? 0 : opened->message.bytes;
    return done->message.bytes == bytes && done->message.peer == opened->message.peer &&
           done->message.tag == opened->message.tag;
}

/* What a completion says of its request; returns how many slots that takes, 0: it cannot be said.
 */
static unsigned completion_of(const struct lull_event *opened, const struct lull_event *done,
                              union lull_tape_slot *slot)
{
    const uint32_t number = (uint32_t)request_of(done);
    const bool matched =
        done->kind == (opened->kind == LULL_EVENT_SEND ? LULL_EVENT_SEND_DONE : LULL_EVENT_RECV);
    if (done->id != opened->id)
        return 0;
    slot[0] = (union lull_tape_slot){.u32 = {number, 1, 0, 0}};
    if (is_collective(opened))
        return same_collective(opened, done);
    if (done->kind == LULL_EVENT_COLLECTIVE_END || done->op != 0)
        return 0;
    if (same_message(opened, done)) {
        if (matched)
            return 1;
        slot->u32[3] =
            done->kind == LULL_EVENT_REQUEST_CANCELLED ? LULL_TAPE_CANCELLED : LULL_TAPE_FREED;
        return done->kind == LULL_EVENT_REQUEST_CANCELLED || done->kind == LULL_EVENT_REQUEST_FREED;
    }
    if (!matched || (done->message.peer == LULL_PROC_NULL && done->message.bytes != 0))
        return 0;
    const bool large = done->message.bytes >= LULL_TAPE_LARGE;
    slot[0].i32[1] = done->message.peer;
    slot[0].i32[2] = done->message.tag;
    slot[0].u32[3] = LULL_TAPE_MATCHED | (large ? LULL_TAPE_LARGE : (uint32_t)done->message.bytes);
    slot[1] = (union lull_tape_slot){.u64 = {done->message.bytes, 0}};
    return 1 + large;
}

static struct tape_opened *find_open_request(struct tape_numbers *numbers,
                                             const struct lull_event *event)
{
    if (!numbers || !completes(event))
        return NULL;
    const uint64_t number = request_of(event);
    if (number < numbers->oldest || number >= numbers->next)
        return NULL;
    struct tape_opened *opened = &numbers->ring[number % numbers->size];
    return opened->open ? opened : NULL;
}

/* Whether the completion belongs to those that are held back, or to the call that is. */
static bool belongs(const struct tape_location *out, int64_t time)
{
    const struct tape_numbers *numbers = out->numbers;
    const struct lull_event *call = &out->pending[0];
    if (numbers->n_slots > 0)
        return time == numbers->time;
    return out->n_pending == 1 && call->kind == LULL_EVENT_CALL && call->op != LULL_SEVERAL &&
           (uint64_t)call->duration < LULL_TAPE_OPEN && call->time + call->duration == time;
}

/* Requests that have completed as they were posted, one after the other, are one range. */
static bool extend_range(struct tape_numbers *numbers, const union lull_tape_slot *slot)
{
    union lull_tape_slot *last = &numbers->slots[numbers->n_slots];
    if (numbers->n_slots == 0 || slot->u32[3] != 0 || last->u32[3] != 0 ||
        last->u32[0] + last->u32[1] != slot->u32[0] || numbers->holds_large)
        return false;
    last->u32[1]++;
    return true;
}

bool lull_tape_complete(struct tape_writer *writer, uint32_t location,
                        const struct lull_event *event, lull_status *ret_status,
                        struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct tape_numbers *numbers = out->numbers;
    struct tape_opened *opened = find_open_request(numbers, event);
    union lull_tape_slot slots[2];
    const unsigned n = opened ? completion_of(&opened->event, event, slots) : 0;
    *ret_status = LULL_OK;
    if (n == 0)
        return false;
    opened->open = false;
    forget_completed(numbers);
    if (belongs(out, event->time) && extend_range(numbers, slots))
        return true;
    if (!belongs(out, event->time) || numbers->n_slots + n > LULL_TAPE_MOST_EXTRA)
        *ret_status = lull_tape_release_pending(writer, location, err);
    memcpy(&numbers->slots[1 + numbers->n_slots], slots, n * sizeof *slots);
    numbers->n_slots += n;
    numbers->holds_large = n > 1;
    numbers->time = event->time;
    return true;
}

bool lull_tape_holds_completions(const struct tape_location *out)
{
    return out->numbers && out->numbers->n_slots > 0;
}

lull_status lull_tape_put_completions(struct tape_writer *writer, uint32_t location,
                                      struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct tape_numbers *numbers = out->numbers;
    const struct lull_event *call = out->n_pending > 0 ? &out->pending[0] : NULL;
    struct lull_tape_record *record = &numbers->slots[0].record;
    const unsigned n = numbers->n_slots;
    record->time = (uint64_t)(call ? call->time : numbers->time);
    record->value = call ? (uint32_t)call->duration : 0;
    record->head = call ? lull_tape_head(LULL_TAPE_CALL_WAIT, n, call->id)
                        : lull_tape_head(LULL_TAPE_COMPLETE, n, LULL_TAPE_NO_ID);
    numbers->n_slots = 0;
    out->n_pending = 0;
    return lull_tape_put(writer, location, numbers->slots, 1 + n, err);
}
