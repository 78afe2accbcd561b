/* chunks RUN: how long the recorder took for each full chunk of a thread, in ns, one for each line, as
 * the run tells. */
#include "base/error.h"
#include "trace/scan.h"

#include <inttypes.h>
#include <stdio.h>

static lull_status show(const struct lull_trace *trace, uint32_t location, struct lull_error *err)
{
    struct lull_cursor *cursor;
    struct lull_block block;
    lull_status status =
        lull_cursor_open(trace, location, LULL_MASK(LULL_EVENT_FLUSH), &cursor, err);
    if (status != LULL_OK)
        return status;
    while ((status = lull_cursor_next(cursor, &block, err)) == LULL_OK && block.count > 0)
        for (uint32_t i = 0; i < block.count; i++)
            printf("%" PRIu64 "\n", (uint64_t)block.events[i].duration);
    lull_cursor_close(cursor);
    return status;
}

int main(int argc, char **argv)
{
    struct lull_error err = {0};
    struct lull_trace *trace;
    if (argc != 2)
        return 2;
    lull_status status = lull_trace_open(argv[1], &trace, &err);
    if (status == LULL_OK) {
        for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
            status = show(trace, l, &err);
        lull_trace_close(trace);
    }
    if (status != LULL_OK)
        fprintf(stderr, "chunks: %s\n", err.text);
    return status != LULL_OK;
}
