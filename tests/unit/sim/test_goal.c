/* GOAL text to a graph. */
#include "sim/goal/goal.h"
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static struct lull_program *parse(const char *text)
{
    struct lull_program *program = NULL;
    struct lull_error err = {""};
    fail_if(lull_goal_parse("t.goal", text, strlen(text), &program, &err) != LULL_OK, "%s",
            err.text);
    return program;
}

static void check_op(const struct lull_graph_rank *rank, unsigned index,
                     const struct lull_graph_op *want)
{
    const struct lull_graph_op *op = &rank->ops[index];
    assert_int_equal(op->kind, want->kind);
    assert_int_equal(op->cpu, want->cpu);
    assert_int_equal(op->nic, want->nic);
    assert_int_equal(op->peer, want->peer);
    assert_int_equal(op->tag, want->tag);
    assert_int_equal(op->size, want->size);
    assert_int_equal(op->line, want->line);
    assert_int_equal(op->requires, want->requires);
}

/* Everything that the grammar offers. */
static void reads_operations(void **state)
{
    (void)state;
    struct lull_program *program =
        parse("/* a\n comment */ num_ranks 3\n"
              "rank 2 {\n"
              "first: calc 5 cpu 3\n"
              "send 10b to 0 tag 7 cpu 1 nic 2\n"
              "l7: recv 20b from -1 tag -1 /* any */\n"
              "tag: recv 1b from 1 nic 255\n"
              "tag requires first\n"
              "last irequires first last requires tag last requires l7\n"
              "last:calc 0 l9 : send 4611686018427387904 b to 2 l9 requires first}"
              "rank 0 { }");
    const struct lull_graph_rank *rank = &program->graph->ranks[2];
    assert_int_equal(program->n_ranks, 3);
    assert_ptr_equal(program->class, &lull_program_goal);
    assert_int_equal(program->graph->n_ops, 6);
    assert_int_equal(program->graph->n_edges, 5);
    assert_int_equal(rank->n_ops, 6);
    assert_int_equal(rank->n_cpus, 4);
    assert_int_equal(rank->n_nics, 256);
    check_op(rank, 0, &(struct lull_graph_op){LULL_OP_COMPUTE, .cpu = 3, .size = 5, .line = 4});
    check_op(
        rank, 1,
        &(struct lull_graph_op){LULL_OP_SEND, .cpu = 1, .nic = 2, .tag = 7, .size = 10, .line = 5});
    check_op(rank, 2,
             &(struct lull_graph_op){LULL_OP_RECV, .peer = LULL_OP_ANY, .tag = LULL_OP_ANY,
                                     .size = 20, .line = 6});
    check_op(rank, 3,
             &(struct lull_graph_op){LULL_OP_RECV, .nic = 255, .peer = 1, .size = 1, .line = 7,
                                     .requires = 1});
    check_op(rank, 4, &(struct lull_graph_op){LULL_OP_COMPUTE, .line = 10, .requires = 3});
    check_op(rank, 5,
             &(struct lull_graph_op){LULL_OP_SEND, .peer = 2, .size = UINT64_C(1) << 62, .line = 10,
                                     .requires = 1});
    /* Those that wait for "first", in the order of the text. */
    assert_int_equal(rank->ops[0].first_edge, 0);
    assert_int_equal(rank->ops[1].first_edge, 3);
    assert_int_equal(rank->edges[0], 3);
    assert_int_equal(rank->edges[1], 4 | LULL_GRAPH_FROM_START);
    assert_int_equal(rank->edges[2], 5);
    assert_int_equal(rank->edges[rank->ops[2].first_edge], 4);
    assert_int_equal(rank->ops[6].first_edge, 5);
    for (unsigned r = 0; r < 2; r++) {
        assert_int_equal(program->graph->ranks[r].n_ops, 0);
        assert_int_equal(program->graph->ranks[r].n_cpus, 1);
        assert_int_equal(program->graph->ranks[r].ops[0].first_edge, 0);
    }
    lull_arena_destroy(program->arena);
}

/* Labels of every kind, in an order that makes the tables grow, each waiting for one that comes
 * later: edge i must join the operations that the names mean. */
