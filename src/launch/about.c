/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/about.h"

#include "base/file.h"
#include "base/text.h"
#include "tape/definition.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_VALUE = 1024,    /* bytes of a value that are kept */
    MOST_VARIABLES = 128, /* of the environment */
    MOST_ABOUT = 1 << 20  /* bytes of the file */
};

/* ==== collecting ============================================================================== */

/* Values that are too long are cut, between characters. */
static void add_item(struct lull_about *about, struct lull_arena *arena, const char *key,
                     const char *value)
{
    static const char cut[] = " ...";
    size_t length = strlen(value);
    if (length > MOST_VALUE) {
        length = MOST_VALUE - strlen(cut);
        while (length > 0 && ((unsigned char)value[length] & 0xc0) == 0x80)
            length--;
        value = lull_arena_printf(arena, "%.*s%s", (int)length, value, cut);
    }
    about->items = lull_arena_grow(arena, about->items, &about->capacity, about->count + 1,
                                   sizeof *about->items);
    about->items[about->count++] = (struct lull_about_item){key, lull_arena_strdup(arena, value)};
}

static void add_known(struct lull_about *about, struct lull_arena *arena, const char *key,
                      const char *value)
{
    if (value && *value)
        add_item(about, arena, key, value);
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    return *word && word[strspn(word, plain)] == '\0';
}

/* A word as a shell would take it. */
static const char *quoted(const char *word, struct lull_arena *arena)
{
    if (is_plain(word))
        return word;
    char *text = lull_arena_alloc(arena, 4 * strlen(word) + 3), *to = text;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(to, "'\\'", 3);
            to += 3;
        }
        *to++ = *word;
    }
    *to++ = '\'';
    *to = '\0';
    return text;
}

static const char *command_of(char *const *words, struct lull_arena *arena)
{
    const char *text = "";
    for (; words && *words && strlen(text) <= MOST_VALUE; words++)
        text = lull_arena_printf(arena, "%s%s%.*s", text, *text ? " " : "", 2 * MOST_VALUE,
                                 quoted(*words, arena));
    return text;
}

static const char *real_path(const char *path, struct lull_arena *arena)
{
    char whole[PATH_MAX];
    return path && realpath(path, whole) ? lull_arena_strdup(arena, whole) : path;
}

/* ---- git ------------------------------------------------------------------------------------- */

/* The commit that is checked out in a working folder, as git's files tell (gitrepository-layout(5)).
 * The file HEAD holds the commit or the name of a branch; the commit of a branch is in a file of that
 * name, or in packed-refs. A further working folder of a repository has a file .git that leads to
 * its part of the repository, where the file commondir leads to the whole. */

enum { MOST_LINKS = 5 };

/* The first line of a file, without blanks at its end; NULL: there is none. */
static const char *first_line(const char *path, struct lull_arena *arena)
{
    char text[PATH_MAX];
    size_t got;
    if (lull_read_head(path, text, sizeof text - 1, &got, NULL) != LULL_OK)
        return NULL;
    text[got] = '\0';
    size_t length = strcspn(text, "\n");
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    return length > 0 ? lull_arena_strndup(arena, text, length) : NULL;
}

static const char *path_from(const char *folder, const char *path, struct lull_arena *arena)
{
    return *path == '/' ? path : lull_arena_printf(arena, "%s/%s", folder, path);
}

static bool is_commit(const char *text, size_t length)
{
    enum { SHA1 = 40, SHA256 = 64 };
    return (length == SHA1 || length == SHA256) && strspn(text, "0123456789abcdef") >= length;
}

/* "COMMIT NAME" in lines; there may be very many. */
static const char *find_packed(const char *path, const char *name, struct lull_arena *arena)
{
    struct lull_mapping file;
    const char *found = NULL;
    if (lull_map_file(path, &file, NULL) != LULL_OK)
        return NULL;
    const char *at = (const char *)file.data, *end = at ? at + file.size : at;
    const size_t length = strlen(name);
    while (!found && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((line_end ? line_end : end) - at);
        const char *blank = memchr(at, ' ', size);
        const size_t commit = blank ? (size_t)(blank - at) : 0;
        if (commit > 0 && size - commit - 1 == length && memcmp(blank + 1, name, length) == 0 &&
            (commit == 40 || commit == 64))
            found = lull_arena_strndup(arena, at, commit);
        at += size + 1;
    }
    lull_unmap(&file);
    return found && is_commit(found, strlen(found)) ? found : NULL;
}

