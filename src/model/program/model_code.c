/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/program/model_code.h"

#include "base/text.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== values of parameters ==================================================================== */

uint32_t lull_model_parameter_find(const struct lull_program_model *model, const char *name)
{
    for (uint32_t p = 0; p < model->n_parameters; p++)
        if (strcmp(model->parameters[p].name, name) == 0)
            return p;
    return LULL_MODEL_NONE;
}

/* ---- by the user ----------------------------------------------------------------------------- */

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

/* ---- from a machine -------------------------------------------------------------------------- */

struct machine_value {
    double value; /* NAN: the machine file does not have it */
    const char *unit, *name;
};

/* The network's latency or bandwidth: "network.latency" means that of the widest level,
 * "network.node.latency" that of a named one. The latency is that of the smallest messages, the
 * bandwidth that of the largest. */
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

/* ==== terms at a point ======================================================================== */

struct request {
    struct lull_program_model *model;
    const double *values;
    struct lull_term_cost *terms; /* of all terms; NULL: one number of one term is asked for */
    uint32_t term;                /* the one term */
    double number;                /* what is asked for of the term */
};

const char *lull_resource_name(enum lull_resource resource)
{
    static const char *const names[LULL_RESOURCES] = {
        "computation", "memory", "latency", "bandwidth", "threads", "noise", "cores"};
    return names[resource];
}

/* Sets the table that functions get to these values, and pushes it. */
static void push_point(lua_State *L, const struct request *request)
{
    struct lull_program_model *model = request->model;
    struct lull_model_code *code = model->code;
    lua_rawgeti(L, LUA_REGISTRYINDEX, code->point);
    for (uint32_t i = 0; i < model->n_parameters; i++) {
        const struct lull_model_parameter *parameter = &model->parameters[i];
        double value = request->values[i];
        if (value == code->last[i])
            continue;
        code->last[i] = value;
        if (parameter->choices)
            lua_pushstring(L, parameter->choices[(size_t)value]);
        else if (isnan(value))
            lua_pushnil(L);
        else
            lua_pushnumber(L, value);
        lua_setfield(L, -2, parameter->name);
    }
}

/* A number that is given, a parameter or a function's result. For a function the table of the point
 * is on the top of the stack. `what` and the term's `name` are for messages. */
