/* The first findings of a document for people. Internal to the report room. */
#ifndef LULL_REPORT_RENDER_TEXT_FINDINGS_H
#define LULL_REPORT_RENDER_TEXT_FINDINGS_H

#include "report/model.h"

void lull_text_findings(FILE *out, const struct lull_document *document, size_t width);

#endif
