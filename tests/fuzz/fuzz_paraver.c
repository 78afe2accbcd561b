/* Arbitrary bytes as a Paraver trace: opened, scanned in order and out of order; every event is as
 * scans promise. What follows a NUL byte is the .pcf. */
#include "support/fuzz_folder.h"
#include "trace/scan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static lull_status look(void *context, unsigned worker, const struct lull_block *block,
                        struct lull_error *err)
{
    (void)worker;
    (void)err;
    const uint64_t *mask = context;
    for (uint32_t i = 0; i < block->count; i++)
        if (!(*mask >> block->events[i].kind & 1))
            abort();
    return LULL_OK;
}

/* Out of order, some kinds only. */
static void scan_as(const struct lull_trace *trace, uint64_t mask)
{
    const struct lull_visitor visitor = {.context = &mask, .block = look};
    const struct lull_scan_options options = {
        .application = LULL_NONE, .workers = 1, .unordered = true, .mask = mask};
    struct lull_error err;
    lull_scan(trace, &options, &visitor, &err);
}

static void read_some(const struct lull_trace *trace)
{
    scan_as(trace, LULL_MASK_ALL & ~LULL_MASK(LULL_EVENT_STATE));
    scan_as(trace, LULL_MASK_TIME);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[4400];
    bool gzip = size > 2 && data[0] == 0x1f; /* holds NUL bytes of its own */
    const uint8_t *nul = gzip || size == 0 ? NULL : memchr(data, 0, size);
    size_t length = nul ? (size_t)(nul - data) : size;
    fuzz_write("run.prv", data, length);
    fuzz_write("run.pcf", nul ? nul + 1 : NULL, nul ? size - length - 1 : 0);
    snprintf(path, sizeof path, "%s/run.prv", fuzz_folder());
    fuzz_read_trace(path, read_some);
    return 0;
}
