/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops of the source, from those of the machine code (binary/code_loops.h) and the line table. */
#include "binary/symbols.h"
#include "binary/symbols_inside.h"

#if LULL_HAVE_LIBDW

#include "base/mix.h"
#include "base/sorted.h"
#include "binary/instruction.h"

#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A loop of the machine code, while its lines are collected. */
struct loop_lines {
    uint32_t
        frame; /* the innermost one that has all of it; LULL_SYMBOLS_NONE: nothing of it has a line yet */
    const char *file;
    uint32_t first, last;
    bool is_definition; /* its rows have no lines but those of definitions */
    int rank;           /* of the line `first` (rank_of_line) */
    uint32_t group;
};

/* Loops of the source: those of the machine code with the same key are one. */
struct loop_key {
    uint64_t path; /* of calls that were inlined, and the function */
    const char *file;
    uint64_t first;
    uint64_t level; /* how many of the loops around it begin at the same line */
};

struct loop_group {
    uint32_t last, depth, copies;
};

static uint32_t common_frame(const struct frames *frames, uint32_t a, uint32_t b)
{
    while (a != b) /* an outer frame has a lower number */
        if (a > b)
            a = frames->all[a].outer;
        else
            b = frames->all[b].outer;
    return a;
}

/* The frame below `frame` that `inner` is in; `frame` itself if `inner` is that; LULL_SYMBOLS_NONE: it is in none. */
static uint32_t frame_below(const struct frames *frames, uint32_t frame, uint32_t inner)
{
    while (inner != frame && inner != LULL_SYMBOLS_NONE && frames->all[inner].outer != frame)
        inner = frames->all[inner].outer;
    return inner;
}

/* The block of the last function that holds an offset; NULL: none. */
static const struct lull_code_block *find_block(const struct lull_symbols *symbols, uint64_t offset)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    const size_t behind =
        lull_sorted_first_u64(code->blocks, code->n_blocks, sizeof *code->blocks,
                              offsetof(struct lull_code_block, begin), offset + 1);
    return behind > 0 && offset < code->blocks[behind - 1].end ? &code->blocks[behind - 1] : NULL;
}

/* A row of the line table in a loop. */
struct row {
    Dwarf_Line *line;
    bool empty; /* another row has the same address: no code belongs to this one */
    uint32_t frame, loop;
    uint64_t address;
};
typedef void row_visit(struct lull_symbols *symbols, struct row row, struct loop_lines *lines);

/* Visits the rows of the line table in the blocks of loops. */
static void visit_rows(struct lull_symbols *symbols, Dwarf_Die *unit, row_visit *visit,
                       struct loop_lines *lines)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    const uint64_t shift = symbols->linked.bias - symbols->dwarf_bias;
    Dwarf_Lines *rows;
    size_t count;
    if (dwarf_getsrclines(unit, &rows, &count) != 0)
        return;
    for (uint32_t i = 0; i < code->n_blocks; i++) {
        const struct lull_code_block *block = &code->blocks[i];
        const uint64_t begin = block->begin + shift, end = block->end + shift;
        if (block->loop == LULL_SYMBOLS_NONE)
            continue;
        struct lull_bisection at = {.end = count}; /* rows before the block */
        while (lull_bisect(&at)) {
            Dwarf_Addr of_row = 0;
            (void)dwarf_lineaddr(dwarf_onesrcline(rows, at.middle), &of_row);
            at.in_front = of_row < begin;
        }
        Dwarf_Addr address = 0, next = 0;
        for (size_t k = at.begin > 0 ? at.begin - 1 : 0; k < count; k++, address = next) {
            Dwarf_Line *row = dwarf_onesrcline(rows, k);
            bool ends = false;
            next = UINT64_MAX;
            (void)dwarf_lineaddr(row, &address);
            if (k + 1 < count)
                (void)dwarf_lineaddr(dwarf_onesrcline(rows, k + 1), &next);
            (void)dwarf_lineendsequence(row, &ends);
            if (address >= end)
                break;
            const bool empty = next == address;
            if (ends || (empty ? address < begin : next <= begin))
                continue;
            const uint64_t from = address < begin ? begin : address;
            const uint32_t frame = lull_symbols_frame_at(&symbols->frames, from);
            if (frame != LULL_SYMBOLS_NONE)
                visit(symbols, (struct row){row, empty, frame, block->loop, from - shift}, lines);
        }
    }
}

