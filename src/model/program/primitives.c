/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/program/primitives.h"

#include "model/program/closed_form.h"

#include <ctype.h>
#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* ==== the named arguments ===================================================================== */

#define KEY_BIT(key) (UINT64_C(1) << (key))

static const char *const key_names[KEYS] = {
    "flops",     "rate",          "seconds",  "bytes",     "bandwidth", "latency",
    "count",     "threads",       "overhead", "imbalance", "draws",     "mean",
    "value",     "probability",   "least",    "most",      "shape",     "sd",
    "period",    "length",        "duration", "cores",     "periodic",  "grid",
    "quantiles", "probabilities", "sizes",    "in_core",   "algorithm", "distribution",
    "kind",      "direction",     "kernel",   "region",    "run",       "of",
    "per"};

static bool argument_given(const struct arguments *arguments, enum key key)
{
    return arguments->given & KEY_BIT(key);
}

/* A number on the top of the stack. It is a time, a size or a count, so it is never below 0. */
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

static struct lull_tally *tally_of(lua_State *L);

/* Reads the table that is the only argument of a primitive. `allowed` holds bits of keys.
 * Quantiles, sizes and in-core times stay in the table. This function and those that follow raise
 * errors of Lua. */
static struct arguments arguments_read(lua_State *L, const char *primitive, uint64_t allowed)
{
    enum { MOST_PRIMITIVES = 1 << 17 }; /* operations that a simulation keeps */
    struct arguments arguments = {.L = L, .primitive = primitive};
    if (tally_of(L)->n_operations >= MOST_PRIMITIVES)
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

static void argument_demand(const struct arguments *arguments, enum key key)
{
    if (!argument_given(arguments, key))
        luaL_error(arguments->L, "%s: no %s", arguments->primitive, key_names[key]);
}

static double argument_positive(const struct arguments *arguments, enum key key)
{
    argument_demand(arguments, key);
    if (arguments->numbers[key] <= 0)
        luaL_error(arguments->L, "%s: %s is 0, expected more", arguments->primitive,
                   key_names[key]);
    return arguments->numbers[key];
}

/* The word of an argument; NULL: it is not given. */
static const char *argument_word(const struct arguments *arguments, enum key key)
{
    return arguments->words[key - KEY_WORDS];
}

/* The position of an argument's word in `known`, which has NULL at its end; 0 if it is not
 * given. */
static unsigned argument_choice(const struct arguments *arguments, enum key key,
                                const char *const *known)
{
    const char *word = argument_word(arguments, key);
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

static struct lull_tally *tally_of(lua_State *L)
{
    struct lull_tally *tally;
    memcpy(&tally, lua_getextraspace(L), sizeof tally);
    return tally;
}

static void tally_spend(struct lull_tally *tally, enum lull_resource resource, double seconds)
{
    tally->cost.parts[resource] += seconds;
    tally->cost.seconds += seconds;
}

/* Keeps an operation for the simulator, if operations are recorded. */
static void tally_keep(struct lull_tally *tally, const struct lull_model_operation *operation)
{
    if (!tally->recording)
        return;
    tally->operations = lull_arena_grow(tally->recording, tally->operations, &tally->capacity,
                                        tally->n_operations + 1, sizeof *operation);
    tally->operations[tally->n_operations++] = *operation;
}

static void tally_keep_computation(struct lull_tally *tally, double seconds)
{
    tally_keep(tally, &(struct lull_model_operation){
                          .kind = LULL_MODEL_COMPUTE, .count = 1, .seconds = seconds});
}

/* ==== outside of the file ===================================================================== */

/* Completes a path in the model's file, which begins at the file's folder. */
static const char *resolve(const struct lull_outside *outside, const char *path)
{
    const char *slash = strrchr(outside->path, '/');
    if (*path == '/' || !slash)
        return lull_arena_strdup(outside->arena, path);
    return lull_arena_printf(outside->arena, "%.*s/%s", (int)(slash - outside->path), outside->path,
                             path);
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct lull_outside_kernel {
    const char *file; /* as the model names it */
    struct lull_kernel_source source;
    struct lull_kernel *kernel;
    struct lull_kernel_incores incores;
    struct lull_kernel_question last; /* `time` is its answer */
    struct lull_kernel_time time;
    bool has_last;
};

static bool is_same_question(const struct lull_kernel_question *a,
                             const struct lull_kernel_question *b)
{
    if (a->n_sizes != b->n_sizes || a->has_in_core != b->has_in_core || a->cores != b->cores ||
        a->processes != b->processes || a->in_core[0] != b->in_core[0] ||
        a->in_core[1] != b->in_core[1])
        return false;
    for (size_t i = 0; i < a->n_sizes; i++)
        if (strcmp(a->sizes[i].name, b->sizes[i].name) != 0 ||
            a->sizes[i].value != b->sizes[i].value)
            return false;
    return true;
}

/* Splits FILE.c:PLACE, as the command does. */
static void name_place(const char *path, struct lull_arena *arena,
                       struct lull_kernel_source *source)
{
    const char *colon = strrchr(path, ':');
    source->path = path;
    if (!colon || !(isalpha((unsigned char)colon[1]) || colon[1] == '_'))
        return;
    source->path = lull_arena_strndup(arena, path, (size_t)(colon - path));
    source->place = colon + 1;
}

static struct lull_kernel_size *keep_sizes(const struct lull_kernel_question *question,
                                           struct lull_arena *arena)
{
    struct lull_kernel_size *sizes = lull_arena_zero(arena, question->n_sizes + 1, sizeof *sizes);
    for (size_t i = 0; i < question->n_sizes; i++) {
        sizes[i] = question->sizes[i];
        sizes[i].name = lull_arena_strdup(arena, sizes[i].name);
    }
    return sizes;
}

static lull_status add_outside_kernel(struct lull_outside *outside,
                                      const struct lull_kernel_question *question,
                                      struct lull_outside_kernel **ret_kernel,
                                      struct lull_error *err)
{
    struct lull_arena *arena = outside->arena;
    struct lull_outside_kernel kernel = {.file = lull_arena_strdup(arena, question->file)};
    name_place(resolve(outside, question->file), arena, &kernel.source);
    kernel.source.sizes = keep_sizes(question, arena);
    kernel.source.n_sizes = question->n_sizes;
    lull_status status = lull_kernel_read(&kernel.source, arena, &kernel.kernel, err);
    if (status == LULL_OK)
        kernel.incores = lull_kernel_no_incores(kernel.kernel, arena);
    if (status != LULL_OK)
        return status;
    outside->kernels = lull_arena_grow(arena, outside->kernels, &outside->kernels_capacity,
                                       outside->n_kernels + 1, sizeof kernel);
    outside->kernels[outside->n_kernels] = kernel;
    *ret_kernel = &outside->kernels[outside->n_kernels++];
    return LULL_OK;
}

static lull_status take_sizes(struct lull_outside_kernel *kernel,
                              const struct lull_kernel_question *question, struct lull_error *err)
{
    for (size_t i = 0; i < question->n_sizes; i++)
        if (!lull_kernel_resize(kernel->kernel, question->sizes[i].name, question->sizes[i].value))
            return lull_fail(err, LULL_ERR_RANGE, "%s: has no size '%s'", kernel->source.path,
                             question->sizes[i].name);
    return lull_kernel_check(kernel->kernel, err);
}

/* The time of a kernel on each of `cores` cores, of which each has an equal part of the performance
 * of all. */
static struct lull_kernel_time time_of(const struct lull_kernel_prediction *prediction,
                                       double cores)
{
    const struct lull_kernel *kernel = prediction->kernel;
    size_t n = (size_t)fmin(fmax(cores, 1), (double)prediction->n_points);
    double units = lull_kernel_iterations(kernel, kernel->body) / prediction->unit;
    double seconds = units * prediction->work * (double)n / prediction->points[n - 1].latency;
    size_t links = prediction->ecm.n_links;
    double caches = lull_prediction_cycles(prediction, links > 0 ? links - 1 : 0);
    return (struct lull_kernel_time){seconds, units * caches / prediction->clock < 0.5 * seconds};
}

static lull_status predict(struct lull_outside *outside,
                           const struct lull_kernel_question *question,
                           struct lull_outside_kernel *kernel, struct lull_error *err)
{
    const struct lull_incore_times given = {question->in_core[0], question->in_core[1]};
    struct lull_kernel_options options = {
        .cores = 1, .incore = {.here = lull_machine_is_here(outside->machine)}};
    struct lull_kernel_prediction prediction;
    lull_status status = take_sizes(kernel, question, err);
    if (question->has_in_core) { /* what the model says counts at once, and is not kept */
        options.incore.given = &given;
        options.incore.n_given = 1;
    }
    if (status != LULL_OK)
        return status;
    struct lull_arena *scratch = lull_arena_create(NULL);
    status = lull_kernel_predict(kernel->kernel, outside->machine, &kernel->source, &options,
                                 question->has_in_core ? NULL : &kernel->incores, scratch,
                                 &prediction, err);
    if (status == LULL_OK)
        kernel->time =
            time_of(&prediction, question->cores > 0 ? question->cores : question->processes);
    lull_arena_destroy(scratch);
    return status;
}

lull_status lull_outside_kernel(struct lull_outside *outside,
                                const struct lull_kernel_question *question,
                                struct lull_kernel_time *ret_time, struct lull_error *err)
{
    struct lull_outside_kernel *kernel = NULL;
    lull_status status = LULL_OK;
    if (!outside->machine)
        return lull_fail(err, LULL_ERR_RANGE, "a kernel needs a machine; --machine FILE gives one");
    for (size_t i = 0; i < outside->n_kernels; i++)
        if (strcmp(outside->kernels[i].file, question->file) == 0)
            kernel = &outside->kernels[i];
    if (!kernel)
        status = add_outside_kernel(outside, question, &kernel, err);
    if (status == LULL_OK && !(kernel->has_last && is_same_question(&kernel->last, question))) {
        kernel->has_last = false;
        status = predict(outside, question, kernel, err);
        kernel->last = *question;
        kernel->last.file = kernel->file;
        for (size_t i = 0; i < question->n_sizes && status == LULL_OK; i++)
            kernel->last.sizes[i].name = kernel->source.sizes[i].name;
        kernel->has_last = status == LULL_OK && question->n_sizes == kernel->source.n_sizes;
    }
    if (status == LULL_OK)
        *ret_time = kernel->time;
    return status;
}

/* ---- regions of recorded runs ---------------------------------------------------------------- */

struct lull_outside_region {
    const char *run, *region;
    struct lull_region_time time;
};

lull_status lull_outside_region(struct lull_outside *outside, const char *run, const char *region,
                                struct lull_region_time *ret_time, struct lull_error *err)
{
    struct lull_outside_region asked = {.run = run, .region = region};
    for (size_t i = 0; i < outside->n_regions; i++)
        if (strcmp(outside->regions[i].run, run) == 0 &&
            strcmp(outside->regions[i].region, region) == 0) {
            *ret_time = outside->regions[i].time;
            return LULL_OK;
        }
    if (!outside->read_region)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "recorded runs are not read here");
    lull_status status =
        outside->read_region(outside->reader, resolve(outside, run), region, &asked.time, err);
    if (status != LULL_OK)
        return status;
    asked.run = lull_arena_strdup(outside->arena, run);
    asked.region = lull_arena_strdup(outside->arena, region);
    outside->regions = lull_arena_grow(outside->arena, outside->regions, &outside->regions_capacity,
                                       outside->n_regions + 1, sizeof asked);
    outside->regions[outside->n_regions++] = asked;
    *ret_time = asked.time;
    return LULL_OK;
}

/* ==== computation ============================================================================= */

/* What a computation takes, and whether memory limits it. */
struct spent {
    double seconds;
    bool on_memory;
};

/* Adds a size to a question, in the order of names, so that the same question is recognised. */
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

/* The computation of compute{kernel, sizes, cores, in_core}. */
static struct spent by_kernel(const struct arguments *a)
{
    lua_State *L = a->L;
    struct lull_tally *tally = tally_of(L);
    struct lull_kernel_question question = {.file = argument_word(a, KEY_KERNEL),
                                            .cores = a->numbers[KEY_CORES],
                                            .processes = tally->processes};
    struct lull_kernel_time time;
    struct lull_error err;
    if (argument_given(a, KEY_SIZES)) {
        lua_getfield(L, 1, "sizes");
        for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
            add_size(a, &question);
    }
    if (argument_given(a, KEY_IN_CORE))
        read_in_core(a, &question);
    if (lull_outside_kernel(tally->outside, &question, &time, &err) != LULL_OK)
        luaL_error(L, "compute: %s", err.text);
    return (struct spent){time.seconds, time.from_memory};
}

/* The computation of compute{region, run, of, per}. */
static struct spent by_region(const struct arguments *a)
{
    static const char *const ranks[] = {"mean", "longest", NULL};
    static const char *const parts[] = {"visit", "run", NULL};
    lua_State *L = a->L;
    struct lull_region_time time;
    struct lull_error err;
    argument_demand(a, KEY_RUN);
    bool longest = argument_choice(a, KEY_OF, ranks) == 1;
    bool whole = argument_choice(a, KEY_PER, parts) == 1;
    const char *run = argument_word(a, KEY_RUN), *region = argument_word(a, KEY_REGION);
    if (lull_outside_region(tally_of(L)->outside, run, region, &time, &err) != LULL_OK)
        luaL_error(L, "compute: %s", err.text);
    return (struct spent){(longest ? time.longest : time.mean) / (whole ? 1 : time.visits), false};
}

/* The computation of compute{flops, rate} or compute{bytes, bandwidth}: the longer one if both are
 * given. */
static struct spent by_rates(const struct arguments *a)
{
    double arithmetic = 0, memory = 0;
    if (a->lengths[0])
        luaL_error(a->L, "compute: bytes is a list, expected a number");
    if (argument_given(a, KEY_FLOPS))
        arithmetic = a->numbers[KEY_FLOPS] / argument_positive(a, KEY_RATE);
    if (argument_given(a, KEY_BYTES))
        memory = a->numbers[KEY_BYTES] / argument_positive(a, KEY_BANDWIDTH);
    return (struct spent){fmax(arithmetic, memory), memory > arithmetic};
}

/* Checks that a computation is said in one way only, with the arguments that belong to it. */
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

/* compute{}, given in any of these ways; with `count` it is done so many times. */
static int primitive_compute(lua_State *L)
{
    struct arguments a = arguments_read(
        L, "compute",
        KEY_BIT(KEY_FLOPS) | KEY_BIT(KEY_RATE) | KEY_BIT(KEY_SECONDS) | KEY_BIT(KEY_BYTES) |
            KEY_BIT(KEY_BANDWIDTH) | KEY_BIT(KEY_KERNEL) | KEY_BIT(KEY_SIZES) | KEY_BIT(KEY_CORES) |
            KEY_BIT(KEY_IN_CORE) | KEY_BIT(KEY_REGION) | KEY_BIT(KEY_RUN) | KEY_BIT(KEY_OF) |
            KEY_BIT(KEY_PER) | KEY_BIT(KEY_COUNT));
    struct lull_tally *tally = tally_of(L);
    check_way(&a);
    struct spent spent = argument_given(&a, KEY_KERNEL)   ? by_kernel(&a)
                         : argument_given(&a, KEY_REGION) ? by_region(&a)
                         : argument_given(&a, KEY_SECONDS)
                             ? (struct spent){a.numbers[KEY_SECONDS], false}
                             : by_rates(&a);
    if (argument_given(&a, KEY_COUNT))
        spent.seconds *= a.numbers[KEY_COUNT];
    tally_spend(tally, spent.on_memory ? LULL_RESOURCE_MEMORY : LULL_RESOURCE_COMPUTATION,
                spent.seconds);
    tally_keep_computation(tally, spent.seconds);
    lua_pushnumber(L, spent.seconds);
    return 1;
}

/* parallel{seconds, threads, overhead, imbalance}: an OpenMP region with `seconds` of work. */
static int primitive_parallel(lua_State *L)
{
    struct arguments a = arguments_read(L, "parallel",
                                        KEY_BIT(KEY_SECONDS) | KEY_BIT(KEY_THREADS) |
                                            KEY_BIT(KEY_OVERHEAD) | KEY_BIT(KEY_IMBALANCE));
    struct lull_tally *tally = tally_of(L);
    argument_demand(&a, KEY_SECONDS);
    double work = a.numbers[KEY_SECONDS] / argument_positive(&a, KEY_THREADS);
    double lost = a.numbers[KEY_OVERHEAD] + a.numbers[KEY_IMBALANCE] * work;
    tally_spend(tally, LULL_RESOURCE_COMPUTATION, work);
    tally_spend(tally, LULL_RESOURCE_THREADS, lost);
    tally_keep_computation(tally, work + lost);
    lua_pushnumber(L, work + lost);
    return 1;
}

/* ==== messages ================================================================================ */

#define OF_MESSAGES \
    (KEY_BIT(KEY_BYTES) | KEY_BIT(KEY_LATENCY) | KEY_BIT(KEY_BANDWIDTH) | KEY_BIT(KEY_COUNT))

/* Reads what messages cost here, and in *ret_count how often the primitive is repeated. */
static void read_message_network(const struct arguments *a, double *ret_latency,
                                 double *ret_bandwidth, double *ret_count)
{
    const struct lull_tally *tally = tally_of(a->L);
    *ret_latency = argument_given(a, KEY_LATENCY) ? a->numbers[KEY_LATENCY] : tally->latency;
    *ret_bandwidth =
        argument_given(a, KEY_BANDWIDTH) ? a->numbers[KEY_BANDWIDTH] : tally->bandwidth;
    *ret_count = argument_given(a, KEY_COUNT) ? a->numbers[KEY_COUNT] : 1;
    if (isnan(*ret_latency))
        luaL_error(a->L, "%s: no latency, here or in the model's network", a->primitive);
    if (!(*ret_bandwidth > 0))
        luaL_error(a->L, "%s: no bandwidth above 0, here or in the model's network", a->primitive);
}

/* message{bytes}: each process sends a message to the next one, and gets one; `count` times. */
static int primitive_message(lua_State *L)
{
    struct arguments a = arguments_read(L, "message", OF_MESSAGES);
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    argument_demand(&a, KEY_BYTES);
    if (a.lengths[0])
        luaL_error(L, "message: bytes is a list, expected a number");
    read_message_network(&a, &latency, &bandwidth, &count);
    if (tally->processes > 1) {
        tally_spend(tally, LULL_RESOURCE_LATENCY, count * latency);
        tally_spend(tally, LULL_RESOURCE_BANDWIDTH, count * a.numbers[KEY_BYTES] / bandwidth);
        tally->cost.messages += count * tally->processes;
        tally->cost.bytes += count * tally->processes * a.numbers[KEY_BYTES];
        tally_keep(tally, &(struct lull_model_operation){.kind = LULL_MODEL_SHIFT,
                                                         .count = count,
                                                         .bytes = {a.numbers[KEY_BYTES]}});
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

/* halo{grid, bytes, periodic}: each process sends a message to both neighbours in each dimension,
 * one after the other. The time is that of a process with the most neighbours. */
static int primitive_halo(lua_State *L)
{
    struct arguments a =
        arguments_read(L, "halo", OF_MESSAGES | KEY_BIT(KEY_GRID) | KEY_BIT(KEY_PERIODIC));
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    argument_demand(&a, KEY_BYTES);
    argument_demand(&a, KEY_GRID);
    check_grid(&a, tally);
    read_message_network(&a, &latency, &bandwidth, &count);
    struct lull_model_operation operation = {
        .kind = LULL_MODEL_HALO, .count = count, .grid = {1, 1, 1}, .periodic = a.periodic};
    for (uint32_t d = 0; d < a.lengths[1]; d++) {
        double extent = a.lists[1][d], bytes = a.lengths[0] ? a.lists[0][d] : a.numbers[KEY_BYTES];
        double neighbours = extent == 1 ? 0 : a.periodic ? 2 : fmin(2, extent - 1);
        double links = extent == 1 ? 0 : a.periodic ? extent : extent - 1;
        double messages = count * 2 * links * tally->processes / extent;
        tally_spend(tally, LULL_RESOURCE_LATENCY, count * neighbours * latency);
        tally_spend(tally, LULL_RESOURCE_BANDWIDTH, count * neighbours * bytes / bandwidth);
        tally->cost.messages += messages;
        tally->cost.bytes += messages * bytes;
        operation.bytes[d] = bytes;
        operation.grid[d] = extent > UINT32_MAX ? 1 : (uint32_t)extent;
    }
    tally_keep(tally, &operation);
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* tree{kind, direction, bytes}: messages along the edges of a tree over all ranks. Those with the
 * children of a rank go at once, so it takes as many messages as the tree is deep. */
static int primitive_tree(lua_State *L)
{
    static const char *const directions[] = {"down", "up", "both", NULL};
    struct arguments a =
        arguments_read(L, "tree", OF_MESSAGES | KEY_BIT(KEY_KIND) | KEY_BIT(KEY_DIRECTION));
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    argument_demand(&a, KEY_BYTES);
    argument_demand(&a, KEY_KIND);
    if (a.lengths[0])
        luaL_error(L, "tree: bytes is a list, expected a number");
    unsigned kind = argument_choice(&a, KEY_KIND, lull_tree_names);
    unsigned direction = argument_choice(&a, KEY_DIRECTION, directions);
    read_message_network(&a, &latency, &bandwidth, &count);
    double ways = direction == LULL_TREE_BOTH ? 2 : 1;
    double steps = count * ways * lull_tree_depth(kind, tally->processes);
    double messages = count * ways * fmax(0, tally->processes - 1);
    tally_spend(tally, LULL_RESOURCE_LATENCY, steps * latency);
    tally_spend(tally, LULL_RESOURCE_BANDWIDTH, steps * a.numbers[KEY_BYTES] / bandwidth);
    tally->cost.messages += messages;
    tally->cost.bytes += messages * a.numbers[KEY_BYTES];
    tally_keep(tally, &(struct lull_model_operation){.kind = LULL_MODEL_TREE,
                                                     .count = count,
                                                     .bytes = {a.numbers[KEY_BYTES]},
                                                     .tree = kind,
                                                     .direction = direction});
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* ---- collective operations ------------------------------------------------------------------- */

/* The form of a collective operation: of the algorithm that is named, of the one that MPICH would
 * choose, or the first one if no algorithm is named. */
static const struct lull_collective_form *find_form(const struct arguments *a, const char *name,
                                                    double processes, bool *ret_presumed)
{
    const char *algorithm = argument_word(a, KEY_ALGORITHM);
    *ret_presumed = algorithm && strcmp(algorithm, LULL_COLLECTIVE_PRESUMED) == 0;
    const struct lull_collective_form *form =
        *ret_presumed ? lull_collective_form_presume(name, processes, a->numbers[KEY_BYTES])
                      : lull_collective_form_find(name, algorithm);
    if (form)
        return form;
    int words = 1;
    lua_pushstring(a->L, LULL_COLLECTIVE_PRESUMED);
    for (form = lull_collective_forms; form->primitive; form++)
        if (strcmp(form->primitive, name) == 0) {
            lua_pushfstring(a->L, ", %s", form->algorithm);
            words++;
        }
    lua_concat(a->L, words);
    luaL_error(a->L, "%s: there is no algorithm '%s', known: %s", name, algorithm,
               lua_tostring(a->L, -1));
    return NULL;
}

/* allreduce{bytes, algorithm} and all other operations; the name of the operation is the function's
 * upvalue. */
static int primitive_collective(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    struct arguments a = arguments_read(L, name, OF_MESSAGES | KEY_BIT(KEY_ALGORITHM));
    struct lull_tally *tally = tally_of(L);
    double latency, bandwidth, count, processes = tally->processes;
    double before = tally->cost.seconds;
    bool presumed;
    if (a.lengths[0])
        luaL_error(L, "%s: bytes is a list, expected a number", name);
    const struct lull_collective_form *form = find_form(&a, name, processes, &presumed);
    read_message_network(&a, &latency, &bandwidth, &count);
    if (processes > 1) {
        double volume = form->volume(processes, a.numbers[KEY_BYTES]);
        tally_spend(tally, LULL_RESOURCE_LATENCY, count * form->steps(processes) * latency);
        tally_spend(tally, LULL_RESOURCE_BANDWIDTH, count * volume / bandwidth);
    }
    tally->cost.collectives += count * processes;
    tally_keep(tally, &(struct lull_model_operation){.kind = LULL_MODEL_COLLECTIVE,
                                                     .count = count,
                                                     .bytes = {a.numbers[KEY_BYTES]},
                                                     .form = form,
                                                     .presumed = presumed});
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* ==== noise =================================================================================== */

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
    argument_demand(a, KEY_DISTRIBUTION);
    if (strcmp(argument_word(a, KEY_DISTRIBUTION), "constant") == 0)
        status = lull_distribution_constant(n[KEY_VALUE], &made, &err);
    else if (strcmp(argument_word(a, KEY_DISTRIBUTION), "exponential") == 0)
        status = lull_distribution_exponential(n[KEY_MEAN], &made, &err);
    else if (strcmp(argument_word(a, KEY_DISTRIBUTION), "uniform") == 0)
        status = lull_distribution_uniform(n[KEY_LEAST], n[KEY_MOST], &made, &err);
    else if (strcmp(argument_word(a, KEY_DISTRIBUTION), "gamma") == 0)
        status = lull_distribution_gamma(n[KEY_MEAN], n[KEY_SHAPE], &made, &err);
    else if (strcmp(argument_word(a, KEY_DISTRIBUTION), "bernoulli") == 0)
        status = lull_distribution_bernoulli(n[KEY_VALUE], n[KEY_PROBABILITY], &made, &err);
    else if (strcmp(argument_word(a, KEY_DISTRIBUTION), "normal") == 0)
        status = lull_distribution_normal(n[KEY_MEAN], n[KEY_SD], 0, (double)INFINITY, &made, &err);
    if (status != LULL_OK)
        luaL_error(a->L, "noise: distribution '%s': %s", argument_word(a, KEY_DISTRIBUTION),
                   err.text);
    return made;
}

/* Reads noise that is detours of one length, which come once in a period, at other times on each
 * rank. *ret_certain is how many seconds of detours a computation meets for certain. The
 * distribution is that of one more detour, which it meets by chance. */
static struct lull_distribution read_detours(const struct arguments *a, double *ret_certain)
{
    struct lull_distribution made;
    double period = argument_positive(a, KEY_PERIOD);
    argument_demand(a, KEY_LENGTH);
    argument_demand(a, KEY_DURATION);
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

/* Reads a list of numbers that do not decrease. If operations are recorded, it is in their arena;
 * else in memory of Lua, which stays on the stack and so alive until the function ends. */
static double *read_ascending(const struct arguments *a, const char *key, size_t *ret_count)
{
    enum { MOST_QUANTILES = 4096, MOST_KEPT = 1 << 21 };
    lua_State *L = a->L;
    struct lull_arena *arena = tally_of(L)->recording;
    lua_getfield(L, 1, key);
    lua_Unsigned count = lua_rawlen(L, -1);
    if (count < 2 || count > MOST_QUANTILES)
        luaL_error(L, "noise: %s has %d numbers, expected 2 to %d", key,
                   (int)(count > INT32_MAX ? INT32_MAX : count), MOST_QUANTILES);
    if (arena && (tally_of(L)->kept += count) > MOST_KEPT)
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

/* noise{quantiles, probabilities}. Quantiles may be below 0, for computations that are shorter than
 * the mean. */
static struct lull_quantiles read_quantiles(const struct arguments *a)
{
    lua_State *L = a->L;
    struct lull_quantiles quantiles = {.count = 0};
    size_t count;
    quantiles.values = read_ascending(a, "quantiles", &quantiles.count);
    if (!argument_given(a, KEY_PROBABILITIES))
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
    double draws = argument_given(a, KEY_DRAWS) ? a->numbers[KEY_DRAWS] : tally_of(a->L)->processes;
    if (!(draws >= 1))
        luaL_error(a->L, "noise: draws is %f, expected 1 or more", draws);
    return draws;
}

/* noise{distribution, ...}, noise{period, length, duration} or noise{quantiles}: how long the
 * process that is disturbed most is waited for, at the next operation in which all wait for all. */
static int primitive_noise(lua_State *L)
{
    struct arguments a = arguments_read(
        L, "noise",
        OF_DISTRIBUTIONS | KEY_BIT(KEY_PERIOD) | KEY_BIT(KEY_LENGTH) | KEY_BIT(KEY_DURATION) |
            KEY_BIT(KEY_DRAWS) | KEY_BIT(KEY_QUANTILES) | KEY_BIT(KEY_PROBABILITIES));
    struct lull_tally *tally = tally_of(L);
    double certain = 0, seconds;
    struct lull_model_operation operation = {
        .kind = LULL_MODEL_NOISE, .count = 1, .draws = read_draws(&a)};
    if (argument_given(&a, KEY_QUANTILES)) {
        operation.quantiles = read_quantiles(&a);
        seconds =
            fmax(0, lull_expected_maximum_of_quantiles(&operation.quantiles, operation.draws));
    } else {
        operation.noise =
            argument_given(&a, KEY_PERIOD) ? read_detours(&a, &certain) : read_distribution(&a);
        seconds = certain + lull_expected_maximum(&operation.noise, operation.draws);
    }
    tally_spend(tally, LULL_RESOURCE_NOISE, seconds);
    if (certain > 0)
        tally_keep_computation(tally, certain);
    tally_keep(tally, &operation);
    lua_pushnumber(L, seconds);
    return 1;
}

/* ==== primitives ============================================================================== */

/* ---- grid ------------------------------------------------------------------------------------ */

/* The largest divisor of n that is not above the root-th root of n. */
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

/* grid(processes, dimensions) gives a list of extents. */
static int push_grid(lua_State *L)
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
    static const luaL_Reg functions[] = {{"compute", primitive_compute},
                                         {"parallel", primitive_parallel},
                                         {"message", primitive_message},
                                         {"halo", primitive_halo},
                                         {"tree", primitive_tree},
                                         {"noise", primitive_noise},
                                         {"grid", push_grid}};
    memcpy(lua_getextraspace(L), &tally, sizeof tally);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        lua_register(L, functions[i].name, functions[i].func);
    for (const struct lull_collective_form *form = lull_collective_forms; form->primitive; form++) {
        lua_pushstring(L, form->primitive);
        lua_pushcclosure(L, primitive_collective, 1);
        lua_setglobal(L, form->primitive);
    }
}
