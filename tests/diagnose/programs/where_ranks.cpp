// As where.c, in methods of a template: ranks compute, and meet in an allreduce.
//
// usage: where_ranks even|late|grown FILE
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mpi.h>
#include <vector>

namespace heat {

const int iterations = 50, sweeps = 32; // sweeps: between two looks at the clock, which is a call of the system

double clock_now(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

double processor_now()
{
    return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

template <typename Number> class Grid {
public:
    explicit Grid(int cells) : cells(cells), values(cells, Number(1)), next(cells, Number(0)) {}

    __attribute__((noinline)) void smooth(double until)
    {
        do
            for (int sweep = 0; sweep < sweeps; sweep++) {
                for (int i = 1; i < cells - 1; i++) // smooth: first line
                    next[i] = (values[i - 1] + 2 * values[i] + values[i + 1]) / 4; // smooth: last line
                values[sweep] = next[sweep];
            }
        while (processor_now() < until);
    }

    __attribute__((noinline)) void fill(double until)
    {
        do
            for (int sweep = 0; sweep < sweeps; sweep++)
                for (int i = 0; i < cells; i++)
                    values[i] += Number(1e-3) * next[i];
        while (processor_now() < until);
    }

    Number first() const { return values[0]; }

private:
    int cells;
    std::vector<Number> values, next;
};

} // namespace heat

int main(int argc, char **argv)
{
    int rank;
    double spent[3] = {0, 0, 0};
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const int late = !std::strcmp(argv[1], "late") && rank == 1, grown = !std::strcmp(argv[1], "grown");
    heat::Grid<double> grid(4096);
    for (int i = 0; i < heat::iterations; i++) {
        double sum = grid.first(), all;
        const double began = heat::clock_now(CLOCK_MONOTONIC), begin = heat::processor_now();
        grid.fill(begin + 4e-3 + late * 1.2e-3);
        const double middle = heat::processor_now();
        grid.smooth(middle + 6e-3 + late * 4.8e-3 + grown * 6e-3);
        const double end = heat::processor_now();
        spent[0] += middle - begin;
        spent[1] += end - middle;
        spent[2] += heat::clock_now(CLOCK_MONOTONIC) - began;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    std::snprintf(name, sizeof name, "%s.%d", argv[2], rank);
    if (FILE *file = std::fopen(name, "w")) {
        std::fprintf(file, "heat::Grid::fill %.9f\nheat::Grid::smooth %.9f\nboth %.9f\n", spent[0], spent[1], spent[2]);
        std::fclose(file);
    }
    MPI_Finalize();
    return 0;
}
