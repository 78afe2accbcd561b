#include "cli/simulation_options.h"

#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"

#include <string.h>

static const char *const option_names[LULL_SIMULATE_SPECS] = {"pattern", "network", "noise",
                                                              "placement", "memory"};

static int read_specs(const struct lull_simulation_settings *settings, const char *fallback,
                      const struct lull_sweep **ret_sweep, struct lull_arena *arena)
{
    struct lull_error err;
    const struct lull_spec **specs = lull_arena_zero(arena, LULL_SIMULATE_SPECS, sizeof *specs);
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++) {
        const char *text = settings->specs[s];
        struct lull_spec *spec = NULL;
        if (s == LULL_SIMULATE_NETWORK && !text && !settings->machine)
            text = fallback;
        lull_status status = text ? lull_spec_parse(text, arena, &spec, &err) : LULL_OK;
        if (status == LULL_ERR_RANGE)
            return lull_cli_usage("--%s: %s", option_names[s], err.text);
        if (status != LULL_OK)
            return lull_cli_fail("%s", err.text);
        specs[s] = spec;
    }
    if (lull_sweep_make(specs, LULL_SIMULATE_SPECS, arena, ret_sweep, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    return LULL_EXIT_OK;
}

static int read_delays(const struct lull_simulation_settings *settings,
                       struct lull_simulate_inputs *inputs, struct lull_arena *arena)
{
    uint32_t count = 0;
    while (settings->delays && settings->delays[count])
        count++;
    struct lull_delay *delays = lull_arena_zero(arena, count + 1, sizeof *delays);
    struct lull_error err;
    for (uint32_t d = 0; d < count; d++)
        if (lull_delay_read(settings->delays[d], &delays[d], &err) != LULL_OK)
            return lull_cli_usage("--delay: %s", err.text);
    inputs->delays = delays;
    inputs->n_delays = count;
    return LULL_EXIT_OK;
}

static int read_machine(const struct lull_simulation_settings *settings,
                        struct lull_simulate_inputs *inputs, struct lull_arena *arena)
{
    struct lull_machine *machine;
    struct lull_error err;
    if (!settings->machine)
        return LULL_EXIT_OK;
    if (lull_machine_read(settings->machine, arena, &machine, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    inputs->machine = machine;
    inputs->machine_path = settings->machine;
    return LULL_EXIT_OK;
}

int lull_simulation_read(const struct lull_simulation_settings *settings, const char *fallback,
                         struct lull_simulate_inputs *inputs, struct lull_arena *arena)
{
    inputs->seed = 1;
    if (settings->seed &&
        lull_parse_u64(settings->seed, strlen(settings->seed), &inputs->seed) != LULL_OK)
        return lull_cli_usage("--seed is '%s', expected a whole number", settings->seed);
    int status = read_machine(settings, inputs, arena);
    if (status == LULL_EXIT_OK)
        status = read_specs(settings, fallback, &inputs->sweep, arena);
    return status == LULL_EXIT_OK ? read_delays(settings, inputs, arena) : status;
}
