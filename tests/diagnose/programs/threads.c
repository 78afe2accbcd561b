/* Defects of OpenMP: a loop whose work is uneven, a critical section, a serial part; and the same
 * work without the defect. */
#include "planted.h"

#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

enum { THREADS = 4, ITERATIONS = 6, TURNS = 3, LATE = 2 };

static struct readings kept[THREADS];
static const char *phase;
static double period = 30e-3;
static const double work = 1.5e-3;

static double spend(const char *region, int iteration, double until)
{
    struct reading own = {phase, region, iteration, -1, clock_now(), 0, 0, 0};
    lull_begin(region);
    own.entered = clock_now();
    sleep_until(until);
    own.left = clock_now();
    lull_end(region);
    own.end = clock_now();
    keep_reading(&kept[omp_get_thread_num()], own);
    return own.end;
}

/* Of a span that is no region of the recorder's. */
static void keep_span(struct readings *readings, const char *what, int iteration, double begin,
                      double end)
{
    keep_reading(readings, (struct reading){phase, what, iteration, -1, begin, begin, end, end});
}

/* A parallel region, from before it begins until it has ended, by the thread that goes on. */
static void keep_region(int iteration, double begin)
{
    keep_span(&kept[0], "region", iteration, begin, clock_now());
}

static void rest(int iteration, double until)
{
    const double before = clock_now();
#pragma omp parallel num_threads(THREADS)
    spend("rest", iteration, until);
    keep_region(iteration, before);
}

/* `excess` of one thread beyond the work of all, and of all. */
static void work_loop(int iteration, double begin, double excess, double of_all)
{
    const double before = clock_now();
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++)
        spend("solve", iteration, begin + work + of_all + (i == LATE ? excess : 0));
    keep_region(iteration, before);
}

/* Three threads wait for the one with more work. */
static void loop(int iteration, double begin, double seconds)
{
    work_loop(iteration, begin, seconds / (THREADS - 1), 0);
}

/* The same work, each as much. */
static void even_loop(int iteration, double begin, double seconds)
{
    work_loop(iteration, begin, 0, seconds / (THREADS - 1) / THREADS);
}

/* How long the thread could have run and had no core so far, s; 0 where the system does not say it. */
static double without_core(void)
{
    char text[64] = "";
    double ran, delayed = 0;
    const int file = open("/proc/thread-self/schedstat", O_RDONLY);
    if (file >= 0) {
        if (read(file, text, sizeof text - 1) <= 0 || sscanf(text, "%lf %lf", &ran, &delayed) != 2)
            delayed = 0;
        close(file);
    }
    return 1e-9 * delayed;
}

/* From before a thread asks for the lock until it is inside. If it had no core for some of that, that was
 * perhaps between the reading and the question: so much later the recorder's wait may have begun. */
static void keep_lock(int iteration, double began, double inside, double delay)
{
    const double latest = began + delay < inside ? began + delay : inside;
    keep_reading(&kept[omp_get_thread_num()],
                 (struct reading){phase, "lock", iteration, -1, began, latest, inside, inside});
}

static void take_turn(int iteration, double length)
{
    const double before = without_core();
    const double began = clock_now();
#pragma omp critical(turn)
    {
        const double inside = clock_now();
        keep_lock(iteration, began, inside, without_core() - before);
        spend("update", iteration, inside + length);
    }
    spend("outside", iteration, clock_now() + length / 4);
}

/* While one thread is inside, the others wait; who has been inside has something else to do until
 * the next one is. With t threads that is about 3/4 t - 1/4 lengths lost per length inside. */
static void critical(int iteration, double begin, double seconds)
{
    const double length = seconds / TURNS / THREADS / 2.7, before = clock_now();
    (void)begin;
#pragma omp parallel num_threads(THREADS)
    for (int turn = 0; turn < TURNS && length > 0; turn++)
        take_turn(iteration, length);
    keep_region(iteration, before);
}

/* The same, and nobody has to wait. */
static void no_lock(int iteration, double begin, double seconds)
{
    const double length = seconds / TURNS / THREADS / 2.7, before = clock_now();
    (void)begin;
#pragma omp parallel num_threads(THREADS)
    for (int turn = 0; turn < TURNS; turn++) {
        spend("update", iteration, clock_now() + length);
        spend("outside", iteration, clock_now() + length / 4);
    }
    keep_region(iteration, before);
}

/* Three threads have nothing to do meanwhile. */
static void serial(int iteration, double begin, double seconds)
{
    (void)begin;
    spend("solve", iteration, clock_now() + seconds / (THREADS - 1));
}

/* Each does a part of it. */
static void no_serial(int iteration, double begin, double seconds)
{
    const double before = clock_now();
    (void)begin;
#pragma omp parallel num_threads(THREADS)
    spend("solve", iteration, clock_now() + seconds / (THREADS - 1) / THREADS);
    keep_region(iteration, before);
}

struct property {
    const char *name;
    void (*part)(int iteration, double begin, double seconds);
};

static const struct property properties[] = {
    {"imbalance", loop}, {"lock", critical},      {"serial", serial}, {"even", even_loop},
    {"free", no_lock},   {"parallel", no_serial}, {NULL, NULL}};

static void run_phase(const struct property *property, double percent, int relative)
{
    const double lost = percent / 100 * THREADS * period;
    rest(-1, clock_now() + 2e-3);
    double begin = clock_now();
    const double start = begin;
    lull_begin(phase);
    for (int i = 0; i < ITERATIONS; i++) {
        const double planned = relative ? clock_now() : start + i * period;
        property->part(i, planned, lost);
        rest(i, relative ? clock_now() + period / 2 : planned + period);
        keep_span(&kept[0], "iteration", i, begin, clock_now());
        begin = clock_now();
    }
    lull_end(phase);
}

int main(int argc, char **argv)
{
    const int relative = argc > 1 && strcmp(argv[1], "relative") == 0;
    period *= relative ? RELATIVE_LONGER : 1;
    for (int i = 1 + relative; i < argc; i++) {
        const struct property *property = properties;
        phase = argv[i];
        while (property->name && strncmp(property->name, phase, strcspn(phase, ":")) != 0)
            property++;
        if (!property->name)
            return 2;
        run_phase(property, percent_of(phase), relative);
    }
    for (int t = 0; t < THREADS; t++)
        write_readings(&kept[t], t);
    return 0;
}
