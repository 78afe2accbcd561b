/* Which runs of a history can be compared. */
#include "study/history/history.h"

#include <string.h>

static bool matches(const char *wish, const char *value)
{
    return !wish || strcmp(wish, value) == 0;
}

static bool matches_key(const struct lull_history_key *wish, const struct lull_history_key *key)
{
    return matches(wish->program, key->program) && matches(wish->input, key->input) &&
           matches(wish->machine, key->machine) && matches(wish->layout, key->layout);
}

/* "program 'heat', input 'n=512', machine 'a', layout 2 x 1"; what is not said is left out. */
static const char *describe_key(const struct lull_history_key *key, struct lull_arena *arena)
{
    const struct {
        const char *name, *value;
    } parts[] = {{"program", key->program}, {"input", key->input}, {"machine", key->machine}};
    const char *text = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value && *parts[i].value)
            text = lull_arena_printf(arena, "%s%s '%s', ", text, parts[i].name, parts[i].value);
    return lull_arena_printf(arena, "%slayout %s", text, key->layout ? key->layout : "any");
}

/* The different keys of the entries that match, for a message. */
static const char *list_keys(const struct lull_history *history,
                             const struct lull_history_key *wish, struct lull_arena *arena)
{
    enum { MOST_KEYS = 4 };
    const struct lull_history_key *listed[MOST_KEYS];
    const char *text = "";
    size_t count = 0;
    for (uint32_t i = 0; i < history->count; i++) {
        const struct lull_history_key *key = &history->entries[i].key;
        bool known = !matches_key(wish, key);
        for (size_t k = 0; k < count; k++)
            known |= matches_key(listed[k], key);
        if (known)
            continue;
        if (count == MOST_KEYS)
            return lull_arena_printf(arena, "%s; and others", text);
        listed[count++] = key;
        text = lull_arena_printf(arena, "%s%s%s", text, count > 1 ? "; " : "",
                                 describe_key(key, arena));
    }
    return count ? text : "none";
}

static lull_status fail_without(const struct lull_history *history,
                                const struct lull_history_key *wish, struct lull_arena *arena,
                                struct lull_error *err)
{
    static const struct lull_history_key any;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: has no run of %s; it has: %s", history->path,
                     describe_key(wish, arena), list_keys(history, &any, arena));
}

lull_status lull_history_select(const struct lull_history *history,
                                const struct lull_history_key *wish, const char *but_commit,
                                struct lull_arena *arena, struct lull_history *ret_series,
                                struct lull_error *err)
{
    struct lull_history series = {.path = history->path};
    bool any = false;
    series.entries = lull_arena_zero(arena, history->count + 1, sizeof(*series.entries));
    for (uint32_t i = 0; i < history->count; i++) {
        const struct lull_history_entry *entry = &history->entries[i];
        if (!matches_key(wish, &entry->key))
            continue;
        any = true;
        if (series.count && !matches_key(&series.entries[0].key, &entry->key))
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: holds runs that cannot be compared, choose with --program, "
                             "--input, --machine or --layout: %s",
                             history->path, list_keys(history, wish, arena));
        if (!but_commit || !*but_commit || strcmp(but_commit, entry->commit) != 0)
            series.entries[series.count++] = *entry;
    }
    if (!any)
        return fail_without(history, wish, arena, err);
    *ret_series = series;
    return LULL_OK;
}

lull_status lull_history_read_series(const char *path, const struct lull_history_key *wish,
                                     const char *but_commit, struct lull_arena *arena,
                                     struct lull_history *ret_series, struct lull_error *err)
{
    struct lull_history history;
    *ret_series = (struct lull_history){.path = ""};
    if (!path)
        return LULL_OK;
    lull_status status = lull_history_read(path, arena, &history, err);
    return status == LULL_OK
               ? lull_history_select(&history, wish, but_commit, arena, ret_series, err)
               : status;
}
