/* Archives made with libotf2, with what tracers do to them planted on purpose. */
#include "base/file.h"
#include "support/folder.h"
#include "support/otf2_archive.h"
#include "support/same_trace.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/format/otf2/otf2_events.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lull_error err;
static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    folder_remove();
    return 0;
}

static struct lull_trace *must_open(const char *path)
{
    struct lull_trace *trace;
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK, "%s", err.text);
    together_check(path);
    return trace;
}

static struct same_sequence must_read(const struct lull_trace *trace, uint32_t location)
{
    struct same_sequence sequence;
    fail_if(collect_by_cursor(trace, location, 0, arena, &sequence, &err) != LULL_OK, "%s",
            err.text);
    return sequence;
}

static uint64_t quirk_count(const struct lull_trace *trace, const char *part)
{
    struct lull_quirk *quirks;
    uint32_t count = lull_trace_quirks(trace, arena, &quirks);
    for (uint32_t q = 0; q < count; q++)
        if (strstr(quirks[q].kind, part))
            return quirks[q].count;
    return 0;
}

static void check_event(const struct lull_event *event, unsigned kind, int64_t time, uint32_t id)
{
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->time, time);
    assert_int_equal(event->id, id);
}

static void clock_properties(struct otf2_archive *made, uint64_t resolution, uint64_t offset,
                             uint64_t length)
{
    OTF2_MUST(OTF2_GlobalDefWriter_WriteClockProperties(made->global, resolution, offset, length,
                                                        OTF2_UNDEFINED_TIMESTAMP));
}

static void two_processes(struct otf2_archive *made, uint64_t first, uint64_t second)
{
    const uint64_t locations[] = {first, second}, ranks[] = {0, 1};
    otf2_archive_process(made, 0);
    otf2_archive_process(made, 1);
    /* Event counts are wrong on purpose, here and everywhere. */
    otf2_archive_thread(made, first, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 0);
    otf2_archive_thread(made, second, 1, OTF2_LOCATION_TYPE_CPU_THREAD, 12345678901234);
    otf2_archive_group(made, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 2, locations);
    otf2_archive_group(made, 1, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, ranks);
    otf2_archive_comm(made, 0, "world", 1);
}

/* ---- ids ------------------------------------------------------------------------------------- */

/* Ids of locations, regions and communicators spread over their whole range, not unified between
 * processes, some defined twice. */
static void test_sparse_ids(void **state)
{
    (void)state;
    enum { FAR = 4000000000u, FARTHER = 4100000000u };
    const uint64_t low = 7, high = UINT64_C(0xfffffffffffffff0);
    struct otf2_archive made = otf2_archive_begin(folder_path("sparse"), "");
    OTF2_EvtWriter *events = otf2_archive_location(&made, high);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 100, FAR));
    OTF2_MUST(OTF2_EvtWriter_MpiSend(events, NULL, 110, 1, 3000000000u, 5, 64));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 120, FAR));
    events = otf2_archive_location(&made, low);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 100, FARTHER));
    OTF2_MUST(OTF2_EvtWriter_MpiRecv(events, NULL, 130, 0, 3000000000u, 5, 64));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 140, FARTHER));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 100, 40);
    two_processes(&made, high, low);
    /* Used again for a thread team, and before its own definition. */
    const uint64_t both[] = {high, low}, ranks[] = {0, 1};
    otf2_archive_comm(&made, 3000000000u, "split", 2500000000u);
    otf2_archive_group(&made, 2500000000u, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, 2,
                       both);
    otf2_archive_group(&made, 2500000000u, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, ranks);
    otf2_archive_comm(&made, 3000000000u, "again", 2500000000u);
    otf2_archive_region(&made, FAR, "MPI_Send", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_region(&made, FARTHER, "MPI_Send", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);

    struct lull_trace *trace = must_open(folder_path("sparse"));
    assert_int_equal(trace->n_locations, 2);
    assert_true(trace->locations[0].source_id == high); /* rank 0, whatever its id */
    assert_int_equal(trace->n_regions, 1);              /* the same function, defined twice */
    assert_int_equal(trace->regions[0].paradigm, LULL_PARADIGM_MPI);
    assert_int_equal(trace->duration, 40);
    struct same_sequence sender = must_read(trace, 0), receiver = must_read(trace, 1);
    assert_int_equal(sender.count, 3);
    check_event(&sender.events[0], LULL_EVENT_ENTER, 0, 0);
    check_event(&sender.events[1], LULL_EVENT_SEND, 10, sender.events[1].id);
    assert_string_equal(trace->comms[sender.events[1].id].name, "split");
    assert_int_equal(sender.events[1].message.peer, 1);
    check_event(&receiver.events[1], LULL_EVENT_RECV, 30, sender.events[1].id);
    assert_int_equal(receiver.events[1].message.peer, 0);
    assert_int_equal(receiver.events[1].message.tag, 5);
    assert_true(receiver.events[1].message.bytes == 64);
    assert_int_equal(quirk_count(trace, "id of a group is defined more than once"), 1);
    assert_int_equal(quirk_count(trace, "id of a communicator is defined more than once"), 1);
    lull_trace_close(trace);
}

