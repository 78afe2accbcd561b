/* Statements and expressions: what an iteration does. */
#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/parse/reader.h"

#include <string.h>

static lull_status read_all(struct lull_kernel_reader *reader, const struct lull_cursors *parts,
                            size_t first)
{
    lull_status status = LULL_OK;
    for (size_t i = first; status == LULL_OK && i < parts->count; i++)
        status = lull_reader_expression(reader, parts->items[i]);
    return status;
}

static void count_operation(struct lull_kernel_reader *reader, CXCursor cursor, char op)
{
    if (reader->loop == LULL_KERNEL_NONE ||
        !lull_reader_is_floating(reader, reader->clang->getCursorType(cursor)))
        return;
    struct lull_kernel_flops *flops = &reader->kernel->flops[reader->loop];
    flops->add += op == '+' || op == '-';
    flops->multiply += op == '*';
    flops->divide += op == '/';
}

/* Whether an expression reads a variable. */
static bool mentions(const struct lull_kernel_reader *reader, CXCursor cursor, CXCursor declaration)
{
    if (reader->clang->getCursorKind(cursor) == CXCursor_DeclRefExpr)
        return reader->clang->equalCursors(reader->clang->getCursorReferenced(cursor), declaration);
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    for (size_t i = 0; i < parts.count; i++)
        if (mentions(reader, parts.items[i], declaration))
            return true;
    return false;
}

/* `value` NULL: the variable itself is part of its new value, as with +=. */
static lull_status write_variable(struct lull_kernel_reader *reader, CXCursor cursor,
                                  const CXCursor *value)
{
    CXCursor declaration = reader->clang->getCursorReferenced(cursor);
    struct lull_name *name;
    lull_status status = lull_reader_declare(reader, declaration, &name);
    if (status != LULL_OK)
        return status;
    if (name->kind != LULL_NAME_SCALAR)
        return lull_reader_wrong(reader, cursor,
                                 "'%s', an integer or an array, is changed in the loop",
                                 lull_reader_spelling(reader, cursor));
    struct lull_kernel_scalar *scalar = &reader->kernel->scalars[name->number];
    scalar->written = true;
    if (!value || mentions(reader, *value, declaration))
        reader->kernel->reduces = true;
    return LULL_OK;
}

static lull_status write_to(struct lull_kernel_reader *reader, CXCursor target,
                            const CXCursor *value)
{
    target = lull_reader_strip(reader, target);
    if (reader->clang->getCursorKind(target) == CXCursor_DeclRefExpr)
        return write_variable(reader, target, value);
    return lull_reader_access(reader, target, true);
}

static lull_status read_assignment(struct lull_kernel_reader *reader, CXCursor cursor,
                                   bool compound)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op = lull_reader_operator(reader, cursor);
    if (parts.count != 2 || !*op)
        return lull_reader_wrong(reader, cursor, "this assignment lies within a macro");
    lull_status status = lull_reader_expression(reader, parts.items[1]);
    if (status == LULL_OK && compound) {
        status = lull_reader_expression(reader, parts.items[0]);
        count_operation(reader, cursor, *op);
    }
    return status == LULL_OK ? write_to(reader, parts.items[0], compound ? NULL : &parts.items[1])
                             : status;
}

static lull_status read_binary_expression(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op = lull_reader_operator(reader, cursor);
    if (!*op)
        return lull_reader_wrong(reader, cursor, "the operator lies within a macro");
    if (strcmp(op, "=") == 0)
        return read_assignment(reader, cursor, false);
    count_operation(reader, cursor, op[1] ? ' ' : *op);
    return read_all(reader, &parts, 0);
}

