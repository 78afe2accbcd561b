#include "support/fuzz_folder.h"

#include "base/file.h"
#include "support/check_trace.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[4096];

static void remove_folder(void)
{
    lull_remove_tree(folder, NULL);
}

const char *fuzz_folder(void)
{
    if (folder[0])
        return folder;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/lull-fuzz-XXXXXX",
             parent && *parent               ? parent
             : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                             : "/tmp");
    if (!mkdtemp(folder) || atexit(remove_folder) != 0)
        abort();
    return folder;
}

void fuzz_write(const char *name, const uint8_t *bytes, size_t size)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    unlink(path);
    if (size == 0)
        return;
    FILE *out = fopen(path, "wb");
    if (!out)
        abort();
    fwrite(bytes, 1, size, out);
    fclose(out);
}

void fuzz_split(const uint8_t *data, size_t size, struct fuzz_part *parts, size_t count)
{
    size_t at = 2 * count;
    for (size_t i = 0; i < count; i++) {
        size_t length = size >= 2 * count ? data[2 * i] | (size_t)data[2 * i + 1] << 8 : 0;
        if (at >= size)
            length = 0;
        else if (length > size - at)
            length = size - at;
        parts[i] = (struct fuzz_part){length ? data + at : NULL, length};
        at += length;
    }
}

void fuzz_read_sums(const struct lull_trace *trace)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err;
    struct lull_sums sums;
    for (uint32_t l = 0; trace->has_sums && l < trace->n_locations; l++)
        if (lull_trace_read_sums(trace, l, arena, &sums, &err) != LULL_OK && !err.text[0])
            abort();
    lull_arena_destroy(arena);
}

void fuzz_read_trace(const char *path, void (*more)(const struct lull_trace *trace))
{
    struct lull_trace *trace;
    struct lull_error err = {""}, broken = {""};
    lull_status status = lull_trace_open(path, &trace, &err);
    if (status == LULL_OK) {
        status = check_trace(trace, 1, &err, &broken);
        if (broken.text[0]) {
            fprintf(stderr, "%s\n", broken.text);
            abort();
        }
        if (more)
            more(trace);
        lull_trace_close(trace);
    }
    if (status != LULL_OK && (!err.text[0] || strchr(err.text, '\n')))
        abort();
}
