/* SPDX-License-Identifier: BSD-3-Clause */
/* How the caller of code is found, from .eh_frame and .debug_frame. */
#include "binary/symbols.h"
#include "binary/symbols_inside.h"

#if LULL_HAVE_LIBDW

#include <dwarf.h>
#include <stdlib.h>

/* Numbers of registers in DWARF. */
struct unwind_registers {
    unsigned machine, frame, stack;
};

static const struct unwind_registers *registers_of(unsigned machine)
{
    static const struct unwind_registers known[] = {{EM_X86_64, 6, 7}, {EM_AARCH64, 29, 31}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine)
            return &known[i];
    return NULL;
}

/* Whether an operation is a register and a number, and which. */
static bool is_register_and(const Dwarf_Op *op, uint64_t *ret_register, int64_t *ret_number)
{
    if (op->atom == DW_OP_bregx) {
        *ret_register = op->number;
        *ret_number = (int64_t)op->number2;
        return true;
    }
    *ret_register = (uint64_t)op->atom - DW_OP_breg0;
    *ret_number = (int64_t)op->number;
    return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

/* Whether it is what linkers say of stubs that call other files on x86-64, which push a number: the address is 8
 * bytes further from the last bytes of a stub on. *ret_address gets it, of code at `offset`. */
static bool is_frame_of_stub(const Dwarf_Op *ops, size_t n, uint64_t offset, int64_t *ret_address)
{
    enum { INSTRUCTION_POINTER = 16 };
    static const uint8_t rest[] = {DW_OP_lit15, DW_OP_and, 0,         DW_OP_ge,
                                   DW_OP_lit3,  DW_OP_shl, DW_OP_plus};
    enum { FIRST = 2, SIZE = 4 }; /* SIZE: the operation that says how many bytes come before */
    uint64_t base;
    int64_t at;
    if (n != FIRST + sizeof rest || !is_register_and(&ops[1], &base, &at) ||
        base != INSTRUCTION_POINTER || at != 0 || ops[SIZE].atom < DW_OP_lit0 ||
        ops[SIZE].atom > DW_OP_lit31)
        return false;
    for (size_t i = 0; i < sizeof rest; i++)
        if (i + FIRST != SIZE && ops[i + FIRST].atom != rest[i])
            return false;
    *ret_address += (offset & 15) >= (uint64_t)ops[SIZE].atom - DW_OP_lit0 ? 8 : 0;
    return true;
}

static void read_frame_address(Dwarf_Frame *frame, const struct unwind_registers *registers,
                               uint64_t offset, struct lull_unwind_rule *rule)
{
    Dwarf_Op *ops;
    size_t n;
    uint64_t base;
    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0 ||
        !is_register_and(&ops[0], &base, &rule->address))
        return;
    if (base == registers->stack && (n == 1 || is_frame_of_stub(ops, n, offset, &rule->address)))
        rule->how = LULL_UNWIND_FROM_STACK;
    else if (n == 1 && base == registers->frame)
        rule->how = LULL_UNWIND_FROM_REGISTER;
    else if (n == 2 && base == registers->frame && ops[1].atom == DW_OP_deref)
        rule->how = LULL_UNWIND_IN_MEMORY; /* gcc's, where it aligns the stack */
}

/* *ret_undefined: the value is told not to be there. */
static enum lull_unwind_saved read_saved_register(Dwarf_Frame *frame,
                                                  const struct unwind_registers *registers,
                                                  int number, int64_t *ret_at, bool *ret_undefined)
{
    Dwarf_Op memory[3], *ops;
    size_t n;
    uint64_t base;
    *ret_undefined = false;
    *ret_at = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &n) != 0)
        return LULL_UNWIND_LOST;
    if (n == 0) {
        *ret_undefined = ops != NULL;
        return ops ? LULL_UNWIND_LOST : LULL_UNWIND_SAME;
    }
    if (n <= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
        (n == 1 || ops[1].atom == DW_OP_plus_uconst)) {
        *ret_at = n == 2 ? (int64_t)ops[1].number : 0;
        return LULL_UNWIND_AT_ADDRESS;
    }
    return n == 1 && is_register_and(&ops[0], &base, ret_at) && base == registers->frame
               ? LULL_UNWIND_AT_REGISTER
               : LULL_UNWIND_LOST;
}

/* The row of a table for an address; NULL: there is none. */
static Dwarf_Frame *row_of_table(Dwarf_CFI *table, uint64_t address)
{
    Dwarf_Frame *frame;
    return table && dwarf_cfi_addrframe(table, address, &frame) == 0 ? frame : NULL;
}

static Dwarf_Frame *find_unwind_row(struct lull_symbols *symbols, uint64_t offset)
{
    const uint64_t address = offset + symbols->linked.bias;
    Dwarf_Addr bias = 0;
    Dwarf_CFI *table = dwfl_module_eh_cfi(symbols->linked.module, &bias);
    Dwarf_Frame *frame = row_of_table(table, address - bias);
    if (frame)
        return frame;
    table = dwfl_module_dwarf_cfi(symbols->linked.module,
                                  &bias); /* may open a file of debug information */
    return row_of_table(table, address - bias);
}

/* No frame is larger; tables may say anything. */
static bool is_near(int64_t bytes)
{
    return bytes > INT32_MIN && bytes < INT32_MAX;
}

struct lull_unwind_rule lull_symbols_unwind(struct lull_symbols *symbols, uint64_t offset)
{
    const struct unwind_registers *registers = registers_of(symbols->linked.machine);
    struct lull_unwind_rule rule = {.how = LULL_UNWIND_UNKNOWN};
    Dwarf_Frame *frame = registers ? find_unwind_row(symbols, offset) : NULL;
    bool outermost, ignored, signal;
    Dwarf_Addr begin, end;
    if (!frame)
        return rule;
    const int return_address = dwarf_frame_info(frame, &begin, &end, &signal);
    read_frame_address(frame, registers, offset, &rule);
    rule.saved_return =
        (uint8_t)read_saved_register(frame, registers, return_address, &rule.return_at, &outermost);
    rule.saved_frame = (uint8_t)read_saved_register(frame, registers, (int)registers->frame,
                                                    &rule.frame_at, &ignored);
    if (outermost)
        rule.how = LULL_UNWIND_OUTERMOST;
    else if (!is_near(rule.address) || !is_near(rule.return_at) || !is_near(rule.frame_at))
        rule.how = LULL_UNWIND_UNKNOWN;
    free(frame);
    return rule;
}

#else

struct lull_unwind_rule lull_symbols_unwind(struct lull_symbols *symbols, uint64_t offset)
{
    (void)symbols, (void)offset;
    return (struct lull_unwind_rule){.how = LULL_UNWIND_UNKNOWN};
}

#endif
