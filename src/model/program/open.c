/* From the table that a file returns to a model. */
#include "model/program/code.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* ---- fields of tables ----------------------------------------------------------------------- */

/* The table is on the top of the stack; texts are copied to the arena. */
struct model_reading {
    lua_State *L;
    struct lull_program_model *model;
    const char *what; /* "parameter 'L'", "term 2" */
};

static const char *copy_text(const struct model_reading *reading)
{
    return lull_arena_strdup(reading->model->arena, lua_tostring(reading->L, -1));
}

/* NULL where there is none. */
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

/* Texts, NULL at the end; NULL where the field is not there. One text is a list of one. */
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

/* ---- parameters ----------------------------------------------------------------------------- */

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

/* ---- terms ---------------------------------------------------------------------------------- */

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

/* ---- the model ------------------------------------------------------------------------------ */

/* The length of the list that is the value of a field. */
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

/* Calls `read` for each table in it. */
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

/* A model that counts cores has one more term. */
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
