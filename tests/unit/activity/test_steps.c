/* Steps of small traces, worked out by hand from the words of activity/step.h. */
#include "activity/pass.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static const char *const regions[] = {"main",           "MPI_Send", "MPI_Allreduce", "MPI_Put",
                                      "!$omp parallel", "MPI_Wait", "MPI_Ibarrier",  NULL};
enum { MAIN, SEND, ALLREDUCE, PUT, PARALLEL, WAIT, IBARRIER };

enum { LINES = 64, LINE = 96 };
struct told {
    char lines[LINES][LINE];
    uint32_t count;
};

static void tell(struct told *told, const struct lull_step *step)
{
    char *line = told->lines[told->count++];
    const char *kind = lull_step_kind_name(step->kind);
    assert_true(told->count < LINES);
    if (step->kind == LULL_STEP_SPAN)
        snprintf(line, LINE, "%s %lld-%lld %s%s kept %lld", kind, (long long)step->time,
                 (long long)step->span.end,
                 step->activity == LULL_ACTIVITY_DISABLED  ? "off"
                 : step->activity == LULL_ACTIVITY_OUTSIDE ? "outside"
                                                           : lull_activity_id(step->activity),
                 step->parallel ? " inside" : "", (long long)step->kept_ns);
    else if (step->kind == LULL_STEP_USER)
        snprintf(line, LINE, "%s %u at %lld", step->op == LULL_USER_ENTERED ? "enter" : "leave",
                 step->region, (long long)step->time);
    else
        snprintf(line, LINE, "%s %lld kept %lld", kind, (long long)step->time,
                 (long long)step->kept_ns);
}

static void check_some_steps(const struct lull_trace *trace, uint32_t location, uint64_t wants,
                             const struct lull_windows *windows, const char *const *expected)
{
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE, .windows = windows}};
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    struct lull_error err;
    struct told told = {.count = 0};
    assert_int_equal(lull_step_cursor_open(trace, location, wants, &options, &cursor, &err),
                     LULL_OK);
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, &err), LULL_OK);
        for (uint32_t i = 0; i < steps.count; i++)
            tell(&told, &steps.steps[i]);
    } while (steps.count > 0);
    lull_step_cursor_close(cursor);
    uint32_t n = 0;
    for (; expected[n]; n++)
        assert_string_equal(n < told.count ? told.lines[n] : "(no more)", expected[n]);
    assert_int_equal(told.count, n);
}

static void check_steps(const struct lull_trace *trace, uint32_t location,
                        const struct lull_windows *windows, const char *const *expected)
{
    const uint64_t wants =
        LULL_STEPS_ALL & ~(LULL_STEP_MASK(LULL_STEP_VISIT) | LULL_STEP_MASK(LULL_STEP_STRETCH) |
                           LULL_STEP_MASK(LULL_STEP_USER));
    check_some_steps(trace, location, wants, windows, expected);
}

static void add(struct lull_trace *trace, uint32_t location, int64_t time, unsigned kind,
                uint32_t id)
{
    const struct lull_event event = memory_event(time, kind, id);
    memory_trace_add(trace, location, &event);
}

static void add_call(struct lull_trace *trace, uint32_t location, int64_t time, uint32_t region,
                     int64_t length)
{
    const struct lull_event event = memory_span(time, LULL_EVENT_CALL, region, length);
    memory_trace_add(trace, location, &event);
}

static void add_send(struct lull_trace *trace, int64_t time)
{
    struct lull_event event = memory_event(time, LULL_EVENT_SEND, 0);
    event.message.peer = 1;
    event.message.request = LULL_NO_REQUEST;
    memory_trace_add(trace, 0, &event);
}

static struct lull_trace *make_trace(int64_t duration)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, duration, regions);
    memory_trace_world(trace, 2);
    return trace;
}

/* A send from 10 to 20 whose message is recorded at its very end, then a one-sided call: only the
 * send is not kept. */
