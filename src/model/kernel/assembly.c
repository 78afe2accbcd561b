/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop in the assembler code of x86 (AT&T syntax, as gcc and clang write it): its instructions,
 * what they move, and the chain of results from one pass to the next. */
#include "model/kernel/incore.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    const char **items;
    unsigned *source; /* the line of the source that each one comes from; 0: unknown */
    size_t count;
};

static struct lines split_function(const char *assembly, const char *function,
                                   struct lull_arena *arena)
{
    struct lines lines = {0};
    size_t capacity = 0;
    const char *label = lull_arena_printf(arena, "\n%s:", function);
    const char *at = strstr(assembly, label);
    const char *end = lull_arena_printf(arena, "\t.size\t%s,", function);
    for (at = at ? at + 1 : NULL; at && *at && strncmp(at, end, strlen(end)) != 0;) {
        size_t length = strcspn(at, "\n#"), whole = strcspn(at, "\n");
        const char *first = at;
        while (length > 0 && isspace((unsigned char)*first)) {
            first++;
            length--;
        }
        while (length > 0 && isspace((unsigned char)first[length - 1]))
            length--;
        lines.items =
            lull_arena_grow(arena, lines.items, &capacity, lines.count + 1, sizeof *lines.items);
        lines.items[lines.count++] = lull_arena_strndup(arena, first, length);
        at += whole + (at[whole] == '\n');
    }
    return lines;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a directive ".file NUMBER ... "NAME"" gives a number to a file. clang writes the folder
 * before the name, and a checksum behind it. */
static bool is_file(const char *assembly, unsigned number, const char *name,
                    struct lull_arena *arena)
{
    static const char directive[] = "\t.file";
    const char *ending = lull_arena_printf(arena, "%s\"", base_name(name));
    for (const char *at = strstr(assembly, directive); at; at = strstr(at + 1, directive)) {
        unsigned found;
        if (sscanf(at + strlen(directive), " %u", &found) != 1 || found != number)
            continue;
        const char *text = strstr(at, ending);
        if (text && text < at + strcspn(at, "\n") && (text[-1] == '"' || text[-1] == '/'))
            return true;
    }
    return false;
}

/* Finds the source line of each line, from the directives ".loc FILE LINE COLUMN". */
static void find_source(const char *assembly, const char *file, struct lines *lines,
                        struct lull_arena *arena)
{
    unsigned at = 0, number, announced, last = 0;
    bool counts = false;
    lines->source = lull_arena_zero(arena, lines->count + 1, sizeof *lines->source);
    for (size_t i = 0; i < lines->count; i++) {
        if (sscanf(lines->items[i], ".loc %u %u", &number, &announced) == 2) {
            counts = number == last ? counts : is_file(assembly, number, file, arena);
            last = number;
            at = counts ? announced : 0;
        }
        lines->source[i] = at;
    }
}

static bool stands_in(const struct lines *lines, size_t number, struct lull_source_lines from)
{
    return from.last == 0 ||
           (lines->source[number] >= from.first && lines->source[number] <= from.last);
}

static bool is_label(const char *line)
{
    size_t length = strlen(line);
    return length > 1 && line[length - 1] == ':';
}

static bool is_instruction(const char *line)
{
    return *line && *line != '.' && !is_label(line);
}

/* The index of the line that a jump goes to; -1: the line is no jump, or the jump leaves the
 * function. */
static ptrdiff_t jump_target(const struct lines *lines, size_t number)
{
    const char *line = lines->items[number];
    const char *target = line + strcspn(line, " \t");
    if (*line != 'j' || !*target)
        return -1;
    target += strspn(target, " \t");
    size_t length = strlen(target);
    for (size_t i = 0; i < lines->count; i++)
        if (is_label(lines->items[i]) && strlen(lines->items[i]) == length + 1 &&
            strncmp(lines->items[i], target, length) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* ---- instructions -------------------------------------------------------------------------- */

static unsigned widest_register(const char *text)
{
    return strstr(text, "%zmm") ? 512 : strstr(text, "%ymm") ? 256 : strstr(text, "%xmm") ? 128 : 0;
}

/* The bytes that an instruction with vector registers moves, by the end of its name. */
static unsigned data_bytes(const char *name, const char *text)
{
    size_t length = strcspn(name, " \t");
    unsigned bits = widest_register(text);
    if (strncmp(name, "vextractf", 9) == 0 || strncmp(name, "vextracti", 9) == 0)
        return strstr(name, "64x4") || strstr(name, "32x8") ? 32 : 16;
    if (strncmp(name, "vinsert", 7) == 0)
        return strstr(name, "64x4") || strstr(name, "32x8") ? 32 : 16;
    if (strncmp(name, "vbroadcast", 10) == 0)
        return 8;
    if (strstr(name, "movhp") == name || strstr(name, "movlp") == name ||
        strncmp(name, "vmovhp", 6) == 0 || strncmp(name, "vmovlp", 6) == 0)
        return 8;
    if (length >= 2 && strncmp(name + length - 2, "sd", 2) == 0)
        return 8;
    if (length >= 2 && strncmp(name + length - 2, "ss", 2) == 0)
        return 4;
    return bits / 8;
}

/* The bytes that an instruction with general registers moves, by the end of its name; 0: the name
 * does not say. */
static unsigned integer_bytes(const char *name)
{
    size_t length = strcspn(name, " \t");
    switch (length ? name[length - 1] : ' ') {
    case 'q':
        return 8;
    case 'l':
        return 4;
    case 'w':
        return 2;
    case 'b':
        return 1;
    default:
        return 0;
    }
}

static struct lull_assembly_instruction classify(const char *text)
{
    struct lull_assembly_instruction instruction = {.text = text,
                                                    .register_bits = widest_register(text)};
    size_t length = strcspn(text, " \t");
    const char *operands = text + length, *memory = strchr(operands, '(');
    instruction.floating = instruction.register_bits > 0;
    instruction.division = strncmp(text, "vdiv", 4) == 0 || strncmp(text, "div", 3) == 0 ||
                           strncmp(text, "vsqrt", 5) == 0 || strncmp(text, "sqrt", 4) == 0;
    instruction.arithmetic = instruction.floating && !instruction.division &&
                             strncmp(text, "mov", 3) != 0 && strncmp(text, "vmov", 4) != 0;
    if (!memory || strncmp(text, "lea", 3) == 0 || strncmp(text, "nop", 3) == 0 ||
        strncmp(text, "prefetch", 8) == 0)
        return instruction;
    const char *close = strchr(memory, ')');
    bool last = close && strchr(close, ',') == NULL;
    bool compares = strncmp(text, "cmp", 3) == 0 || strncmp(text, "test", 4) == 0;
    instruction.store = last && !compares;
    instruction.load = !instruction.store || (strncmp(text, "mov", 3) != 0 && *text != 'v');
    instruction.memory_bytes = instruction.floating ? data_bytes(text, text) : integer_bytes(text);
    return instruction;
}

/* ---- loops --------------------------------------------------------------------------------- */

/* Takes those of the lines `first` to `last` that are instructions from given lines of the
 * source. */
static struct lull_assembly_loop take_loop(const struct lines *lines, size_t first, size_t last,
                                           struct lull_source_lines from, struct lull_arena *arena)
{
    struct lull_assembly_loop loop = {
        .items = lull_arena_zero(arena, last - first + 1, sizeof *loop.items), .text = ""};
    for (size_t i = first; i <= last; i++) {
        const char *line = lines->items[i];
        if ((*line == '.' && !is_label(line)) || !stands_in(lines, i, from))
            continue; /* a directive */
        if (is_instruction(line) || i == first)
            loop.text = lull_arena_printf(arena, "%s%s%s\n", loop.text,
                                          is_instruction(line) ? "\t" : "", line);
        if (!is_instruction(line))
            continue;
        struct lull_assembly_instruction *instruction = &loop.items[loop.count++];
        *instruction = classify(line);
        loop.loaded += instruction->load ? instruction->memory_bytes : 0;
        loop.stored += instruction->store ? instruction->memory_bytes : 0;
    }
    return loop;
}

/* Whether most instructions of a loop come from given lines of the source. */
static bool comes_from(const struct lines *lines, size_t first, size_t last,
                       struct lull_source_lines from)
{
    size_t inside = 0, all = 0;
    for (size_t i = first; i <= last; i++) {
        all += is_instruction(lines->items[i]);
        inside += is_instruction(lines->items[i]) && stands_in(lines, i, from);
    }
    return 2 * inside > all;
}

static bool has_jump_back(const struct lines *lines, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        ptrdiff_t target = jump_target(lines, i);
        if (target >= (ptrdiff_t)first && target <= (ptrdiff_t)i)
            return true;
    }
    return false;
}

bool lull_assembly_find(const char *assembly, const char *function, struct lull_source_lines from,
                        struct lull_arena *arena, struct lull_assembly_loop *ret_loop)
{
    struct lines lines = split_function(assembly, function, arena);
    double most = 0;
    if (from.last)
        find_source(assembly, from.file, &lines, arena);
    for (size_t i = 0; i < lines.count; i++) {
        ptrdiff_t first = jump_target(&lines, i);
        if (first < 0 || first > (ptrdiff_t)i || has_jump_back(&lines, (size_t)first, i) ||
            !comes_from(&lines, (size_t)first, i, from))
            continue;
        struct lull_assembly_loop loop =
            take_loop(&lines, (size_t)first, i, (struct lull_source_lines){0}, arena);
        if (loop.loaded + loop.stored > most) {
            most = loop.loaded + loop.stored;
            *ret_loop = loop;
        }
    }
    return most > 0;
}

bool lull_assembly_find_unrolled(const char *assembly, const char *function,
                                 struct lull_source_lines from, struct lull_arena *arena,
                                 struct lull_assembly_loop *ret_loop)
{
    struct lines lines = split_function(assembly, function, arena);
    if (lines.count == 0)
        return false;
    if (from.last)
        find_source(assembly, from.file, &lines, arena);
    *ret_loop = take_loop(&lines, 0, lines.count - 1, from, arena);
    return ret_loop->loaded + ret_loop->stored > 0;
}

struct lull_assembly_loop lull_assembly_read(const char *text, struct lull_arena *arena)
{
    struct lines lines = {0};
    size_t capacity = 0;
    for (const char *at = text; *at;) {
        const size_t whole = strcspn(at, "\n");
        size_t length = strcspn(at, "\n#");
        const size_t spaces = strspn(at, " \t");
        for (; length > 0 && isspace((unsigned char)at[length - 1]); length--)
            ;
        if (length > spaces) {
            lines.items = lull_arena_grow(arena, lines.items, &capacity, lines.count + 1,
                                          sizeof *lines.items);
            lines.items[lines.count++] = lull_arena_strndup(arena, at + spaces, length - spaces);
        }
        at += whole + (at[whole] == '\n');
    }
    if (lines.count == 0)
        return (struct lull_assembly_loop){.text = ""};
    return take_loop(&lines, 0, lines.count - 1, (struct lull_source_lines){0}, arena);
}

bool lull_assembly_calculates(const struct lull_assembly_instruction *instruction,
                              unsigned *ret_bytes, unsigned *ret_bits)
{
    static const char *const kinds[] = {"add", "sub", "mul", "div", "sqrt", "max",  "min",
                                        "h",   "fm",  "fnm", "cmp", "comi", "ucomi"};
    const char *name = instruction->text + (*instruction->text == 'v');
    const size_t length = strcspn(name, " \t");
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= strncmp(name, kinds[i], strlen(kinds[i])) == 0;
    if (!known || !instruction->floating || length < 5)
        return false;
    const char kind = name[length - 2], type = name[length - 1];
    if ((kind != 's' && kind != 'p') || (type != 'd' && type != 's'))
        return false;
    *ret_bytes = type == 'd' ? 8 : 4;
    *ret_bits = kind == 'p' ? instruction->register_bits : 0;
    return true;
}

const char *lull_assembly_without_load(const struct lull_assembly_instruction *instruction,
                                       struct lull_arena *arena)
{
    const char *text = instruction->text, *open = strchr(text, '('), *close = strchr(text, ')');
    if (!instruction->load || instruction->store || !instruction->floating || !open || !close)
        return text;
    const char *begin = open;
    while (begin > text && !isspace((unsigned char)begin[-1]) && begin[-1] != ',')
        begin--; /* the displacement before the bracket belongs to it */
    bool narrow = strncmp(text, "vinsert", 7) == 0 || strncmp(text, "vbroadcast", 10) == 0 ||
                  strncmp(text, "vcvt", 4) == 0 || strncmp(text, "vpmov", 5) == 0;
    unsigned bits = narrow ? 128 : instruction->register_bits;
    /* Between registers a scalar move has three operands, because it keeps half of its target. */
    if (strncmp(text, "vmovsd", 6) == 0 || strncmp(text, "vmovss", 6) == 0)
        return lull_arena_printf(arena, "vmovaps\t%%xmm15%s", close + 1);
    return lull_arena_printf(arena, "%.*s%%%cmm15%s", (int)(begin - text), text,
                             bits == 512   ? 'z'
                             : bits == 256 ? 'y'
                                           : 'x',
                             close + 1);
}

/* ---- the loop-carried chain ---------------------------------------------------------------- */

enum { REGISTERS = 48 }; /* vector registers 0 to 31, then the general ones */

/* The number of a register in an operand; the parts of a register have one number. */
static int register_number(const char *name)
{
    static const char *const general[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
    if ((*name == 'x' || *name == 'y' || *name == 'z') && name[1] == 'm' && name[2] == 'm')
        return atoi(name + 3) & 31;
    if (*name == 'r' && isdigit((unsigned char)name[1]))
        return 32 + (atoi(name + 1) & 15);
    const char *rest = *name == 'r' || *name == 'e' ? name + 1 : name;
    for (int i = 0; i < 8; i++)
        if (strncmp(rest, general[i], 2) == 0)
            return 32 + i;
    return -1;
}

struct uses {
    int read[8], written;
    size_t n_read;
};

/* Finds which registers an instruction reads and writes. The last operand is written if it is a
 * register. It is also read, unless the instruction has three operands or only moves. */
static struct uses find_uses(const char *text)
{
    struct uses uses = {.written = -1};
    size_t length = strcspn(text, " \t");
    bool reads_target = *text != 'v'
                            ? strncmp(text, "mov", 3) != 0 && strncmp(text, "lea", 3) != 0 &&
                                  strncmp(text, "cvt", 3) != 0
                            : strncmp(text, "vfm", 3) == 0 || strncmp(text, "vfnm", 4) == 0;
    bool compares = strncmp(text, "cmp", 3) == 0 || strncmp(text, "test", 4) == 0 || *text == 'j';
    bool clears = strstr(text, "xor") != NULL;
    int last = -1;
    for (const char *at = strchr(text + length, '%'); at; at = strchr(at + 1, '%')) {
        int number = register_number(at + 1);
        const char *end = at + strcspn(at, ",)");
        if (number < 0)
            continue;
        if (*end == '\0' && !compares) {
            uses.written = number;
            if (reads_target && !(clears && last == number) && uses.n_read < 8)
                uses.read[uses.n_read++] = number;
            if (clears && last == number)
                uses.n_read = 0;
        } else if (uses.n_read < 8) {
            uses.read[uses.n_read++] = number;
        }
        last = number;
    }
    return uses;
}

/* When the register `start` is ready at the end of a pass, in cycles, if no other register was
 * there at its begin. */
static double pass_from(const struct lull_assembly_loop *loop, const struct uses *uses,
                        const double *latency, int start)
{
    double ready[REGISTERS];
    for (int r = 0; r < REGISTERS; r++)
        ready[r] = r == start ? 0 : -INFINITY;
    for (size_t i = 0; i < loop->count; i++) {
        double latest = -INFINITY;
        for (size_t k = 0; k < uses[i].n_read; k++)
            latest = fmax(latest, ready[uses[i].read[k]]);
        if (uses[i].written >= 0)
            ready[uses[i].written] = latest + latency[i];
    }
    return ready[start];
}

double lull_assembly_chain(const struct lull_assembly_loop *loop, const double *latency,
                           struct lull_arena *arena)
{
    struct uses *uses = lull_arena_zero(arena, loop->count + 1, sizeof *uses);
    double longest = 0;
    for (size_t i = 0; i < loop->count; i++)
        uses[i] = find_uses(loop->items[i].text);
    for (int r = 0; r < REGISTERS; r++)
        longest = fmax(longest, pass_from(loop, uses, latency, r));
    return longest;
}
