/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/document_parts.h"

#include "trace/trace.h"

#include <math.h>

/* ==== number cell ============================================================================= */

struct lull_cell lull_number_cell(double value)
{
    enum { MOST_DECIMALS = 10 };
    double decimals = value == 0 ? 3 : 3 - floor(log10(fabs(value)));
    return lull_cell_number(value, decimals > MOST_DECIMALS ? 3 : (int)fmax(0, decimals));
}

struct lull_cell lull_value_cell(double value, const char *unit)
{
    return *unit ? lull_cell_quantity(value, unit) : lull_number_cell(value);
}

struct lull_cell lull_received_cell(uint64_t bytes)
{
    return bytes == LULL_UNKNOWN_BYTES
               ? lull_cell_absent("the receives tell of larger messages than any that was sent")
               : lull_cell_bytes(bytes);
}

/* ==== notices document ======================================================================== */

void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices)
{
    for (size_t i = 0; i < notices->count; i++) {
        const struct lull_notice *notice = &notices->items[i];
        enum lull_note_kind kind =
            notice->kind == LULL_NOTICE_WARNING ? LULL_NOTE_WARNING : LULL_NOTE_INFO;
        lull_document_note(document, kind, "%s", notice->text);
    }
}
