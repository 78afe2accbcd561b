/* Internal to view: what a study tells beside its numbers, as notes of a document. */
#ifndef LULL_VIEW_DOCUMENT_PARTS_H
#define LULL_VIEW_DOCUMENT_PARTS_H

#include "report/document.h"
#include "study/notices.h"

/* ==== notices document ======================================================================== */

void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices);

/* ==== number cell ============================================================================= */

/* Internal to view: numbers of any size for people. */

/* Four significant digits, as long as the number does not grow too long for people. */
struct lull_cell lull_number_cell(double value);
/* The same in an SI unit; without one ("") a plain number. */
struct lull_cell lull_value_cell(double value, const char *unit);

#endif
