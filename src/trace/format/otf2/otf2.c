/* OTF2 archives: an anchor file NAME.otf2, global definitions NAME.def, and in the folder NAME one
 * file of definitions and one of events per location. */
#include "trace/format/otf2/otf2.h"

#include "base/file.h"
#include "base/fnv.h"
#include "trace/format/otf2/read/share.h"
#include "trace/format/otf2/write/writer.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = ".otf2";

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), tail = sizeof suffix - 1;
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* ---- the anchor file --------------------------------------------------------------------------
 * A buffer of libotf2: chunk mark, byte order ('B' little, '#' big endian), "OTF2" and a zero,
 * format, three bytes of version, two 64-bit chunk sizes, file substrate, compression, 64-bit
 * numbers of locations and of global definitions, three strings that end with a zero (machine,
 * creator, description), 32-bit number of properties and these. */
enum {
    ANCHOR_BYTE_ORDER = 1,
    ANCHOR_NAME = 2,
    ANCHOR_EVENT_CHUNK = 12,
    ANCHOR_DEFINITION_CHUNK = 20,
    ANCHOR_SUBSTRATE = 28,
    ANCHOR_COMPRESSION = 29,
    ANCHOR_STRINGS = 46,
    ANCHOR_N_STRINGS = 3,
    ANCHOR_LITTLE_ENDIAN = 'B'
};

static bool is_archive_anchor(const uint8_t *head, size_t size)
{
    return size >= ANCHOR_STRINGS && memcmp(head + ANCHOR_NAME, "OTF2", 5) == 0;
}

static uint64_t anchor_number(const uint8_t *head, size_t at, int bytes)
{
    uint64_t value = 0;
    bool little = head[ANCHOR_BYTE_ORDER] == ANCHOR_LITTLE_ENDIAN;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)head[at + (size_t)i] << 8 * (little ? i : bytes - 1 - i);
    return value;
}

/* libotf2 allocates what the anchor announces without looking at the size of the file. */
static bool has_sound_sizes(const struct lull_mapping *anchor)
{
    size_t at = ANCHOR_STRINGS;
    for (size_t chunk = ANCHOR_EVENT_CHUNK; chunk <= ANCHOR_DEFINITION_CHUNK; chunk += 8) {
        uint64_t size = anchor_number(anchor->data, chunk, 8);
        if (size < OTF2_CHUNK_SIZE_MIN || size > OTF2_CHUNK_SIZE_MAX)
            return false;
    }
    for (int s = 0; s < ANCHOR_N_STRINGS; s++) {
        const uint8_t *end =
            at < anchor->size ? memchr(anchor->data + at, 0, anchor->size - at) : NULL;
        if (!end)
            return false;
        at = (size_t)(end - anchor->data) + 1;
    }
    enum { SMALLEST_PROPERTY = 2 }; /* two empty strings */
    return at + 4 <= anchor->size &&
           anchor_number(anchor->data, at, 4) <= (anchor->size - at) / SMALLEST_PROPERTY;
}

static lull_status check_content(const char *path, const struct lull_mapping *anchor,
                                 struct lull_error *err)
{
    enum { ZLIB = 2 }; /* libotf2 3 deprecates its own name for it */
    const uint8_t *head = anchor->data;
    if (!is_archive_anchor(head, anchor->size))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: this is not the anchor file of an archive",
                         path);
    if (head[ANCHOR_SUBSTRATE] == OTF2_SUBSTRATE_SION)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written through SIONlib, which this libotf2 cannot read", path);
    if (head[ANCHOR_SUBSTRATE] != OTF2_SUBSTRATE_POSIX)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: file substrate %u, expected POSIX files (1)", path,
                         head[ANCHOR_SUBSTRATE]);
    if (head[ANCHOR_COMPRESSION] == ZLIB)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: compressed with zlib, which this libotf2 cannot read", path);
    if (head[ANCHOR_COMPRESSION] != OTF2_COMPRESSION_NONE)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: compression %u, expected none (1)", path,
                         head[ANCHOR_COMPRESSION]);
    if (!has_sound_sizes(anchor))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: the anchor file is damaged: it announces more than it holds", path);
    return LULL_OK;
}

