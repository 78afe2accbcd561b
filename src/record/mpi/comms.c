/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of the program: who is in them, what they are called, and the calls that make new
 * ones. Their keys, and the process numbers of their members, have sections of their own. */
#include "record/mpi/comms.h"

#include "base/mix.h"
#include "record/core.h"
#include "record/keep.h"
#include "record/life_cycle.h"
#include "record/mpi/nodes.h"
#include "record/mpi/spawned.h"
#include "record/mpi/wrap.h"
#include "record/store/definitions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A member whose process number is not known. */
#define UNKNOWN_MEMBER UINT32_MAX

/* ==== keys ==================================================================================== */

/* A key is a number that all members of a communicator compute alike, without a message, and that
 * differs from the keys of all other communicators.
 *
 * The members of a communicator make other things of it (communicators, windows, spawns) in the
 * same order, as MPI demands. So the key of a new communicator is a hash of three numbers: the key
 * of its parent, how many calls have made something of the parent before, and its own first member.
 * The first member tells the communicator from others that the same call makes (MPI_Comm_split),
 * and nobody has to know all members. A member of the parent that gets no new communicator from a
 * call counts the call as well.
 *
 * Only the members of the new communicator call MPI_Comm_create_group and its like, and the two
 * sides of an intercommunicator have different parents. There the key is a hash of all members, the
 * parent and the tag, and of how many of the same were made before.
 *
 * Even that is not enough for MPI_Intercomm_create, where several threads may call it at once with
 * the same tag and the same members: only the communicators of their own sides differ. There each
 * side has a key that follows from its own communicator (the half), and the two leaders have one
 * more key (the link), which follows from the communicator in which they talk.
 *
 * Functions that count are called with comms_lock held. */

/* What the members of a communicator make of it in the same order. */
enum key_use {
    KEY_SPAWN = 0x737061,
    KEY_PERSISTENT = 0x6b6570,
    KEY_NEW = 0x6e6577,   /* an intercommunicator */
    KEY_MAKING = 0x6d616b /* a call of all members that makes communicators */
};

static struct rec_map counts; /* hash of what is made -> how many were made so far */

static uint64_t mix_members(uint64_t hash, const struct rec_mpi_group *group, int size)
{
    hash = lull_mix(hash, (uint64_t)size);
    for (int r = 0; r < size; r++)
        hash = lull_mix(hash, rec_mpi_number_of(group, r));
    return hash;
}

/* Counts one more of what has the hash `base`; returns a key for it. */
static uint64_t count(uint64_t base)
{
    uintptr_t number = rec_map_get(&counts, (uintptr_t)(base | 1)) + 1;
    rec_map_put(&counts, (uintptr_t)(base | 1), number);
    return lull_mix(base, number) | 1;
}

static bool all_known(const struct rec_mpi_group *group, int size)
{
    for (int r = 0; r < size; r++)
        if (rec_mpi_number_of(group, r) == UNKNOWN_MEMBER)
            return false;
    return true;
}

/* Key of the world whose rank 0 has that process number. */
static uint64_t key_of_world(uint32_t first, int size)
{
    return lull_mix(lull_mix(0x776f726c64, first), (uint64_t)size) | 1;
}

/* Key of what was made by a call of all members of another communicator; `making`: key_next of that
 * communicator. 0 where `making` is 0. */
static uint64_t key_of_child(uint64_t making, uint32_t first)
{
    return making && first != UNKNOWN_MEMBER ? lull_mix(making, first) | 1 : 0;
}

/* Key of a communicator by all its members, counted; `parent`: the parent's key, or 0. Returns 0
 * where a member is not known: such a communicator has no key. */
