/* nccl LIBRARY VERSION RANK [uneven|kernels]: calls the library that stands for NCCL (nccl_fake.c), as a program that loads it
 * late. uneven: rank 1 takes no part in the Broadcast. kernels: it launches kernels of CUDA (cuda/mock.h). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, void *, void **, void **);
static int (*get_function)(void **, void *, const char *);

static void launch(const char *name)
{
    void *kernel;
    if (get_function(&kernel, NULL, name) != 0 ||
        launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0)
        exit(1);
}

static void *find_cuda(void *cuda, const char *name)
{
    void *symbol = cuda ? dlsym(cuda, name) : NULL;
    if (!symbol)
        exit(1);
    return symbol;
}

/* Prepares the device. Returns what waits for it. */
static int (*open_cuda(void))(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context;
    int (*start)(unsigned), (*retain)(void **, int), (*set)(void *), (*synchronize)(void);
    *(void **)&start = find_cuda(cuda, "cuInit");
    *(void **)&retain = find_cuda(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&set = find_cuda(cuda, "cuCtxSetCurrent");
    *(void **)&synchronize = find_cuda(cuda, "cuCtxSynchronize");
    *(void **)&get_function = find_cuda(cuda, "cuModuleGetFunction");
    *(void **)&launch_kernel = find_cuda(cuda, "cuLaunchKernel");
    if (start(0) != 0 || retain(&context, 0) != 0 || set(context) != 0)
        exit(1);
    return synchronize;
}

int main(int argc, char **argv)
{
    const int kernels = argc == 5 && strcmp(argv[4], "kernels") == 0;
    void *library = argc >= 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*fake)(int, int, uint64_t, int, void (*)(const char *));
    void *symbol = library ? dlsym(library, "fake_nccl") : NULL;
    const char *plugin = getenv("NCCL_PROFILER_PLUGIN");
    if (!symbol)
        return 1;
    printf("plug-in %s\n", plugin ? plugin : "-");
    *(void **)&fake = symbol;
    int (*synchronize)(void) = kernels ? open_cuda() : NULL;
    fake(atoi(argv[2]), atoi(argv[3]), 0xabcdef, argc == 4 || atoi(argv[3]) == 0,
         kernels ? launch : NULL);
    if (kernels && synchronize() != 0)
        return 1;
    puts("done");
    return 0;
}
