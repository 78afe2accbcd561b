#include "sim/goal/goal.h"
#include "base/array.h"

#include "sim/goal/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GOAL_NUMBER (UINT64_C(1) << 62)

enum { MOST_UNIT = 255, RANKS_FOR_FREE = 4096 };

/* A rank as it comes in the text. */
struct found_rank {
    uint32_t number;
    uint64_t line;
    struct lull_graph_rank graph;
};

struct reader {
    struct goal_text text;
    struct goal_rank rank;
    struct lull_arena *arena;
    uint64_t n_ranks;
    struct found_rank *found;
    size_t n_found, found_capacity;
};

static lull_status get_word(struct goal_text *text, struct goal_label *ret_word, const char *what,
                            struct lull_error *err)
{
    if (!goal_word(text, ret_word))
        return lull_goal_expected(text, what, err);
    if (text->at == text->end && !text->last)
        text->starved = true;
    if (ret_word->length > GOAL_LONGEST_LABEL)
        return lull_goal_fail(text, err, "a name of more than %d characters", GOAL_LONGEST_LABEL);
    goal_skip(text);
    return LULL_OK;
}

/* The word that must stand here. */
static lull_status expect(struct goal_text *text, const char *word, struct lull_error *err)
{
    const char *begin = text->at;
    struct goal_label found;
    if (goal_word(text, &found) && goal_is(&found, word, (uint32_t)strlen(word))) {
        goal_skip(text);
        return LULL_OK;
    }
    if (text->at == text->end && !text->last)
        text->starved = true;
    text->at = begin;
    return lull_goal_expected(text, word, err);
}

static lull_status expect_byte(struct goal_text *text, char byte, struct lull_error *err)
{
    char what[] = {'\'', byte, '\'', '\0'};
    if (*text->at != byte)
        return lull_goal_expected(text, what, err);
    text->at++;
    return LULL_OK;
}

static lull_status get_number(struct goal_text *text, const char *what, uint64_t most,
                              uint64_t *ret_value, struct lull_error *err)
{
    if (!goal_number(text, most, ret_value)) {
        char wanted[96];
        if (lull_goal_ident[(unsigned char)*text->at] != 2)
            return lull_goal_expected(text, what, err);
        snprintf(wanted, sizeof wanted, "%s up to %llu", what, (unsigned long long)most);
        return lull_goal_expected(text, wanted, err);
    }
    goal_skip(text);
    return LULL_OK;
}

/* A number, or -1 for LULL_OP_ANY where `any` may stand. */
static lull_status get_matching(struct goal_text *text, const char *what, bool any, uint64_t most,
                                uint32_t *ret_value, struct lull_error *err)
{
    uint64_t value;
    if (any && text->at[0] == '-' && text->at[1] == '1' &&
        !lull_goal_ident[(unsigned char)text->at[2]]) {
        text->at += 2;
        goal_skip(text);
        *ret_value = LULL_OP_ANY;
        return LULL_OK;
    }
    if (text->at[0] == '-' && text->end - text->at < 3 && !text->last)
        text->starved = true;
    lull_status status = get_number(text, what, most, &value, err);
    if (status == LULL_OK)
        *ret_value = (uint32_t)value;
    return status;
}

enum suffix { TAG, CPU, NIC, NO_SUFFIX };

static const char *const suffixes[] = {[TAG] = "tag", [CPU] = "cpu", [NIC] = "nic"};

/* The suffix that stands here, skipped; a word without a number behind it is the label of the next
 * statement, and stays. */
static enum suffix get_suffix(struct goal_text *text)
{
    const char *begin = text->at;
    uint64_t line = text->line;
    struct goal_label word;
    if ((*begin != 't' && *begin != 'c' && *begin != 'n') || !goal_word(text, &word)) {
        text->starved |= begin == text->end && !text->last;
        return NO_SUFFIX;
    }
    goal_skip(text);
    if (lull_goal_ident[(unsigned char)*text->at] == 2 || *text->at == '-')
        for (enum suffix i = TAG; i < NO_SUFFIX; i++)
            if (goal_is(&word, suffixes[i], 3))
                return i;
    text->at = begin;
    text->line = line;
    return NO_SUFFIX;
}

