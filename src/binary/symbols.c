/* SPDX-License-Identifier: BSD-3-Clause */
/* Compilation units, the functions in them and functions that were inlined there are found by their
 * address ranges in .debug_info, because not every compiler writes an index of them. What was read of
 * the last unit and of the last function is kept, so that many addresses of one are cheap. libdw
 * itself forgets nothing of a file; after MOST_READ bytes of debug information the file is opened
 * anew. */
#include "binary/symbols.h"

#include "base/sorted.h"
#include "lull_features.h"

#include <string.h>

#if LULL_HAVE_LIBDW

#include "base/array.h"
#include "base/file.h"
#include "binary/debug_file.h"
#include "binary/demangle.h"
#include "binary/symbols_inside.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MOST_READ = 64 << 20,  /* bytes */
    MOST_RANGES = 1 << 22, /* of the functions of a unit, and of what is inlined in one */
    MOST_PAINTED = 1 << 26 /* segments of a function that inlined functions are entered in */
};

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = lull_debug_file_find,
    .section_address = dwfl_offline_section_address,
};

/* ---- ranges ---------------------------------------------------------------------------------- */

static void add_ranges(struct ranges *ranges, Dwarf_Die *die)
{
    Dwarf_Addr base, begin, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
        if (ranges->count >= MOST_RANGES ||
            !lull_array_reserve(&ranges->all, &ranges->capacity, ranges->count + 1,
                                sizeof *ranges->all))
            return;
        ranges->all[ranges->count++] = (struct range){begin, end, dwarf_dieoffset(die)};
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void sort_ranges(struct ranges *ranges)
{
    if (ranges->count > 1)
        qsort(ranges->all, ranges->count, sizeof *ranges->all, by_begin);
}

/* The range that holds an address; NULL: none does. */
static const struct range *find_range(const struct ranges *ranges, uint64_t address)
{
    const size_t behind = lull_sorted_first_u64(ranges->all, ranges->count, sizeof *ranges->all,
                                                offsetof(struct range, begin), address + 1);
    return behind > 0 && address < ranges->all[behind - 1].end ? &ranges->all[behind - 1] : NULL;
}

/* ---- debug information ----------------------------------------------------------------------- */

static void list_units(struct lull_symbols *symbols)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(symbols->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        add_ranges(&symbols->units, &die);
    sort_ranges(&symbols->units);
}

/* Visits the children of a die. A damaged file may send readers back: offsets must ascend. */
static bool next_child(Dwarf_Die *parent, Dwarf_Die *die, bool first)
{
    const Dwarf_Off last = first ? 0 : dwarf_dieoffset(die);
    return (first ? dwarf_child(parent, die) : dwarf_siblingof(die, die)) == 0 &&
           dwarf_dieoffset(die) > last;
}

/* Lists functions, also those inside of modules, name spaces and other functions. */
static void list_functions(struct ranges *functions, Dwarf_Die *parent, int depth)
{
    enum { DEEPEST = 32 };
    Dwarf_Die die;
    for (bool first = true; next_child(parent, &die, first); first = false) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_ranges(functions, &die);
        bool holds = tag == DW_TAG_subprogram || tag == DW_TAG_module || tag == DW_TAG_namespace ||
                     tag == DW_TAG_lexical_block;
        if (holds && depth < DEEPEST)
            list_functions(functions, &die, depth + 1);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The function of the source, "exchange", from a name that the compiler has made of it:
 * "exchange._omp_fn.0", "exchange.constprop.0". */
static const char *plain_name(const char *name, struct lull_arena *arena)
{
    size_t length = name ? strcspn(name, ".") : 0;
    return name ? lull_arena_strndup(arena, name, length > 0 ? length : strlen(name)) : "";
}

/* The name of a function that is asked for itself. clang makes the body of an OpenMP construct a
 * function, "exchange.omp_outlined", which must not get the name of the function around it. */
static const char *own_name(const char *name, struct lull_arena *arena)
{
    return name && strstr(name, ".omp_outlined") ? lull_arena_strdup(arena, name)
                                                 : plain_name(name, arena);
}

const char *lull_symbols_text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* The names that belong to an address; new ones are empty. NULL: no memory. */
static struct lull_symbol_names *find_texts(struct texts *texts, const void *key, bool *ret_new)
{
    uint64_t *at = lull_hash_add(&texts->table, &key, sizeof key, texts->count, ret_new);
    if (!at)
        return NULL;
    if (*ret_new) {
        if (!lull_array_reserve(&texts->all, &texts->capacity, texts->count + 1,
                                sizeof *texts->all))
            return NULL;
        texts->all[texts->count++] = (struct lull_symbol_names){"", "", ""};
    }
    return *at < texts->count ? &texts->all[*at] : NULL;
}

static void forget_texts(struct texts *texts)
{
    lull_hash_free(&texts->table);
    texts->count = 0;
}

const char *lull_symbols_keep_text(struct lull_symbols *symbols, const char *text,
                                   struct lull_arena *arena)
{
    bool is_new = false;
    struct lull_symbol_names *kept = text ? find_texts(&symbols->of_unit, text, &is_new) : NULL;
    if (!kept)
        return "";
    if (is_new)
        kept->function = lull_arena_strdup(arena, text);
    return kept->function;
}

/* The long names that a name of the linker stands for; `function` where it can't be read. */
static void name_as_linked(const char *linked, struct lull_arena *arena,
                           struct lull_symbol_names *names)
{
    const char *whole = lull_demangle(arena, linked);
    names->whole_name = whole == linked ? names->function : whole;
    names->short_name = whole == linked ? names->function : lull_short_name(arena, whole);
}

struct lull_symbol_names lull_symbols_names_of(struct lull_symbols *symbols, Dwarf_Die *die,
                                               struct lull_arena *arena)
{
    bool is_new = false;
    struct lull_symbol_names *kept = find_texts(&symbols->of_unit, die->addr, &is_new);
    if (kept && !is_new)
        return *kept;
    struct lull_symbol_names names = {.function = plain_name(dwarf_diename(die), arena)};
    const char *linked = lull_symbols_text(die, DW_AT_linkage_name);
    if (!linked)
        linked = lull_symbols_text(die, DW_AT_MIPS_linkage_name);
    if (linked && *linked == '_') {
        bool first = true;
        struct lull_symbol_names *known = find_texts(&symbols->of_linked, linked, &first);
        if (known && !first)
            names = *known;
        else
            name_as_linked(linked, arena, &names);
        if (known && first)
            *known = names;
    } else {
        names.whole_name = names.function;
        names.short_name = strpbrk(names.function, "<( ") ? lull_short_name(arena, names.function)
                                                          : names.function;
    }
    if (kept)
        *kept = names;
    return names;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Whether two paths name different files: their last parts differ. Folders may be written in several
 * ways. */
static bool is_other_file(const char *unit, const char *file)
{
    const char *last = unit ? strrchr(unit, '/') : NULL;
    const char *of_file = strrchr(file, '/');
    return unit && strcmp(last ? last + 1 : unit, of_file ? of_file + 1 : file) != 0;
}

const char *lull_symbols_row_file(Dwarf_Line *row, uint32_t *ret_line)
{
    int number = 0;
    const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(row, &number) != 0 || number <= 0)
        return NULL;
    *ret_line = (uint32_t)number;
    return file;
}

static void find_line(struct lull_symbols *symbols, Dwarf_Die *unit, uint64_t address,
                      struct lull_arena *arena, struct lull_symbol *symbol)
{
    const char *file = lull_symbols_row_file(dwarf_getsrc_die(unit, address), &symbol->line);
    if (!file)
        return;
    symbol->file = lull_symbols_keep_text(symbols, file, arena);
    symbol->included = is_other_file(dwarf_diename(unit), file);
}

Dwarf_Word lull_symbols_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &number) != 0)
        return 0;
    return number;
}

