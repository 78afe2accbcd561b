/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/sandbox.h"

#include "base/file.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ==== what a file can call ==================================================================== */

/* What stays of each library; everything else is taken away.
 *
 * The time of some functions is not bounded by the number of instructions and the size of their
 * arguments: the patterns of string (find, match, gmatch, gsub), string.rep (of an empty text) and
 * table.move. Some would catch the end of the instructions: pcall, xpcall, coroutines. With some,
 * results would differ from run to run: math.random, next and Lua's own pairs. Metatables could
 * give a table any length. */
static const char *const base_names[] = {"assert",   "error",    "ipairs", "select",
                                         "tonumber", "tostring", "type",   NULL};

static const char *const math_names[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};

static const char *const string_names[] = {"byte",    "char", "format", "len", "lower",
                                           "reverse", "sub",  "upper",  NULL};

static const char *const table_names[] = {"concat", "insert", "remove", "sort", "unpack", NULL};

/* ---- pairs ----------------------------------------------------------------------------------- */

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

/* ---- sort ------------------------------------------------------------------------------------ */

/* Bytes of text that one sort may have to compare: 10 GB take some 10 s. */
#define MOST_COMPARED 1e10

/* table.sort (the upvalue), which compares in C, where nothing interrupts it: 30,000 texts of 8 MB that
 * are one and the same would take an hour. A comparison in Lua is a call, which count_step sees. */
static int bounded_sort(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TTABLE && lua_isnoneornil(L, 2)) {
        const lua_Unsigned n = lua_rawlen(L, 1);
        size_t longest = 0;
        for (lua_Unsigned i = 1; i <= n; i++) {
            const int type = lua_rawgeti(L, 1, (lua_Integer)i);
            const size_t length = type == LUA_TSTRING ? (size_t)lua_rawlen(L, -1) : 0;
            longest = length > longest ? length : longest;
            lua_pop(L, 1);
        }
        const double compared = (double)n * log2((double)n + 1) * (double)longest;
        if (compared > MOST_COMPARED)
            return luaL_error(L, "sort: %d texts of up to %d bytes are too much to compare", (int)n,
                              (int)longest);
    }
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 0);
    return 0;
}

/* ---- globals --------------------------------------------------------------------------------- */

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

