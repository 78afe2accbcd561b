/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of a tape. Each process of a recorded run defines a communicator by itself. The
 * members and other communicators that such a definition names may be defined later, or not at all.
 * So communicators are drafts until all definitions have been read. */
#include "base/sorted.h"
#include "trace/format/tape/read/tape_definitions.h"

#include <stdlib.h>

/* ==== worlds ================================================================================== */

/* Worlds of MPI: which process of a recorded run is which rank. A process begins before it knows
 * its rank, and has the first number that is free then; the number by which communicators name it
 * follows from its rank. The section is also about programs without MPI, which say that they are
 * rank 0, or have the rank of the process that has started them. */

void lull_tape_define_world(struct lull_tape_scope *scope, struct lull_tape_fields *fields)
{
    uint32_t first = lull_tape_field_u32(fields);
    scope->world_size = lull_tape_field_u32(fields);
    scope->member = first + lull_tape_field_u32(fields);
}

static int compare_members(const void *a, const void *b)
{
    const struct lull_tape_member *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

uint32_t lull_tape_member_number(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_scope *scope = &data->scopes[process];
    return scope->world_size > 0 ? scope->member : data->process_numbers[process];
}

lull_status lull_tape_find_members(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n += data->scopes[p].world_size > 0;
    if (n == 0)
        return LULL_OK;
    data->members = lull_arena_zero(trace->arena, n, sizeof *data->members);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (data->scopes[p].world_size > 0)
            data->members[data->n_members++] = (struct lull_tape_member){data->scopes[p].member, p};
    qsort(data->members, n, sizeof *data->members, compare_members);
    for (uint32_t i = 1; i < n; i++)
        if (data->members[i].number == data->members[i - 1].number)
            return lull_fail(err, LULL_ERR_UNSUPPORTED,
                             "%s: holds several jobs of MPI ('%s' is in it twice), which cannot be "
                             "told apart: record each by itself",
                             trace->path, trace->processes[data->members[i].process].name);
    return LULL_OK;
}

/* A process that says that it has a rank of the first application. */
struct claim {
    uint32_t rank, world_size, process;
};

static int compare_rank_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->world_size != y->world_size)
        return x->world_size > y->world_size ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

void lull_tape_divide_programs(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    struct claim *claims = lull_arena_zero(trace->arena, trace->n_processes, sizeof *claims);
    uint32_t n = 0, last = 0, others = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        last = process->application > last ? process->application : last;
        if (process->application == 0)
            claims[n++] = (struct claim){process->rank, data->scopes[p].world_size, p};
    }
    qsort(claims, n, sizeof *claims, compare_rank_claims);
    for (uint32_t i = 1; i < n; i++) {
        others = claims[i].rank == claims[i - 1].rank ? others + 1 : 0;
        if (others > 0)
            trace->processes[claims[i].process].application = last + others;
    }
}

uint32_t lull_tape_process_index(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    if (number < trace->n_processes && data->process_numbers[number] == number)
        return number; /* as nearly always */
    const uint32_t at = (uint32_t)lull_sorted_first_u32(data->process_numbers, trace->n_processes,
                                                        sizeof *data->process_numbers, 0, number);
    return at < trace->n_processes && data->process_numbers[at] == number ? at : LULL_NONE;
}

uint32_t lull_tape_member_index(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    if (data->n_members == 0)
        return lull_tape_process_index(trace, number);
    if (number < data->n_members && data->members[number].number == number)
        return data->members[number].process; /* as nearly always */
    const size_t at = lull_sorted_first_u32(data->members, data->n_members, sizeof *data->members,
                                            offsetof(struct lull_tape_member, number), number);
    return at < data->n_members && data->members[at].number == number ? data->members[at].process
                                                                      : LULL_NONE;
}

/* ==== comms =================================================================================== */

/* The members are process numbers until all definitions have been read (lull_tape_resolve_comm). */
uint32_t *lull_tape_read_members(struct lull_tape_merge *merge, uint32_t listed,
                                 struct lull_tape_fields *fields)
{
    if (fields->bad || (size_t)(fields->end - fields->at) / sizeof(uint32_t) < listed) {
        fields->bad = true;
        return NULL;
    }
    uint32_t *members = lull_arena_zero(merge->trace->arena, listed, sizeof *members);
    for (uint32_t i = 0; i < listed; i++)
        members[i] = lull_tape_field_u32(fields);
    return members;
}