/* A file in the table of a unit; NULL: it is not there. */
static const char *file_of_unit(Dwarf_Die *unit, Dwarf_Word file)
{
    Dwarf_Files *files;
    size_t count;
    return dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count
               ? dwarf_filesrc(files, file, NULL, NULL)
               : NULL;
}

/* dwarf_decl_file ends the program where the unit has no
 * table of files. */
const char *lull_symbols_definition_file(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file;
    Dwarf_Die unit;
    if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
        dwarf_formudata(&attribute, &file) != 0 ||
        !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
        return NULL;
    return file_of_unit(&unit, file);
}

const char *lull_symbols_call_file(Dwarf_Die *unit, Dwarf_Die *inlined, uint32_t *ret_line)
{
    const char *name = file_of_unit(unit, lull_symbols_number(inlined, DW_AT_call_file));
    if (name)
        *ret_line = (uint32_t)lull_symbols_number(inlined, DW_AT_call_line);
    return name;
}

/* ---- functions that were inlined ------------------------------------------------------------- */

static void add_frame(struct frames *frames, Dwarf_Die *die, uint32_t outer)
{
    Dwarf_Addr base, begin, end;
    if (!lull_array_reserve(&frames->all, &frames->capacity, frames->count + 1,
                            sizeof *frames->all))
        return;
    const uint32_t frame = (uint32_t)frames->count;
    frames->all[frames->count++] =
        (struct frame){.die = *die,
                       .outer = outer,
                       .line = (uint32_t)lull_symbols_number(die, DW_AT_decl_line),
                       .begin = UINT64_MAX};
    const bool told =
        dwarf_entrypc(die, &frames->all[frame].begin) == 0; /* cold parts may be before it */
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
        if (frames->n_ranges >= MOST_RANGES ||
            !lull_array_reserve(&frames->ranges, &frames->ranges_capacity, frames->n_ranges + 1,
                                sizeof *frames->ranges))
            return;
        if (begin >= end)
            continue;
        frames->ranges[frames->n_ranges++] = (struct painted){begin, end, frame};
        if (!told && begin < frames->all[frame].begin)
            frames->all[frame].begin = begin;
    }
}

