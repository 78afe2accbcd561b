/* Runs as tables of columns: events are those of the run, steps add up to the breakdown, and messages and collective
 * operations are those that were drawn. The tables are read by a reader of the test's own. */
#include "columns/columns.h"
#include "metrics/breakdown.h"
#include "support/arrow_reader.h"
#include "support/branches.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"

#include <inttypes.h>
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

static void write_run(const struct lull_trace *trace)
{
    fail_if(lull_convert(trace, folder_path("tables"), &lull_format_arrow, true, NULL, NULL,
                         &err) != LULL_OK,
            "%s", err.text);
}

static struct arrow_table read_table(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "tables/%s.arrow", name);
    return arrow_read(folder_path(path));
}

/* The rows of a table by location, in their order: rows of location l are order[first[l]] ...; both are malloc'd. */
static void rows_by_location(const struct arrow_table *table, uint32_t n_locations,
                             size_t **ret_first, size_t **ret_order)
{
    const struct arrow_column *location = arrow_column(table, "location");
    size_t *first = calloc((size_t)n_locations + 2, sizeof *first);
    size_t *order = calloc(table->n_rows + 1, sizeof *order);
    for (size_t row = 0; row < table->n_rows; row++) {
        fail_if(location->values[row] < 0 || location->values[row] >= n_locations, "row %zu", row);
        first[location->values[row] + 2]++;
    }
    for (uint32_t l = 0; l < n_locations; l++)
        first[l + 2] += first[l + 1];
    for (size_t row = 0; row < table->n_rows; row++)
        order[first[location->values[row] + 1]++] = row;
    *ret_first = first;
    *ret_order = order;
}

/* ==== events ================================================================================== */

enum { TOLD_NAME, TOLD_READINGS, TOLD_PARTNER, TOLD_OP, TOLD_SEQUENCE, EVENT_BRANCHES };
static struct branch event_branches[EVENT_BRANCHES] = {
    [TOLD_NAME] = {.what = "an event names something", .least = 900},
    [TOLD_READINGS] = {.what = "several counters are read at once", .least = 500},
    [TOLD_PARTNER] = {.what = "an event has a partner", .least = 500},
    [TOLD_OP] = {.what = "an event is one of several operations", .least = 500},
    [TOLD_SEQUENCE] = {.what = "the format is one sequence", .least = 300},
};

/* What an event's row has to say, by the words of trace/event.h; NULL: nothing. */
struct expected {
    const char *name, *op;
    bool lasts, has_value, has_partner;
    uint64_t value;
    int64_t partner;
};

static struct expected message_of(const struct lull_trace *trace, const struct lull_event *event)
{
    return (struct expected){.name =
                                 event->id < trace->n_comms ? trace->comms[event->id].name : NULL,
                             .has_value = true,
                             .value = event->message.bytes,
                             .has_partner = event->message.peer >= 0,
                             .partner = event->message.peer};
}

