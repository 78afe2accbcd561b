/* SPDX-License-Identifier: BSD-3-Clause */
/* Tapes, lull's own traces (tape/layout.h); internal to the format: what its files share.
 *
 * tape.c              recognises and opens a run, finds its files
 * read/               tape_source.c: files on disk or packed, their names, and what of them is
 *                     damaged; process_files.c, record_files.c: the parts of a location;
 *                     tape_definitions.c, tape_comms.c, call_sites.c: definitions; tape_times.c:
 *                     clocks and when a run begins and ends; tape_stream.c, tape_records.c: records
 *                     to events; tape_samples.c: samples; tape_sums.c: sums
 * tape_share.c        a run that several processes open together
 * tape_writer.c, definitions_writer.c writing tapes
 * tape_values.c       values of fields <-> the enums of trace/trace.h and trace/event.h
 * pack/               `lull pack`: the packed file of a node */
#ifndef LULL_TRACE_FORMAT_TAPE_TAPE_DATA_H
#define LULL_TRACE_FORMAT_TAPE_TAPE_DATA_H

#include "base/array.h"
#include "tape/layout.h"
#include "tape/life.h"
#include "trace/trace.h"

#include <stddef.h>
#include <sys/types.h>

/* A scope (the run or a process) has a map from its ids to indices of the trace for each of
 * these. */
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

/* A straight part of a clock: from base_ticks on, ns = base_ns + (ticks - base_ticks) * multiplier
 * / 2^shift. */
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

/* When a process's clock says `ns`, the clock of the run is `to_run` ns ahead of it, within `error`
 * ns. */
struct lull_tape_offset {
    int64_t ns, to_run;
    double error;
};

/* What the definitions of the run, or of a process, mean: their ids and their clock. */
struct lull_tape_scope {
    struct lull_tape_ids maps[LULL_TAPE_MAPS];
    struct lull_tape_clock_point *points;
    size_t n_points, points_capacity;
    struct lull_tape_offset *offsets;
    size_t n_offsets, offsets_capacity;
    double points_error; /* ns, the largest of the points */
    double ns_per_tick;  /* as the process has measured it at its start; 0: unknown */
    struct lull_tape_segment *segments; /* NULL: ticks are ns */
    size_t n_segments;
    uint64_t clock;      /* the same number for processes that read the same clock; 0: unknown */
    uint32_t world_size; /* ranks of the world of MPI that the process is in; 0: it is in none */
    uint32_t member;     /* with a world: the number by which communicators name the process */
    struct lull_tape_life life; /* which process of the system it is, or was */
};

/* The number by which communicators name a process, and the process's index. */
struct lull_tape_member {
    uint32_t number, process;
};

/* A place in the code. */
struct lull_tape_address {
    uint32_t object; /* index */
    uint32_t reserved;
    uint64_t offset; /* as the object file counts addresses */
};

/* A call site: the calls of a region from one place; or, depending on `code`, a region that has its
 * code at that place. Equal sites are found by a key: the bytes of the struct with all addresses,
 * as lull_tape_read_site makes them. */
struct lull_tape_site {
    uint32_t mark;   /* UINT32_MAX: keys of other definitions begin with something else */
    uint32_t whole;  /* index of the region */
    uint32_t code;   /* enum lull_tape_code */
    uint32_t n;      /* addresses, the innermost first */
    uint32_t region; /* index of the site's own region; 0 until lull_tape_add_site */
    uint32_t reserved;
    const struct lull_tape_site *next;
    struct lull_tape_address addresses[];
};

