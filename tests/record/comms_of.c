/* comms_of RUN: a line for each reduction of all: "APPLICATION.RANK BYTES COMM OTHER members /
 * members": in which communicator it was, which is the other group (-1: none), and who is in both.
 */
#include "base/error.h"
#include "trace/scan.h"

#include <inttypes.h>
#include <stdio.h>

static const struct lull_trace *trace;

static void put_process(uint32_t process)
{
    printf(" %u.%u", trace->processes[process].application, trace->processes[process].rank);
}

static void put_members(uint32_t comm)
{
    for (uint32_t r = 0; r < trace->comms[comm].size; r++)
        put_process(lull_comm_member(&trace->comms[comm], r));
}

static void put_event(uint32_t process, const struct lull_event *event)
{
    if (event->op != LULL_COLLECTIVE_ALLREDUCE || event->id >= trace->n_comms)
        return;
    const uint32_t other = trace->comms[event->id].remote;
    put_process(process);
    printf(" %" PRIu64 " %" PRIu32 " %d", event->collective.sent, event->id,
           other == LULL_NONE ? -1 : (int)other);
    put_members(event->id);
    if (other != LULL_NONE) {
        printf(" /");
        put_members(other);
    }
    puts("");
}

static lull_status list_location(uint32_t location, struct lull_error *err)
{
    struct lull_cursor *cursor;
    struct lull_block block;
    lull_status status =
        lull_cursor_open(trace, location, LULL_MASK(LULL_EVENT_COLLECTIVE_END), &cursor, err);
    if (status != LULL_OK)
        return status;
    while ((status = lull_cursor_next(cursor, &block, err)) == LULL_OK && block.count > 0)
        for (uint32_t i = 0; i < block.count; i++)
            put_event(trace->locations[location].process, &block.events[i]);
    lull_cursor_close(cursor);
    return status;
}

int main(int argc, char **argv)
{
    struct lull_error err;
    struct lull_trace *opened;
    if (argc != 2)
        return 2;
    lull_status status = lull_trace_open(argv[1], &opened, &err);
    trace = opened;
    for (uint32_t l = 0; status == LULL_OK && l < opened->n_locations; l++)
        status = list_location(l, &err);
    if (status != LULL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    lull_trace_close(opened);
    return 0;
}
