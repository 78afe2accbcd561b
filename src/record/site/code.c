/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/site/code.h"

#include "base/clock.h"
#include "base/sorted.h"
#include "record/core.h"
#include "record/site/perf_map.h"
#include "record/site/site.h"
#include "tape/layout.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A piece of memory with code of one file. */
struct code_piece {
    uintptr_t begin, end, bias;
    uint32_t object; /* its id; 0: nobody has asked yet */
    bool asked;
    int64_t since; /* ns: samples from before may have been of another file; 0: none can */
};

struct code_map {
    struct code_piece *pieces; /* ascending */
    size_t n, size;            /* size: bytes that are mapped */
};

static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;
static struct code_map code_maps[2], *code_map = &code_maps[0]; /* the present one, and room for the
                                                                   next */
static unsigned long long code_adds, code_subs; /* what the loader had loaded and unloaded when the
                                                   map was made */

/* ---- the loader ------------------------------------------------------------------------------ */

struct code_listing {
    unsigned long long adds, subs;
    struct code_map *map; /* NULL: the numbers of loads are wanted, no more */
    size_t wanted;        /* pieces that there are */
};

/* Adds the parts of a file that can be executed. */
static int list_code(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code_listing *listing = context;
    (void)size;
    listing->adds = info->dlpi_adds;
    listing->subs = info->dlpi_subs;
    if (!listing->map)
        return 1;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if ((listing->wanted + 1) * sizeof *listing->map->pieces <= listing->map->size)
            listing->map->pieces[listing->map->n++] = (struct code_piece){
                .begin = begin, .end = begin + part->p_memsz, .bias = info->dlpi_addr};
        listing->wanted++;
    }
    return 0;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct code_piece *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Not qsort, which may allocate: the program may be inside of its malloc. The loader lists files
 * nearly in order of their addresses. */
static void sort_pieces(struct code_piece *pieces, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct code_piece moved = pieces[i];
        size_t at = i;
        for (; at > 0 && compare_pieces(&pieces[at - 1], &moved) > 0; at--)
            pieces[at] = pieces[at - 1];
        pieces[at] = moved;
    }
}

/* ---- the map --------------------------------------------------------------------------------- */

static struct code_piece *find_piece(const struct code_map *map, uintptr_t address)
{
    struct lull_bisection at = {.end = map->n};
    while (lull_bisect(&at))
        at.in_front = map->pieces[at.middle].begin <= address;
    struct code_piece *last = at.begin > 0 ? &map->pieces[at.begin - 1] : NULL;
    return last && address < last->end ? last : NULL;
}

/* Keeps what is known of pieces that were in the map before. Where something was unloaded, a piece
 * that is new in the map may lie in its place: what ran there before now is not known. */
static void keep_known(struct code_map *map, bool unloaded)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    for (size_t i = 0; i < map->n; i++) {
        struct code_piece *piece = &map->pieces[i];
        const struct code_piece *before = find_piece(code_map, piece->begin);
        piece->since = unloaded ? now : 0;
        if (!before || before->begin != piece->begin || before->end != piece->end ||
            before->bias != piece->bias)
            continue;
        if (!unloaded) {
            *piece = *before;
            continue;
        }
        if (!before->asked)
            continue;
        /* The file that lies there now may be another one. */
        uintptr_t bias;
        piece->object = rec_site_object(piece->begin, &bias);
        piece->asked = true;
        if (before->asked && before->object == piece->object)
            piece->since = before->since;
    }
}

/* Makes room for at least `n` pieces. */
static bool make_code_room(struct code_map *map, size_t n)
{
    enum { FIRST = 1 << 14 };
    size_t size = map->size > 0 ? map->size : FIRST;
    while (size < n * sizeof *map->pieces)
        size *= 2;
    if (size == map->size)
        return true;
    void *larger = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger == MAP_FAILED)
        return false;
    if (map->pieces)
        munmap(map->pieces, map->size);
    map->pieces = larger;
    map->size = size;
    return true;
}

/* Makes the map anew. Code for which there is no memory is unknown. */
static void make_code_map(unsigned long long subs)
{
    struct code_map *map = code_map == &code_maps[0] ? &code_maps[1] : &code_maps[0];
    struct code_listing listing = {.wanted = 0};
    do {
        const bool good = make_code_room(map, listing.wanted);
        map->n = 0;
        if (!good)
            break;
        listing = (struct code_listing){.map = map};
        dl_iterate_phdr(list_code, &listing);
    } while (map->n < listing.wanted);
    sort_pieces(map->pieces, map->n);
    keep_known(map, code_map->size > 0 && subs != code_subs);
    code_map = map;
}

void rec_code_look(void)
{
    struct code_listing listing = {.map = NULL};
    rec_lock(&code_lock);
    rec_perf_map_look();
    dl_iterate_phdr(list_code, &listing);
    if (code_map->size > 0 && listing.adds == code_adds && listing.subs == code_subs)
        return;
    make_code_map(listing.subs);
    code_adds = listing.adds;
    code_subs = listing.subs;
}

void rec_code_done(void)
{
    rec_unlock(&code_lock);
}

/* The place of code that is made at run time: a function of a source, whose line is not known. */
static uint64_t place_of_made_code(uintptr_t address)
{
    static struct rec_perf_name name;
    struct rec_perf_function *function = rec_perf_map_find(address);
    if (!function)
        return lull_tape_place(LULL_TAPE_NO_OBJECT, 0);
    if (function->object == 0) {
        rec_perf_map_name(function, &name);
        function->object = *name.function ? rec_site_source(name.file, name.function) : 0;
        if (function->object == 0 || function->object > LULL_TAPE_NO_OBJECT)
            function->object = LULL_TAPE_NO_OBJECT;
    }
    return lull_tape_place(function->object, 0);
}

uint64_t rec_code_place(uintptr_t address, int64_t ns)
{
    struct code_piece *piece = find_piece(code_map, address);
    uintptr_t bias;
    if (!piece)
        return place_of_made_code(address);
    if (ns < piece->since)
        return lull_tape_place(LULL_TAPE_NO_OBJECT, 0);
    if (!piece->asked) {
        piece->object = rec_site_object(piece->begin, &bias);
        piece->asked = true;
    }
    const uint64_t offset = address - piece->bias;
    if (piece->object == 0 || piece->object >= LULL_TAPE_NO_OBJECT ||
        offset > LULL_TAPE_OFFSET_MASK)
        return lull_tape_place(LULL_TAPE_NO_OBJECT, 0);
    return lull_tape_place(piece->object, offset);
}
