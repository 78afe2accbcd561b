#include "study/model/marks.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/collective.h"

#include <stdlib.h>

/* Marks that are kept, so that memory does not grow with the length of a run: of all masters, 96
 * MiB, and of one. */
enum { MOST_MARKS = 1 << 22, MOST_OF_ONE = 1 << 14, LEAST_OF_ONE = 64 };

struct mark {
    int64_t time, kept; /* ns; kept: outside of MPI, up to it */
    uint8_t operation;  /* enum lull_collective; LULL_COLLECTIVES: a message */
};

/* Of one master. */
struct following {
    struct mark *marks; /* the first ones */
    size_t count, capacity;
    size_t all[LULL_COLLECTIVES + 1]; /* by operation, also those that are not kept */
    int32_t peer;                     /* of the first message; LULL_ANY: none yet */
};

struct marking {
    const struct lull_trace *trace;
    struct following *masters; /* [n_locations] */
    size_t most;               /* marks that are kept of each */
};

static bool add_mark(const struct marking *marking, struct following *master,
                     const struct lull_step *step, uint8_t operation)
{
    master->all[operation]++;
    if (master->count >= marking->most)
        return true;
    if (!lull_array_reserve(&master->marks, &master->capacity, master->count + 1,
                            sizeof *master->marks))
        return false;
    master->marks[master->count++] = (struct mark){step->time, step->kept_ns, operation};
    return true;
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct marking *marking = context;
    struct following *master = &marking->masters[steps->location];
    bool good = true;
    (void)worker;
    for (uint32_t i = 0; i < steps->count && good; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SEND && step->message.peer >= 0) {
            if (master->peer == LULL_ANY)
                master->peer = step->message.peer;
            if (master->peer == step->message.peer)
                good = add_mark(marking, master, step, LULL_COLLECTIVES);
        } else if (step->kind == LULL_STEP_COLLECTIVE_END) {
            good = add_mark(marking, master, step, step->op);
        }
    }
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "no memory for marks of iterations");
}

/* Messages where there are some, else what the first rank calls most. */
static unsigned choose_operation(const struct marking *marking)
{
    const struct following *first = NULL;
    size_t most = 0;
    unsigned chosen = LULL_COLLECTIVES;
    for (uint32_t l = 0; l < marking->trace->n_locations; l++) {
        const struct following *master = &marking->masters[l];
        if (master->all[LULL_COLLECTIVES] > 0)
            return LULL_COLLECTIVES;
        if (!first && master->count > 0)
            first = master;
    }
    for (unsigned op = 0; first && op < LULL_COLLECTIVES; op++)
        if (first->all[op] > most) {
            most = first->all[op];
            chosen = op;
        }
    return chosen;
}

static void keep(const struct marking *marking, const struct lull_run *run,
                 struct lull_arena *arena, struct lull_measured_marks *ret_marks)
{
    unsigned operation = choose_operation(marking);
    uint32_t rank = 0;
    for (uint32_t l = 0; l < marking->trace->n_locations && rank < run->processes; l++) {
        const struct following *master = &marking->masters[l];
        size_t kept = 0;
        if (master->all[operation] == 0)
            continue;
        double *useful = lull_arena_zero(arena, master->count, sizeof *useful);
        double *at = lull_arena_zero(arena, master->count, sizeof *at);
        for (size_t i = 0; i < master->count; i++) {
            if (master->marks[i].operation != operation)
                continue;
            at[kept] = (double)master->marks[i].time / 1e9;
            useful[kept++] = (double)master->marks[i].kept / 1e9;
        }
        ret_marks[rank++] = (struct lull_measured_marks){
            .useful = useful, .kept = kept, .count = master->all[operation], .at = at};
    }
}

lull_status lull_marks_find(const struct lull_run *run, unsigned workers, struct lull_arena *arena,
                            struct lull_measured_marks **ret_marks, struct lull_error *err)
{
    const struct lull_trace *trace = run->trace;
    size_t most = MOST_MARKS / (trace->n_locations + (size_t)1);
    struct marking marking = {.trace = trace,
                              .masters =
                                  calloc(trace->n_locations + (size_t)1, sizeof *marking.masters),
                              .most = most > MOST_OF_ONE    ? MOST_OF_ONE
                                      : most < LEAST_OF_ONE ? LEAST_OF_ONE
                                                            : most};
    const struct lull_pass_options options = {
        .windows = run->windows, .masters_only = true, .workers = workers};
    const struct lull_consumer consumer = {.context = &marking,
                                           .wants = LULL_STEP_MASK(LULL_STEP_SEND) |
                                                    LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END),
                                           .steps = take_steps};
    if (!marking.masters)
        return lull_fail(err, LULL_ERR_MEMORY, "no memory for marks of iterations");
    for (uint32_t l = 0; l < trace->n_locations; l++)
        marking.masters[l].peer = LULL_ANY;
    *ret_marks = lull_arena_zero(arena, run->processes, sizeof **ret_marks);
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, err);
    if (status == LULL_OK)
        keep(&marking, run, arena, *ret_marks);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        free(marking.masters[l].marks);
    free(marking.masters);
    return status;
}
