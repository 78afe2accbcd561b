/* SPDX-License-Identifier: BSD-3-Clause */
/* What devices lose their time by: their part of the run in which they ran no kernel.
 * Evidence: what each device lost (metrics/devices.h), in all and before the operations of each name; how long these took,
 * and how long after their launch they began. Formula: the sum over all devices, as a share of their time; told as lost
 * is that share of the core time, so that findings of devices and of threads are in one order. Silent: below 1 % of the
 * devices' time, and where sums alone are known. */
#include "diagnose/rules.h"

#include <string.h>

/* What all devices of the run have and lose. */
struct device_sums {
    uint32_t n; /* of which it is known */
    int64_t kernel_ns, most_kernel_ns;
    int64_t time_ns; /* of all of them */
    int64_t lost_ns[LULL_DEVICE_LOSSES];
    const struct lull_device_breakdown *most[LULL_DEVICE_LOSSES]; /* loses most of all */
    const struct lull_device_breakdown *longest;                  /* with most_kernel_ns */
};

static struct device_sums sum_devices(const struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    struct device_sums sums = {0};
    for (uint32_t d = 0; d < breakdown->n_devices; d++) {
        const struct lull_device_breakdown *device = &breakdown->devices[d];
        if (device->absent)
            continue;
        sums.n++;
        sums.kernel_ns += device->kernel_ns;
        sums.time_ns += device->kernel_ns;
        if (!sums.longest || device->kernel_ns > sums.most_kernel_ns) {
            sums.most_kernel_ns = device->kernel_ns;
            sums.longest = device;
        }
        for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++) {
            sums.lost_ns[loss] += device->lost_ns[loss];
            sums.time_ns += device->lost_ns[loss];
            if (!sums.most[loss] || device->lost_ns[loss] > sums.most[loss]->lost_ns[loss])
                sums.most[loss] = device;
        }
    }
    return sums;
}

/* The finding of so much time of the devices, of which one loses `most`; NULL: it is too little. */
static struct lull_finding *add_finding(struct lull_case *c, const struct device_sums *sums,
                                        int64_t ns, int64_t most)
{
    if (sums->time_ns <= 0 || (double)ns < LULL_FINDING_LEAST * (double)sums->time_ns || ns < 1)
        return NULL;
    const double share = (double)ns / (double)sums->time_ns;
    struct lull_finding *finding = lull_case_add(c, (int64_t)(share * (double)c->core_ns));
    finding->bound_ns = most;
    lull_finding_add_fact(finding, "lost", "the devices lose", LULL_FACT_TIME, (double)ns);
    lull_finding_add_fact(finding, "share", "of their time", LULL_FACT_SHARE, share);
    lull_finding_add_fact(finding, "devices", "devices", LULL_FACT_COUNT, sums->n);
    lull_finding_add_fact(finding, "most", "one of them at most", LULL_FACT_TIME, (double)most);
    return finding;
}

static struct lull_finding *add_loss(struct lull_case *c, const struct device_sums *sums,
                                     unsigned loss)
{
    return sums->n == 0
               ? NULL
               : add_finding(c, sums, sums->lost_ns[loss], sums->most[loss]->lost_ns[loss]);
}

/* A device is named where it loses so many times what a device loses on average. */
#define ONE_DEVICE_LEAST 1.5

/* "The device loses 3.1 ms (31 % of its time)"; "The devices lose 3.1 ms (31 % of
 * their time), 'rank 3 device 0' 2.9 ms of it,". */
static const char *tell_loss(const struct lull_case *c, const struct device_sums *sums,
                             unsigned loss)
{
    const double lost = (double)sums->lost_ns[loss];
    const struct lull_device_breakdown *most = sums->most[loss];
    const bool one = sums->n > 1 && (double)most->lost_ns[loss] * sums->n > ONE_DEVICE_LEAST * lost;
    const char *text = lull_arena_printf(
        c->arena,
        sums->n == 1 ? "The device loses %s (%.0f %% of its time)"
                     : "The devices lose %s (%.0f %% of their time)",
        lull_case_time(c, sums->lost_ns[loss]), 100 * lost / (double)sums->time_ns);
    return one ? lull_arena_printf(c->arena, "%s, '%s' %s of it,", text, most->id,
                                   lull_case_time(c, most->lost_ns[loss]))
               : text;
}