/* A function whose calls were left out, in all processes together. */
struct lull_tape_throttled {
    struct lull_tape_throttled *next;
    uint32_t region;             /* index */
    uint32_t processes, counted; /* processes that left calls out; how many of them said how many
                                    calls these were */
    uint64_t ns, calls; /* the longest mean duration of a call in a process; all calls left out */
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

/* The part of a location's header that is needed after opening. The rest is dropped, because the
 * whole headers of a million locations would take too much memory. */
struct lull_tape_told {
    uint16_t flags;
    uint64_t committed, flushed, main_begin, main_end;
    struct lull_tape_ends ends;
};

/* Where the records of a location are, and how to read them. */
struct lull_tape_file {
    uint32_t process, number; /* of the location in its process */
    struct lull_tape_told header;
    const char *damage; /* why nothing of the process can be read; NULL: it can be read */
    /* Where its header and its other parts stand in the file of its process, or of a node; the last
     * chunks may be missing. */
    uint64_t head;
    struct lull_tape_pieces chunks, rest, sums, samples;
    /* With LULL_TAPE_RING: the chunks that were found, ascending by number, `n_ring` of them.
     * The last `n_kept` of these follow each other without a gap up to the end, and are
     * `chunks`. `lost` bytes of records before them were not kept; the sizes in `header` do not
     * count them. */
    struct lull_tape_ring_chunk *ring;
    size_t n_ring, ring_capacity, n_kept;
    uint64_t lost;
    uint64_t life_begin; /* ticks: the begin of a location with `lost` records */
    const struct lull_tape_scope *ids;
    const struct lull_tape_scope *clock; /* without segments: ticks are ns */
    /* The call that had not ended in the location when the tape was opened. */
    uint32_t open_region; /* LULL_NONE: there was none */
    uint64_t open_time;   /* ticks */
    /* While the location is being recorded: the bytes of its tail when the tape was opened, and one
     * slot more if there was one. NULL: all records are in the file. */
    const unsigned char *tail;
    size_t tail_size;
    bool has_sums;
    bool left_out;     /* its header or its ids are damaged: nothing of it is read */
    bool has_own_file; /* its process has a file of its own, which must be opened for reading; files
                          of nodes are open already */
    const struct lull_tape_node_location *known; /* what the packed file of a node says of it; NULL:
                                                    nothing */
};

/* Whether the sums of a location go further than its events: because events were not kept, or not
 * all of them, or because the program has left a call by exit(). */
static inline bool lull_tape_sums_go_on(const struct lull_tape_file *file)
{
    const unsigned stops = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_WRITE_FAILED | LULL_TAPE_PROFILE;
    return file->has_sums &&
           (file->header.flags & stops || file->open_region != LULL_NONE || file->lost > 0);
}

/* A chunk of a ring. */
struct lull_tape_ring_chunk {
    uint32_t number; /* among the chunks of its location, from 0 */
    uint32_t page;   /* where it is in the file */
    uint64_t entry; /* where the entry of its extent is, which changes when the chunk is replaced */
};

/* A process that was found, and whether all that it defines is in RUN/definitions. */
struct lull_tape_listed {
    uint32_t number;
    bool defines_nothing;
};

/* Process and number of a location. */
struct lull_tape_name {
    uint32_t process, number;
};

struct lull_tape_packed;
struct lull_tape_containers;
struct lull_tape_source;
struct lull_tape_node_location;

/* Makes room for `need` elements in a malloc'd array; a failure for want of memory is the arena's.
 * It is for the largest arrays, because an array in an arena leaves its old memory behind whenever
 * it grows. */
static inline void lull_tape_make_room(const struct lull_trace *trace, void *array,
                                       size_t *capacity, size_t need, size_t size)
{
    if (!lull_array_reserve(array, capacity, need, size))
        lull_arena_alloc(trace->arena, SIZE_MAX);
}

struct lull_tape_share;
struct lull_tape_lives;

struct lull_tape_data {
    struct lull_tape_share
        *share; /* several members open the run together (tape_share.h); NULL: one alone */
    struct lull_tape_file *files; /* per location; malloc'd */
    size_t n_files, files_capacity;
    struct lull_tape_packed *packed_run; /* the packed files of nodes; NULL: there are none */
    struct lull_tape_containers
        *containers;                 /* the files of nodes that processes have recorded; NULL:
                                                there are none */
    char damage[1024];               /* what is wrong with the first damaged file of a node */
    bool lacks_packed;               /* some of what was packed cannot be read */
    struct lull_tape_listed *listed; /* all processes, ascending; malloc'd */
    size_t n_listed, listed_capacity;
    struct lull_tape_scope run;
    struct lull_tape_scope *scopes;   /* per process that has its own definitions */
    uint32_t *process_numbers;        /* per process: p of the file names, ascending */
    struct lull_tape_member *members; /* of worlds of MPI, by number */
    uint32_t n_members;               /* 0: communicators name processes by their numbers */
    int64_t origin;                   /* ns, subtracted from all times */
    bool closed;                   /* there is a RUN definition: when it begins, how long it is */
    double worst_clocks[2];        /* ns: the two largest errors of clocks of other nodes */
    bool spawns;                   /* some processes of the run may have spawned others */
    bool *outside;                 /* per communicator: some of its members were not recorded */
    size_t objects_capacity;       /* of trace->objects */
    size_t devices_capacity;       /* of trace->devices */
    size_t region_memory_capacity; /* of trace->region_memory */
    const struct lull_tape_site *sites; /* a list; the last one that was added comes first */
    size_t n_addresses;                 /* of all sites together */
    struct lull_tape_throttled *throttled;
    struct lull_tape_lives
        *lives; /* of a trace that is opened live (read/tape_live.h), else NULL */
};

/* Fails, with what the user can do, unless a file has the version that this lull writes. */
lull_status lull_tape_check_version(const char *path, uint32_t version, struct lull_error *err);
/* Fails, because a run has a file of a single location. */
lull_status lull_tape_old_form(const char *path, struct lull_error *err);

/* No path of a tape is longer. */
enum { LULL_TAPE_PATH = 4096 };

const char *lull_tape_file_path(const struct lull_trace *trace, const struct lull_tape_file *file,
                                char *buffer, size_t size);
/* The path of the file of a whole process. */
const char *lull_tape_process_path(const struct lull_trace *trace, uint32_t process, char *buffer,
                                   size_t size);

/* ---- the parts of a location in files (process_files.c, record_files.c) ---------------------- */

/* Finds the locations in the file of a process, and adds them to data->files. */
lull_status lull_tape_read_process(struct lull_trace *trace, struct lull_tape_listed *process,
                                   struct lull_error *err);
struct lull_tape_extent;
/* Reads up to `room` extents of a process from number `first` on, in the order of their numbers; those
 * that are not in use have the part NONE. *ret_count 0: there are no more. A recorder may be adding to
 * them. */
lull_status lull_tape_read_extents(struct lull_tape_source *source, const char *path,
                                   uint32_t process, uint32_t first, uint32_t room,
                                   struct lull_tape_extent *extents, uint32_t *ret_count,
                                   struct lull_error *err);
/* Looks again for the parts of a location, of which a recorder may have added more. */
lull_status lull_tape_refresh(const struct lull_trace *trace, struct lull_tape_file *file,
                              struct lull_error *err);
/* Finds which chunks of a ring are kept, when its header and then its parts have just been read. */
void lull_tape_keep_ring(const struct lull_trace *trace, struct lull_tape_file *file);
/* Whether these chunks are still there, and none of them has been replaced. */
bool lull_tape_has_kept(struct lull_tape_source *source, const struct lull_tape_file *file);
/* Finds where the definitions of a process are in its file, which is open; *ret_pieces must be
 * empty before. */
lull_status lull_tape_find_definitions(struct lull_tape_source *source, const char *path,
                                       uint32_t process, struct lull_tape_pieces *ret_pieces,
                                       struct lull_error *err);
/* As lull_tape_source_read, from the pieces as if they were one file. */
ssize_t lull_tape_read_pieces(struct lull_tape_source *source,
                              const struct lull_tape_pieces *pieces, void *bytes, size_t size,
                              uint64_t offset);
/* Where byte `offset` of the pieces stands in the file; UINT64_MAX: it is behind all of them. */
uint64_t lull_tape_place_in(const struct lull_tape_pieces *pieces, uint64_t offset);
/* Adds the pieces that hold the first `size` bytes of `pieces` to `to`, whose array grows. */
void lull_tape_add_pieces(struct lull_arena *arena, struct lull_tape_pieces *to,
                          const struct lull_tape_pieces *pieces, uint64_t size);

/* Reads the header of a location, and with LULL_TAPE_TAILED its tail, as they were at one moment.
 * All of the header goes to *ret_header, what is needed later also to `file`. */
lull_status lull_tape_read_header(const struct lull_trace *trace, struct lull_tape_file *file,
                                  struct lull_tape_header *ret_header, struct lull_error *err);
/* Reads up to `size` bytes of records from byte `begin` on, which must lie in one chunk. *ret_got
 * may be less at the end of the records, but covers all that are committed. */
lull_status lull_tape_read_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, uint64_t begin, size_t size,
                                   void *bytes, size_t *ret_got, struct lull_error *err);
