/* Whether the parts of a machine fit together; internal. */
#ifndef LULL_MACHINE_CHECK_H
#define LULL_MACHINE_CHECK_H

#include "machine/machine.h"

/* Writes "place: what is wrong" into `problem` where it returns false. */
bool lull_machine_is_sound(const struct lull_machine *machine, char *problem, size_t size);

#endif
