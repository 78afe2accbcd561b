/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/program/disturb.h"

#include "tape/inject.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool lull_disturbed_open(struct lull_disturbed *disturbed, const struct lull_trace *trace,
                         const struct lull_disturbance *disturbance, uint32_t rank, int64_t origin)
{
    *disturbed = (struct lull_disturbed){.disturbance = disturbance,
                                         .trace = trace,
                                         .rank = rank,
                                         .origin = origin,
                                         .began = origin,
                                         .iteration = -1};
    disturbed->over = disturbance ? calloc(disturbance->n_delays + (size_t)1, sizeof(bool)) : NULL;
    return !disturbance || disturbed->over;
}

void lull_disturbed_close(struct lull_disturbed *disturbed)
{
    free(disturbed->over);
    disturbed->over = NULL;
}

/* ---- which calls ----------------------------------------------------------------------------- */

static const char *name_of(const struct lull_disturbed *disturbed, const struct lull_step *step)
{
    return step->region < disturbed->trace->n_regions ? disturbed->trace->regions[step->region].name
                                                      : "";
}

/* LULL_CALL_OTHER includes the calls that make and free communicators, windows and files. */
static bool call_communicates(const struct lull_step *step)
{
    return step->op != LULL_CALL_OTHER && step->op != LULL_CALL_FINALIZE &&
           step->op != LULL_CALL_REQUEST_FREE && step->op != LULL_CALL_TEST &&
           step->op != LULL_CALL_IPROBE;
}

/* ---- how much -------------------------------------------------------------------------------- */

static int64_t due_delays(struct lull_disturbed *disturbed, int64_t time, int64_t iteration)
{
    const struct lull_disturbance *disturbance = disturbed->disturbance;
    int64_t sum = 0;
    for (uint32_t i = 0; i < disturbance->n_delays; i++) {
        const struct lull_delay *delay = &disturbance->delays[i];
        if (delay->rank != disturbed->rank || disturbed->over[i] ||
            (delay->at_iteration ? iteration : time) < delay->when)
            continue;
        disturbed->over[i] = true;
        sum += delay->length;
    }
    return sum;
}

static int64_t before_call(struct lull_disturbed *disturbed, const struct lull_step *call)
{
    const struct lull_disturbance *disturbance = disturbed->disturbance;
    const int64_t since = disturbed->began - disturbed->origin;
    const int64_t duration = call->time - disturbed->began;
    int64_t noise = 0;
    if (!call_communicates(call))
        return 0;
    if (disturbance->iterations &&
        strcasecmp(name_of(disturbed, call), disturbance->iterations) == 0)
        disturbed->iteration++;
    if (duration < LULL_TAPE_LEAST_COMPUTATION)
        return 0;
    if (disturbance->noise)
        noise = lull_noise_extend(disturbance->noise, disturbance->seed, disturbed->rank,
                                  &disturbed->draws, since, duration);
    return noise + due_delays(disturbed, since, disturbed->iteration);
}

/* A delay that is due at a mark is added before the next call, so that it is part of the
 * computation behind the mark. It must not delay what comes before the mark, which may have the
 * same time in a simulated trace. */
static void pass_mark(struct lull_disturbed *disturbed, const struct lull_step *mark)
{
    const struct lull_trace *trace = disturbed->trace;
    if (!disturbed->disturbance->iterations && mark->marker < trace->n_markers &&
        strcmp(trace->markers[mark->marker].name, "iteration") == 0 && mark->number <= INT64_MAX)
        disturbed->pending += due_delays(disturbed, -1, (int64_t)mark->number);
}

static int64_t take_pending(struct lull_disturbed *disturbed)
{
    const int64_t pending = disturbed->pending;
    disturbed->pending = 0;
    return pending;
}

int64_t lull_disturbed_add(struct lull_disturbed *disturbed, const struct lull_step *step)
{
    if (!disturbed->disturbance || step->time < disturbed->origin)
        return 0;
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        return take_pending(disturbed) + before_call(disturbed, step);
    case LULL_STEP_CALL_END:
        if (call_communicates(step))
            disturbed->began = step->time;
        return 0;
    case LULL_STEP_MARKER:
        pass_mark(disturbed, step);
        return 0;
    default:
        return 0;
    }
}