static void finds_labels(void **state)
{
    (void)state;
    enum { OPS = 20000 };
    static const char *const forms[][2] = {
        {"l", ""}, {"l", "0000000"}, {"step_", ""}, {"L", ""}, {"l0", ""}};
    char *text = malloc(OPS * 80), label[2][32];
    size_t size = (size_t)sprintf(text, "num_ranks 1 rank 0 {\n");
    for (unsigned i = 0; i < OPS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            unsigned op = (i + k) % OPS;
            snprintf(label[k], sizeof label[k], "%s%u%s", forms[op % 5][0], op, forms[op % 5][1]);
        }
        size += (size_t)sprintf(text + size, "%s: calc %u\n", label[0], i);
        if (i + 1 < OPS)
            size += (size_t)sprintf(text + size, "%s requires %s\n", label[0], label[1]);
    }
    sprintf(text + size, "}");
    struct lull_program *program = parse(text);
    const struct lull_graph_rank *rank = &program->graph->ranks[0];
    assert_int_equal(rank->n_ops, OPS);
    for (unsigned i = 0; i < OPS; i++) {
        assert_int_equal(rank->ops[i].size, i);
        assert_int_equal(rank->ops[i].first_edge, i ? i - 1 : 0);
        if (i > 0)
            assert_int_equal(rank->edges[i - 1], i - 1);
    }
    lull_arena_destroy(program->arena);
    free(text);
}

#define HEAD "num_ranks 2\nrank 0 {\n"
static const struct {
    const char *text, *message;
} bad[] = {
    {"", "line 1: expected num_ranks, found the end of the file"},
    {"ranks 2", "line 1: expected num_ranks, found 'ranks'"},
    {"num_ranks 0", "line 1: num_ranks is 0, expected at least 1"},
    {"num_ranks -1", "line 1: expected a number of ranks, found '-1'"},
    {"num_ranks 4294967296", "line 1: expected a number of ranks up to 4294967294, found "
                             "'4294967296'"},
    {"num_ranks 99999 rank 0 { }",
     "t.goal: num_ranks is 99999, but 26 bytes of text cannot mean so many"},
    {"num_ranks 2 /* \n\n", "line 1: a comment that does not end"},
    {"num_ranks 2 rank 2 { }", "line 1: rank 2, but num_ranks is 2"},
    {"num_ranks 2 rank 1 ( }", "line 1: expected '{', found '('"},
    {"num_ranks 2 rank 1 { }\nrank 1 { }", "line 2: rank 1 stands twice"},
    {HEAD, "line 3: expected an operation, a label or '}', found the end of the file"},
    {HEAD "l1: calc 5\n", "line 4: expected an operation, a label or '}', found the end of the "
                          "file"},
    {HEAD "\001", "line 3: expected an operation, a label or '}', found the byte 0x01"},
    {HEAD "l1: calk 5 }", "line 3: expected calc, send or recv, found 'calk'"},
    {HEAD "l1: calc -5 }", "line 3: expected a time in ns, found '-5'"},
    {HEAD "l1: calc 4611686018427387905 }",
     "line 3: expected a time in ns up to 4611686018427387904, found '4611686018427387905'"},
    {HEAD "l1: calc 99999999999999999999 }",
     "line 3: expected a time in ns up to 4611686018427387904, found '99999999999999999999'"},
    {HEAD "l1: calc 5 cpu 256 }", "line 3: expected a cpu up to 255, found '256'"},
    {HEAD "l1: calc 5 tag 1 }", "line 3: a tag is not expected here"},
    {HEAD "l1: send 5b to 1 cpu 1 cpu 1 }", "line 3: a cpu is not expected here"},
    {HEAD "l1: send 5 to 1 }", "line 3: expected b, found 'to'"},
    {HEAD "l1: send 5b from 1 }", "line 3: expected to, found 'from'"},
    {HEAD "l1: send 5b to -1 }", "line 3: expected a rank, found '-1'"},
    {HEAD "l1: send 5b to 1 tag -1 }", "line 3: expected a tag, found '-1'"},
    {HEAD "l1: recv 5b from -2 }", "line 3: expected a rank or -1, found '-2'"},
    {HEAD "l1: recv 5b from 1 tag 4294967295 }",
     "line 3: expected a tag or -1 up to 4294967294, found '4294967295'"},
    {HEAD "l1: recv 5b from 2 }", "line 3: rank 0: peer 2, but num_ranks is 2"},
    {HEAD "l1: calc 5\nl1: calc 6 }", "line 4: label 'l1' stands twice in rank 0"},
    {HEAD "a: calc 5\na: calc 6 }", "line 4: label 'a' stands twice in rank 0"},
    {HEAD "l1: calc 5\n\nl1 requires l2\n}", "line 5: rank 0 has no operation with label 'l2'"},
    {HEAD "l1: calc 5\nb irequires l1\n}", "line 4: rank 0 has no operation with label 'b'"},
    {HEAD "l1: calc 5\n}\nrank 1 {\nl2: calc 1\nl2 requires l1\n}",
     "line 7: rank 1 has no operation with label 'l1'"},
    {HEAD "l1 follows l2 }", "line 3: expected ':', requires or irequires, found 'follows'"},
    {HEAD "l1: calc 5\nl1 requires l1\n}",
     "line 3: rank 0: operation 'l1' requires itself, directly or through others"},
    {HEAD "l9: calc 1\na: calc 5\nl3: calc 6\na requires l3\nl3 irequires a\nl9 requires a\n}",
     "rank 0: operation 'a' requires itself, directly or through others"},
    {"num_ranks 1 rank 0 { }\nend", "line 2: expected rank, found 'end'"},
};

