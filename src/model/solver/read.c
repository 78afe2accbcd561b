#include "model/lua/sandbox.h"
#include "model/solver/solver.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* What the functions of a description work on. */
struct reading {
    const struct lull_machine *machine;
    const struct lull_solver_parameter *values;
    size_t n_values;
    bool *used; /* n_values */
    size_t levels;
    struct lull_arena *arena;
    struct lull_solver *solver;
    size_t capacity;
};

static struct reading *reading_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- functions of a description ------------------------------------------------------------- */

/* parameter(NAME, DEFAULT) */
static int call_parameter(lua_State *L)
{
    struct reading *reading = reading_of(L);
    struct lull_solver *solver = reading->solver;
    const char *name = luaL_checkstring(L, 1);
    struct lull_solver_parameter parameter = {.value = luaL_checknumber(L, 2)};
    for (size_t i = 0; i < reading->n_values; i++)
        if (strcmp(reading->values[i].name, name) == 0) {
            parameter.value = reading->values[i].value;
            parameter.set = reading->used[i] = true;
        }
    for (size_t i = 0; i < solver->n_parameters; i++)
        if (strcmp(solver->parameters[i].name, name) == 0)
            return luaL_error(L, "parameter '%s' is asked for twice", name);
    parameter.name = lull_arena_strdup(reading->arena, name);
    solver->parameters = lull_arena_grow(reading->arena, solver->parameters, &reading->capacity,
                                         solver->n_parameters + 1, sizeof *solver->parameters);
    solver->parameters[solver->n_parameters++] = parameter;
    lua_pushnumber(L, parameter.value);
    return 1;
}

/* cache(LEVEL): bytes that a core has of it when all that share it are at work. */
static int call_cache(lua_State *L)
{
    lua_Integer level = luaL_checkinteger(L, 1);
    const struct lull_machine_cache *cache =
        level > 0 && level <= LULL_ECM_LINKS
            ? lull_machine_cache(reading_of(L)->machine, (unsigned)level)
            : NULL;
    if (!cache || !cache->bytes)
        return luaL_error(L, "cache(%d): the machine file does not know it", (int)level);
    lua_pushnumber(L, (double)cache->bytes / (cache->shared_cores ? cache->shared_cores : 1));
    return 1;
}

static int add_functions(lua_State *L)
{
    struct reading *reading = lua_touserdata(L, 1);
    static const luaL_Reg functions[] = {{"parameter", call_parameter}, {"cache", call_cache}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushlightuserdata(L, reading);
        lua_pushcclosure(L, functions[i].func, 1);
        lua_setglobal(L, functions[i].name);
    }
    lua_pushinteger(L, (lua_Integer)reading->levels);
    lua_setglobal(L, "levels");
    return 0;
}

/* ---- the table that it returns -------------------------------------------------------------- */

/* `where` names what the table on the top is: "the description", "kernel 2". */
static void refuse_unknown(lua_State *L, const char *where, const char *const *known)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        size_t i = 0;
        while (key && known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!key || !known[i])
            luaL_error(L, "%s: '%s' is not known there", where, key ? key : "[number]");
    }
}

/* A number from 0 up of the table on the top; `otherwise` where it is missing, NAN: it must not. */
static double number_field(lua_State *L, const char *where, const char *name, double otherwise)
{
    lua_getfield(L, -1, name);
    double value = otherwise;
    if (!lua_isnil(L, -1))
        value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    if (!(value >= 0) || !isfinite(value))
        luaL_error(L, "%s: '%s' is %s, expected a number from 0 up", where, name,
                   lua_isnil(L, -1) ? "missing" : luaL_typename(L, -1));
    lua_pop(L, 1);
    return value;
}

static const char *text_field(lua_State *L, const char *where, const char *name,
                              struct lull_arena *arena)
{
    lua_getfield(L, -1, name);
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "%s: '%s' is %s, expected a text", where, name, luaL_typename(L, -1));
    const char *text = lull_arena_strdup(arena, lua_tostring(L, -1));
    lua_pop(L, 1);
    return text;
}

static double element(lua_State *L, const char *where, int number)
{
    lua_geti(L, -1, number);
    double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    if (!(value >= 0) || !isfinite(value))
        luaL_error(L, "%s: 'lines' holds pairs of numbers from 0 up: {read, written}", where);
    lua_pop(L, 1);
    return value;
}

static void read_lines(lua_State *L, const char *where, size_t levels,
                       struct lull_solver_kernel *kernel)
{
    lua_getfield(L, -1, "lines");
    if (!lua_istable(L, -1))
        luaL_error(L, "%s: 'lines' is %s, expected a table", where, luaL_typename(L, -1));
    if (lua_rawlen(L, -1) != levels)
        luaL_error(L, "%s: 'lines' has %d pairs, the machine %d caches", where,
                   (int)lua_rawlen(L, -1), (int)levels);
    for (size_t i = 0; i < levels; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        if (!lua_istable(L, -1) || lua_rawlen(L, -1) != 2)
            luaL_error(L, "%s: 'lines' holds pairs of numbers from 0 up: {read, written}", where);
        kernel->lines[i].loads = element(L, where, 1);
        kernel->lines[i].stores = element(L, where, 2);
        lua_pop(L, 1);
    }
    kernel->n_lines = levels;
    lua_pop(L, 1);
}

