/* Timelines and matrices of a document as JSON: docs/formats/report.md. Internal to the report
 * room. */
#ifndef LULL_REPORT_RENDER_JSON_PICTURES_H
#define LULL_REPORT_RENDER_JSON_PICTURES_H

#include "report/model.h"

/* The keys "timelines" and "matrices", where the document has any, in an object that is open. */
void lull_json_pictures(struct lull_json *json, const struct lull_document *document);

#endif
