/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/linked.h"

#if LULL_HAVE_LIBDW

#include "base/array.h"
#include "base/sorted.h"
#include "binary/instruction.h"

#include <stdlib.h>
#include <string.h>

/* ---- the file's own bytes -------------------------------------------------------------------- */

const uint8_t *lull_linked_bytes(const struct lull_linked *linked, uint64_t address, size_t size,
                                 uint64_t *ret_left)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(linked->module, &bias);
    size_t count;
    if (!linked->image || !elf || elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
            address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
            continue;
        const uint64_t inside = address - header.p_vaddr, left = header.p_filesz - inside;
        if (left < size || header.p_offset > linked->image_size ||
            inside > linked->image_size - header.p_offset ||
            linked->image_size - header.p_offset - inside < size)
            return NULL;
        const uint64_t in_file = linked->image_size - header.p_offset - inside;
        *ret_left = left < in_file ? left : in_file;
        return linked->image + header.p_offset + inside;
    }
    return NULL;
}

/* ---- symbols of the linker ------------------------------------------------------------------- */

/* Of several names of one function the last one counts: one that other files see before one that they do
 * not, then the one with fewer underscores in front, then the shorter one: "MPI_Send" of "MPI_Send" and
 * "PMPI_Send", "confstr" of "confstr" and "__confstr". */
static int by_linked_begin(const void *a, const void *b)
{
    const struct lull_linked_function *x = a, *y = b;
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

static bool is_linked_function(const GElf_Sym *symbol)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* Sorts the functions of the symbol table. libdwfl itself goes through all of them for each address. */
static void list_functions_of_table(struct lull_linked *linked)
{
    const int count = dwfl_module_getsymtab(linked->module);
    linked->is_listed = true;
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name =
            dwfl_module_getsym_info(linked->module, i, &symbol, &address, NULL, NULL, NULL);
        if (!name || !*name || !is_linked_function(&symbol) || symbol.st_size == 0)
            continue;
        if (!lull_array_reserve(&linked->functions, &linked->capacity, linked->n_functions + 1,
                                sizeof *linked->functions))
            break;
        const unsigned binding = GELF_ST_BIND(symbol.st_info);
        const uint64_t begin = address - linked->bias, end = begin + symbol.st_size;
        linked->functions[linked->n_functions++] =
            (struct lull_linked_function){begin, end < begin ? UINT64_MAX : end, name,
                                          binding == STB_GLOBAL || binding == STB_WEAK};
    }
    if (linked->n_functions > 1)
        qsort(linked->functions, linked->n_functions, sizeof *linked->functions, by_linked_begin);
}

const struct lull_linked_function *lull_linked_find(struct lull_linked *linked, uint64_t offset)
{
    enum { AROUND = 16 }; /* parts of assembler code may be symbols inside of others */
    if (!linked->is_listed)
        list_functions_of_table(linked);
    size_t behind =
        lull_sorted_first_u64(linked->functions, linked->n_functions, sizeof *linked->functions,
                              offsetof(struct lull_linked_function, begin), offset + 1);
    for (size_t i = 0; i < AROUND && behind-- > 0; i++)
        if (offset < linked->functions[behind].end)
            return &linked->functions[behind];
    return NULL;
}

static int by_slot_address(const void *a, const void *b)
{
    const struct lull_linked_slot *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void add_slots_of(struct lull_linked *linked, Elf *elf, Elf_Scn *section,
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
            !lull_array_reserve(&linked->slots, &linked->slots_capacity, linked->n_slots + 1,
                                sizeof *linked->slots))
            continue;
        linked->slots[linked->n_slots++] = (struct lull_linked_slot){relocation.r_offset, name};
    }
}

static void list_slots(struct lull_linked *linked)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(linked->module, &bias);
    linked->has_slots = true;
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
            add_slots_of(linked, elf, section, &header);
    }
    if (linked->n_slots > 1)
        qsort(linked->slots, linked->n_slots, sizeof *linked->slots, by_slot_address);
}

const char *lull_linked_slot(struct lull_linked *linked, uint64_t address)
{
    if (!linked->has_slots)
        list_slots(linked);
    const size_t at = lull_sorted_first_u64(linked->slots, linked->n_slots, sizeof *linked->slots,
                                            offsetof(struct lull_linked_slot, address), address);
    return at < linked->n_slots && linked->slots[at].address == address ? linked->slots[at].name
                                                                        : NULL;
}

/* Stubs have 16 bytes, some 8. */
const char *lull_linked_stub(struct lull_linked *linked, uint64_t offset)
{
    for (uint64_t size = 16; size >= 8; size /= 2) {
        uint64_t left;
        const uint64_t begin = offset / size * size;
        const uint8_t *code = lull_linked_bytes(linked, begin, 1, &left);
        const uint64_t slot = code ? lull_instruction_stub(linked->machine, code, left, begin) : 0;
        const char *name = slot ? lull_linked_slot(linked, slot) : NULL;
        if (name)
            return name;
    }
    return NULL;
}

void lull_linked_free(struct lull_linked *linked)
{
    free(linked->functions);
    free(linked->slots);
}

#endif
