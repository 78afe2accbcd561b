/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/solver/solver.h"

#include "model/sandbox.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== reuse between kernels =================================================================== */

struct execution {
    size_t kernel;
    double number; /* among those of this kernel, which come in a row; from 0 */
};

struct reuse {
    const struct lull_solver *solver;
    const struct lull_solver_walk *walks;
    const double *sizes;
    const struct lull_solver_cache *cache;
    double bytes; /* of an instance that would hold as much of all arrays as one does of its part */
    double share; /* of all elements, those of the cores that are looked at */
};

static struct execution after(const struct reuse *reuse, struct execution execution)
{
    if (++execution.number < reuse->solver->kernels[execution.kernel].count)
        return execution;
    return (struct execution){(execution.kernel + 1) % reuse->solver->n_kernels, 0};
}

static const struct lull_solver_use *use_of(const struct lull_solver_walk *walk, size_t array)
{
    for (size_t i = 0; i < walk->n_uses; i++)
        if (walk->uses[i].array == array)
            return &walk->uses[i];
    return NULL;
}

/* Parts of an array that were touched between two uses of an element. */
enum { BELOW = 1, ABOVE = 2 }; /* elements before it in memory, and behind it */

/* Which elements of an array have left a level, by their place in the array (0 its begin, 1 its
 * end): those below `low` and those above `high`. */
struct gone {
    double low, high;
};

static double share_gone(struct gone gone)
{
    return fmin(1, gone.low + 1 - gone.high);
}

/* The elements that leave a level of so many bytes. How many bytes are touched between two uses of
 * an element is linear in its place: `begin` at 0, `end` at 1. */
static struct gone beyond(double begin, double end, double bytes)
{
    if (fmax(begin, end) <= bytes)
        return (struct gone){0, 1};
    if (fmin(begin, end) >= bytes)
        return (struct gone){1, 1};
    double place = (bytes - begin) / (end - begin);
    return begin > end ? (struct gone){place, 1} : (struct gone){0, place};
}

/* From an execution that uses an array to the next one that does: which of its elements leave the
 * level in the meantime. */
static struct gone wait_for_use(const struct reuse *reuse, struct execution from, size_t array,
                                struct execution *ret_next)
{
    unsigned char touched[LULL_SOLVER_ARRAYS] = {0};
    double begin = 0, end = 0;
    const struct lull_solver_walk *walk = &reuse->walks[from.kernel];
    struct execution next = from;
    bool reached = false;
    for (size_t i = 0; i < walk->n_uses; i++)
        touched[walk->uses[i].array] |= walk->backward ? BELOW : ABOVE;
    while (!reached) {
        next = after(reuse, next);
        walk = &reuse->walks[next.kernel];
        reached = use_of(walk, array) != NULL;
        for (size_t i = 0; i < walk->n_uses; i++)
            touched[walk->uses[i].array] |= !reached         ? BELOW | ABOVE
                                            : walk->backward ? ABOVE
                                                             : BELOW;
        if (!reached) /* further executions of the same kernel touch nothing new */
            next.number = reuse->solver->kernels[next.kernel].count;
    }
    for (size_t i = 0; i < LULL_SOLVER_ARRAYS; i++) {
        end += touched[i] & BELOW ? reuse->sizes[i] : 0;
        begin += touched[i] & ABOVE ? reuse->sizes[i] : 0;
    }
    *ret_next = next;
    return beyond(begin, end, reuse->bytes);
}

static bool splits_points(const struct reuse *reuse, struct execution execution)
{
    return reuse->solver->kernels[execution.kernel].wavefronts > 0;
}

/* The share of an array that its next user has to load: what has left the level, and what is in the
 * instance of another core. */
static double share_loaded(const struct reuse *reuse, struct execution from, struct execution next,
                           struct gone gone)
{
    double kept = 1 - share_gone(gone);
    if (splits_points(reuse, from) != splits_points(reuse, next))
        kept /= ceil((double)reuse->cache->cores / reuse->cache->sharers);
    return 1 - kept;
}

/* Times that a line is read again because the rows around it do not stay in a core's share. */
static double times_again(const struct reuse *reuse, struct execution execution,
                          const struct lull_solver_use *use)
{
    const struct lull_solver_cache *cache = reuse->cache;
    double around = use->layer_bytes / (splits_points(reuse, execution) ? cache->cores : 1);
    return reuse->bytes / cache->cores < around ? use->times - 1 : 0;
}

