/* One line of a history. Internal to study. */
#ifndef LULL_STUDY_HISTORY_LINE_H
#define LULL_STUDY_HISTORY_LINE_H

#include "study/history/history.h"

/* Ends with '\n'. NULL: no memory. To be freed. */
char *lull_history_line_write(const struct lull_history_entry *entry);

/* Without the newline. LULL_ERR_FORMAT with the cause alone. */
lull_status lull_history_line_read(const char *text, size_t size, struct lull_arena *arena,
                                   struct lull_history_entry *ret_entry, struct lull_error *err);

#endif
