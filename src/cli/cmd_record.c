#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"
#include "cli/options/simulation_options.h"
#include "filter/filter.h"
#include "launch/injection.h"
#include "launch/installed.h"
#include "launch/launcher.h"
#include "launch/recording.h"
#include "launch/wish.h"
#include "launch/words.h"
#include "lull_features.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static struct {
    char *output;
    int force;
    char *max_size, *keep;
    int profile;
    char *counters;
    int follow;
    int files;
    char *callpath;
    char *filter;
    char *throttle;
    char *start_after, *duration, *signals, *iterations, *waits;
    char *mpi;
    char **inject;
    char *seed;
    int verbose;
} settings;

static const struct poptOption options[] = {
    {"output", 'o', POPT_ARG_STRING, &settings.output, 0,
     "folder of the run (PROGRAM.RANKSxTHREADS.lull, or with a number behind if that is there)",
     "DIR"},
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0, "replace DIR if it is a run", NULL},
    {"max-size", '\0', POPT_ARG_STRING, &settings.max_size, 0,
     "size of the events of each process (1GiB); then they stop, sums go on", "SIZE"},
    {"keep", '\0', POPT_ARG_STRING, &settings.keep, 0,
     "keep the newest events of each process, for what happens before a crash; sums are of all",
     "last:SIZE"},
    {"profile", '\0', POPT_ARG_NONE, &settings.profile, 0, "keep sums only, no events", NULL},
    {"counters", '\0', POPT_ARG_STRING, &settings.counters, 0,
     "hardware counters, separated by commas, or none (instructions,cycles, where perf_event has "
     "them)",
     "NAME,..."},
    {"follow", '\0', POPT_ARG_NONE, &settings.follow, 0,
     "record also the programs that COMMAND starts", NULL},
    {"files", '\0', POPT_ARG_NONE, &settings.files, 0,
     "record also the C library's calls that open, read, write and close files", NULL},
    {"callpath", '\0', POPT_ARG_STRING, &settings.callpath, 0,
     "tell calls apart by N callers instead of one (1)", "N"},
    {"filter", '\0', POPT_ARG_STRING, &settings.filter, 0,
     "which functions of a program compiled with -finstrument-functions are recorded, in the "
     "syntax "
     "of Score-P's filter files (all)",
     "FILE"},
    {"throttle", '\0', POPT_ARG_STRING, &settings.throttle, 0,
     "leave out functions after CALLS calls whose mean is below TIME, or none (100000:1us)",
     "CALLS:TIME"},
    {"start-after", '\0', POPT_ARG_STRING, &settings.start_after, 0,
     "record from that time on after the program's begin (0s)", "TIME"},
    {"duration", '\0', POPT_ARG_STRING, &settings.duration, 0, "record for that long (to the end)",
     "TIME"},
    {"iterations", '\0', POPT_ARG_STRING, &settings.iterations, 0,
     "record these iterations that lull_iteration marks, or visits of a marked region NAME, "
     "counted from 1",
     "[NAME:]FIRST:LAST"},
    {"signals", '\0', POPT_ARG_STRING, &settings.signals, 0,
     "SIGUSR1 switches recording on, SIGUSR2 off; it is on or off at first", "on|off"},
    {"waits", '\0', POPT_ARG_STRING, &settings.waits, 0,
     "record waits for mutexes, conditions and semaphores from that length on, or none (1us)",
     "TIME|none"},
    {"mpi", '\0', POPT_ARG_STRING, &settings.mpi, 0,
     "which MPI the program uses (found out from its libraries)", "openmpi|mpich|none"},
    {"inject", '\0', POPT_ARG_ARGV, &settings.inject, 0,
     "disturb the program on purpose: hockney:latency=1ms for all messages, a noise as for lull "
     "simulate, a delay RANK@WHEN:LENGTH; may be repeated",
     "SPEC"},
    {"seed", '\0', POPT_ARG_STRING, &settings.seed, 0, "of the noise that is injected (1)", "N"},
    {"verbose", '\0', POPT_ARG_NONE, &settings.verbose, 0, "say what is done", NULL},
    POPT_TABLEEND,
};

/* ---- what was typed ------------------------------------------------------------------------ */

enum { MOST_CALLERS = 32 }; /* that the recorder follows */

