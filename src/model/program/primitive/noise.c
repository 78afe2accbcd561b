#include "model/program/primitive/arguments.h"
#include "model/program/primitive/maximum.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* ---- noise ---------------------------------------------------------------------------------- */

#define OF_DISTRIBUTIONS                                                                      \
    (KEY_BIT(KEY_DISTRIBUTION) | KEY_BIT(KEY_MEAN) | KEY_BIT(KEY_VALUE) |                     \
     KEY_BIT(KEY_PROBABILITY) | KEY_BIT(KEY_LEAST) | KEY_BIT(KEY_MOST) | KEY_BIT(KEY_SHAPE) | \
     KEY_BIT(KEY_SD))

static struct lull_distribution read_distribution(const struct arguments *a)
{
    struct lull_distribution made = {0};
    struct lull_error err = {"there is no such distribution"};
    lull_status status = LULL_ERR_RANGE;
    const double *n = a->numbers;
    lull_argument_demand(a, KEY_DISTRIBUTION);
    if (strcmp(lull_argument_word(a, KEY_DISTRIBUTION), "constant") == 0)
        status = lull_distribution_constant(n[KEY_VALUE], &made, &err);
    else if (strcmp(lull_argument_word(a, KEY_DISTRIBUTION), "exponential") == 0)
        status = lull_distribution_exponential(n[KEY_MEAN], &made, &err);
    else if (strcmp(lull_argument_word(a, KEY_DISTRIBUTION), "uniform") == 0)
        status = lull_distribution_uniform(n[KEY_LEAST], n[KEY_MOST], &made, &err);
    else if (strcmp(lull_argument_word(a, KEY_DISTRIBUTION), "gamma") == 0)
        status = lull_distribution_gamma(n[KEY_MEAN], n[KEY_SHAPE], &made, &err);
    else if (strcmp(lull_argument_word(a, KEY_DISTRIBUTION), "bernoulli") == 0)
        status = lull_distribution_bernoulli(n[KEY_VALUE], n[KEY_PROBABILITY], &made, &err);
    else if (strcmp(lull_argument_word(a, KEY_DISTRIBUTION), "normal") == 0)
        status = lull_distribution_normal(n[KEY_MEAN], n[KEY_SD], 0, (double)INFINITY, &made, &err);
    if (status != LULL_OK)
        luaL_error(a->L, "noise: distribution '%s': %s", lull_argument_word(a, KEY_DISTRIBUTION),
                   err.text);
    return made;
}

/* Detours of one length that come with a period, each rank's at other times: how many of them a
 * computation meets for certain, and the chance of one more. */
static struct lull_distribution read_detours(const struct arguments *a, double *ret_certain)
{
    struct lull_distribution made;
    double period = lull_argument_positive(a, KEY_PERIOD);
    lull_argument_demand(a, KEY_LENGTH);
    lull_argument_demand(a, KEY_DURATION);
    if (a->numbers[KEY_LENGTH] >= period)
        luaL_error(a->L, "noise: length is %f, expected less than the period",
                   a->numbers[KEY_LENGTH]);
    double met = a->numbers[KEY_DURATION] / period, chance = met - floor(met);
    *ret_certain = floor(met) * a->numbers[KEY_LENGTH];
    if (chance == 0)
        lull_distribution_constant(0, &made, NULL);
    else
        lull_distribution_bernoulli(a->numbers[KEY_LENGTH], chance, &made, NULL);
    return made;
}

/* A list of numbers that do not become smaller, in memory of the operation, or of Lua: then what
 * holds it stays on the stack, and so alive, until the function ends. */
