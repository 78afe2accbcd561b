/* Loops of random functions: code of x86-64 is made of a random graph of blocks, with branches, jumps,
 * returns and switches through tables. In reducible graphs the loops must be the natural loops, which
 * are found here by their definition (Aho, Lam, Sethi, Ullman, Compilers, section 9.6): dominators by
 * taking each block away, a body for each edge whose target dominates its source, bodies of the same
 * head joined. In all graphs a block is in a loop if it can reach itself, and two blocks are in the
 * same outermost loop if each can reach the other. */
#include "binary/code_loops.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/seed.h"
#include "support/test.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { REDUCIBLE, IRREDUCIBLE, NESTED, SHARED_HEAD, SWITCHED, UNREACHABLE, TWO_PARTS, BRANCHES };
static struct branch branches[BRANCHES] = {
    [REDUCIBLE] = {.what = "a reducible graph has a loop", .least = 300},
    [IRREDUCIBLE] = {.what = "a graph is irreducible", .least = 100},
    [NESTED] = {.what = "a reducible graph has a loop in another one", .least = 30},
    [SHARED_HEAD] = {.what = "two edges go back to one head", .least = 50},
    [SWITCHED] = {.what = "there is a switch", .least = 300},
    [UNREACHABLE] = {.what = "a block is never reached", .least = 100},
    [TWO_PARTS] = {.what = "the code has two parts", .least = 100},
};

enum {
    MOST_BLOCKS = 14,
    MOST_TARGETS = 4,
    CODE = 0x10000,  /* where the code is */
    TABLES = 0x40000 /* where the tables of switches are */
};

/* A function: what goes where, and the code that does so. */
struct function {
    unsigned n, targets[MOST_BLOCKS][MOST_TARGETS], n_targets[MOST_BLOCKS];
    uint64_t begin[MOST_BLOCKS + 1];
    uint8_t code[8192];
    size_t size;
    int32_t tables[MOST_BLOCKS][MOST_TARGETS + 1];
    bool edge[MOST_BLOCKS][MOST_BLOCKS];
};

static void put_bytes(struct function *f, const void *bytes, size_t size)
{
    memcpy(f->code + f->size, bytes, size);
    f->size += size;
}

static void put_distance(struct function *f, uint64_t to)
{
    const int32_t distance = (int32_t)(to - (CODE + f->size + 4));
    put_bytes(f, &distance, sizeof distance);
}

enum ending { FALL, BRANCH, JUMP, RETURN, SWITCH };

/* Writes what ends block `i`. Written twice: the first time only sizes count. */
static void put_ending(struct function *f, unsigned i, enum ending ending)
{
    switch (ending) {
    case FALL:
        return;
    case BRANCH:
        put_bytes(f, "\x0f\x85", 2);
        put_distance(f, f->begin[f->targets[i][0]]);
        return;
    case JUMP:
        put_bytes(f, "\xe9", 1);
        put_distance(f, f->begin[f->targets[i][0]]);
        return;
    case RETURN:
        put_bytes(f, "\xc3", 1);
        return;
    case SWITCH:
        put_bytes(f, "\x48\x8d\x15", 3); /* lea table(%rip), %rdx */
        put_distance(f, TABLES + i * sizeof f->tables[0]);
        put_bytes(f, "\x48\x63\x04\x82", 4); /* movslq (%rdx,%rax,4), %rax */
        put_bytes(f, "\x48\x01\xd0", 3);     /* add %rdx, %rax */
        put_bytes(f, "\xff\xe0", 2);         /* jmp *%rax */
        for (unsigned k = 0; k < f->n_targets[i]; k++)
            f->tables[i][k] =
                (int32_t)(f->begin[f->targets[i][k]] - (TABLES + i * sizeof f->tables[0]));
        f->tables[i][f->n_targets[i]] = INT32_MAX; /* no code */
        return;
    }
}

