/* SPDX-License-Identifier: BSD-3-Clause */
/* What the generated wrappers of MPI functions are made of: the hot path inline, the rest in the .c
 * files of this folder.
 *
 * A wrapper records the outermost call only: MPI libraries call their own functions, and some
 * Fortran bindings call PMPI_X where others call MPI_X. */
#ifndef LULL_RECORD_MPI_WRAP_H
#define LULL_RECORD_MPI_WRAP_H

#include "record/mpi/library.h"

#include "record/core.h"
#include "record/site/map.h"
#include "record/site/site.h"

/* A function with REC_JUMPS ends with a jump (REC_JUMP) to another function with the same
 * arguments. So its own stack frame does not lie between that function and its caller: call sites
 * are found by frames. */
#if defined(__clang__)
#define REC_JUMPS
#define REC_JUMP __attribute__((musttail)) return
#else
#define REC_JUMPS __attribute__((optimize("O2")))
#define REC_JUMP  return
#endif

#define REC_NO_ROOT (-1)
#define REC_ANY     (-1)
#define REC_NOBODY  (-2) /* MPI_PROC_NULL */

struct rec_mpi_call {
    struct rec_thread *self;
    uint32_t region;
    uint64_t begin;
};

/* The process numbers of a group's ranks; UINT32_MAX: not known. */
struct rec_mpi_group {
    uint32_t first;          /* of rank 0 */
    bool row;                /* rank r has first + r */
    const uint32_t *numbers; /* by rank; NULL: `row` holds, or they have not been looked up */
};

struct rec_mpi_comm {
    uint32_t id;
    int size, rank; /* of the local group */
    int peers;      /* ranks that a message can go to: those of the remote group of an
                       intercommunicator, else of the local group */
    bool inter;
    int sources, targets;     /* neighbours in its topology */
    uint64_t key, half, link; /* see "keys" in record/mpi/comms.c; 0: there is none */
    struct rec_mpi_group local, remote;
};

/* The process number of a rank that the group has. */
static inline uint32_t rec_mpi_number_of(const struct rec_mpi_group *group, int rank)
{
    if (group->numbers)
        return group->numbers[rank];
    if (group->row)
        return group->first + (uint32_t)rank;
    return rank == 0 ? group->first : UINT32_MAX;
}

/* A message that was posted, as the two words of its record's slot. */
struct rec_posted {
    uint64_t peer_tag, bytes_comm;
};

enum { REC_WAITED_HERE = 32 };

/* The requests that a call waits for, as they were before the call, and room for statuses. */
struct rec_mpi_waited {
    int n;
    const MPI_Request *requests;
    MPI_Request own_requests[REC_WAITED_HERE];
    MPI_Status own_statuses[REC_WAITED_HERE];
};

enum rec_rma { REC_RMA_PUT, REC_RMA_GET, REC_RMA_ATOMIC, REC_RMA_SYNC };
enum rec_io { REC_IO_READ, REC_IO_WRITE, REC_IO_OPEN, REC_IO_CLOSE };

extern uint32_t rec_mpi_regions[];         /* generated: id of each function, 0: not yet called */
extern const char *const rec_mpi_names[];  /* generated */
extern const unsigned rec_mpi_n_functions; /* generated: how many there are */
/* The same for OpenSHMEM. Where its functions are wrapped, they have numbers from REC_SHMEM on. */
#define REC_SHMEM 0x2000
extern uint32_t rec_shmem_regions[];
extern const char *const rec_shmem_names[];
extern struct rec_mpi_comm rec_mpi_world __attribute__((visibility("hidden")));

/* The region of a call that rec_site_known does not know; 0: MPI cannot be recorded in this
 * program. */
uint32_t rec_mpi_region_of(struct rec_thread *self, unsigned function, const void *from,
                           const void *frame);
const struct rec_mpi_comm *rec_mpi_find_comm(MPI_Comm comm);
/* The named data type that the thread has asked for last; 0: none. */
struct rec_mpi_type {
    uintptr_t handle;
    uint64_t size;
};
extern __thread struct rec_mpi_type rec_mpi_last_type __attribute__((tls_model("initial-exec")));
uint64_t rec_mpi_find_type_size(MPI_Datatype type);
/* The size of a data type in bytes. The type must come from a call that MPI has accepted: to ask
 * about another one would be an error in the program's name. */
