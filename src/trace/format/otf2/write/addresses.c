/* Communicators by the ids they have in the archive, processes by their ranks in them. */
#include "trace/format/otf2/write/writer.h"

/* Between groups ranks are those of the other group. */
static const struct lull_comm *addressed_group(const struct lull_trace *trace, uint32_t comm,
                                               uint32_t self)
{
    const struct lull_comm *group = &trace->comms[comm];
    if (group->remote == LULL_NONE || lull_comm_rank(group, self) == LULL_NONE)
        return group;
    return &trace->comms[group->remote];
}

static bool is_ascending(const struct lull_comm *comm)
{
    return comm->members && comm->size > 1 && comm->members[0] < comm->members[comm->size - 1];
}

/* Most communicators list their members in ascending order: tried first, by bisection. */
static uint32_t rank_of(const struct lull_comm *comm, uint32_t process)
{
    if (is_ascending(comm)) {
        uint32_t low = 0, high = comm->size;
        while (low + 1 < high) {
            uint32_t middle = low + (high - low) / 2;
            if (comm->members[middle] <= process)
                low = middle;
            else
                high = middle;
        }
        if (comm->members[low] == process)
            return low;
    }
    return lull_comm_rank(comm, process);
}

static bool is_world(const struct lull_trace *trace, const struct lull_comm *comm)
{
    return comm->paradigm != LULL_PARADIGM_OPENMP && comm->remote == LULL_NONE && !comm->members &&
           comm->first == 0 && comm->size == trace->n_processes;
}

/* Two groups that are each other's remote are one inter-communicator in OTF2. */
void lull_otf2_number_comms(struct lull_otf2_output *output)
{
    const struct lull_trace *trace = output->trace;
    uint32_t count = 0;
    output->comm_ids = lull_arena_zero(output->arena, trace->n_comms, sizeof *output->comm_ids);
    output->self_comms = lull_arena_zero(output->arena, trace->n_comms, sizeof(bool));
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        uint32_t remote = trace->comms[c].remote;
        bool numbered = remote != LULL_NONE && remote < c && trace->comms[remote].remote == c;
        output->comm_ids[c] = numbered ? output->comm_ids[remote] : count++;
    }
    output->world_comm = count;
    output->own_world = true;
    for (uint32_t c = trace->n_comms; c-- > 0;)
        if (is_world(trace, &trace->comms[c])) {
            output->world_comm = output->comm_ids[c];
            output->own_world = false;
        }
}

struct lull_otf2_address lull_otf2_address(struct lull_otf2_output *output, uint32_t comm,
                                           uint32_t self, int32_t process, uint32_t none_rank)
{
    const struct lull_trace *trace = output->trace;
    bool known = comm < trace->n_comms && trace->comms[comm].paradigm != LULL_PARADIGM_OPENMP;
    if (known && process < 0)
        return (struct lull_otf2_address){output->comm_ids[comm], none_rank};
    if (known) {
        const struct lull_comm *group = addressed_group(trace, comm, self);
        uint32_t rank = rank_of(group, (uint32_t)process);
        if (rank == LULL_NONE && group->size == 1 && (uint32_t)process == self) {
            output->self_comms[comm] = true; /* such as MPI_COMM_SELF */
            rank = 0;
        }
        if (rank != LULL_NONE)
            return (struct lull_otf2_address){output->comm_ids[comm], rank};
    }
    output->world_used = true;
    return (struct lull_otf2_address){output->world_comm,
                                      process < 0 ? none_rank : (uint32_t)process};
}

struct lull_otf2_address lull_otf2_root_address(struct lull_otf2_output *output, uint32_t self,
                                                const struct lull_event *event)
{
    const struct lull_trace *trace = output->trace;
    int32_t root = event->collective.root;
    uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    bool between = event->id < trace->n_comms && trace->comms[event->id].remote != LULL_NONE;
    if (between && root >= 0 && (uint32_t)root == self) {
        root = LULL_ANY;
        none = OTF2_COLLECTIVE_ROOT_SELF;
    } else if (between && root >= 0) {
        const struct lull_comm *remote = addressed_group(trace, event->id, self);
        if (rank_of(remote, (uint32_t)root) == LULL_NONE) {
            root = LULL_ANY;
            none = OTF2_COLLECTIVE_ROOT_THIS_GROUP;
        }
    }
    return lull_otf2_address(output, event->id, self, root, none);
}