/* The operations before which the devices lost most by a cause; NULL: none, or operations are not told. */
static const struct lull_operation_breakdown *find_operation(const struct lull_case *c,
                                                             unsigned loss)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const struct lull_operation_breakdown *most = NULL;
    for (uint32_t o = 0; o < breakdown->n_operations; o++) {
        const struct lull_operation_breakdown *of = &breakdown->operations[o];
        if (of->lost_ns[loss] > 0 && (!most || of->lost_ns[loss] > most->lost_ns[loss]))
            most = of;
    }
    return most;
}

/* "'smooth', which cudaLaunchKernel in step (heat.cu:40) submits". */
static const char *name_operation(const struct lull_case *c,
                                  const struct lull_operation_breakdown *of)
{
    if (!*of->call)
        return lull_arena_printf(c->arena, "'%s'", of->name);
    return lull_arena_printf(c->arena, "'%s', which %s%s%s submits", of->name, of->call,
                             *of->site ? " in " : "", of->site);
}

static void set_place(struct lull_finding *finding, const struct lull_operation_breakdown *of)
{
    finding->place.region = of->name;
    finding->place.site = *of->site ? of->site : NULL;
}

static void set_next(struct lull_case *c, struct lull_finding *finding, const char *part)
{
    finding->next = lull_arena_printf(c->arena, "lull metrics --by %s %s", part,
                                      lull_case_word(c, c->evidence->path));
}

/* The place and the facts of the operations before which most was lost. */
static void tell_operation(struct lull_finding *finding, const struct lull_operation_breakdown *of,
                           unsigned loss)
{
    const struct lull_device_gap *longest = &of->longest[loss];
    set_place(finding, of);
    finding->place.location = longest->location;
    finding->place.begin = longest->begin;
    finding->place.end = longest->end;
    lull_finding_add_fact(finding, "before", "before that operation", LULL_FACT_TIME,
                          (double)of->lost_ns[loss]);
    lull_finding_add_fact(finding, "count", "such operations", LULL_FACT_COUNT, (double)of->count);
    lull_finding_add_fact(finding, "median", "median of them", LULL_FACT_TIME,
                          (double)of->length.median_ns);
    if (of->n_delays > 0)
        lull_finding_add_fact(finding, "delay", "median from launch to begin", LULL_FACT_TIME,
                              (double)of->delay.median_ns);
}

/* ---- the host is late ------------------------------------------------------------------------ */

/* The host, or MPI, or the runtime keeps the thread that submits the next operation. */
static struct lull_finding *find_late(struct lull_case *c, unsigned loss, const char *what,
                                      const char *cause)
{
    const struct device_sums sums = sum_devices(c);
    const struct lull_operation_breakdown *of = find_operation(c, loss);
    struct lull_finding *finding = add_loss(c, &sums, loss);
    if (!finding)
        return NULL;
    finding->sentence =
        lull_arena_printf(c->arena, "%s because %s%s%s.", tell_loss(c, &sums, loss), what,
                          of ? ", most before " : "", of ? name_operation(c, of) : "");
    finding->cause = cause;
    if (of)
        tell_operation(finding, of, loss);
    set_next(c, finding, of ? "kernel" : "device");
    return finding;
}

/* What it would save if the thread came long before: that is the most, as its own work may be what the operation needs. */
static void suppose_ahead(struct lull_case *c, struct lull_finding *finding)
{
    if (!finding)
        return;
    lull_finding_fix(c, finding)->devices.ahead = true;
    finding->fixed = "Submitted ahead, at most";
}

