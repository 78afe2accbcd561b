/* Reads a GOAL file and nothing else: operations, edges, bytes of the graph's arena. */
#include "sim/goal.h"
#include "sim/graph.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct lull_program *program;
    struct lull_error err;
    if (argc != 2 || lull_goal_open(argv[1], &program, &err) != LULL_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: bench_goal_read FILE");
        return 1;
    }
    printf("%llu %llu %zu\n", (unsigned long long)program->graph->n_ops,
           (unsigned long long)program->graph->n_edges, lull_arena_used(program->arena));
    lull_arena_destroy(program->arena);
    return 0;
}