/* Whether a row has the line in which the function of its frame is defined. gcc 14 gives that line to
 * code that it made for a Fortran program's inlined loops. Such rows do not tell where a loop stands,
 * unless the loop has no others: its function is written in one line. */
static bool is_definition(const struct lull_symbols *symbols, uint32_t frame, uint32_t line)
{
    return symbols->frames.all[frame].line == line;
}

static void join_frame(struct lull_symbols *symbols, struct row row, struct loop_lines *loop)
{
    loop->frame = loop->frame == LULL_SYMBOLS_NONE
                      ? row.frame
                      : common_frame(&symbols->frames, loop->frame, row.frame);
}

static void join_frames(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    uint32_t line;
    if (row.empty || !lull_symbols_row_file(row.line, &line) ||
        is_definition(symbols, row.frame, line))
        return;
    for (uint32_t i = row.loop; i != LULL_SYMBOLS_NONE; i = symbols->loops.code.loops[i].outer)
        join_frame(symbols, row, &lines[i]);
}

/* Of loops all of whose rows have the lines of definitions. */
static void join_definitions(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    uint32_t line;
    if (row.empty || !lull_symbols_row_file(row.line, &line))
        return;
    for (uint32_t i = row.loop; i != LULL_SYMBOLS_NONE; i = symbols->loops.code.loops[i].outer)
        if (lines[i].is_definition)
            join_frame(symbols, row, &lines[i]);
}

/* The frame in a loop's frame that a row is of, or the loop's frame itself. LULL_SYMBOLS_NONE: the row is of neither. */
static uint32_t frame_in_loop(const struct lull_symbols *symbols, struct row row,
                              const struct loop_lines *loop)
{
    return loop->frame == LULL_SYMBOLS_NONE ? LULL_SYMBOLS_NONE
                                            : frame_below(&symbols->frames, loop->frame, row.frame);
}

/* The line that a row has in the source of a loop: its own, or that of the call by which its function
 * was inlined there. 0: it has none in the loop's file. */
static uint32_t line_in_loop(struct lull_symbols *symbols, struct row row, struct loop_lines *loop)
{
    const uint32_t below = frame_in_loop(symbols, row, loop);
    uint32_t line = 0;
    const char *file =
        below == LULL_SYMBOLS_NONE ? NULL
        : below == loop->frame
            ? lull_symbols_row_file(row.line, &line)
            : lull_symbols_call_file(&symbols->body, &symbols->frames.all[below].die, &line);
    if (!file)
        return 0;
    if (!loop->file)
        loop->file = file;
    return strcmp(loop->file, file) == 0 ? line : 0;
}

struct loop_line {
    uint32_t loop, line;
};

/* Whether the compiler marks as begins of statements only code that was not moved: gcc. LLVM gives code
 * that it moves no line, and marks only the first instruction of each statement. */
static bool tells_moved_code(Dwarf_Die *unit)
{
    const char *producer = lull_symbols_text(unit, DW_AT_producer);
    return producer && strncmp(producer, "GNU ", 4) == 0;
}

/* Notes the lines of which a statement begins in a loop. */
static void note_statements(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    bool begins = false;
    if (dwarf_linebeginstatement(row.line, &begins) != 0 || !begins)
        return;
    for (uint32_t i = row.loop; i != LULL_SYMBOLS_NONE; i = symbols->loops.code.loops[i].outer) {
        const struct loop_line key = {i, line_in_loop(symbols, row, &lines[i])};
        if (key.line > 0)
            (void)lull_hash_add(&symbols->loops.statements, &key, sizeof key, 0, NULL);
    }
}

