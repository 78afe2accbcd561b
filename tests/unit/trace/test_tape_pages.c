/* A tape whose newest records are in its tail, read where pages have 64 KiB: mmap below maps as
 * such a kernel does, whole pages at multiples of them. */
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/tape_maker.h"
#include "support/test.h"
#include "support/together.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 1 << 16, CHUNKS = 40, IN_TAIL = 100 };

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    size_t whole = (size + PAGE - 1) / PAGE * PAGE;
    if (!(flags & MAP_FIXED)) {
        long room = syscall(SYS_mmap, NULL, whole + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, (off_t)0);
        if (room == -1)
            return MAP_FAILED;
        address = (void *)(((uintptr_t)room + PAGE - 1) / PAGE * PAGE);
    }
    return (void *)syscall(SYS_mmap, address, whole, protection, flags | MAP_FIXED, fd, offset);
}

static void write_run(const char *run)
{
    struct definitions_maker definitions;
    struct tape_maker tape;
    run_begin(run);
    definitions_begin(&definitions, 0);
    define_region(&definitions, 0, "work");
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    const size_t in_file = (size_t)CHUNKS * LULL_TAPE_CHUNK / sizeof *tape.slots;
    for (size_t i = 0; i < in_file + IN_TAIL; i++)
        tape_call(&tape, 10 * i, 0, 5);
    tape.header.flags = LULL_TAPE_TAILED;
    tape.header.flushed = (uint64_t)CHUNKS * LULL_TAPE_CHUNK;
    char path[4500];
    snprintf(path, sizeof path, "%s/0/0.0.tail", run);
    folder_write(path, tape.slots + in_file, IN_TAIL * sizeof *tape.slots);
    tape_write(&tape, run, 0);
    snprintf(path, sizeof path, "%s/0/0.0.tape", run);
    assert_int_equal(truncate(path, LULL_TAPE_HEADER_SIZE + CHUNKS * LULL_TAPE_CHUNK), 0);
}

static void test_tail(void **state)
{
    (void)state;
    struct lull_error err;
    struct lull_trace *trace;
    struct same_sequence *sequences = NULL;
    folder_make();
    const char *run = folder_path("run");
    write_run(run);
    together_check(run);
    fail_if(lull_trace_open(run, &trace, &err) != LULL_OK ||
                collect_by_scan(trace, LULL_MASK_ALL, 1, trace->arena, &sequences, &err) != LULL_OK,
            "%s", err.text);
    const size_t count = (size_t)CHUNKS * LULL_TAPE_CHUNK / sizeof(union lull_tape_slot) + IN_TAIL;
    assert_int_equal(sequences[0].count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sequences[0].events[i].time, 10 * i);
        assert_int_equal(sequences[0].events[i].duration, 5);
    }
    lull_trace_close(trace);
    folder_remove();
}

TEST_GROUP(test_tape_pages)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tail)};
    return run_cases(tests, NULL, NULL);
}