/* A location whose ids differ from the global ones, and whose clock is 1000 ticks behind and
 * slower: the offset grows from 1000 to 1100 while it counts from 0 to 1000. */
static void test_local_definitions(void **state)
{
    (void)state;
    struct otf2_archive made = otf2_archive_begin(folder_path("local"), "");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 1000, 1));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 2100, 1));
    events = otf2_archive_location(&made, 1);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 0, 0));
    OTF2_MUST(OTF2_EvtWriter_BufferFlush(events, NULL, 500, 600));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 1000, 0));
    otf2_archive_end_events(&made);
    OTF2_DefWriter *local = otf2_archive_local(&made, 1);
    const uint64_t map[] = {1};
    OTF2_IdMap *ids = OTF2_IdMap_CreateFromUint64Array(1, map, false);
    OTF2_MUST(OTF2_DefWriter_WriteMappingTable(local, OTF2_MAPPING_REGION, ids));
    OTF2_IdMap_Free(ids);
    OTF2_MUST(OTF2_DefWriter_WriteClockOffset(local, 0, 1000, 0));
    OTF2_MUST(OTF2_DefWriter_WriteClockOffset(local, 1000, 1100, 0));
    OTF2_MUST(OTF2_Archive_CloseDefWriter(made.archive, local));
    otf2_archive_definitions(&made);
    /* Half a ns per tick; the length is wrong, the events decide. */
    clock_properties(&made, 2000000000, 1000, 7);
    two_processes(&made, 0, 1);
    otf2_archive_region(&made, 0, "wrong", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_region(&made, 1, "right", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);

    struct lull_trace *trace = must_open(folder_path("local/traces.otf2"));
    assert_int_equal(trace->duration, 550);
    assert_int_equal(quirk_count(trace, "clock properties do not agree"), 1);
    struct same_sequence sequence = must_read(trace, 1);
    assert_string_equal(trace->regions[sequence.events[0].id].name, "right");
    check_event(&sequence.events[0], LULL_EVENT_ENTER, 0, sequence.events[0].id);
    check_event(&sequence.events[1], LULL_EVENT_FLUSH, 275, LULL_NONE);
    assert_in_range(sequence.events[1].duration, 50, 55); /* 100 or 110 corrected ticks */
    check_event(&sequence.events[2], LULL_EVENT_LEAVE, 550, sequence.events[0].id);
    lull_trace_close(trace);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void test_messages(void **state)
{
    (void)state;
    struct otf2_archive made = otf2_archive_begin(folder_path("messages"), "");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 0, 0));
    OTF2_MUST(OTF2_EvtWriter_MpiIsend(events, NULL, 1, 4294967294u, 0, 1, 8, 11));
    OTF2_MUST(OTF2_EvtWriter_MpiIrecvRequest(events, NULL, 2, 12));  /* never completed */
    OTF2_MUST(OTF2_EvtWriter_MpiSend(events, NULL, 3, 1, 99, 0, 8)); /* undefined communicator */
    OTF2_MUST(OTF2_EvtWriter_MpiSend(events, NULL, 4, 1, 2, 0, 8));  /* rank it does not have */
    OTF2_MUST(OTF2_EvtWriter_MpiSend(events, NULL, 5, 0, 3, 0, 8));  /* to itself */
    OTF2_MUST(OTF2_EvtWriter_NonBlockingCollectiveRequest(events, NULL, 6, 13));
    OTF2_MUST(OTF2_EvtWriter_MpiCollectiveBegin(events, NULL, 7));
    OTF2_MUST(
        OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, 8, OTF2_COLLECTIVE_OP_BCAST, 0, 1, 16, 32));
    OTF2_MUST(OTF2_EvtWriter_ThreadTeamBegin(events, NULL, 9, 77)); /* undefined team */
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 10, 1));           /* not entered */
    events = otf2_archive_location(&made, 1);
    OTF2_MUST(OTF2_EvtWriter_MpiSend(events, NULL, 5, 0, 3, 0, 8));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 10);
    two_processes(&made, 0, 1);
    const uint64_t one[] = {1};
    otf2_archive_group(&made, 2, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 1, one);
    otf2_archive_comm(&made, 2, "one", 2);
    otf2_archive_group(&made, 3, OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI, 0, NULL);
    otf2_archive_comm(&made, 3, "self", 3);
    otf2_archive_region(&made, 0, "main", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_region(&made, 1, "other", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);

    struct lull_trace *trace = must_open(folder_path("messages"));
    struct same_sequence sequence = must_read(trace, 0);
    const struct lull_event *event = sequence.events;
    assert_int_equal(sequence.count, 11); /* the wrong LEAVE is replaced by the one at the end */
    assert_int_equal(event[1].message.peer, LULL_PROC_NULL);
    assert_true(event[1].message.request == 11);
    check_event(&event[2], LULL_EVENT_RECV_POST, 2, LULL_NONE);
    check_event(&event[3], LULL_EVENT_SEND, 3, LULL_NONE);
    assert_int_equal(event[3].message.peer, 1);
    assert_int_equal(event[4].message.peer, 1);
    assert_int_equal(event[5].message.peer, 0);
    check_event(&event[6], LULL_EVENT_COLLECTIVE_BEGIN, 6, LULL_NONE);
    assert_true(event[6].collective.request == 13);
    check_event(&event[8], LULL_EVENT_COLLECTIVE_END, 8, 0);
    assert_int_equal(event[8].op, LULL_COLLECTIVE_BCAST);
    assert_int_equal(event[8].collective.root, 1);
    assert_true(event[8].collective.sent == 16 && event[8].collective.received == 32);
    check_event(&event[9], LULL_EVENT_TEAM_BEGIN, 9, LULL_NONE);
    check_event(&event[10], LULL_EVENT_LEAVE, 10, 0);
    sequence = must_read(trace, 1);
    assert_int_equal(sequence.events[0].message.peer, 1); /* itself, too */
    assert_int_equal(quirk_count(trace, "non-blocking receives have no record"), 1);
    assert_int_equal(quirk_count(trace, "non-blocking sends have no record"), 1);
    assert_int_equal(quirk_count(trace, "collective operations begin and have no"), 1);
    assert_int_equal(quirk_count(trace, "a communicator that is not defined"), 1);
    assert_int_equal(quirk_count(trace, "a rank that its communicator does not have"), 1);
    lull_trace_close(trace);
}

