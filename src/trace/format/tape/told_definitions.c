/* Telling definitions. Of its processes a member tells everything that is theirs alone (clocks,
 * communicators ...) as it stands in their files, and of what many have in common (regions, call
 * sites, counters ...) what it has not told before. Ids of such are those of the member: how many
 * of the kind it has told before. */
#include "base/file.h"
#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_share.h"
#include "trace/open_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== tell ==================================================================================== */

/* A definition with another id; `change` changes its fields, which have `size` bytes. */
struct translation {
    const struct lull_tape_scope *scope;
    void (*change)(const struct lull_tape_scope *scope, unsigned char *fields, size_t size);
    uint32_t id;
};

static void tell_translated(struct lull_tape_merge *merge,
                            const struct lull_tape_definition *definition,
                            const struct lull_tape_fields *fields,
                            const struct translation *translation)
{
    struct lull_tape_words *words = merge->telling->words;
    const struct lull_tape_told_entry entry = {
        .offset = merge->telling->offset, .kind = TOLD_DEFINITION, .id = definition->id};
    lull_tape_say(words, &entry, sizeof entry);
    const size_t at = words->size;
    lull_tape_say(words, fields->at - sizeof *definition, definition->size);
    if (words->failed)
        return;
    struct lull_tape_definition *told = (void *)(words->bytes + at);
    told->id = translation->id;
    if (translation->change)
        translation->change(translation->scope, words->bytes + at + sizeof *told,
                            definition->size - sizeof *told);
}

void lull_tape_tell_piece(struct lull_tape_merge *merge, uint64_t size)
{
    const struct lull_tape_told_entry entry = {.offset = size, .kind = TOLD_PIECE};
    lull_tape_say(merge->telling->words, &entry, sizeof entry);
}

/* ---- ids in definitions ---------------------------------------------------------------------- */

static void change_id(const struct lull_tape_scope *scope, enum lull_tape_map map,
                      unsigned char *field)
{
    uint32_t id;
    memcpy(&id, field, sizeof id);
    id = lull_tape_index_of(&scope->maps[map], id);
    memcpy(field, &id, sizeof id);
}

static void change_node(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    if (size >= sizeof(uint32_t))
        change_id(scope, LULL_TAPE_MAP_NODE, fields); /* its parent */
}

static void change_process(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    enum { NODE = 2 * sizeof(uint32_t) };
    if (size >= NODE + sizeof(uint32_t))
        change_id(scope, LULL_TAPE_MAP_NODE, fields + NODE);
}

