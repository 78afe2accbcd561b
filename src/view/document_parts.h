/* SPDX-License-Identifier: BSD-3-Clause */
/* What the documents of this room have in common. Internal to view. */
#ifndef LULL_VIEW_DOCUMENT_PARTS_H
#define LULL_VIEW_DOCUMENT_PARTS_H

#include "report/document.h"
#include "study/notices.h"
#include "trace/trace.h"

/* What a study tells beside its numbers, as notes of a document. */
void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices);

/* A number of any size with four significant digits, unless that makes it too long for people. */
struct lull_cell lull_number_cell(double value);
/* The bytes of received messages, which may be LULL_UNKNOWN_BYTES (trace/trace.h). */
struct lull_cell lull_received_cell(uint64_t bytes);
/* Such a number with an SI unit; for the unit "" a plain number. */
struct lull_cell lull_value_cell(double value, const char *unit);

/* ==== what runs say of themselves ============================================================= */

struct lull_property_column {
    const char *id, *heading;
    const struct lull_trace *trace; /* NULL: it says nothing */
};

/* Adds the table "about"; none where no run says anything. */
void lull_table_of_properties(struct lull_document *document,
                              const struct lull_property_column *columns, uint32_t count,
                              struct lull_arena *arena);

#endif
