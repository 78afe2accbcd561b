#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "launch/launcher.h"
#include "launch/target.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, MOST_PROGRAMS = 64 };

static struct {
    char *output;
    int force;
    char *max_size;
    int profile;
    char *counters;
    int follow;
    char *callpath;
    char *mpi;
    int verbose;
} settings;

static const struct poptOption options[] = {
    {"output", 'o', POPT_ARG_STRING, &settings.output, 0,
     "folder of the run (PROGRAM.RANKSxTHREADS.lull, or with a number behind if that is there)",
     "DIR"},
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0, "replace DIR if it is a run", NULL},
    {"max-size", '\0', POPT_ARG_STRING, &settings.max_size, 0,
     "size of the events of each process (1GiB); then they stop, sums go on", "SIZE"},
    {"profile", '\0', POPT_ARG_NONE, &settings.profile, 0, "keep sums only, no events", NULL},
    {"counters", '\0', POPT_ARG_STRING, &settings.counters, 0,
     "hardware counters, separated by commas, or none (instructions,cycles, where perf_event has "
     "them)",
     "NAME,..."},
    {"follow", '\0', POPT_ARG_NONE, &settings.follow, 0,
     "record also the programs that COMMAND starts", NULL},
    {"callpath", '\0', POPT_ARG_STRING, &settings.callpath, 0,
     "tell calls apart by N callers instead of one (1)", "N"},
    {"mpi", '\0', POPT_ARG_STRING, &settings.mpi, 0,
     "which MPI the program uses (found out from its libraries)", "openmpi|mpich|none"},
    {"verbose", '\0', POPT_ARG_NONE, &settings.verbose, 0, "say what is done", NULL},
    POPT_TABLEEND,
};

/* ---- settings -------------------------------------------------------------------------------- */

/* -1: by itself. */
static int chosen_mpi(void)
{
    for (int family = 0; settings.mpi && family < LULL_MPI_FAMILIES; family++)
        if (strcmp(settings.mpi, lull_mpi_family_name((enum lull_mpi_family)family)) == 0)
            return family;
    return -1;
}

enum { MOST_CALLERS = 32 }; /* that the recorder follows */

static bool is_number_of_callers(const char *text)
{
    uint64_t number;
    return lull_parse_u64(text, strlen(text), &number) == LULL_OK && number >= 1 &&
           number <= MOST_CALLERS;
}

static int check_settings(const char *command)
{
    struct lull_error err;
    uint64_t bytes;
    if (!command)
        return lull_cli_usage("expected a COMMAND to run");
    if (settings.max_size && lull_parse_size(settings.max_size, &bytes, &err) != LULL_OK)
        return lull_cli_usage("--max-size: %s", err.text);
    if (settings.callpath && !is_number_of_callers(settings.callpath))
        return lull_cli_usage("--callpath is '%s', expected 1 to 32", settings.callpath);
    if (settings.mpi && chosen_mpi() < 0)
        return lull_cli_usage("--mpi is '%s', expected openmpi, mpich or none", settings.mpi);
    return LULL_EXIT_OK;
}

static const char *own_path(struct lull_arena *arena)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? lull_arena_strndup(arena, path, (size_t)length) : "lull";
}

/* ---- in front of mpirun -----------------------------------------------------------------------
 */

struct words {
    char **items;
    size_t count, capacity;
    struct lull_arena *arena;
};

static void add_word(struct words *words, const char *word)
{
    words->items = lull_arena_grow(words->arena, words->items, &words->capacity, words->count + 2,
                                   sizeof *words->items);
    words->items[words->count++] = word ? lull_arena_strdup(words->arena, word) : NULL;
    words->items[words->count] = NULL;
}

static void add_option(struct words *words, const char *name, const char *value)
{
    if (value)
        add_word(words, lull_arena_printf(words->arena, "--%s=%s", name, value));
}

