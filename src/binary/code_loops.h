/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops in the machine code of a function. */
#ifndef LULL_BINARY_CODE_LOOPS_H
#define LULL_BINARY_CODE_LOOPS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of a function's code. A function may have several: compilers put what is seldom executed
 * elsewhere. */
struct lull_code_range {
    const uint8_t *code;
    uint64_t address, size;
};

/* A function, and what must be known of its surroundings. */
struct lull_function_code {
    unsigned machine; /* EM_X86_64, EM_AARCH64 of <elf.h>; others have no loops */
    const struct lull_code_range *parts; /* ascending by address; the function begins at `entry` */
    size_t n_parts;
    uint64_t entry;
    /* Code that no jump leads to may be where exceptions land, and not only the target of a jump
     * through a register. */
    bool exceptions;
    /* `size` bytes of constant data at an address; NULL: there are none. */
    const uint8_t *(*data)(void *context, uint64_t address, size_t size);
    /* Whether a call of the function at `target`, or whose address is at `slot`, never returns. */
    bool (*never_returns)(void *context, uint64_t target, uint64_t slot);
    void *context;
};

struct lull_code_loop {
    uint64_t head;  /* where it is entered */
    uint32_t outer; /* the loop around it; UINT32_MAX: none */
    uint32_t depth; /* 1: no loop is around it */
};

/* Instructions that follow each other, with a jump or branch at most at the end. */
struct lull_code_block {
    uint64_t begin, end;
    uint32_t loop; /* the innermost one; UINT32_MAX: none */
};

struct lull_code_loops {
    struct lull_code_loop *loops; /* an outer one is before its inner ones */
    uint32_t n_loops;
    struct lull_code_block *blocks; /* ascending by address */
    uint32_t n_blocks;
};

/* Finds the loops: strongly connected parts of the graph of blocks, and inside of each, when its head
 * is taken away, again strongly connected parts. For reducible graphs, where each loop has one
 * entry, these are the natural loops, with those that share a head as one; of a loop with several
 * entries the head is the one that is met first from the begin of the function. Source: Bourdoncle,
 * "Efficient chaotic iteration strategies with widenings", 1993, section 4.2; Ramalingam,
 * "Identifying loops in almost linear time", TOPLAS 21(2), 1999.
 *
 * False: the machine is not known, the code has more than LULL_CODE_MOST bytes, or there is no
 * memory. The result lives in `arena`. */
enum { LULL_CODE_MOST = 1 << 24 };
bool lull_code_loops_find(const struct lull_function_code *code, struct lull_arena *arena,
                          struct lull_code_loops *ret_loops);

/* The blocks of a loop that has no loop inside. */
struct lull_code_pass {
    uint32_t *
        blocks; /* [n_blocks] indices of those that each pass executes, in the order of execution */
    uint32_t n_blocks;
    uint32_t n_others; /* blocks that some passes leave out */
};

/* Finds which blocks each pass through a loop executes: without one of them no way leads from the head back to
 * it. False: another loop is inside, the loop has more than LULL_CODE_PASS_MOST blocks, or there is no
 * memory. The result lives in `arena`. */
enum { LULL_CODE_PASS_MOST = 1024 };
bool lull_code_loops_pass(const struct lull_function_code *code,
                          const struct lull_code_loops *loops, uint32_t loop,
                          struct lull_arena *arena, struct lull_code_pass *ret_pass);

#endif