static void list_inlined(struct frames *frames, Dwarf_Die *parent, uint32_t outer, int depth)
{
    enum { DEEPEST = 64 };
    Dwarf_Die die;
    for (bool first = true; next_child(parent, &die, first); first = false) {
        const int tag = dwarf_tag(&die);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block)
            continue;
        uint32_t inside = outer;
        if (tag == DW_TAG_inlined_subroutine) {
            inside = (uint32_t)frames->count;
            add_frame(frames, &die, outer);
            if (inside == frames->count) /* no memory */
                return;
        }
        if (depth < DEEPEST)
            list_inlined(frames, &die, inside, depth + 1);
    }
}

static int by_segment(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Cuts the function's code at all begins and ends of ranges, and enters into each segment the frames
 * that have it, outer ones first: the innermost one stays. */
static void paint_segments(struct frames *frames)
{
    frames->n_segments = 0;
    if (!lull_array_reserve(&frames->segments, &frames->segments_capacity, 2 * frames->n_ranges + 1,
                            sizeof *frames->segments))
        return;
    struct segment *segments = frames->segments;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < frames->n_ranges; i++) {
        segments[count++] = (struct segment){frames->ranges[i].begin, LULL_SYMBOLS_NONE};
        segments[count++] = (struct segment){frames->ranges[i].end, LULL_SYMBOLS_NONE};
    }
    if (count > 1)
        qsort(segments, count, sizeof *segments, by_segment);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || segments[kept - 1].begin != segments[i].begin)
            segments[kept++] = segments[i];
    frames->n_segments = kept;
    size_t painted = 0;
    for (size_t i = 0; i < frames->n_ranges && painted < MOST_PAINTED; i++) {
        const struct painted *range = &frames->ranges[i];
        size_t at = lull_sorted_first_u64(segments, kept, sizeof *segments,
                                          offsetof(struct segment, begin), range->begin);
        for (; at < kept && segments[at].begin < range->end; at++, painted++)
            segments[at].frame = range->frame;
    }
}

uint32_t lull_symbols_frame_at(const struct frames *frames, uint64_t address)
{
    const size_t behind =
        lull_sorted_first_u64(frames->segments, frames->n_segments, sizeof *frames->segments,
                              offsetof(struct segment, begin), address + 1);
    return behind > 0 ? frames->segments[behind - 1].frame : LULL_SYMBOLS_NONE;
}

