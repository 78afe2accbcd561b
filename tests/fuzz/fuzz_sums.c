/* Sums: the input is that of the master of a profile with four regions and two counters. */
#include "metrics/breakdown.h"
#include "support/fuzz_folder.h"
#include "support/process_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t define(unsigned char *space, size_t capacity, unsigned kind, uint32_t id)
{
    struct lull_tape_builder builder;
    lull_tape_build_begin(&builder, space, capacity, kind, id);
    if (kind == LULL_TAPE_DEFINE_REGION) {
        lull_tape_build_u32(&builder, id % 2 ? LULL_TAPE_PARADIGM_USER : LULL_TAPE_PARADIGM_OPENMP);
        lull_tape_build_u32(&builder, LULL_TAPE_ROLE_BARRIER);
        lull_tape_build_u64(&builder, 0);
    } else {
        lull_tape_build_u64(&builder, id);
        lull_tape_build_u32(&builder, id % 3);
    }
    lull_tape_build_text(&builder, id % 2 ? "one" : "two");
    lull_tape_build_text(&builder, "");
    return lull_tape_build_end(&builder);
}

static void add_definitions(struct process_maker *maker)
{
    static unsigned char bytes[4096];
    struct lull_tape_definitions_header header = {.version = LULL_TAPE_VERSION,
                                                  .byte_order = LULL_TAPE_BYTE_ORDER,
                                                  .header_size = sizeof header};
    memcpy(header.magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header.magic);
    size_t used = sizeof header;
    for (uint32_t id = 0; id < 4; id++)
        used += define(bytes + used, sizeof bytes - used, LULL_TAPE_DEFINE_REGION, id);
    for (uint32_t id = 0; id < 2; id++)
        used += define(bytes + used, sizeof bytes - used, LULL_TAPE_DEFINE_COUNTER, id);
    header.committed = used - sizeof header;
    memcpy(bytes, &header, sizeof header);
    process_add(maker, LULL_TAPE_PART_DEFINITIONS, 0, bytes, used);
}

static void write_run(const uint8_t *sums, size_t size)
{
    struct process_maker maker = {0};
    struct tape_maker tape;
    fuzz_write(LULL_TAPE_ANCHOR_NAME, (const uint8_t *)LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR));
    add_definitions(&maker);
    tape_begin(&tape, 0, 0);
    tape.header.flags = LULL_TAPE_PROFILE | LULL_TAPE_CLOSED;
    process_add(&maker, LULL_TAPE_PART_HEAD, 0, &tape.header, sizeof tape.header);
    if (size > 0)
        process_add(&maker, LULL_TAPE_PART_SUMS, 0, sums, size);
    process_write(&maker, fuzz_folder());
    process_free(&maker);
}

/* What is read adds up to the run. */
static void check(const struct lull_breakdown *breakdown)
{
    const struct lull_thread_breakdown *thread = &breakdown->threads[0];
    int64_t sum = thread->disabled_ns;
    for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
        for (unsigned inside = 0; inside < 2; inside++) {
            if (thread->times.ns[a][inside] < 0)
                abort();
            sum += thread->times.ns[a][inside];
        }
    if (sum != breakdown->duration_ns)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_error err;
    struct lull_trace *trace;
    struct lull_breakdown *breakdown;
    write_run(data, size);
    if (lull_trace_open(fuzz_folder(), &trace, &err) != LULL_OK)
        return 0;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_breakdown_options options = {.regions = true};
    if (lull_breakdown_compute(trace, &options, arena, &breakdown, &err) == LULL_OK)
        check(breakdown);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
    return 0;
}
