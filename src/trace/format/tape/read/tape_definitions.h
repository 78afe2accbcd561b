/* What the files share that read the definitions of a tape: definitions.c reads files and tells the
 * kinds apart, kinds.c makes one definition of the trace, comms.c makes communicators. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_DEFINITIONS_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_DEFINITIONS_H

#include "base/hash.h"
#include "tape/definition.h"
#include "trace/format/tape/tape.h"

/* What a communicator needs until all definitions have been read. */
struct comm_draft {
    uint32_t parent, remote; /* ids in `scope` */
    uint32_t partner;        /* index of the other group, in place of `remote`; or LULL_NONE */
    const struct lull_tape_scope *scope;
    bool whole_run;
    bool known; /* some process knows all members */
};

/* A process says which member of a communicator it is. */
struct comm_claim {
    uint32_t comm, rank; /* index */
    const struct lull_tape_scope *scope;
};

/* Ids of a scope, before they are all there; malloc'd. */
struct lull_tape_room {
    uint32_t *ids[LULL_TAPE_MAPS];
    size_t capacity[LULL_TAPE_MAPS];
};

/* Ids of what several processes have in common, which one member of a share tells of its own
 * (trace/format/tape/tape_share.h). */
struct lull_tape_names {
    struct lull_tape_scope scope;
    struct lull_tape_room room;
};

struct lull_tape_telling;

struct lull_tape_merge {
    struct lull_trace *trace;
    /* Of these three one at most is set. */
    struct lull_tape_telling *telling; /* definitions are told to others */
    struct lull_tape_names *names; /* they are told by others: the ids of all but communicators */
    bool learns;                   /* all are known: ids only are looked up */
    struct lull_hash known[LULL_TAPE_MAPS]; /* content -> index */
    size_t capacity[LULL_TAPE_MAPS], processes_capacity;
    struct comm_draft *drafts; /* parallel to trace->comms */
    size_t drafts_capacity;
    struct comm_claim *claims; /* trace/format/tape/read/tape_comms.c */
    size_t n_claims, claims_capacity;
    struct comm_half *halves; /* trace/format/tape/read/tape_comms.c */
    size_t n_halves, halves_capacity;
    uint64_t most_ids;          /* of the file being read: as many as it has bytes of definitions */
    struct lull_tape_room room; /* of the scope being read */
    struct lull_hash lists;     /* of ids, as they are in the arena -> where */
};

/* The index of an id in its scope, LULL_NONE if it is not defined. */
static inline uint32_t lull_tape_index_of(const struct lull_tape_ids *ids, uint32_t id)
{
    return id < ids->count ? ids->index[id] : LULL_NONE;
}

/* One more element at the end of an array of the trace. */
#define TAPE_NEW_ELEMENT(merge, map, array, count)                                              \
    ((merge)->trace->array =                                                                    \
         lull_arena_grow((merge)->trace->arena, (merge)->trace->array, &(merge)->capacity[map], \
                         (size_t)(merge)->trace->count + 1, sizeof *(merge)->trace->array),     \
     &(merge)->trace->array[(merge)->trace->count++])

/* Looks the content up; a new one gets `fresh` as its index and *ret_new. */
lull_status lull_tape_unify(struct lull_tape_merge *merge, enum lull_tape_map map,
                            const void *content, size_t size, uint32_t fresh, uint32_t *ret_index,
                            bool *ret_new);

/* ---- definitions.c --------------------------------------------------------------------------- */

/* What means the same in several processes is one definition: nodes, regions, states, counters,
 * markers, objects, files, call sites. */
bool lull_tape_is_shared(unsigned kind);
/* Of such a kind: its index, and whether it is new. */
lull_status lull_tape_define_shared(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                    bool whole_run, const struct lull_tape_definition *definition,
                                    struct lull_tape_fields *fields, uint32_t *ret_index,
                                    bool *ret_fresh);
lull_status lull_tape_set_shared_id(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                    const struct lull_tape_definition *definition, uint32_t index);
/* One definition. */
lull_status lull_tape_define(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                             bool whole_run, const unsigned char *bytes);
/* That it failed with `status`: it stands at `offset` of a file, with this id. */
lull_status lull_tape_bad_definition(const char *path, uint64_t offset, const unsigned char *bytes,
                                     uint32_t id, lull_status status, struct lull_error *err);
/* Those in `size` bytes, which stand in the file from `begin` on. `process`: its number, or
 * LULL_TAPE_WHOLE_RUN. */
lull_status lull_tape_walk_definitions(struct lull_tape_merge *merge, const char *path,
                                       uint32_t process, const unsigned char *bytes, size_t begin,
                                       size_t size, struct lull_tape_scope *scope,
                                       struct lull_error *err);
void lull_tape_merge_free(struct lull_tape_merge *merge);

/* The next field, a text, in the arena of the trace. */
const char *lull_tape_take_text(struct lull_tape_merge *merge, struct lull_tape_fields *fields);

/* ---- tape_comms.c -------------------------------------------------------------------------------- */

void lull_tape_define_world(struct lull_tape_scope *scope, struct lull_tape_fields *fields);
/* When all is read. */
lull_status lull_tape_find_members(struct lull_trace *trace, struct lull_error *err);

/* ---- comms.c --------------------------------------------------------------------------------- */

lull_status lull_tape_define_comm(struct lull_tape_merge *merge,
                                  const struct lull_tape_scope *scope, bool whole_run,
                                  struct lull_tape_fields *fields, uint32_t *ret_index);
/* When all is read: process numbers become indices, ids of other communicators become indices. */
lull_status lull_tape_resolve_comm(struct lull_tape_merge *merge, uint32_t c,
                                   struct lull_error *err);

/* That only `known` members were recorded. */
void lull_tape_tell_outsiders(struct lull_trace *trace, const struct lull_comm *comm,
                              uint32_t known);
/* Makes room in the trace for one more, whose draft and members are to be filled in. */
uint32_t lull_tape_new_comm(struct lull_tape_merge *merge);
/* A list of members; one that does not fit its definition makes the definition bad. */
uint32_t *lull_tape_read_members(struct lull_tape_merge *merge, uint32_t listed,
                                 struct lull_tape_fields *fields);

/* ---- tape_comms.c -------------------------------------------------------------------------------- */

lull_status lull_tape_add_claim(struct lull_tape_merge *merge, uint32_t comm, uint64_t rank,
                                const struct lull_tape_scope *scope);
/* When all is read. */
void lull_tape_sort_claims(struct lull_tape_merge *merge);
/* The members of a communicator that nobody knows are those that say so. False: not all of them
 * have, or they do not agree, which is told. */
bool lull_tape_take_claims(struct lull_tape_merge *merge, uint32_t comm);

/* ---- tape_comms.c -------------------------------------------------------------------------------- */

/* The other group of a communicator of the process, which the process itself cannot name. */
lull_status lull_tape_define_far(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                                 uint32_t id, struct lull_tape_fields *fields);
/* When all is read: groups become each other's partner; those whose other group nobody was recorded
 * of get one that is made for them. */
void lull_tape_join_halves(struct lull_tape_merge *merge);

#endif