/* Adds what happens to an array from one use by a kernel on: the next user loads what has left. */
static void add_use(const struct reuse *reuse, struct execution from,
                    const struct lull_solver_use *use, size_t level)
{
    struct execution next;
    struct gone left = wait_for_use(reuse, from, use->array, &next);
    const struct lull_solver_use *user = use_of(&reuse->walks[next.kernel], use->array);
    struct lull_solver_kernel *kernels = reuse->solver->kernels;
    struct lull_solver_kernel *kernel = &kernels[next.kernel];
    double loaded = share_loaded(reuse, from, next, left);
    double again = times_again(reuse, next, user);
    kernel->lines[level].loads += reuse->share * (loaded + again) / kernel->count;
    if (!user->read)
        kernel->lines[level].allocates += reuse->share * loaded / kernel->count;
    if (!use->written)
        return;
    double stays = 1 - share_loaded(reuse, from, next, left);
    while (!user->written) {
        struct execution user_before = next;
        struct gone later = wait_for_use(reuse, next, use->array, &next);
        left = (struct gone){fmax(left.low, later.low), fmin(left.high, later.high)};
        stays = fmin(stays, 1 - share_loaded(reuse, user_before, next, left));
        user = use_of(&reuse->walks[next.kernel], use->array);
    }
    kernels[from.kernel].lines[level].stores +=
        reuse->share * (1 - stays) / kernels[from.kernel].count;
}

/* Adds the lines of `cores` cores whose instances are shared by `sharers` cores each. */
static void add_cores(const struct lull_solver *solver, const struct lull_solver_walk *walks,
                      const double *sizes, size_t level, const struct lull_solver_cache *cache,
                      unsigned sharers, unsigned cores)
{
    const struct reuse reuse = {solver,
                                walks,
                                sizes,
                                cache,
                                cache->bytes * cache->cores / sharers,
                                (double)cores / cache->cores};
    for (size_t k = 0; k < solver->n_kernels; k++)
        for (struct execution e = {k, 0}; e.number < solver->kernels[k].count; e.number++)
            for (size_t i = 0; i < walks[k].n_uses; i++)
                add_use(&reuse, e, &walks[k].uses[i], level);
}

void lull_solver_reuse(struct lull_solver *solver, const struct lull_solver_walk *walks,
                       const double *sizes, size_t level, const struct lull_solver_cache *cache)
{
    unsigned rest = cache->cores % cache->sharers, full = cache->cores - rest;
    for (size_t k = 0; k < solver->n_kernels; k++)
        solver->kernels[k].lines[level] = (struct lull_ecm_lines){0};
    if (full)
        add_cores(solver, walks, sizes, level, cache, cache->sharers, full);
    if (rest)
        add_cores(solver, walks, sizes, level, cache, rest, rest);
}

/* ==== the prediction ========================================================================== */

/* s of one barrier and one parallel region on that many threads. */
struct sync {
    double barrier, region;
    bool known;
};

static double openmp_cost(const struct lull_machine *machine, const char *compiler,
                          const char *construct, unsigned cores)
{
    char base[64];
    snprintf(base, sizeof base, "openmp.%s.%s", compiler, construct);
    const struct lull_number *number = lull_machine_find_threads(machine, base, cores, NULL);
    return number ? number->value : NAN;
}

/* A barrier of one thread may cost a call of the system, so that it counts where it was measured.
 */
static struct sync sync_of(const struct lull_machine *machine,
                           const struct lull_solver_options *options, unsigned cores)
{
    if (cores > 1 && !isnan(options->barrier))
        return (struct sync){options->barrier, options->barrier, true};
    struct sync sync = {.barrier = openmp_cost(machine, options->compiler, "barrier", cores),
                        .region = openmp_cost(machine, options->compiler, "parallel", cores)};
    sync.known = isfinite(sync.barrier) && isfinite(sync.region);
    return sync.known ? sync : (struct sync){.known = cores == 1};
}

/* ---- caches of several cores ----------------------------------------------------------------- */

