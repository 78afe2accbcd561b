/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/debug_file.h"

#if LULL_HAVE_LIBDW

#include "base/file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what fits ------------------------------------------------------------------------------- */

/* The CRC of ISO 3309 (polynomial 0x04c11db7, lowest bit first), which .gnu_debuglink has. */
static bool has_checksum(int fd, GElf_Word wanted)
{
    uint32_t table[256], checksum = UINT32_MAX;
    unsigned char bytes[1 << 16];
    ssize_t got;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
    }
    for (off_t at = 0; (got = pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
        for (ssize_t i = 0; i < got; i++)
            checksum = table[(checksum ^ bytes[i]) & 0xff] ^ checksum >> 8;
    return got == 0 && ~checksum == wanted;
}

static bool has_build_id(int fd, const unsigned char *wanted, int length)
{
    const void *found;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool same = elf && dwelf_elf_gnu_build_id(elf, &found) == length &&
                      memcmp(found, wanted, (size_t)length) == 0;
    elf_end(elf);
    return same;
}

/* What is looked for. */
struct debug_file {
    const char *name;
    const unsigned char *id; /* the build id */
    int id_length;           /* 0: there is none */
    GElf_Word checksum;
    bool has_checksum;
    struct stat of; /* the file that it belongs to */
};

/* Opens a path if it is what is looked for; else -1. */
static int try_debug_file(const struct debug_file *wanted, const char *path)
{
    struct stat info;
    struct lull_error ignored;
    int fd;
    if (lull_open_read(path, &fd, &info, &ignored) != LULL_OK)
        return -1;
    const bool other = info.st_dev != wanted->of.st_dev || info.st_ino != wanted->of.st_ino;
    if (other &&
        (wanted->id_length > 0 ? has_build_id(fd, wanted->id, wanted->id_length)
                               : wanted->has_checksum && has_checksum(fd, wanted->checksum)))
        return fd;
    close(fd);
    return -1;
}

/* ---- where ----------------------------------------------------------------------------------- */

/* Looks around a file; -1: it is not there. */
static int look_around(const struct debug_file *wanted, const char *file, char **ret_path)
{
    static const struct {
        const char *before, *behind; /* the folder of the file */
    } places[] = {{"", ""}, {"", ".debug/"}, {"/usr/lib/debug/", ""}};
    const char *slash = strrchr(file, '/');
    const int folder = slash ? (int)(slash - file) + 1 : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s%.*s%s%s", places[i].before, folder, file,
                                    places[i].behind, wanted->name);
        const int fd = length < (int)sizeof path ? try_debug_file(wanted, path) : -1;
        if (fd >= 0) {
            *ret_path = strdup(path);
            return fd;
        }
    }
    return -1;
}

int lull_debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word checksum, char **ret_path)
{
    const char *asked = getenv("LULL_DEBUGINFOD");
    if (asked && strcmp(asked, "1") == 0)
        return dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, checksum,
                                            ret_path);
    struct debug_file wanted = {.name = link, .checksum = checksum, .has_checksum = link != NULL};
    int fd =
        dwfl_build_id_find_debuginfo(module, userdata, name, base, file, link, checksum, ret_path);
    if (fd >= 0 || !file || stat(file, &wanted.of) != 0)
        return fd;
    char real[PATH_MAX], own[NAME_MAX + sizeof ".debug"];
    const char *slash = strrchr(file, '/');
    GElf_Addr ignored;
    wanted.id_length = dwfl_module_build_id(module, &wanted.id, &ignored);
    snprintf(own, sizeof own, "%s.debug", slash ? slash + 1 : file);
    wanted.name = link ? link : own;
    fd = look_around(&wanted, file, ret_path);
    if (fd < 0 && realpath(file, real) && strcmp(real, file) != 0)
        fd = look_around(&wanted, real, ret_path);
    errno = 0; /* else libdwfl takes it for the cause */
    return fd;
}

#endif
