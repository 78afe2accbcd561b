#include "cli/options/simulation_options.h"

#include "base/text/option.h"

#include <string.h>

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
