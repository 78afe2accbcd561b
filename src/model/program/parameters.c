/* Where the values of parameters come from. */
#include "model/program/code.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t lull_model_parameter_find(const struct lull_program_model *model, const char *name)
{
    for (uint32_t p = 0; p < model->n_parameters; p++)
        if (strcmp(model->parameters[p].name, name) == 0)
            return p;
    return LULL_MODEL_NONE;
}

/* ---- by the user ---------------------------------------------------------------------------- */

static lull_status refuse_name(const struct lull_program_model *model, const char *name,
                               struct lull_error *err)
{
    const char **names = lull_arena_zero(model->arena, model->n_parameters + 1, sizeof *names);
    for (uint32_t p = 0; p < model->n_parameters; p++)
        names[p] = model->parameters[p].name;
    const char *meant = name[0] && name[1] ? lull_suggest(name, names, model->n_parameters) : NULL;
    return lull_fail(err, LULL_ERR_RANGE, "%s has no parameter '%s'%s%s%s", model->path, name,
                     meant ? ", did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static lull_status set_word(struct lull_model_parameter *parameter, const char *word,
                            struct lull_arena *arena, struct lull_error *err)
{
    const char *words = "";
    for (uint32_t c = 0; c < parameter->n_choices; c++) {
        if (strcmp(parameter->choices[c], word) == 0) {
            parameter->value = c;
            return LULL_OK;
        }
        words = lull_arena_printf(arena, "%s%s%s", words, c ? ", " : "", parameter->choices[c]);
    }
    return lull_fail(err, LULL_ERR_RANGE, "%s is '%s', expected one of %s", parameter->name, word,
                     words);
}

lull_status lull_model_set(struct lull_program_model *model, const char *text,
                           enum lull_parameter_source source, struct lull_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return lull_fail(err, LULL_ERR_RANGE, "'%s', expected NAME=VALUE", text);
    const char *name = lull_arena_strndup(model->arena, text, (size_t)(equals - text));
    const char *value = equals + 1;
    uint32_t index = lull_model_parameter_find(model, name);
    if (index == LULL_MODEL_NONE)
        return refuse_name(model, name, err);
    struct lull_model_parameter *parameter = &model->parameters[index];
    if (parameter->choices) {
        lull_status status = set_word(parameter, value, model->arena, err);
        if (status != LULL_OK)
            return status;
    } else {
        char *end;
        double number = strtod(value, &end);
        if (end == value || *end || !isfinite(number))
            return lull_fail(err, LULL_ERR_RANGE, "%s is '%s', expected a number in %s", name,
                             value,
                             strcmp(parameter->unit, "1") ? parameter->unit : "plain digits");
        parameter->value = number;
    }
    parameter->source = source;
    return LULL_OK;
}

lull_status lull_model_check_values(const struct lull_program_model *model, const bool *open,
                                    struct lull_error *err)
{
    for (uint32_t p = 0; p < model->n_parameters; p++)
        if (model->parameters[p].source == LULL_PARAMETER_ABSENT && !(open && open[p]))
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: parameter '%s' (%s) has no value; --set %s=VALUE gives one%s",
                             model->path, model->parameters[p].name, model->parameters[p].unit,
                             model->parameters[p].name,
                             model->parameters[p].machine ? ", or --machine FILE" : "");
    return LULL_OK;
}

void lull_model_values(const struct lull_program_model *model, double *ret_values)
{
    for (uint32_t p = 0; p < model->n_parameters; p++)
        ret_values[p] = model->parameters[p].value;
}

/* ---- from a machine ------------------------------------------------------------------------- */

struct machine_value {
    double value; /* NAN: not there */
    const char *unit, *name;
};

/* The widest level where `name` is "network.latency", else that of "network.node.latency". The
 * latency is that of the smallest messages, the bandwidth that of the largest. */
static struct machine_value network_value(const struct lull_machine *machine, const char *rest)
{
    const struct machine_value none = {.value = NAN};
    const struct lull_network_level *level =
        machine->n_network > 0 ? &machine->network[machine->n_network - 1] : NULL;
    for (size_t l = 0; l < machine->n_network; l++) {
        size_t length = strlen(machine->network[l].name);
        if (strncmp(rest, machine->network[l].name, length) == 0 && rest[length] == '.') {
            level = &machine->network[l];
            rest += length + 1;
            break;
        }
    }
    if (!level || level->n_ranges == 0)
        return none;
    const struct lull_number *number = strcmp(rest, "latency") == 0 ? &level->ranges[0].latency
                                       : strcmp(rest, "bandwidth") == 0
                                           ? &level->ranges[level->n_ranges - 1].bandwidth
                                       : strcmp(rest, "overhead") == 0 ? &level->overhead
                                       : strcmp(rest, "gap") == 0      ? &level->gap
                                                                       : NULL;
    return number ? (struct machine_value){number->value, number->unit, level->name} : none;
}

static struct machine_value find_value(const struct lull_machine *machine, const char *name)
{
    static const char network[] = "network.";
    if (strncmp(name, network, sizeof network - 1) == 0)
        return network_value(machine, name + sizeof network - 1);
    if (strcmp(name, "cpu.cores") == 0)
        return (struct machine_value){machine->cpu.cores ? machine->cpu.cores : NAN, "1", name};
    const struct lull_number *number = lull_machine_find(machine, name);
    if (!number)
        number = lull_machine_find_threads(machine, name, 1, NULL);
    if (!number)
        return (struct machine_value){.value = NAN};
    return (struct machine_value){number->value, number->unit, number->name};
}

lull_status lull_model_take_machine(struct lull_program_model *model,
                                    const struct lull_machine *machine, const char *path,
                                    const char *const **ret_missing, struct lull_error *err)
{
    const char **missing = lull_arena_zero(model->arena, model->n_parameters + 1, sizeof *missing);
    size_t count = 0;
    model->code->outside.machine = machine;
    for (uint32_t p = 0; p < model->n_parameters; p++) {
        struct lull_model_parameter *parameter = &model->parameters[p];
        if (!parameter->machine || parameter->source == LULL_PARAMETER_SET)
            continue;
        struct machine_value found = find_value(machine, parameter->machine);
        if (isnan(found.value)) {
            missing[count++] = lull_arena_printf(model->arena, "%s: has no %s for parameter '%s'",
                                                 path, parameter->machine, parameter->name);
            continue;
        }
        if (found.unit && strcmp(found.unit, parameter->unit) != 0)
            return lull_fail(
                err, LULL_ERR_RANGE, "%s: %s is in %s, parameter '%s' of %s expects %s", path,
                parameter->machine, found.unit, parameter->name, model->path, parameter->unit);
        parameter->value = found.value;
        parameter->source = LULL_PARAMETER_MACHINE;
        parameter->origin = lull_arena_strdup(model->arena, found.name);
    }
    *ret_missing = missing;
    return LULL_OK;
}
