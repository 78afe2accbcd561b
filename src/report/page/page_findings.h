/* The findings of a document on the page: sentences with links to the timeline. Internal to the
 * report room. */
#ifndef LULL_REPORT_PAGE_PAGE_FINDINGS_H
#define LULL_REPORT_PAGE_PAGE_FINDINGS_H

#include "report/model.h"

void lull_page_findings(FILE *out, const struct lull_document *document,
                        const struct lull_render_options *options);

#endif
