/* SPDX-License-Identifier: BSD-3-Clause */
/* Only lengths and jumps are needed, and these follow from few rules of each encoding. A
 * disassembler makes texts as well: capstone 4.0.2 reads 4.5 million instructions of libmpich a
 * second, this reader 66 million. */
#include "binary/instruction.h"

#include <elf.h>
#include <string.h>

static uint64_t little_endian(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* The number in the lowest `bits` of a value, which may be negative. */
static int64_t signed_field(uint64_t value, unsigned bits)
{
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    value &= (sign << 1) - 1;
    return (int64_t)((value ^ sign) - sign);
}

/* ---- x86-64 ---------------------------------------------------------------------------------- */

/* What follows an opcode. */
enum operands {
    M = 1,    /* a ModRM byte, perhaps with SIB byte and displacement */
    I1 = 2,   /* an immediate value of one byte */
    I2 = 4,   /* of two */
    IZ = 8,   /* of the operand's size, 4 bytes at most */
    IV = 16,  /* of the operand's size, 8 bytes at most */
    IA = 32,  /* an address */
    I4 = 64,  /* four bytes */
    BAD = 128 /* there is no such instruction */
};

/* clang-format off */
static const uint8_t one_byte[256] = {
    M,M,M,M,I1,IZ,BAD,BAD,           M,M,M,M,I1,IZ,BAD,BAD,
    M,M,M,M,I1,IZ,BAD,BAD,           M,M,M,M,I1,IZ,BAD,BAD,
    M,M,M,M,I1,IZ,BAD,BAD,           M,M,M,M,I1,IZ,BAD,BAD,
    M,M,M,M,I1,IZ,BAD,BAD,           M,M,M,M,I1,IZ,BAD,BAD,
    0,0,0,0,0,0,0,0,                 0,0,0,0,0,0,0,0,
    0,0,0,0,0,0,0,0,                 0,0,0,0,0,0,0,0,
    BAD,BAD,BAD,M,BAD,BAD,BAD,BAD,   IZ,M|IZ,I1,M|I1,0,0,0,0,
    I1,I1,I1,I1,I1,I1,I1,I1,         I1,I1,I1,I1,I1,I1,I1,I1,
    M|I1,M|IZ,BAD,M|I1,M,M,M,M,      M,M,M,M,M,M,M,M,
    0,0,0,0,0,0,0,0,                 0,0,BAD,0,0,0,0,0,
    IA,IA,IA,IA,0,0,0,0,             I1,IZ,0,0,0,0,0,0,
    I1,I1,I1,I1,I1,I1,I1,I1,         IV,IV,IV,IV,IV,IV,IV,IV,
    M|I1,M|I1,I2,0,BAD,BAD,M|I1,M|IZ,  I1|I2,0,I2,0,0,I1,BAD,0,
    M,M,M,M,BAD,BAD,BAD,0,           M,M,M,M,M,M,M,M,
    I1,I1,I1,I1,I1,I1,I1,I1,         I4,I4,BAD,I1,0,0,0,0,
    BAD,0,BAD,BAD,0,0,M,M,           0,0,0,0,0,0,M,M
};
static const uint8_t two_bytes[256] = { /* behind 0F; 38 and 3A begin further maps */
    M,M,M,M,BAD,0,0,0,               0,0,BAD,0,BAD,M,0,M|I1,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    M,M,M,M,BAD,BAD,BAD,BAD,         M,M,M,M,M,M,M,M,
    0,0,0,0,0,0,BAD,0,               BAD,BAD,BAD,BAD,BAD,BAD,BAD,BAD,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    M|I1,M|I1,M|I1,M|I1,M,M,M,0,     M,M,M,M,M,M,M,M,
    I4,I4,I4,I4,I4,I4,I4,I4,         I4,I4,I4,I4,I4,I4,I4,I4,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    0,0,0,M,M|I1,M,M,M,              0,0,0,M,M|I1,M,M,M,
    M,M,M,M,M,M,M,M,                 M,M,M|I1,M,M,M,M,M,
    M,M,M|I1,M,M|I1,M|I1,M|I1,M,     0,0,0,0,0,0,0,0,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M,
    M,M,M,M,M,M,M,M,                 M,M,M,M,M,M,M,M
};
/* clang-format on */

enum { LONGEST_X86 = 15 }; /* bytes of an instruction, by the manual */

/* An instruction of x86-64 that is being read. */
struct x86 {
    const uint8_t *code;
    unsigned size, at; /* bytes at hand, bytes read */
    bool operand_16, address_32, repeat_ne;
    uint8_t rex;
    unsigned map; /* 0: one byte, 1: behind 0F, 2: 0F 38, 3: 0F 3A; else that of VEX, EVEX or XOP */
    bool extended; /* the opcode is behind VEX, EVEX or XOP */
    uint8_t opcode, modrm, sib;
    int32_t displacement;
};

static bool next_byte(struct x86 *x, uint8_t *ret_byte)
{
    if (x->at >= x->size)
        return false;
    *ret_byte = x->code[x->at++];
    return true;
}

static bool read_prefixes(struct x86 *x, uint8_t *ret_first)
{
    for (;;) {
        if (!next_byte(x, ret_first))
            return false;
        switch (*ret_first) {
        case 0x66:
            x->operand_16 = true;
            break;
        case 0x67:
            x->address_32 = true;
            break;
        case 0xf2:
            x->repeat_ne = true;
            break;
        case 0xf3:
        case 0xf0:
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
            break;
        default:
            if (*ret_first >> 4 != 4)
                return true;
            x->rex = *ret_first; /* counts only right before the opcode */
            continue;
        }
        x->rex = 0;
    }
}

/* Reads the bytes of VEX (C4, C5), EVEX (62) or XOP (8F), which name the map of the opcode. */
static bool read_vector_prefix(struct x86 *x, uint8_t first)
{
    uint8_t byte = 0, last = 0;
    const unsigned more = first == 0x62 ? 3 : first == 0xc5 ? 1 : 2;
    for (unsigned i = 0; i < more; i++)
        if (!next_byte(x, i == 0 ? &byte : &last))
            return false;
    x->extended = true;
    x->map = first == 0xc5 ? 1 : first == 0x62 ? byte & 7 : byte & 31;
    return next_byte(x, &x->opcode);
}

static bool read_opcode(struct x86 *x)
{
    uint8_t first;
    if (!read_prefixes(x, &first))
        return false;
    if (first == 0xc4 || first == 0xc5 || first == 0x62 ||
        (first == 0x8f && x->at < x->size && (x->code[x->at] & 31) >= 8))
        return read_vector_prefix(x, first);
    x->opcode = first;
    if (first != 0x0f)
        return true;
    if (!next_byte(x, &x->opcode))
        return false;
    x->map = x->opcode == 0x38 ? 2 : x->opcode == 0x3a ? 3 : 1;
    return x->map == 1 || next_byte(x, &x->opcode);
}

static unsigned operands_of(const struct x86 *x)
{
    if (x->extended && x->map >= 8) /* XOP */
        return M | (x->map == 8 ? I1 : x->map == 10 ? I4 : 0);
    switch (x->map) {
    case 0:
        return x->extended ? BAD : one_byte[x->opcode];
    case 1:
        /* extrq and insertq of SSE4a have two bytes. */
        if (!x->extended && x->opcode == 0x78 && (x->operand_16 || x->repeat_ne))
            return M | I2;
        return x->extended && x->opcode != 0x77 ? two_bytes[x->opcode] | M : two_bytes[x->opcode];
    case 3:
        return M | I1;
    case 4: /* instructions of one byte, promoted by APX */
        return one_byte[x->opcode] | M;
    case 7:
        return M | I4;
    default:
        return M;
    }
}

static bool read_modrm(struct x86 *x)
{
    if (!next_byte(x, &x->modrm))
        return false;
    const unsigned mod = x->modrm >> 6, rm = x->modrm & 7;
    if (mod == 3 || (!x->extended && x->map == 1 && x->opcode >= 0x20 && x->opcode <= 0x23))
        return true; /* moves of control registers have no memory operand */
    if (rm == 4 && !next_byte(x, &x->sib))
        return false;
    const bool no_base = mod == 0 && (rm == 5 || (rm == 4 && (x->sib & 7) == 5));
    const unsigned size = mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0;
    if (x->size - x->at < size)
        return false;
    if (size > 0)
        x->displacement = (int32_t)signed_field(little_endian(x->code + x->at, size), 8 * size);
    x->at += size;
    return true;
}

static unsigned size_of_immediate(const struct x86 *x, unsigned operands)
{
    const bool wide = x->rex & 8;
    const unsigned usual = x->operand_16 && !wide ? 2 : 4;
    unsigned size = 0;
    if (!x->extended && x->map == 0 && (x->opcode == 0xf6 || x->opcode == 0xf7) &&
        (x->modrm >> 3 & 7) < 2) /* test; the others of this opcode have none */
        size += x->opcode == 0xf6 ? 1 : usual;
    size += operands & I1 ? 1 : 0;
    size += operands & I2 ? 2 : 0;
    size += operands & I4 ? 4 : 0;
    size += operands & IZ ? usual : 0;
    size += operands & IV ? (wide ? 8 : usual) : 0;
    size += operands & IA ? (x->address_32 ? 4 : 8) : 0;
    return size;
}

/* Classifies a whole instruction that ends at `next`; its immediate value is at `immediate`. */
static void classify_x86(const struct x86 *x, const uint8_t *immediate, uint64_t next,
                         struct lull_instruction *is)
{
    const unsigned op = x->opcode, reg = x->modrm >> 3 & 7, mod = x->modrm >> 6;
    const bool relative = mod == 0 && (x->modrm & 7) == 5; /* to the next instruction */
    if (x->extended || x->map > 1)
        return;
    if (x->map == 1) {
        if (op >= 0x80 && op <= 0x8f) {
            is->kind = LULL_INSTRUCTION_BRANCH;
            is->target = next + (uint64_t)signed_field(little_endian(immediate, 4), 32);
        } else if (op == 0x0b || op == 0xb9 || op == 0xff) { /* undefined on purpose */
            is->kind = LULL_INSTRUCTION_END;
        }
        return;
    }
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3) || op == 0xeb) {
        is->kind = op == 0xeb ? LULL_INSTRUCTION_JUMP : LULL_INSTRUCTION_BRANCH;
        is->target = next + (uint64_t)signed_field(immediate[0], 8);
    } else if (op == 0xe9 || (op == 0xc7 && x->modrm == 0xf8)) { /* the second is xbegin */
        is->kind = op == 0xe9 ? LULL_INSTRUCTION_JUMP : LULL_INSTRUCTION_BRANCH;
        is->target = next + (uint64_t)signed_field(little_endian(immediate, 4), 32);
    } else if (op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb || op == 0xcf || op == 0xf4) {
        is->kind = LULL_INSTRUCTION_END;
    } else if (op == 0xe8) {
        is->kind = LULL_INSTRUCTION_CALL;
        is->target = next + (uint64_t)signed_field(little_endian(immediate, 4), 32);
    } else if (op == 0xff && reg >= 2 && reg <= 5) {
        is->kind = reg < 4 ? LULL_INSTRUCTION_CALL : LULL_INSTRUCTION_INDIRECT;
        const bool no_base = mod == 0 && (x->modrm & 7) == 4 && (x->sib & 7) == 5;
        is->by_field = mod != 3 && (x->modrm & 7) != 4 && !relative;
        if (relative)
            is->slot = next + (uint64_t)(int64_t)x->displacement;
        else if (no_base && reg >= 4)
            is->address = (uint64_t)(int64_t)x->displacement; /* a table of addresses */
    } else if (op == 0x8d && relative) {
        is->address = next + (uint64_t)(int64_t)x->displacement;
        is->reg = (int)(reg | (x->rex & 4 ? 8 : 0));
    } else if (op == 0x63 && mod == 0 && (x->modrm & 7) == 4 && x->sib >> 6 == 2) {
        is->table_reg = (x->sib & 7) | (x->rex & 1 ? 8 : 0);
    }
}

