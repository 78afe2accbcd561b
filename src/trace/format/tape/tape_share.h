/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that several members of a team open together; internal to the tape format.
 *
 * Each member reads the files of some processes of the run, its *own* processes, and tells the
 * others what is in them: headers, definitions, names of call sites, when records begin and end. So
 * all members know the whole run, and only the lists of files are read by more than one of them.
 * Where the records of a process stand and what its ids mean is needed only to read events: the
 * member that reads a location of the process finds this out when it reads the first one.
 *
 * Everything is told in the order of processes, as a member that reads all would find it. So the
 * trace is the same in all members, to the last index. Where a member opens a run alone,
 * data->share is NULL. */
#ifndef LULL_TRACE_FORMAT_TAPE_TAPE_SHARE_H
#define LULL_TRACE_FORMAT_TAPE_TAPE_SHARE_H

#include "base/hash.h"
#include "trace/format/tape/tape_data.h"
#include "trace/trace.h"

#include <pthread.h>

struct lull_tape_head;
struct lull_tape_merge;

/* How many processes all members together tell of at a time; this bounds the memory of messages. */
enum { LULL_TAPE_AT_A_TIME = 2048 };

struct lull_tape_share {
    const struct lull_exchange *exchange; /* until the run is open */
    uint32_t index;                       /* of this member */
    uint32_t *numbers; /* [n], malloc'd: of the processes with files, ascending */
    uint32_t *owners;  /* [n], malloc'd: the member that reads each */
    size_t n;
    uint64_t sight;               /* a hash of the numbers: all members must have listed the same */
    struct lull_tape_head *heads; /* per location, until the locations are made; malloc'd */
    size_t n_heads, heads_capacity;
    struct lull_arena *texts; /* texts and sets of cores of the heads; lives as long as these */
    /* The rest is set when the definitions have been read. */
    struct lull_tape_merge *merge; /* which index each content of a definition has */
    struct lull_trace view;        /* the trace, with an arena for what is found out later */
    pthread_mutex_t lock;          /* of `merge`, `view` and `known` */
    bool *known; /* [n_processes]: whether the meaning of the process's ids and the places of its
                    records are known */
};

/* ---- telling each other ---------------------------------------------------------------------- */

/* Begins sharing, when the files are listed; does nothing without an exchange. Processes that have
 * recorded into the same file of a node belong to one member. */
lull_status lull_tape_share_begin(struct lull_trace *trace, struct lull_error *err);
void lull_tape_share_end(struct lull_tape_share *share);
/* Whether this member reads the process with that number; true without sharing. */
bool lull_tape_is_own(const struct lull_trace *trace, uint32_t number);
/* The member that reads it; LULL_NONE: there is no such process. */
uint32_t lull_tape_owner(const struct lull_tape_share *share, uint32_t number);

/* A message that grows: structs, and texts with their NUL, each filled up to a multiple of 8. */
struct lull_tape_words {
    unsigned char *bytes; /* malloc'd */
    size_t size, capacity;
    bool failed; /* there was no memory */
};
void lull_tape_say(struct lull_tape_words *words, const void *bytes, size_t size);
void lull_tape_say_text(struct lull_tape_words *words, const char *text);

/* A message that is read from its begin to its end. */
struct lull_tape_ear {
    const unsigned char *at, *end;
    bool bad; /* the message was too short for what was asked of it */
};
/* Takes the next `size` bytes; where the message is too short, false, and *bytes becomes zeros. */
bool lull_tape_hear(struct lull_tape_ear *ear, void *bytes, size_t size);
/* The next `size` bytes in their place; NULL where the message is too short. */
const void *lull_tape_hear_bytes(struct lull_tape_ear *ear, size_t size);
const char *lull_tape_hear_text(struct lull_tape_ear *ear); /* "" where it is too short */

/* Sends the words to all members, and calls `take` for those of each member, unless this member
 * (`status`) or another one has failed. Frees the words. */
lull_status lull_tape_tell_all(const struct lull_trace *trace, struct lull_tape_words *words,
                               lull_status status,
                               lull_status (*take)(void *context, uint32_t member,
                                                   const void *bytes, size_t size,
                                                   struct lull_error *err),
                               void *context, struct lull_error *err);
/* Fails, because the other members open another run. */
lull_status lull_tape_other_run(const struct lull_trace *trace, struct lull_error *err);

/* ---- headers --------------------------------------------------------------------------------- */

/* Reads the headers of the own files and gets those of the others. Then data->files has the
 * locations of all. */
lull_status lull_tape_share_heads(struct lull_trace *trace, lull_status status,
                                  struct lull_error *err);
/* To be called when data->files is sorted: brings the heads into the same order. */
void lull_tape_sort_heads(struct lull_trace *trace);
/* As lull_tape_read_header, from what was told. */
lull_status lull_tape_told_header(const struct lull_trace *trace, uint32_t location,
                                  struct lull_tape_header *ret_header, struct lull_error *err);

/* ---- names of call sites --------------------------------------------------------------------- */

/* The first member looks for the names of call sites, and tells them. */
lull_status lull_tape_share_names(struct lull_trace *trace, struct lull_error *err);

/* ---- what is found out when it is needed ----------------------------------------------------- */

/* Keeps the merge for later, when all definitions are known. */
lull_status lull_tape_share_keep(struct lull_trace *trace, struct lull_tape_merge *merge,
                                 struct lull_error *err);
/* To be called before a location or its sums are read: finds out what was not told of the process.
 * Any thread may call it. */
lull_status lull_tape_need(const struct lull_trace *trace, uint32_t location,
                           struct lull_error *err);

#endif
