/* Functions of OpenSHMEM by name: one-sided communication, and collective operations of several
 * processes. Each is there for many types, whose names stand in front: shmem_int_sum_to_all. */
#include "trace/classify/classify.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct kind {
    const char *end; /* of the name, behind the type's */
    uint8_t role;
    uint8_t collective;
} kinds[] = {
    {"init", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"init_thread", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"finalize", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"global_exit", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"barrier", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"barrier_all", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"sync", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"sync_all", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"sync_deprecated", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"broadcast", LULL_ROLE_COLL_ONE2ALL, LULL_COLLECTIVE_BCAST},
    {"fcollect", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLGATHER},
    {"collect", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLGATHERV},
    {"alltoall", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLTOALL},
    {"alltoalls", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLTOALL},
    {"to_all", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLREDUCE},
    {"reduce", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLREDUCE},
    {"malloc", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"malloc_with_hint", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"malloc_with_hints", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"calloc", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"align", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"realloc", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"free", LULL_ROLE_RMA, LULL_COLLECTIVE_FREE},
    {"split_strided", LULL_ROLE_COLL_OTHER, LULL_COLLECTIVE_CREATE},
    {"split_2d", LULL_ROLE_COLL_OTHER, LULL_COLLECTIVE_CREATE},
    {"create_ctx", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"create", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"destroy", LULL_ROLE_RMA, LULL_COLLECTIVE_FREE},
};

/* Ends of names of what is one-sided and of no other kind. */
static const char *const one_sided[] = {
    "put",  "get",   "iput", "iget", "p",    "g",    "signal", "swap",   "cswap",  "set",   "add",
    "inc",  "and",   "or",   "xor",  "fadd", "finc", "fetch",  "mem",    "quiet",  "fence", "lock",
    "wait", "until", "test", "all",  "any",  "some", "vector", "putmem", "getmem", "nb",    "nbi",
};

/* Whether the name is `end`, or something, "_" and `end`. */
static bool has_ending(const char *name, size_t length, const char *end)
{
    const size_t n = strlen(end);
    return length >= n && strncmp(name + length - n, end, n) == 0 &&
           (length == n || name[length - n - 1] == '_');
}

static bool is_one_sided(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof one_sided / sizeof *one_sided; i++)
        if (has_ending(name, length, one_sided[i]))
            return true;
    return false;
}

/* Without what says of which size it is: "put32", "fcollectmem", "put16_nbi". */
static size_t length_without_size(const char *name)
{
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, "_nbi") == 0)
        length -= 4;
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    return length > 3 && strncmp(name + length - 3, "mem", 3) == 0 ? length - 3 : length;
}

bool lull_classify_shmem(struct lull_region *region)
{
    const char *name = region->name + (strncmp(region->name, "pshmem", 6) == 0);
    if (strcmp(name, "start_pes") == 0)
        name = "shmem_init";
    if (strncmp(name, "shmem_", 6) != 0 && strncmp(name, "shmemx_", 7) != 0)
        return false;
    name = strchr(name, '_') + 1;
    const size_t length = length_without_size(name);
    uint8_t role = LULL_ROLE_RMA, collective = LULL_COLLECTIVE_UNKNOWN;
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !has_ending(name, length, kinds[i].end))
        i++;
    if (i < sizeof kinds / sizeof *kinds) {
        role = kinds[i].role;
        collective = kinds[i].collective;
    } else if (!is_one_sided(name, length)) {
        return false;
    }
    region->paradigm = LULL_PARADIGM_MPI;
    region->collective = collective;
    if (region->role == LULL_ROLE_FUNCTION || region->role == LULL_ROLE_WRAPPER)
        region->role = role;
    return true;
}
