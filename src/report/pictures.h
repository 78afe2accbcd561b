/* SPDX-License-Identifier: BSD-3-Clause */
/* What a document carries beside tables: charts, timelines, matrices and code. Each renderer decides what
 * it can show of them: the page draws all, text a timeline as blocks, JSON numbers.
 *
 * They are borrowed: what is handed over lives as long as the document. Times are ns from the begin
 * of the run. Names are data and may hold anything. */
#ifndef LULL_REPORT_PICTURES_H
#define LULL_REPORT_PICTURES_H

#include "report/chart.h"
#include "report/document.h"

#include <stddef.h>

/* ---- charts -------------------------------------------------------------------------------- */

void lull_document_chart(struct lull_document *document, const char *id,
                         const struct lull_chart *chart);
/* One whose x axis is the time of a run: the page has it below the timelines. */
void lull_document_chart_of_time(struct lull_document *document, const char *id,
                                 const struct lull_chart *chart);

/* ---- timelines ----------------------------------------------------------------------------- */

enum { LULL_PICTURE_ACTIVITIES = 16, LULL_PICTURE_COARSE = 6 /* level of all rows */ };
#define LULL_PICTURE_NO_ROW UINT32_MAX

/* What time is spent on. Renderers give each of these kinds a colour and a hatching of its own. */
enum lull_picture_paint {
    LULL_PAINT_USEFUL,
    LULL_PAINT_MESSAGES, /* point to point */
    LULL_PAINT_COLLECTIVE,
    LULL_PAINT_MPI,      /* other parts of MPI */
    LULL_PAINT_SYNC,     /* barriers of OpenMP */
    LULL_PAINT_SCHEDULE, /* fork, join, scheduling */
    LULL_PAINT_LOCK,
    LULL_PAINT_IDLE,
    LULL_PAINT_DEVICE,
    LULL_PAINT_IO,
    LULL_PAINT_TRACER,  /* writes its buffer */
    LULL_PAINT_NOTHING, /* not there, not recorded, not analysed */
    LULL_PAINTS
};

struct lull_picture_activity {
    const char *id, *label; /* "mpi_p2p", "MPI point-to-point" */
    enum lull_picture_paint paint;
};

struct lull_picture_row {
    const char *name;  /* "rank 3", "node17", "rank 3 thread 1" */
    const char *kind;  /* "band", "node", "process", "thread" or "device" */
    uint32_t parent;   /* an earlier row, or LULL_PICTURE_NO_ROW */
    uint32_t n_leaves; /* locations in it: a cell of the row has n_leaves * bin ns in all */
    uint32_t leaf;     /* index among the leaves; LULL_PICTURE_NO_ROW: it has children */
    unsigned level;    /* the deepest level of its cells: 2^level bins */
};

struct lull_picture_step {
    int64_t end;     /* the step begins where the one before ends */
    uint32_t region; /* index into regions, or LULL_PICTURE_NO_ROW */
    uint8_t activity;
};

struct lull_picture_piece {
    int64_t begin;
    size_t count;
    const void *steps; /* for step() */
};

struct lull_picture_message {
    int64_t sent, received;
    uint32_t sender, receiver; /* leaves */
    uint64_t bytes;
    int32_t tag;
};

struct lull_picture_place {
    int64_t begin, end;
    uint32_t leaf;
    uint32_t region; /* or LULL_PICTURE_NO_ROW */
    uint8_t activity;
};

/* A stretch in which the device of a leaf ran nothing, the leaf's next operation, and the leaf that submits that. */
struct lull_picture_gap {
    int64_t begin, end;
    int64_t submitted, until; /* when the operation was submitted, and when it begins */
    uint32_t leaf, submitter; /* submitter: LULL_PICTURE_NO_ROW: not known */
    uint32_t region;          /* of the operation; or LULL_PICTURE_NO_ROW */
    uint8_t cause;
};

struct lull_picture_cause {
    const char *label; /* "the host computes before it submits" */
    enum lull_picture_paint paint;
};

struct lull_picture_region {
    const char *name;
    const char *site; /* "exchange (heat.c:120)"; "" where it is not known */
};

/* Something that was counted while the locations were useful: "instructions", "cycles". */
struct lull_picture_counter {
    const char *id, *label;
};

struct lull_picture_timeline {
    const char *id, *title; /* the name of the run */
    const char *absent;     /* why there is none, a sentence, then nothing below is set; NULL: there
                               is one */
    const char *command;    /* "lull report run.lull --window", to which FROM:TO in seconds
                               ("0.5s:1.2s") is added for a closer look; ready for a shell */
    int64_t begin, end;     /* of the axis */
    unsigned level;         /* the deepest level of any row */
    const struct lull_picture_activity *activities;
    uint32_t n_activities;               /* <= LULL_PICTURE_ACTIVITIES; those that have time */
    const struct lull_picture_row *rows; /* a row before its children */
    uint32_t n_rows, n_leaves;
    const struct lull_picture_region *regions;
    uint32_t n_regions;

