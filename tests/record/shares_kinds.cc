/* As shares.c, of kinds of code in C++: a member of a class template, a function template, a function that is always
 * inlined, and one of a library that is opened while the program runs, in phases.
 *
 *     shares_kinds MS LIBRARY       LIBRARY: this, compiled with -DLIBRARY
 *
 * Says "share 0 FUNCTION NS". The first and the last line of each function's loops are marked. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>

enum { CELLS = 2048, SWEEPS = 24 };

#ifdef LIBRARY

static double depth[CELLS];

extern "C" void far_away()
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) // far_away: first line
        for (int i = 1; i < CELLS; i++)
            depth[i] = 0.5 * (depth[i - 1] + depth[i]) + 1; // far_away: last line
}

#else

template <typename Number> struct Grid {
    Number cells[CELLS] = {}, next[CELLS] = {};
    void relax()
    {
        for (int sweep = 0; sweep < SWEEPS; sweep++) { // relax: first line
            for (int i = 1; i < CELLS - 1; i++)
                next[i] = (cells[i - 1] + cells[i + 1]) / 2 + 1;
            cells[1 + sweep] = next[1 + sweep]; // relax: last line
        }
    }
};

template <typename Number> static void smooth(Number *cells)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) // smooth: first line
        for (int i = 1; i < CELLS; i++)
            cells[i] = cells[i - 1] / 3 + cells[i]; // smooth: last line
}

static inline __attribute__((always_inline)) unsigned weigh(unsigned sum, unsigned value)
{
    for (int k = 0; k < 8; k++)                         // weigh: first line
        sum = (sum ^ value) * 2654435761u + (sum >> 7); // weigh: last line
    return sum;
}

static unsigned heap[CELLS];

static void work()
{
    for (int sweep = 0; sweep < SWEEPS / 4; sweep++)
        for (int i = 1; i < CELLS; i++)
            heap[i] = weigh(heap[i - 1], heap[i]);
}

static Grid<double> grid;
static float cells[CELLS];
static void (*far_away)();

static const struct {
    const char *name;
    void (*call)();
    unsigned weight[2]; // in each phase
} functions[] = {{"relax", [] { grid.relax(); }, {8, 1}},
                 {"smooth", [] { smooth(cells); }, {1, 4}},
                 {"weigh", work, {1, 2}},
                 {"far_away", [] { far_away(); }, {0, 3}}};

static int64_t now()
{
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : nullptr;
    far_away = library ? reinterpret_cast<void (*)()>(dlsym(library, "far_away")) : nullptr;
    if (!far_away)
        return 2;
    const int64_t begin = now(), length = std::atoll(argv[1]) * 1000000;
    int64_t took[4] = {};
    for (int64_t at; (at = now()) < begin + length;)
        for (int f = 0; f < 4; f++) {
            const int64_t until = at + 100000 * functions[f].weight[at > begin + length / 2];
            for (at = now(); at < until;) {
                functions[f].call();
                const int64_t after = now();
                took[f] += after - at;
                at = after;
            }
        }
    for (int f = 0; f < 4; f++)
        std::printf("share 0 %s %lld\n", functions[f].name, static_cast<long long>(took[f]));
    return 0;
}

#endif
