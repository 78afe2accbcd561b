#include "model/program/primitive/arguments.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

/* ---- messages ------------------------------------------------------------------------------- */

#define OF_MESSAGES \
    (KEY_BIT(KEY_BYTES) | KEY_BIT(KEY_LATENCY) | KEY_BIT(KEY_BANDWIDTH) | KEY_BIT(KEY_COUNT))

/* What messages cost here; *ret_count is how often the primitive is repeated. */
static void read_message_network(const struct arguments *a, double *ret_latency,
                                 double *ret_bandwidth, double *ret_count)
{
    const struct lull_tally *tally = lull_tally_of(a->L);
    *ret_latency = lull_argument_given(a, KEY_LATENCY) ? a->numbers[KEY_LATENCY] : tally->latency;
    *ret_bandwidth =
        lull_argument_given(a, KEY_BANDWIDTH) ? a->numbers[KEY_BANDWIDTH] : tally->bandwidth;
    *ret_count = lull_argument_given(a, KEY_COUNT) ? a->numbers[KEY_COUNT] : 1;
    if (isnan(*ret_latency))
        luaL_error(a->L, "%s: no latency, here or in the model's network", a->primitive);
    if (!(*ret_bandwidth > 0))
        luaL_error(a->L, "%s: no bandwidth above 0, here or in the model's network", a->primitive);
}

/* message{bytes}: each process sends one to the next and gets one; count of them. */
int lull_primitive_message(lua_State *L)
{
    struct arguments a = lull_arguments_read(L, "message", OF_MESSAGES);
    struct lull_tally *tally = lull_tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    lull_argument_demand(&a, KEY_BYTES);
    if (a.lengths[0])
        luaL_error(L, "message: bytes is a list, expected a number");
    read_message_network(&a, &latency, &bandwidth, &count);
    if (tally->processes > 1) {
        lull_tally_spend(tally, LULL_RESOURCE_LATENCY, count * latency);
        lull_tally_spend(tally, LULL_RESOURCE_BANDWIDTH, count * a.numbers[KEY_BYTES] / bandwidth);
        tally->cost.messages += count * tally->processes;
        tally->cost.bytes += count * tally->processes * a.numbers[KEY_BYTES];
        lull_tally_keep(tally, &(struct lull_operation){.kind = LULL_OPERATION_SHIFT,
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

/* halo{grid, bytes, periodic}: one message after the other to both neighbours in each dimension.
 * The time is that of a process with most neighbours. */
int lull_primitive_halo(lua_State *L)
{
    struct arguments a =
        lull_arguments_read(L, "halo", OF_MESSAGES | KEY_BIT(KEY_GRID) | KEY_BIT(KEY_PERIODIC));
    struct lull_tally *tally = lull_tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    lull_argument_demand(&a, KEY_BYTES);
    lull_argument_demand(&a, KEY_GRID);
    check_grid(&a, tally);
    read_message_network(&a, &latency, &bandwidth, &count);
    struct lull_operation operation = {
        .kind = LULL_OPERATION_HALO, .count = count, .grid = {1, 1, 1}, .periodic = a.periodic};
    for (uint32_t d = 0; d < a.lengths[1]; d++) {
        double extent = a.lists[1][d], bytes = a.lengths[0] ? a.lists[0][d] : a.numbers[KEY_BYTES];
        double neighbours = extent == 1 ? 0 : a.periodic ? 2 : fmin(2, extent - 1);
        double links = extent == 1 ? 0 : a.periodic ? extent : extent - 1;
        double messages = count * 2 * links * tally->processes / extent;
        lull_tally_spend(tally, LULL_RESOURCE_LATENCY, count * neighbours * latency);
        lull_tally_spend(tally, LULL_RESOURCE_BANDWIDTH, count * neighbours * bytes / bandwidth);
        tally->cost.messages += messages;
        tally->cost.bytes += messages * bytes;
        operation.bytes[d] = bytes;
        operation.grid[d] = extent > UINT32_MAX ? 1 : (uint32_t)extent;
    }
    lull_tally_keep(tally, &operation);
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* ---- trees ---------------------------------------------------------------------------------- */

/* tree{kind, direction, bytes}: messages along the edges of a tree over all ranks, a rank's
 * children at once: as deep as the tree is. */
int lull_primitive_tree(lua_State *L)
{
    static const char *const directions[] = {"down", "up", "both", NULL};
    struct arguments a =
        lull_arguments_read(L, "tree", OF_MESSAGES | KEY_BIT(KEY_KIND) | KEY_BIT(KEY_DIRECTION));
    struct lull_tally *tally = lull_tally_of(L);
    double latency, bandwidth, count, before = tally->cost.seconds;
    lull_argument_demand(&a, KEY_BYTES);
    lull_argument_demand(&a, KEY_KIND);
    if (a.lengths[0])
        luaL_error(L, "tree: bytes is a list, expected a number");
    unsigned kind = lull_argument_choice(&a, KEY_KIND, lull_tree_names);
    unsigned direction = lull_argument_choice(&a, KEY_DIRECTION, directions);
    read_message_network(&a, &latency, &bandwidth, &count);
    double ways = direction == LULL_TREE_BOTH ? 2 : 1;
    double steps = count * ways * lull_tree_depth(kind, tally->processes);
    double messages = count * ways * fmax(0, tally->processes - 1);
    lull_tally_spend(tally, LULL_RESOURCE_LATENCY, steps * latency);
    lull_tally_spend(tally, LULL_RESOURCE_BANDWIDTH, steps * a.numbers[KEY_BYTES] / bandwidth);
    tally->cost.messages += messages;
    tally->cost.bytes += messages * a.numbers[KEY_BYTES];
    lull_tally_keep(tally, &(struct lull_operation){.kind = LULL_OPERATION_TREE,
                                                    .count = count,
                                                    .bytes = {a.numbers[KEY_BYTES]},
                                                    .tree = kind,
                                                    .direction = direction});
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}

/* ---- collective operations ------------------------------------------------------------------ */

/* The algorithm that is named; that which MPICH would choose; the first. */
static const struct lull_collective_form *find_form(const struct arguments *a, const char *name,
                                                    double processes, bool *ret_presumed)
{
    const char *algorithm = lull_argument_word(a, KEY_ALGORITHM);
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

/* allreduce{bytes, algorithm} and so on; the name of the function is its upvalue. */
int lull_primitive_collective(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    struct arguments a = lull_arguments_read(L, name, OF_MESSAGES | KEY_BIT(KEY_ALGORITHM));
    struct lull_tally *tally = lull_tally_of(L);
    double latency, bandwidth, count, processes = tally->processes;
    double before = tally->cost.seconds;
    bool presumed;
    if (a.lengths[0])
        luaL_error(L, "%s: bytes is a list, expected a number", name);
    const struct lull_collective_form *form = find_form(&a, name, processes, &presumed);
    read_message_network(&a, &latency, &bandwidth, &count);
    if (processes > 1) {
        double volume = form->volume(processes, a.numbers[KEY_BYTES]);
        lull_tally_spend(tally, LULL_RESOURCE_LATENCY, count * form->steps(processes) * latency);
        lull_tally_spend(tally, LULL_RESOURCE_BANDWIDTH, count * volume / bandwidth);
    }
    tally->cost.collectives += count * processes;
    lull_tally_keep(tally, &(struct lull_operation){.kind = LULL_OPERATION_COLLECTIVE,
                                                    .count = count,
                                                    .bytes = {a.numbers[KEY_BYTES]},
                                                    .form = form,
                                                    .presumed = presumed});
    lua_pushnumber(L, tally->cost.seconds - before);
    return 1;
}
