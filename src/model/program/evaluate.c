/* Terms at a point. */
#include "model/program/code.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

struct request {
    struct lull_program_model *model;
    const double *values;
    struct lull_term_cost *terms; /* all of them; NULL: another request */
    uint32_t term;                /* alone */
    double number;                /* what is asked for of it */
};

const char *lull_resource_name(enum lull_resource resource)
{
    static const char *const names[LULL_RESOURCES] = {
        "computation", "memory", "latency", "bandwidth", "threads", "noise", "cores"};
    return names[resource];
}

/* Brings the table that functions get to these values, and pushes it. */
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

/* The table of the point is on the top of the stack. `what` for messages, with the term's name. */
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

/* Pushes the point, and readies the tally for it. */
static void begin_point(lua_State *L, const struct request *request)
{
    struct lull_model_code *code = request->model->code;
    push_point(L, request);
    code->tally.processes = request->values[request->model->processes];
    code->tally.latency = number_or_nan(L, request, &code->latency, "latency");
    code->tally.bandwidth = number_or_nan(L, request, &code->bandwidth, "bandwidth");
}

/* In iterations; 1 where nothing is said. */
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

/* How often a term is executed. */
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

/* One execution; what it returns. Its cost is in the tally. */
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
        scale_cost(cost, seconds / cost->seconds, 1); /* what Lua made of the primitives */
    } else {
        cost->parts[code->terms[term].resource] = seconds;
        cost->seconds = seconds;
    }
    scale_cost(cost, times, times);
    request->terms[term] = *cost;
}

double lull_processes_of_core(double processes, double cores)
{
    static const double rounding = 1e-9; /* cores may be a quotient */
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

/* The core that has most processes gives them equal parts (processor sharing): what all compute
 * takes `share` times as long. What one has beyond the mean, and the others less, it computes when
 * these are done, with its core for itself. Messages take as much longer: cores send
 * and receive them, and who waits for one must have a core to see it. */
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

/* A point whose values do not come from what the table holds after an error. */
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
                              struct lull_arena *arena, struct lull_operation **ret_operations,
                              size_t *ret_count, double *ret_seconds, struct lull_error *err)
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
