/* The file of a node that many processes write side by side: each has a place of its own in its
 * table, more than fit into the first page; what each takes is taken by nobody else, whoever is
 * killed at that; and each number is there once. */
#include "record/core.h"

#include "record/store/container.h"
#include "stats/random.h"
#include "support/folder.h"
#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"
#include "tape/container.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE_BY_SIDE = 8, ROUNDS = 40, EXTENTS = 200, MOST_NUMBERS = 4096 };

/* What a child tells of the extents that it has: behind the last store into one, how many. */
struct told {
    uint32_t extents; /* atomic */
    uint32_t joined;  /* enum rec_joined */
};

static struct told *told; /* shared by all, by number */

/* Bytes of an extent say whose it is and which. */
static uint64_t mark_of(uint32_t process, uint32_t extent)
{
    return (uint64_t)process << 32 | extent | UINT64_C(1) << 63;
}

/* Takes extents until it is killed; `most` of them, then ends. */
static void write_on(uint32_t number, uint32_t most)
{
    const char *run = recorded_run();
    rec_process.number = number;
    told[number].joined = rec_container_join(run);
    for (uint32_t e = 0; told[number].joined == REC_JOINED && e < most; e++) {
        struct rec_extent extent;
        const size_t size = (1 + (number + e) % 3) * (size_t)LULL_TAPE_PAGE;
        uint64_t *words = rec_container_map(size, NULL, &extent);
        if (words == MAP_FAILED)
            _exit(1);
        for (size_t i = 0; i < size / sizeof *words; i++)
            words[i] = mark_of(number, e);
        rec_container_enter(&extent, LULL_TAPE_PART_RECORDS, 0);
        __atomic_store_n(&told[number].extents, e + 1, __ATOMIC_RELEASE);
        munmap(words, size);
    }
    _exit(0);
}

static pid_t begin_child(uint32_t number, uint32_t most)
{
    const pid_t child = fork();
    if (child == 0)
        write_on(number, most);
    assert_true(child > 0);
    return child;
}

/* ---- what is in the file, by its description in docs/formats/tape.md ----------------------------
 */

static const struct lull_tape_container_entry *entry_at(const unsigned char *file, uint32_t n)
{
    const struct lull_tape_container_header *header = (const void *)file;
    uint32_t place;
    const int table = lull_tape_table_behind(LULL_TAPE_FIRST_ENTRIES, n, &place);
    const size_t begin = table < 0 ? sizeof *header : header->tables[table];
    if (begin == 0)
        return NULL;
    return (const struct lull_tape_container_entry *)(const void *)(file + begin) + place;
}

/* Every extent that the process has told is there and whole, and they are in their order. Returns
 * how many it has. */
static uint32_t check_process(const unsigned char *file, size_t size, uint32_t number,
                              uint64_t place)
{
    const struct lull_tape_process_header *header = (const void *)(file + place);
    uint32_t found = 0;
    assert_int_equal(header->process, number);
    for (uint32_t n = 0; n < header->n_extents; n++) {
        uint32_t at;
        const int table = lull_tape_table_of(n, &at);
        const size_t begin = table < 0 ? place + sizeof *header : header->tables[table];
        const struct lull_tape_extent *extent =
            (const struct lull_tape_extent *)(const void *)(file + begin) + at;
        if (extent->part == LULL_TAPE_PART_NONE)
            continue;
        const size_t first = (size_t)extent->page * LULL_TAPE_PAGE;
        const size_t length = (size_t)extent->pages * LULL_TAPE_PAGE;
        assert_in_range(first + length, 0, size);
        size_t i = 0;
        uint64_t word = mark_of(number, found);
        for (; i < length && word == mark_of(number, found); i += sizeof word)
            memcpy(&word, file + first + i, sizeof word);
        assert_int_equal(word, mark_of(number, found));
        found++;
    }
    return found;
}