static void find_starved(struct lull_case *c)
{
    suppose_ahead(
        c, find_late(c, LULL_LOST_HOST, "the host computes before it submits the next operation",
                     "Nothing was submitted ahead: give the device its next work before the host's "
                     "own, or let another thread do the host's."));
}

static void find_mpi(struct lull_case *c)
{
    find_late(c, LULL_LOST_MPI, "the thread that submits the next operation is in MPI",
              "Submit what does not need the messages before the call, or wait for them with work "
              "on the device.");
}

static void find_runtime(struct lull_case *c)
{
    suppose_ahead(
        c, find_late(c, LULL_LOST_RUNTIME, "the host is in other calls of the runtime",
                     "It waits there for operations that have ended, allocates, or submits to "
                     "others: wait less often, and allocate once."));
}

const struct lull_rule lull_rule_device_starved = {
    "device_starved", "device without work",
    "devices have nothing to do, as the host computes between submissions", find_starved};
const struct lull_rule lull_rule_device_mpi = {"device_mpi", "device waits for MPI",
                                               "devices have nothing to do, as the host is in MPI",
                                               find_mpi};
const struct lull_rule lull_rule_device_runtime = {
    "device_runtime", "device waits for the runtime",
    "devices have nothing to do, as the host is in other calls of their runtime", find_runtime};

/* ---- launches -------------------------------------------------------------------------------- */

static void find_launch(struct lull_case *c)
{
    const struct device_sums sums = sum_devices(c);
    const struct lull_operation_breakdown *of = find_operation(c, LULL_LOST_LAUNCH);
    struct lull_finding *finding = add_loss(c, &sums, LULL_LOST_LAUNCH);
    if (!finding)
        return;
    const bool is_short = of && of->n_delays > 0 && of->length.median_ns < of->delay.median_ns;
    finding->sentence =
        lull_arena_printf(c->arena, "%s from launches to the beginnings of the operations%s%s.",
                          tell_loss(c, &sums, LULL_LOST_LAUNCH), of ? ", most of " : "",
                          of ? name_operation(c, of) : "");
    finding->cause =
        is_short
            ? lull_arena_printf(c->arena,
                                "It takes less time (%s) than its launch (%s): join kernels, or "
                                "launch many of them as one graph.",
                                lull_case_time(c, of->length.median_ns),
                                lull_case_time(c, of->delay.median_ns))
            : "The device has nothing else to do when the launch comes: submit ahead.";
    if (of)
        tell_operation(finding, of, LULL_LOST_LAUNCH);
    lull_finding_fix(c, finding)->devices.no_latency = true;
    finding->fixed = "Without the latency of launches";
}

const struct lull_rule lull_rule_device_launch = {
    "device_launch", "latency of launches", "devices wait from a launch to its begin", find_launch};

/* ---- copies and exchanges -------------------------------------------------------------------- */

/* The operations of a kind that take most time; NULL: none, or they are not told. */
static const struct lull_operation_breakdown *longest_of(const struct lull_case *c, uint8_t kind)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    for (uint32_t o = 0; o < breakdown->n_operations; o++) /* those with most time come first */
        if (breakdown->operations[o].kind == kind)
            return &breakdown->operations[o];
    return NULL;
}

static struct lull_finding *find_moving(struct lull_case *c, unsigned loss, uint8_t kind,
                                        const char *what)
{
    const struct device_sums sums = sum_devices(c);
    const struct lull_operation_breakdown *of = longest_of(c, kind);
    struct lull_finding *finding = add_loss(c, &sums, loss);
    if (!finding)
        return NULL;
    finding->sentence = lull_arena_printf(c->arena, "%s to %s beside which no kernel runs%s%s.",
                                          tell_loss(c, &sums, loss), what, of ? ", most to " : "",
                                          of ? name_operation(c, of) : "");
    if (!of)
        return finding;
    set_place(finding, of);
    lull_finding_add_fact(finding, "count", "such operations", LULL_FACT_COUNT, (double)of->count);
    lull_finding_add_fact(finding, "time", "they take", LULL_FACT_TIME, (double)of->ns);
    if (of->bytes > 0)
        lull_finding_add_fact(finding, "bytes", "they move", LULL_FACT_BYTES, (double)of->bytes);
    return finding;
}

