/* draw_runs FOLDER COUNT [SEED]: writes drawn runs as tapes FOLDER/0.lull, FOLDER/1.lull ... for tests/same.sh. */
#include "support/memory_trace.h"
#include "trace/convert.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: draw_runs FOLDER COUNT [SEED]\n");
        return 2;
    }
    const unsigned long count = strtoul(argv[2], NULL, 10);
    const unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    for (unsigned long i = 0; i < count; i++) {
        struct lull_random random;
        struct lull_error err = {0};
        char path[4096];
        lull_random_seed(&random, seed + i);
        const struct memory_trace_options options = {.events = 200 + (i % 5) * 200};
        struct lull_trace *trace = memory_trace_draw(&random, &options);
        snprintf(path, sizeof path, "%s/%lu.lull", argv[1], i);
        if (lull_convert(trace, path, lull_format_find("tape"), true, NULL, NULL, &err) !=
            LULL_OK) {
            fprintf(stderr, "draw_runs: %s: %s\n", path, err.text);
            return 1;
        }
        lull_trace_close(trace);
    }
    return 0;
}
