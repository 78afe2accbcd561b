#include "model/program/primitive/outside.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A path in the file is one from the file's folder. */
static const char *resolve(const struct lull_outside *outside, const char *path)
{
    const char *slash = strrchr(outside->path, '/');
    if (*path == '/' || !slash)
        return lull_arena_strdup(outside->arena, path);
    return lull_arena_printf(outside->arena, "%.*s/%s", (int)(slash - outside->path), outside->path,
                             path);
}

/* ---- kernels -------------------------------------------------------------------------------- */

struct lull_outside_kernel {
    const char *file; /* as it was asked for */
    struct lull_kernel_source source;
    struct lull_kernel *kernel;
    struct lull_kernel_incores incores;
    struct lull_kernel_question last; /* and its answer */
    struct lull_kernel_time time;
    bool has_last;
};

static bool is_same_question(const struct lull_kernel_question *a,
                             const struct lull_kernel_question *b)
{
    if (a->n_sizes != b->n_sizes || a->has_in_core != b->has_in_core || a->cores != b->cores ||
        a->processes != b->processes || a->in_core[0] != b->in_core[0] ||
        a->in_core[1] != b->in_core[1])
        return false;
    for (size_t i = 0; i < a->n_sizes; i++)
        if (strcmp(a->sizes[i].name, b->sizes[i].name) != 0 ||
            a->sizes[i].value != b->sizes[i].value)
            return false;
    return true;
}

/* FILE.c:PLACE, as the command says it. */
static void name_place(const char *path, struct lull_arena *arena,
                       struct lull_kernel_source *source)
{
    const char *colon = strrchr(path, ':');
    source->path = path;
    if (!colon || !(isalpha((unsigned char)colon[1]) || colon[1] == '_'))
        return;
    source->path = lull_arena_strndup(arena, path, (size_t)(colon - path));
    source->place = colon + 1;
}

static struct lull_kernel_size *keep_sizes(const struct lull_kernel_question *question,
                                           struct lull_arena *arena)
{
    struct lull_kernel_size *sizes = lull_arena_zero(arena, question->n_sizes + 1, sizeof *sizes);
    for (size_t i = 0; i < question->n_sizes; i++) {
        sizes[i] = question->sizes[i];
        sizes[i].name = lull_arena_strdup(arena, sizes[i].name);
    }
    return sizes;
}

static lull_status add_outside_kernel(struct lull_outside *outside,
                                      const struct lull_kernel_question *question,
                                      struct lull_outside_kernel **ret_kernel,
                                      struct lull_error *err)
{
    struct lull_arena *arena = outside->arena;
    struct lull_outside_kernel kernel = {.file = lull_arena_strdup(arena, question->file)};
    name_place(resolve(outside, question->file), arena, &kernel.source);
    kernel.source.sizes = keep_sizes(question, arena);
    kernel.source.n_sizes = question->n_sizes;
    lull_status status = lull_kernel_read(&kernel.source, arena, &kernel.kernel, err);
    if (status == LULL_OK)
        kernel.incores = lull_kernel_no_incores(kernel.kernel, arena);
    if (status != LULL_OK)
        return status;
    outside->kernels = lull_arena_grow(arena, outside->kernels, &outside->kernels_capacity,
                                       outside->n_kernels + 1, sizeof kernel);
    outside->kernels[outside->n_kernels] = kernel;
    *ret_kernel = &outside->kernels[outside->n_kernels++];
    return LULL_OK;
}

static lull_status take_sizes(struct lull_outside_kernel *kernel,
                              const struct lull_kernel_question *question, struct lull_error *err)
{
    for (size_t i = 0; i < question->n_sizes; i++)
        if (!lull_kernel_resize(kernel->kernel, question->sizes[i].name, question->sizes[i].value))
            return lull_fail(err, LULL_ERR_RANGE, "%s: has no size '%s'", kernel->source.path,
                             question->sizes[i].name);
    return lull_kernel_check(kernel->kernel, err);
}

