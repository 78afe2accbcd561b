/* Telling definitions. Of its processes a member tells everything that is theirs alone (clocks,
 * communicators ...) as it stands in their files, and of what many have in common (regions, call
 * sites, counters ...) what it has not told before. Ids of such are those of the member: how many
 * of the kind it has told before. */
#include "trace/format/tape/read/source.h"
#include "trace/format/tape/share/share.h"
#include "trace/shared.h"

#include <string.h>

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
    own->packed = data->packed;
    own->n_packed = data->n_packed;
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
