/* SPDX-License-Identifier: BSD-3-Clause */
#include "filter/filter.h"

#include "base/file.h"
#include "binary/symbols.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <string.h>

/* ==== rules =================================================================================== */

enum block { OUTSIDE, OF_FILES, OF_REGIONS };

enum sense { NO_SENSE, EXCLUDE, INCLUDE };

struct rule {
    const char *pattern;
    bool exclude, mangled;
};

struct rules {
    struct rule *all;
    size_t count, capacity;
};

struct lull_filter {
    struct rules of[OF_REGIONS + 1]; /* by block; none outside */
};

struct parser {
    struct lull_filter *filter;
    struct lull_arena *arena;
    const char *path;
    unsigned line, begun; /* begun: the line at which the block begins */
    enum block block;
    enum sense sense;
    bool mangled;
};

static lull_status refuse(const struct parser *parser, struct lull_error *err, const char *word,
                          const char *expected)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %u: unexpected '%s', expected %s",
                     parser->path, parser->line, word, expected);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *const begins[] = {
    [OF_FILES] = "SCOREP_FILE_NAMES_BEGIN", [OF_REGIONS] = "SCOREP_REGION_NAMES_BEGIN"};

static const char *const ends[] = {
    [OF_FILES] = "SCOREP_FILE_NAMES_END", [OF_REGIONS] = "SCOREP_REGION_NAMES_END"};

static void add_rule(struct parser *parser, const char *pattern)
{
    struct rules *rules = &parser->filter->of[parser->block];
    rules->all = lull_arena_grow(parser->arena, rules->all, &rules->capacity, rules->count + 1,
                                 sizeof *rules->all);
    rules->all[rules->count++] = (struct rule){pattern, parser->sense == EXCLUDE, parser->mangled};
}

static bool begins_block(struct parser *parser, const char *word)
{
    for (enum block block = OF_FILES; block <= OF_REGIONS; block++)
        if (strcmp(word, begins[block]) == 0) {
            parser->block = block;
            parser->sense = NO_SENSE;
            parser->begun = parser->line;
            return true;
        }
    return false;
}

static bool takes_sense(struct parser *parser, const char *word)
{
    const bool exclude = strcmp(word, "EXCLUDE") == 0;
    if (!exclude && strcmp(word, "INCLUDE") != 0)
        return false;
    parser->sense = exclude ? EXCLUDE : INCLUDE;
    parser->mangled = false;
    return true;
}

static lull_status take_word(struct parser *parser, const char *word, struct lull_error *err)
{
    const bool mangled = strcmp(word, "MANGLED") == 0;
    if (parser->block == OUTSIDE)
        return begins_block(parser, word)
                   ? LULL_OK
                   : refuse(parser, err, word,
                            "SCOREP_REGION_NAMES_BEGIN or SCOREP_FILE_NAMES_BEGIN");
    if (strcmp(word, ends[parser->block]) == 0) {
        parser->block = OUTSIDE;
        return LULL_OK;
    }
    if (strncmp(word, "SCOREP_", 7) == 0 &&
        (strcmp(word, begins[OF_FILES]) == 0 || strcmp(word, begins[OF_REGIONS]) == 0 ||
         strcmp(word, ends[OF_FILES]) == 0 || strcmp(word, ends[OF_REGIONS]) == 0))
        return refuse(parser, err, word, ends[parser->block]);
    if (takes_sense(parser, word))
        return LULL_OK;
    if (parser->sense == NO_SENSE)
        return refuse(parser, err, word, "EXCLUDE or INCLUDE");
    if (mangled || strcmp(word, "DEMANGLED") == 0) {
        if (parser->block != OF_REGIONS)
            return refuse(parser, err, word, "a pattern: names of files are not mangled");
        parser->mangled = mangled;
        return LULL_OK;
    }
    add_rule(parser, word);
    return LULL_OK;
}

/* Takes a line apart. A word ends at a blank, the line at a '#', unless a backslash stands before
 * it. */
