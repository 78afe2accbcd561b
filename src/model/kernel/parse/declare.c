/* Variables that a kernel uses: what they are follows from their declarations. */
#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/parse/reader.h"

#include <string.h>

static lull_status declare_size(struct lull_kernel_reader *reader, CXCursor declaration,
                                struct lull_name **ret_name)
{
    struct lull_kernel *kernel = reader->kernel;
    if (kernel->n_symbols == LULL_POLY_SYMBOLS)
        return lull_reader_wrong(reader, declaration, "more than %d sizes and loop variables",
                                 LULL_POLY_SYMBOLS);
    struct lull_kernel_symbol *symbol = &kernel->symbols[kernel->n_symbols];
    *symbol = (struct lull_kernel_symbol){.name = lull_reader_spelling(reader, declaration),
                                          .is_size = true,
                                          .line = lull_reader_line(reader, declaration)};
    for (size_t i = 0; i < reader->source->n_sizes; i++)
        if (strcmp(reader->source->sizes[i].name, symbol->name) == 0) {
            symbol->has_value = true;
            symbol->value = reader->source->sizes[i].value;
        }
    struct lull_name *name =
        lull_reader_name(reader, declaration, LULL_NAME_SYMBOL, kernel->n_symbols);
    name->index.poly = lull_poly_symbol(kernel->n_symbols++);
    *ret_name = name;
    return LULL_OK;
}

static lull_status declare_scalar(struct lull_kernel_reader *reader, CXCursor declaration,
                                  struct lull_name **ret_name)
{
    struct lull_kernel *kernel = reader->kernel;
    CXType type = reader->clang->getCursorType(declaration);
    CXString spelling = reader->clang->getTypeSpelling(type);
    kernel->scalars = lull_arena_grow(reader->arena, kernel->scalars, &reader->scalars_capacity,
                                      kernel->n_scalars + 1, sizeof *kernel->scalars);
    kernel->scalars[kernel->n_scalars] = (struct lull_kernel_scalar){
        .name = lull_reader_spelling(reader, declaration),
        .type = lull_arena_strdup(reader->arena, reader->clang->getCString(spelling)),
        .floating = lull_reader_is_floating(reader, type)};
    reader->clang->disposeString(spelling);
    *ret_name = lull_reader_name(reader, declaration, LULL_NAME_SCALAR, kernel->n_scalars++);
    return LULL_OK;
}

static bool is_array(CXType type)
{
    return type.kind == CXType_ConstantArray || type.kind == CXType_VariableArray ||
           type.kind == CXType_IncompleteArray;
}

/* Extents stand in brackets, in the order of the source, before an initialiser. */
static lull_status read_extents(struct lull_kernel_reader *reader, CXCursor declaration,
                                struct lull_kernel_array *array)
{
    struct lull_cursors children = lull_reader_children(reader, declaration);
    CXCursor extents[LULL_KERNEL_DIMENSIONS];
    size_t count = 0;
    for (size_t i = 0; i < children.count && count < array->n_dimensions; i++)
        if (reader->clang->isExpression(reader->clang->getCursorKind(children.items[i])))
            extents[count++] = children.items[i];
    size_t first = array->n_dimensions - count;
    if (first > 1)
        return lull_reader_wrong(reader, declaration, "extents of '%s' are not understood",
                                 array->name);
    array->is_pointer = first == 1;
    for (size_t i = 0; i < count; i++) {
        array->extent_text[first + i] = lull_reader_source_text(reader, extents[i]);
        lull_status status = lull_reader_poly(
            reader, extents[i], lull_arena_printf(reader->arena, "extent of '%s'", array->name),
            &array->extent[first + i]);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status declare_array(struct lull_kernel_reader *reader, CXCursor declaration,
                                 CXType type, struct lull_name **ret_name)
{
    const struct lull_clang *clang = reader->clang;
    struct lull_kernel *kernel = reader->kernel;
    struct lull_kernel_array array = {.name = lull_reader_spelling(reader, declaration),
                                      .line = lull_reader_line(reader, declaration)};
    while (is_array(type) || type.kind == CXType_Pointer) {
        bool pointer = type.kind == CXType_Pointer;
        if (array.n_dimensions == LULL_KERNEL_DIMENSIONS)
            return lull_reader_wrong(reader, declaration, "'%s' has more than %d dimensions",
                                     array.name, LULL_KERNEL_DIMENSIONS);
        if (pointer && array.n_dimensions > 0)
            return lull_reader_wrong(reader, declaration,
                                     "'%s' is an array of pointers, which may point anywhere",
                                     array.name);
        array.n_dimensions++;
        type = pointer ? clang->getPointeeType(type) : clang->getArrayElementType(type);
        array.is_const = clang->isConstQualifiedType(type);
        type = clang->getCanonicalType(type);
    }
    array.floating = lull_reader_is_floating(reader, type);
    if (!array.floating && !lull_reader_is_integer(reader, type))
        return lull_reader_wrong(reader, declaration, "'%s' is no array of numbers", array.name);
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
    *ret_name = lull_reader_name(reader, declaration, LULL_NAME_ARRAY, kernel->n_arrays++);
    return LULL_OK;
}

/* A constant stands for its value. */
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

lull_status lull_reader_declare(struct lull_kernel_reader *reader, CXCursor declaration,
                                struct lull_name **ret_name)
{
    int64_t value;
    *ret_name = lull_reader_find(reader, declaration);
    if (*ret_name)
        return LULL_OK;
    CXType type = reader->clang->getCanonicalType(reader->clang->getCursorType(declaration));
    if (has_value(reader, declaration, &value)) {
        *ret_name = lull_reader_name(reader, declaration, LULL_NAME_INDEX, 0);
        (*ret_name)->index.poly = lull_poly_constant(value);
        return LULL_OK;
    }
    if (is_array(type) || type.kind == CXType_Pointer)
        return declare_array(reader, declaration, type, ret_name);
    if (lull_reader_is_integer(reader, type))
        return declare_size(reader, declaration, ret_name);
    if (lull_reader_is_floating(reader, type))
        return declare_scalar(reader, declaration, ret_name);
    return lull_reader_wrong(reader, declaration, "'%s' is neither a number nor an array",
                             lull_reader_spelling(reader, declaration));
}
#endif
