/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages cost beyond waiting: the loss of the run against an ideal network. Of three rules
 * the one tells it that explains most of it. */
#include "diagnose/rule.h"
#include "diagnose/rules.h"

#include <stdlib.h>

/* ==== network loss ============================================================================ */

enum network_cause { NETWORK_TRANSFER, NETWORK_SMALL_MESSAGES, NETWORK_CONTENTION };

struct network_loss {
    /* ns of the runtime. `most_ns`: an ideal network saves so much, T - T_ideal. `runtime_ns`: the
     * same without the time that threads had no core, of which a rule of its own tells. */
    int64_t most_ns, runtime_ns;
    int64_t error_ns; /* by how much the replay on the measured network misses T; 0: not known */
    int64_t core_ns;  /* `runtime_ns` as core time */
    /* Mean transit of the smallest messages, ns; the share of all transit that belongs to messages
     * whose size hardly matters; the share of flights that comes with traffic. */
    double latency, share_of_latency, share_of_traffic;
    struct lull_messages_sum all;
    enum network_cause cause;
    /* The calls with most of the transfer, or NULL; the shares of the transfer that these have, that
     * collective operations have, and that small ones of these have. */
    const struct lull_wait_call *calls;
    double share_of_calls, share_of_collectives, share_of_small_ones;
};

enum { MESSAGES_LEAST = 30 };

/* There must be WINDOWS_LEAST quiet windows and as many others, and FLIGHTS_LEAST flights in quiet
 * ones: of fewer flights, one long one among them would say too much. */
enum { WINDOWS_LEAST = 4, FLIGHTS_LEAST = 100 };

#define SLOWER_LEAST 0.75

/* The share of the transit that must follow from latency, or of the flights from traffic. */
#define TRANSIT_EXPLAINED_LEAST 0.5

/* A class of sizes is small where its messages take no more than so many times as long as the
 * shortest class, so that their size hardly matters. */
#define LATENCY_MOST 1.5

/* What the size of messages costs is not known where all have 4 KiB or more and are alike. There
 * must be small ones, too, or such of four times the size that take no longer. */
enum { SMALL_CLASS = 12, CLASSES_APART = 2 };

/* ---- latency --------------------------------------------------------------------------------- */

/* The mean transit of the smallest messages of which there are enough; 0: there are none. */
static double latency_of(const struct lull_messages *messages)
{
    for (unsigned i = 0; i < LULL_MESSAGES_CLASSES; i++) {
        const struct lull_messages_sum sum = lull_messages_of_class(messages, i);
        if (sum.count >= MESSAGES_LEAST)
            return (double)sum.transit_ns / (double)sum.count;
    }
    return 0;
}

/* The share of the transit that messages have whose size hardly matters. */
static double share_of_latency(const struct lull_messages *messages, double latency)
{
    const struct lull_messages_sum all = lull_messages_of_all(messages);
    unsigned first = LULL_MESSAGES_CLASSES, last = 0;
    double ns = 0;
    for (unsigned i = 0; i < LULL_MESSAGES_CLASSES; i++) {
        const struct lull_messages_sum sum = lull_messages_of_class(messages, i);
        if (sum.count == 0 || (double)sum.transit_ns > LATENCY_MOST * latency * (double)sum.count)
            continue;
        ns += (double)sum.transit_ns;
        first = first < i ? first : i;
        last = i;
    }
    if (first > SMALL_CLASS && last < first + CLASSES_APART)
        return 0;
    return all.transit_ns > 0 ? ns / (double)all.transit_ns : 0;
}

/* ---- traffic --------------------------------------------------------------------------------- */

static double traffic_in(const struct lull_messages *messages, unsigned window)
{
    double bytes = 0;
    for (unsigned i = 0; i < LULL_MESSAGES_CLASSES; i++)
        bytes += (double)messages->sums[window][i].bytes;
    return bytes;
}

struct window {
    double traffic; /* bytes of all sizes */
    uint64_t flights;
    int64_t ns;
};

static int by_traffic(const void *a, const void *b)
{
    const struct window *one = a, *other = b;
    return (one->traffic > other->traffic) - (one->traffic < other->traffic);
}

/* Sorts the windows in which flights of a class were seen, those with least traffic first; returns
 * their number. */
static unsigned sort_windows(const struct lull_messages *messages, unsigned size_class,
                             struct window *windows)
{
    unsigned n = 0;
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++) {
        const struct lull_messages_sum *sum = &messages->sums[w][size_class];
        if (sum->flights > 0)
            windows[n++] = (struct window){traffic_in(messages, w), sum->flights, sum->flight_ns};
    }
    qsort(windows, n, sizeof *windows, by_traffic);
    return n;
}

