/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/otf2/otf2_definitions.h"

#include "base/array.h"
#include "trace/format/otf2/otf2_archive.h"
#include "trace/open_trace.h"

#include <stdlib.h>
#include <string.h>

/* ==== definitions ============================================================================= */

/* Adds an element to a list of definitions, cleared. */
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
    (void)n_events; /* wrong in some archives, and not used */
    *APPEND(definitions, locations) = (struct lull_otf2_location){self, name, type, group};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location_property(void *user, OTF2_LocationRef location,
                                              OTF2_StringRef name, OTF2_Type type,
                                              OTF2_AttributeValue value)
{
    struct lull_otf2_definitions *definitions = user;
    if (type == OTF2_TYPE_STRING)
        *APPEND(definitions, location_texts) =
            (struct lull_otf2_location_text){location, name, value.stringRef};
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
    OTF2_GlobalDefReaderCallbacks_SetLocationPropertyCallback(callbacks, on_location_property);
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

/* Reads all global definitions into a cleared struct whose arena is set; string_map is made
 * later. */
static lull_status otf2_collect(struct lull_otf2_definitions *definitions, OTF2_Reader *reader,
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

/* ==== share =================================================================================== */

/* Every list of definitions, in the order in which members tell them. */
#define LISTS(each)                                                                               \
    each(strings) each(nodes) each(shared_memory) each(location_groups) each(group_numbers)       \
        each(locations) each(location_texts) each(regions) each(groups) each(comms) each(members) \
            each(classes) each(instances) each(windows) each(parameters) each(contexts)

/* What reading the definitions has come to. Behind it stand the lists, then what they point to,
 * each at a multiple of 8 bytes. */
struct share_head {
    lull_status status;
    struct lull_error error; /* what went wrong, if the first member failed */
    struct lull_otf2_clock_properties clock;
};

static const struct lull_exchange *exchange_of(const struct lull_trace *trace)
{
    return trace->shared->exchange;
}

static uint64_t sight_of(const struct lull_trace *trace)
{
    const struct lull_otf2_archive *archive = trace->format_data;
    return archive->sight;
}

/* ---- packing --------------------------------------------------------------------------------- */

struct pack {
    unsigned char *bytes;
    size_t size, capacity;
    bool full; /* memory ran out */
};

static void put_padded(struct pack *pack, const void *bytes, size_t size)
{
    const size_t padded = (size + 7) / 8 * 8;
    if (pack->full || !lull_array_reserve(&pack->bytes, &pack->capacity, pack->size + padded, 1)) {
        pack->full = true;
        return;
    }
    if (size > 0) {
        memcpy(pack->bytes + pack->size, bytes, size);
        memset(pack->bytes + pack->size + size, 0, padded - size);
    }
    pack->size += padded;
}

static void put_list(struct pack *pack, const void *items, uint32_t count, size_t size)
{
    const uint64_t n = count;
    put_padded(pack, &n, sizeof n);
    put_padded(pack, items, count * size);
}

static void put_all(struct pack *pack, const struct lull_otf2_definitions *definitions)
{
#define PUT(list)                                                    \
    put_list(pack, definitions->list.items, definitions->list.count, \
             sizeof *definitions->list.items);
    LISTS(PUT)
#undef PUT
    for (uint32_t i = 0; i < definitions->strings.count; i++)
        put_padded(pack, definitions->strings.items[i].text,
                   strlen(definitions->strings.items[i].text) + 1);
    for (uint32_t i = 0; i < definitions->groups.count; i++)
        put_padded(pack, definitions->groups.items[i].members,
                   definitions->groups.items[i].n_members * sizeof(uint64_t));
    for (uint32_t i = 0; i < definitions->classes.count; i++)
        put_padded(pack, definitions->classes.items[i].members,
                   definitions->classes.items[i].n_members * sizeof(OTF2_MetricMemberRef));
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/* A copy of what was told; the definitions will point into it. */
struct definition_reader {
    unsigned char *bytes;
    size_t at;
};

static void *get(struct definition_reader *pack, size_t size)
{
    unsigned char *bytes = pack->bytes + pack->at;
    pack->at += (size + 7) / 8 * 8;
    return bytes;
}

static void *get_list(struct definition_reader *pack, size_t size, uint32_t *ret_count,
                      size_t *ret_capacity)
{
    const uint64_t *n = get(pack, sizeof *n);
    *ret_count = (uint32_t)*n;
    *ret_capacity = *ret_count;
    return get(pack, *ret_count * size);
}

static void get_all(struct definition_reader *pack, struct lull_otf2_definitions *definitions)
{
#define GET(list)                                                             \
    definitions->list.items = get_list(pack, sizeof *definitions->list.items, \
                                       &definitions->list.count, &definitions->list.capacity);
    LISTS(GET)
#undef GET
    for (uint32_t i = 0; i < definitions->strings.count; i++) {
        const char *text = (const char *)pack->bytes + pack->at;
        definitions->strings.items[i].text = get(pack, strlen(text) + 1);
    }
    for (uint32_t i = 0; i < definitions->groups.count; i++)
        definitions->groups.items[i].members =
            get(pack, definitions->groups.items[i].n_members * sizeof(uint64_t));
    for (uint32_t i = 0; i < definitions->classes.count; i++)
        definitions->classes.items[i].members =
            get(pack, definitions->classes.items[i].n_members * sizeof(OTF2_MetricMemberRef));
}

/* Takes the definitions that the first member has told. `context` is where they go; NULL on the
 * first member, which has them. */
static lull_status take_told_definitions(void *context, uint32_t index, const void *bytes,
                                         size_t size, struct lull_error *err)
{
    struct lull_otf2_definitions *definitions = context;
    const struct share_head *head = bytes;
    if (index > 0)
        return LULL_OK;
    if (head->status != LULL_OK)
        return lull_fail(err, head->status, "%s", head->error.text);
    if (!definitions)
        return LULL_OK;
    struct definition_reader pack = {lull_arena_alloc(definitions->arena, size), 0};
    memcpy(pack.bytes, bytes, size);
    get(&pack, sizeof *head);
    definitions->clock = head->clock;
    get_all(&pack, definitions);
    return LULL_OK;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static lull_status tell_definitions(const struct lull_trace *trace,
                                    struct lull_otf2_definitions *definitions, lull_status status,
                                    struct lull_error *err)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    const bool first = exchange->index == 0;
    struct share_head head = {.status = status, .clock = definitions->clock};
    struct pack pack = {0};
    if (first) {
        if (status != LULL_OK)
            head.error = *err;
        put_padded(&pack, &head, sizeof head);
        put_all(&pack, definitions);
    }
    status =
        pack.full ? lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path) : LULL_OK;
    status = exchange->all(exchange->context, status, sight_of(trace), pack.bytes, pack.size,
                           take_told_definitions, first ? NULL : definitions, err);
    free(pack.bytes);
    return status;
}

lull_status lull_otf2_share_definitions(const struct lull_trace *trace,
                                        struct lull_otf2_definitions *definitions,
                                        OTF2_Reader *reader, struct lull_error *err)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    lull_status status = LULL_OK;
    if (!exchange || exchange->index == 0)
        status = otf2_collect(definitions, reader, trace->path, err);
    if (exchange)
        status = tell_definitions(trace, definitions, status, err);
    if (status == LULL_OK)
        lull_otf2_map_build(&definitions->string_map, definitions->arena,
                            definitions->strings.items, sizeof *definitions->strings.items, NULL,
                            definitions->strings.count);
    return status;
}

/* ---- files of locations ---------------------------------------------------------------------- */

void lull_otf2_share_range(const struct lull_trace *trace, uint32_t *ret_first, uint32_t *ret_end)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    const uint64_t n = trace->n_locations;
    *ret_first = exchange ? (uint32_t)(n * exchange->index / exchange->size) : 0;
    *ret_end = exchange ? (uint32_t)(n * (exchange->index + 1) / exchange->size) : (uint32_t)n;
}

