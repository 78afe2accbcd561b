#include "model/program/primitives.h"

#include "model/program/maximum.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------ */

enum key {
    FLOPS,
    RATE,
    SECONDS,
    BYTES,
    BANDWIDTH,
    LATENCY,
    COUNT,
    THREADS,
    OVERHEAD,
    IMBALANCE,
    DRAWS,
    MEAN,
    VALUE,
    PROBABILITY,
    LEAST,
    MOST,
    SHAPE,
    SD,
    PERIOD,
    LENGTH,
    DURATION,
    PERIODIC,
    ALGORITHM,
    DISTRIBUTION,
    GRID,
    KEYS
};

static const char *const key_names[KEYS] = {
    "flops",    "rate",      "seconds",      "bytes", "bandwidth", "latency", "count",
    "threads",  "overhead",  "imbalance",    "draws", "mean",      "value",   "probability",
    "least",    "most",      "shape",        "sd",    "period",    "length",  "duration",
    "periodic", "algorithm", "distribution", "grid"};

#define BIT(key) (UINT32_C(1) << (key))

struct arguments {
    lua_State *L;
    const char *primitive;
    uint32_t given; /* bits of keys */
    double numbers[KEYS];
    bool periodic;
    const char *algorithm, *distribution; /* in the table of arguments */
    double lists[2][LULL_GRID_DIMENSIONS];
    uint32_t lengths[2]; /* of bytes and grid; 0: a number, or not given */
};

static bool has(const struct arguments *arguments, enum key key)
{
    return arguments->given & BIT(key);
}

/* Numbers are times, sizes and counts: never below 0. */
static double check_number(lua_State *L, const char *primitive, enum key key)
{
    double number = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "%s: %s is a %s, expected a number", primitive, key_names[key],
                   luaL_typename(L, -1));
    if (!(number >= 0))
        luaL_error(L, "%s: %s is %f, expected 0 or more", primitive, key_names[key], number);
    return number;
}

static void read_list(struct arguments *arguments, enum key key, bool is_grid)
{
    lua_State *L = arguments->L;
    lua_Unsigned length = lua_rawlen(L, -1);
    if (length < 1 || length > LULL_GRID_DIMENSIONS)
        luaL_error(L, "%s: %s has %d numbers, expected 1 to 3", arguments->primitive,
                   key_names[key], (int)length);
    for (lua_Unsigned i = 0; i < length; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        arguments->lists[is_grid][i] = check_number(L, arguments->primitive, key);
        lua_pop(L, 1);
    }
    arguments->lengths[is_grid] = (uint32_t)length;
}

static const char *check_word(const struct arguments *arguments, enum key key)
{
    if (lua_type(arguments->L, -1) != LUA_TSTRING)
        luaL_error(arguments->L, "%s: %s is a %s, expected a word", arguments->primitive,
                   key_names[key], luaL_typename(arguments->L, -1));
    return lua_tostring(arguments->L, -1);
}

static void read_argument(struct arguments *arguments, enum key key)
{
    lua_State *L = arguments->L;
    bool is_list = lua_type(L, -1) == LUA_TTABLE;
    arguments->given |= BIT(key);
    if (key == PERIODIC)
        arguments->periodic = lua_toboolean(L, -1);
    else if (key == ALGORITHM)
        arguments->algorithm = check_word(arguments, key);
    else if (key == DISTRIBUTION)
        arguments->distribution = check_word(arguments, key);
    else if (key == GRID || (key == BYTES && is_list)) {
        if (!is_list)
            luaL_error(L, "%s: grid is a %s, expected a list", arguments->primitive,
                       luaL_typename(L, -1));
        read_list(arguments, key, key == GRID);
    } else
        arguments->numbers[key] = check_number(L, arguments->primitive, key);
}