static void tells_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_program *program = NULL;
        struct lull_error err = {""};
        lull_status status =
            lull_goal_parse("t.goal", bad[i].text, strlen(bad[i].text), &program, &err);
        fail_if(status != LULL_ERR_FORMAT || !strstr(err.text, bad[i].message),
                "'%s':\n got  %s\n want %s", bad[i].text, err.text, bad[i].message);
        assert_null(program);
        assert_int_equal(strncmp(err.text, "t.goal: ", 8), 0);
    }
}

/* A text longer than the window of the reader, with a comment that is longer too, so that the
 * window ends at every place of a statement. */
static char *long_text(size_t *ret_size)
{
    enum { OPS = 60000, COMMENT = 400000 };
    char *text = malloc(OPS * 100 + COMMENT + 200);
    size_t size = (size_t)sprintf(text, "num_ranks 2 rank 1 {\n/*");
    memset(text + size, '\n', COMMENT);
    size += COMMENT;
    size += (size_t)sprintf(text + size, "*/");
    for (unsigned i = 1; i <= OPS; i++) {
        size += (size_t)sprintf(text + size, "l%u: send %ub to 0 tag %u /*%.*s*/ cpu 1\n", i, i, i,
                                (int)(i % 7), "......");
        if (i > 1)
            size += (size_t)sprintf(text + size, "l%u requires l%u\n", i, i - 1);
    }
    size += (size_t)sprintf(text + size, "}\n");
    *ret_size = size;
    return text;
}

static void check_long(const struct lull_program *program)
{
    const struct lull_graph_rank *rank = &program->graph->ranks[1];
    assert_int_equal(rank->n_ops, 60000);
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        uint32_t line = 400002 + (i ? 2 * i - 1 : 0);
        check_op(rank, i,
                 &(struct lull_graph_op){LULL_OP_SEND, .cpu = 1, .tag = i + 1, .size = i + 1,
                                         .line = line, .requires = i > 0});
        assert_true(i == 0 || rank->edges[i - 1] == i);
    }
}

static void reads_long_texts(void **state)
{
    (void)state;
    size_t size;
    char *text = long_text(&size);
    for (unsigned shift = 0; shift < 40; shift++) {
        struct lull_program *program = NULL;
        struct lull_error err;
        memmove(text + (shift > 0), text, size);
        if (shift)
            text[0] = ' ';
        size += shift > 0;
        assert_int_equal(lull_goal_parse("t", text, size, &program, &err), LULL_OK);
        check_long(program);
        lull_arena_destroy(program->arena);
    }
    free(text);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, size, out), size);
    fclose(out);
}

static void reads_compressed_files(void **state)
{
    (void)state;
    struct lull_program *program = NULL;
    struct lull_error err;
    char path[] = "/tmp/lull-goal-XXXXXX", place[256], packed[1 << 20];
    size_t size;
    char *text = long_text(&size);
    close(mkstemp(path));
    gzFile out = gzopen(path, "wb");
    assert_int_equal(gzwrite(out, text, (unsigned)size), size);
    gzclose(out);
    assert_int_equal(lull_goal_open(path, &program, &err), LULL_OK);
    check_long(program);
    struct lull_op op = {.measured = program->graph->ranks[1].ops[5000].line};
    assert_string_equal(program->class->place(program, 1, &op, place, sizeof place),
                        "line 410001: rank 1, label l5001");
    lull_arena_destroy(program->arena);

    FILE *in = fopen(path, "rb");
    size_t length = fread(packed, 1, sizeof packed, in);
    fclose(in);
    write_file(path, packed, length / 2);
    assert_int_equal(lull_goal_open(path, &program, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, ": the compressed text is cut off"));
    packed[length - 6] ^= 1; /* of the check sum */
    write_file(path, packed, length);
    assert_int_equal(lull_goal_open(path, &program, &err), LULL_ERR_FORMAT);
    fail_if(!strstr(err.text, ": the compressed text is damaged"), "%s", err.text);
    unlink(path);
    assert_int_equal(lull_goal_open(path, &program, &err), LULL_ERR_IO);
    assert_int_equal(lull_goal_open("/tmp", &program, &err), LULL_ERR_IO);
    free(text);
}

