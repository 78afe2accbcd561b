/* SPDX-License-Identifier: BSD-3-Clause */
#include "lull_features.h"
#include "model/kernel/kernel.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/reader.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static lull_status reader_index(struct lull_kernel_reader *reader, CXCursor cursor,
                                struct lull_index *ret_index);
static lull_status reader_access(struct lull_kernel_reader *reader, CXCursor cursor, bool write);
static lull_status reader_expression(struct lull_kernel_reader *reader, CXCursor cursor);

/* ==== loading libclang ======================================================================== */

/* Opens the libclang that was there at build time, or else another version, newest first. NULL:
 * there is none. */
static void *open_libclang(void)
{
    enum { NEWEST_CLANG = 30, OLDEST_CLANG = 13 };
    void *library = dlopen(LULL_LIBCLANG, RTLD_LAZY | RTLD_LOCAL);
    for (int version = NEWEST_CLANG; !library && version >= OLDEST_CLANG; version--)
        for (int number = version; !library && number > 0; number = number > 1 ? 1 : 0) {
            char name[64];
            snprintf(name, sizeof name, "libclang-%d.so.%d", version, number);
            library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        }
    return library ? library : dlopen("libclang.so.1", RTLD_LAZY | RTLD_LOCAL);
}

lull_status lull_clang_load(const struct lull_clang **ret_clang, struct lull_error *err)
{
    static struct lull_clang clang;
    static bool loaded;
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define FUNCTION(name) {"clang_" #name, offsetof(struct lull_clang, name)},
        LULL_CLANG_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    void *library = loaded ? NULL : open_libclang();
    if (!loaded && !library)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "the library libclang, which reads C, was not found");
    for (size_t i = 0; !loaded && i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            return lull_fail(err, LULL_ERR_UNSUPPORTED, "the library libclang has no %s",
                             functions[i].name);
        memcpy((char *)&clang + functions[i].offset, &symbol, sizeof symbol);
    }
    loaded = true;
    *ret_clang = &clang;
    return LULL_OK;
}

/* ==== what all parts need ===================================================================== */

void lull_reader_extent(const struct lull_kernel_reader *reader, CXCursor cursor, size_t *ret_begin,
                        size_t *ret_end)
{
    CXSourceRange range = reader->clang->getCursorExtent(cursor);
    unsigned begin = 0, end = 0;
    reader->clang->getFileLocation(reader->clang->getRangeStart(range), NULL, NULL, NULL, &begin);
    reader->clang->getFileLocation(reader->clang->getRangeEnd(range), NULL, NULL, NULL, &end);
    *ret_begin = begin < reader->text_size ? begin : reader->text_size;
    *ret_end = end < *ret_begin ? *ret_begin : end < reader->text_size ? end : reader->text_size;
}

static enum CXChildVisitResult take_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct lull_cursors *children = data;
    (void)parent;
    children->items = lull_arena_grow(children->arena, children->items, &children->capacity,
                                      children->count + 1, sizeof *children->items);
    children->items[children->count++] = cursor;
    return CXChildVisit_Continue;
}

/* Sorts children by their place in the source: the library gives the extents of an array inside
 * out. */
static void sort_by_place(const struct lull_kernel_reader *reader, struct lull_cursors *children)
{
    for (size_t i = 1; i < children->count; i++) {
        CXCursor moving = children->items[i];
        size_t begin, other, end, k = i;
        lull_reader_extent(reader, moving, &begin, &end);
        for (; k > 0; k--) {
            lull_reader_extent(reader, children->items[k - 1], &other, &end);
            if (other <= begin)
                break;
            children->items[k] = children->items[k - 1];
        }
        children->items[k] = moving;
    }
}

struct lull_cursors lull_reader_children(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors children = {.arena = reader->arena};
    reader->clang->visitChildren(cursor, take_child, &children);
    enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
    if (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl || kind == CXCursor_FieldDecl)
        sort_by_place(reader, &children);
    return children;
}

unsigned lull_reader_line(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    unsigned line = 0;
    reader->clang->getFileLocation(reader->clang->getCursorLocation(cursor), NULL, &line, NULL,
                                   NULL);
    line = line > reader->lines_before ? line - reader->lines_before : 1;
    return reader->line_of_text && line > reader->line_of_text ? reader->line_of_text : line;
}

const char *lull_reader_spelling(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    CXString string = reader->clang->getCursorSpelling(cursor);
    const char *text = reader->clang->getCString(string);
    char *copy = lull_arena_strdup(reader->arena, text ? text : "");
    reader->clang->disposeString(string);
    return copy;
}

const char *lull_reader_source_text(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    size_t begin, end;
    lull_reader_extent(reader, cursor, &begin, &end);
    return lull_arena_strndup(reader->arena, reader->text + begin, end - begin);
}

static const char *skip_blanks(const char *text, const char *end)
{
    while (text < end) {
        if (isspace((unsigned char)*text) || *text == '\\') {
            text++;
        } else if (end - text >= 2 && text[0] == '/' && text[1] == '/') {
            while (text < end && *text != '\n')
                text++;
        } else if (end - text >= 2 && text[0] == '/' && text[1] == '*') {
            const char *close = strstr(text + 2, "*/");
            text = close && close + 2 < end ? close + 2 : end;
        } else {
            break;
        }
    }
    return text;
}

const char *lull_reader_operator(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors operands = lull_reader_children(reader, cursor);
    size_t begin, end, from, to;
    lull_reader_extent(reader, cursor, &begin, &end);
    if (operands.count == 0)
        return "";
    lull_reader_extent(reader, operands.items[0], &from, &to);
    size_t stop = end;
    if (operands.count == 2) { /* the operator is between both */
        lull_reader_extent(reader, operands.items[1], &stop, &end);
        from = to;
    } else if (from > begin) { /* the operator is before it */
        stop = from;
        from = begin;
    } else { /* the operator is behind it */
        from = to;
    }
    const char *first = skip_blanks(reader->text + from, reader->text + stop);
    size_t length = strspn(first, "+-*/%=<>!&|^~");
    reader->met_macro |= length == 0 || first >= reader->text + stop;
    if (first >= reader->text + stop)
        return "";
    if (first + length > reader->text + stop)
        length = (size_t)(reader->text + stop - first);
    return lull_arena_strndup(reader->arena, first, length);
}

/* The parameter of a function that is read in the place of its call; NULL: the cursor names none. */
static const struct lull_reader_parameter *parameter_of(const struct lull_kernel_reader *reader,
                                                        CXCursor cursor)
{
    if (reader->n_parameters == 0 || reader->clang->getCursorKind(cursor) != CXCursor_DeclRefExpr)
        return NULL;
    CXCursor declaration = reader->clang->getCursorReferenced(cursor);
    for (size_t i = reader->n_parameters; i-- > 0;)
        if (reader->clang->equalCursors(reader->parameters[i].declaration, declaration))
            return &reader->parameters[i];
    return NULL;
}

CXCursor lull_reader_strip(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    for (;;) {
        enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
        const struct lull_reader_parameter *parameter = parameter_of(reader, cursor);
        if (parameter && !parameter->is_read) {
            cursor = parameter->argument;
            continue;
        }
        if (kind != CXCursor_UnexposedExpr && kind != CXCursor_ParenExpr &&
            kind != CXCursor_CStyleCastExpr && kind != CXCursor_CXXStaticCastExpr &&
            kind != CXCursor_CXXFunctionalCastExpr)
            return cursor;
        struct lull_cursors children = lull_reader_children(reader, cursor);
        if (children.count == 0)
            return cursor;
        cursor = children.items[children.count - 1]; /* a cast has its type before its operand */
    }
}

static bool reader_is_floating(const struct lull_kernel_reader *reader, CXType type)
{
    switch (reader->clang->getCanonicalType(type).kind) {
    case CXType_Float:
    case CXType_Double:
    case CXType_LongDouble:
    case CXType_Float16:
    case CXType_Half:
        return true;
    default:
        return false;
    }
}

bool lull_reader_is_integer(const struct lull_kernel_reader *reader, CXType type)
{
    enum CXTypeKind kind = reader->clang->getCanonicalType(type).kind;
    return (kind >= CXType_Bool && kind <= CXType_Int128) || kind == CXType_Enum;
}

static lull_status reader_wrong(const struct lull_kernel_reader *reader, CXCursor cursor,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));

static lull_status reader_wrong(const struct lull_kernel_reader *reader, CXCursor cursor,
                                const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: line %u: %s", reader->source->path,
                     lull_reader_line(reader, cursor), text);
}

/* The expression that a variable is declared with. False: there is none. */
static bool find_initial_value(const struct lull_kernel_reader *reader, CXCursor declaration,
                               CXCursor *ret_value)
{
    struct lull_cursors parts = lull_reader_children(reader, declaration);
    if (parts.count == 0 ||
        !reader->clang->isExpression(reader->clang->getCursorKind(parts.items[parts.count - 1])))
        return false;
    *ret_value = parts.items[parts.count - 1];
    return true;
}

static bool is_reference(CXType type)
{
    return type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;
}

/* Whether a variable is declared in the nest, and not before it. */
static bool is_in_nest(const struct lull_kernel_reader *reader, CXCursor declaration)
{
    size_t begin, end;
    lull_reader_extent(reader, declaration, &begin, &end);
    return begin >= reader->code_begin && begin < reader->code_end;
}