static void draw_function(struct lull_random *random, struct function *f)
{
    enum ending endings[MOST_BLOCKS];
    *f = (struct function){.n = 2 + (unsigned)lull_random_below(random, MOST_BLOCKS - 1)};
    /* Jumps forward and back to near blocks give reducible graphs now and then. */
    const unsigned near = 1 + (unsigned)lull_random_below(random, 6);
    for (unsigned i = 0; i < f->n; i++) {
        static const enum ending drawn[] = {FALL,   BRANCH, BRANCH, BRANCH, BRANCH,
                                            BRANCH, JUMP,   RETURN, SWITCH};
        endings[i] = drawn[lull_random_below(random, sizeof drawn / sizeof *drawn)];
        if (i + 1 == f->n && (endings[i] == FALL || endings[i] == BRANCH))
            endings[i] = RETURN;
        f->n_targets[i] = endings[i] == FALL || endings[i] == RETURN ? 0
                          : endings[i] == SWITCH ? 2 + (unsigned)lull_random_below(random, 3)
                                                 : 1;
        for (unsigned k = 0; k < f->n_targets[i]; k++) {
            const unsigned low = i > near ? i - near : 0;
            const unsigned high = i + near < f->n ? i + near : f->n - 1;
            f->targets[i][k] = low + (unsigned)lull_random_below(random, high - low + 1);
            f->edge[i][f->targets[i][k]] = true;
        }
        if (endings[i] == FALL || endings[i] == BRANCH)
            f->edge[i][i + 1] = true;
        branch_reach(&branches[SWITCHED], endings[i] == SWITCH);
    }
    for (int round = 0; round < 2; round++) {
        f->size = 0;
        for (unsigned i = 0; i < f->n; i++) {
            f->begin[i] = CODE + f->size;
            put_bytes(f, "\x90\x90", 2);
            put_ending(f, i, endings[i]);
        }
        f->begin[f->n] = CODE + f->size;
    }
}

/* ---- the slow way ---------------------------------------------------------------------------- */

struct slow_loops {
    bool reached[MOST_BLOCKS], can_reach[MOST_BLOCKS][MOST_BLOCKS]; /* by at least one edge */
    bool dominates[MOST_BLOCKS][MOST_BLOCKS];
    bool head[MOST_BLOCKS], in[MOST_BLOCKS][MOST_BLOCKS]; /* in[h][b]: b is in the loop of head h */
    bool reducible;
};

/* Which blocks can be reached from the first one without `without`. */
static void walk_without(const struct function *f, unsigned without, bool *reached)
{
    memset(reached, 0, MOST_BLOCKS * sizeof *reached);
    reached[0] = without != 0;
    for (unsigned round = 0; round < f->n; round++)
        for (unsigned i = 0; i < f->n; i++)
            for (unsigned k = 0; k < f->n; k++)
                if (reached[i] && f->edge[i][k] && k != without)
                    reached[k] = true;
}

static void find_bodies(const struct function *f, struct slow_loops *slow)
{
    for (unsigned from = 0; from < f->n; from++)
        for (unsigned head = 0; head < f->n; head++) {
            if (!f->edge[from][head] || !slow->reached[from] || !slow->dominates[head][from])
                continue;
            branch_reach(&branches[SHARED_HEAD], slow->head[head] && slow->reducible);
            slow->head[head] = slow->in[head][head] = slow->in[head][from] = true;
            for (unsigned round = 0; round < f->n; round++)
                for (unsigned b = 0; b < f->n; b++)
                    for (unsigned to = 0; to < f->n; to++)
                        if (slow->reached[b] && f->edge[b][to] && to != head && slow->in[head][to])
                            slow->in[head][b] = true;
        }
}

