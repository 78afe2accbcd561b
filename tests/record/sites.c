/* MPI calls from many places, for sites.py: a line with "@ NAME xN" makes N calls in function NAME,
 * which the run must show. Built in several ways; one process is enough. */
#include <alloca.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static char buffer[8], received[8];
static volatile int sink;

static inline __attribute__((always_inline)) void inlined(void)
{
    MPI_Barrier(MPI_COMM_SELF); /* @ inlined x7 */
}

NOINLINE static void exchange(void)
{
    MPI_Sendrecv(buffer, 8, MPI_BYTE, 0, 1, received, 8, MPI_BYTE, 0, 1, /* @ exchange x5 */
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    sink++;
}

/* Two functions by one pointer and one line: told apart by what is called. */
NOINLINE static void by_pointer(int (*function)(MPI_Comm))
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm); /* @ by_pointer x2 */
    if (function)
        function(comm);   /* @ by_pointer x1 */
    MPI_Comm_free(&comm); /* @ by_pointer x2 */
}

NOINLINE static void recursive(int depth)
{
    if (depth == 0)
        MPI_Barrier(MPI_COMM_SELF); /* @ recursive x3 */
    else
        recursive(depth - 1);
    sink++;
}

/* How far its frame is from the caller's is different each time. */
NOINLINE static void varies(int size)
{
    char *space = alloca((size_t)size);
    memset(space, 1, (size_t)size);
    sink += space[size - 1];
    exchange();
    sink++;
}

NOINLINE static void meet(int exchanges, int meets)
{
    if (exchanges)
        MPI_Sendrecv(buffer, 8, MPI_BYTE, 0, 1, received, 8, MPI_BYTE, 0, 1, /* @ meet x2 */
                     MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (meets)
        MPI_Barrier(MPI_COMM_SELF); /* @ meet x2 */
    sink++;
}

static void *return_address; /* of the call that first_caller has made */

/* As `varies`. Its space holds an address where another call of this function had its return
 * address. */
NOINLINE static void deceives(int words, void *address, int exchanges, int meets)
{
    void **space = alloca((size_t)words * sizeof *space);
    for (int i = 0; i < words; i++)
        space[i] = address;
    sink += space[words / 2] != NULL;
    if (!return_address)
        return_address = __builtin_return_address(0);
    meet(exchanges, meets);
    sink += space[words / 2] != NULL;
}

NOINLINE static void first_caller(int words)
{
    deceives(words, NULL, 1, 1);
    sink++;
}

NOINLINE static void second_caller(int words, void *address, int meets)
{
    deceives(words, address, !meets, meets);
    sink++;
}

static void in_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*call)(void) = NULL;
    void *symbol = library ? dlsym(library, "library_call") : NULL;
    memcpy(&call, &symbol, sizeof call);
    if (call)
        call();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv); /* @ main x1 */
    for (int i = 0; i < 7; i++)
        inlined();
    exchange();
    exchange();
    for (int i = 1; i <= 3; i++)
        varies(i * 100);
    first_caller(8 + 0 * sink);
    second_caller(64 + 0 * sink, NULL, 0);
    second_caller(64 + 0 * sink, return_address, 1);
    by_pointer(MPI_Barrier);
    by_pointer(NULL);
    for (int i = 1; i <= 3; i++)
        recursive(i);
    if (argc > 1)
        in_library(argv[1]);
    MPI_Finalize(); /* @ main x1 */
    return sink < 0;
}
