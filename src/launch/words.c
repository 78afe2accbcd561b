#include "launch/words.h"

void lull_words_add(struct lull_words *words, const char *word)
{
    words->items = lull_arena_grow(words->arena, words->items, &words->capacity, words->count + 2,
                                   sizeof *words->items);
    words->items[words->count++] = word ? lull_arena_strdup(words->arena, word) : NULL;
    words->items[words->count] = NULL;
}

void lull_words_option(struct lull_words *words, const char *name, const char *value)
{
    if (value)
        lull_words_add(words, lull_arena_printf(words->arena, "--%s=%s", name, value));
}
