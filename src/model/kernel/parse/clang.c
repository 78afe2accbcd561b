#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/parse/clang.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static void *open_library(void)
{
    /* The one that was there at build time, then what other versions are called. */
    static const char *const names[] = {LULL_LIBCLANG, "libclang.so.1", "libclang.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

lull_status lull_clang_load(const struct lull_clang **ret_clang, struct lull_error *err)
{
    static struct lull_clang clang;
    static bool loaded;
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define FUNCTION(name) {"clang_" #name, offsetof(struct lull_clang, name)},
        LULL_CLANG_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    void *library = loaded ? NULL : open_library();
    if (!loaded && !library)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "the library libclang, which reads C, was not found");
    for (size_t i = 0; !loaded && i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            return lull_fail(err, LULL_ERR_UNSUPPORTED, "the library libclang has no %s",
                             functions[i].name);
        memcpy((char *)&clang + functions[i].offset, &symbol, sizeof symbol);
    }
    loaded = true;
    *ret_clang = &clang;
    return LULL_OK;
}
#endif
