/* Lines of a .prv that stand behind later ones of their thread: a file in which lines were moved
 * down is read as the file in which they stand in order, by any number of threads of lull, as long
 * as no line is more than 1000 lines late; and is refused else. */
#include "stats/random.h"
#include "support/branches.h"
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROUNDS = 100, BOUND = 1000, MOST_LINES = 9000, MOST_THREADS = 5, MOST_TEXT = 48 << 20 };

enum { MOVED, PIECES, LONG, REFUSED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [MOVED] = {.what = "a line is late", .least = 700},
    [PIECES] = {.what = "the file has several pieces", .least = 150},
    [LONG] = {.what = "1000 lines are longer than a piece", .least = 50},
    [REFUSED] = {.what = "a line is too late", .least = 50},
};

struct line {
    uint32_t thread;
    int64_t time;
    uint64_t key;    /* lines are written in this order */
    uint32_t number; /* in the file in which all are in order */
};

static struct lull_random drawing;
static struct lull_error err;
static struct line lines[MOST_LINES];
static uint32_t n_lines, n_threads, n_pairs; /* pairs that make the lines longer */
static char *text;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)lull_random_below(&drawing, bound);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void draw_lines(void)
{
    int64_t time = 10;
    n_threads = 1 + below(MOST_THREADS);
    n_lines = below(3) ? below(MOST_LINES) + 1 : below(30) + 2;
    n_pairs = below(2) ? below(3) : below(100);
    for (uint32_t i = 0; i < n_lines; i++) {
        time += 1 + below(20);
        lines[i] = (struct line){.thread = below(n_threads), .time = time, .key = i, .number = i};
    }
}

/* A share of the lines moves down, by `far` lines at most. */
static void move_lines(uint32_t far, uint32_t one_of)
{
    for (uint32_t i = 0; i < n_lines; i++)
        if (below(one_of) == 0)
            lines[i].key += below(far + 1);
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* How many lines stand behind a later one of their thread, and by how many lines the latest is
 * late: it is compared with all lines before. */
static uint32_t count_late(uint32_t *ret_most)
{
    uint32_t late = 0;
    *ret_most = 0;
    for (uint32_t i = 0; i < n_lines; i++) {
        uint32_t first = i;
        for (uint32_t j = 0; j < i && first == i; j++)
            if (lines[j].thread == lines[i].thread && lines[j].time > lines[i].time)
                first = j;
        late += first < i;
        if (i - first > *ret_most)
            *ret_most = i - first;
    }
    return late;
}

/* The records say as much as fits in a number that is unique for the line. */
static size_t write_line(char *at, const struct line *line)
{
    const uint32_t n = line->number, thread = line->thread + 1;
    char *const begin = at;
    const long long time = line->time;
    if (n % 3 == 0)
        return (size_t)sprintf(at, "1:1:1:1:%u:%lld:%lld:%u\n", thread, time, time + n % 7,
                               n % 11 ? 1u : 77u);
    at += sprintf(at, "2:1:1:1:%u:%lld:42000050:%u:40000001:%u", thread, time, n + 1, n);
    for (uint32_t i = 0; i < n_pairs; i++)
        at += sprintf(at, ":40000018:%u", n + i);
    if (n % 3 == 1)
        at += sprintf(at, ":50000001:%u", n % 2 ? 1 + n % 4 : 0);
    return (size_t)(at - begin) + (size_t)sprintf(at, "\n");
}

static size_t write_file(const char *name, bool packed)
{
    size_t size = (size_t)sprintf(
        text, "#Paraver (01/02/2026 at 10:20):1000000_ns:1(1):1:1(%u:1),0\n", n_threads);
    for (uint32_t i = 0; i < n_lines; i++)
        size += write_line(text + size, &lines[i]);
    if (packed) {
        gzFile file = gzopen(folder_path(name), "wb1");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, text, (unsigned)size), size);
        assert_int_equal(gzclose(file), Z_OK);
    } else {
        folder_write(folder_path(name), text, size);
    }
    return size;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lull_status read_file(const char *name, unsigned workers, struct lull_trace **ret_trace,
                             struct same_sequence **ret_sequences)
{
    fail_if(lull_trace_open(folder_path(name), ret_trace, &err) != LULL_OK, "%s", err.text);
    return collect_by_scan(*ret_trace, LULL_MASK_ALL, workers, (*ret_trace)->arena, ret_sequences,
                           &err);
}

static uint64_t late_quirks(const struct lull_trace *trace)
{
    struct lull_quirk *quirks;
    uint32_t n = lull_trace_quirks(trace, trace->arena, &quirks);
    for (uint32_t i = 0; i < n; i++)
        if (strstr(quirks[i].kind, "stand behind later ones"))
            return quirks[i].count;
    return 0;
}

static void check_round(uint64_t seed)
{
    static const struct same_events_options options = {.mask = 0};
    struct lull_trace *ordered, *moved;
    struct same_sequence *expected, *got;
    draw_lines();
    write_file("ordered.prv", false);
    fail_if(read_file("ordered.prv", 1, &ordered, &expected) != LULL_OK, "%s", err.text);
    assert_int_equal(late_quirks(ordered), 0);
    if (below(2))
        move_lines(1 + below(400), 1 + below(40));
    else
        move_lines(below(1400), 100);
    qsort(lines, n_lines, sizeof *lines, compare_lines);
    uint32_t most;
    const uint32_t late = count_late(&most);
    const bool packed = below(3) == 0;
    const size_t size = write_file(packed ? "moved.prv.gz" : "moved.prv", packed);
    for (unsigned workers = 1; workers <= 3; workers++) {
        const lull_status status =
            read_file(packed ? "moved.prv.gz" : "moved.prv", workers, &moved, &got);
        if (most > BOUND) {
            assert_int_not_equal(status, LULL_OK);
            fail_if(!strstr(err.text, "expected the records of a thread in order"), "seed %llu: %s",
                    (unsigned long long)seed, err.text);
        } else {
            fail_if(status != LULL_OK, "seed %llu: late by %u: %s", (unsigned long long)seed, most,
                    err.text);
            fail_if(late_quirks(moved) != late, "seed %llu, %u workers: %u late lines, %llu told",
                    (unsigned long long)seed, workers, late,
                    (unsigned long long)late_quirks(moved));
            for (uint32_t t = 0; t < n_threads; t++)
                fail_if(!same_sequences(&expected[t], &got[t], &options, &err),
                        "seed %llu, %u workers: thread %u: %s", (unsigned long long)seed, workers,
                        t, err.text);
        }
        lull_trace_close(moved);
    }
    lull_trace_close(ordered);
    branch_reach(&branches[MOVED], late > 0);
    branch_reach(&branches[PIECES], size > 600 << 10);
    branch_reach(&branches[LONG], n_lines > BOUND && size / n_lines * BOUND > 512 << 10);
    branch_reach(&branches[REFUSED], most > BOUND);
}

static void test_late_lines(void **state)
{
    (void)state;
    const unsigned rounds = lull_test_rounds(ROUNDS);
    text = malloc(MOST_TEXT);
    assert_non_null(text);
    for (unsigned i = 0; i < rounds; i++) {
        const uint64_t seed = lull_test_seed() + i;
        lull_random_seed(&drawing, seed);
        check_round(seed);
        branches_next(branches, BRANCHES);
    }
    free(text);
    branches_assert(branches, BRANCHES, rounds);
}

static int make_folder(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

TEST_GROUP(test_paraver_late)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_late_lines, make_folder, remove_folder)};
    return run_cases(tests, NULL, NULL);
}
