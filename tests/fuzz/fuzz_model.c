/* Program models of any content: read, evaluated, made a program that is carried out for some
 * steps. Whatever a file does ends, with bounded memory, in a result or one line. */
#include "model/program/simulate.h"
#include "model/program/sweep.h"
#include "sim/program.h"
#include "support/fuzz_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* One line that names the file. */
static void check_error(const char *path, const struct lull_error *err)
{
    must(strstr(err->text, path) != NULL);
    must(strpbrk(err->text, "\n\r\033") == NULL);
}

static void check_term(const struct lull_term_cost *cost)
{
    double parts = 0;
    for (unsigned r = 0; r < LULL_RESOURCES; r++)
        parts += cost->parts[r];
    must(cost->seconds >= 0 && fabs(parts - cost->seconds) <= 1e-6 * (cost->seconds + 1e-300));
}

/* The first operations of each rank. */
static void follow(struct lull_program *program)
{
    struct lull_error err;
    for (uint32_t rank = 0; rank < program->n_ranks && rank < 64; rank++)
        for (int batch = 0; batch < 8; batch++) {
            struct lull_op ops[16];
            uint32_t count;
            must(program->class->next(program, rank, ops, 16, &count, &err) == LULL_OK);
            for (uint32_t i = 0; i < count; i++)
                must(ops[i].kind < LULL_OP_KINDS &&
                     (ops[i].kind != LULL_OP_COMPUTE || ops[i].duration >= 0) &&
                     (ops[i].kind > LULL_OP_RECV || ops[i].peer < program->n_ranks));
        }
}

static void carry_out(struct lull_program_model *model, const double *values,
                      struct lull_arena *arena)
{
    struct lull_model_made made;
    struct lull_error err = {""};
    bool *replaced = lull_arena_zero(arena, model->n_terms, sizeof *replaced);
    if (!(values[model->processes] <= 4096))
        return;
    if (lull_model_make_program(model, values, 1, replaced, &made, &err) != LULL_OK) {
        check_error(model->path, &err);
        return;
    }
    follow(made.program);
    lull_program_close(made.program);
}

static void evaluate(struct lull_program_model *model, struct lull_arena *arena)
{
    struct lull_error err = {""};
    double *values = lull_arena_zero(arena, model->n_parameters, sizeof *values), work;
    struct lull_term_cost *terms = lull_arena_zero(arena, model->n_terms, sizeof *terms);
    lull_model_values(model, values);
    if (lull_model_check_values(model, NULL, &err) != LULL_OK ||
        lull_model_evaluate(model, values, terms, &err) != LULL_OK ||
        lull_model_work(model, values, &work, &err) != LULL_OK) {
        check_error(model->path, &err);
        return;
    }
    for (uint32_t t = 0; t < model->n_terms; t++)
        check_term(&terms[t]);
    carry_out(model, values, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 16384) /* larger ones are no different, only slower */
        return 0;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program_model model;
    struct lull_error err = {""};
    const char *path = lull_arena_printf(arena, "%s/model.lua", fuzz_folder());
    fuzz_write("model.lua", data, size);
    if (lull_program_model_open(path, arena, &model, &err) == LULL_OK)
        evaluate(&model, arena);
    else
        check_error(path, &err);
    lull_program_model_close(&model);
    lull_arena_destroy(arena);
    return 0;
}
