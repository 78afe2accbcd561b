/* Traces of PyTorch's profiler as events: a file by hand, event by event; and a folder of several files, which several
 * threads read. */
#include "support/check_trace.h"
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/test.h"
#include "trace/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static struct lull_trace *open_run(const char *path)
{
    struct lull_trace *trace = NULL;
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK, "%s", err.text);
    return trace;
}

/* ---- by hand --------------------------------------------------------------------------------- */

#define SPAN(category, name, pid, tid, ts, dur, args)                                  \
    "{\"ph\": \"X\", \"cat\": \"" category "\", \"name\": \"" name "\", \"pid\": " pid \
    ", \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"

/* Times begin at 1000.5 us. What a thread did stands out of order, and what the device did between. */
/* clang-format off */
static const char by_hand[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 1, \"name\": \"a GPU\"}],"
    " \"distributedInfo\": {\"rank\": 3, \"world_size\": 4}, \"traceEvents\": ["
    SPAN("cpu_op", "inner", "9", "9", "1002", "3.25", "") ","
    SPAN("kernel", "gemm", "1", "7", "1010", "5", "\"stream\": 7, \"correlation\": 21") ","
    SPAN("python_function", "a/train.py(42): step", "9", "9", "1000.5", "10", "") ","
    SPAN("cuda_runtime", "cudaLaunchKernel", "9", "9", "1003", "1.5", "\"correlation\": 21") ","
    SPAN("gpu_memcpy", "Memcpy HtoD", "1", "7", "1015", "0.75",
         "\"bytes\": 4096, \"correlation\": 22") ","
    SPAN("cpu_op", "other", "9", "4", "1004", "1", "") ","
    SPAN("kernel", "ncclKernel_AllReduce", "1", "20", "1011", "1",
         "\"dtype\": \"BFloat16\", \"In msg nelems\": 1000, \"correlation\": 23") "],"
    " \"baseTimeNanoseconds\": 1700000000000000000}\n";
/* clang-format on */

struct expected_event {
    unsigned kind;
    int64_t time, duration; /* duration: of calls */
    const char *region;     /* NULL: none */
    uint64_t number, bytes; /* of operations */
    uint32_t location;      /* likewise */
};

static void check_events(const struct lull_trace *trace, uint32_t location,
                         const struct expected_event *expected, size_t count)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence found;
    fail_if(collect_by_cursor(trace, location, LULL_MASK_ALL, arena, &found, &err) != LULL_OK, "%s",
            err.text);
    assert_int_equal(found.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct lull_event *event = &found.events[i];
        const struct expected_event *e = &expected[i];
        assert_int_equal(event->kind, e->kind);
        assert_int_equal(event->time, e->time);
        if (e->region)
            assert_string_equal(trace->regions[event->id].name, e->region);
        if (event->kind == LULL_EVENT_CALL)
            assert_int_equal(event->duration, e->duration);
        if (event->kind != LULL_EVENT_SUBMIT && event->kind != LULL_EVENT_OPERATION)
            continue;
        assert_int_equal(event->operation.number, e->number);
        assert_int_equal(event->operation.bytes, e->bytes);
        assert_int_equal(event->operation.location, e->location);
        assert_true(event->operation.sequence == LULL_NO_SEQUENCE);
        if (event->kind == LULL_EVENT_OPERATION && !e->region)
            assert_int_equal(event->id, LULL_NONE);
    }
    lull_arena_destroy(arena);
}

static void test_by_hand(void **state)
{
    (void)state;
    folder_write(folder_path("a.json"), by_hand, strlen(by_hand));
    struct lull_trace *trace = open_run(folder_path("a.json"));
    assert_int_equal(trace->n_processes, 1);
    assert_int_equal(trace->processes[0].rank, 3);
    assert_int_equal(trace->duration, 15250);
    assert_true(trace->start_realtime == INT64_C(1700000000001000500));
    assert_int_equal(trace->n_locations, 4);
    for (uint32_t l = 0; l < 4; l++) {
        assert_int_equal(trace->locations[l].kind,
                         l < 2 ? LULL_LOCATION_THREAD : LULL_LOCATION_DEVICE);
        assert_int_equal(trace->locations[l].number, l % 2);
    }
    assert_string_equal(trace->locations[1].name, "thread 4");
    assert_string_equal(trace->locations[3].name, "stream 20");
    assert_int_equal(trace->n_devices, 1);
    assert_string_equal(trace->devices[0].name, "a GPU");
    assert_string_equal(trace->devices[0].key, "rank 3 device 1");
    static const struct expected_event main_thread[] = {
        {LULL_EVENT_ENTER, 0, 0, "step", 0, 0, 0},
        {LULL_EVENT_ENTER, 1500, 0, "inner", 0, 0, 0},
        {LULL_EVENT_CALL, 2500, 1500, "cudaLaunchKernel", 0, 0, 0},
        {LULL_EVENT_SUBMIT, 2500, 0, NULL, 21, 0, 2},
        {LULL_EVENT_LEAVE, 4750, 0, "inner", 0, 0, 0},
        {LULL_EVENT_LEAVE, 10000, 0, "step", 0, 0, 0},
    };
    static const struct expected_event other_thread[] = {
        {LULL_EVENT_THREAD_BEGIN, 3500, 0, NULL, 0, 0, 0},
        {LULL_EVENT_CALL, 3500, 1000, "other", 0, 0, 0},
        {LULL_EVENT_THREAD_END, 4500, 0, NULL, 0, 0, 0},
    };
    static const struct expected_event stream[] = {
        {LULL_EVENT_CALL, 9500, 5000, "gemm", 0, 0, 0},
        {LULL_EVENT_OPERATION, 9500, 0, "cudaLaunchKernel", 21, 0, 0},
        {LULL_EVENT_CALL, 14500, 750, "Memcpy HtoD", 0, 0, 0},
        {LULL_EVENT_OPERATION, 14500, 0, NULL, 22, 4096, LULL_NONE},
    };
    static const struct expected_event exchanges[] = {
        {LULL_EVENT_CALL, 10500, 1000, "ncclKernel_AllReduce", 0, 0, 0},
        {LULL_EVENT_OPERATION, 10500, 0, NULL, 23, 2000, LULL_NONE},
    };
    check_events(trace, 0, main_thread, 6);
    check_events(trace, 1, other_thread, 3);
    check_events(trace, 2, stream, 4);
    check_events(trace, 3, exchanges, 2);
    uint32_t looked = 0;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        if (strcmp(region->name, "step") == 0) {
            assert_string_equal(region->file, "a/train.py");
            assert_int_equal(region->line, 42);
            looked++;
        } else if (strcmp(region->name, "ncclKernel_AllReduce") == 0) {
            assert_int_equal(region->role, LULL_ROLE_DATA_TRANSFER);
            looked++;
        }
    }
    assert_int_equal(looked, 2);
    lull_trace_close(trace);
}

