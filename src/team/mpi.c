/* SPDX-License-Identifier: BSD-3-Clause */
/* The back-end for a lull that the launcher of an MPI has started: it opens the library of that
 * launcher's family of MPI (mpi/library.h), which was built with the mpi.h of that family. */
#include "team/mpi/library.h"
#include "team/team.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* FOR_MPI is what an MPI library may need for one message, in bytes: Open MPI crashes, and UCX ends
 * the process, where they do not get it. As much memory is set aside, so that nothing else takes
 * the last of a limited memory, and given up for messages of at most FEW_BYTES, such as that a
 * member has failed. */
enum { FOR_MPI = 4 << 20, FEW_BYTES = 2048 };

static const struct lull_team_library *library;
static void *aside;    /* FOR_MPI bytes; NULL: they have been given up */
static bool was_short; /* memory was short when mail was last looked for */

static bool recognise_mpi(const struct lull_team_start *start)
{
    return start->size > 1;
}

static lull_status no_library(const struct lull_team_start *start, struct lull_error *err)
{
    if (start->family)
        return lull_fail(
            err, LULL_ERR_UNSUPPORTED,
            "started as %u processes of %s, and there is no library liblull-team-%s.so",
            start->size, start->family, start->family);
    return lull_fail(err, LULL_ERR_UNSUPPORTED, "started as %u processes of an unknown MPI",
                     start->size);
}

/* MPI libraries of a family as their makers call them, and as Debian does. */
static const struct {
    const char *family, *mpi;
} mpi_libraries[] = {
    {"openmpi", "libmpi.so.40"},
    {"mpich", "libmpi.so.12"},
    {"mpich", "libmpich.so.12"},
};

/* Opens a library of the family. One that is not linked with MPI, or with one of another name than
 * the MPI here has, finds its functions in the MPI that is opened before it. RTLD_GLOBAL, because
 * MPI libraries load parts of themselves that look for the library's symbols among the global
 * ones. NULL: ret_why says why the library itself cannot be opened. */
static void *open_library(const char *path, const char *family, char *ret_why, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle)
        snprintf(ret_why, size, "%s", dlerror());
    for (size_t i = 0; !handle && i < sizeof mpi_libraries / sizeof *mpi_libraries; i++)
        if (strcmp(mpi_libraries[i].family, family) == 0 &&
            dlopen(mpi_libraries[i].mpi, RTLD_NOW | RTLD_GLOBAL))
            handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return handle;
}

static lull_status load_library(const struct lull_team_start *start, struct lull_error *err)
{
    char path[PATH_MAX], why[512] = "it is none of lull";
    for (int i = 0; start->family && start->folders && start->folders[i]; i++) {
        snprintf(path, sizeof path, "%s/liblull-team-%s.so", start->folders[i], start->family);
        if (access(path, R_OK) != 0)
            continue;
        void *handle = open_library(path, start->family, why, sizeof why);
        library = handle ? dlsym(handle, LULL_TEAM_LIBRARY) : NULL;
        if (!library)
            return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: cannot load: %s", path, why);
        return LULL_OK;
    }
    return no_library(start, err);
}

/* FOR_MPI bytes; NULL: they cannot be had. */
static void *set_aside(void)
{
    void *room = mmap(NULL, FOR_MPI, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

/* Whether there is memory for MPI beside what is set aside; asked only where the address space is
 * limited. */
static bool has_memory(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    void *room = set_aside();
    if (room)
        munmap(room, FOR_MPI);
    return room;
}

static void use_what_is_aside(void)
{
    if (aside)
        munmap(aside, FOR_MPI);
    aside = NULL;
}

static lull_status open_mpi(const struct lull_team_start *start, void **ret_state,
                            uint32_t *ret_index, uint32_t *ret_size, struct lull_error *err)
{
    lull_status status = load_library(start, err);
    if (status != LULL_OK)
        return status;
    *ret_state = NULL;
    aside = set_aside();
    if (!library->begin(ret_index, ret_size))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "this MPI does not let several threads call it, one at a time");
    if (*ret_size != start->size)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "the launcher speaks of %u processes, and MPI of %u: it is of another "
                         "family than %s",
                         start->size, *ret_size, start->family);
    return LULL_OK;
}

static bool send_mpi(void *state, uint32_t to, const void *head, size_t head_size,
                     const void *bytes, size_t size)
{
    (void)state;
    if (!has_memory()) {
        if (head_size + size > FEW_BYTES)
            return false;
        use_what_is_aside();
    }
    return library->send(to, head, head_size, bytes, size);
}

/* Tells once that memory is short. From then on mail is looked for with the memory that was set
 * aside. */
static enum lull_team_probe probe_mpi(void *state, uint32_t *from, size_t *size)
{
    (void)state;
    const bool told = was_short;
    was_short = !has_memory();
    if (was_short && !told)
        return LULL_TEAM_NO_MEMORY;
    if (was_short)
        use_what_is_aside();
    return library->probe(from, size) ? LULL_TEAM_MAIL : LULL_TEAM_NOTHING;
}

static void fetch_mpi(void *state, void *bytes)
{
    (void)state;
    library->fetch(bytes);
}

static bool close_mpi(void *state, bool orderly)
{
    (void)state;
    use_what_is_aside();
    library->end(orderly);
    return true;
}

const struct lull_team_backend lull_team_mpi = {recognise_mpi, open_mpi,  send_mpi,
                                                probe_mpi,     fetch_mpi, close_mpi};
