#include "support/stream_program.h"
#include "support/test.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct stream {
    struct lull_op *ops;
    size_t n, room, at;
};

struct streams {
    struct stream *streams;
    uint32_t batch;
};

static lull_status next(struct lull_program *program, uint32_t index, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    const struct streams *all = program->data;
    struct stream *stream = &all->streams[index];
    uint32_t n = 0;
    (void)err;
    while (n < room && n < all->batch && stream->at < stream->n) {
        ret_ops[n] = stream->ops[stream->at++];
        if (ret_ops[n].kind == LULL_OP_WAIT && ret_ops[n].n_requests) /* its own request number */
            ret_ops[n].requests = &stream->ops[stream->at - 1].request;
        if (lull_op_blocks(&ret_ops[n++]))
            break;
    }
    *ret_count = n;
    return LULL_OK;
}

static lull_status rewind_all(struct lull_program *program, struct lull_error *err)
{
    const struct streams *all = program->data;
    (void)err;
    for (uint32_t i = 0; i < program->n_streams; i++)
        all->streams[i].at = 0;
    return LULL_OK;
}

static void close_all(struct lull_program *program)
{
    const struct streams *all = program->data;
    for (uint32_t i = 0; i < program->n_streams; i++)
        free(all->streams[i].ops);
}

static const char *place(const struct lull_program *program, uint32_t rank,
                         const struct lull_op *op, char *text, unsigned size)
{
    (void)program;
    (void)rank;
    snprintf(text, size, "operation %lld", (long long)op->measured);
    return text;
}

static const struct lull_program_class class = {"by hand", next, rewind_all, close_all, place};

struct lull_program *stream_program(uint32_t n_ranks, const uint32_t *first_stream, uint32_t batch)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program = lull_arena_zero(arena, 1, sizeof *program);
    struct streams *all = lull_arena_zero(arena, 1, sizeof *all);
    struct lull_group *group = lull_arena_zero(arena, 1, sizeof *group);
    uint32_t n_streams = first_stream ? first_stream[n_ranks] : n_ranks;
    group->size = n_ranks;
    all->streams = lull_arena_zero(arena, n_streams, sizeof *all->streams);
    all->batch = batch;
    *program = (struct lull_program){.class = &class,
                                     .name = "test",
                                     .arena = arena,
                                     .n_ranks = n_ranks,
                                     .n_streams = n_streams,
                                     .first_stream = first_stream,
                                     .n_groups = 1,
                                     .groups = group,
                                     .data = all};
    return program;
}

void stream_program_add(struct lull_program *program, uint32_t index, struct lull_op op)
{
    struct stream *stream = &((struct streams *)program->data)->streams[index];
    if (stream->n == stream->room) {
        stream->room = stream->room ? 2 * stream->room : 8;
        stream->ops = realloc(stream->ops, stream->room * sizeof *stream->ops);
    }
    if (op.kind != LULL_OP_COLLECTIVE && op.kind != LULL_OP_WAIT)
        op.measured = (int64_t)stream->n + 1;
    stream->ops[stream->n++] = op;
}

struct lull_op op_compute(int64_t ns)
{
    return (struct lull_op){.kind = LULL_OP_COMPUTE, .region = LULL_OP_NO_REGION, .duration = ns};
}

struct lull_op op_send(uint32_t peer, uint32_t tag, uint64_t bytes, uint32_t request)
{
    return (struct lull_op){.kind = LULL_OP_SEND,
                            .region = LULL_OP_NO_REGION,
                            .peer = peer,
                            .tag = tag,
                            .bytes = bytes,
                            .request = request};
}

struct lull_op op_receive(uint32_t peer, uint32_t tag, uint32_t request)
{
    return (struct lull_op){.kind = LULL_OP_RECV,
                            .region = LULL_OP_NO_REGION,
                            .peer = peer,
                            .tag = tag,
                            .request = request};
}

struct lull_op op_wait(uint32_t request)
{
    return (struct lull_op){
        .kind = LULL_OP_WAIT, .region = LULL_OP_NO_REGION, .n_requests = 1, .request = request};
}

struct lull_op op_wait_all(void)
{
    return (struct lull_op){
        .kind = LULL_OP_WAIT, .flags = LULL_OP_WAIT_ALL, .region = LULL_OP_NO_REGION};
}

struct lull_op op_collective(unsigned operation, uint32_t root, uint64_t bytes, uint32_t request)
{
    return (struct lull_op){.kind = LULL_OP_COLLECTIVE,
                            .collective = (uint8_t)operation,
                            .region = LULL_OP_NO_REGION,
                            .peer = root,
                            .bytes = bytes,
                            .received = bytes,
                            .request = request};
}

struct lull_op op_sync(uint32_t number, uint32_t n_streams)
{
    return (struct lull_op){
        .kind = LULL_OP_SYNC, .region = LULL_OP_NO_REGION, .peer = n_streams, .tag = number};
}

struct lull_op op_sync_part(unsigned part, uint32_t number, uint32_t arrive, uint32_t wait)
{
    struct lull_op op = op_sync(number, arrive);
    op.collective = (uint8_t)part;
    op.bytes = wait;
    return op;
}

struct lull_op op_mark(uint64_t iteration)
{
    return (struct lull_op){.kind = LULL_OP_MARK, .region = LULL_OP_NO_REGION, .bytes = iteration};
}

struct lull_sim_result simulate(struct lull_program *program, const struct lull_network *network,
                                struct lull_arena *arena)
{
    struct lull_sim_options options = {.network = network, .path = true};
    struct lull_sim_result result;
    struct lull_error err = {""};
    fail_if(lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK, "%s",
            err.text);
    int64_t sum = 0; /* holds for every run */
    for (unsigned i = 0; i < LULL_PATH_PARTS; i++)
        sum += result.path[i];
    assert_int_equal(sum, result.runtime);
    return result;
}

struct lull_network network_of(const char *name, ...)
{
    struct lull_network network;
    const struct lull_network_class *found = lull_network_find(name);
    assert_non_null(found);
    lull_network_init(&network, found);
    va_list list;
    va_start(list, name);
    for (const char *key; (key = va_arg(list, const char *));) {
        uint32_t parameter = lull_network_parameter(found, key);
        assert_true(parameter < found->n_parameters);
        lull_network_set(&network, parameter, LULL_LEVELS, va_arg(list, double));
    }
    va_end(list);
    return network;
}
