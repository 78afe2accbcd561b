/* Which functions of a program are measured: rules in the syntax of Score-P's filter files.
 *
 *     SCOREP_REGION_NAMES_BEGIN      # comments go to the end of the line
 *       EXCLUDE *
 *       INCLUDE main solve_* MANGLED _ZN4heat*
 *     SCOREP_REGION_NAMES_END
 *     SCOREP_FILE_NAMES_BEGIN
 *       EXCLUDE * /usr/include/ *
 *     SCOREP_FILE_NAMES_END
 *
 * (without the blanks inside of the last pattern). Everything is included at first; of the patterns
 * that match, the last one counts. They are those of fnmatch(3), in which `*` also stands for
 * slashes. EXCLUDE and INCLUDE hold for all patterns behind them; MANGLED compares names as the
 * linker has them, until the next EXCLUDE, INCLUDE or DEMANGLED. A function is left out where its
 * file is excluded, or its name. Source: Score-P's user manual, "Filtering", and its parser. */
#ifndef LULL_FILTER_FILTER_H
#define LULL_FILTER_FILTER_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct lull_filter;

/* Lives in `arena`. Errors name file and line. */
lull_status lull_filter_read(const char *path, struct lull_arena *arena,
                             const struct lull_filter **ret_filter, struct lull_error *err);

/* `file` as the compiler was told, `path` the same with its folder: one that matches is enough. ""
 * where it is not known: then no rule for files holds. */
bool lull_filter_excludes_file(const struct lull_filter *filter, const char *file,
                               const char *path);
bool lull_filter_excludes_name(const struct lull_filter *filter, const char *name,
                               const char *mangled);

/* Tells every function of the object file, with that build id, that the filter at `filter_path`
 * leaves out, by its offset as the file counts addresses; nothing of a file that was not compiled
 * with -finstrument-functions. False: filter, file or libdw cannot be had, or there is no memory.
 * This is what the recorder calls: nothing is printed, and the process goes on in any case. */
typedef void lull_filter_exclude(void *context, uint64_t offset);
bool lull_filter_apply(const char *filter_path, const char *object_path, const char *build_id,
                       lull_filter_exclude *exclude, void *context);
typedef bool lull_filter_apply_function(const char *filter_path, const char *object_path,
                                        const char *build_id, lull_filter_exclude *exclude,
                                        void *context);

#endif