/* Lists the frames of a function, unless it is the last one. */
static bool list_frames(struct lull_symbols *symbols, Dwarf_Off at)
{
    struct frames *frames = &symbols->frames;
    Dwarf_Die die;
    if (frames->die == at)
        return true;
    frames->die = 0;
    frames->count = frames->n_ranges = 0;
    if (!dwarf_offdie(dwarf_cu_getdwarf(symbols->body.cu), at, &die))
        return false;
    add_frame(frames, &die, LULL_SYMBOLS_NONE);
    if (frames->count == 0)
        return false;
    list_inlined(frames, &die, 0, 0);
    paint_segments(frames);
    frames->die = at;
    return true;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void forget_unit(struct lull_symbols *symbols)
{
    symbols->frames.die = 0;
    symbols->unit = 0;
    symbols->functions.count = 0;
    forget_texts(&symbols->of_unit);
}

static void close_own_dwarf(struct lull_symbols *symbols)
{
    if (!symbols->own.dwarf)
        return;
    dwarf_end(symbols->own.dwarf);
    elf_end(symbols->own.elf);
    close(symbols->own.fd);
    symbols->own.dwarf = NULL;
}

static bool has_exceptions(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
        return false;
    default:
        return true;
    }
}

/* Reads the unit at an offset of the debug information. Of a unit whose functions are in a file of
 * their own (.dwo), only the line table is in this one. */
static void read_unit(struct lull_symbols *symbols, Dwarf_Off at, Dwarf_Die *unit)
{
    const Dwarf_Off begin = at - dwarf_cuoffset(unit);
    Dwarf_Off end;
    Dwarf_Die split;
    uint8_t type = 0;
    if (symbols->unit == at)
        return;
    forget_unit(symbols);
    symbols->unit = at;
    symbols->body = *unit;
    if (dwarf_next_unit(symbols->dwarf, begin, &end, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == 0)
        symbols->read += end - begin;
    if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton && split.cu)
        symbols->body = split;
    symbols->exceptions = has_exceptions(&symbols->body);
    list_functions(&symbols->functions, &symbols->body, 0);
    sort_ranges(&symbols->functions);
}

/* Opens the debug information anew, so that libdw releases what it has read. Files whose addresses are
 * not final (.o) keep it. */
static void renew_dwarf(struct lull_symbols *symbols)
{
    const char *main_file = NULL, *debug_file = NULL;
    symbols->read = 0;
    (void)dwfl_module_info(symbols->linked.module, NULL, NULL, NULL, NULL, NULL, &main_file,
                           &debug_file);
    const char *path = debug_file ? debug_file : main_file;
    const int fd = path && !symbols->relocated ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    if (!dwarf) {
        if (elf)
            elf_end(elf);
        if (fd >= 0)
            close(fd);
        return;
    }
    forget_unit(symbols);
    forget_texts(&symbols->of_linked);
    close_own_dwarf(symbols);
    symbols->own = (struct own_dwarf){fd, elf, dwarf};
    symbols->dwarf = dwarf;
}

bool lull_symbols_find_unit(struct lull_symbols *symbols, uint64_t address, Dwarf_Die *unit)
{
    const struct range *range = find_range(&symbols->units, address);
    if (range && range->die != symbols->unit && symbols->read > MOST_READ)
        renew_dwarf(symbols);
    if (!range || !symbols->dwarf || !dwarf_offdie(symbols->dwarf, range->die, unit))
        return false;
    read_unit(symbols, range->die, unit);
    return true;
}

uint32_t lull_symbols_find_frame(struct lull_symbols *symbols, uint64_t address)
{
    const struct range *inside = find_range(&symbols->functions, address);
    return inside && list_frames(symbols, inside->die)
               ? lull_symbols_frame_at(&symbols->frames, address)
               : LULL_SYMBOLS_NONE;
}

