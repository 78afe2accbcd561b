#include "support/folder.h"

#include "base/file.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096];

static void must(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

const char *folder_make(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/lull-test-XXXXXX", parent && *parent ? parent : "/tmp");
    must(mkdtemp(folder) != NULL, folder);
    return folder;
}

const char *folder_path(const char *name)
{
    static char paths[8][4400];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void folder_remove(void)
{
    must(lull_remove_tree(folder, NULL) == LULL_OK, folder);
}

size_t folder_entries(const char *path)
{
    DIR *open = opendir(path);
    must(open != NULL, path);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(open));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(open);
    return count;
}

void folder_write(const char *path, const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    must(out && fwrite(bytes, 1, size, out) == size, path);
    must(fclose(out) == 0, path);
}

unsigned char *folder_read(const char *path, size_t *ret_size)
{
    FILE *in = fopen(path, "rb");
    struct stat info;
    must(in && fstat(fileno(in), &info) == 0, path);
    unsigned char *bytes = malloc((size_t)info.st_size + 1);
    must(bytes && fread(bytes, 1, (size_t)info.st_size, in) == (size_t)info.st_size, path);
    fclose(in);
    *ret_size = (size_t)info.st_size;
    return bytes;
}

void folder_check(const char *path, const char *expected)
{
    size_t size;
    unsigned char *bytes = folder_read(path, &size);
    bool same = size == strlen(expected) && memcmp(bytes, expected, size) == 0;
    if (!same)
        fprintf(stderr, "%s holds '%.*s', expected '%s'\n", path, (int)size, bytes, expected);
    free(bytes);
    if (!same)
        abort();
}

void folder_fill(const char *path, const char *content)
{
    char below[4500];
    snprintf(below, sizeof below, "%s/a", path);
    folder_write(below, content, strlen(content));
    snprintf(below, sizeof below, "%s/b", path);
    must(mkdir(below, 0700) == 0, below);
    snprintf(below, sizeof below, "%s/b/c", path);
    folder_write(below, "c", 1);
}
