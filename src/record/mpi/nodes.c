/* SPDX-License-Identifier: BSD-3-Clause */
/* Each node has two files in RUN/nodes. One is KEY; the process that can make this file has claimed
 * the node. The name of the other file is the node's state: KEY.claimed, then KEY.ready-RANK, and
 * then either KEY.in-RANK or KEY.out. Among the processes that are ready, the first to make the
 * file `root` waits until all nodes that were claimed have gone on, takes in those that are ready
 * by renaming their files to KEY.in-RANK, and makes the file `agreed`. A process that has waited
 * too long renames its own file to KEY.out. Of two renamings of one file only one succeeds, so that
 * each process knows whether it was taken in. */
#include "record/mpi/nodes.h"

#include "record/core.h"
#include "record/node.h"
#include "record/store/definitions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== who measures ============================================================================ */

#define LIMIT_NS     INT64_C(10000000000)
#define LONGEST_NAP  INT64_C(50000000)
#define SHORTEST_NAP INT64_C(100000)

static bool leads;

static void path_in_nodes(char *path, size_t size, const char *name)
{
    const char *end = strrchr(rec_process.folder, '/');
    snprintf(path, size, "%.*s/" LULL_TAPE_NODES_NAME "%s%s",
             (int)(end ? end - rec_process.folder : 0), rec_process.folder, *name ? "/" : "", name);
}

