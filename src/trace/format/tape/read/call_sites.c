/* SPDX-License-Identifier: BSD-3-Clause */
/* Call sites of a recorded run: regions that are the calls of another one from one place. */
#include "base/hash.h"
#include "base/parallel.h"
#include "binary/demangle.h"
#include "binary/places.h"
#include "tape/definition.h"
#include "trace/format/tape/tape_data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- definitions ----------------------------------------------------------------------------- */

void lull_tape_define_object(struct lull_trace *trace, struct lull_tape_fields *fields)
{
    struct lull_tape_data *data = trace->format_data;
    trace->objects = lull_arena_grow(trace->arena, trace->objects, &data->objects_capacity,
                                     (size_t)trace->n_objects + 1, sizeof *trace->objects);
    struct lull_object *object = &trace->objects[trace->n_objects++];
    uint32_t length;
    const char *path = lull_tape_field_text(fields, &length);
    object->path = lull_arena_strndup(trace->arena, path, length);
    const char *build_id = lull_tape_field_text(fields, &length);
    object->build_id = lull_arena_strndup(trace->arena, build_id, length);
    if ((size_t)(fields->end - fields->at) <= sizeof length)
        return;
    const char *function = lull_tape_field_text(fields, &length);
    object->function = length > 0 ? lull_arena_strndup(trace->arena, function, length) : NULL;
}

static uint32_t index_in(const struct lull_tape_scope *scope, enum lull_tape_map map, uint32_t id)
{
    const struct lull_tape_ids *ids = &scope->maps[map];
    return id < ids->count ? ids->index[id] : LULL_NONE;
}

struct lull_tape_site *lull_tape_read_site(const struct lull_tape_scope *scope,
                                           struct lull_tape_fields *fields, size_t *ret_size)
{
    enum { PLACE_SIZE = sizeof(uint32_t) + sizeof(uint64_t) };
    uint32_t whole = lull_tape_field_u32(fields), code = lull_tape_field_u32(fields);
    uint32_t n = lull_tape_field_u32(fields);
    whole = index_in(scope, LULL_TAPE_MAP_REGION, whole);
    const bool one_place = code == LULL_TAPE_CODE_BLOCK || code == LULL_TAPE_CODE_FUNCTION;
    if (fields->bad || whole == LULL_NONE || n == 0 || code > LULL_TAPE_CODE_PATHS ||
        (one_place && n != 1) || (size_t)(fields->end - fields->at) / PLACE_SIZE < n) {
        fields->bad = true;
        return NULL;
    }
    *ret_size = sizeof(struct lull_tape_site) + n * sizeof(struct lull_tape_address);
    struct lull_tape_site *site = calloc(1, *ret_size);
    if (!site)
        return NULL;
    *site = (struct lull_tape_site){.mark = UINT32_MAX, .whole = whole, .code = code, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t object = lull_tape_field_u32(fields);
        site->addresses[i].object = index_in(scope, LULL_TAPE_MAP_OBJECT, object);
        site->addresses[i].offset = lull_tape_field_u64(fields);
        fields->bad |= site->addresses[i].object == LULL_NONE;
    }
    return site;
}

void lull_tape_add_site(struct lull_trace *trace, uint32_t region,
                        const struct lull_tape_site *site, size_t size)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_site *copy = lull_arena_alloc(trace->arena, size);
    memcpy(copy, site, size);
    copy->region = region;
    copy->next = data->sites;
    data->sites = copy;
    data->n_addresses += site->n;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* An address of a site, and the names that are found for it. */
struct lookup {
    const struct lull_tape_address *address;
    const char *text; /* "exchange (heat.c:120)" */
    const char *path; /* with the functions that it was inlined in */
    bool main;        /* it is in main: callers above that are of no interest */
    bool begins; /* a function begins there: that function is looked for, and no inlined ones */
    struct lull_symbol symbol;
    struct lull_function function; /* with `begins` */
};

