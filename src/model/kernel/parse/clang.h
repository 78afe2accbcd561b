/* libclang, loaded when a kernel is read, because it is large and other commands do without it;
 * internal to parse. */
#ifndef LULL_MODEL_KERNEL_PARSE_CLANG_H
#define LULL_MODEL_KERNEL_PARSE_CLANG_H

#include "base/error.h"

#include <clang-c/Index.h>

/* The functions that are used, without their prefix clang_. */
#define LULL_CLANG_FUNCTIONS(X)                                                                  \
    X(createIndex)                                                                               \
    X(disposeIndex)                                                                              \
    X(parseTranslationUnit2)                                                                     \
    X(disposeTranslationUnit)                                                                    \
    X(getTranslationUnitCursor)                                                                  \
    X(visitChildren)                                                                             \
    X(getCursorKind)                                                                             \
    X(getCursorSpelling)                                                                         \
    X(getCursorPrettyPrinted)                                                                    \
    X(getCString)                                                                                \
    X(disposeString)                                                                             \
    X(getCursorExtent)                                                                           \
    X(getCursorLocation)                                                                         \
    X(getRangeStart)                                                                             \
    X(getRangeEnd)                                                                               \
    X(getFileLocation)                                                                           \
    X(Location_isFromMainFile)                                                                   \
    X(getCursorType)                                                                             \
    X(getCanonicalType)                                                                          \
    X(Type_getSizeOf)                                                                            \
    X(getArrayElementType)                                                                       \
    X(getPointeeType)                                                                            \
    X(getTypeSpelling)                                                                           \
    X(isConstQualifiedType)                                                                      \
    X(getCursorReferenced)                                                                       \
    X(equalCursors)                                                                              \
    X(isExpression)                                                                              \
    X(Cursor_Evaluate)                                                                           \
    X(getEnumConstantDeclValue)                                                                  \
    X(EvalResult_getKind)                                                                        \
    X(EvalResult_getAsLongLong)                                                                  \
    X(EvalResult_dispose)                                                                        \
    X(getNumDiagnostics)                                                                         \
    X(getDiagnostic)                                                                             \
    X(getDiagnosticSeverity)                                                                     \
    X(getDiagnosticSpelling)                                                                     \
    X(getDiagnosticLocation)                                                                     \
    X(disposeDiagnostic)

struct lull_clang {
#define LULL_CLANG_MEMBER(name) __typeof__(clang_##name) *name;
    LULL_CLANG_FUNCTIONS(LULL_CLANG_MEMBER)
#undef LULL_CLANG_MEMBER
};

/* The library, loaded by the first call. Fails with LULL_ERR_UNSUPPORTED where it is not found. Not
 * to be called by two threads at the same time. */
lull_status lull_clang_load(const struct lull_clang **ret_clang, struct lull_error *err);

#endif