/* Lets the nest, when it is compiled alone, have a pointer that is declared before it. */
static void declare_before_nest(struct lull_kernel_reader *reader, CXCursor declaration,
                                CXCursor value)
{
    if (is_in_nest(reader, declaration))
        return;
    const char *text = lull_reader_source_text(reader, value);
    const char *line = lull_arena_printf(reader->arena, "__typeof__(&*(%s)) %s = %s;\n", text,
                                         lull_reader_spelling(reader, declaration), text);
    if (!strstr(reader->kernel->preamble, line))
        reader->kernel->preamble =
            lull_arena_printf(reader->arena, "%s%s", reader->kernel->preamble, line);
}

/* The variable that a pointer or reference to a structure stands for, which is declared as another name of it and
 * never changed: struct grid *h = g, Grid &h = g. */
static CXCursor find_object(struct lull_kernel_reader *reader, CXCursor variable, unsigned depth)
{
    enum { MOST_OBJECTS = 8 };
    const struct lull_clang *clang = reader->clang;
    const CXType type = clang->getCanonicalType(clang->getCursorType(variable));
    CXCursor value;
    if (depth == MOST_OBJECTS || clang->getCursorKind(variable) != CXCursor_VarDecl ||
        (type.kind != CXType_Pointer && !is_reference(type)) ||
        clang->getCursorLinkage(variable) == CXLinkage_External ||
        !find_initial_value(reader, variable, &value) ||
        (type.kind == CXType_Pointer && lull_reader_is_changed(reader, variable)))
        return variable;
    CXCursor other = lull_reader_strip(reader, value);
    while (clang->getCursorKind(other) == CXCursor_UnaryOperator) /* &grid, or *grid */
        other = lull_reader_strip(reader, lull_reader_children(reader, other).items[0]);
    if (clang->getCursorKind(other) != CXCursor_DeclRefExpr)
        return variable;
    const CXCursor found = find_object(reader, clang->getCursorReferenced(other), depth + 1);
    if (type.kind == CXType_Pointer)
        declare_before_nest(reader, variable, value);
    return found;
}

/* What an expression names: a variable, or a member of one that is a structure. */
struct named {
    CXCursor variable;
    const char *member; /* ".rows"; NULL: the variable itself */
    CXCursor typed;     /* the declaration that has its type: of the variable, or of the member */
};

static struct named name_of_variable(CXCursor declaration)
{
    return (struct named){.variable = declaration, .typed = declaration};
}

/* Follows grid->level.rows to its variable. False: it is a member of something else. */
static bool name_of_member(struct lull_kernel_reader *reader, CXCursor cursor,
                           struct named *ret_named)
{
    const struct lull_clang *clang = reader->clang;
    *ret_named = (struct named){.member = "", .typed = clang->getCursorReferenced(cursor)};
    while (clang->getCursorKind(cursor) == CXCursor_MemberRefExpr) {
        struct lull_cursors parts = lull_reader_children(reader, cursor);
        if (parts.count == 0 || clang->getCursorKind(parts.items[0]) == CXCursor_CXXThisExpr) {
            /* A member of the object whose method this is. */
            ret_named->variable = clang->getCursorReferenced(cursor);
            ret_named->member = *ret_named->member ? ret_named->member : NULL;
            return clang->getCursorKind(ret_named->variable) == CXCursor_FieldDecl;
        }
        ret_named->member = lull_arena_printf(
            reader->arena, ".%s%s", lull_reader_spelling(reader, cursor), ret_named->member);
        cursor = lull_reader_strip(reader, parts.items[0]);
        if (clang->getCursorKind(cursor) == CXCursor_UnaryOperator) /* &grid, or *grid */
            cursor = lull_reader_strip(reader, lull_reader_children(reader, cursor).items[0]);
    }
    if (clang->getCursorKind(cursor) != CXCursor_DeclRefExpr)
        return false;
    ret_named->variable = find_object(reader, clang->getCursorReferenced(cursor), 0);
    const enum CXCursorKind kind = clang->getCursorKind(ret_named->variable);
    return (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl);
}

static const char *text_of_name(const struct lull_kernel_reader *reader, const struct named *named)
{
    const char *variable = lull_reader_spelling(reader, named->variable);
    return named->member ? lull_arena_printf(reader->arena, "%s%s", variable, named->member)
                         : variable;
}

static struct lull_name *find_named(const struct lull_kernel_reader *reader,
                                    const struct named *named)
{
    for (size_t i = 0; i < reader->n_names; i++) {
        struct lull_name *name = &reader->names[i];
        if (!name->member == !named->member &&
            (!name->member || strcmp(name->member, named->member) == 0) &&
            reader->clang->equalCursors(name->declaration, named->variable))
            return name;
    }
    return NULL;
}

static struct lull_name *reader_find(const struct lull_kernel_reader *reader, CXCursor declaration)
{
    const struct named named = name_of_variable(declaration);
    return find_named(reader, &named);
}

static struct lull_name *add_name(struct lull_kernel_reader *reader, const struct named *named,
                                  enum lull_name_kind kind, size_t number)
{
    reader->names = lull_arena_grow(reader->arena, reader->names, &reader->names_capacity,
                                    reader->n_names + 1, sizeof *reader->names);
    struct lull_name *name = &reader->names[reader->n_names++];
    *name = (struct lull_name){.declaration = named->variable,
                               .member = named->member,
                               .typed = named->typed,
                               .kind = kind,
                               .number = number};
    name->index.access = LULL_KERNEL_NONE;
    return name;
}

static struct lull_name *reader_name(struct lull_kernel_reader *reader, CXCursor declaration,
                                     enum lull_name_kind kind, size_t number)
{
    const struct named named = name_of_variable(declaration);
    return add_name(reader, &named, kind, number);
}

static lull_status declare_size(struct lull_kernel_reader *reader, const struct named *named,
                                struct lull_name **ret_name);
static lull_status declare_named(struct lull_kernel_reader *reader, const struct named *named,
                                 struct lull_name **ret_name);
static lull_status declare_container(struct lull_kernel_reader *reader, const struct named *named,
                                     CXType element, struct lull_name **ret_name);
static bool is_container_call(const struct lull_kernel_reader *reader, CXCursor call,
                              const char *method);
static lull_status read_container_size(struct lull_kernel_reader *reader, CXCursor call,
                                       struct lull_index *ret_index);
static lull_status reader_declare(struct lull_kernel_reader *reader, CXCursor declaration,
                                  struct lull_name **ret_name);

/* ==== indices ================================================================================= */

static struct lull_index plain_index(struct lull_poly poly)
{
    return (struct lull_index){.poly = poly, .access = LULL_KERNEL_NONE};
}

bool lull_reader_is_constant(const struct lull_kernel_reader *reader, CXCursor cursor,
                             int64_t *ret_value)
{
    CXEvalResult result = reader->clang->Cursor_Evaluate(cursor);
    bool is_integer = result && reader->clang->EvalResult_getKind(result) == CXEval_Int;
    if (is_integer)
        *ret_value = reader->clang->EvalResult_getAsLongLong(result);
    if (result)
        reader->clang->EvalResult_dispose(result);
    return is_integer;
}

static bool add_indices(const struct lull_index *a, const struct lull_index *b, int64_t sign,
                        struct lull_index *ret_sum)
{
    struct lull_index sum = a->access != LULL_KERNEL_NONE ? *a : *b;
    if (a->access != LULL_KERNEL_NONE && b->access != LULL_KERNEL_NONE)
        return false;
    const struct lull_poly zero = {0};
    if (a->access == LULL_KERNEL_NONE && b->access != LULL_KERNEL_NONE &&
        !lull_poly_add(&zero, &b->factor, sign, &sum.factor))
        return false;
    if (!lull_poly_add(&a->poly, &b->poly, sign, &sum.poly))
        return false;
    *ret_sum = sum;
    return true;
}

static bool multiply(const struct lull_index *a, const struct lull_index *b,
                     struct lull_index *ret_product)
{
    const struct lull_index *indirect = a->access != LULL_KERNEL_NONE ? a : b;
    const struct lull_index *other = indirect == a ? b : a;
    struct lull_index product = *indirect;
    if (other->access != LULL_KERNEL_NONE || !lull_poly_multiply(&a->poly, &b->poly, &product.poly))
        return false;
    if (product.access != LULL_KERNEL_NONE &&
        !lull_poly_multiply(&indirect->factor, &other->poly, &product.factor))
        return false;
    *ret_product = product;
    return true;
}

/* Makes a quotient of sizes alone a size. False: it is none, or there are too many symbols. */
static bool divide_sizes(struct lull_kernel_reader *reader, CXCursor cursor,
                         const struct lull_poly *a, int64_t divisor, struct lull_poly *ret_quotient)
{
    struct lull_kernel *kernel = reader->kernel;
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (lull_poly_contains(a, s) && !kernel->symbols[s].is_size)
            return false;
    if (divisor == 0 || kernel->n_symbols == LULL_POLY_SYMBOLS)
        return false;
    kernel->symbols[kernel->n_symbols] =
        (struct lull_kernel_symbol){.name = lull_reader_source_text(reader, cursor),
                                    .is_size = true,
                                    .has_value = true,
                                    .divisor = divisor,
                                    .dividend = *a};
    *ret_quotient = lull_poly_symbol(kernel->n_symbols++);
    return true;
}

