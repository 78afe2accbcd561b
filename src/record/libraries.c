/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/libraries.h"

#include "record/core.h"
#include "record/site/map.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* ==== private libraries ======================================================================= */

enum { MOST_PRIVATE_FILES = 16, MOST_LIBRARY_NAME = 1024 };

/* Loaded files with the right name. They are collected first: while dl_iterate_phdr runs, no other
 * function of the loader may be called. */
static struct {
    const char *beginning;
    unsigned n;
    char names[MOST_PRIVATE_FILES][MOST_LIBRARY_NAME];
} private_files;

static pthread_mutex_t private_lock = PTHREAD_MUTEX_INITIALIZER;

static int see_file(struct dl_phdr_info *info, size_t size, void *context)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    (void)context;
    if (slash && private_files.n < MOST_PRIVATE_FILES &&
        strlen(info->dlpi_name) < MOST_LIBRARY_NAME &&
        strncmp(slash + 1, private_files.beginning, strlen(private_files.beginning)) == 0)
        strcpy(private_files.names[private_files.n++], info->dlpi_name);
    return 0;
}

/* Whether the library defines the symbol itself, rather than a library that it needs. */
static bool defines(void *library, const char *name, const char *symbol)
{
    Dl_info info;
    void *found = dlsym(library, symbol);
    return found && dladdr(found, &info) != 0 && info.dli_fname &&
           strcmp(info.dli_fname, name) == 0;
}

void *rec_private_library(const char *beginning, const char *symbol)
{
    void *found = NULL;
    pthread_mutex_lock(&private_lock);
    private_files.beginning = beginning;
    private_files.n = 0;
    dl_iterate_phdr(see_file, NULL);
    for (unsigned i = 0; !found && i < private_files.n; i++) {
        void *library = dlopen(private_files.names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library && defines(library, private_files.names[i], symbol))
            found = library;
        else if (library)
            dlclose(library);
    }
    pthread_mutex_unlock(&private_lock);
    return found;
}

bool rec_file_holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - info->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

/* ---- who needs which ------------------------------------------------------------------------- */

struct need {
    uintptr_t place;
    const char *const *beginnings;
    const char *name; /* the name under which the file with the place asks for it */
    const char *file; /* path of the loaded file that has this name */
};

static const char *library_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* The string table of a file. The GNU C library's loader has put its address in place of its
 * offset; other loaders leave the offset. */
static const char *strings_of(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_STRTAB)
            return (const char *)(dynamic->d_un.d_ptr < info->dlpi_addr
                                      ? info->dlpi_addr + dynamic->d_un.d_ptr
                                      : dynamic->d_un.d_ptr);
    return NULL;
}

static bool begins_so(const char *name, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (strncmp(name, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

static int see_user(struct dl_phdr_info *info, size_t size, void *context)
{
    struct need *need = context;
    (void)size;
    if (!rec_file_holds(info, need->place))
        return 0;
    const ElfW(Dyn) *dynamic = dynamic_of(info);
    const char *strings = dynamic ? strings_of(info, dynamic) : NULL;
    for (; strings && !need->name && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_NEEDED &&
            begins_so(library_file_name(strings + dynamic->d_un.d_val), need->beginnings))
            need->name = library_file_name(strings + dynamic->d_un.d_val);
    return 1;
}

static int see_needed(struct dl_phdr_info *info, size_t size, void *context)
{
    struct need *need = context;
    const ElfW(Dyn) *dynamic = dynamic_of(info);
    const char *strings = dynamic ? strings_of(info, dynamic) : NULL;
    bool found = strcmp(library_file_name(info->dlpi_name), need->name) == 0;
    (void)size;
    for (; strings && !found && dynamic->d_tag != DT_NULL; dynamic++)
        found =
            dynamic->d_tag == DT_SONAME && strcmp(strings + dynamic->d_un.d_val, need->name) == 0;
    if (found)
        need->file = info->dlpi_name;
    return found;
}

bool rec_is_loaded(const char *library)
{
    struct need need = {.name = library_file_name(library)};
    dl_iterate_phdr(see_needed, &need);
    return need.file != NULL;
}

const char *rec_needed_library(const void *place, const char *const *beginnings)
{
    struct need need = {.place = (uintptr_t)place, .beginnings = beginnings};
    dl_iterate_phdr(see_user, &need);
    if (need.name)
        dl_iterate_phdr(see_needed, &need);
    return need.file;
}

/* ==== who calls =============================================================================== */

/* Beginnings of the names of libraries whose threads and calls are their own affair. */
static const char *const runtime_names[] = {
    "libgomp",   "libomp",   "libiomp",        "libmpi",    "libopen-",  "libpmix",
    "libprrte",  "libevent", "libpmi",         "libuc",     "libfabric", "libibv",
    "librdmacm", "libpsm",   "libhwloc",       "libcuda",   "libnvidia", "libmlx",
    "libefa",    "mca_",     "libpocl",        "libOpenCL", "libcupti",  "liblull-record-",
    "libamdhip", "libhsa-",  "librocprofiler",
};

/* The begin and the end of the recorder's own file in memory, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

extern const char _end[] __attribute__((visibility("hidden")));

static bool is_own_library(const void *place)
{
    return (uintptr_t)place >= (uintptr_t)__ehdr_start && (uintptr_t)place < (uintptr_t)_end;
}

struct file_search {
    uintptr_t place;
    const char *const *beginnings;
    size_t n_beginnings;
    bool found;
};

static int look_at_file(struct dl_phdr_info *info, size_t size, void *context)
{
    struct file_search *search = context;
    (void)size;
    if (!rec_file_holds(info, search->place))
        return 0;
    const char *name = library_file_name(info->dlpi_name);
    for (size_t i = 0; i < search->n_beginnings; i++)
        search->found |= strncmp(name, search->beginnings[i], strlen(search->beginnings[i])) == 0;
    return 1;
}

/* Whether the place is in a loaded file whose name begins with one of `beginnings`.
 * dl_iterate_phdr, unlike dladdr, waits for no constructor. */
static bool lies_in(const void *place, const char *const *beginnings, size_t n_beginnings)
{
    struct file_search search = {
        .place = (uintptr_t)place, .beginnings = beginnings, .n_beginnings = n_beginnings};
    dl_iterate_phdr(look_at_file, &search);
    return search.found;
}

bool rec_lies_in(const void *place, const char *beginning)
{
    return lies_in(place, &beginning, 1);
}

bool rec_is_runtime(const void *caller)
{
    enum { PROGRAM = 1, RUNTIME };
    static struct rec_map places;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const uintptr_t known = rec_map_get(&places, (uintptr_t)caller);
    if (REC_LIKELY(known != 0))
        return known == RUNTIME;
    if (is_own_library(caller))
        return true;
    const struct rec_aside aside = rec_step_aside();
    const bool runtime =
        lies_in(caller, runtime_names, sizeof runtime_names / sizeof *runtime_names);
    pthread_mutex_lock(&lock);
    rec_map_put(&places, (uintptr_t)caller, runtime ? RUNTIME : PROGRAM);
    pthread_mutex_unlock(&lock);
    rec_step_back(&aside);
    return runtime;
}
