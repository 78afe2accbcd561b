/* MPI functions by name, in C and Fortran spelling. */
#include "trace/classify/classify.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct mpi_function {
    const char *name; /* lower case, without mpi_ */
    uint8_t role;
    uint8_t collective;
};

#define COLLECTIVE(name, role, op)                        \
    {                                                     \
        name, LULL_ROLE_COLL_##role, LULL_COLLECTIVE_##op \
    }
#define P2P(name)                                            \
    {                                                        \
        name, LULL_ROLE_POINT2POINT, LULL_COLLECTIVE_UNKNOWN \
    }
#define RMA(name)                                    \
    {                                                \
        name, LULL_ROLE_RMA, LULL_COLLECTIVE_UNKNOWN \
    }

/* Sorted by name. Non-blocking and persistent forms of collectives are found by taking off "i" and
 * "_init"; win_* and file_* that are not listed by their prefix. */
static const struct mpi_function mpi_functions[] = {
    RMA("accumulate"),
    COLLECTIVE("allgather", ALL2ALL, ALLGATHER),
    COLLECTIVE("allgatherv", ALL2ALL, ALLGATHERV),
    COLLECTIVE("allreduce", ALL2ALL, ALLREDUCE),
    COLLECTIVE("alltoall", ALL2ALL, ALLTOALL),
    COLLECTIVE("alltoallv", ALL2ALL, ALLTOALLV),
    COLLECTIVE("alltoallw", ALL2ALL, ALLTOALLW),
    COLLECTIVE("barrier", ALL2ALL, BARRIER),
    COLLECTIVE("bcast", ONE2ALL, BCAST),
    P2P("bsend"),
    P2P("bsend_init"),
    COLLECTIVE("cart_create", OTHER, CREATE),
    COLLECTIVE("cart_sub", OTHER, CREATE),
    COLLECTIVE("comm_accept", OTHER, CREATE),
    COLLECTIVE("comm_connect", OTHER, CREATE),
    COLLECTIVE("comm_create", OTHER, CREATE),
    COLLECTIVE("comm_create_from_group", OTHER, CREATE),
    COLLECTIVE("comm_create_group", OTHER, CREATE),
    COLLECTIVE("comm_disconnect", OTHER, FREE),
    COLLECTIVE("comm_dup", OTHER, CREATE),
    COLLECTIVE("comm_dup_with_info", OTHER, CREATE),
    COLLECTIVE("comm_free", OTHER, FREE),
    COLLECTIVE("comm_idup", OTHER, CREATE),
    COLLECTIVE("comm_idup_with_info", OTHER, CREATE),
    COLLECTIVE("comm_join", OTHER, CREATE),
    COLLECTIVE("comm_shrink", OTHER, CREATE),
    COLLECTIVE("comm_spawn", OTHER, CREATE),
    COLLECTIVE("comm_spawn_multiple", OTHER, CREATE),
    COLLECTIVE("comm_split", OTHER, CREATE),
    COLLECTIVE("comm_split_type", OTHER, CREATE),
    RMA("compare_and_swap"),
    COLLECTIVE("dist_graph_create", OTHER, CREATE),
    COLLECTIVE("dist_graph_create_adjacent", OTHER, CREATE),
    COLLECTIVE("exscan", OTHER, EXSCAN),
    RMA("fetch_and_op"),
    {"file_close", LULL_ROLE_FILE_IO, LULL_COLLECTIVE_FREE},
    {"file_open", LULL_ROLE_FILE_IO, LULL_COLLECTIVE_CREATE},
    COLLECTIVE("gather", ALL2ONE, GATHER),
    COLLECTIVE("gatherv", ALL2ONE, GATHERV),
    RMA("get"),
    RMA("get_accumulate"),
    COLLECTIVE("graph_create", OTHER, CREATE),
    P2P("ibsend"),
    P2P("improbe"),
    P2P("imrecv"),
    COLLECTIVE("intercomm_create", OTHER, CREATE),
    COLLECTIVE("intercomm_create_from_groups", OTHER, CREATE),
    COLLECTIVE("intercomm_merge", OTHER, CREATE),
    P2P("iprobe"),
    P2P("irecv"),
    P2P("irsend"),
    P2P("isend"),
    P2P("isendrecv"),
    P2P("isendrecv_replace"),
    P2P("issend"),
    P2P("mprobe"),
    P2P("mrecv"),
    COLLECTIVE("neighbor_allgather", OTHER, NEIGHBOUR),
    COLLECTIVE("neighbor_allgatherv", OTHER, NEIGHBOUR),
    COLLECTIVE("neighbor_alltoall", OTHER, NEIGHBOUR),
    COLLECTIVE("neighbor_alltoallv", OTHER, NEIGHBOUR),
    COLLECTIVE("neighbor_alltoallw", OTHER, NEIGHBOUR),
    P2P("parrived"),
    P2P("pready"),
    P2P("pready_list"),
    P2P("pready_range"),
    P2P("precv_init"),
    P2P("probe"),
    P2P("psend_init"),
    RMA("put"),
    RMA("raccumulate"),
    P2P("recv"),
    P2P("recv_init"),
    COLLECTIVE("reduce", ALL2ONE, REDUCE),
    COLLECTIVE("reduce_scatter", ALL2ALL, REDUCE_SCATTER),
    COLLECTIVE("reduce_scatter_block", ALL2ALL, REDUCE_SCATTER_BLOCK),
    P2P("request_get_status"),
    P2P("request_get_status_all"),
    P2P("request_get_status_any"),
    P2P("request_get_status_some"),
    RMA("rget"),
    RMA("rget_accumulate"),
    RMA("rput"),
    P2P("rsend"),
    P2P("rsend_init"),
    COLLECTIVE("scan", OTHER, SCAN),
    COLLECTIVE("scatter", ONE2ALL, SCATTER),
    COLLECTIVE("scatterv", ONE2ALL, SCATTERV),
    P2P("send"),
    P2P("send_init"),
    P2P("sendrecv"),
    P2P("sendrecv_replace"),
    P2P("ssend"),
    P2P("ssend_init"),
    P2P("start"),
    P2P("startall"),
    P2P("test"),
    P2P("testall"),
    P2P("testany"),
    P2P("testsome"),
    P2P("wait"),
    P2P("waitall"),
    P2P("waitany"),
    P2P("waitsome"),
    {"win_allocate", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"win_allocate_shared", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"win_create", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"win_create_dynamic", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"win_free", LULL_ROLE_RMA, LULL_COLLECTIVE_FREE},
};

