/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules on what the system gave the threads: no core, and work of its kernel. */
#include "diagnose/rules.h"
#include "trace/resources.h"

/* ==== too few cores =========================================================================== */

/* Threads could have run and had no core.
 * Evidence: what the system tells of each thread: ns on a core, ns ready and without one, and how
 * often the core was taken away. Formula: the mean share of the run in which they were without one
 * (trace/resources.h), of the core time. Silent: below 1 %, and without the recorder's numbers of the
 * system. */

/* Below that share of the time without a core it is one side's doing alone. */
#define SIDE_LEAST 0.1

/* Whose threads had the cores. */
static const char *who_had_them(const struct lull_case *c)
{
    const double own = c->shortage.own, others = c->shortage.others;
    if (own >= 1 - SIDE_LEAST)
        return "The run has more threads than cores.";
    if (others >= 1 - SIDE_LEAST)
        return "Other programs had the cores.";
    if (own <= SIDE_LEAST)
        return "Other programs had the cores, or the run has more threads than cores at times.";
    const bool certain = own + others >= 1 - SIDE_LEAST;
    return lull_arena_printf(
        c->arena,
        "%s%.0f %% of it is because the run has more threads than cores, the rest %sbecause other "
        "programs had the cores.",
        certain ? "" : "At least ", 100 * own, certain ? "" : "likewise or ");
}

static void find_oversubscription(struct lull_case *c)
{
    if (c->without_core_ns < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, c->without_core_ns);
    lull_finding_add_fact(finding, "share", "of the core time", LULL_FACT_SHARE, c->shortage.share);
    lull_finding_add_fact(finding, "own", "of it because of the run's own threads", LULL_FACT_SHARE,
                          c->shortage.own);
    lull_finding_add_fact(finding, "others", "of it because of other programs", LULL_FACT_SHARE,
                          c->shortage.others);
    lull_finding_add_fact(finding, "preempted", "times that a core was taken away", LULL_FACT_COUNT,
                          (double)c->shortage.preempted);
    lull_finding_add_fact(finding, "threads", "threads of which that is known", LULL_FACT_COUNT,
                          c->shortage.known);
    finding->sentence = lull_arena_printf(
        c->arena, "Threads could have run and had no core for %s of %s of core time (%.0f %%).",
        lull_case_time(c, c->without_core_ns), lull_case_time(c, c->core_ns),
        100 * (double)c->without_core_ns / (double)c->core_ns);
    finding->cause = who_had_them(c);
    if (c->hidden_network_ns > 0)
        finding->cause = lull_arena_printf(
            c->arena,
            "%s An ideal network would save %s of the runtime, and threads without a core explain "
            "as much: what the network costs is not known.",
            finding->cause, lull_case_time(c, c->hidden_network_ns));
    finding->next =
        lull_arena_printf(c->arena, "lull info %s", lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_oversubscription = {"oversubscription", "too few cores",
                                                     "threads could have run and had no core",
                                                     find_oversubscription};

/* ==== the kernel in useful time =============================================================== */

/* The system's kernel works within useful time.
 * Evidence: processor time that each thread spent in the kernel, by getrusage(2), read every 50 ms,
 * and its page faults. Formula: between two readings, the time in the kernel less all time that the
 * thread was in recorded calls, in pauses and between regions of the OpenMP runtime. So a wait that
 * polls the system (MPI does) is never taken for it, and what is told is the least that it can be.
 * Silent: below 5 % of the core time, and without the recorder's numbers of the system. Limit:
 * kernel time is sampled by the system's clock (every 4 ms at 250 Hz), so that it is known for many
 * of these together alone. */

/* The share of the core time from which on it is told. */
#define KERNEL_LEAST 0.05

/* The kernel works for a fault of a page of 4 KiB no longer than so many ns: 8 us were measured in
 * a virtual machine that others used, for 819,301 faults in arrays that two threads allocate and
 * free. */
#define FAULT_MOST_NS 20e3

/* The allocator of the GNU C library keeps what is freed with these. */
#define KEEP_MEMORY "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 MALLOC_TOP_PAD_=67108864"

static const char *cause_of_kernel_time(const struct lull_case *c, const struct lull_usage_sum *sum)
{
    const double faults = sum->minor + sum->major;
    if (sum->outside > FAULT_MOST_NS * faults)
        return lull_arena_printf(
            c->arena,
            "System calls of the program take it, for files or memory, or faults of huge pages: "
            "%.0f page faults are too few for it.",
            faults);
    return lull_arena_printf(
        c->arena,
        "%.0f page faults, %.0f a second and thread: fresh memory%s, again and again where large "
        "blocks are freed and allocated. Allocate once, keep freed memory (GNU C library: %s), or "
        "take huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1).",
        faults, 1e9 * faults / ((double)c->evidence->trace->duration * sum->known),
        sum->major > 0 ? ", some of it from a disk" : "", KEEP_MEMORY);
}

static void find_kernel_time(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    if (!trace || trace->duration <= 0)
        return;
    const struct lull_usage_sum sum = lull_usage_of(trace, lull_evidence_application(c->evidence));
    const double useful = (double)lull_evidence_activity_ns(c->evidence, LULL_USEFUL),
                 part = (double)c->evidence->breakdown->runtime_ns / (double)trace->duration;
    const double ns = fmin(sum.outside * part, useful);
    if (ns < KERNEL_LEAST * (double)c->core_ns || ns < 1)
        return;
    struct lull_finding *finding = lull_case_add(c, (int64_t)ns);
    lull_finding_add_fact(finding, "share", "of the core time", LULL_FACT_SHARE,
                          ns / (double)c->core_ns);
    lull_finding_add_fact(finding, "system", "in the kernel, also in calls", LULL_FACT_TIME,
                          sum.system);
    lull_finding_add_fact(finding, "faults", "page faults", LULL_FACT_COUNT, sum.minor + sum.major);
    lull_finding_add_fact(finding, "disk", "page faults that read a disk", LULL_FACT_COUNT,
                          sum.major);
    lull_finding_add_fact(finding, "threads", "threads of which that is known", LULL_FACT_COUNT,
                          sum.known);
    finding->sentence = lull_arena_printf(
        c->arena,
        "The system's kernel works for %s of %s of core time (%.0f %%) within useful time%s.",
        lull_case_time(c, (int64_t)ns), lull_case_time(c, c->core_ns),
        100 * ns / (double)c->core_ns,
        sum.known > 1 ? lull_arena_printf(c->arena, ", most for '%s'", sum.most->name) : "");
    finding->cause = cause_of_kernel_time(c, &sum);
    finding->next =
        lull_arena_printf(c->arena, "lull info %s", lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_kernel_time = {"kernel_time", "kernel in useful time",
                                                "the system's kernel works within useful time",
                                                find_kernel_time};
