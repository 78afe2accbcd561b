/* A run that several processes of lull open together. Each reads the files of some processes of the
 * run, its *own*, and they tell each other what is in them: headers, definitions, names of call
 * sites, when records begin and end. So all know the whole run, and nothing but lists of files is
 * read by more than one of them. What only a reading of events needs (where the records of a
 * process stand, what its ids mean) is found out when a process is read first, by whoever does.
 *
 * What all are told is told in the order of processes, as one that reads all would find it: the
 * trace is the same to the last index. Where nobody shares, data->share is NULL. */
#ifndef LULL_TRACE_FORMAT_TAPE_TAPE_SHARE_H
#define LULL_TRACE_FORMAT_TAPE_TAPE_SHARE_H

#include "base/hash.h"
#include "trace/format/tape/read/tape_definitions.h"
#include "trace/format/tape/tape.h"
#include "trace/trace.h"

#include <pthread.h>

struct lull_tape_head;

/* So many processes are told of at a time, by all together: what is on its way is bounded. */
enum { LULL_TAPE_AT_A_TIME = 2048 };

struct lull_tape_share {
    const struct lull_exchange *exchange; /* until the run is open */
    uint32_t index;                       /* of this member */
    uint32_t *numbers, *owners; /* [n]: of the processes with files, ascending, and who reads them;
                                   malloc'd */
    size_t n;
    uint64_t sight;               /* a hash of the numbers: all must have listed the same */
    struct lull_tape_head *heads; /* per location, until the locations are made; malloc'd */
    size_t n_heads, heads_capacity;
    struct lull_arena *texts; /* of heads, and sets of cores, as long as these */
    /* since the definitions have been read */
    struct lull_tape_merge *merge; /* what contents mean */
    struct lull_trace view;        /* the trace, with an arena for what is found out later */
    pthread_mutex_t lock;          /* of all that is */
    bool *known; /* [n_processes]: what its ids mean, and where its records stand */
};

/* ---- share.c --------------------------------------------------------------------------------- */

/* When the files are listed; does nothing where nobody shares. The files of one node, in which its
 * processes have recorded, are one member's. */
lull_status lull_tape_share_begin(struct lull_trace *trace, struct lull_error *err);
void lull_tape_share_end(struct lull_tape_share *share);
/* Whether this member reads the process with that number: true where nobody shares. */
bool lull_tape_is_own(const struct lull_trace *trace, uint32_t number);
/* Who does; LULL_NONE: there is no such process. */
uint32_t lull_tape_owner(const struct lull_tape_share *share, uint32_t number);

/* What is said: structs, and texts with their NUL, each filled up to a multiple of 8. */
struct lull_tape_words {
    unsigned char *bytes; /* malloc'd */
    size_t size, capacity;
    bool failed; /* there was no memory */
};
void lull_tape_say(struct lull_tape_words *words, const void *bytes, size_t size);
void lull_tape_say_text(struct lull_tape_words *words, const char *text);

/* And heard. */
struct lull_tape_ear {
    const unsigned char *at, *end;
    bool bad; /* less was said */
};
/* False, and zeros: less was said. */
bool lull_tape_hear(struct lull_tape_ear *ear, void *bytes, size_t size);
/* `size` bytes where they are; NULL: less was said. */
const void *lull_tape_hear_bytes(struct lull_tape_ear *ear, size_t size);
const char *lull_tape_hear_text(struct lull_tape_ear *ear); /* "" where less was said */

/* Tells all, unless this member or another one has failed. Frees the words. */
lull_status lull_tape_tell_all(const struct lull_trace *trace, struct lull_tape_words *words,
                               lull_status status,
                               lull_status (*take)(void *context, uint32_t member,
                                                   const void *bytes, size_t size,
                                                   struct lull_error *err),
                               void *context, struct lull_error *err);
/* The others open something else. */
lull_status lull_tape_other_run(const struct lull_trace *trace, struct lull_error *err);

/* ---- heads.c: headers ------------------------------------------------------------------------ */

/* Reads the headers of the own files; data->files has those of all then. */
lull_status lull_tape_share_heads(struct lull_trace *trace, lull_status status,
                                  struct lull_error *err);
