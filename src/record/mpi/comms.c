/* Communicators of the program: who is in them, what they are called, and what makes new ones.
 * Their keys are those of keys.h. */
#include "record/mpi/comms.h"

#include "record/keep.h"
#include "record/mpi/clocks.h"
#include "record/mpi/keys.h"
#include "record/mpi/spawned.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Members are listed by rank 0 of a communicator, and by all of small ones. */
enum { LISTED_BY_ALL = 64 };
#define UNKNOWN REC_UNKNOWN_MEMBER

struct rec_mpi_comm rec_mpi_world;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map comms; /* handle -> rec_mpi_comm */

/* The groups of whose ranks we know the process numbers: that of the own world, and of those that
 * it has spawned or that have spawned it. */
struct world {
    MPI_Group group;
    const uint32_t *numbers;
    struct world *before;
};
static struct world *worlds; /* the newest first; only added to */
static uint32_t highest_number;

/* ---- members --------------------------------------------------------------------------------- */

static bool add_world(MPI_Group group, const uint32_t *numbers)
{
    struct world *world = malloc(sizeof *world);
    if (!world)
        return false;
    *world = (struct world){group, numbers, NULL};
    pthread_mutex_lock(&lock);
    world->before = worlds;
    __atomic_store_n(&worlds, world, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return true;
}

/* Fills in the numbers that a world tells; returns how many are not known then. */
static int look_into(const struct world *world, MPI_Group group, int size, const int *ranks,
                     int *found, uint32_t *numbers)
{
    int unknown = 0;
    bool good =
        rec_mpi.Group_translate_ranks(group, size, ranks, world->group, found) == MPI_SUCCESS;
    for (int r = 0; r < size; r++) {
        if (good && numbers[r] == UNKNOWN && found[r] >= 0)
            numbers[r] = world->numbers[found[r]];
        unknown += numbers[r] == UNKNOWN;
    }
    return unknown;
}

/* Process numbers of a group, in memory that is kept; NULL when there is none. */
static uint32_t *numbers_of(MPI_Group group, int size)
{
    int *ranks = malloc(sizeof *ranks * 2 * (size_t)(size > 0 ? size : 1));
    uint32_t *numbers = ranks ? rec_keep(sizeof *numbers * (size_t)(size > 0 ? size : 1)) : NULL;
    if (!numbers) {
        free(ranks);
        return NULL;
    }
    for (int r = 0; r < size; r++) {
        ranks[r] = r;
        numbers[r] = UNKNOWN;
    }
    int unknown = size;
    for (const struct world *world = __atomic_load_n(&worlds, __ATOMIC_ACQUIRE);
         world && unknown > 0; world = world->before)
        unknown = look_into(world, group, size, ranks, ranks + size, numbers);
    free(ranks);
    return numbers;
}

static const uint32_t *local_members(MPI_Comm comm, int size)
{
    MPI_Group group;
    if (rec_mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return NULL;
    uint32_t *numbers = numbers_of(group, size);
    rec_mpi.Group_free(&group);
    return numbers;
}

static const uint32_t *remote_members(MPI_Comm comm, int size)
{
    MPI_Group group;
    if (rec_mpi.Comm_remote_group(comm, &group) != MPI_SUCCESS)
        return NULL;
    uint32_t *numbers = numbers_of(group, size);
    rec_mpi.Group_free(&group);
    return numbers;
}

static bool follow_each_other(const uint32_t *members, int size)
{
    for (int r = 1; r < size; r++)
        if (members[r] != members[0] + (uint32_t)r)
            return false;
    return true;
}

static void count_neighbours(MPI_Comm comm, struct rec_mpi_comm *info)
{
    int kind, n, weighted;
    if (info->inter || rec_mpi.Topo_test(comm, &kind) != MPI_SUCCESS)
        return;
    if (kind == MPI_CART && rec_mpi.Cartdim_get(comm, &n) == MPI_SUCCESS)
        info->sources = info->targets = 2 * n;
    else if (kind == MPI_GRAPH &&
             rec_mpi.Graph_neighbors_count(comm, info->rank, &n) == MPI_SUCCESS)
        info->sources = info->targets = n;
    else if (kind == MPI_DIST_GRAPH)
        rec_mpi.Dist_graph_neighbors_count(comm, &info->sources, &info->targets, &weighted);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static struct rec_comm definition_of(const struct rec_mpi_comm *info, const char *name)
{
    bool row = info->members[0] != UNKNOWN && follow_each_other(info->members, info->size);
    bool listed = !row && (info->rank == 0 || info->size <= LISTED_BY_ALL);
    return (struct rec_comm){.key = info->key,
                             .paradigm = LULL_TAPE_PARADIGM_MPI,
                             .size = (uint32_t)info->size,
                             .first = info->members[0],
                             .parent = UINT32_MAX,
                             .remote = UINT32_MAX,
                             .members = listed ? info->members : NULL,
                             .name = name};
}

/* Each group of an intercommunicator is a communicator of its own. */
static void define_groups(struct rec_mpi_comm *info, struct rec_comm *local, const char *name)
{
    struct rec_mpi_comm there = {.key = rec_key_of_group(info->key, info->remote),
                                 .size = info->peers,
                                 .rank = 0,
                                 .members = info->remote};
    struct rec_comm remote = definition_of(&there, name);
    const uint64_t own = rec_key_of_group(info->key, info->members);
    local->key = info->half != 0 ? info->half : own;
    info->id = info->half != 0 ? rec_define_half(local, info->link, own, &remote)
                               : rec_define_intercomm(local, &remote);
}

static void define(struct rec_mpi_comm *info, const struct rec_mpi_comm *parent, const char *name)
{
    struct rec_comm local = definition_of(info, name);
    if (parent)
        local.parent = parent->id;
    if (info->inter)
        define_groups(info, &local, name);
    else
        info->id = rec_define_comm(&local);
}

uint64_t rec_mpi_spawn_key(const struct rec_mpi_comm *comm)
{
    pthread_mutex_lock(&lock);
    uint64_t key = rec_key_next(comm->key, REC_KEY_SPAWN);
    pthread_mutex_unlock(&lock);
    return key;
}

uint32_t rec_mpi_persistent_comm(const struct rec_mpi_comm *comm)
{
    struct rec_mpi_comm own = *comm;
    if (!own.members)
        return comm->id;
    pthread_mutex_lock(&lock);
    own.key = rec_key_next(comm->key, REC_KEY_PERSISTENT);
    own.half = rec_key_next(comm->half, REC_KEY_PERSISTENT);
    own.link = rec_key_next(comm->link, REC_KEY_PERSISTENT);
    define(&own, comm, "");
    pthread_mutex_unlock(&lock);
    return own.id != 0 ? own.id : comm->id;
}

static void set_name(MPI_Comm comm, char *name)
{
    int length = 0;
    name[0] = '\0';
    if (rec_mpi.Comm_get_name(comm, name, &length) != MPI_SUCCESS)
        name[0] = '\0';
}

/* Fills what the library tells about a communicator. */
static bool look_at(MPI_Comm comm, struct rec_mpi_comm *info)
{
    int inter = 0;
    if (rec_mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        rec_mpi.Comm_size(comm, &info->size) != MPI_SUCCESS ||
        rec_mpi.Comm_rank(comm, &info->rank) != MPI_SUCCESS || info->size < 1)
        return false;
    info->inter = inter;
    info->peers = info->size;
    info->members = local_members(comm, info->size);
    if (inter) {
        if (rec_mpi.Comm_remote_size(comm, &info->peers) != MPI_SUCCESS || info->peers < 1)
            return false;
        info->remote = remote_members(comm, info->peers);
    }
    count_neighbours(comm, info);
    return info->members && (!inter || info->remote);
}

/* `shared`: all members are here, in the call that makes it. Half and link are what they follow
 * from.
 */
static const struct rec_mpi_comm *add(MPI_Comm comm, struct rec_mpi_comm *info,
                                      const struct rec_mpi_comm *parent, int tag, bool shared,
                                      const char *name)
{
    pthread_mutex_lock(&lock);
    info->key = shared ? rec_key_make(info, parent, tag) : 0;
    info->half = rec_key_next(info->half, REC_KEY_NEW);
    info->link = rec_key_next(info->link, REC_KEY_NEW);
    define(info, parent, name);
    if (info->id != 0)
        rec_map_put(&comms, (uintptr_t)comm, (uintptr_t)info);
    pthread_mutex_unlock(&lock);
    return info->id != 0 ? info : &rec_mpi_world;
}

/* MPI's tags are not negative. */
const struct rec_mpi_comm *rec_mpi_add_members(const uint32_t *members, int size, int rank)
{
    enum { TAG = -0x73686d };
    struct rec_mpi_comm *info = rec_keep(sizeof *info);
    if (!info)
        return &rec_mpi_world;
    *info = (struct rec_mpi_comm){.size = size, .rank = rank, .peers = size, .members = members};
    pthread_mutex_lock(&lock);
    info->key = rec_key_make(info, &rec_mpi_world, TAG);
    define(info, &rec_mpi_world, "active set");
    pthread_mutex_unlock(&lock);
    return info->id != 0 ? info : &rec_mpi_world;
}

static const struct rec_mpi_comm *add_half(MPI_Comm comm, const struct rec_mpi_comm *parent,
                                           int tag, bool shared, uint64_t half, uint64_t link)
{
    char name[MPI_MAX_OBJECT_NAME];
    struct rec_mpi_comm *info = rec_keep(sizeof *info);
    if (!info || !look_at(comm, info))
        return &rec_mpi_world;
    set_name(comm, name);
    info->half = half;
    info->link = link;
    return add(comm, info, parent, tag, shared, name);
}

static const struct rec_mpi_comm *add_new(MPI_Comm comm, const struct rec_mpi_comm *parent, int tag,
                                          bool shared)
{
    return add_half(comm, parent, tag, shared, 0, 0);
}

const struct rec_mpi_comm *rec_mpi_look_at_window(MPI_Win window)
{
    MPI_Group group;
    struct rec_mpi_comm *info = rec_keep(sizeof *info);
    if (!info || rec_mpi.Win_get_group(window, &group) != MPI_SUCCESS)
        return &rec_mpi_world;
    if (rec_mpi.Group_size(group, &info->size) == MPI_SUCCESS)
        info->members = numbers_of(group, info->size);
    rec_mpi.Group_free(&group);
    return info;
}

const struct rec_mpi_comm *rec_mpi_find_comm(MPI_Comm comm)
{
    const struct rec_mpi_comm *info =
        (const struct rec_mpi_comm *)rec_map_get(&comms, (uintptr_t)comm);
    if (REC_LIKELY(info != NULL))
        return info;
    return comm == MPI_COMM_NULL ? &rec_mpi_world : add_new(comm, NULL, 0, false);
}

/* ---- the world ------------------------------------------------------------------------------- */

/* All say which rank they are, and call each other by the same numbers, though some may have been
 * given another number when they began: readers know both. So nobody has to be asked. */
static bool begin_numbers(MPI_Group world, int size, int rank)
{
    uint32_t first = size > 1 ? rec_process.first : rec_process.number;
    uint32_t *numbers = malloc(sizeof *numbers * (size_t)size);
    if (!numbers)
        return false;
    for (int r = 0; r < size; r++)
        numbers[r] = first + (uint32_t)r;
    highest_number = numbers[size - 1];
    if (highest_number < rec_process.number)
        highest_number = rec_process.number;
    rec_set_rank((uint32_t)rank);
    rec_define_world(first, (uint32_t)size, (uint32_t)rank);
    if (add_world(world, numbers))
        return true;
    free(numbers);
    return false;
}

static bool add_remote(MPI_Comm inter, const uint32_t *numbers, uint32_t count)
{
    MPI_Group group;
    int size;
    return rec_mpi.Comm_remote_size(inter, &size) == MPI_SUCCESS && size > 0 &&
           (uint32_t)size <= count && rec_mpi.Comm_remote_group(inter, &group) == MPI_SUCCESS &&
           add_world(group, numbers);
}

void rec_mpi_add_spawned(MPI_Comm inter, uint32_t first, uint32_t count)
{
    uint32_t *numbers = malloc(sizeof *numbers * ((size_t)count + 1));
    for (uint32_t r = 0; numbers && r < count; r++)
        numbers[r] = first + r;
    if (numbers && !add_remote(inter, numbers, count))
        free(numbers);
}

/* In a world that was spawned: its parents know it from the beginning, and so it must know them. */
static void meet_parents(void)
{
    MPI_Comm parents = MPI_COMM_NULL;
    struct rec_spawned own;
    if (rec_process.application == 0 || rec_mpi.Comm_get_parent(&parents) != MPI_SUCCESS ||
        parents == MPI_COMM_NULL || !rec_spawned_read(rec_process.application, &own))
        return;
    if (add_remote(parents, own.parents, own.n_parents))
        add_new(parents, NULL, 0, true);
    else
        free(own.parents);
}

uint32_t rec_mpi_highest_number(void)
{
    return highest_number;
}

void rec_mpi_end_world(void)
{
    rec_mpi_clocks_end();
}

bool rec_mpi_begin_world(MPI_Comm world)
{
    struct rec_mpi_comm *info = &rec_mpi_world;
    MPI_Group group;
    int size, rank;
    if (rec_mpi.Comm_size(world, &size) != MPI_SUCCESS ||
        rec_mpi.Comm_rank(world, &rank) != MPI_SUCCESS)
        return false;
    if (rec_mpi.Comm_group(world, &group) != MPI_SUCCESS || !begin_numbers(group, size, rank))
        return false;
    rec_mpi_clocks_begin(world, size, rank);
    if (!look_at(world, info) || !add(world, info, NULL, 0, true, "MPI_COMM_WORLD")->id)
        return false;
    static struct rec_mpi_comm self;
    if (look_at(MPI_COMM_SELF, &self))
        add(MPI_COMM_SELF, &self, NULL, 0, false, "MPI_COMM_SELF");
    meet_parents();
    return true;
}

#if defined(MPI_SESSION_NULL)
void rec_mpi_find_processes(MPI_Session session)
{
    MPI_Group group;
    int size = 0, rank = MPI_UNDEFINED;
    if (!__atomic_load_n(&worlds, __ATOMIC_ACQUIRE) &&
        rec_mpi.Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS &&
        rec_mpi.Group_size(group, &size) == MPI_SUCCESS && size > 0 &&
        rec_mpi.Group_rank(group, &rank) == MPI_SUCCESS && rank >= 0)
        begin_numbers(group, size, rank);
}
#endif

/* ---- calls ----------------------------------------------------------------------------------- */

static void end_collective(struct rec_mpi_call *call, const struct rec_mpi_comm *parent)
{
    if (rec_mpi_is_paused(call))
        return;
    if (parent)
        rec_mpi_collective(call, rec_now(), parent, REC_NO_ROOT, 0, 0);
    else
        rec_mpi_call(call);
}

void rec_mpi_new_comm(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh)
{
    const struct rec_mpi_comm *info = parent == MPI_COMM_NULL ? NULL : rec_mpi_comm_of(parent);
    if (fresh != MPI_COMM_NULL)
        add_new(fresh, info, tag, true);
    end_collective(call, info);
}

void rec_mpi_new_intercomm(struct rec_mpi_call *call, MPI_Comm local, int leader, MPI_Comm peer,
                           int far_leader, int tag, MPI_Comm fresh)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(local);
    uint64_t link = 0;
    if (info->rank == leader)
        link = rec_key_of_links(rec_mpi_comm_of(peer), far_leader, tag);
    add_half(fresh, info, tag, true, rec_key_of_halves(info, tag), link);
    end_collective(call, info);
}

/* Collective over the members of the new one alone. */
void rec_mpi_group_comm(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh)
{
    const struct rec_mpi_comm *info = NULL;
    if (fresh != MPI_COMM_NULL)
        info = add_new(fresh, parent == MPI_COMM_NULL ? NULL : rec_mpi_comm_of(parent), tag, true);
    end_collective(call, info);
}

/* The same members; a non-blocking duplicate may not be asked about itself yet. */
static void add_copy(MPI_Comm fresh, const struct rec_mpi_comm *info)
{
    struct rec_mpi_comm *copy = rec_keep(sizeof *copy);
    if (!copy)
        return;
    *copy = *info;
    add(fresh, copy, info, 0, true, "");
}

void rec_mpi_dup_comm(struct rec_mpi_call *call, MPI_Comm parent, MPI_Comm fresh)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(parent);
    add_copy(fresh, info);
    end_collective(call, info);
}

void rec_mpi_idup_comm(struct rec_mpi_call *call, MPI_Comm parent, MPI_Comm fresh,
                       const MPI_Request *request)
{
    uint64_t end = rec_now();
    const struct rec_mpi_comm *info = rec_mpi_comm_of(parent);
    add_copy(fresh, info);
    if (!rec_mpi_is_paused(call))
        rec_mpi_icollective(call, end, info, REC_NO_ROOT, 0, 0, request);
}

const struct rec_mpi_comm *rec_mpi_comm_to_free(const MPI_Comm *comm)
{
    if (!comm || *comm == MPI_COMM_WORLD)
        return comm ? &rec_mpi_world : NULL;
    return (const struct rec_mpi_comm *)rec_map_get(&comms, (uintptr_t)*comm);
}

void rec_mpi_free_comm(struct rec_mpi_call *call, const struct rec_mpi_comm *comm)
{
    end_collective(call, comm);
}