static void name_frame(struct lull_symbols *symbols, uint32_t frame, struct lull_arena *arena,
                       struct lull_symbol *symbol)
{
    const struct lull_symbol_names names =
        lull_symbols_names_of(symbols, &symbols->frames.all[frame].die, arena);
    symbol->function = names.function;
    symbol->short_name = names.short_name;
    symbol->whole_name = names.whole_name;
}

/* Names the function and those inlined in it. The innermost one has the line of the address, each
 * other one the line at which it calls the next. */
static void name_frames(struct lull_symbols *symbols, uint32_t frame, struct lull_arena *arena,
                        struct lull_symbol *symbol)
{
    name_frame(symbols, frame, arena, symbol);
    for (struct frame *is = &symbols->frames.all[frame]; is->outer != LULL_SYMBOLS_NONE;
         is = &symbols->frames.all[is->outer]) {
        symbol->caller = is->caller;
        if (is->caller)
            return;
        struct lull_symbol *caller = lull_arena_zero(arena, 1, sizeof *caller);
        const char *file = lull_symbols_call_file(&symbols->body, &is->die, &caller->line);
        caller->file = lull_symbols_keep_text(symbols, file, arena);
        name_frame(symbols, is->outer, arena, caller);
        symbol->caller = is->caller = caller;
        symbol = caller;
    }
}

static void find_in_dwarf(struct lull_symbols *symbols, uint64_t offset, struct lull_arena *arena,
                          struct lull_symbol *symbol)
{
    uint64_t address = offset + symbols->linked.bias - symbols->dwarf_bias;
    Dwarf_Die unit;
    if (!lull_symbols_find_unit(symbols, address, &unit))
        return;
    find_line(symbols, &unit, address, arena, symbol);
    const uint32_t frame = lull_symbols_find_frame(symbols, address);
    if (frame != LULL_SYMBOLS_NONE)
        name_frames(symbols, frame, arena, symbol);
}

/* The name of the function in the symbol table, which may be all that the file has. */
static const char *name_of_symbol(struct lull_symbols *symbols, uint64_t offset,
                                  struct lull_arena *arena)
{
    const struct lull_linked_function *linked = lull_linked_find(&symbols->linked, offset);
    return linked ? own_name(linked->name, arena) : "";
}

static void find_in_symbol_table(struct lull_symbols *symbols, uint64_t offset,
                                 struct lull_arena *arena, struct lull_symbol *symbol)
{
    const struct lull_linked_function *linked = lull_linked_find(&symbols->linked, offset);
    const char *stub = linked ? NULL : lull_linked_stub(&symbols->linked, offset);
    if (stub) {
        symbol->function = lull_arena_printf(arena, "%s@plt", stub);
        symbol->whole_name = lull_arena_printf(arena, "%s@plt", lull_demangle(arena, stub));
        symbol->short_name =
            lull_arena_printf(arena, "%s@plt", lull_short_name(arena, lull_demangle(arena, stub)));
        return;
    }
    symbol->function = linked ? plain_name(linked->name, arena) : "";
    symbol->short_name = symbol->whole_name = symbol->function;
    struct lull_symbol_names names = {.function = symbol->function};
    if (!linked || *linked->name != '_')
        return;
    name_as_linked(linked->name, arena, &names);
    symbol->short_name = names.short_name;
    symbol->whole_name = names.whole_name;
}

struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena)
{
    struct lull_symbol symbol = {.function = "", .short_name = "", .whole_name = "", .file = ""};
    if (symbols->dwarf)
        find_in_dwarf(symbols, offset, arena, &symbol);
    if (!*symbol.function)
        find_in_symbol_table(symbols, offset, arena, &symbol);
    return symbol;
}

uint64_t lull_symbols_unit(struct lull_symbols *symbols, uint64_t offset)
{
    const struct range *range =
        find_range(&symbols->units, offset + symbols->linked.bias - symbols->dwarf_bias);
    return range ? range->die : 0;
}

/* ---- whole functions ------------------------------------------------------------------------- */

/* Finds file, path and line of a function's definition. For "grid.c" compiled in "/home/x" the file
 * is "grid.c" and the path "/home/x/grid.c". */
