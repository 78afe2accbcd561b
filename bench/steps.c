/* steps RUN [WORKERS]: makes the steps of message passing of a run and does nothing with them.
 * Prints steps and seconds: the rate of reading and interpreting. */
#include "activity/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_WORKERS = 1024 };
static uint64_t counts[MOST_WORKERS][8]; /* per worker, a cache line each */

static lull_status count(void *context, unsigned worker, const struct lull_steps *steps,
                         struct lull_error *err)
{
    (void)context, (void)err;
    counts[worker][0] += steps->count;
    return LULL_OK;
}

int main(int argc, char **argv)
{
    struct lull_error err = {""};
    struct lull_trace *trace;
    if (argc < 2) {
        fprintf(stderr, "usage: steps RUN [WORKERS]\n");
        return 2;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    lull_status status = lull_trace_open(argv[1], &trace, &err);
    if (status == LULL_OK) {
        const struct lull_pass_options options = {
            .reading = &(const struct lull_reading){
                .workers = argc > 2 ? (unsigned)atoi(argv[2]) : 1, .application = LULL_NONE}};
        const struct lull_consumer consumer = {
            .wants = LULL_STEPS_OF_MPI, .steps = count, .abreast = true};
        status = lull_pass_run(trace, &options, &consumer, 1, &err);
        lull_trace_close(trace);
    }
    if (status != LULL_OK) {
        fprintf(stderr, "steps: %s\n", err.text);
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t steps = 0;
    for (size_t w = 0; w < MOST_WORKERS; w++)
        steps += counts[w][0];
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%" PRIu64 " steps %.3f s %.1f M/s\n", steps, seconds, (double)steps / seconds * 1e-6);
    return 0;
}