static lull_status read_binary_index(struct lull_kernel_reader *reader, CXCursor cursor,
                                     struct lull_index *ret_index)
{
    struct lull_cursors operands = lull_reader_children(reader, cursor);
    const char *op = lull_reader_operator(reader, cursor);
    struct lull_index a, b;
    int64_t divisor;
    bool good = false;
    if (operands.count != 2)
        return reader_wrong(reader, cursor, "this expression is not understood");
    lull_status status = reader_index(reader, operands.items[0], &a);
    if (status == LULL_OK)
        status = reader_index(reader, operands.items[1], &b);
    if (status != LULL_OK)
        return status;
    if (!*op)
        return reader_wrong(reader, cursor, "the operator lies within a macro");
    if (strcmp(op, "+") == 0 || strcmp(op, "-") == 0)
        good = add_indices(&a, &b, *op == '+' ? 1 : -1, ret_index);
    else if (strcmp(op, "*") == 0)
        good = multiply(&a, &b, ret_index);
    else if (strcmp(op, "/") == 0 && lull_poly_is_constant(&b.poly, &divisor) &&
             a.access == LULL_KERNEL_NONE && b.access == LULL_KERNEL_NONE) {
        *ret_index = plain_index((struct lull_poly){0});
        good = lull_poly_divide(&a.poly, divisor, &ret_index->poly) ||
               divide_sizes(reader, cursor, &a.poly, divisor, &ret_index->poly);
    }
    return good ? LULL_OK
                : reader_wrong(reader, cursor, "'%s' is not affine",
                               lull_reader_source_text(reader, cursor));
}

static lull_status read_unary_index(struct lull_kernel_reader *reader, CXCursor cursor,
                                    struct lull_index *ret_index)
{
    struct lull_cursors operands = lull_reader_children(reader, cursor);
    const char *op = lull_reader_operator(reader, cursor);
    const struct lull_index zero = plain_index((struct lull_poly){0});
    struct lull_index a;
    if (operands.count != 1 || (strcmp(op, "-") != 0 && strcmp(op, "+") != 0))
        return reader_wrong(reader, cursor, "'%s' is not affine",
                            lull_reader_source_text(reader, cursor));
    lull_status status = reader_index(reader, operands.items[0], &a);
    if (status == LULL_OK && !add_indices(&zero, &a, *op == '-' ? -1 : 1, ret_index))
        return reader_wrong(reader, cursor, "'%s' is not affine",
                            lull_reader_source_text(reader, cursor));
    return status;
}

/* Finds what a variable or member stands for, which the cursor names. */
static lull_status find_declared(struct lull_kernel_reader *reader, CXCursor cursor,
                                 struct lull_name **ret_name)
{
    struct named named = name_of_variable(reader->clang->getCursorReferenced(cursor));
    if (reader->clang->getCursorKind(cursor) == CXCursor_MemberRefExpr &&
        !name_of_member(reader, cursor, &named))
        return reader_wrong(reader, cursor, "the structure in '%s' is not understood",
                            lull_reader_source_text(reader, cursor));
    return declare_named(reader, &named, ret_name);
}

static lull_status read_name(struct lull_kernel_reader *reader, CXCursor cursor,
                             struct lull_index *ret_index)
{
    struct lull_name *name;
    if (!lull_reader_is_integer(reader, reader->clang->getCursorType(cursor)))
        return reader_wrong(reader, cursor, "'%s' is no integer",
                            lull_reader_spelling(reader, cursor));
    lull_status status = find_declared(reader, cursor, &name);
    if (status != LULL_OK)
        return status;
    if (name->kind == LULL_NAME_UNKNOWN && !reader->in_bound)
        return reader_wrong(reader, cursor, "'%s' is not affine",
                            lull_reader_spelling(reader, cursor));
    if (name->kind == LULL_NAME_UNKNOWN) {
        const struct named named = name_of_variable(name->declaration);
        struct lull_name *size;
        status = declare_size(reader, &named, &size);
        if (status != LULL_OK)
            return status;
        reader->kernel->symbols[size->number].varies = true;
        name = find_named(reader, &named); /* it may have moved */
        *name = *size;
    }
    *ret_index = name->index;
    return LULL_OK;
}

/* ---- functions of the file ------------------------------------------------------------------- */

/* Finds the expression that a function of the file returns, if that is all that it does. */
static bool find_returned(const struct lull_kernel_reader *reader, CXCursor call,
                          CXCursor *ret_function, CXCursor *ret_value)
{
    const struct lull_clang *clang = reader->clang;
    CXCursor function = clang->getCursorDefinition(clang->getCursorReferenced(call));
    if (clang->getCursorKind(function) != CXCursor_FunctionDecl ||
        !clang->Location_isFromMainFile(clang->getCursorLocation(function)))
        return false;
    struct lull_cursors parts = lull_reader_children(reader, function);
    if (parts.count == 0 ||
        clang->getCursorKind(parts.items[parts.count - 1]) != CXCursor_CompoundStmt)
        return false;
    struct lull_cursors body = lull_reader_children(reader, parts.items[parts.count - 1]);
    if (body.count != 1 || clang->getCursorKind(body.items[0]) != CXCursor_ReturnStmt)
        return false;
    struct lull_cursors value = lull_reader_children(reader, body.items[0]);
    *ret_function = function;
    *ret_value = value.count == 1 ? value.items[0] : function;
    return value.count == 1;
}

/* Lets the parameters of a function stand for the arguments of a call. With `read` floating-point
 * arguments are read here, once. The caller takes the parameters away again. */
static lull_status bind_parameters(struct lull_kernel_reader *reader, CXCursor call,
                                   CXCursor function, bool read)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_cursors arguments = lull_reader_children(reader, call);
    struct lull_cursors parts = lull_reader_children(reader, function);
    struct lull_reader_parameter bound[LULL_READER_PARAMETERS];
    size_t count = 0, next = 1; /* behind the function's name */
    for (size_t i = 0; i < parts.count; i++) {
        if (clang->getCursorKind(parts.items[i]) != CXCursor_ParmDecl)
            continue;
        if (next >= arguments.count || reader->n_parameters + count == LULL_READER_PARAMETERS)
            return reader_wrong(reader, call, "the call '%s' is not understood",
                                lull_reader_source_text(reader, call));
        bound[count] = (struct lull_reader_parameter){
            .declaration = parts.items[i],
            .argument = arguments.items[next++],
            .is_read = read && reader_is_floating(reader, clang->getCursorType(parts.items[i]))};
        lull_status status =
            bound[count].is_read ? reader_expression(reader, bound[count].argument) : LULL_OK;
        if (status != LULL_OK)
            return status;
        count++;
    }
    for (size_t i = 0; i < count; i++)
        reader->parameters[reader->n_parameters++] = bound[i];
    return LULL_OK;
}