    /* Exact ns of `count` bins from `first` on: ret_ns[count][n_activities]. `level` is at most
     * that of the row; bin i of level L begins at begin + floor(i * (end - begin) / 2^L). */
    void (*cells)(const void *data, uint32_t row, unsigned level, uint32_t first, uint32_t count,
                  int64_t *ret_ns);
    /* How many pieces of a leaf are kept step by step; one of these pieces; a step of a piece. */
    uint32_t (*pieces)(const void *data, uint32_t leaf);
    struct lull_picture_piece (*piece)(const void *data, uint32_t leaf, uint32_t piece);
    struct lull_picture_step (*step)(const void *data, const struct lull_picture_piece *piece,
                                     size_t step);
    /* How much of each counter belongs to a leaf in the bins of level LULL_PICTURE_COARSE:
     * ret_counts[n_counters][64]. Not called where there are no counters. */
    void (*counts)(const void *data, uint32_t leaf, double *ret_counts);
    const struct lull_picture_counter *counters;
    uint32_t n_counters;
    const void *data;

    uint64_t n_steps, n_messages;                /* of the run */
    bool all_steps, all_messages;                /* all of them are here, not only some */
    const struct lull_picture_message *messages; /* by time of sending */
    size_t n_kept_messages;
    const struct lull_picture_place *places; /* the longest waits, longest first */
    uint32_t n_places;
    const struct lull_picture_gap *gaps; /* the longest, by their begins */
    uint32_t n_gaps;
    const struct lull_picture_cause *causes; /* of gaps */
    uint32_t n_causes;
    const uint32_t *differing; /* rows whose useful time differs most from their peers' */
    uint32_t n_differing;
};

void lull_document_timeline(struct lull_document *document,
                            const struct lull_picture_timeline *timeline);

/* ---- matrices ------------------------------------------------------------------------------ */

/* One value for each pair of a row and a column, as of messages between ranks or of the iterations
 * of ranks. */
struct lull_picture_layer {
    const char *id, *label, *unit; /* unit: "B", "s", "count", "ratio", "GHz" ... */
    const double *values;          /* [n_rows][n_columns]; NAN: none */
};

struct lull_picture_matrix {
    const char *id, *title, *about;     /* about: one sentence on how to read it */
    const char *absent;                 /* why there is no matrix, a sentence; NULL: there is one */
    const char *row_axis, *column_axis; /* "sender", "receiver" */
    const char *const *row_names, *const *column_names;
    uint32_t n_rows, n_columns;
    const struct lull_picture_layer *layers;
    uint32_t n_layers;
};

void lull_document_matrix(struct lull_document *document, const struct lull_picture_matrix *matrix);

/* ---- code ---------------------------------------------------------------------------------- */

/* The functions in which a run computed, and the source of the hottest ones. Text and CSV leave it out:
 * tables have the same numbers. */

/* Time in a function, or in a line. */
struct lull_picture_code_time {
    int64_t useful_ns;         /* of all threads */
    int64_t mpi_ns, openmp_ns; /* in calls from there */
    int64_t idle_ns;           /* of threads that are idle because of it */
    int64_t waited_ns;         /* the part of the time in calls that was a wait for others */
    /* Useful time of a rank; which rank has the least and which the most, negative: none has any. */
    int64_t min_ns, median_ns, max_ns, min_rank, max_rank;
};

struct lull_picture_code_line {
    uint32_t number;
    const char *text; /* NULL: it is not known */
    struct lull_picture_code_time time;
};

/* A part of a row of a timeline. */
struct lull_picture_spot {
    size_t timeline; /* of the document's; SIZE_MAX: nowhere */
    uint32_t row;
    int64_t begin, end; /* ns from the begin of the run; end 0: no span of time */
};

struct lull_picture_function {
    const char *name, *place; /* "smooth", "heat.c:85" */
    struct lull_picture_code_time time;
    double share, low, high;                    /* of the useful time, and its interval */
    const struct lull_picture_code_line *lines; /* ascending; there may be gaps */
    uint32_t n_lines;
    const char *note; /* what is to be known of the source, a sentence; NULL: nothing */
    struct lull_picture_spot most; /* where most of its useful time is */
};

/* A function under those that it was called from. */
struct lull_picture_frame {
    const char *name, *place;
    uint32_t depth;
    double begin, share; /* of the useful time, with all that it called: from `begin` on */
};

struct lull_picture_code {
    const char *title, *about; /* about: how to read it, a sentence or two */
    bool has_calls;            /* times in calls are known */
    bool has_waits;            /* waits in calls are known */
    bool has_idle;             /* threads may be idle */
    bool has_ranks;            /* there are several ranks */
    const struct lull_picture_function *functions;
    uint32_t n_functions;
    const struct lull_picture_frame
        *frames; /* call paths; those that are too short to be seen may be
                                                missing */
    uint32_t n_frames;
};

void lull_document_code(struct lull_document *document, const struct lull_picture_code *code);

#endif
