/* A run of a test's own making: its folder, and the trace that is read from it. */
#ifndef LULL_TESTS_TAPE_RUN_H
#define LULL_TESTS_TAPE_RUN_H

#include "base/arena.h"
#include "base/error.h"
#include "support/same_trace.h"
#include "support/tape_maker.h"
#include "trace/trace.h"

extern struct tape_run {
    const char *path;         /* an empty tape when a test begins */
    struct lull_trace *trace; /* NULL: not open */
    struct lull_arena *arena;
    struct lull_error err;
} run;

/* Fixtures of cmocka. */
int run_set_up(void **state);
int run_tear_down(void **state);

/* Opens `path` as run.trace and checks what holds for every trace, and of
 * every 16th that it says the same packed and comes back; ends the test if it does not. */
void run_open(const char *path);
void run_close(void);

/* All events of a location. */
struct same_sequence run_events(uint32_t location);
void check_event(const struct same_sequence *sequence, size_t index, unsigned kind, int64_t time);

/* A process with regions "main" (0), "MPI_Send" (1), "MPI_Recv" (2), "MPI_Isend" (3),
 * "MPI_Irecv" (4), "MPI_Waitall" (5), "MPI_Bcast" (6), "MPI_Ibarrier" (7), and communicator 0 of
 * `size` processes. */
void define_process(struct definitions_maker *maker, uint32_t process, uint32_t size);
/* Its definitions in the run, and its first tape begun. */
void begin_process(struct tape_maker *tape, uint32_t process, uint32_t size);
/* Processes of which only definitions and an empty tape matter. */
void run_empty_processes(uint32_t first, uint32_t end, uint32_t size);

#endif
