/* Where the dynamic linker would find a program's libraries. */
#include "binary/elf.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LIBRARIES = 512 };

static const char *const standard_folders[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

struct library {
    const char *name;
    const char *path; /* NULL: not found */
};

struct walk {
    struct lull_arena *arena;
    const char *configured; /* folders of /etc/ld.so.conf, joined by ':' */
    struct library *libraries;
    size_t count, capacity;
};

static void add_folders_of(struct walk *walk, const char *file)
{
    FILE *in = fopen(file, "re");
    if (!in)
        return;
    char line[4096];
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "#\n")] = '\0';
        char *folder = line + strspn(line, " \t");
        folder[strcspn(folder, " \t")] = '\0';
        if (*folder == '/')
            walk->configured = lull_arena_printf(walk->arena, "%s%s:", walk->configured, folder);
    }
    fclose(in);
}

/* Without following "include": everywhere it names the files of ld.so.conf.d. */
static void read_configuration(struct walk *walk)
{
    walk->configured = "";
    add_folders_of(walk, "/etc/ld.so.conf");
    glob_t found;
    if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_folders_of(walk, found.gl_pathv[i]);
    globfree(&found);
}

static const char *try_folder(struct walk *walk, const char *folder, size_t length,
                              const char *origin, const char *name)
{
    static const char *const marks[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < 2; i++) {
        size_t mark = strlen(marks[i]);
        if (length < mark || memcmp(folder, marks[i], mark) != 0)
            continue;
        size_t home = (size_t)(strrchr(origin, '/') ? strrchr(origin, '/') - origin : 0);
        folder = lull_arena_printf(walk->arena, "%.*s%.*s", (int)home, origin, (int)(length - mark),
                                   folder + mark);
        length = strlen(folder);
        break;
    }
    const char *path = lull_arena_printf(walk->arena, "%.*s/%s", (int)length, folder, name);
    return length > 0 && access(path, R_OK) == 0 ? path : NULL;
}

/* In a list of folders joined by ':'. */
static const char *try_list(struct walk *walk, const char *list, const char *origin,
                            const char *name)
{
    const char *path = NULL;
    while (list && *list && !path) {
        size_t length = strcspn(list, ":");
        path = try_folder(walk, list, length, origin, name);
        list += length + (list[length] == ':');
    }
    return path;
}

static const char *find_needed_library(struct walk *walk, const char *rpath, const char *origin,
                                       const char *name)
{
    if (strchr(name, '/'))
        return access(name, R_OK) == 0 ? name : NULL;
    const char *path = try_list(walk, getenv("LD_LIBRARY_PATH"), origin, name);
    if (!path)
        path = try_list(walk, rpath, origin, name);
    if (!path)
        path = try_list(walk, walk->configured, origin, name);
    for (size_t i = 0; !path && i < sizeof standard_folders / sizeof *standard_folders; i++)
        path = try_folder(walk, standard_folders[i], strlen(standard_folders[i]), "", name);
    return path;
}

static bool is_known(const struct walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->count; i++)
        if (strcmp(walk->libraries[i].name, name) == 0)
            return true;
    return false;
}

static void add_needed(struct walk *walk, const struct lull_elf *elf, const char *origin)
{
    for (size_t i = 0; i < elf->n_needed && walk->count < MOST_LIBRARIES; i++) {
        const char *name = elf->needed[i];
        if (is_known(walk, name))
            continue;
        walk->libraries = lull_arena_grow(walk->arena, walk->libraries, &walk->capacity,
                                          walk->count + 1, sizeof *walk->libraries);
        walk->libraries[walk->count++] = (struct library){
            .name = name, .path = find_needed_library(walk, elf->rpath, origin, name)};
    }
}

void lull_elf_libraries(const char *path, const struct lull_elf *program, struct lull_arena *arena,
                        void (*visit)(void *context, const char *name), void *context)
{
    struct walk walk = {.arena = arena};
    read_configuration(&walk);
    add_needed(&walk, program, path);
    for (size_t i = 0; i < walk.count; i++) {
        struct library library = walk.libraries[i];
        struct lull_elf elf;
        visit(context, library.name);
        if (library.path && lull_elf_read(library.path, arena, &elf, NULL) == LULL_OK)
            add_needed(&walk, &elf, library.path);
    }
}
