/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/executable.h"

#include "base/file.h"
#include "base/starters.h"
#include "binary/elf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPT_LEVELS = 4 }; /* as many as the kernel follows */

static const char *const family_names[LULL_MPI_FAMILIES] = {
    [LULL_MPI_NONE] = "none", [LULL_MPI_OPENMPI] = "openmpi", [LULL_MPI_MPICH] = "mpich"};

const char *lull_mpi_family_name(enum lull_mpi_family family)
{
    return family_names[family];
}

/* What a needed library means, by the begin of its name. */
static const struct {
    const char *prefix;
    enum lull_mpi_family mpi;
    bool openmp, openshmem;
} known_libraries[] = {
    {"libmpi.so.40", LULL_MPI_OPENMPI, false, false},
    {"libmpi.so.20", LULL_MPI_OPENMPI, false, false},
    {"libmpi.so.12", LULL_MPI_MPICH, false, false},
    {"libmpich.so.12", LULL_MPI_MPICH, false, false},
    {"libmpich.so.10", LULL_MPI_MPICH, false, false},
    {"libmpi_cray", LULL_MPI_MPICH, false, false},
    {"libmpi_gnu", LULL_MPI_MPICH, false, false},
    {"libmpi_intel", LULL_MPI_MPICH, false, false},
    {"libmpi_nvidia", LULL_MPI_MPICH, false, false},
    {"libmpi_amd", LULL_MPI_MPICH, false, false},
    {"libmpi_aocc", LULL_MPI_MPICH, false, false},
    {"libmpi_pgi", LULL_MPI_MPICH, false, false},
    {"libmpi_ibm.so", LULL_MPI_OPENMPI, false, false},
    {"liboshmem.so", LULL_MPI_OPENMPI, false, true},
    {"libgomp.so", LULL_MPI_NONE, true, false},
    {"libomp.so", LULL_MPI_NONE, true, false},
    {"libomp-", LULL_MPI_NONE, true, false},
    {"libiomp5.so", LULL_MPI_NONE, true, false},
};

static const char *const shells[] = {LULL_SHELLS};
static const char *const interpreters[] = {LULL_INTERPRETERS};

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

const char *lull_executable_find(const char *word, struct lull_arena *arena)
{
    if (strchr(word, '/'))
        return is_file(word) ? word : NULL;
    const char *list = getenv("PATH");
    for (list = list ? list : "/bin:/usr/bin"; *list;) {
        size_t length = strcspn(list, ":");
        const char *path = length ? lull_arena_printf(arena, "%.*s/%s", (int)length, list, word)
                                  : lull_arena_printf(arena, "./%s", word);
        if (*word && is_file(path))
            return path;
        list += length + (list[length] == ':');
    }
    return NULL;
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* The interpreter of a "#!" line, with what "env" would look up; NULL if it is no script. */
static const char *interpreter_of(const char *path, struct lull_arena *arena)
{
    char head[512] = "";
    size_t got;
    if (lull_read_head(path, head, sizeof head - 1, &got, NULL) != LULL_OK)
        return NULL;
    head[got < sizeof head ? got : sizeof head - 1] = '\0';
    if (strncmp(head, "#!", 2) != 0)
        return NULL;
    head[strcspn(head, "\n")] = '\0';
    char *rest;
    const char *word = strtok_r(head + 2, " \t", &rest);
    if (word && strcmp(last_part(word), "env") == 0) {
        do
            word = strtok_r(NULL, " \t", &rest);
        while (word && (*word == '-' || strchr(word, '=')));
        return word ? lull_executable_find(word, arena) : NULL;
    }
    return word ? lull_arena_strdup(arena, word) : NULL;
}

static bool is_one_of(const char *name, const char *const *list, size_t count, bool versions)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(list[i]);
        if (strncmp(name, list[i], length) == 0 &&
            (name[length] == '\0' ||
             (versions && strspn(name + length, "0123456789.") == strlen(name + length))))
            return true;
    }
    return false;
}

/* Moves executable->path to the file that is executed in the end. */
static void follow_scripts(struct lull_executable *executable, struct lull_arena *arena)
{
    for (int level = 0; level < SCRIPT_LEVELS; level++) {
        const char *interpreter = interpreter_of(executable->path, arena);
        if (!interpreter)
            break;
        executable->interpreter = executable->path = interpreter;
    }
    const char *name = last_part(executable->path);
    executable->shell = is_one_of(name, shells, sizeof shells / sizeof *shells, false);
    executable->interprets =
        executable->interpreter || executable->shell ||
        is_one_of(name, interpreters, sizeof interpreters / sizeof *interpreters, true);
}

/* ---- the script of an interpreter ------------------------------------------------------------ */

/* How an interpreter's options are told from its script. Of letters behind one "-", those in `takes`
 * have a value, in the same word or the next; behind one of `stops` there is no script, but code. With
 * `takes` NULL options are words, of which those in `words` have the next one as their value. */
static const struct script_options {
    const char *name, *takes, *stops;
    const char *words[6];
} script_options[] = {
    {"python", "WXQ", "c", {"--check-hash-based-pycs"}},
    {"perl", "I", "eE", {NULL}},
    {"ruby", "IrC", "e", {NULL}},
    {"lua", "l", "e", {NULL}},
    {"julia", "CHJLpt", "eE", {NULL}},
    {"Rscript", "", "e", {NULL}},
    {"R", "g", "e", {NULL}},
    {"octave", "p", "", {"--path", "--image-path", "--exec-path"}},
    {"node", "r", "ep", {"--require", "--import"}},
    {"java", NULL, NULL, {"-cp", "-classpath", "--class-path", "-p", "--module-path"}},
};

