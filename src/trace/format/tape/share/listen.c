/* Definitions that others have told, process by process, whoever tells of which. */
#include "base/file.h"
#include "trace/format/tape/share/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        status = lull_tape_bad_definition(lull_tape_definitions_path(listener->trace, number, path),
                                          entry.offset, definition, entry.id, status, err);
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
