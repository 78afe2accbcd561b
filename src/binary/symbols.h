/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of places in a program's code, from the debug information and the symbol table of the file
 * that holds it. */
#ifndef LULL_BINARY_SYMBOLS_H
#define LULL_BINARY_SYMBOLS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A place in the code. */
struct lull_symbol {
    /* The function as the debug information has it, "step"; where functions were inlined, the
     * innermost one. "MPI_Send@plt" is the stub by which MPI_Send of a library is called. "": not
     * known. */
    const char *function;
    /* The same with name spaces, classes and Fortran modules, "heat::Grid::step", and with template
     * arguments and parameters, "double heat::Grid<double>::step<int>(int)" (binary/demangle.h). */
    const char *short_name, *whole_name;
    const char *file; /* "": not known */
    uint32_t line;
    const struct lull_symbol *caller; /* where the function was inlined; NULL: it was not */
    /* The file was included by that which was compiled: several functions may have the line. */
    bool included;
};

/* A loop of the source, found in the machine code (binary/code_loops.h): the code goes round there.
 * Loops that the compiler has unrolled wholly, or made a call of memset() or the like, do not. */
struct lull_loop {
    const char *function; /* whose source has the loop; others may be inlined in it */
    const char *file;     /* of the loop; "": there is no debug information */
    uint32_t first, last; /* the first and the last line that has code of the loop; 0: not known */
    uint32_t depth;       /* 1: the outermost one in the function that has the code */
    /* How many loops of the machine code it is: what was vectorised, peeled or made in two versions is
     * more than one, each with code of its own for the same lines. */
    uint32_t copies;
    uint64_t head; /* an address, as offsets are: where the loop of this code is entered */
    const struct lull_loop *outer; /* the loop around it in the machine code; NULL: none */
};

enum lull_symbols_found {
    LULL_SYMBOLS_FOUND,
    LULL_SYMBOLS_NOT_BUILT, /* lull was built without libdw */
    LULL_SYMBOLS_ABSENT,    /* there is no such file, or nothing can be read from it */
    LULL_SYMBOLS_CHANGED    /* it is not the file that was recorded: another build id */
};

/* Opens a file. `build_id` (hexadecimal) is the one that the file must have, "" that of a file
 * without one; with NULL any file will do. *ret_symbols is written with LULL_SYMBOLS_FOUND only, and
 * belongs to the caller. `why` says in one line why a file was not found, which build id it has, or
 * that it was found and its debug information cannot be read; else it is left as it was.
 *
 * Debug information is read from the file, or from a separate one: beside it or below /usr/lib/debug,
 * by the name that the file gives (.gnu_debuglink) or by its build id; from servers only where that is
 * asked for (binary/debug_file.h).
 *
 * Not safe for concurrent use; each thread opens the file for itself. */
struct lull_symbols;
enum lull_symbols_found lull_symbols_open(const char *path, const char *build_id,
                                          struct lull_symbols **ret_symbols);
enum lull_symbols_found lull_symbols_open_told(const char *path, const char *build_id,
                                               struct lull_symbols **ret_symbols,
                                               struct lull_error *why);
/* The place at an offset, which counts as the addresses in the file do; texts live in `arena`, which
 * is the same in all calls for `symbols`. Offsets of one compilation unit that are asked for one
 * after the other are found fastest, ascending ones nearly so. */
struct lull_symbol lull_symbols_find(struct lull_symbols *symbols, uint64_t offset,
                                     struct lull_arena *arena);
/* The innermost loop at an offset, NULL: none, or the machine is neither x86-64 nor AArch64, or the
 * function has more than 16 MiB. It lives in `arena`, and is the same for all offsets of the loop
 * that are asked for before those of other functions. */
const struct lull_loop *lull_symbols_loop(struct lull_symbols *symbols, uint64_t offset,
                                          struct lull_arena *arena);