/* Whether the code of a frame begins in a loop. */
static bool begins_in_loop(const struct lull_symbols *symbols, uint32_t frame, uint32_t loop)
{
    const struct lull_code_block *block = find_block(
        symbols, symbols->frames.all[frame].begin - symbols->linked.bias + symbols->dwarf_bias);
    uint32_t at = block ? block->loop : LULL_SYMBOLS_NONE;
    while (at != loop && at != LULL_SYMBOLS_NONE)
        at = symbols->loops.code.loops[at].outer;
    return at != LULL_SYMBOLS_NONE;
}

/* How well the line `key` of a row says where a loop begins. Compilers move code from before a loop into
 * it. gcc tells so: no statement of its line begins there. LLVM does not, but where the code was inlined,
 * its function begins before the loop. */
static int rank_of_line(const struct lull_symbols *symbols, struct row row,
                        const struct loop_lines *loop, struct loop_line key)
{
    const uint32_t below = frame_in_loop(symbols, row, loop);
    if (below == loop->frame ? is_definition(symbols, below, key.line)
                             : !begins_in_loop(symbols, below, key.loop))
        return 0;
    return lull_hash_find(&symbols->loops.statements, &key, sizeof key) ? 2 : 1;
}

static void join_lines(struct lull_symbols *symbols, struct row row, struct loop_lines *lines)
{
    if (row.empty)
        return;
    for (uint32_t i = row.loop; i != LULL_SYMBOLS_NONE; i = symbols->loops.code.loops[i].outer) {
        struct loop_lines *own = &lines[i];
        const struct loop_line key = {i, line_in_loop(symbols, row, own)};
        if (key.line == 0)
            continue;
        const int rank = rank_of_line(symbols, row, own, key);
        if (own->first == 0 || rank > own->rank || (rank == own->rank && key.line < own->first)) {
            own->first = key.line;
            own->rank = rank;
        }
        own->last = key.line > own->last ? key.line : own->last;
    }
}

/* A number for the calls that a frame was inlined by. */
static uint64_t path_of_frame(struct lull_symbols *symbols, uint32_t frame)
{
    uint64_t path = 0;
    for (; frame != LULL_SYMBOLS_NONE; frame = symbols->frames.all[frame].outer) {
        Dwarf_Die *die = &symbols->frames.all[frame].die, origin;
        Dwarf_Attribute attribute;
        const bool has = dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
                         dwarf_formref_die(&attribute, &origin);
        path = lull_scatter(path ^ (uint64_t)(uintptr_t)(has ? origin.addr : die->addr));
        path = lull_scatter(path + lull_symbols_number(die, DW_AT_call_line));
    }
    return path;
}

/* Finds which loops of the machine code are one loop of the source. */
static bool group_loops(struct lull_symbols *symbols, struct loop_lines *lines,
                        struct loop_group *groups)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    struct lull_hash table = {0};
    bool good = true;
    for (uint32_t i = 0; i < code->n_loops && good; i++) {
        if (lines[i].first == 0)
            continue;
        struct loop_key key = {.path = path_of_frame(symbols, lines[i].frame),
                               .file = lines[i].file,
                               .first = lines[i].first};
        for (uint32_t outer = code->loops[i].outer; outer != LULL_SYMBOLS_NONE;
             outer = code->loops[outer].outer)
            key.level += lines[outer].first == lines[i].first && lines[outer].file == lines[i].file;
        const uint64_t *group = lull_hash_add(&table, &key, sizeof key, table.count, NULL);
        good = group != NULL;
        if (!good)
            break;
        lines[i].group = (uint32_t)*group;
        groups[*group].copies++;
        if (groups[*group].depth < code->loops[i].depth) /* one around it may be unrolled wholly */
            groups[*group].depth = code->loops[i].depth;
        if (groups[*group].last < lines[i].last)
            groups[*group].last = lines[i].last;
    }
    lull_hash_free(&table);
    return good;
}

