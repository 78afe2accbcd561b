/* SPDX-License-Identifier: BSD-3-Clause */
/* Where machine code goes: lengths of instructions, and the targets of jumps. */
#ifndef LULL_BINARY_INSTRUCTION_H
#define LULL_BINARY_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lull_instruction_kind {
    LULL_INSTRUCTION_PLAIN,    /* the next one follows */
    LULL_INSTRUCTION_CALL,     /* of `target`, of what `slot` holds, or of what a register holds */
    LULL_INSTRUCTION_BRANCH,   /* `target` or the next one follows */
    LULL_INSTRUCTION_JUMP,     /* `target` follows */
    LULL_INSTRUCTION_INDIRECT, /* a jump to an address in a register or in memory */
    LULL_INSTRUCTION_END       /* nothing follows: a return, or a trap */
};

struct lull_instruction {
    enum lull_instruction_kind kind;
    unsigned length; /* in bytes */
    uint64_t target; /* of branches, jumps, direct calls; else 0 */
    /* Of indirect jumps and calls: the address of the memory that holds the target, where the
     * instruction says it without a register; else 0. */
    uint64_t slot;
    /* LULL_INSTRUCTION_INDIRECT: the target is at a fixed distance of an address in a register, as
     * the functions of an object of C++ are. */
    bool by_field;
    /* An address that the instruction computes from its own and puts into register `reg`; 0: none.
     * Tables of switches are found by it. */
    uint64_t address;
    /* The table of 32-bit offsets that the instruction reads begins at the address in register
     * `table_reg`; -1: it is no such instruction. */
    int table_reg;
    int reg;
};

/* Whether the code of a machine (EM_X86_64, EM_AARCH64 of <elf.h>) can be read. */
bool lull_instruction_known(unsigned machine);

/* Reads the instruction at `address`, of which `size` bytes are at hand. False: there is none, it is
 * cut off, or the machine is not known. Sources: Intel 64 manual, volume 2, appendix A (opcode maps)
 * and section 2.3 (VEX, EVEX); AMD64 manual, volume 3, appendix A (XOP); Arm architecture reference
 * manual, C4.1 (A64 encoding). */
bool lull_instruction_read(unsigned machine, const uint8_t *code, size_t size, uint64_t address,
                           struct lull_instruction *ret_instruction);

/* Where the address stands that a stub jumps to, code of a few instructions by which a program calls a
 * function of a library ("procedure linkage table"). 0: the code at `address` is no stub. */
uint64_t lull_instruction_stub(unsigned machine, const uint8_t *code, size_t size,
                               uint64_t address);

#endif