/* The files are sorted: what was told of each stands at its index. */
void lull_tape_sort_heads(struct lull_trace *trace);
/* As lull_tape_read_header, of what was told. */
lull_status lull_tape_told_header(const struct lull_trace *trace, uint32_t location,
                                  struct lull_tape_header *ret_header, struct lull_error *err);

/* ---- told_definitions.c, told_definitions.c: definitions ----------------------------------------------------------- */

/* How a member tells definitions: each content once, with ids of its own. */
struct lull_tape_telling {
    struct lull_trace *scratch;
    struct lull_tape_merge *merge; /* of it */
    struct lull_tape_words *words;
    uint64_t offset; /* of the definition, in its file */
};

enum lull_tape_told_kind { TOLD_DEFINITION, TOLD_PIECE, TOLD_DAMAGE };

/* In front of what is told of a process. */
struct lull_tape_told_process {
    uint32_t number;
    uint32_t found; /* it has definitions */
    uint64_t size;
};

/* TOLD_DEFINITION: a definition follows; TOLD_PIECE: `offset` more bytes of definitions are there;
 * TOLD_DAMAGE: a text follows, why the definitions make no sense. */
struct lull_tape_told_entry {
    uint64_t offset;
    uint32_t kind, id; /* as it is in the file */
};

/* What a member has told is kept while it tells: a trace of what was told of its processes. */
lull_status lull_tape_telling_begin(const struct lull_trace *trace,
                                    struct lull_tape_telling *telling, struct lull_error *err);
void lull_tape_telling_end(struct lull_tape_telling *telling);
/* Definitions of an own process. What its ids mean to the member is kept in data->scopes. */
lull_status lull_tape_tell_process(const struct lull_trace *trace,
                                   struct lull_tape_telling *telling, uint32_t process,
                                   struct lull_tape_words *words, struct lull_error *err);
/* While merge->telling: tells a definition, if it is new. */
lull_status lull_tape_tell_definition(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                      const struct lull_tape_definition *definition,
                                      struct lull_tape_fields *fields);
void lull_tape_tell_piece(struct lull_tape_merge *merge, uint64_t size);
/* Those of the run, and of all processes; as one that reads all of them, in tape.c. */
lull_status lull_tape_share_definitions(struct lull_trace *trace, struct lull_tape_merge *merge,
                                        struct lull_error *err);

/* ---- lives.c --------------------------------------------------------------------------------- */

/* What the records of a location, and its sums, tell of its begin and end. */
struct lull_tape_life {
    uint64_t first, last;          /* ticks, of its records; first > last: there are none */
    uint64_t sums_begin, sums_end; /* ticks; both 0: not known, or not needed */
    uint64_t open_time;            /* as in struct lull_tape_file */
    uint32_t open_region, location;
};

/* Those that have to be looked for (tape_times.c): by their owners, told to all, by location; in memory
 * of malloc. */
lull_status lull_tape_share_lives(const struct lull_trace *trace, struct lull_tape_life **ret_lives,
                                  size_t *ret_count, struct lull_error *err);
/* tape_times.c: whether the header of a location tells all of it, and looking for it otherwise.
 * `slots`: room for a chunk. */
bool lull_tape_tells_life(const struct lull_tape_data *data, const struct lull_tape_file *file);
lull_status lull_tape_find_life(const struct lull_trace *trace, uint32_t location,
                                union lull_tape_slot *slots, struct lull_tape_life *ret_life,
                                struct lull_error *err);

/* ---- names.c --------------------------------------------------------------------------------- */

/* The first looks for the names of call sites, and tells them. */
lull_status lull_tape_share_names(struct lull_trace *trace, struct lull_error *err);

/* ---- need.c ---------------------------------------------------------------------------------- */

/* Takes over what contents mean, when all definitions are known. */
lull_status lull_tape_share_keep(struct lull_trace *trace, struct lull_tape_merge *merge,
                                 struct lull_error *err);
/* A location, or its sums, are about to be read: finds out what was not told. By any thread. */
lull_status lull_tape_need(const struct lull_trace *trace, uint32_t location,
                           struct lull_error *err);

#endif