static lull_status take_line(struct parser *parser, const char *line, size_t length,
                             struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (size_t at = 0; at < length && status == LULL_OK;) {
        size_t end = at;
        while (end < length &&
               (!strchr(" \t\r#", line[end]) || (end > at && line[end - 1] == '\\')))
            end++;
        if (end == length && end > at && line[end - 1] == '\\')
            return refuse(parser, err, "\\", "a character behind it");
        if (end > at)
            status = take_word(parser, lull_arena_strndup(parser->arena, line + at, end - at), err);
        if (end < length && line[end] == '#')
            break;
        at = end + 1;
    }
    return status;
}

static lull_status parse(struct parser *parser, const char *text, size_t size,
                         struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (size_t at = 0; at < size && status == LULL_OK;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t length = newline ? (size_t)(newline - text) - at : size - at;
        parser->line++;
        if (memchr(text + at, '\0', length))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %u: not a text", parser->path,
                             parser->line);
        status = take_line(parser, text + at, length, err);
        at += length + 1;
    }
    if (status == LULL_OK && parser->block != OUTSIDE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %u: %s without %s", parser->path,
                         parser->begun, begins[parser->block], ends[parser->block]);
    return status;
}

lull_status lull_filter_read(const char *path, struct lull_arena *arena,
                             const struct lull_filter **ret_filter, struct lull_error *err)
{
    struct lull_mapping file;
    lull_status status = lull_map_file(path, &file, err);
    if (status != LULL_OK)
        return status;
    struct parser parser = {
        .filter = lull_arena_zero(arena, 1, sizeof *parser.filter), .arena = arena, .path = path};
    status = parse(&parser, (const char *)file.data, file.size, err);
    lull_unmap(&file);
    if (status == LULL_OK)
        *ret_filter = parser.filter;
    return status;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool matches(const char *pattern, const char *text)
{
    return *text && fnmatch(pattern, text, 0) == 0;
}

bool lull_filter_excludes_file(const struct lull_filter *filter, const char *file, const char *path)
{
    const struct rules *rules = &filter->of[OF_FILES];
    for (size_t i = rules->count; i-- > 0;)
        if (matches(rules->all[i].pattern, file) || matches(rules->all[i].pattern, path))
            return rules->all[i].exclude;
    return false;
}

bool lull_filter_excludes_name(const struct lull_filter *filter, const char *name,
                               const char *mangled)
{
    const struct rules *rules = &filter->of[OF_REGIONS];
    for (size_t i = rules->count; i-- > 0;)
        if (matches(rules->all[i].pattern, rules->all[i].mangled ? mangled : name))
            return rules->all[i].exclude;
    return false;
}

/* ==== applying a filter in the measured process =============================================== */

/* Where the process goes on when an arena finds no memory. */
static __thread jmp_buf given_up;

static void give_up(void)
{
    longjmp(given_up, 1);
}

struct application {
    const struct lull_filter *filter;
    struct lull_symbols *symbols;
    struct lull_arena *arena;
    lull_filter_exclude *exclude;
    void *context;
};

static void judge(void *context, uint64_t offset, const char *mangled)
{
    const struct application *to = context;
    const struct lull_function function = lull_symbols_function(to->symbols, offset, to->arena);
    if (lull_filter_excludes_file(to->filter, function.file, function.path) ||
        lull_filter_excludes_name(to->filter, function.name, mangled))
        to->exclude(to->context, offset);
}

static bool apply(const char *filter_path, const char *object_path, const char *build_id,
                  struct application *to)
{
    struct lull_error err;
    if (lull_filter_read(filter_path, to->arena, &to->filter, &err) != LULL_OK ||
        lull_symbols_open(object_path, build_id, &to->symbols) != LULL_SYMBOLS_FOUND)
        return false;
    if (lull_symbols_needs(to->symbols, "__cyg_profile_func_enter"))
        lull_symbols_visit(to->symbols, judge, to);
    lull_symbols_close(to->symbols);
    return true;
}

bool lull_filter_apply(const char *filter_path, const char *object_path, const char *build_id,
                       lull_filter_exclude *exclude, void *context)
{
    struct lull_arena *volatile arena = NULL;
    if (setjmp(given_up) != 0) {
        lull_arena_destroy(arena);
        return false;
    }
    arena = lull_arena_create(give_up);
    struct application to = {.arena = arena, .exclude = exclude, .context = context};
    const bool good = apply(filter_path, object_path, build_id, &to);
    lull_arena_destroy(arena);
    return good;
}
