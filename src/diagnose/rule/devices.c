/* SPDX-License-Identifier: BSD-3-Clause */
/* What devices lose their time by: their part of the run in which they ran no kernel; and what they run one after the other
 * and could run at the same time.
 * Evidence: what each device lost (metrics/devices.h), in all, before the operations of each name, and behind waits of the
 * host; how long operations took, how long after their launch they began, and how long others held them
 * (metrics/held_operations.h). Formula: the sum over all devices, as a share of their time; told as lost
 * is that share of the core time, so that findings of devices and of threads are in one order. Silent: below 1 % of the
 * devices' time, and where sums alone are known. */
#include "diagnose/rules.h"

#include <string.h>

/* A time of all devices together. */
struct device_time {
    int64_t ns, most_ns;
    const struct lull_device_breakdown *most; /* which has most of it, most_ns */
};

/* What all devices of the run have and lose. */
struct device_sums {
    uint32_t n; /* of which it is known */
    int64_t kernel_ns, most_kernel_ns;
    int64_t time_ns; /* of all of them */
    struct device_time lost[LULL_DEVICE_LOSSES];
    /* The parts of `lost` that lie behind waits of the host, and those that do not. */
    struct device_time behind_wait[LULL_DEVICE_LOSSES], elsewhere[LULL_DEVICE_LOSSES];
    struct device_time waited; /* behind waits, while the host returns from them or launches */
    uint64_t n_behind_waits;
    struct device_time held[LULL_DEVICE_HOLDS], spared[LULL_DEVICE_HOLDS];
    int64_t overlap_ns[LULL_DEVICE_HOLDS];
    const struct lull_device_breakdown *longest; /* with most_kernel_ns */
};

static void add_device_time(struct device_time *time, const struct lull_device_breakdown *device,
                            int64_t ns)
{
    time->ns += ns;
    if (time->most && ns <= time->most_ns)
        return;
    time->most_ns = ns;
    time->most = device;
}

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
            sums.time_ns += device->lost_ns[loss];
            add_device_time(&sums.lost[loss], device, device->lost_ns[loss]);
            add_device_time(&sums.behind_wait[loss], device, device->behind_wait_ns[loss]);
            add_device_time(&sums.elsewhere[loss], device,
                            device->lost_ns[loss] - device->behind_wait_ns[loss]);
        }
        for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++) {
            const struct lull_device_held *held = &device->held[hold];
            sums.overlap_ns[hold] += held->overlap_ns;
            add_device_time(&sums.held[hold], device, held->held_ns);
            add_device_time(&sums.spared[hold], device,
                            held->held_ns < held->shorter_ns ? held->held_ns : held->shorter_ns);
        }
        sums.n_behind_waits += device->n_behind_waits;
        add_device_time(&sums.waited, device,
                        device->behind_wait_ns[LULL_LOST_RUNTIME] +
                            device->behind_wait_ns[LULL_LOST_LAUNCH]);
    }
    return sums;
}

static bool is_device_loss(const struct device_sums *sums, int64_t ns)
{
    return sums->time_ns > 0 && ns > 0 && (double)ns >= LULL_FINDING_LEAST * (double)sums->time_ns;
}

/* The finding of so much time of the devices, of which one loses `most`; NULL: it is too little. */
static struct lull_finding *add_finding(struct lull_case *c, const struct device_sums *sums,
                                        int64_t ns, int64_t most)
{
    if (!is_device_loss(sums, ns))
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
                                     const struct device_time *lost)
{
    return add_finding(c, sums, lost->ns, lost->most_ns);
}

/* A device is named where it loses so many times what a device loses on average. */
#define ONE_DEVICE_LEAST 1.5

/* "The device loses 3.1 ms (31 % of its time)"; "The devices lose 3.1 ms (31 % of
 * their time), 'rank 3 device 0' 2.9 ms of it,". */