/* Gives each loop of the machine code its lines. */
static bool find_lines_of_loops(struct lull_symbols *symbols, struct lull_arena *arena)
{
    const struct lull_code_loops *code = &symbols->loops.code;
    struct loop_lines *lines = lull_arena_try(symbols->loops.arena, code->n_loops, sizeof *lines);
    struct loop_group *groups = lull_arena_try(symbols->loops.arena, code->n_loops, sizeof *groups);
    symbols->loops.of =
        lull_arena_try(symbols->loops.arena, code->n_loops, sizeof *symbols->loops.of);
    if (!lines || !groups || !symbols->loops.of)
        return false;
    for (uint32_t i = 0; i < code->n_loops; i++)
        lines[i].frame = lines[i].group = LULL_SYMBOLS_NONE;
    Dwarf_Die unit;
    const bool known = symbols->frames.die != 0 && symbols->frames.count > 0 &&
                       dwarf_offdie(symbols->dwarf, symbols->unit, &unit);
    if (known) {
        visit_rows(symbols, &unit, join_frames, lines);
        for (uint32_t i = 0; i < code->n_loops; i++)
            lines[i].is_definition = lines[i].frame == LULL_SYMBOLS_NONE;
        visit_rows(symbols, &unit, join_definitions, lines);
        for (uint32_t i = 0; i < code->n_loops; i++)
            if (lines[i].frame != LULL_SYMBOLS_NONE)
                lines[i].file =
                    lull_symbols_definition_file(&symbols->frames.all[lines[i].frame].die);
        if (tells_moved_code(&symbols->body))
            visit_rows(symbols, &unit, note_statements, lines);
        visit_rows(symbols, &unit, join_lines, lines);
        lull_hash_free(&symbols->loops.statements);
        if (!group_loops(symbols, lines, groups))
            return false;
    }
    for (uint32_t i = 0; i < code->n_loops; i++) {
        const struct lull_code_loop *is = &code->loops[i];
        struct lull_loop *loop = lull_arena_zero(arena, 1, sizeof *loop);
        *loop = (struct lull_loop){
            .function = "", .file = "", .depth = is->depth, .copies = 1, .head = is->head};
        loop->outer = is->outer == LULL_SYMBOLS_NONE ? NULL : symbols->loops.of[is->outer];
        symbols->loops.of[i] = loop;
        if (lines[i].group == LULL_SYMBOLS_NONE)
            continue;
        loop->function =
            lull_symbols_names_of(symbols, &symbols->frames.all[lines[i].frame].die, arena)
                .function;
        loop->file = lull_symbols_keep_text(symbols, lines[i].file, arena);
        loop->first = lines[i].first;
        loop->last = groups[lines[i].group].last;
        loop->depth = groups[lines[i].group].depth;
        loop->copies = groups[lines[i].group].copies;
    }
    return true;
}

static const uint8_t *constant_data(void *context, uint64_t address, size_t size)
{
    const struct lull_symbols *symbols = context;
    uint64_t left;
    return lull_linked_bytes(&symbols->linked, address, size, &left);
}