static void find_definition(Dwarf_Die *unit, Dwarf_Die *die, struct lull_arena *arena,
                            struct lull_function *function)
{
    int line = 0;
    const char *path = lull_symbols_definition_file(die),
               *folder = lull_symbols_text(unit, DW_AT_comp_dir);
    if (!path)
        return;
    size_t length = folder ? strlen(folder) : 0;
    function->path = lull_arena_strdup(arena, path);
    if (*path != '/' && folder)
        function->path = lull_arena_printf(arena, "%s/%s", folder, path);
    const bool below =
        length > 0 && strncmp(function->path, folder, length) == 0 && function->path[length] == '/';
    function->file = below ? function->path + length + 1 : function->path;
    if (dwarf_decl_line(die, &line) == 0 && line > 0)
        function->line = (uint32_t)line;
}

static void find_function(struct lull_symbols *symbols, uint64_t address, struct lull_arena *arena,
                          struct lull_function *function)
{
    Dwarf_Die unit, die;
    if (!lull_symbols_find_unit(symbols, address, &unit))
        return;
    const struct range *range = find_range(&symbols->functions, address);
    if (!range || !dwarf_offdie(dwarf_cu_getdwarf(symbols->body.cu), range->die, &die))
        return;
    if (!*function->name)
        function->name = own_name(dwarf_diename(&die), arena);
    find_definition(&unit, &die, arena, function);
}

struct lull_function lull_symbols_function(struct lull_symbols *symbols, uint64_t offset,
                                           struct lull_arena *arena)
{
    struct lull_function function = {"", "", "", 0};
    /* A mangled name says more than debug information does, which says more than a plain one. */
    const char *linked = name_of_symbol(symbols, offset, arena);
    const char *name = lull_demangle(arena, linked);
    function.name = name != linked ? name : "";
    if (symbols->dwarf)
        find_function(symbols, offset + symbols->linked.bias - symbols->dwarf_bias, arena,
                      &function);
    if (!*function.name)
        function.name = linked;
    return function;
}

/* Whether compilers look there without being told: "/usr/include/x86_64-linux-gnu/bits/types.h", headers of the
 * compiler itself. */
static bool is_searched_anyway(const char *file)
{
    return strncmp(file, "/usr/include/", strlen("/usr/include/")) == 0 ||
           strncmp(file, "/usr/local/include/", strlen("/usr/local/include/")) == 0 ||
           strstr(file, "/lib/gcc/") || strstr(file, "/lib/clang/") ||
           strstr(file, "/include/c++/") || *file == '<';
}

/* ---- how it was compiled --------------------------------------------------------------------- */

static const char *language_of(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
        return "C";
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        return "C++";
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
        return "Fortran";
    default:
        return "";
    }
}

/* Adds the folder of a header, once. */
static void add_folder(const char *file, const char *from, struct lull_arena *arena,
                       struct lull_compilation *compilation, const char **folders)
{
    const char *slash = strrchr(file, '/');
    if (!slash || is_searched_anyway(file))
        return;
    const char *folder = lull_arena_strndup(arena, file, (size_t)(slash - file));
    if (*folder != '/')
        folder = lull_arena_printf(arena, "%s/%s", from ? from : ".", folder);
    for (size_t i = 0; i < compilation->n_folders; i++)
        if (strcmp(folders[i], folder) == 0)
            return;
    folders[compilation->n_folders++] = folder;
}

struct lull_compilation lull_symbols_compilation(struct lull_symbols *symbols, uint64_t offset,
                                                 struct lull_arena *arena)
{
    struct lull_compilation compilation = {.language = "", .file = "", .producer = ""};
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count = 0;
    if (!symbols->dwarf || !lull_symbols_find_unit(
                               symbols, offset + symbols->linked.bias - symbols->dwarf_bias, &unit))
        return compilation;
    const char *name = dwarf_diename(&unit), *from = lull_symbols_text(&unit, DW_AT_comp_dir);
    const char *producer = lull_symbols_text(&symbols->body, DW_AT_producer);
    compilation.language = language_of(&symbols->body);
    compilation.producer = lull_arena_strdup(arena, producer ? producer : "");
    if (name)
        compilation.file = *name == '/' || !from ? lull_arena_strdup(arena, name)
                                                 : lull_arena_printf(arena, "%s/%s", from, name);
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0)
        return compilation;
    const char **folders = lull_arena_zero(arena, count + 1, sizeof *folders);
    for (size_t i = 0; i < count; i++) {
        const char *file = dwarf_filesrc(files, i, NULL, NULL);
        if (file)
            add_folder(file, from, arena, &compilation, folders);
    }
    compilation.folders = folders;
    return compilation;
}