uint32_t lull_tape_new_comm(struct lull_tape_merge *merge)
{
    struct lull_trace *trace = merge->trace;
    const uint32_t index = trace->n_comms;
    struct lull_comm *comm = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_COMM, comms, n_comms);
    comm->members = NULL;
    comm->name = ""; /* of a damaged definition nothing more is taken */
    merge->drafts = lull_arena_grow(trace->arena, merge->drafts, &merge->drafts_capacity,
                                    (size_t)index + 1, sizeof *merge->drafts);
    merge->drafts[index].partner = LULL_NONE;
    merge->drafts[index].known = false;
    return index;
}

/* Takes what a process says of the members. A process that does not know them changes nothing of
 * what another one has said. */
static lull_status define_members(struct lull_tape_merge *merge, uint32_t index, uint32_t first,
                                  uint32_t *members, const struct lull_tape_scope *scope,
                                  struct lull_tape_fields *fields)
{
    struct lull_comm *comm = &merge->trace->comms[index];
    struct comm_draft *draft = &merge->drafts[index];
    if ((size_t)(fields->end - fields->at) >= sizeof(uint64_t)) { /* less is padding */
        if (!draft->known)
            comm->first = first;
        return lull_tape_add_claim(merge, index, lull_tape_field_u64(fields), scope);
    }
    comm->first = first;
    if (members)
        comm->members = members;
    draft->known = true;
    return LULL_OK;
}

lull_status lull_tape_define_comm(struct lull_tape_merge *merge,
                                  const struct lull_tape_scope *scope, bool whole_run,
                                  struct lull_tape_fields *fields, uint32_t *ret_index)
{
    struct lull_trace *trace = merge->trace;
    uint64_t key = lull_tape_field_u64(fields);
    uint32_t index = trace->n_comms;
    bool fresh = true;
    lull_status status = LULL_OK;
    if (key != 0)
        status =
            lull_tape_unify(merge, LULL_TAPE_MAP_COMM, &key, sizeof key, index, &index, &fresh);
    if (status != LULL_OK)
        return status;
    if (fresh)
        index = lull_tape_new_comm(merge);
    struct lull_comm *comm = &trace->comms[index];
    struct comm_draft *draft = &merge->drafts[index];
    uint32_t paradigm = lull_tape_field_u32(fields), size = lull_tape_field_u32(fields);
    comm->paradigm = paradigm < LULL_PARADIGMS ? (uint8_t)paradigm : LULL_PARADIGM_OTHER;
    if (!fresh && comm->size != size)
        return LULL_ERR_FORMAT;
    comm->size = size;
    const uint32_t first = lull_tape_field_u32(fields);
    draft->parent = lull_tape_field_u32(fields);
    draft->remote = lull_tape_field_u32(fields);
    draft->scope = scope;
    draft->whole_run = whole_run;
    uint32_t listed = lull_tape_field_u32(fields);
    if (listed != 0 && listed != size)
        return LULL_ERR_FORMAT;
    uint32_t *members = listed != 0 ? lull_tape_read_members(merge, listed, fields) : NULL;
    const char *name = lull_tape_take_text(merge, fields);
    if (fresh || !*comm->name) /* only the root of a spawn knows what is spawned */
        comm->name = name;
    *ret_index = index;
    return define_members(merge, index, first, members, scope, fields);
}

static uint32_t mapped_comm(const struct comm_draft *draft, uint32_t id)
{
    return lull_tape_index_of(&draft->scope->maps[LULL_TAPE_MAP_COMM], id);
}

static uint32_t location_index(const struct lull_trace *trace, uint32_t process, unsigned kind,
                               uint32_t number)
{
    uint32_t at = (uint32_t)lull_sorted_first_u32(
        trace->locations, trace->n_locations, sizeof *trace->locations,
        offsetof(struct lull_location, process), process); /* its first location */
    for (; at < trace->n_locations && trace->locations[at].process == process; at++)
        if (trace->locations[at].kind == kind && trace->locations[at].number == number)
            return at;
    return LULL_NONE;
}

uint32_t lull_tape_thread_index(const struct lull_trace *trace, uint32_t process, uint32_t number)
{
    return location_index(trace, process, LULL_LOCATION_THREAD, number);
}

uint32_t lull_tape_stream_index(const struct lull_trace *trace, uint32_t process, uint32_t number)
{
    return location_index(trace, process, LULL_LOCATION_DEVICE, number);
}

/* The members of a team are locations: in the scope of the run their indices, in that of a process
 * thread numbers. */
