/* bare_otf2 ANCHOR: the peer for OTF2 metrics: a plain libotf2 loop over every location in one
 * thread, with callbacks for what tells time (enter, leave) that only add up times. Prints events
 * and seconds. */
#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t locations[1 << 20];
static size_t n_locations;
static uint64_t events, sum;

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t n_events,
                                     OTF2_LocationGroupRef group)
{
    (void)data;
    (void)name;
    (void)type;
    (void)n_events;
    (void)group;
    if (n_locations < sizeof locations / sizeof *locations)
        locations[n_locations++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(OTF2_LocationRef location, OTF2_TimeStamp time,
                                   uint64_t position, void *data, OTF2_AttributeList *attributes,
                                   OTF2_RegionRef region)
{
    (void)location;
    (void)data;
    (void)position;
    (void)attributes;
    events++;
    sum += time + region;
    return OTF2_CALLBACK_SUCCESS;
}

static void read_location(OTF2_Reader *reader, uint64_t location,
                          const OTF2_EvtReaderCallbacks *callbacks)
{
    OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, location);
    uint64_t count;
    if (definitions) {
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count);
        OTF2_Reader_CloseDefReader(reader, definitions);
    }
    OTF2_EvtReader *local = OTF2_Reader_GetEvtReader(reader, location);
    OTF2_Reader_RegisterEvtCallbacks(reader, local, callbacks, NULL);
    OTF2_Reader_ReadAllLocalEvents(reader, local, &count);
    OTF2_Reader_CloseEvtReader(reader, local);
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    OTF2_Reader *reader = argc == 2 ? OTF2_Reader_Open(argv[1]) : NULL;
    if (!reader) {
        fprintf(stderr, "usage: bare_otf2 ANCHOR\n");
        return 2;
    }
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *on_definitions = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(on_definitions, on_location);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, on_definitions, NULL);
    uint64_t count;
    OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count);
    for (size_t l = 0; l < n_locations; l++)
        OTF2_Reader_SelectLocation(reader, locations[l]);
    OTF2_Reader_OpenDefFiles(reader);
    OTF2_Reader_OpenEvtFiles(reader);
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_region);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_region);
    for (size_t l = 0; l < n_locations; l++)
        read_location(reader, locations[l], callbacks);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    OTF2_GlobalDefReaderCallbacks_Delete(on_definitions);
    OTF2_Reader_CloseDefFiles(reader);
    OTF2_Reader_CloseEvtFiles(reader);
    OTF2_Reader_Close(reader);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%" PRIu64 " enter and leave events (%" PRIu64 ") %.3f s\n", events, sum, seconds);
    return 0;
}
