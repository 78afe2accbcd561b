/* The findings of a document as JSON. Internal to the report room. */
#ifndef LULL_REPORT_RENDER_JSON_FINDINGS_H
#define LULL_REPORT_RENDER_JSON_FINDINGS_H

#include "report/model.h"

/* "findings": [...]; nothing where the document says nothing of findings. */
void lull_json_findings(struct lull_json *json, const struct lull_document *document);

/* The value of a cell (render/render_json.c). */
void lull_json_cell(struct lull_json *json, struct lull_cell cell);

#endif
