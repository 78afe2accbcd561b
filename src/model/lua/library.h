/* Internal to model/lua: what a file in a sandbox can call. */
#ifndef LULL_MODEL_LUA_LIBRARY_H
#define LULL_MODEL_LUA_LIBRARY_H

#include <lua.h>

/* Sets the globals of a new state. May raise an error. */
void lull_lua_open_library(lua_State *L);

#endif