/* The table that is the only argument of a primitive; `allowed` are bits of keys. */
static struct arguments read_arguments(lua_State *L, const char *primitive, uint32_t allowed)
{
    struct arguments arguments = {.L = L, .primitive = primitive};
    if (lua_type(L, 1) != LUA_TTABLE)
        luaL_error(L, "%s: expected a table: %s{...}", primitive, primitive);
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "number";
        unsigned key = 0;
        while (key < KEYS && (!(allowed & BIT(key)) || strcmp(name, key_names[key]) != 0))
            key++;
        if (key == KEYS)
            luaL_error(L, "%s: there is no '%s'", primitive, name);
        read_argument(&arguments, key);
        lua_pop(L, 1);
    }
    return arguments;
}

static void demand(const struct arguments *arguments, enum key key)
{
    if (!has(arguments, key))
        luaL_error(arguments->L, "%s: no %s", arguments->primitive, key_names[key]);
}

static double demand_positive(const struct arguments *arguments, enum key key)
{
    demand(arguments, key);
    if (arguments->numbers[key] <= 0)
        luaL_error(arguments->L, "%s: %s is 0, expected more", arguments->primitive,
                   key_names[key]);
    return arguments->numbers[key];
}

/* ---- tally ---------------------------------------------------------------------------------- */

static struct lull_tally *tally_of(lua_State *L)
{
    struct lull_tally *tally;
    memcpy(&tally, lua_getextraspace(L), sizeof tally);
    return tally;
}

static void spend(struct lull_tally *tally, enum lull_resource resource, double seconds)
{
    tally->cost.parts[resource] += seconds;
    tally->cost.seconds += seconds;
}

static void keep(struct lull_tally *tally, const struct lull_operation *operation)
{
    if (!tally->recording)
        return;
    tally->operations = lull_arena_grow(tally->recording, tally->operations, &tally->capacity,
                                        tally->n_operations + 1, sizeof *operation);
    tally->operations[tally->n_operations++] = *operation;
}

static void keep_computation(struct lull_tally *tally, double seconds)
{
    keep(tally,
         &(struct lull_operation){.kind = LULL_OPERATION_COMPUTE, .count = 1, .seconds = seconds});
}

/* ---- computation ---------------------------------------------------------------------------- */

/* compute{flops, rate}, compute{bytes, bandwidth}, the longer of both, or compute{seconds}. */
static int compute(lua_State *L)
{
    struct arguments a = read_arguments(
        L, "compute", BIT(FLOPS) | BIT(RATE) | BIT(SECONDS) | BIT(BYTES) | BIT(BANDWIDTH));
    struct lull_tally *tally = tally_of(L);
    if (a.lengths[0])
        luaL_error(L, "compute: bytes is a list, expected a number");
    double arithmetic = 0, memory = 0;
    if (has(&a, FLOPS))
        arithmetic = a.numbers[FLOPS] / demand_positive(&a, RATE);
    if (has(&a, BYTES))
        memory = a.numbers[BYTES] / demand_positive(&a, BANDWIDTH);
    if (has(&a, SECONDS) ? has(&a, FLOPS) || has(&a, BYTES) : !has(&a, FLOPS) && !has(&a, BYTES))
        luaL_error(L, "compute: expected flops and rate, bytes and bandwidth, or seconds");
    double seconds = a.numbers[SECONDS] + fmax(arithmetic, memory);
    spend(tally, memory > arithmetic ? LULL_RESOURCE_MEMORY : LULL_RESOURCE_COMPUTATION, seconds);
    keep_computation(tally, seconds);
    lua_pushnumber(L, seconds);
    return 1;
}

/* parallel{seconds, threads, overhead, imbalance}: an OpenMP region with `seconds` of work. */
static int parallel(lua_State *L)
{
    struct arguments a =
        read_arguments(L, "parallel", BIT(SECONDS) | BIT(THREADS) | BIT(OVERHEAD) | BIT(IMBALANCE));
    struct lull_tally *tally = tally_of(L);
    demand(&a, SECONDS);
    double work = a.numbers[SECONDS] / demand_positive(&a, THREADS);
    double lost = a.numbers[OVERHEAD] + a.numbers[IMBALANCE] * work;
    spend(tally, LULL_RESOURCE_COMPUTATION, work);
    spend(tally, LULL_RESOURCE_THREADS, lost);
    keep_computation(tally, work + lost);
    lua_pushnumber(L, work + lost);
    return 1;
}