/* The commit that a line of HEAD or of a branch's file leads to. */
static const char *resolve(const char *line, const char *folder, const char *common,
                           struct lull_arena *arena)
{
    static const char link[] = "ref: ";
    for (int i = 0; line && i < MOST_LINKS; i++) {
        if (is_commit(line, strlen(line)))
            return line;
        const char *name = line + strlen(link);
        if (strncmp(line, link, strlen(link)) != 0 || strncmp(name, "refs/", 5) != 0 ||
            strstr(name, ".."))
            return NULL;
        line = first_line(path_from(folder, name, arena), arena);
        if (!line && common != folder)
            line = first_line(path_from(common, name, arena), arena);
        if (!line)
            return find_packed(path_from(common, "packed-refs", arena), name, arena);
    }
    return NULL;
}

/* The part of the repository that belongs to the folder, as far up as there is one. */
static const char *repository_of(const char *folder, struct lull_arena *arena)
{
    static const char leads[] = "gitdir: ";
    struct stat info;
    char *at = lull_arena_strdup(arena, folder);
    for (;;) {
        const char *path = lull_arena_printf(arena, "%s/.git", at);
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            return path;
        const char *line = first_line(path, arena);
        if (line && strncmp(line, leads, strlen(leads)) == 0)
            return path_from(at, line + strlen(leads), arena);
        char *slash = strrchr(at, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
}

static const char *commit_of(const char *folder, struct lull_arena *arena)
{
    const char *repository = repository_of(folder, arena);
    if (!repository)
        return NULL;
    const char *common = first_line(path_from(repository, "commondir", arena), arena);
    common = common ? path_from(repository, common, arena) : repository;
    return resolve(first_line(path_from(repository, "HEAD", arena), arena), repository, common,
                   arena);
}

/* ---- processor and limits -------------------------------------------------------------------- */

static const char *processor_name(struct lull_arena *arena)
{
    static const char *const words[] = {"\nmodel name", "\ncpu\t", "\nModel"};
    char text[8192];
    size_t got;
    if (lull_read_head("/proc/cpuinfo", text, sizeof text - 1, &got, NULL) != LULL_OK)
        return NULL;
    text[got] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = strstr(text, words[i]), *colon = found ? strchr(found + 1, ':') : NULL;
        if (!colon)
            continue;
        colon += strspn(colon, ": \t");
        return lull_arena_strndup(arena, colon, strcspn(colon, "\n"));
    }
    return NULL;
}

/* The limits of a process (getrlimit(2)) that change how fast it runs, or end it. */
static const char *limits_text(struct lull_arena *arena)
{
    static const struct {
        int limit;
        bool bytes;
        const char *name;
    } limits[] = {{RLIMIT_STACK, true, "stack"},
                  {RLIMIT_MEMLOCK, true, "locked memory"},
                  {RLIMIT_AS, true, "address space"},
                  {RLIMIT_FSIZE, true, "size of files"},
                  {RLIMIT_CPU, false, "processor time (s)"},
                  {RLIMIT_NOFILE, false, "open files"}};
    const char *text = "";
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit is;
        char number[32] = "unlimited";
        if (getrlimit((__rlimit_resource_t)limits[i].limit, &is) != 0)
            continue;
        if (is.rlim_cur != RLIM_INFINITY && limits[i].bytes)
            lull_format_size(is.rlim_cur, number, sizeof number);
        else if (is.rlim_cur != RLIM_INFINITY)
            snprintf(number, sizeof number, "%llu", (unsigned long long)is.rlim_cur);
        text =
            lull_arena_printf(arena, "%s%s%s %s", text, *text ? ", " : "", limits[i].name, number);
    }
    return text;
}

