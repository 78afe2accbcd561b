/* SPDX-License-Identifier: BSD-3-Clause */
/* What the measured program starts. A forked child shares our mappings with its parent, so it must
 * not write; a program that is executed would find the recorder in its environment. */
#include "record/thread/fork.h"

#include "base/starters.h"
#include "record/core.h"
#include "record/keep.h"
#include "record/marker.h"
#include "record/sample/sample.h"
#include "record/thread/pause.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Settings that are passed on to a program that records into the same run. */
static const char *const passed_on[] = {
    "LULL_RECORD_BYTES",         "LULL_RECORD_PROFILE",      "LULL_RECORD_COUNTERS",
    "LULL_RECORD_FOLLOW",        "LULL_RECORD_CALLPATH",     "LULL_RECORD_FILTER",
    "LULL_RECORD_THROTTLE",      "LULL_RECORD_START",        "LULL_RECORD_DURATION",
    "LULL_RECORD_SIGNALS",       "LULL_RECORD_ITERATIONS",   "LULL_RECORD_SKEW",
    "LULL_RECORD_WAITS",         "LULL_RECORD_FILES",        "LULL_RECORD_LAST",
    "LULL_RECORD_REGION_MEMORY", "LULL_RECORD_STORE",        "LULL_RECORD_CLOCK_FILES",
    "LULL_RECORD_SAMPLE",        "LULL_RECORD_SAMPLE_STACK", "LULL_RECORD_DEVICE"};
/* Settings for this process alone. */
static const char *const own_place[] = {"LULL_RECORD_PROCESS", "LULL_RECORD_APPLICATION",
                                        "LULL_RECORD_FIRST", "LULL_RECORD_INJECT",
                                        "LULL_RECORD_ABOUT"};
static char *settings[4 + sizeof passed_on / sizeof *passed_on];
static unsigned n_settings;

static const char *program_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "NAME=first:rest" in memory of its own; without the colon where one of the two is empty. */
static char *setting_of(const char *name, const char *first, const char *rest)
{
    size_t size = strlen(name) + strlen(first) + strlen(rest) + 3;
    char *text = rec_keep(size);
    if (text)
        snprintf(text, size, "%s=%s%s%s", name, first, *first && *rest ? ":" : "", rest);
    return text;
}

/* LD_PRELOAD, whose names are separated by colons or blanks, without our own file. */
static char *preload_without(const char *own)
{
    const char *list = getenv("LD_PRELOAD");
    char *kept = rec_keep((list ? strlen(list) : 0) + 2);
    if (!kept)
        return NULL;
    *kept = '\0';
    for (const char *word = list ? list : ""; *word;) {
        size_t length = strcspn(word, ": ");
        char *end = kept + strlen(kept);
        snprintf(end, length + 2, "%s%.*s", end > kept ? ":" : "", (int)length, word);
        const char *name = program_file_name(*end == ':' ? end + 1 : end);
        if (strcmp(name, own) == 0 || length == 0)
            *end = '\0';
        word += length + (word[length] != '\0');
    }
    return kept;
}

/* The user's part of ASAN_OPTIONS, behind the setting that came with the recorder; NULL: the
 * recorder's setting is not there. */
static const char *own_sanitizer_options(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    if (!options || strncmp(options, LULL_ASAN_ORDER, strlen(LULL_ASAN_ORDER)) != 0)
        return NULL;
    options += strlen(LULL_ASAN_ORDER);
    return *options == ':' ? options + 1 : options;
}

/* LD_PRELOAD cannot name a folder with blanks in its name. A recorder in such a folder is preloaded
 * by its file's name alone, and the folder stands in front in LD_LIBRARY_PATH. Returns that list
 * without the folder; NULL: the folder is not in front. */
static const char *library_path_without(const char *library)
{
    const char *list = getenv("LD_LIBRARY_PATH");
    size_t length = (size_t)(program_file_name(library) - library);
    if (!list || length < 2 || !memchr(library, ' ', length) ||
        strncmp(list, library, length - 1) != 0)
        return NULL;
    list += length - 1;
    return *list == ':' ? list + 1 : *list == '\0' ? list : NULL;
}

/* Keeps the settings before any is taken out of the environment. The run is given by a path that
 * holds in any folder. */
