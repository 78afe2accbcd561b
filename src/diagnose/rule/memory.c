/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules on the memory of processes: nearly all of it is used, it grows all the time, it is swapped out. */
#include "diagnose/rules.h"
#include "metrics/windows.h"
#include "stats/regression.h"
#include "trace/resources.h"

/* ==== memory nearly used up =================================================================== */

/* Processes have nearly all of the memory that they may have.
 * Evidence: the peak of each process by the system's own mark, the memory of its node, and the least
 * limit of its control groups. Formula: the sum of the peaks of the processes of a node beside its
 * memory, or of a control group beside its limit, where that share is largest. Silent: below 90 %,
 * and where the recorder did not learn it. Limit: peaks of processes may lie apart, and pages that
 * they share count in each, so that they may have had less at any time. */

/* The share with which a node is to be filled, where it is said how many processes it has room for. */
#define ROOMY 0.8

/* What to do, by how many processes fit, if each goes on to need as much. */
static const char *advice_on_limit(const struct lull_case *c, const struct lull_memory_sum *sum)
{
    const double each = (double)sum->together / sum->members,
                 fit = floor(ROOMY * (double)sum->capacity / each);
    const char *most = lull_case_size(c, (double)sum->largest_member),
               *name = c->evidence->trace->processes[sum->of_members].name;
    const char *ends = sum->is_limit ? "Beyond the limit the system ends processes of the group."
                                     : "Beyond that the system swaps, or ends processes.";
    if (sum->members == 1 || fit < 1)
        return lull_arena_printf(c->arena, "%s Divide the work among more nodes%s.", ends,
                                 sum->is_limit ? ", or ask the batch system for a higher limit"
                                               : "");
    return lull_arena_printf(
        c->arena,
        "%s The largest process, %s, had %s. With %.0f instead of %u, each with as much, "
        "%.0f %% would be in use: use more nodes, or threads in the place of processes.",
        ends, name, most, fit, sum->members, 100 * fit * each / (double)sum->capacity);
}

