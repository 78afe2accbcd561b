#include "model/lua/library.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What stays of each library: everything else is taken away.
 *
 * Not there, because their time is not bounded by instructions and the size of their arguments: the
 * patterns of string (find, match, gmatch, gsub), string.rep (of an empty text) and table.move;
 * because they would catch the end of the instructions: pcall, xpcall, coroutines; because results
 * would differ from run to run: math.random, next and Lua's own pairs. Metatables could give a
 * table any length.
 */
static const char *const base_names[] = {"assert",   "error",    "ipairs", "select",
                                         "tonumber", "tostring", "type",   NULL};
static const char *const math_names[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};
static const char *const string_names[] = {"byte",    "char", "format", "len", "lower",
                                           "reverse", "sub",  "upper",  NULL};
static const char *const table_names[] = {"concat", "insert", "remove", "sort", "unpack", NULL};

/* ---- pairs ---------------------------------------------------------------------------------- */

struct sort_key {
    bool is_text;
    double number;
    const char *text; /* of a string in the table */
    size_t length;
    int place; /* in the list of keys as they were found */
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->is_text != y->is_text)
        return x->is_text ? 1 : -1;
    if (!x->is_text)
        return (x->number > y->number) - (x->number < y->number);
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, shorter);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Upvalues: the table, its keys in order, and which comes next. */
static int next_pair(lua_State *L)
{
    lua_Integer next = lua_tointeger(L, lua_upvalueindex(3));
    lua_pushinteger(L, next + 1);
    lua_replace(L, lua_upvalueindex(3));
    if (lua_rawgeti(L, lua_upvalueindex(2), next) == LUA_TNIL)
        return 1;
    lua_pushvalue(L, -1);
    lua_rawget(L, lua_upvalueindex(1));
    return 2;
}

static struct sort_key read_key(lua_State *L, int index)
{
    struct sort_key key = {.is_text = lua_type(L, index) == LUA_TSTRING};
    if (key.is_text)
        key.text = lua_tolstring(L, index, &key.length);
    else if (lua_type(L, index) == LUA_TNUMBER)
        key.number = lua_tonumber(L, index);
    else
        luaL_error(L, "pairs: a key is a %s, expected numbers and strings",
                   luaL_typename(L, index));
    return key;
}

/* The keys of the table at index 1 as a list, which is pushed; how many. */
static lua_Integer push_keys(lua_State *L)
{
    lua_Integer count = 0;
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++count);
    }
    return count;
}

static int sorted_pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_Integer count = push_keys(L);
    struct sort_key *keys = lua_newuserdatauv(L, (size_t)count * sizeof *keys + 1, 0);
    for (lua_Integer i = 0; i < count; i++) {
        lua_rawgeti(L, 2, i + 1);
        keys[i] = read_key(L, -1);
        keys[i].place = (int)i + 1;
        lua_pop(L, 1);
    }
    qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    lua_pushvalue(L, 1);
    lua_createtable(L, (int)count, 0);
    for (lua_Integer i = 0; i < count; i++) {
        lua_rawgeti(L, 2, keys[i].place);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, 1);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

/* ---- globals -------------------------------------------------------------------------------- */

/* The globals become the named fields of the table on the top of the stack, which is popped. */
static void keep_globals(lua_State *L, const char *const *names)
{
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
    lua_pop(L, 1);
}

static void add_library(lua_State *L, const char *name, lua_CFunction open,
                        const char *const *names)
{
    lua_newtable(L);
    luaL_requiref(L, name, open, 0);
    keep_globals(L, names);
    lua_setfield(L, -2, name);
}

void lull_lua_open_library(lua_State *L)
{
    lua_newtable(L); /* of globals */
    luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
    keep_globals(L, base_names);
    lua_pushcfunction(L, sorted_pairs);
    lua_setfield(L, -2, "pairs");
    add_library(L, LUA_MATHLIBNAME, luaopen_math, math_names);
    add_library(L, LUA_STRLIBNAME, luaopen_string, string_names);
    add_library(L, LUA_TABLIBNAME, luaopen_table, table_names);

    lua_pushliteral(L, ""); /* ("x"):upper() finds the same functions */
    lua_getmetatable(L, -1);
    lua_getfield(L, -3, LUA_STRLIBNAME);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);

    lua_pushvalue(L, -1);
    lua_setfield(L, -2, LUA_GNAME);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_pushnil(L); /* the whole libraries */
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}