/* Opens the file that holds the records of a location; lull_tape_read_records_from reads them from
 * there. */
lull_status lull_tape_open_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file,
                                   struct lull_tape_source *ret_source, struct lull_error *err);
lull_status lull_tape_read_records_from(struct lull_tape_source *source,
                                        const struct lull_tape_file *file, uint64_t begin,
                                        size_t size, void *bytes, size_t *ret_got,
                                        struct lull_error *err);
/* Where a record stands in the file; `begin` as in lull_tape_read_records. */
uint64_t lull_tape_offset_of(const struct lull_tape_file *file, uint64_t begin);
/* Whether the location is a ring that is still being recorded, so that newer chunks, of any
 * location of its process, may replace its own. */
bool lull_tape_may_give_way(const struct lull_trace *trace, const struct lull_tape_file *file);
/* Copies all records of a ring that may give way, as they were at one moment; `bytes` has room for
 * them. */
lull_status lull_tape_copy_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, void *bytes,
                                   struct lull_error *err);

/* ---- processes and communicators (tape_comms.c) ---------------------------------------------- */

/* Index of the process with number p, LULL_NONE if there is none. */
uint32_t lull_tape_process_index(const struct lull_trace *trace, uint32_t number);

/* Index of the location of thread `number` of a process (an index), LULL_NONE if it has no tape. */
uint32_t lull_tape_thread_index(const struct lull_trace *trace, uint32_t process, uint32_t number);
/* The same of a device stream. */
uint32_t lull_tape_stream_index(const struct lull_trace *trace, uint32_t process, uint32_t number);

