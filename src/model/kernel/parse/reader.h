/* What reading a kernel has found so far; internal to parse. */
#ifndef LULL_MODEL_KERNEL_PARSE_READER_H
#define LULL_MODEL_KERNEL_PARSE_READER_H

#include "model/kernel/kernel.h"
#include "model/kernel/parse/clang.h"

/* An index: a polynomial, and perhaps what an index array holds, times a factor. */
struct lull_index {
    struct lull_poly poly;
    int access; /* LULL_KERNEL_NONE: no indirect part */
    struct lull_poly factor;
};

enum lull_name_kind { LULL_NAME_SYMBOL, LULL_NAME_INDEX, LULL_NAME_ARRAY, LULL_NAME_SCALAR };

/* What a declaration stands for. */
struct lull_name {
    CXCursor declaration;
    enum lull_name_kind kind;
    size_t number;           /* of the symbol, array or scalar */
    struct lull_index index; /* of an integer variable that is given its value once */
};

struct lull_kernel_reader {
    const struct lull_clang *clang;
    const struct lull_kernel_source *source;
    const char *text; /* that was parsed: a line of our own, then the file */
    size_t text_size;
    unsigned lines_before; /* lines of our own */
    size_t code_begin;     /* where the nest begins in the text */
    CXTranslationUnit unit;
    bool *as_macro; /* of each size: the file uses it without declaring it, as a build's macro */
    struct lull_kernel *kernel;
    struct lull_arena *arena;
    struct lull_error *err;
    struct lull_name *names;
    size_t n_names, names_capacity;
    size_t loops_capacity, flops_capacity, arrays_capacity, accesses_capacity, scalars_capacity,
        calls_capacity;
    int loop;              /* that is being read */
    bool again;            /* with what was learned, it may be parsed */
    bool met_macro;        /* an operator could not be seen */
    unsigned line_of_text; /* with macros expanded lines are lost: that of the function; 0: they are
                              as in the file */
};

struct lull_cursors {
    CXCursor *items;
    size_t count, capacity;
    struct lull_arena *arena;
};

/* In order of the source. */
struct lull_cursors lull_reader_children(const struct lull_kernel_reader *reader, CXCursor cursor);
unsigned lull_reader_line(const struct lull_kernel_reader *reader, CXCursor cursor);
/* Where it begins and ends in the text. */
void lull_reader_extent(const struct lull_kernel_reader *reader, CXCursor cursor, size_t *ret_begin,
                        size_t *ret_end);
const char *lull_reader_spelling(const struct lull_kernel_reader *reader, CXCursor cursor);
const char *lull_reader_source_text(const struct lull_kernel_reader *reader, CXCursor cursor);
/* The operator between two operands, or the one before (`unary`) or behind the only one; "" where
 * macros hide it. */
const char *lull_reader_operator(struct lull_kernel_reader *reader, CXCursor cursor);
/* Without parentheses and casts. */
CXCursor lull_reader_strip(const struct lull_kernel_reader *reader, CXCursor cursor);
bool lull_reader_is_floating(const struct lull_kernel_reader *reader, CXType type);
bool lull_reader_is_integer(const struct lull_kernel_reader *reader, CXType type);

/* "PATH: line 3: ..." with LULL_ERR_FORMAT. */
lull_status lull_reader_wrong(const struct lull_kernel_reader *reader, CXCursor cursor,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

struct lull_name *lull_reader_find(const struct lull_kernel_reader *reader, CXCursor declaration);
struct lull_name *lull_reader_name(struct lull_kernel_reader *reader, CXCursor declaration,
                                   enum lull_name_kind kind, size_t number);

/* A variable that has been declared: an array, a scalar, or a size. */
lull_status lull_reader_declare(struct lull_kernel_reader *reader, CXCursor declaration,
                                struct lull_name **ret_name);

/* An integer expression. Reads of index arrays become accesses of the loop that is being read. */
lull_status lull_reader_index(struct lull_kernel_reader *reader, CXCursor cursor,
                              struct lull_index *ret_index);
/* The same where nothing but sizes and loop variables may stand. */
lull_status lull_reader_poly(struct lull_kernel_reader *reader, CXCursor cursor, const char *what,
                             struct lull_poly *ret_poly);
/* An element of an array, a[i][j] or *(a + i), becomes an access. */
lull_status lull_reader_access(struct lull_kernel_reader *reader, CXCursor cursor, bool write);

/* What an expression or a statement does: accesses, operations, loops. */
lull_status lull_reader_expression(struct lull_kernel_reader *reader, CXCursor cursor);
lull_status lull_reader_statement(struct lull_kernel_reader *reader, CXCursor cursor);

#endif