/* Makes an empty file; false: it was there already, or cannot be made. */
static bool make_file(const char *name)
{
    char path[4096];
    path_in_nodes(path, sizeof path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static void remove_file(const char *name)
{
    char path[4096];
    path_in_nodes(path, sizeof path, name);
    unlink(path);
}

/* Writes the name of a node's file: KEY, KEY.STATE or KEY.STATE-RANK; rank -1: the state has
 * none. */
static void name_of(char *name, size_t size, uint64_t key, const char *state, int rank)
{
    char number[16] = "";
    if (rank >= 0)
        snprintf(number, sizeof number, "-%d", rank);
    snprintf(name, size, "%016llx%s%s%s", (unsigned long long)key, *state ? "." : "", state,
             number);
}

static bool change_state(uint64_t key, int rank, const char *from, const char *to)
{
    char name[64], old[4096], new[4096];
    name_of(name, sizeof name, key, from, strcmp(from, "claimed") == 0 ? -1 : rank);
    path_in_nodes(old, sizeof old, name);
    name_of(name, sizeof name, key, to, strcmp(to, "out") == 0 ? -1 : rank);
    path_in_nodes(new, sizeof new, name);
    return rename(old, new) == 0;
}

static bool make_nodes_folder(void)
{
    char path[4096];
    path_in_nodes(path, sizeof path, "");
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The folder is made only where it is missing, so that all processes but the first ask the file
 * system for no more than their own file. */
void rec_mpi_nodes_claim(void)
{
    char own[64], state[64];
    if (!rec_process.on || rec_process.application != 0)
        return;
    name_of(own, sizeof own, rec_node_key(), "", -1);
    name_of(state, sizeof state, rec_node_key(), "claimed", -1);
    if (!make_file(own) && (errno != ENOENT || !make_nodes_folder() || !make_file(own)))
        return;
    leads = make_file(state);
    if (!leads)
        remove_file(own);
}

/* ---- looking at the others ------------------------------------------------------------------- */

struct listing {
    unsigned n_nodes, n_settled; /* nodes that were claimed; those of them that are further */
    bool agreed;
    int n, capacity; /* nodes in the state that was asked for */
    struct member {
        uint64_t key;
        int rank;
    } * members;
};

/* The recorder is linked without base/array.c. */
static bool add_member(struct listing *listing, uint64_t key, int rank)
{
    if (listing->n == listing->capacity) {
        int larger = listing->capacity * 2 + 16;
        void *space = realloc(listing->members, sizeof *listing->members * (size_t)larger);
        if (!space)
            return false;
        listing->members = space;
        listing->capacity = larger;
    }
    listing->members[listing->n++] = (struct member){key, rank};
    return true;
}

static bool see_name(struct listing *listing, const char *name, const char *wanted)
{
    unsigned long long key;
    char state[16] = "";
    int rank = -1;
    if (strcmp(name, "agreed") == 0)
        listing->agreed = true;
    if (strlen(name) < 16 || sscanf(name, "%16llx.%15[a-z]-%d", &key, state, &rank) < 1)
        return true;
    listing->n_nodes += *state == '\0';
    listing->n_settled += *state != '\0' && strcmp(state, "claimed") != 0;
    return strcmp(state, wanted) != 0 || rank < 0 || add_member(listing, key, rank);
}

/* The whole folder is read each time: a file system that several nodes share may answer a repeated
 * question for one name from its cache. */
static bool look_at_listing(struct listing *listing, const char *wanted)
{
    char path[4096];
    path_in_nodes(path, sizeof path, "");
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    listing->n = 0;
    listing->n_nodes = listing->n_settled = 0;
    listing->agreed = false;
    bool good = true;
    for (const struct dirent *entry; good && (entry = readdir(folder));)
        good = see_name(listing, entry->d_name, wanted);
    closedir(folder);
    return good;
}

static bool all_have_settled(const struct listing *listing)
{
    return listing->n_settled >= listing->n_nodes;
}

static bool all_is_agreed(const struct listing *listing)
{
    return listing->agreed;
}

/* Looks again and again until `done`; false: the time is over before. */
static bool wait_for(struct listing *listing, const char *wanted,
                     bool (*done)(const struct listing *listing))
{
    const int64_t begin = lull_clock_read(CLOCK_MONOTONIC);
    for (int64_t nap = SHORTEST_NAP;; nap = nap < LONGEST_NAP ? nap * 2 : LONGEST_NAP) {
        if (!look_at_listing(listing, wanted))
            return false;
        if (done(listing))
            return true;
        if (lull_clock_read(CLOCK_MONOTONIC) - begin > LIMIT_NS)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = (long)nap}, NULL);
    }
}

/* ---- agreeing -------------------------------------------------------------------------------- */

/* Takes in the nodes that are ready; those that are not ready in time stay out. */
static void decide(struct listing *listing)
{
    wait_for(listing, "ready", all_have_settled);
    for (int i = 0; i < listing->n; i++)
        change_state(listing->members[i].key, listing->members[i].rank, "ready", "in");
    make_file("agreed");
}

/* Whether there is an agreement of which this process is a part. */
static bool take_part(struct listing *listing, uint64_t key, int rank)
{
    if (make_file("root"))
        decide(listing);
    if (wait_for(listing, "in", all_is_agreed))
        return true;
    if (change_state(key, rank, "ready", "out"))
        return false;
    return wait_for(listing, "in", all_is_agreed); /* renaming failed: this process was taken in a
                                                      moment ago */
}

static int compare_ranks(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Called after MPI_Init in a world of `size`. *ret_ranks gets the ranks that measure for their
 * nodes, in ascending order, in memory that the caller frees; each of these ranks gets the same
 * ones, or will when it comes here. Returns their number; 0: this rank is none of them, or the only
 * one. */
static int mpi_nodes_agree(int rank, int size, int **ret_ranks)
{
    struct listing listing = {.n = 0};
    int *ranks = NULL, n = 0;
    const uint64_t key = rec_node_key();
    bool own = false;
    if (!leads)
        return 0;
    leads = false;
    if (size < 2)
        change_state(key, rank, "claimed", "out");
    else if (change_state(key, rank, "claimed", "ready") && take_part(&listing, key, rank))
        ranks = malloc(sizeof *ranks * ((size_t)listing.n + 1));
    for (int i = 0; ranks && i < listing.n; i++)
        if (listing.members[i].rank < size) {
            own |= listing.members[i].rank == rank;
            ranks[n++] = listing.members[i].rank;
        }
    free(listing.members);
    if (!own || n < 2) {
        free(ranks);
        return 0;
    }
    qsort(ranks, (size_t)n, sizeof *ranks, compare_ranks);
    *ret_ranks = ranks;
    return n;
}

/* ==== offsets of clocks ======================================================================= */

/* The processes that measure for their nodes form a binomial tree. Each asks its parent for the
 * time, ROUNDS times. The answer of the fastest round trip is taken as given in the middle of that
 * round trip, with half its length as the bound of the error. The errors along the way to the root
 * add up, so that both the error and the time that this takes grow with the logarithm of the number
 * of nodes. */

enum { ROUNDS = 32, CLOCK_TAG = 1 };

/* A time server slews a clock by at most this rate (adjtimex(2): 500 ppm). */
#define MOST_DRIFT 500e-6

/* A communicator of the measuring processes alone, and our place in it. */
static struct {
    MPI_Comm comm;
    bool on;
    int n, own;
} clock_tree;

/* ---- measuring ------------------------------------------------------------------------------- */

struct clock_offset {
    int64_t at;      /* ns of this clock */
    int64_t to_root; /* ns to add for the clock of rank 0 */
    double error;    /* ns */
};

static bool receive(void *what, size_t size, int from)
{
    return rec_mpi.Recv(what, (int)size, MPI_BYTE, from, CLOCK_TAG, clock_tree.comm,
                        MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static bool send(const void *what, size_t size, int to)
{
    return rec_mpi.Send(what, (int)size, MPI_BYTE, to, CLOCK_TAG, clock_tree.comm) == MPI_SUCCESS;
}

static bool ask_parent_clock(int parent, struct clock_offset *mine)
{
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t theirs, before = rec_node_clock();
        if (!send(&before, sizeof before, parent) || !receive(&theirs, sizeof theirs, parent))
            return false;
        int64_t trip = rec_node_clock() - before;
        if (trip >= fastest)
            continue;
        fastest = trip;
        mine->at = before + trip / 2;
        mine->to_root = theirs - mine->at;
        mine->error = (double)trip / 2 + 1;
    }
    struct clock_offset parents;
    if (!receive(&parents, sizeof parents, parent))
        return false;
    /* The parent has measured a little earlier, and the clocks may have drifted since. */
    mine->error +=
        parents.error + MOST_DRIFT * (double)llabs(mine->at + mine->to_root - parents.at);
    mine->to_root += parents.to_root;
    return true;
}

static bool answer(int child, const struct clock_offset *mine)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t theirs, now;
        if (!receive(&theirs, sizeof theirs, child))
            return false;
        now = rec_node_clock();
        if (!send(&now, sizeof now, child))
            return false;
    }
    return send(mine, sizeof *mine, child);
}

/* A process that has its offset gives the time to its children: the one with the largest subtree
 * first. */
static bool measure_nodes(struct clock_offset *mine)
{
    int step = 1;
    while (step < clock_tree.n)
        step *= 2;
    for (bool good = true; (step /= 2) > 0;) {
        if (clock_tree.own % (2 * step) == step)
            good = ask_parent_clock(clock_tree.own - step, mine);
        else if (clock_tree.own % (2 * step) == 0 && clock_tree.own + step < clock_tree.n)
            good = answer(clock_tree.own + step, mine);
        if (!good)
            return false;
    }
    return true;
}

static void measure(void)
{
    struct clock_offset mine = {.at = rec_node_clock()};
    if (measure_nodes(&mine))
        rec_define_offset(mine.at, mine.to_root, mine.error);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Makes the communicator of the processes that have agreed, which alone call this. */
static bool make_comm(MPI_Comm world, int n, const int *ranks)
{
    MPI_Group group, chosen;
    if (rec_mpi.Comm_group(world, &group) != MPI_SUCCESS)
        return false;
    bool good = rec_mpi.Group_incl(group, n, ranks, &chosen) == MPI_SUCCESS;
    rec_mpi.Group_free(&group);
    if (!good)
        return false;
    good = rec_mpi.Comm_create_group(world, chosen, CLOCK_TAG, &clock_tree.comm) == MPI_SUCCESS;
    rec_mpi.Group_free(&chosen);
    return good;
}

void rec_mpi_clocks_begin(MPI_Comm world, int size, int rank)
{
    int *ranks;
    int n = mpi_nodes_agree(rank, size, &ranks);
    if (n == 0)
        return;
    clock_tree.on = make_comm(world, n, ranks);
    clock_tree.n = n;
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            clock_tree.own = i;
    free(ranks);
    if (!clock_tree.on)
        return;
    rec_mpi.Comm_set_errhandler(clock_tree.comm, MPI_ERRORS_RETURN);
    measure();
}

void rec_mpi_clocks_end(void)
{
    if (!clock_tree.on)
        return;
    clock_tree.on = false;
    measure();
    rec_mpi.Comm_free(&clock_tree.comm);
}
