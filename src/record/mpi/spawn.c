/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that the program spawns. The MPI runtime starts them with an environment of its own. So
 * env(1) gives them what they need to record, and becomes the program:
 *
 *     command argument...  ->  /usr/bin/env LD_PRELOAD=... LULL_RECORD_...=... command argument...
 *
 * env starts also where the command cannot be found, and MPI would take the spawn for a success. So
 * the command is looked for first, in the way that MPI does. Where anything is in doubt, the
 * program spawns what it asked for.
 *
 * Nothing is sent to the other processes: the root of the spawn claims numbers for the new ones and
 * leaves them in the run's folder, where the other parents and the children find them
 * (record/mpi/spawned.h). */
#include "record/mpi/comms.h"
#include "record/mpi/spawned.h"
#include "record/report.h"
#include "record/thread/fork.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- looking for the command ----------------------------------------------------------------- */

static bool info_of(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL])
{
    int found = 0;
    return info != MPI_INFO_NULL &&
           rec_mpi.Info_get(info, key, MPI_MAX_INFO_VAL - 1, value, &found) == MPI_SUCCESS && found;
}

/* Whether MPI looks for the command in folders that the info names. Open MPI does not: the key is
 * "to be implemented" there (ompi/dpm/dpm.c of 4.1 and 5.0). Hydra, below MPICH, puts it in front
 * of the command, also of one with a path. */
static bool is_looked_for(MPI_Info info)
{
#if defined(OPEN_MPI)
    (void)info;
    return false;
#else
    char folders[MPI_MAX_INFO_VAL];
    return info_of(info, "path", folders);
#endif
}

/* Whether FOLDER/PLACE/NAME can be executed; PLACE is the first `length` bytes of `place`. */
static bool can_execute(const char *folder, const char *place, size_t length, const char *name)
{
    char path[PATH_MAX];
    struct stat info;
    int size = snprintf(path, sizeof path, "%s/%.*s/%s", folder, (int)length, place, name);
    return size > 0 && (size_t)size < sizeof path && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Whether the command is in a folder of PATH; relative ones lie in `folder`. */
static bool is_in_path(const char *command, const char *folder)
{
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t length = strcspn(at, ":");
        if (can_execute(*at == '/' ? "" : folder, at, length, command))
            return true;
        at += length;
        at += *at == ':';
    }
    return false;
}

enum command_found {
    FOUND,
    FOUND_HERE, /* in the working folder, though PATH does not have it */
    NOT_FOUND
};

/* A command without a slash is looked for in PATH and then, by Open MPI, in the working folder. */
static enum command_found find_command(const char *command, MPI_Info info)
{
    char given[MPI_MAX_INFO_VAL], here[PATH_MAX], folder[PATH_MAX + MPI_MAX_INFO_VAL];
    bool elsewhere = info_of(info, "wdir", given);
    if (*command == '/')
        return can_execute("", "", 0, command) ? FOUND : NOT_FOUND;
    if (!getcwd(here, sizeof here))
        return NOT_FOUND;
    if (elsewhere && *given == '/')
        snprintf(folder, sizeof folder, "%s", given);
    else
        snprintf(folder, sizeof folder, "%s%s%s", here, elsewhere ? "/" : "",
                 elsewhere ? given : "");
    bool bare = !strchr(command, '/');
    if (bare && is_in_path(command, folder))
        return FOUND;
    if (!can_execute(folder, ".", 1, command))
        return NOT_FOUND;
    return bare ? FOUND_HERE : FOUND;
}

/* ---- what is started in its place ------------------------------------------------------------ */

