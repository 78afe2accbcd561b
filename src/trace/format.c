/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format.h"

#include "lull_features.h"

#include <string.h>

extern const struct lull_format lull_format_otf2;
extern const struct lull_format lull_format_paraver;
extern const struct lull_format lull_format_kineto;
extern const struct lull_format lull_format_chrome;

const struct lull_format *const lull_formats[] = {
    &lull_format_tape,
#if LULL_HAVE_OTF2
    &lull_format_otf2,
#endif
    &lull_format_paraver, &lull_format_kineto, &lull_format_chrome, NULL,
};

const struct lull_format *lull_format_find(const char *name)
{
    for (int i = 0; lull_formats[i]; i++)
        if (strcmp(lull_formats[i]->name, name) == 0)
            return lull_formats[i];
    return NULL;
}
