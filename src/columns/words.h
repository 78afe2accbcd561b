/* SPDX-License-Identifier: BSD-3-Clause */
/* Words: the texts that a column of names may hold, each once. Readers of Arrow files make
 * categories of them, which must differ from each other. */
#ifndef LULL_COLUMNS_WORDS_H
#define LULL_COLUMNS_WORDS_H

#include "base/hash.h"
#include "trace/trace.h"

/* Things 0 .. count - 1 that have names, which may be the same for several of them. */
struct lull_column_words {
    struct lull_hash texts; /* the names, valid UTF-8, each once, in the order in which they came */
    uint32_t *of;           /* [count]: the place of a thing's name among `texts` */
    size_t count, capacity;
};

/* Adds a thing with this name. Control characters, and bytes that are no UTF-8, become "\x1b".
 * False: no memory. */
bool lull_column_words_add(struct lull_column_words *words, const char *name);
/* Adds `count` things, whose names `name` knows by number. False: no memory. */
bool lull_column_words_add_all(struct lull_column_words *words, unsigned count,
                               const char *(*name)(unsigned));
void lull_column_words_free(struct lull_column_words *words); /* a struct of zeros is allowed */

/* Sets of definitions; the things of `words` are then those of the trace, by their index. */
bool lull_column_words_of_regions(struct lull_column_words *words, const struct lull_trace *trace);
bool lull_column_words_of_comms(struct lull_column_words *words, const struct lull_trace *trace);
bool lull_column_words_of_objects(struct lull_column_words *words, const struct lull_trace *trace);

#endif
