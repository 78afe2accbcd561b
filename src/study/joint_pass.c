#include "study/joint_pass.h"

#include "base/fnv.h"
#include "team/division.h"
#include "trace/scan.h"
#include "trace/trace.h"

#include <string.h>

/* ==== one sequence of events for a team ======================================================= */

/* The events of some runs are one sequence (trace/scan.h): the first member of a team reads them
 * and passes them on to the others in parcels. At most MOST_UNDERWAY parcels are on their way to a
 * member; it tells the first after every TELL_EVERY parcels that it has taken them. */

enum { MOST_UNDERWAY = 64, TELL_EVERY = 16 }; /* parcels of 64 KiB to a member */

struct passing {
    struct lull_relay relay;
    const struct lull_division *division;
    uint32_t *underway;           /* on the first: [members] parcels that each has not told of */
    uint32_t untold;              /* on others: parcels taken since the last telling */
    struct lull_team_parcel last; /* the one got last, whose bytes are in use */
};

static uint32_t owner(void *context, uint32_t process)
{
    const struct passing *passing = context;
    return lull_division_owner(passing->division, process);
}

static void begin(void *context)
{
    struct passing *passing = context;
    lull_team_begin(passing->division->team, LULL_TEAM_EVENTS);
    if (passing->underway)
        memset(passing->underway, 0, passing->relay.size * sizeof *passing->underway);
    passing->untold = 0;
}

static void end(void *context)
{
    struct passing *passing = context;
    lull_team_give_back(&passing->last);
}

static lull_status put_passed(void *context, uint32_t to, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct passing *passing = context;
    struct lull_team *team = passing->division->team;
    lull_status status = LULL_OK;
    while (status == LULL_OK && passing->underway[to] >= MOST_UNDERWAY) {
        struct lull_team_parcel parcel;
        status = lull_team_await(team, LULL_TEAM_EVENTS, &parcel, err);
        if (status == LULL_OK)
            passing->underway[parcel.from] -= TELL_EVERY;
        lull_team_give_back(&parcel);
    }
    passing->underway[to]++;
    return status == LULL_OK ? lull_team_post(team, LULL_TEAM_EVENTS, to, bytes, size, err)
                             : status;
}

static lull_status get_passed(void *context, const void **ret_bytes, size_t *ret_size,
                              struct lull_error *err)
{
    struct passing *passing = context;
    struct lull_team *team = passing->division->team;
    lull_team_give_back(&passing->last);
    lull_status status = lull_team_await(team, LULL_TEAM_EVENTS, &passing->last, err);
    if (status == LULL_OK && ++passing->untold == TELL_EVERY) {
        passing->untold = 0;
        status = lull_team_post(team, LULL_TEAM_EVENTS, 0, NULL, 0, err);
    }
    *ret_bytes = passing->last.bytes;
    *ret_size = passing->last.size;
    return status;
}

/* Makes the scans of a trace such relays, in which each member gets the events of its processes.
 * What they need lives in `arena`. */
static void relay_attach(const struct lull_trace *trace, const struct lull_division *division,
                         struct lull_arena *arena)
{
    struct passing *passing = lull_arena_zero(arena, 1, sizeof *passing);
    const uint32_t members = lull_team_size(division->team);
    *passing = (struct passing){.relay = {.index = lull_team_index(division->team),
                                          .size = members,
                                          .context = passing,
                                          .owner = owner,
                                          .begin = begin,
                                          .end = end,
                                          .put = put_passed,
                                          .get = get_passed},
                                .division = division};
    if (passing->relay.index == 0)
        passing->underway = lull_arena_zero(arena, members, sizeof *passing->underway);
    lull_trace_relay(trace, &passing->relay);
}

/* ==== a run that a team reads ================================================================= */

/* ---- the same run ---------------------------------------------------------------------------- */

/* What must be the same on all members. */
struct sight {
    int64_t duration;
    uint64_t names; /* of the regions */
    uint32_t processes, locations, regions, comms, counters, events;
};

static struct sight look_at(const struct lull_trace *trace)
{
    struct sight sight = {.duration = trace->duration,
                          .names = LULL_FNV_BEGIN,
                          .processes = trace->n_processes,
                          .locations = trace->n_locations,
                          .regions = trace->n_regions,
                          .comms = trace->n_comms,
                          .counters = trace->n_counters,
                          .events = trace->events};
    for (uint32_t r = 0; r < trace->n_regions; r++)
        sight.names =
            lull_fnv(sight.names, trace->regions[r].name, strlen(trace->regions[r].name) + 1);
    return sight;
}

static lull_status compare_sights(struct lull_team *team, const struct lull_trace *trace,
                                  struct lull_error *err)
{
    const struct sight own = look_at(trace);
    struct sight first = own;
    lull_status status = lull_team_broadcast(team, &first, sizeof first, err);
    if (status == LULL_OK && memcmp(&first, &own, sizeof own) != 0)
        status =
            lull_fail(err, LULL_ERR_RANGE,
                      "%s: is another run here, of %u processes and %u threads, expected %u "
                      "and %u as on the first",
                      trace->path, own.processes, own.locations, first.processes, first.locations);
    return lull_team_agree(team, status, err);
}