/* All requests complete or are cancelled: nothing is missed, whatever kinds of events are read. */
static void test_complete_requests(void **state)
{
    (void)state;
    static const uint64_t masks[] = {LULL_MASK_ALL,
                                     LULL_MASK(LULL_EVENT_SEND),
                                     LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_RECV),
                                     LULL_MASK(LULL_EVENT_RECV_POST),
                                     LULL_MASK(LULL_EVENT_RECV_POST) | LULL_MASK(LULL_EVENT_RECV),
                                     LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN)};
    struct otf2_archive made = otf2_archive_begin(folder_path("complete"), "");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_MpiIsend(events, NULL, 1, 1, 0, 1, 8, 1));
    OTF2_MUST(OTF2_EvtWriter_MpiIsend(events, NULL, 2, 1, 0, 1, 8, 2));
    OTF2_MUST(OTF2_EvtWriter_MpiIrecvRequest(events, NULL, 3, 3));
    OTF2_MUST(OTF2_EvtWriter_MpiIrecvRequest(events, NULL, 4, 4));
    OTF2_MUST(OTF2_EvtWriter_MpiIsendComplete(events, NULL, 5, 1));
    OTF2_MUST(OTF2_EvtWriter_MpiRequestCancelled(events, NULL, 6, 2));
    OTF2_MUST(OTF2_EvtWriter_MpiIrecv(events, NULL, 7, 1, 0, 1, 8, 3));
    OTF2_MUST(OTF2_EvtWriter_MpiRequestCancelled(events, NULL, 8, 4));
    OTF2_MUST(OTF2_EvtWriter_MpiCollectiveBegin(events, NULL, 9));
    OTF2_MUST(
        OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, 10, OTF2_COLLECTIVE_OP_BCAST, 0, 1, 1, 1));
    otf2_archive_location(&made, 1);
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 10);
    two_processes(&made, 0, 1);
    otf2_archive_end(&made);
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        struct lull_trace *trace = must_open(folder_path("complete"));
        struct same_sequence sequence;
        fail_if(collect_by_cursor(trace, 0, masks[m], arena, &sequence, &err) != LULL_OK, "%s",
                err.text);
        assert_true(sequence.count > 0);
        assert_int_equal(quirk_count(trace, "no record of"), 0);
        lull_trace_close(trace);
    }
}

