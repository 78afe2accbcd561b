/* scan RUN [WORKERS]: visits what a breakdown needs and does nothing with it. Prints events and
 * seconds: the reader's own rate. */
#include "trace/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t counts[1024][8]; /* per worker, a cache line each */

static lull_status count(void *context, unsigned worker, const struct lull_block *block,
                         struct lull_error *err)
{
    (void)context;
    (void)err;
    counts[worker][0] += block->count;
    return LULL_OK;
}

int main(int argc, char **argv)
{
    struct lull_error err = {""};
    struct lull_trace *trace;
    if (argc < 2) {
        fprintf(stderr, "usage: scan RUN [WORKERS]\n");
        return 2;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    lull_status status = lull_trace_open(argv[1], &trace, &err);
    if (status == LULL_OK) {
        struct lull_scan_options options = {.mask = LULL_MASK_TIME,
                                            .workers = argc > 2 ? (unsigned)atoi(argv[2]) : 1,
                                            .application = LULL_NONE};
        struct lull_visitor visitor = {.block = count};
        status = lull_scan(trace, &options, &visitor, &err);
        lull_trace_close(trace);
    }
    if (status != LULL_OK) {
        fprintf(stderr, "scan: %s\n", err.text);
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t events = 0;
    for (size_t w = 0; w < 1024; w++)
        events += counts[w][0];
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%" PRIu64 " events %.3f s %.1f M/s\n", events, seconds,
           (double)events / seconds * 1e-6);
    return 0;
}
