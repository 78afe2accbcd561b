/* Runs `main` of a library that it keeps to itself, with all that the library needs, as Python does
 * with its modules:
 *
 *     start_loader LIBRARY ARGUMENTS... */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run)(int, char **);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "main") : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&run, &symbol, sizeof run);
    return run(argc - 1, argv + 1);
}