/* Whether a function never returns, by its name. */
static bool never_returns(void *context, uint64_t target, uint64_t slot)
{
    static const char *const names[] = {"abort",
                                        "exit",
                                        "_exit",
                                        "_Exit",
                                        "quick_exit",
                                        "longjmp",
                                        "siglongjmp",
                                        "__longjmp_chk",
                                        "__assert_fail",
                                        "__assert_perror_fail",
                                        "__stack_chk_fail",
                                        "__chk_fail",
                                        "__fortify_fail",
                                        "__cxa_throw",
                                        "__cxa_rethrow",
                                        "__cxa_bad_cast",
                                        "__cxa_bad_typeid",
                                        "__cxa_call_unexpected",
                                        "__cxa_throw_bad_array_new_length",
                                        "__cxa_pure_virtual",
                                        "_Unwind_Resume",
                                        "__clang_call_terminate",
                                        "_ZSt9terminatev",
                                        "_gfortran_stop_numeric",
                                        "_gfortran_stop_string",
                                        "_gfortran_error_stop_numeric",
                                        "_gfortran_error_stop_string",
                                        "_gfortran_runtime_error",
                                        "_gfortran_runtime_error_at",
                                        "_gfortran_os_error",
                                        "_gfortran_os_error_at",
                                        "pthread_exit",
                                        "MPI_Abort"};
    static const char thrown[] = "_ZSt"; /* std::__throw_out_of_range and the like */
    struct lull_symbols *symbols = context;
    const struct lull_linked_function *linked =
        target ? lull_linked_find(&symbols->linked, target) : NULL;
    const char *name = slot ? lull_linked_slot(&symbols->linked, slot)
                       : linked && linked->begin == target ? linked->name
                       : linked                            ? NULL
                                : lull_linked_stub(&symbols->linked, target);
    if (!name)
        return false;
    if (strncmp(name, thrown, sizeof thrown - 1) == 0 && strstr(name, "__throw_"))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int by_part(const void *a, const void *b)
{
    const struct lull_code_range *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void add_part(struct lull_symbols *symbols, struct lull_code_range *parts, size_t *count,
                     uint64_t begin, uint64_t end)
{
    uint64_t left;
    const uint8_t *bytes =
        begin < end ? lull_linked_bytes(&symbols->linked, begin, 1, &left) : NULL;
    if (bytes)
        parts[(*count)++] =
            (struct lull_code_range){bytes, begin, end - begin < left ? end - begin : left};
}

/* Lists the parts of the function at an offset; 0: it is not known. */
static size_t list_parts(struct lull_symbols *symbols, uint64_t offset, bool in_dwarf,
                         struct lull_function_code *code)
{
    const struct frames *frames = &symbols->frames;
    const uint64_t shift = symbols->linked.bias - symbols->dwarf_bias;
    const struct lull_linked_function *linked =
        in_dwarf ? NULL : lull_linked_find(&symbols->linked, offset);
    struct lull_code_range *parts =
        lull_arena_try(symbols->loops.arena, in_dwarf ? frames->n_ranges + 1 : 1, sizeof *parts);
    size_t count = 0, kept = 0;
    if (!parts || (!in_dwarf && !linked))
        return 0;
    for (size_t i = 0; in_dwarf && i < frames->n_ranges && frames->ranges[i].frame == 0; i++)
        add_part(symbols, parts, &count, frames->ranges[i].begin - shift,
                 frames->ranges[i].end - shift);
    if (linked)
        add_part(symbols, parts, &count, linked->begin, linked->end);
    if (count == 0)
        return 0;
    /* The first range is where the function begins, unless the die says otherwise. */
    Dwarf_Addr entry = parts[0].address + shift;
    if (in_dwarf)
        (void)dwarf_entrypc(&symbols->frames.all[0].die, &entry);
    qsort(parts, count, sizeof *parts, by_part);
    for (size_t i = 0; i < count; i++) /* in a damaged file ranges may overlap */
        if (kept == 0 || parts[i].address >= parts[kept - 1].address + parts[kept - 1].size)
            parts[kept++] = parts[i];
    code->entry = parts[0].address;
    for (size_t i = 0; i < kept; i++)
        if (entry - shift >= parts[i].address && entry - shift - parts[i].address < parts[i].size)
            code->entry = entry - shift;
    code->parts = parts;
    code->exceptions = in_dwarf ? symbols->exceptions : strncmp(linked->name, "_Z", 2) == 0;
    return kept;
}

/* Finds the loops of the function at an offset, unless they are known. */
static bool find_loops(struct lull_symbols *symbols, uint64_t offset, bool in_dwarf,
                       struct lull_arena *arena)
{
    struct loops *loops = &symbols->loops;
    lull_arena_destroy(loops->arena);
    *loops = (struct loops){.arena = lull_arena_create(NULL)};
    struct lull_function_code code = {.machine = symbols->linked.machine,
                                      .data = constant_data,
                                      .never_returns = never_returns,
                                      .context = symbols};
    code.n_parts = list_parts(symbols, offset, in_dwarf, &code);
    if (code.n_parts == 0 || !lull_code_loops_find(&code, loops->arena, &loops->code))
        return false;
    loops->function = code;
    if (loops->code.n_loops > 0 && !find_lines_of_loops(symbols, arena))
        loops->code.n_blocks = loops->code.n_loops = 0;
    return true;
}

const struct lull_loop *lull_symbols_loop(struct lull_symbols *symbols, uint64_t offset,
                                          struct lull_arena *arena)
{
    const struct lull_code_block *block = find_block(symbols, offset);
    if (!block) {
        const uint64_t address = offset + symbols->linked.bias - symbols->dwarf_bias;
        Dwarf_Die unit;
        const bool in_dwarf = symbols->dwarf && lull_symbols_find_unit(symbols, address, &unit) &&
                              lull_symbols_find_frame(symbols, address) != LULL_SYMBOLS_NONE;
        if (!find_loops(symbols, offset, in_dwarf, arena))
            return NULL;
        block = find_block(symbols, offset);
    }
    return block && block->loop != LULL_SYMBOLS_NONE ? symbols->loops.of[block->loop] : NULL;
}

static const uint8_t *code_at(const struct lull_function_code *function, uint64_t address)
{
    for (size_t i = 0; i < function->n_parts; i++)
        if (address - function->parts[i].address < function->parts[i].size)
            return function->parts[i].code + (address - function->parts[i].address);
    return NULL;
}

static unsigned count_calls(unsigned machine, const uint8_t *code, size_t size)
{
    struct lull_instruction is;
    unsigned count = 0;
    for (size_t at = 0; at < size && lull_instruction_read(machine, code + at, size - at, at, &is);
         at += is.length)
        count += is.kind == LULL_INSTRUCTION_CALL;
    return count;
}

bool lull_symbols_loop_code(struct lull_symbols *symbols, uint64_t offset, struct lull_arena *arena,
                            struct lull_loop_code *ret_code)
{
    const struct lull_loop *loop = lull_symbols_loop(symbols, offset, arena);
    const struct lull_function_code *function = &symbols->loops.function;
    const struct lull_code_loops *loops = &symbols->loops.code;
    struct lull_code_pass pass;
    if (!loop || function->machine != EM_X86_64 ||
        !lull_code_loops_pass(function, loops, find_block(symbols, offset)->loop,
                              symbols->loops.arena, &pass))
        return false;
    struct lull_loop_code code = {.head = loop->head, .n_others = pass.n_others};
    for (uint32_t i = 0; i < pass.n_blocks; i++)
        code.size += loops->blocks[pass.blocks[i]].end - loops->blocks[pass.blocks[i]].begin;
    uint8_t *bytes = lull_arena_zero(arena, code.size + 1, 1);
    code.code = bytes;
    for (uint32_t i = 0; i < pass.n_blocks; i++) {
        const struct lull_code_block *block = &loops->blocks[pass.blocks[i]];
        const uint8_t *from = code_at(function, block->begin);
        if (!from)
            return false;
        memcpy(bytes, from, block->end - block->begin);
        bytes += block->end - block->begin;
    }
    code.n_calls = count_calls(function->machine, code.code, code.size);
    *ret_code = code;
    return true;
}

#else

bool lull_symbols_loop_code(struct lull_symbols *symbols, uint64_t offset, struct lull_arena *arena,
                            struct lull_loop_code *ret_code)
{
    (void)symbols, (void)offset, (void)arena, (void)ret_code;
    return false;
}

const struct lull_loop *lull_symbols_loop(struct lull_symbols *symbols, uint64_t offset,
                                          struct lull_arena *arena)
{
    (void)symbols, (void)offset, (void)arena;
    return NULL;
}

#endif