/* The code that each pass through a loop of the machine code executes, in the order of execution. */
struct lull_loop_code {
    const uint8_t *code; /* of x86-64 */
    size_t size;
    uint64_t head;     /* an address, as offsets are */
    unsigned n_others; /* blocks of code that some passes leave out, which `code` does not have */
    unsigned n_calls;  /* calls in `code` */
};
/* The code of the innermost loop at an offset, in `arena`. False: there is none (lull_symbols_loop), another
 * loop is inside, or the machine is not x86-64. */
bool lull_symbols_loop_code(struct lull_symbols *symbols, uint64_t offset, struct lull_arena *arena,
                            struct lull_loop_code *ret_code);
/* Whether a source file is a header of the compiler, or of a library that was installed with the system. */
bool lull_is_system_header(const char *file);
/* The innermost of the functions that were inlined at a place whose source is no system header, so that
 * what std::vector does counts for the line of the program that uses it; where there is none, the
 * innermost one. */
const struct lull_symbol *lull_symbol_of_program(const struct lull_symbol *symbol);
/* A number for the compilation unit of an offset: sorted by it, those of one unit come together.
 * 0: it is in none. */
uint64_t lull_symbols_unit(struct lull_symbols *symbols, uint64_t offset);

/* How the caller of code is found, from tables that the compiler makes for exceptions (.eh_frame) or for
 * debuggers (.debug_frame). Two registers are followed: the stack pointer, and the one that may point to
 * the frame (rbp of x86-64, x29 of AArch64). The caller's stack pointer is the frame's address, as in
 * DWARF 5, section 6.4. */
enum lull_unwind_address {
    LULL_UNWIND_UNKNOWN,       /* there is no table, or it says what is not read here */
    LULL_UNWIND_OUTERMOST,     /* nothing called this code */
    LULL_UNWIND_FROM_STACK,    /* the stack pointer and `address` */
    LULL_UNWIND_FROM_REGISTER, /* the frame register and `address` */
    LULL_UNWIND_IN_MEMORY      /* it stands where the frame register and `address` point to */
};
enum lull_unwind_saved {
    LULL_UNWIND_LOST,       /* the value is not known */
    LULL_UNWIND_SAME,       /* the register still has it */
    LULL_UNWIND_AT_ADDRESS, /* in memory, counted from the frame's address */
    LULL_UNWIND_AT_REGISTER /* in memory, counted from the frame register */
};
struct lull_unwind_rule {
    uint8_t how;                       /* enum lull_unwind_address */
    uint8_t saved_return, saved_frame; /* enum lull_unwind_saved; SAME: in the link register, in the
                                          frame register */
    int64_t address, return_at, frame_at; /* bytes */
};
struct lull_unwind_rule lull_symbols_unwind(struct lull_symbols *symbols, uint64_t offset);

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
/* How the code at an offset was compiled, as far as the debug information tells. */
struct lull_compilation {
    const char *language; /* "C", "C++", "Fortran"; "": another one, or not known */
    const char *file;     /* that was compiled, with its folder; "": not known */
    const char
        *producer; /* the compiler, and of gcc its options without those for headers and macros:
                             "GNU C17 12.2.0 -O2 -g"; "": not known */
    const char *const *folders; /* [n_folders] of headers that it has included, but for those of the
                                   compiler and the system */
    size_t n_folders;
};
/* Texts live in `arena`. */
struct lull_compilation lull_symbols_compilation(struct lull_symbols *symbols, uint64_t offset,
                                                 struct lull_arena *arena);
/* Visits all functions of the symbol table, with their names as the linker has them. */
typedef void lull_function_visit(void *context, uint64_t offset, const char *mangled);
void lull_symbols_visit(struct lull_symbols *symbols, lull_function_visit *visit, void *context);
/* Whether the file uses a function of this name that another file must define. */
bool lull_symbols_needs(struct lull_symbols *symbols, const char *name);
void lull_symbols_close(struct lull_symbols *symbols);

#endif
