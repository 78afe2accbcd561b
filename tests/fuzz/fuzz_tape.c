/* Tapes from a blob: six lengths of 16 bits, then the contents of as many files. Of the page with
 * a tape file's header only the first 256 bytes are given. A file of length 0 does not exist. */
#include "base/file.h"
#include "support/check_trace.h"
#include "tape/layout.h"
#include "trace/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[4096];

static const struct {
    const char *name;
    bool tape;
} files[] = {{"definitions", false}, {"0/0.definitions", false}, {"0/1.definitions", false},
             {"0/0.0.tape", true},   {"0/0.1.tape", true},       {"0/1.0.tape", true}};
enum { FILES = sizeof files / sizeof *files };
enum { TOP = 256 }; /* of the page of a tape's header: more than the header has */

static void remove_folder(void)
{
    lull_remove_tree(folder, NULL);
}

static void make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/lull-fuzz-XXXXXX",
             parent && *parent               ? parent
             : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                             : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
}

static void write_file(const char *name, bool tape, const uint8_t *bytes, size_t size)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    if (size == 0)
        return;
    FILE *out = fopen(path, "wb");
    if (!out)
        abort();
    size_t top = tape && size > TOP ? TOP : size;
    fwrite(bytes, 1, top, out);
    if (tape && top < size) {
        fseek(out, LULL_TAPE_HEADER_SIZE, SEEK_SET);
        fwrite(bytes + top, 1, size - top, out);
    }
    fclose(out);
}

static void write_files(const uint8_t *data, size_t size)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/0", folder);
    mkdir(path, 0700);
    write_file(LULL_TAPE_ANCHOR_NAME, false, (const uint8_t *)LULL_TAPE_ANCHOR,
               strlen(LULL_TAPE_ANCHOR));
    size_t at = 2 * FILES;
    for (int f = 0; f < FILES; f++) {
        size_t length = size >= 2 * FILES ? data[2 * f] | (size_t)data[2 * f + 1] << 8 : 0;
        if (length > size - at || size < at)
            length = size < at ? 0 : size - at;
        write_file(files[f].name, files[f].tape, data + (length ? at : 0), length);
        at += length;
    }
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
    if (!folder[0])
        make_folder();
    write_files(data, size);
    struct lull_trace *trace;
    struct lull_error err = {""}, broken = {""};
    lull_status status = lull_trace_open(folder, &trace, &err);
    if (status == LULL_OK) {
        status = check_trace(trace, 1, &err, &broken);
        if (broken.text[0]) {
            fprintf(stderr, "%s\n", broken.text);
            abort();
        }
        read_by_cursors(trace);
        lull_trace_close(trace);
    }
    if (status != LULL_OK && (!err.text[0] || strchr(err.text, '\n')))
        abort();
    return 0;
}