/* Reads the call of a function as an index. */
static lull_status read_call_index(struct lull_kernel_reader *reader, CXCursor cursor,
                                   struct lull_index *ret_index)
{
    CXCursor function, value;
    const size_t before = reader->n_parameters;
    if (!find_returned(reader, cursor, &function, &value))
        return reader_wrong(reader, cursor, "'%s' is not affine",
                            lull_reader_source_text(reader, cursor));
    lull_status status = bind_parameters(reader, cursor, function, false);
    if (status == LULL_OK)
        status = reader_index(reader, value, ret_index);
    reader->n_parameters = before;
    return status;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* Reads an element of an array as an index. */
static lull_status read_loaded_index(struct lull_kernel_reader *reader, CXCursor cursor,
                                     struct lull_index *ret_index)
{
    lull_status status = reader_access(reader, cursor, false);
    *ret_index = (struct lull_index){.access = (int)reader->kernel->n_accesses - 1,
                                     .factor = lull_poly_constant(1)};
    return status;
}

static lull_status reader_index(struct lull_kernel_reader *reader, CXCursor cursor,
                                struct lull_index *ret_index)
{
    int64_t value;
    cursor = lull_reader_strip(reader, cursor);
    switch (reader->clang->getCursorKind(cursor)) {
    case CXCursor_DeclRefExpr:
    case CXCursor_MemberRefExpr:
        return read_name(reader, cursor, ret_index);
    case CXCursor_CallExpr:
        if (is_container_call(reader, cursor, "size"))
            return read_container_size(reader, cursor, ret_index);
        return is_container_call(reader, cursor, "operator[]")
                   ? read_loaded_index(reader, cursor, ret_index)
                   : read_call_index(reader, cursor, ret_index);
    case CXCursor_ArraySubscriptExpr:
        return read_loaded_index(reader, cursor, ret_index);
    case CXCursor_BinaryOperator:
        return read_binary_index(reader, cursor, ret_index);
    default:
        break;
    }
    if (lull_reader_is_constant(reader, cursor, &value)) {
        *ret_index = plain_index(lull_poly_constant(value));
        return LULL_OK;
    }
    if (reader->clang->getCursorKind(cursor) == CXCursor_UnaryOperator)
        return read_unary_index(reader, cursor, ret_index);
    return reader_wrong(reader, cursor, "'%s' is not affine",
                        lull_reader_source_text(reader, cursor));
}

static lull_status reader_poly(struct lull_kernel_reader *reader, CXCursor cursor, const char *what,
                               struct lull_poly *ret_poly)
{
    struct lull_index index;
    lull_status status = reader_index(reader, cursor, &index);
    if (status != LULL_OK)
        return reader_wrong(reader, cursor, "%s is not understood: '%s'", what,
                            lull_reader_source_text(reader, cursor));
    if (index.access != LULL_KERNEL_NONE)
        return reader_wrong(reader, cursor, "%s is unknown: '%s' is read from an array", what,
                            lull_reader_source_text(reader, cursor));
    *ret_poly = index.poly;
    return LULL_OK;
}

/* ---- containers of C++ ----------------------------------------------------------------------- */

/* Whether a call is that of a method of a container of the standard library whose elements lie one behind the other:
 * v[i], v.size(). */
static bool is_container_call(const struct lull_kernel_reader *reader, CXCursor call,
                              const char *method)
{
    static const char *const containers[] = {"vector", "array", "valarray", "span", "unique_ptr"};
    const struct lull_clang *clang = reader->clang;
    if (!reader->is_cpp || clang->getCursorKind(call) != CXCursor_CallExpr ||
        strcmp(lull_reader_spelling(reader, call), method) != 0)
        return false;
    CXCursor parent = clang->getCursorSemanticParent(clang->getCursorReferenced(call));
    const char *name = lull_reader_spelling(reader, parent);
    bool known = false;
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        known |= strcmp(name, containers[i]) == 0;
    while (known && clang->getCursorKind(parent) != CXCursor_TranslationUnit &&
           clang->getCursorKind(parent) != CXCursor_InvalidFile) {
        if (clang->getCursorKind(parent) == CXCursor_Namespace &&
            strcmp(lull_reader_spelling(reader, parent), "std") == 0)
            return true;
        parent = clang->getCursorSemanticParent(parent);
    }
    return false;
}

/* The variable or member that a container is; false: it is something else, as an element of another container, whose
 * data may lie anywhere. */
static bool name_of_container(struct lull_kernel_reader *reader, CXCursor cursor,
                              struct named *ret_named)
{
    cursor = lull_reader_strip(reader, cursor);
    const struct lull_clang *clang = reader->clang;
    const enum CXCursorKind kind = clang->getCursorKind(cursor);
    if (kind == CXCursor_MemberRefExpr)
        return name_of_member(reader, cursor, ret_named);
    *ret_named = name_of_variable(clang->getCursorReferenced(cursor));
    if (kind != CXCursor_DeclRefExpr)
        return false;
    if (clang->getCursorKind(ret_named->variable) != CXCursor_VarDecl ||
        !is_reference(clang->getCanonicalType(clang->getCursorType(ret_named->variable))))
        return true;
    CXCursor to; /* auto &v = grid.data */
    return find_initial_value(reader, ret_named->variable, &to) &&
           name_of_container(reader, to, ret_named);
}

/* Reads v.size(), as a size called "v.size". */
static lull_status read_container_size(struct lull_kernel_reader *reader, CXCursor call,
                                       struct lull_index *ret_index)
{
    struct lull_cursors parts = lull_reader_children(reader, call);
    struct lull_cursors object = {0};
    struct named named;
    if (parts.count > 0)
        object = lull_reader_children(reader, parts.items[0]);
    if (object.count == 0 || !name_of_container(reader, object.items[0], &named))
        return reader_wrong(reader, call, "'%s' is not affine",
                            lull_reader_source_text(reader, call));
    named.member = lull_arena_printf(reader->arena, "%s.size", named.member ? named.member : "");
    struct lull_name *name = find_named(reader, &named);
    lull_status status = name ? LULL_OK : declare_size(reader, &named, &name);
    if (status == LULL_OK)
        *ret_index = name->index;
    return status;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Finds how many elements a step of the next dimension is. */
static bool next_step(const struct lull_kernel_array *array, size_t used,
                      struct lull_poly *ret_step)
{
    *ret_step = lull_poly_constant(1);
    for (size_t i = used + 1; i < array->n_dimensions; i++)
        if (!lull_poly_multiply(ret_step, &array->extent[i], ret_step))
            return false;
    return true;
}

static bool advance(const struct lull_kernel_reader *reader, struct lull_array_place *place,
                    const struct lull_index *index, int64_t sign)
{
    struct lull_poly step;
    struct lull_index part, scaled;
    if (!next_step(&reader->kernel->arrays[place->array], place->used, &step))
        return false;
    scaled = plain_index(step);
    return multiply(index, &scaled, &part) &&
           add_indices(&place->offset, &part, sign, &place->offset);
}

static lull_status follow(struct lull_kernel_reader *reader, CXCursor cursor,
                          struct lull_array_place *ret_place);

static lull_status follow_name(struct lull_kernel_reader *reader, CXCursor cursor,
                               struct lull_array_place *ret_place)
{
    struct lull_name *name;
    lull_status status = find_declared(reader, cursor, &name);
    if (status != LULL_OK)
        return status;
    if (name->kind == LULL_NAME_PLACE) {
        *ret_place = name->place;
        return LULL_OK;
    }
    if (name->kind != LULL_NAME_ARRAY)
        return reader_wrong(reader, cursor, "'%s' is no array",
                            lull_reader_spelling(reader, cursor));
    *ret_place = (struct lull_array_place){.array = name->number};
    ret_place->offset.access = LULL_KERNEL_NONE;
    return LULL_OK;
}

/* Follows a[i], or the address a + i. */
static lull_status follow_index(struct lull_kernel_reader *reader, CXCursor cursor, CXCursor base,
                                CXCursor index, bool is_element, int64_t sign,
                                struct lull_array_place *ret_place)
{
    struct lull_index moved;
    lull_status status = follow(reader, base, ret_place);
    if (status == LULL_OK)
        status = reader_index(reader, index, &moved);
    if (status != LULL_OK)
        return status;
    const char *name = reader->kernel->arrays[ret_place->array].name;
    if (!advance(reader, ret_place, &moved, sign))
        return reader_wrong(reader, cursor, "index of '%s' is not affine", name);
    ret_place->used += is_element;
    return LULL_OK;
}

/* Follows the address that a function returns. */
static lull_status follow_call(struct lull_kernel_reader *reader, CXCursor cursor,
                               struct lull_array_place *ret_place)
{
    CXCursor function, value;
    const size_t before = reader->n_parameters;
    if (!find_returned(reader, cursor, &function, &value))
        return reader_wrong(reader, cursor, "the address '%s' is not understood",
                            lull_reader_source_text(reader, cursor));
    lull_status status = bind_parameters(reader, cursor, function, false);
    if (status == LULL_OK)
        status = follow(reader, value, ret_place);
    reader->n_parameters = before;
    return status;
}

/* Finds the first element of a container, whose elements have a type. */
static lull_status find_container(struct lull_kernel_reader *reader, CXCursor container,
                                  CXType element, struct lull_array_place *ret_place)
{
    struct named named;
    if (!name_of_container(reader, container, &named))
        return reader_wrong(reader, container, "where '%s' lies is not known",
                            lull_reader_source_text(reader, container));
    struct lull_name *name = find_named(reader, &named);
    lull_status status = name ? LULL_OK : declare_container(reader, &named, element, &name);
    if (status != LULL_OK)
        return status;
    *ret_place = (struct lull_array_place){.array = name->number, .used = 0};
    ret_place->offset.access = LULL_KERNEL_NONE;
    return LULL_OK;
}

/* Follows v[i] of a container. */
static lull_status follow_container(struct lull_kernel_reader *reader, CXCursor cursor,
                                    struct lull_array_place *ret_place)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor); /* v, operator[], i */
    struct lull_index moved;
    struct named named;
    if (parts.count != 3 || !name_of_container(reader, parts.items[0], &named))
        return reader_wrong(reader, cursor, "where '%s' lies is not known",
                            lull_reader_source_text(reader, cursor));
    lull_status status =
        find_container(reader, parts.items[0], reader->clang->getCursorType(cursor), ret_place);
    if (status != LULL_OK)
        return status;
    status = reader_index(reader, parts.items[2], &moved);
    if (status == LULL_OK && !advance(reader, ret_place, &moved, 1))
        return reader_wrong(reader, cursor, "index of '%s' is not affine",
                            lull_reader_source_text(reader, parts.items[0]));
    ret_place->used = 1;
    return status;
}

/* Follows v.data() of a container. */
static lull_status follow_data(struct lull_kernel_reader *reader, CXCursor cursor,
                               struct lull_array_place *ret_place)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    struct lull_cursors object = {0};
    if (parts.count > 0)
        object = lull_reader_children(reader, parts.items[0]);
    if (object.count == 0)
        return reader_wrong(reader, cursor, "where '%s' lies is not known",
                            lull_reader_source_text(reader, cursor));
    const CXType pointer = clang->getCanonicalType(clang->getCursorType(cursor));
    return find_container(reader, object.items[0], clang->getPointeeType(pointer), ret_place);
}

/* Follows *p, or the address &a[i]. */
static lull_status follow_unary(struct lull_kernel_reader *reader, CXCursor cursor, CXCursor inside,
                                char op, struct lull_array_place *ret_place)
{
    lull_status status = follow(reader, inside, ret_place);
    if (status != LULL_OK)
        return status;
    if (op == '&' && ret_place->used == 0)
        return reader_wrong(reader, cursor, "the address '%s' is not understood",
                            lull_reader_source_text(reader, cursor));
    ret_place->used = op == '*' ? ret_place->used + 1 : ret_place->used - 1;
    return LULL_OK;
}