static lull_status check_anchor(const char *path, uint64_t *ret_sight, struct lull_error *err)
{
    struct lull_mapping anchor;
    lull_status status = lull_map_file(path, &anchor, err);
    if (status != LULL_OK)
        return status;
    status = check_content(path, &anchor, err);
    *ret_sight = lull_fnv(LULL_FNV_BEGIN, anchor.data, anchor.size);
    lull_unmap(&anchor);
    return status;
}

/* The names in a folder that end in ".otf2": how many, and the first two. */
struct anchors {
    unsigned count;
    char names[2][256];
};

static void find_anchors(const char *folder, struct anchors *ret_anchors)
{
    *ret_anchors = (struct anchors){0};
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!has_suffix(entry->d_name))
            continue;
        if (ret_anchors->count < 2)
            memcpy(ret_anchors->names[ret_anchors->count], entry->d_name,
                   strlen(entry->d_name) + 1);
        ret_anchors->count++;
    }
    closedir(directory);
}

static bool recognise_archive(const struct lull_candidate *candidate)
{
    if (!candidate->directory)
        return !candidate->gzip && is_archive_anchor(candidate->head, candidate->head_size);
    struct anchors anchors;
    find_anchors(candidate->path, &anchors);
    return anchors.count > 0;
}

static lull_status find_anchor(const struct lull_trace *trace, char **ret_path,
                               struct lull_error *err)
{
    if (!lull_is_directory(trace->path)) {
        *ret_path = lull_arena_strdup(trace->arena, trace->path);
    } else {
        struct anchors anchors;
        find_anchors(trace->path, &anchors);
        if (anchors.count == 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: no anchor file (*.otf2) in this folder",
                             trace->path);
        if (anchors.count > 1)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: several archives in this folder (%s, %s%s), name one of them",
                             trace->path, anchors.names[0], anchors.names[1],
                             anchors.count > 2 ? ", ..." : "");
        *ret_path = lull_arena_printf(trace->arena, "%s/%s", trace->path, anchors.names[0]);
    }
    if (!has_suffix(*ret_path))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: libotf2 opens only anchor files whose name ends in %s", *ret_path,
                         suffix);
    return LULL_OK;
}

/* ---- archive properties ---------------------------------------------------------------------- */

static void read_producer(struct lull_trace *trace, struct lull_otf2_archive *archive,
                          OTF2_Reader *reader)
{
    char *text = NULL;
    if (OTF2_Reader_GetCreator(reader, &text) == OTF2_SUCCESS && text)
        trace->producer = lull_arena_strdup(trace->arena, text);
    free(text);
    text = NULL;
    archive->own = strcmp(trace->producer, LULL_OTF2_CREATOR) == 0;
    archive->totals = lull_otf2_is_score_p(trace);
    if (archive->own && OTF2_Reader_GetProperty(reader, LULL_OTF2_PRODUCER, &text) == OTF2_SUCCESS)
        trace->producer = lull_arena_strdup(trace->arena, text);
    free(text);
}

/* EZTrace leaves its name out, but records its own end as a region. */
static void guess_producer(struct lull_trace *trace)
{
    for (uint32_t r = 0; !*trace->producer && r < trace->n_regions; r++)
        if (strcmp(trace->regions[r].name, "EZTrace finalize") == 0)
            trace->producer = "EZTrace";
}

/* The states of an archive of ours: properties LULL::STATE_0, ... = "<number> <activity> <name>".
 */