static void test_inter_communicator(void **state)
{
    (void)state;
    struct otf2_archive made = otf2_archive_begin(folder_path("inter"), "");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_MpiSend(events, NULL, 1, 0, 1, 3, 8));
    OTF2_MUST(OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, 2, OTF2_COLLECTIVE_OP_BCAST, 1,
                                              OTF2_COLLECTIVE_ROOT_SELF, 8, 0));
    events = otf2_archive_location(&made, 1);
    OTF2_MUST(OTF2_EvtWriter_MpiRecv(events, NULL, 2, 0, 1, 3, 8));
    OTF2_MUST(
        OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, 3, OTF2_COLLECTIVE_OP_BCAST, 1, 0, 0, 8));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 3);
    two_processes(&made, 0, 1);
    const uint64_t zero[] = {0}, one[] = {1};
    otf2_archive_group(&made, 2, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 1, zero);
    otf2_archive_group(&made, 3, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 1, one);
    OTF2_StringRef name = otf2_archive_string(&made, "between");
    OTF2_MUST(
        OTF2_GlobalDefWriter_WriteInterComm(made.global, 1, name, 2, 3, 0, OTF2_COMM_FLAG_NONE));
    otf2_archive_end(&made);

    /* Through our own writer, too. */
    struct lull_trace *trace = must_open(folder_path("inter"));
    assert_int_equal(lull_convert(trace, folder_path("inter2"), lull_format_find("otf2"), false,
                                  NULL, NULL, &err),
                     LULL_OK);
    lull_trace_close(trace);
    const char *paths[] = {"inter", "inter2"};
    for (int i = 0; i < 2; i++) {
        trace = must_open(folder_path(paths[i]));
        assert_int_equal(trace->n_comms, 3);
        assert_int_equal(trace->comms[1].remote, 2);
        assert_int_equal(trace->comms[2].remote, 1);
        struct same_sequence a = must_read(trace, 0), b = must_read(trace, 1);
        assert_int_equal(a.events[0].message.peer, 1);
        assert_int_equal(b.events[0].message.peer, 0);
        assert_int_equal(a.events[0].id, b.events[0].id);
        assert_int_equal(a.events[1].collective.root, 0);
        assert_int_equal(b.events[1].collective.root, 0);
        lull_trace_close(trace);
    }
}

/* ---- bytes of collectives of Score-P -----------------------------------------------------------
 */

/* Totals as the tests of Score-P have them (test_allreduce and its neighbours, 4 ranks), and what
 * one rank's buffers hold. */
static void test_totals_of_score_p(void **state)
{
    (void)state;
    static const struct {
        uint8_t op;
        uint32_t rank;
        uint64_t sent, received, own_sent, own_received;
    } examples[] = {
        {LULL_COLLECTIVE_ALLREDUCE, 0, 4 * 25 * 16, 4 * 25 * 16, 25 * 16, 25 * 16},
        {LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK, 1, 4 * 50 * 8, 4 * 50 * 8, 4 * 50 * 8, 50 * 8},
        {LULL_COLLECTIVE_REDUCE_SCATTER, 0, 100 * 4, 4 * 10 * 4, 100 * 4, 10 * 4},
        {LULL_COLLECTIVE_REDUCE_SCATTER, 1, 100 * 4, 4 * 20 * 4, 100 * 4, 20 * 4},
        {LULL_COLLECTIVE_ALLTOALL, 0, 4 * 8, 4 * 8, 4 * 8, 4 * 8},
        {LULL_COLLECTIVE_ALLGATHER, 0, 4 * 8, 4 * 8, 8, 4 * 8},
        {LULL_COLLECTIVE_BCAST, 0, 4 * 8, 8, 8, 8},
        {LULL_COLLECTIVE_BCAST, 1, 0, 8, 0, 8},
        {LULL_COLLECTIVE_REDUCE, 0, 8, 4 * 8, 8, 8},
        {LULL_COLLECTIVE_GATHER, 0, 8, 4 * 8, 8, 4 * 8},
        {LULL_COLLECTIVE_SCAN, 0, 4 * 8, 1 * 8, 8, 8},
        {LULL_COLLECTIVE_SCAN, 2, 2 * 8, 3 * 8, 8, 8},
        {LULL_COLLECTIVE_SCAN, 2, 1 * 8, 2 * 8, 8, 8}, /* in place */
        {LULL_COLLECTIVE_EXSCAN, 3, 0, 3 * 8, 8, 8},
        {LULL_COLLECTIVE_ALLREDUCE, 0, 3 * 25, 3 * 25, 25, 25}, /* in place */
        {LULL_COLLECTIVE_ALLREDUCE, 0, 7, 7, 7, 7},             /* nobody's total */
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        uint64_t sent = examples[i].sent, received = examples[i].received;
        lull_otf2_bytes_of_one(examples[i].op, 4, examples[i].rank, &sent, &received);
        fail_if(sent != examples[i].own_sent || received != examples[i].own_received,
                "example %zu: %llu and %llu", i, (unsigned long long)sent,
                (unsigned long long)received);
    }
}