/* ---- the environment ------------------------------------------------------------------------- */

extern char **environ;

/* Whether an environment variable is kept: it is about OpenMP, or binds processes or threads to
 * cores. */
static bool is_told(const char *name, size_t length)
{
    static const char *const begins[] = {"OMP_",      "GOMP_",          "KMP_",
                                         "I_MPI_PIN", "SLURM_CPU_BIND", NULL};
    static const char *const names[] = {"OMPI_MCA_hwloc_base_binding_policy",
                                        "OMPI_MCA_rmaps_base_mapping_policy",
                                        "OMPI_MCA_rmaps_base_ranking_policy",
                                        "OMPI_MCA_rmaps_base_oversubscribe",
                                        "PRTE_MCA_hwloc_default_binding_policy",
                                        "PRTE_MCA_rmaps_default_mapping_policy",
                                        "HYDRA_BINDING",
                                        "HYDRA_TOPOLIB",
                                        "MV2_ENABLE_AFFINITY",
                                        "MV2_CPU_BINDING_POLICY",
                                        "MV2_CPU_MAPPING",
                                        "SLURM_DISTRIBUTION",
                                        NULL};
    for (size_t i = 0; begins[i]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    for (size_t i = 0; names[i]; i++)
        if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0)
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_environment(struct lull_about *about, struct lull_arena *arena)
{
    const char *told[MOST_VARIABLES];
    size_t count = 0;
    for (char **variable = environ; variable && *variable && count < MOST_VARIABLES; variable++)
        if (is_told(*variable, strcspn(*variable, "=")) && strchr(*variable, '='))
            told[count++] = *variable;
    if (count > 1)
        qsort(told, count, sizeof *told, by_name);
    for (size_t i = 0; i < count; i++) {
        const size_t length = strcspn(told[i], "=");
        add_item(about, arena, lull_arena_strndup(arena, told[i], length), told[i] + length + 1);
    }
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The last one of a key counts. */
static void add_labels(struct lull_about *about, char *const *labels, struct lull_arena *arena)
{
    for (size_t i = 0; labels && labels[i]; i++) {
        const size_t length = strcspn(labels[i], "=");
        bool again = false;
        for (size_t later = i + 1; labels[later]; later++)
            again |= strncmp(labels[i], labels[later], length + 1) == 0;
        if (!again && labels[i][length])
            add_item(about, arena, lull_arena_printf(arena, "label:%.*s", (int)length, labels[i]),
                     labels[i] + length + 1);
    }
}

void lull_about_collect(const struct lull_executable *executable, char *const *command,
                        char *const *labels, struct lull_arena *arena, struct lull_about *ret_about)
{
    char folder[PATH_MAX];
    *ret_about = (struct lull_about){.count = 0};
    add_known(ret_about, arena, "command", command_of(command, arena));
    add_known(ret_about, arena, "program",
              command ? lull_executable_title(executable, command, arena) : executable->name);
    add_known(ret_about, arena, "executable", real_path(executable->path, arena));
    add_known(ret_about, arena, "compilers", executable->compilers);
    if (getcwd(folder, sizeof folder)) {
        add_known(ret_about, arena, "folder", folder);
        add_known(ret_about, arena, "commit", commit_of(folder, arena));
    }
    add_known(ret_about, arena, "processor", processor_name(arena));
    add_known(ret_about, arena, "limits", limits_text(arena));
    add_environment(ret_about, arena);
    add_labels(ret_about, labels, arena);
}

/* ==== the file ================================================================================ */

/* ---- writing --------------------------------------------------------------------------------- */

static size_t build_property(const struct lull_about_item *item, unsigned char *space, size_t room)
{
    struct lull_tape_builder builder;
    lull_tape_build_begin(&builder, space, room, LULL_TAPE_DEFINE_PROPERTY, 0);
    lull_tape_build_text(&builder, item->key);
    lull_tape_build_text(&builder, item->value);
    return lull_tape_build_end(&builder);
}

bool lull_about_write(const struct lull_about *about, const char *folder, struct lull_arena *arena)
{
    struct lull_tape_definitions_header header = {.version = LULL_TAPE_VERSION,
                                                  .byte_order = LULL_TAPE_BYTE_ORDER,
                                                  .header_size = sizeof header,
                                                  .process = LULL_TAPE_WHOLE_RUN};
    size_t size = sizeof header;
    for (size_t i = 0; i < about->count; i++)
        size += build_property(&about->items[i], NULL, 0);
    unsigned char *bytes = lull_arena_alloc(arena, size);
    memcpy(header.magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header.magic);
    header.committed = size - sizeof header;
    memcpy(bytes, &header, sizeof header);
    for (size_t i = 0, at = sizeof header; i < about->count; i++)
        at += build_property(&about->items[i], bytes + at, size - at);
    FILE *out = fopen(lull_arena_printf(arena, "%s/" LULL_TAPE_ABOUT_NAME, folder), "wbe");
    bool good = out && fwrite(bytes, 1, size, out) == size;
    if (out)
        good &= fclose(out) == 0;
    return good;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The values that the folder has; false: it has none that could be compared with. */
static bool read_about(const char *folder, struct lull_arena *arena, struct lull_about *ret_about)
{
    struct lull_tape_definitions_header header;
    struct lull_tape_definition definition;
    unsigned char *bytes = lull_arena_alloc(arena, MOST_ABOUT);
    const char *path = lull_arena_printf(arena, "%s/" LULL_TAPE_ABOUT_NAME, folder);
    size_t got;
    *ret_about = (struct lull_about){.count = 0};
    if (lull_read_head(path, bytes, MOST_ABOUT, &got, NULL) != LULL_OK || got < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header.magic) != 0 ||
        header.version != LULL_TAPE_VERSION || header.header_size != sizeof header ||
        header.committed != got - sizeof header)
        return false;
    for (size_t at = sizeof header; got - at >= sizeof definition; at += definition.size) {
        memcpy(&definition, bytes + at, sizeof definition);
        if (definition.size < sizeof definition || definition.size > got - at)
            return false;
        struct lull_tape_fields fields = {bytes + at + sizeof definition,
                                          bytes + at + definition.size, false};
        uint32_t length;
        const char *text = lull_tape_field_text(&fields, &length);
        const char *key = lull_arena_strndup(arena, text, length);
        text = lull_tape_field_text(&fields, &length);
        add_item(ret_about, arena, key, lull_arena_strndup(arena, text, length));
    }
    return true;
}

static const char *value_of_key(const struct lull_about *about, const char *key)
{
    for (size_t i = 0; i < about->count; i++)
        if (strcmp(about->items[i].key, key) == 0)
            return about->items[i].value;
    return "";
}

/* One more line; newlines and '%' in it are written as '%' and their code. */
static const char *with_line(const char *lines, const char *key, const char *value,
                             struct lull_arena *arena)
{
    char *text = lull_arena_alloc(arena, 3 * strlen(value) + 1), *to = text;
    for (; *value; value++) {
        if (*value == '\n' || *value == '%')
            to += sprintf(to, "%%%02X", (unsigned char)*value);
        else
            *to++ = *value;
    }
    *to = '\0';
    return lull_arena_printf(arena, "%s%s=%s\n", lines ? lines : "", key, text);
}

const char *lull_about_differing(const struct lull_about *about, const char *folder,
                                 struct lull_arena *arena)
{
    struct lull_about run;
    const char *lines = NULL;
    if (!read_about(folder, arena, &run))
        return NULL;
    for (size_t i = 0; i < about->count; i++)
        if (strcmp(value_of_key(&run, about->items[i].key), about->items[i].value) != 0)
            lines = with_line(lines, about->items[i].key, about->items[i].value, arena);
    for (size_t i = 0; i < run.count; i++)
        if (*run.items[i].value && !*value_of_key(about, run.items[i].key))
            lines = with_line(lines, run.items[i].key, "", arena);
    return lines;
}