static uint64_t key_of_members(const struct rec_mpi_comm *info, uint64_t parent, int tag)
{
    if (!all_known(&info->local, info->size) ||
        (info->inter && !all_known(&info->remote, info->peers)))
        return 0;
    uint64_t base = lull_mix(0x6c756c6c, (uint64_t)(int64_t)tag);
    if (info->inter) { /* the two sides come from different parents, and see each other swapped */
        bool first = info->local.first < info->remote.first;
        base = mix_members(base, first ? &info->local : &info->remote,
                           first ? info->size : info->peers);
        base = mix_members(base, first ? &info->remote : &info->local,
                           first ? info->peers : info->size);
    } else {
        base = mix_members(lull_mix(base, parent), &info->local, info->size);
    }
    return count(base);
}

/* Key of a group of the intercommunicator with that key; 0 where the key is 0. */
static uint64_t key_of_group(uint64_t key, uint32_t first)
{
    return key ? lull_mix(key, first) | 1 : 0;
}

/* Key of the next thing of its kind that is made of the communicator with this key, counted; 0
 * where the key is 0. */
static uint64_t key_next(uint64_t key, enum key_use use)
{
    return key ? count(lull_mix(key, (uint64_t)use)) : 0;
}

/* Key that all intercommunicators share which `local` makes with that tag. Where `local` has no
 * key, as MPI_COMM_SELF, its members are hashed instead; 0: they are not known. */
static uint64_t key_of_halves(const struct rec_mpi_comm *local, int tag)
{
    uint64_t base = lull_mix(0x68616c66, local->key);
    if (local->key == 0 && (local->size < 1 || !all_known(&local->local, local->size)))
        return 0;
    if (local->key == 0)
        base = mix_members(base, &local->local, local->size);
    return lull_mix(base, (uint64_t)(int64_t)tag) | 1;
}

/* At a leader: the key that all intercommunicators share which this leader makes with the leader
 * `rank` of `peer`; 0: there is none. */
static uint64_t key_of_links(const struct rec_mpi_comm *peer, int rank, int tag)
{
    if (peer->key == 0 || peer->inter || rank < 0 || rank >= peer->size)
        return 0;
    const uint64_t own = (uint64_t)peer->rank, other = (uint64_t)rank;
    uint64_t base = lull_mix(lull_mix(peer->key, 0x6c696e6b), (uint64_t)(int64_t)tag);
    base = lull_mix(base, own < other ? own : other);
    return lull_mix(base, own < other ? other : own) | 1;
}

int rec_mpi_tag_of_name(const char *name)
{
    uint64_t hash = 0;
    for (; *name; name++)
        hash = lull_mix(hash, (unsigned char)*name);
    return (int)(hash >> 33);
}

/* ==== numbers of members ====================================================================== */

/* Which processes are in a group: MPI translates the ranks of the group into ranks of the worlds
 * whose process numbers are known.
 *
 * A library may compare each member with all processes of a world, one by one (Open MPI does), and
 * numbers take memory. So of a communicator that was made of another one only the first member is
 * looked up. All are looked up where the key is a hash of them, where a small communicator's rank 0
 * lists them, and where messages are held back (record/mpi/disturb.h). */

#define MOST_LOOKS (UINT64_C(1) << 20)

/* A group of which the process number of each rank is known: that of this process's own world, or
 * of a world that this one has spawned or that has spawned this one. */
struct known_world {
    MPI_Group group;
    struct rec_mpi_group numbers;
    struct known_world *before;
};

static pthread_mutex_t members_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_world *worlds; /* the newest first; only added to */
static uint64_t n_known;           /* processes in them; atomic */
static uint64_t most_looks = MOST_LOOKS;
static uint32_t own_number = UNKNOWN_MEMBER;

/* The `size` processes of `group` have these numbers; the array is kept, not copied. */
static bool members_add(MPI_Group group, int size, const struct rec_mpi_group *numbers)
{
    struct known_world *world = malloc(sizeof *world);
    if (!world)
        return false;
    *world = (struct known_world){group, *numbers, NULL};
    pthread_mutex_lock(&members_lock);
    world->before = worlds;
    __atomic_store_n(&worlds, world, __ATOMIC_RELEASE);
    __atomic_store_n(&n_known, n_known + (uint64_t)size, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&members_lock);
    return true;
}