/* Returns how many processes are there. */
static uint32_t check_file(uint32_t first, uint32_t end)
{
    size_t size;
    unsigned char *file = folder_read(recorded_file(), &size);
    uint32_t seen = 0;
    bool *known = calloc(end + 1, sizeof *known);
    for (uint32_t n = 0;; n++) {
        const struct lull_tape_container_entry *entry = entry_at(file, n);
        if (!entry || entry->taken == 0)
            break;
        const uint32_t number = entry->taken - 1;
        assert_in_range(number, 0, end - 1);
        assert_false(known[number]);
        known[number] = true;
        if (number < first || entry->place == 0)
            continue;
        const uint32_t extents = check_process(file, size, number, entry->place);
        assert_in_range(extents, told[number].extents, told[number].extents + 1);
        seen++;
    }
    free(known);
    free(file);
    return seen;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

/* Until the child has told of so many extents; it may do more meanwhile. */
static void wait_for_extents(uint32_t number, uint32_t extents)
{
    while (__atomic_load_n(&told[number].extents, __ATOMIC_ACQUIRE) < extents)
        sched_yield();
}

/* Process 0 is this one. Children are killed at once, or behind some extent. */
static void test_killed(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(ROUNDS);
    uint32_t number = 1, waited = 0;
    for (unsigned r = 0; r < rounds; r++) {
        pid_t children[SIDE_BY_SIDE];
        for (unsigned c = 0; c < SIDE_BY_SIDE; c++)
            children[c] = begin_child(number++, EXTENTS);
        for (unsigned c = 0; c < SIDE_BY_SIDE; c++) {
            const uint32_t extents = (uint32_t)lull_random_below(&random, EXTENTS / 2);
            if (lull_random_below(&random, 4) > 0) {
                wait_for_extents(number - SIDE_BY_SIDE + c, extents);
                waited += extents > 0;
            }
            kill(children[c], SIGKILL);
        }
        for (unsigned c = 0; c < SIDE_BY_SIDE; c++)
            waitpid(children[c], NULL, 0);
    }
    const uint32_t seen = check_file(1, number);
    assert_reached("the process had begun", seen, waited, number - 1);
    assert_reached("the process is killed behind an extent", waited, (number - 1) / 2, number - 1);
}

/* Each number is taken by one of four that want it at the same time; where processes are dear, most
 * by one that is alone. */
static void test_numbers(void **state)
{
    (void)state;
    enum { FIRST = 1000, NUMBERS = 300, AT_ONCE = 4 };
    uint32_t joined = 0;
    for (uint32_t number = FIRST; number < FIRST + NUMBERS; number++) {
        const unsigned at_once = lull_test_picks(number, 8) ? AT_ONCE : 1;
        pid_t children[AT_ONCE];
        for (unsigned c = 0; c < at_once; c++) {
            children[c] = fork();
            if (children[c] == 0) {
                rec_process.number = number;
                _exit(10 + (int)rec_container_join(recorded_run()));
            }
        }
        unsigned of_number = 0;
        for (unsigned c = 0; c < at_once; c++) {
            int status;
            assert_int_equal(waitpid(children[c], &status, 0), children[c]);
            of_number += WEXITSTATUS(status) == 10 + REC_JOINED;
            assert_true(WEXITSTATUS(status) >= 10 + REC_JOINED);
        }
        assert_int_equal(of_number, 1);
        joined++;
    }
    assert_int_equal(check_file(FIRST, FIRST + NUMBERS), joined);
    assert_true(lull_tape_containers_have(recorded_run(), FIRST + NUMBERS - 1));
    assert_false(lull_tape_containers_have(recorded_run(), FIRST + NUMBERS));
}

/* The disk is full: nothing is entered, and the next one finds what there is. */
static void test_full_disk(void **state)
{
    (void)state;
    enum { NUMBER = 2000 };
    recorded_refuse_space(true);
    pid_t child = begin_child(NUMBER, 10);
    waitpid(child, NULL, 0);
    recorded_refuse_space(false);
    assert_int_equal(told[NUMBER].joined, REC_JOINED_NOT);
    child = begin_child(NUMBER + 1, 10);
    waitpid(child, NULL, 0);
    assert_int_equal(told[NUMBER + 1].extents, 10);
    assert_int_equal(check_file(NUMBER, NUMBER + 2), 1);
}

/* Opens the file of the node in `run` and ends, or is killed when it has begun and ended `stops`
 * system calls, each of which is two stops. Returns whether it was killed. */
static bool kill_at_stop(const char *run, unsigned stops)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        char path[4096];
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(lull_tape_container_open(run, path, sizeof path) >= 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    for (unsigned i = 0; i < stops && WIFSTOPPED(status); i++) {
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        return false;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return true;
}

/* Wherever the process that makes the file is killed, the next one has it, under its first name. */
static void test_killed_while_making(void **state)
{
    (void)state;
    const pid_t probe = fork();
    if (probe == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    int status;
    waitpid(probe, &status, 0);
    if (status != 0) {
        printf("skipped: no process may be traced here\n");
        skip();
    }
    unsigned stops = 0;
    for (bool killed = true; killed; stops++) {
        char run[4096], path[4096];
        snprintf(run, sizeof run, "%s/made-%u", recorded_run(), stops);
        assert_int_equal(mkdir(run, 0777), 0);
        killed = kill_at_stop(run, stops);
        const int fd = lull_tape_container_open(run, path, sizeof path);
        assert_true(fd >= 0);
        close(fd);
        assert_non_null(strstr(path, LULL_TAPE_NODE_ENDING));
        assert_null(strstr(path, "-2" LULL_TAPE_NODE_ENDING));
    }
    assert_reached("a system call of the process that makes the file", stops, 10, stops);
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_killed_while_making),
    };
    told = mmap(NULL, MOST_NUMBERS * sizeof *told, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return told == MAP_FAILED ? 1 : run_cases(all, NULL, NULL);
}

TEST_GROUP(test_container_node)
{
    setenv("LULL_RECORD_STORE", "node", 1);
    return recorded_main(tests);
}
