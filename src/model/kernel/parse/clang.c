#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/parse/clang.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The one that was there at build time, then what other versions are called, newer ones first. */
static void *open_libclang(void)
{
    enum { NEWEST_CLANG = 30, OLDEST_CLANG = 13 };
    void *library = dlopen(LULL_LIBCLANG, RTLD_LAZY | RTLD_LOCAL);
    for (int version = NEWEST_CLANG; !library && version >= OLDEST_CLANG; version--)
        for (int number = version; !library && number > 0; number = number > 1 ? 1 : 0) {
            char name[64];
            snprintf(name, sizeof name, "libclang-%d.so.%d", version, number);
            library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        }
    return library ? library : dlopen("libclang.so.1", RTLD_LAZY | RTLD_LOCAL);
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
    void *library = loaded ? NULL : open_libclang();
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