static struct expected expected_of(const struct lull_trace *trace, const struct lull_event *event)
{
    static const char *const modes[] = {"standard", "buffered", "synchronous"};
    static const char *const rma[] = {"put", "get", "atomic", "sync"};
    static const char *const io[] = {"read", "write", "open", "close", "other"};
    static const char *const waits[] = {"join", "barrier"};
    struct expected expected = {0};
    const char *comm = event->id < trace->n_comms ? trace->comms[event->id].name : NULL;
    switch (event->kind) {
    case LULL_EVENT_CALL:
        expected.lasts = true;
        if (event->op == LULL_SEVERAL)
            expected = (struct expected){
                .op = "several calls", .lasts = true, .has_value = true, .value = event->calls};
        /* fall through */
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
        expected.name = trace->regions[event->id].name;
        return expected;
    case LULL_EVENT_STATE:
        return (struct expected){.name = trace->states[event->id].name, .lasts = true};
    case LULL_EVENT_FLUSH:
        return (struct expected){.lasts = true};
    case LULL_EVENT_SEND:
        expected = message_of(trace, event);
        expected.op = modes[event->op];
        return expected;
    case LULL_EVENT_RECV:
    case LULL_EVENT_RECV_POST:
        return message_of(trace, event);
    case LULL_EVENT_SEND_DONE:
    case LULL_EVENT_REQUEST_TEST:
    case LULL_EVENT_REQUEST_CANCELLED:
    case LULL_EVENT_REQUEST_FREED:
        return (struct expected){.has_value = true, .value = event->message.request};
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        expected.name = comm;
        expected.op = event->op < LULL_COLLECTIVE_UNKNOWN ? lull_collective_name(event->op) : NULL;
        expected.has_value = event->kind == LULL_EVENT_COLLECTIVE_END;
        expected.value = event->collective.sent;
        expected.has_partner = expected.has_value && event->collective.root >= 0;
        expected.partner = event->collective.root;
        return expected;
    case LULL_EVENT_RMA:
        return (struct expected){.name = comm,
                                 .op = rma[event->op],
                                 .has_value = true,
                                 .value = event->transfer.bytes,
                                 .has_partner = event->transfer.target >= 0,
                                 .partner = event->transfer.target};
    case LULL_EVENT_IO:
        return (struct expected){.name = event->id < trace->n_files ? trace->files[event->id].name
                                                                    : NULL,
                                 .op = io[event->op],
                                 .has_value = true,
                                 .value = event->transfer.bytes};
    case LULL_EVENT_THREAD_WAIT_BEGIN:
    case LULL_EVENT_THREAD_WAIT_END:
        return (struct expected){
            .op = waits[event->op], .has_value = true, .value = event->meeting.number};
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        return (struct expected){.name = comm};
    case LULL_EVENT_MARKER:
        return (struct expected){
            .name = trace->markers[event->id].name, .has_value = true, .value = event->number};
    case LULL_EVENT_SAMPLE:
        expected.has_value = true;
        expected.value = event->sample.weight;
        if (event->id < trace->n_objects)
            expected.name = trace->objects[event->id].function ? trace->objects[event->id].function
                                                               : trace->objects[event->id].path;
        return expected;
    case LULL_EVENT_OPERATION:
        expected.has_value = true;
        expected.value = event->operation.number;
        if (event->id < trace->n_regions)
            expected.name = trace->regions[event->id].name;
        return expected;
    case LULL_EVENT_JOIN:
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        return expected;
    default:
        return (struct expected){.has_value = true, .value = event->number};
    }
}

/* Whether a name is shown as it is, as are all but those of test_words. */
static bool is_plain(const char *name)
{
    for (const char *at = name; at && *at; at++)
        if (*at < ' ' || *at > '~')
            return false;
    return true;
}

static void check_event_row(const struct arrow_table *table, size_t row,
                            const struct lull_event *event, const struct expected *expected)
{
    assert_int_equal(arrow_number(table, "time", row), event->time);
    fail_if(!arrow_says(table, "kind", row, lull_event_kind_name(event->kind)), "row %zu", row);
    fail_if(arrow_lacks(table, "name", row) != !expected->name ||
                arrow_lacks(table, "id", row) != !expected->name ||
                (is_plain(expected->name) && !arrow_says(table, "name", row, expected->name)) ||
                !arrow_says(table, "op", row, expected->op),
            "row %zu: %s", row, lull_event_kind_name(event->kind));
    assert_int_equal(arrow_lacks(table, "duration", row), !expected->lasts);
    if (expected->lasts)
        assert_int_equal(arrow_number(table, "duration", row), event->duration);
    assert_int_equal(arrow_lacks(table, "value", row), !expected->has_value);
    if (expected->has_value)
        assert_true((uint64_t)arrow_number(table, "value", row) == expected->value);
    assert_int_equal(arrow_lacks(table, "partner", row), !expected->has_partner);
    if (expected->has_partner)
        assert_int_equal(arrow_number(table, "partner", row), expected->partner);
    branch_reach(&event_branches[TOLD_NAME], expected->name);
    branch_reach(&event_branches[TOLD_PARTNER], expected->has_partner);
    branch_reach(&event_branches[TOLD_OP], expected->op);
}

static size_t check_readings(const struct arrow_table *table, const size_t *rows,
                             const struct lull_trace *trace, const struct lull_event *event)
{
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_counter_reading *reading = &event->readings.values[i];
        const struct expected expected = {.name = trace->counters[reading->counter].name,
                                          .has_value = true,
                                          .value = reading->value};
        check_event_row(table, rows[i], event, &expected);
        assert_int_equal(arrow_number(table, "id", rows[i]), reading->counter);
    }
    branch_reach(&event_branches[TOLD_READINGS], event->readings.count > 1);
    return event->readings.count;
}

