#include "replay/eager_limit.h"

#include "base/array.h"
#include "replay/sample.h"

#include <math.h>
#include <stdlib.h>

enum { EAGER_SIZES = LULL_EAGER_SIZES, EAGER_REACHES = 2, ENOUGH_SENDS = 8 };
enum { SENT, RECEIVED, SIDES };
enum { BEGAN, RETURNED };  /* times of a send */
enum { POSTED, COMPLETE }; /* times of a receive */

/* A send that has not returned, or a receive that was posted. */
struct pending_send {
    uint64_t request; /* LULL_NO_REQUEST: the one of the call that goes on */
    struct lull_sampled item;
    uint8_t reach;
    bool blocks; /* MPI_Send itself */
};

struct open_list {
    struct pending_send *items;
    size_t count, capacity;
};

struct eager_thread {
    uint8_t call;
    int64_t call_began;
    uint32_t *counts; /* by channel of the location: messages so far */
    size_t n_counts, capacity;
    struct open_list sends, receives;
};

struct eager_tally {
    struct lull_sample *of[EAGER_REACHES][SIDES][EAGER_SIZES];
};

struct lull_eager_evidence {
    const struct lull_trace *trace;
    unsigned workers;
    struct eager_tally *tallies;
    struct eager_thread *threads; /* by location */
};

/* ---- messages ------------------------------------------------------------------------------ */

/* The number of a message of its channel, from 0; false: no memory. */
static bool count_message_of_channel(struct eager_thread *thread, uint32_t channel,
                                     uint32_t *ret_number)
{
    if (!lull_array_reserve(&thread->counts, &thread->capacity, channel + (size_t)1,
                            sizeof *thread->counts))
        return false;
    while (thread->n_counts <= channel)
        thread->counts[thread->n_counts++] = 0;
    *ret_number = thread->counts[channel]++;
    return true;
}

/* The same at both ends. */
static uint64_t hash_message_number(const struct lull_channel *channel, uint32_t number)
{
    uint64_t hash = lull_sample_mix(0, (uint64_t)channel->source << 32 | channel->target);
    hash = lull_sample_mix(hash, (uint64_t)channel->comm << 32 | (uint32_t)channel->tag);
    return lull_sample_mix(hash, number) * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static uint8_t reach_of(const struct lull_trace *trace, const struct lull_channel *channel)
{
    return trace->processes[channel->source].node != trace->processes[channel->target].node;
}

static bool add_message_end(struct lull_eager_evidence *evidence, unsigned worker, unsigned side,
                            const struct pending_send *message)
{
    uint64_t bytes = message->item.bytes;
    unsigned size = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
    return lull_sample_add(&evidence->tallies[worker].of[message->reach][side][size],
                           &message->item);
}

static bool open_message(struct open_list *list, const struct pending_send *message)
{
    if (!lull_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = *message;
    return true;
}

/* The last one opened comes first: the list of a thread that never completes any may be long. */
static bool close_message(struct open_list *list, uint64_t request,
                          struct pending_send *ret_message)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->items[i].request == request) {
            *ret_message = list->items[i];
            list->items[i] = list->items[--list->count];
            return true;
        }
    return false;
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool take_send(struct lull_eager_evidence *evidence, struct eager_thread *thread,
                      const struct lull_steps *steps, const struct lull_step *step)
{
    uint32_t number;
    if (step->channel == LULL_NONE)
        return true;
    if (!count_message_of_channel(thread, step->channel, &number))
        return false;
    if (step->op == LULL_SEND_BUFFERED)
        return true;
    const struct lull_channel *channel = lull_channels_at(steps->channels, step->channel);
    const struct pending_send message = {.request = step->message.request,
                                         .item = {.hash = hash_message_number(channel, number),
                                                  .bytes = step->message.bytes,
                                                  .times = {[BEGAN] = step->time}},
                                         .reach = reach_of(evidence->trace, channel),
                                         .blocks = thread->call == LULL_CALL_SEND &&
                                                   step->message.request == LULL_NO_REQUEST};
    return open_message(&thread->sends, &message);
}

static bool end_send(struct lull_eager_evidence *evidence, unsigned worker,
                     struct eager_thread *thread, uint64_t request, int64_t time)
{
    struct pending_send message;
    while (close_message(&thread->sends, request, &message)) {
        message.item.times[RETURNED] = time;
        if (!message.blocks) /* what ends late need not have waited */
            message.item.times[BEGAN] = time;
        if (!add_message_end(evidence, worker, SENT, &message))
            return false;
        if (request != LULL_NO_REQUEST)
            break;
    }
    return true;
}

static bool take_receive(struct lull_eager_evidence *evidence, unsigned worker,
                         struct eager_thread *thread, const struct lull_steps *steps,
                         const struct lull_step *step)
{
    struct pending_send message = {.item.times = {thread->call_began}};
    bool posted = step->message.request != LULL_NO_REQUEST
                      ? close_message(&thread->receives, step->message.request, &message)
                      : thread->call == LULL_CALL_RECV || thread->call == LULL_CALL_SENDRECV;
    uint32_t number;
    if (step->channel == LULL_NONE)
        return true;
    if (!count_message_of_channel(thread, step->channel, &number))
        return false;
    if (!posted)
        return true;
    const struct lull_channel *channel = lull_channels_at(steps->channels, step->channel);
    message.item.hash = hash_message_number(channel, number);
    message.item.bytes = step->message.bytes;
    message.item.times[COMPLETE] = step->time;
    message.reach = reach_of(evidence->trace, channel);
    return add_message_end(evidence, worker, RECEIVED, &message);
}

static bool take_step_for_eager(struct lull_eager_evidence *evidence, unsigned worker,
                                const struct lull_steps *steps, const struct lull_step *step)
{
    struct eager_thread *thread = &evidence->threads[steps->location];
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        thread->call = step->op;
        thread->call_began = step->time;
        return true;
    case LULL_STEP_CALL_END:
        thread->call = LULL_CALL_OTHER;
        return end_send(evidence, worker, thread, LULL_NO_REQUEST, step->time);
    case LULL_STEP_SEND:
        return take_send(evidence, thread, steps, step);
    case LULL_STEP_SEND_DONE:
        return end_send(evidence, worker, thread, step->message.request, step->time);
    case LULL_STEP_RECV_POST: {
        const struct pending_send posted = {.request = step->message.request,
                                            .item.times = {step->time}};
        return posted.request == LULL_NO_REQUEST || open_message(&thread->receives, &posted);
    }
    case LULL_STEP_RECV:
        return take_receive(evidence, worker, thread, steps, step);
    default:
        return true;
    }
}