static lull_status resolve_team(struct lull_tape_merge *merge, uint32_t c, struct lull_error *err)
{
    struct lull_trace *trace = merge->trace;
    const struct lull_tape_data *data = trace->format_data;
    struct lull_comm *comm = &trace->comms[c];
    const struct comm_draft *draft = &merge->drafts[c];
    if (draft->whole_run)
        return LULL_OK;
    uint32_t process = (uint32_t)(draft->scope - data->scopes);
    uint32_t *members = NULL;
    bool missing = comm->size > trace->n_locations;
    if (!missing)
        members = lull_arena_zero(trace->arena, comm->size, sizeof *members);
    for (uint32_t r = 0; !missing && r < comm->size; r++) {
        members[r] = lull_tape_thread_index(trace, process,
                                            comm->members ? comm->members[r] : comm->first + r);
        missing = members[r] == LULL_NONE;
    }
    if (missing)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: team '%s' has a thread without a tape",
                         trace->path, comm->name);
    comm->members = members;
    return LULL_OK;
}

/* Whether a process that is missing in the run may never have been recorded, so that no tape was
 * lost: recorders name processes by numbers before it is known whether these are recorded. */
static bool has_strangers(const struct lull_tape_data *data)
{
    return data->spawns || data->n_members > 0;
}

static bool is_outsider(const struct lull_trace *trace, uint32_t number)
{
    return number == UINT32_MAX || (has_strangers(trace->format_data) &&
                                    lull_tape_member_index(trace, number) == LULL_NONE);
}

void lull_tape_tell_outsiders(struct lull_trace *trace, const struct lull_comm *comm,
                              uint32_t known)
{
    lull_trace_add_quirk(trace, "a communicator has members that were not recorded",
                         "'%s': %u of %u", comm->name, comm->size - known, comm->size);
}

/* Whether members of a communicator were not recorded. Then only the recorded ones are kept as
 * members, and their ranks are no longer known. */
static bool has_outsiders(struct lull_tape_merge *merge, struct lull_comm *comm)
{
    struct lull_trace *trace = merge->trace;
    const struct lull_tape_data *data = trace->format_data;
    bool row = !comm->members && comm->size > 0, found = false;
    uint32_t n = 0, most = row && comm->size > trace->n_processes ? trace->n_processes : comm->size;
    if (row && (comm->first == UINT32_MAX || has_strangers(data)))
        for (uint32_t r = 0; r <= most && r < comm->size && !found; r++)
            found = is_outsider(trace, comm->first + r);
    for (uint32_t r = 0; comm->members && r < comm->size; r++)
        found |= is_outsider(trace, comm->members[r]);
    if (!found)
        return false;
    uint32_t *known = lull_arena_zero(trace->arena, (size_t)most + 1, sizeof *known);
    for (uint32_t r = 0; comm->members && r < comm->size; r++) {
        uint32_t process = lull_tape_member_index(trace, comm->members[r]);
        if (process != LULL_NONE)
            known[n++] = process;
    }
    for (uint32_t p = 0; row && comm->first != UINT32_MAX && p < trace->n_processes; p++)
        if (lull_tape_member_number(trace, p) - comm->first < comm->size)
            known[n++] = p;
    lull_tape_tell_outsiders(trace, comm, n);
    comm->members = known;
    comm->size = n;
    return true;
}

/* Whether the members, which have consecutive numbers, also have consecutive indices. */
static bool members_are_consecutive(const struct lull_trace *trace, const struct lull_comm *comm)
{
    uint32_t first = lull_tape_member_index(trace, comm->first);
    if (comm->size == 0)
        return true;
    if (first == LULL_NONE || comm->size > trace->n_processes - first)
        return false;
    for (uint32_t r = 1; r < comm->size; r++)
        if (lull_tape_member_index(trace, comm->first + r) != first + r)
            return false;
    return true;
}

/* Makes a list of the members' indices; false: a member has no tape. */
static bool list_members(const struct lull_trace *trace, struct lull_comm *comm)
{
    if (comm->size > trace->n_processes)
        return false;
    uint32_t *members = lull_arena_zero(trace->arena, comm->size, sizeof *members);
    for (uint32_t r = 0; r < comm->size; r++) {
        uint32_t number = comm->members ? comm->members[r] : comm->first + r;
        members[r] = lull_tape_member_index(trace, number);
        if (members[r] == LULL_NONE)
            return false;
    }
    comm->members = members;
    return true;
}