static void check_events(const struct lull_trace *trace)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *sequences;
    struct arrow_table table = read_table("events");
    size_t *first, *order;
    assert_int_equal(collect_by_scan(trace, 0, 1, arena, &sequences, &err), LULL_OK);
    rows_by_location(&table, trace->n_locations, &first, &order);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        size_t row = first[l];
        for (size_t i = 0; i < sequences[l].count; i++) {
            const struct lull_event *event = &sequences[l].events[i];
            if (event->kind == LULL_EVENT_COUNTERS) {
                row += check_readings(&table, &order[row], trace, event);
                continue;
            }
            const struct expected expected = expected_of(trace, event);
            assert_in_range(row, first[l], table.n_rows - 1);
            check_event_row(&table, order[row++], event, &expected);
        }
        assert_int_equal(row, first[l + 1]);
    }
    free(first);
    free(order);
    arrow_free(&table);
    lull_arena_destroy(arena);
}

/* ==== steps =================================================================================== */

/* The steps of each location cover the run, and add up to its breakdown. */
static void check_steps(const struct lull_trace *trace)
{
    struct arrow_table table = read_table("steps");
    size_t *first, *order;
    rows_by_location(&table, trace->n_locations, &first, &order);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        int64_t now = 0;
        for (size_t i = first[l]; i < first[l + 1]; i++) {
            assert_int_equal(arrow_number(&table, "begin", order[i]), now);
            now = arrow_number(&table, "end", order[i]);
        }
        assert_int_equal(now, trace->duration);
    }
    for (uint32_t application = 0; application < trace->n_applications; application++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_breakdown *breakdown;
        const struct lull_reading reading = {.application = application, .workers = 1};
        const struct lull_breakdown_options options = {.reading = &reading,
                                                       .source = LULL_FROM_EVENTS};
        fail_if(lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK, "%s",
                err.text);
        int64_t ours[LULL_ACTIVITIES][2] = {{0}}, theirs[LULL_ACTIVITIES][2] = {{0}};
        for (uint32_t t = 0; t < breakdown->n_threads; t++)
            for (int a = 0; a < LULL_ACTIVITIES; a++)
                for (int inside = 0; inside < 2; inside++)
                    theirs[a][inside] += breakdown->threads[t].times.ns[a][inside];
        for (size_t row = 0; row < table.n_rows; row++) {
            const uint32_t process =
                trace->locations[arrow_number(&table, "location", row)].process;
            int a = 0;
            while (a < LULL_ACTIVITIES &&
                   !arrow_says(&table, "activity", row, lull_activity_id((unsigned)a)))
                a++;
            if (trace->processes[process].application == application && a < LULL_ACTIVITIES)
                ours[a][arrow_number(&table, "parallel", row)] +=
                    arrow_number(&table, "end", row) - arrow_number(&table, "begin", row);
        }
        for (int a = 0; a < LULL_ACTIVITIES; a++)
            for (int inside = 0; inside < 2; inside++)
                fail_if(ours[a][inside] != theirs[a][inside],
                        "%s: %" PRId64 " ns, the breakdown has %" PRId64,
                        lull_activity_id((unsigned)a), ours[a][inside], theirs[a][inside]);
        lull_arena_destroy(arena);
    }
    free(first);
    free(order);
    arrow_free(&table);
}

static void test_drawn_runs(void **state)
{
    (void)state;
    const unsigned rounds = lull_test_rounds(60);
    for (unsigned round = 0; round < rounds; round++) {
        struct lull_random random;
        lull_random_seed(&random, lull_test_seed() + round);
        const struct memory_trace_options options = {
            .events = 200, .samples = round % 2, .operations = true};
        struct lull_trace *trace = memory_trace_draw(&random, &options);
        branch_reach(&event_branches[TOLD_SEQUENCE], round % 2);
        if (round % 2)
            trace->format = &memory_format_push;
        write_run(trace);
        check_events(trace);
        check_steps(trace);
        lull_trace_close(trace);
        branches_next(event_branches, EVENT_BRANCHES);
    }
    branches_assert(event_branches, EVENT_BRANCHES, rounds);
}

/* ==== messages and collective operations ====================================================== */

/* A run is drawn in the order of time: a random thread acts. A message has its number as its size, and so has each part
 * in a collective operation the number of that. */
