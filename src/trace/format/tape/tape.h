/* What the files of this format share. */
#ifndef LULL_TRACE_FORMAT_TAPE_TAPE_H
#define LULL_TRACE_FORMAT_TAPE_TAPE_H

#include "base/array.h"
#include "tape/layout.h"
#include "trace/trace.h"

#include <stddef.h>
#include <sys/types.h>

/* ids of one scope (the run or a process) -> indices of the trace */
enum lull_tape_map {
    LULL_TAPE_MAP_NODE,
    LULL_TAPE_MAP_REGION,
    LULL_TAPE_MAP_STATE,
    LULL_TAPE_MAP_COMM,
    LULL_TAPE_MAP_COUNTER,
    LULL_TAPE_MAP_MARKER,
    LULL_TAPE_MAP_OBJECT,
    LULL_TAPE_MAP_FILE,
    LULL_TAPE_MAPS
};

struct lull_tape_ids {
    uint32_t *index; /* LULL_NONE where an id is not defined */
    size_t count;
};

/* ns = base_ns + (ticks - base_ticks) * multiplier / 2^shift, from base_ticks on */
struct lull_tape_segment {
    uint64_t base_ticks;
    int64_t base_ns;
    uint64_t multiplier;
    unsigned shift;
};

struct lull_tape_clock_point {
    uint64_t ticks;
    int64_t ns;
};

/* `to_run` ns are to be added to a clock that says `ns`. */
struct lull_tape_offset {
    int64_t ns, to_run;
    double error;
};

struct lull_tape_scope {
    struct lull_tape_ids maps[LULL_TAPE_MAPS];
    struct lull_tape_clock_point *points;
    size_t n_points, points_capacity;
    struct lull_tape_offset *offsets;
    size_t n_offsets, offsets_capacity;
    double points_error; /* ns, the largest */
    double ns_per_tick;  /* as the process has measured it at its start; 0: unknown */
    struct lull_tape_segment *segments; /* NULL: ticks are ns */
    size_t n_segments;
    uint64_t clock;      /* the same for processes with one clock; 0: unknown */
    uint32_t world_size; /* of the world of MPI that the process is in; 0: it is in none */
    uint32_t member;     /* what communicators call the process then */
};

/* A member of communicators, by the number that they use. */
struct lull_tape_member {
    uint32_t number, process; /* process: index */
};

struct lull_tape_object {
    const char *path, *build_id;
};

struct lull_tape_address {
    uint32_t object; /* index */
    uint32_t reserved;
    uint64_t offset;
};

/* The calls of a region from one place, or a region that has its code there. */
struct lull_tape_site {
    uint32_t mark; /* UINT32_MAX: no other definition begins like this */
    uint32_t whole;
    uint32_t code, n;
    uint32_t region; /* index; 0 until lull_tape_add_site */
    uint32_t reserved;
    const struct lull_tape_site *next;
    struct lull_tape_address addresses[];
};

/* A function whose calls were left out, in all processes together. */
struct lull_tape_throttled {
    struct lull_tape_throttled *next;
    uint32_t region;             /* index */
    uint32_t processes, counted; /* that left calls out, and of those that said how many */
    uint64_t ns, calls;          /* ns: the longest mean */
};

/* Parts of a file, one after the other. */
struct lull_tape_piece {
    uint64_t offset, size;
};

struct lull_tape_pieces {
    struct lull_tape_piece *list;
    size_t n, capacity;
    uint64_t size; /* of all together */
};

/* Of the header of a location, what is needed when the run is open: of a million of them there is
 * not room for all. */
struct lull_tape_told {
    uint32_t version;
    uint16_t flags;
    uint64_t committed, flushed, main_begin, main_end;
    struct lull_tape_ends ends;
};

