#include "support/tape_run.h"

#include "support/check_trace.h"
#include "support/folder.h"
#include "support/packed.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/format.h"

#include <stddef.h>
#include <stdio.h>

struct tape_run run;

int run_set_up(void **state)
{
    static char path[4400];
    (void)state;
    folder_make();
    snprintf(path, sizeof path, "%s", folder_path("run"));
    run.path = path;
    run_begin(path);
    run.arena = lull_arena_create(NULL);
    return 0;
}

int run_tear_down(void **state)
{
    (void)state;
    run_close();
    lull_arena_destroy(run.arena);
    folder_remove();
    return 0;
}

void run_open(const char *path)
{
    packed_check_some(path);
    together_check(path);
    struct lull_error broken;
    fail_if(lull_trace_open(path, &run.trace, &run.err) != LULL_OK, "%s", run.err.text);
    lull_status status = check_trace(run.trace, 1, &run.err, &broken);
    fail_if(status != LULL_OK, "%s%s", broken.text, broken.text[0] ? "" : run.err.text);
}

void run_close(void)
{
    lull_trace_close(run.trace);
    run.trace = NULL;
}

struct same_sequence run_events(uint32_t location)
{
    struct same_sequence sequence;
    assert_int_equal(collect_by_cursor(run.trace, location, 0, run.arena, &sequence, &run.err),
                     LULL_OK);
    return sequence;
}

void check_event(const struct same_sequence *sequence, size_t index, unsigned kind, int64_t time)
{
    assert_true(index < sequence->count);
    assert_string_equal(lull_event_kind_name(sequence->events[index].kind),
                        lull_event_kind_name(kind));
    assert_int_equal(sequence->events[index].time, time);
}

void define_process(struct definitions_maker *maker, uint32_t process, uint32_t size)
{
    static const char *const names[] = {"main",      "MPI_Send",    "MPI_Recv",  "MPI_Isend",
                                        "MPI_Irecv", "MPI_Waitall", "MPI_Bcast", "MPI_Ibarrier"};
    definitions_begin(maker, process);
    for (uint32_t r = 0; r < sizeof names / sizeof *names; r++)
        define_region(maker, r, names[r]);
    define_comm(maker, 0, 1, size, NULL, UINT32_MAX, "world");
}

void begin_process(struct tape_maker *tape, uint32_t process, uint32_t size)
{
    struct definitions_maker definitions;
    define_process(&definitions, process, size);
    definitions_write(&definitions, run.path);
    tape_begin(tape, process, 0);
}

void run_empty_processes(uint32_t first, uint32_t end, uint32_t size)
{
    for (uint32_t p = first; p < end; p++) {
        struct tape_maker tape;
        begin_process(&tape, p, size);
        tape_write(&tape, run.path, 0);
    }
}
