#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/parse/reader.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The library gives the extents of an array inside out: by place in the source they are in order.
 */
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
    if (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl)
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
    if (operands.count == 2) { /* between both */
        lull_reader_extent(reader, operands.items[1], &stop, &end);
        from = to;
    } else if (from > begin) { /* before it */
        stop = from;
        from = begin;
    } else { /* behind it */
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

CXCursor lull_reader_strip(const struct lull_kernel_reader *reader, CXCursor cursor)
{
    for (;;) {
        enum CXCursorKind kind = reader->clang->getCursorKind(cursor);
        if (kind != CXCursor_UnexposedExpr && kind != CXCursor_ParenExpr &&
            kind != CXCursor_CStyleCastExpr)
            return cursor;
        struct lull_cursors children = lull_reader_children(reader, cursor);
        if (children.count == 0)
            return cursor;
        cursor = children.items[children.count - 1]; /* a cast has its type before it */
    }
}

bool lull_reader_is_floating(const struct lull_kernel_reader *reader, CXType type)
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

lull_status lull_reader_wrong(const struct lull_kernel_reader *reader, CXCursor cursor,
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

struct lull_name *lull_reader_find(const struct lull_kernel_reader *reader, CXCursor declaration)
{
    for (size_t i = 0; i < reader->n_names; i++)
        if (reader->clang->equalCursors(reader->names[i].declaration, declaration))
            return &reader->names[i];
    return NULL;
}

struct lull_name *lull_reader_name(struct lull_kernel_reader *reader, CXCursor declaration,
                                   enum lull_name_kind kind, size_t number)
{
    reader->names = lull_arena_grow(reader->arena, reader->names, &reader->names_capacity,
                                    reader->n_names + 1, sizeof *reader->names);
    struct lull_name *name = &reader->names[reader->n_names++];
    *name = (struct lull_name){.declaration = declaration, .kind = kind, .number = number};
    name->index.access = LULL_KERNEL_NONE;
    return name;
}
#endif