REC_INLINE uint64_t rec_mpi_type_size(MPI_Datatype type)
{
    const struct rec_mpi_type *last = &rec_mpi_last_type;
    return REC_LIKELY(last->handle == (uintptr_t)type) ? last->size : rec_mpi_find_type_size(type);
}

/* The status into which the library writes what it has received: the caller's, or `own` where the
 * caller wants none. */
static inline MPI_Status *rec_mpi_seen_by(MPI_Status *status, MPI_Status *own)
{
    return status == MPI_STATUS_IGNORE ? own : status;
}

/* The thread is in a call from here on. False: the call is not recorded. */
REC_INLINE bool rec_mpi_enter(struct rec_mpi_call *call, struct rec_thread *self, unsigned function,
                              const void *from, const void *frame)
{
    uint32_t region = rec_site_known(self, function, from, frame);
    if (REC_UNLIKELY(region == 0) && (region = rec_mpi_region_of(self, function, from, frame)) == 0)
        return false;
    rec_gate_shut(self);
    self->frame = (uintptr_t)frame;
    self->from = (uintptr_t)from;
    call->self = self;
    call->region = region;
    return true;
}

REC_INLINE bool rec_mpi_begin(struct rec_mpi_call *call, unsigned function, const void *from,
                              const void *frame)
{
    struct rec_thread *self = rec_current();
    if (REC_UNLIKELY(!rec_admits(self)) &&
        !(rec_forget_left(self, (uintptr_t)frame) && rec_admits(self)))
        return false;
    return rec_mpi_enter(call, self, function, from, frame);
}

/* As rec_mpi_begin, for functions that make or free handles, or complete requests: the recorder
 * follows them also in a pause. */
REC_INLINE bool rec_mpi_begin_followed(struct rec_mpi_call *call, unsigned function,
                                       const void *from, const void *frame)
{
    struct rec_thread *self = rec_current();
    if (REC_UNLIKELY(!rec_admits(self)) &&
        !(rec_forget_left(self, (uintptr_t)frame) && rec_admits(self)) &&
        (!self->paused || rec_is_inside(self)))
        return false;
    return rec_mpi_enter(call, self, function, from, frame);
}

/* The call is not recorded, only followed. */
static inline bool rec_mpi_is_paused(const struct rec_mpi_call *call)
{
    return call->self->paused;
}

/* The thread is outside of the call from here on. Counters are read last: the records that stand
 * behind a call's record have the time of its begin, and the reading has that of its end. */
REC_INLINE void rec_mpi_end(struct rec_mpi_call *call)
{
    if (REC_UNLIKELY(call->self->n_counters > 0))
        rec_counters_read(call->self, call->region, *call->self->until);
    call->self->frame = 0;
    rec_gate_open(call->self);
}

static inline const struct rec_mpi_comm *rec_mpi_comm_of(MPI_Comm comm)
{
    return REC_LIKELY(comm == MPI_COMM_WORLD) ? &rec_mpi_world : rec_mpi_find_comm(comm);
}

static inline uint64_t rec_mpi_bytes_of(uint64_t count, MPI_Datatype type)
{
    return count == 0 ? 0 : count * rec_mpi_type_size(type);
}
#define rec_mpi_bytes(count, type) rec_mpi_bytes_of((uint64_t)(count), type)

/* Bytes for `n` ranks together: rank i has counts[i] elements, all of one type, or of types[i]. */
#define REC_MPI_SUM(counts, type, n)          \
    __extension__({                           \
        uint64_t total_ = 0;                  \
        for (int i_ = 0; i_ < (n); i_++)      \
            total_ += (uint64_t)(counts)[i_]; \
        rec_mpi_bytes(total_, type);          \
    })
#define REC_MPI_SUM_TYPES(counts, types, n)                     \
    __extension__({                                             \
        uint64_t total_ = 0;                                    \
        for (int i_ = 0; i_ < (n); i_++)                        \
            total_ += rec_mpi_bytes((counts)[i_], (types)[i_]); \
        total_;                                                 \
    })

