/* Cuts: what a process computes in an epoch takes no longer than the median of its peers. Streams
 * are compared with those of the same thread of other processes (peers.h). */
#include "replay/what_if/kind.h"
#include "replay/what_if/peers.h"

#include <stdlib.h>
#include <string.h>

/* One stream in one cut. Once it is concluded, the values of its units are what is left of them, as
 * a share. */
struct cut_member {
    struct lull_units units;
    uint32_t location; /* LULL_NONE: it has no bursts */
    bool meant;
    uint32_t epoch, bursts;      /* of the burst that is applied next */
    struct lull_stretched burst; /* those of its unit */
};

struct cuts {
    const struct lull_trace *trace;
    const struct lull_what_if_options *wanted;
    const struct lull_treatments *treatments;
    struct lull_team *team;
    uint32_t n_streams, n;
    struct cut_member members[]; /* [n][n_streams] */
};

/* ---- a state ------------------------------------------------------------------------------- */

static bool are_cuts_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->n_cuts > 0;
}

static void *create_cuts(const struct lull_what_if_scene *scene)
{
    const size_t n = (size_t)scene->wanted->n_cuts * scene->n_streams;
    struct cuts *cuts = calloc(1, sizeof *cuts + n * sizeof *cuts->members);
    if (!cuts)
        return NULL;
    cuts->trace = scene->trace;
    cuts->wanted = scene->wanted;
    cuts->treatments = scene->treatments;
    cuts->team = scene->part.team;
    cuts->n_streams = scene->n_streams;
    cuts->n = scene->wanted->n_cuts;
    for (size_t i = 0; i < n; i++)
        cuts->members[i].location = LULL_NONE;
    return cuts;
}

static void forget_cuts(void *state)
{
    struct cuts *cuts = state;
    for (size_t i = 0; i < (size_t)cuts->n * cuts->n_streams; i++) {
        lull_units_free(&cuts->members[i].units);
        cuts->members[i].location = LULL_NONE;
    }
}

static void destroy_cuts(void *state)
{
    forget_cuts(state);
    free(state);
}

static void rewind_members(void *state)
{
    struct cuts *cuts = state;
    for (size_t i = 0; i < (size_t)cuts->n * cuts->n_streams; i++) {
        cuts->members[i].epoch = cuts->members[i].bursts = 0;
        cuts->members[i].burst = (struct lull_stretched){0};
    }
}

static bool learn_cuts(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct cuts *cuts = state;
    const uint64_t which = cuts->treatments->treatments[burst->mark].cuts;
    for (uint32_t i = 0; i < cuts->n; i++) {
        struct cut_member *member = &cuts->members[(size_t)i * cuts->n_streams + burst->stream];
        member->location = burst->location;
        if (which >> i & 1 && !lull_units_add(&member->units, burst->phase, ns))
            return false;
    }
    return true;
}

/* ---- who is compared ----------------------------------------------------------------------- */

static bool is_meant(const struct lull_trace *trace, const struct lull_what_if_cut *cut,
                     uint32_t location)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (cut->node)
        return process->node < trace->n_nodes &&
               strcmp(trace->nodes[process->node].name, cut->node) == 0;
    return cut->rank == LULL_NONE || cut->rank == process->rank;
}

/* Which thread of its process: those of all are numbered alike. */
static uint32_t number_of(const struct cuts *cuts, const struct cut_member *member)
{
    const struct lull_location *location = &cuts->trace->locations[member->location];
    return member->location - cuts->trace->processes[location->process].first_location;
}

/* What all members of a team know of the streams of one thread number. */
struct cut_comparison {
    int64_t units; /* 1 + the shift of the longest; 0: nobody has such a stream */
    int64_t epochs;
};
static_assert(sizeof(struct cut_comparison) == 2 * sizeof(int64_t),
              "largest values are taken of both");

/* Streams of this member with one thread number. */
static uint32_t find_peers(const struct cuts *cuts, struct cut_member *members, uint32_t number,
                           struct lull_peer *peers)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        if (members[s].location != LULL_NONE && number_of(cuts, &members[s]) == number)
            peers[n++] = (struct lull_peer){&members[s].units, members[s].meant};
    return n;
}