static lull_status follow(struct lull_kernel_reader *reader, CXCursor cursor,
                          struct lull_array_place *ret_place)
{
    cursor = lull_reader_strip(reader, cursor);
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op;
    switch (reader->clang->getCursorKind(cursor)) {
    case CXCursor_DeclRefExpr:
    case CXCursor_MemberRefExpr:
        return follow_name(reader, cursor, ret_place);
    case CXCursor_CallExpr:
        if (is_container_call(reader, cursor, "data"))
            return follow_data(reader, cursor, ret_place);
        return is_container_call(reader, cursor, "operator[]")
                   ? follow_container(reader, cursor, ret_place)
                   : follow_call(reader, cursor, ret_place);
    case CXCursor_ArraySubscriptExpr:
        return follow_index(reader, cursor, parts.items[0], parts.items[1], true, 1, ret_place);
    case CXCursor_BinaryOperator:
        op = lull_reader_operator(reader, cursor);
        if (strcmp(op, "+") == 0 || strcmp(op, "-") == 0)
            return follow_index(reader, cursor, parts.items[0], parts.items[1], false,
                                *op == '+' ? 1 : -1, ret_place);
        break;
    case CXCursor_UnaryOperator:
        op = lull_reader_operator(reader, cursor);
        if (strcmp(op, "*") == 0 || strcmp(op, "&") == 0)
            return follow_unary(reader, cursor, parts.items[0], *op, ret_place);
        break;
    default:
        break;
    }
    return reader_wrong(reader, cursor, "the address '%s' is not understood",
                        lull_reader_source_text(reader, cursor));
}

/* Whether an offset is at most linear in every loop variable, without a product of two. */
static bool is_affine(const struct lull_kernel *kernel, const struct lull_poly *offset)
{
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        struct lull_poly factor, rest;
        if (kernel->symbols[s].is_size)
            continue;
        if (!lull_poly_split(offset, s, &factor, &rest))
            return false;
        for (size_t other = 0; other < kernel->n_symbols; other++)
            if (!kernel->symbols[other].is_size && lull_poly_contains(&factor, other))
                return false;
    }
    return true;
}

/* Whether an offset depends on what a bound stands for that is not understood. */
static bool varies(const struct lull_kernel *kernel, const struct lull_poly *offset)
{
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].varies && lull_poly_contains(offset, s))
            return true;
    return false;
}

static lull_status reader_access(struct lull_kernel_reader *reader, CXCursor cursor, bool write)
{
    struct lull_kernel *kernel = reader->kernel;
    struct lull_array_place place = {0};
    lull_status status = follow(reader, cursor, &place);
    if (status != LULL_OK)
        return status;
    const struct lull_kernel_array *array = &kernel->arrays[place.array];
    if (place.used != array->n_dimensions)
        return reader_wrong(reader, cursor, "'%s' is no element of '%s'",
                            lull_reader_source_text(reader, cursor), array->name);
    if (!is_affine(kernel, &place.offset.poly) || varies(kernel, &place.offset.poly))
        return reader_wrong(reader, cursor, "index of '%s' is not affine", array->name);
    kernel->accesses = lull_arena_grow(reader->arena, kernel->accesses, &reader->accesses_capacity,
                                       kernel->n_accesses + 1, sizeof *kernel->accesses);
    kernel->accesses[kernel->n_accesses++] =
        (struct lull_kernel_access){.array = place.array,
                                    .loop = reader->loop,
                                    .write = write,
                                    .offset = place.offset.poly,
                                    .index_access = place.offset.access,
                                    .index_factor = place.offset.factor,
                                    .line = lull_reader_line(reader, cursor)};
    return LULL_OK;
}

/* ==== declarations ============================================================================ */

/* Variables that a kernel uses: their declarations tell what they are. */

/* Whether what -D calls `given` is the size `name`: "grid.rows", or of a member its last part alone,
 * "rows". */
static bool is_given_name(const struct lull_kernel_reader *reader, const char *given,
                          const char *name)
{
    const char *dot = strrchr(name, '.');
    return strcmp(given, name) == 0 || (dot && strcmp(given, dot + 1) == 0) ||
           (reader->is_fortran && strcasecmp(given, name) == 0);
}

static lull_status declare_size(struct lull_kernel_reader *reader, const struct named *named,
                                struct lull_name **ret_name)
{
    struct lull_kernel *kernel = reader->kernel;
    int64_t value;
    if (kernel->n_symbols == LULL_POLY_SYMBOLS)
        return reader_wrong(reader, named->variable, "more than %d sizes and loop variables",
                            LULL_POLY_SYMBOLS);
    struct lull_kernel_symbol *symbol = &kernel->symbols[kernel->n_symbols];
    *symbol = (struct lull_kernel_symbol){.name = text_of_name(reader, named),
                                          .is_size = true,
                                          .is_member = named->member != NULL,
                                          .line = lull_reader_line(reader, named->variable)};
    if (reader->source->first_line > 0 && !named->member && !reader->values_are_open &&
        lull_reader_value(reader, named->variable, &value)) {
        symbol->has_value = true;
        symbol->value = (double)value;
    }
    for (size_t i = 0; i < reader->source->n_sizes; i++)
        if (is_given_name(reader, reader->source->sizes[i].name, symbol->name)) {
            symbol->has_value = true;
            symbol->value = reader->source->sizes[i].value;
        }
    struct lull_name *name = add_name(reader, named, LULL_NAME_SYMBOL, kernel->n_symbols);
    name->index.poly = lull_poly_symbol(kernel->n_symbols++);
    *ret_name = name;
    return LULL_OK;
}

static lull_status declare_scalar(struct lull_kernel_reader *reader, const struct named *named,
                                  struct lull_name **ret_name)
{
    struct lull_kernel *kernel = reader->kernel;
    CXType type = reader->clang->getCursorType(named->typed);
    CXString spelling = reader->clang->getTypeSpelling(type);
    kernel->scalars = lull_arena_grow(reader->arena, kernel->scalars, &reader->scalars_capacity,
                                      kernel->n_scalars + 1, sizeof *kernel->scalars);
    kernel->scalars[kernel->n_scalars] = (struct lull_kernel_scalar){
        .name = text_of_name(reader, named),
        .type = lull_arena_strdup(reader->arena, reader->clang->getCString(spelling)),
        .floating = reader_is_floating(reader, type),
        .is_member = named->member != NULL};
    reader->clang->disposeString(spelling);
    *ret_name = add_name(reader, named, LULL_NAME_SCALAR, kernel->n_scalars++);
    return LULL_OK;
}

static bool is_array(CXType type)
{
    return type.kind == CXType_ConstantArray || type.kind == CXType_VariableArray ||
           type.kind == CXType_IncompleteArray;
}

/* Reads the extents of an array, which stand in brackets, in the order of the source, before an
 * initialiser. */
static lull_status read_extents(struct lull_kernel_reader *reader, CXCursor declaration,
                                struct lull_kernel_array *array)
{
    struct lull_cursors children = lull_reader_children(reader, declaration);
    CXCursor extents[LULL_KERNEL_DIMENSIONS];
    /* A pointer has no first extent; what stands behind the others is its value. */
    const bool is_pointer_variable =
        reader->clang->getCursorKind(declaration) == CXCursor_VarDecl &&
        reader->clang->getCanonicalType(reader->clang->getCursorType(declaration)).kind ==
            CXType_Pointer;
    const size_t most = array->n_dimensions - is_pointer_variable;
    size_t count = 0;
    for (size_t i = 0; i < children.count && count < most; i++)
        if (reader->clang->isExpression(reader->clang->getCursorKind(children.items[i])))
            extents[count++] = children.items[i];
    size_t first = array->n_dimensions - count;
    if (first > 1)
        return reader_wrong(reader, declaration, "extents of '%s' are not understood", array->name);
    array->is_pointer = first == 1;
    for (size_t i = 0; i < count; i++) {
        array->extent_text[first + i] = lull_reader_source_text(reader, extents[i]);
        lull_status status = reader_poly(
            reader, extents[i], lull_arena_printf(reader->arena, "extent of '%s'", array->name),
            &array->extent[first + i]);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status declare_array(struct lull_kernel_reader *reader, const struct named *named,
                                 CXType type, struct lull_name **ret_name)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_kernel *kernel = reader->kernel;
    const CXCursor declaration = named->typed;
    struct lull_kernel_array array = {.name = text_of_name(reader, named),
                                      .is_member = named->member != NULL,
                                      .line = lull_reader_line(reader, named->variable)};
    while (is_array(type) || type.kind == CXType_Pointer) {
        bool pointer = type.kind == CXType_Pointer;
        if (array.n_dimensions == LULL_KERNEL_DIMENSIONS)
            return reader_wrong(reader, declaration, "'%s' has more than %d dimensions", array.name,
                                LULL_KERNEL_DIMENSIONS);
        if (pointer && array.n_dimensions > 0)
            return reader_wrong(reader, declaration,
                                "'%s' is an array of pointers, which may point anywhere",
                                array.name);
        array.n_dimensions++;
        type = pointer ? clang->getPointeeType(type) : clang->getArrayElementType(type);
        array.is_const = clang->isConstQualifiedType(type);
        type = clang->getCanonicalType(type);
    }
    array.floating = reader_is_floating(reader, type);
    if (!array.floating && !lull_reader_is_integer(reader, type))
        return reader_wrong(reader, declaration, "'%s' is no array of numbers", array.name);
    array.bytes = (unsigned)clang->Type_getSizeOf(type);
    CXString spelling = clang->getTypeSpelling(type);
    const char *element = clang->getCString(spelling);
    if (array.is_const && strncmp(element, "const ", 6) == 0)
        element += 6;
    array.element = lull_arena_strdup(reader->arena, element);
    clang->disposeString(spelling);
    lull_status status = read_extents(reader, declaration, &array);
    if (status != LULL_OK)
        return status;
    kernel->arrays = lull_arena_grow(reader->arena, kernel->arrays, &reader->arrays_capacity,
                                     kernel->n_arrays + 1, sizeof *kernel->arrays);
    kernel->arrays[kernel->n_arrays] = array;
    *ret_name = add_name(reader, named, LULL_NAME_ARRAY, kernel->n_arrays++);
    return LULL_OK;
}

static lull_status declare_container(struct lull_kernel_reader *reader, const struct named *named,
                                     CXType element, struct lull_name **ret_name)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_kernel *kernel = reader->kernel;
    const CXType type = clang->getCanonicalType(element);
    struct lull_kernel_array array = {.name = text_of_name(reader, named),
                                      .is_member = named->member != NULL,
                                      .line = lull_reader_line(reader, named->variable),
                                      .n_dimensions = 1,
                                      .is_pointer = true,
                                      .floating = reader_is_floating(reader, type),
                                      .is_const = clang->isConstQualifiedType(type)};
    if (!array.floating && !lull_reader_is_integer(reader, type))
        return reader_wrong(reader, named->variable, "'%s' is no array of numbers", array.name);
    array.bytes = (unsigned)clang->Type_getSizeOf(type);
    CXString spelling = clang->getTypeSpelling(type);
    array.element = lull_arena_strdup(reader->arena, clang->getCString(spelling));
    clang->disposeString(spelling);
    kernel->arrays = lull_arena_grow(reader->arena, kernel->arrays, &reader->arrays_capacity,
                                     kernel->n_arrays + 1, sizeof *kernel->arrays);
    kernel->arrays[kernel->n_arrays] = array;
    *ret_name = add_name(reader, named, LULL_NAME_ARRAY, kernel->n_arrays++);
    return LULL_OK;
}

