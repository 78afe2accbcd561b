// Writes from known lines, for sites.py: the library of C++ makes the calls.
#include <cstdio>
#include <fstream>
#include <mpi.h>

static void __attribute__((noinline)) put(std::ofstream &out, int n)
{
    for (int i = 0; i < n; i++)
        out << i << std::flush; //@ put x5
    out.setf(std::ios::hex);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    std::ofstream out("sites_passed.out");
    put(out, 2);
    out << argc << std::flush; //@ main x1
    put(out, 3);
    out.close();
    std::remove("sites_passed.out");
    return MPI_Finalize();
}
