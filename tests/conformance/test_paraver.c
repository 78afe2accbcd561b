/* Real Paraver traces, read by lull and by a slow parser of our own that shares nothing with it:
 * the numbers of states, events, messages and counted instructions must be the same. */
#include "metrics/breakdown.h"
#include "support/folder.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { SKIPPED = 77, LOCATIONS = 32, STATES = 32, TYPES = 4096 };

static const char *traces;
static struct lull_error err;

/* What both count. Types of events are told apart where lull keeps them apart. */
struct count {
    uint64_t states[STATES];
    int64_t running[LOCATIONS];
    uint64_t instructions, cycles; /* sums over all readings */
    uint64_t mpi_begins, mpi_ends, omp_begins, omp_ends, markers, messages, bytes, collectives;
    uint64_t sent; /* bytes of collectives */
};

/* ---- the slow parser ------------------------------------------------------------------------- */

struct slow {
    struct count count;
    int first[8]; /* location of the first task, per application */
    int open[LOCATIONS][5];
    /* which counters a location has read at the time of its last line */
    long long last_time[LOCATIONS];
    char seen[LOCATIONS][TYPES];
};

static bool is_counter(long long type)
{
    return type / 1000000 == 42 || type / 1000000 == 44 || type / 1000000 == 46;
}

static bool in_list(long long type, const long long *list)
{
    while (*list && *list != type)
        list++;
    return *list != 0;
}

static void slow_event(struct slow *slow, int location, long long time, long long type,
                       unsigned long long value)
{
    static const long long omp[] = {60000001, 60000006, 60000018, 0};
    static const long long no_marker[] = {40000003, 50000061, 50100001, 50100002,
                                          50100003, 50100004, 0};
    struct count *count = &slow->count;
    if (slow->last_time[location] != time) {
        slow->last_time[location] = time;
        memset(slow->seen[location], 0, sizeof slow->seen[location]);
    }
    if (type >= 50000001 && type <= 50000005) {
        int *open = &slow->open[location][type - 50000001];
        count->mpi_begins += value != 0;
        count->mpi_ends += value == 0 && *open;
        *open = value != 0;
    } else if (in_list(type, omp)) {
        count->omp_begins += value != 0;
    } else if (is_counter(type)) {
        char *seen = &slow->seen[location][type % TYPES];
        if (!*seen && type == 42000050)
            count->instructions += value;
        if (!*seen && type == 42000059)
            count->cycles += value;
        *seen = 1;
    } else if (!in_list(type, no_marker)) {
        count->markers++;
    }
    if (type == 50100001) /* Extrae writes the sizes once, on the line of the begin */
        count->sent += value;
}

static int slow_location(const struct slow *slow, int application, int task, int thread)
{
    return slow->first[application - 1] + task - 1 + thread - 1; /* one of the two is always 1 */
}

static void slow_line(struct slow *slow, char *line)
{
    char *save = NULL;
    long long fields[64];
    int n = 0;
    for (char *field = strtok_r(line, ":\n", &save); field && n < 64;
         field = strtok_r(NULL, ":\n", &save))
        fields[n++] = (long long)strtoull(field, NULL, 10);
    if (fields[0] == 3) {
        slow->count.messages++;
        slow->count.bytes += (unsigned long long)fields[13];
        return;
    }
    int location = slow_location(slow, (int)fields[2], (int)fields[3], (int)fields[4]);
    if (fields[0] == 1 && fields[6] > fields[5]) {
        slow->count.states[fields[7]]++;
        if (fields[7] == 1)
            slow->count.running[location] += fields[6] - fields[5];
    }
    for (int i = 6; fields[0] == 2 && i + 1 < n; i += 2)
        slow_event(slow, location, fields[5], fields[i], (unsigned long long)fields[i + 1]);
}

static struct slow *read_slowly(const char *path, int second_application)
{
    static char line[1 << 16];
    struct slow *slow = calloc(1, sizeof *slow);
    gzFile in = gzopen(path, "rb"); /* reads plain files too */
    assert_non_null(in);
    slow->first[1] = second_application;
    for (int l = 0; l < LOCATIONS; l++)
        slow->last_time[l] = -1;
    while (gzgets(in, line, sizeof line))
        if (line[0] >= '1' && line[0] <= '3')
            slow_line(slow, line);
    gzclose(in);
    return slow;
}

/* ---- lull ------------------------------------------------------------------------------------ */

struct reading {
    const struct lull_trace *trace;
    struct count count;
};

static void add_region(struct reading *reading, const struct lull_event *event)
{
    const struct lull_region *region = &reading->trace->regions[event->id];
    bool mpi = region->paradigm == LULL_PARADIGM_MPI;
    bool omp = region->paradigm == LULL_PARADIGM_OPENMP || region->parallel;
    if (event->kind == LULL_EVENT_ENTER) {
        reading->count.mpi_begins += mpi;
        reading->count.omp_begins += omp;
    } else {
        reading->count.mpi_ends += mpi;
        reading->count.omp_ends += omp;
    }
}

static void add_readings(struct reading *reading, const struct lull_event *event)
{
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_counter_reading *value = &event->readings.values[i];
        uint64_t type = reading->trace->counters[value->counter].source_id;
        reading->count.instructions += type == 42000050 ? value->value : 0;
        reading->count.cycles += type == 42000059 ? value->value : 0;
    }
}

