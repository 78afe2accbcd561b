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
#include "base/hash.h"
#include "base/mix.h"
#include "binary/code_loops.h"
#include "binary/demangle.h"
#include "binary/instruction.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NONE = UINT32_MAX,
    MOST_READ = 64 << 20,  /* bytes */
    MOST_RANGES = 1 << 22, /* of the functions of a unit, and of what is inlined in one */
    MOST_PAINTED = 1 << 26 /* segments of a function that inlined functions are entered in */
};

/* A range of addresses, and the unit or function that it belongs to. */
struct range {
    uint64_t begin, end;
    Dwarf_Off die;
};

struct ranges {
    struct range *all; /* ascending by begin */
    size_t count, capacity;
};

/* A function of the symbol table. */
struct linked {
    uint64_t begin, end; /* addresses in the file */
    const char *name;
    bool is_seen; /* by other files */
};

/* A memory of the program that holds a pointer to a function of another file. */
struct slot {
    uint64_t address;
    const char *name; /* of the function */
};

/* The function whose code was asked for last, or one that was inlined in it. */
struct frame {
    Dwarf_Die die;
    uint32_t outer; /* the frame that it is inlined in; NONE: it is the function itself */
    uint32_t line;  /* of the function's definition; 0: not known */
    uint64_t begin; /* of its code; UINT64_MAX: it has none */
    const struct lull_symbol *caller; /* the place where it is inlined, once that was asked for */
};

struct segment {
    uint64_t begin; /* up to the begin of the next segment */
    uint32_t frame; /* the innermost one */
};

/* A range of code that a frame has. */
struct painted {
    uint64_t begin, end;
    uint32_t frame;
};

struct frames {
    Dwarf_Off die; /* of the function; 0: none was asked for */
    struct frame *all;
    size_t count, capacity;
    struct painted *ranges;
    size_t n_ranges, ranges_capacity;
    struct segment *segments; /* ascending */
    size_t n_segments, segments_capacity;
};

/* Loops of the function whose loops were asked for last. */
struct loops {
    struct lull_arena *arena; /* of the rest */
    struct lull_code_loops code;
    const struct lull_loop **of; /* for each loop of `code` */
    struct lull_hash statements; /* struct loop_line, while lines are collected */
};

struct names {
    const char *function, *short_name, *whole_name;
};

/* Names by the address of what they were made of. */
struct texts {
    struct lull_hash table; /* address -> index of `all` */
    struct names *all;
    size_t count, capacity;
};

struct lull_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf *dwarf; /* NULL: there is no debug information */
    struct own_dwarf {
        int fd;
        Elf *elf;
        Dwarf *dwarf; /* NULL: `dwarf` is libdwfl's */
    } own;
    bool relocated; /* a file whose addresses are not final */
    GElf_Addr dwarf_bias, bias;
    const char *path;
    unsigned machine;
    const uint8_t *image; /* the bytes of the file; NULL: it cannot be read so */
    size_t image_size;
    struct ranges units;
    struct ranges functions; /* of `unit` only */
    Dwarf_Off unit;          /* the unit asked for last */
    Dwarf_Die body;          /* what holds its functions, perhaps in another file */
    bool exceptions;         /* its language has exceptions */
    uint64_t read;           /* bytes of debug information since the file was opened */
    struct frames frames;
    struct loops loops;
    /* Texts in the arena, by the address of what they were made of: dies and names of files of
     * `unit`, and names of functions of all units, which the linker has put into one table. */
    struct texts of_unit, of_linked;
    struct linked *linked; /* ascending by begin, once they were needed */
    size_t n_linked, linked_capacity;
    struct slot *slots; /* ascending */
    size_t n_slots, slots_capacity;
    bool has_linked, has_slots;
};

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
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

/* ---- the file's own bytes -------------------------------------------------------------------- */

/* Finds `size` bytes at an address in the file; NULL: it does not hold them, or, with `constant`, a
 * program may change them. *ret_left is how many follow in the same segment. */
static const uint8_t *bytes_at(const struct lull_symbols *symbols, uint64_t address, size_t size,
                               uint64_t *ret_left)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    size_t count;
    if (!symbols->image || !elf || elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
            address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
            continue;
        const uint64_t inside = address - header.p_vaddr, left = header.p_filesz - inside;
        if (left < size || header.p_offset > symbols->image_size ||
            inside > symbols->image_size - header.p_offset ||
            symbols->image_size - header.p_offset - inside < size)
            return NULL;
        const uint64_t in_file = symbols->image_size - header.p_offset - inside;
        *ret_left = left < in_file ? left : in_file;
        return symbols->image + header.p_offset + inside;
    }
    return NULL;
}

/* ---- symbols of the linker ------------------------------------------------------------------- */

/* Of several names of one function the last one counts: one that other files see before one that they do
 * not, then the one with fewer underscores in front, then the shorter one: "MPI_Send" of "MPI_Send" and
 * "PMPI_Send", "confstr" of "confstr" and "__confstr". */
static int by_linked_begin(const void *a, const void *b)
{
    const struct linked *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->is_seen != y->is_seen)
        return x->is_seen ? 1 : -1;
    const size_t of_x = strspn(x->name, "_"), of_y = strspn(y->name, "_");
    const size_t length_x = strlen(x->name), length_y = strlen(y->name);
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    if (length_x != length_y)
        return length_x > length_y ? -1 : 1;
    return -strcmp(x->name, y->name);
}

