/* Programs and libraries of any content: names, lines and loops of their code. */
#include "binary/elf.h"
#include "binary/places.h"
#include "support/fuzz_folder.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

struct begins {
    uint64_t all[MOST];
    size_t count;
};

static void take_begin(void *context, uint64_t offset, const char *name)
{
    struct begins *begins = context;
    (void)name;
    if (begins->count < MOST)
        begins->all[begins->count++] = offset;
}

/* Of a function that was found every loop has a depth, and lines in their order. */
static void check_place(const struct lull_place *place)
{
    for (const struct lull_symbol *symbol = &place->symbol; symbol; symbol = symbol->caller)
        if (!symbol->function || !symbol->short_name || !symbol->whole_name || !symbol->file)
            abort();
    for (const struct lull_loop *loop = place->loop; loop; loop = loop->outer)
        if (loop->depth == 0 || loop->copies == 0 || loop->first > loop->last ||
            (loop->outer && loop->outer->depth >= loop->depth && loop->copies == 1))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1 << 16) /* larger ones are no different, only slower */
        return 0;
    char path[4400];
    fuzz_write("symbols", data, size);
    snprintf(path, sizeof path, "%s/symbols", fuzz_folder());
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_symbols *symbols;
    struct lull_error why;
    struct lull_elf elf;
    (void)lull_elf_read(path, arena, &elf, &why);
    if (lull_symbols_open_told(path, NULL, &symbols, &why) == LULL_SYMBOLS_FOUND) {
        struct begins begins = {.count = 0};
        struct lull_place places[4 * MOST] = {{0}};
        struct lull_places_file file = {.path = path};
        size_t count = 0;
        lull_symbols_visit(symbols, take_begin, &begins);
        (void)lull_symbols_needs(symbols, "__cyg_profile_func_enter");
        for (size_t i = 0; i < begins.count; i++)
            (void)lull_symbols_function(symbols, begins.all[i], arena);
        lull_symbols_close(symbols);
        for (size_t i = 0; i < MOST; i++) { /* in functions, and where linkers begin code */
            const uint64_t begin = i < begins.count ? begins.all[i] : 0x1000 + 16 * i;
            for (uint64_t k = 0; k < 4; k++)
                places[count++].offset = begin + 13 * k;
        }
        if (lull_places_find(&file, 1, places, count, true, 1, arena, &why) == LULL_OK)
            for (size_t i = 0; i < count; i++)
                check_place(&places[i]);
    }
    lull_arena_destroy(arena);
    return 0;
}