/* An allreduce of 8 bytes, as Score-P and as others write it. */
static void test_bytes_by_producer(void **state)
{
    (void)state;
    static const struct {
        const char *creator;
        uint64_t written;
    } producers[] = {{"Score-P 9.2", 16}, {"", 8}};
    for (int i = 0; i < 2; i++) {
        char name[] = "bytes0";
        name[5] = (char)('0' + i);
        struct otf2_archive made = otf2_archive_begin(folder_path(name), producers[i].creator);
        for (uint64_t l = 0; l < 2; l++) {
            OTF2_EvtWriter *events = otf2_archive_location(&made, l);
            OTF2_MUST(OTF2_EvtWriter_MpiCollectiveBegin(events, NULL, 1));
            OTF2_MUST(OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, 2, OTF2_COLLECTIVE_OP_ALLREDUCE,
                                                      0, OTF2_COLLECTIVE_ROOT_NONE,
                                                      producers[i].written, producers[i].written));
        }
        otf2_archive_end_events(&made);
        otf2_archive_definitions(&made);
        clock_properties(&made, 1000000000, 0, 3);
        two_processes(&made, 0, 1);
        otf2_archive_end(&made);
        struct lull_trace *trace = must_open(folder_path(name));
        struct same_sequence events = must_read(trace, 0);
        assert_int_equal(events.events[1].kind, LULL_EVENT_COLLECTIVE_END);
        assert_int_equal(events.events[1].collective.sent, 8);
        assert_int_equal(events.events[1].collective.received, 8);
        lull_trace_close(trace);
    }
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void add_member(struct otf2_archive *made, uint32_t id, const char *name,
                       OTF2_MetricMode mode, OTF2_Type type)
{
    OTF2_StringRef text = otf2_archive_string(made, name), unit = otf2_archive_string(made, "s");
    OTF2_MUST(OTF2_GlobalDefWriter_WriteMetricMember(made->global, id, text, text,
                                                     OTF2_METRIC_TYPE_OTHER, mode, type,
                                                     OTF2_BASE_DECIMAL, id == 1 ? -9 : 0, unit));
}

static void test_metric_modes(void **state)
{
    (void)state;
    enum { MEMBERS = 5 };
    const OTF2_Type types[MEMBERS] = {OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE, OTF2_TYPE_INT64,
                                      OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
    const OTF2_MetricValue values[3][MEMBERS] = {{{.unsigned_int = 100},
                                                  {.floating_point = 1.4},
                                                  {.signed_int = 7},
                                                  {.unsigned_int = 3},
                                                  {.unsigned_int = 40}},
                                                 {{.unsigned_int = 150},
                                                  {.floating_point = 2.6},
                                                  {.signed_int = 5},
                                                  {.unsigned_int = 4},
                                                  {.unsigned_int = 50}},
                                                 {{.unsigned_int = 120}, /* started anew: wraps */
                                                  {.floating_point = -2.6},
                                                  {.signed_int = 5},
                                                  {.unsigned_int = 5},
                                                  {.unsigned_int = 60}}};
    const uint64_t wanted[3][MEMBERS] = {
        {100, 1, 7, 3, 0}, {50, 2, (uint64_t)-2, 4, 40}, {(uint64_t)-30, (uint64_t)-6, 0, 5, 50}};
    struct otf2_archive made = otf2_archive_begin(folder_path("metrics"), "");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    for (uint64_t i = 0; i < 3; i++) /* the second by the id of an instance */
        OTF2_MUST(
            OTF2_EvtWriter_Metric(events, NULL, i, i == 1 ? 900 : 5, MEMBERS, types, values[i]));
    OTF2_MUST(OTF2_EvtWriter_Metric(events, NULL, 3, 6, MEMBERS, types, values[0]));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 3);
    otf2_archive_process(&made, 0);
    otf2_archive_thread(&made, 0, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 4);
    const OTF2_MetricMemberRef members[MEMBERS] = {0, 1, 2, 3, 4};
    add_member(&made, 0, "PAPI_TOT_INS", OTF2_METRIC_ACCUMULATED_START, types[0]);
    add_member(&made, 1, "energy", OTF2_METRIC_ACCUMULATED_START, types[1]);
    add_member(&made, 2, "memory", OTF2_METRIC_ABSOLUTE_POINT, types[2]);
    add_member(&made, 3, "delta", OTF2_METRIC_RELATIVE_LAST, types[3]);
    add_member(&made, 4, "next", OTF2_METRIC_ACCUMULATED_NEXT, types[4]);
    OTF2_MUST(OTF2_GlobalDefWriter_WriteMetricClass(
        made.global, 5, MEMBERS, members, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
    OTF2_MUST(
        OTF2_GlobalDefWriter_WriteMetricInstance(made.global, 900, 5, 0, OTF2_SCOPE_LOCATION, 0));
    otf2_archive_end(&made);

    struct lull_trace *trace = must_open(folder_path("metrics"));
    assert_int_equal(trace->n_counters, MEMBERS);
    assert_int_equal(trace->counters[0].role, LULL_COUNTER_INSTRUCTIONS);
    assert_string_equal(trace->counters[1].unit, "10^-9 s");
    struct same_sequence sequence = must_read(trace, 0);
    assert_int_equal(sequence.count, 3); /* class 6 is not defined */
    for (int i = 0; i < 3; i++)
        for (uint32_t m = 0; m < MEMBERS; m++) {
            assert_int_equal(sequence.events[i].readings.values[m].counter, m);
            assert_true(sequence.events[i].readings.values[m].value == wanted[i][m]);
        }
    assert_int_equal(quirk_count(trace, "metrics of a class that is not defined"), 1);
    lull_trace_close(trace);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void test_devices(void **state)
{
    (void)state;
    struct otf2_archive made = otf2_archive_begin(folder_path("devices"), "");
    const uint64_t ids[] = {3, 20, 10, 15, 99};
    for (int i = 0; i < 5; i++) {
        OTF2_EvtWriter *events = otf2_archive_location(&made, ids[i]);
        OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 0, (uint32_t)(i == 0 || i == 3)));
        OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 9, (uint32_t)(i == 0 || i == 3)));
    }
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 9);
    otf2_archive_process(&made, 0);
    otf2_archive_process(&made, 1);
    OTF2_StringRef name = otf2_archive_string(&made, "GPU");
    OTF2_MUST(OTF2_GlobalDefWriter_WriteLocationGroup(made.global, 2, name,
                                                      OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, 0, 0));
    otf2_archive_thread(&made, 3, 2, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, 2);
    otf2_archive_thread(&made, 20, 1, OTF2_LOCATION_TYPE_CPU_THREAD, 2);
    otf2_archive_thread(&made, 10, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 2);
    otf2_archive_thread(&made, 15, 1, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, 2);
    otf2_archive_thread(&made, 99, 0, OTF2_LOCATION_TYPE_METRIC, 2);
    otf2_archive_region(&made, 0, "cudaLaunchKernel", OTF2_REGION_ROLE_FUNCTION,
                        OTF2_PARADIGM_CUDA);
    otf2_archive_region(&made, 1, "cube(float*)", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_CUDA);
    otf2_archive_end(&made);

    struct lull_trace *trace = must_open(folder_path("devices"));
    const uint64_t order[] = {10, 3, 20, 15};
    const uint32_t processes[] = {0, 0, 1, 1};
    assert_int_equal(trace->n_processes, 2);
    assert_int_equal(trace->n_locations, 4);
    for (int l = 0; l < 4; l++) {
        assert_true(trace->locations[l].source_id == order[l]);
        assert_int_equal(trace->locations[l].process, processes[l]);
        assert_int_equal(trace->locations[l].kind, l % 2);
        assert_int_equal(trace->locations[l].number, 0);
        assert_int_equal(must_read(trace, (uint32_t)l).count, 2);
    }
    assert_int_equal(trace->regions[0].role, LULL_ROLE_FUNCTION);
    assert_int_equal(trace->regions[1].role, LULL_ROLE_KERNEL);
    assert_int_equal(quirk_count(trace, "nothing but metrics"), 1);
    lull_trace_close(trace);
}