static double number_of(lua_State *L, const struct request *request,
                        const struct lull_model_number *number, const char *what, const char *name)
{
    if (number->parameter != LULL_MODEL_NONE)
        return request->values[number->parameter];
    if (number->function == LUA_NOREF)
        return number->value;
    lua_rawgeti(L, LUA_REGISTRYINDEX, number->function);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    if (lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "%s%s: the function returns a %s, expected a number", what, name,
                   luaL_typename(L, -1));
    double value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

static double number_or_nan(lua_State *L, const struct request *request,
                            const struct lull_model_number *number, const char *name)
{
    return number->is_given ? number_of(L, request, number, "network: ", name) : NAN;
}

/* Pushes the table of the point, and readies the tally for the point. */
static void begin_point(lua_State *L, const struct request *request)
{
    struct lull_model_code *code = request->model->code;
    push_point(L, request);
    code->tally.processes = request->values[request->model->processes];
    code->tally.latency = number_or_nan(L, request, &code->latency, "latency");
    code->tally.bandwidth = number_or_nan(L, request, &code->bandwidth, "bandwidth");
}

/* Once in how many iterations a term is executed; 1 if nothing is said. */
static double every_of(lua_State *L, const struct request *request, uint32_t term)
{
    const struct lull_model_number *every = &request->model->code->terms[term].every;
    const char *name = request->model->terms[term].name;
    if (!every->is_given)
        return 1;
    double value = number_of(L, request, every, "every of term ", name);
    if (!(value > 0))
        luaL_error(L, "term '%s': every is %f, expected more than 0", name, value);
    return value;
}

/* How often a term is executed in the run. */
static double executions(lua_State *L, const struct request *request, uint32_t term)
{
    const struct lull_program_model *model = request->model;
    double every = every_of(L, request, term);
    if (model->iterations == LULL_MODEL_NONE)
        return 1 / every;
    double iterations = request->values[model->iterations];
    return every == 1 ? iterations : floor(iterations / every);
}

static void scale_cost(struct lull_term_cost *cost, double seconds, double numbers)
{
    cost->seconds *= seconds;
    for (unsigned r = 0; r < LULL_RESOURCES; r++)
        cost->parts[r] *= seconds;
    cost->messages *= numbers;
    cost->bytes *= numbers;
    cost->collectives *= numbers;
}

/* Executes a term once, and returns its seconds. Their cost is in the tally. */
static double call_term(lua_State *L, const struct request *request, uint32_t term)
{
    struct lull_model_code *code = request->model->code;
    struct lull_term_cost *cost = &code->tally.cost;
    const char *name = request->model->terms[term].name;
    *cost = (struct lull_term_cost){0};
    lua_rawgeti(L, LUA_REGISTRYINDEX, code->terms[term].function);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    if (lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "term '%s': the function returns a %s, expected seconds", name,
                   luaL_typename(L, -1));
    double seconds = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (!(seconds >= 0) || isinf(seconds))
        luaL_error(L, "term '%s': %f s, expected a finite time of 0 or more", name, seconds);
    return seconds;
}

static void evaluate_term(lua_State *L, const struct request *request, uint32_t term)
{
    struct lull_model_code *code = request->model->code;
    struct lull_term_cost *cost = &code->tally.cost;
    double times = executions(L, request, term), seconds = call_term(L, request, term);
    if (cost->seconds > 0) {
        /* The function may return other seconds than its primitives have returned to it. */
        scale_cost(cost, seconds / cost->seconds, 1);
    } else {
        cost->parts[code->terms[term].resource] = seconds;
        cost->seconds = seconds;
    }
    scale_cost(cost, times, times);
    request->terms[term] = *cost;
}

double lull_processes_of_core(double processes, double cores)
{
    static const double rounding = 1e-9; /* the number of cores may be a quotient */
    return fmax(1, ceil(processes / cores * (1 - rounding)));
}

/* How many processes the core has that has most of them, at least 1. */
static double share_of_core(lua_State *L, const struct request *request)
{
    const struct lull_program_model *model = request->model;
    if (model->waiting == LULL_MODEL_NONE)
        return 1;
    double cores = number_of(L, request, &model->code->cores, "cores", "");
    if (!(cores >= 0))
        luaL_error(L, "cores is %f, expected 0 or more", cores);
    return cores > 0 ? lull_processes_of_core(request->values[model->processes], cores) : 1;
}

/* Sets the term of waiting for a core. The core that has most processes gives them equal parts
 * (processor sharing), so that what all of them compute takes `share` times as long. What one
 * process computes beyond the mean, and the others less, it computes when these are done, with its
 * core for itself. Messages take `share` times as long, too: cores send and receive them, and a
 * process that waits for a message needs a core to see it. */
static void evaluate_waiting(lua_State *L, const struct request *request)
{
    const struct lull_program_model *model = request->model;
    double share = share_of_core(L, request), even = 0;
    double others = request->values[model->processes] - 1;
    if (model->waiting == LULL_MODEL_NONE)
        return;
    for (uint32_t t = 0; t < model->waiting; t++) {
        const struct lull_term_cost *cost = &request->terms[t];
        even += model->terms[t].is_uneven ? -cost->seconds / fmax(1, others)
                                          : cost->seconds - cost->parts[LULL_RESOURCE_NOISE];
    }
    struct lull_term_cost *cost = &request->terms[model->waiting];
    *cost = (struct lull_term_cost){.seconds = (share - 1) * fmax(0, even)};
    cost->parts[LULL_RESOURCE_CORES] = cost->seconds;
}

static int evaluate(lua_State *L)
{
    const struct request *request = lua_touserdata(L, 1);
    begin_point(L, request);
    for (uint32_t t = 0; t < request->model->n_terms; t++)
        if (t != request->model->waiting)
            evaluate_term(L, request, t);
    evaluate_waiting(L, request);
    return 0;
}

static int evaluate_share(lua_State *L)
{
    struct request *request = lua_touserdata(L, 1);
    begin_point(L, request);
    request->number = share_of_core(L, request);
    return 0;
}

static int evaluate_network(lua_State *L)
{
    begin_point(L, lua_touserdata(L, 1));
    return 0;
}

static int evaluate_work(lua_State *L)
{
    struct request *request = lua_touserdata(L, 1);
    const struct lull_model_number *work = &request->model->code->work;
    begin_point(L, request);
    request->number = work->is_given ? number_of(L, request, work, "work", "") : 1;
    if (!(request->number > 0))
        luaL_error(L, "work is %f, expected more than 0", request->number);
    return 0;
}

static int evaluate_uncertainty(lua_State *L)
{
    struct request *request = lua_touserdata(L, 1);
    const struct lull_model_number *uncertainty = &request->model->code->uncertainty;
    request->number = INFINITY;
    if (!uncertainty->is_given)
        return 0;
    begin_point(L, request);
    request->number = number_of(L, request, uncertainty, "uncertainty", "");
    if (!(request->number >= 0))
        luaL_error(L, "uncertainty is %f, expected 0 or more", request->number);
    return 0;
}

static int evaluate_every(lua_State *L)
{
    struct request *request = lua_touserdata(L, 1);
    begin_point(L, request);
    request->number = every_of(L, request, request->term);
    return 0;
}

static int record(lua_State *L)
{
    struct request *request = lua_touserdata(L, 1);
    begin_point(L, request);
    request->number = call_term(L, request, request->term);
    return 0;
}

/* Asks for a point. After an error it is not known which values the table of parameters holds, so
 * it is filled anew for the next point. */
static lull_status ask(struct request *request, lua_CFunction function, struct lull_error *err)
{
    struct lull_program_model *model = request->model;
    lull_status status = lull_sandbox_protect(model->code->sandbox, function, request, err);
    for (uint32_t p = 0; status != LULL_OK && p < model->n_parameters; p++)
        model->code->last[p] = NAN;
    return status;
}

lull_status lull_model_evaluate(struct lull_program_model *model, const double *values,
                                struct lull_term_cost *ret_terms, struct lull_error *err)
{
    return ask(&(struct request){.model = model, .values = values, .terms = ret_terms}, evaluate,
               err);
}

lull_status lull_model_work(struct lull_program_model *model, const double *values,
                            double *ret_work, struct lull_error *err)
{
    struct request request = {.model = model, .values = values};
    lull_status status = ask(&request, evaluate_work, err);
    if (status == LULL_OK)
        *ret_work = request.number;
    return status;
}

lull_status lull_model_uncertainty(struct lull_program_model *model, const double *values,
                                   double *ret_uncertainty, struct lull_error *err)
{
    struct request request = {.model = model, .values = values};
    lull_status status = ask(&request, evaluate_uncertainty, err);
    if (status == LULL_OK)
        *ret_uncertainty = request.number;
    return status;
}

lull_status lull_model_share(struct lull_program_model *model, const double *values,
                             double *ret_share, struct lull_error *err)
{
    struct request request = {.model = model, .values = values};
    lull_status status = ask(&request, evaluate_share, err);
    if (status == LULL_OK)
        *ret_share = request.number;
    return status;
}

lull_status lull_model_network(struct lull_program_model *model, const double *values,
                               double *ret_latency, double *ret_bandwidth, struct lull_error *err)
{
    struct request request = {.model = model, .values = values};
    lull_status status = ask(&request, evaluate_network, err);
    if (status == LULL_OK) {
        *ret_latency = model->code->tally.latency;
        *ret_bandwidth = model->code->tally.bandwidth;
    }
    return status;
}

lull_status lull_model_every(struct lull_program_model *model, const double *values, uint32_t term,
                             double *ret_every, struct lull_error *err)
{
    struct request request = {.model = model, .values = values, .term = term};
    lull_status status = ask(&request, evaluate_every, err);
    if (status == LULL_OK)
        *ret_every = request.number;
    return status;
}

lull_status lull_model_record(struct lull_program_model *model, const double *values, uint32_t term,
                              struct lull_arena *arena,
                              struct lull_model_operation **ret_operations, size_t *ret_count,
                              double *ret_seconds, struct lull_error *err)
{
    struct request request = {.model = model, .values = values, .term = term};
    struct lull_tally *tally = &model->code->tally;
    tally->recording = arena;
    tally->operations = NULL;
    tally->n_operations = tally->capacity = tally->kept = 0;
    lull_status status = ask(&request, record, err);
    tally->recording = NULL;
    if (status == LULL_OK) {
        *ret_operations = tally->operations;
        *ret_count = tally->n_operations;
        *ret_seconds = request.number;
    }
    return status;
}

struct lull_term_cost lull_model_total(const struct lull_program_model *model,
                                       const struct lull_term_cost *terms)
{
    struct lull_term_cost total = {0};
    for (uint32_t t = 0; t < model->n_terms; t++) {
        total.seconds += terms[t].seconds;
        total.messages += terms[t].messages;
        total.bytes += terms[t].bytes;
        total.collectives += terms[t].collectives;
        for (unsigned r = 0; r < LULL_RESOURCES; r++)
            total.parts[r] += terms[t].parts[r];
    }
    return total;
}

enum lull_resource lull_model_limit(const struct lull_term_cost *cost)
{
    unsigned most = 0;
    for (unsigned r = 1; r < LULL_RESOURCES; r++)
        if (cost->parts[r] > cost->parts[most])
            most = r;
    return most;
}

/* ==== from the file to a model ================================================================ */

/* ---- fields of tables ------------------------------------------------------------------------ */

/* The table that is read is on the top of the stack. Texts are copied to the arena. */
struct model_reading {
    lua_State *L;
    struct lull_program_model *model;
    const char *what; /* "parameter 'L'", "term 2" */
};

static const char *copy_text(const struct model_reading *reading)
{
    return lull_arena_strdup(reading->model->arena, lua_tostring(reading->L, -1));
}

/* The text in a field; NULL: there is none. */
static const char *model_text_field(const struct model_reading *reading, const char *key)
{
    lua_State *L = reading->L;
    const char *text = NULL;
    if (lua_getfield(L, -1, key) == LUA_TSTRING)
        text = copy_text(reading);
    else if (!lua_isnil(L, -1))
        luaL_error(L, "%s: %s is a %s, expected a text", reading->what, key, luaL_typename(L, -1));
    lua_pop(L, 1);
    return text;
}

/* The texts in a field, with NULL at the end; NULL: the field is not there. One text is a list of
 * one. */
static const char *const *texts_field(const struct model_reading *reading, const char *key,
                                      uint32_t *ret_count)
{
    lua_State *L = reading->L;
    struct lull_arena *arena = reading->model->arena;
    int type = lua_getfield(L, -1, key);
    const char **texts = NULL;
    lua_Unsigned count = type == LUA_TSTRING ? 1 : type == LUA_TTABLE ? lua_rawlen(L, -1) : 0;
    if (count == 0 && type != LUA_TNIL)
        luaL_error(L, "%s: %s: expected a text or a list of texts", reading->what, key);
    if (count > 0)
        texts = lull_arena_zero(arena, count + 1, sizeof *texts);
    for (lua_Unsigned i = 0; i < count; i++) {
        if (type == LUA_TTABLE)
            lua_rawgeti(L, -1, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "%s: %s: expected a text or a list of texts", reading->what, key);
        texts[i] = copy_text(reading);
        if (type == LUA_TTABLE)
            lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (ret_count)
        *ret_count = (uint32_t)count;
    return texts;
}

static double model_number_field(const struct model_reading *reading, const char *key)
{
    lua_State *L = reading->L;
    double number = NAN;
    if (lua_getfield(L, -1, key) == LUA_TNUMBER)
        number = lua_tonumber(L, -1);
    else if (!lua_isnil(L, -1))
        luaL_error(L, "%s: %s is a %s, expected a number", reading->what, key,
                   luaL_typename(L, -1));
    lua_pop(L, 1);
    return number;
}

static int function_field(const struct model_reading *reading, const char *key)
{
    lua_State *L = reading->L;
    if (lua_getfield(L, -1, key) == LUA_TFUNCTION)
        return luaL_ref(L, LUA_REGISTRYINDEX);
    return luaL_error(L, "%s: %s is a %s, expected a function", reading->what, key,
                      luaL_typename(L, -1));
}

/* Fails for a name that is no key of the table, so that a misspelt one is not passed over. */
static void check_keys(const struct model_reading *reading, const char *const *known)
{
    lua_State *L = reading->L;
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "number";
        const char *const *at = known;
        while (*at && strcmp(*at, key) != 0)
            at++;
        if (!*at)
            luaL_error(L, "%s: there is no '%s'", reading->what, key);
        lua_pop(L, 1);
    }
}

/* The parameter named by a field; LULL_MODEL_NONE: the field is not there. */
static uint32_t parameter_field(const struct model_reading *reading, const char *key)
{
    const char *name = model_text_field(reading, key);
    uint32_t found = name ? lull_model_parameter_find(reading->model, name) : LULL_MODEL_NONE;
    if (name && found == LULL_MODEL_NONE)
        luaL_error(reading->L, "%s: %s: there is no parameter '%s'", reading->what, key, name);
    return found;
}

static struct lull_model_number any_number_field(const struct model_reading *reading,
                                                 const char *key)
{
    lua_State *L = reading->L;
    struct lull_model_number number = {.parameter = LULL_MODEL_NONE, .function = LUA_NOREF};
    int type = lua_getfield(L, -1, key);
    lua_pop(L, 1);
    number.is_given = type != LUA_TNIL;
    if (type == LUA_TFUNCTION)
        number.function = function_field(reading, key);
    else if (type == LUA_TSTRING)
        number.parameter = parameter_field(reading, key);
    else
        number.value = model_number_field(reading, key);
    return number;
}

/* ---- values of parameters -------------------------------------------------------------------- */

static void read_default(const struct model_reading *reading,
                         struct lull_model_parameter *parameter)
{
    lua_State *L = reading->L;
    if (!parameter->choices) {
        parameter->value = model_number_field(reading, "default");
        if (isinf(parameter->value))
            luaL_error(L, "%s: default is infinite", reading->what);
    } else {
        const char *word = model_text_field(reading, "default");
        parameter->value = 0;
        while (word && parameter->value < parameter->n_choices &&
               strcmp(parameter->choices[(size_t)parameter->value], word) != 0)
            parameter->value++;
        if (parameter->value == parameter->n_choices)
            luaL_error(L, "%s: default '%s' is none of its choices", reading->what, word);
    }
    parameter->source = isnan(parameter->value) ? LULL_PARAMETER_ABSENT : LULL_PARAMETER_DEFAULT;
}

static void read_parameter(struct model_reading *reading, uint32_t index)
{
    static const char *const keys[] = {"name", "unit",    "about",   "machine", "run",
                                       "fit",  "default", "choices", NULL};
    static const char *const runs[] = {"processes", "threads", "cores"};
    lua_State *L = reading->L;
    struct lull_program_model *model = reading->model;
    struct lull_model_parameter *parameter = &model->parameters[index];
    reading->what = lull_arena_printf(model->arena, "parameter %u", index + 1);
    const char *name = model_text_field(reading, "name");
    if (!name || !*name || strpbrk(name, "=,: "))
        luaL_error(L, "%s has no name without '=', ',', ':' and blanks", reading->what);
    if (lull_model_parameter_find(model, name) != LULL_MODEL_NONE)
        luaL_error(L, "parameter '%s' is there twice", name);
    reading->what = lull_arena_printf(model->arena, "parameter '%s'", name);
    check_keys(reading, keys);
    *parameter = (struct lull_model_parameter){.name = name, .low = NAN, .high = NAN};
    parameter->choices = texts_field(reading, "choices", &parameter->n_choices);
    parameter->unit = model_text_field(reading, "unit");
    if (!parameter->unit && !parameter->choices)
        luaL_error(L, "%s has no unit (\"1\" for a plain number)", reading->what);
    parameter->about = model_text_field(reading, "about");
    parameter->machine = model_text_field(reading, "machine");
    parameter->run = model_text_field(reading, "run");
    if (parameter->run && strcmp(parameter->run, runs[0]) != 0 &&
        strcmp(parameter->run, runs[1]) != 0 && strcmp(parameter->run, runs[2]) != 0)
        luaL_error(L, "%s: run is '%s', expected processes, threads or cores", reading->what,
                   parameter->run);
    lua_getfield(L, -1, "fit");
    parameter->is_free = lua_toboolean(L, -1);
    lua_pop(L, 1);
    read_default(reading, parameter);
    parameter->unit = parameter->unit ? parameter->unit : "";
    parameter->about = parameter->about ? parameter->about : "";
    model->n_parameters++;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static enum lull_resource read_resource(const struct model_reading *reading)
{
    const char *name = model_text_field(reading, "resource");
    unsigned resource = 0;
    while (name && resource < LULL_RESOURCES && strcmp(lull_resource_name(resource), name) != 0)
        resource++;
    if (resource == LULL_RESOURCES)
        luaL_error(reading->L, "%s: there is no resource '%s'", reading->what, name);
    return resource;
}

static void read_term(struct model_reading *reading, uint32_t index)
{
    static const char *const keys[] = {"name",     "time",   "every", "regions",
                                       "resource", "uneven", NULL};
    struct lull_program_model *model = reading->model;
    struct lull_term_code *code = &model->code->terms[index];
    reading->what = lull_arena_printf(model->arena, "term %u", index + 1);
    const char *name = model_text_field(reading, "name");
    if (!name || !*name)
        luaL_error(reading->L, "%s has no name", reading->what);
    for (uint32_t t = 0; t < index; t++)
        if (strcmp(model->terms[t].name, name) == 0)
            luaL_error(reading->L, "term '%s' is there twice", name);
    reading->what = lull_arena_printf(model->arena, "term '%s'", name);
    check_keys(reading, keys);
    model->terms[index] =
        (struct lull_model_term){.name = name, .regions = texts_field(reading, "regions", NULL)};
    lua_getfield(reading->L, -1, "uneven");
    model->terms[index].is_uneven = lua_toboolean(reading->L, -1);
    lua_pop(reading->L, 1);
    code->resource = read_resource(reading);
    code->every = any_number_field(reading, "every");
    code->function = function_field(reading, "time");
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The length of the list in a field. */
static uint32_t list_length(const struct model_reading *reading, const char *key)
{
    enum { MOST_ENTRIES = 1000 };
    lua_State *L = reading->L;
    if (lua_getfield(L, -1, key) != LUA_TTABLE)
        luaL_error(L, "%s is a %s, expected a list", key, luaL_typename(L, -1));
    lua_Unsigned count = lua_rawlen(L, -1);
    if (count == 0 || count > MOST_ENTRIES)
        luaL_error(L, "%s has %d entries, expected 1 to %d", key, (int)count, MOST_ENTRIES);
    lua_pop(L, 1);
    return (uint32_t)count;
}

/* Calls `read` for each table of the list in a field. */
static void read_tables(struct model_reading *reading, const char *key, uint32_t count,
                        void (*read)(struct model_reading *reading, uint32_t index))
{
    lua_State *L = reading->L;
    lua_getfield(L, -1, key);
    for (uint32_t i = 0; i < count; i++) {
        if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "%s: entry %d is a %s, expected a table", key, (int)i + 1,
                       luaL_typename(L, -1));
        read(reading, i);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_model_parameters(struct model_reading *reading)
{
    struct lull_program_model *model = reading->model;
    uint32_t count = list_length(reading, "parameters");
    model->parameters = lull_arena_zero(model->arena, count, sizeof *model->parameters);
    read_tables(reading, "parameters", count, read_parameter);
}

static void read_terms(struct model_reading *reading)
{
    struct lull_program_model *model = reading->model;
    uint32_t count = list_length(reading, "terms");
    model->n_terms = count;
    model->terms = lull_arena_zero(model->arena, count + 1, sizeof *model->terms);
    model->code->terms = lull_arena_zero(model->arena, count + 1, sizeof *model->code->terms);
    read_tables(reading, "terms", count, read_term);
}

/* Reads the number of cores. A model that has one gets one more term, of waiting for a core. */
static void read_cores(struct model_reading *reading)
{
    struct lull_program_model *model = reading->model;
    model->code->cores = any_number_field(reading, "cores");
    model->waiting = LULL_MODEL_NONE;
    if (!model->code->cores.is_given)
        return;
    model->waiting = model->n_terms++;
    model->terms[model->waiting] = (struct lull_model_term){.name = "waiting for a core"};
    model->code->terms[model->waiting] =
        (struct lull_term_code){.function = LUA_NOREF, .resource = LULL_RESOURCE_CORES};
}

static void read_model_network(struct model_reading *reading)
{
    static const char *const keys[] = {"latency", "bandwidth", NULL};
    lua_State *L = reading->L;
    struct lull_model_code *code = reading->model->code;
    reading->what = "network";
    if (lua_getfield(L, -1, "network") == LUA_TTABLE) {
        check_keys(reading, keys);
        code->latency = any_number_field(reading, "latency");
        code->bandwidth = any_number_field(reading, "bandwidth");
    } else if (!lua_isnil(L, -1)) {
        luaL_error(L, "network is a %s, expected a table", luaL_typename(L, -1));
    }
    lua_pop(L, 1);
}

static int read_model(lua_State *L)
{
    static const char *const keys[] = {"title",       "parameters", "terms", "processes",
                                       "network",     "iterations", "work",  "cores",
                                       "uncertainty", NULL};
    struct model_reading reading = {L, lua_touserdata(L, 1), "the model"};
    struct lull_program_model *model = reading.model;
    lua_getfield(L, LUA_REGISTRYINDEX, "model");
    if (!lua_istable(L, -1))
        luaL_error(L, "returns a %s, expected a table", luaL_typename(L, -1));
    check_keys(&reading, keys);
    model->title = model_text_field(&reading, "title");
    if (!model->title)
        luaL_error(L, "has no title");
    read_model_parameters(&reading);
    read_terms(&reading);
    read_model_network(&reading);
    reading.what = "the model";
    model->processes = parameter_field(&reading, "processes");
    if (model->processes == LULL_MODEL_NONE)
        luaL_error(L, "does not say which parameter counts processes: processes = \"P\"");
    model->iterations = parameter_field(&reading, "iterations");
    read_cores(&reading);
    model->code->work = any_number_field(&reading, "work");
    model->has_work = model->code->work.is_given;
    model->code->uncertainty = any_number_field(&reading, "uncertainty");
    model->has_uncertainty = model->code->uncertainty.is_given;

    lua_newtable(L);
    model->code->point = luaL_ref(L, LUA_REGISTRYINDEX);
    model->code->last =
        lull_arena_zero(model->arena, model->n_parameters, sizeof *model->code->last);
    for (uint32_t p = 0; p < model->n_parameters; p++)
        model->code->last[p] = NAN;
    return 0;
}

static int open_primitives(lua_State *L)
{
    struct lull_program_model *model = lua_touserdata(L, 1);
    lull_primitives_open(L, &model->code->tally);
    return 0;
}

static int keep_model(lua_State *L)
{
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "model");
    return 0;
}

lull_status lull_program_model_open(const char *path, struct lull_arena *arena,
                                    struct lull_program_model *ret_model, struct lull_error *err)
{
    *ret_model =
        (struct lull_program_model){.arena = arena, .path = lull_arena_strdup(arena, path)};
    ret_model->code = lull_arena_zero(arena, 1, sizeof *ret_model->code);
    struct lull_model_code *code = ret_model->code;
    code->outside = (struct lull_outside){.arena = arena, .path = ret_model->path};
    code->tally.outside = &code->outside;
    lull_status status = lull_sandbox_open(path, NULL, &code->sandbox, err);
    if (status == LULL_OK)
        status = lull_sandbox_protect(code->sandbox, open_primitives, ret_model, err);
    if (status == LULL_OK)
        status = lull_sandbox_load(code->sandbox, err);
    if (status != LULL_OK)
        return status;
    lua_State *L = lull_sandbox_state(code->sandbox);
    lua_pushcfunction(L, keep_model);
    lua_insert(L, -2);
    status = lull_sandbox_call(code->sandbox, 1, 0, err);
    if (status == LULL_OK)
        status = lull_sandbox_protect(code->sandbox, read_model, ret_model, err);
    return status;
}

void lull_model_set_reader(struct lull_program_model *model, lull_region_reader *read,
                           void *context)
{
    model->code->outside.read_region = read;
    model->code->outside.reader = context;
}

void lull_program_model_close(struct lull_program_model *model)
{
    if (model->code)
        lull_sandbox_close(model->code->sandbox);
    model->code = NULL;
}
