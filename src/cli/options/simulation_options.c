#include "cli/options/simulation_options.h"

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"

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
    struct lull_error err;
    inputs->seed = 1;
    if (lull_option_number("seed", settings->seed, 0, UINT64_MAX, &inputs->seed, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    const char *specs[LULL_SIMULATE_SPECS];
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++)
        specs[s] = settings->specs[s];
    if (!specs[LULL_SIMULATE_NETWORK] && !settings->machine)
        specs[LULL_SIMULATE_NETWORK] = fallback;
    int status = read_machine(settings, inputs, arena);
    lull_status read = status == LULL_EXIT_OK
                           ? lull_simulate_specs_read(specs, arena, &inputs->sweep, &err)
                           : LULL_OK;
    if (read != LULL_OK)
        return lull_cli_refuse(read, &err);
    if (status == LULL_EXIT_OK && lull_delays_read(settings->delays, arena, &inputs->delays,
                                                   &inputs->n_delays, &err) != LULL_OK)
        return lull_cli_usage("--delay: %s", err.text);
    return status;
}

int lull_injection_read(char *const *specs, const char *seed, struct lull_arena *arena,
                        const struct lull_disturbance **ret_disturbance)
{
    struct lull_error err;
    uint64_t number = 1;
    if (lull_option_number("seed", seed, 0, UINT64_MAX, &number, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (seed && !specs)
        return lull_cli_usage("--seed is for the noise of --inject");
    return lull_disturbance_read(specs, number, arena, ret_disturbance, &err) == LULL_OK
               ? LULL_EXIT_OK
               : lull_cli_usage("--inject: %s", err.text);
}