/* Of a location: where its records are and how to read them. */
struct lull_tape_file {
    uint32_t process, number; /* as in the file's name */
    struct lull_tape_told header;
    /* In the file of its process: where the header stands, and the parts of it, of which the last
     * chunks need not be there. */
    bool packed;
    const char *damage; /* why nothing of its process can be read; NULL: something can */
    uint64_t head;
    struct lull_tape_pieces chunks, rest, sums;
    /* With LULL_TAPE_RING: those that are there, by number; the last `n_kept` of the first `n_ring`
     * are `chunks`. `lost` bytes of records before them were not kept: they do not count in the
     * header, from which they have been taken off. */
    struct lull_tape_ring_chunk *ring;
    size_t n_ring, ring_capacity, n_kept;
    uint64_t lost;
    uint64_t life_begin; /* ticks, of a location with `lost` records */
    const struct lull_tape_scope *ids;
    const struct lull_tape_scope *clock; /* without segments: ticks are ns */
    /* The call in which the location was when the tape was opened, if it had not ended. */
    uint32_t open_region; /* LULL_NONE: there is none */
    uint64_t open_time;   /* ticks */
    /* While it is being recorded: what stood in its tail when the tape was opened, and a slot more
     * if there was one; NULL: all records are in the file. */
    const unsigned char *tail;
    size_t tail_size;
    bool has_sums;     /* there is a file of sums */
    bool left_out;     /* its header, or its ids, are damaged: nothing of it is read */
    bool has_own_file; /* or its process has: it is opened for reading. That of a node is open */
    const struct lull_tape_node_location *known; /* what that tells of it; NULL: it does not */
};

/* A chunk of a ring. */
struct lull_tape_ring_chunk {
    uint32_t number; /* of those of its location */
    uint32_t page;   /* where it is in the file */
    uint64_t entry;  /* where its extent is: what changes when it gives way */
};

/* What a file's name says: process and number. */
struct lull_tape_name {
    uint32_t process, number;
};

struct lull_tape_packed;
struct lull_tape_containers;
struct lull_tape_source;
struct lull_tape_node_location;

/* One more element of an array of malloc; without memory it ends as with the arena. Of the largest
 * arrays: one in an arena leaves behind what it had before it grew. */
static inline void lull_tape_make_room(const struct lull_trace *trace, void *array,
                                       size_t *capacity, size_t need, size_t size)
{
    if (!lull_array_reserve(array, capacity, need, size))
        lull_arena_alloc(trace->arena, SIZE_MAX);
}

struct lull_tape_share;

struct lull_tape_data {
    struct lull_tape_share *share; /* several open it together (trace/format/tape/tape_share.h); NULL: one does */
    struct lull_tape_file *files;  /* per location; malloc'd */
    size_t n_files, files_capacity;
    struct lull_tape_name *sums; /* the files of sums, in the same order; malloc'd */
    size_t n_sums, sums_capacity;
    struct lull_tape_packed *packed_run;     /* the packed files of nodes; NULL: there are none */
    struct lull_tape_containers *containers; /* those that processes have recorded; NULL likewise */
    char damage[1024];                       /* of the first of either that is damaged */
    bool lacks_packed;                       /* of what was packed not all can be had back */
    uint32_t *packed; /* numbers of the processes with all in one file, ascending; malloc'd */
    size_t n_packed, packed_capacity;
    struct lull_tape_scope run;
    struct lull_tape_scope *scopes;   /* per process that has its own definitions */
    uint32_t *process_numbers;        /* per process: p of the file names, ascending */
    struct lull_tape_member *members; /* of worlds of MPI, by number */
    uint32_t n_members;               /* 0: communicators have process numbers */
    int64_t origin;                   /* ns, subtracted from all times */
    bool closed;                      /* the run says where it begins and how long it is */
    double worst_clocks[2];           /* ns: the largest errors of clocks of other nodes */
    bool spawns;                      /* some of its processes may have spawned others */
    bool *outside;                    /* per communicator: it has members that were not recorded */
    struct lull_tape_object *objects;
    size_t objects_capacity;
    uint32_t n_objects;
    const struct lull_tape_site *sites; /* the last one first */
    size_t n_addresses;                 /* of all sites together */
    struct lull_tape_throttled *throttled;
};

static inline bool lull_tape_reads(uint32_t version)
{
    return version >= LULL_TAPE_FIRST && version <= LULL_TAPE_VERSION;
}

/* No path of a tape is longer. */
enum { LULL_TAPE_PATH = 4096 };

const char *lull_tape_file_path(const struct lull_trace *trace, const struct lull_tape_file *file,
                                char *buffer, size_t size);
/* That of a whole process. */
const char *lull_tape_process_path(const struct lull_trace *trace, uint32_t process, char *buffer,
                                   size_t size);

/* trace/format/tape/read/process_files.c: finds the locations in the file of a process, and adds them to data->files. */
lull_status lull_tape_read_process(struct lull_trace *trace, uint32_t process,
                                   struct lull_error *err);
/* Looks again for the parts of a location, of which there may be more. */
lull_status lull_tape_refresh(const struct lull_trace *trace, struct lull_tape_file *file,
                              struct lull_error *err);
