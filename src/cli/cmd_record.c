#include "base/text.h"
#include "cli/command.h"
#include "cli/injection.h"
#include "cli/message.h"
#include "cli/options.h"
#include "filter/filter.h"
#include "launch/installed.h"
#include "launch/launcher.h"
#include "launch/recording.h"
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
    char *max_size;
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

enum { MOST_CALLERS = 32, MOST_NAME = 255 }; /* that the recorder follows; bytes */

/* "100000:1us" becomes "100000:1000", calls and ns. */
static int read_throttle(struct lull_arena *arena, const char **ret_throttle)
{
    const char *text = settings.throttle, *colon = text ? strchr(text, ':') : NULL;
    uint64_t calls;
    int64_t ns;
    struct lull_error err;
    *ret_throttle = text;
    if (!text || strcmp(text, "none") == 0)
        return LULL_EXIT_OK;
    if (!colon || lull_parse_u64(text, (size_t)(colon - text), &calls) != LULL_OK || calls == 0)
        return lull_cli_usage("--throttle: expected CALLS:TIME such as 100000:1us, or none, got "
                              "'%s'",
                              text);
    if (lull_parse_time(colon + 1, 1, &ns, &err) != LULL_OK)
        return lull_cli_usage("--throttle: %s", err.text);
    *ret_throttle = lull_arena_printf(arena, "%llu:%lld", (unsigned long long)calls, (long long)ns);
    return LULL_EXIT_OK;
}

static int read_time(const char *option, const char *text, struct lull_arena *arena,
                     const char **ret_ns)
{
    const double ns_per_second = 1e9;
    struct lull_error err;
    int64_t ns;
    if (!text)
        return LULL_EXIT_OK;
    if (lull_parse_time(text, ns_per_second, &ns, &err) != LULL_OK)
        return lull_cli_usage("--%s: %s", option, err.text);
    if (ns < 0)
        return lull_cli_usage("--%s: %s lies in the past", option, text);
    if (ns == 0 && strcmp(option, "duration") == 0)
        return lull_cli_usage("--%s: nothing would be recorded in %s", option, text);
    *ret_ns = lull_arena_printf(arena, "%lld", (long long)ns);
    return LULL_EXIT_OK;
}

static int read_waits(struct lull_arena *arena, const char **ret_waits)
{
    if (!settings.waits || strcmp(settings.waits, "none") != 0)
        return read_time("waits", settings.waits, arena, ret_waits);
    *ret_waits = settings.waits;
    return LULL_EXIT_OK;
}

/* "3:10", or "solve:3:10". */
static int read_iterations(const char **ret_iterations)
{
    const char *text = settings.iterations, *last = text ? strrchr(text, ':') : NULL;
    const char *first = last;
    uint64_t from, to;
    if (!text)
        return LULL_EXIT_OK;
    while (first && first > text && first[-1] != ':')
        first--;
    if (!last || lull_parse_u64(first, (size_t)(last - first), &from) != LULL_OK ||
        lull_parse_u64(last + 1, strlen(last + 1), &to) != LULL_OK || to > INT32_MAX ||
        strlen(text) > MOST_NAME)
        return lull_cli_usage("--iterations: expected FIRST:LAST or NAME:FIRST:LAST such as 10:19, "
                              "got '%s'",
                              text);
    if (from > to || (first > text && from == 0))
        return lull_cli_usage("--iterations: %s holds none", text);
    *ret_iterations = text;
    return LULL_EXIT_OK;
}

