/* Internal to model/program: the named arguments of primitives. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVE_ARGUMENTS_H
#define LULL_MODEL_PROGRAM_PRIMITIVE_ARGUMENTS_H

#include "model/program/primitive/primitives.h"

enum key {
    KEY_FLOPS,
    KEY_RATE,
    KEY_SECONDS,
    KEY_BYTES,
    KEY_BANDWIDTH,
    KEY_LATENCY,
    KEY_COUNT,
    KEY_THREADS,
    KEY_OVERHEAD,
    KEY_IMBALANCE,
    KEY_DRAWS,
    KEY_MEAN,
    KEY_VALUE,
    KEY_PROBABILITY,
    KEY_LEAST,
    KEY_MOST,
    KEY_SHAPE,
    KEY_SD,
    KEY_PERIOD,
    KEY_LENGTH,
    KEY_DURATION,
    KEY_CORES,
    KEY_PERIODIC, /* the numbers end here */
    KEY_GRID,
    KEY_QUANTILES,
    KEY_PROBABILITIES,
    KEY_SIZES,
    KEY_IN_CORE,
    KEY_WORDS, /* words from here on */
    KEY_ALGORITHM = KEY_WORDS,
    KEY_DISTRIBUTION,
    KEY_KIND,
    KEY_DIRECTION,
    KEY_KERNEL,
    KEY_REGION,
    KEY_RUN,
    KEY_OF,
    KEY_PER,
    KEYS
};

#define KEY_BIT(key) (UINT64_C(1) << (key))

struct arguments {
    lua_State *L;
    const char *primitive;
    uint64_t given; /* bits of keys */
    double numbers[KEY_PERIODIC];
    bool periodic;
    const char *words[KEYS - KEY_WORDS]; /* from KEY_WORDS on; in the table of arguments */
    double lists[2][LULL_GRID_DIMENSIONS];
    uint32_t lengths[2]; /* of bytes and grid; 0: a number, or not given */
};

/* The table that is the only argument of a primitive; `allowed` are bits of keys. Quantiles, sizes
 * and in-core times are left in the table. All of these raise errors. */
struct arguments lull_arguments_read(lua_State *L, const char *primitive, uint64_t allowed);
bool lull_argument_given(const struct arguments *arguments, enum key key);
void lull_argument_demand(const struct arguments *arguments, enum key key);
double lull_argument_positive(const struct arguments *arguments, enum key key);
/* NULL: it is not given. */
const char *lull_argument_word(const struct arguments *arguments, enum key key);
/* The position of a word in `known`, NULL at the end; 0 where it is not given. */
unsigned lull_argument_choice(const struct arguments *arguments, enum key key,
                              const char *const *known);

struct lull_tally *lull_tally_of(lua_State *L);
void lull_tally_spend(struct lull_tally *tally, enum lull_resource resource, double seconds);
/* An operation for the simulator, where these are wanted. */
void lull_tally_keep(struct lull_tally *tally, const struct lull_operation *operation);
void lull_tally_keep_computation(struct lull_tally *tally, double seconds);

/* ---- the primitives, functions of Lua ---- */

int lull_primitive_compute(lua_State *L);
int lull_primitive_parallel(lua_State *L);
int lull_primitive_message(lua_State *L);
int lull_primitive_halo(lua_State *L);
int lull_primitive_tree(lua_State *L);
int lull_primitive_noise(lua_State *L);
int lull_primitive_collective(lua_State *L);

#endif