static lull_status read_states(struct lull_trace *trace, OTF2_Reader *reader,
                               struct lull_error *err)
{
    enum { MOST_STATES = 65536 };
    size_t capacity = 0;
    while (trace->has_states && trace->n_states < MOST_STATES) {
        char name[48], *value = NULL;
        lull_otf2_state_property(name, sizeof name, trace->n_states);
        if (OTF2_Reader_GetProperty(reader, name, &value) != OTF2_SUCCESS)
            break;
        trace->states = lull_arena_grow(trace->arena, trace->states, &capacity,
                                        (size_t)trace->n_states + 1, sizeof *trace->states);
        bool good = lull_otf2_state_parse(&trace->states[trace->n_states++], value, trace->arena);
        free(value);
        if (!good)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: property %s does not describe a state",
                             trace->path, name);
    }
    lull_otf2_quiet(); /* the last property asked for does not exist */
    return LULL_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Whether there are files of definitions per location at all; some tracers write none. */
static lull_status find_local_definitions(struct lull_trace *trace,
                                          struct lull_otf2_archive *archive, struct lull_error *err)
{
    struct lull_otf2_found found = {.failed = UINT32_MAX};
    char path[PATH_MAX];
    uint32_t l, end;
    lull_otf2_share_range(trace, &l, &end);
    for (; l < end && !found.local_definitions; l++) {
        snprintf(path, sizeof path, "%s/%" PRIu64 ".def", archive->location_dir,
                 trace->locations[l].source_id);
        found.local_definitions = access(path, F_OK) == 0;
    }
    lull_status status = lull_otf2_share_found(trace, &found, err);
    archive->local_definitions = found.local_definitions;
    return status;
}

static lull_status read_definitions(struct lull_trace *trace, struct lull_otf2_archive *archive,
                                    OTF2_Reader *reader, struct lull_error *err)
{
    struct lull_otf2_clock_properties clock;
    read_producer(trace, archive, reader);
    lull_status status = lull_otf2_build(trace, archive, reader, &clock, err);
    if (status == LULL_OK)
        status = read_states(trace, reader, err);
    guess_producer(trace);
    if (status == LULL_OK)
        status = find_local_definitions(trace, archive, err);
    uint64_t definition_chunk;
    OTF2_ErrorCode code =
        OTF2_Reader_GetChunkSize(reader, &archive->event_chunk, &definition_chunk);
    if (status == LULL_OK && (code != OTF2_SUCCESS || archive->event_chunk == 0))
        status = lull_otf2_fail(err, code, "%s: no chunk size", archive->anchor);
    if (status == LULL_OK)
        status = lull_otf2_find_extent(trace, archive, &clock, archive->event_chunk, err);
    return status;
}

static lull_status open_archive(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_otf2_archive *archive = lull_arena_zero(trace->arena, 1, sizeof *archive);
    trace->format_data = archive;
    lull_status status = find_anchor(trace, &archive->anchor, err);
    if (status == LULL_OK)
        status = check_anchor(archive->anchor, &archive->sight, err);
    if (status != LULL_OK)
        return status;
    archive->location_dir = lull_arena_strndup(trace->arena, archive->anchor,
                                               strlen(archive->anchor) - (sizeof suffix - 1));
    status = lull_check_read(lull_arena_printf(trace->arena, "%s.def", archive->location_dir), err);
    if (status != LULL_OK)
        return status;
    lull_otf2_quiet();
    OTF2_Reader *reader = OTF2_Reader_Open(archive->anchor);
    if (!reader)
        return lull_otf2_fail(err, OTF2_ERROR_INVALID, "%s: cannot open the archive",
                              archive->anchor);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    status = read_definitions(trace, archive, reader, err);
    OTF2_Reader_Close(reader);
    return status == LULL_OK ? lull_trace_complete(trace, err) : status;
}

static const struct lull_reader reader_otf2 = {
    .expected = "an OTF2 archive",
    .recognise = recognise_archive,
    .open = open_archive,
    .stream_open = lull_otf2_stream_open,
    .stream_read = lull_otf2_stream_read,
    .stream_close = lull_otf2_stream_close,
    .most_abreast = 60000, /* each is mapped, and Linux lets a process have 65,530 maps */
};

const struct lull_format lull_format_otf2 = {
    .name = "otf2",
    .summary = "OTF2 archive (Score-P, EZTrace)",
    .reader = &reader_otf2,
    .writer_open = lull_otf2_writer_open,
};
