/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/options.h"

#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "replay/excerpt.h"
#include "study/replay/replayed_run.h"

#include <string.h>
#include <time.h>

/* ==== options of commands that analyse runs =================================================== */

lull_status lull_runs_settings_read(const struct lull_runs_settings *settings,
                                    struct lull_cli_call *call, struct lull_runs_options *runs,
                                    struct lull_comparison_wish *comparison)
{
    static const char *const scalings[] = {"strong", "weak", "auto", NULL};
    unsigned scaling;
    lull_status status =
        lull_option_word("scaling", settings->scaling, scalings, &scaling, &call->err);
    if (status == LULL_OK && settings->window)
        status = lull_runs_window_read(settings->window, call->arena, runs, &call->err);
    if (status != LULL_OK)
        return status;
    runs->application = (uint32_t)settings->application - 1;
    runs->region = settings->region;
    runs->force = settings->force;
    runs->whole = settings->whole;
    runs->no_replay = settings->no_replay;
    runs->check = settings->no_replay ? 0 : LULL_REPLAY_CHECK_MOST;
    runs->excerpt_steps = LULL_EXCERPT_STEPS;
    runs->raw_names = settings->raw_names;
    runs->workers = (unsigned)settings->threads;
    runs->progress = &call->progress;
    *comparison = (struct lull_comparison_wish){settings->reference, settings->force,
                                                (enum lull_scaling_wish)scaling};
    return LULL_OK;
}

/* ==== options of commands around histories ==================================================== */

lull_status lull_history_settings_read(const struct lull_history_settings *settings,
                                       struct lull_cli_call *call, struct lull_runs_options *runs,
                                       struct lull_history_about *about)
{
    *runs = (struct lull_runs_options){.application = (uint32_t)settings->application - 1,
                                       .force = settings->force,
                                       .whole = settings->whole,
                                       .no_replay = settings->no_replay,
                                       .regions = true,
                                       .workers = (unsigned)settings->threads,
                                       .progress = &call->progress};
    *about = (struct lull_history_about){
        .key = {.program = settings->program,
                .input = settings->input,
                .machine = settings->machine},
        .commit = settings->commit ? settings->commit : lull_history_commit_of_job(),
        .has_time = settings->time != NULL,
        .now = (int64_t)time(NULL),
    };
    if (!settings->time)
        return LULL_OK;
    lull_status status = lull_history_time_read(settings->time, &about->time, &call->err);
    return status == LULL_OK ? status : lull_fail_prefix(&call->err, status, "--time");
}

/* ==== options of commands that simulate ======================================================= */

static lull_status read_simulated_machine(const char *path, struct lull_cli_call *call,
                                          struct lull_simulate_inputs *inputs)
{
    struct lull_machine *machine;
    lull_status status =
        path ? lull_machine_read(path, call->arena, &machine, &call->err) : LULL_OK;
    if (status == LULL_OK && path) {
        inputs->machine = machine;
        inputs->machine_path = path;
    }
    return status;
}

lull_status lull_simulation_read(const struct lull_simulation_settings *settings,
                                 const char *fallback, struct lull_cli_call *call,
                                 struct lull_simulate_inputs *inputs)
{
    const char *specs[LULL_SIMULATE_SPECS];
    memcpy(specs, settings->specs, sizeof specs);
    if (!specs[LULL_SIMULATE_NETWORK] && !settings->machine)
        specs[LULL_SIMULATE_NETWORK] = fallback;
    inputs->seed = 1;
    lull_status status =
        lull_option_number("seed", settings->seed, 0, UINT64_MAX, &inputs->seed, &call->err);
    if (status == LULL_OK)
        status = read_simulated_machine(settings->machine, call, inputs);
    if (status == LULL_OK)
        status = lull_simulate_specs_read(specs, call->arena, &inputs->sweep, &call->err);
    if (status == LULL_OK && lull_delays_read(settings->delays, call->arena, &inputs->delays,
                                              &inputs->n_delays, &call->err) != LULL_OK)
        return lull_fail_prefix(&call->err, LULL_ERR_RANGE, "--delay");
    return status;
}