/* The index of the process that communicators name by `number`, LULL_NONE if it was not recorded;
 * and the number by which they name a process. */
uint32_t lull_tape_member_index(const struct lull_trace *trace, uint32_t number);
uint32_t lull_tape_member_number(const struct lull_trace *trace, uint32_t process);

/* Makes an application of each program that a script has started, so that no two processes of one
 * application have the same rank. A world of MPI with more than one process is the first
 * application; the others are in the order of their processes. */
void lull_tape_divide_programs(struct lull_trace *trace);

/* ---- definitions, clocks and times ----------------------------------------------------------- */

/* Called when all definitions are read (tape_times.c): processes that read the same clock get the
 * offsets that one of them has measured, and every scope gets its segments. */
lull_status lull_tape_make_clocks(struct lull_trace *trace, struct lull_error *err);

struct lull_tape_merge;
/* Reads the definitions of a process with that number from its file. `path`, with room for
 * LULL_TAPE_PATH, becomes the path of that file. */
lull_status lull_tape_read_definitions_of(const struct lull_trace *trace,
                                          struct lull_tape_merge *merge, uint32_t number,
                                          struct lull_tape_scope *scope, char *path,
                                          bool *ret_found, struct lull_error *err);
/* Fails, because neither the process nor the run has definitions. */
lull_status lull_tape_no_definitions(const struct lull_trace *trace, uint32_t number,
                                     struct lull_error *err);
/* Leaves out a process whose definitions cannot be read; `err` says why. */
lull_status lull_tape_leave_out_process(struct lull_trace *trace, uint32_t process,
                                        const struct lull_error *err);

/* Sets duration and origin of the trace, and which events there are (tape_times.c). Without a RUN
 * definition the records say when the run begins and ends; with one, locations that did not end in
 * an orderly way may have gone on longer. */
lull_status lull_tape_measure_length(struct lull_trace *trace, struct lull_error *err);
/* Finds the ends of a location, from its header if that has them, else from its records. `slots`
 * has room for a chunk. `lull pack` keeps the result, so that opening need not read the records. */
lull_status lull_tape_measure_location(const struct lull_trace *trace,
                                       const struct lull_tape_file *file,
                                       union lull_tape_slot *slots, struct lull_tape_ends *ret_ends,
                                       struct lull_error *err);

