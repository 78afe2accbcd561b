#include "trace/format.h"

#include <string.h>

extern const struct lull_format lull_format_tape;

const struct lull_format *const lull_formats[] = {
    &lull_format_tape,
    NULL,
};

const struct lull_format *lull_format_find(const char *name)
{
    for (int i = 0; lull_formats[i]; i++)
        if (strcmp(lull_formats[i]->name, name) == 0)
            return lull_formats[i];
    return NULL;
}