void lull_symbols_visit(struct lull_symbols *symbols, lull_function_visit *visit, void *context)
{
    const int count = dwfl_module_getsymtab(symbols->linked.module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name =
            dwfl_module_getsym_info(symbols->linked.module, i, &symbol, &address, NULL, NULL, NULL);
        if (name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
            visit(context, address - symbols->linked.bias, name);
    }
}

bool lull_symbols_needs(struct lull_symbols *symbols, const char *name)
{
    const int count = dwfl_module_getsymtab(symbols->linked.module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *known =
            dwfl_module_getsym_info(symbols->linked.module, i, &symbol, &address, NULL, NULL, NULL);
        size_t length = known && symbol.st_shndx == SHN_UNDEF ? strcspn(known, "@") : 0;
        if (length > 0 && length == strlen(name) && strncmp(known, name, length) == 0)
            return true;
    }
    return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum lull_symbols_found fail_absent(struct lull_error *why, const char *path)
{
    struct stat info;
    const char *cause = dwfl_errmsg(-1);
    if (stat(path, &info) != 0)
        lull_fail_errno(why, "%s", path);
    else
        lull_fail(why, LULL_ERR_FORMAT, "%s: no program or library that can be read: %s", path,
                  cause ? cause : "unknown");
    return LULL_SYMBOLS_ABSENT;
}

/* Whether the file is the one that was recorded. */
static enum lull_symbols_found check_build_id(Dwfl_Module *module, const char *path,
                                              const char *wanted, struct lull_error *why)
{
    const unsigned char *bytes;
    GElf_Addr address;
    char found[2 * 64 + 1] = "";
    int n = dwfl_module_build_id(module, &bytes, &address);
    for (int i = 0; i < n && i < 64; i++)
        snprintf(found + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
    if (!wanted || strcmp(found, wanted) == 0)
        return LULL_SYMBOLS_FOUND;
    lull_fail(why, LULL_ERR_FORMAT, "%s: changed: expected build id %s, found %s", path,
              *wanted ? wanted : "none", *found ? found : "none");
    return LULL_SYMBOLS_CHANGED;
}

static bool has_debug_section(Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) && header.sh_size > 0
                               ? elf_strptr(elf, names, header.sh_name)
                               : NULL;
        if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
            return true;
    }
    return false;
}

/* Finds the file's own bytes, machine and debug information. */
static void read_file(struct lull_symbols *symbols, const char *path, struct lull_error *why)
{
    GElf_Addr bias;
    GElf_Ehdr header;
    size_t size = 0;
    Elf *elf = dwfl_module_getelf(symbols->linked.module, &bias);
    symbols->linked.image = elf ? (const uint8_t *)elf_rawfile(elf, &size) : NULL;
    symbols->linked.image_size = size;
    if (elf && gelf_getehdr(elf, &header)) {
        symbols->linked.machine = header.e_machine;
        symbols->relocated = header.e_type == ET_REL;
    }
    symbols->dwarf = dwfl_module_getdwarf(symbols->linked.module, &symbols->dwarf_bias);
    const char *cause = symbols->dwarf ? NULL : dwfl_errmsg(-1);
    if (symbols->dwarf)
        list_units(symbols);
    if (symbols->units.count == 0 && elf && has_debug_section(elf))
        lull_fail(why, LULL_ERR_FORMAT, "%s: its debug information cannot be read: %s", path,
                  cause ? cause : "it is damaged, or compressed in a way that libdw does not know");
}

enum lull_symbols_found lull_symbols_open_told(const char *path, const char *build_id,
                                               struct lull_symbols **ret_symbols,
                                               struct lull_error *why)
{
    if (lull_check_read(path, why) != LULL_OK)
        return LULL_SYMBOLS_ABSENT;
    struct lull_symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols) {
        lull_fail(why, LULL_ERR_MEMORY, "%s: out of memory", path);
        return LULL_SYMBOLS_ABSENT;
    }
    enum lull_symbols_found found;
    symbols->dwfl = dwfl_begin(&callbacks);
    symbols->linked.module =
        symbols->dwfl ? dwfl_report_offline(symbols->dwfl, path, path, -1) : NULL;
    if (symbols->linked.module && dwfl_report_end(symbols->dwfl, NULL, NULL) == 0 &&
        dwfl_module_getelf(symbols->linked.module, &symbols->linked.bias))
        found = check_build_id(symbols->linked.module, path, build_id, why);
    else
        found = fail_absent(why, path);
    if (found != LULL_SYMBOLS_FOUND) {
        lull_symbols_close(symbols);
        return found;
    }
    read_file(symbols, path, why);
    *ret_symbols = symbols;
    return LULL_SYMBOLS_FOUND;
}

enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols)
{
    return lull_symbols_open_told(path, build_id, ret_symbols, NULL);
}

void lull_symbols_close(struct lull_symbols *symbols)
{
    close_own_dwarf(symbols);
    if (symbols->dwfl)
        dwfl_end(symbols->dwfl);
    free(symbols->units.all);
    free(symbols->functions.all);
    free(symbols->frames.all);
    free(symbols->frames.ranges);
    free(symbols->frames.segments);
    lull_arena_destroy(symbols->loops.arena);
    forget_texts(&symbols->of_unit);
    forget_texts(&symbols->of_linked);
    free(symbols->of_unit.all);
    free(symbols->of_linked.all);
    lull_linked_free(&symbols->linked);
    free(symbols);
}

#else

enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols)
{
    return lull_symbols_open_told(path, build_id, ret_symbols, NULL);
}

enum lull_symbols_found lull_symbols_open_told(const char *path, const char *build_id,
                                               struct lull_symbols **ret_symbols,
                                               struct lull_error *why)
{
    (void)build_id, (void)ret_symbols;
    lull_fail(why, LULL_ERR_UNSUPPORTED, "%s: lull was built without libdw", path);
    return LULL_SYMBOLS_NOT_BUILT;
}

uint64_t lull_symbols_unit(struct lull_symbols *symbols, uint64_t offset)
{
    (void)symbols, (void)offset;
    return 0;
}

struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena)
{
    (void)symbols, (void)offset, (void)arena;
    return (struct lull_symbol){.function = "", .short_name = "", .whole_name = "", .file = ""};
}

struct lull_function lull_symbols_function(struct lull_symbols *symbols, uint64_t offset,
                                           struct lull_arena *arena)
{
    (void)symbols, (void)offset, (void)arena;
    return (struct lull_function){"", "", "", 0};
}

struct lull_compilation lull_symbols_compilation(struct lull_symbols *symbols, uint64_t offset,
                                                 struct lull_arena *arena)
{
    (void)symbols, (void)offset, (void)arena;
    return (struct lull_compilation){.language = "", .file = "", .producer = ""};
}

void lull_symbols_visit(struct lull_symbols *symbols, lull_function_visit *visit, void *context)
{
    (void)symbols, (void)visit, (void)context;
}

bool lull_symbols_needs(struct lull_symbols *symbols, const char *name)
{
    (void)symbols, (void)name;
    return false;
}

void lull_symbols_close(struct lull_symbols *symbols)
{
    (void)symbols;
}

#endif

bool lull_is_system_header(const char *file)
{
    return strncmp(file, "/usr/include/", strlen("/usr/include/")) == 0 ||
           strncmp(file, "/usr/lib/", strlen("/usr/lib/")) == 0 || strstr(file, "/include/c++/");
}

const struct lull_symbol *lull_symbol_of_program(const struct lull_symbol *symbol)
{
    const struct lull_symbol *own = symbol;
    while (own->caller && lull_is_system_header(own->file))
        own = own->caller;
    return lull_is_system_header(own->file) ? symbol : own;
}
