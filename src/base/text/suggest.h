/* "Did you mean ...?" */
#ifndef LULL_BASE_SUGGEST_H
#define LULL_BASE_SUGGEST_H

#include <stddef.h>

/* The candidate that `word` most likely stands for, or NULL if none is near. Candidates that are
 * NULL are passed over. */
const char *lull_suggest(const char *word, const char *const *candidates, size_t count);

#endif
