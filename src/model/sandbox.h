/* SPDX-License-Identifier: BSD-3-Clause */
/* Sandbox: files in Lua 5.4 that describe models, run without access to anything.
 *
 * What a file can call: assert, error, ipairs, pairs, select, tonumber, tostring, type; math
 * without random numbers; of string byte, char, format, len, lower, reverse, sub, upper; of table
 * concat, insert, remove, sort, unpack; and the functions that the sandbox's user adds. There are
 * no files, no other programs, no other Lua code, no coroutines and metatables, and no way to catch
 * an error. pairs goes over numbers and then strings in their order, so that results do not depend
 * on addresses. Functions of the library whose time is not bounded by the size of their arguments
 * are left out.
 *
 * Instructions and memory are limited; source text alone is read, not precompiled code. Numbers of
 * the model are computed by Lua in double precision, with the C library's pow, exp and log. */
#ifndef LULL_MODEL_SANDBOX_H
#define LULL_MODEL_SANDBOX_H

#include "base/error.h"

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

struct lull_sandbox;

struct lull_sandbox_limits {
    uint64_t instructions; /* of Lua's virtual machine, in one load or call; 0: 50 million */
    size_t bytes;          /* that the Lua state may hold in all; 0: 64 MiB */
};

/* `path` is for messages and lull_sandbox_load, and is copied. `limits` may be NULL. Fails with
 * LULL_ERR_MEMORY. */
lull_status lull_sandbox_open(const char *path, const struct lull_sandbox_limits *limits,
                              struct lull_sandbox **ret_sandbox, struct lull_error *err);
void lull_sandbox_close(struct lull_sandbox *sandbox); /* NULL is allowed */

/* The Lua state, for adding functions and for reading results. Calls of Lua's interface that may
 * raise an error belong into a function for lull_sandbox_protect. */
struct lua_State *lull_sandbox_state(const struct lull_sandbox *sandbox);

/* Reads and runs the file, and leaves what it returns, one value, on the stack. Errors are one
 * line: "PATH: line 12: CAUSE"; LULL_ERR_IO, LULL_ERR_FORMAT, or LULL_ERR_MEMORY beyond the limit.
 */
lull_status lull_sandbox_load(struct lull_sandbox *sandbox, struct lull_error *err);
/* The same with a text instead of the file. */
lull_status lull_sandbox_load_text(struct lull_sandbox *sandbox, const char *text, size_t size,
                                   struct lull_error *err);

/* lua_pcall with the limits and errors of lull_sandbox_load. The function and its arguments are on
 * the stack; the results take their place, on failure nothing does. */
lull_status lull_sandbox_call(struct lull_sandbox *sandbox, int arguments, int results,
                              struct lull_error *err);

/* Calls a C function, which may raise errors (luaL_error), as lull_sandbox_call does. `data`, as a
 * light userdata, is its only argument. What it leaves on the stack is dropped. */
lull_status lull_sandbox_protect(struct lull_sandbox *sandbox, lua_CFunction function, void *data,
                                 struct lull_error *err);

#endif
