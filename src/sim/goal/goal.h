/* SPDX-License-Identifier: BSD-3-Clause */
/* GOAL: a text format for schedules of message passing. A file has a block of operations for each
 * rank; it becomes a program that is a graph. The grammar, with comments between slash-stars:
 *
 *     file := "num_ranks" INT { "rank" INT "{" { line } "}" }
 *     line := [IDENT ":"] op | IDENT ("requires" | "irequires") IDENT
 *     op   := "calc" INT ["cpu" INT]
 *           | "send" INT "b" "to" INT ["tag" INT] ["cpu" INT] ["nic" INT]
 *           | "recv" INT "b" "from" INT ["tag" INT] ["cpu" INT] ["nic" INT]
 *
 * Times are in ns, sizes in bytes. A tag, cpu or nic that is not given is 0. Source and tag of a
 * recv may be -1, which means any. White space and line breaks are free. Labels (letters, digits,
 * '_', not beginning with a digit) belong to their rank, and may be used before the operation that
 * has them. Ranks come in any order; a rank that is missing does nothing.
 *
 * These are refused, with "FILE: line N: cause": an unknown or repeated label, a repeated rank, a
 * rank or peer that is not below num_ranks, a number above its bound (2^62 for times and sizes, 255
 * for cpu and nic), operations that require each other in a circle, more ranks than 4096 plus one
 * for each byte of the text, and anything that does not follow the grammar. */
#ifndef LULL_SIM_GOAL_GOAL_H
#define LULL_SIM_GOAL_GOAL_H

#include "sim/program.h"

#include <stddef.h>

/* Reads a file, plain or compressed with gzip, as a stream: the text is never in memory as a whole.
 * The program is a graph (sim/program.h). The `measured` of an operation is the line of its
 * text; `place` of the program's class says "line N: rank R, label L" of it, for which it reads the
 * label from the file again. */
lull_status lull_goal_open(const char *path, struct lull_program **ret_program,
                           struct lull_error *err);

/* The same for text in memory that is not compressed. `name` is used in messages; `place` says no
 * labels. */
lull_status lull_goal_parse(const char *name, const char *text, size_t size,
                            struct lull_program **ret_program, struct lull_error *err);

extern const struct lull_program_class lull_program_goal;

#endif
