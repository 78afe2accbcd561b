/* Our own decoder of event files against libotf2: the same events to the last bit, whatever is in
 * the files, and one line of error for any damage. */
#include "base/file.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/otf2_archive.h"
#include "support/seed.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/convert.h"
#include "trace/format/otf2/otf2_archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lull_error err;
static struct lull_random random_numbers;
static uint64_t seed;

/* ---- both ways of reading -------------------------------------------------------------------- */

enum { MOST_EVENTS = 1 << 20, BLOCK = 4096, FEW = 64 };

struct events {
    struct lull_event *events;
    struct lull_counter_reading *readings; /* of all events, one after the other */
    size_t count, n_readings;
    lull_status status;
    struct lull_error error;
};

static void keep_readings(struct events *all, struct lull_event *event)
{
    if (event->kind != LULL_EVENT_COUNTERS)
        return;
    size_t need = all->n_readings + event->readings.count;
    all->readings = realloc(all->readings, (need + 1) * sizeof *all->readings);
    memcpy(all->readings + all->n_readings, event->readings.values,
           event->readings.count * sizeof *all->readings);
    all->n_readings = need;
    event->readings.values = NULL;
}

/* In blocks of at least 64 and up to `most` events. */
static struct events read_location(struct lull_trace *trace, uint32_t location, uint64_t mask,
                                   size_t most, bool library)
{
    struct events all = {0};
    struct lull_otf2_archive *archive = trace->format_data;
    void *stream = NULL;
    size_t capacity = 0, got = 1;
    archive->library_only = library;
    all.status = lull_otf2_stream_open(trace, location, mask, &stream, &all.error);
    if (all.status != LULL_OK)
        got = 0;
    while (got > 0 && all.count < MOST_EVENTS) {
        if (all.count + most > capacity)
            all.events = realloc(all.events, (capacity += capacity + most) * sizeof *all.events);
        memset(all.events + all.count, 0, most * sizeof *all.events);
        got = 0;
        all.status = lull_otf2_stream_read(stream, all.events + all.count, most, &got, &all.error);
        for (size_t i = 0; i < got; i++)
            keep_readings(&all, &all.events[all.count + i]);
        all.count += got;
    }
    if (stream)
        lull_otf2_stream_close(stream);
    return all;
}

static void free_events(struct events *all)
{
    free(all->events);
    free(all->readings);
}

static void show_difference(const struct events *a, const struct events *b, uint32_t location)
{
    size_t i = 0;
    while (i < a->count && i < b->count &&
           memcmp(&a->events[i], &b->events[i], sizeof *a->events) == 0)
        i++;
    fail_msg("seed %" PRIu64 ", location %" PRIu32 ": event %zu of %zu and %zu: kind %u at %" PRId64
             " and kind %u at %" PRId64 "; '%s' and '%s'",
             seed, location, i, a->count, b->count, i < a->count ? a->events[i].kind : 0,
             i < a->count ? a->events[i].time : 0, i < b->count ? b->events[i].kind : 0,
             i < b->count ? b->events[i].time : 0, a->error.text, b->error.text);
}

static size_t compare_location(struct lull_trace *trace, uint32_t location, uint64_t mask)
{
    size_t most = 64 + lull_random_below(&random_numbers, BLOCK - 64 + 1);
    struct events a = read_location(trace, location, mask, most, true);
    struct events b = read_location(trace, location, mask, BLOCK, false);
    bool same = a.count == b.count && a.n_readings == b.n_readings && a.status == b.status &&
                strcmp(a.error.text, b.error.text) == 0;
    if (!same || (a.count > 0 && memcmp(a.events, b.events, a.count * sizeof *a.events) != 0) ||
        (a.n_readings > 0 &&
         memcmp(a.readings, b.readings, a.n_readings * sizeof *a.readings) != 0))
        show_difference(&a, &b, location);
    size_t count = a.count;
    free_events(&a);
    free_events(&b);
    return count;
}

/* Returns how many events there are. */
static size_t compare_archive(const char *path)
{
    struct lull_trace *trace;
    size_t count = 0;
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK, "seed %" PRIu64 ": %s", seed, err.text);
    together_check_some(path);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        count += compare_location(trace, l, LULL_MASK_ALL);
        compare_location(trace, l, LULL_MASK_TIME);
        compare_location(trace, l, lull_random_u64(&random_numbers) & LULL_MASK_ALL);
    }
    lull_trace_close(trace);
    return count;
}

