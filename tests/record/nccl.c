/* nccl LIBRARY VERSION RANK [uneven]: calls the library that stands for NCCL (nccl_fake.c), as a program that loads it
 * late. uneven: rank 1 takes no part in the Broadcast. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    void *library = argc >= 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*fake)(int, int, uint64_t, int);
    void *symbol = library ? dlsym(library, "fake_nccl") : NULL;
    const char *plugin = getenv("NCCL_PROFILER_PLUGIN");
    if (!symbol)
        return 1;
    printf("plug-in %s\n", plugin ? plugin : "-");
    *(void **)&fake = symbol;
    fake(atoi(argv[2]), atoi(argv[3]), 0xabcdef, argc == 4 || atoi(argv[3]) == 0);
    puts("done");
    return 0;
}