static void test_calls(void **state)
{
    (void)state;
    struct lull_trace *trace = make_trace(100);
    add(trace, 0, 0, LULL_EVENT_ENTER, MAIN);
    add_call(trace, 0, 10, SEND, 10);
    add_send(trace, 20);
    add_call(trace, 0, 30, PUT, 5);
    add(trace, 0, 80, LULL_EVENT_LEAVE, MAIN);
    check_steps(trace, 0, NULL,
                (const char *const[]){"span 0-10 useful kept 10", "call begin 10 kept 10",
                                      "send 20 kept 10", "span 10-20 mpi_p2p kept 10",
                                      "call end 20 kept 10", "span 20-30 useful kept 20",
                                      "call begin 30 kept 20", "span 30-35 mpi_one_sided kept 25",
                                      "call end 35 kept 25", "span 35-80 useful kept 70",
                                      "span 80-100 other kept 90", "end 100 kept 90", NULL});
    lull_trace_close(trace);
}

static void complete_collective(struct lull_trace *trace, int64_t time)
{
    struct lull_event event = memory_event(time, LULL_EVENT_COLLECTIVE_END, 0);
    event.op = LULL_COLLECTIVE_BARRIER;
    event.collective.request = 7;
    event.collective.root = LULL_ANY;
    memory_trace_add(trace, 0, &event);
}

/* The request decides where the time of MPI_Wait goes, also where so much happens in it that its end is not in the
 * same block of events (2,000 markers), and in windows that it crosses; and a wait for nothing that is told, or
 * beside a region in it, is point-to-point. */
static void test_waits_for_collectives(void **state)
{
    (void)state;
    struct lull_trace *trace = make_trace(100);
    struct lull_interval interval = {15, 100}, *intervals[] = {&interval, &interval};
    const struct lull_windows windows = {2, intervals, (uint32_t[]){1, 1}};
    add(trace, 0, 0, LULL_EVENT_ENTER, MAIN);
    add_call(trace, 0, 5, IBARRIER, 1);
    add(trace, 0, 10, LULL_EVENT_ENTER, WAIT);
    for (int i = 0; i < 2000; i++)
        add(trace, 0, 12, LULL_EVENT_MARKER, 0);
    complete_collective(trace, 20);
    add(trace, 0, 30, LULL_EVENT_LEAVE, WAIT);
    add_call(trace, 0, 40, WAIT, 5);
    complete_collective(trace, 45);
    add_call(trace, 0, 50, WAIT, 5);
    complete_collective(trace, 56);
    add(trace, 0, 60, LULL_EVENT_ENTER, WAIT);
    add_call(trace, 0, 61, PUT, 2);
    complete_collective(trace, 65);
    add(trace, 0, 70, LULL_EVENT_LEAVE, WAIT);
    add(trace, 0, 100, LULL_EVENT_LEAVE, MAIN);
    check_some_steps(
        trace, 0, LULL_STEP_MASK(LULL_STEP_SPAN), &windows,
        (const char *const[]){"span 0-5 outside kept 0", "span 5-6 outside kept 0",
                              "span 6-10 outside kept 0", "span 10-15 outside kept 0",
                              "span 15-30 mpi_collective kept 0", "span 30-40 useful kept 10",
                              "span 40-45 mpi_collective kept 10", "span 45-50 useful kept 15",
                              "span 50-55 mpi_p2p kept 15", "span 55-60 useful kept 20",
                              "span 60-61 mpi_p2p kept 20", "span 61-63 mpi_one_sided kept 22",
                              "span 63-70 mpi_p2p kept 22", "span 70-100 useful kept 52", NULL});
    lull_trace_close(trace);
}

/* MPI that MPI calls belongs to the outer call; MPI inside a parallel region is kept. */
static void test_nested_and_parallel(void **state)
{
    (void)state;
    struct lull_trace *trace = make_trace(60);
    add(trace, 0, 0, LULL_EVENT_ENTER, MAIN);
    add(trace, 0, 5, LULL_EVENT_ENTER, ALLREDUCE);
    add(trace, 0, 6, LULL_EVENT_ENTER, SEND);
    add(trace, 0, 8, LULL_EVENT_LEAVE, SEND);
    add(trace, 0, 10, LULL_EVENT_LEAVE, ALLREDUCE);
    add(trace, 0, 20, LULL_EVENT_ENTER, PARALLEL);
    add_call(trace, 0, 22, SEND, 3);
    add(trace, 0, 40, LULL_EVENT_LEAVE, PARALLEL);
    add(trace, 0, 60, LULL_EVENT_LEAVE, MAIN);
    check_steps(trace, 0, NULL,
                (const char *const[]){"span 0-5 useful kept 5", "call begin 5 kept 5",
                                      "span 5-6 mpi_collective kept 5", "span 6-8 mpi_p2p kept 5",
                                      "span 8-10 mpi_collective kept 5", "call end 10 kept 5",
                                      "span 10-20 useful kept 15", "fork 20 kept 15",
                                      "span 20-22 useful inside kept 17", "call begin 22 kept 17",
                                      "span 22-25 mpi_p2p inside kept 20", "call end 25 kept 20",
                                      "span 25-40 useful inside kept 35", "join 40 kept 35",
                                      "span 40-60 useful kept 55", "end 60 kept 55", NULL});
    lull_trace_close(trace);
}

