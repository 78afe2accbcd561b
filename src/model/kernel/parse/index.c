/* Integer expressions, and the places of array elements. */
#include "lull_features.h"

#if LULL_HAVE_LIBCLANG
#include "model/kernel/parse/reader.h"

#include <string.h>

static struct lull_index plain_index(struct lull_poly poly)
{
    return (struct lull_index){.poly = poly, .access = LULL_KERNEL_NONE};
}

static bool is_constant(const struct lull_kernel_reader *reader, CXCursor cursor,
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

/* Sizes alone: the quotient becomes a size. */
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
        return lull_reader_wrong(reader, cursor, "this expression is not understood");
    lull_status status = lull_reader_index(reader, operands.items[0], &a);
    if (status == LULL_OK)
        status = lull_reader_index(reader, operands.items[1], &b);
    if (status != LULL_OK)
        return status;
    if (!*op)
        return lull_reader_wrong(reader, cursor, "the operator lies within a macro");
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
                : lull_reader_wrong(reader, cursor, "'%s' is not affine",
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
        return lull_reader_wrong(reader, cursor, "'%s' is not affine",
                                 lull_reader_source_text(reader, cursor));
    lull_status status = lull_reader_index(reader, operands.items[0], &a);
    if (status == LULL_OK && !add_indices(&zero, &a, *op == '-' ? -1 : 1, ret_index))
        return lull_reader_wrong(reader, cursor, "'%s' is not affine",
                                 lull_reader_source_text(reader, cursor));
    return status;
}

static lull_status read_name(struct lull_kernel_reader *reader, CXCursor cursor,
                             struct lull_index *ret_index)
{
    struct lull_name *name;
    CXCursor declaration = reader->clang->getCursorReferenced(cursor);
    if (!lull_reader_is_integer(reader, reader->clang->getCursorType(cursor)))
        return lull_reader_wrong(reader, cursor, "'%s' is no integer",
                                 lull_reader_spelling(reader, cursor));
    lull_status status = lull_reader_declare(reader, declaration, &name);
    if (status == LULL_OK)
        *ret_index = name->index;
    return status;
}

lull_status lull_reader_index(struct lull_kernel_reader *reader, CXCursor cursor,
                              struct lull_index *ret_index)
{
    int64_t value;
    cursor = lull_reader_strip(reader, cursor);
    switch (reader->clang->getCursorKind(cursor)) {
    case CXCursor_DeclRefExpr:
        return read_name(reader, cursor, ret_index);
    case CXCursor_BinaryOperator:
        return read_binary_index(reader, cursor, ret_index);
    case CXCursor_ArraySubscriptExpr: {
        lull_status status = lull_reader_access(reader, cursor, false);
        *ret_index = (struct lull_index){.access = (int)reader->kernel->n_accesses - 1,
                                         .factor = lull_poly_constant(1)};
        return status;
    }
    default:
        break;
    }
    if (is_constant(reader, cursor, &value)) {
        *ret_index = plain_index(lull_poly_constant(value));
        return LULL_OK;
    }
    if (reader->clang->getCursorKind(cursor) == CXCursor_UnaryOperator)
        return read_unary_index(reader, cursor, ret_index);
    return lull_reader_wrong(reader, cursor, "'%s' is not affine",
                             lull_reader_source_text(reader, cursor));
}

lull_status lull_reader_poly(struct lull_kernel_reader *reader, CXCursor cursor, const char *what,
                             struct lull_poly *ret_poly)
{
    struct lull_index index;
    lull_status status = lull_reader_index(reader, cursor, &index);
    if (status != LULL_OK)
        return lull_reader_wrong(reader, cursor, "%s is not understood: '%s'", what,
                                 lull_reader_source_text(reader, cursor));
    if (index.access != LULL_KERNEL_NONE)
        return lull_reader_wrong(reader, cursor, "%s is unknown: '%s' is read from an array", what,
                                 lull_reader_source_text(reader, cursor));
    *ret_poly = index.poly;
    return LULL_OK;
}

/* ---- places -------------------------------------------------------------------------------- */

/* How far an address has been followed: `used` of the array's dimensions have an index. */
struct place {
    size_t array, used;
    struct lull_index offset; /* elements */
};

/* Elements in one step of the dimension that comes next. */
static bool next_step(const struct lull_kernel_array *array, size_t used,
                      struct lull_poly *ret_step)
{
    *ret_step = lull_poly_constant(1);
    for (size_t i = used + 1; i < array->n_dimensions; i++)
        if (!lull_poly_multiply(ret_step, &array->extent[i], ret_step))
            return false;
    return true;
}

static bool advance(const struct lull_kernel_reader *reader, struct place *place,
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
                          struct place *ret_place);

static lull_status follow_name(struct lull_kernel_reader *reader, CXCursor cursor,
                               struct place *ret_place)
{
    struct lull_name *name;
    lull_status status =
        lull_reader_declare(reader, reader->clang->getCursorReferenced(cursor), &name);
    if (status != LULL_OK)
        return status;
    if (name->kind != LULL_NAME_ARRAY)
        return lull_reader_wrong(reader, cursor, "'%s' is no array",
                                 lull_reader_spelling(reader, cursor));
    *ret_place = (struct place){.array = name->number};
    ret_place->offset.access = LULL_KERNEL_NONE;
    return LULL_OK;
}

/* a[i], or the address a + i. */
static lull_status follow_index(struct lull_kernel_reader *reader, CXCursor cursor, CXCursor base,
                                CXCursor index, bool is_element, int64_t sign,
                                struct place *ret_place)
{
    struct lull_index moved;
    lull_status status = follow(reader, base, ret_place);
    if (status == LULL_OK)
        status = lull_reader_index(reader, index, &moved);
    if (status != LULL_OK)
        return status;
    const char *name = reader->kernel->arrays[ret_place->array].name;
    if (!advance(reader, ret_place, &moved, sign))
        return lull_reader_wrong(reader, cursor, "index of '%s' is not affine", name);
    ret_place->used += is_element;
    return LULL_OK;
}

static lull_status follow(struct lull_kernel_reader *reader, CXCursor cursor,
                          struct place *ret_place)
{
    cursor = lull_reader_strip(reader, cursor);
    struct lull_cursors parts = lull_reader_children(reader, cursor);
    const char *op;
    switch (reader->clang->getCursorKind(cursor)) {
    case CXCursor_DeclRefExpr:
        return follow_name(reader, cursor, ret_place);
    case CXCursor_ArraySubscriptExpr:
        return follow_index(reader, cursor, parts.items[0], parts.items[1], true, 1, ret_place);
    case CXCursor_BinaryOperator:
        op = lull_reader_operator(reader, cursor);
        if (strcmp(op, "+") == 0 || strcmp(op, "-") == 0)
            return follow_index(reader, cursor, parts.items[0], parts.items[1], false,
                                *op == '+' ? 1 : -1, ret_place);
        break;
    case CXCursor_UnaryOperator:
        if (strcmp(lull_reader_operator(reader, cursor), "*") == 0) {
            lull_status status = follow(reader, parts.items[0], ret_place);
            ret_place->used++;
            return status;
        }
        break;
    default:
        break;
    }
    return lull_reader_wrong(reader, cursor, "the address '%s' is not understood",
                             lull_reader_source_text(reader, cursor));
}

/* At most linear in every loop variable, and no product of two. */
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

lull_status lull_reader_access(struct lull_kernel_reader *reader, CXCursor cursor, bool write)
{
    struct lull_kernel *kernel = reader->kernel;
    struct place place = {0};
    lull_status status = follow(reader, cursor, &place);
    if (status != LULL_OK)
        return status;
    const struct lull_kernel_array *array = &kernel->arrays[place.array];
    if (place.used != array->n_dimensions)
        return lull_reader_wrong(reader, cursor, "'%s' is no element of '%s'",
                                 lull_reader_source_text(reader, cursor), array->name);
    if (!is_affine(kernel, &place.offset.poly))
        return lull_reader_wrong(reader, cursor, "index of '%s' is not affine", array->name);
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
#endif
