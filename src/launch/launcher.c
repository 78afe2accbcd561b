/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/launcher.h"

#include "launch/executable.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* ==== words =================================================================================== */

void lull_words_add(struct lull_words *words, const char *word)
{
    words->items = lull_arena_grow(words->arena, words->items, &words->capacity, words->count + 2,
                                   sizeof *words->items);
    words->items[words->count++] = word ? lull_arena_strdup(words->arena, word) : NULL;
    words->items[words->count] = NULL;
}

void lull_words_option(struct lull_words *words, const char *name, const char *value)
{
    if (value)
        lull_words_add(words, lull_arena_printf(words->arena, "--%s=%s", name, value));
}

/* ==== launcher ================================================================================ */

/* An option whose argument may be a word of its own. */
struct option {
    const char *name; /* without dashes */
    int words;
};

/* Open MPI takes long options with one dash or two, Hydra with one; srun's long ones are mostly
 * written with "=". */
static const struct option mpi_options[] = {
    /* both, and Open MPI */
    {"n", 1},
    {"np", 1},
    {"c", 1},
    {"N", 1},
    {"H", 1},
    {"host", 1},
    {"hosts", 1},
    {"hostfile", 1},
    {"machinefile", 1},
    {"default-hostfile", 1},
    {"x", 1},
    {"mca", 2},
    {"gmca", 2},
    {"prtemca", 2},
    {"pmixmca", 2},
    {"am", 1},
    {"tune", 1},
    {"app", 1},
    {"bind-to", 1},
    {"map-by", 1},
    {"rank-by", 1},
    {"npernode", 1},
    {"npersocket", 1},
    {"cpus-per-proc", 1},
    {"cpus-per-rank", 1},
    {"cpu-set", 1},
    {"slot-list", 1},
    {"rankfile", 1},
    {"rf", 1},
    {"prefix", 1},
    {"path", 1},
    {"wd", 1},
    {"wdir", 1},
    {"output-filename", 1},
    {"output", 1},
    {"stdin", 1},
    {"timeout", 1},
    {"report-uri", 1},
    {"report-pid", 1},
    {"ompi-server", 1},
    {"personality", 1},
    {"preload-files", 1},
    {"max-restarts", 1},
    {"dvm-uri", 1},
    {"pset", 1},
    /* Hydra */
    {"f", 1},
    {"env", 2},
    {"genv", 2},
    {"envlist", 1},
    {"genvlist", 1},
    {"ppn", 1},
    {"perhost", 1},
    {"launcher", 1},
    {"launcher-exec", 1},
    {"bootstrap", 1},
    {"rmk", 1},
    {"iface", 1},
    {"order-nodes", 1},
    {"configfile", 1},
    {"umask", 1},
    {"outfile-pattern", 1},
    {"errfile-pattern", 1},
    {"topolib", 1},
    {"usize", 1},
    {"demux", 1},
    {"pmi-port", 0},
    /* srun */
    {"A", 1},
    {"J", 1},
    {"p", 1},
    {"t", 1},
    {"o", 1},
    {"e", 1},
    {"i", 1},
    {"w", 1},
    {"m", 1},
    {"D", 1},
    {"C", 1},
    {"G", 1},
    {"q", 1},
    {"d", 1},
    {"L", 1},
    {"B", 1},
    {"S", 1},
    {"T", 1},
    {"W", 1},
    {"r", 1},
    {"ntasks", 1},
    {"nodes", 1},
    {"cpus-per-task", 1},
    {"ntasks-per-node", 1},
    {"partition", 1},
    {"account", 1},
    {"time", 1},
    {"job-name", 1},
    {"chdir", 1},
    {"mpi", 1},
    {"cpu-bind", 1},
    {"distribution", 1},
    {"export", 1},
    {"mem", 1},
    {"gpus", 1},
    {"constraint", 1},
    {"jobid", 1},
    {"nodelist", 1},
    {"exclude", 1},
    {NULL, 0},
};

static const struct option taskset_options[] = {{NULL, 0}};

static const struct option numactl_options[] = {{"N", 1},
                                                {"m", 1},
                                                {"C", 1},
                                                {"i", 1},
                                                {"p", 1},
                                                {"P", 1},
                                                {"w", 1},
                                                {"cpunodebind", 1},
                                                {"membind", 1},
                                                {"physcpubind", 1},
                                                {"interleave", 1},
                                                {"preferred", 1},
                                                {"preferred-many", 1},
                                                {"weighted-interleave", 1},
                                                {NULL, 0}};

static const struct option time_options[] = {
    {"f", 1}, {"format", 1}, {"o", 1}, {"output", 1}, {NULL, 0}};

static const struct option env_options[] = {
    {"u", 1}, {"unset", 1}, {"C", 1}, {"chdir", 1}, {NULL, 0}};

static const struct option nice_options[] = {{"n", 1}, {"adjustment", 1}, {NULL, 0}};

static const struct option ionice_options[] = {
    {"c", 1}, {"class", 1}, {"n", 1}, {"classdata", 1}, {NULL, 0}};

static const struct option stdbuf_options[] = {{"i", 1},      {"o", 1},     {"e", 1}, {"input", 1},
                                               {"output", 1}, {"error", 1}, {NULL, 0}};

static const struct option timeout_options[] = {
    {"k", 1}, {"kill-after", 1}, {"s", 1}, {"signal", 1}, {NULL, 0}};

static const struct option no_options[] = {{NULL, 0}};