static int by_address(const void *a, const void *b)
{
    const struct lookup *first = *(const struct lookup *const *)a;
    const struct lookup *second = *(const struct lookup *const *)b;
    const struct lull_tape_address *x = first->address, *y = second->address;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (first->begins > second->begins) - (first->begins < second->begins);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *text_of_address(const struct lull_object *object, uint64_t offset,
                                   const struct lull_symbol *symbol, struct lull_arena *arena)
{
    const char *address =
        *symbol->file ? lull_arena_printf(arena, "%s:%u", last_part(symbol->file), symbol->line)
                      : lull_arena_printf(arena, "%s+0x%llx", last_part(object->path),
                                          (unsigned long long)offset);
    return *symbol->function ? lull_arena_printf(arena, "%s (%s)", symbol->function, address)
                             : address;
}

static void make_texts(const struct lull_object *object, struct lookup *lookup,
                       struct lull_arena *arena)
{
    const uint64_t offset = lookup->address->offset;
    lookup->symbol = *lull_symbol_of_program(&lookup->symbol);
    const struct lull_symbol *symbol = &lookup->symbol;
    lookup->text = lookup->path = text_of_address(object, offset, symbol, arena);
    for (; symbol->caller; symbol = symbol->caller)
        lookup->path = lull_arena_printf(arena, "%s" LULL_SITE_CALLER "%s", lookup->path,
                                         text_of_address(object, offset, symbol->caller, arena));
    lookup->main = !object->function && strcmp(symbol->function, "main") == 0;
}

/* Tells of a file whose places have no names; `why` says what is the matter with it. Of a file that
 * is not there the path says all. */
static void tell_object(const struct lull_trace *trace, const struct lull_object *object,
                        enum lull_symbols_found found, const char *why)
{
    if (found == LULL_SYMBOLS_ABSENT && access(object->path, F_OK) != 0)
        why = object->path;
    if (found == LULL_SYMBOLS_ABSENT)
        lull_trace_add_quirk(trace,
                             "a file of the recorded program cannot be read; its call sites have "
                             "no names",
                             "%s", why);
    else if (found == LULL_SYMBOLS_CHANGED)
        lull_trace_add_quirk(trace,
                             "a file of the recorded program has changed since; its call sites "
                             "have no names",
                             "%s", why);
}

/* Names all places that are no begins of functions. False: no memory. */
static bool find_symbols(struct lull_trace *trace, struct lookup **sorted, size_t count,
                         struct lull_places_file *files)
{
    struct lull_place *places = calloc(count, sizeof *places);
    size_t n = 0;
    if (!places)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct lull_tape_address *address = sorted[i]->address;
        const struct lull_object *object = &trace->objects[address->object];
        if (object->function)
            sorted[i]->symbol = (struct lull_symbol){.function = object->function,
                                                     .file = object->path,
                                                     .line = (uint32_t)address->offset};
        else if (!sorted[i]->begins)
            places[n++] = (struct lull_place){.file = address->object, .offset = address->offset};
    }
    const bool good = lull_places_find(files, trace->n_objects, places, n, false,
                                       lull_worker_count(), trace->arena, NULL) == LULL_OK;
    n = 0;
    for (size_t i = 0; good && i < count; i++)
        if (!trace->objects[sorted[i]->address->object].function && !sorted[i]->begins)
            sorted[i]->symbol = places[n++].symbol;
    free(places);
    return good;
}

/* Names all functions at whose begins there is a place. */
static void find_functions(struct lull_trace *trace, struct lookup **sorted, size_t count,
                           struct lull_places_file *files)
{
    struct lull_symbols *symbols = NULL;
    uint32_t opened = LULL_NONE;
    for (size_t i = 0; i < count; i++) {
        const struct lull_tape_address *address = sorted[i]->address;
        struct lull_places_file *file = &files[address->object];
        struct lull_error why = {""};
        if (!sorted[i]->begins || trace->objects[address->object].function ||
            file->found != LULL_SYMBOLS_FOUND)
            continue;
        if (opened != address->object) {
            if (symbols)
                lull_symbols_close(symbols);
            symbols = NULL;
            opened = address->object;
            file->found = lull_symbols_open_told(file->path, file->build_id, &symbols, &why);
            file->why = lull_arena_strdup(trace->arena, why.text);
        }
        if (symbols)
            sorted[i]->function = lull_symbols_function(symbols, address->offset, trace->arena);
    }
    if (symbols)
        lull_symbols_close(symbols);
}

