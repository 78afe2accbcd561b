/* SPDX-License-Identifier: BSD-3-Clause */
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

enum { MOST_UNDERWAY = 64, TELL_EVERY = 16 }; /* parcels of 64 KiB */

struct passing {
    struct lull_relay relay;
    const struct lull_division *division;
    uint32_t *underway;           /* on the first: [members] parcels on their way to each */
    uint32_t untold;              /* on others: parcels taken since the last telling */
    struct lull_team_parcel last; /* the latest one taken, whose bytes are in use */
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

/* Makes the scans of a trace relays (trace/scan.h), in which each member gets the events of its
 * processes. What the relays need lives in `arena`. */
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

/* What of a run must be the same on all members. */
struct sight {
    int64_t duration;
    uint64_t names; /* a hash of the names of all regions */
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

/* Members that open a run together exchange values step by step. A member that is at another step
 * than the first sees a different run. */
struct opening {
    struct lull_team *team;
    const char *path;
    uint64_t steps; /* exchanges so far */
    bool parted;    /* an exchange has failed on all of them, and there are no more */
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

/* Tells the first member which locations each of the others has left out. Fails, on the first, if
 * no location of the run is left. */
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

/* ==== analyses ================================================================================ */

void lull_joint_pass_add(struct lull_joint_pass *joint, struct lull_consumer consumer)
{
    joint->consumers = lull_arena_grow(joint->arena, joint->consumers, &joint->capacity,
                                       joint->n_consumers + 1, sizeof *joint->consumers);
    joint->consumers[joint->n_consumers++] = consumer;
}

static void hand_out_message(void *context, unsigned worker,
                             const struct lull_ideal_message *message)
{
    const struct lull_joint_pass *joint = context;
    for (uint32_t i = 0; i < joint->n_takers; i++)
        joint->takers[i].message(joint->takers[i].context, worker, message);
}

void lull_joint_pass_add_messages(struct lull_joint_pass *joint, struct lull_message_taker taker)
{
    joint->takers = lull_arena_grow(joint->arena, joint->takers, &joint->takers_capacity,
                                    joint->n_takers + (size_t)1, sizeof *joint->takers);
    joint->takers[joint->n_takers++] = taker;
    joint->ideal.message = hand_out_message;
    joint->ideal.message_context = joint;
}

void *lull_asked_find(const struct lull_asked *asked, uint32_t n,
                      const struct lull_analysis *analysis)
{
    for (uint32_t i = 0; i < n; i++)
        if (asked[i].analysis == analysis)
            return asked[i].state;
    return NULL;
}

void lull_asked_release(struct lull_asked *asked, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        if (asked[i].state && asked[i].analysis->release)
            asked[i].analysis->release(asked[i].state);
        asked[i].state = NULL;
    }
}

/* ---- the breakdown --------------------------------------------------------------------------- */

static lull_status breakdown_create(void *state, const void *options, struct lull_joint_pass *joint,
                                    struct lull_error *err)
{
    struct lull_breakdown_state *breakdown = state;
    breakdown->options = *(const struct lull_breakdown_options *)options;
    breakdown->options.reading = joint->reading;
    lull_status status = lull_collector_create(joint->trace, &breakdown->options, joint->workers,
                                               &breakdown->collector, err);
    if (status != LULL_OK)
        return status;
    lull_collector_prepare(breakdown->collector, &joint->pass);
    lull_joint_pass_add(joint, lull_collector_consumer(breakdown->collector));
    return LULL_OK;
}

static void breakdown_release(void *state)
{
    struct lull_breakdown_state *breakdown = state;
    lull_collector_destroy(breakdown->collector);
    breakdown->collector = NULL;
}

static lull_status breakdown_gather(void *state, const struct lull_joint_pass *joint,
                                    struct lull_error *err)
{
    const struct lull_breakdown_state *breakdown = state;
    (void)joint;
    return lull_collector_gather(breakdown->collector, err);
}

static lull_status breakdown_conclude(void *state, const struct lull_joint_pass *joint,
                                      struct lull_error *err)
{
    struct lull_breakdown_state *breakdown = state;
    lull_status status = joint->is_first ? lull_collector_result(breakdown->collector, joint->arena,
                                                                 &breakdown->breakdown, err)
                                         : LULL_OK;
    breakdown_release(breakdown);
    return status;
}

const struct lull_analysis lull_breakdown_analysis = {.size = sizeof(struct lull_breakdown_state),
                                                      .create = breakdown_create,
                                                      .gather = breakdown_gather,
                                                      .conclude = breakdown_conclude,
                                                      .release = breakdown_release};

/* ---- the ideal runtime ----------------------------------------------------------------------- */

struct lull_ideal_options lull_ideal_options_of(const struct lull_reading *reading)
{
    const struct lull_windows *windows = reading->windows;
    struct lull_ideal_options ideal = {.has_span = windows != NULL};
    if (windows && windows->counts[0] > 0) {
        ideal.from = windows->intervals[0][0].begin;
        ideal.to = windows->intervals[0][0].end;
    }
    return ideal;
}

static void ideal_announce(const void *options, struct lull_joint_pass *joint)
{
    joint->has_messages = true;
    joint->ideal = *(const struct lull_ideal_options *)options;
    joint->ideal.reading = joint->reading;
}

/* Takes the options from the joint pass, where other analyses may have set who gets the messages. */
static lull_status ideal_join(void *state, struct lull_joint_pass *joint, struct lull_error *err)
{
    struct lull_ideal_state *ideal = state;
    struct lull_consumer consumer;
    ideal->options = joint->ideal;
    /* If the presumption is wrong, the run is read again, and takers get each message twice. In a
     * team some members may have given away then what they had been told. */
    ideal->options.presumes_masters = !joint->ideal.message || !joint->reading->division;
    for (uint32_t i = 0; i < joint->n_takers; i++)
        ideal->options.presumes_masters &= joint->takers[i].again != NULL;
    lull_status status =
        lull_ideal_create(joint->trace, &ideal->options, joint->workers, &ideal->ideal, err);
    if (status != LULL_OK)
        return status;
    lull_ideal_consumer(ideal->ideal, &consumer);
    lull_joint_pass_add(joint, consumer);
    return LULL_OK;
}

static void ideal_release(void *state)
{
    struct lull_ideal_state *ideal = state;
    lull_ideal_destroy(ideal->ideal);
    ideal->ideal = NULL;
}

/* Reads the run once more if a presumption (presumes_masters) turned out to be wrong. */
static lull_status ideal_conclude(void *state, const struct lull_joint_pass *joint,
                                  struct lull_error *err)
{
    struct lull_ideal_state *ideal = state;
    struct lull_ideal_options options = ideal->options;
    bool again;
    lull_status status = lull_ideal_look_back(ideal->ideal, &options, &again, err);
    ideal->result = lull_arena_zero(joint->arena, 1, sizeof *ideal->result);
    if (status == LULL_OK && !again)
        status = lull_ideal_conclude(ideal->ideal, joint->arena, ideal->result, err);
    for (uint32_t i = 0; status == LULL_OK && again && i < joint->n_takers; i++)
        if (joint->takers[i].again)
            joint->takers[i].again(joint->takers[i].context);
    if (status == LULL_OK && again)
        status = lull_ideal_runtime(joint->trace, &options, joint->arena, ideal->result, err);
    ideal_release(ideal);
    return status;
}

const struct lull_analysis lull_ideal_analysis = {.size = sizeof(struct lull_ideal_state),
                                                  .announce = ideal_announce,
                                                  .join = ideal_join,
                                                  .conclude = ideal_conclude,
                                                  .release = ideal_release};

/* ---- the reading ----------------------------------------------------------------------------- */

lull_status lull_joint_pass_run(const struct lull_trace *trace, const struct lull_reading *reading,
                                struct lull_asked *asked, uint32_t n, struct lull_arena *arena,
                                struct lull_error *err)
{
    struct lull_team *team = lull_division_team(reading->division);
    struct lull_joint_pass joint = {.trace = trace,
                                    .reading = reading,
                                    .pass = {.reading = reading},
                                    .is_first = lull_team_is_first(team),
                                    .arena = arena};
    lull_status status = LULL_OK;
    joint.workers = lull_pass_workers(trace, &joint.pass);
    for (uint32_t i = 0; i < n; i++) {
        asked[i].state = lull_arena_zero(arena, 1, asked[i].analysis->size);
        if (asked[i].analysis->announce)
            asked[i].analysis->announce(asked[i].options, &joint);
    }
    for (uint32_t i = 0; i < n && status == LULL_OK; i++)
        if (asked[i].analysis->create)
            status = asked[i].analysis->create(asked[i].state, asked[i].options, &joint, err);
    for (uint32_t i = 0; i < n && status == LULL_OK; i++)
        if (asked[i].analysis->join)
            status = asked[i].analysis->join(asked[i].state, &joint, err);
    if (status == LULL_OK)
        status = lull_pass_run(trace, &joint.pass, joint.consumers, joint.n_consumers, err);
    status = lull_team_agree(team, status, err);
    for (uint32_t i = 0; i < n && status == LULL_OK; i++)
        if (asked[i].analysis->gather)
            status = asked[i].analysis->gather(asked[i].state, &joint, err);
    for (uint32_t i = 0; i < n && status == LULL_OK; i++)
        if (asked[i].analysis->conclude)
            status = asked[i].analysis->conclude(asked[i].state, &joint, err);
    if (status == LULL_OK)
        status = lull_division_gather_quirks(reading->division, trace, err);
    return status;
}