/* Cores fill one instance after the other. */
static struct lull_solver_cache cache_of(const struct lull_machine *machine, size_t level,
                                         unsigned cores)
{
    const struct lull_machine_cache *cache = lull_machine_cache(machine, (unsigned)level + 1);
    return (struct lull_solver_cache){cores, cache->shared_cores ? cache->shared_cores : 1,
                                      (double)cache->bytes};
}

struct lull_solver_kernel *lull_solver_on_cores(const struct lull_solver *solver,
                                                const struct lull_machine *machine, unsigned cores,
                                                struct lull_arena *arena)
{
    if (!solver->walks)
        return solver->kernels;
    struct lull_solver scaled = *solver;
    scaled.kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *scaled.kernels);
    for (size_t i = 0; i < solver->n_kernels; i++)
        scaled.kernels[i] = solver->kernels[i];
    for (size_t level = 0; level < solver->kernels[0].n_lines; level++) {
        const struct lull_solver_cache cache = cache_of(machine, level, cores);
        lull_solver_reuse(&scaled, solver->walks, solver->sizes, level, &cache);
    }
    return scaled.kernels;
}

static lull_status predict_kernel(const struct lull_solver_kernel *kernel,
                                  const struct lull_machine *machine, struct lull_arena *arena,
                                  struct lull_ecm *ecm, struct lull_ecm_bandwidth *memory,
                                  struct lull_error *err)
{
    *ecm = (struct lull_ecm){.t_ol = kernel->t_ol, .t_nol = kernel->t_nol};
    lull_status status =
        lull_ecm_links(machine, kernel->lines, kernel->n_lines, arena, ecm, memory, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "kernel '%s'", kernel->name);
    return LULL_OK;
}

/* The nearest level each instance of which holds the parts of all arrays of its cores. */
static size_t level_holding_arrays(const struct lull_solver *solver,
                                   const struct lull_machine *machine, unsigned cores)
{
    size_t levels = solver->kernels[0].n_lines;
    for (size_t level = 0; solver->bytes > 0 && level < levels; level++) {
        const struct lull_solver_cache cache = cache_of(machine, level, cores);
        unsigned users = cores < cache.sharers ? cores : cache.sharers;
        if (solver->bytes * users <= cache.bytes * cores)
            return level;
    }
    return levels;
}

static void add_kernel_time(const struct lull_solver_prediction *prediction, size_t number,
                            const struct lull_ecm *ecm, const struct sync *sync,
                            struct lull_solver_scale *scale)
{
    const struct lull_solver_kernel *kernel = &prediction->solver->kernels[number];
    unsigned cores = scale->cores;
    double shared = scale->level == kernel->n_lines ? ecm->shared : 0;
    double alone = lull_ecm_time(ecm, scale->level);
    double units = kernel->count * kernel->points / LULL_SOLVER_POINTS_PER_LINE;
    double naive = lull_ecm_scale(alone, shared, cores);
    double latency = lull_ecm_scale_latency(alone, shared, cores);
    double steps = kernel->wavefronts > 0 ? kernel->wavefronts + cores - 1 : 0;
    double stretch = steps > 0 ? steps / kernel->wavefronts : 1;
    double waits = kernel->count *
                   ((kernel->barriers + steps) * sync->barrier + kernel->regions * sync->region);
    double rest = waits + kernel->count * kernel->seconds;
    scale->cycles += kernel->count * naive;
    scale->fill += naive * units / prediction->clock * (stretch - 1);
    scale->kernels[number] = naive * units / prediction->clock * stretch + rest;
    scale->seconds += scale->kernels[number];
    scale->latency += latency * units / prediction->clock * stretch + rest;
    scale->sync += waits;
}

static unsigned domain_cores(const struct lull_machine *machine)
{
    if (machine->cpu.cores_per_numa_domain)
        return machine->cpu.cores_per_numa_domain;
    return machine->cpu.cores ? machine->cpu.cores : 1;
}

/* Each kernel on one core; `limit` follows with the last of the cores. */
static lull_status predict_alone(const struct lull_machine *machine, struct lull_arena *arena,
                                 struct lull_solver_prediction *prediction, struct lull_error *err)
{
    const struct lull_solver *solver = prediction->solver;
    lull_status status = lull_ecm_clock(machine, &prediction->clock, err);
    for (size_t i = 0; status == LULL_OK && i < solver->n_kernels; i++) {
        struct lull_solver_kernel_time *time = &prediction->kernels[i];
        const struct lull_solver_kernel *kernel = &solver->kernels[i];
        status = predict_kernel(kernel, machine, arena, &time->ecm, &time->memory, err);
        if (status != LULL_OK)
            return status;
        time->cycles = lull_ecm_time(&time->ecm, kernel->n_lines);
        time->saturation = lull_ecm_saturation(time->cycles, time->ecm.shared);
        prediction->cycles += kernel->count * time->cycles;
    }
    return status;
}

