/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the definitions of a tape; internal to the tape format. tape_definitions.c reads files
 * and makes most kinds; tape_comms.c makes worlds and communicators, call_sites.c call sites, and
 * tape_properties.c properties. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_DEFINITIONS_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_DEFINITIONS_H

#include "base/hash.h"
#include "tape/definition.h"
#include "trace/format/tape/tape_data.h"

/* What is kept of a communicator until all definitions have been read. */
struct comm_draft {
    uint32_t parent, remote; /* ids in `scope` */
    uint32_t partner;        /* index of the other group, in place of `remote`; or LULL_NONE */
    const struct lull_tape_scope *scope;
    bool whole_run; /* the scope is that of the run */
    bool known;     /* a process knows all members */
};

/* A process that does not know all members of a communicator says which rank it has in it. */
struct comm_claim {
    uint32_t comm, rank;                 /* comm: index */
    const struct lull_tape_scope *scope; /* of the process */
};

/* The maps of a scope while they grow; malloc'd. */
struct lull_tape_room {
    uint32_t *ids[LULL_TAPE_MAPS];
    size_t capacity[LULL_TAPE_MAPS];
};

/* The ids that one member of a share gives to the definitions that it tells and that several
 * processes may have in common (trace/format/tape/tape_share.h). */
struct lull_tape_names {
    struct lull_tape_scope scope;
    struct lull_tape_room room;
};

struct lull_tape_telling;

struct lull_tape_merge {
    struct lull_trace *trace;
    /* At most one of these three is set. */
    struct lull_tape_telling *telling; /* definitions are read to be told to other members */
    struct lull_tape_names *names; /* definitions are told by another member; these are its ids of
                                          all kinds but communicators */
    bool learns;                   /* all definitions are known, and only ids are looked up */
    struct lull_hash known[LULL_TAPE_MAPS]; /* content of a definition -> index */
    size_t capacity[LULL_TAPE_MAPS], processes_capacity;
    struct comm_draft *drafts; /* [trace->n_comms] */
    size_t drafts_capacity;
    struct comm_claim *claims;
    size_t n_claims, claims_capacity;
    struct comm_half *halves; /* groups of inter-communicators (tape_comms.c) */
    size_t n_halves, halves_capacity;
    uint64_t most_ids; /* bytes of definitions in the file being read: ids are below this number */
    struct lull_tape_room room;  /* of the scope being read */
    struct lull_hash properties; /* key and value -> index in trace->properties */
    size_t properties_capacity;
    uint32_t process;       /* index of the process whose definitions are being read */
    struct lull_hash lists; /* list of indices -> the same list in the arena, for sharing */
};

/* The index of an id in its scope, LULL_NONE if it is not defined. */
static inline uint32_t lull_tape_index_of(const struct lull_tape_ids *ids, uint32_t id)
{
    return id < ids->count ? ids->index[id] : LULL_NONE;
}

/* Adds an element to the end of an array of the trace, and gives its address. */
#define TAPE_NEW_ELEMENT(merge, map, array, count)                                              \
    ((merge)->trace->array =                                                                    \
         lull_arena_grow((merge)->trace->arena, (merge)->trace->array, &(merge)->capacity[map], \
                         (size_t)(merge)->trace->count + 1, sizeof *(merge)->trace->array),     \
     &(merge)->trace->array[(merge)->trace->count++])

/* Looks up the content of a definition. A new content gets `fresh` as its index, and *ret_new
 * becomes true. */
lull_status lull_tape_unify(struct lull_tape_merge *merge, enum lull_tape_map map,
                            const void *content, size_t size, uint32_t fresh, uint32_t *ret_index,
                            bool *ret_new);

/* ---- definitions (tape_definitions.c) -------------------------------------------------------- */

void lull_tape_merge_free(struct lull_tape_merge *merge);

/* The next field, a text, copied into the arena of the trace. */
const char *lull_tape_take_text(struct lull_tape_merge *merge, struct lull_tape_fields *fields);

/* ---- properties (tape_properties.c) ---------------------------------------------------------- */

/* Takes a PROPERTY of the whole run, or of merge->process. */
void lull_tape_define_property(struct lull_tape_merge *merge, bool whole_run,
                               struct lull_tape_fields *fields);
/* Takes the EXIT of merge->process. */
void lull_tape_define_exit(struct lull_tape_merge *merge, struct lull_tape_fields *fields);

/* ---- telling other members (trace/format/tape/tape_share.h) ---------------------------------- */

/* Gives every member the definitions of the run and of all processes, as if it had read them all
 * itself. */
lull_status lull_tape_share_definitions(struct lull_trace *trace, struct lull_tape_merge *merge,
                                        struct lull_error *err);

/* ---- worlds of MPI (tape_comms.c) ------------------------------------------------------------ */

void lull_tape_define_world(struct lull_tape_scope *scope, struct lull_tape_fields *fields);
/* Makes data->members, when all definitions are read. */
lull_status lull_tape_find_members(struct lull_trace *trace, struct lull_error *err);

/* ---- communicators (tape_comms.c) ------------------------------------------------------------ */

lull_status lull_tape_define_comm(struct lull_tape_merge *merge,
                                  const struct lull_tape_scope *scope, bool whole_run,
                                  struct lull_tape_fields *fields, uint32_t *ret_index);
/* Called when all definitions are read: turns process numbers and ids of other communicators into
 * indices. */
lull_status lull_tape_resolve_comm(struct lull_tape_merge *merge, uint32_t c,
                                   struct lull_error *err);

/* Adds the quirk that only `known` members of a communicator were recorded. */
void lull_tape_tell_outsiders(struct lull_trace *trace, const struct lull_comm *comm,
                              uint32_t known);
/* Adds a communicator to the trace and returns its index; the caller fills in draft and members. */
uint32_t lull_tape_new_comm(struct lull_tape_merge *merge);
/* Reads a list of `listed` members; where it does not fit its definition, fields->bad is set. */
uint32_t *lull_tape_read_members(struct lull_tape_merge *merge, uint32_t listed,
                                 struct lull_tape_fields *fields);

/* ---- claims of ranks (tape_comms.c) ---------------------------------------------------------- */

lull_status lull_tape_add_claim(struct lull_tape_merge *merge, uint32_t comm, uint64_t rank,
                                const struct lull_tape_scope *scope);
/* When all definitions are read, before claims are taken. */
void lull_tape_sort_claims(struct lull_tape_merge *merge);
/* Makes the members of a communicator of which no process knows all members from the claims of
 * ranks. False, and a quirk: some rank was not claimed, or two processes claimed the same one. */
bool lull_tape_take_claims(struct lull_tape_merge *merge, uint32_t comm);

/* ---- inter-communicators (tape_comms.c) ------------------------------------------------------ */

/* Takes a FAR definition: the other group of a communicator, which the process cannot name. */
lull_status lull_tape_define_far(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                                 uint32_t id, struct lull_tape_fields *fields);
/* When all definitions are read: makes the two groups of each inter-communicator each other's
 * partner. Where no process of the other group was recorded, that group is made up. */
void lull_tape_join_halves(struct lull_tape_merge *merge);

#endif