static bool is_function(const GElf_Sym *symbol)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* Sorts the functions of the symbol table. libdwfl itself goes through all of them for each address. */
static void list_linked(struct lull_symbols *symbols)
{
    const int count = dwfl_module_getsymtab(symbols->module);
    symbols->has_linked = true;
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name =
            dwfl_module_getsym_info(symbols->module, i, &symbol, &address, NULL, NULL, NULL);
        if (!name || !*name || !is_function(&symbol) || symbol.st_size == 0)
            continue;
        if (!lull_array_reserve(&symbols->linked, &symbols->linked_capacity, symbols->n_linked + 1,
                                sizeof *symbols->linked))
            break;
        const unsigned binding = GELF_ST_BIND(symbol.st_info);
        const uint64_t begin = address - symbols->bias, end = begin + symbol.st_size;
        symbols->linked[symbols->n_linked++] =
            (struct linked){begin, end < begin ? UINT64_MAX : end, name,
                            binding == STB_GLOBAL || binding == STB_WEAK};
    }
    if (symbols->n_linked > 1)
        qsort(symbols->linked, symbols->n_linked, sizeof *symbols->linked, by_linked_begin);
}

/* The function of the symbol table at an offset; NULL: none. */
static const struct linked *find_linked(struct lull_symbols *symbols, uint64_t offset)
{
    enum { AROUND = 16 }; /* parts of assembler code may be symbols inside of others */
    if (!symbols->has_linked)
        list_linked(symbols);
    size_t behind =
        lull_sorted_first_u64(symbols->linked, symbols->n_linked, sizeof *symbols->linked,
                              offsetof(struct linked, begin), offset + 1);
    for (size_t i = 0; i < AROUND && behind-- > 0; i++)
        if (offset < symbols->linked[behind].end)
            return &symbols->linked[behind];
    return NULL;
}

static int by_slot_address(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void add_slots_of(struct lull_symbols *symbols, Elf *elf, Elf_Scn *section,
                         const GElf_Shdr *header)
{
    GElf_Shdr of_names;
    Elf_Scn *table = elf_getscn(elf, header->sh_link);
    Elf_Data *relocations = elf_getdata(section, NULL);
    Elf_Data *names = table ? elf_getdata(table, NULL) : NULL;
    if (!relocations || !names || !gelf_getshdr(table, &of_names) || header->sh_entsize == 0)
        return;
    const size_t count = header->sh_size / header->sh_entsize;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Rela relocation;
        GElf_Sym symbol;
        if (!gelf_getrela(relocations, (int)i, &relocation))
            return;
        if (GELF_R_SYM(relocation.r_info) == 0 || GELF_R_SYM(relocation.r_info) > INT32_MAX ||
            !gelf_getsym(names, (int)GELF_R_SYM(relocation.r_info), &symbol))
            continue;
        const char *name = elf_strptr(elf, of_names.sh_link, symbol.st_name);
        if (!name || !*name ||
            !lull_array_reserve(&symbols->slots, &symbols->slots_capacity, symbols->n_slots + 1,
                                sizeof *symbols->slots))
            continue;
        symbols->slots[symbols->n_slots++] = (struct slot){relocation.r_offset, name};
    }
}

static void list_slots(struct lull_symbols *symbols)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    symbols->has_slots = true;
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
            add_slots_of(symbols, elf, section, &header);
    }
    if (symbols->n_slots > 1)
        qsort(symbols->slots, symbols->n_slots, sizeof *symbols->slots, by_slot_address);
}

/* The function whose address the dynamic linker writes into a slot; NULL: not known. */
static const char *name_of_slot(struct lull_symbols *symbols, uint64_t address)
{
    if (!symbols->has_slots)
        list_slots(symbols);
    const size_t at =
        lull_sorted_first_u64(symbols->slots, symbols->n_slots, sizeof *symbols->slots,
                              offsetof(struct slot, address), address);
    return at < symbols->n_slots && symbols->slots[at].address == address ? symbols->slots[at].name
                                                                          : NULL;
}

