/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of kernels, from C source to struct lull_kernel; internal to reader.c and parse.c.
 * parse.c prepares the text and finds the loop nest in it; reader.c reads statements, loops and
 * declarations. libclang is the parser. */
#ifndef LULL_MODEL_KERNEL_READER_H
#define LULL_MODEL_KERNEL_READER_H

#include "base/error.h"
#include "model/kernel/kernel.h"

#include <clang-c/Index.h>

/* ==== libclang ================================================================================ */

/* libclang is loaded when a kernel is read, because it is large and other commands do without it.
 */

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
    X(getCursorDefinition)      \
    X(getCursorSemanticParent)  \
    X(getCursorLinkage)         \
    X(getCanonicalCursor)       \
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

/* ==== the reader ============================================================================== */

/* An index: poly + factor * (what the access `access` reads from an index array). */
struct lull_index {
    struct lull_poly poly;
    int access; /* LULL_KERNEL_NONE: no indirect part */
    struct lull_poly factor;
};

enum lull_name_kind {
    LULL_NAME_SYMBOL,
    LULL_NAME_INDEX,
    LULL_NAME_ARRAY,
    LULL_NAME_PLACE, /* a pointer into an array, and no array of its own */
    LULL_NAME_SCALAR,
    LULL_NAME_UNKNOWN /* an integer whose value is not understood, where a bound may still use it */
};

/* The place that an address has been followed to: so far `used` of the array's dimensions have an
 * index. */
struct lull_array_place {
    size_t array, used;
    struct lull_index offset; /* elements */
};

/* What a declaration stands for. */
struct lull_name {
    CXCursor declaration;
    const char *member; /* ".rows" of the structure `declaration`; NULL: the variable itself */
    CXCursor typed;     /* the declaration that has its type: of the variable, or of the member */
    enum lull_name_kind kind;
    size_t number;           /* index of the symbol, array or scalar in the kernel */
    struct lull_index index; /* INDEX: what an integer variable stands for that is given its value
                                once */
    struct lull_array_place place; /* PLACE: where it points to */
};

/* A parameter of a function of the file that is read in the place of its call. */
struct lull_reader_parameter {
    CXCursor declaration, argument;
    bool is_read; /* the argument has been read where the call stands */
};
enum { LULL_READER_PARAMETERS = 32 };

struct lull_kernel_reader {
    const struct lull_clang *clang;
    const struct lull_kernel_source *source;
    const char *text; /* what is parsed: lines of our own, then the file */
    size_t text_size;
    unsigned lines_before;       /* how many lines of our own stand before the file */
    size_t code_begin, code_end; /* of the nest in the text */
    CXTranslationUnit unit;
    bool *as_macro; /* for each given size: the file uses it without declaring it, because its build
                       would define it as a macro */
    struct lull_kernel *kernel;
    struct lull_arena *arena;
    struct lull_error *err;
    struct lull_name *names;
    size_t n_names, names_capacity;
    size_t loops_capacity, flops_capacity, arrays_capacity, accesses_capacity, scalars_capacity,
        calls_capacity;
    struct lull_reader_parameter parameters[LULL_READER_PARAMETERS];
    size_t n_parameters;
    size_t objects_capacity;
    bool is_cpp;       /* the file is C++ */
    bool is_fortran;   /* the file is Fortran, and the text the same loops in C (fortran.h) */
    const char *place; /* the function or mark that is wanted, as the text has it; NULL: none */
    /* What other code gives its variables cannot be followed: it has templates, methods, lambdas, or references to
     * integers. */
    bool values_are_open;
    bool in_bound;         /* the end of a loop is being read */
    int loop;              /* the one that is being read */
    bool again;            /* parsing has shown which sizes are macros: parse once more */
    bool met_macro;        /* an operator was not in the text, so that it comes from a macro */
    unsigned line_of_text; /* 0: lines are those of the file. Else macros were expanded, which loses
                              the lines behind this one, that of the function: messages name it */
};

struct lull_cursors {
    CXCursor *items;
    size_t count, capacity;
    struct lull_arena *arena;
};

/* The children of a cursor, in order of the source. */
struct lull_cursors lull_reader_children(const struct lull_kernel_reader *reader, CXCursor cursor);
unsigned lull_reader_line(const struct lull_kernel_reader *reader, CXCursor cursor);
/* Where the cursor's code begins and ends in the text. */
void lull_reader_extent(const struct lull_kernel_reader *reader, CXCursor cursor, size_t *ret_begin,
                        size_t *ret_end);
const char *lull_reader_spelling(const struct lull_kernel_reader *reader, CXCursor cursor);
const char *lull_reader_source_text(const struct lull_kernel_reader *reader, CXCursor cursor);
bool lull_reader_is_integer(const struct lull_kernel_reader *reader, CXType type);

/* Without brackets and casts around it, and a parameter of a function that is read in the place of its call
 * as the argument. */
CXCursor lull_reader_strip(const struct lull_kernel_reader *reader, CXCursor cursor);
/* The operator of an expression, "+"; "": it lies within a macro. */
const char *lull_reader_operator(struct lull_kernel_reader *reader, CXCursor cursor);
/* Whether clang knows the value of an integer expression. */
bool lull_reader_is_constant(const struct lull_kernel_reader *reader, CXCursor cursor,
                             int64_t *ret_value);
lull_status lull_reader_statement(struct lull_kernel_reader *reader, CXCursor cursor);

/* ==== what the file says ====================================================================== */

/* The value of an integer variable that the file says: it is given a value where it is declared, or, as a
 * parameter, by all calls of its function, and never another one. Variables that other files know do not
 * count, but where the file has main() parameters of all of its functions do. */
bool lull_reader_value(struct lull_kernel_reader *reader, CXCursor declaration, int64_t *ret_value);
/* Whether a variable is ever written, or its address taken, by what the file says, beside where it is declared. */
bool lull_reader_is_changed(struct lull_kernel_reader *reader, CXCursor declaration);
/* How often a process executes a loop nest of a function, if the file says it: main() is executed once, and other
 * functions as often as they are called, by loops of known lengths and outside of branches. NAN: it
 * does not. *ret_whole: each call of the function executes the nest once. */
double lull_reader_executions(struct lull_kernel_reader *reader, CXCursor function, CXCursor nest,
                              bool *ret_whole);

/* ==== names of the same data ================================================================== */

/* Checks that no two arrays of a nest that was read may be names of the same data, by what the file says: pointers that
 * are set from each other or from the same, and parameters of a function that is called with the same twice. Fails with
 * LULL_ERR_FORMAT, as what travels between caches would be wrong. Where it is certain that a name is a place in an
 * array, lull_reader_statement has taken it for that. */
lull_status lull_reader_check_names(struct lull_kernel_reader *reader);

#endif