lull_status lull_tape_resolve_comm(struct lull_tape_merge *merge, uint32_t c,
                                   struct lull_error *err)
{
    struct lull_trace *trace = merge->trace;
    struct lull_comm *comm = &trace->comms[c];
    const struct comm_draft *draft = &merge->drafts[c];
    comm->parent = mapped_comm(draft, draft->parent);
    comm->remote = draft->partner != LULL_NONE ? draft->partner : mapped_comm(draft, draft->remote);
    if (comm->paradigm == LULL_PARADIGM_OPENMP)
        return resolve_team(merge, c, err);
    struct lull_tape_data *data = trace->format_data;
    data->outside[c] = draft->known ? has_outsiders(merge, comm) : !lull_tape_take_claims(merge, c);
    if (data->outside[c] || !draft->known)
        return LULL_OK;
    bool missing = false;
    if (comm->members || !members_are_consecutive(trace, comm))
        missing = !list_members(trace, comm);
    else if (comm->size > 0)
        comm->first = lull_tape_member_index(trace, comm->first);
    if (!missing)
        return LULL_OK;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: communicator '%s' has a member without a tape",
                     trace->path, comm->name);
}

/* ==== claims ================================================================================== */

/* Members of communicators that no process lists: each member says which rank it is. */

lull_status lull_tape_add_claim(struct lull_tape_merge *merge, uint32_t comm, uint64_t rank,
                                const struct lull_tape_scope *scope)
{
    if (rank == LULL_TAPE_NO_RANK)
        return LULL_OK;
    if (rank >= merge->trace->comms[comm].size)
        return LULL_ERR_FORMAT;
    merge->claims = lull_arena_grow(merge->trace->arena, merge->claims, &merge->claims_capacity,
                                    merge->n_claims + 1, sizeof *merge->claims);
    merge->claims[merge->n_claims++] = (struct comm_claim){comm, (uint32_t)rank, scope};
    return LULL_OK;
}

