/* Tapes from a blob: six lengths of 16 bits, then the contents of as many files. Of the page with
 * a tape file's header only the first 256 bytes are given. A file of length 0 does not exist. */
#include "support/fuzz_folder.h"
#include "tape/layout.h"
#include "trace/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *name;
    bool tape;
} files[] = {{"definitions", false}, {"0/0.definitions", false}, {"0/1.definitions", false},
             {"0/0.0.tape", true},   {"0/0.1.tape", true},       {"0/1.0.tape", true}};
enum { FILES = sizeof files / sizeof *files };
enum { TOP = 256 }; /* of the page of a tape's header: all but the set of cores */

static void write_files(const uint8_t *data, size_t size)
{
    struct fuzz_part parts[FILES];
    char path[4400];
    snprintf(path, sizeof path, "%s/0", fuzz_folder());
    mkdir(path, 0700);
    fuzz_write(LULL_TAPE_ANCHOR_NAME, (const uint8_t *)LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR),
               0, 0);
    fuzz_split(data, size, parts, FILES);
    for (int f = 0; f < FILES; f++)
        fuzz_write(files[f].name, parts[f].bytes, parts[f].size, TOP,
                   files[f].tape ? LULL_TAPE_HEADER_SIZE : 0);
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
