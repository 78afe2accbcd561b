/* What reading a kernel has found so far; internal to parse. */
#ifndef LULL_MODEL_KERNEL_READER_H
#define LULL_MODEL_KERNEL_READER_H

#include "base/error.h"
#include "model/kernel/kernel.h"

#include <clang-c/Index.h>

/* ==== clang =================================================================================== */

/* libclang, loaded when a kernel is read, because it is large and other commands do without it;
 * internal to parse. */

/* The functions that are used, without their prefix clang_. */
#define LULL_CLANG_FUNCTIONS(X) \
    X(createIndex)              \
    X(disposeIndex)             \
    X(parseTranslationUnit2)    \
    X(disposeTranslationUnit)   \
    X(getTranslationUnitCursor) \
    X(visitChildren)            \
    X(getCursorKind)            \
    X(getCursorSpelling)        \
    X(getCursorPrettyPrinted)   \
    X(getCString)               \
    X(disposeString)            \
    X(getCursorExtent)          \
    X(getCursorLocation)        \
    X(getRangeStart)            \
    X(getRangeEnd)              \
    X(getFileLocation)          \
    X(Location_isFromMainFile)  \
    X(getCursorType)            \
    X(getCanonicalType)         \
    X(Type_getSizeOf)           \
    X(getArrayElementType)      \
    X(getPointeeType)           \
    X(getTypeSpelling)          \
    X(isConstQualifiedType)     \
    X(getCursorReferenced)      \
    X(equalCursors)             \
    X(isExpression)             \
    X(Cursor_Evaluate)          \
    X(getEnumConstantDeclValue) \
    X(EvalResult_getKind)       \
    X(EvalResult_getAsLongLong) \
    X(EvalResult_dispose)       \
    X(getNumDiagnostics)        \
    X(getDiagnostic)            \
    X(getDiagnosticSeverity)    \
    X(getDiagnosticSpelling)    \
    X(getDiagnosticLocation)    \
    X(disposeDiagnostic)

struct lull_clang {
#define LULL_CLANG_MEMBER(name) __typeof__(clang_##name) *name;
    LULL_CLANG_FUNCTIONS(LULL_CLANG_MEMBER)
#undef LULL_CLANG_MEMBER
};

/* The library, loaded by the first call. Fails with LULL_ERR_UNSUPPORTED where it is not found. Not
 * to be called by two threads at the same time. */
lull_status lull_clang_load(const struct lull_clang **ret_clang, struct lull_error *err);

/* ==== reader ================================================================================== */

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
bool lull_reader_is_integer(const struct lull_kernel_reader *reader, CXType type);

lull_status lull_reader_statement(struct lull_kernel_reader *reader, CXCursor cursor);

#endif
