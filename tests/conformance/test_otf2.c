/* Real archives of Score-P and EZTrace: counts as otf2-print counts them, messages matched, clocks
 * corrected. */
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SKIPPED = 77 };

static const char *folder;
static struct lull_error err;
static struct lull_arena *arena;

static const char sst[] = "sstmacro-scorep-mpi10-otf2/traces.otf2";
static const char pipit[] = "pipit-pingpong-otf2-papi/traces.otf2";
static const char ez_mpi[] = "eztrace-mpi4-jacobi/eztrace_log.otf2";
static const char ez_hybrid[] = "eztrace-hybrid2x2-pomp-jacobi/eztrace_log.otf2";
static const char cuda[] = "casita-cuda-simple/traces.otf2";

static struct lull_trace *must_open(const char *name)
{
    struct lull_trace *trace;
    fail_if(lull_trace_open(lull_arena_printf(arena, "%s/%s", folder, name), &trace, &err) !=
                LULL_OK,
            "%s", err.text);
    return trace;
}

/* ---- several at once -------------------------------------------------------------------------- */

static void test_together(void **state)
{
    static const char *const names[] = {sst, pipit, ez_mpi, ez_hybrid, cuda};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        together_check(lull_arena_printf(arena, "%s/%s", folder, names[i]));
}

/* ---- the same counts as otf2-print ----------------------------------------------------------- */

/* otf2-print's names of records, and ours; several of theirs may be one of ours. */
static const struct {
    const char *name;
    uint8_t kind;
} record_names[] = {
    {"ENTER", LULL_EVENT_ENTER},
    {"LEAVE", LULL_EVENT_LEAVE},
    {"MPI_SEND", LULL_EVENT_SEND},
    {"MPI_ISEND", LULL_EVENT_SEND},
    {"MPI_ISEND_COMPLETE", LULL_EVENT_SEND_DONE},
    {"MPI_IRECV_REQUEST", LULL_EVENT_RECV_POST},
    {"MPI_RECV", LULL_EVENT_RECV},
    {"MPI_IRECV", LULL_EVENT_RECV},
    {"MPI_COLLECTIVE_BEGIN", LULL_EVENT_COLLECTIVE_BEGIN},
    {"MPI_COLLECTIVE_END", LULL_EVENT_COLLECTIVE_END},
    {"THREAD_FORK", LULL_EVENT_FORK},
    {"THREAD_JOIN", LULL_EVENT_JOIN},
    {"THREAD_TEAM_BEGIN", LULL_EVENT_TEAM_BEGIN},
    {"THREAD_TEAM_END", LULL_EVENT_TEAM_END},
    {"THREAD_BEGIN", LULL_EVENT_THREAD_BEGIN},
    {"THREAD_END", LULL_EVENT_THREAD_END},
    {"PROGRAM_BEGIN", LULL_EVENT_THREAD_BEGIN},
    {"PROGRAM_END", LULL_EVENT_THREAD_END},
    {"METRIC", LULL_EVENT_COUNTERS},
};

struct counts {
    uint64_t kinds[LULL_EVENT_KINDS];
};

static uint32_t location_with(const struct lull_trace *trace, uint64_t id)
{
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].source_id == id)
            return l;
    fail_msg("no location %" PRIu64, id);
    return 0;
}

static void count_printed(const struct lull_trace *trace, struct counts *counts)
{
    char line[4096], name[64];
    uint64_t id;
    FILE *print = popen(lull_arena_printf(arena, "otf2-print '%s' 2>/dev/null", trace->path), "r");
    assert_non_null(print);
    while (fgets(line, sizeof line, print)) {
        if (sscanf(line, "%63s %" SCNu64, name, &id) != 2)
            continue;
        for (size_t i = 0; i < sizeof record_names / sizeof *record_names; i++)
            if (strcmp(name, record_names[i].name) == 0)
                counts[location_with(trace, id)].kinds[record_names[i].kind]++;
    }
    pclose(print);
}

