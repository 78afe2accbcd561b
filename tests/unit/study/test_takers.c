/* Messages of threads beside the masters are told to who can forget them, although such threads are
 * presumed not to communicate: the run is read again, and each message counts once. */
#include "study/joint_pass.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { SEND, RECV };
enum { MESSAGES = 20, PERIOD = 1000 };
static const char *const names[] = {"MPI_Send", "MPI_Recv", NULL};

struct count {
    unsigned messages, readings;
};

static void count_message(void *context, unsigned worker, const struct lull_ideal_message *message)
{
    struct count *count = context;
    (void)worker;
    (void)message;
    count->messages++;
}

static void begin_again(void *context)
{
    struct count *count = context;
    count->messages = 0;
    count->readings++;
}

static lull_status create(void *state, const void *options, struct lull_joint_pass *joint,
                          struct lull_error *err)
{
    const bool *forgets = options;
    (void)err;
    lull_joint_pass_add_messages(
        joint, (struct lull_message_taker){count_message, *forgets ? begin_again : NULL, state});
    return LULL_OK;
}

static const struct lull_analysis counting = {
    .size = sizeof(struct count), .needs_ideal = true, .create = create};

/* Thread `thread` of process 0 sends, that of process 1 receives. */
static struct count count_messages(uint32_t thread, bool forgets)
{
    struct lull_trace *trace = memory_trace_simple(2, 2, MESSAGES * PERIOD, names);
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_ideal_options ideal = {0};
    const struct lull_reading reading = {.workers = 1};
    struct lull_asked asked[] = {{.analysis = &counting, .options = &forgets},
                                 {.analysis = &lull_ideal_analysis, .options = &ideal}};
    struct lull_error err;
    memory_trace_world(trace, 2);
    for (int64_t i = 0; i < MESSAGES; i++)
        for (uint32_t p = 0; p < 2; p++) {
            const int64_t begin = i * PERIOD + 100 * p;
            const struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, p ? RECV : SEND),
                                    leave =
                                        memory_event(begin + 50, LULL_EVENT_LEAVE, p ? RECV : SEND);
            struct lull_event event =
                memory_event(begin + 20, p ? LULL_EVENT_RECV : LULL_EVENT_SEND, 0);
            event.message.peer = 1 - (int32_t)p;
            event.message.bytes = 8;
            event.message.request = LULL_NO_REQUEST;
            memory_trace_add(trace, 2 * p + thread, &enter);
            memory_trace_add(trace, 2 * p + thread, &event);
            memory_trace_add(trace, 2 * p + thread, &leave);
        }
    fail_if(lull_joint_pass_run(trace, &reading, asked, 2, arena, &err) != LULL_OK, "%s", err.text);
    const struct lull_ideal_state *state = asked[1].state;
    assert_int_equal(state->result->messages, MESSAGES);
    const struct count count = *(const struct count *)asked[0].state;
    lull_asked_release(asked, 2);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
    return count;
}

static void test_each_once(void **state)
{
    (void)state;
    for (uint32_t thread = 0; thread < 2; thread++)
        for (int forgets = 0; forgets < 2; forgets++) {
            const struct count count = count_messages(thread, forgets);
            assert_int_equal(count.messages, MESSAGES);
            assert_int_equal(count.readings, thread == 1 && forgets);
        }
}

TEST_GROUP(test_takers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),
    };
    return run_cases(tests, NULL, NULL);
}
