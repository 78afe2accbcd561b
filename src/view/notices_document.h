/* Internal to view: what a study tells beside its numbers, as notes of a document. */
#ifndef LULL_VIEW_NOTICES_DOCUMENT_H
#define LULL_VIEW_NOTICES_DOCUMENT_H

#include "report/document.h"
#include "study/notices.h"

void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices);

#endif
