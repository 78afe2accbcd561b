/* Neighbourhood collectives in a graph whose nodes have different numbers of sources and targets:
 * 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 0. All forms, and the old kind of graph.
 *
 *= ranks 3
 *= * calls MPI_Dist_graph_create_adjacent x1
 *= * calls MPI_Graph_create x1
 *= * calls MPI_Comm_free x2
 *= * create in 3 root -1 sent 0 received 0 x2
 *= * free in 3 root -1 sent 0 received 0 x2
 *= * calls MPI_Neighbor_allgather x2
 *= * calls MPI_Neighbor_allgatherv x1
 *= * calls MPI_Neighbor_alltoall x1
 *= * calls MPI_Neighbor_alltoallv x1
 *= * calls MPI_Neighbor_alltoallw x1
 *= * calls MPI_Ineighbor_allgather x1
 *= * calls MPI_Ineighbor_allgatherv x1
 *= * calls MPI_Ineighbor_alltoall x1
 *= * calls MPI_Ineighbor_alltoallv x1
 *= * calls MPI_Ineighbor_alltoallw x1
 *= * calls MPI_Waitall x1
 *= 0 neighbourhood in 3 root -1 sent 4 received 4 x4
 *= 0 neighbourhood in 3 root -1 sent 16 received 8 x2
 *= 0 neighbourhood in 3 root -1 sent 24 received 12 x2
 *= 0 neighbourhood in 3 root -1 sent 64 received 32 x2
 *= 1 neighbourhood in 3 root -1 sent 4 received 4 x4
 *= 1 neighbourhood in 3 root -1 sent 8 received 8 x2
 *= 1 neighbourhood in 3 root -1 sent 12 received 12 x2
 *= 1 neighbourhood in 3 root -1 sent 32 received 32 x2
 *= 2 neighbourhood in 3 root -1 sent 4 received 8 x4
 *= 2 neighbourhood in 3 root -1 sent 8 received 16 x2
 *= 2 neighbourhood in 3 root -1 sent 12 received 24 x2
 *= 2 neighbourhood in 3 root -1 sent 32 received 64 x2
 *= 0 neighbourhood in 3 root -1 sent 20 received 20 x1
 *= 1 neighbourhood in 3 root -1 sent 20 received 40 x1
 *= 2 neighbourhood in 3 root -1 sent 20 received 20 x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    static int in[5][100], out[5][100];
    static const int n_sources[3] = {1, 1, 2}, n_targets[3] = {2, 1, 1};
    static const int sources[3][2] = {{2}, {0}, {0, 1}}, targets[3][2] = {{1, 2}, {2}, {0}};
    static const int one[2] = {1, 1}, three[2] = {3, 3}, four[2] = {4, 4}, places[2] = {0, 20};
    static const int ends[3] = {1, 3, 4}, edges[4] = {1, 0, 2, 1}; /* 0 - 1 - 2 */
    static const MPI_Aint bytes[2] = {0, 80};
    int rank;
    MPI_Comm all = MPI_COMM_WORLD, graph, line;
    MPI_Request r[5];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Dist_graph_create_adjacent(all, n_sources[rank], sources[rank], MPI_UNWEIGHTED,
                                   n_targets[rank], targets[rank], MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Neighbor_allgather(out[0], 1, MPI_INT, in[0], 1, MPI_INT, graph);
    MPI_Neighbor_allgatherv(out[0], 1, MPI_INT, in[0], one, places, MPI_INT, graph);
    MPI_Neighbor_alltoall(out[0], 2, MPI_INT, in[0], 2, MPI_INT, graph);
    MPI_Neighbor_alltoallv(out[0], three, places, MPI_INT, in[0], three, places, MPI_INT, graph);
    MPI_Neighbor_alltoallw(out[0], four, bytes, types, in[0], four, bytes, types, graph);
    MPI_Ineighbor_allgather(out[0], 1, MPI_INT, in[0], 1, MPI_INT, graph, &r[0]);
    MPI_Ineighbor_allgatherv(out[1], 1, MPI_INT, in[1], one, places, MPI_INT, graph, &r[1]);
    MPI_Ineighbor_alltoall(out[2], 2, MPI_INT, in[2], 2, MPI_INT, graph, &r[2]);
    MPI_Ineighbor_alltoallv(out[3], three, places, MPI_INT, in[3], three, places, MPI_INT, graph,
                            &r[3]);
    MPI_Ineighbor_alltoallw(out[4], four, bytes, types, in[4], four, bytes, types, graph, &r[4]);
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&graph);
    MPI_Graph_create(all, 3, ends, edges, 0, &line);
    MPI_Neighbor_allgather(out[0], 5, MPI_INT, in[0], 5, MPI_INT, line);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}