static int read_window(struct lull_arena *arena, struct lull_recording_wish *wish)
{
    static const char *const states[] = {"on", "off", NULL};
    struct lull_error err;
    unsigned state;
    int status = read_time("start-after", settings.start_after, arena, &wish->start);
    if (status == LULL_EXIT_OK)
        status = read_time("duration", settings.duration, arena, &wish->duration);
    if (status == LULL_EXIT_OK)
        status = read_iterations(&wish->iterations);
    if (status == LULL_EXIT_OK &&
        lull_option_word("signals", settings.signals, states, &state, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    wish->signals = settings.signals;
    return status;
}

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
    static const enum lull_mpi_family families[] = {LULL_MPI_NONE, LULL_MPI_OPENMPI, LULL_MPI_MPICH,
                                                    LULL_MPI_NONE};
    struct lull_error err;
    uint64_t callers;
    unsigned mpi;
    *wish = (struct lull_recording_wish){.output = settings.output,
                                         .replace = settings.force,
                                         .has_bytes = settings.max_size != NULL,
                                         .profile = settings.profile,
                                         .follow = settings.follow,
                                         .files = settings.files,
                                         .counters = settings.counters,
                                         .callpath = settings.callpath};
    if (!command)
        return lull_cli_usage("expected a COMMAND to run");
    if (settings.max_size && lull_parse_size(settings.max_size, &wish->bytes, &err) != LULL_OK)
        return lull_cli_usage("--max-size: %s", err.text);
    if (lull_option_number("callpath", settings.callpath, 1, MOST_CALLERS, &callers, &err) !=
            LULL_OK ||
        lull_option_word("mpi", settings.mpi, words, &mpi, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    wish->mpi_named = mpi > 0;
    wish->mpi = families[mpi];
    int status = read_throttle(arena, &wish->throttle);
    if (status == LULL_EXIT_OK)
        status = read_window(arena, wish);
    if (status == LULL_EXIT_OK)
        status = read_waits(arena, &wish->waits);
    return status == LULL_EXIT_OK ? read_filter(arena, &wish->filter) : status;
}

/* ---- in front of mpirun -------------------------------------------------------------------- */

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
    add_word(words, lull_own_path(words->arena));
    add_word(words, "record");
    add_option(words, "output", output);
    add_option(words, "max-size", settings.max_size);
    add_option(words, "callpath", settings.callpath);
    add_option(words, "counters", settings.counters);
    add_option(words, "filter", settings.filter);
    add_option(words, "throttle", settings.throttle);
    add_option(words, "start-after", settings.start_after);
    add_option(words, "duration", settings.duration);
    add_option(words, "iterations", settings.iterations);
    add_option(words, "signals", settings.signals);
    add_option(words, "waits", settings.waits);
    add_option(words, "mpi", settings.mpi);
    for (char **spec = settings.inject; spec && *spec; spec++)
        add_option(words, "inject", *spec);
    add_option(words, "seed", settings.seed);
    static const struct {
        const char *word;
        const int *set;
    } flags[] = {{"--force", &settings.force},
                 {"--profile", &settings.profile},
                 {"--follow", &settings.follow},
                 {"--files", &settings.files},
                 {"--verbose", &settings.verbose}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (*flags[i].set)
            add_word(words, flags[i].word);
    add_word(words, "--");
}

/* `mpirun ... program` becomes `mpirun ... lull record ... program`. */
static char **insert_ourselves(char **argv, struct lull_arena *arena)
{
    struct words words = {.arena = arena};
    add_ourselves(&words, lull_launcher_output(argv, settings.output, arena));
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
    lull_cli_inject(disturbance, &recording, arena);
    if (settings.verbose && recording.library)
        fprintf(stderr, "lull record: rank %u of %u: %s, recorded by %s into %s\n",
                recording.job.rank, recording.job.size, recording.executable.path,
                recording.library, recording.run);
    return LULL_EXIT_OK;
}

static int run(poptContext context, struct lull_arena *arena)
{
    struct lull_recording_wish wish;
    struct words words = {.arena = arena};
    for (const char *word; (word = poptGetArg(context));)
        add_word(&words, word);
    char **argv = words.items;
    const struct lull_disturbance *disturbance;
    int status = read_settings(argv ? argv[0] : NULL, arena, &wish);
    if (status == LULL_EXIT_OK)
        status = lull_cli_read_injection(settings.inject, settings.seed, arena, &disturbance);
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
