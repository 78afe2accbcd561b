/* Compilation units, the functions in them and functions that were inlined there are found by their
 * address ranges in .debug_info, because not every compiler writes an index of them. */
#include "binary/symbols.h"

#include "base/sorted.h"
#include "lull_features.h"

#if LULL_HAVE_LIBDW

#include "base/array.h"
#include "binary/demangle.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

/* A range of addresses, and the unit or function that it belongs to. */
struct range {
    uint64_t begin, end;
    Dwarf_Off die;
};

struct ranges {
    struct range *all; /* ascending by begin */
    size_t count, capacity;
};

struct lull_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf *dwarf; /* NULL: there is no debug information */
    GElf_Addr dwarf_bias, bias;
    struct ranges units;
    struct ranges functions; /* of `unit` only */
    Dwarf_Off unit;          /* the unit asked for last */
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
        if (!lull_array_reserve(&ranges->all, &ranges->capacity, ranges->count + 1,
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

/* Lists functions, also those inside of modules, name spaces and other functions. */
static void list_functions(struct ranges *functions, Dwarf_Die *parent, int depth)
{
    enum { DEEPEST = 32 };
    Dwarf_Die die;
    for (int more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_ranges(functions, &die);
        bool holds = tag == DW_TAG_subprogram || tag == DW_TAG_module || tag == DW_TAG_namespace;
        if (holds && depth < DEEPEST)
            list_functions(functions, &die, depth + 1);
    }
}

/* A function, and those that were inlined in it at some address, one inside of the other. */
struct inlining {
    Dwarf_Die dies[16]; /* outermost first */
    unsigned count;
};

static void find_inlined(Dwarf_Die *parent, uint64_t address, int depth, struct inlining *found)
{
    enum { DEEPEST = 64 };
    Dwarf_Die die;
    for (int more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
        int tag = dwarf_tag(&die);
        if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
            dwarf_haspc(&die, address) != 1)
            continue;
        if (tag == DW_TAG_inlined_subroutine &&
            found->count < sizeof found->dies / sizeof *found->dies)
            found->dies[found->count++] = die;
        if (depth < DEEPEST)
            find_inlined(&die, address, depth + 1, found);
        return;
    }
}

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

/* Whether two paths name different files: their last parts differ. Folders may be written in several
 * ways. */
static bool is_other_file(const char *unit, const char *file)
{
    const char *last = unit ? strrchr(unit, '/') : NULL;
    const char *of_file = strrchr(file, '/');
    return unit && strcmp(last ? last + 1 : unit, of_file ? of_file + 1 : file) != 0;
}

static void find_line(Dwarf_Die *unit, uint64_t address, struct lull_arena *arena,
                      struct lull_symbol *symbol)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(line, &number) != 0 || number <= 0)
        return;
    symbol->file = lull_arena_strdup(arena, file);
    symbol->line = (uint32_t)number;
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

/* Finds the place where an inlined function was called in the source. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct lull_arena *arena,
                      struct lull_symbol *symbol)
{
    Dwarf_Files *files;
    size_t count;
    Dwarf_Word file = number_of(inlined, DW_AT_call_file);
    const char *name = NULL;
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
        name = dwarf_filesrc(files, file, NULL, NULL);
    symbol->file = name ? lull_arena_strdup(arena, name) : "";
    symbol->line = name ? (uint32_t)number_of(inlined, DW_AT_call_line) : 0;
}

/* Names the function and those inlined in it. The innermost one has the line of the address, each
 * other one the line at which it calls the next. */
static void name_functions(Dwarf_Die *unit, struct inlining *found, struct lull_arena *arena,
                           struct lull_symbol *symbol)
{
    for (unsigned i = found->count; i-- > 0;) {
        symbol->function = plain_name(dwarf_diename(&found->dies[i]), arena);
        if (i == 0)
            return;
        struct lull_symbol *caller = lull_arena_zero(arena, 1, sizeof *caller);
        find_call(unit, &found->dies[i], arena, caller);
        symbol->caller = caller;
        symbol = caller;
    }
}

static void list_functions_of(struct lull_symbols *symbols, Dwarf_Off at, Dwarf_Die *unit)
{
    if (symbols->unit == at)
        return;
    symbols->unit = at;
    symbols->functions.count = 0;
    list_functions(&symbols->functions, unit, 0);
    sort_ranges(&symbols->functions);
}

