/* Arbitrary bytes as a Paraver trace: opened, scanned in order and out of order. What follows a NUL
 * byte is the .pcf. */
#include "trace/scan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static lull_status look(void *context, unsigned worker, const struct lull_block *block,
                        struct lull_error *err)
{
    uint64_t *sum = context;
    (void)worker;
    (void)err;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        *sum += (uint64_t)event->time + event->id;
        if (event->kind == LULL_EVENT_COUNTERS)
            for (uint32_t r = 0; r < event->readings.count; r++)
                *sum += event->readings.values[r].value + event->readings.values[r].counter;
    }
    return LULL_OK;
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        abort();
    fwrite(data, 1, size, out);
    fclose(out);
}

static void read_trace(const char *path)
{
    struct lull_trace *trace;
    struct lull_error err = {""};
    uint64_t sum = 0;
    const struct lull_visitor visitor = {.context = &sum, .block = look};
    struct lull_scan_options options = {.application = LULL_NONE, .workers = 1};
    if (lull_trace_open(path, &trace, &err) != LULL_OK)
        return;
    lull_scan(trace, &options, &visitor, &err);
    options.unordered = true;
    options.mask = LULL_MASK_ALL & ~LULL_MASK(LULL_EVENT_STATE);
    lull_scan(trace, &options, &visitor, &err);
    options.mask = LULL_MASK_TIME;
    lull_scan(trace, &options, &visitor, &err);
    lull_trace_close(trace);
}

static char folder[] = "/tmp/lull-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char prv[64], pcf[64];
    if (!prv[0]) {
        if (!mkdtemp(folder) || atexit(remove_folder) != 0)
            abort();
        snprintf(prv, sizeof prv, "%s/run.prv", folder);
        snprintf(pcf, sizeof pcf, "%s/run.pcf", folder);
    }
    bool gzip = size > 2 && data[0] == 0x1f; /* holds NUL bytes of its own */
    const uint8_t *nul = gzip || size == 0 ? NULL : memchr(data, 0, size);
    size_t length = nul ? (size_t)(nul - data) : size;
    write_file(prv, data, length);
    write_file(pcf, nul ? nul + 1 : data, nul ? size - length - 1 : 0);
    read_trace(prv);
    unlink(prv);
    unlink(pcf);
    return 0;
}
