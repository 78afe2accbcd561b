/* Tapes from a blob: six lengths of 16 bits, then as many parts: what the run, process 0 and process
 * 1 define; locations 0 and 1 of process 0, and location 0 of process 1. Of a location the first 256
 * bytes are its header, the others records. What has length 0 does not exist. */
#include "support/fuzz_folder.h"
#include "support/process_maker.h"
#include "trace/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOP = 256 }; /* of the header: all but the set of cores */

static void add_location(struct process_maker *maker, uint32_t number, struct fuzz_part part)
{
    const size_t top = part.size < TOP ? part.size : TOP;
    if (part.size > 0)
        process_add(maker, LULL_TAPE_PART_HEAD, number, part.bytes, top);
    if (part.size > TOP)
        process_add(maker, LULL_TAPE_PART_RECORDS, number, part.bytes + top, part.size - top);
}

static void write_process(uint32_t process, struct fuzz_part definitions,
                          const struct fuzz_part *locations, uint32_t n)
{
    struct process_maker maker = {.process = process};
    char path[4400];
    snprintf(path, sizeof path, "%s/0/%u.tape", fuzz_folder(), process);
    unlink(path);
    if (definitions.size > 0)
        process_add(&maker, LULL_TAPE_PART_DEFINITIONS, 0, definitions.bytes, definitions.size);
    for (uint32_t l = 0; l < n; l++)
        add_location(&maker, l, locations[l]);
    if (maker.bytes)
        process_write(&maker, fuzz_folder());
    process_free(&maker);
}

static void write_files(const uint8_t *data, size_t size)
{
    struct fuzz_part parts[6];
    fuzz_write(LULL_TAPE_ANCHOR_NAME, (const uint8_t *)LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR));
    fuzz_split(data, size, parts, 6);
    fuzz_write("definitions", parts[0].bytes, parts[0].size);
    write_process(0, parts[1], &parts[3], 2);
    write_process(1, parts[2], &parts[5], 1);
}

static void read_by_cursors(const struct lull_trace *trace)
{
    static const uint64_t masks[] = {LULL_MASK_TIME, LULL_MASK_MESSAGES,
                                     LULL_MASK(LULL_EVENT_LEAVE)};
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_cursor *cursor;
        struct lull_block block;
        if (lull_cursor_open(trace, l, masks[l % 3], &cursor, NULL) != LULL_OK)
            continue;
        while (lull_cursor_next(cursor, &block, NULL) == LULL_OK && block.count > 0)
            for (uint32_t i = 0; i < block.count; i++)
                if (!(masks[l % 3] >> block.events[i].kind & 1))
                    abort();
        lull_cursor_close(cursor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_files(data, size);
    fuzz_read_trace(fuzz_folder(), read_by_cursors);
    return 0;
}
