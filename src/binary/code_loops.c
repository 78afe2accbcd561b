/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/code_loops.h"

#include "base/array.h"
#include "base/sorted.h"
#include "binary/instruction.h"

#include <stdlib.h>
#include <string.h>

enum {
    NO_NODE = UINT32_MAX,
    MOST_CASES = 4096, /* of a switch */
    DEEPEST_LOOP = 64  /* loops further inside count for the one around them */
};

/* An instruction that matters: it ends a block, or computes an address. */
struct stop {
    uint64_t address;
    struct lull_instruction is;
};

struct edge {
    uint32_t from, to;
};

/* The graph of a function's blocks. */
struct graph {
    const struct lull_function_code *code;
    uint64_t *starts; /* of all instructions, ascending */
    size_t n_starts, starts_capacity;
    struct stop *stops; /* ascending */
    size_t n_stops, stops_capacity;
    uint64_t *leaders; /* where blocks begin; ascending once they are sorted */
    size_t n_leaders, leaders_capacity;
    struct edge *edges;
    size_t n_edges, edges_capacity;
    uint32_t n;     /* nodes: a block each, and the last one, where jumps of unknown target go */
    uint32_t begin; /* the node of the entry */
    /* The targets of node i are targets[first[i]] .. targets[first[i + 1]], and the nodes that lead
     * to it sources[source[i]] .. sources[source[i + 1]]. */
    uint32_t *first, *targets, *source, *sources;
    uint32_t *order; /* when a node was left in a search from the entry; NO_NODE: never met */
    bool failed;     /* no memory */
};

/* ---- instructions ---------------------------------------------------------------------------- */

static void add_leader(struct graph *graph, uint64_t address)
{
    if (!lull_array_reserve(&graph->leaders, &graph->leaders_capacity, graph->n_leaders + 1,
                            sizeof *graph->leaders))
        graph->failed = true;
    else
        graph->leaders[graph->n_leaders++] = address;
}

static const struct lull_code_range *part_with(const struct lull_function_code *code,
                                               uint64_t address)
{
    for (size_t i = 0; i < code->n_parts; i++)
        if (address >= code->parts[i].address &&
            address - code->parts[i].address < code->parts[i].size)
            return &code->parts[i];
    return NULL;
}

static bool ends_flow(const struct lull_function_code *code, const struct lull_instruction *is)
{
    return is->kind == LULL_INSTRUCTION_CALL && (is->target || is->slot) && code->never_returns &&
           code->never_returns(code->context, is->target, is->slot);
}

/* Reads all instructions one behind the other: compilers put no data between them. What is none
 * ends a block. */
static void read_part(struct graph *graph, const struct lull_code_range *part)
{
    for (uint64_t at = 0; at < part->size && !graph->failed;) {
        struct stop stop = {.address = part->address + at};
        if (!lull_instruction_read(graph->code->machine, part->code + at, part->size - at,
                                   stop.address, &stop.is))
            stop.is = (struct lull_instruction){.kind = LULL_INSTRUCTION_END, .length = 1};
        if (ends_flow(graph->code, &stop.is))
            stop.is.kind = LULL_INSTRUCTION_END;
        const bool plain =
            stop.is.kind == LULL_INSTRUCTION_PLAIN || stop.is.kind == LULL_INSTRUCTION_CALL;
        if (!lull_array_reserve(&graph->starts, &graph->starts_capacity, graph->n_starts + 1,
                                sizeof *graph->starts) ||
            !lull_array_reserve(&graph->stops, &graph->stops_capacity, graph->n_stops + 1,
                                sizeof *graph->stops)) {
            graph->failed = true;
            return;
        }
        graph->starts[graph->n_starts++] = stop.address;
        if (!plain || stop.is.address || stop.is.table_reg >= 0)
            graph->stops[graph->n_stops++] = stop;
        at += stop.is.length;
        if (plain)
            continue;
        if (at < part->size)
            add_leader(graph, part->address + at);
        if (stop.is.target && part_with(graph->code, stop.is.target))
            add_leader(graph, stop.is.target);
    }
}

/* ---- switches -------------------------------------------------------------------------------- */

