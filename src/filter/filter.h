/* SPDX-License-Identifier: BSD-3-Clause */
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
 * (without the blanks inside of the last pattern). At first everything is included; of all patterns
 * that match, the last one decides. Patterns are those of fnmatch(3), in which `*` also stands for
 * slashes. EXCLUDE and INCLUDE hold for all patterns behind them; MANGLED compares names as the
 * linker has them, until the next EXCLUDE, INCLUDE or DEMANGLED. A function is left out if its file
 * or its name is excluded. Source: Score-P's user manual, "Filtering", and its parser. */
#ifndef LULL_FILTER_FILTER_H
#define LULL_FILTER_FILTER_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct lull_filter;

/* Reads a filter file; the filter lives in `arena`. Errors name file and line. */
lull_status lull_filter_read(const char *path, struct lull_arena *arena,
                             const struct lull_filter **ret_filter, struct lull_error *err);

/* `file` is the source file as the compiler was told, `path` the same with its folder; a rule holds
 * if it matches one of them. Where they are not known they are "", and no rule for files holds. */
bool lull_filter_excludes_file(const struct lull_filter *filter, const char *file,
                               const char *path);
bool lull_filter_excludes_name(const struct lull_filter *filter, const char *name,
                               const char *mangled);

/* Calls `exclude` for each function of an object file that the filter at `filter_path` leaves out,
 * with its offset, which counts as the addresses in the file do. The object file must have that
 * build id. Files that were not compiled with -finstrument-functions have no such functions.
 * Returns false where the filter, the file or libdw cannot be had, or memory runs out. The recorder
 * calls this: nothing is printed, and the process goes on in any case. */
typedef void lull_filter_exclude(void *context, uint64_t offset);
bool lull_filter_apply(const char *filter_path, const char *object_path, const char *build_id,
                       lull_filter_exclude *exclude, void *context);
typedef bool lull_filter_apply_function(const char *filter_path, const char *object_path,
                                        const char *build_id, lull_filter_exclude *exclude,
                                        void *context);

#endif
