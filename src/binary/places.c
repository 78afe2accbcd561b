/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/places.h"

#include "base/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    FEW = 1024,            /* places of a file that one thread finds; more are divided */
    TASKS_OF_A_WORKER = 16 /* parts that places of a file are divided into, for each thread */
};

/* Places of one file, sorted[begin] .. sorted[end - 1]. */
struct part {
    size_t begin, end;
};

struct item {
    struct lull_place *place;
    uint64_t unit; /* of the debug information */
};

struct place_search {
    struct lull_places_file *files;
    bool loops;
    unsigned workers;
    struct item *sorted;
    struct part *parts; /* each a file at first, then what is left of files with many places */
    size_t n_parts;
    bool whole_files;           /* parts are files */
    bool *left;                 /* of whole files: they are to be divided */
    atomic_size_t next;         /* part */
    struct lull_arena **arenas; /* one for each worker */
};

static int by_file_and_offset(const void *a, const void *b)
{
    const struct lull_place *x = ((const struct item *)a)->place;
    const struct lull_place *y = ((const struct item *)b)->place;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_unit_and_offset(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->place->offset > y->place->offset) - (x->place->offset < y->place->offset);
}

/* `symbols` NULL: the file was not found. */
static void name_part(const struct place_search *search, struct part part,
                      struct lull_symbols *symbols, struct lull_arena *arena)
{
    for (size_t i = part.begin; i < part.end; i++) {
        struct lull_place *place = search->sorted[i].place;
        const struct lull_place *last = i > part.begin ? search->sorted[i - 1].place : NULL;
        place->loop = NULL;
        place->symbol =
            (struct lull_symbol){.function = "", .short_name = "", .whole_name = "", .file = ""};
        if (!symbols)
            continue;
        if (last && last->offset == place->offset) {
            place->symbol = last->symbol;
            place->loop = last->loop;
            continue;
        }
        place->symbol = lull_symbols_find(symbols, place->offset, arena);
        if (search->loops)
            place->loop = lull_symbols_loop(symbols, place->offset, arena);
    }
}

/* Opens the file of a part and names its places, if they are few; else only sorts them. */
static void begin_file(struct place_search *search, size_t at, struct lull_arena *arena)
{
    const struct part part = search->parts[at];
    struct lull_places_file *file = &search->files[search->sorted[part.begin].place->file];
    struct lull_symbols *symbols = NULL;
    struct lull_error why = {""};
    file->found = lull_symbols_open_told(file->path, file->build_id, &symbols, &why);
    file->why = lull_arena_strdup(arena, why.text);
    for (size_t i = part.begin; symbols && i < part.end; i++)
        search->sorted[i].unit = lull_symbols_unit(symbols, search->sorted[i].place->offset);
    if (symbols)
        qsort(search->sorted + part.begin, part.end - part.begin, sizeof *search->sorted,
              by_unit_and_offset);
    search->left[at] = symbols && search->workers > 1 && part.end - part.begin > FEW;
    if (!search->left[at])
        name_part(search, part, symbols, arena);
    if (symbols)
        lull_symbols_close(symbols);
}

static void name_parts(void *context, unsigned worker)
{
    struct place_search *search = context;
    struct lull_arena *arena = search->arenas[worker];
    const struct lull_places_file *file = NULL;
    struct lull_symbols *symbols = NULL;
    for (size_t at; (at = atomic_fetch_add(&search->next, 1)) < search->n_parts;) {
        if (search->whole_files) {
            begin_file(search, at, arena);
            continue;
        }
        const struct part part = search->parts[at];
        const struct lull_places_file *wanted =
            &search->files[search->sorted[part.begin].place->file];
        if (file != wanted && symbols)
            lull_symbols_close(symbols);
        if (file != wanted &&
            lull_symbols_open(wanted->path, wanted->build_id, &symbols) != LULL_SYMBOLS_FOUND)
            symbols = NULL; /* it has vanished since */
        file = wanted;
        name_part(search, part, symbols, arena);
    }
    if (symbols)
        lull_symbols_close(symbols);
}

static void run_place_search(struct place_search *search)
{
    atomic_store(&search->next, 0);
    lull_parallel_run(search->workers, name_parts, search);
}

/* Makes a part of the places of each file. */
static void divide_by_file(struct place_search *search, size_t n_places)
{
    for (size_t i = 0; i < n_places; i++) {
        if (i == 0 || search->sorted[i - 1].place->file != search->sorted[i].place->file)
            search->parts[search->n_parts++].begin = i;
        search->parts[search->n_parts - 1].end = i + 1;
    }
}

/* Divides what is left of files at the ends of units. */
static void divide_by_unit(struct place_search *search, struct part *parts)
{
    size_t count = 0;
    for (size_t k = 0; k < search->n_parts; k++) {
        const struct part part = search->parts[k];
        const size_t wanted = (part.end - part.begin) / (TASKS_OF_A_WORKER * search->workers) + 1;
        for (size_t i = part.begin; search->left[k] && i < part.end; i++) {
            const bool other_unit =
                i == part.begin || search->sorted[i - 1].unit != search->sorted[i].unit;
            if (i == part.begin || (other_unit && i - parts[count - 1].begin >= wanted))
                parts[count++].begin = i;
            parts[count - 1].end = i + 1;
        }
    }
    search->parts = parts;
    search->n_parts = count;
    search->whole_files = false;
}

static bool allocate_place_search(struct place_search *search, size_t n_places, uint32_t n_files)
{
    search->sorted = calloc(n_places + 1, sizeof *search->sorted);
    search->parts = calloc((size_t)n_files + 1, sizeof *search->parts);
    search->left = calloc((size_t)n_files + 1, sizeof *search->left);
    search->arenas = calloc(search->workers, sizeof *search->arenas);
    for (unsigned i = 0; search->arenas && i < search->workers; i++)
        search->arenas[i] = lull_arena_create(NULL);
    return search->sorted && search->parts && search->left && search->arenas;
}

lull_status lull_places_find(struct lull_places_file *files, uint32_t n_files,
                             struct lull_place *places, size_t n_places, bool loops,
                             unsigned workers, struct lull_arena *arena, struct lull_error *err)
{
    struct place_search search = {
        .files = files, .loops = loops, .workers = workers > 0 ? workers : 1, .whole_files = true};
    bool good = allocate_place_search(&search, n_places, n_files);
    struct part *files_parts = search.parts;
    struct part *parts =
        calloc(((size_t)n_files + 1) * (TASKS_OF_A_WORKER + 1) * search.workers, sizeof *parts);
    good = good && parts;
    for (uint32_t i = 0; i < n_files; i++) {
        files[i].found = LULL_SYMBOLS_FOUND; /* nobody has asked for one of its places */
        files[i].why = "";
    }
    for (size_t i = 0; good && i < n_places; i++)
        search.sorted[i].place = &places[i];
    if (good && n_places > 0) {
        qsort(search.sorted, n_places, sizeof *search.sorted, by_file_and_offset);
        divide_by_file(&search, n_places);
        run_place_search(&search);
        divide_by_unit(&search, parts);
        run_place_search(&search);
    }
    for (unsigned i = 0; search.arenas && i < search.workers; i++)
        lull_arena_join(arena, search.arenas[i]);
    free(search.sorted);
    free(files_parts);
    free(parts);
    free(search.left);
    free(search.arenas);
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "names of code: out of memory");
}
