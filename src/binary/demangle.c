/* C++ names are read by abi::__cxa_demangle, which the ABI demands of every C++ run-time library.
 * lull contains no C++, so such a library is opened when the first C++ name is met; nearly every
 * machine has one. */
#include "binary/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

static demangler *read_cpp; /* NULL: there is none */

static void find_demangler(void)
{
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; !read_cpp && i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&read_cpp, &found, sizeof read_cpp);
    }
}

bool lull_demangles_cpp(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_demangler);
    return read_cpp != NULL;
}

static const char *demangle_cpp(struct lull_arena *arena, const char *name)
{
    enum { LONGEST = 4096 }; /* a name that refers to itself unfolds to any length */
    int status = -1;
    char *plain = strlen(name) <= LONGEST && lull_demangles_cpp()
                      ? read_cpp(name, NULL, NULL, &status)
                      : NULL;
    const char *kept = status == 0 && plain ? lull_arena_strdup(arena, plain) : name;
    free(plain);
    return kept;
}

/* "__MODULE_MOD_PROCEDURE" */
static const char *demangle_fortran(struct lull_arena *arena, const char *name)
{
    const char *module = name + 2, *mark = strstr(module, "_MOD_");
    if (!mark || mark == module || !mark[5])
        return name;
    return lull_arena_printf(arena, "%.*s::%s", (int)(mark - module), module, mark + 5);
}

const char *lull_demangle(struct lull_arena *arena, const char *name)
{
    if (strncmp(name, "_Z", 2) == 0)
        return demangle_cpp(arena, name);
    if (strncmp(name, "__", 2) == 0)
        return demangle_fortran(arena, name);
    return name;
}
