#include "base/array.h"
#include "trace/format/paraver/read/header.h"

#include <string.h>

enum { LONGEST_LINE = 1 << 28 }; /* a header of ten million tasks */

static lull_status append_to_line(struct lull_prv_lines *lines, const uint8_t *data, size_t size,
                                  struct lull_error *err)
{
    if (lines->length + size > LONGEST_LINE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: longer than %d MiB", lines->path,
                         (unsigned long long)lines->number, LONGEST_LINE >> 20);
    size_t need = lines->length + size + 2 * LULL_PRV_PAD;
    if (!lull_array_reserve(&lines->line, &lines->capacity, need, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for line %llu", lines->path,
                         (unsigned long long)lines->number);
    if (size > 0)
        memcpy(lines->line + lines->length, data, size);
    lines->length += size;
    memset(lines->line + lines->length, 0, 2 * LULL_PRV_PAD);
    return LULL_OK;
}

lull_status lull_prv_next_line(struct lull_prv_lines *lines, struct lull_error *err)
{
    lines->offset += lines->length;
    lines->length = 0;
    lines->number++;
    for (;;) {
        if (lines->at == lines->size) {
            lull_status status =
                lull_prv_source_next(lines->source, &lines->memory, &lines->size, err);
            if (status != LULL_OK)
                return status;
            lines->at = 0;
            if (lines->size == 0) {
                lines->ended = lines->length == 0;
                return append_to_line(lines, NULL, 0, err);
            }
        }
        const uint8_t *from = lines->memory + LULL_PRV_HEAD + lines->at;
        const uint8_t *newline = memchr(from, '\n', lines->size - lines->at);
        size_t part = newline ? (size_t)(newline + 1 - from) : lines->size - lines->at;
        lull_status status = append_to_line(lines, from, part, err);
        if (status != LULL_OK)
            return status;
        lines->at += part;
        if (newline)
            return LULL_OK;
    }
}