/* A pause in a call, and a window from 4 to 30: neither of them is kept outside. */
static void test_pause_and_window(void **state)
{
    (void)state;
    struct lull_trace *trace = make_trace(50);
    add(trace, 0, 0, LULL_EVENT_ENTER, MAIN);
    add(trace, 0, 10, LULL_EVENT_MEASURE_OFF, LULL_NONE);
    add(trace, 0, 14, LULL_EVENT_MEASURE_ON, LULL_NONE);
    add(trace, 0, 20, LULL_EVENT_ENTER, SEND);
    add(trace, 0, 40, LULL_EVENT_LEAVE, SEND);
    add(trace, 0, 50, LULL_EVENT_LEAVE, MAIN);
    struct lull_interval interval = {4, 30};
    struct lull_interval *intervals[] = {&interval, &interval};
    uint32_t counts[] = {1, 1};
    const struct lull_windows windows = {2, intervals, counts};
    check_steps(trace, 0, &windows,
                (const char *const[]){"span 0-4 outside kept 0", "span 4-10 useful kept 6",
                                      "span 10-14 off kept 6", "span 14-20 useful kept 12",
                                      "call begin 20 kept 12", "span 20-30 mpi_p2p kept 12",
                                      "span 30-40 outside kept 12", "call end 40 kept 12",
                                      "span 40-50 outside kept 12", "end 50 kept 12", NULL});
    lull_trace_close(trace);
}

/* A trace that was cut: what is open ends with the run. */
static void test_cut(void **state)
{
    (void)state;
    struct lull_trace *trace = make_trace(50);
    add(trace, 0, 10, LULL_EVENT_ENTER, PARALLEL);
    add(trace, 0, 20, LULL_EVENT_ENTER, SEND);
    add_send(trace, 25);
    check_steps(trace, 0, NULL,
                (const char *const[]){"span 0-10 other kept 10", "fork 10 kept 10",
                                      "span 10-20 useful inside kept 20", "call begin 20 kept 20",
                                      "send 25 kept 25", "span 20-50 mpi_p2p inside kept 50",
                                      "call end 50 kept 50", "join 50 kept 50", "end 50 kept 50",
                                      NULL});
    lull_trace_close(trace);
}

static void test_names_of_calls(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t collective;
        enum lull_call call;
    } cases[] = {
        {"MPI_Send", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_SEND},
        {"pmpi_isend_", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_ISEND},
        {"MPI_Irecv_c", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_IRECV},
        {"mpi_waitall__", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_WAITALL},
        {"MPI_Testsome", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_TEST},
        {"MPI_Mprobe", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_PROBE},
        {"mpi_iprobe_", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_IPROBE},
        {"MPI_Sendrecv_replace", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_SENDRECV},
        {"MPI_Startall", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_START},
        {"mpi_start_", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_START},
        {"MPI_Isendrecv_replace_c", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_START},
        {"MPI_Allreduce", LULL_COLLECTIVE_ALLREDUCE, LULL_CALL_COLLECTIVE},
        {"MPI_Ibarrier", LULL_COLLECTIVE_BARRIER, LULL_CALL_ICOLLECTIVE},
        {"MPI_Bcast_init", LULL_COLLECTIVE_BCAST, LULL_CALL_OTHER},
        {"mpi_allreduce_init_", LULL_COLLECTIVE_ALLREDUCE, LULL_CALL_OTHER},
        {"MPI_Neighbor_alltoall_init_c", LULL_COLLECTIVE_ALLTOALL, LULL_CALL_OTHER},
        {"MPI_Comm_rank", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_OTHER},
        {"MPI_Sendx", LULL_COLLECTIVE_UNKNOWN, LULL_CALL_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lull_region region = {.name = cases[i].name,
                                           .paradigm = LULL_PARADIGM_MPI,
                                           .collective = cases[i].collective};
        assert_int_equal(lull_call_of_region(&region), cases[i].call);
    }
}

