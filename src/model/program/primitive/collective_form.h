/* Internal to model/program: collective operations in closed form, by algorithm. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVE_COLLECTIVE_FORM_H
#define LULL_MODEL_PROGRAM_PRIMITIVE_COLLECTIVE_FORM_H

#include <stdint.h>

/* On P processes an operation takes `steps` times the latency and `volume` bytes over the
 * bandwidth, both on its longest path; P is 2 or more. */
struct lull_collective_form {
    const char *primitive; /* the function in Lua: "allreduce" */
    const char *algorithm; /* as the simulator calls it, sim/collective/collective.h */
    uint8_t operation;     /* enum lull_collective */
    double (*steps)(double processes);
    double (*volume)(double processes, double bytes);
};

/* Ended by primitive NULL; of one primitive the first is taken when nothing is said. */
extern const struct lull_collective_form lull_collective_forms[];

/* NULL: there is none. `algorithm` NULL: the first. */
const struct lull_collective_form *lull_collective_form_find(const char *primitive,
                                                             const char *algorithm);
/* What stands for an algorithm in a file: the one that the simulator takes where nothing is said,
 * by the limits of MPICH as published (sim/collective/collective.c). */
#define LULL_COLLECTIVE_PRESUMED "mpich"
/* That one, for so many processes and what the primitive calls bytes. NULL: there is none. */
const struct lull_collective_form *lull_collective_form_presume(const char *primitive,
                                                                double processes, double bytes);

#endif