/* How many of the first windows are quiet: they have enough flights, and no other window has as
 * little traffic. *ret_usual: the mean of their flights. */
static unsigned find_quiet(const struct window *windows, unsigned n, double *ret_usual)
{
    uint64_t flights = 0;
    int64_t ns = 0;
    unsigned i = 0;
    for (; i < n && (i < WINDOWS_LEAST || flights < FLIGHTS_LEAST ||
                     windows[i].traffic <= windows[i - 1].traffic);
         i++) {
        flights += windows[i].flights;
        ns += windows[i].ns;
    }
    *ret_usual = flights > 0 ? (double)ns / (double)flights : 0;
    return i;
}

/* How much longer the flights of a class are in the other windows than in quiet ones: 0 where most
 * of the other windows are not slower, or where it is not known. */
static double slowed_by_traffic(const struct lull_messages *messages, unsigned size_class)
{
    struct window windows[LULL_MESSAGES_WINDOWS];
    const unsigned n = sort_windows(messages, size_class, windows);
    double usual, slowed = 0;
    const unsigned quiet = find_quiet(windows, n, &usual);
    unsigned slower = 0;
    for (unsigned w = quiet; w < n; w++) {
        const double more = (double)windows[w].ns - usual * (double)windows[w].flights;
        slowed += more;
        slower += more > 0;
    }
    const bool known = n >= quiet + WINDOWS_LEAST;
    return known && slower >= SLOWER_LEAST * (n - quiet) ? fmax(0, slowed) : 0;
}

/* The share of the flights that comes with traffic. */
static double share_of_traffic(const struct lull_messages *messages)
{
    const int64_t all = lull_messages_of_all(messages).flight_ns;
    double ns = 0;
    for (unsigned i = 0; i < LULL_MESSAGES_CLASSES; i++)
        ns += slowed_by_traffic(messages, i);
    return all > 0 ? ns / (double)all : 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Operations of no more bytes on average are small: of an operation of all no algorithm is faster
 * for less. */
enum { SMALL_OPERATION = 4096 };

static void find_calls(const struct lull_case *c, struct network_loss *loss)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    const struct lull_trace *trace = c->evidence->trace;
    double all = 0, collective = 0, small = 0;
    for (uint32_t i = 0; waits && !waits->absent && trace && i < waits->n_calls; i++) {
        const struct lull_wait_call *call = &waits->calls[i];
        const double ns = (double)call->transfer_ns;
        all += ns;
        if (!loss->calls || call->transfer_ns > loss->calls->transfer_ns)
            loss->calls = call;
        if (trace->regions[call->region].collective == LULL_COLLECTIVE_UNKNOWN)
            continue;
        collective += ns;
        small += call->bytes <= SMALL_OPERATION * call->calls ? ns : 0;
    }
    if (!(all > 0)) {
        loss->calls = NULL;
        return;
    }
    loss->share_of_calls = (double)loss->calls->transfer_ns / all;
    loss->share_of_collectives = collective / all;
    loss->share_of_small_ones = small / all;
}

/* The cause that explains most of the loss. Where most of the loss is in collective operations, whose
 * messages are not seen, messages explain nothing. */
static enum network_cause cause_of_loss(const struct network_loss *loss)
{
    if (loss->share_of_small_ones >= TRANSIT_EXPLAINED_LEAST)
        return NETWORK_SMALL_MESSAGES;
    if (loss->share_of_collectives >= TRANSIT_EXPLAINED_LEAST)
        return NETWORK_TRANSFER;
    return loss->share_of_traffic >= TRANSIT_EXPLAINED_LEAST   ? NETWORK_CONTENTION
           : loss->share_of_latency >= TRANSIT_EXPLAINED_LEAST ? NETWORK_SMALL_MESSAGES
                                                               : NETWORK_TRANSFER;
}

/* ", 89 % of it in MPI_Allreduce (cg.c:41): 15800 calls of each rank, of 8 bytes on average, 50 in
 * each iteration" */
static const char *tell_calls(struct lull_case *c, struct lull_finding *finding,
                              const struct network_loss *loss)
{
    const struct lull_wait_call *calls = loss->calls;
    const struct lull_wave_field *field = c->evidence->field;
    if (!calls)
        return "";
    const struct lull_region *region = &c->evidence->trace->regions[calls->region];
    const double each = (double)calls->calls / (c->processes ? c->processes : 1);
    const double bytes = (double)calls->bytes / (double)calls->calls;
    lull_finding_set_region(c, finding, LULL_NONE, calls->region);
    lull_finding_add_fact(finding, "calls", "calls at that place", LULL_FACT_COUNT,
                          (double)calls->calls);
    lull_finding_add_fact(finding, "call_bytes", "their mean size", LULL_FACT_BYTES, bytes);
    lull_finding_add_fact(finding, "call_share", "share of the transfer in them", LULL_FACT_SHARE,
                          loss->share_of_calls);
    const char *text =
        lull_arena_printf(c->arena, ", %.0f %% of it in %s%s%s%s: %.0f call%s on each rank",
                          100 * loss->share_of_calls, region->name, finding->place.site ? " (" : "",
                          finding->place.site ? finding->place.site : "",
                          finding->place.site ? ")" : "", each, each == 1 ? "" : "s");
    if (calls->bytes > 0)
        text = lull_arena_printf(c->arena, "%s, of %.0f bytes on average", text, bytes);
    if (field && field->n_iterations > 1 && each >= field->n_iterations)
        text = lull_arena_printf(c->arena, "%s, %.3g in each of %u iterations", text,
                                 each / field->n_iterations, field->n_iterations);
    return text;
}