/* Finds the call that had not ended in a location when its header and its tail were read. */
lull_status lull_tape_find_open_call(const struct lull_trace *trace, struct lull_tape_file *file,
                                     struct lull_error *err);

/* The time of a location's clock in ns of the run, when its origin is known. */
int64_t lull_tape_ns_of_file(const struct lull_tape_data *data, const struct lull_tape_file *file,
                             uint64_t ticks);
/* Sets main_begin and main_end of processes, and trace->has_main (tape_times.c). */
void lull_tape_find_main(struct lull_trace *trace);
/* Gives the readings of memory of all processes their times in the run, whose begin and length are known. */
void lull_tape_place_readings(struct lull_trace *trace);

/* A merge collects the definitions of all scopes (tape_definitions.c). */
struct lull_tape_merge *lull_tape_merge_begin(struct lull_trace *trace);
/* Reads RUN/definitions, which is `path`, into the trace and `scope`. A missing file is LULL_OK
 * with *ret_found false. */
lull_status lull_tape_read_definitions(struct lull_tape_merge *merge, const char *path,
                                       struct lull_tape_scope *scope, bool *ret_found,
                                       struct lull_error *err);
/* Reads RUN/about; what is wrong with it becomes a quirk (tape_properties.c). */
void lull_tape_read_about(struct lull_tape_merge *merge);
/* Called when all processes have been read. RUN/about says what the first process found, for all of
 * them. Of a variable of the environment that the first process did not have, only those processes
 * tell that have it: all others get the value "". */
void lull_tape_complete_properties(struct lull_tape_merge *merge);
/* The definitions of the process with that index are read next. */
void lull_tape_merge_process(struct lull_tape_merge *merge, uint32_t process);
/* Call it when all definitions of a scope have been read, before the next scope begins. */
void lull_tape_keep_ids(struct lull_tape_merge *merge, struct lull_tape_scope *scope);
/* Moves what was collected into the trace, unless `status` is a failure. Frees `merge` in any case,
 * unless a share takes it over. */
lull_status lull_tape_merge_end(struct lull_tape_merge *merge, lull_status status,
                                struct lull_error *err);

/* ---- call sites (call_sites.c) --------------------------------------------------------------- */

struct lull_tape_fields;
void lull_tape_define_object(struct lull_trace *trace, struct lull_tape_fields *fields);
/* Reads the fields of a SITE. Its ids become indices, so that sites that mean the same have the
 * same bytes. The caller frees the result; NULL: no memory, or fields->bad. */
struct lull_tape_site *lull_tape_read_site(const struct lull_tape_scope *scope,
                                           struct lull_tape_fields *fields, size_t *ret_size);
/* Keeps a copy of a site for its region, which the caller has made as a copy of the whole one. */
void lull_tape_add_site(struct lull_trace *trace, uint32_t region,
                        const struct lull_tape_site *site, size_t size);
/* Names the regions of all sites, from the files of the program as far as they are there. */
lull_status lull_tape_name_sites(struct lull_trace *trace, struct lull_error *err);
/* Lists the functions whose calls were left out in trace->left_out, and adds a quirk; to be called
 * when regions have their names. */
void lull_tape_tell_throttled(struct lull_trace *trace);

/* ---- events and writing ---------------------------------------------------------------------- */

/* The ns of `ticks` by a clock with segments. *segment is the caller's position in the ascending
 * segments, 0 at first; it makes the next look-up fast. */
int64_t lull_tape_ns(const struct lull_tape_scope *scope, uint64_t ticks, size_t *segment);

struct tape_stream;
lull_status lull_tape_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *err);
lull_status lull_tape_stream_read(void *stream, struct lull_event *events, size_t capacity,
                                  size_t *ret_count, struct lull_error *err);
enum lull_events_state lull_tape_stream_state(const void *stream);
void lull_tape_stream_close(void *stream);

struct lull_writer;
lull_status lull_tape_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err);

/* Writes RUN/definitions into `folder`. */
lull_status lull_tape_write_definitions(const struct lull_trace *trace, const char *folder,
                                        struct lull_error *err);

#endif