/* ---- several files --------------------------------------------------------------------------- */

enum { RANKS = 9, SPANS = 300 };

/* A file longer than one window of the reader, so that events lie across its borders; of rank `rank`. */
static void write_rank(const char *path, uint32_t rank)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "{\"distributedInfo\": {\"rank\": %u}, \"traceEvents\": [", rank);
    for (uint32_t i = 0; i < SPANS; i++)
        fprintf(out,
                "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"f%u\", \"pid\": 1, \"tid\": "
                "%u, \"ts\": %u,"
                " \"dur\": 1, \"args\": {\"text\": \"%*s\"}}",
                i > 0 ? "," : "", i % 7, i % 3, 10 * i + rank, (int)(5000 + 13 * i), "\\\"");
    fputs("]}", out);
    assert_int_equal(fclose(out), 0);
}

static void test_several_files(void **state)
{
    (void)state;
    struct lull_error broken = {""};
    for (uint32_t r = 0; r < RANKS; r++) {
        char name[32];
        snprintf(name, sizeof name, "rank%u.json", RANKS - r);
        write_rank(folder_path(name), r);
    }
    setenv("LULL_THREADS", "1", 1);
    struct lull_trace *one = open_run(folder_path("."));
    setenv("LULL_THREADS", "4", 1);
    struct lull_trace *four = open_run(folder_path("."));
    assert_int_equal(four->n_processes, RANKS);
    assert_int_equal(four->n_locations, 3 * RANKS);
    assert_int_equal(four->duration, (10 * (SPANS - 1) + RANKS - 1 + 1) * 1000);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(four->processes[r].rank, r);
    fail_if(!same_definitions(one, four, 0, &err), "%s", err.text);
    fail_if(!same_events(one, four, &(struct same_events_options){0}, &err), "%s", err.text);
    fail_if(check_trace(four, 4, &err, &broken) != LULL_OK, "%s%s", err.text, broken.text);
    lull_trace_close(one);
    lull_trace_close(four);
    unsetenv("LULL_THREADS");
}

/* Several files are wrong: what is told does not depend on which thread comes first. */
static void test_wrong_files(void **state)
{
    (void)state;
    static const char wrong[] = "{\"traceEvents\": [{]}";
    for (int turn = 0; turn < 5; turn++) {
        struct lull_trace *trace;
        write_rank(folder_path("rank1.json"), 0);
        folder_write(folder_path("rank2.json"), wrong, strlen(wrong));
        folder_write(folder_path("rank3.json"), wrong, strlen(wrong));
        assert_int_equal(lull_trace_open(folder_path("."), &trace, &err), LULL_ERR_FORMAT);
        assert_non_null(strstr(err.text, "rank2.json: byte 18: expected a string"));
    }
}

/* A call that waits for a device with more streams than a block has room for: blocks of any size hold the same events. */
static void test_small_blocks(void **state)
{
    (void)state;
    enum { STREAMS = 70, LEAST = 32, MOST = 512 };
    static struct lull_event events[MOST];
    FILE *file = fopen(folder_path("many.json"), "w");
    assert_non_null(file);
    fprintf(file, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (int s = 1; s <= STREAMS; s++)
        fprintf(file,
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
                "\"tid\":9,"
                "\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":%d,\"ts\":%d,"
                "\"dur\":5,"
                "\"args\":{\"correlation\":%d}},\n",
                2 * s, s, s, 2 * s + 1, s);
    fprintf(file, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaDeviceSynchronize\","
                  "\"pid\":9,\"tid\":9,"
                  "\"ts\":300,\"dur\":10,\"args\":{\"correlation\":999}}]}\n");
    assert_int_equal(fclose(file), 0);
    struct lull_trace *trace = open_run(folder_path("many.json"));
    for (size_t room = LEAST; room <= MOST; room += MOST - LEAST) {
        size_t n, calls = 0, waits = 0;
        void *stream;
        assert_int_equal(trace->format->reader->stream_open(trace, 0, UINT64_MAX, &stream, &err),
                         LULL_OK);
        do {
            assert_int_equal(trace->format->reader->stream_read(stream, events, room, &n, &err),
                             LULL_OK);
            for (size_t i = 0; i < n; i++) {
                calls += events[i].kind == LULL_EVENT_CALL;
                waits += events[i].kind == LULL_EVENT_DEVICE_WAIT;
            }
        } while (n > 0);
        trace->format->reader->stream_close(stream);
        assert_int_equal(calls, STREAMS + 1);
        assert_int_equal(waits, STREAMS);
    }
    lull_trace_close(trace);
}

TEST_GROUP(test_kineto)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_hand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_blocks, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
