/* check_waits RUN < EXPECTED: whether a run tells how the threads of its programs wait for each
 * other. Lines of EXPECTED:
 *
 *     waits N joined        N waits for the end of a thread
 *     meetings N of M       N meetings of M threads at barriers
 *
 * Whatever the program: each thread that was waited for has a begin behind where it was made, and
 * an end before that of the wait, in the location that the wait names; who meets at a barrier goes
 * on when all have come. A wait inside the user's region "join N" is for the thread that has been
 * in "body N". Steps say the same as events. */
#include "activity/pass.h"
#include "base/error.h"
#include "trace/scan.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

struct wait {
    struct lull_event begin, end;
    uint32_t location;
    long named; /* by the region around; -1: there is none */
};

struct thread {
    int64_t made, begin, end; /* -1: not told */
    uint32_t location;
    long named;
};

static struct thread threads[MOST];
static struct wait waits[MOST];
static unsigned n_waits, wrong;

__attribute__((format(printf, 1, 2))) static void complain(const char *form, ...);

#include <stdarg.h>
static void complain(const char *form, ...)
{
    va_list arguments;
    va_start(arguments, form);
    vprintf(form, arguments);
    va_end(arguments);
    wrong++;
}

static struct thread *thread_of(uint64_t number)
{
    if (number < MOST)
        return &threads[number];
    complain("thread number %llu\n", (unsigned long long)number);
    return &threads[0];
}

struct reading {
    const struct lull_trace *trace;
    uint32_t location;
    uint64_t lives; /* number of the thread that lives there */
    long join;
    bool waiting;
};

static void take_region(struct reading *at, const struct lull_event *event)
{
    long number;
    const char *name = at->trace->regions[event->id].name;
    if (sscanf(name, "body %ld", &number) == 1)
        thread_of(at->lives)->named = number;
    if (sscanf(name, "join %ld", &number) == 1)
        at->join = event->kind == LULL_EVENT_ENTER ? number : -1;
}

static void take(struct reading *at, const struct lull_event *event)
{
    struct wait *wait = &waits[n_waits];
    struct thread *thread;
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
        take_region(at, event);
        break;
    case LULL_EVENT_THREAD_CREATE:
        thread = thread_of(event->number);
        if (thread->made >= 0)
            complain("thread %llu was made twice\n", (unsigned long long)event->number);
        thread->made = event->time;
        break;
    case LULL_EVENT_THREAD_BEGIN:
        at->lives = event->number;
        thread = thread_of(event->number);
        thread->begin = event->time;
        thread->location = at->location;
        break;
    case LULL_EVENT_THREAD_END:
        if (event->number != at->lives)
            complain("thread %llu ends as %llu\n", (unsigned long long)at->lives,
                     (unsigned long long)event->number);
        thread_of(event->number)->end = event->time;
        break;
    case LULL_EVENT_THREAD_WAIT_BEGIN:
        if (at->waiting)
            complain("a wait begins in another one\n");
        at->waiting = true;
        *wait = (struct wait){.begin = *event, .location = at->location, .named = at->join};
        break;
    case LULL_EVENT_THREAD_WAIT_END:
        if (!at->waiting || event->op != wait->begin.op ||
            event->meeting.number != wait->begin.meeting.number ||
            event->meeting.location != wait->begin.meeting.location ||
            event->meeting.threads != wait->begin.meeting.threads)
            complain("the end of a wait is not that of its begin\n");
        at->waiting = false;
        wait->end = *event;
        if (n_waits + 1 < MOST)
            n_waits++;
        break;
    default:
        break;
    }
}

static lull_status read_location(const struct lull_trace *trace, uint32_t location,
                                 struct lull_error *err)
{
    struct reading at = {.trace = trace, .location = location, .join = -1};
    struct lull_cursor *cursor;
    struct lull_block block;
    lull_status status = lull_cursor_open(trace, location, LULL_MASK_ALL, &cursor, err);
    if (status != LULL_OK)
        return status;
    do {
        status = lull_cursor_next(cursor, &block, err);
        for (uint32_t i = 0; status == LULL_OK && i < block.count; i++)
            take(&at, &block.events[i]);
    } while (status == LULL_OK && block.count > 0);
    lull_cursor_close(cursor);
    if (at.waiting)
        complain("a wait does not end\n");
    return status;
}