/* A program that starts, or becomes, the program that stands behind it on its command line. */
static const struct starter {
    const char *name;
    const struct option *options;
    int operands;     /* words between the options and the program */
    bool assignments; /* among them NAME=VALUE, any number */
    bool many;        /* starts processes of MPI, of several programs where ":" separates them */
} starters[] = {
    {"mpirun_rsh", mpi_options, 0, true, true}, /* of MVAPICH; before mpirun, whose name begins so */
    {"mpirun", mpi_options, 0, false, true},       {"mpiexec", mpi_options, 0, false, true},
    {"orterun", mpi_options, 0, false, true},      {"prterun", mpi_options, 0, false, true},
    {"srun", mpi_options, 0, false, true},         {"aprun", mpi_options, 0, false, true},
    {"jsrun", mpi_options, 0, false, true},        {"ibrun", mpi_options, 0, false, true},
    {"oshrun", mpi_options, 0, false, true},       {"shmemrun", mpi_options, 0, false, true},
    {"taskset", taskset_options, 1, false, false}, /* the mask; or, with -c, the list */
    {"numactl", numactl_options, 0, false, false}, {"time", time_options, 0, false, false},
    {"env", env_options, 0, true, false},          {"nice", nice_options, 0, false, false},
    {"ionice", ionice_options, 0, false, false},   {"chrt", no_options, 1, false, false},
    {"stdbuf", stdbuf_options, 0, false, false},   {"timeout", timeout_options, 1, false, false},
    {"nohup", no_options, 0, false, false},        {"setsid", no_options, 0, false, false},
};

static const char *name_without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "mpirun", "mpirun.openmpi", "mpiexec.hydra", "mpirun-mpich-mp". */
static bool is_named(const char *name, const struct starter *starter)
{
    size_t length = strlen(starter->name);
    if (strncmp(name, starter->name, length) != 0)
        return false;
    return name[length] == '\0' || (starter->many && strchr(".-_", name[length]));
}

/* NULL: it starts nothing that we know of. */
static const struct starter *starter_of(const char *word)
{
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (is_named(name_without_folder(word), &starters[i]))
            return &starters[i];
    return NULL;
}

bool lull_is_launcher(const char *word)
{
    return starter_of(word) != NULL;
}

/* Words that belong to an option, -1: unknown option. */
static int words_of(const struct starter *starter, const char *option)
{
    if (strchr(option, '='))
        return 0;
    const char *name = option + strspn(option, "-");
    for (const struct option *known = starter->options; known->name; known++)
        if (strcmp(name, known->name) == 0)
            return known->words;
    return starter->many ? -1 : 0;
}

/* Skips an unknown option, which may or may not have an argument: the next word is taken as one
 * when it cannot be the program. */
static size_t skip_option(const struct starter *starter, char *const *argv, size_t at,
                          struct lull_arena *arena)
{
    int words = words_of(starter, argv[at]);
    at++;
    /* Hydra takes "-genv NAME=VALUE", too; no name of another option with two words has a "=" */
    if (words == 2 && argv[at] && strchr(argv[at], '='))
        words = 1;
    for (int i = 0; i < words && argv[at]; i++)
        at++;
    if (words < 0 && argv[at] && *argv[at] != '-' && !lull_executable_find(argv[at], arena))
        at++;
    return at;
}

static size_t find_program(const struct starter *starter, char *const *argv, size_t at,
                           struct lull_arena *arena)
{
    while (argv[at] && *argv[at] == '-') {
        if (strcmp(argv[at++], "--") == 0)
            break;
        at = skip_option(starter, argv, at - 1, arena);
    }
    while (starter->assignments && argv[at] && strchr(argv[at], '='))
        at++;
    for (int i = 0; i < starter->operands && argv[at]; i++)
        at++;
    return at;
}

size_t lull_launcher_programs(char *const *argv, struct lull_arena *arena, size_t *ret_programs,
                              size_t most)
{
    const struct starter *starter = starter_of(argv[0]);
    size_t count = 0;
    for (size_t at = 1;;) {
        at = find_program(starter, argv, at, arena);
        if (!argv[at])
            return count;
        if (count < most)
            ret_programs[count] = at;
        count++;
        while (argv[at] && (!starter->many || strcmp(argv[at], ":") != 0))
            at++;
        if (!argv[at])
            return count;
        at++;
    }
}

enum { MOST_PROGRAMS = 64 };

static size_t count_words(char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

char **lull_launcher_insert(char *const *argv, char *const *words, struct lull_arena *arena)
{
    size_t programs[MOST_PROGRAMS];
    size_t count = lull_launcher_programs(argv, arena, programs, MOST_PROGRAMS);
    if (count == 0 || count > MOST_PROGRAMS)
        return NULL;
    size_t n_words = count_words(words), n_argv = count_words(argv);
    char **longer = lull_arena_zero(arena, n_argv + count * n_words + 1, sizeof *longer);
    size_t length = 0;
    for (size_t i = 0, next = 0; i < n_argv; i++) {
        if (next < count && i == programs[next]) {
            memcpy(longer + length, words, n_words * sizeof *words);
            length += n_words;
            next++;
        }
        longer[length++] = argv[i];
    }
    return longer;
}

const char *lull_launcher_output(char *const *argv, const char *output, struct lull_arena *arena)
{
    size_t programs[MOST_PROGRAMS];
    char folder[PATH_MAX];
    if (!output && lull_launcher_programs(argv, arena, programs, MOST_PROGRAMS) > 1) {
        struct lull_executable first;
        lull_executable_inspect(argv[programs[0]], arena, &first);
        output = lull_arena_printf(arena, "%s.lull",
                                   lull_executable_title(&first, argv + programs[0], arena));
    }
    if (!output || *output == '/' || !getcwd(folder, sizeof folder))
        return output;
    return lull_arena_printf(arena, "%s/%s", folder, output);
}
