/* Lines of histories of any content: what is accepted is written and read as the same. */
#include "study/history/history.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_history_entry entry, again;
    struct lull_error err;
    if (lull_history_line_read((const char *)data, size, arena, &entry, &err) == LULL_OK) {
        char *line = lull_history_line_write(&entry);
        if (!line || lull_history_line_read(line, strlen(line), arena, &again, &err) != LULL_OK ||
            again.n_values != entry.n_values || again.time != entry.time ||
            strcmp(again.key.program, entry.key.program) != 0)
            abort();
        free(line);
    }
    lull_arena_destroy(arena);
    return 0;
}