enum {
    PROCESSES = 3,
    THREADS = 3,
    LOCATIONS = PROCESSES * THREADS,
    TAGS = 2,
    MOST = 4000,
    OPEN = 8
};
enum { REGION_SEND, REGION_RECV, REGION_BARRIER, REGION_IBARRIER, REGION_WAIT };
static const char *const region_names[] = {"MPI_Send",     "MPI_Recv", "MPI_Barrier",
                                           "MPI_Ibarrier", "MPI_Wait", NULL};

enum { UNMATCHED, BY_OTHER_THREAD, REORDERED, MESSAGE_BRANCHES };
static struct branch message_branches[MESSAGE_BRANCHES] = {
    [UNMATCHED] = {.what = "a message is not received", .least = 500},
    [BY_OTHER_THREAD] = {.what = "threads of a process use the same channel", .least = 900},
    [REORDERED] = {.what = "a request completes before one that was made earlier", .least = 500},
};

struct drawn_message {
    uint32_t source, target, from, to; /* processes, locations */
    int32_t tag;
    int64_t sent, began, received; /* received -1: never */
};

struct drawn_run {
    struct lull_random *random;
    struct lull_trace *trace;
    int64_t now;
    struct drawn_message messages[MOST];
    uint32_t n_messages;
    uint32_t next[PROCESSES][PROCESSES]
                 [TAGS];               /* to be received next: an index from which to look on */
    uint32_t operations[2][PROCESSES]; /* blocking, not blocking: so far */
    struct {
        uint64_t request, number;
    } open[PROCESSES][OPEN];
    uint32_t n_open[PROCESSES];
    uint64_t requests;
    uint32_t last_sender[PROCESSES][PROCESSES][TAGS]; /* location + 1 */
};

static uint32_t draw_below(struct drawn_run *run, uint32_t bound)
{
    return (uint32_t)lull_random_below(run->random, bound);
}

static struct lull_event event_now(struct drawn_run *run, unsigned kind, uint32_t id)
{
    run->now += 1 + draw_below(run, 20);
    return memory_event(run->now, kind, id);
}

static void tell(struct drawn_run *run, uint32_t location, unsigned kind, uint32_t region)
{
    const struct lull_event event = event_now(run, kind, region);
    memory_trace_add(run->trace, location, &event);
}

static void draw_send(struct drawn_run *run, uint32_t location)
{
    struct drawn_message *message = &run->messages[run->n_messages];
    const uint32_t source = location / THREADS, target = draw_below(run, PROCESSES);
    *message = (struct drawn_message){.source = source,
                                      .target = target,
                                      .from = location,
                                      .tag = (int32_t)draw_below(run, TAGS),
                                      .received = -1};
    tell(run, location, LULL_EVENT_ENTER, REGION_SEND);
    struct lull_event event = event_now(run, LULL_EVENT_SEND, 0);
    event.message.bytes = run->n_messages++;
    event.message.request = LULL_NO_REQUEST;
    event.message.peer = (int32_t)target;
    event.message.tag = message->tag;
    message->sent = event.time;
    memory_trace_add(run->trace, location, &event);
    tell(run, location, LULL_EVENT_LEAVE, REGION_SEND);
    uint32_t *last = &run->last_sender[source][target][message->tag];
    branch_reach(&message_branches[BY_OTHER_THREAD], *last && *last != location + 1);
    *last = location + 1;
}

/* Receives the oldest message of a channel, if there is one. */
static void draw_receive(struct drawn_run *run, uint32_t location)
{
    const uint32_t target = location / THREADS, source = draw_below(run, PROCESSES);
    const int32_t tag = (int32_t)draw_below(run, TAGS);
    uint32_t *next = &run->next[source][target][tag];
    while (*next < run->n_messages &&
           (run->messages[*next].source != source || run->messages[*next].target != target ||
            run->messages[*next].tag != tag || run->messages[*next].received >= 0))
        ++*next;
    if (*next == run->n_messages)
        return;
    struct drawn_message *message = &run->messages[*next];
    tell(run, location, LULL_EVENT_ENTER, REGION_RECV);
    message->began = run->now;
    struct lull_event event = event_now(run, LULL_EVENT_RECV, 0);
    event.message.bytes = 1000000; /* what the sender says counts */
    event.message.request = LULL_NO_REQUEST;
    event.message.peer = (int32_t)source;
    event.message.tag = tag;
    message->received = event.time;
    message->to = location;
    memory_trace_add(run->trace, location, &event);
    tell(run, location, LULL_EVENT_LEAVE, REGION_RECV);
}