static lull_status predict_cores(const struct lull_machine *machine,
                                 const struct lull_solver_options *options, unsigned cores,
                                 struct lull_arena *arena,
                                 struct lull_solver_prediction *prediction, struct lull_error *err)
{
    const struct lull_solver *solver = prediction->solver;
    const struct lull_solver_kernel *kernels = lull_solver_on_cores(solver, machine, cores, arena);
    struct lull_solver_scale *scale = &prediction->scales[cores - 1];
    const struct sync sync = sync_of(machine, options, cores);
    prediction->sync_known &= sync.known;
    scale->cores = cores;
    scale->level = level_holding_arrays(solver, machine, cores);
    scale->kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *scale->kernels);
    for (size_t i = 0; i < solver->n_kernels; i++) {
        struct lull_ecm ecm;
        struct lull_ecm_bandwidth memory;
        lull_status status = predict_kernel(&kernels[i], machine, arena, &ecm, &memory, err);
        if (status != LULL_OK)
            return status;
        add_kernel_time(prediction, i, &ecm, &sync, scale);
        if (cores < prediction->n_scales)
            continue;
        prediction->kernels[i].limit =
            lull_ecm_scale(lull_ecm_time(&ecm, kernels[i].n_lines), ecm.shared, cores);
        prediction->limit += kernels[i].count * prediction->kernels[i].limit;
    }
    return LULL_OK;
}

lull_status lull_solver_predict(const struct lull_solver *solver,
                                const struct lull_machine *machine,
                                const struct lull_solver_options *options, struct lull_arena *arena,
                                struct lull_solver_prediction *ret_prediction,
                                struct lull_error *err)
{
    struct lull_solver_prediction prediction = {
        .solver = solver,
        .kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *prediction.kernels),
        .n_scales = options->cores ? options->cores : domain_cores(machine),
        .sync_known = true};
    prediction.scales = lull_arena_zero(arena, prediction.n_scales, sizeof *prediction.scales);
    lull_status status = predict_alone(machine, arena, &prediction, err);
    for (unsigned n = 1; status == LULL_OK && n <= prediction.n_scales; n++)
        status = predict_cores(machine, options, n, arena, &prediction, err);
    if (status != LULL_OK)
        return status;
    for (size_t i = 0; i < solver->n_kernels; i++)
        prediction.kernels[i].seconds = prediction.scales[0].kernels[i];
    *ret_prediction = prediction;
    return LULL_OK;
}

/* ==== reading a description =================================================================== */

/* Of kernels whose arrays are named, the time for which goes with the square of the kernels. */
enum { MOST_KERNELS = 1000, MOST_EXECUTIONS = 100 };

/* What the functions of a description work on. */
struct solver_reading {
    const struct lull_machine *machine;
    const struct lull_solver_parameter *values;
    size_t n_values;
    bool *used; /* n_values */
    size_t levels;
    struct lull_arena *arena;
    struct lull_solver *solver;
    size_t capacity;
    struct lull_solver_walk *walks; /* of each kernel, where they name their arrays */
    size_t n_walks;                 /* kernels that do, of those that were read */
    const char *arrays[LULL_SOLVER_ARRAYS];
    double *sizes; /* B, LULL_SOLVER_ARRAYS */
    size_t n_arrays;
};

static struct solver_reading *reading_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- functions of a description -------------------------------------------------------------- */