/* With the header of a ring just read, and its parts after that: which chunks are kept. */
void lull_tape_keep_ring(const struct lull_trace *trace, struct lull_tape_file *file);
/* Whether they are there still, and none of them has given way. */
bool lull_tape_has_kept(struct lull_tape_source *source, const struct lull_tape_file *file);
/* Where the definitions of a process are in its file; `ret_pieces` is empty before. */
lull_status lull_tape_find_definitions(const struct lull_trace *trace, uint32_t process,
                                       struct lull_tape_pieces *ret_pieces, struct lull_error *err);
/* As lull_tape_source_read, of the pieces as if they were a file. */
ssize_t lull_tape_read_pieces(struct lull_tape_source *source,
                              const struct lull_tape_pieces *pieces, void *bytes, size_t size,
                              uint64_t offset);
/* Where that stands in the file; UINT64_MAX: behind all of them. */
uint64_t lull_tape_place_in(const struct lull_tape_pieces *pieces, uint64_t offset);
/* The first `size` bytes of `pieces`, added to `to`, which has an array of its own. */
void lull_tape_add_pieces(struct lull_arena *arena, struct lull_tape_pieces *to,
                          const struct lull_tape_pieces *pieces, uint64_t size);

/* trace/format/tape/read/record_files.c: reads the header of a file, and with LULL_TAPE_TAILED its tail, as of one moment.
 * All of the header goes to *ret_header, what is needed later to the file. */
lull_status lull_tape_read_header(const struct lull_trace *trace, struct lull_tape_file *file,
                                  struct lull_tape_header *ret_header, struct lull_error *err);
/* Up to `size` bytes of records from `begin` on, as long as they are in one chunk; *ret_got may be
 * less at the end, but covers what is committed. */
lull_status lull_tape_read_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, uint64_t begin, size_t size,
                                   void *bytes, size_t *ret_got, struct lull_error *err);
/* The file that the records of a location are in, and reading them from there. */
lull_status lull_tape_open_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file,
                                   struct lull_tape_source *ret_source, struct lull_error *err);
lull_status lull_tape_read_records_from(struct lull_tape_source *source,
                                        const struct lull_tape_file *file, uint64_t begin,
                                        size_t size, void *bytes, size_t *ret_got,
                                        struct lull_error *err);
/* Where a record of a packed file stands in it; `begin` as in lull_tape_read_records. */
uint64_t lull_tape_offset_of(const struct lull_tape_file *file, uint64_t begin);
/* Whether what is there of a ring may give way to what is newer, of any location of its process. */
bool lull_tape_may_give_way(const struct lull_trace *trace, const struct lull_tape_file *file);
/* All records of such a one, as of one moment; `bytes` has room for them. */
lull_status lull_tape_copy_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, void *bytes,
                                   struct lull_error *err);

/* Index of the process with number p, LULL_NONE if there is none. */
uint32_t lull_tape_process_index(const struct lull_trace *trace, uint32_t number);

/* read/comms.c: index of the location of thread `number` of a process (an index), LULL_NONE if it
 * has no tape. */
uint32_t lull_tape_thread_index(const struct lull_trace *trace, uint32_t process, uint32_t number);

/* trace/format/tape/read/tape_comms.c: the process that communicators of recorded processes call `number`, LULL_NONE if
 * it was not recorded; and what they call a process. */
uint32_t lull_tape_member_index(const struct lull_trace *trace, uint32_t number);
uint32_t lull_tape_member_number(const struct lull_trace *trace, uint32_t process);

/* trace/format/tape/read/tape_comms.c: programs that a script has started one by one become applications: no two
 * processes of one application have the same rank. A world of MPI with more than one process is the
 * first application, others are in the order of their processes. */
void lull_tape_divide_programs(struct lull_trace *trace);

/* trace/format/tape/read/tape_times.c: when all definitions are read, processes with one clock get what one of them has
 * measured, and every scope gets its segments. */
lull_status lull_tape_make_clocks(struct lull_trace *trace, struct lull_error *err);

struct lull_tape_merge;
/* Reads the definitions of a process with that number, which are in its file or one of their own,
 * and whose path is set. */
lull_status lull_tape_read_definitions_of(const struct lull_trace *trace,
                                          struct lull_tape_merge *merge, uint32_t number,
                                          struct lull_tape_scope *scope, char *path,
                                          bool *ret_found, struct lull_error *err);