static struct lull_event part_now(struct drawn_run *run, unsigned kind, uint64_t request,
                                  uint64_t number)
{
    struct lull_event event = event_now(run, kind, 0);
    event.op = LULL_COLLECTIVE_BARRIER;
    event.collective.sent = number;
    event.collective.received = 7;
    event.collective.request = request;
    event.collective.root = LULL_ANY;
    return event;
}

/* One thread of a process takes part in operations. */
static void draw_blocking(struct drawn_run *run, uint32_t process)
{
    const uint32_t location = process * THREADS;
    tell(run, location, LULL_EVENT_ENTER, REGION_BARRIER);
    struct lull_event event = part_now(run, LULL_EVENT_COLLECTIVE_BEGIN, LULL_NO_REQUEST, 0);
    memory_trace_add(run->trace, location, &event);
    event =
        part_now(run, LULL_EVENT_COLLECTIVE_END, LULL_NO_REQUEST, run->operations[0][process]++);
    memory_trace_add(run->trace, location, &event);
    tell(run, location, LULL_EVENT_LEAVE, REGION_BARRIER);
}

static void begin_request(struct drawn_run *run, uint32_t process)
{
    const uint32_t location = process * THREADS;
    const uint64_t number = run->operations[1][process]++, request = run->requests++;
    tell(run, location, LULL_EVENT_ENTER, REGION_IBARRIER);
    const struct lull_event event = part_now(run, LULL_EVENT_COLLECTIVE_BEGIN, request, 0);
    memory_trace_add(run->trace, location, &event);
    tell(run, location, LULL_EVENT_LEAVE, REGION_IBARRIER);
    run->open[process][run->n_open[process]].request = request;
    run->open[process][run->n_open[process]++].number = number;
}

static void end_request(struct drawn_run *run, uint32_t process)
{
    const uint32_t location = process * THREADS;
    if (run->n_open[process] == 0)
        return;
    const uint32_t i = draw_below(run, run->n_open[process]);
    branch_reach(&message_branches[REORDERED], i > 0);
    tell(run, location, LULL_EVENT_ENTER, REGION_WAIT);
    const struct lull_event event =
        part_now(run, LULL_EVENT_COLLECTIVE_END, run->open[process][i].request,
                 1000000 + run->open[process][i].number);
    memory_trace_add(run->trace, location, &event);
    tell(run, location, LULL_EVENT_LEAVE, REGION_WAIT);
    for (uint32_t j = i + 1; j < run->n_open[process]; j++)
        run->open[process][j - 1] = run->open[process][j];
    run->n_open[process]--;
}

static void draw_action(struct drawn_run *run)
{
    const uint32_t location = draw_below(run, LOCATIONS), process = draw_below(run, PROCESSES);
    switch (draw_below(run, 8)) {
    case 0:
    case 1:
    case 2:
        draw_send(run, location);
        break;
    case 3:
    case 4:
    case 5:
        draw_receive(run, location);
        break;
    case 6:
        draw_blocking(run, process);
        break;
    default:
        if (run->n_open[process] < OPEN && draw_below(run, 2))
            begin_request(run, process);
        else
            end_request(run, process);
    }
}

static void check_messages(const struct drawn_run *run)
{
    struct arrow_table table = read_table("messages");
    assert_int_equal(table.n_rows, run->n_messages);
    bool *seen = calloc(MOST, sizeof *seen);
    for (size_t row = 0; row < table.n_rows; row++) {
        const int64_t number = arrow_number(&table, "bytes", row);
        assert_in_range(number, 0, run->n_messages - 1);
        assert_false(seen[number]);
        seen[number] = true;
        const struct drawn_message *message = &run->messages[number];
        assert_int_equal(arrow_number(&table, "source", row), message->source);
        assert_int_equal(arrow_number(&table, "target", row), message->target);
        assert_int_equal(arrow_number(&table, "source_location", row), message->from);
        assert_int_equal(arrow_number(&table, "tag", row), message->tag);
        assert_int_equal(arrow_number(&table, "sent", row), message->sent);
        assert_int_equal(arrow_number(&table, "send_region", row), REGION_SEND);
        assert_true(arrow_says(&table, "send_name", row, "MPI_Send"));
        assert_true(arrow_says(&table, "communicator", row, "world"));
        branch_reach(&message_branches[UNMATCHED], message->received < 0);
        if (message->received < 0) {
            assert_true(arrow_lacks(&table, "received", row) &&
                        arrow_lacks(&table, "receive_began", row) &&
                        arrow_lacks(&table, "target_location", row) &&
                        arrow_lacks(&table, "receive_name", row) &&
                        arrow_lacks(&table, "receive_region", row));
            continue;
        }
        assert_int_equal(arrow_number(&table, "received", row), message->received);
        assert_int_equal(arrow_number(&table, "receive_began", row), message->began);
        assert_int_equal(arrow_number(&table, "target_location", row), message->to);
        assert_true(arrow_says(&table, "receive_name", row, "MPI_Recv"));
    }
    free(seen);
    arrow_free(&table);
}