/* ---- an archive of everything ---------------------------------------------------------------- */

enum { REGIONS = 10, OTHERS = 2, RANDOM_THREADS = 4, RANDOM_LOCATIONS = RANDOM_THREADS + 1 };

static uint32_t below(uint32_t bound)
{
    return (uint32_t)lull_random_below(&random_numbers, bound);
}

/* Of any number of bytes, and the special ones. */
static uint64_t number(void)
{
    static const uint64_t special[] = {0, 1, UINT32_MAX, UINT32_MAX - 1, UINT64_MAX, 255, 256};
    if (below(8) == 0)
        return special[below(sizeof special / sizeof *special)];
    return lull_random_u64(&random_numbers) >> below(64);
}

static uint32_t small(void)
{
    return (uint32_t)number();
}

static OTF2_AttributeList *make_attributes(void)
{
    if (below(8) > 0)
        return NULL;
    OTF2_AttributeList *attributes = OTF2_AttributeList_New();
    unsigned count = below(16) == 0 ? 40 : 1 + below(3); /* 40: a length of 9 bytes */
    for (unsigned i = 0; i < count; i++)
        OTF2_MUST(OTF2_AttributeList_AddUint64(attributes, i, number() | UINT64_C(1) << 63));
    return attributes;
}

static OTF2_ErrorCode write_metric(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    static const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_INT64, OTF2_TYPE_DOUBLE};
    OTF2_Type type[40];
    OTF2_MetricValue value[40];
    uint8_t count = below(16) == 0 ? 40 : (uint8_t)below(4);
    for (unsigned i = 0; i < count; i++) {
        type[i] = types[below(3)];
        value[i].unsigned_int = number();
        if (type[i] == OTF2_TYPE_DOUBLE)
            value[i].floating_point = (double)number() - 1e6;
    }
    return OTF2_EvtWriter_Metric(w, a, t, below(OTHERS + 1), count, type, value);
}

static OTF2_ErrorCode write_program(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    const uint32_t arguments[] = {small(), small(), small()};
    return OTF2_EvtWriter_ProgramBegin(w, a, t, small(), below(4), arguments);
}

#define ID     below(OTHERS + 1) /* one of them is not defined */
#define REGION below(REGIONS)

static OTF2_ErrorCode write_regions(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    switch (below(10)) {
    case 0:
        return OTF2_EvtWriter_CallingContextEnter(w, a, t, REGION, small());
    case 1:
        return OTF2_EvtWriter_CallingContextLeave(w, a, t, REGION);
    case 2:
        return OTF2_EvtWriter_CallingContextSample(w, a, t, REGION, small(), small());
    case 3:
    case 4:
    case 5:
        return OTF2_EvtWriter_Leave(w, a, t, REGION);
    default:
        return OTF2_EvtWriter_Enter(w, a, t, REGION);
    }
}

static OTF2_ErrorCode write_tracer(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    switch (below(8)) {
    case 0:
        return OTF2_EvtWriter_BufferFlush(w, a, t, t + below(1000));
    case 1:
        return OTF2_EvtWriter_MeasurementOnOff(w, a, t, (OTF2_MeasurementMode)(1 + below(2)));
    case 2:
        return OTF2_EvtWriter_ParameterInt(w, a, t, ID, (int64_t)number());
    case 3:
        return OTF2_EvtWriter_ParameterUnsignedInt(w, a, t, ID, number());
    case 4:
        return OTF2_EvtWriter_ParameterString(w, a, t, ID, small());
    default:
        return write_metric(w, a, t);
    }
}