/* A damaged time far behind the end of the run brings no more ticks than the run has. */
static void test_ticks_end_with_the_run(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 100, regions);
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}, .tick = 30};
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    struct lull_error err;
    int ticks = 0;
    add(trace, 1, 0, LULL_EVENT_ENTER, PARALLEL);
    add(trace, 1, INT64_MAX / 2, LULL_EVENT_LEAVE, PARALLEL);
    assert_int_equal(
        lull_step_cursor_open(trace, 1, LULL_STEP_MASK(LULL_STEP_TICK), &options, &cursor, &err),
        LULL_OK);
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, &err), LULL_OK);
        ticks += (int)steps.count;
    } while (steps.count > 0);
    assert_int_equal(ticks, 3); /* at 30, 60 and 90 */
    lull_step_cursor_close(cursor);
    lull_trace_close(trace);
}

/* What a call completes at its end belongs to it, also where a tick came meanwhile. */
static void test_ticks_in_a_call(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 100, regions);
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}, .tick = 15};
    struct lull_event call = memory_span(10, LULL_EVENT_CALL, SEND, 40);
    struct lull_event receive = memory_event(50, LULL_EVENT_RECV, LULL_NONE);
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    struct lull_error err;
    receive.message.request = LULL_NO_REQUEST;
    trace->locations[1].role = LULL_THREAD_FREE;
    memory_trace_add(trace, 1, &call);
    memory_trace_add(trace, 1, &receive);
    const uint64_t wants = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) |
                           LULL_STEP_MASK(LULL_STEP_CALL_END) | LULL_STEP_MASK(LULL_STEP_RECV);
    static const uint8_t kinds[] = {LULL_STEP_CALL_BEGIN, LULL_STEP_RECV, LULL_STEP_CALL_END};
    assert_int_equal(lull_step_cursor_open(trace, 1, wants, &options, &cursor, &err), LULL_OK);
    uint32_t count = 0;
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, &err), LULL_OK);
        for (uint32_t i = 0; i < steps.count; i++)
            assert_int_equal(steps.steps[i].kind, count < 3 ? kinds[count++] : LULL_STEP_KINDS);
    } while (steps.count > 0);
    assert_int_equal(count, 3);
    lull_step_cursor_close(cursor);
    lull_trace_close(trace);
}

/* main (0) calls f (1), which calls f, which calls g (2); then MPI. The run ends within main. */
static void test_user_regions(void **state)
{
    (void)state;
    static const char *const names[] = {"main", "f", "g", "MPI_Barrier", NULL};
    static const struct {
        int64_t time;
        uint8_t kind;
        uint32_t region;
    } events[] = {{0, LULL_EVENT_ENTER, 0},  {10, LULL_EVENT_ENTER, 1}, {20, LULL_EVENT_ENTER, 1},
                  {30, LULL_EVENT_ENTER, 2}, {30, LULL_EVENT_LEAVE, 2}, {40, LULL_EVENT_LEAVE, 1},
                  {50, LULL_EVENT_ENTER, 3}, {60, LULL_EVENT_LEAVE, 3}, {70, LULL_EVENT_LEAVE, 1}};
    static const char *const expected[] = {"enter 0 at 0",
                                           "span 0-10 useful kept 10",
                                           "enter 1 at 10",
                                           "span 10-30 useful kept 30",
                                           "enter 2 at 30",
                                           "leave 2 at 30",
                                           "span 30-50 useful kept 50",
                                           "span 50-60 mpi_collective kept 50",
                                           "span 60-70 useful kept 60",
                                           "leave 1 at 70",
                                           "span 70-100 useful kept 90",
                                           "leave 0 at 100",
                                           NULL};
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, names);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        add(trace, 0, events[i].time, events[i].kind, events[i].region);
    check_some_steps(trace, 0, LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_USER),
                     NULL, expected);
    lull_trace_close(trace);
}