static lull_status read_unary_expression(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op = lull_reader_operator(reader, cursor);
    if (strcmp(op, "*") == 0)
        return lull_reader_access(reader, cursor, false);
    lull_status status = read_all(reader, &parts, 0);
    if (status != LULL_OK || (strcmp(op, "++") != 0 && strcmp(op, "--") != 0))
        return status;
    count_operation(reader, cursor, '+');
    return write_to(reader, parts.items[0], NULL);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* What compilers make an instruction or two of; adds and multiplications of one. */
static const struct {
    const char *name;
    double add, multiply;
} inline_calls[] = {{"fabs", 0, 0}, {"fabsf", 0, 0}, {"fma", 1, 1}, {"fmaf", 1, 1}};

static lull_status read_call(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_kernel *kernel = reader->kernel;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *name = lull_reader_spelling(reader, cursor);
    lull_status status = read_all(reader, &parts, 1);
    if (status != LULL_OK)
        return status;
    for (size_t i = 0; i < sizeof inline_calls / sizeof *inline_calls; i++)
        if (strcmp(name, inline_calls[i].name) == 0) {
            if (reader->loop != LULL_KERNEL_NONE) {
                kernel->flops[reader->loop].add += inline_calls[i].add;
                kernel->flops[reader->loop].multiply += inline_calls[i].multiply;
            }
            return LULL_OK;
        }
    for (size_t i = 0; i < reader->source->n_costs; i++) {
        if (strcmp(name, reader->source->costs[i].name) != 0)
            continue;
        kernel->calls = lull_arena_grow(reader->arena, kernel->calls, &reader->calls_capacity,
                                        kernel->n_calls + 1, sizeof *kernel->calls);
        kernel->calls[kernel->n_calls++] =
            (struct lull_kernel_call){.name = name,
                                      .loop = reader->loop,
                                      .line = lull_reader_line(reader, cursor),
                                      .cycles = reader->source->costs[i].cycles};
        return LULL_OK;
    }
    return lull_reader_wrong(reader, cursor,
                             "call of '%s' has no cost: give its cycles with --call %s=CYCLES",
                             *name ? name : "a function pointer", *name ? name : "NAME");
}

lull_status lull_reader_expression(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_name *name;
    cursor = lull_reader_strip(reader, cursor);
    switch (reader->clang->getCursorKind(cursor)) {
    case CXCursor_ArraySubscriptExpr:
        return lull_reader_access(reader, cursor, false);
    case CXCursor_DeclRefExpr:
        return lull_reader_declare(reader, reader->clang->getCursorReferenced(cursor), &name);
    case CXCursor_BinaryOperator:
        return read_binary_expression(reader, cursor);
    case CXCursor_CompoundAssignOperator:
        return read_assignment(reader, cursor, true);
    case CXCursor_UnaryOperator:
        return read_unary_expression(reader, cursor);
    case CXCursor_CallExpr:
        return read_call(reader, cursor);
    case CXCursor_ConditionalOperator: {
        struct lull_cursors parts = lull_reader_children(reader, cursor);
        return read_all(reader, &parts, 0);
    }
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_UnaryExpr: /* sizeof */
        return LULL_OK;
    default:
        break;
    }
    return lull_reader_wrong(reader, cursor, "'%s' is not understood",
                             lull_reader_source_text(reader, cursor));
}

/* ---- loops --------------------------------------------------------------------------------- */

/* The loop variable: declared in the loop, or assigned to. */
static lull_status read_begin(struct lull_kernel_reader *reader, CXCursor init,
                              CXCursor *ret_variable, struct lull_poly *ret_begin)
{
    struct lull_cursors parts = lull_reader_children(reader, init);
    enum CXCursorKind kind = reader->clang->getCursorKind(init);
    if (kind == CXCursor_DeclStmt && parts.count == 1) {
        struct lull_cursors inside = lull_reader_children(reader, parts.items[0]);
        *ret_variable = parts.items[0];
        if (inside.count > 0)
            return lull_reader_poly(reader, inside.items[inside.count - 1], "begin of the loop",
                                    ret_begin);
    }
    if (kind == CXCursor_BinaryOperator && parts.count == 2 &&
        strcmp(lull_reader_operator(reader, init), "=") == 0) {
        *ret_variable =
            reader->clang->getCursorReferenced(lull_reader_strip(reader, parts.items[0]));
        return lull_reader_poly(reader, parts.items[1], "begin of the loop", ret_begin);
    }
    return lull_reader_wrong(reader, init, "begin of the loop is not understood");
}

static bool is_variable(const struct lull_kernel_reader *reader, CXCursor cursor, CXCursor variable)
{
    cursor = lull_reader_strip(reader, cursor);
    return reader->clang->getCursorKind(cursor) == CXCursor_DeclRefExpr &&
           reader->clang->equalCursors(reader->clang->getCursorReferenced(cursor), variable);
}

/* The bound that is left out: <= n ends at n + 1, >= n at n - 1. */
static lull_status read_end(struct lull_kernel_reader *reader, CXCursor condition,
                            CXCursor variable, struct lull_poly *ret_end)
{
    struct lull_cursors parts = lull_reader_children(reader, condition);
    const char *op = lull_reader_operator(reader, condition);
    if (reader->clang->getCursorKind(condition) != CXCursor_BinaryOperator || parts.count != 2 ||
        !is_variable(reader, parts.items[0], variable) || !strchr("<>!", *op) || !*op ||
        (*op == '!' && strcmp(op, "!=") != 0))
        return lull_reader_wrong(reader, condition, "unknown bound: '%s'",
                                 lull_reader_source_text(reader, condition));
    lull_status status = lull_reader_poly(reader, parts.items[1], "bound of the loop", ret_end);
    if (status != LULL_OK || *op == '!' || op[1] != '=')
        return status;
    const struct lull_poly one = lull_poly_constant(1);
    lull_poly_add(ret_end, &one, *op == '<' ? 1 : -1, ret_end);
    return LULL_OK;
}

/* i++, i -= 2, i = i + 4. */
static lull_status read_step(struct lull_kernel_reader *reader, CXCursor change, CXCursor variable,
                             int64_t *ret_step)
{
    struct lull_cursors parts = lull_reader_children(reader, change);
    const char *op = lull_reader_operator(reader, change);
    struct lull_poly step = {0};
    bool good = parts.count > 0 && is_variable(reader, parts.items[0], variable);
    if (good && (strcmp(op, "++") == 0 || strcmp(op, "--") == 0)) {
        *ret_step = *op == '+' ? 1 : -1;
        return LULL_OK;
    }
    good = good && parts.count == 2 &&
           (strcmp(op, "+=") == 0 || strcmp(op, "-=") == 0 || strcmp(op, "=") == 0) &&
           lull_reader_poly(reader, parts.items[1], "step", &step) == LULL_OK;
    if (good && *op == '=') {
        struct lull_name *name = lull_reader_find(reader, variable);
        good = name && lull_poly_add(&step, &name->index.poly, -1, &step);
    }
    if (!good || !lull_poly_is_constant(&step, ret_step) || *ret_step == 0)
        return lull_reader_wrong(reader, change, "step of the loop is not a constant: '%s'",
                                 lull_reader_source_text(reader, change));
    if (*op == '-')
        *ret_step = -*ret_step;
    return LULL_OK;
}

/* A variable that two loops use is the same symbol, unless one is inside of the other. */
static lull_status name_variable(struct lull_kernel_reader *reader, CXCursor cursor,
                                 CXCursor variable, struct lull_kernel_loop *loop)
{
    struct lull_kernel *kernel = reader->kernel;
    struct lull_name *name = lull_reader_find(reader, variable);
    if (!name) {
        lull_status status = lull_reader_declare(reader, variable, &name);
        if (status != LULL_OK)
            return status;
    }
    if (name->kind != LULL_NAME_SYMBOL)
        return lull_reader_wrong(reader, cursor, "loop variable '%s' is no plain integer",
                                 lull_reader_spelling(reader, variable));
    for (int around = reader->loop; around != LULL_KERNEL_NONE;
         around = kernel->loops[around].parent)
        if (kernel->loops[around].symbol == name->number)
            return lull_reader_wrong(reader, cursor,
                                     "loop variable '%s' is that of the loop around",
                                     kernel->symbols[name->number].name);
    kernel->symbols[name->number].is_size = false;
    loop->symbol = name->number;
    return LULL_OK;
}

static size_t add_loop(struct lull_kernel_reader *reader, const struct lull_kernel_loop *loop)
{
    struct lull_kernel *kernel = reader->kernel;
    kernel->loops = lull_arena_grow(reader->arena, kernel->loops, &reader->loops_capacity,
                                    kernel->n_loops + 1, sizeof *kernel->loops);
    kernel->flops = lull_arena_grow(reader->arena, kernel->flops, &reader->flops_capacity,
                                    kernel->n_loops + 1, sizeof *kernel->flops);
    kernel->loops[kernel->n_loops] = *loop;
    kernel->flops[kernel->n_loops] = (struct lull_kernel_flops){0};
    return kernel->n_loops++;
}

/* Lines of the kernel's code that end before a place in the text. */
static unsigned lines_of_code(const struct lull_kernel_reader *reader, size_t place)
{
    unsigned lines = 0;
    for (size_t i = reader->code_begin; i < place && i < reader->text_size; i++)
        lines += reader->text[i] == '\n';
    return lines;
}

static lull_status read_loop(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    struct lull_kernel_loop loop = {.parent = reader->loop,
                                    .first_access = reader->kernel->n_accesses,
                                    .line = lull_reader_line(reader, cursor)};
    CXCursor variable;
    if (parts.count != 4)
        return lull_reader_wrong(reader, cursor,
                                 "unknown bound: expected for (begin; condition; step)");
    lull_status status = read_begin(reader, parts.items[0], &variable, &loop.first);
    if (status == LULL_OK)
        status = name_variable(reader, parts.items[0], variable, &loop);
    if (status == LULL_OK)
        status = read_end(reader, lull_reader_strip(reader, parts.items[1]), variable, &loop.end);
    if (status == LULL_OK)
        status = read_step(reader, lull_reader_strip(reader, parts.items[2]), variable, &loop.step);
    if (status != LULL_OK)
        return status;
    size_t begin, end;
    lull_reader_extent(reader, cursor, &begin, &end);
    loop.first_line = lines_of_code(reader, begin);
    loop.last_line = lines_of_code(reader, end);
    int around = reader->loop;
    reader->loop = (int)add_loop(reader, &loop);
    status = lull_reader_statement(reader, parts.items[3]);
    reader->loop = around;
    return status;
}

/* ---- statements ---------------------------------------------------------------------------- */

/* An integer that is given its value where it is declared stands for it; other variables are in
 * registers, or arrays. */
static lull_status read_declaration(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    CXType type = reader->clang->getCursorType(cursor);
    struct lull_name *name;
    struct lull_index index;
    bool has_value =
        parts.count > 0 &&
        reader->clang->isExpression(reader->clang->getCursorKind(parts.items[parts.count - 1]));
    if (reader->clang->getCursorKind(cursor) != CXCursor_VarDecl)
        return LULL_OK;
    if (has_value && lull_reader_is_integer(reader, type)) {
        lull_status status = lull_reader_index(reader, parts.items[parts.count - 1], &index);
        if (status == LULL_OK) {
            name = lull_reader_name(reader, cursor, LULL_NAME_INDEX, 0);
            name->index = index;
        }
        return status;
    }
    if (lull_reader_is_floating(reader, type)) { /* of the loop alone: no operand from outside */
        struct lull_kernel *kernel = reader->kernel;
        lull_status status = lull_reader_declare(reader, cursor, &name);
        if (status == LULL_OK && reader->loop != LULL_KERNEL_NONE)
            kernel->scalars[name->number].type = NULL;
        return status == LULL_OK && has_value
                   ? lull_reader_expression(reader, parts.items[parts.count - 1])
                   : status;
    }
    return lull_reader_declare(reader, cursor, &name);
}

lull_status lull_reader_statement(struct lull_kernel_reader *reader, CXCursor cursor)
{
    static const struct {
        enum CXCursorKind kind;
        const char *what;
    } refused[] = {{CXCursor_IfStmt, "a branch, whose cost depends on data,"},
                   {CXCursor_SwitchStmt, "a switch, whose cost depends on data,"},
                   {CXCursor_WhileStmt, "unknown bound: a while loop"},
                   {CXCursor_DoStmt, "unknown bound: a do loop"},
                   {CXCursor_BreakStmt, "unknown bound: a break"},
                   {CXCursor_ContinueStmt, "a continue, whose cost depends on data,"},
                   {CXCursor_GotoStmt, "unknown bound: a goto"},
                   {CXCursor_ReturnStmt, "unknown bound: a return"}};
    enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (kind == refused[i].kind)
            return lull_reader_wrong(reader, cursor, "%s is not understood", refused[i].what);
    if (kind == CXCursor_ForStmt)
        return read_loop(reader, cursor);
    if (kind == CXCursor_NullStmt)
        return LULL_OK;
    if (kind != CXCursor_CompoundStmt && kind != CXCursor_DeclStmt)
        return lull_reader_expression(reader, cursor);
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < parts.count; i++)
        status = kind == CXCursor_DeclStmt ? read_declaration(reader, parts.items[i])
                                           : lull_reader_statement(reader, parts.items[i]);
    return status;
}
#endif
