#include "model/program/primitive/arguments.h"

#include <lauxlib.h>
#include <string.h>

static const char *const key_names[KEYS] = {
    "flops",     "rate",          "seconds",  "bytes",     "bandwidth", "latency",
    "count",     "threads",       "overhead", "imbalance", "draws",     "mean",
    "value",     "probability",   "least",    "most",      "shape",     "sd",
    "period",    "length",        "duration", "cores",     "periodic",  "grid",
    "quantiles", "probabilities", "sizes",    "in_core",   "algorithm", "distribution",
    "kind",      "direction",     "kernel",   "region",    "run",       "of",
    "per"};

bool lull_argument_given(const struct arguments *arguments, enum key key)
{
    return arguments->given & KEY_BIT(key);
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

static void read_number_list(struct arguments *arguments, enum key key, bool is_grid)
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
    arguments->given |= KEY_BIT(key);
    if (key >= KEY_WORDS) {
        arguments->words[key - KEY_WORDS] = check_word(arguments, key);
    } else if (key == KEY_PERIODIC) {
        arguments->periodic = lua_toboolean(L, -1);
    } else if (key > KEY_PERIODIC && !is_list) {
        luaL_error(L, "%s: %s is a %s, expected a list", arguments->primitive, key_names[key],
                   luaL_typename(L, -1));
    } else if (key == KEY_GRID || (key == KEY_BYTES && is_list)) {
        read_number_list(arguments, key, key == KEY_GRID);
    } else if (key < KEY_PERIODIC) {
        arguments->numbers[key] = check_number(L, arguments->primitive, key);
    }
}

struct arguments lull_arguments_read(lua_State *L, const char *primitive, uint64_t allowed)
{
    enum { MOST_PRIMITIVES = 1 << 17 }; /* operations that a simulation keeps */
    struct arguments arguments = {.L = L, .primitive = primitive};
    if (lull_tally_of(L)->n_operations >= MOST_PRIMITIVES)
        luaL_error(L, "%s: more than %d primitives in one execution of a term", primitive,
                   MOST_PRIMITIVES);
    if (lua_type(L, 1) != LUA_TTABLE)
        luaL_error(L, "%s: expected a table: %s{...}", primitive, primitive);
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "number";
        unsigned key = 0;
        while (key < KEYS && (!(allowed & KEY_BIT(key)) || strcmp(name, key_names[key]) != 0))
            key++;
        if (key < KEYS)
            read_argument(&arguments, key);
        else
            luaL_error(L, "%s: there is no '%s'", primitive, name);
        lua_pop(L, 1);
    }
    return arguments;
}

void lull_argument_demand(const struct arguments *arguments, enum key key)
{
    if (!lull_argument_given(arguments, key))
        luaL_error(arguments->L, "%s: no %s", arguments->primitive, key_names[key]);
}

double lull_argument_positive(const struct arguments *arguments, enum key key)
{
    lull_argument_demand(arguments, key);
    if (arguments->numbers[key] <= 0)
        luaL_error(arguments->L, "%s: %s is 0, expected more", arguments->primitive,
                   key_names[key]);
    return arguments->numbers[key];
}

const char *lull_argument_word(const struct arguments *arguments, enum key key)
{
    return arguments->words[key - KEY_WORDS];
}

unsigned lull_argument_choice(const struct arguments *arguments, enum key key,
                              const char *const *known)
{
    const char *word = lull_argument_word(arguments, key);
    unsigned at = 0;
    while (word && known[at] && strcmp(known[at], word) != 0)
        at++;
    if (word && !known[at]) {
        lua_pushstring(arguments->L, known[0]);
        for (unsigned k = 1; known[k]; k++)
            lua_pushfstring(arguments->L, "%s%s", known[k + 1] ? ", " : " or ", known[k]);
        lua_concat(arguments->L, (int)at);
        luaL_error(arguments->L, "%s: %s is '%s', expected %s", arguments->primitive,
                   key_names[key], word, lua_tostring(arguments->L, -1));
    }
    return at;
}

struct lull_tally *lull_tally_of(lua_State *L)
{
    struct lull_tally *tally;
    memcpy(&tally, lua_getextraspace(L), sizeof tally);
    return tally;
}

void lull_tally_spend(struct lull_tally *tally, enum lull_resource resource, double seconds)
{
    tally->cost.parts[resource] += seconds;
    tally->cost.seconds += seconds;
}

void lull_tally_keep(struct lull_tally *tally, const struct lull_operation *operation)
{
    if (!tally->recording)
        return;
    tally->operations = lull_arena_grow(tally->recording, tally->operations, &tally->capacity,
                                        tally->n_operations + 1, sizeof *operation);
    tally->operations[tally->n_operations++] = *operation;
}

void lull_tally_keep_computation(struct lull_tally *tally, double seconds)
{
    lull_tally_keep(tally, &(struct lull_operation){
                               .kind = LULL_OPERATION_COMPUTE, .count = 1, .seconds = seconds});
}