/* Of a site that has been read well. */
static void change_site(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    enum { SITE_HEAD = 2 * sizeof(uint32_t), PLACES = SITE_HEAD + sizeof(uint32_t) };
    enum { PLACE = sizeof(uint32_t) + sizeof(uint64_t) };
    uint32_t count;
    memcpy(&count, fields + SITE_HEAD, sizeof count);
    change_id(scope, LULL_TAPE_MAP_REGION, fields);
    for (size_t at = PLACES; count > 0 && size - at >= PLACE; count--, at += PLACE)
        change_id(scope, LULL_TAPE_MAP_OBJECT, fields + at);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static lull_status tell_shared(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                               const struct lull_tape_definition *definition,
                               struct lull_tape_fields *fields)
{
    const struct lull_tape_fields whole = *fields;
    struct translation translation = {.scope = scope};
    bool fresh = false;
    if (definition->kind == LULL_TAPE_DEFINE_NODE)
        translation.change = change_node;
    else if (definition->kind == LULL_TAPE_DEFINE_SITE)
        translation.change = change_site;
    lull_status status =
        lull_tape_define_shared(merge, scope, false, definition, fields, &translation.id, &fresh);
    if (status == LULL_OK && fresh)
        tell_translated(merge, definition, &whole, &translation);
    return status != LULL_OK ? status
                             : lull_tape_set_shared_id(merge, scope, definition, translation.id);
}

lull_status lull_tape_tell_definition(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                      const struct lull_tape_definition *definition,
                                      struct lull_tape_fields *fields)
{
    struct translation translation = {.scope = scope, .id = definition->id};
    if (lull_tape_is_shared(definition->kind))
        return tell_shared(merge, scope, definition, fields);
    if (definition->kind == LULL_TAPE_DEFINE_PROCESS)
        translation.change = change_process;
    if (definition->kind == LULL_TAPE_DEFINE_THROTTLED) {
        translation.id = lull_tape_index_of(&scope->maps[LULL_TAPE_MAP_REGION], definition->id);
        if (translation.id == LULL_NONE)
            return LULL_ERR_FORMAT;
    }
    tell_translated(merge, definition, fields, &translation);
    return LULL_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void set_size(struct lull_tape_words *words, size_t begin, bool found)
{
    if (words->failed)
        return;
    struct lull_tape_told_process *told = (void *)(words->bytes + begin);
    told->found = found;
    told->size = words->size - begin - sizeof *told;
}

/* What its ids mean to the member, until it is known what they mean to all. */
static void keep_own(const struct lull_trace *trace, struct lull_tape_merge *merge,
                     uint32_t process, struct lull_tape_scope *scope)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_tape_keep_ids(merge, scope);
    for (int map = 0; map < LULL_TAPE_MAPS; map++)
        if (map != LULL_TAPE_MAP_COMM)
            data->scopes[process].maps[map] = scope->maps[map];
}

lull_status lull_tape_tell_process(const struct lull_trace *trace,
                                   struct lull_tape_telling *telling, uint32_t process,
                                   struct lull_tape_words *words, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_told_process told = {.number = data->process_numbers[process]};
    const struct lull_tape_told_entry damage = {.kind = TOLD_DAMAGE};
    const size_t begin = words->size;
    struct lull_tape_scope scope = {0};
    char path[LULL_TAPE_PATH];
    bool found;
    telling->words = words;
    lull_tape_say(words, &told, sizeof told);
    lull_status status = lull_tape_read_definitions_of(telling->scratch, telling->merge,
                                                       told.number, &scope, path, &found, err);
    if (status == LULL_ERR_FORMAT) {
        lull_tape_say(words, &damage, sizeof damage);
        lull_tape_say_text(words, err->text);
        found = true;
        status = LULL_OK;
    } else if (status == LULL_OK) {
        keep_own(trace, telling->merge, process, &scope);
    }
    set_size(words, begin, found);
    return status;
}

/* What was told is collected as if it were a run. */
static struct lull_trace *make_scratch(const struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_trace *scratch = lull_trace_create();
    struct lull_tape_data *own = lull_arena_zero(scratch->arena, 1, sizeof *own);
    own->packed_run = data->packed_run;
    own->containers = data->containers;
    own->listed = data->listed;
    own->n_listed = data->n_listed;
    scratch->path = trace->path;
    scratch->format_data = own;
    scratch->shared->opening = true;
    return scratch;
}

lull_status lull_tape_telling_begin(const struct lull_trace *trace,
                                    struct lull_tape_telling *telling, struct lull_error *err)
{
    *telling = (struct lull_tape_telling){.scratch = make_scratch(trace)};
    telling->merge = lull_tape_merge_begin(telling->scratch);
    if (!telling->merge)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    telling->merge->telling = telling;
    return LULL_OK;
}

void lull_tape_telling_end(struct lull_tape_telling *telling)
{
    if (telling->merge)
        lull_tape_merge_free(telling->merge);
    lull_trace_close(telling->scratch);
}

/* ==== listen ================================================================================== */

/* Definitions that others have told, process by process, whoever tells of which. */

/* What a member has told, and how far it was heard. */
struct speech {
    struct lull_tape_ear ear;
    struct lull_tape_names names;
};

struct listener {
    struct lull_trace *trace;
    struct lull_tape_merge *merge;
    struct speech *speeches; /* [members] */
    uint32_t begin, end;     /* the processes that are told of */
    bool found_run;          /* the run has definitions */
};

/* ---- of the run ------------------------------------------------------------------------------ */

static char *run_path(const struct lull_trace *trace, char *path)
{
    snprintf(path, LULL_TAPE_PATH, "%s/definitions", trace->path);
    return path;
}

/* The first reads them for all. */
static lull_status tell_run(const struct lull_trace *trace, struct lull_tape_words *words,
                            struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_mapping file = {0};
    uint64_t size = UINT64_MAX; /* there are none */
    lull_status status = LULL_OK;
    if (access(run_path(trace, path), F_OK) == 0 || errno != ENOENT) {
        status = lull_map_file(path, &file, err);
        size = file.size;
    }
    if (status != LULL_OK)
        return status;
    lull_tape_say(words, &size, sizeof size);
    if (size != UINT64_MAX)
        lull_tape_say(words, file.data, file.size);
    lull_unmap(&file);
    return LULL_OK;
}

static lull_status hear_run(struct listener *listener, struct lull_error *err)
{
    struct lull_trace *trace = listener->trace;
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_merge *merge = listener->merge;
    struct lull_tape_ear *ear = &listener->speeches[0].ear;
    char path[LULL_TAPE_PATH];
    uint64_t size;
    lull_tape_hear(ear, &size, sizeof size);
    listener->found_run = !ear->bad && size != UINT64_MAX;
    if (!listener->found_run)
        return LULL_OK;
    const unsigned char *bytes = lull_tape_hear_bytes(ear, size);
    merge->most_ids = 0;
    lull_status status =
        bytes ? lull_tape_walk_definitions(merge, run_path(trace, path), LULL_TAPE_WHOLE_RUN, bytes,
                                           0, size, &data->run, err)
              : lull_tape_other_run(trace, err);
    lull_tape_keep_ids(merge, &data->run);
    return status;
}

/* ---- of a process ---------------------------------------------------------------------------- */

/* The next that is told of a process, with the bytes of a definition. */
static bool next_entry(struct lull_tape_ear *ear, struct lull_tape_told_entry *entry,
                       const unsigned char **ret_definition)
{
    struct lull_tape_definition definition = {.size = 0};
    if (ear->at >= ear->end || !lull_tape_hear(ear, entry, sizeof *entry))
        return false;
    *ret_definition = NULL;
    if (entry->kind != TOLD_DEFINITION)
        return true;
    if ((size_t)(ear->end - ear->at) >= sizeof definition)
        memcpy(&definition, ear->at, sizeof definition);
    if (definition.size < sizeof definition) {
        ear->bad = true;
        return false;
    }
    *ret_definition = lull_tape_hear_bytes(ear, definition.size);
    return *ret_definition != NULL;
}

/* Behind what makes no sense: what the member has told here it does not tell again, though the
 * process is left out. */
static void hear_rest(struct lull_tape_merge *merge, struct lull_tape_ear *ear,
                      struct lull_tape_scope *scope)
{
    struct lull_tape_told_entry entry;
    const unsigned char *definition;
    while (next_entry(ear, &entry, &definition)) {
        struct lull_tape_definition head = {.kind = 0};
        if (definition)
            memcpy(&head, definition, sizeof head);
        if (definition && lull_tape_is_shared(head.kind))
            lull_tape_define(merge, scope, false, definition);
        else if (entry.kind == TOLD_DAMAGE)
            lull_tape_hear_text(ear);
    }
}

static lull_status hear_entries(const struct listener *listener, struct lull_tape_ear *ear,
                                uint32_t number, struct lull_tape_scope *scope,
                                struct lull_error *err)
{
    struct lull_tape_merge *merge = listener->merge;
    struct lull_tape_told_entry entry;
    const unsigned char *definition = NULL;
    char path[LULL_TAPE_PATH];
    lull_status status = LULL_OK;
    merge->most_ids = 0;
    while (status == LULL_OK && next_entry(ear, &entry, &definition)) {
        if (entry.kind == TOLD_PIECE)
            merge->most_ids += entry.offset;
        else if (definition)
            status = lull_tape_define(merge, scope, false, definition);
        else
            return lull_fail(err, LULL_ERR_FORMAT, "%s", lull_tape_hear_text(ear));
    }
    if (status != LULL_OK)
        status = lull_tape_bad_definition(
            lull_tape_process_path(listener->trace, number, path, sizeof path), entry.offset,
            definition, entry.id, status, err);
    if (status == LULL_ERR_FORMAT)
        hear_rest(merge, ear, scope);
    return ear->bad ? lull_tape_other_run(listener->trace, err) : status;
}

/* By whom it is told. */
static struct speech *speech_of(const struct listener *listener, uint32_t number)
{
    const struct lull_tape_data *data = listener->trace->format_data;
    const uint32_t owner = lull_tape_owner(data->share, number);
    struct lull_tape_told_process next = {.number = 0};
    if (owner == LULL_NONE)
        return NULL;
    struct speech *speech = &listener->speeches[owner];
    const struct lull_tape_ear *ear = &speech->ear;
    if ((size_t)(ear->end - ear->at) < sizeof next)
        return NULL;
    memcpy(&next, ear->at, sizeof next);
    return next.number == number ? speech : NULL;
}

/* Its ids of communicators; others are known by its owner alone. */
static void keep_comms(struct lull_tape_merge *merge, struct lull_tape_scope *scope)
{
    struct lull_tape_scope comms = {0};
    comms.maps[LULL_TAPE_MAP_COMM] = scope->maps[LULL_TAPE_MAP_COMM];
    lull_tape_keep_ids(merge, &comms);
    scope->maps[LULL_TAPE_MAP_COMM] = comms.maps[LULL_TAPE_MAP_COMM];
}

static lull_status hear_process(const struct listener *listener, uint32_t process,
                                struct lull_error *err)
{
    struct lull_trace *trace = listener->trace;
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_merge *merge = listener->merge;
    const uint32_t number = data->process_numbers[process];
    struct speech *speech = speech_of(listener, number);
    struct lull_tape_told_process told;
    if (!speech)
        return lull_tape_other_run(trace, err);
    lull_tape_hear(&speech->ear, &told, sizeof told);
    const unsigned char *bytes = lull_tape_hear_bytes(&speech->ear, told.size);
    if (!bytes)
        return lull_tape_other_run(trace, err);
    struct lull_tape_ear ear = {bytes, bytes + told.size, false};
    merge->names = &speech->names;
    lull_status status = hear_entries(listener, &ear, number, &data->scopes[process], err);
    merge->names = NULL;
    if (status == LULL_ERR_FORMAT)
        status = lull_tape_leave_out_process(trace, process, err);
    keep_comms(merge, &data->scopes[process]);
    if (status == LULL_OK && !told.found && !listener->found_run)
        status = lull_tape_no_definitions(trace, number, err);
    return status;
}

/* ---- of all ---------------------------------------------------------------------------------- */

static lull_status hear_all(struct listener *listener, struct lull_error *err)
{
    lull_status status = listener->begin == 0 ? hear_run(listener, err) : LULL_OK;
    for (uint32_t p = listener->begin; status == LULL_OK && p < listener->end; p++)
        status = hear_process(listener, p, err);
    return status;
}

/* When the last has told, all that was told is there. */
static lull_status hear_definitions(void *context, uint32_t index, const void *bytes, size_t size,
                                    struct lull_error *err)
{
    struct listener *listener = context;
    const struct lull_tape_data *data = listener->trace->format_data;
    const unsigned char *at = bytes;
    listener->speeches[index].ear = (struct lull_tape_ear){at, at + size, false};
    return index + 1 < data->share->exchange->size ? LULL_OK : hear_all(listener, err);
}

static lull_status tell_own(const struct listener *listener, struct lull_tape_telling *telling,
                            struct lull_tape_words *words, struct lull_error *err)
{
    const struct lull_trace *trace = listener->trace;
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    if (listener->begin == 0 && data->share->index == 0)
        status = tell_run(trace, words, err);
    for (uint32_t p = listener->begin; status == LULL_OK && p < listener->end; p++)
        if (lull_tape_is_own(trace, data->process_numbers[p]))
            status = lull_tape_tell_process(trace, telling, p, words, err);
    return status;
}

/* What the ids of a process mean to its owner, becomes what they mean to all. */
static lull_status translate(const struct listener *listener, uint32_t process,
                             struct lull_error *err)
{
    struct lull_tape_data *data = listener->trace->format_data;
    const struct lull_tape_scope *to = &listener->speeches[data->share->index].names.scope;
    struct lull_tape_scope *scope = &data->scopes[process], all = {0};
    for (int map = 0; map < LULL_TAPE_MAPS; map++) {
        const struct lull_tape_ids *own = &scope->maps[map];
        if (map == LULL_TAPE_MAP_COMM || own->count == 0)
            continue;
        uint32_t *ids = malloc(own->count * sizeof *ids);
        if (!ids)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", listener->trace->path);
        for (size_t i = 0; i < own->count; i++)
            ids[i] = lull_tape_index_of(&to->maps[map], own->index[i]);
        all.maps[map] = (struct lull_tape_ids){ids, own->count};
    }
    struct lull_tape_scope kept = all;
    lull_tape_keep_ids(listener->merge, &kept);
    for (int map = 0; map < LULL_TAPE_MAPS; map++) {
        if (map != LULL_TAPE_MAP_COMM)
            scope->maps[map] = kept.maps[map];
        free(all.maps[map].index);
    }
    return LULL_OK;
}

static lull_status translate_own(const struct listener *listener, struct lull_error *err)
{
    const struct lull_trace *trace = listener->trace;
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++)
        if (lull_tape_is_own(trace, data->process_numbers[p]))
            status = translate(listener, p, err);
    return status;
}