static inline int32_t rec_mpi_peer(int rank)
{
    if (REC_LIKELY(rank >= 0))
        return rank;
    return rank == MPI_PROC_NULL ? REC_NOBODY : REC_ANY;
}

static inline int32_t rec_mpi_tag(int tag)
{
    return tag == MPI_ANY_TAG ? REC_ANY : tag;
}

/* ---- ends of calls --------------------------------------------------------------------------- */

/* Completes the record at self->at, which has `extra` slots behind it, by its duration, and makes
 * it visible to readers. */
REC_INLINE void rec_mpi_close(struct rec_mpi_call *call, unsigned extra, uint64_t end)
{
    struct rec_thread *self = call->self;
    uint64_t duration = end - call->begin;
    rec_commit(self, lull_tape_set_duration(self->at, extra, duration));
    rec_add_sum(self, call->region, 1, duration, end);
    self->inside += duration;
}

REC_INLINE void rec_mpi_call(struct rec_mpi_call *call)
{
    rec_put_call(call->self, call->region, call->begin, rec_now() - call->begin);
}

static inline void rec_mpi_followed_call(struct rec_mpi_call *call)
{
    if (REC_LIKELY(!rec_mpi_is_paused(call)))
        rec_mpi_call(call);
}

static inline struct rec_posted rec_posted_of(int32_t peer, int32_t tag, uint32_t comm,
                                              uint64_t bytes)
{
    const union lull_tape_slot words = {.i32 = {peer, tag}};
    return (struct rec_posted){words.u64[0], (bytes & LULL_TAPE_BYTES_MASK) | (uint64_t)comm << 40};
}

static inline int32_t rec_posted_peer(const struct rec_posted *posted)
{
    return (union lull_tape_slot){.u64 = {posted->peer_tag}}.i32[0];
}

static inline int32_t rec_posted_tag(const struct rec_posted *posted)
{
    return (union lull_tape_slot){.u64 = {posted->peer_tag}}.i32[1];
}

static inline uint32_t rec_posted_comm(const struct rec_posted *posted)
{
    return (uint32_t)(posted->bytes_comm >> 40);
}

static inline uint64_t rec_posted_bytes(const struct rec_posted *posted)
{
    return posted->bytes_comm & LULL_TAPE_BYTES_MASK;
}

/* records.c: writes a call that differs from the last one of its shape, or that took too long for a
 * record of a call like it; `words` are those of its slots. */
void rec_mpi_close_new(struct rec_thread *self, uint32_t head, uint32_t shape, uint64_t begin,
                       uint64_t end, const uint64_t *words);

/* Writes a call that is like the last one of its shape but for its times. */
REC_INLINE void rec_mpi_close_like(struct rec_thread *self, uint32_t region, uint32_t shape,
                                   uint64_t begin, uint64_t end)
{
    const uint64_t duration = end - begin;
    self->at->record.time = begin;
    self->at->record.head = lull_tape_head(LULL_TAPE_CALL_LIKE, 0, shape);
    self->at->record.value = (uint32_t)duration;
    rec_commit(self, 1);
    rec_add_sum(self, region, 1, duration, end);
    self->inside += duration;
}

/* Writes a call with one slot of two words; `head` as for lull_tape_shape_of. */
REC_INLINE void rec_mpi_close_shaped(struct rec_mpi_call *call, uint32_t head, uint64_t first,
                                     uint64_t second, uint64_t end)
{
    struct rec_thread *self = call->self;
    const uint32_t number = lull_tape_shape_of(head, first, second);
    const struct lull_tape_shape *shape = &self->shapes[number];
    if (REC_UNLIKELY(shape->head != head || shape->words[0] != first || shape->words[1] != second ||
                     end - call->begin >= LULL_TAPE_OPEN)) {
        const uint64_t words[] = {first, second};
        rec_mpi_close_new(self, head, number, call->begin, end, words);
        return;
    }
    rec_mpi_close_like(self, call->region, number, call->begin, end);
}