/* A device stream with copies, which may overlap kernels and each other, and a thread that puts. */
static void write_copies(struct otf2_archive *made)
{
    OTF2_EvtWriter *events = otf2_archive_location(made, 0);
    OTF2_MUST(OTF2_EvtWriter_RmaPut(events, NULL, 0, 0, 1, 100, 42));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteBlocking(events, NULL, 9, 0, 42));
    events = otf2_archive_location(made, 1);
    OTF2_MUST(OTF2_EvtWriter_RmaGet(events, NULL, 10, 0, 0, 1000, 42));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteBlocking(events, NULL, 20, 0, 42));
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 25, 0));
    OTF2_MUST(OTF2_EvtWriter_RmaGet(events, NULL, 30, 0, 0, 2000, 42));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 40, 0));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteNonBlocking(events, NULL, 50, 0, 42));
    OTF2_MUST(OTF2_EvtWriter_RmaPut(events, NULL, 60, 0, 0, 3000, 1));
    OTF2_MUST(OTF2_EvtWriter_RmaGet(events, NULL, 62, 0, 0, 4000, 2));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteBlocking(events, NULL, 65, 0, 1));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteBlocking(events, NULL, 70, 0, 2));
    OTF2_MUST(OTF2_EvtWriter_RmaPut(events, NULL, 80, 0, 0, 5000, 42));
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 85, 0));
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 86, 0));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteBlocking(events, NULL, 87, 0, 42));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 88, 0));
    OTF2_MUST(OTF2_EvtWriter_Leave(events, NULL, 90, 0));
    OTF2_MUST(OTF2_EvtWriter_RmaOpCompleteBlocking(events, NULL, 95, 0, 42)); /* of none */
    OTF2_MUST(OTF2_EvtWriter_RmaGet(events, NULL, 97, 0, 0, 6000, 42));       /* never completed */
}