static void read_kernel(lua_State *L, size_t number, const struct reading *reading,
                        struct lull_solver_kernel *kernel)
{
    static const char *const known[] = {"name",     "count",      "points",  "T_OL",
                                        "T_nOL",    "lines",      "flops",   "regions",
                                        "barriers", "wavefronts", "seconds", NULL};
    const char *where = lull_arena_printf(reading->arena, "kernel %zu", number);
    if (!lua_istable(L, -1))
        luaL_error(L, "%s is %s, expected a table", where, luaL_typename(L, -1));
    refuse_unknown(L, where, known);
    kernel->name = text_field(L, where, "name", reading->arena);
    where = lull_arena_printf(reading->arena, "kernel '%s'", kernel->name);
    kernel->count = number_field(L, where, "count", 1);
    kernel->points = number_field(L, where, "points", reading->solver->points);
    kernel->t_ol = number_field(L, where, "T_OL", NAN);
    kernel->t_nol = number_field(L, where, "T_nOL", NAN);
    kernel->flops = number_field(L, where, "flops", 0);
    kernel->regions = number_field(L, where, "regions", 0);
    kernel->barriers = number_field(L, where, "barriers", 0);
    kernel->wavefronts = number_field(L, where, "wavefronts", 0);
    kernel->seconds = number_field(L, where, "seconds", 0);
    read_lines(L, where, reading->levels, kernel);
}

static int read_solver(lua_State *L)
{
    static const char *const known[] = {"title", "points", "bytes", "kernels", NULL};
    struct reading *reading = lua_touserdata(L, 1);
    struct lull_solver *solver = reading->solver;
    lua_getglobal(L, "description");
    if (!lua_istable(L, -1))
        return luaL_error(L, "returns %s, expected a table with 'kernels'", luaL_typename(L, -1));
    refuse_unknown(L, "the description", known);
    solver->title = text_field(L, "the description", "title", reading->arena);
    solver->points = number_field(L, "the description", "points", NAN);
    solver->bytes = number_field(L, "the description", "bytes", 0);
    lua_getfield(L, -1, "kernels");
    solver->n_kernels = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    if (!solver->n_kernels)
        return luaL_error(L, "'kernels' is %s, expected a list", luaL_typename(L, -1));
    solver->kernels = lull_arena_zero(reading->arena, solver->n_kernels, sizeof *solver->kernels);
    for (size_t i = 0; i < solver->n_kernels; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        read_kernel(L, i + 1, reading, &solver->kernels[i]);
        lua_pop(L, 1);
    }
    return 0;
}

static int keep_description(lua_State *L)
{
    lua_setglobal(L, "description");
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static lull_status run_description(struct lull_sandbox *sandbox, struct reading *reading,
                                   struct lull_error *err)
{
    lua_State *L = lull_sandbox_state(sandbox);
    lull_status status = lull_sandbox_protect(sandbox, add_functions, reading, err);
    if (status == LULL_OK)
        status = lull_sandbox_load(sandbox, err);
    if (status != LULL_OK)
        return status;
    lua_pushcfunction(L, keep_description);
    lua_insert(L, -2);
    status = lull_sandbox_call(sandbox, 1, 0, err);
    return status == LULL_OK ? lull_sandbox_protect(sandbox, read_solver, reading, err) : status;
}

lull_status lull_solver_read(const char *path, const struct lull_machine *machine,
                             const struct lull_solver_parameter *values, size_t n_values,
                             struct lull_arena *arena, struct lull_solver *ret_solver,
                             struct lull_error *err)
{
    struct lull_solver solver = {0};
    struct reading reading = {.machine = machine,
                              .values = values,
                              .n_values = n_values,
                              .used = lull_arena_zero(arena, n_values + 1, sizeof(bool)),
                              .arena = arena,
                              .solver = &solver};
    while (reading.levels < LULL_ECM_LINKS &&
           lull_machine_cache(machine, (unsigned)reading.levels + 1))
        reading.levels++;
    if (!reading.levels)
        return lull_fail(err, LULL_ERR_RANGE, "the machine file knows no caches");
    struct lull_sandbox *sandbox;
    lull_status status = lull_sandbox_open(path, NULL, &sandbox, err);
    if (status != LULL_OK)
        return status;
    status = run_description(sandbox, &reading, err);
    lull_sandbox_close(sandbox);
    for (size_t i = 0; status == LULL_OK && i < n_values; i++)
        if (!reading.used[i])
            return lull_fail(err, LULL_ERR_RANGE, "%s: has no parameter '%s'", path,
                             values[i].name);
    if (status == LULL_OK)
        *ret_solver = solver;
    return status;
}