static int compare_mpi(const void *key, const void *entry)
{
    return strcmp(key, ((const struct mpi_function *)entry)->name);
}

static const struct mpi_function *find_mpi(const char *name)
{
    return bsearch(name, mpi_functions, sizeof mpi_functions / sizeof *mpi_functions,
                   sizeof *mpi_functions, compare_mpi);
}

static void cut_suffix(char *text, const char *suffix)
{
    size_t length = strlen(text), cut = strlen(suffix);
    if (length > cut && strcmp(text + length - cut, suffix) == 0)
        text[length - cut] = '\0';
}

/* "PMPI_Isend", "mpi_isend_", "MPI_Isend_c", "mpi_isend_f08" -> "isend"; false if it is no MPI
 * function. */
static bool mpi_base_name(const char *name, char *base, size_t size)
{
    if (strncasecmp(name, "pmpi_", 5) == 0 || strncasecmp(name, "pmpix_", 6) == 0)
        name++;
    const bool extends = strncasecmp(name, "mpix_", 5) == 0; /* MPIX_Barrier_init */
    if (!extends && strncasecmp(name, "mpi_", 4) != 0)
        return false;
    size_t length = 0;
    for (name += extends ? 5 : 4;
         length + 1 < size && (isalnum((unsigned char)*name) || *name == '_'); name++)
        base[length++] = (char)tolower((unsigned char)*name);
    base[length] = '\0';
    while (length > 0 && base[length - 1] == '_')
        base[--length] = '\0';
    cut_suffix(base, "_f08ts");
    cut_suffix(base, "_f08");
    cut_suffix(base, "_c");
    return true;
}

static const struct mpi_function *lookup_mpi(char *base)
{
    const struct mpi_function *found = find_mpi(base);
    if (!found && base[0] == 'i') /* ibcast, ineighbor_alltoall */
        found = find_mpi(base + 1);
    if (!found) { /* bcast_init */
        cut_suffix(base, "_init");
        found = find_mpi(base);
    }
    return found;
}

bool lull_classify_mpi(struct lull_region *region)
{
    char base[64];
    if (!mpi_base_name(region->name, base, sizeof base))
        return false;
    region->paradigm = LULL_PARADIGM_MPI;
    const struct mpi_function *function = lookup_mpi(base);
    uint8_t role = LULL_ROLE_FUNCTION;
    region->collective = LULL_COLLECTIVE_UNKNOWN;
    if (function) {
        role = function->role;
        region->collective = function->collective;
    } else if (strncmp(base, "win_", 4) == 0) {
        role = LULL_ROLE_RMA;
    } else if (strncmp(base, "file_", 5) == 0) {
        role = LULL_ROLE_FILE_IO;
    }
    if (region->role == LULL_ROLE_FUNCTION || region->role == LULL_ROLE_WRAPPER)
        region->role = role;
    return true;
}
