/* Communicators of a tape. The processes of a recorded run define the same one apart from each
 * other, and what they name in it may be defined later or not be there at all: so they are drafts
 * until all definitions have been read. */
#include "trace/format/tape/read/merge.h"

/* Members are process numbers until merge_end knows that all is there. */
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
    TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_COMM, comms, n_comms)->members = NULL;
    merge->drafts = lull_arena_grow(trace->arena, merge->drafts, &merge->drafts_capacity,
                                    (size_t)index + 1, sizeof *merge->drafts);
    merge->drafts[index].partner = LULL_NONE;
    merge->drafts[index].known = false;
    return index;
}

/* What a process says of the members; who does not know them takes nothing back. */
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
    comm->name = lull_tape_take_text(merge, fields);
    *ret_index = index;
    return define_members(merge, index, first, members, scope, fields);
}

static uint32_t mapped_comm(const struct comm_draft *draft, uint32_t id)
{
    return lull_tape_index_of(&draft->scope->maps[LULL_TAPE_MAP_COMM], id);
}

uint32_t lull_tape_thread_index(const struct lull_trace *trace, uint32_t process, uint32_t number)
{
    uint32_t low = 0, high = trace->n_locations; /* its first location */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->locations[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < trace->n_locations && trace->locations[low].process == process; low++)
        if (trace->locations[low].number == number)
            return low;
    return LULL_NONE;
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

/* Whether a process that is not in the run may have been left out of it, and has not lost its tape:
 * recorders call processes by numbers before it shows whether these are recorded. */
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

/* Of the members only those are kept that were recorded; which rank the others have is not known.
 */
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

/* Whether the members are processes in a row, as their numbers are. */
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

/* False: one of them has no tape. */
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
