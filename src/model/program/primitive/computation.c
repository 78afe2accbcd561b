#include "model/program/primitive/arguments.h"
#include "model/program/primitive/outside.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* What a computation costs, and where. */
struct spent {
    double seconds;
    bool on_memory;
};

/* Sizes in the order of their names, so that the same question is known again. */
static void add_size(const struct arguments *a, struct lull_kernel_question *question)
{
    lua_State *L = a->L;
    size_t at = question->n_sizes;
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "compute: sizes has a %s for a %s, expected numbers by name",
                   luaL_typename(L, -1), luaL_typename(L, -2));
    const char *name = lua_tostring(L, -2);
    double value = nearbyint(lua_tonumber(L, -1));
    if (at == LULL_OUTSIDE_SIZES)
        luaL_error(L, "compute: sizes has more than %d numbers", LULL_OUTSIDE_SIZES);
    if (!(value >= 1 && value <= 1e15))
        luaL_error(L, "compute: size %s is %f, expected 1 to 1e15", name, value);
    for (; at > 0 && strcmp(question->sizes[at - 1].name, name) > 0; at--)
        question->sizes[at] = question->sizes[at - 1];
    question->sizes[at] = (struct lull_kernel_size){name, value};
    question->n_sizes++;
}

static void read_in_core(const struct arguments *a, struct lull_kernel_question *question)
{
    lua_State *L = a->L;
    lua_getfield(L, 1, "in_core");
    question->has_in_core = true;
    for (int i = 0; i < 2; i++) {
        lua_rawgeti(L, -1, i + 1);
        question->in_core[i] = lua_tonumber(L, -1);
        if (lua_type(L, -1) != LUA_TNUMBER || !(question->in_core[i] >= 0))
            luaL_error(L, "compute: in_core: expected {T_OL, T_nOL} in cycles");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* compute{kernel, sizes, cores, in_core} */
static struct spent by_kernel(const struct arguments *a)
{
    lua_State *L = a->L;
    struct lull_tally *tally = lull_tally_of(L);
    struct lull_kernel_question question = {.file = lull_argument_word(a, KEY_KERNEL),
                                            .cores = a->numbers[KEY_CORES],
                                            .processes = tally->processes};
    struct lull_kernel_time time;
    struct lull_error err;
    if (lull_argument_given(a, KEY_SIZES)) {
        lua_getfield(L, 1, "sizes");
        for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
            add_size(a, &question);
    }
    if (lull_argument_given(a, KEY_IN_CORE))
        read_in_core(a, &question);
    if (lull_outside_kernel(tally->outside, &question, &time, &err) != LULL_OK)
        luaL_error(L, "compute: %s", err.text);
    return (struct spent){time.seconds, time.from_memory};
}

/* compute{region, run, of, per} */
static struct spent by_region(const struct arguments *a)
{
    static const char *const ranks[] = {"mean", "longest", NULL};
    static const char *const parts[] = {"visit", "run", NULL};
    lua_State *L = a->L;
    struct lull_region_time time;
    struct lull_error err;
    lull_argument_demand(a, KEY_RUN);
    bool longest = lull_argument_choice(a, KEY_OF, ranks) == 1;
    bool whole = lull_argument_choice(a, KEY_PER, parts) == 1;
    const char *run = lull_argument_word(a, KEY_RUN), *region = lull_argument_word(a, KEY_REGION);
    if (lull_outside_region(lull_tally_of(L)->outside, run, region, &time, &err) != LULL_OK)
        luaL_error(L, "compute: %s", err.text);
    return (struct spent){(longest ? time.longest : time.mean) / (whole ? 1 : time.visits), false};
}

/* compute{flops, rate}, compute{bytes, bandwidth}, the longer of both */
static struct spent by_rates(const struct arguments *a)
{
    double arithmetic = 0, memory = 0;
    if (a->lengths[0])
        luaL_error(a->L, "compute: bytes is a list, expected a number");
    if (lull_argument_given(a, KEY_FLOPS))
        arithmetic = a->numbers[KEY_FLOPS] / lull_argument_positive(a, KEY_RATE);
    if (lull_argument_given(a, KEY_BYTES))
        memory = a->numbers[KEY_BYTES] / lull_argument_positive(a, KEY_BANDWIDTH);
    return (struct spent){fmax(arithmetic, memory), memory > arithmetic};
}

/* One way to say it, and what belongs to it. */
static void check_way(const struct arguments *a)
{
    static const struct {
        uint64_t begins, more;
    } ways[] = {
        {KEY_BIT(KEY_FLOPS) | KEY_BIT(KEY_BYTES), KEY_BIT(KEY_RATE) | KEY_BIT(KEY_BANDWIDTH)},
        {KEY_BIT(KEY_SECONDS), 0},
        {KEY_BIT(KEY_KERNEL), KEY_BIT(KEY_SIZES) | KEY_BIT(KEY_CORES) | KEY_BIT(KEY_IN_CORE)},
        {KEY_BIT(KEY_REGION), KEY_BIT(KEY_RUN) | KEY_BIT(KEY_OF) | KEY_BIT(KEY_PER)},
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        if (a->given & ways[w].begins &&
            !(a->given & ~(ways[w].begins | ways[w].more | KEY_BIT(KEY_COUNT))))
            return;
    luaL_error(a->L, "compute: expected flops and rate, bytes and bandwidth, seconds, kernel and "
                     "sizes, or region and run");
}

/* All ways; count: so many times. */
int lull_primitive_compute(lua_State *L)
{
    struct arguments a = lull_arguments_read(
        L, "compute",
        KEY_BIT(KEY_FLOPS) | KEY_BIT(KEY_RATE) | KEY_BIT(KEY_SECONDS) | KEY_BIT(KEY_BYTES) |
            KEY_BIT(KEY_BANDWIDTH) | KEY_BIT(KEY_KERNEL) | KEY_BIT(KEY_SIZES) | KEY_BIT(KEY_CORES) |
            KEY_BIT(KEY_IN_CORE) | KEY_BIT(KEY_REGION) | KEY_BIT(KEY_RUN) | KEY_BIT(KEY_OF) |
            KEY_BIT(KEY_PER) | KEY_BIT(KEY_COUNT));
    struct lull_tally *tally = lull_tally_of(L);
    check_way(&a);
    struct spent spent = lull_argument_given(&a, KEY_KERNEL)   ? by_kernel(&a)
                         : lull_argument_given(&a, KEY_REGION) ? by_region(&a)
                         : lull_argument_given(&a, KEY_SECONDS)
                             ? (struct spent){a.numbers[KEY_SECONDS], false}
                             : by_rates(&a);
    if (lull_argument_given(&a, KEY_COUNT))
        spent.seconds *= a.numbers[KEY_COUNT];
    lull_tally_spend(tally, spent.on_memory ? LULL_RESOURCE_MEMORY : LULL_RESOURCE_COMPUTATION,
                     spent.seconds);
    lull_tally_keep_computation(tally, spent.seconds);
    lua_pushnumber(L, spent.seconds);
    return 1;
}

/* parallel{seconds, threads, overhead, imbalance}: an OpenMP region with `seconds` of work. */
int lull_primitive_parallel(lua_State *L)
{
    struct arguments a = lull_arguments_read(L, "parallel",
                                             KEY_BIT(KEY_SECONDS) | KEY_BIT(KEY_THREADS) |
                                                 KEY_BIT(KEY_OVERHEAD) | KEY_BIT(KEY_IMBALANCE));
    struct lull_tally *tally = lull_tally_of(L);
    lull_argument_demand(&a, KEY_SECONDS);
    double work = a.numbers[KEY_SECONDS] / lull_argument_positive(&a, KEY_THREADS);
    double lost = a.numbers[KEY_OVERHEAD] + a.numbers[KEY_IMBALANCE] * work;
    lull_tally_spend(tally, LULL_RESOURCE_COMPUTATION, work);
    lull_tally_spend(tally, LULL_RESOURCE_THREADS, lost);
    lull_tally_keep_computation(tally, work + lost);
    lua_pushnumber(L, work + lost);
    return 1;
}
