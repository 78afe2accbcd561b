#include "support/packed.h"

#include "base/file.h"
#include "lull_features.h"
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/format/tape/pack/blocks.h"
#include "trace/pack.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4400, LONGER = PATH + 300 };

/* ---- the same files ---------------------------------------------------------------------------
 */

static void check_file(const char *a, const char *b)
{
    size_t a_size, b_size;
    unsigned char *a_bytes = folder_read(a, &a_size), *b_bytes = folder_read(b, &b_size);
    fail_if(a_size != b_size || memcmp(a_bytes, b_bytes, a_size) != 0,
            "%s came back with %zu bytes as %s with %zu, which are others", a, a_size, b, b_size);
    free(a_bytes);
    free(b_bytes);
}

/* All of `a` is in `b`. */
static void check_folder(const char *a, const char *b)
{
    DIR *folder = opendir(a);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char a_path[LONGER], b_path[LONGER];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(a_path, sizeof a_path, "%s/%s", a, entry->d_name);
        snprintf(b_path, sizeof b_path, "%s/%s", b, entry->d_name);
        if (lull_is_directory(a_path))
            check_folder(a_path, b_path);
        else
            check_file(a_path, b_path);
    }
    closedir(folder);
}

/* ---- each block alone -------------------------------------------------------------------------
 */

/* `node`: the path of the file that it is packed in. */
static unsigned char *read_original(const char *run, const char *node,
                                    const struct lull_tape_node_file *file, size_t *ret_size)
{
    char path[PATH];
    if (file->kind == LULL_TAPE_NODE_CONTAINER)
        snprintf(path, sizeof path, "%s/%s", run, strrchr(node, '/') + 1);
    else
        snprintf(path, sizeof path, "%s/%u/%u.tape", run, file->process / 1000, file->process);
    return folder_read(path, ret_size);
}

/* From the last to the first, so that none can lean on those before. */
static void check_blocks_of(const char *run, const char *path, const unsigned char *node,
                            const struct lull_tape_node_file *file,
                            const struct lull_tape_node_block *blocks)
{
    size_t size, covered = 0;
    unsigned char *original = read_original(run, path, file, &size);
    unsigned char *bytes = aligned_alloc(64, PACK_MOST_LENGTH);
    assert_int_equal(size, file->size);
    for (uint64_t b = file->n_plain + file->n_chunks; b-- > 0;) {
        const struct lull_tape_node_block *block = &blocks[file->first + b];
        const uint32_t length = lull_tape_block_length(block);
        assert_in_range(block->origin + length, 0, size);
        memset(bytes, 0xa5, PACK_MOST_LENGTH);
        assert_true(lull_unpack_block(block, node + block->place, bytes));
        assert_memory_equal(bytes, original + block->origin, length);
        covered += length;
    }
    assert_int_equal(covered, size);
    free(bytes);
    free(original);
}

static void check_node(const char *run, const char *path)
{
    size_t size;
    unsigned char *node = folder_read(path, &size);
    const struct lull_tape_node_header *header = (const void *)node;
    assert_in_range(size, sizeof *header, SIZE_MAX);
    assert_int_equal(header->size, size);
    const struct lull_tape_node_file *files = (const void *)(header + 1);
    const struct lull_tape_node_location *locations = (const void *)(files + header->n_files);
    const struct lull_tape_node_block *blocks = (const void *)(locations + header->n_locations);
    for (uint32_t f = 0; f < header->n_files; f++)
        check_blocks_of(run, path, node, &files[f], blocks);
    for (uint64_t b = 1; b < header->n_blocks; b++)
        assert_int_equal(blocks[b].place, blocks[b - 1].place + blocks[b - 1].size);
    free(node);
}

static void check_nodes(const char *run, const char *packed)
{
    DIR *folder = opendir(packed);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[LONGER];
        snprintf(path, sizeof path, "%s/%s", packed, entry->d_name);
        if (strstr(entry->d_name, ".tapes"))
            check_node(run, path);
    }
    closedir(folder);
}

/* ---- the same events --------------------------------------------------------------------------
 */

static void check_events(const struct lull_trace *a, const struct lull_trace *b, uint32_t location,
                         uint64_t mask)
{
    static const struct same_events_options options = {.same_definitions = true};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence x = {0}, y = {0};
    struct lull_error err = {""};
    const lull_status first = collect_by_cursor(a, location, mask, arena, &x, &err),
                      second = collect_by_cursor(b, location, mask, arena, &y, &err);
    fail_if(first != second || (first == LULL_OK && !same_sequences(&x, &y, &options, &err)),
            "location %u, mask %llx: status %d and packed %d: %s", location,
            (unsigned long long)mask, (int)first, (int)second, err.text);
    lull_arena_destroy(arena);
}

static void check_traces(const struct lull_trace *a, const struct lull_trace *b)
{
    static const uint64_t masks[] = {LULL_MASK_ALL, LULL_MASK_TIME, LULL_MASK_MESSAGES};
    static unsigned calls; /* where events are dear, each call reads a location by another mask */
    struct lull_error err = {""};
    calls++;
    assert_int_equal(a->n_locations, b->n_locations);
    assert_int_equal(a->duration, b->duration);
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->events_end, b->events_end);
    assert_int_equal(a->has_sums, b->has_sums);
    fail_if(!same_definitions(a, b, 0, &err), "%s", err.text);
    for (uint32_t l = 0; l < a->n_locations; l++)
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
            if (lull_test_picks(calls + l + m, 3))
                check_events(a, b, l, masks[m]);
}

#if LULL_HAVE_ZSTD
void packed_check(const char *run)
{
    struct lull_trace *trace, *again;
    struct lull_error err;
    char packed[PATH], unpacked[PATH];
    if (!lull_is_directory(run) || lull_trace_open(run, &trace, &err) != LULL_OK)
        return;
    snprintf(packed, sizeof packed, "%s", folder_path("check.packed"));
    snprintf(unpacked, sizeof unpacked, "%s", folder_path("check.unpacked"));
    const struct lull_pack_wish there = {.run = run, .out = packed},
                                back = {.run = packed, .out = unpacked};
    const lull_status status = lull_pack(&there, &err);
    if (status == LULL_ERR_UNSUPPORTED) { /* it is packed */
        lull_trace_close(trace);
        return;
    }
    fail_if(status != LULL_OK || lull_unpack(&back, &err) != LULL_OK, "%s", err.text);
    check_folder(run, unpacked);
    check_folder(unpacked, run);
    check_nodes(run, packed);
    fail_if(lull_trace_open(packed, &again, &err) != LULL_OK, "packed: %s", err.text);
    check_traces(trace, again);
    lull_trace_close(again);
    lull_trace_close(trace);
    assert_int_equal(lull_remove_tree(packed, &err), LULL_OK);
    assert_int_equal(lull_remove_tree(unpacked, &err), LULL_OK);
}
#else
void packed_check(const char *run)
{
    (void)run;
    (void)check_traces;
    (void)check_nodes;
    (void)check_folder;
}
#endif

void packed_check_some(const char *run)
{
    static unsigned calls;
    if (calls++ % 16 == 0)
        packed_check(run);
}