lull_status lull_injection_read(char *const *specs, const char *seed, struct lull_cli_call *call,
                                const struct lull_disturbance **ret_disturbance)
{
    uint64_t number = 1;
    lull_status status = lull_option_number("seed", seed, 0, UINT64_MAX, &number, &call->err);
    if (status != LULL_OK)
        return status;
    if (seed && !specs)
        return lull_fail(&call->err, LULL_ERR_RANGE, "--seed is for the noise of --inject");
    return lull_disturbance_read(specs, number, call->arena, ret_disturbance, &call->err) == LULL_OK
               ? LULL_OK
               : lull_fail_prefix(&call->err, LULL_ERR_RANGE, "--inject");
}

/* ==== all commands ============================================================================ */

enum { MOST_CANDIDATES = 64 };

static const char *similar_option(const struct poptOption *options, const char *typed)
{
    const char *names[MOST_CANDIDATES];
    size_t count = 0;
    for (; count < MOST_CANDIDATES && options[count].longName; count++)
        names[count] = options[count].longName;
    return lull_suggest(typed + strspn(typed, "-"), names, count);
}

/* A mistake that popt has found. */
static int tell_mistake(poptContext context, const struct poptOption *options, int code)
{
    const char *typed = poptBadOption(context, POPT_BADOPTION_NOALIAS);
    const char *meant = NULL;
    switch (code) {
    case POPT_ERROR_BADOPT:
        if (strncmp(typed, "--", 2) == 0)
            meant = similar_option(options, typed);
        if (meant)
            return lull_cli_usage("unknown option '%s', did you mean '--%s'?", typed, meant);
        return lull_cli_usage("unknown option '%s'", typed);
    case POPT_ERROR_NOARG:
        return lull_cli_usage("option '%s' needs a value", typed);
    case POPT_ERROR_BADNUMBER:
    case POPT_ERROR_OVERFLOW:
        return lull_cli_usage("'%s' is wrong, expected a whole number", typed);
    default:
        return lull_cli_usage("option '%s': %s", typed, poptStrerror(code));
    }
}

/* The limits of whole numbers that many commands take. */
static const struct limits {
    int id, least, most;
    const char *expected;
} all_limits[] = {
    {LULL_OPTION_THREADS, 0, 1024, "1 to 1024"},
    {LULL_OPTION_APPLICATION, 1, INT32_MAX, "1 or more"},
    {LULL_OPTION_DIGITS, 0, 15, "1 to 15"},
};

static int check_limits(const struct poptOption *options, int id)
{
    const struct limits *limits = all_limits;
    while (limits->id != id)
        limits++;
    while (options->val != id)
        options++;
    int value = *(const int *)options->arg;
    if (value < limits->least || value > limits->most)
        return lull_cli_usage("--%s is %d, expected %s", options->longName, value,
                              limits->expected);
    return LULL_EXIT_OK;
}

int lull_read_options(poptContext context, const struct poptOption *options, bool *ret_help)
{
    int code, status = LULL_EXIT_OK;
    *ret_help = false;
    while (status == LULL_EXIT_OK && (code = poptGetNextOpt(context)) > 0)
        if (code == LULL_OPTION_HELP) {
            *ret_help = true;
            return status;
        } else {
            status = check_limits(options, code);
        }
    return status == LULL_EXIT_OK && code < -1 ? tell_mistake(context, options, code) : status;
}

static bool was_said(const struct poptOption *option)
{
    return option->argInfo == POPT_ARG_NONE ? *(const int *)option->arg != 0
                                            : *(const void *const *)option->arg != NULL;
}

const char *lull_option_said(const struct poptOption *options, const char *const *names)
{
    for (; *names; names++) {
        const struct poptOption *option = options;
        while (strcmp(option->longName, *names) != 0)
            option++;
        if (was_said(option))
            return *names;
    }
    return NULL;
}
