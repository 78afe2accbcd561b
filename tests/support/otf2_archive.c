#include "support/otf2_archive.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>

void otf2_must(OTF2_ErrorCode code, const char *call)
{
    fail_if(code != OTF2_SUCCESS, "%s: %s", call, OTF2_Error_GetDescription(code));
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

struct otf2_archive otf2_archive_begin(const char *path, const char *creator)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    struct otf2_archive made = {0};
    made.archive =
        OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                          OTF2_CHUNK_SIZE_MIN, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    assert_non_null(made.archive);
    OTF2_MUST(OTF2_Archive_SetFlushCallbacks(made.archive, &flush, NULL));
    OTF2_MUST(OTF2_Archive_SetSerialCollectiveCallbacks(made.archive));
    OTF2_MUST(OTF2_Archive_SetCreator(made.archive, creator));
    OTF2_MUST(OTF2_Archive_OpenEvtFiles(made.archive));
    return made;
}

OTF2_EvtWriter *otf2_archive_location(struct otf2_archive *archive, uint64_t id)
{
    unsigned at = archive->n_locations++;
    assert_true(at < MOST_ARCHIVE_LOCATIONS);
    archive->locations[at] = id;
    archive->events[at] = OTF2_Archive_GetEvtWriter(archive->archive, id);
    assert_non_null(archive->events[at]);
    return archive->events[at];
}

void otf2_archive_end_events(struct otf2_archive *archive)
{
    for (unsigned i = 0; i < archive->n_locations; i++)
        OTF2_MUST(OTF2_Archive_CloseEvtWriter(archive->archive, archive->events[i]));
    OTF2_MUST(OTF2_Archive_CloseEvtFiles(archive->archive));
    OTF2_MUST(OTF2_Archive_OpenDefFiles(archive->archive));
}

OTF2_DefWriter *otf2_archive_local(struct otf2_archive *archive, uint64_t id)
{
    OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive->archive, id);
    assert_non_null(local);
    for (unsigned i = 0; i < archive->n_locations; i++)
        archive->has_local[i] |= archive->locations[i] == id;
    return local;
}

void otf2_archive_definitions(struct otf2_archive *archive)
{
    for (unsigned i = 0; i < archive->n_locations; i++)
        if (!archive->has_local[i])
            OTF2_MUST(OTF2_Archive_CloseDefWriter(
                archive->archive, otf2_archive_local(archive, archive->locations[i])));
    OTF2_MUST(OTF2_Archive_CloseDefFiles(archive->archive));
    archive->global = OTF2_Archive_GetGlobalDefWriter(archive->archive);
    assert_non_null(archive->global);
    OTF2_StringRef name = otf2_archive_string(archive, "node");
    OTF2_MUST(OTF2_GlobalDefWriter_WriteSystemTreeNode(archive->global, 0, name, name,
                                                       OTF2_UNDEFINED_SYSTEM_TREE_NODE));
}

OTF2_StringRef otf2_archive_string(struct otf2_archive *archive, const char *text)
{
    OTF2_MUST(OTF2_GlobalDefWriter_WriteString(archive->global, archive->n_strings, text));
    return archive->n_strings++;
}

void otf2_archive_region(struct otf2_archive *archive, uint32_t id, const char *name,
                         OTF2_RegionRole role, OTF2_Paradigm paradigm)
{
    OTF2_StringRef text = otf2_archive_string(archive, name);
    OTF2_MUST(OTF2_GlobalDefWriter_WriteRegion(archive->global, id, text, text, text, role,
                                               paradigm, OTF2_REGION_FLAG_NONE,
                                               OTF2_UNDEFINED_STRING, 0, 0));
}

void otf2_archive_process(struct otf2_archive *archive, uint32_t group)
{
    OTF2_StringRef name = otf2_archive_string(archive, "process");
    OTF2_MUST(OTF2_GlobalDefWriter_WriteLocationGroup(archive->global, group, name,
                                                      OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                      OTF2_UNDEFINED_LOCATION_GROUP));
}

void otf2_archive_thread(struct otf2_archive *archive, uint64_t id, uint32_t group,
                         OTF2_LocationType type, uint64_t n_events)
{
    OTF2_StringRef name = otf2_archive_string(archive, "thread");
    OTF2_MUST(OTF2_GlobalDefWriter_WriteLocation(archive->global, id, name, type, n_events, group));
}

void otf2_archive_group(struct otf2_archive *archive, uint32_t id, OTF2_GroupType type,
                        OTF2_Paradigm paradigm, uint32_t count, const uint64_t *members)
{
    OTF2_StringRef name = otf2_archive_string(archive, "");
    OTF2_MUST(OTF2_GlobalDefWriter_WriteGroup(archive->global, id, name, type, paradigm,
                                              OTF2_GROUP_FLAG_NONE, count, members));
}

void otf2_archive_comm(struct otf2_archive *archive, uint32_t id, const char *name, uint32_t group)
{
    OTF2_StringRef text = otf2_archive_string(archive, name);
    OTF2_MUST(OTF2_GlobalDefWriter_WriteComm(archive->global, id, text, group, OTF2_UNDEFINED_COMM,
                                             OTF2_COMM_FLAG_NONE));
}

void otf2_archive_end(struct otf2_archive *archive)
{
    OTF2_MUST(OTF2_Archive_CloseGlobalDefWriter(archive->archive, archive->global));
    OTF2_MUST(OTF2_Archive_Close(archive->archive));
}
