/* Definitions of a location hold its clock offsets and the translation of its ids: libotf2 applies
 * them to events only when they have been read before; our own decoder applies what is kept here.
 */
#include "base/file.h"
#include "trace/format/otf2/read/decode.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* ---- ids ------------------------------------------------------------------------------------- */

struct pairs {
    struct lull_otf2_local *local;
    uint64_t *ids;
    uint32_t *values;
    uint64_t count, capacity;
};

static void take_pair(uint64_t id, uint64_t value, void *user)
{
    struct pairs *pairs = user;
    if (pairs->count >= pairs->capacity || value >= LULL_NONE) {
        pairs->local->unusual = true;
        return;
    }
    pairs->ids[pairs->count] = id;
    pairs->values[pairs->count++] = (uint32_t)value;
}

static OTF2_CallbackCode on_mapping(void *user, OTF2_MappingType type, const OTF2_IdMap *map)
{
    struct lull_otf2_local *local = user;
    uint64_t size;
    if (type == OTF2_MAPPING_LOCATION || type == OTF2_MAPPING_LOCATION_GROUP)
        return OTF2_CALLBACK_SUCCESS; /* no event names them */
    if (type >= OTF2_MAPPING_MAX || local->maps[type].dense || local->maps[type].slots ||
        OTF2_IdMap_GetSize(map, &size) != OTF2_SUCCESS || size >= LULL_NONE) {
        local->unusual = true;
        return OTF2_CALLBACK_SUCCESS;
    }
    struct pairs pairs = {.local = local, .capacity = size};
    pairs.ids = lull_arena_alloc(local->arena, size * sizeof *pairs.ids);
    pairs.values = lull_arena_alloc(local->arena, size * sizeof *pairs.values);
    OTF2_IdMap_Traverse(map, take_pair, &pairs);
    uint32_t repeated = lull_otf2_map_build(&local->maps[type], local->arena, pairs.ids,
                                            sizeof *pairs.ids, pairs.values, (uint32_t)pairs.count);
    local->unusual |= repeated > 0;
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- clock ----------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_clock_offset(void *user, OTF2_TimeStamp time, int64_t offset,
                                         double deviation)
{
    struct lull_otf2_local *local = user;
    const int64_t most = INT64_MAX / 4; /* differences must not overflow */
    size_t n = local->n_offsets;
    (void)deviation;
    if ((n > 0 && time <= local->offsets[n - 1].time) || offset > most || offset < -most) {
        local->unusual = true;
        return OTF2_CALLBACK_SUCCESS;
    }
    local->offsets = lull_arena_grow(local->arena, local->offsets, &local->offset_capacity, n + 1,
                                     sizeof *local->offsets);
    local->offsets[local->n_offsets++] = (struct lull_otf2_offset){time, offset};
    return OTF2_CALLBACK_SUCCESS;
}

static void begin_clock_line(struct lull_otf2_local *local, size_t line)
{
    const struct lull_otf2_offset *from = &local->offsets[line], *to = from + 1;
    local->line = line;
    local->line_end = line + 2 < local->n_offsets ? to->time : UINT64_MAX;
    local->slope = (double)(to->offset - from->offset) / (double)(to->time - from->time);
}

void lull_otf2_local_seek(struct lull_otf2_local *local, uint64_t ticks)
{
    while (ticks > local->line_end)
        begin_clock_line(local, local->line + 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

static OTF2_ErrorCode keep_definitions(OTF2_Reader *reader, OTF2_DefReader *definitions,
                                       struct lull_otf2_local *local)
{
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    if (!callbacks)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_DefReaderCallbacks_SetMappingTableCallback(callbacks, on_mapping);
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_clock_offset);
    OTF2_ErrorCode code = OTF2_Reader_RegisterDefCallbacks(reader, definitions, callbacks, local);
    OTF2_DefReaderCallbacks_Delete(callbacks);
    return code;
}

/* libotf2 opens it by its name; it need not be there. */
static lull_status check_file(const struct lull_trace *trace, uint64_t id, struct lull_error *err)
{
    const struct lull_otf2_archive *archive = trace->format_data;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%" PRIu64 ".def", archive->location_dir, id);
    return access(path, F_OK) == 0 ? lull_check_read(path, err) : LULL_OK;
}

lull_status lull_otf2_local_read(const struct lull_trace *trace, OTF2_Reader *reader, uint64_t id,
                                 struct lull_otf2_local *local, struct lull_error *err)
{
    lull_status status = check_file(trace, id, err);
    if (status != LULL_OK)
        return status;
    OTF2_ErrorCode code = OTF2_Reader_OpenDefFiles(reader);
    OTF2_DefReader *definitions =
        code == OTF2_SUCCESS ? OTF2_Reader_GetDefReader(reader, id) : NULL;
    if (!definitions)
        return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot read its definitions",
                              trace->path, id);
    uint64_t count;
    if (local) {
        local->arena = lull_arena_create(NULL);
        code = keep_definitions(reader, definitions, local);
    }
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count);
    OTF2_Reader_CloseDefReader(reader, definitions);
    OTF2_Reader_CloseDefFiles(reader);
    if (code != OTF2_SUCCESS)
        return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot read its definitions",
                              trace->path, id);
    if (local && local->n_offsets >= 2)
        begin_clock_line(local, 0);
    return LULL_OK;
}

void lull_otf2_local_free(struct lull_otf2_local *local)
{
    lull_arena_destroy(local->arena);
}
