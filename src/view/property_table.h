/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs say of themselves (struct lull_property) as a table: a column for each run. */
#ifndef LULL_VIEW_PROPERTY_TABLE_H
#define LULL_VIEW_PROPERTY_TABLE_H

#include "report/document.h"
#include "trace/trace.h"

struct lull_property_column {
    const char *id, *heading;
    const struct lull_trace *trace; /* NULL: it says nothing */
};

/* Adds the table "about"; none where no run says anything. */
void lull_table_of_properties(struct lull_document *document,
                              const struct lull_property_column *columns, uint32_t count,
                              struct lull_arena *arena);

#endif