REC_INLINE void rec_mpi_put_posted(struct rec_mpi_call *call, unsigned kind, uint64_t end,
                                   struct rec_posted posted)
{
    rec_mpi_close_shaped(call, lull_tape_head(kind, 1, call->region), posted.peer_tag,
                         posted.bytes_comm, end);
}

REC_INLINE void rec_mpi_message(struct rec_mpi_call *call, unsigned kind, uint64_t end, int peer,
                                int tag, uint32_t comm, uint64_t bytes)
{
    rec_mpi_put_posted(call, kind, end,
                       rec_posted_of(rec_mpi_peer(peer), rec_mpi_tag(tag), comm, bytes));
}

REC_INLINE void rec_mpi_send(struct rec_mpi_call *call, int64_t count, MPI_Datatype type, int dest,
                             int tag, MPI_Comm comm)
{
    uint64_t end = rec_now();
    rec_mpi_message(call, LULL_TAPE_CALL_SEND, end, dest, tag, rec_mpi_comm_of(comm)->id,
                    rec_mpi_bytes(count, type));
}

REC_INLINE void rec_mpi_recv(struct rec_mpi_call *call, const MPI_Status *status, uint64_t bytes,
                             const struct rec_mpi_comm *comm)
{
    uint64_t end = rec_now();
    rec_mpi_message(call, LULL_TAPE_CALL_RECV, end, status->MPI_SOURCE, status->MPI_TAG, comm->id,
                    bytes);
}

void rec_mpi_sendrecv(struct rec_mpi_call *call, uint64_t bytes, int dest, int tag, MPI_Comm comm,
                      const MPI_Status *status, uint64_t received);
/* Whether a receive with this error has taken a message that was too long. */
bool rec_mpi_was_truncated(int error);

/* ---- requests -------------------------------------------------------------------------------- */

/* Added to the kind of a request that is the receiving half of MPI_Isendrecv and its like. */
#define REC_EXCHANGE 128u

/* Remembers a request; it gets the next number of this thread. */
void rec_request_open(struct rec_thread *self, MPI_Request handle, unsigned kind,
                      struct rec_posted posted);

REC_INLINE void rec_mpi_post(struct rec_mpi_call *call, unsigned kind, uint64_t bytes, int peer,
                             int tag, uint64_t end, const struct rec_mpi_comm *comm,
                             const MPI_Request *request)
{
    const struct rec_posted posted =
        rec_posted_of(rec_mpi_peer(peer), rec_mpi_tag(tag), comm->id, bytes);
    rec_mpi_put_posted(call, kind & ~REC_EXCHANGE, end, posted);
    rec_request_open(call->self, *request, kind, posted);
}

REC_INLINE void rec_mpi_isend(struct rec_mpi_call *call, int64_t count, MPI_Datatype type, int dest,
                              int tag, MPI_Comm comm, const MPI_Request *request)
{
    uint64_t end = rec_now();
    rec_mpi_post(call, LULL_TAPE_CALL_ISEND, rec_mpi_bytes(count, type), dest, tag, end,
                 rec_mpi_comm_of(comm), request);
}

REC_INLINE void rec_mpi_irecv(struct rec_mpi_call *call, int64_t count, MPI_Datatype type,
                              int source, int tag, MPI_Comm comm, const MPI_Request *request)
{
    uint64_t end = rec_now();
    rec_mpi_post(call, LULL_TAPE_CALL_IRECV, rec_mpi_bytes(count, type), source, tag, end,
                 rec_mpi_comm_of(comm), request);
}

void rec_mpi_isendrecv(struct rec_mpi_call *call, uint64_t bytes, int dest, int tag, uint64_t room,
                       int source, int rtag, MPI_Comm comm, const MPI_Request *request);
/* mode: enum lull_tape_mode */
void rec_mpi_persistent(struct rec_mpi_call *call, unsigned kind, unsigned mode, uint64_t bytes,
                        int peer, int tag, MPI_Comm comm, const MPI_Request *request);
void rec_mpi_start(struct rec_mpi_call *call, int n, const MPI_Request *requests);
void rec_mpi_request_free(struct rec_mpi_call *call, MPI_Request request);

/* Waits and tests are over. `complete`: a wait, or a test that found something. */
void rec_mpi_wait(struct rec_mpi_call *call, int complete, MPI_Request waited,
                  const MPI_Status *status);
