/* Program models from texts and from the files that lull ships; a test that cannot have one fails.
 */
#ifndef LULL_TESTS_SUPPORT_MODEL_TEXT_H
#define LULL_TESTS_SUPPORT_MODEL_TEXT_H

#include "model/program/program_model.h"

struct lull_program_model model_of_text(const char *text, struct lull_arena *arena);
/* data/models/NAME */
struct lull_program_model model_shipped(const char *name, struct lull_arena *arena);
/* Sets a parameter: "P=4". */
void model_set(struct lull_program_model *model, const char *setting);

#endif