static OTF2_ErrorCode write_message(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    switch (below(14)) {
    case 0:
        return OTF2_EvtWriter_MpiSend(w, a, t, small(), ID, small(), number());
    case 1:
        return OTF2_EvtWriter_MpiIsend(w, a, t, below(4), ID, small(), number(), number());
    case 2:
        return OTF2_EvtWriter_MpiIsendComplete(w, a, t, number());
    case 3:
        return OTF2_EvtWriter_MpiIrecvRequest(w, a, t, number());
    case 4:
        return OTF2_EvtWriter_MpiRecv(w, a, t, below(4), ID, small(), number());
    case 5:
        return OTF2_EvtWriter_MpiIrecv(w, a, t, below(4), ID, small(), number(), number());
    case 6:
        return OTF2_EvtWriter_MpiRequestTest(w, a, t, number());
    case 7:
        return OTF2_EvtWriter_MpiRequestCancelled(w, a, t, number());
    case 8:
        return OTF2_EvtWriter_MpiCollectiveBegin(w, a, t);
    case 9:
        return OTF2_EvtWriter_MpiCollectiveEnd(w, a, t, (OTF2_CollectiveOp)below(25), ID, small(),
                                               number(), number());
    case 10:
        return OTF2_EvtWriter_NonBlockingCollectiveRequest(w, a, t, number());
    case 11:
        return OTF2_EvtWriter_NonBlockingCollectiveComplete(
            w, a, t, (OTF2_CollectiveOp)below(25), ID, small(), number(), number(), number());
    case 12:
        return OTF2_EvtWriter_CommCreate(w, a, t, ID);
    default:
        return OTF2_EvtWriter_CommDestroy(w, a, t, ID);
    }
}

