/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for names of the same data among the arrays of a nest. */
#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/reader.h"

#include <string.h>

/* What an address leads to: the variable or member that it begins with. p, &p[3], p + n and *p begin with p,
 * g->data and &g->data[i] with the member data of g. */
struct root {
    bool known;
    bool loaded;       /* what it leads to was read from there, as p[3] of double **p */
    CXCursor variable; /* in whose structure it is; of a method's object the member itself */
    CXCursor typed;    /* the variable, or the member */
    const char *text;  /* of the address */
};

/* A place in the file that gives a pointer its value: a declaration, an assignment, or the argument of a call. */
struct setting {
    struct root target, source;
    unsigned call; /* the number of the call whose argument it is; 0: it is none */
    unsigned line;
    bool
        is_exchange; /* part of t = a; a = b; b = t; after which both still lead to different data */
};

struct settings {
    struct lull_kernel_reader *reader;
    struct setting *items;
    size_t count, capacity;
    unsigned calls;
};

/* ==== roots =================================================================================== */

static bool leads_to_data(const struct lull_kernel_reader *reader, CXType type)
{
    const enum CXTypeKind kind = reader->clang->getCanonicalType(type).kind;
    return kind == CXType_Pointer || kind == CXType_ConstantArray || kind == CXType_VariableArray ||
           kind == CXType_IncompleteArray || kind == CXType_LValueReference ||
           kind == CXType_RValueReference || kind == CXType_Record;
}

static bool is_pointer(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    return reader->clang->getCanonicalType(reader->clang->getCursorType(cursor)).kind ==
           CXType_Pointer;
}

static struct root root_of(struct lull_kernel_reader *reader, CXCursor cursor)
{
    const struct lull_clang *clang = reader->clang;
    struct root root = {.text = lull_reader_source_text(reader, cursor)};
    for (;;) {
        cursor = lull_reader_strip(reader, cursor);
        const enum CXCursorKind kind = clang->getCursorKind(cursor);
        struct lull_cursors parts = lull_reader_children(reader, cursor);
        if (kind == CXCursor_DeclRefExpr) {
            root.variable = clang->getCanonicalCursor(clang->getCursorReferenced(cursor));
            if (!root.known)
                root.typed = root.variable;
            root.known |= leads_to_data(reader, clang->getCursorType(root.variable));
            return root;
        }
        if (kind == CXCursor_MemberRefExpr && !root.known) {
            root.typed = root.variable = clang->getCursorReferenced(cursor);
            root.known = clang->getCursorKind(root.typed) == CXCursor_FieldDecl;
        }
        if (parts.count == 0 || (kind == CXCursor_MemberRefExpr && !root.known))
            return root;
        size_t next = 0;
        switch (kind) {
        case CXCursor_ArraySubscriptExpr:
            root.loaded |= !root.known && is_pointer(reader, cursor);
            break;
        case CXCursor_UnaryOperator:
            root.loaded |= !root.known && is_pointer(reader, cursor) &&
                           strcmp(lull_reader_operator(reader, cursor), "*") == 0;
            break;
        case CXCursor_BinaryOperator: /* i + p */
            next = parts.count == 2 && !leads_to_data(reader, clang->getCursorType(parts.items[0]));
            break;
        case CXCursor_CallExpr: /* v.data(), v[0]; any other function may return anything */
            if (strcmp(lull_reader_spelling(reader, cursor), "data") != 0 &&
                strcmp(lull_reader_spelling(reader, cursor), "operator[]") != 0)
                return root;
            break;
        case CXCursor_MemberRefExpr:
            break;
        default:
            return root;
        }
        cursor = parts.items[next];
    }
}

static bool is_same_cursor(const struct lull_kernel_reader *reader, CXCursor a, CXCursor b)
{
    return reader->clang->equalCursors(reader->clang->getCanonicalCursor(a),
                                       reader->clang->getCanonicalCursor(b));
}

/* Whether two addresses may lead to the same data, because they begin in the same place. */
static bool is_same_root(const struct lull_kernel_reader *reader, const struct root *a,
                         const struct root *b)
{
    return a->known && b->known && is_same_cursor(reader, a->typed, b->typed) &&
           is_same_cursor(reader, a->variable, b->variable) &&
           ((!a->loaded && !b->loaded) || strcmp(a->text, b->text) == 0);
}

/* ==== settings ================================================================================ */