static const char *env_program(void)
{
    static const char *const places[] = {"/usr/bin/env", "/bin/env"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* What is made for one spawn, in one piece of memory with `texts` at its end. */
struct made_commands {
    const char *env;
    char **commands, ***argvs, **words;
    char *texts;
    unsigned n_settings;
};

static size_t count_words(char *const *argv)
{
    size_t n = 0;
    while (argv && argv[n])
        n++;
    return n;
}

enum { TEXT = 48 };

static bool allocate(struct made_commands *made, struct rec_mpi_spawn *spawn, int n)
{
    char *const *settings;
    made->env = env_program();
    made->n_settings = rec_settings(&settings);
    if (!made->env || made->n_settings == 0)
        return false;
    size_t words = 0, text = strlen(made->env) + 1 + 2 * TEXT;
    for (int i = 0; i < n; i++) {
        words += made->n_settings + 4 + count_words(spawn->argvs ? spawn->argvs[i] : NULL);
        text += strlen(spawn->commands[i]) + 3;
    }
    size_t pointers = (size_t)n * 2 + words;
    spawn->own = malloc(pointers * sizeof(void *) + text);
    if (!spawn->own)
        return false;
    made->commands = spawn->own;
    made->argvs = (char ***)(void *)(made->commands + n);
    made->words = (char **)(void *)(made->argvs + n);
    made->texts = (char *)(made->words + words);
    return true;
}

static char *put_text(struct made_commands *made, const char *before, const char *text)
{
    char *place = made->texts;
    made->texts += sprintf(place, "%s%s", before, text) + 1;
    return place;
}

static void fill_commands(struct made_commands *made, struct rec_mpi_spawn *spawn, int n,
                          const MPI_Info *infos, const struct rec_spawned *claimed)
{
    char *const *settings, number[TEXT];
    rec_settings(&settings);
    char *env = put_text(made, "", made->env);
    snprintf(number, sizeof number, "%u", claimed->application);
    char *application = put_text(made, "LULL_RECORD_APPLICATION=", number);
    snprintf(number, sizeof number, "%u", claimed->first);
    char *first = put_text(made, "LULL_RECORD_FIRST=", number);
    for (int i = 0; i < n; i++) {
        char **argv = spawn->argvs ? spawn->argvs[i] : NULL;
        bool here = find_command(spawn->commands[i], infos[i]) == FOUND_HERE;
        made->commands[i] = env;
        made->argvs[i] = made->words;
        for (unsigned s = 0; s < made->n_settings; s++)
            *made->words++ = settings[s];
        *made->words++ = application;
        *made->words++ = first;
        *made->words++ = put_text(made, here ? "./" : "", spawn->commands[i]);
        for (; argv && *argv; argv++)
            *made->words++ = *argv;
        *made->words++ = NULL;
    }
    spawn->commands = made->commands;
    spawn->argvs = made->argvs;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Why the spawn cannot be recorded; "": MPI is going to refuse it. NULL: it can be recorded. */
static const char *obstacle(const struct rec_mpi_spawn *spawn, int n, const int *sizes,
                            const MPI_Info *infos, const struct rec_mpi_comm *comm,
                            const uint32_t *parents)
{
    if (n < 1 || !spawn->commands || !sizes || !infos || comm->inter || !parents)
        return "";
    for (int i = 0; i < n; i++) {
        if (!spawn->commands[i] || !*spawn->commands[i] || sizes[i] < 0)
            return "";
        if (is_looked_for(infos[i]))
            return "it is looked for by a path";
        if (find_command(spawn->commands[i], infos[i]) == NOT_FOUND)
            return "";
        if (strchr(spawn->commands[i], '='))
            return "its name has a '=' in it";
    }
    for (int r = 0; r < comm->size; r++)
        if (parents[r] == UINT32_MAX)
            return "not all of its parents are recorded";
    if (comm->size > 1 && spawn->key == 0)
        return "the communicator was made in a pause";
    return NULL;
}

static void say(const struct rec_mpi_spawn *spawn, const char *reason)
{
    static bool said;
    if (*reason && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        rec_report_say("'%s' is spawned without being recorded: %s", spawn->commands[0], reason);
}

/* Claims numbers for the new processes. Returns why that cannot be done; NULL: it is done. */
static const char *claim_spawned(const struct rec_mpi_spawn *spawn, int n, const int *sizes,
                                 const struct rec_mpi_comm *comm, uint32_t *parents,
                                 struct rec_spawned *ret_claimed)
{
    struct rec_spawned wanted = {.n_parents = (uint32_t)comm->size, .parents = parents};
    for (int i = 0; i < n; i++)
        wanted.count += (uint32_t)sizes[i];
    return rec_spawned_claim(spawn->key, rec_mpi_highest_number(), &wanted, ret_claimed)
               ? NULL
               : "the folder of the run cannot be written";
}

/* The arguments that say what is spawned count at the root alone. */
static void begin_spawn(struct rec_mpi_spawn *spawn, int n, const int *sizes, const MPI_Info *infos,
                        int root, MPI_Comm comm)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    spawn->key = rec_mpi_spawn_key(info);
    if (info->rank != root)
        return;
    spawn->asked = n > 0 && spawn->commands ? spawn->commands[0] : NULL;
    spawn->n_asked = n;
    uint32_t *parents = rec_current()->paused ? NULL : rec_mpi_list_members(comm, info->size);
    const char *reason = obstacle(spawn, n, sizes, infos, info, parents);
    struct made_commands made = {0};
    struct rec_spawned claimed;
    if (!reason && !allocate(&made, spawn, n))
        reason = "there is no env(1), or no memory";
    if (!reason)
        reason = claim_spawned(spawn, n, sizes, info, parents, &claimed);
    free(parents);
    if (reason) {
        say(spawn, reason);
        return;
    }
    fill_commands(&made, spawn, n, infos, &claimed);
    spawn->first = claimed.first;
    spawn->count = claimed.count;
}

/* The caller's arrays are only read. */
void rec_mpi_spawn_begin_multiple(struct rec_mpi_spawn *spawn, int n, char **commands,
                                  char ***argvs, const int *sizes, const MPI_Info *infos, int root,
                                  MPI_Comm comm)
{
    *spawn = (struct rec_mpi_spawn){.commands = commands, .argvs = argvs};
    begin_spawn(spawn, n, sizes, infos, root, comm);
}

void rec_mpi_spawn_begin(struct rec_mpi_spawn *spawn, const char *command, char **argv, int size,
                         MPI_Info info, int root, MPI_Comm comm)
{
    *spawn = (struct rec_mpi_spawn){.argv_here = argv};
    memcpy(&spawn->command_here, &command, sizeof command); /* nobody writes to it */
    spawn->commands = &spawn->command_here;
    spawn->argvs = &spawn->argv_here;
    begin_spawn(spawn, 1, &size, &info, root, comm);
}

/* "spawn of ./solver": what the new communicator is called, at the root. */
static const char *name_spawn(const struct rec_mpi_spawn *spawn, char *name, size_t size)
{
    if (!spawn->asked)
        return "";
    snprintf(name, size, "spawn of %s%s", spawn->asked, spawn->n_asked > 1 ? " and others" : "");
    return name;
}

void rec_mpi_spawn_end(struct rec_mpi_call *call, struct rec_mpi_spawn *spawn, MPI_Comm comm,
                       MPI_Comm fresh)
{
    struct rec_spawned found;
    char name[256];
    if (spawn->count == 0 && spawn->key != 0 && rec_spawned_find(spawn->key, &found)) {
        spawn->first = found.first;
        spawn->count = found.count;
    }
    if (fresh != MPI_COMM_NULL && spawn->count > 0)
        rec_mpi_add_spawned(fresh, spawn->first, spawn->count);
    free(spawn->own);
    rec_mpi_spawned_comm(call, comm, fresh, name_spawn(spawn, name, sizeof name));
}

void rec_mpi_spawn_failed(struct rec_mpi_call *call, struct rec_mpi_spawn *spawn)
{
    free(spawn->own);
    rec_mpi_followed_call(call);
}
