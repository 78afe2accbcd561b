/* communicators FOLDER: makes communicators of every origin. In each, a reduction of as many bytes
 * as it has for a number here; FOLDER/list.APPLICATION.RANK says of each number who is in it, asked
 * of MPI: a line "NUMBER members [/ members of the other group]", where APPLICATION.RANK is one.
 * communicators.py compares that with the run. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 101, MOST = 64 };

static FILE *list;
static int application, rank, size;

static void fail(const char *why)
{
    fprintf(stderr, "%d.%d: %s\n", application, rank, why);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Members of the own world by MPI's own account, all by theirs. */
static void write_group(MPI_Group group, const int *names)
{
    MPI_Group world;
    int n, ranks[MOST], found[MOST];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n);
    for (int r = 0; r < n; r++)
        ranks[r] = r;
    MPI_Group_translate_ranks(group, n, ranks, world, found);
    for (int r = 0; r < n; r++) {
        const int name = names ? names[r] : application * 1000 + found[r];
        if (found[r] != MPI_UNDEFINED && name != application * 1000 + found[r])
            fail("members disagree with MPI");
        fprintf(list, " %d.%d", name / 1000, name % 1000);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&group);
}

static void note(MPI_Comm comm, int number)
{
    static unsigned char bytes[4096], results[4096];
    int inter, names[MOST], own = application * 1000 + rank;
    MPI_Group group;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Allreduce(bytes, results, FIRST + number, MPI_BYTE, MPI_BOR, comm);
    MPI_Allgather(&own, 1, MPI_INT, names, 1, MPI_INT, comm);
    fprintf(list, "%d", FIRST + number);
    MPI_Comm_group(comm, &group);
    write_group(group, inter ? NULL : names);
    if (inter) {
        fprintf(list, " /");
        MPI_Comm_remote_group(comm, &group);
        write_group(group, names);
    }
    fputs("\n", list);
}

static void note_and_free(MPI_Comm *comm, int number)
{
    note(*comm, number);
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

/* The world's rank of rank 0. */
static int first_of(MPI_Comm comm)
{
    int first = rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, comm);
    return first;
}

/* Colours, reversed ranks, one that gets nothing; again and again. */
static void make_splits(MPI_Comm all, int number)
{
    for (int i = 0; i < 3; i++) {
        MPI_Comm part, again, half;
        MPI_Comm_split(all, rank % 2, -rank, &part);
        note(part, number + 10 * i + rank % 2);
        MPI_Comm_split(part, 0, rank, &again);
        note_and_free(&again, number + 10 * i + 2 + rank % 2);
        MPI_Comm_dup(part, &again);
        note_and_free(&again, number + 10 * i + 4 + rank % 2);
        MPI_Comm_free(&part);
        MPI_Comm_split(all, rank == i ? MPI_UNDEFINED : 7, rank, &half);
        note_and_free(&half, number + 10 * i + 6);
        MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &half);
        note_and_free(&half, number + 10 * i + 7 + (first_of(half) != 0));
    }
}

/* Of groups: in all of them, in some of them, and two at once. */
static void make_groups(MPI_Comm all, int number)
{
    MPI_Group group, part;
    MPI_Comm comm;
    const int some[] = {2, 0, 3}, low[] = {1, 0}, high[] = {3, 2};
    MPI_Comm_group(all, &group);
    MPI_Group_incl(group, 3, some, &part);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_create(all, part, &comm);
        note_and_free(&comm, number + i);
        if (rank != 1)
            MPI_Comm_create_group(all, part, 5, &comm);
        note_and_free(&comm, number + 2 + i);
    }
    MPI_Group_free(&part);
    MPI_Group_incl(group, 2, rank < 2 ? low : high, &part);
    MPI_Comm_create(all, rank < 4 ? part : MPI_GROUP_EMPTY, &comm);
    note_and_free(&comm, number + 4 + (rank >= 2));
    MPI_Group_free(&part);
    MPI_Group_free(&group);
}

