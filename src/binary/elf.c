/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/elf.h"

#include "base/file.h"

#include <elf.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== one file ================================================================================ */

/* A 64-bit file, mapped. Every access goes through part(), which checks the bounds. */
struct image {
    const char *path;
    struct lull_mapping file;
    const Elf64_Ehdr *header;
};

/* `count` elements of `size` bytes at `offset`, aligned for the machine, or NULL. */
static const void *part(const struct image *image, uint64_t offset, uint64_t count, size_t size)
{
    uint64_t room = image->file.size;
    if (offset > room || count > (room - offset) / size || offset % sizeof(uint64_t) != 0)
        return NULL;
    return image->file.data + offset;
}

static lull_status damaged(const struct image *image, const char *what, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s: damaged ELF file: %s", image->path, what);
}

static bool is_readable(const Elf64_Ehdr *header)
{
    return header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] ==
               (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

static const Elf64_Phdr *segments(const struct image *image)
{
    if (image->header->e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    return part(image, image->header->e_phoff, image->header->e_phnum, sizeof(Elf64_Phdr));
}

/* The offset in the file of an address of the loaded program; UINT64_MAX: it is not in the file. */
static uint64_t offset_of(const struct image *image, const Elf64_Phdr *segment, uint64_t address)
{
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && address >= segment[i].p_vaddr &&
            address - segment[i].p_vaddr < segment[i].p_filesz)
            return segment[i].p_offset + (address - segment[i].p_vaddr);
    return UINT64_MAX;
}

/* A terminated string at an offset of the file; NULL if it runs over the end. */
static const char *text_at(const struct image *image, uint64_t offset)
{
    if (offset >= image->file.size)
        return NULL;
    const char *text = (const char *)image->file.data + offset;
    return memchr(text, '\0', image->file.size - offset) ? text : NULL;
}

/* ---- the dynamic section --------------------------------------------------------------------- */

struct strings {
    uint64_t offset; /* of the string table in the file */
    struct lull_arena *arena;
    size_t capacity; /* of ret->needed */
};

static bool take_entry(const struct image *image, const Elf64_Dyn *entry, struct strings *strings,
                       struct lull_elf *elf, bool *has_runpath)
{
    bool is_path = entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !*has_runpath);
    if (entry->d_tag != DT_NEEDED && !is_path)
        return true;
    uint64_t at = strings->offset + entry->d_un.d_val;
    const char *text = at < strings->offset ? NULL : text_at(image, at);
    if (!text)
        return false;
    text = lull_arena_strdup(strings->arena, text);
    if (is_path) {
        elf->rpath = text;
        *has_runpath |= entry->d_tag == DT_RUNPATH;
        return true;
    }
    elf->needed = lull_arena_grow(strings->arena, (void *)elf->needed, &strings->capacity,
                                  elf->n_needed + 1, sizeof *elf->needed);
    elf->needed[elf->n_needed++] = text;
    return true;
}

static lull_status read_dynamic(const struct image *image, const Elf64_Phdr *segment,
                                const Elf64_Phdr *dynamic, struct lull_arena *arena,
                                struct lull_elf *elf, struct lull_error *err)
{
    size_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
    const Elf64_Dyn *entry = part(image, dynamic->p_offset, count, sizeof *entry);
    if (!entry)
        return damaged(image, "its dynamic section is not in it", err);
    struct strings strings = {.arena = arena, .offset = UINT64_MAX};
    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == DT_STRTAB)
            strings.offset = offset_of(image, segment, entry[i].d_un.d_ptr);
    if (strings.offset == UINT64_MAX)
        return damaged(image, "its dynamic section has no strings", err);
    bool has_runpath = false;
    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++)
        if (!take_entry(image, &entry[i], &strings, elf, &has_runpath))
            return damaged(image, "a name in its dynamic section is not in it", err);
    return LULL_OK;
}