static bool read_x86_instruction(const uint8_t *code, size_t size, uint64_t address,
                                 struct lull_instruction *is)
{
    struct x86 x = {.code = code, .size = size < LONGEST_X86 ? (unsigned)size : LONGEST_X86};
    if (!read_opcode(&x))
        return false;
    const unsigned operands = operands_of(&x);
    if ((operands & BAD) || ((operands & M) && !read_modrm(&x)))
        return false;
    const unsigned immediate = size_of_immediate(&x, operands);
    if (x.size - x.at < immediate)
        return false;
    is->length = x.at + immediate;
    classify_x86(&x, code + x.at, address + is->length, is);
    return true;
}

/* ---- A64 ------------------------------------------------------------------------------------- */

static uint64_t distance(uint32_t word, unsigned lowest, unsigned bits)
{
    return (uint64_t)signed_field(word >> lowest, bits) * 4;
}

static bool read_a64_instruction(const uint8_t *code, size_t size, uint64_t address,
                                 struct lull_instruction *is)
{
    if (size < 4)
        return false;
    const uint32_t word = (uint32_t)little_endian(code, 4);
    is->length = 4;
    if ((word & 0xfc000000) == 0x14000000) { /* b */
        is->kind = LULL_INSTRUCTION_JUMP;
        is->target = address + distance(word, 0, 26);
    } else if ((word & 0xfc000000) == 0x94000000) { /* bl */
        is->kind = LULL_INSTRUCTION_CALL;
        is->target = address + distance(word, 0, 26);
    } else if ((word & 0xff000000) == 0x54000000 || /* b.CONDITION */
               (word & 0x7e000000) == 0x34000000) { /* cbz, cbnz */
        is->kind = LULL_INSTRUCTION_BRANCH;
        is->target = address + distance(word, 5, 19);
    } else if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
        is->kind = LULL_INSTRUCTION_BRANCH;
        is->target = address + distance(word, 5, 14);
    } else if ((word & 0xfe000000) == 0xd6000000) { /* branches to registers */
        const unsigned kind = word >> 21 & 15;
        if (kind == 2 || kind == 4) /* ret, eret */
            is->kind = LULL_INSTRUCTION_END;
        else if (kind == 0 || kind == 8) /* br, braa */
            is->kind = LULL_INSTRUCTION_INDIRECT;
        else if (kind == 1 || kind == 9) /* blr, blraa */
            is->kind = LULL_INSTRUCTION_CALL;
    } else if (word >> 16 == 0 || (word & 0xffe0001f) == 0xd4200000) { /* udf, brk */
        is->kind = LULL_INSTRUCTION_END;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- */

bool lull_instruction_known(unsigned machine)
{
    return machine == EM_X86_64 || machine == EM_AARCH64;
}

bool lull_instruction_read(unsigned machine, const uint8_t *code, size_t size, uint64_t address,
                           struct lull_instruction *ret_instruction)
{
    struct lull_instruction is = {.kind = LULL_INSTRUCTION_PLAIN, .table_reg = -1};
    const bool good = machine == EM_X86_64    ? read_x86_instruction(code, size, address, &is)
                      : machine == EM_AARCH64 ? read_a64_instruction(code, size, address, &is)
                                              : false;
    if (good)
        *ret_instruction = is;
    return good;
}

/* "adrp x16, PAGE" and "ldr x17, [x16, OFFSET]" */
static uint64_t slot_of_a64(const uint8_t *code, size_t size, uint64_t address)
{
    if (size < 8)
        return 0;
    const uint32_t page = (uint32_t)little_endian(code, 4);
    const uint32_t load = (uint32_t)little_endian(code + 4, 4);
    if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return 0;
    const uint64_t pages = (page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
    return (address & ~UINT64_C(4095)) + (uint64_t)signed_field(pages, 21) * 4096 +
           (load >> 10 & 4095) * 8;
}

uint64_t lull_instruction_stub(unsigned machine, const uint8_t *code, size_t size, uint64_t address)
{
    struct lull_instruction is;
    if (machine == EM_AARCH64 && size >= 4 && little_endian(code, 4) == 0xd503245f) /* bti c */
        return slot_of_a64(code + 4, size - 4, address + 4);
    if (machine == EM_AARCH64)
        return slot_of_a64(code, size, address);
    for (unsigned i = 0; i < 2; i++) { /* "endbr64" may be before the jump */
        if (!lull_instruction_read(machine, code, size, address, &is))
            return 0;
        if (is.kind == LULL_INSTRUCTION_INDIRECT)
            return is.slot;
        code += is.length;
        size -= is.length;
        address += is.length;
    }
    return 0;
}
