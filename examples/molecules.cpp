/* molecules: a hybrid program in C++, MPI and OpenMP, to try lull on.
 *
 *     mpicxx -g -O2 -fopenmp molecules.cpp -o molecules
 *     OMP_NUM_THREADS=2 mpirun -n 2 ./molecules [STEPS [dynamic]]
 *
 * The molecules of a box are shared by ranks, and those of a rank by its threads. Two things cost time: the last molecules have
 * more neighbours than the first, so that threads with equal numbers of molecules work unevenly (the word dynamic hands out
 * small pieces instead); and one thread of each rank sorts all molecules of the box while the others wait. Forces and sorting are time that
 * passes, in the place of the physics of a real program, so that they take the same on every machine. */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <string>
#include <thread>

static const int PARTICLES = 64, SORT_US = 4000;

static void work(int us)
{
    std::this_thread::sleep_for(std::chrono::microseconds(us));
}

static int neighbours(int particle, int mine)
{
    return particle < mine / 2 ? 10 : 40;
}

static double forces(int mine, bool dynamic)
{
    double energy = 0;
    if (dynamic) {
#pragma omp parallel for reduction(+ : energy) schedule(dynamic, 2)
        for (int i = 0; i < mine; i++) {
            work(25 * neighbours(i, mine));
            energy += neighbours(i, mine);
        }
    } else {
#pragma omp parallel for reduction(+ : energy) schedule(static)
        for (int i = 0; i < mine; i++) {
            work(25 * neighbours(i, mine));
            energy += neighbours(i, mine);
        }
    }
    return energy;
}

static void sort_molecules()
{
    work(SORT_US);
}

int main(int argc, char **argv)
{
    int provided, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int steps = argc > 1 ? std::atoi(argv[1]) : 20;
    const bool dynamic = argc > 2 && std::string(argv[2]) == "dynamic";
    double total = 0;
    for (int step = 0; step < steps; step++) {
        sort_molecules();
        const double energy = forces(PARTICLES / ranks, dynamic);
        MPI_Allreduce(&energy, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("%d steps, energy %.0f\n", steps, total);
    MPI_Finalize();
    return 0;
}