static const struct script_options shell_options = {"", "oO", "cs", {"--rcfile", "--init-file"}};

static const struct script_options *options_of(const struct lull_executable *executable)
{
    if (!executable->path || executable->interpreter)
        return NULL;
    if (executable->shell)
        return &shell_options;
    for (size_t i = 0; i < sizeof script_options / sizeof *script_options; i++)
        if (is_one_of(last_part(executable->path), &script_options[i].name, 1, true))
            return &script_options[i];
    return NULL;
}

/* How many words an option is: 1 or 2; 0: what follows is no script. */
static size_t option_words(const struct script_options *options, const char *word)
{
    for (size_t i = 0; i < sizeof options->words / sizeof *options->words && options->words[i]; i++)
        if (strcmp(word, options->words[i]) == 0)
            return 2;
    if (!options->takes || word[1] == '-')
        return 1;
    for (const char *letter = word + 1; *letter; letter++) {
        if (strchr(options->stops, *letter))
            return 0;
        if (strchr(options->takes, *letter))
            return letter[1] ? 1 : 2;
    }
    return 1;
}

/* "app" of "src/app.py". */
static const char *without_extension(const char *path, struct lull_arena *arena)
{
    enum { MOST_EXTENSION = 5 };
    const char *name = last_part(path), *dot = strrchr(name, '.');
    const bool has = dot && dot > name && strlen(dot) > 1 && strlen(dot) <= MOST_EXTENSION;
    return has ? lull_arena_strndup(arena, name, (size_t)(dot - name)) : name;
}

const char *lull_executable_title(const struct lull_executable *executable, char *const *command,
                                  struct lull_arena *arena)
{
    const struct script_options *options = options_of(executable);
    const char *title = NULL;
    for (size_t i = 1; options && !title && command[i];) {
        const char *word = command[i];
        const bool python = strcmp(options->name, "python") == 0;
        if (python && strcmp(word, "-m") == 0 && command[i + 1]) {
            i += 2;
            if (strncmp(command[i - 1], "mpi4py", strlen("mpi4py")) != 0) /* it runs a script */
                title = command[i - 1];
        } else if ((*word == '-' || *word == '+') && strcmp(word, "--") != 0 && word[1]) {
            const size_t words = option_words(options, word);
            if (words == 0 || (words == 2 && !command[i + 1]))
                break;
            i += words;
        } else if (strcmp(word, "--") == 0) {
            title = command[i + 1] ? without_extension(command[i + 1], arena) : "";
        } else {
            title = strcmp(word, "-") == 0 ? "" : without_extension(word, arena);
        }
    }
    return title && *title && !strchr(title, '/') ? title : executable->name;
}

/* ---- what it needs --------------------------------------------------------------------------- */

static void see_library(void *context, const char *name)
{
    struct lull_executable *executable = context;
    for (size_t i = 0; i < sizeof known_libraries / sizeof *known_libraries; i++) {
        if (strncmp(last_part(name), known_libraries[i].prefix,
                    strlen(known_libraries[i].prefix)) != 0)
            continue;
        executable->openmp |= known_libraries[i].openmp;
        executable->openshmem |= known_libraries[i].openshmem;
        if (executable->mpi == LULL_MPI_NONE)
            executable->mpi = known_libraries[i].mpi;
    }
}

static bool is_privileged(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return false;
    bool changes = ((info.st_mode & S_ISUID) && info.st_uid != geteuid()) ||
                   ((info.st_mode & S_ISGID) && info.st_gid != getegid());
    return changes || (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

void lull_executable_inspect(const char *word, struct lull_arena *arena,
                             struct lull_executable *ret_executable)
{
    struct lull_executable *executable = ret_executable;
    *executable = (struct lull_executable){.path = lull_executable_find(word, arena),
                                           .name = lull_arena_strdup(arena, last_part(word)),
                                           .compilers = ""};
    if (!executable->path)
        return;
    follow_scripts(executable, arena);
    executable->privileged = is_privileged(executable->path);
    struct lull_elf elf;
    if (lull_elf_read(executable->path, arena, &elf, NULL) != LULL_OK || !elf.executable)
        return;
    executable->elf = true;
    executable->dynamic = elf.dynamic;
    if (!executable->interprets)
        executable->compilers = elf.compilers;
    lull_elf_libraries(executable->path, &elf, arena, see_library, executable);
    executable->static_mpi = elf.has_mpi && executable->mpi == LULL_MPI_NONE;
}

/* ==== what is installed with lull ============================================================= */

const char *lull_own_path(struct lull_arena *arena)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? lull_arena_strndup(arena, path, (size_t)length) : "lull";
}

const char *const *lull_own_folders(struct lull_arena *arena)
{
    const char **folders = lull_arena_zero(arena, 3, sizeof *folders);
    const char *own = lull_own_path(arena);
    const char *slash = strrchr(own, '/');
    if (!slash)
        return folders;
    folders[0] = lull_arena_strndup(arena, own, (size_t)(slash - own));
    folders[1] = lull_arena_printf(arena, "%s/../" LULL_RECORD_FOLDER, folders[0]);
    return folders;
}