static OTF2_ErrorCode write_window(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    const OTF2_RmaSyncLevel level = (OTF2_RmaSyncLevel)below(4);
    switch (below(18)) {
    case 0:
        return OTF2_EvtWriter_RmaWinCreate(w, a, t, ID);
    case 1:
        return OTF2_EvtWriter_RmaWinDestroy(w, a, t, ID);
    case 2:
        return OTF2_EvtWriter_RmaCollectiveBegin(w, a, t);
    case 3:
        return OTF2_EvtWriter_RmaCollectiveEnd(w, a, t, (OTF2_CollectiveOp)below(25), level, ID,
                                               small(), number(), number());
    case 4:
        return OTF2_EvtWriter_RmaGroupSync(w, a, t, level, ID, ID);
    case 5:
        return OTF2_EvtWriter_RmaRequestLock(w, a, t, ID, small(), number(), OTF2_LOCK_EXCLUSIVE);
    case 6:
        return OTF2_EvtWriter_RmaAcquireLock(w, a, t, ID, small(), number(), OTF2_LOCK_SHARED);
    case 7:
        return OTF2_EvtWriter_RmaTryLock(w, a, t, ID, small(), number(), OTF2_LOCK_SHARED);
    case 8:
        return OTF2_EvtWriter_RmaReleaseLock(w, a, t, ID, small(), number());
    case 9:
        return OTF2_EvtWriter_RmaSync(w, a, t, ID, small(), OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
    case 10:
        return OTF2_EvtWriter_RmaWaitChange(w, a, t, ID);
    case 11:
        return OTF2_EvtWriter_RmaPut(w, a, t, ID, small(), number(), number());
    case 12:
        return OTF2_EvtWriter_RmaGet(w, a, t, ID, small(), number(), number());
    case 13:
        return OTF2_EvtWriter_RmaAtomic(w, a, t, ID, below(4), OTF2_RMA_ATOMIC_TYPE_SWAP, number(),
                                        number(), number());
    case 14:
        return OTF2_EvtWriter_RmaOpCompleteBlocking(w, a, t, ID, number());
    case 15:
        return OTF2_EvtWriter_RmaOpCompleteNonBlocking(w, a, t, ID, number());
    case 16:
        return OTF2_EvtWriter_RmaOpTest(w, a, t, ID, number());
    default:
        return OTF2_EvtWriter_RmaOpCompleteRemote(w, a, t, ID, number());
    }
}

static OTF2_ErrorCode write_thread(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    switch (below(15)) {
    case 0:
        return OTF2_EvtWriter_ThreadFork(w, a, t, OTF2_PARADIGM_OPENMP, small());
    case 1:
        return OTF2_EvtWriter_ThreadJoin(w, a, t, OTF2_PARADIGM_OPENMP);
    case 2:
        return OTF2_EvtWriter_ThreadTeamBegin(w, a, t, ID);
    case 3:
        return OTF2_EvtWriter_ThreadTeamEnd(w, a, t, ID);
    case 4:
        return OTF2_EvtWriter_ThreadAcquireLock(w, a, t, OTF2_PARADIGM_OPENMP, small(), small());
    case 5:
        return OTF2_EvtWriter_ThreadReleaseLock(w, a, t, OTF2_PARADIGM_OPENMP, small(), small());
    case 6:
        return OTF2_EvtWriter_ThreadTaskCreate(w, a, t, ID, small(), small());
    case 7:
        return OTF2_EvtWriter_ThreadTaskSwitch(w, a, t, ID, small(), small());
    case 8:
        return OTF2_EvtWriter_ThreadTaskComplete(w, a, t, ID, small(), small());
    case 9:
        return OTF2_EvtWriter_ThreadCreate(w, a, t, ID, number());
    case 10:
        return OTF2_EvtWriter_ThreadBegin(w, a, t, ID, number());
    case 11:
        return OTF2_EvtWriter_ThreadWait(w, a, t, ID, number());
    case 12:
        return OTF2_EvtWriter_ThreadEnd(w, a, t, ID, number());
    case 13:
        return write_program(w, a, t);
    default:
        return OTF2_EvtWriter_ProgramEnd(w, a, t, (int64_t)number());
    }
}

static OTF2_ErrorCode write_io(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    const OTF2_IoOperationMode mode = (OTF2_IoOperationMode)below(3);
    switch (below(14)) {
    case 0:
        return OTF2_EvtWriter_IoCreateHandle(w, a, t, ID, OTF2_IO_ACCESS_MODE_READ_ONLY, small(),
                                             small());
    case 1:
        return OTF2_EvtWriter_IoDestroyHandle(w, a, t, ID);
    case 2:
        return OTF2_EvtWriter_IoDuplicateHandle(w, a, t, ID, ID, small());
    case 3:
        return OTF2_EvtWriter_IoSeek(w, a, t, ID, (int64_t)number(), OTF2_IO_SEEK_FROM_END,
                                     number());
    case 4:
        return OTF2_EvtWriter_IoChangeStatusFlags(w, a, t, ID, small());
    case 5:
        return OTF2_EvtWriter_IoDeleteFile(w, a, t, ID, ID);
    case 6:
        return OTF2_EvtWriter_IoOperationTest(w, a, t, ID, below(4));
    case 7:
        return OTF2_EvtWriter_IoOperationIssued(w, a, t, ID, below(4));
    case 8:
        return OTF2_EvtWriter_IoOperationComplete(w, a, t, ID, number(), below(4));
    case 9:
        return OTF2_EvtWriter_IoOperationCancelled(w, a, t, ID, below(4));
    case 10:
        return OTF2_EvtWriter_IoAcquireLock(w, a, t, ID, OTF2_LOCK_SHARED);
    case 11:
        return OTF2_EvtWriter_IoReleaseLock(w, a, t, ID, OTF2_LOCK_SHARED);
    case 12:
        return OTF2_EvtWriter_IoTryLock(w, a, t, ID, OTF2_LOCK_SHARED);
    default:
        return OTF2_EvtWriter_IoOperationBegin(w, a, t, ID, mode, small(), number(), below(4));
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static OTF2_ErrorCode write_old(OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t)
{
    switch (below(7)) {
    case 0:
        return OTF2_EvtWriter_OmpFork(w, a, t, small());
    case 1:
        return OTF2_EvtWriter_OmpJoin(w, a, t);
    case 2:
        return OTF2_EvtWriter_OmpAcquireLock(w, a, t, small(), small());
    case 3:
        return OTF2_EvtWriter_OmpReleaseLock(w, a, t, small(), small());
    case 4:
        return OTF2_EvtWriter_OmpTaskCreate(w, a, t, number());
    case 5:
        return OTF2_EvtWriter_OmpTaskSwitch(w, a, t, number());
    default:
        return OTF2_EvtWriter_OmpTaskComplete(w, a, t, number());
    }
}
#pragma GCC diagnostic pop

static void write_events(OTF2_EvtWriter *writer, uint64_t time, uint32_t count)
{
    static OTF2_ErrorCode (*const write[])(OTF2_EvtWriter *, OTF2_AttributeList *, uint64_t) = {
        write_regions, write_regions, write_regions, write_tracer, write_message,
        write_window,  write_thread,  write_io,      write_old};
    for (uint32_t i = 0; i < count; i++) {
        OTF2_AttributeList *attributes = make_attributes();
        time += below(3) == 0 ? 0 : below(100);
        OTF2_MUST(write[below(sizeof write / sizeof *write)](writer, attributes, time));
        OTF2_AttributeList_Delete(attributes);
    }
}

/* A permutation of [0, count), dense or as pairs. */
static void write_mapping(OTF2_DefWriter *writer, OTF2_MappingType type, uint32_t count,
                          OTF2_IdMapMode mode)
{
    uint32_t turn = below(count);
    OTF2_IdMap *map = OTF2_IdMap_Create(mode, count);
    for (uint32_t i = 0; i < count; i++)
        if (mode == OTF2_ID_MAP_DENSE || i % 3 != 0)
            OTF2_MUST(OTF2_IdMap_AddIdPair(map, i, (i + turn) % count));
    OTF2_MUST(OTF2_DefWriter_WriteMappingTable(writer, type, map));
    OTF2_IdMap_Free(map);
}

static void write_local(OTF2_DefWriter *writer, uint32_t location, uint64_t begin, uint32_t count)
{
    static const struct {
        OTF2_MappingType type;
        uint32_t count;
    } tables[] = {{OTF2_MAPPING_REGION, REGIONS},   {OTF2_MAPPING_CALLING_CONTEXT, REGIONS},
                  {OTF2_MAPPING_COMM, OTHERS},      {OTF2_MAPPING_METRIC, OTHERS},
                  {OTF2_MAPPING_PARAMETER, OTHERS}, {OTF2_MAPPING_RMA_WIN, OTHERS},
                  {OTF2_MAPPING_IO_HANDLE, OTHERS}, {OTF2_MAPPING_STRING, 50}};
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (location > 0)
            write_mapping(writer, tables[i].type, tables[i].count,
                          location == 1 ? OTF2_ID_MAP_DENSE : OTF2_ID_MAP_SPARSE);
    uint64_t time = begin + below(2000) - 1000;
    for (uint32_t i = 0; i < location * location; i++) { /* 0, 1, 4, 9 of them */
        int64_t offset = (int64_t)(lull_random_u64(&random_numbers) >> (20 + below(40)));
        OTF2_MUST(OTF2_DefWriter_WriteClockOffset(writer, time, offset, 0));
        time += 1 + below(count * 20);
    }
}

static void write_definitions(struct otf2_archive *made)
{
    OTF2_GlobalDefWriter *global = made->global;
    const uint64_t members[] = {0, 1, 2, 3}, ranks[] = {3, 1};
    OTF2_MUST(OTF2_GlobalDefWriter_WriteClockProperties(global, 2599998000, 1, UINT64_C(1) << 45,
                                                        OTF2_UNDEFINED_TIMESTAMP));
    for (uint32_t p = 0; p < RANDOM_THREADS; p++) {
        otf2_archive_process(made, p);
        otf2_archive_thread(made, p, p, OTF2_LOCATION_TYPE_CPU_THREAD, 0);
    }
    otf2_archive_thread(made, RANDOM_THREADS, RANDOM_THREADS - 1,
                        OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, 0);
    for (uint32_t r = 0; r < REGIONS; r++) {
        char name[16];
        snprintf(name, sizeof name, "region %u", (unsigned)r);
        otf2_archive_region(made, r, name, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
        OTF2_MUST(OTF2_GlobalDefWriter_WriteCallingContext(global, r, REGIONS - 1 - r,
                                                           OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
                                                           OTF2_UNDEFINED_CALLING_CONTEXT));
    }
    otf2_archive_group(made, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 4, members);
    otf2_archive_group(made, 1, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 4, members);
    otf2_archive_group(made, 2, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, ranks);
    OTF2_StringRef name = otf2_archive_string(made, "name");
    for (uint32_t i = 0; i < OTHERS; i++) {
        const OTF2_MetricMemberRef members_of[] = {0, 1, 0};
        otf2_archive_comm(made, i, "comm", 1 + i);
        OTF2_MUST(OTF2_GlobalDefWriter_WriteParameter(global, i, name, OTF2_PARAMETER_TYPE_UINT64));
        OTF2_MUST(OTF2_GlobalDefWriter_WriteRmaWin(global, i, name, i, OTF2_RMA_WIN_FLAG_NONE));
        OTF2_MUST(OTF2_GlobalDefWriter_WriteMetricMember(
            global, i, name, name, OTF2_METRIC_TYPE_PAPI,
            i == 0 ? OTF2_METRIC_ACCUMULATED_START : OTF2_METRIC_ABSOLUTE_NEXT, OTF2_TYPE_UINT64,
            OTF2_BASE_DECIMAL, 0, name));
        OTF2_MUST(OTF2_GlobalDefWriter_WriteMetricClass(global, i, (uint8_t)(1 + 2 * i), members_of,
                                                        OTF2_METRIC_SYNCHRONOUS,
                                                        OTF2_RECORDER_KIND_UNKNOWN));
    }
}

static void make_archive(const char *path, uint32_t count)
{
    const uint64_t begin = UINT64_C(1) << 40;
    struct otf2_archive made = otf2_archive_begin(path, "Score-P 8.0");
    for (uint32_t l = 0; l < RANDOM_LOCATIONS; l++)
        write_events(otf2_archive_location(&made, l), begin, count);
    otf2_archive_end_events(&made);
    for (uint32_t l = 0; l < RANDOM_LOCATIONS; l++) {
        OTF2_DefWriter *writer = otf2_archive_local(&made, l);
        write_local(writer, l, begin, count);
        OTF2_MUST(OTF2_Archive_CloseDefWriter(made.archive, writer));
    }
    otf2_archive_definitions(&made);
    write_definitions(&made);
    otf2_archive_end(&made);
}

static void test_everything(void **state)
{
    (void)state;
    enum { ROUNDS = 10 };
    uint64_t first = lull_test_seed();
    for (seed = first; seed - first < lull_test_rounds(ROUNDS); seed++) {
        uint32_t count = seed == first ? 40000 : 1000; /* several chunks, or one */
        lull_random_seed(&random_numbers, seed);
        make_archive(folder_path("everything"), count);
        assert_true(compare_archive(folder_path("everything")) > count);
        assert_int_equal(lull_remove_tree(folder_path("everything"), &err), LULL_OK);
    }
}

/* ---- archives of others and of ours ---------------------------------------------------------- */

static void test_drawn_traces(void **state)
{
    (void)state;
    enum { ROUNDS = 20 };
    static const struct memory_trace_options options = {.events = 2000};
    uint64_t first = lull_test_seed();
    for (seed = first; seed - first < lull_test_rounds(ROUNDS); seed++) {
        lull_random_seed(&random_numbers, seed);
        struct lull_trace *drawn = memory_trace_draw(&random_numbers, &options);
        fail_if(lull_convert(drawn, folder_path("drawn"), lull_format_find("otf2"), true, NULL,
                             NULL, &err) != LULL_OK,
                "seed %" PRIu64 ": %s", seed, err.text);
        compare_archive(folder_path("drawn"));
        lull_trace_close(drawn);
    }
}

static void test_real_traces(void **state)
{
    (void)state;
    static const char *const names[] = {
        "sstmacro-scorep-mpi10-otf2/traces.otf2", "pipit-pingpong-otf2-papi/traces.otf2",
        "eztrace-mpi4-jacobi/eztrace_log.otf2",   "eztrace-hybrid2x2-pomp-jacobi/eztrace_log.otf2",
        "casita-cuda-simple/traces.otf2",         "casita-ocl-deps/traces.otf2"};
    const char *folder = getenv("LULL_CONFORMANCE_DIR");
    struct stat info;
    folder = folder && *folder ? folder : "../../shared/traces";
    if (stat(folder, &info) != 0) {
        printf("skipped: no traces in '%s' (LULL_CONFORMANCE_DIR)\n", folder);
        skip();
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strstr(names[i], "eztrace") && /* of large chunks */
            !lull_test_picks(i, sizeof names / sizeof *names))
            continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_true(compare_archive(path) > 40);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Whether the damage is seen. */
static bool check_damaged(struct lull_trace *trace, size_t byte)
{
    struct events all = read_location(trace, 1, LULL_MASK_ALL, FEW, false);
    fail_if(all.status != LULL_OK && (!all.error.text[0] || strchr(all.error.text, '\n')),
            "seed %" PRIu64 ": byte %zu: '%s'", seed, byte, all.error.text);
    free_events(&all);
    return all.status != LULL_OK;
}

static void patch(const char *path, size_t offset, int byte)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, (long)offset, SEEK_SET);
    fputc(byte, file);
    fclose(file);
}

static void test_damage(void **state)
{
    (void)state;
    const char *path = folder_path("damaged"), *file = folder_path("damaged/traces/1.evt");
    struct lull_trace *trace;
    size_t size;
    seed = lull_test_seed();
    lull_random_seed(&random_numbers, seed);
    make_archive(path, 60);
    unsigned char *bytes = folder_read(file, &size);
    assert_int_equal(lull_trace_open(path, &trace, &err), LULL_OK);
    const size_t step = 8 / lull_test_rounds(8); /* every eighth byte where bytes are dear */
    unsigned cuts = 0, cuts_seen = 0, flips = 0, flips_seen = 0;
    for (size_t cut = size; cut-- > 0;) {
        assert_int_equal(truncate(file, (off_t)cut), 0);
        if (cut % step > 0)
            continue;
        cuts++;
        cuts_seen += check_damaged(trace, cut);
    }
    assert_reached("the cut is seen", cuts_seen, cuts / 2, cuts);
    folder_write(file, bytes, size);
    for (size_t i = 0; i < size; i++)
        for (unsigned bit = 0; bit <= 8; bit++) {
            if (!lull_test_picks(i + bit, 27)) /* each third byte once where bytes are dear */
                continue;
            patch(file, i, bytes[i] ^ (bit < 8 ? 1 << bit : 0xff));
            flips++;
            flips_seen += check_damaged(trace, i);
            patch(file, i, bytes[i]);
        }
    assert_reached("the damage is seen", flips_seen, flips / 50, flips);
    lull_trace_close(trace);
    free(bytes);
}

/* ---- errors that tell where ------------------------------------------------------------------ */

/* Chunk header, time stamp at 18, enter at 27, time stamp at 30, leave at 39, end mark at 42. */
static void make_small(const char *path)
{
    struct otf2_archive made = otf2_archive_begin(path, "Score-P 8.0");
    OTF2_EvtWriter *writer = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_Enter(writer, NULL, 5, 1));
    OTF2_MUST(OTF2_EvtWriter_Leave(writer, NULL, 6, 1));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    OTF2_MUST(OTF2_GlobalDefWriter_WriteClockProperties(made.global, 1000000000, 0, 10,
                                                        OTF2_UNDEFINED_TIMESTAMP));
    otf2_archive_process(&made, 0);
    otf2_archive_thread(&made, 0, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 2);
    otf2_archive_region(&made, 1, "f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);
}

static void test_places(void **state)
{
    (void)state;
    static const struct {
        size_t byte;
        int value; /* -1: the file ends here */
        const char *wanted;
    } cases[] = {
        {0, 7, "traces/0.evt: byte 0: no chunk begins here"},
        {1, 'C', "traces/0.evt: byte 0: no chunk begins here"},
        {17, -1, "traces/0.evt: byte 0: the file ends where a chunk is expected"},
        {18, 7, "traces/0.evt: byte 18: no record begins here"},
        {27, 1, "traces/0.evt: byte 27: no record begins here"},
        {28, 5, "traces/0.evt: byte 27: the fields of a record do not fit into it"},
        {28, 100, "traces/0.evt: byte 27: a record crosses the end of its chunk"},
        {29, 2, "location 0: event 1 names region 2, which is not defined"},
        {30, -1, "traces/0.evt: byte 30: the file ends inside its last chunk"},
        {35, -1, "traces/0.evt: byte 30: a time stamp crosses the end of its chunk"},
        {40, -1, "traces/0.evt: byte 39: a record crosses the end of its chunk"},
        {42, 0, "traces/0.evt: byte 44: the file ends inside its last chunk"},
    };
    const char *path = folder_path("small"), *file = folder_path("small/traces/0.evt");
    struct lull_trace *trace;
    size_t size;
    make_small(path);
    unsigned char *bytes = folder_read(file, &size);
    assert_int_equal(lull_trace_open(path, &trace, &err), LULL_OK);
    assert_int_equal(compare_location(trace, 0, LULL_MASK_ALL), 2);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char before = bytes[cases[i].byte];
        bytes[cases[i].byte] = (unsigned char)cases[i].value;
        folder_write(file, bytes, cases[i].value < 0 ? cases[i].byte : size);
        bytes[cases[i].byte] = before;
        struct events all = read_location(trace, 0, LULL_MASK_ALL, BLOCK, false);
        assert_int_equal(all.status, LULL_ERR_FORMAT);
        fail_if(!strstr(all.error.text, cases[i].wanted), "'%s' was to contain '%s'",
                all.error.text, cases[i].wanted);
        free_events(&all);
    }
    lull_trace_close(trace);
    free(bytes);
}

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

TEST_GROUP(test_otf2_decode)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything), cmocka_unit_test(test_drawn_traces),
        cmocka_unit_test(test_real_traces), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_places)};
    return run_cases(tests, set_up, tear_down);
}