/* Members that open a run together exchange values step by step. `steps` counts the exchanges. A
 * member that is at another step than the first sees a different run. */
struct opening {
    struct lull_team *team;
    const char *path;
    uint64_t steps;
    bool parted; /* they have failed together, and meet no more */
};

struct step {
    uint64_t number, sight;
};

enum { LAST_STEP = UINT32_MAX };

static lull_status meet(struct opening *opening, struct step step, lull_status status,
                        struct lull_error *err)
{
    struct step first = step;
    status = lull_team_agree(opening->team, status, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(opening->team, &first, sizeof first, err);
    else
        opening->parted = true;
    if (opening->parted)
        return status;
    if (status == LULL_OK && memcmp(&first, &step, sizeof step) != 0)
        status = lull_fail(err, LULL_ERR_RANGE, "%s: is another run here than on the first",
                           opening->path);
    status = lull_team_agree(opening->team, status, err);
    opening->parted = status != LULL_OK;
    return status;
}

static lull_status exchange(void *context, lull_status status, uint64_t sight, const void *bytes,
                            size_t size,
                            lull_status (*take)(void *context, uint32_t index, const void *bytes,
                                                size_t size, struct lull_error *err),
                            void *take_context, struct lull_error *err)
{
    struct opening *opening = context;
    status = meet(opening, (struct step){++opening->steps, sight}, status, err);
    return status != LULL_OK
               ? status
               : lull_team_exchange(opening->team, bytes, size, take, take_context, err);
}

lull_status lull_division_open(struct lull_team *team, const char *path,
                               struct lull_trace **ret_trace, struct lull_error *err)
{
    struct lull_trace *trace = NULL;
    struct opening opening = {.team = team, .path = path};
    const struct lull_exchange together = {.index = lull_team_index(team),
                                           .size = lull_team_size(team),
                                           .context = &opening,
                                           .all = exchange};
    lull_status status =
        lull_trace_open_together(path, together.size > 1 ? &together : NULL, &trace, err);
    if (!opening.parted)
        status = meet(&opening, (struct step){LAST_STEP, 0}, status, err);
    if (status == LULL_OK)
        status = compare_sights(team, trace, err);
    if (status == LULL_OK)
        *ret_trace = trace;
    else
        lull_trace_close(trace);
    return status;
}

/* ---- who reads what -------------------------------------------------------------------------- */

lull_status lull_division_of_run(struct lull_team *team, const struct lull_trace *trace,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_division **ret_division, struct lull_error *err)
{
    uint64_t *weights = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *weights);
    uint32_t *nodes = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *nodes);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (application == LULL_NONE || process->application == application)
            weights[p] = process->n_locations;
        nodes[p] = process->node;
    }
    const struct lull_division_items items = {
        .count = trace->n_processes, .weights = weights, .groups = nodes};
    lull_status status = lull_division_make(team, &items, arena, ret_division, err);
    if (status == LULL_OK && *ret_division && lull_trace_is_sequence(trace))
        relay_attach(trace, *ret_division, arena);
    return status;
}

/* ---- quirks ---------------------------------------------------------------------------------- */

struct adding {
    const struct lull_trace *trace;
};

static lull_status add_quirks(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    const struct adding *adding = context;
    return member == 0 ? LULL_OK : lull_trace_quirks_add(adding->trace, bytes, size, err);
}

static lull_status add_left_out(void *context, uint32_t member, const void *bytes, size_t size,
                                struct lull_error *err)
{
    const struct adding *adding = context;
    const uint32_t *locations = bytes;
    lull_status status = LULL_OK;
    for (size_t i = 0; member > 0 && i < size / sizeof *locations && status == LULL_OK; i++)
        status = lull_trace_add_left_out(adding->trace, locations[i], err);
    return status;
}

static uint32_t count_left_out(const struct lull_trace *trace)
{
    uint32_t left_out = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        left_out += lull_trace_is_left_out(trace, l);
    return left_out;
}

/* Which locations each member has left out, to the first. */
static lull_status gather_left_out(struct lull_team *team, struct adding *adding,
                                   struct lull_arena *scratch, struct lull_error *err)
{
    const struct lull_trace *trace = adding->trace;
    const uint32_t n = count_left_out(trace);
    uint32_t *own = lull_arena_alloc(scratch, (n + (size_t)1) * sizeof *own), at = 0;
    for (uint32_t l = 0; l < trace->n_locations && at < n; l++)
        if (lull_trace_is_left_out(trace, l))
            own[at++] = l;
    lull_status status = lull_team_collect(team, own, at * sizeof *own, add_left_out, adding, err);
    if (status == LULL_OK && lull_team_is_first(team) && trace->n_locations > 0 &&
        count_left_out(trace) == trace->n_locations)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: the records of all threads are damaged",
                           trace->path);
    return status;
}

