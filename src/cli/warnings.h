/* Oddities of an input that was read all the same. */
#ifndef LULL_CLI_WARNINGS_H
#define LULL_CLI_WARNINGS_H

#include "report/document.h"
#include "trace/trace.h"

/* One line on stderr per kind of quirk, with its count and where it was first met; the same as
 * warnings in the document, which may be NULL. */
void lull_warn_quirks(const struct lull_trace *trace, const char *path,
                      struct lull_document *document, struct lull_arena *arena);

/* A warning on stderr and in the document, which may be NULL. */
void lull_warn_both(struct lull_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