/* As the file has them: below the scan, which repairs the nesting. */
static void count_read(const struct lull_trace *trace, struct counts *counts)
{
    enum { CAPACITY = 64 };
    struct lull_event events[CAPACITY];
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        void *stream;
        size_t got = 1;
        assert_int_equal(trace->format->reader->stream_open(trace, l, LULL_MASK_ALL, &stream, &err),
                         LULL_OK);
        while (got > 0) {
            assert_int_equal(
                trace->format->reader->stream_read(stream, events, CAPACITY, &got, &err), LULL_OK);
            for (size_t i = 0; i < got; i++) {
                counts[l].kinds[events[i].kind]++;
                assert_in_range(events[i].time, 0, trace->duration);
            }
        }
        trace->format->reader->stream_close(stream);
    }
}

static void test_counts(void **state)
{
    static const struct {
        const char *name;
        uint64_t events;
    } archives[] = {{sst, 22180}, {pipit, 204}, {ez_mpi, 0}, {ez_hybrid, 0}}; /* 0: unknown */
    (void)state;
    if (system("command -v otf2-print >/dev/null") != 0) {
        printf("skipped: otf2-print was not found\n");
        skip();
    }
    for (size_t a = 0; a < sizeof archives / sizeof *archives; a++) {
        /* libotf2 clears a chunk of 16 MiB for each reader of an archive of EZTrace. */
        if (a > 1 && !lull_test_picks(a, 2 * sizeof archives / sizeof *archives))
            continue;
        struct lull_trace *trace = must_open(archives[a].name);
        struct counts *printed = lull_arena_zero(arena, trace->n_locations, sizeof *printed);
        struct counts *read = lull_arena_zero(arena, trace->n_locations, sizeof *read);
        uint64_t sum = 0;
        count_printed(trace, printed);
        count_read(trace, read);
        for (uint32_t l = 0; l < trace->n_locations; l++)
            for (unsigned k = 0; k < LULL_EVENT_KINDS; k++) {
                fail_if(printed[l].kinds[k] != read[l].kinds[k],
                        "%s: location %u: %s: %" PRIu64 ", otf2-print has %" PRIu64,
                        archives[a].name, l, lull_event_kind_name(k), read[l].kinds[k],
                        printed[l].kinds[k]);
                sum += read[l].kinds[k];
            }
        assert_true(sum > 100);
        if (archives[a].events > 0)
            assert_true(sum == archives[a].events);
        lull_trace_close(trace);
    }
}

/* ---- SST/macro ------------------------------------------------------------------------------- */

struct message {
    uint32_t comm, source, destination;
    int32_t tag;
    bool receive;
    uint32_t number; /* in its channel */
    int64_t time;
    uint64_t bytes;
};

static int compare_channels(const struct message *a, const struct message *b)
{
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->destination != b->destination)
        return a->destination < b->destination ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

/* By channel, sends before receives, each in order. */
static int compare_messages(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    int order = compare_channels(a, b);
    if (order == 0)
        order = a->receive - b->receive;
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static size_t collect_messages(const struct lull_trace *trace, struct message *messages)
{
    size_t count = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct same_sequence sequence;
        assert_int_equal(collect_by_cursor(trace, l, 0, arena, &sequence, &err), LULL_OK);
        for (size_t i = 0; i < sequence.count; i++) {
            const struct lull_event *event = &sequence.events[i];
            if (event->kind != LULL_EVENT_SEND && event->kind != LULL_EVENT_RECV)
                continue;
            bool receive = event->kind == LULL_EVENT_RECV;
            uint32_t self = trace->locations[l].process, peer = (uint32_t)event->message.peer;
            assert_in_range(peer, 0, trace->n_processes - 1);
            messages[count] = (struct message){.comm = event->id,
                                               .source = receive ? peer : self,
                                               .destination = receive ? self : peer,
                                               .tag = event->message.tag,
                                               .receive = receive,
                                               .number = (uint32_t)count,
                                               .time = event->time,
                                               .bytes = event->message.bytes};
            count++;
        }
    }
    return count;
}

