/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of functions as their sources have them. */
#ifndef LULL_BINARY_DEMANGLE_H
#define LULL_BINARY_DEMANGLE_H

#include "base/arena.h"

#include <stdbool.h>

/* "heat::Grid::step(int)" for "_ZN4heat4Grid4stepEi" (the Itanium C++ ABI, which gcc and clang
 * follow), "heat::step" for "__heat_MOD_step" (procedures in modules, gfortran); `name` itself
 * where it is neither. Lives in `arena`. */
const char *lull_demangle(struct lull_arena *arena, const char *name);

/* The name without what makes C++ names long: template arguments, parameters, the type of the result
 * and clones. "heat::Grid::step" for "double heat::Grid<double, 3>::step<int>(int) const [clone
 * .cold]", "run::{lambda#1}::operator()" for "run(int)::{lambda(int)#1}::operator()(int) const".
 * Takes names as lull_demangle makes them, and returns others as they are. Lives in `arena`. */
const char *lull_short_name(struct lull_arena *arena, const char *name);

/* Whether there is a C++ run-time library on this machine that knows its names. */
bool lull_demangles_cpp(void);

#endif