/* It is read here to be checked, and again by the recorder. */
static int read_filter(struct lull_arena *arena, const char **ret_filter)
{
    const struct lull_filter *filter;
    struct lull_error err;
    if (!settings.filter)
        return LULL_EXIT_OK;
    if (!LULL_HAVE_LIBDW)
        return lull_cli_fail("--filter: lull was built without libdw (lull info)");
    if (lull_filter_read(settings.filter, arena, &filter, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    char *whole = realpath(settings.filter, NULL);
    *ret_filter = whole ? lull_arena_strdup(arena, whole) : settings.filter;
    free(whole);
    return LULL_EXIT_OK;
}

static int read_settings(const char *command, struct lull_arena *arena,
                         struct lull_recording_wish *wish)
{
    static const char *const words[] = {"openmpi", "mpich", "none", NULL};
    static const char *const states[] = {"on", "off", NULL};
    static const enum lull_mpi_family families[] = {LULL_MPI_NONE, LULL_MPI_OPENMPI, LULL_MPI_MPICH,
                                                    LULL_MPI_NONE};
    const struct lull_recording_texts texts = {.max_size = settings.max_size,
                                               .keep = settings.keep,
                                               .throttle = settings.throttle,
                                               .start_after = settings.start_after,
                                               .duration = settings.duration,
                                               .iterations = settings.iterations,
                                               .waits = settings.waits};
    struct lull_error err;
    uint64_t callers;
    unsigned mpi, state;
    *wish = (struct lull_recording_wish){.output = settings.output,
                                         .replace = settings.force,
                                         .profile = settings.profile,
                                         .follow = settings.follow,
                                         .files = settings.files,
                                         .counters = settings.counters,
                                         .callpath = settings.callpath,
                                         .signals = settings.signals};
    if (!command)
        return lull_cli_usage("expected a COMMAND to run");
    if (lull_option_number("callpath", settings.callpath, 1, MOST_CALLERS, &callers, &err) !=
            LULL_OK ||
        lull_option_word("mpi", settings.mpi, words, &mpi, &err) != LULL_OK ||
        lull_recording_wish_read(&texts, arena, wish, &err) != LULL_OK ||
        lull_option_word("signals", settings.signals, states, &state, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    wish->mpi_named = mpi > 0;
    wish->mpi = families[mpi];
    return read_filter(arena, &wish->filter);
}

/* ---- in front of mpirun -------------------------------------------------------------------- */

/* `mpirun ... program` becomes `mpirun ... lull record ... program`: ourselves again, with the
 * options that we were given. */
static char **insert_ourselves(char **argv, struct lull_arena *arena)
{
    const struct {
        const char *name, *value;
    } said[] = {{"output", lull_launcher_output(argv, settings.output, arena)},
                {"max-size", settings.max_size},
                {"keep", settings.keep},
                {"callpath", settings.callpath},
                {"counters", settings.counters},
                {"filter", settings.filter},
                {"throttle", settings.throttle},
                {"start-after", settings.start_after},
                {"duration", settings.duration},
                {"iterations", settings.iterations},
                {"signals", settings.signals},
                {"waits", settings.waits},
                {"mpi", settings.mpi},
                {"seed", settings.seed}};
    const struct {
        const char *word;
        int set;
    } flags[] = {{"--force", settings.force},
                 {"--profile", settings.profile},
                 {"--follow", settings.follow},
                 {"--files", settings.files},
                 {"--verbose", settings.verbose}};
    struct lull_words words = {.arena = arena};
    lull_words_add(&words, lull_own_path(arena));
    lull_words_add(&words, "record");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        lull_words_option(&words, said[i].name, said[i].value);
    for (char **spec = settings.inject; spec && *spec; spec++)
        lull_words_option(&words, "inject", *spec);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].set)
            lull_words_add(&words, flags[i].word);
    lull_words_add(&words, "--");
    return lull_launcher_insert(argv, words.items, arena);
}

/* ---- running ------------------------------------------------------------------------------- */

static int execute(char **argv)
{
    execvp(argv[0], argv);
    int reason = errno;
    lull_cli_fail("%s: cannot run: %s", argv[0], strerror(reason));
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int prepare(const char *word, const struct lull_recording_wish *wish,
                   const struct lull_disturbance *disturbance, struct lull_arena *arena)
{
    struct lull_recording recording;
    struct lull_error err;
    if (lull_recording_prepare(word, wish, arena, &recording, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    if (recording.warning)
        lull_cli_warn("%s", recording.warning);
    if (lull_injection_write(disturbance, &recording, arena, &err) != LULL_OK &&
        recording.job.rank == 0)
        lull_cli_warn("%s; nothing is injected", err.text);
    if (settings.verbose && recording.library)
        fprintf(stderr, "lull record: rank %u of %u: %s, recorded by %s into %s\n",
                recording.job.rank, recording.job.size, recording.executable.path,
                recording.library, recording.run);
    return LULL_EXIT_OK;
}

static int run(poptContext context, struct lull_arena *arena)
{
    struct lull_recording_wish wish;
    struct lull_words words = {.arena = arena};
    for (const char *word; (word = poptGetArg(context));)
        lull_words_add(&words, word);
    char **argv = words.items;
    const struct lull_disturbance *disturbance;
    int status = read_settings(argv ? argv[0] : NULL, arena, &wish);
    if (status == LULL_EXIT_OK)
        status = lull_injection_read(settings.inject, settings.seed, arena, &disturbance);
    if (status == LULL_EXIT_OK && lull_is_launcher(argv[0])) {
        argv = insert_ourselves(words.items, arena);
        if (!argv)
            status = lull_cli_usage("found no program behind '%s'", words.items[0]);
    } else if (status == LULL_EXIT_OK) {
        status = prepare(argv[0], &wish, disturbance, arena);
    }
    return status == LULL_EXIT_OK ? execute(argv) : status;
}

const struct lull_command lull_cmd_record = {
    .name = "record",
    .summary = "run a program and record what its threads do",
    .operands = "[--] COMMAND...",
    .details = "COMMAND is a program, or mpirun, mpiexec or srun with one; it may as well be\n"
               "started by these: mpirun -n 4 lull record ./app. It may stand behind taskset,\n"
               "numactl, time, env, nice, ionice, chrt, stdbuf, timeout, nohup and setsid. Its\n"
               "exit status is kept.\n\n"
               "examples:\n"
               "  lull record ./app input.dat\n"
               "  mpirun -n 4 lull record -o before ./app\n"
               "  lull record --max-size 200MiB mpirun -n 4 ./app && lull metrics app.4x1.lull\n",
    .options = options,
    .run = run,
    .launches = true,
};