/* ---- the loss -------------------------------------------------------------------------------- */

/* What findings have told of sends that wait for their receives, which sends do not do on an ideal
 * network. */
static int64_t eager_ns(const struct lull_case *c)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < c->n_findings; i++)
        if (c->findings[i].fix && c->findings[i].fix->eager)
            ns += c->findings[i].lost_ns;
    return ns;
}

/* Core time in ns, of the runtime's. */
static int64_t core_time(const struct lull_case *c, int64_t ns)
{
    const int64_t runtime = c->evidence->breakdown->runtime_ns;
    return runtime > 0 ? (int64_t)((double)ns * (double)c->core_ns / (double)runtime) : 0;
}

/* A thread that waits for a message of one without a core waits in a call, where the replay takes it
 * for the network's: what threads had no core may be all of the loss. */
static void take_cores_out(struct lull_case *c, struct network_loss *loss)
{
    if (c->without_core_ns < c->least_ns)
        return;
    const int64_t left = loss->core_ns - c->without_core_ns;
    loss->runtime_ns =
        left > 0 ? (int64_t)((double)loss->runtime_ns * (double)left / (double)loss->core_ns) : 0;
    loss->core_ns = left > 0 ? left : 0;
}

/* False: the loss is not known, or too small to be told, or half of it are sends that wait for
 * receives, which other rules have told. */
static bool network_loss_of(struct lull_case *c, struct network_loss *ret_loss)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const struct lull_messages *messages = c->evidence->messages;
    struct network_loss loss = {0};
    if (breakdown->ideal_runtime_ns <= 0)
        return false;
    loss.most_ns = loss.runtime_ns = breakdown->runtime_ns - breakdown->ideal_runtime_ns;
    loss.core_ns = core_time(c, loss.runtime_ns);
    if (breakdown->replayed_runtime_ns > 0)
        loss.error_ns = llabs((long long)(breakdown->replayed_runtime_ns - breakdown->runtime_ns));
    if (loss.core_ns < c->least_ns || 2 * eager_ns(c) >= loss.core_ns ||
        loss.most_ns <= loss.error_ns)
        return false;
    take_cores_out(c, &loss);
    if (loss.core_ns < c->least_ns || loss.runtime_ns <= loss.error_ns) {
        c->hidden_network_ns = loss.most_ns;
        return false;
    }
    if (messages) {
        loss.all = lull_messages_of_all(messages);
        loss.latency = latency_of(messages);
        loss.share_of_latency = share_of_latency(messages, loss.latency);
        loss.share_of_traffic = share_of_traffic(messages);
    }
    find_calls(c, &loss);
    loss.cause = cause_of_loss(&loss);
    *ret_loss = loss;
    return true;
}

static void add_message_facts(struct lull_finding *finding, const struct network_loss *loss)
{
    if (loss->all.count == 0)
        return;
    lull_finding_add_fact(finding, "messages", "messages", LULL_FACT_COUNT,
                          (double)loss->all.count);
    lull_finding_add_fact(finding, "bytes", "mean size", LULL_FACT_BYTES,
                          (double)loss->all.bytes / (double)loss->all.count);
    lull_finding_add_fact(finding, "transit", "mean time of one beyond waiting", LULL_FACT_TIME,
                          (double)loss->all.transit_ns / (double)loss->all.count);
    lull_finding_add_fact(finding, "latency_share", "share of it in small messages",
                          LULL_FACT_SHARE, loss->share_of_latency);
    lull_finding_add_fact(finding, "traffic_share", "share of it that comes with traffic",
                          LULL_FACT_SHARE, loss->share_of_traffic);
}

/* A thread that spends less time in MPI waits longer for its device, where that is what takes the time: the runtime on an ideal
 * network does not see it, and a replay in which devices take part does. */
static void price_beside_devices(struct lull_case *c, const struct network_loss *loss,
                                 struct lull_finding *finding)
{
    lull_finding_fix(c, finding);
    finding->ideal_network = true;
    finding->bound_ns = loss->runtime_ns;
    finding->fixed = "On an ideal network";
}

