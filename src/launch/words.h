/* A command line that is put together word by word. */
#ifndef LULL_LAUNCH_WORDS_H
#define LULL_LAUNCH_WORDS_H

#include "base/arena.h"

struct lull_words {
    char **items; /* [count], with NULL behind them */
    size_t count, capacity;
    struct lull_arena *arena;
};

/* Copies the word, or adds a NULL. */
void lull_words_add(struct lull_words *words, const char *word);

/* "--NAME=VALUE"; nothing where the value is NULL. */
void lull_words_option(struct lull_words *words, const char *name, const char *value);

#endif