/* Ourselves again, with the options that we were given. */
static void add_ourselves(struct words *words, const char *output)
{
    add_word(words, own_path(words->arena));
    add_word(words, "record");
    add_option(words, "output", output);
    add_option(words, "max-size", settings.max_size);
    add_option(words, "callpath", settings.callpath);
    add_option(words, "counters", settings.counters);
    add_option(words, "mpi", settings.mpi);
    static const struct {
        const char *word;
        const int *set;
    } flags[] = {{"--force", &settings.force},
                 {"--profile", &settings.profile},
                 {"--follow", &settings.follow},
                 {"--verbose", &settings.verbose}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (*flags[i].set)
            add_word(words, flags[i].word);
    add_word(words, "--");
}

/* Folders are relative to where we are, whatever the launcher's processes are told. */
static const char *output_for_launched(size_t programs, const char *first, struct lull_arena *arena)
{
    const char *output = settings.output;
    if (!output && programs > 1) { /* several programs, one run */
        const char *slash = strrchr(first, '/');
        output = lull_arena_printf(arena, "%s.lull", slash ? slash + 1 : first);
    }
    char folder[PATH_MAX];
    if (!output || *output == '/' || !getcwd(folder, sizeof folder))
        return output;
    return lull_arena_printf(arena, "%s/%s", folder, output);
}

/* `mpirun ... program` becomes `mpirun ... lull record ... program`. */
static char **insert_ourselves(char **argv, struct lull_arena *arena)
{
    size_t programs[MOST_PROGRAMS];
    size_t count = lull_launcher_programs(argv, arena, programs, MOST_PROGRAMS);
    if (count == 0 || count > MOST_PROGRAMS)
        return NULL;
    const char *output = output_for_launched(count, argv[programs[0]], arena);
    struct words words = {.arena = arena};
    for (size_t i = 0, next = 0; argv[i]; i++) {
        if (next < count && i == programs[next]) {
            add_ourselves(&words, output);
            next++;
        }
        add_word(&words, argv[i]);
    }
    return words.items;
}

/* ---- the recorder -----------------------------------------------------------------------------
 */

static const char *find_library(const char *name, struct lull_arena *arena)
{
    const char *own = own_path(arena);
    const char *slash = strrchr(own, '/');
    const int folder = slash ? (int)(slash - own) : 0;
    const char *const places[] = {
        lull_arena_printf(arena, "%.*s/%s", folder, own, name),
        lull_arena_printf(arena, "%.*s/../" LULL_RECORD_FOLDER "/%s", folder, own, name),
    };
    char resolved[PATH_MAX];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], R_OK) == 0 && realpath(places[i], resolved))
            return lull_arena_strdup(arena, resolved);
    return NULL;
}

static enum lull_mpi_family family_of(const struct lull_program *program,
                                      const struct lull_job *job)
{
    int chosen = chosen_mpi();
    if (chosen >= 0)
        return (enum lull_mpi_family)chosen;
    if (program->mpi != LULL_MPI_NONE)
        return program->mpi;
    /* What an interpreter or a shell loads later is most likely the launcher's. */
    return program->interprets && job->parallel ? job->family : LULL_MPI_NONE;
}

static const char *recorder_for(const struct lull_program *program, const struct lull_job *job,
                                struct lull_arena *arena)
{
    enum lull_mpi_family family = family_of(program, job);
    const char *name = family == LULL_MPI_NONE ? "liblull-record.so"
                                               : lull_arena_printf(arena, "liblull-record-%s.so",
                                                                   lull_mpi_family_name(family));
    const char *library = find_library(name, arena);
    if (!library && job->rank == 0)
        lull_cli_warn("%s: not found beside lull%s; '%s' runs without recording", name,
                      family == LULL_MPI_NONE ? "" : " (built without that MPI)", program->name);
    return library;
}

/* What keeps a recorder out; NULL if nothing does. */
static const char *obstacle(const struct lull_program *program)
{
    if (!program->elf)
        return "is no program of this machine that could be looked into";
    if (program->privileged)
        return "runs with the rights of its owner (setuid), where no recorder is let in";
    if (program->static_mpi)
        return "has MPI linked into it: link it with the shared library of MPI to record it";
    if (!program->dynamic)
        return "is linked statically, so that nothing can be recorded";
    return NULL;
}

static void give_advice(const struct lull_program *program, const struct lull_job *job)
{
    if (job->rank != 0)
        return;
    if (program->shell && !settings.follow)
        lull_cli_warn("'%s' is run by a shell: what it starts is recorded only with --follow",
                      program->name);
    else if (job->parallel && family_of(program, job) == LULL_MPI_NONE && !program->interprets)
        lull_cli_warn("'%s' needs no MPI library that is known: its MPI calls, if any, will not "
                      "be seen (see --mpi)",
                      program->name);
}

/* ---- environment ------------------------------------------------------------------------------
 */

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