/* The example in activity/step.h; then a critical section, from 150 to 160. */
static void test_crews(void **state)
{
    (void)state;
    static const char *const names[] = {"main", "barrier", "critical", NULL};
    static const struct lull_step expected[] = {
        {.op = LULL_CREW_WORK, .time = 100, .region = 0},
        {.op = LULL_CREW_ARRIVE, .time = 100, .region = 1},
        {.op = LULL_CREW_SYNC, .time = 130, .region = 1, .crew.began = 100},
        {.op = LULL_CREW_LEAVE, .time = 130, .region = LULL_NONE},
        {.op = LULL_CREW_WORK, .time = 150, .region = 0, .crew.began = 130},
        {.op = LULL_CREW_HELD, .time = 160, .region = 0, .crew.began = 150},
        {.op = LULL_CREW_WORK, .time = 160, .region = 0, .crew.began = 150},
        {.op = LULL_CREW_WORK, .time = 170, .region = 0, .crew.began = 160},
        {.op = LULL_CREW_WORK, .time = 200, .region = LULL_NONE, .crew.began = 170}};
    struct lull_trace *trace = memory_trace_simple(1, 2, 200, names);
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    uint32_t count = 0;
    for (uint32_t r = 0; r < 3; r++) {
        trace->regions[r].paradigm = r ? LULL_PARADIGM_OPENMP : LULL_PARADIGM_USER;
        trace->regions[r].user = r == 0;
    }
    trace->regions[1].role = LULL_ROLE_BARRIER;
    trace->regions[1].activity = LULL_OMP_SYNC;
    trace->regions[2].role = LULL_ROLE_CRITICAL_BODY;
    add(trace, 1, 0, LULL_EVENT_ENTER, 0);
    add(trace, 1, 100, LULL_EVENT_ENTER, 1);
    add(trace, 1, 130, LULL_EVENT_LEAVE, 1);
    add(trace, 1, 150, LULL_EVENT_ENTER, 2);
    add(trace, 1, 160, LULL_EVENT_LEAVE, 2);
    add(trace, 1, 170, LULL_EVENT_LEAVE, 0);
    assert_int_equal(
        lull_step_cursor_open(trace, 1, LULL_STEP_MASK(LULL_STEP_CREW), NULL, &cursor, NULL),
        LULL_OK);
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, NULL), LULL_OK);
        for (uint32_t i = 0; i < steps.count; i++) {
            const struct lull_step *step = &steps.steps[i];
            if (step->kind != LULL_STEP_CREW)
                continue;
            assert_true(count < sizeof expected / sizeof *expected);
            assert_int_equal(step->op, expected[count].op);
            assert_int_equal(step->time, expected[count].time);
            assert_int_equal(step->region, expected[count].region);
            assert_int_equal(step->crew.began, expected[count++].crew.began);
        }
    } while (steps.count > 0);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    lull_step_cursor_close(cursor);
    lull_trace_close(trace);
}

struct readings {
    struct lull_step steps[4];
    uint32_t count;
};

static lull_status take_readings(void *context, unsigned worker, const struct lull_steps *steps,
                                 struct lull_error *err)
{
    (void)worker, (void)err;
    struct readings *readings = context;
    for (uint32_t i = 0; i < steps->count; i++)
        if (steps->steps[i].kind == LULL_STEP_READING)
            readings->steps[readings->count++ % 4] = steps->steps[i];
    return LULL_OK;
}

/* Read at 40 and at 70; the window ends at 55, half between them. */
static void test_readings(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, regions);
    trace->counters = lull_arena_zero(trace->arena, 1, sizeof *trace->counters);
    trace->counters[0] = (struct lull_counter){.name = "PAPI_TOT_INS", .unit = ""};
    trace->n_counters = 1;
    add(trace, 0, 0, LULL_EVENT_ENTER, 0);
    for (int64_t time = 40; time <= 70; time += 30) {
        const struct lull_counter_reading reading = {.value = 60};
        struct lull_event event = memory_event(time, LULL_EVENT_COUNTERS, LULL_NONE);
        event.readings.values = &reading;
        event.readings.count = 1;
        memory_trace_add(trace, 0, &event);
    }
    add(trace, 0, 100, LULL_EVENT_LEAVE, 0);
    struct lull_interval interval = {0, 55}, *intervals = &interval;
    uint32_t count = 1;
    const struct lull_windows windows = {1, &intervals, &count};
    struct readings readings = {.count = 0};
    const struct lull_consumer consumer = {.context = &readings,
                                           .wants = LULL_STEP_MASK(LULL_STEP_READING),
                                           .wants_ledger = true,
                                           .steps = take_readings};
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){
            .windows = &windows, .application = LULL_NONE, .workers = 1}};
    struct lull_error err;
    assert_int_equal(lull_pass_run(trace, &options, &consumer, 1, &err), LULL_OK);
    assert_int_equal(readings.count, 2);
    assert_int_equal(readings.steps[0].time, 40);
    assert_int_equal(readings.steps[0].counter, 0);
    assert_int_equal(readings.steps[0].activity, LULL_USEFUL);
    assert_int_equal(readings.steps[0].reading.value, 60);
    assert_int_equal(readings.steps[0].reading.since, 0);
    assert_int_equal(readings.steps[1].time, 70);
    assert_int_equal(readings.steps[1].reading.value, 30); /* half of the time is inside */
    assert_int_equal(readings.steps[1].reading.since, 40);
    lull_trace_close(trace);
}

