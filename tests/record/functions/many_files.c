/* More loaded files than anybody expects, each with the same functions (-DLIBRARY): copies of one,
 * FOLDER/0.so and so on. */
#ifdef LIBRARY
void kept(void);
void left_out(void);

void left_out(void)
{
}

void kept(void)
{
    left_out();
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    for (int i = 0; i < FILES; i++) {
        char path[4096];
        void (*function)(void);
        snprintf(path, sizeof path, "%s/%d.so", FOLDER, i);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "kept") : NULL;
        if (!symbol)
            return 1;
        memcpy(&function, &symbol, sizeof function);
        function();
    }
    return 0;
}
#endif