/* ---- messages ------------------------------------------------------------------------------- */

#define OF_MESSAGES (BIT(BYTES) | BIT(LATENCY) | BIT(BANDWIDTH) | BIT(COUNT))

/* What messages cost here; *ret_count is how often the primitive is repeated. */
static void read_network(const struct arguments *a, double *ret_latency, double *ret_bandwidth,
                         double *ret_count)
{
    const struct lull_tally *tally = tally_of(a->L);
    *ret_latency = has(a, LATENCY) ? a->numbers[LATENCY] : tally->latency;
    *ret_bandwidth = has(a, BANDWIDTH) ? a->numbers[BANDWIDTH] : tally->bandwidth;
    *ret_count = has(a, COUNT) ? a->numbers[COUNT] : 1;
    if (isnan(*ret_latency))
        luaL_error(a->L, "%s: no latency, here or in the model's network", a->primitive);
    if (!(*ret_bandwidth > 0))
        luaL_error(a->L, "%s: no bandwidth above 0, here or in the model's network", a->primitive);
}

/* message{bytes}: each process sends one to the next and gets one; count of them. */
static int message(lua_State *L)
{
    struct arguments a = read_arguments(L, "message", OF_MESSAGES);
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    demand(&a, BYTES);
    if (a.lengths[0])
        luaL_error(L, "message: bytes is a list, expected a number");
    read_network(&a, &latency, &bandwidth, &count);
    if (tally->processes > 1) {
        spend(tally, LULL_RESOURCE_LATENCY, count * latency);
        spend(tally, LULL_RESOURCE_BANDWIDTH, count * a.numbers[BYTES] / bandwidth);
        tally->cost.messages += count * tally->processes;
        tally->cost.bytes += count * tally->processes * a.numbers[BYTES];
        keep(tally, &(struct lull_operation){
                        .kind = LULL_OPERATION_SHIFT, .count = count, .bytes = {a.numbers[BYTES]}});
    }
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

static void check_grid(const struct arguments *a, const struct lull_tally *tally)
{
    double places = 1;
    for (uint32_t d = 0; d < a->lengths[1]; d++) {
        double extent = a->lists[1][d];
        if (extent != floor(extent) || extent < 1)
            luaL_error(a->L, "halo: an extent of the grid is %f, expected a whole number", extent);
        places *= extent;
    }
    if (places != tally->processes)
        luaL_error(a->L, "halo: the grid has %d places for %d processes", (int)fmin(places, 1e9),
                   (int)fmin(tally->processes, 1e9));
    if (a->lengths[0] > 0 && a->lengths[0] != a->lengths[1])
        luaL_error(a->L, "halo: bytes has %d numbers, the grid %d", (int)a->lengths[0],
                   (int)a->lengths[1]);
}

/* halo{grid, bytes, periodic}: one message after the other to both neighbours in each dimension.
 * The time is that of a process with most neighbours. */
static int halo(lua_State *L)
{
    struct arguments a = read_arguments(L, "halo", OF_MESSAGES | BIT(GRID) | BIT(PERIODIC));
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    demand(&a, BYTES);
    demand(&a, GRID);
    check_grid(&a, tally);
    read_network(&a, &latency, &bandwidth, &count);
    struct lull_operation operation = {
        .kind = LULL_OPERATION_HALO, .count = count, .grid = {1, 1, 1}, .periodic = a.periodic};
    for (uint32_t d = 0; d < a.lengths[1]; d++) {
        double extent = a.lists[1][d], bytes = a.lengths[0] ? a.lists[0][d] : a.numbers[BYTES];
        double neighbours = extent == 1 ? 0 : a.periodic ? 2 : fmin(2, extent - 1);
        double links = extent == 1 ? 0 : a.periodic ? extent : extent - 1;
        double messages = count * 2 * links * tally->processes / extent;
        spend(tally, LULL_RESOURCE_LATENCY, count * neighbours * latency);
        spend(tally, LULL_RESOURCE_BANDWIDTH, count * neighbours * bytes / bandwidth);
        tally->cost.messages += messages;
        tally->cost.bytes += messages * bytes;
        operation.bytes[d] = bytes;
        operation.grid[d] = extent > UINT32_MAX ? 1 : (uint32_t)extent;
    }
    keep(tally, &operation);
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* allreduce{bytes, algorithm} and so on; the name of the function is its upvalue. */
static int collective(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    struct arguments a = read_arguments(L, name, OF_MESSAGES | BIT(ALGORITHM));
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, processes = tally->processes;
    double before = tally->cost.seconds;
    const struct lull_collective_form *form = lull_collective_form_find(name, a.algorithm);
    if (!form)
        luaL_error(L, "%s: there is no algorithm '%s'", name, a.algorithm);
    if (a.lengths[0])
        luaL_error(L, "%s: bytes is a list, expected a number", name);
    read_network(&a, &latency, &bandwidth, &count);
    double volume = form->volume(processes, a.numbers[BYTES]);
    spend(tally, LULL_RESOURCE_LATENCY, count * form->steps(processes) * latency);
    spend(tally, LULL_RESOURCE_BANDWIDTH, count * volume / bandwidth);
    tally->cost.collectives += count * processes;
    keep(tally, &(struct lull_operation){.kind = LULL_OPERATION_COLLECTIVE,
                                         .count = count,
                                         .bytes = {a.numbers[BYTES]},
                                         .form = form});
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* ---- noise ---------------------------------------------------------------------------------- */

#define OF_DISTRIBUTIONS                                                                      \
    (BIT(DISTRIBUTION) | BIT(MEAN) | BIT(VALUE) | BIT(PROBABILITY) | BIT(LEAST) | BIT(MOST) | \
     BIT(SHAPE) | BIT(SD))

static struct lull_distribution read_distribution(const struct arguments *a)
{
    struct lull_distribution made = {0};
    struct lull_error err = {"there is no such distribution"};
    lull_status status = LULL_ERR_RANGE;
    const double *n = a->numbers;
    demand(a, DISTRIBUTION);
    if (strcmp(a->distribution, "constant") == 0)
        status = lull_distribution_constant(n[VALUE], &made, &err);
    else if (strcmp(a->distribution, "exponential") == 0)
        status = lull_distribution_exponential(n[MEAN], &made, &err);
    else if (strcmp(a->distribution, "uniform") == 0)
        status = lull_distribution_uniform(n[LEAST], n[MOST], &made, &err);
    else if (strcmp(a->distribution, "gamma") == 0)
        status = lull_distribution_gamma(n[MEAN], n[SHAPE], &made, &err);
    else if (strcmp(a->distribution, "bernoulli") == 0)
        status = lull_distribution_bernoulli(n[VALUE], n[PROBABILITY], &made, &err);
    else if (strcmp(a->distribution, "normal") == 0)
        status = lull_distribution_normal(n[MEAN], n[SD], 0, (double)INFINITY, &made, &err);
    if (status != LULL_OK)
        luaL_error(a->L, "noise: distribution '%s': %s", a->distribution, err.text);
    return made;
}

/* Detours of one length that come with a period, each rank's at other times: how many of them a
 * computation meets for certain, and the chance of one more. */
static struct lull_distribution read_detours(const struct arguments *a, double *ret_certain)
{
    struct lull_distribution made;
    double period = demand_positive(a, PERIOD);
    demand(a, LENGTH);
    demand(a, DURATION);
    if (a->numbers[LENGTH] >= period)
        luaL_error(a->L, "noise: length is %f, expected less than the period", a->numbers[LENGTH]);
    double met = a->numbers[DURATION] / period, chance = met - floor(met);
    *ret_certain = floor(met) * a->numbers[LENGTH];
    if (chance == 0)
        lull_distribution_constant(0, &made, NULL);
    else
        lull_distribution_bernoulli(a->numbers[LENGTH], chance, &made, NULL);
    return made;
}

/* noise{distribution, ...} or noise{period, length, duration}: what the process that is disturbed
 * most has to be waited for, at the next operation in which all wait for all. */
static int noise(lua_State *L)
{
    struct arguments a = read_arguments(
        L, "noise", OF_DISTRIBUTIONS | BIT(PERIOD) | BIT(LENGTH) | BIT(DURATION) | BIT(DRAWS));
    struct lull_tally *tally = tally_of(L);
    double certain = 0;
    struct lull_operation operation = {
        .kind = LULL_OPERATION_NOISE,
        .count = 1,
        .noise = has(&a, PERIOD) ? read_detours(&a, &certain) : read_distribution(&a),
        .draws = has(&a, DRAWS) ? a.numbers[DRAWS] : tally->processes,
    };
    if (!(operation.draws >= 1))
        luaL_error(L, "noise: draws is %f, expected 1 or more", operation.draws);
    double seconds = certain + lull_expected_maximum(&operation.noise, operation.draws);
    spend(tally, LULL_RESOURCE_NOISE, seconds);
    if (certain > 0)
        keep_computation(tally, certain);
    keep(tally, &operation);
    lua_pushnumber(L, seconds);
    return 1;
}

/* ---- grid ----------------------------------------------------------------------------------- */

/* The largest divisor of n that is not above its root-th root. */
static uint32_t divisor_below_root(uint32_t n, uint32_t root)
{
    uint32_t divisor = (uint32_t)(pow(n, 1.0 / root) + 1e-9);
    while (n % divisor != 0)
        divisor--;
    return divisor;
}

void lull_grid_divide(uint32_t processes, uint32_t dimensions,
                      uint32_t ret_grid[LULL_GRID_DIMENSIONS])
{
    for (uint32_t d = dimensions; d-- > 0;) {
        ret_grid[d] = d == 0 ? processes : divisor_below_root(processes, d + 1);
        processes /= ret_grid[d];
    }
}

/* grid(processes, dimensions): a list of extents. */
static int grid(lua_State *L)
{
    struct lull_tally *tally = tally_of(L);
    double processes = luaL_checknumber(L, 1);
    lua_Integer dimensions = luaL_checkinteger(L, 2);
    if (!(processes >= 1 && processes <= UINT32_MAX && processes == floor(processes)))
        luaL_error(L, "grid: %f processes, expected a whole number", processes);
    if (dimensions < 1 || dimensions > LULL_GRID_DIMENSIONS)
        luaL_error(L, "grid: %d dimensions, expected 1 to 3", (int)dimensions);
    if (tally->grid_processes != processes || tally->grid_dimensions != dimensions) {
        lull_grid_divide((uint32_t)processes, (uint32_t)dimensions, tally->grid);
        tally->grid_processes = processes;
        tally->grid_dimensions = (uint32_t)dimensions;
    }
    lua_createtable(L, (int)dimensions, 0);
    for (lua_Integer d = 0; d < dimensions; d++) {
        lua_pushinteger(L, tally->grid[d]);
        lua_rawseti(L, -2, d + 1);
    }
    return 1;
}

void lull_primitives_open(lua_State *L, struct lull_tally *tally)
{
    static const luaL_Reg functions[] = {{"compute", compute}, {"parallel", parallel},
                                         {"message", message}, {"halo", halo},
                                         {"noise", noise},     {"grid", grid}};
    memcpy(lua_getextraspace(L), &tally, sizeof tally);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        lua_register(L, functions[i].name, functions[i].func);
    for (const struct lull_collective_form *form = lull_collective_forms; form->primitive; form++) {
        lua_pushstring(L, form->primitive);
        lua_pushcclosure(L, collective, 1);
        lua_setglobal(L, form->primitive);
    }
}