static void find_memory_limit(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    if (!trace)
        return;
    const struct lull_memory_sum sum = lull_memory_sum_of(trace);
    if (!lull_memory_is_full(&sum))
        return;
    const bool knows_node = sum.node < trace->n_nodes;
    const double share = (double)sum.together / (double)sum.capacity;
    const char *node = knows_node ? trace->nodes[sum.node].name : "a node";
    struct lull_finding *finding = lull_case_add(c, 0);
    if (knows_node) {
        finding->place.node = sum.node;
        finding->place.node_name = node;
    }
    lull_finding_add_fact(finding, "memory", "memory that they had", LULL_FACT_BYTES,
                          (double)sum.together);
    lull_finding_add_fact(finding, "capacity", "memory that they may have", LULL_FACT_BYTES,
                          (double)sum.capacity);
    lull_finding_add_fact(finding, "share", "of what they may have", LULL_FACT_SHARE, share);
    lull_finding_add_fact(finding, "processes", "processes", LULL_FACT_COUNT, sum.members);
    lull_finding_add_fact(finding, "largest", "of the largest", LULL_FACT_BYTES,
                          (double)sum.largest_member);
    finding->sentence = lull_arena_printf(
        c->arena, "%s on %s had up to %s of the %s that %s (%.0f %%).",
        sum.members > 1 ? lull_arena_printf(c->arena, "%u processes", sum.members) : "A process",
        node, lull_case_size(c, (double)sum.together), lull_case_size(c, (double)sum.capacity),
        !sum.is_limit     ? "the node has"
        : sum.members > 1 ? "their control group may have"
                          : "its control group may have",
        100 * share);
    finding->cause = advice_on_limit(c, &sum);
    finding->gain.absent = "It costs no time as long as the memory suffices.";
    finding->next = lull_arena_printf(c->arena, "lull metrics --by process %s",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_memory_limit = {
    "memory_limit", "memory nearly used up",
    "processes have nearly all of the memory that they may have", find_memory_limit};

/* ==== memory that grows ======================================================================= */

/* Memory of processes grows all the time: a leak, or data that grows.
 * Evidence: readings of how much memory each process had, over time. Formula: the second half of the
 * readings is divided into eight parts of as many readings; a straight line through the least reading of each
 * part gives the growth, with an interval of 95 %. The least readings are those that what is allocated and
 * freed again in each iteration does not reach. What the node, or the control group, has left at the end,
 * divided by the growth of all of its processes, is how long that lasts. Silent: where the least reading of
 * a part is not above that of the part before it, as where a program takes all its memory at its start;
 * where the growth over these parts is less than 1 % of what the process has, or no more than the recorder
 * itself may have taken; with fewer than 32 readings (runs below some 3 s, or with few calls); and where the
 * recorder did not learn it. Limit: where in the program it grows is not known. */

enum { PARTS = 8, READINGS_OF_PART = 2 }; /* of the second half; in each of them at least */

#define GROWN_LEAST 0.01
#define CONFIDENCE  0.95

/* What the recorder may take while the program runs, bytes: the chunk and sums of each thread, and definitions. */
#define RECORDER_OF_THREAD (128 << 10)
#define RECORDER_OF_ALL    (1 << 20)

/* Of one process, or of several together. */
struct growth {
    double rate, low, high; /* B/s */
};

struct growth_readings {
    const struct lull_memory_reading *all;
    uint32_t count;
};

static struct growth_readings readings_in_windows(const struct lull_case *c, uint32_t process)
{
    struct growth_readings readings;
    readings.all = lull_windows_readings(lull_reading_of(c->evidence->reading)->windows,
                                         c->evidence->trace, process, c->arena, &readings.count);
    return readings;
}

/* Finds the least reading of each part, with its time in s after the first of them; false: one does not lie
 * above the one before. */
static bool find_floor(const struct growth_readings *readings, double times[PARTS],
                       double bytes[PARTS])
{
    const uint32_t first = readings->count / 2, n = readings->count - first;
    for (uint32_t part = 0; part < PARTS; part++) {
        const struct lull_memory_reading *least = &readings->all[first + n * part / PARTS];
        for (uint32_t i = n * part / PARTS; i < n * (part + 1) / PARTS; i++)
            if (readings->all[first + i].bytes < least->bytes)
                least = &readings->all[first + i];
        times[part] = 1e-9 * (double)(least->time - readings->all[first].time);
        bytes[part] = (double)least->bytes;
        if (part > 0 && bytes[part] <= bytes[part - 1])
            return false;
    }
    return true;
}

/* False: it does not grow all the time, or not by much. */
static bool find_growth(const struct growth_readings *readings, double least,
                        struct growth *ret_growth)
{
    double times[PARTS], bytes[PARTS];
    struct lull_line line;
    struct lull_error ignored;
    if (readings->count < 2 * PARTS * READINGS_OF_PART || !find_floor(readings, times, bytes))
        return false;
    const double grown = bytes[PARTS - 1] - bytes[0];
    if (grown < least || grown < GROWN_LEAST * bytes[PARTS - 1] ||
        lull_fit_line(times, bytes, NULL, PARTS, CONFIDENCE, &line, &ignored) != LULL_OK ||
        line.slope <= line.slope_error)
        return false;
    *ret_growth =
        (struct growth){line.slope, line.slope - line.slope_error, line.slope + line.slope_error};
    return true;
}

/* ---- how long it lasts ----------------------------------------------------------------------- */

/* Processes that have something together, at the end of the run. */
struct growing_party {
    double used, capacity; /* bytes; capacity 0: not known */
    struct growth growth;  /* of all of them */
};

static void join_growing(struct growing_party *party, double capacity, double used,
                         const struct growth *growth)
{
    party->capacity = fmax(party->capacity, capacity);
    party->used += used;
    party->growth.rate += growth->rate;
    party->growth.low += growth->low;
    party->growth.high += growth->high;
}

/* s until all is used; infinite where nobody knows how much there is. */
static double seconds_left(const struct growing_party *party, double rate)
{
    return party->capacity > 0 ? fmax(0, party->capacity - party->used) / rate : INFINITY;
}

/* The processes of the run that share a node, or a limit, with one of them, whichever is used up first. */
static struct growing_party party_of(const struct lull_case *c, uint32_t process,
                                     const struct growth *growths, bool *ret_limit)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_process *of = &trace->processes[process];
    struct growing_party on_node = {0}, in_group = {0};
    for (uint32_t p = 0; of->node != LULL_NONE && p < trace->n_processes; p++) {
        const struct lull_process *other = &trace->processes[p];
        const struct growth_readings readings = {other->readings, other->n_readings};
        if (other->node != of->node || readings.count == 0)
            continue;
        const double used = (double)readings.all[readings.count - 1].bytes;
        join_growing(&on_node, (double)other->memory.node, used, &growths[p]);
        if (other->memory.group == of->memory.group)
            join_growing(&in_group, (double)of->memory.limit, used, &growths[p]);
    }
    *ret_limit =
        seconds_left(&in_group, in_group.growth.rate) < seconds_left(&on_node, on_node.growth.rate);
    return *ret_limit ? in_group : on_node;
}

static const char *seconds_text(const struct lull_case *c, double s)
{
    return s < 1e9 ? lull_case_time(c, (int64_t)(1e9 * s)) : "more than 30 years";
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* The bytes by which a process grows in an iteration; NAN: iterations are not known. */
static double in_an_iteration(const struct lull_case *c, uint32_t rank, double rate)
{
    const struct lull_wave_field *field = c->evidence->field;
    const struct lull_wave_row *row = field && rank < field->n_ranks ? &field->rows[rank] : NULL;
    if (!row || !row->cells || row->n_cells < 2)
        return NAN;
    const double ns = (double)(row->cells[row->n_cells - 1].end - row->cells[0].end);
    return rate * 1e-9 * ns / (row->n_cells - 1);
}

static void tell_growth(struct lull_case *c, uint32_t most, uint32_t members,
                        const struct growth *growths)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_process *process = &trace->processes[most];
    const struct growth *growth = &growths[most];
    const double iteration = in_an_iteration(c, process->rank, growth->rate);
    bool is_limit;
    const struct growing_party party = party_of(c, most, growths, &is_limit);
    const double left = seconds_left(&party, party.growth.rate);
    struct lull_finding *finding = lull_case_add(c, 0);
    lull_finding_set_process(c, finding, most);
    lull_finding_add_fact(finding, "growth", "more in each second", LULL_FACT_BYTES, growth->rate);
    lull_finding_add_fact(finding, "growth_low", "at least", LULL_FACT_BYTES, growth->low);
    lull_finding_add_fact(finding, "growth_high", "at most", LULL_FACT_BYTES, growth->high);
    lull_finding_add_fact(finding, "growth_iteration", "more in each iteration", LULL_FACT_BYTES,
                          iteration);
    lull_finding_add_fact(finding, "processes", "processes that grow", LULL_FACT_COUNT, members);
    finding->sentence = lull_arena_printf(
        c->arena, "The memory of %s grows all the time: by %s in each second (%s to %s)%s%s%s.",
        process->name, lull_case_size(c, growth->rate), lull_case_size(c, growth->low),
        lull_case_size(c, growth->high), isfinite(iteration) ? ", " : "",
        isfinite(iteration) ? lull_case_size(c, iteration) : "",
        isfinite(iteration) ? " in each iteration" : "");
    if (members > 1)
        finding->sentence =
            lull_arena_printf(c->arena, "%s That of %u other%s does, too, by less.",
                              finding->sentence, members - 1, members > 2 ? "s" : "");
    finding->cause =
        "It is memory that the program never frees, or data that grows. A program that "
        "follows allocations, as heaptrack or the leak sanitizer of compilers, tells "
        "where.";
    finding->gain.absent = "It costs no time as long as the memory suffices.";
    if (!isfinite(left))
        return;
    lull_finding_add_fact(finding, "left", "until the memory is used up", LULL_FACT_TIME,
                          1e9 * fmin(left, 1e9));
    const char *node =
        process->node < trace->n_nodes ? trace->nodes[process->node].name : "its node";
    finding->cause = lull_arena_printf(
        c->arena, "The %s that %s will be used up after another %s (%s to %s). %s",
        lull_case_size(c, party.capacity),
        lull_arena_printf(c->arena, is_limit ? "its control group may have on %s" : "%s has", node),
        seconds_text(c, left), seconds_text(c, seconds_left(&party, party.growth.high)),
        seconds_text(c, seconds_left(&party, party.growth.low)), finding->cause);
}

static void find_memory_growth(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    if (!trace)
        return;
    struct growth *growths =
        lull_arena_zero(c->arena, trace->n_processes + (size_t)1, sizeof *growths);
    uint32_t members = 0, most = LULL_NONE;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (process->application != lull_evidence_application(c->evidence) ||
            process->n_readings == 0)
            continue;
        const struct growth_readings readings = readings_in_windows(c, p);
        if (!find_growth(&readings,
                         RECORDER_OF_ALL + (double)RECORDER_OF_THREAD * process->n_locations,
                         &growths[p]))
            continue;
        members++;
        if (most == LULL_NONE || growths[p].rate > growths[most].rate)
            most = p;
    }
    if (members > 0)
        tell_growth(c, most, members, growths);
}