/* Copies the requests before the call overwrites them; returns where the library is to put the
 * statuses. */
MPI_Status *rec_mpi_waits(struct rec_mpi_waited *waited, struct rec_thread *self, int n,
                          const MPI_Request *requests, MPI_Status *statuses);
void rec_mpi_waitall(struct rec_mpi_call *call, int complete, const struct rec_mpi_waited *waited,
                     const MPI_Status *statuses);
void rec_mpi_waitany(struct rec_mpi_call *call, int complete, int which,
                     const struct rec_mpi_waited *waited, const MPI_Status *status);
void rec_mpi_waitsome(struct rec_mpi_call *call, int done, const int *which,
                      const struct rec_mpi_waited *waited, const MPI_Status *statuses);
/* The same after an error. `after` has the requests as the call has left them. `each`: there is a
 * status for each request, else one for all. */
void rec_mpi_wait_failed(struct rec_mpi_call *call, int error, int n, const MPI_Request *waited,
                         const MPI_Request *after, const MPI_Status *statuses, bool each);
void rec_mpi_waitsome_failed(struct rec_mpi_call *call, int error, const int *done,
                             const int *which, const struct rec_mpi_waited *waited,
                             const MPI_Status *statuses);
/* A query such as MPI_Iprobe, which programs repeat until it finds something. */
void rec_mpi_poll(struct rec_mpi_call *call, int found);

void rec_mpi_mprobe(struct rec_mpi_call *call, int found, MPI_Comm comm,
                    const MPI_Message *message);
/* Asked before the call that receives the message: after the call another message may have the
 * handle. */
const struct rec_mpi_comm *rec_mpi_comm_of_message(const MPI_Message *message);
void rec_mpi_imrecv(struct rec_mpi_call *call, uint64_t bytes, const struct rec_mpi_comm *comm,
                    const MPI_Request *request);

/* ---- collectives ----------------------------------------------------------------------------- */

static inline bool rec_mpi_at_root(const struct rec_mpi_comm *comm, int root)
{
    return comm->inter ? root == MPI_ROOT : root == comm->rank;
}

/* Whether this rank gets what the root has. */
static inline bool rec_mpi_gets(const struct rec_mpi_comm *comm, int root)
{
    return comm->inter ? root >= 0 : root != comm->rank;
}

/* Whether this rank exchanges something with the root; the root may be this rank itself. */
static inline bool rec_mpi_gives(const struct rec_mpi_comm *comm, int root)
{
    return !comm->inter || root >= 0;
}

REC_INLINE void rec_mpi_put_collective(struct rec_mpi_call *call, unsigned kind, uint64_t end,
                                       const struct rec_mpi_comm *comm, int root, uint64_t sent,
                                       uint64_t received)
{
    const uint64_t no_root = (uint64_t)LULL_TAPE_NO_ROOT;
    rec_mpi_close_shaped(
        call, lull_tape_head(kind, 1, call->region),
        (sent & LULL_TAPE_BYTES_MASK) | (uint64_t)comm->id << 40,
        (received & LULL_TAPE_BYTES_MASK) | (root < 0 ? no_root : (uint64_t)root) << 40, end);
}

REC_INLINE void rec_mpi_collective(struct rec_mpi_call *call, uint64_t end,
                                   const struct rec_mpi_comm *comm, int root, uint64_t sent,
                                   uint64_t received)
{
    rec_mpi_put_collective(call, LULL_TAPE_CALL_COLLECTIVE, end, comm, root, sent, received);
}

static inline void rec_mpi_icollective(struct rec_mpi_call *call, uint64_t end,
                                       const struct rec_mpi_comm *comm, int root, uint64_t sent,
                                       uint64_t received, const MPI_Request *request)
{
    rec_mpi_put_collective(call, LULL_TAPE_CALL_ICOLLECTIVE, end, comm, root, sent, received);
    rec_request_open(call->self, *request, LULL_TAPE_CALL_ICOLLECTIVE,
                     rec_posted_of(root, 0, comm->id, sent));
}