/* The parts of one instance of a series have the same number, and each process has one part in it. */
static void check_collectives(const struct drawn_run *run)
{
    struct arrow_table table = read_table("collectives");
    size_t parts = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int p = 0; p < PROCESSES; p++)
            parts += run->operations[kind][p];
    for (int p = 0; p < PROCESSES; p++)
        parts -= run->n_open[p];
    assert_int_equal(table.n_rows, parts);
    for (size_t row = 0; row < table.n_rows; row++) {
        const int64_t sent = arrow_number(&table, "bytes_sent", row);
        const bool blocks = sent < 1000000;
        assert_int_equal(arrow_number(&table, "blocking", row), blocks);
        assert_int_equal(arrow_number(&table, "instance", row), sent % 1000000);
        assert_int_equal(arrow_number(&table, "bytes_received", row), 7);
        assert_int_equal(arrow_number(&table, "location", row),
                         arrow_number(&table, "process", row) * THREADS);
        assert_true(arrow_says(&table, "operation", row, "barrier"));
        assert_true(arrow_says(&table, "name", row, blocks ? "MPI_Barrier" : "MPI_Wait"));
        assert_true(arrow_lacks(&table, "root", row));
        assert_true(arrow_number(&table, "began", row) < arrow_number(&table, "ended", row));
        for (size_t other = 0; other < row; other++) {
            const bool same = (arrow_number(&table, "bytes_sent", other) < 1000000) == blocks;
            fail_if((arrow_number(&table, "series", other) ==
                     arrow_number(&table, "series", row)) != same,
                    "rows %zu and %zu", other, row);
        }
    }
    arrow_free(&table);
}

static void test_drawn_messages(void **state)
{
    (void)state;
    const unsigned rounds = lull_test_rounds(60);
    for (unsigned round = 0; round < rounds; round++) {
        struct lull_random random;
        lull_random_seed(&random, lull_test_seed() + round);
        struct drawn_run *run = calloc(1, sizeof *run);
        run->random = &random;
        run->trace = memory_trace_simple(PROCESSES, THREADS, 1, region_names);
        memory_trace_world(run->trace, PROCESSES);
        const uint32_t actions = 1 + draw_below(run, 600);
        for (uint32_t i = 0; i < actions; i++)
            draw_action(run);
        run->trace->duration = run->now + 1;
        if (round % 3 == 0)
            run->trace->format = &memory_format_push;
        write_run(run->trace);
        check_messages(run);
        check_collectives(run);
        check_events(run->trace);
        check_steps(run->trace);
        lull_trace_close(run->trace);
        free(run);
        branches_next(message_branches, MESSAGE_BRANCHES);
    }
    branches_assert(message_branches, MESSAGE_BRANCHES, rounds);
}

static void test_no_events(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, region_names);
    trace->events = LULL_EVENTS_NONE;
    assert_int_equal(
        lull_convert(trace, folder_path("none"), &lull_format_arrow, false, NULL, NULL, &err),
        LULL_ERR_UNSUPPORTED);
    assert_string_equal(
        err.text, "memory: holds sums and no events (a profile): there is nothing to convert");
    trace->events = LULL_EVENTS_ALL;
    assert_int_equal(folder_entries(folder_path("")), 1); /* the tables of the cases before */
    lull_trace_close(trace);
}

TEST_GROUP(test_columns)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_drawn_runs),
                                       cmocka_unit_test(test_drawn_messages),
                                       cmocka_unit_test(test_no_events)};
    return run_cases(tests, set_up, tear_down);
}