static void make_topologies(MPI_Comm all, int number)
{
    const int dims[] = {2, 2}, periods[] = {0, 1}, keeps[] = {0, 1}, index[] = {1, 2, 3, 4},
              edges[] = {1, 0, 3, 2};
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm cart, column, graph;
    MPI_Cart_create(all, 2, dims, periods, 1, &cart);
    if (cart != MPI_COMM_NULL) {
        int place[2], own;
        MPI_Comm_rank(cart, &own);
        MPI_Cart_coords(cart, own, 2, place);
        note(cart, number);
        MPI_Cart_sub(cart, keeps, &column);
        note_and_free(&column, number + 1 + place[0]);
        MPI_Comm_free(&cart);
    }
    MPI_Graph_create(all, 4, index, edges, 0, &graph);
    note_and_free(&graph, number + 3);
    MPI_Dist_graph_create_adjacent(all, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    note_and_free(&graph, number + 4);
}

static void make_intercomms(MPI_Comm all, int number)
{
    MPI_Comm side, both, copy, merged;
    MPI_Comm_split(all, rank % 2, -rank, &side);
    MPI_Intercomm_create(side, 0, all, size - 1 - (size - 1 - (1 - rank % 2)) % 2, 9, &both);
    note(both, number);
    MPI_Comm_dup(both, &copy);
    note(copy, number + 1);
    for (int i = 0; i < 2; i++) {
        MPI_Intercomm_merge(i ? copy : both, rank % 2, &merged);
        note_and_free(&merged, number + 2 + i);
    }
    MPI_Intercomm_merge(both, 1 - rank % 2, &merged);
    note(merged, number + 4);
    MPI_Comm_split(merged, rank / 2, rank, &copy);
    note_and_free(&copy, number + 5 + rank / 2);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&both);
    MPI_Comm_free(&side);
}

/* Calls that fail on one rank, and pauses of some, do not put the others out of step. */
static void make_after_failures(MPI_Comm all, int number)
{
    MPI_Comm comm = MPI_COMM_NULL, bad = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    const int many = 1000, no = 0;
    if (rank == 1 && MPI_Cart_create(all, 1, &many, &no, 0, &bad) == MPI_SUCCESS)
        fail("a grid of more processes than there are");
    MPI_Comm_split(all, rank / 2, rank, &comm);
    note_and_free(&comm, number + rank / 2);
    if (rank % 2)
        MPI_Pcontrol(0);
    MPI_Comm_dup(all, &comm);
    MPI_Comm_free(&comm);
    MPI_Comm_split(all, 0, size - rank, &bad);
    if (rank % 2)
        MPI_Pcontrol(1);
    note_and_free(&bad, number + 10);
    MPI_Comm_idup(all, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note_and_free(&comm, number + 11);
    MPI_Comm_split(all, rank < 3, rank, &comm);
    note_and_free(&comm, number + 12 + (rank < 3));
}

static void make_of_sessions(int number)
{
#if defined(MPI_SESSION_NULL)
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS)
        return;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_create_from_group(group, i ? "one" : "other", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &comm);
        note_and_free(&comm, number + i);
    }
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
#else
    (void)number;
#endif
}

/* Parents have 0, children 1. */
static void make_spawned(MPI_Comm parents, int number)
{
    MPI_Comm merged, part;
    note(parents, number);
    MPI_Intercomm_merge(parents, application, &merged);
    note(merged, number + 1);
    MPI_Comm_split(merged, rank % 2, rank, &part);
    note_and_free(&part, number + 2 + rank % 2);
    MPI_Comm_dup(merged, &part);
    note_and_free(&part, number + 4);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&parents);
}

static void open_list(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/list.%d.%d", folder, application, rank);
    list = fopen(path, "w");
    if (!list)
        fail("no list");
}

int main(int argc, char **argv)
{
    MPI_Comm parents, children, copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parents);
    application = parents != MPI_COMM_NULL;
    open_list(argv[1]);
    note(MPI_COMM_WORLD, application);
    if (application) {
        make_spawned(parents, 900);
    } else {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        note(copy, 2);
        for (int i = 0; i < 2; i++) {
            MPI_Comm all = i ? copy : MPI_COMM_WORLD;
            make_splits(all, 10 + i * 200);
            make_groups(all, 50 + i * 200);
            make_topologies(all, 60 + i * 200);
            make_intercomms(all, 80 + i * 200);
            make_after_failures(all, 100 + i * 200);
        }
        make_of_sessions(800);
        MPI_Comm_free(&copy);
        if (argc > 2) {
            MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                           MPI_ERRCODES_IGNORE);
            make_spawned(children, 900);
        }
    }
    fclose(list);
    MPI_Finalize();
    return 0;
}