static struct lull_trace *make_copies(const char *path)
{
    struct otf2_archive made = otf2_archive_begin(path, "Score-P 8.0");
    write_copies(&made);
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 100);
    otf2_archive_process(&made, 0);
    otf2_archive_thread(&made, 0, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 0);
    otf2_archive_thread(&made, 1, 0, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, 0);
    const uint64_t locations[] = {0, 1};
    otf2_archive_group(&made, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_CUDA, 2, locations);
    otf2_archive_group(&made, 1, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_CUDA, 2, locations);
    otf2_archive_comm(&made, 0, "device", 1);
    OTF2_MUST(OTF2_GlobalDefWriter_WriteRmaWin(made.global, 0, otf2_archive_string(&made, "w"), 0,
                                               OTF2_RMA_WIN_FLAG_NONE));
    otf2_archive_region(&made, 0, "cube(float*)", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_CUDA);
    otf2_archive_end(&made);
    return must_open(path);
}

/* Copies are regions of their stream, where no kernel runs. */
static void test_copies(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind;
        int64_t time;
        const char *region;
    } expected[] = {
#define ENTERED(time, region) {LULL_EVENT_ENTER, time, region}
#define LEFT(time, region)             \
    {                                  \
        LULL_EVENT_LEAVE, time, region \
    }
#define TRANSFERRED(time)          \
    {                              \
        LULL_EVENT_RMA, time, NULL \
    }
        ENTERED(10, "copy to device"),
        TRANSFERRED(10),
        LEFT(20, "copy to device"),
        ENTERED(25, "cube(float*)"),
        TRANSFERRED(30),
        LEFT(40, "cube(float*)"),
        ENTERED(40, "copy to device"),
        LEFT(50, "copy to device"),
        ENTERED(60, "copy from device"),
        TRANSFERRED(60),
        TRANSFERRED(62),
        LEFT(70, "copy from device"),
        ENTERED(80, "copy from device"),
        TRANSFERRED(80),
        LEFT(85, "copy from device"),
        ENTERED(85, "cube(float*)"),
        ENTERED(86, "cube(float*)"),
        LEFT(88, "cube(float*)"),
        LEFT(90, "cube(float*)"),
        ENTERED(97, "copy to device"),
        TRANSFERRED(97),
        LEFT(100, "copy to device"), /* with the run */
    };
    struct lull_trace *trace = make_copies(folder_path("copies"));
    struct same_sequence stream = must_read(trace, 1);
    assert_int_equal(stream.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < stream.count; i++) {
        const struct lull_event *event = &stream.events[i];
        assert_int_equal(event->kind, expected[i].kind);
        assert_int_equal(event->time, expected[i].time);
        if (!expected[i].region)
            continue;
        const struct lull_region *region = &trace->regions[event->id];
        assert_string_equal(region->name, expected[i].region);
        assert_int_equal(lull_activity_on(region, LULL_LOCATION_DEVICE),
                         *region->name == 'c' && region->name[1] == 'o' ? LULL_DEVICE
                                                                        : LULL_USEFUL);
    }
    struct same_sequence thread = must_read(trace, 0);
    assert_int_equal(thread.count, 1); /* a process puts in a call: that is its region */
    assert_int_equal(quirk_count(trace, "copies on a device stream have no record"), 1);

    /* Our own archive has the regions, and gets none beside them. */
    fail_if(lull_convert(trace, folder_path("own"), lull_format_find("otf2"), true, NULL, NULL,
                         &err) != LULL_OK,
            "%s", err.text);
    struct lull_trace *own = must_open(folder_path("own"));
    const struct same_events_options options = {0};
    fail_if(!same_events(trace, own, &options, &err), "%s", err.text);
    lull_trace_close(own);
    lull_trace_close(trace);
}

/* ---- damaged archives ------------------------------------------------------------------------ */

/* Two locations; the second has several chunks of events. */
static void make_sound(const char *path)
{
    enum { EVENTS = 60000 };
    struct otf2_archive made = otf2_archive_begin(path, "Score-P 8.0");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 0, 0));
    events = otf2_archive_location(&made, 1);
    for (uint64_t i = 0; i < EVENTS; i++)
        OTF2_MUST(i % 2 ? OTF2_EvtWriter_Leave(events, NULL, i, 0)
                        : OTF2_EvtWriter_Enter(events, NULL, i, 0));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, EVENTS);
    two_processes(&made, 0, 1);
    otf2_archive_region(&made, 0, "f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);
}

/* Opens and reads everything; the failure's text must contain `wanted`. */
static void check_refused(const char *path, const char *wanted)
{
    struct lull_trace *trace = NULL;
    struct same_sequence *sequences;
    lull_status status = lull_trace_open(path, &trace, &err);
    if (status == LULL_OK)
        status = collect_by_scan(trace, 0, 2, arena, &sequences, &err);
    assert_int_not_equal(status, LULL_OK);
    fail_if(!strstr(err.text, wanted) || strchr(err.text, '\n'), "'%s' was to contain '%s'",
            err.text, wanted);
    lull_trace_close(trace);
    together_check(path);
}

