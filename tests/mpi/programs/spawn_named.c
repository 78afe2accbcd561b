/* As spawn_alone.c: of a program that is found by its name.
 *
 *= ranks 1
 *= alone
 *= spawns 1 1
 *= 0 calls MPI_Init x1
 *= 0 calls MPI_Finalize x1
 *= 1/0 calls MPI_Init x1
 *= 1/0 calls MPI_Finalize x1
 *= 0 calls MPI_Comm_spawn x1
 *= 0 create in 1 root -1 sent 0 received 0 x1
 *= 0 calls MPI_Recv x1
 *= 0 calls MPI_Comm_disconnect x1
 *= 0 free in 1 root -1 sent 0 received 0 x1
 *= 0 receives 1/0 tag 1 bytes 8192 in 1 x1
 *= 1/0 calls MPI_Send x1
 *= 1/0 sends 0 tag 1 bytes 8192 in 1 x1
 *= 1/0 calls MPI_Comm_disconnect x1
 *= 1/0 free in 1 root -1 sent 0 received 0 x1
 */
#define BY_NAME
#define FOLDER NULL
#include "spawn_alone.c"
