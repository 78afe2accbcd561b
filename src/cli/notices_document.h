/* What a study tells beside its numbers, as notes of a document. */
#ifndef LULL_CLI_NOTICES_DOCUMENT_H
#define LULL_CLI_NOTICES_DOCUMENT_H

#include "cli/notices.h"
#include "report/document.h"

void lull_document_add_notices(struct lull_document *document, const struct lull_notices *notices);

#endif
