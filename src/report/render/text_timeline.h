/* Timelines as text: blocks and letters. Internal to the report room. */
#ifndef LULL_REPORT_RENDER_TEXT_TIMELINE_H
#define LULL_REPORT_RENDER_TEXT_TIMELINE_H

#include "report/model.h"

void lull_text_timeline(FILE *out, struct lull_arena *arena,
                        const struct lull_picture_timeline *timeline,
                        const struct lull_render_options *options);

#endif