/* Sets the globals of a new state. May raise an error. */
static void lua_open_library(lua_State *L)
{
    lua_newtable(L); /* of globals */
    luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
    keep_globals(L, base_names);
    lua_pushcfunction(L, sorted_pairs);
    lua_setfield(L, -2, "pairs");
    add_library(L, LUA_MATHLIBNAME, luaopen_math, math_names);
    add_library(L, LUA_STRLIBNAME, luaopen_string, string_names);
    add_library(L, LUA_TABLIBNAME, luaopen_table, table_names);

    lua_getfield(L, -1, LUA_TABLIBNAME);
    lua_getfield(L, -1, "sort");
    lua_pushcclosure(L, bounded_sort, 1);
    lua_setfield(L, -2, "sort");
    lua_pop(L, 1);

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

/* ==== the sandbox ============================================================================= */

enum {
    USUAL_INSTRUCTIONS = 50000000,
    USUAL_BYTES = 64 << 20,
    STEP = 1000,        /* instructions between two looks at how many they were */
    MOST_REFUSALS = 50, /* a file that lives at the limit of its memory would take hours */
    /* Of processor time: for single instructions that take long, as comparing texts of megabytes;
     * 50 million ordinary ones take about one second. */
    MOST_SECONDS = 30
};

struct lull_sandbox {
    lua_State *L;
    char *path;
    struct lull_sandbox_limits limits;
    size_t bytes;     /* in use */
    uint64_t steps;   /* left in this call */
    int line;         /* where memory ran out; 0: unknown */
    unsigned refused; /* allocations in this call, each with a collection of garbage behind it */
    int64_t began;    /* ns of the thread's processor time, this call */
};

/* Where a message of Lua says that it comes from, "model:12: ...": the path is put there in full.
 */
static const char chunk_name[] = "=model", chunk_prefix[] = "model:";

/* ---- limits ---------------------------------------------------------------------------------- */

static int current_line(lua_State *L)
{
    lua_Debug place;
    for (int level = 0; lua_getstack(L, level, &place); level++)
        if (lua_getinfo(L, "l", &place) && place.currentline > 0)
            return place.currentline;
    return 0;
}

/* The allocator that Lua asks (lua_Alloc), within the limit. */
static void *allocate(void *context, void *block, size_t old, size_t new)
{
    struct lull_sandbox *sandbox = context;
    size_t had = block ? old : 0;
    if (new == 0) {
        free(block);
        sandbox->bytes -= had;
        return NULL;
    }
    void *grown = NULL;
    if (new <= had ||
        (sandbox->refused < MOST_REFUSALS && new - had <= sandbox->limits.bytes - sandbox->bytes))
        grown = realloc(block, new);
    if (grown) {
        sandbox->bytes = sandbox->bytes - had + new;
    } else if (sandbox->L) {
        sandbox->refused++;
        sandbox->line = current_line(sandbox->L);
    }
    return grown;
}

static struct lull_sandbox *sandbox_of(lua_State *L)
{
    void *context;
    lua_getallocf(L, &context);
    return context;
}

static int64_t processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void count_step(lua_State *L, lua_Debug *event)
{
    (void)event;
    struct lull_sandbox *sandbox = sandbox_of(L);
    if (processor_time() - sandbox->began > INT64_C(1000000000) * MOST_SECONDS)
        luaL_error(L, "no end after %d s", MOST_SECONDS);
    if (sandbox->steps-- > 0)
        return;
    sandbox->steps = 0;
    luaL_error(L, "no end after %f million instructions",
               (double)sandbox->limits.instructions / 1e6);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Gives a message a line, where it has none. */
static int add_line(lua_State *L)
{
    const char *text = lua_tostring(L, 1);
    if (!text)
        text = lua_pushfstring(L, "error with a %s as its message", luaL_typename(L, 1));
    if (strncmp(text, chunk_prefix, sizeof chunk_prefix - 1) == 0)
        return 1;
    int line = current_line(L);
    if (line > 0)
        lua_pushfstring(L, "%s%d: %s", chunk_prefix, line, text);
    return 1;
}

/* Takes the message from the stack. */
static lull_status tell(struct lull_sandbox *sandbox, int code, struct lull_error *err)
{
    if (code == LUA_ERRMEM) {
        lua_pop(sandbox->L, 1);
        char place[32] = "";
        if (sandbox->line > 0)
            snprintf(place, sizeof place, "line %d: ", sandbox->line);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: %sneeds more than %zu MiB of memory",
                         sandbox->path, place, sandbox->limits.bytes >> 20);
    }
    const char *text = lua_tostring(sandbox->L, -1);
    char line[sizeof err->text];
    snprintf(line, sizeof line, "%s", text ? text : "unknown error");
    lua_pop(sandbox->L, 1);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    char *cause = line;
    if (strncmp(line, chunk_prefix, sizeof chunk_prefix - 1) == 0) {
        long number = strtol(line + sizeof chunk_prefix - 1, &cause, 10);
        if (strncmp(cause, ": ", 2) == 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %ld: %s", sandbox->path, number,
                             cause + 2);
        cause = line;
    }
    return lull_fail(err, LULL_ERR_FORMAT, "%s: %s", sandbox->path, cause);
}

/* ---- interface ------------------------------------------------------------------------------- */

static int open_library_protected(lua_State *L)
{
    lua_open_library(L);
    return 0;
}

lull_status lull_sandbox_open(const char *path, const struct lull_sandbox_limits *limits,
                              struct lull_sandbox **ret_sandbox, struct lull_error *err)
{
    struct lull_sandbox *sandbox = calloc(1, sizeof *sandbox);
    if (sandbox)
        sandbox->path = strdup(path);
    if (!sandbox || !sandbox->path) {
        free(sandbox);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: no memory", path);
    }
    if (limits)
        sandbox->limits = *limits;
    if (sandbox->limits.instructions == 0)
        sandbox->limits.instructions = USUAL_INSTRUCTIONS;
    if (sandbox->limits.bytes == 0)
        sandbox->limits.bytes = USUAL_BYTES;
    sandbox->L = lua_newstate(allocate, sandbox);
    if (!sandbox->L) {
        lull_sandbox_close(sandbox);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: no memory", path);
    }
    lua_sethook(sandbox->L, count_step, LUA_MASKCOUNT, STEP);
    lull_status status = lull_sandbox_protect(sandbox, open_library_protected, NULL, err);
    if (status == LULL_OK)
        *ret_sandbox = sandbox;
    else
        lull_sandbox_close(sandbox);
    return status;
}

void lull_sandbox_close(struct lull_sandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->L)
        lua_close(sandbox->L);
    free(sandbox->path);
    free(sandbox);
}

struct lua_State *lull_sandbox_state(const struct lull_sandbox *sandbox)
{
    return sandbox->L;
}

lull_status lull_sandbox_call(struct lull_sandbox *sandbox, int arguments, int results,
                              struct lull_error *err)
{
    lua_State *L = sandbox->L;
    int function = lua_gettop(L) - arguments;
    sandbox->steps = sandbox->limits.instructions / STEP;
    sandbox->line = 0;
    sandbox->refused = 0;
    sandbox->began = processor_time();
    lua_pushcfunction(L, add_line); /* needs no memory */
    lua_insert(L, function);
    int code = lua_pcall(L, arguments, results, function);
    lua_remove(L, function);
    return code == LUA_OK ? LULL_OK : tell(sandbox, code, err);
}

lull_status lull_sandbox_protect(struct lull_sandbox *sandbox, lua_CFunction function, void *data,
                                 struct lull_error *err)
{
    lua_pushcfunction(sandbox->L, function);
    lua_pushlightuserdata(sandbox->L, data);
    return lull_sandbox_call(sandbox, 1, 0, err);
}

lull_status lull_sandbox_load_text(struct lull_sandbox *sandbox, const char *text, size_t size,
                                   struct lull_error *err)
{
    int code = luaL_loadbufferx(sandbox->L, text, size, chunk_name, "t");
    return code == LUA_OK ? lull_sandbox_call(sandbox, 0, 1, err) : tell(sandbox, code, err);
}

lull_status lull_sandbox_load(struct lull_sandbox *sandbox, struct lull_error *err)
{
    struct lull_mapping file;
    lull_status status = lull_map_file(sandbox->path, &file, err);
    if (status != LULL_OK)
        return status;
    status =
        lull_sandbox_load_text(sandbox, file.data ? (const char *)file.data : "", file.size, err);
    lull_unmap(&file);
    return status;
}
