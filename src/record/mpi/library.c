/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/mpi/library.h"

#include "record/libraries.h"
#include "record/report.h"
#include "record/store/definitions.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void function(void);

struct rec_mpi_library rec_mpi;

#if defined(OPEN_MPI)
struct rec_mpi_handles rec_mpi_handles;
#endif

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static bool library_is_complete; /* atomic */
static void *private_library; /* the MPI library where RTLD_NEXT does not lead to it; else NULL */

/* ---- where it is ----------------------------------------------------------------------------- */

static void *find_symbol(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found || !private_library ? found : dlsym(private_library, name);
}

/* The address of a variable that the library itself uses. A program may have a copy of the variable
 * (a copy relocation), which then is the one that the library uses: RTLD_DEFAULT finds that one. */
static void *find_variable(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found || !private_library ? found : dlsym(private_library, name);
}

/* ---- its functions and handles --------------------------------------------------------------- */

/* In place of a function that the library lacks. */
static int missing(void)
{
    return MPI_ERR_INTERN;
}

/* The function of that name behind the recorder: that of another tool, which may define MPI_X
 * alone, or the library's. Where there is no MPI_X, PMPI_X is taken. */
static function *find_function(const char *name)
{
    void *found = find_symbol(name);
    char behind[64];
    if (!found && *name != 'P') {
        snprintf(behind, sizeof behind, "P%s", name);
        found = find_symbol(behind);
    }
    function *real = (function *)missing;
    if (found)
        memcpy(&real, &found, sizeof real);
    return real;
}

static void look_all_up(void)
{
    if (!dlsym(RTLD_NEXT, "PMPI_Init"))
        private_library = rec_private_library("libmpi", "PMPI_Init");
#define REC_X(name) rec_mpi.name = (__typeof__(&PMPI_##name))find_function("PMPI_" #name);
    REC_MPI_USED(REC_X)
#undef REC_X
#if defined(OPEN_MPI)
#define REC_X(name) rec_mpi_handles.name = find_variable(#name);
    REC_MPI_HANDLES(REC_X)
#undef REC_X
#endif
}

function *rec_mpi_real(const char *name)
{
    if (!__atomic_load_n(&library_is_complete, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&library_lock);
        if (!library_is_complete)
            look_all_up();
        __atomic_store_n(&library_is_complete, true, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&library_lock);
    }
    return find_function(name);
}

/* ---- which one it is ------------------------------------------------------------------------- */

/* Whether what the library says of itself contains the name of a library that has our binary
 * interface. */
static bool says_it_fits(const char *text)
{
    static const char *const words[] = REC_MPI_LIBRARIES;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(text, words[i]))
            return true;
    return false;
}

static bool has_our_handles(void)
{
    bool all = find_variable("ompi_mpi_comm_world") != NULL;
#if defined(OPEN_MPI)
#define REC_X(name) all &= rec_mpi_handles.name != NULL;
    REC_MPI_HANDLES(REC_X)
#undef REC_X
    return all;
#else
    return !all;
#endif
}

/* What a library says of itself may be longer than what ours says: MPICH's text has up to 8,192
 * bytes, Open MPI's 256. */
enum { LONGEST_VERSION = 65536 };
static_assert(LONGEST_VERSION >= MPI_MAX_LIBRARY_VERSION_STRING, "room for our own");

static bool look_whether_it_fits(void)
{
    static char text[LONGEST_VERSION]; /* under library_lock */
    int length = 0;
    if (rec_mpi.Get_library_version(text, &length) != MPI_SUCCESS)
        text[0] = '\0';
    text[sizeof text - 1] = '\0';
    const bool fits = says_it_fits(text) && has_our_handles();
    text[strcspn(text, "\n")] = '\0';
    if (fits && rec_process.rank == 0)
        rec_define_property("mpi", text);
    if (fits)
        return true;
    rec_report_say("MPI is not recorded: the library is not of the family of %s, but says '%.100s'"
                   " (see --mpi)",
                   REC_MPI_FAMILY, text);
    return false;
}

bool rec_mpi_fits(void)
{
    static int fits; /* atomic; 1: it does, -1: it does not */
    if (__atomic_load_n(&fits, __ATOMIC_ACQUIRE) == 0) {
        pthread_mutex_lock(&library_lock);
        if (fits == 0)
            __atomic_store_n(&fits, look_whether_it_fits() ? 1 : -1, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&library_lock);
    }
    return __atomic_load_n(&fits, __ATOMIC_RELAXED) > 0;
}