/* Each of `cores` has the n-th part of what they do together. */
static struct lull_kernel_time time_of(const struct lull_kernel_prediction *prediction,
                                       double cores)
{
    const struct lull_kernel *kernel = prediction->kernel;
    size_t n = (size_t)fmin(fmax(cores, 1), (double)prediction->n_points);
    double units = lull_kernel_iterations(kernel, kernel->body) / prediction->unit;
    double seconds = units * prediction->work * (double)n / prediction->points[n - 1].latency;
    size_t links = prediction->ecm.n_links;
    double caches = lull_prediction_cycles(prediction, links > 0 ? links - 1 : 0);
    return (struct lull_kernel_time){seconds, units * caches / prediction->clock < 0.5 * seconds};
}

static lull_status predict(struct lull_outside *outside,
                           const struct lull_kernel_question *question,
                           struct lull_outside_kernel *kernel, struct lull_error *err)
{
    const struct lull_incore_times given = {question->in_core[0], question->in_core[1]};
    struct lull_kernel_options options = {
        .cores = 1, .incore = {.here = lull_machine_is_here(outside->machine)}};
    struct lull_kernel_prediction prediction;
    lull_status status = take_sizes(kernel, question, err);
    if (question->has_in_core) { /* what a file says counts at once, and is not kept */
        options.incore.given = &given;
        options.incore.n_given = 1;
    }
    if (status != LULL_OK)
        return status;
    struct lull_arena *scratch = lull_arena_create(NULL);
    status = lull_kernel_predict(kernel->kernel, outside->machine, &kernel->source, &options,
                                 question->has_in_core ? NULL : &kernel->incores, scratch,
                                 &prediction, err);
    if (status == LULL_OK)
        kernel->time =
            time_of(&prediction, question->cores > 0 ? question->cores : question->processes);
    lull_arena_destroy(scratch);
    return status;
}

lull_status lull_outside_kernel(struct lull_outside *outside,
                                const struct lull_kernel_question *question,
                                struct lull_kernel_time *ret_time, struct lull_error *err)
{
    struct lull_outside_kernel *kernel = NULL;
    lull_status status = LULL_OK;
    if (!outside->machine)
        return lull_fail(err, LULL_ERR_RANGE, "a kernel needs a machine; --machine FILE gives one");
    for (size_t i = 0; i < outside->n_kernels; i++)
        if (strcmp(outside->kernels[i].file, question->file) == 0)
            kernel = &outside->kernels[i];
    if (!kernel)
        status = add_outside_kernel(outside, question, &kernel, err);
    if (status == LULL_OK && !(kernel->has_last && is_same_question(&kernel->last, question))) {
        kernel->has_last = false;
        status = predict(outside, question, kernel, err);
        kernel->last = *question;
        kernel->last.file = kernel->file;
        for (size_t i = 0; i < question->n_sizes && status == LULL_OK; i++)
            kernel->last.sizes[i].name = kernel->source.sizes[i].name;
        kernel->has_last = status == LULL_OK && question->n_sizes == kernel->source.n_sizes;
    }
    if (status == LULL_OK)
        *ret_time = kernel->time;
    return status;
}

/* ---- regions of recorded runs --------------------------------------------------------------- */

struct lull_outside_region {
    const char *run, *region;
    struct lull_region_time time;
};

lull_status lull_outside_region(struct lull_outside *outside, const char *run, const char *region,
                                struct lull_region_time *ret_time, struct lull_error *err)
{
    struct lull_outside_region asked = {.run = run, .region = region};
    for (size_t i = 0; i < outside->n_regions; i++)
        if (strcmp(outside->regions[i].run, run) == 0 &&
            strcmp(outside->regions[i].region, region) == 0) {
            *ret_time = outside->regions[i].time;
            return LULL_OK;
        }
    if (!outside->read_region)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "recorded runs are not read here");
    lull_status status =
        outside->read_region(outside->reader, resolve(outside, run), region, &asked.time, err);
    if (status != LULL_OK)
        return status;
    asked.run = lull_arena_strdup(outside->arena, run);
    asked.region = lull_arena_strdup(outside->arena, region);
    outside->regions = lull_arena_grow(outside->arena, outside->regions, &outside->regions_capacity,
                                       outside->n_regions + 1, sizeof asked);
    outside->regions[outside->n_regions++] = asked;
    *ret_time = asked.time;
    return LULL_OK;
}