static void find_slowly(const struct function *f, struct slow_loops *slow)
{
    *slow = (struct slow_loops){.reducible = true};
    walk_without(f, MOST_BLOCKS, slow->reached);
    for (unsigned i = 0; i < f->n; i++) {
        bool without[MOST_BLOCKS];
        walk_without(f, i, without);
        for (unsigned b = 0; b < f->n; b++)
            slow->dominates[i][b] = slow->reached[b] && !without[b];
    }
    memcpy(slow->can_reach, f->edge, sizeof f->edge);
    for (unsigned k = 0; k < f->n; k++)
        for (unsigned i = 0; i < f->n; i++)
            for (unsigned j = 0; j < f->n; j++)
                slow->can_reach[i][j] |= slow->can_reach[i][k] && slow->can_reach[k][j];
    /* Reducible: without the edges whose target dominates their source there is no circle. */
    bool forward[MOST_BLOCKS][MOST_BLOCKS];
    for (unsigned i = 0; i < f->n; i++)
        for (unsigned j = 0; j < f->n; j++)
            forward[i][j] = f->edge[i][j] && slow->reached[i] && !slow->dominates[j][i];
    for (unsigned k = 0; k < f->n; k++)
        for (unsigned i = 0; i < f->n; i++)
            for (unsigned j = 0; j < f->n; j++)
                forward[i][j] |= forward[i][k] && forward[k][j];
    for (unsigned i = 0; i < f->n; i++)
        slow->reducible &= !forward[i][i];
    find_bodies(f, slow);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static const uint8_t *data_of(void *context, uint64_t address, size_t size)
{
    const struct function *f = context;
    const uint64_t at = address - TABLES;
    return address >= TABLES && at + size <= sizeof f->tables ? (const uint8_t *)f->tables + at
                                                              : NULL;
}

static uint32_t loop_of(const struct lull_code_loops *loops, uint64_t address)
{
    for (uint32_t i = 0; i < loops->n_blocks; i++)
        if (address >= loops->blocks[i].begin && address < loops->blocks[i].end)
            return loops->blocks[i].loop;
    fail_msg("%llx is in no block", (unsigned long long)address);
    return 0;
}

static void compare_reducible(const struct function *f, const struct slow_loops *slow,
                              const struct lull_code_loops *loops)
{
    for (unsigned i = 0; i < f->n; i++) {
        unsigned depth = 0;
        uint32_t loop = loop_of(loops, f->begin[i]);
        if (!slow->reached[i])
            continue;
        for (unsigned head = 0; head < f->n; head++)
            depth += slow->head[head] && slow->in[head][i];
        branch_reach(&branches[REDUCIBLE], depth > 0);
        branch_reach(&branches[NESTED], depth > 1);
        assert_int_equal(depth, loop == UINT32_MAX ? 0 : loops->loops[loop].depth);
        for (; loop != UINT32_MAX; loop = loops->loops[loop].outer) {
            unsigned head = 0;
            while (head < f->n && f->begin[head] != loops->loops[loop].head)
                head++;
            assert_true(head < f->n && slow->head[head] && slow->in[head][i]);
        }
    }
}

static uint32_t outermost(const struct lull_code_loops *loops, uint32_t loop)
{
    while (loop != UINT32_MAX && loops->loops[loop].outer != UINT32_MAX)
        loop = loops->loops[loop].outer;
    return loop;
}

static void compare_any(const struct function *f, const struct slow_loops *slow,
                        const struct lull_code_loops *loops)
{
    for (unsigned i = 0; i < f->n; i++) {
        const uint32_t loop = loop_of(loops, f->begin[i]);
        branch_reach(&branches[UNREACHABLE], !slow->reached[i]);
        assert_int_equal(loop != UINT32_MAX, slow->can_reach[i][i]);
        for (unsigned k = 0; k < i && loop != UINT32_MAX; k++)
            assert_int_equal(outermost(loops, loop) ==
                                 outermost(loops, loop_of(loops, f->begin[k])),
                             slow->can_reach[i][k] && slow->can_reach[k][i]);
    }
}

static void test_random(void **state)
{
    (void)state;
    const unsigned rounds = lull_test_rounds(20000);
    struct lull_random random;
    static struct function f;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned round = 0; round < rounds; round++) {
        struct slow_loops slow;
        struct lull_code_loops loops;
        struct lull_arena *arena = lull_arena_create(NULL);
        draw_function(&random, &f);
        find_slowly(&f, &slow);
        /* Compilers put a part of a function elsewhere, and jumps lead from part to part. */
        const unsigned cut = (unsigned)lull_random_below(&random, f.n);
        const uint64_t first = f.begin[cut] - CODE;
        const struct lull_code_range parts[2] = {{f.code, CODE, cut ? first : f.size},
                                                 {f.code + first, f.begin[cut], f.size - first}};
        bool falls = cut > 0 && f.edge[cut - 1][cut]; /* code does not go on in the other part */
        const struct lull_function_code code = {.machine = EM_X86_64,
                                                .parts = parts,
                                                .n_parts = cut > 0 && !falls ? 2 : 1,
                                                .entry = CODE,
                                                .data = data_of,
                                                .context = &f};
        struct lull_function_code whole = code;
        const struct lull_code_range one = {f.code, CODE, f.size};
        if (code.n_parts == 1)
            whole.parts = &one;
        branch_reach(&branches[TWO_PARTS], code.n_parts == 2);
        assert_true(lull_code_loops_find(&whole, arena, &loops));
        compare_any(&f, &slow, &loops);
        if (slow.reducible)
            compare_reducible(&f, &slow, &loops);
        branch_reach(&branches[IRREDUCIBLE], !slow.reducible);
        branches_next(branches, BRANCHES);
        lull_arena_destroy(arena);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_code_loops)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return run_cases(tests, NULL, NULL);
}