static void test_messages(void **state)
{
    enum { MESSAGES = 2880 };
    (void)state;
    struct lull_trace *trace = must_open(sst);
    struct message *messages = lull_arena_zero(arena, 2 * MESSAGES, sizeof *messages);
    assert_int_equal(collect_messages(trace, messages), MESSAGES);
    qsort(messages, MESSAGES, sizeof *messages, compare_messages);
    size_t pairs = 0;
    for (size_t first = 0; first < MESSAGES;) {
        size_t sends = 0, receives = 0;
        while (first + sends < MESSAGES && !messages[first + sends].receive &&
               compare_channels(&messages[first], &messages[first + sends]) == 0)
            sends++;
        const struct message *received = &messages[first + sends];
        while (received + receives < messages + MESSAGES && received[receives].receive &&
               compare_channels(&messages[first], &received[receives]) == 0)
            receives++;
        assert_true(sends > 0 && sends == receives);
        for (size_t i = 0; i < sends; i++) {
            assert_true(messages[first + i].bytes == received[i].bytes);
            assert_true(messages[first + i].time < received[i].time);
        }
        pairs += sends;
        first += 2 * sends;
    }
    assert_int_equal(pairs, MESSAGES / 2);
    lull_trace_close(trace);
}

/* The program reduces and gathers the same sizes among all ranks and alone: so the bytes of one
 * rank do not depend on the communicator. */
static void test_bytes_of_collectives(void **state)
{
    (void)state;
    struct lull_trace *trace = must_open(sst);
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX}, most[2] = {0, 0};
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct same_sequence events;
        assert_int_equal(
            collect_by_cursor(trace, l, LULL_MASK(LULL_EVENT_COLLECTIVE_END), arena, &events, &err),
            LULL_OK);
        for (size_t i = 0; i < events.count; i++) {
            const struct lull_event *event = &events.events[i];
            uint32_t size = trace->comms[event->id].size;
            if (event->op != LULL_COLLECTIVE_ALLREDUCE || (size != 1 && size != 10))
                continue;
            assert_true(event->collective.sent == event->collective.received);
            uint64_t bytes = event->collective.sent;
            least[size > 1] = bytes < least[size > 1] ? bytes : least[size > 1];
            most[size > 1] = bytes > most[size > 1] ? bytes : most[size > 1];
        }
    }
    assert_int_equal(least[0], 4);
    assert_int_equal(least[1], least[0]);
    assert_int_equal(most[1], most[0]);
    lull_trace_close(trace);
}

static void test_sst_definitions(void **state)
{
    (void)state;
    struct lull_trace *trace = must_open(sst);
    struct lull_quirk *quirks;
    assert_int_equal(trace->n_processes, 10);
    assert_int_equal(trace->n_comms, 8);
    assert_string_equal(trace->producer, "Score-P 2.0.2");
    for (uint32_t p = 0; p < 10; p++) { /* one process per node, "kn1.eth" to "kn10.eth" */
        char name[16];
        snprintf(name, sizeof name, "kn%u.eth", p + 1);
        assert_string_equal(trace->nodes[trace->processes[p].node].name, name);
    }
    /* 2491054360 ticks of 1995386627 Hz */
    assert_int_equal(trace->duration, 1248406863);
    assert_int_equal(lull_trace_quirks(trace, arena, &quirks), 0);
    lull_trace_close(trace);
}

/* ---- Pipit ----------------------------------------------------------------------------------- */