/* Where they are, or would be. Returns `buffer`, with room for LULL_TAPE_PATH. */
char *lull_tape_definitions_path(const struct lull_trace *trace, uint32_t number, char *buffer);
/* There are none, and none of the run: fails. */
lull_status lull_tape_no_definitions(const struct lull_trace *trace, uint32_t number,
                                     struct lull_error *err);
/* What the ids of a process mean is not known: it is left out, and err says why. */
lull_status lull_tape_leave_out_process(struct lull_trace *trace, uint32_t process,
                                        const struct lull_error *err);

/* trace/format/tape/read/tape_times.c: without a RUN definition the records say where the run begins and ends; with one,
 * locations that did not end in an orderly way may have gone on longer. Sets duration, origin, and
 * which events there are. */
lull_status lull_tape_measure_length(struct lull_trace *trace, struct lull_error *err);
/* What it looks at in the records of a location, which may be kept in their place, unless the
 * header tells it. `slots`: room for a chunk. */
lull_status lull_tape_measure_location(const struct lull_trace *trace,
                                       const struct lull_tape_file *file,
                                       union lull_tape_slot *slots, struct lull_tape_ends *ret_ends,
                                       struct lull_error *err);

/* trace/format/tape/read/tape_times.c: main_begin and main_end of processes, and trace->has_main. */
lull_status lull_tape_find_main(struct lull_trace *trace, struct lull_error *err);

/* read/definitions.c: reads one file of definitions into the trace and `scope`. `process` is
 * LULL_TAPE_WHOLE_RUN or a process number. A missing file is LULL_OK with *ret_found false. */
struct lull_tape_merge *lull_tape_merge_begin(struct lull_trace *trace);
lull_status lull_tape_read_definitions(struct lull_tape_merge *merge, const char *path,
                                       uint32_t process, struct lull_tape_scope *scope,
                                       bool *ret_found, struct lull_error *err);
/* The same of those of a process that are in the file of a node. */
lull_status lull_tape_read_stored_definitions(struct lull_tape_merge *merge, const char *path,
                                              uint32_t process, struct lull_tape_scope *scope,
                                              struct lull_error *err);
/* The same of definitions in the file of a process, which are in `pieces`. */
lull_status lull_tape_read_packed_definitions(struct lull_tape_merge *merge, const char *path,
                                              uint32_t process,
                                              const struct lull_tape_pieces *pieces,
                                              struct lull_tape_scope *scope,
                                              struct lull_error *err);
/* When all definitions of a scope have been read, before the next one is. */
void lull_tape_keep_ids(struct lull_tape_merge *merge, struct lull_tape_scope *scope);
/* Moves what was collected into the trace; frees `merge`, also when `status` says it failed, unless
 * a share takes it over. */
lull_status lull_tape_merge_end(struct lull_tape_merge *merge, lull_status status,
                                struct lull_error *err);

/* trace/format/tape/read/call_sites.c: an object; a site, whose ids become indices, so that those that mean the same have
 * the same bytes (in memory of the caller; NULL: no memory, or fields->bad). lull_tape_add_site
 * keeps it for the region, which has been made as a copy of the whole; lull_tape_name_sites gives
 * all such regions their names, from the files of the program as far as they are there. */
struct lull_tape_fields;
void lull_tape_define_object(struct lull_trace *trace, struct lull_tape_fields *fields);
struct lull_tape_site *lull_tape_read_site(const struct lull_tape_scope *scope,
                                           struct lull_tape_fields *fields, size_t *ret_size);
void lull_tape_add_site(struct lull_trace *trace, uint32_t region,
                        const struct lull_tape_site *site, size_t size);
lull_status lull_tape_name_sites(struct lull_trace *trace, struct lull_error *err);
/* trace/format/tape/read/tape_definitions.c: the functions whose calls were left out, and a quirk, when they have names. */
void lull_tape_tell_throttled(struct lull_trace *trace);
/* ns of `ticks` by a clock with segments; *segment is where the caller is in the (ascending)
 * segments, 0 at the start. */
int64_t lull_tape_ns(const struct lull_tape_scope *scope, uint64_t ticks, size_t *segment);

struct tape_stream;
lull_status lull_tape_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *err);
lull_status lull_tape_stream_read(void *stream, struct lull_event *events, size_t capacity,
                                  size_t *ret_count, struct lull_error *err);
void lull_tape_stream_close(void *stream);

struct lull_writer;
lull_status lull_tape_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err);

/* Writes RUN/definitions into `folder`. */
lull_status lull_tape_write_definitions(const struct lull_trace *trace, const char *folder,
                                        struct lull_error *err);

#endif
