/* SPDX-License-Identifier: BSD-3-Clause */
/* What a source file says without being run: values of variables, and how often loops are executed. */
#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/reader.h"

#include <math.h>
#include <string.h>

enum { DEEPEST_CALLS = 8 };

/* ==== what is done with a declaration ========================================================= */

/* Uses of a variable or function in the functions of the file. */
struct variable_uses {
    struct lull_kernel_reader *reader;
    CXCursor declaration;
    bool changed; /* it is written, or its address is taken */
    size_t named; /* how often it is named */
    struct lull_cursors calls;
    bool has_main;
};

/* A function may be declared several times: the first declaration stands for all. */
static bool refers_to(const struct lull_kernel_reader *reader, CXCursor cursor,
                      CXCursor declaration)
{
    const struct lull_clang *clang = reader->clang;
    return clang->equalCursors(clang->getCanonicalCursor(clang->getCursorReferenced(cursor)),
                               clang->getCanonicalCursor(declaration));
}

static bool names(const struct lull_kernel_reader *reader, CXCursor cursor, CXCursor declaration)
{
    const struct lull_clang *clang = reader->clang;
    cursor = lull_reader_strip(reader, cursor);
    return clang->getCursorKind(cursor) == CXCursor_DeclRefExpr &&
           refers_to(reader, cursor, declaration);
}

static void take_call(struct variable_uses *uses, CXCursor call)
{
    uses->calls.items =
        lull_arena_grow(uses->reader->arena, uses->calls.items, &uses->calls.capacity,
                        uses->calls.count + 1, sizeof *uses->calls.items);
    uses->calls.items[uses->calls.count++] = call;
}

/* Whether a call of C++ may change a variable, which it gets by a reference. */
static bool may_change(struct lull_kernel_reader *reader, CXCursor call, CXCursor declaration)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_cursors arguments = lull_reader_children(reader, call);
    struct lull_cursors parts = lull_reader_children(reader, clang->getCursorReferenced(call));
    size_t number = 1; /* behind the function's name */
    for (size_t i = 0; i < parts.count; i++) {
        if (clang->getCursorKind(parts.items[i]) != CXCursor_ParmDecl)
            continue;
        const CXType type = clang->getCanonicalType(clang->getCursorType(parts.items[i]));
        if (number < arguments.count && type.kind == CXType_LValueReference &&
            !clang->isConstQualifiedType(clang->getPointeeType(type)) &&
            names(reader, arguments.items[number], declaration))
            return true;
        number++;
    }
    return false;
}

