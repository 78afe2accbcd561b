/* Archives that we write, looked at with libotf2 itself and with otf2-print. */
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/otf2_archive.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"
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

static void must_write(const struct lull_trace *trace, const char *path)
{
    fail_if(lull_convert(trace, path, lull_format_find("otf2"), true, NULL, NULL, &err) != LULL_OK,
            "%s", err.text);
}

/* ---- reading with libotf2 -------------------------------------------------------------------- */

enum { MOST = 64 };

struct seen {
    uint64_t resolution, offset, length;
    uint64_t location_events[MOST];
    OTF2_LocationType location_types[MOST];
    uint32_t n_locations, n_regions;
    OTF2_Paradigm region_paradigms[MOST];
    /* of one location, in order */
    struct {
        char kind;
        uint64_t time;
        uint64_t value;
    } events[MOST];
    uint32_t n_events;
};

static OTF2_CallbackCode see_clock(void *user, uint64_t resolution, uint64_t offset,
                                   uint64_t length, uint64_t realtime)
{
    struct seen *seen = user;
    assert_true(realtime == 1700000000000000000u);
    seen->resolution = resolution;
    seen->offset = offset;
    seen->length = length;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                      OTF2_LocationType type, uint64_t n_events,
                                      OTF2_LocationGroupRef group)
{
    struct seen *seen = user;
    (void)name;
    (void)group;
    seen->location_types[self] = type;
    seen->location_events[self] = n_events;
    seen->n_locations++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_region(void *user, OTF2_RegionRef self, OTF2_StringRef name,
                                    OTF2_StringRef canonical, OTF2_StringRef description,
                                    OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                    OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
                                    uint32_t end)
{
    struct seen *seen = user;
    (void)name;
    (void)canonical;
    (void)description;
    (void)role;
    (void)flags;
    (void)file;
    (void)begin;
    (void)end;
    seen->region_paradigms[self] = paradigm;
    seen->n_regions++;
    return OTF2_CALLBACK_SUCCESS;
}

static void note(struct seen *seen, char kind, uint64_t time, uint64_t value)
{
    assert_true(seen->n_events < MOST);
    seen->events[seen->n_events].kind = kind;
    seen->events[seen->n_events].time = time;
    seen->events[seen->n_events++].value = value;
}

static OTF2_CallbackCode see_enter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                   uint64_t position, void *user, OTF2_AttributeList *attributes,
                                   OTF2_RegionRef region)
{
    uint64_t stream;
    (void)location;
    (void)position;
    if (OTF2_AttributeList_GetNumberOfElements(attributes) > 0) {
        OTF2_MUST(OTF2_AttributeList_GetLocationRef(attributes, 0, &stream));
        note(user, '@', time, stream);
    }
    note(user, '(', time, region);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_leave(OTF2_LocationRef location, OTF2_TimeStamp time,
                                   uint64_t position, void *user, OTF2_AttributeList *attributes,
                                   OTF2_RegionRef region)
{
    (void)location;
    (void)position;
    (void)attributes;
    note(user, ')', time, region);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_send(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *attributes, uint32_t receiver,
                                  OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    (void)location;
    (void)position;
    (void)attributes;
    (void)comm;
    (void)tag;
    (void)bytes;
    note(user, 's', time, receiver);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_metric(OTF2_LocationRef location, OTF2_TimeStamp time,
                                    uint64_t position, void *user, OTF2_AttributeList *attributes,
                                    OTF2_MetricRef metric, uint8_t count, const OTF2_Type *types,
                                    const OTF2_MetricValue *values)
{
    (void)location;
    (void)position;
    (void)attributes;
    (void)metric;
    assert_int_equal(count, 1);
    assert_int_equal(types[0], OTF2_TYPE_UINT64);
    note(user, 'm', time, values[0].unsigned_int);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_parameter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                       uint64_t position, void *user,
                                       OTF2_AttributeList *attributes, OTF2_ParameterRef parameter,
                                       uint64_t value)
{
    (void)location;
    (void)position;
    (void)attributes;
    note(user, (char)('0' + parameter), time, value);
    return OTF2_CALLBACK_SUCCESS;
}

static void look(const char *path, uint64_t location, struct seen *seen)
{
    uint64_t count;
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    assert_non_null(reader);
    OTF2_MUST(OTF2_Reader_SetSerialCollectiveCallbacks(reader));
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *definitions = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(definitions, see_clock);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(definitions, see_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(definitions, see_region);
    OTF2_MUST(OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, definitions, seen));
    OTF2_MUST(OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count));
    OTF2_GlobalDefReaderCallbacks_Delete(definitions);
    OTF2_MUST(OTF2_Reader_SelectLocation(reader, location));
    OTF2_MUST(OTF2_Reader_OpenEvtFiles(reader));
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location);
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, see_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, see_leave);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(callbacks, see_send);
    OTF2_EvtReaderCallbacks_SetMetricCallback(callbacks, see_metric);
    OTF2_EvtReaderCallbacks_SetParameterUnsignedIntCallback(callbacks, see_parameter);
    OTF2_MUST(OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, seen));
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    OTF2_MUST(OTF2_Reader_ReadAllLocalEvents(reader, events, &count));
    OTF2_Reader_Close(reader);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct lull_trace *small_trace(void)
{
    static const char *const regions[] = {"main", "MPI_Send", NULL};
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, regions);
    trace->start_realtime = 1700000000000000000;
    trace->n_counters = 1;
    trace->counters = lull_arena_zero(trace->arena, 1, sizeof *trace->counters);
    trace->counters[0] = (struct lull_counter){.name = "PAPI_TOT_INS", .unit = ""};
    const struct lull_counter_reading readings[] = {{.value = 40}, {.value = UINT64_MAX}};
    for (int i = 0; i < 2; i++) {
        struct lull_event event = memory_event(10 + 80 * i, LULL_EVENT_COUNTERS, LULL_NONE);
        event.readings.values = &readings[i];
        event.readings.count = 1;
        if (i == 0) {
            memory_trace_add(trace, 1,
                             &(struct lull_event){.time = 5, .kind = LULL_EVENT_ENTER, .id = 0});
        } else {
            struct lull_event call = memory_span(20, LULL_EVENT_CALL, 1, 30);
            struct lull_event send = memory_event(50, LULL_EVENT_SEND, LULL_NONE);
            send.message.request = LULL_NO_REQUEST;
            send.message.peer = 0;
            memory_trace_add(trace, 1, &call);
            memory_trace_add(trace, 1, &send); /* at its very end */
        }
        memory_trace_add(trace, 1, &event);
    }
    memory_trace_add(trace, 1, &(struct lull_event){.time = 90, .kind = LULL_EVENT_LEAVE, .id = 0});
    return trace;
}