static lull_status share_definitions(struct listener *listener, struct lull_tape_telling *telling,
                                     lull_status status, struct lull_error *err)
{
    const struct lull_trace *trace = listener->trace;
    do {
        struct lull_tape_words words = {0};
        const uint32_t left = trace->n_processes - listener->begin;
        listener->end = listener->begin + (left < LULL_TAPE_AT_A_TIME ? left : LULL_TAPE_AT_A_TIME);
        if (status == LULL_OK)
            status = tell_own(listener, telling, &words, err);
        status = lull_tape_tell_all(trace, &words, status, hear_definitions, listener, err);
        listener->begin = listener->end;
    } while (status == LULL_OK && listener->begin < trace->n_processes);
    return status == LULL_OK ? translate_own(listener, err) : status;
}

lull_status lull_tape_share_definitions(struct lull_trace *trace, struct lull_tape_merge *merge,
                                        struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t members = data->share->exchange->size;
    struct listener listener = {.trace = trace, .merge = merge};
    struct lull_tape_telling telling;
    lull_status status = lull_tape_telling_begin(trace, &telling, err);
    listener.speeches = calloc(members, sizeof *listener.speeches);
    if (status == LULL_OK && !listener.speeches)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    status = share_definitions(&listener, &telling, status, err);
    for (uint32_t m = 0; listener.speeches && m < members; m++)
        for (int map = 0; map < LULL_TAPE_MAPS; map++)
            free(listener.speeches[m].names.room.ids[map]);
    free(listener.speeches);
    lull_tape_telling_end(&telling);
    return status;
}
