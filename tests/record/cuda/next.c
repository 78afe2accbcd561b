/* A library of the user's that CUDA_INJECTION64_PATH names. */
#include <stdio.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    fprintf(stderr, "next is loaded\n");
    return 1;
}