#if defined(MPI_SESSION_NULL)
/* Whether any world is known. */
static bool members_known(void)
{
    return __atomic_load_n(&worlds, __ATOMIC_ACQUIRE) != NULL;
}
#endif

/* The number of this process among its world's. */
static void members_set_own(uint32_t number)
{
    uint64_t looks;
    if (rec_setting_number("LULL_RECORD_LOOKS", &looks))
        most_looks = looks;
    own_number = number;
}

static uint32_t members_own(void)
{
    return own_number;
}

/* Whether a group of that size is cheap to look up, keep and list. It is if that takes at most
 * most_looks comparisons. The usual 2^20 suffice for 1024 members in one world of 1024, whose
 * numbers take 4 KiB. */
static bool members_are_few(int size)
{
    return (uint64_t)size * __atomic_load_n(&n_known, __ATOMIC_RELAXED) <= most_looks;
}

/* Fills in the process numbers of those members that are in this world; returns how many members
 * are still unknown. */
static int look_into(const struct known_world *world, MPI_Group group, int size, const int *ranks,
                     int *found, uint32_t *numbers)
{
    int unknown = 0;
    bool good =
        rec_mpi.Group_translate_ranks(group, size, ranks, world->group, found) == MPI_SUCCESS;
    for (int r = 0; r < size; r++) {
        if (good && numbers[r] == UNKNOWN_MEMBER && found[r] >= 0)
            numbers[r] = rec_mpi_number_of(&world->numbers, found[r]);
        unknown += numbers[r] == UNKNOWN_MEMBER;
    }
    return unknown;
}

static void look_up_members(MPI_Group group, int size, const int *ranks, int *found,
                            uint32_t *numbers)
{
    int unknown = size;
    for (int r = 0; r < size; r++)
        numbers[r] = UNKNOWN_MEMBER;
    for (const struct known_world *world = __atomic_load_n(&worlds, __ATOMIC_ACQUIRE);
         world && unknown > 0; world = world->before)
        unknown = look_into(world, group, size, ranks, found, numbers);
}

/* The process number of rank 0. */
static uint32_t members_first(MPI_Group group)
{
    const int rank = 0;
    int found;
    uint32_t number;
    look_up_members(group, 1, &rank, &found, &number);
    return number;
}

/* The process numbers of the members by rank, to be freed; NULL: there is no memory. */
static uint32_t *members_list(MPI_Group group, int size)
{
    const size_t n = size > 0 ? (size_t)size : 1;
    int *ranks = malloc(sizeof *ranks * 2 * n);
    uint32_t *numbers = ranks ? malloc(sizeof *numbers * n) : NULL;
    for (int r = 0; numbers && r < size; r++)
        ranks[r] = r;
    if (numbers)
        look_up_members(group, size, ranks, ranks + size, numbers);
    free(ranks);
    return numbers;
}

/* Describes a group by its process numbers; the array stays the caller's. */
static struct rec_mpi_group members_group(const uint32_t *numbers, int size)
{
    bool row = numbers[0] != UNKNOWN_MEMBER;
    for (int r = 1; r < size && row; r++)
        row = numbers[r] == numbers[0] + (uint32_t)r;
    return (struct rec_mpi_group){.first = numbers[0], .row = row, .numbers = numbers};
}

/* ==== communicators =========================================================================== */

#define UNKNOWN UNKNOWN_MEMBER

struct rec_mpi_comm rec_mpi_world;
static pthread_mutex_t comms_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map comms; /* handle -> rec_mpi_comm */
static uint32_t highest_number;

/* ---- members --------------------------------------------------------------------------------- */

/* Looks up all members of a group, or the first one, and frees the group. */
static struct rec_mpi_group look_at_group(MPI_Group group, int size, bool all)
{
    struct rec_mpi_group found = {.first = UNKNOWN};
    const uint32_t *numbers = all ? members_list(group, size) : NULL;
    if (numbers)
        found = members_group(numbers, size);
    else if (!all)
        found.first = members_first(group);
    rec_mpi.Group_free(&group);
    return found;
}

