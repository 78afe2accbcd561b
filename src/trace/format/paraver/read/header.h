/* What the files share that read the lines before the first record: lines.c takes the file apart,
 * header.c reads the first line, comms.c those of communicators, sample.c looks at some records. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_HEADER_H
#define LULL_TRACE_FORMAT_PARAVER_READ_HEADER_H

#include "trace/format/paraver/paraver.h"
#include "trace/format/paraver/read/number.h"

struct lull_prv_lines {
    struct lull_prv_source *source;
    const char *path;
    uint8_t *memory; /* of the chunk at hand */
    size_t size, at;
    uint8_t *line; /* malloc'd, ends with NUL and padding */
    size_t length, capacity;
    uint64_t offset; /* of the line's first byte */
    uint64_t number; /* of the line, from 1 */
    bool ended;
};

/* The next line; `ended` behind the last one. */
lull_status lull_prv_next_line(struct lull_prv_lines *lines, struct lull_error *err);

struct lull_prv_header {
    struct lull_trace *trace;
    struct lull_paraver *paraver;
    struct lull_prv_lines *lines;
    const uint8_t *at;
    size_t processes_capacity;
    uint64_t n_nodes, n_threads, most_threads;
    uint32_t *threads; /* per process, malloc'd */
    size_t threads_capacity;
};

/* What is wrong at header->at. */
lull_status lull_prv_bad_header(const struct lull_prv_header *header, struct lull_error *err,
                                const char *what);

static inline bool lull_prv_skip(struct lull_prv_header *header, char expected)
{
    if (*header->at != expected)
        return false;
    header->at++;
    return true;
}

static inline bool lull_prv_header_number(struct lull_prv_header *header, uint64_t *ret_value)
{
    return lull_prv_number(&header->at, ret_value);
}

struct lull_prv_comms {
    size_t comms_capacity, ids_capacity;
};

/* The line of a communicator. */
lull_status lull_prv_read_comm(struct lull_prv_header *header, struct lull_prv_comms *comms,
                               struct lull_error *err);
/* Behind the last of them: adds the worlds that are not listed, and sorts. */
void lull_prv_complete_worlds(struct lull_prv_header *header, struct lull_prv_comms *comms);

/* Which event types occur in the first megabyte of records, from the line at hand on. */
lull_status lull_prv_take_sample(struct lull_prv_lines *lines, struct lull_prv_sample *sample,
                                 struct lull_error *err);

#endif
