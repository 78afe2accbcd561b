/* The history of a program's performance: a file of JSON Lines, one line per run, to which lines
 * are only ever added, so that two branches of a repository merge by keeping the lines of both. The
 * form is described in docs/formats/history.md. */
#ifndef LULL_STUDY_HISTORY_HISTORY_H
#define LULL_STUDY_HISTORY_HISTORY_H

#include "study/history/parts.h"

/* ==== history ================================================================================= */

/* What is measured besides the metrics of the trees, NULL at the end: runtime, time of all threads
 * and its useful part in s; instructions and cycles of useful time. */
extern const char *const lull_history_quantities[];

/* What runs must share to be compared; the texts are the user's, "" where nothing was said. As a
 * wish NULL means any. */
struct lull_history_key {
    const char *program, *input, *machine;
    const char *layout; /* processes and threads of each, "8 x 2" */
};

struct lull_history_value {
    const char *id; /* of a metric, "parallel_efficiency", or a quantity */
    double value;
    const char *absent; /* why there is none, then the value is NAN; NULL: there is one. Files have
                           only values that there are. */
};

/* One run. */
struct lull_history_entry {
    struct lull_history_key key;
    const char *commit, *run; /* "" where not known; the name of the run */
    int64_t time;             /* s since 1970, UTC */
    struct lull_history_value *values;
    uint32_t n_values;
    struct lull_parts parts; /* from a file: the largest ones, at least 0.1 % of the total each */
    uint32_t line;           /* of the file; 0: of no file */
};

/* By time, then as in the file. Lines that say the same are one run. */
struct lull_history {
    const char *path;
    struct lull_history_entry *entries;
    uint32_t count;
    size_t capacity;
};

/* What is said of runs besides what they hold. */
struct lull_history_about {
    struct lull_history_key key; /* layout: not looked at; machine NULL: that of the run */
    const char *commit;
    bool has_time;
    int64_t time; /* else that of the run, or `now` where it does not tell */
    int64_t now;
};

/* The value of a metric, or of "region:NAME", the time of all threads in that region in s; NAN
 * where the entry has none. */
double lull_history_value_of(const struct lull_history_entry *entry, const char *id);

/* Why the entry has no such value, a few words. */
const char *lull_history_absent(const struct lull_history_entry *entry, const char *id);

/* The version that is being tested, as services that test say it in the environment; "". */
const char *lull_history_commit_of_job(void);

/* Of a run with its values (lull_study_compute of it alone). Lives in `arena`. */
void lull_history_entry_of(const struct lull_run *run, const struct lull_history_about *about,
                           struct lull_arena *arena, struct lull_history_entry *ret_entry);

/* LULL_ERR_FORMAT: "FILE: line 3: CAUSE". A file that does not exist is LULL_ERR_IO. */
lull_status lull_history_read(const char *path, struct lull_arena *arena,
                              struct lull_history *ret_history, struct lull_error *err);

/* Adds the entries as lines at the end of the file, all or none, and makes the file where there is
 * none. Nobody else writes meanwhile: waits so many seconds for another writer, then fails. What is
 * there is read before, and nothing is added to what is no history or ends in a torn line. Runs
 * that the file has are not added again: *ret_added says how many were. */
lull_status lull_history_append(const char *path, const struct lull_history_entry *entries,
                                uint32_t count, double patience, struct lull_arena *arena,
                                uint32_t *ret_added, struct lull_error *err);

/* The series of a file that has this key (lull_history_select); for NULL one without entries. */
lull_status lull_history_read_series(const char *path, const struct lull_history_key *wish,
                                     const char *but_commit, struct lull_arena *arena,
                                     struct lull_history *ret_series, struct lull_error *err);

/* "2026-11-23T02:51:09Z" in `buffer`, which has room for 32 bytes; and from that, or from whole
 * seconds since 1970. */
const char *lull_history_time_text(int64_t time, char *buffer);
lull_status lull_history_time_read(const char *text, int64_t *ret_time, struct lull_error *err);

/* ==== line ==================================================================================== */

/* One line of a history. */

/* Ends with '\n'. NULL: no memory. To be freed. */
char *lull_history_line_write(const struct lull_history_entry *entry);

/* Without the newline. LULL_ERR_FORMAT with the cause alone. */
lull_status lull_history_line_read(const char *text, size_t size, struct lull_arena *arena,
                                   struct lull_history_entry *ret_entry, struct lull_error *err);

#endif