/* Finds the compilation unit of an address; false: there is none. */
static bool find_unit(struct lull_symbols *symbols, uint64_t address, Dwarf_Die *unit)
{
    const struct range *range = find_range(&symbols->units, address);
    if (!range || !dwarf_offdie(symbols->dwarf, range->die, unit))
        return false;
    list_functions_of(symbols, range->die, unit);
    return true;
}

static void find_in_dwarf(struct lull_symbols *symbols, uint64_t offset, struct lull_arena *arena,
                          struct lull_symbol *symbol)
{
    uint64_t address = offset + symbols->bias - symbols->dwarf_bias;
    Dwarf_Die unit;
    if (!find_unit(symbols, address, &unit))
        return;
    find_line(&unit, address, arena, symbol);
    const struct range *inside = find_range(&symbols->functions, address);
    struct inlining found = {.count = 1};
    if (!inside || !dwarf_offdie(symbols->dwarf, inside->die, &found.dies[0]))
        return;
    Dwarf_Die function = found.dies[0];
    find_inlined(&function, address, 0, &found);
    name_functions(&unit, &found, arena, symbol);
}

/* The name of the function in the symbol table, which may be all that the file has. */
static const char *name_of_symbol(struct lull_symbols *symbols, uint64_t offset,
                                  struct lull_arena *arena)
{
    GElf_Off inside;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(symbols->module, offset + symbols->bias, &inside,
                                            &symbol, NULL, NULL, NULL);
    if (!name || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || inside >= symbol.st_size)
        return "";
    return own_name(name, arena);
}

struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena)
{
    struct lull_symbol symbol = {.function = "", .file = ""};
    if (symbols->dwarf)
        find_in_dwarf(symbols, offset, arena, &symbol);
    if (!*symbol.function)
        symbol.function = plain_name(name_of_symbol(symbols, offset, arena), arena);
    return symbol;
}

/* ---- whole functions ------------------------------------------------------------------------- */

static const char *text_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* Finds file, path and line of a function's definition. For "grid.c" compiled in "/home/x" the file
 * is "grid.c" and the path "/home/x/grid.c". */
static void find_definition(Dwarf_Die *unit, Dwarf_Die *die, struct lull_arena *arena,
                            struct lull_function *function)
{
    int line = 0;
    const char *path = dwarf_decl_file(die), *folder = text_attribute(unit, DW_AT_comp_dir);
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
    if (!range || !dwarf_offdie(symbols->dwarf, range->die, &die))
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

static bool has_build_id(Dwfl_Module *module, const char *wanted)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes;
    GElf_Addr address;
    int n = dwfl_module_build_id(module, &bytes, &address);
    if (n < 0 || strlen(wanted) != 2 * (size_t)n)
        return false;
    for (int i = 0; i < n; i++)
        if (wanted[2 * i] != digits[bytes[i] >> 4] || wanted[2 * i + 1] != digits[bytes[i] & 15])
            return false;
    return true;
}

enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols)
{
    struct lull_symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols)
        return LULL_SYMBOLS_ABSENT;
    enum lull_symbols_found found = LULL_SYMBOLS_ABSENT;
    symbols->dwfl = dwfl_begin(&callbacks);
    symbols->module = symbols->dwfl ? dwfl_report_offline(symbols->dwfl, path, path, -1) : NULL;
    if (symbols->module && dwfl_report_end(symbols->dwfl, NULL, NULL) == 0 &&
        dwfl_module_getelf(symbols->module, &symbols->bias))
        found = has_build_id(symbols->module, build_id) ? LULL_SYMBOLS_FOUND : LULL_SYMBOLS_CHANGED;
    if (found != LULL_SYMBOLS_FOUND) {
        lull_symbols_close(symbols);
        return found;
    }
    symbols->dwarf = dwfl_module_getdwarf(symbols->module, &symbols->dwarf_bias);
    if (symbols->dwarf)
        list_units(symbols);
    *ret_symbols = symbols;
    return LULL_SYMBOLS_FOUND;
}

void lull_symbols_close(struct lull_symbols *symbols)
{
    if (symbols->dwfl)
        dwfl_end(symbols->dwfl);
    free(symbols->units.all);
    free(symbols->functions.all);
    free(symbols);
}

#else

enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols)
{
    (void)path, (void)build_id, (void)ret_symbols;
    return LULL_SYMBOLS_NOT_BUILT;
}

struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena)
{
    (void)symbols, (void)offset, (void)arena;
    return (struct lull_symbol){.function = "", .file = ""};
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
