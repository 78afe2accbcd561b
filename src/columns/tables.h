/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a run: internal to the room, what its files share. docs/formats/arrow.md describes
 * the columns.
 *
 * definition_tables.c  locations, regions, call sites: from the definitions
 * event_table.c        events, as they were recorded: a visitor of a scan
 * step_tables.c        steps and samples: a consumer of steps
 * operation_tables.c   messages and collectives, matched: a consumer of steps
 * columns.c            all of them */
#ifndef LULL_COLUMNS_TABLES_H
#define LULL_COLUMNS_TABLES_H

#include "activity/reading.h"
#include "base/hash.h"
#include "columns/arrow_file.h"
#include "trace/scan.h"
#include "trace/trace.h"

/* ==== words =================================================================================== */

/* Words: the texts that a column of names may hold, each once. Readers of Arrow files make
 * categories of them, which must differ from each other. */

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

/* ==== what tables share ======================================================================= */

enum { LULL_TABLE_NOTES = 5 };

struct lull_tables {
    const struct lull_trace *trace;
    const char *folder; /* where the files are written */
    const char *shown;  /* the folder that the user asked for, for messages */
    struct lull_column_words regions, comms, objects;
    struct lull_column_words activities; /* of steps */
    struct lull_arrow_note notes[LULL_TABLE_NOTES];
    char numbers[2][24]; /* of the notes */
};

/* Opens the file NAME.arrow. */
lull_status lull_table_open(const struct lull_tables *tables, const char *name,
                            const struct lull_arrow_column *columns, uint32_t n_columns,
                            struct lull_arrow_file *ret_file, struct lull_error *err);

lull_status lull_tables_no_memory(const struct lull_tables *tables, struct lull_error *err);

/* The name of thing `index` of `words`; no value for LULL_NONE. */
static inline void lull_set_word(struct lull_arrow_file *file, unsigned column,
                                 const struct lull_column_words *words, uint32_t index)
{
    if (index < words->count)
        lull_set_name(file, column, words->of[index]);
    else
        lull_set_null(file, column);
}

/* An index; no value for LULL_NONE. */
static inline void lull_set_index(struct lull_arrow_file *file, unsigned column, uint32_t index)
{
    if (index == LULL_NONE)
        lull_set_null(file, column);
    else
        lull_set_int32(file, column, index);
}

/* ==== the tables ============================================================================== */

lull_status lull_write_definition_tables(const struct lull_tables *tables, struct lull_error *err);

/* The other tables have a state, which is created by ..._open and ended by ..._close, in success and
 * failure; `complete` false: the files are closed as they are. */

struct lull_event_table;
lull_status lull_event_table_open(const struct lull_tables *tables,
                                  struct lull_event_table **ret_table, struct lull_error *err);
/* Of a scan with one worker. */
struct lull_visitor lull_event_table_visitor(struct lull_event_table *table);
lull_status lull_event_table_close(struct lull_event_table *table, bool complete,
                                   struct lull_error *err);

struct lull_step_tables;
lull_status lull_step_tables_open(const struct lull_tables *tables,
                                  struct lull_step_tables **ret_tables, struct lull_error *err);
/* Of a pass with one worker, as the next one. */
struct lull_consumer lull_step_tables_consumer(struct lull_step_tables *tables);
lull_status lull_step_tables_close(struct lull_step_tables *tables, bool complete,
                                   struct lull_error *err);

struct lull_operation_tables;
lull_status lull_operation_tables_open(const struct lull_tables *tables,
                                       struct lull_operation_tables **ret_tables,
                                       struct lull_error *err);
struct lull_consumer lull_operation_tables_consumer(struct lull_operation_tables *tables);
lull_status lull_operation_tables_close(struct lull_operation_tables *tables, bool complete,
                                        struct lull_error *err);

#endif
