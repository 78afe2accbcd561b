#include "base/json/json_step.h"

#include <stdio.h>

static size_t print_step(const struct lull_json_step *step, char *text, size_t size)
{
    if (!step)
        return 0;
    size_t used = print_step(step->up, text, size);
    if (used >= size)
        return used;
    int length = step->key ? snprintf(text + used, size - used, "/%s", step->key)
                           : snprintf(text + used, size - used, "/%zu", step->index);
    return used + (length > 0 ? (size_t)length : 0);
}

lull_status lull_json_wrong(struct lull_error *err, const char *path,
                            const struct lull_json_step *step, const char *what)
{
    char place[300] = "";
    print_step(step, place, sizeof place);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: %s: %s", path, place[0] ? place : "/", what);
}
