#include "launch/recording.h"

#include "base/starters.h"
#include "launch/installed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the recorder -------------------------------------------------------------------------- */

static const char *find_library(const char *name, struct lull_arena *arena)
{
    char resolved[PATH_MAX];
    for (const char *const *folder = lull_own_folders(arena); *folder; folder++) {
        const char *path = lull_arena_printf(arena, "%s/%s", *folder, name);
        if (access(path, R_OK) == 0 && realpath(path, resolved))
            return lull_arena_strdup(arena, resolved);
    }
    return NULL;
}

static enum lull_mpi_family family_of(const struct lull_recording *recording,
                                      const struct lull_recording_wish *wish)
{
    const struct lull_executable *executable = &recording->executable;
    if (wish->mpi_named)
        return wish->mpi;
    if (executable->mpi != LULL_MPI_NONE)
        return executable->mpi;
    /* What an interpreter or a shell loads later is most likely the launcher's. */
    return executable->interprets && recording->job.parallel ? recording->job.family
                                                             : LULL_MPI_NONE;
}

/* What keeps a recorder out; NULL if nothing does. */
static const char *obstacle(const struct lull_executable *executable)
{
    if (!executable->elf)
        return "is no program of this machine that could be looked into";
    if (executable->privileged)
        return "runs with the rights of its owner (setuid), where no recorder is let in";
    if (executable->static_mpi)
        return "has MPI linked into it: link it with the shared library of MPI to record it";
    if (!executable->dynamic)
        return "is linked statically, so that nothing can be recorded";
    return NULL;
}

/* Of programs with OpenSHMEM, where there is one for them. */
static const char *find_for_shmem(const struct lull_executable *executable,
                                  enum lull_mpi_family family, struct lull_arena *arena)
{
    return executable->openshmem && family == LULL_MPI_OPENMPI
               ? find_library("liblull-record-openmpi-shmem.so", arena)
               : NULL;
}

/* Sets `library`, or the warning that there is none. */
static void find_recorder(struct lull_recording *recording, const struct lull_recording_wish *wish,
                          struct lull_arena *arena)
{
    const struct lull_executable *executable = &recording->executable;
    if (obstacle(executable)) {
        recording->warning = lull_arena_printf(arena, "'%s' %s; it runs without recording",
                                               executable->name, obstacle(executable));
        return;
    }
    enum lull_mpi_family family = family_of(recording, wish);
    const char *name = family == LULL_MPI_NONE ? "liblull-record.so"
                                               : lull_arena_printf(arena, "liblull-record-%s.so",
                                                                   lull_mpi_family_name(family));
    recording->library = find_for_shmem(executable, family, arena);
    if (!recording->library)
        recording->library = find_library(name, arena);
    if (!recording->library)
        recording->warning = lull_arena_printf(
            arena, "%s: not found beside lull%s; '%s' runs without recording", name,
            family == LULL_MPI_NONE ? "" : " (built without that MPI)", executable->name);
}

/* What will be recorded may be less than the user expects. */
static const char *advice(const struct lull_recording *recording,
                          const struct lull_recording_wish *wish, struct lull_arena *arena)
{
    const struct lull_executable *executable = &recording->executable;
    if (executable->shell && !wish->follow)
        return lull_arena_printf(
            arena,
            "'%s' is run by a shell: of what it starts, programs with MPI or OpenMP are recorded,"
            " and Python and its like (--follow: all)",
            executable->name);
    if (recording->job.parallel && family_of(recording, wish) == LULL_MPI_NONE &&
        !executable->interprets)
        return lull_arena_printf(arena,
                                 "'%s' needs no MPI library that is known: its MPI calls, if any, "
                                 "will not be seen (see --mpi)",
                                 executable->name);
    return NULL;
}

/* A job whose processes have no numbers before they begin may have the same one on two nodes. */
static bool stores_by_node(const struct lull_recording *recording,
                           const struct lull_recording_wish *wish)
{
    enum { MANY = 32 };
    const struct lull_job *job = &recording->job;
    const bool wanted = wish->store == LULL_STORE_NODE ||
                        (wish->store == LULL_STORE_CHOSEN && job->node_size >= MANY);
    return wanted && (job->parallel || !job->siblings);
}

