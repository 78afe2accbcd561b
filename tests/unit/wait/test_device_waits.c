/* What keeps threads in calls that wait for devices: the example of wait/device_wait.h, worked out by hand. Random runs are
 * in property/test_device_waits.c. */
#include "activity/pass.h"
#include "support/memory_trace.h"
#include "support/test.h"
#include "wait/wait.h"

enum region { WORK, SEND, RECV, LAUNCH, WAIT, KERNEL, ALLREDUCE, REGIONS };
enum { LOCATIONS = 3 }; /* of a process: its thread, its stream, and that of the communicator */

static void define_ranks(struct lull_trace *trace)
{
    static const struct lull_region regions[REGIONS] = {
        [WORK] = {.name = "work", .user = true},
        [SEND] = {.name = "MPI_Send", .paradigm = LULL_PARADIGM_MPI, .activity = LULL_MPI_P2P},
        [RECV] = {.name = "MPI_Recv", .paradigm = LULL_PARADIGM_MPI, .activity = LULL_MPI_P2P},
        [LAUNCH] = {.name = "cudaLaunchKernel", .activity = LULL_DEVICE},
        [WAIT] = {.name = "cudaStreamSynchronize",
                  .role = LULL_ROLE_BARRIER,
                  .activity = LULL_DEVICE},
        [KERNEL] = {.name = "ncclDevKernel_AllReduce",
                    .role = LULL_ROLE_KERNEL,
                    .activity = LULL_USEFUL},
        [ALLREDUCE] = {.name = "ncclAllReduce RING LL",
                       .role = LULL_ROLE_DATA_TRANSFER,
                       .activity = LULL_DEVICE}};
    struct lull_arena *arena = trace->arena;
    trace->duration = 110;
    trace->n_applications = 1;
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(arena, REGIONS, sizeof *trace->regions);
    for (uint32_t r = 0; r < REGIONS; r++) {
        trace->regions[r] = regions[r];
        trace->regions[r].file = trace->regions[r].site = "";
        trace->regions[r].whole = LULL_NONE;
        if (r >= LAUNCH)
            trace->regions[r].paradigm = LULL_PARADIGM_DEVICE;
    }
    trace->n_devices = 2;
    trace->devices = lull_arena_zero(arena, 2, sizeof *trace->devices);
    trace->devices[0] = (struct lull_device){"GPU", "CUDA", "pci:0", LULL_NONE};
    trace->devices[1] =
        (struct lull_device){"communicator of 2 ranks", "NCCL", "nccl:0", LULL_NONE};
    trace->n_processes = 3;
    trace->n_locations = 3 * LOCATIONS;
    trace->processes = lull_arena_zero(arena, 3, sizeof *trace->processes);
    trace->locations = lull_arena_zero(arena, trace->n_locations, sizeof *trace->locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_location *location = &trace->locations[l];
        *location = (struct lull_location){.name = "",
                                           .process = l / LOCATIONS,
                                           .number = l % LOCATIONS,
                                           .source_id = l,
                                           .kind = l % LOCATIONS > 0 ? LULL_LOCATION_DEVICE
                                                                     : LULL_LOCATION_THREAD,
                                           .role = LULL_THREAD_MASTER};
        if (l % LOCATIONS == 0) {
            trace->processes[l / LOCATIONS] = (struct lull_process){.name = "",
                                                                    .rank = l / LOCATIONS,
                                                                    .node = LULL_NONE,
                                                                    .first_location = l,
                                                                    .n_threads = 1,
                                                                    .n_locations = LOCATIONS};
            continue;
        }
        location->stream = lull_arena_zero(arena, 1, sizeof *location->stream);
        location->stream->device = l % LOCATIONS - 1;
        location->stream->in_order = true;
    }
    memory_trace_world(trace, 3);
}

static void add_call(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                     int64_t end)
{
    const struct lull_event event = memory_span(begin, LULL_EVENT_CALL, region, end - begin);
    memory_trace_add(trace, location, &event);
}

static void add_reference(struct lull_trace *trace, uint32_t location, unsigned kind, int64_t time,
                          uint32_t id, uint64_t number, uint32_t of, uint64_t sequence)
{
    struct lull_event event = memory_event(time, kind, id);
    event.operation.number = number;
    event.operation.location = of;
    event.operation.peer = LULL_ANY;
    event.operation.sequence = sequence;
    memory_trace_add(trace, location, &event);
}

/* A rank launches its part at `launched`, which runs from `begin` to `end`. */
static void exchange(struct lull_trace *trace, uint32_t rank, int64_t launched, int64_t begin,
                     int64_t end)
{
    const uint32_t thread = rank * LOCATIONS;
    add_call(trace, thread, LAUNCH, launched, launched + 3);
    add_reference(trace, thread, LULL_EVENT_SUBMIT, launched, LULL_NONE, 1, thread + 1,
                  LULL_NO_SEQUENCE);
    add_reference(trace, thread, LULL_EVENT_SUBMIT, launched, LULL_NONE, 2, thread + 2,
                  LULL_NO_SEQUENCE);
    add_call(trace, thread + 1, KERNEL, begin, end);
    add_reference(trace, thread + 1, LULL_EVENT_OPERATION, begin, LAUNCH, 1, thread,
                  LULL_NO_SEQUENCE);
    add_call(trace, thread + 2, ALLREDUCE, begin, end);
    add_reference(trace, thread + 2, LULL_EVENT_OPERATION, begin, LULL_NONE, 2, thread, 0);
}

