/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/program.h"

void lull_program_close(struct lull_program *program)
{
    if (!program)
        return;
    struct lull_arena *arena = program->arena; /* the program may live in it */
    if (program->class->close)
        program->class->close(program);
    lull_arena_destroy(arena);
}
