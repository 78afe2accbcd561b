/* listing [--times] RUN: what a run holds, one line for each event, in the order of each location and
 * without times: LOCATION KIND OP NAME NUMBERS. A completion has the number of its request last. What
 * the recorder itself did (writing, counters) is left out. With --times each line begins with the
 * event's time in ns, of a call also its duration: TIME DURATION LOCATION ...; and the names of all
 * locations come first, in their order: location: NAME. */
#include "base/error.h"
#include "trace/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct lull_trace *trace;
static bool with_times;

static void put_region(uint32_t region)
{
    printf(" %s %s", trace->regions[region].name, trace->regions[region].site);
}

static void put_message(const struct lull_event *event)
{
    printf(" comm %" PRIu32 " bytes %" PRIu64 " peer %d tag %d request %" PRIu64, event->id,
           event->message.bytes, event->message.peer, event->message.tag, event->message.request);
}

static void put_collective(const struct lull_event *event)
{
    printf(" comm %" PRIu32 " sent %" PRIu64 " received %" PRIu64 " root %d request %" PRIu64,
           event->id, event->collective.sent, event->collective.received, event->collective.root,
           event->collective.request);
}

static void put_rest(const struct lull_event *event)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
        put_region(event->id);
        break;
    case LULL_EVENT_CALL:
        put_region(event->id);
        printf(" x%" PRIu64, lull_calls_of(event));
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        put_collective(event);
        break;
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        printf(" bytes %" PRIu64 " target %d", event->transfer.bytes, event->transfer.target);
        break;
    case LULL_EVENT_THREAD_WAIT_BEGIN:
    case LULL_EVENT_THREAD_WAIT_END:
        printf(" %" PRIu64 " location %" PRIu32, event->meeting.number, event->meeting.location);
        break;
    case LULL_EVENT_SUBMIT:
    case LULL_EVENT_DEVICE_WAIT:
        printf(" %" PRIu64 " location %" PRIu32, event->operation.number,
               event->operation.location);
        break;
    case LULL_EVENT_DEPEND:
        printf(" %" PRIu64 " on %" PRIu64, event->operation.number, event->operation.other);
        break;
    case LULL_EVENT_OPERATION:
        printf(" %" PRIu64 " bytes %" PRIu64 " location %" PRIu32, event->operation.number,
               event->operation.bytes, event->operation.location);
        if (event->operation.sequence != LULL_NO_SEQUENCE)
            printf(" sequence %" PRIu64, event->operation.sequence);
        if (event->operation.peer >= 0)
            printf(" peer %" PRIi32, event->operation.peer);
        if (event->id != LULL_NONE)
            put_region(event->id);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        break;
    default:
        if (LULL_MASK_MESSAGES >> event->kind & 1)
            put_message(event);
        else
            printf(" %" PRIu64, event->number);
    }
}

static lull_status list_location(uint32_t location, struct lull_error *err)
{
    const uint64_t left_out = LULL_MASK(LULL_EVENT_FLUSH) | LULL_MASK(LULL_EVENT_COUNTERS);
    struct lull_cursor *cursor;
    struct lull_block block;
    lull_status status = lull_cursor_open(trace, location, LULL_MASK_ALL & ~left_out, &cursor, err);
    if (status != LULL_OK)
        return status;
    while ((status = lull_cursor_next(cursor, &block, err)) == LULL_OK && block.count > 0)
        for (uint32_t i = 0; i < block.count; i++) {
            const struct lull_event *event = &block.events[i];
            if (with_times)
                printf("%" PRId64 " %" PRId64 " ", event->time,
                       event->kind == LULL_EVENT_CALL ? event->duration : 0);
            printf("%s: %s %u", trace->locations[location].name, lull_event_kind_name(event->kind),
                   event->kind == LULL_EVENT_CALL ? 0 : event->op);
            put_rest(event);
            puts("");
        }
    lull_cursor_close(cursor);
    return status;
}

int main(int argc, char **argv)
{
    struct lull_error err = {0};
    struct lull_trace *opened;
    with_times = argc == 3 && strcmp(argv[1], "--times") == 0;
    if (argc != 2 + with_times)
        return 2;
    lull_status status = lull_trace_open(argv[argc - 1], &opened, &err);
    if (status == LULL_OK) {
        trace = opened;
        for (uint32_t l = 0; with_times && l < trace->n_locations; l++)
            printf("location: %s\n", trace->locations[l].name);
        for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
            status = list_location(l, &err);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_quirk *quirks;
        const uint32_t n = lull_trace_quirks(trace, arena, &quirks);
        for (uint32_t q = 0; q < n; q++)
            printf("quirk: %s (%s)\n", quirks[q].kind, quirks[q].first);
        lull_arena_destroy(arena);
        lull_trace_close(opened);
    }
    if (status != LULL_OK)
        fprintf(stderr, "listing: %s\n", err.text);
    return status != LULL_OK;
}