/* Each thread number by itself. */
static lull_status compare_thread_numbers(const struct cuts *cuts, struct cut_member *members,
                                          bool all_meant, struct cut_comparison *comparisons,
                                          uint32_t count, struct lull_error *err)
{
    struct lull_peer *own = calloc(cuts->n_streams + (size_t)1, sizeof *own);
    lull_status status = own ? LULL_OK : lull_what_if_no_memory(cuts->trace, err);
    for (uint32_t s = 0; s < cuts->n_streams; s++) {
        if (members[s].location == LULL_NONE)
            continue;
        struct cut_comparison *of = &comparisons[number_of(cuts, &members[s])];
        const struct lull_units *units = &members[s].units;
        of->units = units->shift + 1 > of->units ? units->shift + 1 : of->units;
        of->epochs = (int64_t)units->n_epochs > of->epochs ? (int64_t)units->n_epochs : of->epochs;
    }
    if (status == LULL_OK)
        status = lull_team_max_to_all(cuts->team, (int64_t *)comparisons, 2 * (size_t)count, err);
    for (uint32_t number = 0; number < count && status == LULL_OK; number++) {
        const struct cut_comparison *of = &comparisons[number];
        struct lull_peers peers = {.team = cuts->team,
                                   .own = own,
                                   .n_epochs = (size_t)of->epochs,
                                   .shift = (unsigned)(of->units - 1),
                                   .all_meant = all_meant};
        if (of->units == 0)
            continue;
        peers.count = find_peers(cuts, members, number, own);
        status = lull_peers_cut(&peers, err);
    }
    free(own);
    return status;
}

static lull_status conclude_cut(struct cuts *cuts, uint32_t index, struct lull_error *err)
{
    const struct lull_what_if_cut *cut = &cuts->wanted->cuts[index];
    struct cut_member *members = &cuts->members[(size_t)index * cuts->n_streams];
    int64_t count = 0; /* of thread numbers */
    for (uint32_t s = 0; s < cuts->n_streams; s++) {
        if (members[s].location == LULL_NONE)
            continue;
        members[s].meant = is_meant(cuts->trace, cut, members[s].location);
        const int64_t number = number_of(cuts, &members[s]);
        count = number + 1 > count ? number + 1 : count;
    }
    lull_status status = lull_team_max_to_all(cuts->team, &count, 1, err);
    if (status != LULL_OK)
        return status;
    struct cut_comparison *comparisons = calloc((size_t)count + 1, sizeof *comparisons);
    status = comparisons
                 ? compare_thread_numbers(cuts, members, !cut->node && cut->rank == LULL_NONE,
                                          comparisons, (uint32_t)count, err)
                 : lull_what_if_no_memory(cuts->trace, err);
    free(comparisons);
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        if (!members[s].meant)
            lull_units_free(&members[s].units);
    return status;
}

static lull_status conclude_cuts(void *state, struct lull_error *err)
{
    struct cuts *cuts = state;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < cuts->n && status == LULL_OK; i++)
        status = conclude_cut(cuts, i, err);
    return status;
}

/* ---- a burst ------------------------------------------------------------------------------- */

static int64_t cut_burst(struct cut_member *member, uint32_t epoch, int64_t ns)
{
    const struct lull_units *units = &member->units;
    if (member->epoch != epoch) {
        member->epoch = epoch;
        member->bursts = 0;
    }
    const uint32_t burst = member->bursts++;
    if (!member->meant || epoch >= units->n_epochs || burst >= units->epochs[epoch].bursts)
        return ns;
    if ((burst & ((UINT32_C(1) << units->shift) - 1)) == 0)
        member->burst = (struct lull_stretched){0};
    const double left = units->values[units->epochs[epoch].first + (burst >> units->shift)];
    return left < 1 ? lull_stretch_on(&member->burst, ns, left, 1) : ns;
}

static int64_t apply_cuts(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct cuts *cuts = state;
    const uint64_t which = cuts->treatments->treatments[burst->mark].cuts;
    int64_t shortest = ns;
    for (uint32_t i = 0; i < cuts->n; i++) {
        if (!(which >> i & 1))
            continue;
        struct cut_member *member = &cuts->members[(size_t)i * cuts->n_streams + burst->stream];
        const int64_t length = cut_burst(member, burst->phase, ns);
        shortest = length < shortest ? length : shortest;
    }
    return shortest;
}

const struct lull_what_if_kind lull_kind_cuts = {.is_wanted = are_cuts_wanted,
                                                 .create = create_cuts,
                                                 .destroy = destroy_cuts,
                                                 .learn = learn_cuts,
                                                 .conclude = conclude_cuts,
                                                 .forget = forget_cuts,
                                                 .apply = apply_cuts,
                                                 .rewind = rewind_members};
