/* Writing an archive: events go to one OTF2_EvtWriter per location as they come, definitions at
 * the end, when it is known what the events refer to. */
#include "trace/format/otf2/write/writer.h"

#include "base/output_file.h"

#include <stdlib.h>

/* libotf2 holds up to one chunk per location: less where there are many. */
enum { FEW_LOCATIONS = 256 };
static const uint64_t large_chunk = UINT64_C(1) << 20;

static lull_status fail_output(const struct lull_otf2_output *output, OTF2_ErrorCode code,
                               struct lull_error *err)
{
    return lull_otf2_fail(err, code, "%s: cannot write the archive",
                          lull_output_path(output->files));
}

static OTF2_ErrorCode open_location(struct lull_otf2_output *output, uint32_t location)
{
    if (!output->locations[location].events)
        output->locations[location].events = OTF2_Archive_GetEvtWriter(output->archive, location);
    return output->locations[location].events ? OTF2_SUCCESS : OTF2_ERROR_INVALID;
}

static lull_status write_archive_block(void *state, const struct lull_block *block,
                                       struct lull_error *err)
{
    struct lull_otf2_output *output = state;
    lull_otf2_quiet();
    OTF2_ErrorCode code = open_location(output, block->location);
    struct lull_otf2_target target = {.output = output,
                                      .location = &output->locations[block->location],
                                      .writer = output->locations[block->location].events,
                                      .process = output->trace->locations[block->location].process};
    if (code == OTF2_SUCCESS)
        code = lull_otf2_write_events(&target, block);
    return code == OTF2_SUCCESS ? LULL_OK : fail_output(output, code, err);
}

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool final)
{
    (void)user;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

/* A record must fit into a chunk, and groups have records as long as the run has processes; readers
 * clear a chunk for every location, so it should not be larger than needed. */
static uint64_t definition_chunk(const struct lull_trace *trace)
{
    enum { MEMBER = 10, OTHER_FIELDS = 4096 };
    uint64_t most = trace->n_locations;
    for (uint32_t c = 0; c < trace->n_comms; c++)
        most = trace->comms[c].size > most ? trace->comms[c].size : most;
    uint64_t size = OTF2_CHUNK_SIZE_MIN;
    while (size < OTF2_CHUNK_SIZE_MAX && size < OTHER_FIELDS + most * MEMBER)
        size *= 2;
    return size;
}

static OTF2_ErrorCode set_up(struct lull_otf2_output *output)
{
    /* No callback after flushes: it would add BufferFlush records to the events. */
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    const struct lull_trace *trace = output->trace;
    uint64_t chunk = trace->n_locations <= FEW_LOCATIONS ? large_chunk : OTF2_CHUNK_SIZE_MIN;
    output->archive =
        OTF2_Archive_Open(lull_output_path(output->files), "traces", OTF2_FILEMODE_WRITE, chunk,
                          definition_chunk(trace), OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!output->archive)
        return OTF2_ERROR_INVALID;
    OTF2_ErrorCode code = OTF2_Archive_SetFlushCallbacks(output->archive, &flush, NULL);
    if (code == OTF2_SUCCESS)
        code = OTF2_Archive_SetSerialCollectiveCallbacks(output->archive);
    if (code == OTF2_SUCCESS)
        code = OTF2_Archive_SetCreator(output->archive, LULL_OTF2_CREATOR);
    if (code == OTF2_SUCCESS && *trace->producer)
        code = OTF2_Archive_SetProperty(output->archive, LULL_OTF2_PRODUCER, trace->producer, true);
    for (uint32_t s = 0; code == OTF2_SUCCESS && s < trace->n_states; s++) {
        char name[48], value[512];
        lull_otf2_state_property(name, sizeof name, s);
        lull_otf2_state_print(value, sizeof value, &trace->states[s]);
        code = OTF2_Archive_SetProperty(output->archive, name, value, true);
    }
    return code == OTF2_SUCCESS ? OTF2_Archive_OpenEvtFiles(output->archive) : code;
}

/* Every location gets its file, so that a missing one is known to be lost. */
static OTF2_ErrorCode finish_locations(struct lull_otf2_output *output)
{
    for (uint32_t l = 0; l < output->trace->n_locations; l++) {
        struct lull_otf2_output_location *location = &output->locations[l];
        OTF2_ErrorCode code = open_location(output, l);
        struct lull_otf2_target target = {
            .output = output, .location = location, .writer = location->events};
        if (code == OTF2_SUCCESS && location->call_open)
            code = lull_otf2_leave_call(&target);
        if (code == OTF2_SUCCESS)
            code = OTF2_EvtWriter_GetNumberOfEvents(location->events, &location->n_events);
        if (code == OTF2_SUCCESS)
            code = OTF2_Archive_CloseEvtWriter(output->archive, location->events);
        if (code != OTF2_SUCCESS)
            return code;
    }
    return OTF2_Archive_CloseEvtFiles(output->archive);
}

static OTF2_ErrorCode finish_archive(struct lull_otf2_output *output)
{
    OTF2_ErrorCode code = finish_locations(output);
    if (code == OTF2_SUCCESS)
        code = lull_otf2_write_definitions(output);
    if (code != OTF2_SUCCESS)
        return code;
    code = OTF2_Archive_Close(output->archive);
    output->archive = NULL;
    return code;
}

static void release_output(struct lull_otf2_output *output)
{
    OTF2_Archive_Close(output->archive);
    free(output->locations);
    lull_arena_destroy(output->arena);
    free(output);
}

static lull_status close_archive_writer(void *state, bool commit, struct lull_error *err)
{
    struct lull_otf2_output *output = state;
    lull_status status = LULL_OK;
    lull_otf2_quiet();
    if (commit) {
        OTF2_ErrorCode code = finish_archive(output);
        if (code != OTF2_SUCCESS)
            status = fail_output(output, code, err);
    }
    struct lull_output *files = output->files;
    release_output(output);
    if (commit && status == LULL_OK)
        return lull_output_commit(files, err);
    lull_output_discard(files);
    return status;
}

lull_status lull_otf2_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err)
{
    struct lull_output *files;
    lull_status status = lull_output_begin(path, true, replace, &files, err);
    if (status != LULL_OK)
        return status;
    struct lull_otf2_output *output = calloc(1, sizeof *output);
    struct lull_otf2_output_location *locations =
        calloc(trace->n_locations, sizeof *output->locations);
    if (!output || !locations) {
        free(locations);
        free(output);
        lull_output_discard(files);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    output->trace = trace;
    output->arena = lull_arena_create(NULL);
    output->files = files;
    output->locations = locations;
    output->first_set_class = trace->has_states;
    lull_otf2_number_comms(output);
    lull_otf2_quiet();
    OTF2_ErrorCode code = set_up(output);
    if (code != OTF2_SUCCESS) {
        status = fail_output(output, code, err);
        release_output(output);
        lull_output_discard(files);
        return status;
    }
    *ret_writer = (struct lull_writer){
        .state = output, .block = write_archive_block, .close = close_archive_writer};
    return LULL_OK;
}