static lull_status read_segments(const struct image *image, struct lull_arena *arena,
                                 struct lull_elf *elf, struct lull_error *err)
{
    const Elf64_Phdr *segment = segments(image);
    if (!segment)
        return damaged(image, "its segments are not in it", err);
    lull_status status = LULL_OK;
    for (unsigned i = 0; status == LULL_OK && i < image->header->e_phnum; i++) {
        elf->dynamic |= segment[i].p_type == PT_INTERP;
        if (segment[i].p_type == PT_DYNAMIC)
            status = read_dynamic(image, segment, &segment[i], arena, elf, err);
    }
    return status;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static bool is_mpi_init(const char *name)
{
    return name && (strcmp(name, "MPI_Init") == 0 || strcmp(name, "PMPI_Init") == 0);
}

static bool defines_mpi(const struct image *image, const Elf64_Shdr *table,
                        const Elf64_Shdr *strings)
{
    size_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbol = part(image, table->sh_offset, count, sizeof *symbol);
    for (size_t i = 0; symbol && i < count; i++)
        if (symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name != 0 &&
            ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC &&
            is_mpi_init(text_at(image, strings->sh_offset + symbol[i].st_name)))
            return true;
    return false;
}

/* Whether the file defines MPI_Init or PMPI_Init. A stripped file may have no sections at all; then
 * the answer is no. */
static bool has_mpi(const struct image *image)
{
    const Elf64_Ehdr *header = image->header;
    if (header->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    const Elf64_Shdr *section = part(image, header->e_shoff, header->e_shnum, sizeof *section);
    for (unsigned i = 0; section && i < header->e_shnum; i++)
        if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
            section[i].sh_link < header->e_shnum &&
            defines_mpi(image, &section[i], &section[section[i].sh_link]))
            return true;
    return false;
}

/* ---- compilers ------------------------------------------------------------------------------- */

enum { MOST_COMMENTS = 1024 }; /* bytes of the text that is kept */

static bool has_comment(const char *list, const char *text)
{
    const size_t length = strlen(text);
    for (const char *at = list; (at = strstr(at, text)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

/* The texts of the section .comment, which the linker has collected. */
static const char *compilers_of(const struct image *image, struct lull_arena *arena)
{
    const Elf64_Ehdr *header = image->header;
    const Elf64_Shdr *section = header->e_shentsize == sizeof *section
                                    ? part(image, header->e_shoff, header->e_shnum, sizeof *section)
                                    : NULL;
    const char *list = "";
    if (!section || header->e_shstrndx >= header->e_shnum)
        return list;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const uint64_t name = section[header->e_shstrndx].sh_offset + section[i].sh_name;
        const char *is = text_at(image, name);
        if (!is || strcmp(is, ".comment") != 0 || section[i].sh_type != SHT_PROGBITS ||
            section[i].sh_offset > image->file.size ||
            section[i].sh_size > image->file.size - section[i].sh_offset)
            continue;
        uint64_t at = section[i].sh_offset;
        const uint64_t end = at + section[i].sh_size;
        while (at < end && strlen(list) < MOST_COMMENTS) {
            const char *text = (const char *)image->file.data + at;
            const size_t length = strnlen(text, end - at);
            const char *own = lull_arena_strndup(arena, text, length);
            if (length > 0 && length < MOST_COMMENTS && !has_comment(list, own))
                list = lull_arena_printf(arena, "%s%s%s", list, *list ? ", " : "", own);
            at += length + 1;
        }
    }
    return list;
}

lull_status lull_elf_read(const char *path, struct lull_arena *arena, struct lull_elf *ret_elf,
                          struct lull_error *err)
{
    struct image image = {.path = path};
    lull_status status = lull_map_file(path, &image.file, err);
    if (status != LULL_OK)
        return status;
    struct lull_elf elf = {.rpath = "", .compilers = ""};
    image.header = part(&image, 0, 1, sizeof *image.header);
    if (is_readable(image.header)) {
        elf.executable = image.header->e_type == ET_EXEC || image.header->e_type == ET_DYN;
        status = read_segments(&image, arena, &elf, err);
        elf.has_mpi = has_mpi(&image);
        elf.compilers = compilers_of(&image, arena);
    } else {
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: no ELF file of this machine", path);
    }
    lull_unmap(&image.file);
    if (status == LULL_OK)
        *ret_elf = elf;
    return status;
}

/* ==== libraries =============================================================================== */

/* Where the dynamic linker would find a program's libraries. */

enum { MOST_LIBRARIES = 512 };

static const char *const standard_folders[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

struct library {
    const char *name;
    const char *path; /* NULL: not found */
};

struct walk {
    struct lull_arena *arena;
    const char *configured; /* folders of /etc/ld.so.conf, joined by ':' */
    struct library *libraries;
    size_t count, capacity;
};

static void add_folders_of(struct walk *walk, const char *file)
{
    FILE *in = fopen(file, "re");
    if (!in)
        return;
    char line[4096];
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "#\n")] = '\0';
        char *folder = line + strspn(line, " \t");
        folder[strcspn(folder, " \t")] = '\0';
        if (*folder == '/')
            walk->configured = lull_arena_printf(walk->arena, "%s%s:", walk->configured, folder);
    }
    fclose(in);
}

/* Reads the folders of ld.so.conf and of the files in ld.so.conf.d. "include" lines are not
 * followed: in practice they name just these files. */
static void read_configuration(struct walk *walk)
{
    walk->configured = "";
    add_folders_of(walk, "/etc/ld.so.conf");
    glob_t found;
    if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_folders_of(walk, found.gl_pathv[i]);
    globfree(&found);
}

static const char *try_folder(struct walk *walk, const char *folder, size_t length,
                              const char *origin, const char *name)
{
    static const char *const marks[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < 2; i++) {
        size_t mark = strlen(marks[i]);
        if (length < mark || memcmp(folder, marks[i], mark) != 0)
            continue;
        size_t home = (size_t)(strrchr(origin, '/') ? strrchr(origin, '/') - origin : 0);
        folder = lull_arena_printf(walk->arena, "%.*s%.*s", (int)home, origin, (int)(length - mark),
                                   folder + mark);
        length = strlen(folder);
        break;
    }
    const char *path = lull_arena_printf(walk->arena, "%.*s/%s", (int)length, folder, name);
    return length > 0 && access(path, R_OK) == 0 ? path : NULL;
}

/* Looks for a library in a list of folders joined by ':'. */
static const char *try_list(struct walk *walk, const char *list, const char *origin,
                            const char *name)
{
    const char *path = NULL;
    while (list && *list && !path) {
        size_t length = strcspn(list, ":");
        path = try_folder(walk, list, length, origin, name);
        list += length + (list[length] == ':');
    }
    return path;
}

static const char *find_needed_library(struct walk *walk, const char *rpath, const char *origin,
                                       const char *name)
{
    if (strchr(name, '/'))
        return access(name, R_OK) == 0 ? name : NULL;
    const char *path = try_list(walk, getenv("LD_LIBRARY_PATH"), origin, name);
    if (!path)
        path = try_list(walk, rpath, origin, name);
    if (!path)
        path = try_list(walk, walk->configured, origin, name);
    for (size_t i = 0; !path && i < sizeof standard_folders / sizeof *standard_folders; i++)
        path = try_folder(walk, standard_folders[i], strlen(standard_folders[i]), "", name);
    return path;
}

static bool is_known(const struct walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->count; i++)
        if (strcmp(walk->libraries[i].name, name) == 0)
            return true;
    return false;
}

static void add_needed(struct walk *walk, const struct lull_elf *elf, const char *origin)
{
    for (size_t i = 0; i < elf->n_needed && walk->count < MOST_LIBRARIES; i++) {
        const char *name = elf->needed[i];
        if (is_known(walk, name))
            continue;
        walk->libraries = lull_arena_grow(walk->arena, walk->libraries, &walk->capacity,
                                          walk->count + 1, sizeof *walk->libraries);
        walk->libraries[walk->count++] = (struct library){
            .name = name, .path = find_needed_library(walk, elf->rpath, origin, name)};
    }
}

void lull_elf_libraries(const char *path, const struct lull_elf *program, struct lull_arena *arena,
                        void (*visit)(void *context, const char *name), void *context)
{
    struct walk walk = {.arena = arena};
    read_configuration(&walk);
    add_needed(&walk, program, path);
    for (size_t i = 0; i < walk.count; i++) {
        struct library library = walk.libraries[i];
        struct lull_elf elf;
        visit(context, library.name);
        if (library.path && lull_elf_read(library.path, arena, &elf, NULL) == LULL_OK)
            add_needed(&walk, &elf, library.path);
    }
}