/* Puts a library in front of a list in the environment, unless it is there. */
static void put_in_front(const char *name, const char *library, char separator,
                         struct lull_arena *arena)
{
    const char *list = getenv(name);
    if (list && strstr(list, library))
        return;
    set(name,
        list && *list ? lull_arena_printf(arena, "%s%c%s", library, separator, list) : library);
}

static void prepare_environment(const char *run, const char *library, struct lull_arena *arena)
{
    uint64_t bytes;
    set("LULL_RECORD_DIR", run);
    set("LULL_RECORD_BYTES",
        settings.max_size && lull_parse_size(settings.max_size, &bytes, NULL) == LULL_OK
            ? lull_arena_printf(arena, "%llu", (unsigned long long)bytes)
            : NULL);
    set_flag("LULL_RECORD_PROFILE", settings.profile);
    set("LULL_RECORD_COUNTERS", settings.counters);
    set_flag("LULL_RECORD_FOLLOW", settings.follow);
    set("LULL_RECORD_CALLPATH", settings.callpath);
    put_in_front("LD_PRELOAD", library, ':', arena);
}

/* ---- running ----------------------------------------------------------------------------------
 */

static int execute(char **argv)
{
    execvp(argv[0], argv);
    int reason = errno;
    lull_cli_fail("%s: cannot run: %s", argv[0], strerror(reason));
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Sets the environment for recording as far as that is possible: whatever goes wrong, the program
 * is run, unless a run would be overwritten. */
static int prepare(const char *word, struct lull_arena *arena)
{
    struct lull_program program;
    struct lull_job job;
    lull_program_inspect(word, arena, &program);
    lull_job_describe(arena, &job);
    if (!program.path)
        return LULL_EXIT_OK; /* exec says it best */
    if (obstacle(&program)) {
        if (job.rank == 0)
            lull_cli_warn("'%s' %s; it runs without recording", program.name, obstacle(&program));
        return LULL_EXIT_OK;
    }
    const char *library = recorder_for(&program, &job, arena);
    if (!library)
        return LULL_EXIT_OK;
    const struct lull_target_options how = {.replace = settings.force, .number = !settings.output};
    const char *target =
        settings.output ? settings.output : lull_target_default(&program, &job, arena);
    const char *run;
    struct lull_error err;
    switch (lull_target_claim(target, &job, &how, arena, &run, &err)) {
    case LULL_TARGET_EXISTS:
        return lull_cli_fail("%s", err.text);
    case LULL_TARGET_FAILED:
        if (job.rank == 0)
            lull_cli_warn("%s; '%s' runs without recording", err.text, program.name);
        return LULL_EXIT_OK;
    default:
        break;
    }
    give_advice(&program, &job);
    prepare_environment(run, library, arena);
    if (settings.verbose)
        fprintf(stderr, "lull record: rank %u of %u: %s, recorded by %s into %s\n", job.rank,
                job.size, program.path, library, run);
    return LULL_EXIT_OK;
}

static int run(poptContext context)
{
    struct lull_arena *arena = lull_cli_arena();
    struct words words = {.arena = arena};
    for (const char *word; (word = poptGetArg(context));)
        add_word(&words, word);
    int status = check_settings(words.count ? words.items[0] : NULL);
    char **argv = words.items;
    if (status == LULL_EXIT_OK && lull_is_launcher(argv[0])) {
        argv = insert_ourselves(words.items, arena);
        if (!argv)
            status = lull_cli_usage("found no program behind '%s'", words.items[0]);
    } else if (status == LULL_EXIT_OK) {
        status = prepare(argv[0], arena);
    }
    if (status == LULL_EXIT_OK)
        status = execute(argv);
    lull_arena_destroy(arena);
    return status;
}

const struct lull_command lull_cmd_record = {
    .name = "record",
    .summary = "run a program and record what its threads do",
    .operands = "[--] COMMAND...",
    .details = "COMMAND is a program, or mpirun, mpiexec or srun with one; it may as well be\n"
               "started by these: mpirun -n 4 lull record ./app. Its exit status is kept.\n\n"
               "examples:\n"
               "  lull record ./app input.dat\n"
               "  mpirun -n 4 lull record -o before ./app\n"
               "  lull record --max-size 200MiB mpirun -n 4 ./app && lull metrics app.4x1.lull\n",
    .options = options,
    .run = run,
    .launches = true,
};