static void patch(const char *path, long offset, int byte)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, offset, SEEK_SET);
    fputc(byte, file);
    fclose(file);
}

static void test_damaged_files(void **state)
{
    (void)state;
    const char *path = folder_path("sound");
    make_sound(path);
    struct lull_trace *trace = must_open(path);
    assert_int_equal(must_read(trace, 1).count, 60000);
    lull_trace_close(trace);

    const char *events = folder_path("sound/traces/1.evt");
    struct stat whole;
    assert_int_equal(stat(events, &whole), 0);
    assert_true((uint64_t)whole.st_size > 2 * OTF2_CHUNK_SIZE_MIN);
    assert_int_equal(truncate(events, whole.st_size - 1), 0);
    check_refused(path, "traces/1.evt: the file is cut");
    assert_int_equal(truncate(events, whole.st_size - 1000), 0);
    check_refused(path, "traces/1.evt: the file is cut");
    assert_int_equal(truncate(events, (off_t)(2 * OTF2_CHUNK_SIZE_MIN)), 0);
    check_refused(path, "traces/1.evt: the file is cut");
    assert_int_equal(truncate(events, (off_t)(OTF2_CHUNK_SIZE_MIN + 5)), 0);
    check_refused(path, "traces/1.evt: byte 262149");
    assert_int_equal(truncate(events, 0), 0);
    check_refused(path, "traces/1.evt: byte 0");
    unlink(events);
    check_refused(path, "traces/1.evt: cannot open");
    unlink(folder_path("sound/traces.def"));
    check_refused(path, "traces.def: cannot open");
}

static void test_foreign_anchors(void **state)
{
    (void)state;
    const char *path = folder_path("anchors"), *anchor = folder_path("anchors/traces.otf2");
    /* The creator is "Score-P 8.0", machine and description are empty. */
    enum { CHUNK_SIZE_HIGH = 19, SUBSTRATE = 28, COMPRESSION = 29, PROPERTIES = 46 + 1 + 12 + 1 };
    make_sound(path);
    patch(anchor, COMPRESSION, 2);
    check_refused(path, "compressed with zlib, which this libotf2 cannot read");
    patch(anchor, COMPRESSION, 9);
    check_refused(path, "compression 9");
    patch(anchor, COMPRESSION, OTF2_COMPRESSION_NONE);
    patch(anchor, SUBSTRATE, OTF2_SUBSTRATE_SION);
    check_refused(path, "SIONlib");
    patch(anchor, SUBSTRATE, OTF2_SUBSTRATE_POSIX);
    patch(anchor, CHUNK_SIZE_HIGH, 1); /* 65536 TiB */
    check_refused(path, "announces more than it holds");
    patch(anchor, CHUNK_SIZE_HIGH, 0);
    patch(anchor, PROPERTIES, 255);
    check_refused(path, "announces more than it holds");
    patch(anchor, PROPERTIES, 0);
    lull_trace_close(must_open(path));
    folder_write(folder_path("anchors/second.otf2"), "text", 4);
    check_refused(path, "several archives");
    check_refused(folder_path("anchors/second.otf2"), "not recognised");
    unlink(anchor);
    check_refused(path, "not the anchor file");
}

static void test_undefined_region(void **state)
{
    (void)state;
    struct otf2_archive made = otf2_archive_begin(folder_path("undefined"), "Score-P 8.0");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 4);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 0, 0));
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 1, 17));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 0, 1);
    otf2_archive_process(&made, 0);
    otf2_archive_thread(&made, 4, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 2);
    otf2_archive_region(&made, 0, "f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);
    check_refused(folder_path("undefined"), "location 4: event 2 names region 17");
}

/* Trusted clock properties that events do not keep to. */
static void test_wrong_origin(void **state)
{
    (void)state;
    struct otf2_archive made = otf2_archive_begin(folder_path("origin"), "Score-P 8.0");
    OTF2_EvtWriter *events = otf2_archive_location(&made, 0);
    OTF2_MUST(OTF2_EvtWriter_Enter(events, NULL, 50, 0));
    otf2_archive_end_events(&made);
    otf2_archive_definitions(&made);
    clock_properties(&made, 1000000000, 60, 10);
    otf2_archive_process(&made, 0);
    otf2_archive_thread(&made, 0, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 1);
    otf2_archive_region(&made, 0, "f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    otf2_archive_end(&made);
    check_refused(folder_path("origin"), "events before tick 60");
}

TEST_GROUP(test_otf2_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_ids),
        cmocka_unit_test(test_local_definitions),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_inter_communicator),
        cmocka_unit_test(test_metric_modes),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_complete_requests),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_foreign_anchors),
        cmocka_unit_test(test_undefined_region),
        cmocka_unit_test(test_wrong_origin),
        cmocka_unit_test(test_totals_of_score_p),
        cmocka_unit_test(test_bytes_by_producer),
    };
    return run_cases(tests, set_up, tear_down);
}
