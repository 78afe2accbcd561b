/* Messages: a helper program of each family of MPI libraries measures, started several times. */
#include "bench/mpi/mpi.h"

#include "bench/launch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_PASSES = 2, MOST_RANKS = 64, MOST_WORDS = 64 };
static const unsigned message_launches[LULL_EFFORTS] = {4, 6, 9};
#define MESSAGE_START_SECONDS 1.5 /* that a start is expected to take, before one was seen */
#define MESSAGE_PATIENCE      20  /* s beyond thrice the expected time */

static const struct family {
    const char *name, *helper;
    const char *launchers[4];
    const char *arguments[3]; /* for its own launcher */
} families[] = {
    {"openmpi", "lull-bench-openmpi", {"mpirun.openmpi", "mpirun"}, {"--bind-to", "none"}},
    {"mpich", "lull-bench-mpich", {"mpirun.mpich", "mpiexec.hydra", "mpirun"}, {NULL}},
};
enum { FAMILIES = sizeof families / sizeof *families };

struct message_job {
    const struct family *family; /* the one that worked */
    bool given_up;
    double start_seconds;
    struct lull_helper_output output; /* of the last launch */
    uint64_t eager[8];                /* by its levels; UINT64_MAX: none found */
};

/* ---- the command line ------------------------------------------------------------------------ */

struct words {
    const char *items[MOST_WORDS];
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    if (words->count + 1 < MOST_WORDS)
        words->items[words->count++] = word;
}

/* The words of "srun -n 4". */
static void add_words(struct words *words, const char *text, struct lull_arena *arena)
{
    while (*(text += strspn(text, " \t"))) {
        size_t length = strcspn(text, " \t");
        add_word(words, lull_arena_strndup(arena, text, length));
        text += length;
    }
}

static unsigned rank_count(const struct lull_bench *bench)
{
    size_t cores = bench->topology->n_cores;
    return cores > MOST_RANKS ? MOST_RANKS : (unsigned)cores;
}

/* The family's own launcher with one rank per core. False where it has none. */
static bool add_launcher(struct words *words, const struct lull_bench *bench,
                         const struct family *family)
{
    const char *launcher = NULL;
    for (int i = 0; i < 4 && family->launchers[i] && !launcher; i++)
        launcher = lull_launch_find(family->launchers[i], bench->arena);
    if (!launcher)
        return false;
    add_word(words, launcher);
    for (int i = 0; i < 3 && family->arguments[i]; i++)
        add_word(words, family->arguments[i]);
    add_word(words, "-n");
    add_word(words, lull_arena_printf(bench->arena, "%u", rank_count(bench)));
    return true;
}

/* "0,2,4": the cores' hardware threads, as many as there are ranks. */
static const char *cpu_list(const struct lull_bench *bench)
{
    const char *list = "";
    for (size_t i = 0; i < bench->topology->n_cores && i < MOST_RANKS; i++)
        list = lull_arena_printf(bench->arena, "%s%s%u", list, i ? "," : "",
                                 bench->topology->cores[i].cpu);
    return list;
}

