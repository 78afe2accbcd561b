/* Small OTF2 archives made through libotf2 itself, for tests of our reader. Every function ends
 * the test when libotf2 refuses. */
#ifndef LULL_TESTS_OTF2_ARCHIVE_H
#define LULL_TESTS_OTF2_ARCHIVE_H

#include <otf2/otf2.h>
#include <stdbool.h>

enum { MOST_ARCHIVE_LOCATIONS = 8 };

struct otf2_archive {
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *global; /* after otf2_archive_definitions */
    uint64_t locations[MOST_ARCHIVE_LOCATIONS];
    OTF2_EvtWriter *events[MOST_ARCHIVE_LOCATIONS];
    bool has_local[MOST_ARCHIVE_LOCATIONS];
    unsigned n_locations;
    uint32_t n_strings;
};

/* Begins an archive PATH/traces.otf2; `creator` may be "". */
struct otf2_archive otf2_archive_begin(const char *path, const char *creator);
/* The events of one location, written in time order. */
OTF2_EvtWriter *otf2_archive_location(struct otf2_archive *archive, uint64_t id);
/* Ends the events. The definitions of one location, if it has any: to be closed by the caller with
 * OTF2_Archive_CloseDefWriter. */
void otf2_archive_end_events(struct otf2_archive *archive);
OTF2_DefWriter *otf2_archive_local(struct otf2_archive *archive, uint64_t id);
/* Ends the local definitions, begins the global ones: files without definitions are made for all
 * locations that had none. */
void otf2_archive_definitions(struct otf2_archive *archive);
OTF2_StringRef otf2_archive_string(struct otf2_archive *archive, const char *text);
void otf2_archive_region(struct otf2_archive *archive, uint32_t id, const char *name,
                         OTF2_RegionRole role, OTF2_Paradigm paradigm);
/* A process with one thread, or one more thread for `group` when it exists. */
void otf2_archive_process(struct otf2_archive *archive, uint32_t group);
void otf2_archive_thread(struct otf2_archive *archive, uint64_t id, uint32_t group,
                         OTF2_LocationType type, uint64_t n_events);
void otf2_archive_group(struct otf2_archive *archive, uint32_t id, OTF2_GroupType type,
                        OTF2_Paradigm paradigm, uint32_t count, const uint64_t *members);
void otf2_archive_comm(struct otf2_archive *archive, uint32_t id, const char *name, uint32_t group);
void otf2_archive_end(struct otf2_archive *archive);

#define OTF2_MUST(call) otf2_must((call), #call)
void otf2_must(OTF2_ErrorCode code, const char *call);

#endif