/* Looks up the names of all addresses, which are sorted: so each text is made once. */
static bool find_names(struct lull_trace *trace, struct lookup **sorted, size_t count)
{
    struct lull_places_file *files = calloc(trace->n_objects, sizeof *files);
    if (!files)
        return false;
    for (uint32_t i = 0; i < trace->n_objects; i++) {
        files[i].path = trace->objects[i].path;
        files[i].build_id = trace->objects[i].build_id;
    }
    const bool good = find_symbols(trace, sorted, count, files);
    if (good)
        find_functions(trace, sorted, count, files);
    for (uint32_t i = 0; good && i < trace->n_objects; i++)
        tell_object(trace, &trace->objects[i], files[i].found, files[i].why);
    for (size_t i = 0; good && i < count; i++) {
        struct lookup *lookup = sorted[i];
        const struct lookup *last = i > 0 ? sorted[i - 1] : NULL;
        if (lookup->begins)
            continue;
        if (last && by_address(&sorted[i - 1], &sorted[i]) == 0) {
            lookup->symbol = last->symbol;
            lookup->text = last->text;
            lookup->path = last->path;
            lookup->main = last->main;
        } else {
            make_texts(&trace->objects[lookup->address->object], lookup, trace->arena);
        }
    }
    free(files);
    return good;
}

/* Names a region "!$omp parallel @heat.c:57". A line of an included file may stand in several
 * functions; then the name is "!$omp parallel @loops.inc:4 in smooth". */
static void name_code(struct lull_trace *trace, struct lull_region *region,
                      const struct lookup *lookup)
{
    const struct lull_symbol *symbol = &lookup->symbol;
    const bool in = symbol->included && *symbol->function && *symbol->function != '.';
    region->name = *symbol->file
                       ? lull_arena_printf(trace->arena, "%s @%s:%u%s%s", region->name,
                                           last_part(symbol->file), symbol->line, in ? " in " : "",
                                           in ? lull_demangle(trace->arena, symbol->function) : "")
                       : lull_arena_printf(trace->arena, "%s @%s", region->name, lookup->text);
}

/* Names a region "solve", or "heat+0x1180" where the function has no name. */
static void name_function(struct lull_trace *trace, struct lull_region *region,
                          const struct lookup *lookup)
{
    const struct lull_function *function = &lookup->function;
    const char *object = trace->objects[lookup->address->object].path;
    const bool named = function->name && *function->name;
    region->name = named ? function->name
                         : lull_arena_printf(trace->arena, "%s+0x%llx", last_part(object),
                                             (unsigned long long)lookup->address->offset);
    region->file = named ? function->file : "";
    region->line = named ? function->line : 0;
}

static const char *path_of_places(struct lull_trace *trace, const struct lookup *lookups,
                                  uint32_t places)
{
    uint32_t n = 1;
    while (n < places && !lookups[n - 1].main)
        n++;
    size_t length = 0;
    for (uint32_t i = 0; i < n; i++)
        length += strlen(lookups[i].path) + strlen(LULL_SITE_CALLER);
    char *text = lull_arena_alloc(trace->arena, length + 1), *end = text;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            end = stpcpy(end, LULL_SITE_CALLER);
        end = stpcpy(end, lookups[i].path);
    }
    return text;
}

static void name_site(struct lull_trace *trace, const struct lull_tape_site *site,
                      const struct lookup *lookups)
{
    struct lull_region *region = &trace->regions[site->region];
    if (site->code == LULL_TAPE_CODE_FUNCTION) {
        name_function(trace, region, lookups);
        return;
    }
    uint32_t first = 0; /* the innermost place outside of the system's headers, if there is one */
    for (uint32_t i = site->n; i-- > 0;)
        if (!lull_is_system_header(lookups[i].symbol.file))
            first = i;
    region->file = lookups[first].symbol.file;
    region->line = lookups[first].symbol.line;
    if (site->code == LULL_TAPE_CODE_BLOCK) {
        name_code(trace, region, lookups);
        return;
    }
    region->site =
        site->n == 1 ? lookups[0].text : path_of_places(trace, &lookups[first], site->n - first);
    region->whole = site->whole;
}

