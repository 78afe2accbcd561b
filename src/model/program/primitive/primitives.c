#include "model/program/primitive/arguments.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

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
static int push_grid(lua_State *L)
{
    struct lull_tally *tally = lull_tally_of(L);
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
    static const luaL_Reg functions[] = {{"compute", lull_primitive_compute},
                                         {"parallel", lull_primitive_parallel},
                                         {"message", lull_primitive_message},
                                         {"halo", lull_primitive_halo},
                                         {"tree", lull_primitive_tree},
                                         {"noise", lull_primitive_noise},
                                         {"grid", push_grid}};
    memcpy(lua_getextraspace(L), &tally, sizeof tally);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        lua_register(L, functions[i].name, functions[i].func);
    for (const struct lull_collective_form *form = lull_collective_forms; form->primitive; form++) {
        lua_pushstring(L, form->primitive);
        lua_pushcclosure(L, lull_primitive_collective, 1);
        lua_setglobal(L, form->primitive);
    }
}