/* The time of copies of memory that is not pinned, where their names say so ("Memcpy HtoD (Pageable -> Device)"). */
static int64_t pageable_ns(const struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t ns = 0;
    for (uint32_t o = 0; o < breakdown->n_operations; o++)
        if (breakdown->operations[o].kind == LULL_OPERATION_COPY &&
            strcasestr(breakdown->operations[o].name, "pageable"))
            ns += breakdown->operations[o].ns;
    return ns;
}

static void find_copies(struct lull_case *c)
{
    const int64_t pageable = pageable_ns(c);
    struct lull_finding *finding =
        find_moving(c, LULL_LOST_COPYING, LULL_OPERATION_COPY, "copies and fills");
    if (!finding)
        return;
    finding->cause =
        "Kernels that do not need the data could run meanwhile, on another stream, with "
        "buffers of which one is filled while the other is used; copies of memory that "
        "is not pinned cannot overlap.";
    if (pageable > 0) {
        lull_finding_add_fact(finding, "pageable", "of memory that is not pinned", LULL_FACT_TIME,
                              (double)pageable);
        finding->cause = lull_arena_printf(
            c->arena,
            "Copies of memory that is not pinned take %s: they are slow, and nothing overlaps with "
            "them. Pin it (pin_memory, cudaMallocHost), and copy on another stream while kernels "
            "run that do not need the data.",
            lull_case_time(c, pageable));
    }
    /* The kernels behind a copy may need what it brings. */
    lull_finding_fix(c, finding)->devices.overlap = true;
    finding->fixed = "With copies beside kernels, at most";
}

static void find_exchanges(struct lull_case *c)
{
    struct lull_finding *finding =
        find_moving(c, LULL_LOST_EXCHANGING, LULL_OPERATION_EXCHANGE, "communication (NCCL)");
    if (!finding)
        return;
    finding->cause =
        "It includes the wait for the other devices that take part. Kernels that do not "
        "need the data could run meanwhile, on another stream.";
    set_next(c, finding, "device");
}

const struct lull_rule lull_rule_device_copies = {
    "device_copies", "exposed copies", "copies beside which no kernel runs", find_copies};
const struct lull_rule lull_rule_device_exchange = {
    "device_exchange", "exposed communication of devices",
    "communication of devices beside which no kernel runs", find_exchanges};

/* ---- one device has more to do --------------------------------------------------------------- */

static void find_device_imbalance(struct lull_case *c)
{
    const struct device_sums sums = sum_devices(c);
    const int64_t uneven = sums.most_kernel_ns * sums.n - sums.kernel_ns;
    struct lull_finding *finding =
        sums.n < 2 ? NULL
                   : add_finding(c, &sums, uneven, sums.most_kernel_ns - sums.kernel_ns / sums.n);
    if (!finding)
        return;
    finding->sentence = lull_arena_printf(
        c->arena, "Devices work unevenly: %s runs kernels for %s, the mean of %u devices is %s.",
        sums.longest->id, lull_case_time(c, sums.most_kernel_ns), sums.n,
        lull_case_time(c, sums.kernel_ns / sums.n));
    finding->cause =
        "It has more or larger kernels, or is slower: lull metrics --by kernel tells how "
        "many there are of each.";
    lull_finding_fix(c, finding)->devices.balance = true;
    finding->fixed = "With kernels alike on all devices";
}

const struct lull_rule lull_rule_device_imbalance = {
    "device_imbalance", "devices work unevenly", "one device runs kernels longer than the others",
    find_device_imbalance};
