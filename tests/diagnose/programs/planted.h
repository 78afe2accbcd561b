/* What the planted programs share. Each runs phases one after the other, "NAME:PERCENT" on its
 * command line: a defect, and how much of the time of all cores others shall wait for it; 0: the
 * same program without the defect. A phase is a marked region of that name, so that it can be
 * looked at alone.
 *
 * Work is sleep, so that ranks and threads that have no core of their own do not disturb each
 * other. What really happened, the program's own clock says: it keeps a reading for each piece of
 * work and each call, and writes them to files when all is over; truth.py finds there who waited
 * for whom, and for how long.
 *
 * A reading has four times. The recorder notes the begin of a region or of a call of MPI between
 * `begin` and `entered`, and its end between `left` and `end`. A program that loses its core there
 * has this in its readings, and truth.py knows how far the recorder may be from them.
 *
 * In a program that keeps to a timetable (the usual), each iteration begins at a time that is known
 * beforehand, so that a rank that is late once is not late ever after. In one that does not
 * ("relative" first on the command line), work takes as long as it takes: a defect makes the
 * program longer, and without it the program is shorter. Its iterations are longer, so that what
 * else the machine does weighs less. */
#ifndef LULL_TESTS_DIAGNOSE_PLANTED_H
#define LULL_TESTS_DIAGNOSE_PLANTED_H

#include <lull/lull.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_READINGS = 20000, RELATIVE_LONGER = 5 };

struct reading {
    const char *phase, *what;
    int iteration, peer;              /* peer: of a message; else -1 */
    double begin, entered, left, end; /* s */
};

/* One rank or thread writes here. */
struct readings {
    struct reading list[MOST_READINGS];
    int count;
};

static inline double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void sleep_until(double when)
{
    const struct timespec until = {(time_t)when, (long)((when - (double)(time_t)when) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static inline double percent_of(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? atof(colon + 1) : 0;
}

static inline void keep_reading(struct readings *readings, struct reading reading)
{
    if (readings->count < MOST_READINGS)
        readings->list[readings->count++] = reading;
}

/* One line a reading: who phase iteration what peer begin entered left end. */
static inline void write_readings(const struct readings *readings, int who)
{
    char path[4096];
    const char *folder = getenv("PLANTED_READINGS");
    if (!folder || readings->count == MOST_READINGS)
        exit(3);
    snprintf(path, sizeof path, "%s/readings.%d", folder, who);
    FILE *file = fopen(path, "w");
    if (!file)
        exit(3);
    for (int i = 0; i < readings->count; i++) {
        const struct reading *r = &readings->list[i];
        fprintf(file, "%d %s %d %s %d %.9f %.9f %.9f %.9f\n", who, r->phase, r->iteration, r->what,
                r->peer, r->begin, r->entered, r->left, r->end);
    }
    if (fclose(file) != 0)
        exit(3);
}

#endif
