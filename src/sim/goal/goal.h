/* GOAL: text of a message-passing schedule, one block of operations per rank, to a graph.
 *
 *     file := "num_ranks" INT { "rank" INT "{" { line } "}" }      and comments between slash-stars
 *     line := [IDENT ":"] op | IDENT ("requires" | "irequires") IDENT
 *     op   := "calc" INT ["cpu" INT]
 *           | "send" INT "b" "to" INT ["tag" INT] ["cpu" INT] ["nic" INT]
 *           | "recv" INT "b" "from" INT ["tag" INT] ["cpu" INT] ["nic" INT]
 *
 * Times in ns, sizes in bytes; tag, cpu and nic are 0 where they are not said; source and tag of a
 * recv may be -1, any. White space and line breaks are free. Labels (letters, digits, '_', not
 * beginning with a digit) belong to their rank and may be referred to before they stand; ranks come
 * in any order, and those that are missing do nothing.
 *
 * Refused, with "FILE: line N: cause": an unknown or repeated label, a repeated rank, a rank or
 * peer that num_ranks does not cover, numbers beyond their bounds (times and sizes 2^62, cpu and
 * nic 255), operations that require each other in a circle, anything else than the grammar, and
 * more ranks than the text could mean (4096 + one per byte). */
#ifndef LULL_SIM_GOAL_GOAL_H
#define LULL_SIM_GOAL_GOAL_H

#include "sim/program.h"

#include <stddef.h>

/* Reads a file, plain or compressed with gzip, as a stream: the text is never in memory as a whole.
 * The program is a graph (sim/program.h); its class's `place` says "line N: rank R, label L"
 * of an operation whose `measured` is the line of its text, and reads the label from the file
 * again. */
lull_status lull_goal_open(const char *path, struct lull_program **ret_program,
                           struct lull_error *err);

/* The same for text in memory, not compressed. `name` stands in messages; place() says no labels.
 */
lull_status lull_goal_parse(const char *name, const char *text, size_t size,
                            struct lull_program **ret_program, struct lull_error *err);

extern const struct lull_program_class lull_program_goal;

#endif
