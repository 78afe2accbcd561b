#include "record/mpi/members.h"

#include "record/settings.h"

#include <pthread.h>
#include <stdlib.h>

#define MOST_LOOKS (UINT64_C(1) << 20)

/* The groups of whose ranks we know the process numbers: that of the own world, and of those that
 * it has spawned or that have spawned it. */
struct known_world {
    MPI_Group group;
    struct rec_mpi_group numbers;
    struct known_world *before;
};

static pthread_mutex_t members_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_world *worlds; /* the newest first; only added to */
static uint64_t n_known;           /* processes in them; atomic */
static uint64_t most_looks = MOST_LOOKS;
static uint32_t own_number = REC_UNKNOWN_MEMBER;

bool rec_members_add(MPI_Group group, int size, const struct rec_mpi_group *numbers)
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

bool rec_members_known(void)
{
    return __atomic_load_n(&worlds, __ATOMIC_ACQUIRE) != NULL;
}

void rec_members_set_own(uint32_t number)
{
    uint64_t looks;
    if (rec_setting_number("LULL_RECORD_LOOKS", &looks))
        most_looks = looks;
    own_number = number;
}

uint32_t rec_members_own(void)
{
    return own_number;
}

bool rec_members_are_few(int size)
{
    return (uint64_t)size * __atomic_load_n(&n_known, __ATOMIC_RELAXED) <= most_looks;
}

/* Fills in the numbers that a world tells; returns how many are not known then. */
static int look_into(const struct known_world *world, MPI_Group group, int size, const int *ranks,
                     int *found, uint32_t *numbers)
{
    int unknown = 0;
    bool good =
        rec_mpi.Group_translate_ranks(group, size, ranks, world->group, found) == MPI_SUCCESS;
    for (int r = 0; r < size; r++) {
        if (good && numbers[r] == REC_UNKNOWN_MEMBER && found[r] >= 0)
            numbers[r] = rec_mpi_number_of(&world->numbers, found[r]);
        unknown += numbers[r] == REC_UNKNOWN_MEMBER;
    }
    return unknown;
}

static void look_up_members(MPI_Group group, int size, const int *ranks, int *found,
                            uint32_t *numbers)
{
    int unknown = size;
    for (int r = 0; r < size; r++)
        numbers[r] = REC_UNKNOWN_MEMBER;
    for (const struct known_world *world = __atomic_load_n(&worlds, __ATOMIC_ACQUIRE);
         world && unknown > 0; world = world->before)
        unknown = look_into(world, group, size, ranks, found, numbers);
}

uint32_t rec_members_first(MPI_Group group)
{
    const int rank = 0;
    int found;
    uint32_t number;
    look_up_members(group, 1, &rank, &found, &number);
    return number;
}

uint32_t *rec_members_list(MPI_Group group, int size)
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

struct rec_mpi_group rec_members_group(const uint32_t *numbers, int size)
{
    bool row = numbers[0] != REC_UNKNOWN_MEMBER;
    for (int r = 1; r < size && row; r++)
        row = numbers[r] == numbers[0] + (uint32_t)r;
    return (struct rec_mpi_group){.first = numbers[0], .row = row, .numbers = numbers};
}