/* ["tag" INT] ["cpu" INT] ["nic" INT] */
static lull_status get_suffixes(struct goal_text *text, struct lull_graph_op *op,
                                struct lull_error *err)
{
    lull_status status = LULL_OK;
    unsigned seen = op->kind == LULL_OP_COMPUTE ? 1U << TAG | 1U << NIC : 0;
    uint64_t value = 0;
    while (status == LULL_OK) {
        enum suffix suffix = get_suffix(text);
        if (suffix == NO_SUFFIX)
            return LULL_OK;
        if (seen & 1U << suffix)
            return lull_goal_fail(text, err, "a %s is not expected here", suffixes[suffix]);
        seen |= 1U << suffix;
        if (suffix == TAG) {
            bool any = op->kind == LULL_OP_RECV;
            status = get_matching(text, any ? "a tag or -1" : "a tag", any, UINT32_MAX - 1,
                                  &op->tag, err);
            continue;
        }
        status = get_number(text, suffix == CPU ? "a cpu" : "a nic", MOST_UNIT, &value, err);
        *(suffix == CPU ? &op->cpu : &op->nic) = (uint8_t)value;
    }
    return status;
}

/* Behind "send" or "recv": INT "b" ("to" | "from") INT */
static lull_status get_message(struct reader *reader, struct lull_graph_op *op,
                               struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    bool is_send = op->kind == LULL_OP_SEND;
    lull_status status = get_number(text, "a size in bytes", MOST_GOAL_NUMBER, &op->size, err);
    if (status == LULL_OK)
        status = expect(text, "b", err);
    if (status == LULL_OK)
        status = expect(text, is_send ? "to" : "from", err);
    if (status == LULL_OK)
        status = get_matching(text, is_send ? "a rank" : "a rank or -1", !is_send, UINT32_MAX - 1,
                              &op->peer, err);
    if (status == LULL_OK && op->peer != LULL_OP_ANY && op->peer >= reader->n_ranks)
        return lull_goal_fail(text, err, "rank %u: peer %u, but num_ranks is %llu",
                              reader->rank.rank, op->peer, (unsigned long long)reader->n_ranks);
    return status;
}

static const struct {
    const char *name;
    uint8_t kind;
} goal_operations[] = {{"calc", LULL_OP_COMPUTE}, {"send", LULL_OP_SEND}, {"recv", LULL_OP_RECV}};

static lull_status get_operation(struct reader *reader, const struct goal_label *word,
                                 uint64_t line, struct lull_graph_op *ret_op,
                                 struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct lull_graph_op op = {.kind = LULL_OP_KINDS, .line = (uint32_t)line};
    for (unsigned i = 0; i < 3 && word->length == 4; i++)
        if (memcmp(word->name, goal_operations[i].name, 4) == 0)
            op.kind = goal_operations[i].kind;
    if (op.kind == LULL_OP_KINDS) {
        text->at = word->name;
        return lull_goal_expected(text, "calc, send or recv", err);
    }
    if (line > UINT32_MAX)
        return lull_goal_fail(text, err, "a text of more than 2^32 - 1 lines");
    lull_status status = LULL_OK;
    if (op.kind == LULL_OP_COMPUTE)
        status = get_number(text, "a time in ns", MOST_GOAL_NUMBER, &op.size, err);
    else
        status = get_message(reader, &op, err);
    if (status == LULL_OK)
        status = get_suffixes(text, &op, err);
    *ret_op = op;
    return status;
}

static lull_status get_labelled(struct reader *reader, const struct goal_label *label,
                                uint64_t line, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct goal_label word;
    struct lull_graph_op op;
    text->at++; /* the colon */
    goal_skip(text);
    lull_status status = get_word(text, &word, "calc, send or recv", err);
    if (status == LULL_OK)
        status = get_operation(reader, &word, line, &op, err);
    if (status == LULL_OK && !text->starved)
        status = lull_goal_rank_op(&reader->rank, text, label, &op, err);
    return status;
}

/* IDENT ("requires" | "irequires") IDENT, or an operation without a label. */
static lull_status get_unlabelled(struct reader *reader, const struct goal_label *first,
                                  uint64_t line, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct goal_label word, before;
    struct lull_graph_op op;
    lull_status status;
    if (lull_goal_ident[(unsigned char)*text->at] != 1) {
        status = get_operation(reader, first, line, &op, err);
        if (status == LULL_OK && !text->starved)
            status = lull_goal_rank_op(&reader->rank, text, NULL, &op, err);
        return status;
    }
    status = get_word(text, &word, "requires", err);
    if (status != LULL_OK)
        return status;
    bool from_start = goal_is(&word, "irequires", 9);
    if (!from_start && !goal_is(&word, "requires", 8)) {
        text->at = word.name;
        return lull_goal_expected(text, "':', requires or irequires", err);
    }
    status = get_word(text, &before, "a label", err);
    if (status == LULL_OK && !text->starved)
        status = lull_goal_rank_edge(&reader->rank, text, first, &before, from_start, err);
    return status;
}

