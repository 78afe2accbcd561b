/* SPDX-License-Identifier: BSD-3-Clause */
/* bin/lull of a bundle: says by name where the C library of this system is too old for lull, and becomes lull
 * otherwise. The loader would say the same in many lines, of each library and symbol. Nothing here needs more than the
 * first C library of the processor had, so that this program starts wherever one is. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The C library that all in the bundle is compiled with. */
#ifndef NEEDED_MAJOR
#define NEEDED_MAJOR __GLIBC__
#define NEEDED_MINOR __GLIBC_MINOR__
#endif

static const char program[] = "/lib/lull/lull";

int main(int argc, char **argv)
{
    (void)argc;
    char path[PATH_MAX];
    char *end = NULL;
    const long major = strtol(gnu_get_libc_version(), &end, 10);
    const long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (major < NEEDED_MAJOR || (major == NEEDED_MAJOR && minor < NEEDED_MINOR)) {
        fprintf(stderr,
                "lull: the C library (glibc) of this system is %s, and this lull needs %d.%d or "
                "newer\n",
                gnu_get_libc_version(), NEEDED_MAJOR, NEEDED_MINOR);
        return EXIT_FAILURE;
    }
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof program);
    if (length < 0) {
        fprintf(stderr, "lull: /proc/self/exe: cannot find its own folder: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    /* PREFIX/bin/lull becomes PREFIX/lib/lull/lull. */
    path[length] = '\0';
    for (int parts = 0; parts < 2; parts++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    strcat(path, program);
    execv(path, argv);
    fprintf(stderr, "lull: %s: cannot run: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
}
