/* The document of `lull model program`. */
#ifndef LULL_VIEW_PROGRAM_PROGRAM_DOCUMENT_H
#define LULL_VIEW_PROGRAM_PROGRAM_DOCUMENT_H

#include "report/document.h"
#include "study/model/program_study.h"

/* "lull-model-program/1": parameters, terms or sweep, where the limit changes, what matters most,
 * and where asked for calibration and comparison with runs. */
struct lull_document *lull_program_document(const struct lull_program_study *study,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena);

#endif
