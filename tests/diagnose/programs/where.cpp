// Threads of OpenMP compute in functions of classes and templates; nothing is instrumented. How long each
// function computes, the thread's own processor clock decides.
//
// usage: where even|serial|uneven|lock FILE
//   even    all threads relax for 5 ms in each iteration
//   serial  thread 0 assembles for 5 ms before, alone
//   uneven  thread 1 relaxes for 5 ms longer
//   lock    all threads update for 4 ms in a critical section
//
// FILE gets a line for each thread and function: "THREAD NAME SECONDS", of processor time; and one for all of
// them ("both"), with the seconds that passed meanwhile.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <omp.h>
#include <vector>

namespace heat {

const int iterations = 50, threads = 2;
const int sweeps = 32; // between two looks at the clock, which is a call of the system

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

struct Spent {
    double assemble, relax, update, all;
};
Spent spent[threads];

template <typename Number> class Grid {
public:
    explicit Grid(int cells) : cells(cells), values(cells, Number(1)), next(cells, Number(0)) {}

    __attribute__((noinline)) void assemble(double seconds)
    {
        const double began = clock_now(CLOCK_MONOTONIC), begin = processor_now();
        do
            for (int sweep = 0; sweep < sweeps; sweep++)
                for (int i = 0; i < cells; i++) // assemble: first line
                    values[i] = values[i] * Number(0.5) + next[i]; // assemble: last line
        while (processor_now() < begin + seconds);
        spent[omp_get_thread_num()].assemble += processor_now() - begin;
        spent[omp_get_thread_num()].all += clock_now(CLOCK_MONOTONIC) - began;
    }

    __attribute__((noinline)) void relax(double seconds)
    {
        const double began = clock_now(CLOCK_MONOTONIC), begin = processor_now();
        do
            for (int sweep = 0; sweep < sweeps; sweep++)
                for (int i = 1; i < cells - 1; i++) // relax: first line
                    next[i] = Number(0.5) * (values[i - 1] + values[i + 1]); // relax: last line
        while (processor_now() < begin + seconds);
        spent[omp_get_thread_num()].relax += processor_now() - begin;
        spent[omp_get_thread_num()].all += clock_now(CLOCK_MONOTONIC) - began;
    }

    __attribute__((noinline)) void update(double seconds)
    {
        const double began = clock_now(CLOCK_MONOTONIC), begin = processor_now();
        do
            for (int sweep = 0; sweep < sweeps; sweep++)
                for (int i = 0; i < cells; i++) // update: first line
                    values[i] += Number(1e-3) * next[i]; // update: last line
        while (processor_now() < begin + seconds);
        spent[omp_get_thread_num()].update += processor_now() - begin;
        spent[omp_get_thread_num()].all += clock_now(CLOCK_MONOTONIC) - began;
    }

private:
    int cells;
    std::vector<Number> values, next;
};

} // namespace heat

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const bool serial = !std::strcmp(argv[1], "serial"), uneven = !std::strcmp(argv[1], "uneven");
    const bool lock = !std::strcmp(argv[1], "lock");
    heat::Grid<double> shared(2048);
    omp_set_num_threads(heat::threads);
    for (int i = 0; i < heat::iterations; i++) {
        if (serial)
            shared.assemble(5e-3);
#pragma omp parallel
        {
            heat::Grid<double> own(2048);
            own.relax(5e-3 + 5e-3 * (uneven && omp_get_thread_num() == 1));
            if (lock) {
#pragma omp critical
                shared.update(4e-3);
            }
        }
    }
    if (FILE *file = std::fopen(argv[2], "w")) {
        for (int t = 0; t < heat::threads; t++)
            std::fprintf(file, "%d heat::Grid::assemble %.9f\n%d heat::Grid::relax %.9f\n%d heat::Grid::update %.9f\n%d both %.9f\n",
                         t, heat::spent[t].assemble, t, heat::spent[t].relax, t, heat::spent[t].update, t, heat::spent[t].all);
        std::fclose(file);
    }
    return 0;
}