static lull_status add_block(void *context, unsigned worker, const struct lull_block *block,
                             struct lull_error *unused)
{
    struct reading *reading = context;
    (void)worker;
    (void)unused;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        if (event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_LEAVE) {
            add_region(reading, event);
        } else if (event->kind == LULL_EVENT_COUNTERS) {
            add_readings(reading, event);
        } else if (event->kind == LULL_EVENT_STATE) {
            uint32_t number = reading->trace->states[event->id].number;
            reading->count.states[number]++;
            if (number == 1)
                reading->count.running[block->location] += event->duration;
        } else if (event->kind == LULL_EVENT_RECV) {
            reading->count.messages++;
            reading->count.bytes += event->message.bytes;
        } else if (event->kind == LULL_EVENT_COLLECTIVE_END) {
            reading->count.collectives++;
            reading->count.sent += event->collective.sent;
        } else if (event->kind == LULL_EVENT_MARKER) {
            reading->count.markers++;
        }
    }
    return LULL_OK;
}

static void compare(const char *path, const struct count *slow)
{
    struct lull_trace *trace;
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK, "%s", err.text);
    struct reading reading = {.trace = trace};
    struct lull_visitor visitor = {.context = &reading, .block = add_block};
    struct lull_scan_options options = {.application = LULL_NONE};
    fail_if(lull_scan(trace, &options, &visitor, &err) != LULL_OK, "%s", err.text);
    const struct count *fast = &reading.count;
    for (int s = 0; s < STATES; s++)
        assert_int_equal(slow->states[s], fast->states[s]);
    for (int l = 0; l < LOCATIONS; l++)
        assert_int_equal(slow->running[l], fast->running[l]);
    assert_true(slow->instructions == fast->instructions);
    assert_true(slow->cycles == fast->cycles);
    assert_int_equal(slow->mpi_begins, fast->mpi_begins);
    assert_int_equal(slow->mpi_ends, fast->mpi_ends);
    assert_int_equal(slow->omp_begins, fast->omp_begins);
    assert_int_equal(fast->omp_begins, fast->omp_ends);
    assert_int_equal(slow->markers, fast->markers);
    assert_int_equal(slow->messages, fast->messages);
    assert_int_equal(slow->bytes, fast->bytes);
    assert_int_equal(slow->sent, fast->sent);
    lull_trace_close(trace);
}

static void test_against_slow_parser(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int second_application; /* where its locations begin */
    } files[] = {{"epoch-mpi/epoch_1proc.prv.gz", 0},
                 {"epoch-mpi/epoch_4proc.prv.gz", 0},
                 {"epoch-mpi/epoch_8proc.prv.gz", 0},
                 {"imagemagick-omp/omp1.prv.gz", 0},
                 {"imagemagick-omp/omp4.prv.gz", 0},
                 {"lulesh-prv/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv", 8}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", traces, files[i].name);
        struct slow *slow = read_slowly(path, files[i].second_application);
        print_message("%s\n", files[i].name);
        compare(path, &slow->count);
        free(slow);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct lull_breakdown *break_down(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_breakdown_options options = {.reading =
                                                       &(const struct lull_reading){.workers = 1}};
    struct lull_breakdown *breakdown;
    fail_if(lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK, "%s",
            err.text);
    return breakdown;
}

static void check_same(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    assert_int_equal(a->n_threads, b->n_threads);
    assert_int_equal(a->runtime_ns, b->runtime_ns);
    uint32_t counters = 0;
    for (uint32_t t = 0; t < a->n_threads; t++) {
        assert_memory_equal(&a->threads[t].times, &b->threads[t].times, sizeof a->threads[t].times);
        for (uint32_t c = 0; c < a->n_counters; c++)
            for (uint32_t d = 0; d < b->n_counters; d++)
                if (strcmp(a->counters[c].name, b->counters[d].name) == 0) {
                    assert_memory_equal(&a->threads[t].counters[c * LULL_ACTIVITIES],
                                        &b->threads[t].counters[d * LULL_ACTIVITIES],
                                        LULL_ACTIVITIES * sizeof(uint64_t));
                    counters++;
                }
    }
    assert_int_equal(counters, a->n_threads * a->n_counters);
}

static void test_written_again(void **state)
{
    (void)state;
    static const char *const names[] = {
        "epoch-mpi/epoch_4proc.prv.gz", "imagemagick-omp/omp4.prv.gz",
        "lulesh-prv/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv"};
    folder_make();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096];
        struct lull_trace *original = NULL, *copy = NULL;
        struct lull_arena *arena = lull_arena_create(NULL);
        snprintf(path, sizeof path, "%s/%s", traces, names[i]);
        fail_if(lull_trace_open(path, &original, &err) != LULL_OK ||
                    lull_convert(original, folder_path("copy.prv"), lull_format_find("paraver"),
                                 true, NULL, NULL, &err) != LULL_OK ||
                    lull_trace_open(folder_path("copy.prv"), &copy, &err) != LULL_OK,
                "%s", err.text);
        check_same(break_down(original, arena), break_down(copy, arena));
        lull_arena_destroy(arena);
        lull_trace_close(copy);
        lull_trace_close(original);
    }
    folder_remove();
}

TEST_GROUP(test_paraver)
{
    struct stat info;
    traces = getenv("LULL_CONFORMANCE_DIR");
    if (!traces || !*traces)
        traces = "../../shared/traces"; /* beside the checkout, seen from tests/ */
    if (stat(traces, &info) != 0) {
        printf("skipped: no conformance traces at '%s' (LULL_CONFORMANCE_DIR)\n", traces);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_slow_parser),
        cmocka_unit_test(test_written_again),
    };
    return run_cases(tests, NULL, NULL);
}