static const char *tell_loss(const struct lull_case *c, const struct device_sums *sums,
                             const struct device_time *lost)
{
    const bool one =
        sums->n > 1 && (double)lost->most_ns * sums->n > ONE_DEVICE_LEAST * (double)lost->ns;
    const char *text = lull_arena_printf(
        c->arena,
        sums->n == 1 ? "The device loses %s (%.0f %% of its time)"
                     : "The devices lose %s (%.0f %% of their time)",
        lull_case_time(c, lost->ns), 100 * (double)lost->ns / (double)sums->time_ns);
    return one ? lull_arena_printf(c->arena, "%s, '%s' %s of it,", text, lost->most->id,
                                   lull_case_time(c, lost->most_ns))
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

/* "cudaLaunchKernel in step (heat.cu:40)" */
static const char *name_call(const struct lull_case *c, const char *call, const char *site)
{
    return *site ? lull_arena_printf(c->arena, "%s in %s", call, site) : call;
}

/* "'smooth', which cudaLaunchKernel in step (heat.cu:40) submits". */
static const char *name_operation(const struct lull_case *c,
                                  const struct lull_operation_breakdown *of)
{
    if (!*of->call)
        return lull_arena_printf(c->arena, "'%s'", of->name);
    return lull_arena_printf(c->arena, "'%s', which %s submits", of->name,
                             name_call(c, of->call, of->site));
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

/* Prices a finding by a replay in which the thread that submits comes long before: the most that can be saved, as the
 * thread's own work may be what the operation needs. */
static void suppose_ahead(struct lull_case *c, struct lull_finding *finding)
{
    lull_finding_fix(c, finding)->devices.ahead = true;
    finding->fixed = "Submitted ahead, at most";
}

/* ---- a wait behind each operation ------------------------------------------------------------ */

/* What devices lose behind waits of the host while it returns from them and launches: a host that had submitted the next
 * operation before the wait would lose none of that. What it computes, or does in MPI, between wait and launch is told as
 * such (device_starved, device_mpi), and so are latencies that are nearly all of it (device_launch). */
#define WAITED_GAPS_LEAST   3
#define WAITED_LATENCY_MOST 0.9
#define WAITED_MOSTLY       0.8

static bool is_waited(const struct device_sums *sums)
{
    return sums->n_behind_waits >= WAITED_GAPS_LEAST && is_device_loss(sums, sums->waited.ns) &&
           (double)sums->behind_wait[LULL_LOST_LAUNCH].ns <=
               WAITED_LATENCY_MOST * (double)sums->waited.ns;
}

static bool is_mostly_behind_waits(const struct device_sums *sums, unsigned loss)
{
    return (double)sums->behind_wait[loss].ns >= WAITED_MOSTLY * (double)sums->lost[loss].ns;
}

/* The part of a loss that the finding device_sync does not tell. */
static const struct device_time *left_of(const struct device_sums *sums, unsigned loss)
{
    return is_waited(sums) ? &sums->elsewhere[loss] : &sums->lost[loss];
}

/* The call behind which most is lost, while the host is in the runtime or launches; NULL: none, or calls are not told. */
static const struct lull_device_wait_breakdown *find_waiting_call(const struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const struct lull_device_wait_breakdown *most = NULL;
    int64_t most_ns = 0;
    for (uint32_t i = 0; i < breakdown->n_device_waits; i++) {
        const struct lull_device_wait_breakdown *of = &breakdown->device_waits[i];
        const int64_t ns = of->lost_ns[LULL_LOST_RUNTIME] + of->lost_ns[LULL_LOST_LAUNCH];
        if (!*of->call || ns <= most_ns)
            continue;
        most_ns = ns;
        most = of;
    }
    return most;
}

static void find_sync(struct lull_case *c)
{
    const struct device_sums sums = sum_devices(c);
    if (!is_waited(&sums))
        return;
    const struct lull_device_wait_breakdown *of = find_waiting_call(c);
    struct lull_finding *finding = add_loss(c, &sums, &sums.waited);
    finding->sentence = lull_arena_printf(
        c->arena, "%s in %llu gaps behind waits of the host%s.", tell_loss(c, &sums, &sums.waited),
        (unsigned long long)sums.n_behind_waits,
        of ? lull_arena_printf(c->arena, ", most behind %s, which waits for '%s'",
                               name_call(c, of->call, of->site), of->operation)
           : "");
    finding->cause = lull_arena_printf(
        c->arena,
        "The host submits the next operation only when it has waited: it returns from waits for "
        "%s, and launches for %s. Wait once, where results are needed; the order of a stream and "
        "events let operations wait for each other.",
        lull_case_time(c, sums.behind_wait[LULL_LOST_RUNTIME].ns),
        lull_case_time(c, sums.behind_wait[LULL_LOST_LAUNCH].ns));
    lull_finding_add_fact(finding, "gaps", "gaps behind waits", LULL_FACT_COUNT,
                          (double)sums.n_behind_waits);
    if (of) {
        finding->place.region = of->call;
        finding->place.site = *of->site ? of->site : NULL;
        finding->place.location = of->longest.location;
        finding->place.begin = of->longest.begin;
        finding->place.end = of->longest.end;
        lull_finding_add_fact(finding, "there", "of these behind that call", LULL_FACT_COUNT,
                              (double)of->n_gaps);
    }
    suppose_ahead(c, finding);
}

const struct lull_rule lull_rule_device_sync = {
    "device_sync", "host waits for each operation",
    "devices have nothing to do while the host returns from waits for them and launches again",
    find_sync};

/* ---- the host is late ------------------------------------------------------------------------ */

/* The host, or MPI, or the runtime keeps the thread that submits the next operation. */
static void find_late(struct lull_case *c, unsigned loss, const char *what, const char *cause)
{
    const struct device_sums sums = sum_devices(c);
    const struct device_time *lost =
        loss == LULL_LOST_RUNTIME ? left_of(&sums, loss) : &sums.lost[loss];
    const struct lull_operation_breakdown *of = find_operation(c, loss);
    struct lull_finding *finding = add_loss(c, &sums, lost);
    if (!finding)
        return;
    finding->sentence =
        lull_arena_printf(c->arena, "%s because %s%s%s.", tell_loss(c, &sums, lost), what,
                          of ? ", most before " : "", of ? name_operation(c, of) : "");
    finding->cause = cause;
    if (of)
        tell_operation(finding, of, loss);
    suppose_ahead(c, finding);
}

static void find_starved(struct lull_case *c)
{
    find_late(c, LULL_LOST_HOST, "the host computes before it submits the next operation",
              "Nothing was submitted ahead: give the device its next work before the host's "
              "own, or let another thread do the host's.");
}

/* Why the thread is in MPI for so long, the rules on waits and on the network tell. */
static void find_mpi(struct lull_case *c)
{
    find_late(c, LULL_LOST_MPI, "the thread that submits the next operation is in MPI",
              "Submit what does not need the messages before the call, or wait for them with work "
              "on the device.");
}

static void find_runtime(struct lull_case *c)
{
    find_late(c, LULL_LOST_RUNTIME, "the host is in other calls of the runtime",
              "It waits there for operations that have ended, allocates, or submits to "
              "others: wait less often, and allocate once.");
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
    const struct device_time *lost = left_of(&sums, LULL_LOST_LAUNCH);
    const struct lull_operation_breakdown *of = find_operation(c, LULL_LOST_LAUNCH);
    struct lull_finding *finding = add_loss(c, &sums, lost);
    if (!finding)
        return;
    const bool is_short = of && of->n_delays > 0 && of->length.median_ns < of->delay.median_ns;
    finding->sentence = lull_arena_printf(
        c->arena, "%s from launches to the beginnings of the operations%s%s.",
        tell_loss(c, &sums, lost), of ? ", most of " : "", of ? name_operation(c, of) : "");
    finding->cause =
        is_short
            ? lull_arena_printf(c->arena,
                                "It takes less time (%s) than its launch (%s): join kernels, or "
                                "launch many of them as one graph.",
                                lull_case_time(c, of->length.median_ns),
                                lull_case_time(c, of->delay.median_ns))
        : is_mostly_behind_waits(&sums, LULL_LOST_LAUNCH)
            ? "The host has waited for the operation before, and launches only then: wait less "
              "often, and submit ahead."
            : "The device has nothing else to do when the launch comes: submit ahead.";
    if (of)
        tell_operation(finding, of, LULL_LOST_LAUNCH);
    if (is_short && !is_mostly_behind_waits(&sums, LULL_LOST_LAUNCH)) {
        lull_finding_fix(c, finding)->devices.graphs_if_any = true;
        finding->fixed = "Launched as graphs";
    } else {
        lull_finding_fix(c, finding)->devices.no_latency = true;
        finding->fixed = "Without the latency of launches";
    }
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
    struct lull_finding *finding = add_loss(c, &sums, &sums.lost[loss]);
    if (!finding)
        return NULL;
    finding->sentence = lull_arena_printf(c->arena, "%s to %s beside which no kernel runs%s%s.",
                                          tell_loss(c, &sums, &sums.lost[loss]), what,
                                          of ? ", most to " : "", of ? name_operation(c, of) : "");
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

static bool has_communicators(const struct lull_trace *trace)
{
    bool any = false;
    for (uint32_t d = 0; !any && d < trace->n_devices; d++)
        any = lull_is_communicator(&trace->devices[d]);
    return any;
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
    if (!has_communicators(c->evidence->trace)) { /* which kernels belong together is not told */
        set_next(c, finding, "device");
        return;
    }
    lull_finding_fix(c, finding)->devices.free_exchanges = true;
    finding->fixed = "With communication that only waits for the last device, at most";
}

const struct lull_rule lull_rule_device_copies = {
    "device_copies", "exposed copies", "copies beside which no kernel runs", find_copies};
const struct lull_rule lull_rule_device_exchange = {
    "device_exchange", "exposed communication of devices",
    "communication of devices beside which no kernel runs", find_exchanges};

/* ---- operations that could run at the same time ---------------------------------------------- */

/* Lost is what running them at the same time would spare at most: no more than the time in which some were held, and no more
 * than the shorter of what hold each other take. Silent where more than a hundredth of the time they do run at the
 * same time: then nothing keeps them from it. */
static struct lull_finding *find_held(struct lull_case *c, const struct device_sums *sums,
                                      unsigned hold, const char *who, const char *cause)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const struct device_time *held = &sums->held[hold];
    const struct lull_operation_breakdown *of = NULL;
    if ((double)sums->overlap_ns[hold] > LULL_FINDING_LEAST * (double)held->ns)
        return NULL;
    struct lull_finding *finding = add_loss(c, sums, &sums->spared[hold]);
    if (!finding)
        return NULL;
    for (uint32_t o = 0; o < breakdown->n_operations; o++)
        if (breakdown->operations[o].held_ns[hold] > (of ? of->held_ns[hold] : 0))
            of = &breakdown->operations[o];
    finding->sentence = lull_arena_printf(
        c->arena,
        "%s run one after the other%s: operations that could begin wait for %s (%.0f %% of the "
        "devices' time)%s%s.",
        who, sums->n > 1 ? lull_arena_printf(c->arena, ", most on '%s'", held->most->id) : "",
        lull_case_time(c, held->ns), 100 * (double)held->ns / (double)sums->time_ns,
        of ? ", longest of all " : "", of ? name_operation(c, of) : "");
    finding->cause =
        lull_arena_printf(c->arena, "At the same time they would take at most %s less. %s",
                          lull_case_time(c, sums->spared[hold].ns), cause);
    lull_finding_add_fact(finding, "held", "operations wait for others", LULL_FACT_TIME,
                          (double)held->ns);
    if (of) {
        set_place(finding, of);
        finding->place.location = of->longest_held[hold].location;
        finding->place.begin = of->longest_held[hold].begin;
        finding->place.end = of->longest_held[hold].end;
        lull_finding_add_fact(finding, "before", "before that operation", LULL_FACT_TIME,
                              (double)of->held_ns[hold]);
    }
    set_next(c, finding, "stream");
    return finding;
}

static void find_default_stream(struct lull_case *c)
{
    const struct device_sums sums = sum_devices(c);
    find_held(
        c, &sums, LULL_HELD_BY_DEFAULT_STREAM,
        "Operations of the default stream and of other streams",
        "The default stream waits for all that other streams were given before, and these for it. "
        "Use another stream in its place, or make the others so that they do not wait "
        "(cudaStreamNonBlocking, nvcc --default-stream per-thread).");
}

static void find_shared(struct lull_case *c)
{
    const struct device_sums sums = sum_devices(c);
    find_held(c, &sums, LULL_HELD_BY_PROCESS, "Kernels of several processes",
              "A device runs them at the same time only where a service joins the processes (MPS "
              "of CUDA: nvidia-cuda-mps-control -d). Or give each process a device.");
}

const struct lull_rule lull_rule_device_default_stream = {
    "device_default_stream", "default stream holds others",
    "operations wait for the default stream of their process, or it for them", find_default_stream};
const struct lull_rule lull_rule_device_shared = {
    "device_shared", "processes take turns on a device",
    "operations wait for kernels of other processes on their device", find_shared};

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
