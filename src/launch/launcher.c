#include "launch/launcher.h"

#include "launch/program.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun",
                                        "srun",   "aprun",   "jsrun",   "ibrun"};

/* Options with arguments in words of their own. Open MPI takes its long ones with one dash or
 * two, Hydra with one; srun's long ones are mostly written with "=". */
static const struct {
    const char *name; /* without dashes */
    int words;
} options_with_words[] = {
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
};

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "mpirun", "mpirun.openmpi", "mpiexec.hydra", "mpirun-mpich-mp". */
bool lull_is_launcher(const char *word)
{
    const char *name = last_part(word);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        size_t length = strlen(launchers[i]);
        if (strncmp(name, launchers[i], length) == 0 && strchr(".-_", name[length]))
            return true; /* strchr finds the terminator, too */
    }
    return false;
}

/* Words that belong to an option, -1: unknown option. */
static int words_of(const char *option)
{
    if (strchr(option, '='))
        return 0;
    const char *name = option + strspn(option, "-");
    for (size_t i = 0; i < sizeof options_with_words / sizeof *options_with_words; i++)
        if (strcmp(name, options_with_words[i].name) == 0)
            return options_with_words[i].words;
    return -1;
}

/* An unknown option may or may not have an argument: the next word is one when it cannot be the
 * program. */
static size_t skip_option(char *const *argv, size_t at, struct lull_arena *arena)
{
    int words = words_of(argv[at]);
    at++;
    /* Hydra takes "-genv NAME=VALUE", too; no name of another option with two words has a "=" */
    if (words == 2 && argv[at] && strchr(argv[at], '='))
        words = 1;
    for (int i = 0; i < words && argv[at]; i++)
        at++;
    if (words < 0 && argv[at] && *argv[at] != '-' && !lull_program_find(argv[at], arena))
        at++;
    return at;
}

static size_t find_program(char *const *argv, size_t at, struct lull_arena *arena)
{
    while (argv[at] && *argv[at] == '-') {
        if (strcmp(argv[at], "--") == 0)
            return at + 1;
        at = skip_option(argv, at, arena);
    }
    return at;
}

size_t lull_launcher_programs(char *const *argv, struct lull_arena *arena, size_t *ret_programs,
                              size_t most)
{
    size_t count = 0;
    for (size_t at = 1;;) {
        at = find_program(argv, at, arena);
        if (!argv[at])
            return count;
        if (count < most)
            ret_programs[count] = at;
        count++;
        while (argv[at] && strcmp(argv[at], ":") != 0)
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
        const char *first = argv[programs[0]], *slash = strrchr(first, '/');
        output = lull_arena_printf(arena, "%s.lull", slash ? slash + 1 : first);
    }
    if (!output || *output == '/' || !getcwd(folder, sizeof folder))
        return output;
    return lull_arena_printf(arena, "%s/%s", folder, output);
}