static struct rec_mpi_group local_members(MPI_Comm comm, const struct rec_mpi_comm *info, bool all)
{
    MPI_Group group;
    if ((!all || info->size == 1) && info->rank == 0 && members_own() != UNKNOWN)
        return (struct rec_mpi_group){.first = members_own(), .row = info->size == 1};
    if (rec_mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return (struct rec_mpi_group){.first = UNKNOWN};
    return look_at_group(group, info->size, all);
}

static struct rec_mpi_group remote_members(MPI_Comm comm, int size)
{
    MPI_Group group;
    if (rec_mpi.Comm_remote_group(comm, &group) != MPI_SUCCESS)
        return (struct rec_mpi_group){.first = UNKNOWN};
    return look_at_group(group, size, true);
}

/* Frees the process numbers of a group once its communicator is defined. Where they are `needed`
 * and do not follow from the first one, a copy is kept for good. */
static void settle(struct rec_mpi_group *group, int size, bool needed)
{
    const size_t bytes = sizeof *group->numbers * (size_t)size;
    uint32_t *kept = NULL;
    void *seen;
    if (!group->numbers)
        return;
    if (!group->row && needed)
        kept = rec_keep(bytes);
    if (kept)
        memcpy(kept, group->numbers, bytes);
    memcpy(&seen, &group->numbers, sizeof seen);
    free(seen);
    group->numbers = kept;
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

/* The definition of a communicator. Rank 0 lists the members of a small one. A process that does
 * not know all members says which rank it is itself (-1: none), so that a reader knows those that
 * were recorded. */
static struct rec_comm definition_of(const struct rec_mpi_comm *info, uint64_t key,
                                     const struct rec_mpi_group *group, int size, int rank)
{
    const bool few = members_are_few(size);
    const bool lists = group->numbers && few && (info->rank == 0 || key == 0);
    return (struct rec_comm){.key = key,
                             .paradigm = LULL_TAPE_PARADIGM_MPI,
                             .size = (uint32_t)size,
                             .first = group->row || few ? group->first : UNKNOWN,
                             .parent = UINT32_MAX,
                             .remote = UINT32_MAX,
                             .members = lists && !group->row ? group->numbers : NULL,
                             .tells_rank = !group->row && !lists,
                             .rank = rank >= 0 ? (uint64_t)rank : LULL_TAPE_NO_RANK};
}

/* Each group of an intercommunicator is a communicator of its own. */
static void define_groups(struct rec_mpi_comm *info, struct rec_comm *local)
{
    const uint64_t own = key_of_group(info->key, info->local.first);
    struct rec_comm remote = definition_of(info, key_of_group(info->key, info->remote.first),
                                           &info->remote, info->peers, -1);
    remote.name = local->name;
    local->key = info->half != 0 ? info->half : own;
    info->id = info->half != 0 ? rec_define_half(local, info->link, own, &remote)
                               : rec_define_intercomm(local, &remote);
}

static void define_comm(struct rec_mpi_comm *info, const struct rec_mpi_comm *parent,
                        const char *name)
{
    struct rec_comm local = definition_of(info, info->key, &info->local, info->size, info->rank);
    local.name = name;
    if (parent)
        local.parent = parent->id;
    if (info->inter)
        define_groups(info, &local);
    else
        info->id = rec_define_comm(&local);
}

uint64_t rec_mpi_spawn_key(const struct rec_mpi_comm *comm)
{
    pthread_mutex_lock(&comms_lock);
    uint64_t key = key_next(comm->key, KEY_SPAWN);
    pthread_mutex_unlock(&comms_lock);
    return key;
}

uint32_t rec_mpi_persistent_comm(const struct rec_mpi_comm *comm)
{
    struct rec_mpi_comm own = *comm;
    if (own.id == 0)
        return 0;
    pthread_mutex_lock(&comms_lock);
    own.key = key_next(comm->key, KEY_PERSISTENT);
    own.half = key_next(comm->half, KEY_PERSISTENT);
    own.link = key_next(comm->link, KEY_PERSISTENT);
    define_comm(&own, comm, "");
    pthread_mutex_unlock(&comms_lock);
    return own.id != 0 ? own.id : comm->id;
}

static void set_name(MPI_Comm comm, char *name)
{
    int length = 0;
    name[0] = '\0';
    if (rec_mpi.Comm_get_name(comm, name, &length) != MPI_SUCCESS)
        name[0] = '\0';
}

/* What a communicator comes from. */
struct origin {
    const struct rec_mpi_comm *parent; /* NULL: none that is known */
    uint64_t making;                   /* key_next of a call that all members of the parent make; 0:
                                          only some make it */
    int tag;
    bool shared; /* all members of the new communicator are in the call that makes it */
    bool copy;   /* it has the members of its parent */
    uint64_t half, link;
    const char *name; /* what it is called if the library has no name for it; NULL: nothing */
};

static uint64_t next_making(const struct rec_mpi_comm *parent)
{
    pthread_mutex_lock(&comms_lock);
    uint64_t making = parent ? key_next(parent->key, KEY_MAKING) : 0;
    pthread_mutex_unlock(&comms_lock);
    return making;
}

/* Fills what the library tells about a communicator. */
static bool look_at_comm(MPI_Comm comm, struct rec_mpi_comm *info, const struct origin *origin)
{
    int inter = 0;
    if (rec_mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        rec_mpi.Comm_size(comm, &info->size) != MPI_SUCCESS ||
        rec_mpi.Comm_rank(comm, &info->rank) != MPI_SUCCESS || info->size < 1)
        return false;
    info->inter = inter;
    info->peers = info->size;
    const bool few = members_are_few(info->size);
    const bool hashed = inter || (origin->shared && origin->making == 0);
    const bool listed = few && (info->rank == 0 || !origin->shared);
    info->local = local_members(comm, info, hashed || listed || rec_process.disturbs);
    if (inter) {
        if (rec_mpi.Comm_remote_size(comm, &info->peers) != MPI_SUCCESS || info->peers < 1)
            return false;
        info->remote = remote_members(comm, info->peers);
    }
    count_neighbours(comm, info);
    return true;
}

/* The first member; of an intercommunicator the lower one of the two groups' first members, because
 * each side sees the groups swapped. */
static uint32_t first_of_all(const struct rec_mpi_comm *info)
{
    const uint32_t local = info->local.first, remote = info->remote.first;
    return !info->inter || local < remote ? local : remote;
}

static uint64_t comm_key(const struct rec_mpi_comm *info, const struct origin *origin)
{
    if (!origin->shared)
        return 0;
    if (origin->making != 0 && (!info->inter || origin->copy))
        return key_of_child(origin->making, first_of_all(info));
    return key_of_members(info, origin->parent ? origin->parent->key : 0, origin->tag);
}

static const struct rec_mpi_comm *add_comm(MPI_Comm comm, struct rec_mpi_comm *info,
                                           const struct origin *origin, const char *name)
{
    pthread_mutex_lock(&comms_lock);
    if (info != &rec_mpi_world)
        info->key = comm_key(info, origin);
    info->half = key_next(origin->half, KEY_NEW);
    info->link = key_next(origin->link, KEY_NEW);
    define_comm(info, origin->parent, name);
    if (info->id != 0)
        rec_map_put(&comms, (uintptr_t)comm, (uintptr_t)info);
    pthread_mutex_unlock(&comms_lock);
    return info->id != 0 ? info : &rec_mpi_world;
}

/* The tag is negative, unlike the tags of MPI, so that the key differs from those of MPI's
 * communicators. */
const struct rec_mpi_comm *rec_mpi_add_members(const uint32_t *members, int size, int rank)
{
    enum { MEMBERS_TAG = -0x73686d };
    struct rec_mpi_comm *info = rec_keep(sizeof *info);
    if (!info)
        return &rec_mpi_world;
    *info = (struct rec_mpi_comm){.size = size, .rank = rank, .peers = size};
    info->local = members_group(members, size);
    pthread_mutex_lock(&comms_lock);
    info->key = key_of_members(info, rec_mpi_world.key, MEMBERS_TAG);
    define_comm(info, &rec_mpi_world, "active set");
    pthread_mutex_unlock(&comms_lock);
    return info->id != 0 ? info : &rec_mpi_world;
}

static const struct rec_mpi_comm *add_new(MPI_Comm comm, const struct origin *origin)
{
    char name[MPI_MAX_OBJECT_NAME];
    struct rec_mpi_comm *info = rec_keep(sizeof *info);
    if (!info || !look_at_comm(comm, info, origin))
        return &rec_mpi_world;
    set_name(comm, name);
    const char *called = name[0] == '\0' && origin->name ? origin->name : name;
    const struct rec_mpi_comm *added = add_comm(comm, info, origin, called);
    const bool all = rec_process.disturbs, few = members_are_few(info->size);
    settle(&info->local, info->size, all || (few && (info->rank == 0 || info->key == 0)));
    settle(&info->remote, info->peers, all || (few && info->rank == 0));
    return added;
}

uint32_t *rec_mpi_list_members(MPI_Comm comm, int size)
{
    MPI_Group group;
    if (rec_mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return NULL;
    uint32_t *numbers = members_list(group, size);
    rec_mpi.Group_free(&group);
    return numbers;
}

const struct rec_mpi_comm *rec_mpi_look_at_window(MPI_Win window)
{
    MPI_Group group;
    struct rec_mpi_comm *info = rec_keep(sizeof *info);
    if (!info || rec_mpi.Win_get_group(window, &group) != MPI_SUCCESS)
        return &rec_mpi_world;
    if (rec_mpi.Group_size(group, &info->size) != MPI_SUCCESS || info->size < 1) {
        rec_mpi.Group_free(&group);
        return &rec_mpi_world;
    }
    info->local = look_at_group(group, info->size, true);
    settle(&info->local, info->size, true);
    return info;
}

const struct rec_mpi_comm *rec_mpi_find_comm(MPI_Comm comm)
{
    const struct rec_mpi_comm *info =
        (const struct rec_mpi_comm *)rec_map_get(&comms, (uintptr_t)comm);
    if (REC_LIKELY(info != NULL))
        return info;
    return comm == MPI_COMM_NULL ? &rec_mpi_world : add_new(comm, &(struct origin){.tag = 0});
}

/* ---- the world ------------------------------------------------------------------------------- */

/* Every process defines which rank it has, and calls the other processes by the numbers that follow
 * from their ranks. Some of these may have got another number when they began; readers know both.
 * So no process has to be asked for its number. */
static bool begin_numbers(MPI_Group world, int size, int rank)
{
    uint32_t first = size > 1 ? rec_process.first : rec_process.number;
    const struct rec_mpi_group numbers = {.first = first, .row = true};
    highest_number = first + (uint32_t)size - 1;
    if (highest_number < rec_process.number)
        highest_number = rec_process.number;
    rec_process.ranks = (uint32_t)size;
    rec_set_rank((uint32_t)rank);
    rec_define_world(first, (uint32_t)size, (uint32_t)rank);
    members_set_own(first + (uint32_t)rank);
    return members_add(world, size, &numbers);
}

static bool add_remote(MPI_Comm inter, const struct rec_mpi_group *numbers, uint32_t count)
{
    MPI_Group group;
    int size;
    return rec_mpi.Comm_remote_size(inter, &size) == MPI_SUCCESS && size > 0 &&
           (uint32_t)size <= count && rec_mpi.Comm_remote_group(inter, &group) == MPI_SUCCESS &&
           members_add(group, size, numbers);
}

void rec_mpi_add_spawned(MPI_Comm inter, uint32_t first, uint32_t count)
{
    add_remote(inter, &(struct rec_mpi_group){.first = first, .row = true}, count);
}

/* In a world that was spawned: adds the world of its parents, who know this one from the
 * beginning. */
static void meet_parents(void)
{
    MPI_Comm parents = MPI_COMM_NULL;
    struct rec_spawned own;
    if (rec_process.application == 0 || rec_mpi.Comm_get_parent(&parents) != MPI_SUCCESS ||
        parents == MPI_COMM_NULL || !rec_spawned_read(rec_process.application, &own))
        return;
    const struct rec_mpi_group numbers = {.first = UNKNOWN, .numbers = own.parents};
    if (own.n_parents > 0 && add_remote(parents, &numbers, own.n_parents))
        add_new(parents, &(struct origin){.shared = true});
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
    const struct rec_mpi_group numbers = {.first = members_own() - (uint32_t)rank, .row = true};
    *info = (struct rec_mpi_comm){.size = size, .rank = rank, .peers = size, .local = numbers};
    info->key = key_of_world(numbers.first, size);
    const struct origin origin = {.shared = true};
    if (!add_comm(world, info, &origin, "MPI_COMM_WORLD")->id)
        return false;
    static struct rec_mpi_comm self;
    const struct origin alone = {.parent = NULL};
    if (look_at_comm(MPI_COMM_SELF, &self, &alone)) {
        add_comm(MPI_COMM_SELF, &self, &alone, "MPI_COMM_SELF");
        settle(&self.local, self.size, false);
    }
    meet_parents();
    return true;
}

#if defined(MPI_SESSION_NULL)
void rec_mpi_find_processes(MPI_Session session)
{
    MPI_Group group;
    int size = 0, rank = MPI_UNDEFINED;
    if (!members_known() &&
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

static void add_child(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh,
                      const char *name)
{
    const struct rec_mpi_comm *info = parent == MPI_COMM_NULL ? NULL : rec_mpi_comm_of(parent);
    const struct origin origin = {
        .parent = info, .making = next_making(info), .tag = tag, .shared = true, .name = name};
    if (fresh != MPI_COMM_NULL)
        add_new(fresh, &origin);
    end_collective(call, info);
}

void rec_mpi_new_comm(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh)
{
    add_child(call, parent, tag, fresh, NULL);
}

void rec_mpi_spawned_comm(struct rec_mpi_call *call, MPI_Comm parent, MPI_Comm fresh,
                          const char *name)
{
    add_child(call, parent, 0, fresh, name);
}

void rec_mpi_new_intercomm(struct rec_mpi_call *call, MPI_Comm local, int leader, MPI_Comm peer,
                           int far_leader, int tag, MPI_Comm fresh)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(local);
    struct origin origin = {
        .parent = info, .tag = tag, .shared = true, .half = key_of_halves(info, tag)};
    if (info->rank == leader)
        origin.link = key_of_links(rec_mpi_comm_of(peer), far_leader, tag);
    add_new(fresh, &origin);
    end_collective(call, info);
}

/* Only the members of the new communicator make this call. */
void rec_mpi_group_comm(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh)
{
    const struct rec_mpi_comm *info = NULL;
    const struct origin origin = {.parent =
                                      parent == MPI_COMM_NULL ? NULL : rec_mpi_comm_of(parent),
                                  .tag = tag,
                                  .shared = true};
    if (fresh != MPI_COMM_NULL)
        info = add_new(fresh, &origin);
    end_collective(call, info);
}

/* Describes a duplicate by its original. The library is not asked, because a duplicate that was
 * made without blocking (MPI_Comm_idup) may not be used yet. */
static void add_copy(MPI_Comm fresh, const struct rec_mpi_comm *info)
{
    const struct origin origin = {.parent = info,
                                  .making = next_making(info),
                                  .shared = true,
                                  .copy = true,
                                  .half = info->half,
                                  .link = info->link};
    struct rec_mpi_comm *copy = rec_keep(sizeof *copy);
    if (!copy)
        return;
    *copy = *info;
    add_comm(fresh, copy, &origin, "");
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