/* A CALL becomes Enter and Leave with its message between, readings become totals. */
static void test_records(void **state)
{
    (void)state;
    struct lull_trace *trace = small_trace();
    struct seen seen = {0};
    must_write(trace, folder_path("small"));
    look(folder_path("small/traces.otf2"), 1, &seen);
    const struct {
        char kind;
        uint64_t time, value;
    } wanted[] = {{'(', 5, 0},  {'m', 10, 40}, {'(', 20, 1}, {'s', 50, 0},
                  {')', 50, 1}, {'m', 90, 39}, {')', 90, 0}};
    assert_int_equal(seen.n_events, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < seen.n_events; i++) {
        assert_int_equal(seen.events[i].kind, wanted[i].kind);
        assert_true(seen.events[i].time == wanted[i].time);
        assert_true(seen.events[i].value == wanted[i].value);
    }
    assert_true(seen.resolution == 1000000000 && seen.offset == 0 && seen.length == 1000);
    assert_int_equal(seen.n_locations, 2);
    assert_int_equal(seen.location_types[1], OTF2_LOCATION_TYPE_CPU_THREAD);
    assert_true(seen.location_events[0] == 0 && seen.location_events[1] == 7);
    assert_int_equal(seen.n_regions, 2);
    assert_int_equal(seen.region_paradigms[0], OTF2_PARADIGM_USER);
    assert_int_equal(seen.region_paradigms[1], OTF2_PARADIGM_MPI);
    lull_trace_close(trace);
}

/* A call of thread 0 submits operation 7 to stream 1, which runs it: parameters within the region, and at the Enter of the
 * call the stream as an attribute. Parameters are numbered in the order of enum lull_otf2_device_parameter. */