void lull_otf2_found_add(struct lull_otf2_found *all, const struct lull_otf2_found *found)
{
    all->local_definitions |= found->local_definitions;
    if (found->any && (!all->any || found->first < all->first))
        all->first = found->first;
    if (found->any && (!all->any || found->last > all->last))
        all->last = found->last;
    all->any |= found->any;
    if (found->failed < all->failed) {
        all->failed = found->failed;
        all->status = found->status;
        all->error = found->error;
    }
}

static lull_status take_found(void *context, uint32_t index, const void *bytes, size_t size,
                              struct lull_error *err)
{
    (void)index, (void)size, (void)err;
    lull_otf2_found_add(context, bytes);
    return LULL_OK;
}

lull_status lull_otf2_share_found(const struct lull_trace *trace, struct lull_otf2_found *found,
                                  struct lull_error *err)
{
    const struct lull_exchange *exchange = exchange_of(trace);
    struct lull_otf2_found all = {.failed = UINT32_MAX};
    if (exchange) {
        lull_status status = exchange->all(exchange->context, LULL_OK, sight_of(trace), found,
                                           sizeof *found, take_found, &all, err);
        if (status != LULL_OK)
            return status;
        *found = all;
    }
    return found->failed == UINT32_MAX ? LULL_OK
                                       : lull_fail(err, found->status, "%s", found->error.text);
}