lull_status lull_division_gather_quirks(const struct lull_division *division,
                                        const struct lull_trace *trace, struct lull_error *err)
{
    struct adding adding = {trace};
    if (!division)
        return LULL_OK;
    struct lull_arena *scratch = lull_arena_create(NULL);
    size_t size;
    const void *bytes = lull_trace_quirks_pack(trace, scratch, &size);
    lull_status status = lull_team_collect(division->team, bytes, size, add_quirks, &adding, err);
    if (status == LULL_OK)
        status = gather_left_out(division->team, &adding, scratch, err);
    lull_arena_destroy(scratch);
    return lull_team_agree(division->team, status, err);
}

/* ==== the joint pass ========================================================================== */

/* What belongs to a joint pass while it goes on. */
struct parts {
    struct lull_collector *collector;
    struct lull_ideal *ideal;
};

static void add_consumer(struct lull_joint_pass *joint, struct lull_consumer consumer)
{
    joint->consumers[joint->n_consumers++] = consumer;
}

static lull_status add_breakdown(struct lull_joint_pass *joint,
                                 const struct lull_breakdown_options *options, struct parts *parts,
                                 struct lull_error *err)
{
    lull_status status =
        lull_collector_create(joint->trace, options, joint->workers, &parts->collector, err);
    if (status != LULL_OK)
        return status;
    lull_collector_prepare(parts->collector, &joint->pass);
    add_consumer(joint, lull_collector_consumer(parts->collector));
    return LULL_OK;
}

static lull_status add_ideal(struct lull_joint_pass *joint, struct parts *parts,
                             struct lull_error *err)
{
    if (!joint->wants_ideal)
        return LULL_OK;
    lull_status status =
        lull_ideal_create(joint->trace, &joint->ideal, joint->workers, &parts->ideal, err);
    if (status == LULL_OK)
        lull_ideal_consumer(parts->ideal, &joint->consumers[joint->n_consumers++]);
    return status;
}

/* Where something was presumed of the run that is not so, it is read once more. */
static lull_status conclude_ideal(const struct lull_joint_pass *joint, const struct parts *parts,
                                  struct lull_arena *arena, struct lull_ideal_result *ideal,
                                  struct lull_error *err)
{
    struct lull_ideal_options options = joint->ideal;
    bool again;
    lull_status status = lull_ideal_look_back(parts->ideal, &options, &again, err);
    if (status != LULL_OK)
        return status;
    if (!again)
        return lull_ideal_conclude(parts->ideal, arena, ideal, err);
    options.workers = joint->pass.workers;
    options.progress = joint->pass.progress;
    options.progress_context = joint->pass.progress_context;
    return lull_ideal_runtime(joint->trace, &options, arena, ideal, err);
}

static lull_status conclude_parts(const struct lull_joint_pass *joint, const struct parts *parts,
                                  struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                  struct lull_ideal_result **ret_ideal, struct lull_error *err)
{
    struct lull_ideal_result *ideal = NULL;
    lull_status status = lull_collector_gather(parts->collector, err);
    *ret_breakdown = NULL;
    if (status == LULL_OK && joint->is_first)
        status = lull_collector_result(parts->collector, arena, ret_breakdown, err);
    if (status == LULL_OK && parts->ideal) {
        ideal = lull_arena_zero(arena, 1, sizeof *ideal);
        status = conclude_ideal(joint, parts, arena, ideal, err);
    }
    if (status == LULL_OK)
        *ret_ideal = ideal;
    return status;
}

lull_status lull_joint_pass_run(const struct lull_trace *trace,
                                const struct lull_breakdown_options *options,
                                const struct lull_ideal_options *ideal,
                                const struct lull_companion *companion, struct lull_arena *arena,
                                struct lull_breakdown **ret_breakdown,
                                struct lull_ideal_result **ret_ideal, struct lull_error *err)
{
    struct lull_team *team = options->division ? options->division->team : NULL;
    struct lull_joint_pass joint = {.trace = trace,
                                    .pass = {.workers = options->workers,
                                             .application = options->application,
                                             .range = lull_pass_range(options->division),
                                             .progress = options->progress,
                                             .progress_context = options->progress_context},
                                    .wants_ideal = ideal != NULL,
                                    .is_first = lull_team_is_first(team)};
    struct parts parts = {0};
    if (ideal)
        joint.ideal = *ideal;
    joint.ideal.application = options->application;
    joint.ideal.range = joint.pass.range;
    joint.ideal.division = options->division;
    joint.workers = lull_pass_workers(trace, &joint.pass);
    lull_status status = add_breakdown(&joint, options, &parts, err);
    if (status == LULL_OK && companion)
        status = companion->join(companion->context, &joint, err);
    joint.ideal.presumes_masters = !joint.ideal.message; /* who would see messages twice */
    if (status == LULL_OK)
        status = add_ideal(&joint, &parts, err);
    if (status == LULL_OK)
        status = lull_pass_run(trace, &joint.pass, joint.consumers, joint.n_consumers, err);
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = conclude_parts(&joint, &parts, arena, ret_breakdown, ret_ideal, err);
    lull_ideal_destroy(parts.ideal);
    lull_collector_destroy(parts.collector);
    if (status == LULL_OK)
        status = lull_division_gather_quirks(options->division, trace, err);
    return status;
}