static lull_status take_steps_for_eager(void *context, unsigned worker,
                                        const struct lull_steps *steps, struct lull_error *err)
{
    struct lull_eager_evidence *evidence = context;
    bool fits = true;
    for (uint32_t i = 0; fits && i < steps->count; i++)
        fits = take_step_for_eager(evidence, worker, steps, &steps->steps[i]);
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            evidence->trace->path);
}

struct lull_consumer lull_eager_evidence_consumer(struct lull_eager_evidence *evidence)
{
    return (struct lull_consumer){
        .context = evidence,
        .wants = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) |
                 LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_SEND_DONE) |
                 LULL_STEP_MASK(LULL_STEP_RECV_POST) | LULL_STEP_MASK(LULL_STEP_RECV),
        .steps = take_steps_for_eager};
}

/* ---- from member to member ----------------------------------------------------------------- */

enum { EAGER_SAMPLES = EAGER_REACHES * SIDES * EAGER_SIZES };

static struct lull_sample **sample_at(struct eager_tally *tally, unsigned index)
{
    return &tally
                ->of[index / EAGER_SIZES / SIDES][index / EAGER_SIZES % SIDES][index % EAGER_SIZES];
}

bool lull_eager_evidence_put(const struct lull_eager_evidence *evidence, struct lull_flow *flow)
{
    const unsigned end = EAGER_SAMPLES;
    bool good = true;
    for (unsigned w = 0; good && w < evidence->workers; w++)
        for (unsigned i = 0; good && i < EAGER_SAMPLES; i++) {
            struct lull_sample *sample = *sample_at(&evidence->tallies[w], i);
            good = !sample || (lull_flow_put(flow, &i, sizeof i) && lull_sample_put(sample, flow));
        }
    return good && lull_flow_put(flow, &end, sizeof end);
}

bool lull_eager_evidence_get(struct lull_eager_evidence *evidence, struct lull_flow *flow)
{
    unsigned index = 0;
    while (lull_flow_get(flow, &index, sizeof index) && index < EAGER_SAMPLES)
        if (!lull_sample_get(sample_at(&evidence->tallies[0], index), flow))
            return false;
    return index == EAGER_SAMPLES;
}

/* ---- the limit ----------------------------------------------------------------------------- */

/* What the messages of about one size show. */
struct finding {
    double eager;  /* the largest that was, or -1 */
    double waited; /* the smallest that seems to have waited for its receive */
    uint32_t n_waited;
    struct lull_handshakes handshakes;
};

