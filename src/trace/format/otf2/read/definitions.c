#include "trace/format/otf2/read/definitions.h"

#include <string.h>

/* The next element of a list, cleared. */
#define APPEND(definitions, list)                                                        \
    ((definitions)->list.items = lull_arena_grow(                                        \
         (definitions)->arena, (definitions)->list.items, &(definitions)->list.capacity, \
         (size_t)(definitions)->list.count + 1, sizeof *(definitions)->list.items),      \
     &(definitions)->list.items[(definitions)->list.count++])

static OTF2_CallbackCode on_clock_properties(void *user, uint64_t resolution, uint64_t offset,
                                             uint64_t length, uint64_t realtime)
{
    struct lull_otf2_definitions *definitions = user;
    definitions->clock =
        (struct lull_otf2_clock_properties){true, resolution, offset, length, realtime};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *user, OTF2_StringRef self, const char *text)
{
    struct lull_otf2_definitions *definitions = user;
    *APPEND(definitions, strings) =
        (struct lull_otf2_string){self, lull_arena_strdup(definitions->arena, text ? text : "")};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_node(void *user, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
                                 OTF2_StringRef class_name, OTF2_SystemTreeNodeRef parent)
{
    struct lull_otf2_definitions *definitions = user;
    *APPEND(definitions, nodes) = (struct lull_otf2_node){self, name, class_name, parent};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_domain(void *user, OTF2_SystemTreeNodeRef node,
                                   OTF2_SystemTreeDomain domain)
{
    struct lull_otf2_definitions *definitions = user;
    if (domain == OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY)
        *APPEND(definitions, shared_memory) = (struct lull_otf2_domain){node};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location_group(void *user, OTF2_LocationGroupRef self,
                                           OTF2_StringRef name, OTF2_LocationGroupType type,
                                           OTF2_SystemTreeNodeRef parent,
                                           OTF2_LocationGroupRef creator)
{
    struct lull_otf2_definitions *definitions = user;
    *APPEND(definitions, location_groups) =
        (struct lull_otf2_location_group){self, name, type, parent, creator};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location_group_property(void *user, OTF2_LocationGroupRef group,
                                                    OTF2_StringRef name, OTF2_Type type,
                                                    OTF2_AttributeValue value)
{
    struct lull_otf2_definitions *definitions = user;
    if (type == OTF2_TYPE_UINT32)
        *APPEND(definitions, group_numbers) =
            (struct lull_otf2_group_number){group, name, value.uint32};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t n_events,
                                     OTF2_LocationGroupRef group)
{
    struct lull_otf2_definitions *definitions = user;
    (void)n_events; /* wrong in some archives: used for nothing */
    *APPEND(definitions, locations) = (struct lull_otf2_location){self, name, type, group};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef self, OTF2_StringRef name,
                                   OTF2_StringRef canonical_name, OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin_line,
                                   uint32_t end_line)
{
    struct lull_otf2_definitions *definitions = user;
    (void)flags;
    (void)end_line;
    *APPEND(definitions, regions) = (struct lull_otf2_region){
        self, name, canonical_name, description, file, role, paradigm, begin_line};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef self, OTF2_StringRef name,
                                  OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
                                  uint32_t n_members, const uint64_t *members)
{
    struct lull_otf2_definitions *definitions = user;
    uint64_t *copy = lull_arena_alloc(definitions->arena, (size_t)n_members * sizeof *copy);
    if (n_members > 0)
        memcpy(copy, members, (size_t)n_members * sizeof *copy);
    *APPEND(definitions, groups) =
        (struct lull_otf2_group){self, name, type, paradigm, flags, n_members, copy};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef self, OTF2_StringRef name,
                                 OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    struct lull_otf2_definitions *definitions = user;
    (void)flags;
    *APPEND(definitions, comms) =
        (struct lull_otf2_comm){self, name, group, OTF2_UNDEFINED_GROUP, parent};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_inter_comm(void *user, OTF2_CommRef self, OTF2_StringRef name,
                                       OTF2_GroupRef group_a, OTF2_GroupRef group_b,
                                       OTF2_CommRef common, OTF2_CommFlag flags)
{
    struct lull_otf2_definitions *definitions = user;
    (void)flags;
    *APPEND(definitions, comms) = (struct lull_otf2_comm){self, name, group_a, group_b, common};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_metric_member(void *user, OTF2_MetricMemberRef self,
                                          OTF2_StringRef name, OTF2_StringRef description,
                                          OTF2_MetricType metric_type, OTF2_MetricMode mode,
                                          OTF2_Type value_type, OTF2_Base base, int64_t exponent,
                                          OTF2_StringRef unit)
{
    struct lull_otf2_definitions *definitions = user;
    (void)description;
    (void)metric_type;
    (void)value_type; /* every event says it again */
    *APPEND(definitions, members) =
        (struct lull_otf2_member){self, name, unit, mode, base, exponent};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_metric_class(void *user, OTF2_MetricRef self, uint8_t n_members,
                                         const OTF2_MetricMemberRef *members,
                                         OTF2_MetricOccurrence occurrence, OTF2_RecorderKind kind)
{
    struct lull_otf2_definitions *definitions = user;
    (void)occurrence;
    (void)kind;
    OTF2_MetricMemberRef *copy = lull_arena_alloc(definitions->arena, n_members * sizeof *copy);
    if (n_members > 0)
        memcpy(copy, members, n_members * sizeof *copy);
    *APPEND(definitions, classes) = (struct lull_otf2_metric_class){self, n_members, copy};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_metric_instance(void *user, OTF2_MetricRef self,
                                            OTF2_MetricRef class_id, OTF2_LocationRef recorder,
                                            OTF2_MetricScope scope, uint64_t scope_id)
{
    struct lull_otf2_definitions *definitions = user;
    (void)recorder;
    (void)scope;
    (void)scope_id;
    *APPEND(definitions, instances) = (struct lull_otf2_metric_instance){self, class_id};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_window(void *user, OTF2_RmaWinRef self, OTF2_StringRef name,
                                   OTF2_CommRef comm, OTF2_RmaWinFlag flags)
{
    struct lull_otf2_definitions *definitions = user;
    (void)name;
    (void)flags;
    *APPEND(definitions, windows) = (struct lull_otf2_window){self, comm};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_parameter(void *user, OTF2_ParameterRef self, OTF2_StringRef name,
                                      OTF2_ParameterType type)
{
    struct lull_otf2_definitions *definitions = user;
    (void)type;
    *APPEND(definitions, parameters) = (struct lull_otf2_parameter){self, name};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_context(void *user, OTF2_CallingContextRef self, OTF2_RegionRef region,
                                    OTF2_SourceCodeLocationRef place, OTF2_CallingContextRef parent)
{
    struct lull_otf2_definitions *definitions = user;
    (void)place;
    (void)parent;
    *APPEND(definitions, contexts) = (struct lull_otf2_context){self, region};
    return OTF2_CALLBACK_SUCCESS;
}

static void set_callbacks(OTF2_GlobalDefReaderCallbacks *callbacks)
{
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(callbacks, on_clock_properties);
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(callbacks, on_string);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(callbacks, on_node);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeDomainCallback(callbacks, on_domain);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(callbacks, on_location_group);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupPropertyCallback(callbacks,
                                                                   on_location_group_property);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(callbacks, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(callbacks, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(callbacks, on_comm);
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(callbacks, on_inter_comm);
    OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(callbacks, on_metric_member);
    OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(callbacks, on_metric_class);
    OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(callbacks, on_metric_instance);
    OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(callbacks, on_window);
    OTF2_GlobalDefReaderCallbacks_SetParameterCallback(callbacks, on_parameter);
    OTF2_GlobalDefReaderCallbacks_SetCallingContextCallback(callbacks, on_context);
}

lull_status lull_otf2_collect(struct lull_otf2_definitions *definitions, OTF2_Reader *reader,
                              const char *path, struct lull_error *err)
{
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    if (!global)
        return lull_otf2_fail(err, OTF2_ERROR_INVALID, "%s: cannot read the global definitions",
                              path);
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    set_callbacks(callbacks);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, callbacks, definitions);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    uint64_t count;
    OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count);
    OTF2_Reader_CloseGlobalDefReader(reader, global);
    if (code != OTF2_SUCCESS)
        return lull_otf2_fail(err, code, "%s: cannot read the global definitions", path);
    return LULL_OK;
}

const char *lull_otf2_text(const struct lull_otf2_definitions *definitions, OTF2_StringRef string)
{
    uint32_t index = lull_otf2_find(&definitions->string_map, string);
    return index == LULL_NONE ? "" : definitions->strings.items[index].text;
}