/* One line of a rank. Nothing of it counts while text->starved. */
static lull_status get_statement(struct reader *reader, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct goal_label first;
    uint64_t line = text->line;
    lull_status status = get_word(text, &first, "an operation, a label or '}'", err);
    if (status != LULL_OK)
        return status;
    if (*text->at == ':')
        return get_labelled(reader, &first, line, err);
    return get_unlabelled(reader, &first, line, err);
}

static lull_status get_header(struct reader *reader, struct lull_error *err)
{
    lull_status status = expect(&reader->text, "num_ranks", err);
    if (status == LULL_OK)
        status =
            get_number(&reader->text, "a number of ranks", UINT32_MAX - 1, &reader->n_ranks, err);
    if (status == LULL_OK && reader->n_ranks == 0)
        return lull_goal_fail(&reader->text, err, "num_ranks is 0, expected at least 1");
    return status;
}

/* "rank" INT "{" */
static lull_status get_rank(struct reader *reader, struct lull_error *err)
{
    uint64_t number = 0;
    lull_status status = expect(&reader->text, "rank", err);
    if (status == LULL_OK)
        status = get_number(&reader->text, "the number of a rank", UINT32_MAX - 1, &number, err);
    if (status == LULL_OK && number >= reader->n_ranks)
        return lull_goal_fail(&reader->text, err, "rank %llu, but num_ranks is %llu",
                              (unsigned long long)number, (unsigned long long)reader->n_ranks);
    if (status == LULL_OK)
        status = expect_byte(&reader->text, '{', err);
    if (status == LULL_OK)
        lull_goal_rank_begin(&reader->rank, (uint32_t)number);
    return status;
}

/* Scans one piece as a whole: again with more text as long as the window ends in it. */
static lull_status whole(struct reader *reader,
                         lull_status (*get)(struct reader *reader, struct lull_error *err),
                         struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    for (;;) {
        const char *begin = text->at;
        uint64_t line = text->line;
        text->begin = line;
        lull_status status = get(reader, err);
        text->begin = text->line;
        if (text->unclosed && text->last)
            return lull_goal_fail(text, err, "a comment that does not end");
        if (!text->starved && (status == LULL_OK || text->last || text->at != text->end))
            return status;
        text->line = line;
        status = lull_goal_text_more(text, begin, err);
        if (status != LULL_OK)
            return status;
    }
}

static lull_status skip(struct reader *reader, struct lull_error *err)
{
    (void)err;
    goal_skip(&reader->text);
    return LULL_OK;
}

static lull_status end_rank(struct reader *reader, uint64_t line, struct lull_error *err)
{
    if (!lull_array_reserve(&reader->found, &reader->found_capacity, reader->n_found + (size_t)1,
                            sizeof *reader->found))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for the ranks",
                         reader->text.name);
    struct found_rank *found = &reader->found[reader->n_found];
    *found = (struct found_rank){.number = reader->rank.rank, .line = line};
    lull_status status =
        lull_goal_rank_end(&reader->rank, &reader->text, reader->arena, &found->graph, err);
    reader->n_found += status == LULL_OK;
    return status;
}

static lull_status read_rank(struct reader *reader, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    uint64_t line = text->line;
    lull_status status = whole(reader, get_rank, err);
    while (status == LULL_OK) {
        status = whole(reader, skip, err);
        if (status == LULL_OK && *text->at == '}') {
            text->at++;
            return end_rank(reader, line, err);
        }
        if (status == LULL_OK)
            status = whole(reader, get_statement, err);
    }
    return status;
}

static lull_status read_text(struct reader *reader, struct lull_error *err)
{
    lull_status status = whole(reader, skip, err);
    if (status == LULL_OK)
        status = whole(reader, get_header, err);
    while (status == LULL_OK) {
        status = whole(reader, skip, err);
        if (status == LULL_OK && reader->text.at == reader->text.end)
            return LULL_OK;
        if (status == LULL_OK)
            status = read_rank(reader, err);
    }
    return status;
}