/* Totals of the first and the last reading as otf2-print prints them for location 0. */
static void test_pipit_counters(void **state)
{
    (void)state;
    struct lull_trace *trace = must_open(pipit);
    struct same_sequence sequence;
    assert_int_equal(trace->n_counters, 3);
    assert_string_equal(trace->counters[0].name, "PAPI_TOT_CYC");
    assert_string_equal(trace->counters[1].name, "PAPI_L2_TCM");
    assert_string_equal(trace->counters[2].name, "PAPI_BR_MSP");
    assert_int_equal(trace->counters[0].role, LULL_COUNTER_CYCLES);
    assert_int_equal(collect_by_cursor(trace, 0, 0, arena, &sequence, &err), LULL_OK);
    uint64_t records = 0, first = 0, second = 0;
    for (size_t i = 0; i < sequence.count; i++) {
        if (sequence.events[i].kind != LULL_EVENT_COUNTERS)
            continue;
        assert_int_equal(sequence.events[i].readings.count, 3);
        records++;
        first = records == 1 ? sequence.events[i].readings.values[0].value : first;
        second = records == 2 ? sequence.events[i].readings.values[0].value : second;
    }
    assert_true(records == 42);
    assert_true(first == 98850);
    assert_true(second == 122765 - 98850);
    lull_trace_close(trace);
}

/* ---- EZTrace --------------------------------------------------------------------------------- */

static bool has_quirk(const struct lull_trace *trace, const char *part)
{
    struct lull_quirk *quirks;
    uint32_t count = lull_trace_quirks(trace, arena, &quirks);
    for (uint32_t q = 0; q < count; q++)
        if (strstr(quirks[q].kind, part))
            return true;
    return false;
}

static void test_eztrace(void **state)
{
    (void)state;
    struct same_sequence *sequences;
    struct lull_trace *trace = must_open(ez_mpi);
    assert_int_equal(trace->n_processes, 4);
    assert_string_equal(trace->producer, "EZTrace");
    assert_int_equal(trace->duration, 230039392); /* the last event, not the length it claims */
    assert_int_equal(collect_by_scan(trace, 0, 2, arena, &sequences, &err), LULL_OK);
    assert_true(has_quirk(trace, "clock properties"));
    assert_true(has_quirk(trace, "non-blocking receives"));
    unsigned functions = 0, operations = 0;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (strncmp(trace->regions[r].name, "MPI_", 4) == 0) {
            assert_int_equal(trace->regions[r].paradigm, LULL_PARADIGM_MPI);
            functions++;
        }
    assert_true(functions > 0);
    lull_trace_close(trace);

    trace = must_open(ez_hybrid);
    assert_int_equal(trace->n_processes, 2);
    assert_int_equal(trace->processes[1].n_threads, 2);
    assert_int_equal(trace->locations[1].role, LULL_THREAD_WORKER);
    assert_int_equal(collect_by_scan(trace, 0, 2, arena, &sequences, &err), LULL_OK);
    assert_true(has_quirk(trace, "defined more than once"));
    for (size_t i = 0; i < sequences[0].count; i++) { /* id 4: a communicator and a thread team */
        const struct lull_event *event = &sequences[0].events[i];
        if (event->kind == LULL_EVENT_COLLECTIVE_END) {
            assert_int_equal(trace->comms[event->id].paradigm, LULL_PARADIGM_MPI);
            operations++;
        }
    }
    assert_true(operations > 0);
    lull_trace_close(trace);
}

TEST_GROUP(test_otf2)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_messages),
        cmocka_unit_test(test_sst_definitions), cmocka_unit_test(test_pipit_counters),
        cmocka_unit_test(test_eztrace),         cmocka_unit_test(test_bytes_of_collectives),
        cmocka_unit_test(test_together),
    };
    folder = getenv("LULL_CONFORMANCE_DIR");
    folder = folder && *folder ? folder : "../../shared/traces";
    struct stat info;
    if (stat(folder, &info) != 0) {
        printf("skipped: no traces in '%s' (LULL_CONFORMANCE_DIR)\n", folder);
        return SKIPPED;
    }
    arena = lull_arena_create(NULL);
    int failed = run_cases(tests, NULL, NULL);
    lull_arena_destroy(arena);
    return failed;
}