/* parameter(NAME, DEFAULT) */
static int call_parameter(lua_State *L)
{
    struct solver_reading *reading = reading_of(L);
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

/* Bytes of a level that a core has when all that share it are at work. */
static double cache_bytes(lua_State *L, const struct solver_reading *reading, lua_Integer level)
{
    const struct lull_machine_cache *cache =
        level > 0 && level <= LULL_ECM_LINKS ? lull_machine_cache(reading->machine, (unsigned)level)
                                             : NULL;
    if (!cache || !cache->bytes)
        luaL_error(L, "cache(%d): the machine file does not know it", (int)level);
    return (double)cache->bytes / (cache->shared_cores ? cache->shared_cores : 1);
}

/* cache(LEVEL) */
static int call_cache(lua_State *L)
{
    lua_pushnumber(L, cache_bytes(L, reading_of(L), luaL_checkinteger(L, 1)));
    return 1;
}

static int add_functions(lua_State *L)
{
    struct solver_reading *reading = lua_touserdata(L, 1);
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

/* ---- the table that it returns --------------------------------------------------------------- */

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

/* "missing", "-1", "string": what a field, on the top of the stack, is instead. */
static const char *what_is(lua_State *L)
{
    if (lua_isnil(L, -1))
        return "missing";
    return lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

/* A number from 0 up of the table on the top; `otherwise` where it is missing, NAN: it must not. */
static double solver_number_field(lua_State *L, const char *where, const char *name,
                                  double otherwise)
{
    lua_getfield(L, -1, name);
    double value = otherwise;
    if (!lua_isnil(L, -1))
        value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    if (!(value >= 0) || !isfinite(value))
        luaL_error(L, "%s: '%s' is %s, expected a number from 0 up", where, name, what_is(L));
    lua_pop(L, 1);
    return value;
}

static double points_field(lua_State *L)
{
    lua_getfield(L, -1, "points");
    double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    if (!(value > 0) || !isfinite(value))
        luaL_error(L, "the description: 'points' is %s, expected a number above 0", what_is(L));
    lua_pop(L, 1);
    return value;
}

static const char *solver_text_field(lua_State *L, const char *where, const char *name,
                                     struct lull_arena *arena)
{
    lua_getfield(L, -1, name);
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "%s: '%s' is %s, expected a text", where, name, luaL_typename(L, -1));
    const char *text = lull_arena_strdup(arena, lua_tostring(L, -1));
    lua_pop(L, 1);
    return text;
}

/* The table on the top, two numbers, of which the first is at least `least` and the second is not
 * negative; `what` says that of the field. */
static void read_number_pair(lua_State *L, const char *where, const char *what, double least,
                             double pair[2])
{
    bool good = lua_istable(L, -1) && lua_rawlen(L, -1) == 2;
    for (int i = 0; good && i < 2; i++) {
        lua_geti(L, -1, i + 1);
        pair[i] = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
        good = pair[i] >= (i ? 0 : least) && isfinite(pair[i]);
        lua_pop(L, 1);
    }
    if (!good)
        luaL_error(L, "%s: %s", where, what);
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
        double pair[2];
        lua_geti(L, -1, (lua_Integer)i + 1);
        read_number_pair(L, where, "'lines' holds pairs of numbers from 0 up: {read, written}", 0,
                         pair);
        kernel->lines[i] =
            (struct lull_ecm_lines){pair[0], pair[1], .allocates = fmin(pair[0], pair[1])};
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ---- arrays of a kernel ---------------------------------------------------------------------- */

static size_t array_named(lua_State *L, const char *where, struct solver_reading *reading,
                          const char *name, double bytes)
{
    size_t i = 0;
    while (i < reading->n_arrays && strcmp(reading->arrays[i], name) != 0)
        i++;
    if (i == LULL_SOLVER_ARRAYS)
        luaL_error(L, "%s: more than %d arrays", where, LULL_SOLVER_ARRAYS);
    if (i < reading->n_arrays && reading->sizes[i] != bytes)
        luaL_error(L, "%s: array '%s' has other points in a kernel before", where, name);
    if (i == reading->n_arrays) {
        reading->arrays[reading->n_arrays] = lull_arena_strdup(reading->arena, name);
        reading->sizes[reading->n_arrays++] = bytes;
    }
    return i;
}

/* The use of an array by a kernel, a new one where there is none yet. */
static struct lull_solver_use *use_named(lua_State *L, const char *where,
                                         struct solver_reading *reading, double bytes,
                                         struct lull_solver_use *uses, size_t *n_uses)
{
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "%s: 'reads' and 'writes' are lists of names of arrays", where);
    size_t array = array_named(L, where, reading, lua_tostring(L, -1), bytes);
    for (size_t i = 0; i < *n_uses; i++)
        if (uses[i].array == array)
            return &uses[i];
    uses[*n_uses] = (struct lull_solver_use){.array = array, .times = 1};
    return &uses[(*n_uses)++];
}

static void read_uses(lua_State *L, const char *where, const char *field, double bytes,
                      struct solver_reading *reading, struct lull_solver_use *uses, size_t *n_uses)
{
    bool written = strcmp(field, "writes") == 0;
    if (lua_getfield(L, -1, field) != LUA_TNIL && !lua_istable(L, -1))
        luaL_error(L, "%s: '%s' is %s, expected a list", where, field, luaL_typename(L, -1));
    size_t count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    for (size_t i = 0; i < count; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        struct lull_solver_use *use = use_named(L, where, reading, bytes, uses, n_uses);
        *(written ? &use->written : &use->read) = true;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* layers = {p = {3, bytes}} */
static void read_layers(lua_State *L, const char *where, const struct solver_reading *reading,
                        struct lull_solver_use *uses, size_t n_uses)
{
    const char *names[LULL_SOLVER_ARRAYS + 1] = {NULL};
    double pair[2];
    if (lua_getfield(L, -1, "layers") != LUA_TNIL && !lua_istable(L, -1))
        luaL_error(L, "%s: 'layers' is %s, expected a table", where, luaL_typename(L, -1));
    for (size_t i = 0; i < n_uses && lua_istable(L, -1); i++) {
        names[i] = reading->arrays[uses[i].array];
        if (lua_getfield(L, -1, names[i]) != LUA_TNIL) {
            read_number_pair(L, where, "'layers' holds pairs: {times from 1 up, bytes}", 1, pair);
            uses[i].times = pair[0];
            uses[i].layer_bytes = pair[1];
        }
        lua_pop(L, 1);
    }
    if (lua_istable(L, -1))
        refuse_unknown(L, lull_arena_printf(reading->arena, "%s: 'layers'", where), names);
    lua_pop(L, 1);
}

static bool has_field(lua_State *L, const char *name)
{
    bool has = lua_getfield(L, -1, name) != LUA_TNIL;
    lua_pop(L, 1);
    return has;
}

static void read_walk(lua_State *L, const char *where, const struct lull_solver_kernel *kernel,
                      struct solver_reading *reading, struct lull_solver_walk *walk)
{
    double bytes = kernel->points * sizeof(double);
    struct lull_solver_use *uses =
        lull_arena_zero(reading->arena, LULL_SOLVER_ARRAYS, sizeof *uses);
    if (kernel->count < 1 || kernel->count > MOST_EXECUTIONS || fmod(kernel->count, 1) != 0)
        luaL_error(L, "%s: 'count' of a kernel with arrays is a whole number from 1 to %d", where,
                   MOST_EXECUTIONS);
    read_uses(L, where, "reads", bytes, reading, uses, &walk->n_uses);
    read_uses(L, where, "writes", bytes, reading, uses, &walk->n_uses);
    read_layers(L, where, reading, uses, walk->n_uses);
    if (lua_getfield(L, -1, "backward") != LUA_TNIL && !lua_isboolean(L, -1))
        luaL_error(L, "%s: 'backward' is %s, expected true or false", where, luaL_typename(L, -1));
    walk->backward = lua_toboolean(L, -1);
    lua_pop(L, 1);
    walk->uses = uses;
    reading->n_walks++;
}

/* Either all kernels give lines, or all name their arrays. */
static void read_traffic(lua_State *L, const char *where, size_t number,
                         struct solver_reading *reading, struct lull_solver_kernel *kernel)
{
    bool arrays = has_field(L, "reads") || has_field(L, "writes");
    if (arrays == has_field(L, "lines"))
        luaL_error(L, "%s: has %s 'lines' %s 'reads' or 'writes'", where,
                   arrays ? "both" : "neither", arrays ? "and" : "nor");
    if (!arrays && (has_field(L, "layers") || has_field(L, "backward")))
        luaL_error(L, "%s: 'layers' and 'backward' belong to 'reads' and 'writes'", where);
    if (number > 0 && arrays != (reading->n_walks > 0))
        luaL_error(L, "%s: has '%s', kernels before have %s", where, arrays ? "reads" : "lines",
                   arrays ? "'lines'" : "'reads' and 'writes'");
    if (arrays)
        read_walk(L, where, kernel, reading, &reading->walks[number]);
    else
        read_lines(L, where, reading->levels, kernel);
    kernel->n_lines = reading->levels;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void read_solver_kernel(lua_State *L, size_t number, struct solver_reading *reading,
                               struct lull_solver_kernel *kernel)
{
    static const char *const known[] = {
        "name",   "count",    "points", "T_OL",    "T_nOL",    "lines",      "reads",   "writes",
        "layers", "backward", "flops",  "regions", "barriers", "wavefronts", "seconds", NULL};
    const char *where = lull_arena_printf(reading->arena, "kernel %zu", number + 1);
    if (!lua_istable(L, -1))
        luaL_error(L, "%s is %s, expected a table", where, luaL_typename(L, -1));
    refuse_unknown(L, where, known);
    kernel->name = solver_text_field(L, where, "name", reading->arena);
    where = lull_arena_printf(reading->arena, "kernel '%s'", kernel->name);
    kernel->count = solver_number_field(L, where, "count", 1);
    kernel->points = solver_number_field(L, where, "points", reading->solver->points);
    kernel->t_ol = solver_number_field(L, where, "T_OL", NAN);
    kernel->t_nol = solver_number_field(L, where, "T_nOL", NAN);
    kernel->flops = solver_number_field(L, where, "flops", 0);
    kernel->regions = solver_number_field(L, where, "regions", 0);
    kernel->barriers = solver_number_field(L, where, "barriers", 0);
    kernel->wavefronts = solver_number_field(L, where, "wavefronts", 0);
    kernel->seconds = solver_number_field(L, where, "seconds", 0);
    read_traffic(L, where, number, reading, kernel);
}

/* The lines of kernels that name their arrays, and how much the arrays take. */
static void count_kernel_lines(lua_State *L, struct solver_reading *reading)
{
    struct lull_solver *solver = reading->solver;
    if (solver->n_kernels > MOST_KERNELS)
        luaL_error(L, "more than %d kernels with arrays", MOST_KERNELS);
    for (size_t level = 0; level < reading->levels; level++)
        cache_bytes(L, reading, (lua_Integer)level + 1);
    solver->walks = reading->walks;
    solver->sizes = reading->sizes;
    solver->kernels = lull_solver_on_cores(solver, reading->machine, 1, reading->arena);
    if (has_field(L, "bytes"))
        return;
    for (size_t i = 0; i < reading->n_arrays; i++)
        solver->bytes += reading->sizes[i];
}

static int read_solver(lua_State *L)
{
    static const char *const known[] = {"title", "points", "bytes", "kernels", NULL};
    struct solver_reading *reading = lua_touserdata(L, 1);
    struct lull_solver *solver = reading->solver;
    lua_getglobal(L, "description");
    if (!lua_istable(L, -1))
        return luaL_error(L, "returns %s, expected a table with 'kernels'", luaL_typename(L, -1));
    refuse_unknown(L, "the description", known);
    solver->title = solver_text_field(L, "the description", "title", reading->arena);
    solver->points = points_field(L);
    solver->bytes = solver_number_field(L, "the description", "bytes", 0);
    lua_getfield(L, -1, "kernels");
    solver->n_kernels = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    if (!solver->n_kernels)
        return luaL_error(L, "'kernels' is %s, expected a list", luaL_typename(L, -1));
    solver->kernels = lull_arena_zero(reading->arena, solver->n_kernels, sizeof *solver->kernels);
    reading->walks = lull_arena_zero(reading->arena, solver->n_kernels, sizeof *reading->walks);
    for (size_t i = 0; i < solver->n_kernels; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        read_solver_kernel(L, i, reading, &solver->kernels[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (reading->n_walks)
        count_kernel_lines(L, reading);
    return 0;
}

static int keep_description(lua_State *L)
{
    lua_setglobal(L, "description");
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lull_status run_description(struct lull_sandbox *sandbox, struct solver_reading *reading,
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
    struct solver_reading reading = {
        .machine = machine,
        .values = values,
        .n_values = n_values,
        .used = lull_arena_zero(arena, n_values + 1, sizeof(bool)),
        .arena = arena,
        .solver = &solver,
        .sizes = lull_arena_zero(arena, LULL_SOLVER_ARRAYS, sizeof(double))};
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