/* Notes a structure of the function around the nest, which the nest needs when it is compiled alone. */
static void declare_object(struct lull_kernel_reader *reader, CXCursor variable)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_kernel *kernel = reader->kernel;
    const char *name = lull_reader_spelling(reader, variable);
    if (clang->getCursorKind(clang->getCursorSemanticParent(variable)) == CXCursor_TranslationUnit)
        return;
    for (size_t i = 0; i < kernel->n_objects; i++)
        if (strcmp(kernel->objects[i].name, name) == 0)
            return;
    CXType type = clang->getCursorType(variable);
    CXString spelling = clang->getTypeSpelling(type);
    kernel->objects = lull_arena_grow(reader->arena, kernel->objects, &reader->objects_capacity,
                                      kernel->n_objects + 1, sizeof *kernel->objects);
    kernel->objects[kernel->n_objects++] = (struct lull_kernel_object){
        .name = name,
        .type = lull_arena_strdup(reader->arena, clang->getCString(spelling)),
        .is_pointer = clang->getCanonicalType(type).kind == CXType_Pointer};
    clang->disposeString(spelling);
}

/* Whether a variable is a constant, whose value stands for it. */
static bool has_value(const struct lull_kernel_reader *reader, CXCursor declaration,
                      int64_t *ret_value)
{
    const struct lull_clang *clang = reader->clang;
    if (clang->getCursorKind(declaration) == CXCursor_EnumConstantDecl) {
        *ret_value = clang->getEnumConstantDeclValue(declaration);
        return true;
    }
    if (!clang->isConstQualifiedType(clang->getCursorType(declaration)))
        return false;
    CXEvalResult result = clang->Cursor_Evaluate(declaration);
    bool is_integer = result && clang->EvalResult_getKind(result) == CXEval_Int;
    if (is_integer)
        *ret_value = clang->EvalResult_getAsLongLong(result);
    if (result)
        clang->EvalResult_dispose(result);
    return is_integer;
}

/* How many indices a pointer takes: double *p one, double (*p)[N] two. *ret_element is the type of what it then
 * leads to. */
static size_t depth_of_pointer(const struct lull_clang *clang, CXType type, CXType *ret_element)
{
    size_t depth = 1;
    type = clang->getCanonicalType(clang->getPointeeType(type));
    for (; is_array(type); depth++)
        type = clang->getCanonicalType(clang->getArrayElementType(type));
    *ret_element = type;
    return depth;
}

/* Follows what a pointer is declared with to its place in an array. False: that is not understood, and nothing has
 * changed. */
static bool follow_pointer(struct lull_kernel_reader *reader, CXType type, CXCursor value,
                           struct lull_array_place *ret_place)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_kernel *kernel = reader->kernel;
    const struct lull_kernel begun = *kernel;
    const struct lull_kernel_reader before = *reader;
    CXType element;
    const size_t depth = depth_of_pointer(clang, type, &element);
    reader->err = NULL;
    bool good = follow(reader, value, ret_place) == LULL_OK;
    if (good) {
        const struct lull_kernel_array *array = &kernel->arrays[ret_place->array];
        const size_t left = array->n_dimensions - ret_place->used;
        /* A cast may make rows of another length, or one row, of an array. */
        const bool is_cast =
            clang->getCursorKind(value) == CXCursor_CStyleCastExpr && (depth > 1 || left > 1);
        good = ret_place->used <= array->n_dimensions && left == depth && !is_cast &&
               clang->Type_getSizeOf(element) == (long long)array->bytes &&
               reader_is_floating(reader, element) == array->floating;
    }
    reader->err = before.err;
    if (good)
        return true;
    kernel->n_symbols = begun.n_symbols;
    kernel->n_arrays = begun.n_arrays;
    kernel->n_accesses = begun.n_accesses;
    kernel->n_scalars = begun.n_scalars;
    kernel->n_objects = begun.n_objects;
    kernel->preamble = begun.preamble;
    reader->n_names = before.n_names;
    reader->met_macro = before.met_macro;
    return false;
}

/* Declares a pointer that is another name of a place in an array, as it gets its value where it is declared, and never
 * another one: double *row = &a[i * n]. *ret_name NULL: it is not known to be one, and is taken for an array of its
 * own (lull_reader_check_names looks at that). In the nest this would be wrong, as it may move. */
static lull_status declare_place(struct lull_kernel_reader *reader, const struct named *named,
                                 CXType type, struct lull_name **ret_name)
{
    const struct lull_clang *clang = reader->clang;
    const CXCursor variable = named->variable;
    const bool is_inside = is_in_nest(reader, variable);
    struct lull_array_place place;
    CXCursor value;
    *ret_name = NULL;
    if (named->member || clang->getCursorKind(variable) != CXCursor_VarDecl ||
        clang->getCursorLinkage(variable) == CXLinkage_External ||
        !find_initial_value(reader, variable, &value))
        return LULL_OK;
    if (!lull_reader_is_changed(reader, variable) && follow_pointer(reader, type, value, &place)) {
        *ret_name = add_name(reader, named, LULL_NAME_PLACE, place.array);
        (*ret_name)->place = place;
        declare_before_nest(reader, variable, value);
        return LULL_OK;
    }
    return is_inside
               ? reader_wrong(reader, variable, "where '%s' points to is not understood: '%s'",
                              lull_reader_spelling(reader, variable),
                              lull_reader_source_text(reader, value))
               : LULL_OK;
}

static lull_status declare_named(struct lull_kernel_reader *reader, const struct named *named,
                                 struct lull_name **ret_name)
{
    int64_t value;
    *ret_name = find_named(reader, named);
    if (*ret_name)
        return LULL_OK;
    CXType type = reader->clang->getCanonicalType(reader->clang->getCursorType(named->typed));
    if (is_reference(type))
        return reader_wrong(reader, named->variable,
                            "'%s' is a reference, which may be to anything",
                            text_of_name(reader, named));
    if (!named->member && has_value(reader, named->variable, &value)) {
        *ret_name = add_name(reader, named, LULL_NAME_INDEX, 0);
        (*ret_name)->index.poly = lull_poly_constant(value);
        return LULL_OK;
    }
    if (named->member)
        declare_object(reader, named->variable);
    if (type.kind == CXType_Pointer) {
        lull_status status = declare_place(reader, named, type, ret_name);
        if (status != LULL_OK || *ret_name)
            return status;
    }
    if (is_array(type) || type.kind == CXType_Pointer)
        return declare_array(reader, named, type, ret_name);
    if (lull_reader_is_integer(reader, type))
        return declare_size(reader, named, ret_name);
    if (reader_is_floating(reader, type))
        return declare_scalar(reader, named, ret_name);
    return reader_wrong(reader, named->variable, "'%s' is neither a number nor an array",
                        text_of_name(reader, named));
}

static lull_status reader_declare(struct lull_kernel_reader *reader, CXCursor declaration,
                                  struct lull_name **ret_name)
{
    const struct named named = name_of_variable(declaration);
    return declare_named(reader, &named, ret_name);
}

/* ==== statements and expressions ============================================================== */

static lull_status read_all(struct lull_kernel_reader *reader, const struct lull_cursors *parts,
                            size_t first)
{
    lull_status status = LULL_OK;
    for (size_t i = first; status == LULL_OK && i < parts->count; i++)
        status = reader_expression(reader, parts->items[i]);
    return status;
}

static void count_operation(struct lull_kernel_reader *reader, CXCursor cursor, char op)
{
    if (reader->loop == LULL_KERNEL_NONE ||
        !reader_is_floating(reader, reader->clang->getCursorType(cursor)))
        return;
    struct lull_kernel_flops *flops = &reader->kernel->flops[reader->loop];
    flops->add += op == '+' || op == '-';
    flops->multiply += op == '*';
    flops->divide += op == '/';
}

/* Whether an expression reads a variable. */
static bool mentions(const struct lull_kernel_reader *reader, CXCursor cursor, CXCursor declaration)
{
    const enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
    if ((kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr) &&
        reader->clang->equalCursors(reader->clang->getCursorReferenced(cursor), declaration))
        return true;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    for (size_t i = 0; i < parts.count; i++)
        if (mentions(reader, parts.items[i], declaration))
            return true;
    return false;
}