/* ---- callers that tell nothing --------------------------------------------------------------- */

/* Beginnings of paths, each with the function that is called. */
struct beginnings {
    struct lull_hash paths;  /* whole paths */
    struct lull_hash counts; /* how many different paths begin so */
    struct lull_arena *arena;
};

/* The first `length` bytes of a path as a key. */
static const char *key_of_beginning(const struct beginnings *beginnings,
                                    const struct lull_region *region, size_t length)
{
    return lull_arena_printf(beginnings->arena, "%u %.*s", region->whole, (int)length,
                             region->site);
}

/* The end of the place that begins at `at` of a path. */
static size_t end_of_place(const char *path, size_t at)
{
    const char *end = strstr(path + at, LULL_SITE_CALLER);
    return end ? (size_t)(end - path) : strlen(path);
}

static bool count_beginnings(struct beginnings *beginnings, const struct lull_region *region)
{
    const size_t length = strlen(region->site);
    const char *key = key_of_beginning(beginnings, region, length);
    bool is_new;
    if (!lull_hash_add(&beginnings->paths, key, strlen(key), 0, &is_new))
        return false;
    for (size_t end = 0; is_new && end < length; end += strlen(LULL_SITE_CALLER)) {
        end = end_of_place(region->site, end);
        key = key_of_beginning(beginnings, region, end);
        uint64_t *count = lull_hash_add(&beginnings->counts, key, strlen(key), 0, NULL);
        if (!count)
            return false;
        ++*count;
    }
    return true;
}

/* The shortest beginning of a path that no other path of the same function has. */
static size_t length_that_tells(const struct beginnings *beginnings,
                                const struct lull_region *region)
{
    const size_t length = strlen(region->site);
    for (size_t end = 0; end < length; end += strlen(LULL_SITE_CALLER)) {
        end = end_of_place(region->site, end);
        const char *key = key_of_beginning(beginnings, region, end);
        const uint64_t *count = lull_hash_find(&beginnings->counts, key, strlen(key));
        if (count && *count == 1)
            return end;
    }
    return length;
}

/* A site whose callers nobody has asked for is called after as many of them as tell it from the other
 * sites of its function. */
static lull_status leave_out_callers(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct beginnings beginnings = {.arena = lull_arena_create(NULL)};
    bool good = true;
    for (const struct lull_tape_site *site = data->sites; site && good; site = site->next)
        if (site->code == LULL_TAPE_CODE_CALLS)
            good = count_beginnings(&beginnings, &trace->regions[site->region]);
    for (const struct lull_tape_site *site = data->sites; site && good; site = site->next) {
        struct lull_region *region = &trace->regions[site->region];
        if (site->code == LULL_TAPE_CODE_CALLS)
            region->site = lull_arena_strndup(trace->arena, region->site,
                                              length_that_tells(&beginnings, region));
    }
    lull_hash_free(&beginnings.paths);
    lull_hash_free(&beginnings.counts);
    lull_arena_destroy(beginnings.arena);
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
}

lull_status lull_tape_name_sites(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    size_t count = 0;
    if (data->n_addresses == 0)
        return LULL_OK;
    struct lookup *lookups = calloc(data->n_addresses, sizeof *lookups);
    struct lookup **sorted = calloc(data->n_addresses, sizeof *sorted);
    if (!lookups || !sorted) {
        free(lookups);
        free(sorted);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    }
    for (const struct lull_tape_site *site = data->sites; site; site = site->next)
        for (uint32_t i = 0; i < site->n; i++) {
            lookups[count].address = &site->addresses[i];
            lookups[count].begins = site->code == LULL_TAPE_CODE_FUNCTION;
            sorted[count] = &lookups[count];
            count++;
        }
    qsort(sorted, count, sizeof *sorted, by_address);
    const bool good = find_names(trace, sorted, count);
    count = 0;
    for (const struct lull_tape_site *site = data->sites; site && good; site = site->next) {
        name_site(trace, site, &lookups[count]);
        count += site->n;
    }
    free(lookups);
    free(sorted);
    return good ? leave_out_callers(trace, err)
                : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
}
