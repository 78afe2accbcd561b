/* Names addresses of a file, for bench/names.py:
 *
 *     bench_names FILE ADDRESSES THREADS [loops]
 *
 * ADDRESSES is a file with one a line, hexadecimal. Prints how many have a function, a line, a loop. */
#include "binary/places.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    FILE *in = fopen(argv[2], "r");
    if (!in) {
        perror(argv[2]);
        return 1;
    }
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_places_file file = {.path = argv[1]};
    struct lull_place *places = NULL;
    size_t count = 0, capacity = 0;
    char line[64];
    while (fgets(line, sizeof line, in)) {
        places = lull_arena_grow(arena, places, &capacity, count + 1, sizeof *places);
        places[count++].offset = strtoull(line, NULL, 16);
    }
    fclose(in);
    struct lull_error err;
    if (lull_places_find(&file, 1, places, count, argc > 4, (unsigned)strtoul(argv[3], NULL, 10),
                         arena, &err) != LULL_OK ||
        file.found != LULL_SYMBOLS_FOUND) {
        fprintf(stderr, "%s\n", file.why);
        return 1;
    }
    size_t functions = 0, lines = 0, loops = 0;
    for (size_t i = 0; i < count; i++) {
        functions += *places[i].symbol.function != '\0';
        lines += places[i].symbol.line > 0;
        loops += places[i].loop != NULL;
    }
    printf("%zu %zu %zu %zu\n", count, functions, lines, loops);
    lull_arena_destroy(arena);
    return 0;
}