/* ---- environment --------------------------------------------------------------------------- */

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void set_flag(const char *name, bool on)
{
    set(name, on ? "1" : NULL);
}

/* Puts a text in front of a list in the environment, unless it is there. */
static void put_first(const char *name, const char *text, struct lull_arena *arena)
{
    const char *list = getenv(name);
    if (!list || !strstr(list, text))
        set(name,
            lull_arena_printf(arena, "%s%s%s", text, list && *list ? ":" : "", list ? list : ""));
}

/* Behind a shell, the recorder seeks the program. */
static const char *follow_mode(const struct lull_recording *recording,
                               const struct lull_recording_wish *wish)
{
    if (wish->follow)
        return "1";
    return recording->executable.shell ? "program" : NULL;
}

static void set_environment(const struct lull_recording *recording,
                            const struct lull_recording_wish *wish, struct lull_arena *arena)
{
    set("LULL_RECORD_DIR", recording->run);
    set("LULL_RECORD_BYTES",
        wish->has_bytes ? lull_arena_printf(arena, "%llu", (unsigned long long)wish->bytes) : NULL);
    set_flag("LULL_RECORD_LAST", wish->last);
    set_flag("LULL_RECORD_PROFILE", wish->profile);
    set_flag("LULL_RECORD_FILES", wish->files);
    set("LULL_RECORD_STORE", stores_by_node(recording, wish) ? "node" : NULL);
    set("LULL_RECORD_COUNTERS", wish->counters);
    set("LULL_RECORD_FOLLOW", follow_mode(recording, wish));
    set("LULL_RECORD_CALLPATH", wish->callpath);
    set("LULL_RECORD_FILTER", wish->filter);
    set("LULL_RECORD_THROTTLE", wish->throttle);
    set("LULL_RECORD_START", wish->start);
    set("LULL_RECORD_DURATION", wish->duration);
    set("LULL_RECORD_SIGNALS", wish->signals);
    set("LULL_RECORD_ITERATIONS", wish->iterations);
    set("LULL_RECORD_WAITS", wish->waits);
    put_first("ASAN_OPTIONS", LULL_ASAN_ORDER, arena);
    put_first("LD_PRELOAD", recording->library, arena);
}

/* ---- all together -------------------------------------------------------------------------- */

static enum lull_target_found claim_target(struct lull_recording *recording,
                                           const struct lull_recording_wish *wish,
                                           struct lull_arena *arena, struct lull_error *err)
{
    const struct lull_target_options how = {.replace = wish->replace,
                                            .number = !wish->output,
                                            .by_node = stores_by_node(recording, wish)};
    const char *target = wish->output
                             ? wish->output
                             : lull_target_default(&recording->executable, &recording->job, arena);
    return lull_target_claim(target, &recording->job, &how, arena, &recording->run, err);
}

/* As lull_recording_prepare, but every rank has the warning. */
static lull_status prepare(const char *word, const struct lull_recording_wish *wish,
                           struct lull_arena *arena, struct lull_recording *recording,
                           struct lull_error *err)
{
    struct lull_error refused;
    lull_executable_inspect(word, arena, &recording->executable);
    lull_job_describe(&recording->executable, arena, &recording->job);
    if (!recording->executable.path)
        return LULL_OK; /* exec says it best */
    find_recorder(recording, wish, arena);
    if (!recording->library)
        return LULL_OK;
    switch (claim_target(recording, wish, arena, &refused)) {
    case LULL_TARGET_EXISTS:
        return lull_fail(err, LULL_ERR_RANGE, "%s", refused.text);
    case LULL_TARGET_FAILED:
        recording->library = NULL;
        recording->warning = lull_arena_printf(arena, "%s; '%s' runs without recording",
                                               refused.text, recording->executable.name);
        return LULL_OK;
    default:
        recording->warning = advice(recording, wish, arena);
        set_environment(recording, wish, arena);
        return LULL_OK;
    }
}

lull_status lull_recording_prepare(const char *word, const struct lull_recording_wish *wish,
                                   struct lull_arena *arena, struct lull_recording *ret_recording,
                                   struct lull_error *err)
{
    *ret_recording = (struct lull_recording){.library = NULL};
    lull_status status = prepare(word, wish, arena, ret_recording, err);
    if (ret_recording->job.rank != 0)
        ret_recording->warning = NULL;
    return status;
}