static void add_setting(struct settings *settings, const struct root *target, CXCursor source,
                        unsigned call)
{
    struct lull_kernel_reader *reader = settings->reader;
    struct lull_cursors parts = lull_reader_children(reader, lull_reader_strip(reader, source));
    if (reader->clang->getCursorKind(lull_reader_strip(reader, source)) ==
            CXCursor_ConditionalOperator &&
        parts.count == 3) {
        add_setting(settings, target, parts.items[1], call);
        add_setting(settings, target, parts.items[2], call);
        return;
    }
    const struct setting setting = {.target = *target,
                                    .source = root_of(reader, source),
                                    .call = call,
                                    .line = lull_reader_line(reader, source)};
    if (!setting.target.known || !setting.source.known || setting.target.loaded)
        return;
    settings->items = lull_arena_grow(reader->arena, settings->items, &settings->capacity,
                                      settings->count + 1, sizeof *settings->items);
    settings->items[settings->count++] = setting;
}

/* Each parameter of a function of the file is set by each call. */
static void add_call(struct settings *settings, CXCursor call)
{
    struct lull_kernel_reader *reader = settings->reader;
    const struct lull_clang *clang = reader->clang;
    const CXCursor function = clang->getCursorDefinition(clang->getCursorReferenced(call));
    const enum CXCursorKind kind = clang->getCursorKind(function);
    if ((kind != CXCursor_FunctionDecl && kind != CXCursor_CXXMethod &&
         kind != CXCursor_Constructor) ||
        !clang->Location_isFromMainFile(clang->getCursorLocation(function)))
        return;
    struct lull_cursors arguments = lull_reader_children(reader, call);
    struct lull_cursors parts = lull_reader_children(reader, function);
    size_t next = kind == CXCursor_Constructor ? 0 : 1; /* behind the function's name */
    settings->calls++;
    for (size_t i = 0; i < parts.count; i++) {
        if (clang->getCursorKind(parts.items[i]) != CXCursor_ParmDecl)
            continue;
        if (next >= arguments.count)
            return;
        const CXType type = clang->getCanonicalType(clang->getCursorType(parts.items[i]));
        const struct root target = {.known =
                                        type.kind != CXType_Record && leads_to_data(reader, type),
                                    .variable = clang->getCanonicalCursor(parts.items[i]),
                                    .typed = clang->getCanonicalCursor(parts.items[i]),
                                    .text = lull_reader_spelling(reader, parts.items[i])};
        add_setting(settings, &target, arguments.items[next++], settings->calls);
    }
}