const struct lull_rule lull_rule_memory_growth = {"memory_growth", "memory that grows",
                                                  "memory of processes grows all the time",
                                                  find_memory_growth};

/* ==== swapping ================================================================================ */

/* Memory of processes is swapped out, and they need it again.
 * Evidence: how much of each process was swapped out at most when the recorder looked, and page
 * faults of the threads for which a disk was read. Formula: the sum over processes of the first,
 * beside that of their peaks. Silent: below 1 % of the peaks, because the system also swaps what
 * nobody uses; without such page faults, because nobody needed it then; and where the recorder did
 * not learn it. Limit: how long threads waited for the disk is not known, and some of the page faults
 * may be of files. */

#define SWAPPED_LEAST 0.01

static void tell_swapping(struct lull_case *c, uint64_t swapped, uint32_t members, uint32_t most,
                          double faults)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_process *process = &trace->processes[most];
    struct lull_finding *finding = lull_case_add(c, 0);
    lull_finding_set_process(c, finding, most);
    lull_finding_add_fact(finding, "swapped", "swapped out", LULL_FACT_BYTES, (double)swapped);
    lull_finding_add_fact(finding, "processes", "processes of which something was", LULL_FACT_COUNT,
                          members);
    lull_finding_add_fact(finding, "largest", "of the process with most", LULL_FACT_BYTES,
                          (double)process->memory.swapped);
    lull_finding_add_fact(finding, "disk", "page faults that read a disk", LULL_FACT_COUNT, faults);
    const char *whose =
        members > 1
            ? lull_arena_printf(c->arena, "%u processes were swapped out, most of %s (%s)", members,
                                process->name, lull_case_size(c, (double)process->memory.swapped))
            : lull_arena_printf(c->arena, "%s were swapped out", process->name);
    finding->sentence = lull_arena_printf(c->arena, "%s of the memory of %s.",
                                          lull_case_size(c, (double)swapped), whose);
    finding->cause = lull_arena_printf(
        c->arena,
        "%.0f times a thread waited until a disk had been read, for a page that had been swapped "
        "out or for one of a file. The node has too little memory for what runs there: use fewer "
        "processes on a node, or more nodes.",
        faults);
    finding->gain.absent = "How long threads waited for the disk is not known.";
    finding->next = lull_arena_printf(c->arena, "lull metrics --by process %s",
                                      lull_case_word(c, c->evidence->path));
}

static void find_swapping(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    const uint32_t application = lull_evidence_application(c->evidence);
    uint64_t swapped = 0, peaks = 0;
    uint32_t members = 0, most = LULL_NONE;
    for (uint32_t p = 0; trace && p < trace->n_processes; p++) {
        const struct lull_process_memory *memory = &trace->processes[p].memory;
        if (trace->processes[p].application != application || memory->swapped == 0)
            continue;
        swapped += memory->swapped;
        peaks += memory->peak;
        members++;
        if (most == LULL_NONE || memory->swapped > trace->processes[most].memory.swapped)
            most = p;
    }
    if (members == 0 || (double)swapped < SWAPPED_LEAST * (double)peaks)
        return;
    const struct lull_usage_sum usage = lull_usage_of(trace, application);
    if (usage.known > 0 && usage.major > 0)
        tell_swapping(c, swapped, members, most, usage.major);
}

const struct lull_rule lull_rule_swapping = {"swapping", "swapping",
                                             "memory of processes is swapped out, and they need it "
                                             "again",
                                             find_swapping};
