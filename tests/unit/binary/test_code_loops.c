/* What each pass through a loop executes, in machine code that is written down by hand. */
#include "binary/code_loops.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <elf.h>

enum { BEGIN = 0x1000 };

/* The function that a test looks at. */
static struct lull_code_range part;
static struct lull_function_code code;
static struct lull_code_loops loops;
static struct lull_code_pass pass;

static void find_loops(const uint8_t *bytes, size_t size, uint32_t expected)
{
    part = (struct lull_code_range){bytes, BEGIN, size};
    code = (struct lull_function_code){
        .machine = EM_X86_64, .parts = &part, .n_parts = 1, .entry = BEGIN};
    assert_true(lull_code_loops_find(&code, arena, &loops));
    assert_int_equal(loops.n_loops, expected);
}

static void a_branch_is_left_out(void **state)
{
    static const uint8_t bytes[] = {0x48, 0x83, 0xc0, 0x01, /* 00: add $1, %rax */
                                    0x48, 0x39, 0xc8,       /* 04: cmp %rcx, %rax */
                                    0x74, 0x03,             /* 07: je 0c */
                                    0x48, 0xff, 0xc3,       /* 09: inc %rbx */
                                    0x48, 0x39, 0xf0,       /* 0c: cmp %rsi, %rax */
                                    0x75, 0xef,             /* 0f: jne 00 */
                                    0xc3};                  /* 11: ret */
    (void)state;
    find_loops(bytes, sizeof bytes, 1);
    assert_true(lull_code_loops_pass(&code, &loops, 0, arena, &pass));
    assert_int_equal(pass.n_blocks, 2);
    assert_int_equal(loops.blocks[pass.blocks[0]].begin, BEGIN);
    assert_int_equal(loops.blocks[pass.blocks[1]].begin, BEGIN + 0xc);
    assert_int_equal(pass.n_others, 1);
}

/* The loop is entered in the middle of its code. */
static void a_pass_begins_at_the_head(void **state)
{
    static const uint8_t bytes[] = {0xeb, 0x04,             /* 00: jmp 06 */
                                    0x48, 0x83, 0xc3, 0x01, /* 02: add $1, %rbx */
                                    0x48, 0xff, 0xc0,       /* 06: inc %rax */
                                    0x48, 0x39, 0xf0,       /* 09: cmp %rsi, %rax */
                                    0x75, 0xf4,             /* 0c: jne 02 */
                                    0xc3};                  /* 0e: ret */
    (void)state;
    find_loops(bytes, sizeof bytes, 1);
    assert_true(lull_code_loops_pass(&code, &loops, 0, arena, &pass));
    assert_int_equal(pass.n_blocks, 2);
    assert_int_equal(loops.blocks[pass.blocks[0]].begin, BEGIN + 6);
    assert_int_equal(loops.blocks[pass.blocks[1]].begin, BEGIN + 2);
    assert_int_equal(pass.n_others, 0);
}

static void a_jump_through_a_register_may_lead_anywhere(void **state)
{
    static const uint8_t bytes[] = {0x48, 0xff, 0xc0, /* 00: inc %rax */
                                    0x74, 0x02,       /* 03: je 07 */
                                    0xff, 0xe2,       /* 05: jmp *%rdx */
                                    0x48, 0x39, 0xf0, /* 07: cmp %rsi, %rax */
                                    0x75, 0xf4,       /* 0a: jne 00 */
                                    0xc3};            /* 0c: ret */
    (void)state;
    find_loops(bytes, sizeof bytes, 1);
    if (lull_code_loops_pass(&code, &loops, 0, arena, &pass)) {
        assert_true(pass.n_blocks >= 1);
        assert_int_equal(loops.blocks[pass.blocks[0]].begin, loops.loops[0].head);
    }
}

static void an_outer_loop_is_refused(void **state)
{
    static const uint8_t bytes[] = {0x48, 0xff, 0xc0, /* 00: inc %rax */
                                    0x48, 0xff, 0xc3, /* 03: inc %rbx */
                                    0x75, 0xfb,       /* 06: jne 03 */
                                    0x48, 0x39, 0xf0, /* 08: cmp %rsi, %rax */
                                    0x75, 0xf3,       /* 0b: jne 00 */
                                    0xc3};            /* 0d: ret */
    (void)state;
    find_loops(bytes, sizeof bytes, 2);
    assert_false(lull_code_loops_pass(&code, &loops, 0, arena, &pass));
    assert_true(lull_code_loops_pass(&code, &loops, 1, arena, &pass));
    assert_int_equal(pass.n_blocks, 1);
}

TEST_GROUP(test_code_loops)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(a_branch_is_left_out),
        ARENA_TEST(a_pass_begins_at_the_head),
        ARENA_TEST(a_jump_through_a_register_may_lead_anywhere),
        ARENA_TEST(an_outer_loop_is_refused),
    };
    return run_cases(tests, NULL, NULL);
}