static void check_join(const struct wait *wait)
{
    const struct thread *thread = thread_of(wait->end.meeting.number);
    const unsigned long long number = wait->end.meeting.number;
    if (thread->made < 0 || thread->begin < thread->made)
        complain("thread %llu begins before it is made\n", number);
    if (thread->end < thread->begin || thread->end > wait->end.time)
        complain("thread %llu ends at %lld, the wait for it at %lld\n", number,
                 (long long)thread->end, (long long)wait->end.time);
    if (thread->location != wait->end.meeting.location)
        complain("thread %llu is in location %u, not %u\n", number, thread->location,
                 wait->end.meeting.location);
    if (thread->location == wait->location)
        complain("thread %llu waits for itself\n", number);
    if (wait->named >= 0 && wait->named != thread->named)
        complain("'join %ld' is for 'body %ld'\n", wait->named, thread->named);
}

/* All of one meeting, from its first wait on; counts it. */
static void check_meeting(unsigned first, unsigned *meetings)
{
    const uint64_t number = waits[first].end.meeting.number;
    const uint32_t expected = waits[first].end.meeting.threads;
    uint32_t came = 0;
    int64_t last = 0;
    for (unsigned i = 0; i < n_waits; i++) {
        if (waits[i].end.op != LULL_THREAD_WAIT_BARRIER || waits[i].end.meeting.number != number)
            continue;
        if (i < first)
            return;
        came++;
        last = waits[i].begin.time > last ? waits[i].begin.time : last;
    }
    for (unsigned i = 0; i < n_waits; i++)
        if (waits[i].end.op == LULL_THREAD_WAIT_BARRIER && waits[i].end.meeting.number == number &&
            waits[i].end.time < last)
            complain("meeting %llx: one goes on before all have come\n",
                     (unsigned long long)number);
    if (came != expected)
        complain("meeting %llx: %u of %u\n", (unsigned long long)number, came, expected);
    if (expected < 64)
        meetings[expected]++;
}

static unsigned count_steps(const struct lull_trace *trace, uint32_t location, unsigned kind)
{
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}};
    struct lull_step_cursor *cursor;
    struct lull_steps steps = {.count = 0};
    unsigned count = 0;
    if (lull_step_cursor_open(trace, location, LULL_STEP_MASK(kind), &options, &cursor, NULL) !=
        LULL_OK)
        return 0;
    do {
        if (lull_step_cursor_next(cursor, &steps, NULL) != LULL_OK)
            break;
        for (uint32_t i = 0; i < steps.count; i++)
            count += steps.steps[i].kind == kind;
    } while (steps.count > 0);
    lull_step_cursor_close(cursor);
    return count;
}

int main(int argc, char **argv)
{
    struct lull_error err;
    struct lull_trace *trace;
    unsigned joined = 0, meetings[64] = {0}, checked = 0, steps = 0;
    for (unsigned i = 0; i < MOST; i++)
        threads[i] = (struct thread){-1, -1, -1, LULL_NONE, -1};
    if (argc != 2)
        return 2;
    lull_status status = lull_trace_open(argv[1], &trace, &err);
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
        status = read_location(trace, l, &err);
    if (status != LULL_OK) {
        puts(err.text);
        return 1;
    }
    for (unsigned i = 0; i < n_waits; i++) {
        if (waits[i].end.op == LULL_THREAD_WAIT_JOIN) {
            joined++;
            check_join(&waits[i]);
        } else {
            check_meeting(i, meetings);
        }
    }
    for (uint32_t l = 0; l < trace->n_locations; l++)
        steps += count_steps(trace, l, LULL_STEP_THREAD_WAIT_END);
    if (steps != n_waits)
        complain("%u waits by steps, %u by events\n", steps, n_waits);
    for (char line[256]; fgets(line, sizeof line, stdin);) {
        unsigned number, size, is;
        if (sscanf(line, "waits %u", &number) == 1)
            is = joined;
        else if (sscanf(line, "meetings %u of %u", &number, &size) == 2 && size < 64)
            is = meetings[size];
        else
            continue;
        checked++;
        if (is != number)
            complain("%.*s: is %u\n", (int)strcspn(line, "\n"), line, is);
    }
    printf("%u checked, %u wrong\n", checked, wrong);
    lull_trace_close(trace);
    return wrong > 0 || checked == 0;
}