static void test_launch(void **state)
{
    (void)state;
    static const char *const regions[] = {"cuLaunchKernel", "axpy kernel", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 2, 1000, regions);
    trace->start_realtime = 1700000000000000000;
    trace->locations[1].kind = LULL_LOCATION_DEVICE;
    trace->processes[0].n_threads = 1;
    struct lull_event launch = memory_span(20, LULL_EVENT_CALL, 0, 30),
                      submit = memory_event(20, LULL_EVENT_SUBMIT, LULL_NONE),
                      kernel = memory_span(60, LULL_EVENT_CALL, 1, 100),
                      ran = memory_event(60, LULL_EVENT_OPERATION, 0);
    submit.operation.number = ran.operation.number = 7;
    submit.operation.location = 1;
    ran.operation.bytes = 64;
    ran.operation.sequence = LULL_NO_SEQUENCE;
    ran.operation.location = 0;
    ran.operation.peer = LULL_ANY;
    memory_trace_add(trace, 0, &launch);
    memory_trace_add(trace, 0, &submit);
    memory_trace_add(trace, 1, &kernel);
    memory_trace_add(trace, 1, &ran);
    must_write(trace, folder_path("launch"));
    static const struct {
        char kind;
        uint64_t time, value;
    } wanted[2][6] = {
        {{'@', 20, 1}, {'(', 20, 0}, {'0', 20, 1}, {'6', 20, 7}, {')', 50, 0}},
        {{'(', 60, 1}, {'0', 60, 0}, {'1', 60, 0}, {'2', 60, 64}, {'9', 60, 7}, {')', 160, 1}}};
    static const uint32_t n[] = {5, 6};
    for (uint32_t l = 0; l < 2; l++) {
        struct seen seen = {0};
        look(folder_path("launch/traces.otf2"), l, &seen);
        assert_int_equal(seen.location_types[1], OTF2_LOCATION_TYPE_ACCELERATOR_STREAM);
        assert_int_equal(seen.n_events, n[l]);
        for (uint32_t i = 0; i < n[l]; i++) {
            assert_int_equal(seen.events[i].kind, wanted[l][i].kind);
            assert_int_equal(seen.events[i].time, wanted[l][i].time);
            assert_int_equal(seen.events[i].value, wanted[l][i].value);
        }
    }
    lull_trace_close(trace);
}

/* otf2-print complains on stderr about everything that it does not expect. */
static void test_otf2_print(void **state)
{
    (void)state;
    if (system("command -v otf2-print >/dev/null") != 0) {
        printf("skipped: otf2-print was not found\n");
        skip();
    }
    const char *path = folder_path("drawn");
    char command[1024];
    const uint64_t first = lull_test_seed();
    for (uint64_t seed = first; seed - first < lull_test_rounds(10); seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        const struct memory_trace_options options = {.operations = true};
        struct lull_trace *trace = memory_trace_draw(&random, &options);
        must_write(trace, path);
        snprintf(command, sizeof command,
                 "otf2-print -A '%s/traces.otf2' 2>'%s/said' >/dev/null && test ! -s '%s/said'",
                 path, path, path);
        fail_if(system(command) != 0, "seed %d: otf2-print fails or complains", (int)seed);
        lull_trace_close(trace);
    }
}

/* Blocks of locations in any interleaving, a failure leaves nothing behind, nothing is replaced
 * unless asked for. */
static void test_writer_life(void **state)
{
    (void)state;
    struct lull_trace *trace = small_trace();
    const struct lull_format *format = lull_format_find("otf2");
    const char *path = folder_path("life");
    struct lull_writer writer;
    size_t before = folder_entries(folder_path(""));
    assert_int_equal(format->writer_open(trace, path, false, &writer, &err), LULL_OK);
    for (int64_t t = 0; t < 100; t++) {
        struct lull_event events[] = {memory_event(2 * t, LULL_EVENT_ENTER, 0),
                                      memory_event(2 * t + 1, LULL_EVENT_LEAVE, 0)};
        struct lull_block block = {.location = t % 2 ? 1 : 0, .count = 2, .events = events};
        assert_int_equal(writer.block(writer.state, &block, &err), LULL_OK);
    }
    assert_int_equal(writer.close(writer.state, false, &err), LULL_OK);
    assert_int_equal(folder_entries(folder_path("")), before);
    must_write(trace, path);
    assert_int_equal(folder_entries(folder_path("")), before + 1);
    assert_int_not_equal(lull_convert(trace, path, format, false, NULL, NULL, &err), LULL_OK);
    assert_int_equal(folder_entries(folder_path("")), before + 1);
    lull_trace_close(trace);
}

TEST_GROUP(test_otf2_write)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_otf2_print),
        cmocka_unit_test(test_writer_life),
    };
    return run_cases(tests, set_up, tear_down);
}