/* The address of the table that an indirect jump, stops[at], goes through; 0: not known. It is
 * computed before, "lea table(%rip), %rX", read by "movslq (%rX,%rI,4), %rY", and the jump is
 * "jmp *%rY"; without movslq the last address that was computed in the 16 stops before is meant. */
static uint64_t find_table(const struct graph *graph, size_t at)
{
    enum { NEAR = 16, FAR = 4096 };
    const struct lull_instruction *jump = &graph->stops[at].is;
    if (jump->address)
        return jump->address;
    int reg = -1;
    for (size_t back = 1; back <= FAR && back <= at; back++) {
        const struct lull_instruction *is = &graph->stops[at - back].is;
        if (reg < 0 && back > NEAR)
            return 0;
        if (reg < 0 && is->table_reg >= 0)
            reg = is->table_reg;
        else if (is->address && is->kind == LULL_INSTRUCTION_PLAIN && (reg < 0 || is->reg == reg))
            return is->address;
    }
    return 0;
}

static int64_t entry_of_table(const uint8_t *entry, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | entry[i];
    return size == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

/* The `index`-th target of a switch; 0: the table has none, or what it has is not code of the
 * function. Tables hold distances from their begin, or addresses if the jump itself names them. */
static uint64_t target_of_case(const struct graph *graph, const struct lull_instruction *jump,
                               uint64_t table, size_t index)
{
    const size_t size = jump->address ? 8 : 4;
    if (!graph->code->data)
        return 0;
    const uint8_t *entry = graph->code->data(graph->code->context, table + index * size, size);
    if (!entry)
        return 0;
    const uint64_t target = (uint64_t)entry_of_table(entry, size) + (jump->address ? 0 : table);
    const size_t at =
        lull_sorted_first_u64(graph->starts, graph->n_starts, sizeof target, 0, target);
    return at < graph->n_starts && graph->starts[at] == target ? target : 0;
}

static void add_leaders_of_switches(struct graph *graph)
{
    for (size_t i = 0; i < graph->n_stops; i++) {
        const struct lull_instruction *jump = &graph->stops[i].is;
        if (jump->kind != LULL_INSTRUCTION_INDIRECT || jump->slot || jump->by_field)
            continue;
        const uint64_t table = find_table(graph, i);
        uint64_t target;
        for (size_t k = 0;
             table && k < MOST_CASES && (target = target_of_case(graph, jump, table, k)); k++)
            add_leader(graph, target);
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_leaders(struct graph *graph)
{
    size_t kept = 0;
    qsort(graph->leaders, graph->n_leaders, sizeof *graph->leaders, by_value);
    for (size_t i = 0; i < graph->n_leaders; i++)
        if (kept == 0 || graph->leaders[kept - 1] != graph->leaders[i])
            graph->leaders[kept++] = graph->leaders[i];
    graph->n_leaders = kept;
}

/* The block that holds an address, which is in the function. */
static uint32_t block_of(const struct graph *graph, uint64_t address)
{
    const size_t behind = lull_sorted_first_u64(graph->leaders, graph->n_leaders,
                                                sizeof *graph->leaders, 0, address + 1);
    return (uint32_t)(behind - 1);
}

static void add_edge(struct graph *graph, uint32_t from, uint32_t to)
{
    if (!lull_array_reserve(&graph->edges, &graph->edges_capacity, graph->n_edges + 1,
                            sizeof *graph->edges))
        graph->failed = true;
    else
        graph->edges[graph->n_edges++] = (struct edge){from, to};
}

static void add_edge_to(struct graph *graph, uint32_t from, uint64_t address)
{
    if (part_with(graph->code, address))
        add_edge(graph, from, block_of(graph, address));
}

/* Adds the edges of a jump through a register. Where no table is found, it may be a call that ends
 * the function, or a "goto" to a label in a variable. */
static void add_edges_of_indirect(struct graph *graph, uint32_t from, size_t stop,
                                  uint32_t dispatch)
{
    const struct lull_instruction *jump = &graph->stops[stop].is;
    if (jump->slot || jump->by_field)
        return;
    const uint64_t table = find_table(graph, stop);
    uint64_t target;
    size_t k = 0;
    for (; table && k < MOST_CASES && (target = target_of_case(graph, jump, table, k)); k++)
        add_edge_to(graph, from, target);
    if (k == 0 && !graph->code->exceptions)
        add_edge(graph, from, dispatch);
}

static void add_edges_of_block(struct graph *graph, uint32_t block, size_t stop, uint64_t end,
                               uint32_t dispatch)
{
    const struct lull_instruction *is = stop < graph->n_stops ? &graph->stops[stop].is : NULL;
    const bool ends_so = is && graph->stops[stop].address + is->length == end;
    const enum lull_instruction_kind kind = ends_so ? is->kind : LULL_INSTRUCTION_PLAIN;
    switch (kind) {
    case LULL_INSTRUCTION_INDIRECT:
        add_edges_of_indirect(graph, block, stop, dispatch);
        return;
    case LULL_INSTRUCTION_END:
        return;
    case LULL_INSTRUCTION_JUMP:
        add_edge_to(graph, block, is->target);
        return;
    case LULL_INSTRUCTION_BRANCH:
        add_edge_to(graph, block, is->target);
        break;
    default:
        break;
    }
    /* The part may end here. */
    if (block + 1 < graph->n_leaders && graph->leaders[block + 1] == end)
        add_edge(graph, block, block + 1);
}

static uint64_t end_of_block(const struct graph *graph, uint32_t block)
{
    const struct lull_code_range *part = part_with(graph->code, graph->leaders[block]);
    const uint64_t end = part->address + part->size;
    return block + 1 < graph->n_leaders && graph->leaders[block + 1] < end
               ? graph->leaders[block + 1]
               : end;
}

/* Adds edges from `dispatch`, where jumps of unknown target go, to all blocks that nothing else leads
 * to. */
static bool add_edges_of_dispatch(struct graph *graph, uint32_t dispatch)
{
    bool *reached = calloc((size_t)dispatch + 1, sizeof *reached);
    if (!reached)
        return false;
    for (size_t i = 0; i < graph->n_edges; i++)
        reached[graph->edges[i].to] = true;
    const bool used = reached[dispatch];
    reached[graph->begin] = true;
    for (uint32_t i = 0; used && i < dispatch; i++)
        if (!reached[i])
            add_edge(graph, dispatch, i);
    free(reached);
    return true;
}

/* Puts what is at the other end of each node's edges one behind the other, in the order of edges. */
static bool sort_edges(const struct graph *graph, bool backwards, uint32_t **ret_first,
                       uint32_t **ret_others)
{
    uint32_t *first = calloc((size_t)graph->n + 2, sizeof *first);
    uint32_t *others = calloc(graph->n_edges + 1, sizeof *others);
    *ret_first = first;
    *ret_others = others;
    if (!first || !others)
        return false;
    for (size_t i = 0; i < graph->n_edges; i++)
        first[(backwards ? graph->edges[i].to : graph->edges[i].from) + 2]++;
    for (uint32_t i = 0; i < graph->n; i++)
        first[i + 2] += first[i + 1];
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct edge edge = graph->edges[i];
        others[first[(backwards ? edge.to : edge.from) + 1]++] = backwards ? edge.from : edge.to;
    }
    return true;
}

static bool make_graph(struct graph *graph)
{
    const struct lull_function_code *code = graph->code;
    for (size_t i = 0; i < code->n_parts; i++) {
        add_leader(graph, code->parts[i].address);
        read_part(graph, &code->parts[i]);
    }
    if (!part_with(code, code->entry))
        return false;
    add_leader(graph, code->entry);
    add_leaders_of_switches(graph);
    if (graph->failed || graph->n_leaders >= NO_NODE / 2)
        return false;
    sort_leaders(graph);
    const uint32_t dispatch = (uint32_t)graph->n_leaders;
    graph->n = dispatch + 1;
    graph->begin = block_of(graph, code->entry);
    size_t stop = 0;
    for (uint32_t i = 0; i < dispatch; i++) {
        const uint64_t end = end_of_block(graph, i);
        while (stop < graph->n_stops &&
               graph->stops[stop].address + graph->stops[stop].is.length < end)
            stop++;
        add_edges_of_block(graph, i, stop, end, dispatch);
    }
    return add_edges_of_dispatch(graph, dispatch) && !graph->failed && graph->n_edges < NO_NODE &&
           sort_edges(graph, false, &graph->first, &graph->targets) &&
           sort_edges(graph, true, &graph->source, &graph->sources);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A search through a set of nodes, without recursion. */
struct search {
    uint32_t *path, *next;  /* nodes from the first to the present one, and their next edges */
    uint32_t *low, *number; /* of Tarjan's algorithm; number 0: not met */
    uint32_t *stack;        /* nodes whose component is not complete */
    uint32_t *component;    /* of each node; NO_NODE: not complete */
    uint32_t *set;          /* in which set of nodes a node is searched */
    uint32_t *loop;         /* the innermost loop of each node so far */
};

static bool allocate_search(struct search *search, uint32_t n)
{
    uint32_t **const arrays[] = {&search->path,  &search->next,      &search->low, &search->number,
                                 &search->stack, &search->component, &search->set, &search->loop};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!(*arrays[i] = calloc(n, sizeof **arrays[i])))
            return false;
    memset(search->loop, 0xff, n * sizeof *search->loop);
    return true;
}

static void free_search(struct search *search)
{
    uint32_t *const arrays[] = {search->path,  search->next,      search->low, search->number,
                                search->stack, search->component, search->set, search->loop};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Numbers the nodes in the reverse of the order in which a depth-first search leaves them. */
static bool order_nodes(struct graph *graph, struct search *search)
{
    graph->order = malloc(graph->n * sizeof *graph->order);
    if (!graph->order)
        return false;
    memset(graph->order, 0xff, graph->n * sizeof *graph->order);
    uint32_t depth = 0, left = graph->n;
    search->path[depth++] = graph->begin;
    search->next[graph->begin] = graph->first[graph->begin];
    search->number[graph->begin] = 1;
    while (depth > 0) {
        const uint32_t node = search->path[depth - 1];
        if (search->next[node] == graph->first[node + 1]) {
            graph->order[node] = --left;
            depth--;
            continue;
        }
        const uint32_t to = graph->targets[search->next[node]++];
        if (search->number[to])
            continue;
        search->number[to] = 1;
        search->next[to] = graph->first[to];
        search->path[depth++] = to;
    }
    memset(search->number, 0, graph->n * sizeof *search->number);
    return true;
}

/* A set of nodes in which loops are looked for. */
struct task {
    uint32_t begin, end; /* in `nodes` of struct nest */
    uint32_t outer;      /* the loop that they are in, UINT32_MAX: none */
};

/* Loops so far, and what is still to be searched. */
struct nest {
    const struct graph *graph;
    struct search search;
    struct lull_code_loop *loops;
    size_t n_loops, loops_capacity;
    struct task *tasks;
    size_t n_tasks, tasks_capacity;
    uint32_t *nodes; /* those of a task stand one behind the other, and a task has its place in that
                        of the task around it */
    uint32_t sets, numbers;
    bool failed;
};

static bool has_edge_to_itself(const struct graph *graph, uint32_t node)
{
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
        if (graph->targets[i] == node)
            return true;
    return false;
}

/* The entry of a loop that is met first from the begin of the function. A loop that is never met
 * has its lowest block. `entered` says which nodes of the loop have an edge from outside. */
static uint32_t choose_head(const struct graph *graph, const uint32_t *nodes, uint32_t count,
                            const bool *entered)
{
    uint32_t head = nodes[0];
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t node = nodes[i];
        const bool better = entered[node] != entered[head] ? entered[node]
                            : graph->order[node] != graph->order[head]
                                ? graph->order[node] < graph->order[head]
                                : node < head;
        if (better)
            head = node;
    }
    return head;
}

/* Makes a loop of nodes[begin, end), and a task of what is in it beside its head. */
static void add_loop(struct nest *nest, uint32_t begin, uint32_t end, uint32_t outer,
                     const bool *entered)
{
    const struct graph *graph = nest->graph;
    const uint32_t depth = outer == NO_NODE ? 1 : nest->loops[outer].depth + 1;
    uint32_t *nodes = nest->nodes + begin;
    if (!lull_array_reserve(&nest->loops, &nest->loops_capacity, nest->n_loops + 1,
                            sizeof *nest->loops) ||
        !lull_array_reserve(&nest->tasks, &nest->tasks_capacity, nest->n_tasks + 1,
                            sizeof *nest->tasks)) {
        nest->failed = true;
        return;
    }
    const uint32_t head = choose_head(graph, nodes, end - begin, entered);
    uint32_t lowest = NO_NODE;
    for (uint32_t i = 0; i < end - begin; i++) {
        const uint32_t node = nodes[i];
        nest->search.loop[node] = (uint32_t)nest->n_loops;
        lowest = node < lowest ? node : lowest;
        if (node == head) { /* it comes first, and the others are the task */
            nodes[i] = nodes[0];
            nodes[0] = head;
        }
    }
    /* Where jumps of unknown target go is no address. */
    const uint64_t address = graph->leaders[head + 1 < graph->n ? head : lowest];
    nest->loops[nest->n_loops] =
        (struct lull_code_loop){.head = address, .outer = outer, .depth = depth};
    if (end - begin > 1 && depth < DEEPEST_LOOP)
        nest->tasks[nest->n_tasks++] = (struct task){begin + 1, end, (uint32_t)nest->n_loops};
    nest->n_loops++;
}

/* Finds the strongly connected components of the present set that can be reached from a node
 * (Tarjan 1972). Their nodes are written to nest->nodes from `*place` on, component by component. */
static void find_components(struct nest *nest, uint32_t from, uint32_t set, uint32_t *place,
                            uint32_t *written)
{
    struct search *s = &nest->search;
    const struct graph *graph = nest->graph;
    uint32_t depth = 0, waiting = 0;
    s->path[depth++] = s->stack[waiting++] = from;
    s->low[from] = s->number[from] = ++nest->numbers;
    s->next[from] = graph->first[from];
    while (depth > 0) {
        const uint32_t node = s->path[depth - 1];
        if (s->next[node] < graph->first[node + 1]) {
            const uint32_t to = graph->targets[s->next[node]++];
            if (s->set[to] != set)
                continue;
            if (s->number[to] == 0) {
                s->low[to] = s->number[to] = ++nest->numbers;
                s->next[to] = graph->first[to];
                s->path[depth++] = s->stack[waiting++] = to;
            } else if (s->component[to] == NO_NODE && s->number[to] < s->low[node]) {
                s->low[node] = s->number[to];
            }
            continue;
        }
        if (--depth > 0 && s->low[node] < s->low[s->path[depth - 1]])
            s->low[s->path[depth - 1]] = s->low[node];
        if (s->low[node] != s->number[node])
            continue;
        const uint32_t component = *place;
        uint32_t member;
        do {
            member = s->stack[--waiting];
            s->component[member] = component;
            written[(*place)++] = member;
        } while (member != node);
    }
}

/* Searches the nodes of one task. `written` and `entered` have room for all nodes. */
static void search_task(struct nest *nest, struct task task, uint32_t *written, bool *entered)
{
    struct search *s = &nest->search;
    const struct graph *graph = nest->graph;
    const uint32_t set = ++nest->sets;
    uint32_t *nodes = nest->nodes;
    for (uint32_t i = task.begin; i < task.end; i++) {
        s->set[nodes[i]] = set;
        s->number[nodes[i]] = 0;
        s->component[nodes[i]] = NO_NODE;
        entered[nodes[i]] = false;
    }
    uint32_t place = task.begin;
    for (uint32_t i = task.begin; i < task.end; i++)
        if (s->number[nodes[i]] == 0)
            find_components(nest, nodes[i], set, &place, written);
    memcpy(nodes + task.begin, written + task.begin, (task.end - task.begin) * sizeof *nodes);
    for (uint32_t i = task.begin; i < task.end; i++) {
        const uint32_t to = nodes[i];
        for (uint32_t k = graph->source[to]; k < graph->source[to + 1]; k++) {
            const uint32_t from = graph->sources[k];
            if (graph->order[from] != NO_NODE &&
                (s->set[from] != set || s->component[from] != s->component[to]))
                entered[to] = true;
        }
        entered[to] |= to == graph->begin;
    }
    for (uint32_t begin = task.begin, end; begin < task.end && !nest->failed; begin = end) {
        for (end = begin + 1;
             end < task.end && s->component[nodes[end]] == s->component[nodes[begin]]; end++)
            ;
        if (end - begin > 1 || has_edge_to_itself(graph, nodes[begin]))
            add_loop(nest, begin, end, task.outer, entered);
    }
}

static bool find_nest(struct graph *graph, struct nest *nest)
{
    nest->graph = graph;
    nest->nodes = calloc(graph->n, sizeof *nest->nodes);
    uint32_t *written = calloc(graph->n, sizeof *written);
    bool *entered = calloc(graph->n, sizeof *entered);
    bool good = nest->nodes && written && entered && allocate_search(&nest->search, graph->n) &&
                order_nodes(graph, &nest->search) &&
                lull_array_reserve(&nest->tasks, &nest->tasks_capacity, 1, sizeof *nest->tasks);
    for (uint32_t i = 0; good && i < graph->n; i++)
        nest->nodes[i] = i;
    if (good)
        nest->tasks[nest->n_tasks++] = (struct task){0, graph->n, NO_NODE};
    while (good && nest->n_tasks > 0) {
        search_task(nest, nest->tasks[--nest->n_tasks], written, entered);
        good = !nest->failed;
    }
    free(written);
    free(entered);
    return good;
}

static bool take_loops(const struct graph *graph, const struct nest *nest, struct lull_arena *arena,
                       struct lull_code_loops *ret)
{
    struct lull_code_loops result = {.n_loops = (uint32_t)nest->n_loops, .n_blocks = graph->n - 1};
    result.loops = lull_arena_try(arena, result.n_loops + 1, sizeof *result.loops);
    result.blocks = lull_arena_try(arena, result.n_blocks + 1, sizeof *result.blocks);
    if (!result.loops || !result.blocks)
        return false;
    if (result.n_loops > 0)
        memcpy(result.loops, nest->loops, result.n_loops * sizeof *result.loops);
    for (uint32_t i = 0; i < result.n_blocks; i++)
        result.blocks[i] = (struct lull_code_block){graph->leaders[i], end_of_block(graph, i),
                                                    nest->search.loop[i]};
    *ret = result;
    return true;
}

bool lull_code_loops_find(const struct lull_function_code *code, struct lull_arena *arena,
                          struct lull_code_loops *ret_loops)
{
    uint64_t size = 0;
    for (size_t i = 0; i < code->n_parts; i++)
        size += code->parts[i].size < LULL_CODE_MOST ? code->parts[i].size : LULL_CODE_MOST;
    if (!lull_instruction_known(code->machine) || size == 0 || size >= LULL_CODE_MOST)
        return false;
    struct graph graph = {.code = code};
    struct nest nest = {0};
    const bool good = make_graph(&graph) && find_nest(&graph, &nest) &&
                      take_loops(&graph, &nest, arena, ret_loops);
    free(graph.starts);
    free(graph.stops);
    free(graph.leaders);
    free(graph.edges);
    free(graph.first);
    free(graph.targets);
    free(graph.source);
    free(graph.sources);
    free(graph.order);
    free_search(&nest.search);
    free(nest.loops);
    free(nest.tasks);
    free(nest.nodes);
    return good;
}

/* ---- one pass through a loop ----------------------------------------------------------------- */

/* The blocks of a loop, by numbers of their own. A block leads to at most two of them, or to all of them where its
 * jump goes through a register. */
struct pass {
    uint32_t *blocks;
    uint32_t n, head;
    uint32_t (*next)[2]; /* NO_NODE: none */
    bool *leads_to_all;
    uint32_t *distance, *waiting;
};

static uint32_t number_in_pass(const struct pass *pass, const struct lull_code_loops *loops,
                               uint64_t address)
{
    for (uint32_t i = 0; i < pass->n; i++)
        if (loops->blocks[pass->blocks[i]].begin == address)
            return i;
    return NO_NODE;
}

static void find_next_blocks(struct pass *pass, const struct lull_function_code *code,
                             const struct lull_code_loops *loops, uint32_t number)
{
    const struct lull_code_block *block = &loops->blocks[pass->blocks[number]];
    const struct lull_code_range *part = part_with(code, block->begin);
    struct lull_instruction is = {.kind = LULL_INSTRUCTION_PLAIN};
    for (uint64_t at = block->begin; at < block->end; at += is.length)
        if (!part || !lull_instruction_read(code->machine, part->code + (at - part->address),
                                            part->size - (at - part->address), at, &is)) {
            pass->leads_to_all[number] = true;
            return;
        }
    const bool goes_on = is.kind == LULL_INSTRUCTION_PLAIN || is.kind == LULL_INSTRUCTION_CALL ||
                         is.kind == LULL_INSTRUCTION_BRANCH;
    if (goes_on)
        pass->next[number][0] = number_in_pass(pass, loops, block->end);
    if (is.kind == LULL_INSTRUCTION_BRANCH || is.kind == LULL_INSTRUCTION_JUMP)
        pass->next[number][1] = number_in_pass(pass, loops, is.target);
    pass->leads_to_all[number] = is.kind == LULL_INSTRUCTION_INDIRECT;
}

/* Whether a way leads from the head back to it that leaves out block `without`. The distance of each block
 * that is met is the least number of steps from the head. */
static bool comes_back(struct pass *pass, uint32_t without)
{
    uint32_t n_waiting = 1;
    bool back = false;
    for (uint32_t i = 0; i < pass->n; i++)
        pass->distance[i] = NO_NODE;
    pass->distance[pass->head] = 0;
    pass->waiting[0] = pass->head;
    for (uint32_t at = 0; at < n_waiting; at++) {
        const uint32_t from = pass->waiting[at];
        for (uint32_t to = 0; to < pass->n; to++) {
            if (to == without || !(pass->leads_to_all[from] || pass->next[from][0] == to ||
                                   pass->next[from][1] == to))
                continue;
            back |= to == pass->head;
            if (pass->distance[to] != NO_NODE)
                continue;
            pass->distance[to] = pass->distance[from] + 1;
            pass->waiting[n_waiting++] = to;
        }
    }
    return back;
}

bool lull_code_loops_pass(const struct lull_function_code *code,
                          const struct lull_code_loops *loops, uint32_t loop,
                          struct lull_arena *arena, struct lull_code_pass *ret_pass)
{
    struct pass pass = {.head = NO_NODE};
    for (uint32_t i = 0; i < loops->n_loops; i++)
        if (loops->loops[i].outer == loop)
            return false;
    for (uint32_t i = 0; i < loops->n_blocks; i++)
        pass.n += loops->blocks[i].loop == loop;
    if (pass.n == 0 || pass.n > LULL_CODE_PASS_MOST)
        return false;
    pass.blocks = lull_arena_try(arena, pass.n, sizeof *pass.blocks);
    pass.next = lull_arena_try(arena, pass.n, sizeof *pass.next);
    pass.leads_to_all = lull_arena_try(arena, pass.n, sizeof *pass.leads_to_all);
    pass.distance = lull_arena_try(arena, pass.n, sizeof *pass.distance);
    pass.waiting = lull_arena_try(arena, pass.n, sizeof *pass.waiting);
    ret_pass->blocks = lull_arena_try(arena, pass.n, sizeof *ret_pass->blocks);
    if (!pass.blocks || !pass.next || !pass.leads_to_all || !pass.distance || !pass.waiting ||
        !ret_pass->blocks)
        return false;
    pass.n = 0;
    for (uint32_t i = 0; i < loops->n_blocks; i++)
        if (loops->blocks[i].loop == loop)
            pass.blocks[pass.n++] = i;
    pass.head = number_in_pass(&pass, loops, loops->loops[loop].head);
    if (pass.head == NO_NODE)
        return false;
    for (uint32_t i = 0; i < pass.n; i++) {
        pass.next[i][0] = pass.next[i][1] = NO_NODE;
        find_next_blocks(&pass, code, loops, i);
    }
    bool *each = lull_arena_try(arena, pass.n, sizeof *each);
    if (!each)
        return false;
    for (uint32_t i = 0; i < pass.n; i++)
        each[i] = i == pass.head || !comes_back(&pass, i);
    if (!comes_back(&pass, NO_NODE)) /* a way was not understood: nothing is known but the head */
        for (uint32_t i = 0; i < pass.n; i++)
            each[i] = i == pass.head;
    /* All ways to a block of each pass lead through those before it, which are nearer to the head. */
    ret_pass->n_blocks = 0;
    for (uint32_t distance = 0; distance < pass.n; distance++)
        for (uint32_t i = 0; i < pass.n; i++)
            if (each[i] && pass.distance[i] == distance)
                ret_pass->blocks[ret_pass->n_blocks++] = pass.blocks[i];
    ret_pass->n_others = pass.n - ret_pass->n_blocks;
    return true;
}