/* A blocking send, from when both sides had begun until one of them knew that it was over. */
static void add_handshake(const struct lull_sampled *sent, const struct lull_sampled *received,
                          struct lull_handshakes *handshakes)
{
    const int64_t *send = sent->times, *receive = received->times;
    int64_t began = send[BEGAN] > receive[POSTED] ? send[BEGAN] : receive[POSTED];
    int64_t ended = send[RETURNED] < receive[COMPLETE] ? send[RETURNED] : receive[COMPLETE];
    if (send[BEGAN] == send[RETURNED] || ended < began)
        return;
    handshakes->count++;
    handshakes->bytes += sent->bytes;
    handshakes->ns += ended - began;
}

static void compare_message_ends(const struct lull_sampled *sent,
                                 const struct lull_sampled *received, struct finding *finding)
{
    add_handshake(sent, received, &finding->handshakes);
    int64_t posted = received->times[POSTED];
    if (sent->times[RETURNED] < posted) {
        finding->eager = fmax(finding->eager, (double)sent->bytes);
    } else if (sent->times[BEGAN] < posted) {
        finding->waited = fmin(finding->waited, (double)sent->bytes);
        finding->n_waited++;
    }
}

static struct finding look_at_size(struct lull_sample *sent, struct lull_sample *received)
{
    struct finding finding = {.eager = -1, .waited = (double)INFINITY};
    if (!sent || !received)
        return finding;
    lull_sample_settle(sent);
    lull_sample_settle(received);
    for (uint32_t s = 0, r = 0; s < sent->count && r < received->count;) {
        uint64_t a = sent->items[s].hash, b = received->items[r].hash;
        if (a == b)
            compare_message_ends(&sent->items[s], &received->items[r], &finding);
        s += a <= b;
        r += b <= a;
    }
    return finding;
}

static lull_status find_eager(struct lull_eager_evidence *evidence, bool between_nodes, int size,
                              struct finding *ret_finding, struct lull_error *err)
{
    struct lull_sample *sides[SIDES] = {NULL};
    bool fits = true;
    for (unsigned w = 0; w < evidence->workers; w++)
        for (int side = 0; side < SIDES; side++)
            fits &=
                lull_sample_join(&sides[side], evidence->tallies[w].of[between_nodes][side][size]);
    *ret_finding = look_at_size(sides[SENT], sides[RECEIVED]);
    free(sides[SENT]);
    free(sides[RECEIVED]);
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            evidence->trace->path);
}

lull_status lull_eager_evidence_weigh(struct lull_eager_evidence *evidence, bool between_nodes,
                                      struct lull_eager_findings *ret_findings,
                                      struct lull_error *err)
{
    struct lull_eager_findings findings = {0, (double)INFINITY, {{0}}};
    for (int size = 0; size < EAGER_SIZES; size++) {
        struct finding finding;
        lull_status status = find_eager(evidence, between_nodes, size, &finding, err);
        if (status != LULL_OK)
            return status;
        findings.handshakes[size] = finding.handshakes;
        if (finding.eager >= 0) { /* and so are smaller ones */
            findings.least = finding.eager;
            findings.most = (double)INFINITY;
        } else if (finding.n_waited >= ENOUGH_SENDS) {
            findings.most = fmin(findings.most, finding.waited - 1);
        }
    }
    *ret_findings = findings;
    return LULL_OK;
}

double lull_eager_limit(const struct lull_eager_findings *findings, double usual)
{
    return fmax(findings->least, fmin(findings->most, usual));
}

/* ---- life ---------------------------------------------------------------------------------- */

lull_status lull_eager_evidence_create(const struct lull_trace *trace, unsigned workers,
                                       struct lull_eager_evidence **ret_evidence,
                                       struct lull_error *err)
{
    struct lull_eager_evidence *evidence = calloc(1, sizeof *evidence);
    if (evidence) {
        evidence->trace = trace;
        evidence->workers = workers;
        evidence->tallies = calloc(workers, sizeof *evidence->tallies);
        evidence->threads = calloc(trace->n_locations + (size_t)1, sizeof *evidence->threads);
    }
    if (!evidence || !evidence->tallies || !evidence->threads) {
        lull_eager_evidence_destroy(evidence);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    *ret_evidence = evidence;
    return LULL_OK;
}

void lull_eager_evidence_destroy(struct lull_eager_evidence *evidence)
{
    if (!evidence)
        return;
    for (unsigned w = 0; evidence->tallies && w < evidence->workers; w++)
        for (int reach = 0; reach < EAGER_REACHES; reach++)
            for (int size = 0; size < EAGER_SIZES; size++) {
                free(evidence->tallies[w].of[reach][SENT][size]);
                free(evidence->tallies[w].of[reach][RECEIVED][size]);
            }
    for (uint32_t l = 0; evidence->threads && l < evidence->trace->n_locations; l++) {
        free(evidence->threads[l].counts);
        free(evidence->threads[l].sends.items);
        free(evidence->threads[l].receives.items);
    }
    free(evidence->tallies);
    free(evidence->threads);
    free(evidence);
}