void rec_mpi_persistent_collective(struct rec_mpi_call *call, uint64_t end,
                                   const struct rec_mpi_comm *comm, int root, uint64_t sent,
                                   uint64_t received, const MPI_Request *request, unsigned op);

/* ---- the rest -------------------------------------------------------------------------------- */

void rec_mpi_init(struct rec_mpi_call *call, int provided);
/* Called within a recorded call of MPI_Finalize, before the library finalises. */
void rec_mpi_begin_finalize(struct rec_mpi_call *call);
#if defined(MPI_SESSION_NULL)
void rec_mpi_begin_session(struct rec_mpi_call *call, MPI_Session session);
#endif
/* Called before the call by which the library ends MPI, whether or not this process is recording:
 * other nodes wait for the clock of this one. */
void rec_mpi_end_world(void);
void rec_mpi_new_comm(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh);
/* `fresh` is an intercommunicator. One of its groups is that of `local`, led by rank `leader`
 * there; the leader of the other group is rank `far_leader` of `peer`. */
void rec_mpi_new_intercomm(struct rec_mpi_call *call, MPI_Comm local, int leader, MPI_Comm peer,
                           int far_leader, int tag, MPI_Comm fresh);

/* What the program spawns, or what is spawned in its place so that it is recorded; the memory of
 * the latter is `own`. Commands and arguments mean something at the root alone. */
struct rec_mpi_spawn {
    char **commands;
    char ***argvs;
    char *command_here, **argv_here; /* for one command */
    const char *asked; /* the first command that the program has given, NULL where it is not root */
    int n_asked;       /* how many it has given */
    void *own;
    uint64_t key;
    uint32_t first, count; /* process numbers of what is spawned; count 0: not (yet) known */
};
void rec_mpi_spawn_begin(struct rec_mpi_spawn *spawn, const char *command, char **argv, int size,
                         MPI_Info info, int root, MPI_Comm comm);
void rec_mpi_spawn_begin_multiple(struct rec_mpi_spawn *spawn, int n, char **commands,
                                  char ***argvs, const int *sizes, const MPI_Info *infos, int root,
                                  MPI_Comm comm);
void rec_mpi_spawn_end(struct rec_mpi_call *call, struct rec_mpi_spawn *spawn, MPI_Comm comm,
                       MPI_Comm fresh);
void rec_mpi_spawn_failed(struct rec_mpi_call *call, struct rec_mpi_spawn *spawn);

void rec_mpi_group_comm(struct rec_mpi_call *call, MPI_Comm parent, int tag, MPI_Comm fresh);
/* A tag made of the text by which the program tells communicators apart
 * (MPI_Comm_create_from_group). */
int rec_mpi_tag_of_name(const char *name);
void rec_mpi_idup_comm(struct rec_mpi_call *call, MPI_Comm parent, MPI_Comm fresh,
                       const MPI_Request *request);
void rec_mpi_dup_comm(struct rec_mpi_call *call, MPI_Comm parent, MPI_Comm fresh);
/* The communicator that is to be freed, asked before the call; NULL: it is not known. */
const struct rec_mpi_comm *rec_mpi_comm_to_free(const MPI_Comm *comm);
void rec_mpi_free_comm(struct rec_mpi_call *call, const struct rec_mpi_comm *comm);
void rec_mpi_new_window(struct rec_mpi_call *call, MPI_Comm comm, const MPI_Win *window);
void rec_mpi_rma(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int target,
                 MPI_Win window);
/* Writes behind the call's record what it moves to or from `target` of `comm`. */
void rec_mpi_put_rma(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int target,
                     const struct rec_mpi_comm *comm);
void rec_mpi_io_open(struct rec_mpi_call *call, const char *path, MPI_File file);
void rec_mpi_io(struct rec_mpi_call *call, enum rec_io op, MPI_File file, uint64_t bytes);
/* Forgets the file of a handle, before another file may have the same handle; returns its id. */
uint32_t rec_mpi_io_forget(const MPI_File *file);
void rec_mpi_io_close(struct rec_mpi_call *call, uint32_t file);

/* `shared`: several threads may call MPI at the same time, so that requests are locked. */
void rec_requests_begin(bool shared);

#endif