/* `detail` goes behind the sentence, before its full stop. */
static void network_tell(struct lull_case *c, const struct network_loss *loss, const char *detail,
                         const char *cause)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    struct lull_finding *finding = lull_case_add(c, loss->core_ns);
    add_message_facts(finding, loss);
    finding->bound_ns = loss->most_ns;
    const char *amount = lull_case_time(c, loss->runtime_ns);
    if (loss->runtime_ns < loss->most_ns) /* a part may be that of threads without a core */
        amount = lull_arena_printf(c->arena, "at least %s and at most %s", amount,
                                   lull_case_time(c, loss->most_ns));
    finding->sentence = lull_arena_printf(
        c->arena, "The network costs %s of %s of the runtime beyond waiting for others%s%s.",
        amount, lull_case_time(c, breakdown->runtime_ns), detail, tell_calls(c, finding, loss));
    finding->cause = cause;
    if (breakdown->n_devices > 0) {
        price_beside_devices(c, loss, finding);
        return;
    }
    const int64_t most = loss->most_ns + loss->error_ns;
    finding->gain = (struct lull_finding_gain){
        .ns = loss->runtime_ns,
        .low_ns = loss->runtime_ns - loss->error_ns,
        .high_ns = most < breakdown->runtime_ns ? most : breakdown->runtime_ns,
        .factor =
            (double)breakdown->runtime_ns / (double)(breakdown->runtime_ns - loss->runtime_ns)};
    finding->next = lull_arena_printf(c->arena, "lull replay %s --network ideal",
                                      lull_case_word(c, c->evidence->path));
}

/* ==== contention ============================================================================== */

/* Messages of the same size are slower while there is more traffic.
 * Evidence: flights of messages by size in 256 windows of the run, and the bytes that were sent in
 * these. Formula: what they take beyond the mean of the windows with least traffic, which have 100
 * of them; that is half of all flights, and three of four of the other windows are slower. Silent:
 * below 1 %, where fewer were seen on either side, and where all windows have as much traffic: then
 * transfer tells it. Limit: it does not look at how far apart two processes are. */

static void find_contention(struct lull_case *c)
{
    struct network_loss loss;
    if (!network_loss_of(c, &loss) || loss.cause != NETWORK_CONTENTION)
        return;
    network_tell(c, &loss, ", most of it while there is much traffic",
                 "Messages of the same size take longer while there is more traffic.");
}

const struct lull_rule lull_rule_contention = {
    "contention", "contention", "messages are slower while there is more traffic", find_contention};

/* ==== small messages ========================================================================== */

/* Most of what messages cost is latency.
 * Evidence: the transit of messages by size. Formula: a class of sizes is small where its messages
 * take at most half as long again as the smallest ones; these have half of all transit. Or collective
 * operations of 4 KiB or less on average have half of the transfer. Silent: below 1 %, and where fewer
 * than 30 messages are of a size. */

static void find_small_messages(struct lull_case *c)
{
    struct network_loss loss;
    if (!network_loss_of(c, &loss) || loss.cause != NETWORK_SMALL_MESSAGES)
        return;
    if (loss.share_of_collectives >= TRANSIT_EXPLAINED_LEAST) {
        network_tell(
            c, &loss, "",
            "Most of it is latency of small operations of all: fewer of them, each for more "
            "values, cost less.");
        return;
    }
    const char *detail =
        lull_arena_printf(c->arena, ", most of it for %.0f messages of %.0f bytes on average",
                          (double)loss.all.count, (double)loss.all.bytes / (double)loss.all.count);
    network_tell(c, &loss, detail, "Most of it is latency: fewer and larger messages cost less.");
}

const struct lull_rule lull_rule_small_messages = {"small_messages", "small messages",
                                                   "most of what messages cost is latency",
                                                   find_small_messages};

/* ==== transfer ================================================================================ */

/* An ideal network would save time, and neither latency nor traffic explains it.
 * Evidence: the runtime on an ideal network, which has the same waits (POP's transfer efficiency), and
 * how long threads had no core. Formula: T - T_ideal of the runtime, less the core time without a core.
 * Silent: below 1 %, where waits explain all of it, and below the error of the replay on the network
 * that the messages show. */

static void find_transfer(struct lull_case *c)
{
    struct network_loss loss;
    if (!network_loss_of(c, &loss) || loss.cause != NETWORK_TRANSFER)
        return;
    network_tell(c, &loss, "",
                 "Moving data takes it, or operations of all whose steps have a price.");
}

const struct lull_rule lull_rule_transfer = {"transfer", "transfer",
                                             "an ideal network would save time", find_transfer};