static bool make_command(struct words *words, struct lull_bench *bench, const struct family *family,
                         double seconds)
{
    const char *helper = lull_bench_helper(bench, family->helper);
    if (bench->settings.mpi_launch)
        add_words(words, bench->settings.mpi_launch, bench->arena);
    else if (!add_launcher(words, bench, family))
        return false;
    add_word(words, helper);
    add_word(words, "--seconds");
    add_word(words, lull_bench_text(bench, "%.2f", seconds));
    add_word(words, "--passes");
    add_word(words, lull_bench_text(bench, "%d", MESSAGE_PASSES));
    if (!bench->settings.mpi_launch) {
        add_word(words, "--cpus");
        add_word(words, cpu_list(bench));
    }
    return true;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The limits that the helper found, by level. */
static void keep_eager_limits(struct message_job *job)
{
    const struct lull_helper_output *output = &job->output;
    for (size_t i = 0; i < 8; i++)
        job->eager[i] = UINT64_MAX;
    for (size_t i = 0; i < output->n_records; i++)
        for (size_t k = 0; k < output->n_levels && k < 8; k++)
            if (strcmp(output->records[i].what, "eager") == 0 && output->records[i].level &&
                strcmp(output->records[i].level, output->levels[k].name) == 0)
                job->eager[k] = output->records[i].bytes;
}

static lull_status launch(struct lull_bench *bench, const struct lull_task *task,
                          const struct family *family, double seconds, struct lull_error *err)
{
    struct message_job *job = task->data;
    struct words words = {.count = 0};
    double wanted = fmax(1, seconds - job->start_seconds);
    if (!make_command(&words, bench, family, wanted))
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "no %s was found", family->launchers[0]);
    const struct lull_launch command = {
        .command = words.items, .seconds = 3 * wanted + MESSAGE_PATIENCE, .last = LULL_HELPER_LAST};
    struct lull_steal before = {0}, after = {0};
    const char *text;
    double begin = lull_bench_now();
    bool knows = lull_steal_read(&before);
    lull_status status = lull_launch_run(&command, bench->arena, &text, err);
    knows = knows && lull_steal_read(&after);
    if (status == LULL_OK)
        status = lull_helper_read(text, "mpi", bench->arena, &job->output, err);
    if (status != LULL_OK)
        return status;
    job->start_seconds = fmax(0, lull_bench_now() - begin - wanted);
    keep_eager_limits(job);
    lull_mpi_add_rounds(bench, task, &job->output, knows ? lull_steal_share(&before, &after) : NAN);
    return LULL_OK;
}

/* The first family that works is the one; what the others say is a remark. */
static lull_status visit_messages(struct lull_bench *bench, const struct lull_task *task,
                                  double seconds, struct lull_error *err)
{
    struct message_job *job = task->data;
    if (job->family)
        return launch(bench, task, job->family, seconds, err);
    for (size_t i = 0; i < FAMILIES && !job->family && !job->given_up; i++) {
        const struct family *family = &families[i];
        struct lull_error problem;
        if ((bench->settings.mpi && strcmp(bench->settings.mpi, family->name) != 0) ||
            !lull_bench_helper(bench, family->helper))
            continue;
        lull_status status = launch(bench, task, family, seconds, &problem);
        if (status == LULL_ERR_CANCELLED)
            return status;
        if (status == LULL_OK)
            job->family = family;
        else
            lull_bench_skip(bench, "MPI (%s): %s", family->name, problem.text);
    }
    job->given_up = !job->family;
    return LULL_OK;
}

static lull_status plan_messages(const struct lull_benchmark *self, struct lull_bench *bench,
                                 struct lull_error *err)
{
    (void)err;
    bool any = false;
    if (bench->topology->n_cores < 2 && !bench->settings.mpi_launch) {
        lull_bench_skip(bench, "MPI: on one core ranks wait for the scheduler, not for messages");
        return LULL_OK;
    }
    for (size_t i = 0; i < FAMILIES; i++)
        any |= (!bench->settings.mpi || strcmp(bench->settings.mpi, families[i].name) == 0) &&
               lull_bench_helper(bench, families[i].helper);
    if (!any) {
        lull_bench_skip(bench, "MPI: lull was built without %s",
                        bench->settings.mpi ? bench->settings.mpi : "an MPI library");
        return LULL_OK;
    }
    struct message_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    job->start_seconds = MESSAGE_START_SECONDS;
    const struct lull_task task = {.name = self->name,
                                   .visit = visit_messages,
                                   .data = job,
                                   .visits = message_launches[bench->settings.effort]};
    lull_bench_task(bench, &task);
    return LULL_OK;
}

static lull_status finish_messages(const struct lull_benchmark *self, struct lull_bench *bench,
                                   struct lull_error *err)
{
    (void)err;
    for (size_t i = 0; i < bench->n_tasks; i++) {
        const struct message_job *job = bench->tasks[i].data;
        if (bench->tasks[i].of == self && job->family)
            lull_mpi_finish(bench, self, &job->output, job->eager);
    }
    return LULL_OK;
}

const struct lull_benchmark lull_bench_mpi = {
    .name = "mpi",
    .group = "mpi",
    .summary = "messages and collectives of an MPI library: ping-pong, LogGP, halo, overlap",
    .plan = plan_messages,
    .finish = finish_messages,
};