static double *read_ascending(const struct arguments *a, const char *key, size_t *ret_count)
{
    enum { MOST_QUANTILES = 4096, MOST_KEPT = 1 << 21 };
    lua_State *L = a->L;
    struct lull_arena *arena = lull_tally_of(L)->recording;
    lua_getfield(L, 1, key);
    lua_Unsigned count = lua_rawlen(L, -1);
    if (count < 2 || count > MOST_QUANTILES)
        luaL_error(L, "noise: %s has %d numbers, expected 2 to %d", key,
                   (int)(count > INT32_MAX ? INT32_MAX : count), MOST_QUANTILES);
    if (arena && (lull_tally_of(L)->kept += count) > MOST_KEPT)
        luaL_error(L, "noise: more than %d quantiles in one execution of a term", MOST_KEPT);
    double *list = arena ? lull_arena_zero(arena, count, sizeof *list)
                         : lua_newuserdatauv(L, count * sizeof *list, 0);
    int table = arena ? -1 : -2;
    for (lua_Unsigned i = 0; i < count; i++) {
        bool is_number = lua_rawgeti(L, table, (lua_Integer)i + 1) == LUA_TNUMBER;
        list[i] = lua_tonumber(L, -1);
        if (!is_number || !isfinite(list[i]) || (i > 0 && list[i] < list[i - 1]))
            luaL_error(L, "noise: %s: number %d: expected one not below the one before it", key,
                       (int)i + 1);
        lua_pop(L, 1);
    }
    *ret_count = count;
    return list;
}

/* noise{quantiles, probabilities}: they may be below 0, of computations that are shorter than on
 * average. */
static struct lull_quantiles read_quantiles(const struct arguments *a)
{
    lua_State *L = a->L;
    struct lull_quantiles quantiles = {.count = 0};
    size_t count;
    quantiles.values = read_ascending(a, "quantiles", &quantiles.count);
    if (!lull_argument_given(a, KEY_PROBABILITIES))
        return quantiles;
    const double *list = read_ascending(a, "probabilities", &count);
    if (count != quantiles.count)
        luaL_error(L, "noise: %d probabilities for %d quantiles", (int)count, (int)quantiles.count);
    for (size_t i = 1; i < count; i++)
        if (list[0] != 0 || list[count - 1] != 1 || list[i] == list[i - 1])
            luaL_error(L, "noise: probabilities: expected different ones, from 0 to 1");
    quantiles.probabilities = list;
    return quantiles;
}

static double read_draws(const struct arguments *a)
{
    double draws =
        lull_argument_given(a, KEY_DRAWS) ? a->numbers[KEY_DRAWS] : lull_tally_of(a->L)->processes;
    if (!(draws >= 1))
        luaL_error(a->L, "noise: draws is %f, expected 1 or more", draws);
    return draws;
}

/* noise{distribution, ...}, noise{period, length, duration} or noise{quantiles}: what the process
 * that is disturbed most has to be waited for, at the next operation in which all wait for all. */
int lull_primitive_noise(lua_State *L)
{
    struct arguments a = lull_arguments_read(
        L, "noise",
        OF_DISTRIBUTIONS | KEY_BIT(KEY_PERIOD) | KEY_BIT(KEY_LENGTH) | KEY_BIT(KEY_DURATION) |
            KEY_BIT(KEY_DRAWS) | KEY_BIT(KEY_QUANTILES) | KEY_BIT(KEY_PROBABILITIES));
    struct lull_tally *tally = lull_tally_of(L);
    double certain = 0, seconds;
    struct lull_operation operation = {
        .kind = LULL_OPERATION_NOISE, .count = 1, .draws = read_draws(&a)};
    if (lull_argument_given(&a, KEY_QUANTILES)) {
        operation.quantiles = read_quantiles(&a);
        seconds =
            fmax(0, lull_expected_maximum_of_quantiles(&operation.quantiles, operation.draws));
    } else {
        operation.noise = lull_argument_given(&a, KEY_PERIOD) ? read_detours(&a, &certain)
                                                              : read_distribution(&a);
        seconds = certain + lull_expected_maximum(&operation.noise, operation.draws);
    }
    lull_tally_spend(tally, LULL_RESOURCE_NOISE, seconds);
    if (certain > 0)
        lull_tally_keep_computation(tally, certain);
    lull_tally_keep(tally, &operation);
    lua_pushnumber(L, seconds);
    return 1;
}
