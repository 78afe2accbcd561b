/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of a program's performance: a file of JSON Lines, one line per run, to which lines
 * are only ever added, so that two branches of a repository merge by keeping the lines of both. The
 * form is described in docs/formats/history.md. */
#ifndef LULL_STUDY_HISTORY_HISTORY_H
#define LULL_STUDY_HISTORY_HISTORY_H

#include "study/runs.h"

/* ==== parts of a run ========================================================================== */

/* Where the time of a run went, as parts that add up: one for each region and activity. */

/* One region's time with one activity, summed over all threads. */
struct lull_part {
    const char *region; /* "": outside of every region that is known */
    const char *site;   /* where it is called, "exchange (heat.c:120)"; "": not known */
    uint8_t activity;   /* enum lull_activity; LULL_ACTIVITIES: not recorded */
    int64_t ns;
    const char *file; /* of the call site or of the region; "": not known */
    uint32_t line;
};

/* Parts, sorted by region, site and activity. Their times add up to total_ns, the time that was
 * analysed of all threads and streams. */
struct lull_parts {
    struct lull_part *parts;
    uint32_t count;
    int64_t total_ns;
};

/* Finds the parts of a run from its breakdown, by region where that has regions. Useful time
 * belongs to the region that it is directly inside. The other time of a region of MPI or OpenMP
 * belongs to this region and its activity. Of what remains only the activity is known. */
void lull_parts_of_run(const struct lull_run *run, struct lull_arena *arena,
                       struct lull_parts *ret_parts);

/* The time of all parts that are useful, in ns. */
int64_t lull_parts_useful(const struct lull_parts *parts);

/* Below 0, 0 or above 0, as `a` comes before `b`, is the same part, or comes after it. */
int lull_part_compare(const struct lull_part *a, const struct lull_part *b);
/* The part of the same region, site and activity; NULL: there is none. */
const struct lull_part *lull_parts_find(const struct lull_parts *parts,
                                        const struct lull_part *like);

/* Renames parts whose place an edit of the program has moved to other lines, as
 * "!$omp parallel @heat.c:125" or calls from "exchange (heat.c:120)", to the names that `edited`, a
 * run of the edited program, has for them. Considered are names that only one of the two runs has.
 * Names that are the same but for their lines are paired in the order of lines, if both runs have
 * as many of them. Returns how many places were renamed. */
uint32_t lull_parts_follow_edit(struct lull_parts *parts, const struct lull_parts *edited,
                                struct lull_arena *arena);

/* Whether a part is worth a place in a history: it is at least a thousandth of the total. */
bool lull_part_is_kept(const struct lull_part *part, const struct lull_parts *parts);

/* "computation", "MPI point-to-point", "not recorded". */
const char *lull_part_cause(const struct lull_part *part);
/* "computation in solve", "MPI_Recv from exchange (heat.c:120)", "idle". */
const char *lull_part_describe(const struct lull_part *part, struct lull_arena *arena);

/* ==== the history ============================================================================= */

/* Ids of the quantities that a history has besides the metrics of the trees, NULL at the end: the
 * runtime, the time of all threads and its useful part, in seconds; instructions and cycles of
 * useful time. */
extern const char *const lull_history_quantities[];

/* What runs must have in common to be compared. The texts are the user's or the run's own, "" where
 * nothing was said. In a wish NULL means any. Entries of which nobody said the program, as an
 * older lull has written them, may be of any. */
struct lull_history_key {
    const char *program, *input, *machine;
    const char *layout; /* processes and threads of each, "8 x 2" */
};

struct lull_history_value {
    const char *id; /* of a metric, "parallel_efficiency", or of a quantity */
    double value;
    const char *absent; /* why the run has no value, which is NAN then; NULL: it has one. Such
                           entries are not written to files. */
};

/* Useful time of a run in a function, of all threads, by its samples. */
struct lull_history_function {
    const char *id; /* "smooth (heat.c)", as in struct lull_code_row */
    int64_t ns;
    double error_ns; /* the standard deviation that comes from the number of samples */
};

