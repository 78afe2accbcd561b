/* Names of places in a program's code, from the debug information and the symbol table of the file
 * that holds it. */
#ifndef LULL_BINARY_SYMBOLS_H
#define LULL_BINARY_SYMBOLS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* A place in the code. */
struct lull_symbol {
    const char *function; /* where functions were inlined, the innermost one; "": not known */
    const char *file;     /* "": not known */
    uint32_t line;
    const struct lull_symbol *caller; /* where the function was inlined; NULL: it was not */
    /* The file was included by that which was compiled: several functions may have the line. */
    bool included;
};

enum lull_symbols_found {
    LULL_SYMBOLS_FOUND,
    LULL_SYMBOLS_NOT_BUILT, /* lull was built without libdw */
    LULL_SYMBOLS_ABSENT,    /* there is no such file, or nothing can be read from it */
    LULL_SYMBOLS_CHANGED    /* it is not the file that was recorded: another build id */
};

/* Opens a file. `build_id` (hexadecimal) is the one that the file must have; without one any file
 * will do. *ret_symbols is written with LULL_SYMBOLS_FOUND only, and belongs to the caller. */
struct lull_symbols;
enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols);
/* The place at an offset, which counts as the addresses in the file do; texts live in `arena`. */
struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena);

/* A function that has code of its own, where it begins. */
struct lull_function {
    const char *name; /* as sources have it (binary/demangle.h); "": not known */
    const char *file; /* where it is defined, as the compiler was told: "grid.c"; "": not known */
    const char *path; /* the same with the folder of the compilation: "/home/x/grid.c"; "": not
                         known */
    uint32_t line;
};
/* The function that begins at an offset; texts live in `arena`. */
struct lull_function lull_symbols_function(struct lull_symbols *symbols, uint64_t offset,
                                           struct lull_arena *arena);
/* Visits all functions of the symbol table, with their names as the linker has them. */
typedef void lull_function_visit(void *context, uint64_t offset, const char *mangled);
void lull_symbols_visit(struct lull_symbols *symbols, lull_function_visit *visit, void *context);
/* Whether the file uses a function of this name that another file must define. */
bool lull_symbols_needs(struct lull_symbols *symbols, const char *name);
void lull_symbols_close(struct lull_symbols *symbols);

#endif
