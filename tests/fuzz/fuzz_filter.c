/* Filters of functions of any content. What is accepted decides about some names. */
#include "filter/filter.h"
#include "support/fuzz_folder.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"", "main", "heat::Grid::step(int)", "/usr/include/a.h"};
    if (size > 4096) /* larger ones are no different, only slower */
        return 0;
    char path[4400];
    fuzz_write("filter", data, size);
    snprintf(path, sizeof path, "%s/filter", fuzz_folder());
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_filter *filter;
    struct lull_error err;
    if (size > 0 && lull_filter_read(path, arena, &filter, &err) == LULL_OK)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            /* What is not known is in no file and has no name that a pattern could match. */
            if ((lull_filter_excludes_name(filter, names[i], names[i]) ||
                 lull_filter_excludes_file(filter, names[i], names[i])) &&
                !*names[i])
                abort();
    lull_arena_destroy(arena);
    return 0;
}