static enum CXChildVisitResult see_setting(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct settings *settings = data;
    struct lull_kernel_reader *reader = settings->reader;
    const struct lull_clang *clang = reader->clang;
    const enum CXCursorKind kind = clang->getCursorKind(cursor);
    if (clang->getCursorKind(parent) == CXCursor_TranslationUnit &&
        !clang->Location_isFromMainFile(clang->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    if (kind == CXCursor_CallExpr)
        add_call(settings, cursor);
    if (kind != CXCursor_VarDecl && kind != CXCursor_BinaryOperator)
        return CXChildVisit_Recurse;
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    if (parts.count == 0)
        return CXChildVisit_Recurse;
    const CXCursor last = parts.items[parts.count - 1];
    if (kind == CXCursor_VarDecl && clang->isExpression(clang->getCursorKind(last))) {
        const CXType type = clang->getCanonicalType(clang->getCursorType(cursor));
        const struct root target = {.known = type.kind == CXType_Pointer ||
                                             type.kind == CXType_LValueReference,
                                    .variable = clang->getCanonicalCursor(cursor),
                                    .typed = clang->getCanonicalCursor(cursor),
                                    .text = lull_reader_spelling(reader, cursor)};
        add_setting(settings, &target, last, 0);
    } else if (kind == CXCursor_BinaryOperator && parts.count == 2 &&
               is_pointer(reader, parts.items[0]) &&
               strcmp(lull_reader_operator(reader, cursor), "=") == 0) {
        const struct root target = root_of(reader, parts.items[0]);
        add_setting(settings, &target, last, 0);
    }
    return CXChildVisit_Recurse;
}

/* Marks each t = a; a = b; b = t;. */
static void mark_exchanges(struct settings *settings)
{
    for (size_t i = 0; i + 2 < settings->count; i++) {
        struct setting *three = &settings->items[i];
        bool is_one = three[0].call == 0 && three[1].call == 0 && three[2].call == 0;
        for (size_t k = 0; k < 3; k++)
            is_one = is_one &&
                     is_same_root(settings->reader, &three[k].source, &three[(k + 1) % 3].target) &&
                     strcmp(three[k].source.text, three[(k + 1) % 3].target.text) == 0;
        for (size_t k = 0; k < 3 && is_one; k++)
            three[k].is_exchange = true;
    }
}

/* ==== the check =============================================================================== */

/* Whether a name of the nest is what a setting sets, or sets from. Of a member the structure may be another variable in
 * another function. */
static bool is_name_of(const struct lull_kernel_reader *reader, const struct lull_name *name,
                       const struct root *root)
{
    return is_same_cursor(reader, name->typed, root->typed);
}

/* Whether two names are told apart by their structures alone: a->data and b->data. */
static bool is_same_member(const struct lull_kernel_reader *reader, const struct lull_name *a,
                           const struct lull_name *b)
{
    return a->member && b->member && is_same_cursor(reader, a->typed, b->typed);
}

static bool is_structure_of(const struct lull_kernel_reader *reader, const struct lull_name *name,
                            const struct root *root)
{
    return is_same_cursor(reader, name->declaration, root->typed);
}

/* Where a setting comes from, if that is itself set once, from somewhere else. */
static const struct root *find_origin(const struct settings *settings, const struct root *source)
{
    enum { MOST_STEPS = 8 };
    for (unsigned step = 0; step < MOST_STEPS; step++) {
        const struct setting *only = NULL;
        size_t count = 0;
        for (size_t i = 0; i < settings->count; i++)
            if (is_same_root(settings->reader, &settings->items[i].target, source)) {
                only = &settings->items[i];
                count++;
            }
        if (count != 1 || source->loaded || only->is_exchange)
            break;
        source = &only->source;
    }
    return source;
}

static lull_status tell_same_data(const struct settings *settings, unsigned line,
                                  const struct lull_name *a, const struct lull_name *b)
{
    const struct lull_kernel_reader *reader = settings->reader;
    const struct lull_kernel_array *arrays = reader->kernel->arrays;
    return lull_fail(reader->err, LULL_ERR_FORMAT,
                     "%s: line %u: '%s' and '%s' may be the same data: how far apart they are is "
                     "not known",
                     reader->source->path, line, arrays[a->number].name, arrays[b->number].name);
}

/* Looks for settings by which two names may be of the same data. Returns the line of one; 0: there is none. */
static unsigned find_same_data(const struct settings *settings, const struct lull_name *a,
                               const struct lull_name *b)
{
    const struct lull_kernel_reader *reader = settings->reader;
    const bool members = is_same_member(reader, a, b);
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting *one = &settings->items[i];
        if (one->is_exchange)
            continue;
        const bool sets = members ? is_structure_of(reader, a, &one->target)
                                  : is_name_of(reader, a, &one->target);
        if (!sets)
            continue;
        const struct root *from = find_origin(settings, &one->source);
        if (members ? is_structure_of(reader, b, &one->source) || is_structure_of(reader, b, from)
                    : is_name_of(reader, b, &one->source) || is_name_of(reader, b, from))
            return one->line;
        for (size_t k = 0; k < settings->count; k++) {
            const struct setting *other = &settings->items[k];
            if (other->call == one->call && !other->is_exchange &&
                (members ? is_structure_of(reader, b, &other->target)
                         : is_name_of(reader, b, &other->target)) &&
                is_same_root(reader, from, find_origin(settings, &other->source)))
                return other->line;
        }
    }
    return 0;
}

lull_status lull_reader_check_names(struct lull_kernel_reader *reader)
{
    struct settings settings = {.reader = reader};
    const size_t parameters = reader->n_parameters;
    const bool met_macro = reader->met_macro;
    reader->n_parameters = 0;
    reader->clang->visitChildren(reader->clang->getTranslationUnitCursor(reader->unit), see_setting,
                                 &settings);
    mark_exchanges(&settings);
    reader->n_parameters = parameters;
    reader->met_macro = met_macro;
    for (size_t a = 0; a < reader->n_names; a++)
        for (size_t b = a + 1; b < reader->n_names; b++) {
            const struct lull_name *one = &reader->names[a], *other = &reader->names[b];
            if (one->kind != LULL_NAME_ARRAY || other->kind != LULL_NAME_ARRAY)
                continue;
            unsigned line = find_same_data(&settings, one, other);
            line = line > 0 ? line : find_same_data(&settings, other, one);
            if (line > 0)
                return tell_same_data(&settings, line, one, other);
        }
    return LULL_OK;
}
#endif
