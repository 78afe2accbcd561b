/* plugin MODULE TOOL: the same in a module that has brought the tool's library along for itself. */
#include <dlfcn.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run)(const char *) = NULL;
    void *module = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = module ? dlsym(module, "run") : NULL;
    memcpy(&run, &symbol, sizeof run);
    return run ? run(argv[2]) : 2;
}
