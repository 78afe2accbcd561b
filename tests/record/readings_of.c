/* readings_of RUN: a line for each reading of memory: "RANK NS BYTES". */
#include "base/error.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct lull_error err;
    struct lull_trace *trace;
    if (argc != 2)
        return 2;
    if (lull_trace_open(argv[1], &trace, &err) != LULL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (uint32_t p = 0; p < trace->n_processes; p++)
        for (uint32_t i = 0; i < trace->processes[p].n_readings; i++)
            printf("%" PRIu32 " %" PRId64 " %" PRIu64 "\n", trace->processes[p].rank,
                   trace->processes[p].readings[i].time, trace->processes[p].readings[i].bytes);
    lull_trace_close(trace);
    return 0;
}