static int compare_comm_claims(const void *a, const void *b)
{
    const struct comm_claim *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

void lull_tape_sort_claims(struct lull_tape_merge *merge)
{
    if (merge->n_claims > 1)
        qsort(merge->claims, merge->n_claims, sizeof *merge->claims, compare_comm_claims);
}

static size_t first_claim(const struct lull_tape_merge *merge, uint32_t comm)
{
    return lull_sorted_first_u32(merge->claims, merge->n_claims, sizeof *merge->claims,
                                 offsetof(struct comm_claim, comm), comm);
}

static bool are_consecutive(const uint32_t *members, uint32_t n)
{
    for (uint32_t r = 1; r < n; r++)
        if (members[r] != members[0] + r)
            return false;
    return true;
}

bool lull_tape_take_claims(struct lull_tape_merge *merge, uint32_t c)
{
    struct lull_trace *trace = merge->trace;
    const struct lull_tape_data *data = trace->format_data;
    struct lull_comm *comm = &trace->comms[c];
    const size_t begin = first_claim(merge, c);
    size_t end = begin;
    while (end < merge->n_claims && merge->claims[end].comm == c)
        end++;
    uint32_t *members = lull_arena_zero(trace->arena, end - begin + 1, sizeof *members), n = 0;
    bool agree = true;
    for (size_t i = begin; i < end; i++) {
        const struct comm_claim *claim = &merge->claims[i];
        const bool again = i > begin && claim[-1].rank == claim->rank;
        agree &= !again || claim[-1].scope == claim->scope;
        if (!again)
            members[n++] = (uint32_t)(claim->scope - data->scopes);
    }
    if (!agree)
        lull_trace_add_quirk(trace,
                             "two processes say that they are the same rank of a communicator",
                             "'%s'", comm->name);
    const bool all = agree && n == comm->size;
    if (n < comm->size)
        lull_tape_tell_outsiders(trace, comm, n);
    comm->size = n;
    comm->members = members;
    if (all && n > 0 && are_consecutive(members, n)) {
        comm->members = NULL;
        comm->first = members[0];
    }
    return all;
}

/* ==== halves ================================================================================== */

/* Intercommunicators whose two groups have no key in common. The members of each group name the
 * group by a key of their own, and the leaders of both groups know one link. Where a leader was not
 * recorded, two groups that describe each other are taken to belong together. That is wrong only
 * where threads of the same processes have made several intercommunicators at once. */

/* What a member says of its own group and of the other one (far). */
struct comm_half {
    uint64_t link, own, theirs;
    uint32_t comm; /* index */
    struct lull_comm far;
    struct comm_draft draft;
};

lull_status lull_tape_define_far(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                                 uint32_t id, struct lull_tape_fields *fields)
{
    struct comm_half half = {.comm = lull_tape_index_of(&scope->maps[LULL_TAPE_MAP_COMM], id)};
    if (half.comm == LULL_NONE)
        return LULL_ERR_FORMAT;
    half.link = lull_tape_field_u64(fields);
    half.own = lull_tape_field_u64(fields);
    half.theirs = lull_tape_field_u64(fields);
    half.far = merge->trace->comms[half.comm];
    half.far.size = lull_tape_field_u32(fields);
    half.far.first = lull_tape_field_u32(fields);
    const uint32_t listed = lull_tape_field_u32(fields);
    if (listed != 0 && listed != half.far.size)
        return LULL_ERR_FORMAT;
    half.far.members = listed ? lull_tape_read_members(merge, listed, fields) : NULL;
    half.draft = merge->drafts[half.comm];
    half.draft.remote = LULL_NONE;
    half.draft.known = true;
    half.draft.scope = scope;
    merge->halves = lull_arena_grow(merge->trace->arena, merge->halves, &merge->halves_capacity,
                                    merge->n_halves + 1, sizeof *merge->halves);
    merge->halves[merge->n_halves++] = half;
    return LULL_OK;
}

static bool is_single(const struct lull_tape_merge *merge, const struct comm_half *half)
{
    return merge->drafts[half->comm].partner == LULL_NONE;
}

static void pair(struct lull_tape_merge *merge, uint32_t a, uint32_t b)
{
    merge->drafts[a].partner = b;
    merge->drafts[b].partner = a;
}

static int compare_keys(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Orders by link, and halves with the same link by communicator. */
static int compare_links(const void *a, const void *b)
{
    const struct comm_half *x = a, *y = b;
    return x->link != y->link ? compare_keys(x->link, y->link) : compare_keys(x->comm, y->comm);
}

static int compare_own(const void *a, const void *b)
{
    const struct comm_half *x = a, *y = b;
    return x->own != y->own ? compare_keys(x->own, y->own) : compare_keys(x->comm, y->comm);
}

static void pair_by_links(struct lull_tape_merge *merge)
{
    struct comm_half *halves = merge->halves;
    qsort(halves, merge->n_halves, sizeof *halves, compare_links);
    for (size_t i = 1; i < merge->n_halves; i++)
        if (halves[i].link != 0 && halves[i].link == halves[i - 1].link &&
            halves[i].comm != halves[i - 1].comm && is_single(merge, &halves[i]) &&
            is_single(merge, &halves[i - 1]))
            pair(merge, halves[i - 1].comm, halves[i].comm);
}

/* The first half whose own key this is. */
static size_t first_of(const struct lull_tape_merge *merge, uint64_t own)
{
    return lull_sorted_first_u64(merge->halves, merge->n_halves, sizeof *merge->halves,
                                 offsetof(struct comm_half, own), own);
}

static void pair_by_groups(struct lull_tape_merge *merge)
{
    struct comm_half *halves = merge->halves;
    qsort(halves, merge->n_halves, sizeof *halves, compare_own);
    for (size_t i = 0; i < merge->n_halves; i++) {
        const uint64_t theirs = halves[i].theirs;
        for (size_t j = first_of(merge, theirs);
             theirs != 0 && j < merge->n_halves && halves[j].own == theirs; j++)
            if (is_single(merge, &halves[i]) && is_single(merge, &halves[j]) &&
                halves[i].comm != halves[j].comm && halves[j].theirs == halves[i].own)
                pair(merge, halves[i].comm, halves[j].comm);
    }
}

/* Among the halves from `at` on that describe the same communicator, finds one whose member knows
 * the members of the other group. Where there is none, returns the first half. */
static const struct comm_half *best_of(const struct lull_tape_merge *merge, size_t at)
{
    const struct comm_half *half = &merge->halves[at];
    for (size_t i = at; i < merge->n_halves && merge->halves[i].comm == half->comm; i++)
        if (merge->halves[i].far.members || merge->halves[i].far.first != UINT32_MAX)
            return &merge->halves[i];
    return half;
}

void lull_tape_join_halves(struct lull_tape_merge *merge)
{
    if (merge->n_halves == 0)
        return;
    pair_by_links(merge);
    pair_by_groups(merge);
    for (size_t i = 0; i < merge->n_halves; i++) {
        const struct comm_half *half = best_of(merge, i);
        if (!is_single(merge, half))
            continue;
        const uint32_t far = lull_tape_new_comm(merge);
        merge->trace->comms[far] = half->far;
        merge->drafts[far] = half->draft;
        pair(merge, half->comm, far);
    }
}