/* Writes a scalar variable. `value` NULL: the old value is part of the new one, as with +=. */
static lull_status write_variable(struct lull_kernel_reader *reader, CXCursor cursor,
                                  const CXCursor *value)
{
    CXCursor declaration = reader->clang->getCursorReferenced(cursor);
    struct lull_name *name;
    lull_status status = find_declared(reader, cursor, &name);
    if (status != LULL_OK)
        return status;
    if (name->kind != LULL_NAME_SCALAR)
        return reader_wrong(reader, cursor, "'%s', an integer or an array, is changed in the loop",
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
    const enum CXCursorKind kind = reader->clang->getCursorKind(target);
    if (kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr)
        return write_variable(reader, target, value);
    return reader_access(reader, target, true);
}

static lull_status read_assignment(struct lull_kernel_reader *reader, CXCursor cursor,
                                   bool compound)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op = lull_reader_operator(reader, cursor);
    if (parts.count != 2 || !*op)
        return reader_wrong(reader, cursor, "this assignment lies within a macro");
    lull_status status = reader_expression(reader, parts.items[1]);
    if (status == LULL_OK && compound) {
        status = reader_expression(reader, parts.items[0]);
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
        return reader_wrong(reader, cursor, "the operator lies within a macro");
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
        return reader_access(reader, cursor, false);
    lull_status status = read_all(reader, &parts, 0);
    if (status != LULL_OK || (strcmp(op, "++") != 0 && strcmp(op, "--") != 0))
        return status;
    count_operation(reader, cursor, '+');
    return write_to(reader, parts.items[0], NULL);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Calls that compilers replace by an instruction or two, with the additions and multiplications of
 * one call. */
static const struct {
    const char *name;
    double flops[2]; /* additions, multiplications */
} inline_calls[] = {{"fabs", {0, 0}}, {"fabsf", {0, 0}}, {"fma", {1, 1}}, {"fmaf", {1, 1}}};

/* Those of such a call; NULL: it is another one. */
static const double *flops_of_call(const char *function)
{
    for (size_t i = 0; i < sizeof inline_calls / sizeof *inline_calls; i++)
        if (strcmp(function, inline_calls[i].name) == 0)
            return inline_calls[i].flops;
    return NULL;
}

static bool has_cost(const struct lull_kernel_reader *reader, const char *function)
{
    for (size_t i = 0; i < reader->source->n_costs; i++)
        if (strcmp(function, reader->source->costs[i].name) == 0)
            return true;
    return false;
}

/* Whether a call stands for what of Fortran is not understood (fortran.h); tells the reason. */
static bool is_refused(const struct lull_kernel_reader *reader, CXCursor call)
{
    const struct lull_clang *clang = reader->clang;
    if (!reader->is_fortran || clang->getCursorKind(call) != CXCursor_CallExpr ||
        strcmp(lull_reader_spelling(reader, call), "lull_refused") != 0)
        return false;
    const char *text = lull_reader_source_text(reader, call);
    const char *begin = strchr(text, '"'), *end = strrchr(text, '"');
    if (begin && end > begin)
        reader_wrong(reader, call, "not understood: %.*s", (int)(end - begin - 1), begin + 1);
    return begin && end > begin;
}

static lull_status read_call(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_kernel *kernel = reader->kernel;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *name = lull_reader_spelling(reader, cursor);
    CXCursor function, value;
    if (is_refused(reader, cursor))
        return LULL_ERR_FORMAT;
    if (!has_cost(reader, name) && find_returned(reader, cursor, &function, &value)) {
        const size_t before = reader->n_parameters;
        lull_status inside = bind_parameters(reader, cursor, function, true);
        if (inside == LULL_OK)
            inside = reader_expression(reader, value);
        reader->n_parameters = before;
        return inside;
    }
    const double *flops = flops_of_call(name);
    if (reader->is_cpp && strncmp(name, "operator", 8) == 0)
        return reader_wrong(reader, cursor, "the operator of a class in '%s' is not understood",
                            lull_reader_source_text(reader, cursor));
    if (!flops && !has_cost(reader, name))
        return reader_wrong(reader, cursor,
                            "call of '%s' has no cost: give its cycles with --call %s=CYCLES",
                            *name ? name : "a function pointer", *name ? name : "NAME");
    lull_status status = read_all(reader, &parts, 1);
    if (status != LULL_OK)
        return status;
    if (flops) {
        if (reader->loop != LULL_KERNEL_NONE) {
            kernel->flops[reader->loop].add += flops[0];
            kernel->flops[reader->loop].multiply += flops[1];
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
        break;
    }
    return LULL_OK;
}

static lull_status reader_expression(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_name *name;
    cursor = lull_reader_strip(reader, cursor);
    switch (reader->clang->getCursorKind(cursor)) {
    case CXCursor_ArraySubscriptExpr:
        return reader_access(reader, cursor, false);
    case CXCursor_DeclRefExpr:
    case CXCursor_MemberRefExpr:
        return parameter_of(reader, cursor) ? LULL_OK : find_declared(reader, cursor, &name);
    case CXCursor_BinaryOperator:
        return read_binary_expression(reader, cursor);
    case CXCursor_CompoundAssignOperator:
        return read_assignment(reader, cursor, true);
    case CXCursor_UnaryOperator:
        return read_unary_expression(reader, cursor);
    case CXCursor_CallExpr:
        return is_container_call(reader, cursor, "operator[]")
                   ? reader_access(reader, cursor, false)
                   : read_call(reader, cursor);
    case CXCursor_ConditionalOperator: {
        struct lull_cursors parts = lull_reader_children(reader, cursor);
        return read_all(reader, &parts, 0);
    }
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
    case CXCursor_UnaryExpr: /* sizeof */
        return LULL_OK;
    default:
        break;
    }
    return reader_wrong(reader, cursor, "'%s' is not understood",
                        lull_reader_source_text(reader, cursor));
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Reads the variable of a loop, which is declared in it or assigned to, and its first value. */
static lull_status read_begin(struct lull_kernel_reader *reader, CXCursor init,
                              CXCursor *ret_variable, struct lull_poly *ret_begin)
{
    struct lull_cursors parts = lull_reader_children(reader, init);
    enum CXCursorKind kind = reader->clang->getCursorKind(init);
    if (is_refused(reader, init))
        return LULL_ERR_FORMAT;
    if (kind == CXCursor_DeclStmt && parts.count == 1) {
        struct lull_cursors inside = lull_reader_children(reader, parts.items[0]);
        *ret_variable = parts.items[0];
        if (inside.count > 0)
            return reader_poly(reader, inside.items[inside.count - 1], "begin of the loop",
                               ret_begin);
    }
    if (kind == CXCursor_BinaryOperator && parts.count == 2 &&
        strcmp(lull_reader_operator(reader, init), "=") == 0) {
        *ret_variable =
            reader->clang->getCursorReferenced(lull_reader_strip(reader, parts.items[0]));
        return reader_poly(reader, parts.items[1], "begin of the loop", ret_begin);
    }
    return reader_wrong(reader, init, "begin of the loop is not understood");
}

static bool is_variable(const struct lull_kernel_reader *reader, CXCursor cursor, CXCursor variable)
{
    cursor = lull_reader_strip(reader, cursor);
    return reader->clang->getCursorKind(cursor) == CXCursor_DeclRefExpr &&
           reader->clang->equalCursors(reader->clang->getCursorReferenced(cursor), variable);
}

/* Reads the end of a loop, the first value that is left out: n + 1 for <= n, n - 1 for >= n. */
static lull_status read_end(struct lull_kernel_reader *reader, CXCursor condition,
                            CXCursor variable, struct lull_poly *ret_end)
{
    struct lull_cursors parts = lull_reader_children(reader, condition);
    const char *op = lull_reader_operator(reader, condition);
    if (reader->clang->getCursorKind(condition) != CXCursor_BinaryOperator || parts.count != 2 ||
        !is_variable(reader, parts.items[0], variable) || !strchr("<>!", *op) || !*op ||
        (*op == '!' && strcmp(op, "!=") != 0))
        return reader_wrong(reader, condition, "unknown bound: '%s'",
                            lull_reader_source_text(reader, condition));
    reader->in_bound = true;
    lull_status status = reader_poly(reader, parts.items[1], "bound of the loop", ret_end);
    reader->in_bound = false;
    if (status != LULL_OK || *op == '!' || op[1] != '=')
        return status;
    const struct lull_poly one = lull_poly_constant(1);
    lull_poly_add(ret_end, &one, *op == '<' ? 1 : -1, ret_end);
    return LULL_OK;
}

/* Reads the step of a loop: i++, i -= 2, i = i + 4. */
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
           reader_poly(reader, parts.items[1], "step", &step) == LULL_OK;
    if (good && *op == '=') {
        struct lull_name *name = reader_find(reader, variable);
        good = name && lull_poly_add(&step, &name->index.poly, -1, &step);
    }
    if (!good || !lull_poly_is_constant(&step, ret_step) || *ret_step == 0)
        return reader_wrong(reader, change, "step of the loop is not a constant: '%s'",
                            lull_reader_source_text(reader, change));
    if (*op == '-')
        *ret_step = -*ret_step;
    return LULL_OK;
}

/* Finds the symbol of a loop variable. Two loops that use one variable have one symbol, unless one
 * loop is inside of the other. */
static lull_status name_variable(struct lull_kernel_reader *reader, CXCursor cursor,
                                 CXCursor variable, struct lull_kernel_loop *loop)
{
    struct lull_kernel *kernel = reader->kernel;
    struct lull_name *name = reader_find(reader, variable);
    if (!name) {
        lull_status status = reader_declare(reader, variable, &name);
        if (status != LULL_OK)
            return status;
    }
    if (name->kind != LULL_NAME_SYMBOL)
        return reader_wrong(reader, cursor, "loop variable '%s' is no plain integer",
                            lull_reader_spelling(reader, variable));
    for (int around = reader->loop; around != LULL_KERNEL_NONE;
         around = kernel->loops[around].parent)
        if (kernel->loops[around].symbol == name->number)
            return reader_wrong(reader, cursor, "loop variable '%s' is that of the loop around",
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

/* How many lines of the kernel's code end before a place in the text. */
static unsigned lines_of_code(const struct lull_kernel_reader *reader, size_t place)
{
    unsigned lines = 0;
    for (size_t i = reader->code_begin; i < place && i < reader->text_size; i++)
        lines += reader->text[i] == '\n';
    return lines;
}

/* Reads what a loop does, whose bounds are in `loop`. */
static lull_status read_rest_of_loop(struct lull_kernel_reader *reader, CXCursor cursor,
                                     CXCursor body, struct lull_kernel_loop *loop)
{
    size_t begin, end;
    lull_reader_extent(reader, cursor, &begin, &end);
    loop->first_line = lines_of_code(reader, begin);
    loop->last_line = lines_of_code(reader, end);
    loop->first_access = reader->kernel->n_accesses;
    int around = reader->loop;
    reader->loop = (int)add_loop(reader, loop);
    lull_status status = lull_reader_statement(reader, body);
    reader->loop = around;
    return status;
}

/* The access that an expression is, of a plain element p[i] of an array of integers; LULL_KERNEL_NONE: it is
 * something else. Only looks: errors are not told. */
static int access_of_bound(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_error *err = reader->err;
    struct lull_index index = {.access = LULL_KERNEL_NONE};
    int64_t factor;
    reader->err = NULL;
    lull_status status = reader_index(reader, cursor, &index);
    reader->err = err;
    const bool plain = status == LULL_OK && index.access != LULL_KERNEL_NONE &&
                       index.poly.count == 0 && lull_poly_is_constant(&index.factor, &factor) &&
                       factor == 1 &&
                       reader->kernel->accesses[index.access].index_access == LULL_KERNEL_NONE;
    return plain ? index.access : LULL_KERNEL_NONE;
}

/* Reads the bounds of a loop over a segment of an array, as a row of a sparse matrix is: for (k = p[i]; k <
 * p[i + 1]; k++). What p holds is not known. Segments are taken to have the same length, a size called
 * "p.length"; k is this length times i, and from there on the number of the iteration. *ret_is: the loop is
 * such a one. */
static lull_status read_segment(struct lull_kernel_reader *reader, const struct lull_cursors *parts,
                                struct lull_kernel_loop *loop, bool *ret_is)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_kernel *kernel = reader->kernel;
    struct lull_cursors init = lull_reader_children(reader, parts->items[0]);
    CXCursor condition = lull_reader_strip(reader, parts->items[1]);
    struct lull_cursors compared = lull_reader_children(reader, condition);
    const size_t n_accesses = kernel->n_accesses;
    int64_t step, distance;
    *ret_is = false;
    if (reader->source->first_line == 0 || reader->loop == LULL_KERNEL_NONE ||
        clang->getCursorKind(parts->items[0]) != CXCursor_DeclStmt || init.count != 1 ||
        clang->getCursorKind(condition) != CXCursor_BinaryOperator || compared.count != 2 ||
        strcmp(lull_reader_operator(reader, condition), "<") != 0)
        return LULL_OK;
    const CXCursor variable = init.items[0];
    struct lull_cursors value = lull_reader_children(reader, variable);
    if (value.count == 0 || !is_variable(reader, compared.items[0], variable))
        return LULL_OK;
    const int from = access_of_bound(reader, value.items[value.count - 1]);
    const int to = access_of_bound(reader, compared.items[1]);
    struct lull_poly between, offset;
    if (from == LULL_KERNEL_NONE || to == LULL_KERNEL_NONE ||
        kernel->accesses[from].array != kernel->accesses[to].array ||
        !lull_poly_add(&kernel->accesses[to].offset, &kernel->accesses[from].offset, -1,
                       &between) ||
        !lull_poly_is_constant(&between, &distance) || distance != 1) {
        kernel->n_accesses = n_accesses;
        return LULL_OK;
    }
    const struct lull_kernel_array *array = &kernel->arrays[kernel->accesses[from].array];
    const struct named length = {.variable = variable, .member = ".length", .typed = variable};
    struct lull_name *name, *size;
    lull_status status = declare_size(reader, &length, &size);
    if (status != LULL_OK)
        return status;
    const size_t symbol = size->number;
    kernel->symbols[symbol].name = lull_arena_printf(reader->arena, "%s.length", array->name);
    for (size_t i = 0; i < reader->source->n_sizes; i++)
        if (strcmp(reader->source->sizes[i].name, kernel->symbols[symbol].name) == 0) {
            kernel->symbols[symbol].has_value = true;
            kernel->symbols[symbol].value = reader->source->sizes[i].value;
        }
    loop->first = (struct lull_poly){0};
    loop->end = lull_poly_symbol(symbol);
    status = name_variable(reader, parts->items[0], variable, loop);
    if (status == LULL_OK)
        status = read_step(reader, lull_reader_strip(reader, parts->items[2]), variable, &step);
    if (status != LULL_OK)
        return status;
    loop->step = step;
    name = reader_find(reader, variable);
    if (step != 1 || !lull_poly_multiply(&kernel->accesses[from].offset, &loop->end, &offset) ||
        !lull_poly_add(&name->index.poly, &offset, 1, &name->index.poly))
        return reader_wrong(reader, parts->items[0], "bounds that are read from memory");
    *ret_is = true;
    return LULL_OK;
}

static lull_status read_loop(struct lull_kernel_reader *reader, CXCursor cursor)
{
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    struct lull_kernel_loop loop = {.parent = reader->loop,
                                    .first_access = reader->kernel->n_accesses,
                                    .line = lull_reader_line(reader, cursor)};
    CXCursor variable;
    bool is_segment = false;
    if (parts.count != 4)
        return reader_wrong(reader, cursor, "unknown bound: expected for (begin; condition; step)");
    lull_status status = read_segment(reader, &parts, &loop, &is_segment);
    if (status != LULL_OK)
        return status;
    if (is_segment)
        return read_rest_of_loop(reader, cursor, parts.items[3], &loop);
    status = read_begin(reader, parts.items[0], &variable, &loop.first);
    if (status == LULL_OK)
        status = name_variable(reader, parts.items[0], variable, &loop);
    if (status == LULL_OK)
        status = read_end(reader, lull_reader_strip(reader, parts.items[1]), variable, &loop.end);
    if (status == LULL_OK)
        status = read_step(reader, lull_reader_strip(reader, parts.items[2]), variable, &loop.step);
    return status == LULL_OK ? read_rest_of_loop(reader, cursor, parts.items[3], &loop) : status;
}

/* ---- all statements -------------------------------------------------------------------------- */

/* Reads a declaration. An integer that gets its value there stands for that value. Other variables
 * are in registers, or arrays. */
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
        struct lull_error *err = reader->err;
        const size_t n_accesses = reader->kernel->n_accesses;
        const bool may_vary = reader->source->first_line > 0 && reader->loop != LULL_KERNEL_NONE;
        reader->err = may_vary ? NULL : err;
        lull_status status = reader_index(reader, parts.items[parts.count - 1], &index);
        reader->err = err;
        if (status != LULL_OK && may_vary) {
            reader->kernel->n_accesses = n_accesses;
            reader_name(reader, cursor, LULL_NAME_UNKNOWN, 0);
            return reader_expression(reader, parts.items[parts.count - 1]);
        }
        if (status == LULL_OK) {
            name = reader_name(reader, cursor, LULL_NAME_INDEX, 0);
            name->index = index;
        }
        return status;
    }
    /* It belongs to the loop, and is no operand from outside. */
    if (reader_is_floating(reader, type)) {
        struct lull_kernel *kernel = reader->kernel;
        lull_status status = reader_declare(reader, cursor, &name);
        if (status == LULL_OK && reader->loop != LULL_KERNEL_NONE)
            kernel->scalars[name->number].type = NULL;
        return status == LULL_OK && has_value
                   ? reader_expression(reader, parts.items[parts.count - 1])
                   : status;
    }
    return reader_declare(reader, cursor, &name);
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
                   {CXCursor_CXXForRangeStmt, "unknown bound: a loop over a range"},
                   {CXCursor_CXXTryStmt, "what may throw"},
                   {CXCursor_BreakStmt, "unknown bound: a break"},
                   {CXCursor_ContinueStmt, "a continue, whose cost depends on data,"},
                   {CXCursor_GotoStmt, "unknown bound: a goto"},
                   {CXCursor_ReturnStmt, "unknown bound: a return"}};
    enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (kind == refused[i].kind)
            return reader_wrong(reader, cursor, "%s is not understood", refused[i].what);
    if (kind == CXCursor_ForStmt)
        return read_loop(reader, cursor);
    if (kind == CXCursor_NullStmt)
        return LULL_OK;
    if (kind != CXCursor_CompoundStmt && kind != CXCursor_DeclStmt)
        return reader_expression(reader, cursor);
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < parts.count; i++)
        status = kind == CXCursor_DeclStmt ? read_declaration(reader, parts.items[i])
                                           : lull_reader_statement(reader, parts.items[i]);
    return status;
}
#endif