/* Puts the ranks in order; those that are missing have one closing operation and nothing else. */
static lull_status make_graph(struct reader *reader, struct lull_graph *graph,
                              struct lull_error *err)
{
    static const struct lull_graph_op closing;
    const char *name = reader->text.name;
    uint64_t bytes = reader->text.passed + (uint64_t)(reader->text.end - reader->text.window);
    if (reader->n_ranks > RANKS_FOR_FREE + bytes)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: num_ranks is %llu, but %llu bytes of text cannot mean so many", name,
                         (unsigned long long)reader->n_ranks, (unsigned long long)bytes);
    struct lull_graph_rank *ranks =
        lull_arena_try(reader->arena, (size_t)reader->n_ranks, sizeof *ranks);
    if (!ranks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %llu ranks", name,
                         (unsigned long long)reader->n_ranks);
    for (size_t i = 0; i < reader->n_found; i++) {
        const struct found_rank *found = &reader->found[i];
        if (ranks[found->number].ops)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: rank %u stands twice", name,
                             (unsigned long long)found->line, found->number);
        ranks[found->number] = found->graph;
        graph->n_ops += found->graph.n_ops;
        graph->n_edges += found->graph.ops[found->graph.n_ops].first_edge;
    }
    for (uint64_t i = 0; i < reader->n_ranks; i++)
        if (!ranks[i].ops)
            ranks[i] = (struct lull_graph_rank){.ops = &closing, .n_cpus = 1, .n_nics = 1};
    graph->ranks = ranks;
    return LULL_OK;
}

/* "l4" of "l4: calc 5" on this line of the file, "" where it cannot be read. */
static void find_label(const char *path, int64_t wanted, char *label, size_t size)
{
    struct goal_text text;
    struct goal_label word = {0};
    label[0] = '\0';
    if (!path || lull_goal_text_open(&text, path, path, NULL, 0, NULL) != LULL_OK)
        return;
    while (text.line < (uint64_t)wanted) {
        const char *next = memchr(text.at, '\n', (size_t)(text.end - text.at));
        text.at = next ? next + 1 : text.end;
        text.line += next != NULL;
        if (!next && (text.last || lull_goal_text_more(&text, text.at, NULL) != LULL_OK))
            break;
    }
    if (text.line == (uint64_t)wanted && lull_goal_text_more(&text, text.at, NULL) == LULL_OK) {
        goal_skip(&text);
        if (*text.at == '}' || *text.at == '{')
            text.at++;
        goal_skip(&text);
        if (goal_word(&text, &word) && (goal_skip(&text), *text.at == ':'))
            snprintf(label, size, "%.*s", (int)word.length, word.name);
    }
    lull_goal_text_close(&text);
}

static const char *place_in_goal(const struct lull_program *program, uint32_t rank,
                                 const struct lull_op *op, char *text, unsigned size)
{
    char label[GOAL_LONGEST_LABEL + 1];
    find_label(program->data, op->measured, label, sizeof label);
    snprintf(text, size, "line %lld: rank %u%s%s", (long long)op->measured, rank,
             label[0] ? ", label " : "", label);
    return text;
}

const struct lull_program_class lull_program_goal = {.name = "goal", .place = place_in_goal};

static lull_status make_program(struct reader *reader, const char *path,
                                struct lull_program **ret_program, struct lull_error *err)
{
    struct lull_graph *graph = lull_arena_zero(reader->arena, 1, sizeof *graph);
    lull_status status = make_graph(reader, graph, err);
    if (status != LULL_OK)
        return status;
    struct lull_program *program = lull_arena_zero(reader->arena, 1, sizeof *program);
    program->class = &lull_program_goal;
    program->name = lull_arena_strdup(reader->arena, reader->text.name);
    program->arena = reader->arena;
    program->n_ranks = program->n_streams = (uint32_t)reader->n_ranks;
    program->graph = graph;
    program->data = path ? lull_arena_strdup(reader->arena, path) : NULL;
    *ret_program = program;
    return LULL_OK;
}

static lull_status read_program(const char *name, const char *path, const char *memory, size_t size,
                                struct lull_program **ret_program, struct lull_error *err)
{
    struct reader reader = {0};
    lull_status status = lull_goal_text_open(&reader.text, name, path, memory, size, err);
    if (status != LULL_OK)
        return status;
    reader.arena = lull_arena_create(NULL);
    status = read_text(&reader, err);
    if (status == LULL_OK)
        status = make_program(&reader, path, ret_program, err);
    if (status != LULL_OK)
        lull_arena_destroy(reader.arena);
    lull_goal_rank_free(&reader.rank);
    free(reader.found);
    lull_goal_text_close(&reader.text);
    return status;
}

lull_status lull_goal_open(const char *path, struct lull_program **ret_program,
                           struct lull_error *err)
{
    return read_program(path, path, NULL, 0, ret_program, err);
}

lull_status lull_goal_parse(const char *name, const char *text, size_t size,
                            struct lull_program **ret_program, struct lull_error *err)
{
    return read_program(name, NULL, text, size, ret_program, err);
}