/* One run. */
struct lull_history_entry {
    struct lull_history_key key;
    const char *commit, *run; /* version of the program, name of the run; "" where not known */
    int64_t time;             /* seconds since 1970, UTC */
    struct lull_history_value *values;
    uint32_t n_values;
    struct lull_parts parts; /* from a file: the largest ones, at least 0.1 % of the total each */
    /* By id; those of a run with samples, not of a file. NULL: there are none. */
    const struct lull_history_function *functions;
    uint32_t n_functions;
    uint32_t line; /* its line in the file; 0: it comes from no file */
};

/* Entries, sorted by time, then as in the file. Lines that are the same are one entry. */
struct lull_history {
    const char *path;
    struct lull_history_entry *entries;
    uint32_t count;
    size_t capacity;
    uint32_t of_same_commit; /* entries that a series leaves out (lull_history_read_series) */
};

/* What users say about runs besides what the runs themselves hold. */
struct lull_history_about {
    struct lull_history_key key; /* its layout is not looked at; NULL: what the run says */
    const char *commit;          /* "": what the run says */
    bool has_time;
    int64_t time; /* if has_time; else the time is that of the run, or `now` where a run has none */
    int64_t now;
};

/* The value of a metric, or for "region:NAME" the time of all threads in that region in seconds, and for
 * "function:NAME" their useful time in that function by samples, 0 if it has less than a thousandth of
 * all time; NAN where the entry has none. */
double lull_history_value_of(const struct lull_history_entry *entry, const char *id);

/* Why the entry has no such value, in a few words. */
const char *lull_history_absent(const struct lull_history_entry *entry, const char *id);

/* The version of the program that is being tested, from the environment variables that services for
 * continuous integration set; "" where there are none. */
const char *lull_history_commit_of_job(void);

/* Makes the entry of a run whose values were computed, as of a single run (lull_study_compute). It
 * lives in `arena`. */
void lull_history_entry_of(const struct lull_run *run, const struct lull_history_about *about,
                           struct lull_arena *arena, struct lull_history_entry *ret_entry);

/* Reads a file. Fails with LULL_ERR_FORMAT, "FILE: line 3: CAUSE", and with LULL_ERR_IO for a file
 * that does not exist. */
lull_status lull_history_read(const char *path, struct lull_arena *arena,
                              struct lull_history *ret_history, struct lull_error *err);

/* Adds the entries as lines at the end of the file, all or none, and makes the file where there is
 * none. Nobody else writes meanwhile: it waits up to `patience` seconds for another writer, then
 * fails. It reads the file first, and adds nothing to a file that is no history or ends in a torn
 * line. Runs that the file has already are not added again; *ret_added says how many were added. */
lull_status lull_history_append(const char *path, const struct lull_history_entry *entries,
                                uint32_t count, double patience, struct lull_arena *arena,
                                uint32_t *ret_added, struct lull_error *err);

/* The series of a file, in `arena`: its entries that match the wish, in their order, without those
 * of the commit `but_commit` (NULL or "": all). All must have the same key; where none or several
 * keys match, it fails with LULL_ERR_RANGE and names the keys that there are. With `path` NULL the
 * series has no entries. */
lull_status lull_history_read_series(const char *path, const struct lull_history_key *wish,
                                     const char *but_commit, struct lull_arena *arena,
                                     struct lull_history *ret_series, struct lull_error *err);

/* Writes a time, in seconds since 1970, as "2026-11-23T02:51:09Z" into `buffer`, which has room for
 * 32 bytes, and reads one from such a text or from a whole number of seconds. */
const char *lull_history_time_text(int64_t time, char *buffer);
lull_status lull_history_time_read(const char *text, int64_t *ret_time, struct lull_error *err);

/* ==== one line of a history =================================================================== */

/* The line of an entry, with '\n' at its end. The caller frees it. NULL: no memory. */
char *lull_history_line_write(const struct lull_history_entry *entry);

/* Reads a line, which comes without its newline. Fails with LULL_ERR_FORMAT; the message is the
 * cause alone, without file and line. */
lull_status lull_history_line_read(const char *text, size_t size, struct lull_arena *arena,
                                   struct lull_history_entry *ret_entry, struct lull_error *err);

#endif