static void message(struct lull_trace *trace, uint32_t rank, uint32_t region, int64_t begin,
                    int64_t end, int32_t peer)
{
    struct lull_event event = region == SEND ? memory_event(begin, LULL_EVENT_SEND, 0)
                                             : memory_event(end, LULL_EVENT_RECV, 0);
    event.message.peer = peer;
    event.message.bytes = 8;
    event.message.request = LULL_NO_REQUEST;
    const struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region),
                            leave = memory_event(end, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, rank * LOCATIONS, &enter);
    memory_trace_add(trace, rank * LOCATIONS, &event);
    memory_trace_add(trace, rank * LOCATIONS, &leave);
}

static const struct lull_device_charge *find(const struct lull_wait_result *result,
                                             uint32_t of_device, unsigned cause, uint32_t stream)
{
    for (uint32_t i = 0; i < result->n_device_charges; i++) {
        const struct lull_device_charge *charge = &result->device_charges[i];
        if (charge->of_device == of_device && charge->cause == cause && charge->stream == stream)
            return charge;
    }
    fail_if(true, "nothing is charged to %s", lull_device_cause_name(cause));
    return NULL;
}

static void test_example(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_create();
    struct lull_waits *waits;
    struct lull_wait_result result;
    struct lull_error err;
    define_ranks(trace);
    exchange(trace, 0, 5, 20, 90);
    add_call(trace, 0, WAIT, 10, 100);
    add_reference(trace, 0, LULL_EVENT_DEVICE_WAIT, 10, LULL_NONE, 0, 1, LULL_NO_SEQUENCE);
    message(trace, 1, RECV, 12, 60, 2);
    add_call(trace, LOCATIONS, WORK, 60, 65);
    exchange(trace, 1, 65, 70, 90);
    message(trace, 2, SEND, 60, 62, 1);
    const struct lull_pass_options pass = {.reading = NULL};
    const struct lull_wait_options options = {.devices = true};
    fail_if(lull_waits_create(trace, &options, &waits, &err) != LULL_OK, "%s", err.text);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    fail_if(lull_pass_run(trace, &pass, &consumer, 1, &err) != LULL_OK, "%s", err.text);
    fail_if(lull_waits_conclude(waits, trace->arena, &result, &err) != LULL_OK, "%s", err.text);
    const uint32_t own = 1, other = LOCATIONS + 1; /* streams */
    assert_int_equal(result.n_device_charges, 6 + 2);
    /* The ranks share the device, which runs nothing until 20, and then something to the last. */
    assert_int_equal(find(&result, 1, LULL_DEVICE_CAUSE_HOST, own)->ns, 5);
    assert_int_equal(find(&result, 1, LULL_DEVICE_CAUSE_LAUNCH, own)->ns, 15);
    assert_int_equal(find(&result, 0, LULL_DEVICE_CAUSE_LAUNCH, own)->ns, 10);
    assert_int_equal(find(&result, 0, LULL_DEVICE_CAUSE_LAUNCH, other)->ns, 5);
    assert_int_equal(find(&result, 0, LULL_DEVICE_CAUSE_RAN, own)->ns, 20);
    assert_int_equal(find(&result, 0, LULL_DEVICE_CAUSE_RETURN, own)->ns, 10);
    const struct lull_device_charge *host = find(&result, 0, LULL_DEVICE_CAUSE_HOST, other);
    assert_int_equal(host->ns, 5);
    assert_int_equal(host->region, WORK);
    const struct lull_device_charge *mpi = find(&result, 0, LULL_DEVICE_CAUSE_OTHER_RANK, other);
    assert_int_equal(mpi->ns, 40);
    assert_int_equal(mpi->call, WAIT);
    assert_int_equal(mpi->awaited, KERNEL);
    assert_int_equal(mpi->operation, KERNEL);
    assert_int_equal(mpi->submit, LAUNCH);
    assert_int_equal(mpi->thread, LOCATIONS);
    assert_int_equal(mpi->region, RECV);
    assert_int_equal(mpi->other, 2);
    assert_int_equal(mpi->waits, 1);
    assert_int_equal(mpi->longest.location, 0);
    assert_int_equal(mpi->longest.begin, 10);
    assert_int_equal(mpi->longest.ns, 90);
    lull_waits_destroy(waits);
    lull_trace_close(trace);
}

TEST_GROUP(test_device_waits)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example)};
    return run_cases(tests, NULL, NULL);
}
