/* Names of places in a program's code, from the debug information of the file that holds it. */
#ifndef LULL_BINARY_SYMBOLS_H
#define LULL_BINARY_SYMBOLS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct lull_symbol {
    const char *function; /* "": not known; the innermost one that was inlined there */
    const char *file;     /* "": not known */
    uint32_t line;
    const struct lull_symbol *caller; /* where the function was inlined; NULL: it was not */
};

enum lull_symbols_found {
    LULL_SYMBOLS_FOUND,
    LULL_SYMBOLS_NOT_BUILT, /* lull was built without libdw */
    LULL_SYMBOLS_ABSENT,    /* there is no such file, or nothing can be read from it */
    LULL_SYMBOLS_CHANGED    /* it is not the file that was recorded: another build id */
};

/* Opens a file; with a build id, hexadecimal, it must be the one that has it. *ret_symbols is
 * written with LULL_SYMBOLS_FOUND only, and belongs to the caller. */
struct lull_symbols;
enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols);
/* The place at an offset, as the file counts addresses; texts live in `arena`. */
struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena);

/* A function itself, not one that was inlined in it. */
struct lull_function {
    const char *name; /* as sources have it (binary/demangle.h); "": not known */
    const char *file; /* where it is defined, as the compiler was told; "": not known */
    const char *path; /* the same with the folder of the compilation in front; "": not known */
    uint32_t line;
};
/* The function that begins at an offset; texts live in `arena`. */
struct lull_function lull_symbols_function(struct lull_symbols *symbols, uint64_t offset,
                                           struct lull_arena *arena);
/* Visits all functions of the symbol table, with their names there. */
typedef void lull_function_visit(void *context, uint64_t offset, const char *mangled);
void lull_symbols_visit(struct lull_symbols *symbols, lull_function_visit *visit, void *context);
/* Whether the file wants a function of this name from others. */
bool lull_symbols_needs(struct lull_symbols *symbols, const char *name);
void lull_symbols_close(struct lull_symbols *symbols);

#endif