static void keep_settings(const char *library, const char *others)
{
    const char *run = getenv("LULL_RECORD_DIR");
    char path[PATH_MAX];
    const bool there = run && realpath(run, path);
    if (!there && run && *run != '/' && getcwd(path, sizeof path)) /* it is made later */
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", run);
    else if (!there)
        snprintf(path, sizeof path, "%s", run ? run : "");
    const bool by_name = library_path_without(library) != NULL;
    settings[0] = setting_of("LD_PRELOAD", by_name ? program_file_name(library) : library, others);
    settings[1] = setting_of("LULL_RECORD_DIR", path, "");
    const char *options = own_sanitizer_options();
    if (!options)
        options = getenv("ASAN_OPTIONS");
    settings[2] = setting_of("ASAN_OPTIONS", LULL_ASAN_ORDER, options ? options : "");
    bool good = settings[0] && settings[1] && settings[2];
    n_settings = 3;
    if (by_name)
        good &= (settings[n_settings++] =
                     setting_of("LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH"), "")) != NULL;
    for (size_t i = 0; good && i < sizeof passed_on / sizeof *passed_on; i++) {
        const char *value = getenv(passed_on[i]);
        if (value)
            good = (settings[n_settings++] = setting_of(passed_on[i], value, "")) != NULL;
    }
    if (!good)
        n_settings = 0;
}

unsigned rec_settings(char *const **ret_settings)
{
    *ret_settings = settings;
    return n_settings;
}

/* Sets a variable of the environment; "" clears it, NULL leaves it as it is. */
static void set_or_clear(const char *name, const char *value)
{
    char *setting = value && *value ? setting_of(name, value, "") : NULL;
    if (setting)
        putenv(setting);
    else if (value)
        unsetenv(name);
}

static void leave_environment(const char *library, const char *preload)
{
    set_or_clear("LD_PRELOAD", preload);
    set_or_clear("LD_LIBRARY_PATH", library_path_without(library));
    set_or_clear("ASAN_OPTIONS", own_sanitizer_options());
    unsetenv("LULL_RECORD_DIR");
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        unsetenv(passed_on[i]);
    for (size_t i = 0; i < sizeof own_place / sizeof *own_place; i++)
        unsetenv(own_place[i]);
}

/* Whether the program that runs is one of the names, or with `versions` one with a version
 * behind. */
static bool is_one_of(const char *const *names, size_t count, bool versions)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    const char *own = program_file_name(path);
    for (size_t i = 0; i < count; i++) {
        size_t same = strlen(names[i]);
        if (strncmp(own, names[i], same) == 0 &&
            strspn(own + same, versions ? "0123456789." : "") == strlen(own + same))
            return true;
    }
    return false;
}

/* Whether this is a program that only starts others. With LULL_RECORD_FOLLOW such a program hands
 * the recorder on and is not recorded itself, so that the program in `mpirun script` has the number
 * of its rank. */
static bool is_shell(void)
{
    static const char *const shells[] = {LULL_SHELLS, "env", "timeout"};
    return is_one_of(shells, sizeof shells / sizeof *shells, false);
}

/* Whether this is the program that a user means to measure behind a shell: it needs a runtime of
 * MPI or OpenMP, or may load one. */
static bool is_sought(void)
{
    static const char *const interpreters[] = {LULL_INTERPRETERS};
    return dlsym(RTLD_NEXT, "PMPI_Init") || dlsym(RTLD_NEXT, "GOMP_parallel") ||
           dlsym(RTLD_NEXT, "__kmpc_fork_call") ||
           is_one_of(interpreters, sizeof interpreters / sizeof *interpreters, true);
}

/* Programs that a rank executes get numbers behind those of all ranks. */
static void number_followers(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    const char *size = NULL;
    for (size_t i = 0; !size && i < sizeof sizes / sizeof *sizes; i++)
        size = getenv(sizes[i]);
    unsetenv("LULL_RECORD_APPLICATION");
    unsetenv("LULL_RECORD_FIRST");
    setenv("LULL_RECORD_PROCESS", size ? size : "1", 1);
    if (getenv("LULL_RECORD_STORE")) /* all nodes give out the same numbers */
        setenv("LULL_RECORD_STORE", "process", 1);
}

/* In a forked child: functions that are called there, though nothing is recorded, must not wait for
 * threads that the child does not have. */
static void begin_child(void)
{
    rec_leave_to_parent();
    rec_keep_forked();
    rec_handles_forked();
    rec_sample_release();
}

bool rec_prepare_children(void)
{
    const char *follow = getenv("LULL_RECORD_FOLLOW");
    bool seeks = follow && strcmp(follow, "program") == 0,
         follows = follow && strcmp(follow, "1") == 0;
    if (seeks && !is_sought())
        return false;
    pthread_atfork(rec_sample_hold, rec_sample_release, begin_child);
    Dl_info info;
    const void *here = &rec_process;
    bool known = dladdr(here, &info) != 0 && info.dli_fname;
    char *others = known ? preload_without(program_file_name(info.dli_fname)) : NULL;
    if (others)
        keep_settings(info.dli_fname, others);
    if (!follows)
        leave_environment(known ? info.dli_fname : "", others);
    /* A shell that starts a spawned program is not the process that the parents wait for. */
    bool shell = (follows || rec_process.application > 0) && is_shell();
    if (follows && !shell)
        number_followers();
    return !shell;
}
