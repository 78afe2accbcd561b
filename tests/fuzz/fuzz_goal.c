/* Arbitrary bytes as GOAL text, in memory; what begins as gzip does, as a file. A graph that is
 * made must hang together. */
#include "sim/goal/goal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_rank(const struct lull_program *program, const struct lull_graph_rank *rank)
{
    uint64_t waits = 0;
    must(rank->n_cpus >= 1 && rank->n_nics >= 1 && rank->ops[0].first_edge == 0);
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        const struct lull_graph_op *op = &rank->ops[i];
        must(op->first_edge <= op[1].first_edge && op->size <= UINT64_C(1) << 62);
        must(op->cpu < rank->n_cpus && op->nic < rank->n_nics && op->line > 0);
        must(op->peer < program->n_ranks || (op->kind == LULL_OP_RECV && op->peer == LULL_OP_ANY));
        waits += op->requires;
    }
    must(waits == rank->ops[rank->n_ops].first_edge);
    for (uint32_t e = 0; e < rank->ops[rank->n_ops].first_edge; e++)
        must((rank->edges[e] & ~LULL_GRAPH_FROM_START) < rank->n_ops);
}

static void check(struct lull_program *program)
{
    for (uint32_t r = 0; r < program->n_ranks; r++)
        check_rank(program, &program->graph->ranks[r]);
    if (program->graph->n_ops) {
        char text[128];
        struct lull_op op = {.measured = 2};
        program->class->place(program, 0, &op, text, sizeof text);
    }
    lull_arena_destroy(program->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_program *program;
    struct lull_error err = {""};
    if (size < 2 || data[0] != 0x1f) {
        if (lull_goal_parse("fuzz", (const char *)data, size, &program, &err) == LULL_OK)
            check(program);
        return 0;
    }
    char path[] = "/tmp/lull-fuzz-XXXXXX";
    int file = mkstemp(path);
    must(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
    if (lull_goal_open(path, &program, &err) == LULL_OK)
        check(program);
    unlink(path);
    return 0;
}
