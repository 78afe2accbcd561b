/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/measured_network.h"

#include "base/array.h"
#include "base/mix.h"
#include "replay/ideal/ideal.h"
#include "replay/sample.h"
#include "sim/network/network.h"
#include "stats/quantile.h"
#include "team/team.h"
#include "trace/resources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== eager limit ============================================================================= */

enum { EAGER_SIZES = LULL_EAGER_SIZES, EAGER_REACHES = 2, ENOUGH_SENDS = 8 };

enum { SENT, RECEIVED, SIDES };

enum { BEGAN, RETURNED }; /* times of a send */

enum { POSTED, COMPLETE }; /* times of a receive */

/* A send that has not returned, or a receive that was posted. */
struct pending_send {
    uint64_t request; /* LULL_NO_REQUEST: the one of the call that goes on */
    struct lull_sample_item item;
    uint8_t reach;
    bool blocks; /* MPI_Send itself */
};

struct open_list {
    struct pending_send *items;
    size_t count, capacity;
};

/* What is known of a channel of a location. */
struct eager_channel {
    uint64_t hash;  /* of the channel, the same at its sender and its receiver */
    uint32_t count; /* messages so far */
    uint8_t reach;
    bool known; /* hash and reach are set */
};

struct eager_thread {
    uint8_t call;
    int64_t call_began;
    struct eager_channel *channels; /* by channel of the location */
    size_t n_channels, capacity;
    struct open_list sends, receives;
    size_t n_blocking; /* sends of the call that goes on */
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

static uint8_t reach_of(const struct lull_trace *trace, const struct lull_channel *channel)
{
    return trace->processes[channel->source].node != trace->processes[channel->target].node;
}

/* Of a channel of which nothing is known. NULL: no memory. */
static struct eager_channel *add_eager_channel(const struct lull_eager_evidence *evidence,
                                               struct eager_thread *thread,
                                               const struct lull_steps *steps, uint32_t index)
{
    if (!lull_array_reserve(&thread->channels, &thread->capacity, index + (size_t)1,
                            sizeof *thread->channels))
        return NULL;
    while (thread->n_channels <= index)
        thread->channels[thread->n_channels++] = (struct eager_channel){0};
    struct eager_channel *added = &thread->channels[index];
    const struct lull_channel *channel = lull_channels_at(steps->channels, index);
    added->hash = lull_mix(0, (uint64_t)channel->source << 32 | channel->target);
    added->hash = lull_mix(added->hash, (uint64_t)channel->comm << 32 | (uint32_t)channel->tag);
    added->reach = reach_of(evidence->trace, channel);
    added->known = true;
    return added;
}

/* NULL: no memory. */
static inline struct eager_channel *find_eager_channel(const struct lull_eager_evidence *evidence,
                                                       struct eager_thread *thread,
                                                       const struct lull_steps *steps,
                                                       uint32_t index)
{
    return index < thread->n_channels && thread->channels[index].known
               ? &thread->channels[index]
               : add_eager_channel(evidence, thread, steps, index);
}

/* The hash of the next message of a channel, the same at its sender and its receiver. */
static uint64_t hash_next_message(struct eager_channel *channel)
{
    return lull_sample_hash(lull_mix(channel->hash, channel->count++));
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

/* Searches from the last one opened, because the list of a thread that never completes its requests
 * may be long. */
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
    if (step->channel == LULL_NONE)
        return true;
    struct eager_channel *channel = find_eager_channel(evidence, thread, steps, step->channel);
    if (!channel)
        return false;
    const uint64_t hash = hash_next_message(channel);
    if (step->op == LULL_SEND_BUFFERED)
        return true;
    thread->n_blocking += step->message.request == LULL_NO_REQUEST;
    const struct pending_send message = {
        .request = step->message.request,
        .item = {.hash = hash, .bytes = step->message.bytes, .times = {[BEGAN] = step->time}},
        .reach = channel->reach,
        .blocks = thread->call == LULL_CALL_SEND && step->message.request == LULL_NO_REQUEST};
    return open_message(&thread->sends, &message);
}

static bool end_send(struct lull_eager_evidence *evidence, unsigned worker,
                     struct eager_thread *thread, uint64_t request, int64_t time)
{
    struct pending_send message;
    size_t left = 1;
    if (request == LULL_NO_REQUEST) {
        left = thread->n_blocking;
        thread->n_blocking = 0;
    }
    for (; left > 0 && close_message(&thread->sends, request, &message); left--) {
        message.item.times[RETURNED] = time;
        if (!message.blocks) /* a non-blocking send that ends late need not have waited */
            message.item.times[BEGAN] = time;
        if (!add_message_end(evidence, worker, SENT, &message))
            return false;
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
    if (step->channel == LULL_NONE)
        return true;
    struct eager_channel *channel = find_eager_channel(evidence, thread, steps, step->channel);
    if (!channel)
        return false;
    message.item.hash = hash_next_message(channel);
    if (!posted)
        return true;
    message.item.bytes = step->message.bytes;
    message.item.times[COMPLETE] = step->time;
    message.reach = channel->reach;
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
        return thread->n_blocking == 0 ||
               end_send(evidence, worker, thread, LULL_NO_REQUEST, step->time);
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
    double eager;      /* bytes of the largest that was eager, or -1 */
    double waited;     /* bytes of the smallest that seems to have waited for its receive */
    uint32_t n_waited; /* how many seem to have waited */
    struct lull_handshakes handshakes;
};

/* A blocking send, from when both sides had begun until one of them knew that it was over. */
static void add_handshake(const struct lull_sample_item *sent,
                          const struct lull_sample_item *received,
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

static void compare_message_ends(const struct lull_sample_item *sent,
                                 const struct lull_sample_item *received, struct finding *finding)
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
        if (finding.eager >= 0) { /* then smaller ones were eager, too, whatever they seemed */
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
        free(evidence->threads[l].channels);
        free(evidence->threads[l].sends.items);
        free(evidence->threads[l].receives.items);
    }
    free(evidence->tallies);
    free(evidence->threads);
    free(evidence);
}

/* ==== measured network ======================================================================== */

#define NETWORK_QUANTILE 0.1

enum { NETWORK_SIZES = 65, ENOUGH_MESSAGES = 8 };

enum { IN_NODE, BETWEEN_NODES, NETWORK_REACHES };

/* The sets of messages of which samples are taken: those that their receiver waited for; all; and
 * those that were there before a call that was for them alone. */
enum { WAITED_FOR, ALL, THERE, SETS };

/* A sum over messages of about one size. */
struct message_sum {
    uint64_t count, bytes;
    int64_t ns;
};

/* Powers of two of the time from the sending of a message to the call that received it. */
enum { AGES = 64 };

/* All messages of about one size. */
struct totals {
    /* Messages that their receiver waited for and that ended its call; ns from send to receive.
     * waited[1]: those of calls that waited for sends to others, too; waited[0]: the other ones. */
    struct message_sum waited[2];
    struct message_sum sent[AGES]; /* those that were sent before the call and ended it, by age; ns
                                      from send to receive */
    struct message_sum receives;   /* all; ns from when both sides had begun */
    struct message_sum there;      /* those of calls before which all were there; ns of the calls */
};

/* What one worker has seen. */
struct network_tally {
    struct lull_sample *of[NETWORK_REACHES][SETS][NETWORK_SIZES];
    struct totals totals[NETWORK_REACHES][NETWORK_SIZES];
    bool no_memory;
};

/* The last call of a thread that received: the message of it that was sent last. */
struct last {
    struct lull_ideal_message message;
    uint32_t count; /* messages of the call */
    uint8_t reach;
};

struct lull_network_samples {
    const struct lull_trace *trace;
    unsigned workers;
    struct network_tally *tallies;
    struct last *lasts; /* by location */
    bool pair;          /* there are only two processes, so sends go to where messages come from */
};

/* ---- samples ------------------------------------------------------------------------------- */

static uint64_t hash_ideal_message(const struct lull_ideal_message *message)
{
    uint64_t hash = lull_mix(0, (uint64_t)message->source << 32 | message->target);
    hash = lull_mix(hash, (uint64_t)message->sent);
    hash = lull_mix(hash, (uint64_t)message->called);
    hash = lull_mix(hash, (uint64_t)message->received);
    return lull_sample_hash(lull_mix(hash, message->bytes));
}

static unsigned size_of(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

static void add_timing(struct network_tally *tally, int reach, int set,
                       const struct lull_sample_item *timing)
{
    tally->no_memory |= !lull_sample_add(&tally->of[reach][set][size_of(timing->bytes)], timing);
}

static void add_to_sum(struct message_sum *sum, uint64_t bytes, int64_t ns)
{
    sum->count++;
    sum->bytes += bytes;
    sum->ns += ns;
}

/* A call of a thread is over. A call for several messages lasts until the last of them is there, so
 * it tells how long the message took that was sent last, if the call waited for it. A call for one
 * message tells how long it takes to copy a message that is there already, if the message was sent
 * so long before the call that it must have been there: longer than the call took. */
static void end_sampled_call(struct lull_network_samples *samples, struct network_tally *tally,
                             uint32_t location)
{
    struct last *last = &samples->lasts[location];
    const struct lull_ideal_message *message = &last->message;
    int64_t took = message->received - message->called, age = message->called - message->sent;
    struct totals *totals = &tally->totals[last->reach][size_of(message->bytes)];
    if (last->count > 0)
        add_to_sum(age > 0 ? &totals->sent[63 - __builtin_clzll((uint64_t)age)]
                           : &totals->waited[message->with_sends && !samples->pair],
                   message->bytes, message->received - message->sent);
    if (last->count > 0 && age > took) {
        totals->there.count += last->count;
        totals->there.bytes += last->count * message->bytes;
        totals->there.ns += took;
    }
    if (last->count == 1 && age > took) {
        const struct lull_sample_item timing = {
            .hash = hash_ideal_message(message), .bytes = message->bytes, .times = {took}};
        add_timing(tally, last->reach, THERE, &timing);
    }
    last->count = 0;
}

static void note_last(struct lull_network_samples *samples, struct network_tally *tally,
                      uint8_t reach, const struct lull_ideal_message *message)
{
    struct last *last = &samples->lasts[message->location];
    if (last->count > 0 && last->message.called != message->called)
        end_sampled_call(samples, tally, message->location);
    uint32_t count = last->count + 1;
    bool latest = count == 1 || message->sent > last->message.sent ||
                  (message->sent == last->message.sent && message->source < last->message.source);
    if (latest)
        *last = (struct last){.message = *message, .reach = reach};
    last->count = count;
}

void lull_network_samples_take(void *context, unsigned worker,
                               const struct lull_ideal_message *message)
{
    struct lull_network_samples *samples = context;
    struct network_tally *tally = &samples->tallies[worker];
    const struct lull_process *processes = samples->trace->processes;
    uint32_t a = processes[message->source].node, b = processes[message->target].node;
    bool waited = message->called <= message->sent;
    int64_t from = waited ? message->sent : message->called;
    uint8_t reach = a == b ? IN_NODE : BETWEEN_NODES;
    const struct lull_sample_item timing = {.hash = hash_ideal_message(message),
                                            .bytes = message->bytes,
                                            .times = {message->received - from}};
    if (message->received < from) /* clocks contradict each other */
        return;
    for (int set = waited ? WAITED_FOR : ALL; set <= ALL; set++)
        add_timing(tally, reach, set, &timing);
    add_to_sum(&tally->totals[reach][size_of(message->bytes)].receives, message->bytes,
               message->received - from);
    note_last(samples, tally, reach, message);
}

static void join_sum(struct message_sum *sum, const struct message_sum *part)
{
    sum->count += part->count;
    sum->bytes += part->bytes;
    sum->ns += part->ns;
}

static void join_totals(struct totals *totals, const struct totals *part)
{
    join_sum(&totals->waited[0], &part->waited[0]);
    join_sum(&totals->waited[1], &part->waited[1]);
    join_sum(&totals->receives, &part->receives);
    join_sum(&totals->there, &part->there);
    for (int age = 0; age < AGES; age++)
        join_sum(&totals->sent[age], &part->sent[age]);
}

/* Adds what one worker has seen to that of another. */
static void add_tally(struct network_tally *sum, const struct network_tally *part)
{
    sum->no_memory |= part->no_memory;
    for (int reach = 0; reach < NETWORK_REACHES; reach++)
        for (int size = 0; size < NETWORK_SIZES; size++) {
            join_totals(&sum->totals[reach][size], &part->totals[reach][size]);
            for (int set = 0; set < SETS; set++)
                sum->no_memory |=
                    !lull_sample_join(&sum->of[reach][set][size], part->of[reach][set][size]);
        }
}

/* Ends the calls of all locations and adds up all workers in the tally of the first. */
static struct network_tally *add_all(struct lull_network_samples *samples)
{
    struct network_tally *tally = &samples->tallies[0];
    for (uint32_t l = 0; l < samples->trace->n_locations; l++)
        end_sampled_call(samples, tally, l);
    for (unsigned w = 1; w < samples->workers; w++)
        add_tally(tally, &samples->tallies[w]);
    return tally;
}

lull_status lull_network_samples_create(const struct lull_trace *trace, unsigned workers,
                                        struct lull_network_samples **ret_samples,
                                        struct lull_error *err)
{
    struct lull_network_samples *samples = calloc(1, sizeof *samples);
    struct network_tally *tallies = calloc(workers, sizeof *tallies);
    struct last *lasts = calloc(trace->n_locations + (size_t)1, sizeof *lasts);
    if (!samples || !tallies || !lasts) {
        free(samples);
        free(tallies);
        free(lasts);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    *samples = (struct lull_network_samples){.trace = trace,
                                             .workers = workers,
                                             .tallies = tallies,
                                             .lasts = lasts,
                                             .pair = trace->n_processes == 2};
    *ret_samples = samples;
    return LULL_OK;
}

static void free_samples(struct lull_network_samples *samples)
{
    for (unsigned w = 0; w < samples->workers; w++)
        for (int reach = 0; reach < NETWORK_REACHES; reach++)
            for (int set = 0; set < SETS; set++)
                for (int size = 0; size < NETWORK_SIZES; size++)
                    free(samples->tallies[w].of[reach][set][size]);
}

void lull_network_samples_clear(struct lull_network_samples *samples)
{
    free_samples(samples);
    memset(samples->tallies, 0, samples->workers * sizeof *samples->tallies);
    memset(samples->lasts, 0, (samples->trace->n_locations + (size_t)1) * sizeof *samples->lasts);
}

void lull_network_samples_destroy(struct lull_network_samples *samples)
{
    if (!samples)
        return;
    free_samples(samples);
    free(samples->tallies);
    free(samples->lasts);
    free(samples);
}

/* ---- from member to member ----------------------------------------------------------------- */

/* Puts what is known of messages of about one size; nothing more follows where there were none. */
static bool put_size(struct network_tally *tally, int reach, int size, struct lull_flow *flow)
{
    const struct totals *totals = &tally->totals[reach][size];
    bool good = lull_flow_put(flow, &totals->receives, sizeof totals->receives);
    if (totals->receives.count == 0)
        return good;
    good = good && lull_flow_put(flow, totals, sizeof *totals);
    for (int set = 0; good && set < SETS; set++)
        good = lull_sample_put(tally->of[reach][set][size], flow);
    return good;
}

bool lull_network_samples_put(struct lull_network_samples *samples, struct lull_flow *flow)
{
    struct network_tally *tally = add_all(samples);
    bool good = !tally->no_memory;
    for (int reach = 0; reach < NETWORK_REACHES; reach++)
        for (int size = 0; good && size < NETWORK_SIZES; size++)
            good = put_size(tally, reach, size, flow);
    return good;
}

static bool get_size(struct network_tally *tally, int reach, int size, struct lull_flow *flow)
{
    struct totals part;
    bool good = lull_flow_get(flow, &part.receives, sizeof part.receives);
    if (!good || part.receives.count == 0)
        return good;
    good = lull_flow_get(flow, &part, sizeof part);
    if (good)
        join_totals(&tally->totals[reach][size], &part);
    for (int set = 0; good && set < SETS; set++)
        good = lull_sample_get(&tally->of[reach][set][size], flow);
    return good;
}

bool lull_network_samples_get(struct lull_network_samples *samples, struct lull_flow *flow)
{
    bool good = true;
    for (int reach = 0; reach < NETWORK_REACHES; reach++)
        for (int size = 0; good && size < NETWORK_SIZES; size++)
            good = get_size(&samples->tallies[0], reach, size, flow);
    return good;
}

/* ---- the fit ------------------------------------------------------------------------------- */

struct line {
    double latency, bandwidth; /* ns; bytes/s */
    bool known;
};

static void add_size(struct lull_sample *sample, double *ret_time, double *ret_bytes)
{
    double times[LULL_SAMPLE], bytes = 0;
    lull_sample_settle(sample);
    for (uint32_t i = 0; i < sample->count; i++) {
        times[i] = (double)sample->items[i].times[0];
        bytes += (double)sample->items[i].bytes;
    }
    lull_sort(times, sample->count);
    *ret_time = lull_quantile(times, sample->count, NETWORK_QUANTILE);
    *ret_bytes = bytes / sample->count;
}

/* The line through the low quantiles of the smallest and the largest size. */
static struct line fit_sizes(struct lull_sample *const *of)
{
    struct line line = {0, (double)INFINITY, false};
    double bytes[2] = {0, 0}, times[2] = {0, 0};
    for (int size = 0; size < NETWORK_SIZES; size++) {
        if (!of[size] || of[size]->count < ENOUGH_MESSAGES)
            continue;
        add_size(of[size], &times[line.known], &bytes[line.known]);
        line.known = true;
    }
    if (!line.known)
        return line;
    line.latency = times[0];
    if (bytes[1] > 4 * bytes[0] && times[1] > times[0]) {
        line.bandwidth = 1e9 * (bytes[1] - bytes[0]) / (times[1] - times[0]);
        line.latency = fmax(0, times[0] - 1e9 * bytes[0] / line.bandwidth);
    }
    return line;
}

static struct line fit_reach(struct network_tally *tally, int reach)
{
    struct line line = fit_sizes(tally->of[reach][WAITED_FOR]);
    return line.known ? line : fit_sizes(tally->of[reach][ALL]);
}

static void set_line(struct lull_network *network, enum lull_level level, struct line line)
{
    uint32_t latency = lull_network_parameter(network->class, "latency");
    uint32_t bandwidth = lull_network_parameter(network->class, "bandwidth");
    lull_network_set(network, latency, level, line.latency);
    lull_network_set(network, bandwidth, level, fmax(1, line.bandwidth));
}

static double mean_bytes(const struct message_sum *sum)
{
    return sum->count ? (double)sum->bytes / (double)sum->count : 0;
}

static double time_of(struct line line, double bytes)
{
    return line.latency + 1e9 * bytes / line.bandwidth;
}

/* The line through one point with this bandwidth; if its latency would be negative, the line
 * through that point without latency. Bandwidths in bytes/s. */
static struct line line_through(double bytes, double ns, double bandwidth)
{
    if (ns >= 1e9 * bytes / bandwidth)
        return (struct line){ns - 1e9 * bytes / bandwidth, bandwidth, true};
    return (struct line){0, ns > 0 ? fmax(1, 1e9 * bytes / ns) : (double)INFINITY, true};
}

/* Messages up to so many bytes are sent at once by every MPI library as installed (the smallest
 * limit found, see LULL_WAIT_EAGER in wait/wait.h). */
#define LEAST_EAGER 4096

/* What is known of the messages inside nodes, or of those between nodes. */
struct reach {
    const struct totals *totals;                    /* [SIZES] */
    struct lull_sample *const (*of)[NETWORK_SIZES]; /* [SETS] */
    struct line line;                               /* of those that nobody disturbed */
    struct lull_eager_findings eager;               /* what is known of their limit */
    double limit;                                   /* the largest that are taken to be eager */
    struct lull_network_range_cost *ranges;
    uint32_t n_ranges;
    bool starved; /* threads had no core for a notable part of the run */
};

/* How long messages of about one size were on their way. These are the messages that were waited
 * for, and those that were sent before the call, but less long before it than messages take. If no
 * message of this size was waited for, `usual` says how long they take.
 *
 * A call that also waited for sends to others may have ended with one of these sends, unless they
 * were eager; they are taken to be of about the same size as the message. Where threads lacked
 * cores such a call counts all the same: what it waited for is a core, mostly, and without such
 * calls nothing of that may be known. The time of a message
 * that is not eager is best known from its sender, so there the sends count instead. */
static struct message_sum find_flights(const struct reach *reach, int size, struct line usual)
{
    const struct totals *totals = &reach->totals[size];
    const struct lull_handshakes *sends = &reach->eager.handshakes[size];
    struct message_sum sum = totals->waited[0];
    if (sends->count >= ENOUGH_MESSAGES &&
        (double)sends->bytes / (double)sends->count > reach->limit)
        return (struct message_sum){sends->count, sends->bytes, sends->ns};
    if (reach->starved ||
        mean_bytes(&totals->waited[1]) <= lull_eager_limit(&reach->eager, LEAST_EAGER))
        join_sum(&sum, &totals->waited[1]);
    bool waited = sum.count >= ENOUGH_MESSAGES;
    for (int age = 0; age < AGES; age++) {
        const struct message_sum *sent = &totals->sent[age];
        double takes = waited ? (double)sum.ns / (double)sum.count
                              : (usual.known ? time_of(usual, mean_bytes(sent)) : 0);
        if (ldexp(1, age) < takes)
            join_sum(&sum, sent);
    }
    return sum;
}

static bool is_enough(const struct lull_sample *sample)
{
    return sample && sample->count >= ENOUGH_MESSAGES;
}

/* What the undisturbed messages of a sample cost. */
static struct line low_price(struct lull_sample *sample, double bandwidth)
{
    double ns, bytes;
    add_size(sample, &ns, &bytes);
    return line_through(bytes, ns, bandwidth);
}

/* What messages of a sum cost on average. */
static struct line mean_price(const struct message_sum *sum, double bandwidth)
{
    return line_through(mean_bytes(sum), (double)sum->ns / (double)sum->count, bandwidth);
}

/* Sets the costs of the ranges so that all messages of a range together cost what they did in the
 * run: a message of mean size costs the mean, and each byte more or less costs what the line says.
 * Where too few flights are known, the cost is that of undisturbed messages. Sizes of which too few
 * messages were seen cost like the size before them, or like the first known one. */
static void fit_ranges(struct reach *reach)
{
    struct line cost = {0}, copy = {0, (double)INFINITY, true};
    const double bandwidth = reach->line.bandwidth;
    bool waited = false;
    for (int size = 0; size < NETWORK_SIZES; size++)
        waited |= is_enough(reach->of[WAITED_FOR][size]);
    for (int size = 0; size < NETWORK_SIZES; size++) {
        const struct totals *totals = &reach->totals[size];
        struct message_sum sum = waited ? find_flights(reach, size, cost) : totals->receives;
        if (sum.count >= ENOUGH_MESSAGES)
            cost = mean_price(&sum, bandwidth);
        else if (is_enough(reach->of[WAITED_FOR][size]))
            cost = low_price(reach->of[WAITED_FOR][size], bandwidth);
        else
            continue;
        if (reach->starved && totals->there.count >= ENOUGH_MESSAGES)
            copy = mean_price(&totals->there, bandwidth);
        else if (is_enough(reach->of[THERE][size]))
            copy = low_price(reach->of[THERE][size], bandwidth);
        if (reach->n_ranges > 0)
            reach->ranges[reach->n_ranges - 1].to = size > 1 ? (UINT64_C(1) << (size - 1)) - 1 : 0;
        reach->ranges[reach->n_ranges++] =
            (struct lull_network_range_cost){.to = UINT64_MAX,
                                             .latency = cost.latency,
                                             .bandwidth = cost.bandwidth,
                                             .receive = copy.latency,
                                             .copy = copy.bandwidth};
    }
}

/* Each node gets as many cores as the node with most ranks has ranks; the ranks of a node take its
 * cores in turn. */
void lull_replay_placement(const struct lull_trace *trace, uint32_t application,
                           struct lull_arena *arena, struct lull_placement *ret_placement)
{
    uint32_t *used = lull_arena_zero(arena, trace->n_nodes + (size_t)1, sizeof *used);
    uint32_t *node = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *node);
    uint32_t *map = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *map);
    uint32_t n = 0, most = 1;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (process->application != application || !process->n_threads)
            continue;
        node[n] = process->node == LULL_NONE ? trace->n_nodes : process->node;
        map[n] = used[node[n]]++;
        most = used[node[n]] > most ? used[node[n]] : most;
        n++;
    }
    for (uint32_t r = 0; r < n; r++)
        map[r] += node[r] * most;
    *ret_placement = (struct lull_placement){.cores_per_node = most, .n_ranks = n, .map = map};
}

static void set_level(struct lull_network *network, enum lull_level level,
                      const struct reach *reach)
{
    set_line(network, level, reach->line);
    lull_network_set(network, lull_network_parameter(network->class, "eager"), level, reach->limit);
    network->ranges[level] = reach->ranges;
    network->n_ranges[level] = reach->n_ranges;
}

/* Forgets messages that are larger than any that was sent: their receives tell sizes that cannot be.
 */
static void forget_unsent(struct network_tally *tally, const struct lull_eager_evidence *evidence)
{
    int largest = -1;
    for (unsigned w = 0; w < evidence->workers; w++)
        for (int size = largest + 1; size < EAGER_SIZES; size++)
            if (evidence->tallies[w].of[0][SENT][size] || evidence->tallies[w].of[1][SENT][size])
                largest = size;
    for (int size = largest + 1; largest >= 0 && size < NETWORK_SIZES; size++)
        for (int reach = 0; reach < NETWORK_REACHES; reach++) {
            tally->totals[reach][size] = (struct totals){0};
            for (int set = 0; set < SETS; set++) {
                free(tally->of[reach][set][size]);
                tally->of[reach][set][size] = NULL;
            }
        }
}

lull_status lull_network_samples_fit(struct lull_network_samples *samples,
                                     struct lull_eager_evidence *evidence, uint32_t application,
                                     struct lull_arena *arena, struct lull_network *ret_network,
                                     struct lull_error *err)
{
    struct network_tally *tally = add_all(samples);
    struct reach reaches[NETWORK_REACHES];
    if (tally->no_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                         samples->trace->path);
    if (evidence)
        forget_unsent(tally, evidence);
    lull_network_init(ret_network, lull_network_find("ranges"));
    double usual = ret_network->values[0][lull_network_parameter(ret_network->class, "eager")];
    const struct lull_core_shortage shortage =
        lull_core_shortage_of(samples->trace, application, arena);
    for (int i = 0; i < NETWORK_REACHES; i++) {
        reaches[i] = (struct reach){
            .starved = shortage.threads > 0,
            .totals = tally->totals[i],
            .of = tally->of[i],
            .line = fit_reach(tally, i),
            .ranges = lull_arena_zero(arena, NETWORK_SIZES, sizeof *reaches[i].ranges)};
        reaches[i].eager.most = (double)INFINITY;
        lull_status status = evidence ? lull_eager_evidence_weigh(evidence, i == BETWEEN_NODES,
                                                                  &reaches[i].eager, err)
                                      : LULL_OK;
        if (status != LULL_OK)
            return status;
        reaches[i].limit = lull_eager_limit(&reaches[i].eager, usual);
        fit_ranges(&reaches[i]);
    }
    for (int i = 0; i < NETWORK_REACHES; i++)
        if (!reaches[i].line.known && reaches[!i].line.known) {
            double limit = reaches[i].limit;
            reaches[i] = reaches[!i];
            reaches[i].limit = limit;
        }
    lull_replay_placement(samples->trace, application, arena, &ret_network->placement);
    for (int level = 0; level < LULL_LEVELS; level++)
        set_level(ret_network, (enum lull_level)level,
                  &reaches[level <= LULL_LEVEL_NODE ? IN_NODE : BETWEEN_NODES]);
    ret_network->ranges_of_messages = true;
    return LULL_OK;
}
