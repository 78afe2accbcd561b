/* Prints what is known of addresses of a file, which are read from stdin, hexadecimal, one a line:
 *
 *     places FILE [BUILD_ID|-] [THREADS]
 *
 * One line for each: address, function, short name, whole name, file, line; the loop's function, file,
 * first and last line, depth, copies, head, or "-"; then function, file and line of each caller that
 * it was inlined in; divided by tabs. THREADS 0: address by address instead of all at once. */
#include "binary/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_place(const struct lull_place *place)
{
    const struct lull_symbol *symbol = &place->symbol;
    const struct lull_loop *loop = place->loop;
    printf("%llx\t%s\t%s\t%s\t%s\t%u\t", (unsigned long long)place->offset, symbol->function,
           symbol->short_name, symbol->whole_name, symbol->file, symbol->line);
    if (loop)
        printf("%s\t%s\t%u\t%u\t%u\t%u\t%llx", loop->function, loop->file, loop->first, loop->last,
               loop->depth, loop->copies, (unsigned long long)loop->head);
    else
        printf("-");
    for (const struct lull_symbol *caller = symbol->caller; caller; caller = caller->caller)
        printf("\t%s\t%s\t%u", caller->function, caller->file, caller->line);
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    struct lull_places_file file = {
        .path = argv[1], .build_id = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL};
    const unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_place *places = NULL;
    size_t count = 0, capacity = 0;
    struct lull_error err = {""};
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        places = lull_arena_grow(arena, places, &capacity, count + 1, sizeof *places);
        places[count++].offset = strtoull(line, NULL, 16);
    }
    if (threads > 0) {
        if (lull_places_find(&file, 1, places, count, true, threads, arena, &err) != LULL_OK)
            fprintf(stderr, "%s\n", err.text);
    } else {
        struct lull_symbols *symbols = NULL;
        file.found = lull_symbols_open_told(file.path, file.build_id, &symbols, &err);
        file.why = err.text;
        for (size_t i = 0; symbols && i < count; i++) {
            places[i].symbol = lull_symbols_find(symbols, places[i].offset, arena);
            places[i].loop = lull_symbols_loop(symbols, places[i].offset, arena);
        }
        if (symbols)
            lull_symbols_close(symbols);
    }
    if (*file.why)
        fprintf(stderr, "%s\n", file.why);
    for (size_t i = 0; file.found == LULL_SYMBOLS_FOUND && i < count; i++)
        print_place(&places[i]);
    lull_arena_destroy(arena);
    return file.found != LULL_SYMBOLS_FOUND;
}