/* Operations and requirements of a file, by its lines. */
static void count_lines(const char *path, uint64_t *ret_ops, uint64_t *ret_edges)
{
    char line[512], verb[16];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    *ret_ops = *ret_edges = 0;
    while (fgets(line, sizeof line, in)) {
        if (sscanf(line, "%*s %15s", verb) != 1)
            continue;
        *ret_edges += strcmp(verb, "requires") == 0 || strcmp(verb, "irequires") == 0;
        *ret_ops +=
            strcmp(verb, "calc") == 0 || strcmp(verb, "send") == 0 || strcmp(verb, "recv") == 0;
    }
    fclose(in);
}

static void counts_of_reference_files(void **state)
{
    (void)state;
    const char *traces = getenv("LULL_CONFORMANCE_DIR");
    char folder[3000], path[4000];
    unsigned files = 0;
    snprintf(folder, sizeof folder, "%s/../golden/goal", traces ? traces : "../../shared/traces");
    DIR *open = opendir(folder);
    if (!open) {
        printf("skipped: no reference schedules in %s (LULL_CONFORMANCE_DIR)\n", folder);
        skip();
    }
    for (struct dirent *entry; (entry = readdir(open));) {
        struct lull_program *program = NULL;
        struct lull_error err;
        uint64_t ops, edges;
        if (!strstr(entry->d_name, ".goal"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count_lines(path, &ops, &edges);
        fail_if(lull_goal_open(path, &program, &err) != LULL_OK, "%s", err.text);
        assert_int_equal(program->graph->n_ops, ops);
        assert_int_equal(program->graph->n_edges, edges);
        lull_arena_destroy(program->arena);
        files++;
    }
    closedir(open);
    assert_true(files > 0);
}

/* What has no label is refused as what has one, and is counted once wherever the window ends. */
static void operations_without_labels(void **state)
{
    enum { OPS = 24000, LINE = 11, SHIFTS = LINE }; /* more than a window of 256 KiB */
    static const char *const wrong[][2] = {
        {HEAD "calc -5 }", "line 3: expected a time in ns, found '-5'"},
        {HEAD "calc 5 tag 1 }", "line 3: a tag is not expected here"},
        {HEAD "send 5b from 1 }", "line 3: expected to, found 'from'"}};
    struct lull_program *program = NULL;
    struct lull_error err = {""};
    char *text = malloc(OPS * LINE + SHIFTS + 100);
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            lull_goal_parse("t.goal", wrong[i][0], strlen(wrong[i][0]), &program, &err),
            LULL_ERR_FORMAT);
        fail_if(!strstr(err.text, wrong[i][1]), "got %s\n want %s", err.text, wrong[i][1]);
    }
    for (int shift = 0; shift < SHIFTS; shift++) {
        size_t size = (size_t)sprintf(text, "num_ranks 1 rank 0 {%*s\n", shift, "");
        for (unsigned i = 0; i < OPS; i++)
            size += (size_t)sprintf(text + size, "calc %05u\n", 10000 + i);
        text[size++] = '}';
        assert_int_equal(lull_goal_parse("t", text, size, &program, &err), LULL_OK);
        const struct lull_graph_rank *rank = &program->graph->ranks[0];
        assert_int_equal(rank->n_ops, OPS);
        for (unsigned i = 0; i < OPS; i++)
            assert_int_equal(rank->ops[i].size, 10000 + i);
        lull_arena_destroy(program->arena);
    }
    free(text);
}

TEST_GROUP(test_goal)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_operations),          cmocka_unit_test(finds_labels),
        cmocka_unit_test(tells_what_is_wrong),       cmocka_unit_test(reads_long_texts),
        cmocka_unit_test(reads_compressed_files),    cmocka_unit_test(counts_of_reference_files),
        cmocka_unit_test(operations_without_labels),
    };
    return run_cases(tests, NULL, NULL);
}
