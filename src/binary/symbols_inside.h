/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of symbols: what of a file has been read, for the files that find names (symbols.c), loops
 * (source_loops.c) and callers (unwind.c) in it. Internal to the room.
 *
 * An address counts as those of the debug information do, an offset as those of the file itself. */
#ifndef LULL_BINARY_SYMBOLS_INSIDE_H
#define LULL_BINARY_SYMBOLS_INSIDE_H

#include "binary/linked.h"

#if LULL_HAVE_LIBDW

#include "base/arena.h"
#include "base/hash.h"
#include "binary/code_loops.h"

#define LULL_SYMBOLS_NONE UINT32_MAX /* no frame, and no loop */

struct lull_loop;
struct lull_symbol;

/* A range of addresses, and the unit or function that it belongs to. */
struct range {
    uint64_t begin, end;
    Dwarf_Off die;
};

struct ranges {
    struct range *all; /* ascending by begin */
    size_t count, capacity;
};

/* The function whose code was asked for last, or one that was inlined in it. */
struct frame {
    Dwarf_Die die;
    uint32_t
        outer; /* the frame that it is inlined in; LULL_SYMBOLS_NONE: it is the function itself */
    uint32_t line;                    /* of the function's definition; 0: not known */
    uint64_t begin;                   /* of its code; UINT64_MAX: it has none */
    const struct lull_symbol *caller; /* the place where it is inlined, once that was asked for */
};

struct segment {
    uint64_t begin; /* up to the begin of the next segment */
    uint32_t frame; /* the innermost one */
};

/* A range of code that a frame has. */
struct painted {
    uint64_t begin, end;
    uint32_t frame;
};

struct frames {
    Dwarf_Off die; /* of the function; 0: none was asked for */
    struct frame *all;
    size_t count, capacity;
    struct painted *ranges;
    size_t n_ranges, ranges_capacity;
    struct segment *segments; /* ascending */
    size_t n_segments, segments_capacity;
};

/* Loops of the function whose loops were asked for last. */
struct loops {
    struct lull_arena *arena; /* of the rest */
    struct lull_function_code function;
    struct lull_code_loops code;
    const struct lull_loop **of; /* for each loop of `code` */
    struct lull_hash statements; /* struct loop_line, while lines are collected */
};

struct lull_symbol_names {
    const char *function, *short_name, *whole_name;
};

/* Names by the address of what they were made of. */
struct texts {
    struct lull_hash table; /* address -> index of `all` */
    struct lull_symbol_names *all;
    size_t count, capacity;
};

struct lull_symbols {
    Dwfl *dwfl;
    struct lull_linked linked;
    Dwarf *dwarf; /* NULL: there is no debug information */
    struct own_dwarf {
        int fd;
        Elf *elf;
        Dwarf *dwarf; /* NULL: `dwarf` is libdwfl's */
    } own;
    bool relocated; /* a file whose addresses are not final */
    GElf_Addr dwarf_bias;
    struct ranges units;
    struct ranges functions; /* of `unit` only */
    Dwarf_Off unit;          /* the unit asked for last */
    Dwarf_Die body;          /* what holds its functions, perhaps in another file */
    bool exceptions;         /* its language has exceptions */
    uint64_t read;           /* bytes of debug information since the file was opened */
    struct frames frames;
    struct loops loops;
    /* Texts in the arena, by the address of what they were made of: dies and names of files of
     * `unit`, and names of functions of all units, which the linker has put into one table. */
    struct texts of_unit, of_linked;
};

/* Finds the compilation unit of an address, and reads it; false: there is none. */
bool lull_symbols_find_unit(struct lull_symbols *symbols, uint64_t address, Dwarf_Die *unit);
/* Finds the function of an address of that unit, and what is inlined in it: the innermost frame there.
 * LULL_SYMBOLS_NONE: there is none. */
uint32_t lull_symbols_find_frame(struct lull_symbols *symbols, uint64_t address);
/* The innermost frame at an address; LULL_SYMBOLS_NONE: the function does not have it. */
uint32_t lull_symbols_frame_at(const struct frames *frames, uint64_t address);
/* The names of a function, inlined or not. */
struct lull_symbol_names lull_symbols_names_of(struct lull_symbols *symbols, Dwarf_Die *die,
                                               struct lull_arena *arena);
/* A name of a file in the arena, where each of a unit is kept once; of NULL "". */
const char *lull_symbols_keep_text(struct lull_symbols *symbols, const char *text,
                                   struct lull_arena *arena);
/* An attribute of a die, also of that which it is an instance of; NULL: there is none. */
const char *lull_symbols_text(Dwarf_Die *die, unsigned name);
/* An attribute of a die; 0: there is none. */
Dwarf_Word lull_symbols_number(Dwarf_Die *die, unsigned name);
/* The file and line of a row of the line table; NULL: it has none. */
const char *lull_symbols_row_file(Dwarf_Line *row, uint32_t *ret_line);
/* The file in which a function is defined; NULL: not known. */
const char *lull_symbols_definition_file(Dwarf_Die *die);
/* The place where an inlined function was called in the source; NULL: not known. */
const char *lull_symbols_call_file(Dwarf_Die *unit, Dwarf_Die *inlined, uint32_t *ret_line);

#endif
#endif
