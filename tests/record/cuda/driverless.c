/* Does what the driver does at its begin, without a driver: loads what CUDA_INJECTION64_PATH names and starts it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
    int (*start)(void);
    memcpy(&start, &symbol, sizeof start);
    if (start)
        start();
    puts("done");
    return 3;
}