static enum CXChildVisitResult see_use(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct variable_uses *uses = data;
    struct lull_kernel_reader *reader = uses->reader;
    const struct lull_clang *clang = reader->clang;
    const enum CXCursorKind kind = clang->getCursorKind(cursor);
    if (clang->getCursorKind(parent) == CXCursor_TranslationUnit &&
        !clang->Location_isFromMainFile(clang->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    if (kind == CXCursor_FunctionDecl && strcmp(lull_reader_spelling(reader, cursor), "main") == 0)
        uses->has_main = true;
    if (kind == CXCursor_DeclRefExpr && refers_to(reader, cursor, uses->declaration))
        uses->named++;
    if (kind == CXCursor_CallExpr && refers_to(reader, cursor, uses->declaration))
        take_call(uses, cursor);
    if (kind == CXCursor_CallExpr && reader->is_cpp &&
        may_change(reader, cursor, uses->declaration))
        uses->changed = true;
    if (kind != CXCursor_BinaryOperator && kind != CXCursor_CompoundAssignOperator &&
        kind != CXCursor_UnaryOperator)
        return CXChildVisit_Recurse;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op = parts.count > 0 ? lull_reader_operator(reader, cursor) : "";
    const bool writes = kind == CXCursor_CompoundAssignOperator || strcmp(op, "=") == 0 ||
                        strcmp(op, "++") == 0 || strcmp(op, "--") == 0 ||
                        (kind == CXCursor_UnaryOperator && strcmp(op, "&") == 0) || !*op;
    if (parts.count > 0 && writes && names(reader, parts.items[0], uses->declaration))
        uses->changed = true;
    return CXChildVisit_Recurse;
}

static struct variable_uses find_variable_uses(struct lull_kernel_reader *reader,
                                               CXCursor declaration)
{
    struct variable_uses uses = {.reader = reader, .declaration = declaration};
    const size_t parameters = reader->n_parameters;
    const bool met_macro = reader->met_macro;
    uses.calls.arena = reader->arena;
    reader->n_parameters = 0; /* nothing stands for anything else here */
    reader->clang->visitChildren(reader->clang->getTranslationUnitCursor(reader->unit), see_use,
                                 &uses);
    reader->n_parameters = parameters;
    reader->met_macro = met_macro;
    return uses;
}

/* Whether all calls of a function are in the file, as far as the file tells. */
static bool sees_all_calls(const struct lull_kernel_reader *reader, CXCursor function,
                           const struct variable_uses *uses)
{
    const enum CXLinkageKind linkage = reader->clang->getCursorLinkage(function);
    return uses->calls.count > 0 && uses->named == uses->calls.count &&
           (linkage == CXLinkage_Internal || uses->has_main);
}

/* ==== values ================================================================================== */

static bool value_of_variable(struct lull_kernel_reader *reader, CXCursor declaration,
                              unsigned depth, int64_t *ret_value);

static bool value_of_expression(struct lull_kernel_reader *reader, CXCursor cursor, unsigned depth,
                                int64_t *ret_value)
{
    const struct lull_clang *clang = reader->clang;
    int64_t a, b;
    cursor = lull_reader_strip(reader, cursor);
    const enum CXCursorKind kind = clang->getCursorKind(cursor);
    if (kind == CXCursor_DeclRefExpr && depth < DEEPEST_CALLS &&
        value_of_variable(reader, clang->getCursorReferenced(cursor), depth + 1, ret_value))
        return true;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    if (kind != CXCursor_BinaryOperator || parts.count != 2)
        return kind != CXCursor_CallExpr && kind != CXCursor_DeclRefExpr &&
               lull_reader_is_constant(reader, cursor, ret_value);
    const char *op = lull_reader_operator(reader, cursor);
    if (!value_of_expression(reader, parts.items[0], depth, &a) ||
        !value_of_expression(reader, parts.items[1], depth, &b))
        return false;
    if (strcmp(op, "+") == 0)
        return !__builtin_add_overflow(a, b, ret_value);
    if (strcmp(op, "-") == 0)
        return !__builtin_sub_overflow(a, b, ret_value);
    if (strcmp(op, "*") == 0)
        return !__builtin_mul_overflow(a, b, ret_value);
    if (strcmp(op, "/") != 0 || b <= 0)
        return false;
    *ret_value = a / b;
    return true;
}

/* The value that all calls of its function give a parameter. */
static bool value_by_calls(struct lull_kernel_reader *reader, CXCursor parameter, unsigned depth,
                           int64_t *ret_value)
{
    const struct lull_clang *clang = reader->clang;
    CXCursor function = clang->getCursorSemanticParent(parameter);
    struct lull_cursors parts = lull_reader_children(reader, function);
    size_t number = 0;
    for (size_t i = 0; i < parts.count && !clang->equalCursors(parts.items[i], parameter); i++)
        number += clang->getCursorKind(parts.items[i]) == CXCursor_ParmDecl;
    const struct variable_uses uses = find_variable_uses(reader, function);
    if (!sees_all_calls(reader, function, &uses))
        return false;
    for (size_t i = 0; i < uses.calls.count; i++) {
        struct lull_cursors arguments = lull_reader_children(reader, uses.calls.items[i]);
        int64_t value;
        if (number + 1 >= arguments.count ||
            !value_of_expression(reader, arguments.items[number + 1], depth, &value) ||
            (i > 0 && value != *ret_value))
            return false;
        *ret_value = value;
    }
    return true;
}

static bool value_of_variable(struct lull_kernel_reader *reader, CXCursor declaration,
                              unsigned depth, int64_t *ret_value)
{
    const struct lull_clang *clang = reader->clang;
    const enum CXCursorKind kind = clang->getCursorKind(declaration);
    if (kind == CXCursor_EnumConstantDecl) {
        *ret_value = clang->getEnumConstantDeclValue(declaration);
        return true;
    }
    if ((kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl) ||
        !lull_reader_is_integer(reader, clang->getCursorType(declaration)) ||
        clang->getCursorLinkage(declaration) == CXLinkage_External ||
        find_variable_uses(reader, declaration).changed)
        return false;
    if (kind == CXCursor_ParmDecl)
        return value_by_calls(reader, declaration, depth, ret_value);
    struct lull_cursors parts = lull_reader_children(reader, declaration);
    return parts.count > 0 &&
           clang->isExpression(clang->getCursorKind(parts.items[parts.count - 1])) &&
           value_of_expression(reader, parts.items[parts.count - 1], depth, ret_value);
}

bool lull_reader_value(struct lull_kernel_reader *reader, CXCursor declaration, int64_t *ret_value)
{
    const size_t parameters = reader->n_parameters;
    const bool met_macro = reader->met_macro;
    reader->n_parameters = 0;
    const bool known = value_of_variable(reader, declaration, 0, ret_value);
    reader->n_parameters = parameters;
    reader->met_macro = met_macro;
    return known;
}

bool lull_reader_is_changed(struct lull_kernel_reader *reader, CXCursor declaration)
{
    return find_variable_uses(reader, declaration).changed;
}

/* ==== how often ================================================================================ */

/* How often something in a function is executed for each call of the function. */
struct times {
    struct lull_kernel_reader *reader;
    CXCursor wanted;
    double found; /* NAN: it was not found, or it is not known */
};

/* Whether code may be left before its end: by a return, or by a break of the loop that it is in. */
static bool leaves(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    const enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
    if (kind == CXCursor_ReturnStmt || kind == CXCursor_BreakStmt || kind == CXCursor_GotoStmt)
        return true;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    for (size_t i = 0; i < parts.count; i++)
        if (leaves(reader, parts.items[i]))
            return true;
    return false;
}

/* The iterations of for (i = A; i < B; i += C) with known numbers; NAN: it is something else. */
static double trips_of(struct lull_kernel_reader *reader, const struct lull_cursors *parts)
{
    const struct lull_clang *clang = reader->clang;
    int64_t first, end, step = 1;
    if (parts->count != 4 || leaves(reader, parts->items[3]))
        return NAN;
    struct lull_cursors init = lull_reader_children(reader, parts->items[0]);
    CXCursor variable, value;
    if (clang->getCursorKind(parts->items[0]) == CXCursor_DeclStmt && init.count == 1) {
        struct lull_cursors inside = lull_reader_children(reader, init.items[0]);
        if (inside.count == 0)
            return NAN;
        variable = init.items[0];
        value = inside.items[inside.count - 1];
    } else if (clang->getCursorKind(parts->items[0]) == CXCursor_BinaryOperator &&
               init.count == 2 && strcmp(lull_reader_operator(reader, parts->items[0]), "=") == 0) {
        variable = clang->getCursorReferenced(lull_reader_strip(reader, init.items[0]));
        value = init.items[1];
    } else {
        return NAN;
    }
    CXCursor condition = lull_reader_strip(reader, parts->items[1]);
    struct lull_cursors compared = lull_reader_children(reader, condition);
    const char *op = compared.count == 2 ? lull_reader_operator(reader, condition) : "";
    CXCursor change = lull_reader_strip(reader, parts->items[2]);
    struct lull_cursors changed = lull_reader_children(reader, change);
    const char *by = changed.count > 0 ? lull_reader_operator(reader, change) : "";
    if ((strcmp(op, "<") != 0 && strcmp(op, "<=") != 0) ||
        !names(reader, compared.items[0], variable) || changed.count == 0 ||
        !names(reader, changed.items[0], variable) ||
        (strcmp(by, "++") != 0 && strcmp(by, "+=") != 0) ||
        !value_of_expression(reader, value, 0, &first) ||
        !value_of_expression(reader, compared.items[1], 0, &end) ||
        (strcmp(by, "+=") == 0 &&
         (!value_of_expression(reader, changed.items[1], 0, &step) || step <= 0)))
        return NAN;
    return fmax(0, ceil((double)(end + (op[1] == '=') - first) / (double)step));
}

/* Cursors of a statement that were reached from different places differ in the declaration that they note:
 * the second pointer is the statement. */
static bool is_same_statement(CXCursor a, CXCursor b)
{
    return a.kind == b.kind && a.data[1] == b.data[1];
}

/* Looks for `wanted` below a cursor that is executed so many times for each call. */
static bool count_times(struct times *times, CXCursor cursor, double so_far)
{
    struct lull_kernel_reader *reader = times->reader;
    const struct lull_clang *clang = reader->clang;
    if (is_same_statement(cursor, times->wanted)) {
        times->found = so_far;
        return true;
    }
    const enum CXCursorKind kind = clang->getCursorKind(cursor);
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    double inside = so_far;
    switch (kind) {
    case CXCursor_ForStmt:
        inside = so_far * trips_of(reader, &parts);
        break;
    case CXCursor_IfStmt:
    case CXCursor_SwitchStmt:
    case CXCursor_WhileStmt:
    case CXCursor_DoStmt:
    case CXCursor_ConditionalOperator:
    case CXCursor_LambdaExpr:
    case CXCursor_CXXForRangeStmt:
    case CXCursor_CXXTryStmt:
        inside = NAN;
        break;
    case CXCursor_BinaryOperator: { /* the right side of && and || may be left out */
        const char *op = parts.count == 2 ? lull_reader_operator(reader, cursor) : "";
        inside = strcmp(op, "&&") == 0 || strcmp(op, "||") == 0 ? NAN : so_far;
        break;
    }
    default:
        break;
    }
    for (size_t i = 0; i < parts.count; i++)
        if (count_times(times, parts.items[i], inside))
            return true;
    return false;
}

static double times_in(struct lull_kernel_reader *reader, CXCursor function, CXCursor wanted)
{
    struct times times = {.reader = reader, .wanted = wanted, .found = NAN};
    struct lull_cursors parts = lull_reader_children(reader, function);
    if (parts.count > 0)
        count_times(&times, parts.items[parts.count - 1], 1);
    return times.found;
}

/* The function of the file with a place in it. */
struct owner {
    struct lull_kernel_reader *reader;
    size_t place;
    CXCursor function;
    bool found;
};

static enum CXChildVisitResult see_owner(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct owner *owner = data;
    const struct lull_clang *clang = owner->reader->clang;
    size_t begin, end;
    (void)parent;
    if (clang->getCursorKind(cursor) != CXCursor_FunctionDecl ||
        !clang->Location_isFromMainFile(clang->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    lull_reader_extent(owner->reader, cursor, &begin, &end);
    if (owner->place < begin || owner->place >= end)
        return CXChildVisit_Continue;
    owner->function = cursor;
    owner->found = true;
    return CXChildVisit_Break;
}

static double times_of_function(struct lull_kernel_reader *reader, CXCursor function,
                                unsigned depth)
{
    double sum = 0;
    if (strcmp(lull_reader_spelling(reader, function), "main") == 0)
        return 1;
    const struct variable_uses uses = find_variable_uses(reader, function);
    if (depth == DEEPEST_CALLS || !sees_all_calls(reader, function, &uses))
        return NAN;
    for (size_t i = 0; i < uses.calls.count; i++) {
        struct owner owner = {.reader = reader};
        size_t end;
        lull_reader_extent(reader, uses.calls.items[i], &owner.place, &end);
        reader->clang->visitChildren(reader->clang->getTranslationUnitCursor(reader->unit),
                                     see_owner, &owner);
        if (!owner.found ||
            reader->clang->equalCursors(reader->clang->getCanonicalCursor(owner.function),
                                        reader->clang->getCanonicalCursor(function)))
            return NAN;
        sum += times_in(reader, owner.function, uses.calls.items[i]) *
               times_of_function(reader, owner.function, depth + 1);
    }
    return sum;
}

/* Whether only "#pragma omp parallel for" and directives that execute nothing more often stand in the file: inside
 * of a plain "parallel" each thread executes what stands there, which clang does not see here. */
static bool is_plain_openmp(const char *text)
{
    static const char *const plain[] = {"parallel for", "simd", "atomic", "barrier", "critical"};
    for (const char *at = text; (at = strstr(at, "#pragma omp"));) {
        bool is_plain = false;
        at += strlen("#pragma omp");
        const char *word = at + strspn(at, " \t");
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
            is_plain |= strncmp(word, plain[i], strlen(plain[i])) == 0;
        if (!is_plain)
            return false;
    }
    return true;
}

double lull_reader_executions(struct lull_kernel_reader *reader, CXCursor function, CXCursor nest,
                              bool *ret_whole)
{
    const size_t parameters = reader->n_parameters;
    const bool met_macro = reader->met_macro;
    reader->n_parameters = 0;
    const double inside = times_in(reader, function, nest);
    double executions = NAN;
    *ret_whole = inside == 1;
    if (!isnan(inside) && is_plain_openmp(reader->text))
        executions = inside * times_of_function(reader, function, 0);
    reader->n_parameters = parameters;
    reader->met_macro = met_macro;
    return executions;
}
#endif