/* The steps of location 0 of one kind. */
static uint32_t steps_of_kind(const struct lull_trace *trace, uint64_t wants, unsigned kind,
                              struct lull_step *ret_steps, uint32_t most)
{
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}};
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    uint32_t n = 0;
    assert_int_equal(lull_step_cursor_open(trace, 0, wants, &options, &cursor, NULL), LULL_OK);
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, NULL), LULL_OK);
        for (uint32_t i = 0; i < steps.count; i++)
            if (steps.steps[i].kind == kind && n < most)
                ret_steps[n++] = steps.steps[i];
    } while (steps.count > 0);
    lull_step_cursor_close(cursor);
    return n;
}

/* Samples in main, in what it calls, in a critical section and in a function within that, whoever else
 * wants steps. */
static void test_samples(void **state)
{
    static const char *const names[] = {"main", "solve", "!$omp critical @a.c:3",
                                        "!$omp critical sblock @a.c:3", NULL};
    enum { SOLVE = 1, CRITICAL, SECTION };
    static const struct {
        unsigned kind;
        uint32_t region;
    } events[] = {
        {LULL_EVENT_ENTER, MAIN},     {LULL_EVENT_SAMPLE, 0},       {LULL_EVENT_ENTER, SOLVE},
        {LULL_EVENT_SAMPLE, 0},       {LULL_EVENT_ENTER, CRITICAL}, {LULL_EVENT_SAMPLE, 0},
        {LULL_EVENT_ENTER, SECTION},  {LULL_EVENT_SAMPLE, 0},       {LULL_EVENT_ENTER, MAIN},
        {LULL_EVENT_SAMPLE, 0},       {LULL_EVENT_LEAVE, MAIN},     {LULL_EVENT_LEAVE, SECTION},
        {LULL_EVENT_LEAVE, CRITICAL}, {LULL_EVENT_LEAVE, SOLVE},    {LULL_EVENT_SAMPLE, 0},
        {LULL_EVENT_LEAVE, MAIN}};
    static const uint32_t users[] = {MAIN, SOLVE, SOLVE, SOLVE, MAIN, MAIN};
    static const bool locked[] = {false, false, false, true, true, false};
    static const uint64_t wants[] = {LULL_STEPS_ALL, LULL_STEP_MASK(LULL_STEP_SAMPLE)};
    struct lull_trace *trace = memory_trace_simple(1, 1, 1000, names);
    (void)state;
    for (uint32_t turn = 0; turn < 2; turn++) /* frames of the first turn must not be seen later */
        for (uint32_t i = 0; i < sizeof events / sizeof *events; i++)
            add(trace, 0, 100 * turn + i, events[i].kind, events[i].region);
    for (int w = 0; w < 2; w++) {
        struct lull_step samples[16];
        assert_int_equal(steps_of_kind(trace, wants[w], LULL_STEP_SAMPLE, samples, 16), 12);
        for (uint32_t i = 0; i < 12; i++) {
            assert_int_equal(samples[i].sample.user, users[i % 6]);
            assert_int_equal(samples[i].sample.locked, locked[i % 6]);
        }
    }
    lull_trace_close(trace);
}

TEST_GROUP(test_steps)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_waits_for_collectives),
        cmocka_unit_test(test_nested_and_parallel),
        cmocka_unit_test(test_pause_and_window),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_names_of_calls),
        cmocka_unit_test(test_ticks_end_with_the_run),
        cmocka_unit_test(test_ticks_in_a_call),
        cmocka_unit_test(test_user_regions),
        cmocka_unit_test(test_crews),
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_samples),
    };
    return run_cases(tests, NULL, NULL);
}