/* The function that a stub at an offset calls; NULL: there is no stub. Stubs have 16 bytes, some 8. */
static const char *name_of_stub(struct lull_symbols *symbols, uint64_t offset)
{
    for (uint64_t size = 16; size >= 8; size /= 2) {
        uint64_t left;
        const uint64_t begin = offset / size * size;
        const uint8_t *code = bytes_at(symbols, begin, 1, &left);
        const uint64_t slot = code ? lull_instruction_stub(symbols->machine, code, left, begin) : 0;
        const char *name = slot ? name_of_slot(symbols, slot) : NULL;
        if (name)
            return name;
    }
    return NULL;
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

static const char *text_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* The names that belong to an address; new ones are empty. NULL: no memory. */
static struct names *find_texts(struct texts *texts, const void *key, bool *ret_new)
{
    uint64_t *at = lull_hash_add(&texts->table, &key, sizeof key, texts->count, ret_new);
    if (!at)
        return NULL;
    if (*ret_new) {
        if (!lull_array_reserve(&texts->all, &texts->capacity, texts->count + 1,
                                sizeof *texts->all))
            return NULL;
        texts->all[texts->count++] = (struct names){"", "", ""};
    }
    return *at < texts->count ? &texts->all[*at] : NULL;
}

static void forget_texts(struct texts *texts)
{
    lull_hash_free(&texts->table);
    texts->count = 0;
}

/* A name of a file in the arena, where each of a unit is kept once. */
static const char *keep_text(struct lull_symbols *symbols, const char *text,
                             struct lull_arena *arena)
{
    bool is_new = false;
    struct names *kept = text ? find_texts(&symbols->of_unit, text, &is_new) : NULL;
    if (!kept)
        return "";
    if (is_new)
        kept->function = lull_arena_strdup(arena, text);
    return kept->function;
}

/* The long names that a name of the linker stands for; `function` where it can't be read. */
static void name_as_linked(const char *linked, struct lull_arena *arena, struct names *names)
{
    const char *whole = lull_demangle(arena, linked);
    names->whole_name = whole == linked ? names->function : whole;
    names->short_name = whole == linked ? names->function : lull_short_name(arena, whole);
}

/* The names of a function, inlined or not. */
static struct names names_of(struct lull_symbols *symbols, Dwarf_Die *die, struct lull_arena *arena)
{
    bool is_new = false;
    struct names *kept = find_texts(&symbols->of_unit, die->addr, &is_new);
    if (kept && !is_new)
        return *kept;
    struct names names = {.function = plain_name(dwarf_diename(die), arena)};
    const char *linked = text_attribute(die, DW_AT_linkage_name);
    if (!linked)
        linked = text_attribute(die, DW_AT_MIPS_linkage_name);
    if (linked && *linked == '_') {
        bool first = true;
        struct names *known = find_texts(&symbols->of_linked, linked, &first);
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

/* The file and line of a row of the line table; NULL: it has none. */
static const char *file_of_row(Dwarf_Line *row, uint32_t *ret_line)
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
    const char *file = file_of_row(dwarf_getsrc_die(unit, address), &symbol->line);
    if (!file)
        return;
    symbol->file = keep_text(symbols, file, arena);
    symbol->included = is_other_file(dwarf_diename(unit), file);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name)
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

/* The file in which a function is defined. dwarf_decl_file ends the program where the unit has no
 * table of files. */
static const char *file_of_definition(Dwarf_Die *die)
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

/* The place where an inlined function was called in the source; NULL: not known. */
static const char *file_of_call(Dwarf_Die *unit, Dwarf_Die *inlined, uint32_t *ret_line)
{
    const char *name = file_of_unit(unit, number_of(inlined, DW_AT_call_file));
    if (name)
        *ret_line = (uint32_t)number_of(inlined, DW_AT_call_line);
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
    frames->all[frames->count++] = (struct frame){.die = *die,
                                                  .outer = outer,
                                                  .line = (uint32_t)number_of(die, DW_AT_decl_line),
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
        segments[count++] = (struct segment){frames->ranges[i].begin, NONE};
        segments[count++] = (struct segment){frames->ranges[i].end, NONE};
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

/* The innermost frame at an address; NONE: the function does not have it. */
static uint32_t frame_at(const struct frames *frames, uint64_t address)
{
    const size_t behind =
        lull_sorted_first_u64(frames->segments, frames->n_segments, sizeof *frames->segments,
                              offsetof(struct segment, begin), address + 1);
    return behind > 0 ? frames->segments[behind - 1].frame : NONE;
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
    add_frame(frames, &die, NONE);
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
    (void)dwfl_module_info(symbols->module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
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

/* Finds the compilation unit of an address; false: there is none. */
static bool find_unit(struct lull_symbols *symbols, uint64_t address, Dwarf_Die *unit)
{
    const struct range *range = find_range(&symbols->units, address);
    if (range && range->die != symbols->unit && symbols->read > MOST_READ)
        renew_dwarf(symbols);
    if (!range || !symbols->dwarf || !dwarf_offdie(symbols->dwarf, range->die, unit))
        return false;
    read_unit(symbols, range->die, unit);
    return true;
}

/* Finds the function of an address and what is inlined in it; NONE: there is none. */
static uint32_t find_frame(struct lull_symbols *symbols, uint64_t address)
{
    const struct range *inside = find_range(&symbols->functions, address);
    return inside && list_frames(symbols, inside->die) ? frame_at(&symbols->frames, address) : NONE;
}

static void name_frame(struct lull_symbols *symbols, uint32_t frame, struct lull_arena *arena,
                       struct lull_symbol *symbol)
{
    const struct names names = names_of(symbols, &symbols->frames.all[frame].die, arena);
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
    for (struct frame *is = &symbols->frames.all[frame]; is->outer != NONE;
         is = &symbols->frames.all[is->outer]) {
        symbol->caller = is->caller;
        if (is->caller)
            return;
        struct lull_symbol *caller = lull_arena_zero(arena, 1, sizeof *caller);
        const char *file = file_of_call(&symbols->body, &is->die, &caller->line);
        caller->file = keep_text(symbols, file, arena);
        name_frame(symbols, is->outer, arena, caller);
        symbol->caller = is->caller = caller;
        symbol = caller;
    }
}

static void find_in_dwarf(struct lull_symbols *symbols, uint64_t offset, struct lull_arena *arena,
                          struct lull_symbol *symbol)
{
    uint64_t address = offset + symbols->bias - symbols->dwarf_bias;
    Dwarf_Die unit;
    if (!find_unit(symbols, address, &unit))
        return;
    find_line(symbols, &unit, address, arena, symbol);
    const uint32_t frame = find_frame(symbols, address);
    if (frame != NONE)
        name_frames(symbols, frame, arena, symbol);
}

/* The name of the function in the symbol table, which may be all that the file has. */
static const char *name_of_symbol(struct lull_symbols *symbols, uint64_t offset,
                                  struct lull_arena *arena)
{
    const struct linked *linked = find_linked(symbols, offset);
    return linked ? own_name(linked->name, arena) : "";
}

static void find_in_symbol_table(struct lull_symbols *symbols, uint64_t offset,
                                 struct lull_arena *arena, struct lull_symbol *symbol)
{
    const struct linked *linked = find_linked(symbols, offset);
    const char *stub = linked ? NULL : name_of_stub(symbols, offset);
    if (stub) {
        symbol->function = lull_arena_printf(arena, "%s@plt", stub);
        symbol->whole_name = lull_arena_printf(arena, "%s@plt", lull_demangle(arena, stub));
        symbol->short_name =
            lull_arena_printf(arena, "%s@plt", lull_short_name(arena, lull_demangle(arena, stub)));
        return;
    }
    symbol->function = linked ? plain_name(linked->name, arena) : "";
    symbol->short_name = symbol->whole_name = symbol->function;
    struct names names = {.function = symbol->function};
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
        find_range(&symbols->units, offset + symbols->bias - symbols->dwarf_bias);
    return range ? range->die : 0;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A loop of the machine code, while its lines are collected. */
struct loop_lines {
    uint32_t frame; /* the innermost one that has all of it; NONE: nothing of it has a line yet */
    const char *file;
    uint32_t first, last;
    bool is_definition; /* its rows have no lines but those of definitions */
    int rank;           /* of the line `first` (rank_of_line) */
    uint32_t group;
};

/* Loops of the source: those of the machine code with the same key are one. */
struct loop_key {
    uint64_t path; /* of calls that were inlined, and the function */
    const char *file;
    uint64_t first;
    uint64_t level; /* how many of the loops around it begin at the same line */
};

struct loop_group {
    uint32_t last, depth, copies;
};

static uint32_t common_frame(const struct frames *frames, uint32_t a, uint32_t b)
{
    while (a != b) /* an outer frame has a lower number */
        if (a > b)
            a = frames->all[a].outer;
        else
            b = frames->all[b].outer;
    return a;
}

/* The frame below `frame` that `inner` is in; `frame` itself if `inner` is that; NONE: it is in none. */
static uint32_t frame_below(const struct frames *frames, uint32_t frame, uint32_t inner)
{
    while (inner != frame && inner != NONE && frames->all[inner].outer != frame)
        inner = frames->all[inner].outer;
    return inner;
}

/* The block of the last function that holds an offset; NULL: none. */
static const struct lull_code_block *find_block(const struct lull_symbols *symbols, uint64_t offset)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    const size_t behind =
        lull_sorted_first_u64(code->blocks, code->n_blocks, sizeof *code->blocks,
                              offsetof(struct lull_code_block, begin), offset + 1);
    return behind > 0 && offset < code->blocks[behind - 1].end ? &code->blocks[behind - 1] : NULL;
}

/* A row of the line table in a loop. */
struct row {
    Dwarf_Line *line;
    bool empty; /* another row has the same address: no code belongs to this one */
    uint32_t frame, loop;
    uint64_t address;
};
typedef void row_visit(struct lull_symbols *symbols, struct row row, struct loop_lines *lines);

/* Visits the rows of the line table in the blocks of loops. */
static void visit_rows(struct lull_symbols *symbols, Dwarf_Die *unit, row_visit *visit,
                       struct loop_lines *lines)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    const uint64_t shift = symbols->bias - symbols->dwarf_bias;
    Dwarf_Lines *rows;
    size_t count;
    if (dwarf_getsrclines(unit, &rows, &count) != 0)
        return;
    for (uint32_t i = 0; i < code->n_blocks; i++) {
        const struct lull_code_block *block = &code->blocks[i];
        const uint64_t begin = block->begin + shift, end = block->end + shift;
        if (block->loop == NONE)
            continue;
        size_t low = 0, high = count; /* the first row that is not before the block */
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            Dwarf_Addr address = 0;
            (void)dwarf_lineaddr(dwarf_onesrcline(rows, middle), &address);
            if (address < begin)
                low = middle + 1;
            else
                high = middle;
        }
        Dwarf_Addr address = 0, next = 0;
        for (size_t k = low > 0 ? low - 1 : 0; k < count; k++, address = next) {
            Dwarf_Line *row = dwarf_onesrcline(rows, k);
            bool ends = false;
            next = UINT64_MAX;
            (void)dwarf_lineaddr(row, &address);
            if (k + 1 < count)
                (void)dwarf_lineaddr(dwarf_onesrcline(rows, k + 1), &next);
            (void)dwarf_lineendsequence(row, &ends);
            if (address >= end)
                break;
            const bool empty = next == address;
            if (ends || (empty ? address < begin : next <= begin))
                continue;
            const uint64_t at = address < begin ? begin : address;
            const uint32_t frame = frame_at(&symbols->frames, at);
            if (frame != NONE)
                visit(symbols, (struct row){row, empty, frame, block->loop, at - shift}, lines);
        }
    }
}

/* Whether a row has the line in which the function of its frame is defined. gcc 14 gives that line to
 * code that it made for a Fortran program's inlined loops. Such rows do not tell where a loop stands,
 * unless the loop has no others: its function is written in one line. */
static bool is_definition(const struct lull_symbols *symbols, uint32_t frame, uint32_t line)
{
    return symbols->frames.all[frame].line == line;
}

static void join_frame(struct lull_symbols *symbols, struct row row, struct loop_lines *loop)
{
    loop->frame =
        loop->frame == NONE ? row.frame : common_frame(&symbols->frames, loop->frame, row.frame);
}

static void join_frames(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    uint32_t line;
    if (row.empty || !file_of_row(row.line, &line) || is_definition(symbols, row.frame, line))
        return;
    for (uint32_t i = row.loop; i != NONE; i = symbols->loops.code.loops[i].outer)
        join_frame(symbols, row, &lines[i]);
}

/* Of loops all of whose rows have the lines of definitions. */
static void join_definitions(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    uint32_t line;
    if (row.empty || !file_of_row(row.line, &line))
        return;
    for (uint32_t i = row.loop; i != NONE; i = symbols->loops.code.loops[i].outer)
        if (lines[i].is_definition)
            join_frame(symbols, row, &lines[i]);
}

/* The frame in a loop's frame that a row is of, or the loop's frame itself. NONE: the row is of neither. */
static uint32_t frame_in_loop(const struct lull_symbols *symbols, struct row row,
                              const struct loop_lines *loop)
{
    return loop->frame == NONE ? NONE : frame_below(&symbols->frames, loop->frame, row.frame);
}

/* The line that a row has in the source of a loop: its own, or that of the call by which its function
 * was inlined there. 0: it has none in the loop's file. */
static uint32_t line_in_loop(struct lull_symbols *symbols, struct row row, struct loop_lines *loop)
{
    const uint32_t below = frame_in_loop(symbols, row, loop);
    uint32_t line = 0;
    const char *file = below == NONE ? NULL
                       : below == loop->frame
                           ? file_of_row(row.line, &line)
                           : file_of_call(&symbols->body, &symbols->frames.all[below].die, &line);
    if (!file)
        return 0;
    if (!loop->file)
        loop->file = file;
    return strcmp(loop->file, file) == 0 ? line : 0;
}

struct loop_line {
    uint32_t loop, line;
};

/* Whether the compiler marks as begins of statements only code that was not moved: gcc. LLVM gives code
 * that it moves no line, and marks only the first instruction of each statement. */
static bool tells_moved_code(Dwarf_Die *unit)
{
    const char *producer = text_attribute(unit, DW_AT_producer);
    return producer && strncmp(producer, "GNU ", 4) == 0;
}

/* Notes the lines of which a statement begins in a loop. */
static void note_statements(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    bool begins = false;
    if (dwarf_linebeginstatement(row.line, &begins) != 0 || !begins)
        return;
    for (uint32_t i = row.loop; i != NONE; i = symbols->loops.code.loops[i].outer) {
        const struct loop_line key = {i, line_in_loop(symbols, row, &lines[i])};
        if (key.line > 0)
            (void)lull_hash_add(&symbols->loops.statements, &key, sizeof key, 0, NULL);
    }
}

/* Whether the code of a frame begins in a loop. */
static bool begins_in_loop(const struct lull_symbols *symbols, uint32_t frame, uint32_t loop)
{
    const struct lull_code_block *block =
        find_block(symbols, symbols->frames.all[frame].begin - symbols->bias + symbols->dwarf_bias);
    uint32_t at = block ? block->loop : NONE;
    while (at != loop && at != NONE)
        at = symbols->loops.code.loops[at].outer;
    return at != NONE;
}

/* How well the line `key` of a row says where a loop begins. Compilers move code from before a loop into
 * it. gcc tells so: no statement of its line begins there. LLVM does not, but where the code was inlined,
 * its function begins before the loop. */
static int rank_of_line(const struct lull_symbols *symbols, struct row row,
                        const struct loop_lines *loop, struct loop_line key)
{
    const uint32_t below = frame_in_loop(symbols, row, loop);
    if (below == loop->frame ? is_definition(symbols, below, key.line)
                             : !begins_in_loop(symbols, below, key.loop))
        return 0;
    return lull_hash_find(&symbols->loops.statements, &key, sizeof key) ? 2 : 1;
}

static void join_lines(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    if (row.empty)
        return;
    for (uint32_t i = row.loop; i != NONE; i = symbols->loops.code.loops[i].outer) {
        struct loop_lines *own = &lines[i];
        const struct loop_line key = {i, line_in_loop(symbols, row, own)};
        if (key.line == 0)
            continue;
        const int rank = rank_of_line(symbols, row, own, key);
        if (own->first == 0 || rank > own->rank || (rank == own->rank && key.line < own->first)) {
            own->first = key.line;
            own->rank = rank;
        }
        own->last = key.line > own->last ? key.line : own->last;
    }
}

/* A number for the calls that a frame was inlined by. */
static uint64_t path_of_frame(struct lull_symbols *symbols, uint32_t frame)
{
    uint64_t path = 0;
    for (; frame != NONE; frame = symbols->frames.all[frame].outer) {
        Dwarf_Die *die = &symbols->frames.all[frame].die, origin;
        Dwarf_Attribute attribute;
        const bool has = dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
                         dwarf_formref_die(&attribute, &origin);
        path = lull_scatter(path ^ (uint64_t)(uintptr_t)(has ? origin.addr : die->addr));
        path = lull_scatter(path + number_of(die, DW_AT_call_line));
    }
    return path;
}

/* Finds which loops of the machine code are one loop of the source. */
static bool group_loops(struct lull_symbols *symbols, struct loop_lines *lines,
                        struct loop_group *groups)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    struct lull_hash table = {0};
    bool good = true;
    for (uint32_t i = 0; i < code->n_loops && good; i++) {
        if (lines[i].first == 0)
            continue;
        struct loop_key key = {.path = path_of_frame(symbols, lines[i].frame),
                               .file = lines[i].file,
                               .first = lines[i].first};
        for (uint32_t outer = code->loops[i].outer; outer != NONE; outer = code->loops[outer].outer)
            key.level += lines[outer].first == lines[i].first && lines[outer].file == lines[i].file;
        const uint64_t *group = lull_hash_add(&table, &key, sizeof key, table.count, NULL);
        good = group != NULL;
        if (!good)
            break;
        lines[i].group = (uint32_t)*group;
        groups[*group].copies++;
        if (groups[*group].depth < code->loops[i].depth) /* one around it may be unrolled wholly */
            groups[*group].depth = code->loops[i].depth;
        if (groups[*group].last < lines[i].last)
            groups[*group].last = lines[i].last;
    }
    lull_hash_free(&table);
    return good;
}

/* Gives each loop of the machine code its lines. */
static bool find_lines_of_loops(struct lull_symbols *symbols, struct lull_arena *arena)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    struct loop_lines *lines = lull_arena_try(symbols->loops.arena, code->n_loops, sizeof *lines);
    struct loop_group *groups = lull_arena_try(symbols->loops.arena, code->n_loops, sizeof *groups);
    symbols->loops.of =
        lull_arena_try(symbols->loops.arena, code->n_loops, sizeof *symbols->loops.of);
    if (!lines || !groups || !symbols->loops.of)
        return false;
    for (uint32_t i = 0; i < code->n_loops; i++)
        lines[i].frame = lines[i].group = NONE;
    Dwarf_Die unit;
    const bool known = symbols->frames.die != 0 && symbols->frames.count > 0 &&
                       dwarf_offdie(symbols->dwarf, symbols->unit, &unit);
    if (known) {
        visit_rows(symbols, &unit, join_frames, lines);
        for (uint32_t i = 0; i < code->n_loops; i++)
            lines[i].is_definition = lines[i].frame == NONE;
        visit_rows(symbols, &unit, join_definitions, lines);
        for (uint32_t i = 0; i < code->n_loops; i++)
            if (lines[i].frame != NONE)
                lines[i].file = file_of_definition(&symbols->frames.all[lines[i].frame].die);
        if (tells_moved_code(&symbols->body))
            visit_rows(symbols, &unit, note_statements, lines);
        visit_rows(symbols, &unit, join_lines, lines);
        lull_hash_free(&symbols->loops.statements);
        if (!group_loops(symbols, lines, groups))
            return false;
    }
    for (uint32_t i = 0; i < code->n_loops; i++) {
        const struct lull_code_loop *is = &code->loops[i];
        struct lull_loop *loop = lull_arena_zero(arena, 1, sizeof *loop);
        *loop = (struct lull_loop){
            .function = "", .file = "", .depth = is->depth, .copies = 1, .head = is->head};
        loop->outer = is->outer == NONE ? NULL : symbols->loops.of[is->outer];
        symbols->loops.of[i] = loop;
        if (lines[i].group == NONE)
            continue;
        loop->function =
            names_of(symbols, &symbols->frames.all[lines[i].frame].die, arena).function;
        loop->file = keep_text(symbols, lines[i].file, arena);
        loop->first = lines[i].first;
        loop->last = groups[lines[i].group].last;
        loop->depth = groups[lines[i].group].depth;
        loop->copies = groups[lines[i].group].copies;
    }
    return true;
}

static const uint8_t *constant_data(void *context, uint64_t address, size_t size)
{
    uint64_t left;
    return bytes_at(context, address, size, &left);
}

/* Whether a function never returns, by its name. */
static bool never_returns(void *context, uint64_t target, uint64_t slot)
{
    static const char *const names[] = {"abort",
                                        "exit",
                                        "_exit",
                                        "_Exit",
                                        "quick_exit",
                                        "longjmp",
                                        "siglongjmp",
                                        "__longjmp_chk",
                                        "__assert_fail",
                                        "__assert_perror_fail",
                                        "__stack_chk_fail",
                                        "__chk_fail",
                                        "__fortify_fail",
                                        "__cxa_throw",
                                        "__cxa_rethrow",
                                        "__cxa_bad_cast",
                                        "__cxa_bad_typeid",
                                        "__cxa_call_unexpected",
                                        "__cxa_throw_bad_array_new_length",
                                        "__cxa_pure_virtual",
                                        "_Unwind_Resume",
                                        "__clang_call_terminate",
                                        "_ZSt9terminatev",
                                        "_gfortran_stop_numeric",
                                        "_gfortran_stop_string",
                                        "_gfortran_error_stop_numeric",
                                        "_gfortran_error_stop_string",
                                        "_gfortran_runtime_error",
                                        "_gfortran_runtime_error_at",
                                        "_gfortran_os_error",
                                        "_gfortran_os_error_at",
                                        "pthread_exit",
                                        "MPI_Abort"};
    static const char thrown[] = "_ZSt"; /* std::__throw_out_of_range and the like */
    struct lull_symbols *symbols = context;
    const struct linked *linked = target ? find_linked(symbols, target) : NULL;
    const char *name = slot                                ? name_of_slot(symbols, slot)
                       : linked && linked->begin == target ? linked->name
                       : linked                            ? NULL
                                                           : name_of_stub(symbols, target);
    if (!name)
        return false;
    if (strncmp(name, thrown, sizeof thrown - 1) == 0 && strstr(name, "__throw_"))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int by_part(const void *a, const void *b)
{
    const struct lull_code_part *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void add_part(struct lull_symbols *symbols, struct lull_code_part *parts, size_t *count,
                     uint64_t begin, uint64_t end)
{
    uint64_t left;
    const uint8_t *bytes = begin < end ? bytes_at(symbols, begin, 1, &left) : NULL;
    if (bytes)
        parts[(*count)++] =
            (struct lull_code_part){bytes, begin, end - begin < left ? end - begin : left};
}

/* Lists the parts of the function at an offset; 0: it is not known. */
static size_t list_parts(struct lull_symbols *symbols, uint64_t offset, bool in_dwarf,
                         struct lull_code *code)
{
    const struct frames *frames = &symbols->frames;
    const uint64_t shift = symbols->bias - symbols->dwarf_bias;
    const struct linked *linked = in_dwarf ? NULL : find_linked(symbols, offset);
    struct lull_code_part *parts =
        lull_arena_try(symbols->loops.arena, in_dwarf ? frames->n_ranges + 1 : 1, sizeof *parts);
    size_t count = 0, kept = 0;
    if (!parts || (!in_dwarf && !linked))
        return 0;
    for (size_t i = 0; in_dwarf && i < frames->n_ranges && frames->ranges[i].frame == 0; i++)
        add_part(symbols, parts, &count, frames->ranges[i].begin - shift,
                 frames->ranges[i].end - shift);
    if (linked)
        add_part(symbols, parts, &count, linked->begin, linked->end);
    if (count == 0)
        return 0;
    /* The first range is where the function begins, unless the die says otherwise. */
    Dwarf_Addr entry = parts[0].address + shift;
    if (in_dwarf)
        (void)dwarf_entrypc(&symbols->frames.all[0].die, &entry);
    qsort(parts, count, sizeof *parts, by_part);
    for (size_t i = 0; i < count; i++) /* in a damaged file ranges may overlap */
        if (kept == 0 || parts[i].address >= parts[kept - 1].address + parts[kept - 1].size)
            parts[kept++] = parts[i];
    code->entry = parts[0].address;
    for (size_t i = 0; i < kept; i++)
        if (entry - shift >= parts[i].address && entry - shift - parts[i].address < parts[i].size)
            code->entry = entry - shift;
    code->parts = parts;
    code->exceptions = in_dwarf ? symbols->exceptions : strncmp(linked->name, "_Z", 2) == 0;
    return kept;
}

/* Finds the loops of the function at an offset, unless they are known. */
static bool find_loops(struct lull_symbols *symbols, uint64_t offset, bool in_dwarf,
                       struct lull_arena *arena)
{
    struct loops *loops = &symbols->loops;
    lull_arena_destroy(loops->arena);
    *loops = (struct loops){.arena = lull_arena_create(NULL)};
    struct lull_code code = {.machine = symbols->machine,
                             .data = constant_data,
                             .never_returns = never_returns,
                             .context = symbols};
    code.n_parts = list_parts(symbols, offset, in_dwarf, &code);
    if (code.n_parts == 0 || !lull_code_loops_find(&code, loops->arena, &loops->code))
        return false;
    if (loops->code.n_loops > 0 && !find_lines_of_loops(symbols, arena))
        loops->code.n_blocks = loops->code.n_loops = 0;
    return true;
}

const struct lull_loop *lull_symbols_loop(struct lull_symbols *symbols, uint64_t offset,
                                          struct lull_arena *arena)
{
    const struct lull_code_block *block = find_block(symbols, offset);
    if (!block) {
        const uint64_t address = offset + symbols->bias - symbols->dwarf_bias;
        Dwarf_Die unit;
        const bool in_dwarf = symbols->dwarf && find_unit(symbols, address, &unit) &&
                              find_frame(symbols, address) != NONE;
        if (!find_loops(symbols, offset, in_dwarf, arena))
            return NULL;
        block = find_block(symbols, offset);
    }
    return block && block->loop != NONE ? symbols->loops.of[block->loop] : NULL;
}

/* ---- whole functions ------------------------------------------------------------------------- */

/* Finds file, path and line of a function's definition. For "grid.c" compiled in "/home/x" the file
 * is "grid.c" and the path "/home/x/grid.c". */
static void find_definition(Dwarf_Die *unit, Dwarf_Die *die, struct lull_arena *arena,
                            struct lull_function *function)
{
    int line = 0;
    const char *path = file_of_definition(die), *folder = text_attribute(unit, DW_AT_comp_dir);
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
    if (!find_unit(symbols, address, &unit))
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
        find_function(symbols, offset + symbols->bias - symbols->dwarf_bias, arena, &function);
    if (!*function.name)
        function.name = linked;
    return function;
}

void lull_symbols_visit(struct lull_symbols *symbols, lull_function_visit *visit, void *context)
{
    const int count = dwfl_module_getsymtab(symbols->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name =
            dwfl_module_getsym_info(symbols->module, i, &symbol, &address, NULL, NULL, NULL);
        if (name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
            visit(context, address - symbols->bias, name);
    }
}

bool lull_symbols_needs(struct lull_symbols *symbols, const char *name)
{
    const int count = dwfl_module_getsymtab(symbols->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *known =
            dwfl_module_getsym_info(symbols->module, i, &symbol, &address, NULL, NULL, NULL);
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
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    symbols->image = elf ? (const uint8_t *)elf_rawfile(elf, &size) : NULL;
    symbols->image_size = size;
    if (elf && gelf_getehdr(elf, &header)) {
        symbols->machine = header.e_machine;
        symbols->relocated = header.e_type == ET_REL;
    }
    symbols->dwarf = dwfl_module_getdwarf(symbols->module, &symbols->dwarf_bias);
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
    symbols->module = symbols->dwfl ? dwfl_report_offline(symbols->dwfl, path, path, -1) : NULL;
    if (symbols->module && dwfl_report_end(symbols->dwfl, NULL, NULL) == 0 &&
        dwfl_module_getelf(symbols->module, &symbols->bias))
        found = check_build_id(symbols->module, path, build_id, why);
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

/* ---- callers --------------------------------------------------------------------------------- */

/* Numbers of registers in DWARF. */
struct unwind_registers {
    unsigned machine, frame, stack;
};

static const struct unwind_registers *registers_of(unsigned machine)
{
    static const struct unwind_registers known[] = {{EM_X86_64, 6, 7}, {EM_AARCH64, 29, 31}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine)
            return &known[i];
    return NULL;
}

/* Whether an operation is a register and a number, and which. */
static bool is_register_and(const Dwarf_Op *op, uint64_t *ret_register, int64_t *ret_number)
{
    if (op->atom == DW_OP_bregx) {
        *ret_register = op->number;
        *ret_number = (int64_t)op->number2;
        return true;
    }
    *ret_register = (uint64_t)op->atom - DW_OP_breg0;
    *ret_number = (int64_t)op->number;
    return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

static void read_frame_address(Dwarf_Frame *frame, const struct unwind_registers *registers,
                               struct lull_unwind_rule *rule)
{
    Dwarf_Op *ops;
    size_t n;
    uint64_t base;
    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0 ||
        !is_register_and(&ops[0], &base, &rule->address))
        return;
    if (n == 1 && base == registers->stack)
        rule->how = LULL_UNWIND_FROM_STACK;
    else if (n == 1 && base == registers->frame)
        rule->how = LULL_UNWIND_FROM_REGISTER;
    else if (n == 2 && base == registers->frame && ops[1].atom == DW_OP_deref)
        rule->how = LULL_UNWIND_IN_MEMORY; /* gcc's, where it aligns the stack */
}

/* *ret_undefined: the value is told not to be there. */
static enum lull_unwind_saved read_saved_register(Dwarf_Frame *frame,
                                                  const struct unwind_registers *registers,
                                                  int number, int64_t *ret_at, bool *ret_undefined)
{
    Dwarf_Op memory[3], *ops;
    size_t n;
    uint64_t base;
    *ret_undefined = false;
    *ret_at = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &n) != 0)
        return LULL_UNWIND_LOST;
    if (n == 0) {
        *ret_undefined = ops != NULL;
        return ops ? LULL_UNWIND_LOST : LULL_UNWIND_SAME;
    }
    if (n <= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
        (n == 1 || ops[1].atom == DW_OP_plus_uconst)) {
        *ret_at = n == 2 ? (int64_t)ops[1].number : 0;
        return LULL_UNWIND_AT_ADDRESS;
    }
    return n == 1 && is_register_and(&ops[0], &base, ret_at) && base == registers->frame
               ? LULL_UNWIND_AT_REGISTER
               : LULL_UNWIND_LOST;
}

/* The row of a table for an address; NULL: there is none. */
static Dwarf_Frame *row_of_table(Dwarf_CFI *table, uint64_t address)
{
    Dwarf_Frame *frame;
    return table && dwarf_cfi_addrframe(table, address, &frame) == 0 ? frame : NULL;
}

static Dwarf_Frame *find_unwind_row(struct lull_symbols *symbols, uint64_t offset)
{
    const uint64_t address = offset + symbols->bias;
    Dwarf_Addr bias = 0;
    Dwarf_CFI *table = dwfl_module_eh_cfi(symbols->module, &bias);
    Dwarf_Frame *frame = row_of_table(table, address - bias);
    if (frame)
        return frame;
    table =
        dwfl_module_dwarf_cfi(symbols->module, &bias); /* may open a file of debug information */
    return row_of_table(table, address - bias);
}

/* No frame is larger; tables may say anything. */
static bool is_near(int64_t bytes)
{
    return bytes > INT32_MIN && bytes < INT32_MAX;
}

struct lull_unwind_rule lull_symbols_unwind(struct lull_symbols *symbols, uint64_t offset)
{
    const struct unwind_registers *registers = registers_of(symbols->machine);
    struct lull_unwind_rule rule = {.how = LULL_UNWIND_UNKNOWN};
    Dwarf_Frame *frame = registers ? find_unwind_row(symbols, offset) : NULL;
    bool outermost, ignored, signal;
    Dwarf_Addr begin, end;
    if (!frame)
        return rule;
    const int return_address = dwarf_frame_info(frame, &begin, &end, &signal);
    read_frame_address(frame, registers, &rule);
    rule.saved_return =
        (uint8_t)read_saved_register(frame, registers, return_address, &rule.return_at, &outermost);
    rule.saved_frame = (uint8_t)read_saved_register(frame, registers, (int)registers->frame,
                                                    &rule.frame_at, &ignored);
    if (outermost)
        rule.how = LULL_UNWIND_OUTERMOST;
    else if (!is_near(rule.address) || !is_near(rule.return_at) || !is_near(rule.frame_at))
        rule.how = LULL_UNWIND_UNKNOWN;
    free(frame);
    return rule;
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
    free(symbols->linked);
    free(symbols->slots);
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

struct lull_unwind_rule lull_symbols_unwind(struct lull_symbols *symbols, uint64_t offset)
{
    (void)symbols, (void)offset;
    return (struct lull_unwind_rule){.how = LULL_UNWIND_UNKNOWN};
}

const struct lull_loop *lull_symbols_loop(struct lull_symbols *symbols, uint64_t offset,
                                          struct lull_arena *arena)
{
    (void)symbols, (void)offset, (void)arena;
    return NULL;
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
