/* SPDX-License-Identifier: BSD-3-Clause */
/* Program models: how long a program takes on P processes, as a sum of named terms, from a file in
 * Lua (docs/model-program.md).
 *
 * A file describes parameters with units, and terms: functions that return seconds, put together
 * from primitives (computation, messages, halo swaps, collective operations, threads, noise). The
 * same primitives give the time in closed form, the part of it that each resource causes, the
 * numbers of messages and bytes, and the operations that a simulation carries out. */
#ifndef LULL_MODEL_PROGRAM_PROGRAM_MODEL_H
#define LULL_MODEL_PROGRAM_PROGRAM_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "machine/machine.h"

#include <stdbool.h>

/* What time is spent on. */
enum lull_resource {
    LULL_RESOURCE_COMPUTATION,
    LULL_RESOURCE_MEMORY,    /* data to and from memory */
    LULL_RESOURCE_LATENCY,   /* what messages take however short they are */
    LULL_RESOURCE_BANDWIDTH, /* what their content takes beyond that */
    LULL_RESOURCE_THREADS,   /* what OpenMP costs */
    LULL_RESOURCE_NOISE,     /* waiting for the rank that was disturbed most */
    LULL_RESOURCE_CORES,     /* waiting for a core that another process has */
    LULL_RESOURCES
};
const char *lull_resource_name(enum lull_resource resource); /* "computation" */

enum lull_parameter_source {
    LULL_PARAMETER_ABSENT, /* no value yet */
    LULL_PARAMETER_DEFAULT,
    LULL_PARAMETER_SET, /* by the user */
    LULL_PARAMETER_MACHINE,
    LULL_PARAMETER_RUN, /* number of processes or threads of a run */
    LULL_PARAMETER_CALIBRATED
};

struct lull_model_parameter {
    const char *name, *unit, *about; /* unit "1": a plain number; about "" if there is none */
    const char *machine;             /* name of the number in a machine file; NULL: none */
    const char *run;                 /* "processes", "threads" of a process, "cores": which of these
                                        a recorded run gives it; NULL: none */
    bool is_free;                    /* to be calibrated */
    const char *const *choices;      /* [n_choices] words of a parameter that is a word: its value
                                        is the index of one; NULL: it is a number */
    uint32_t n_choices;
    double value; /* NAN: none */
    enum lull_parameter_source source;
    const char *origin; /* CALIBRATED, MACHINE: where the value comes from, for people; else NULL */
    double low, high;   /* CALIBRATED: interval of the value; else NAN */
};

struct lull_model_term {
    const char *name;
    const char *const *regions; /* regions of recorded runs whose time it predicts, NULL at the end;
                                   NULL: none */
    bool is_uneven;             /* it is what one process computes beyond the mean; the others
                                   together compute as much less */
};

/* A term at one point, for the whole run with all iterations. */
struct lull_term_cost {
    double seconds;               /* of a process */
    double parts[LULL_RESOURCES]; /* of these seconds, by resource */
    double messages, bytes;       /* from one process to another, all processes together */
    double collectives;           /* operations taken part in, added up over all processes */
};

enum { LULL_MODEL_NONE = 0xffff };

struct lull_program_model {
    struct lull_arena *arena;
    const char *path, *title;
    struct lull_model_parameter *parameters;
    uint32_t n_parameters;
    struct lull_model_term *terms;
    uint32_t n_terms;
    uint32_t processes;  /* the parameter that is the number of processes */
    uint32_t iterations; /* the parameter that is the number of iterations, or LULL_MODEL_NONE:
                            times are those of one iteration */
    uint32_t waiting; /* the term of processes that wait for a core, which follows from the others
                         and the number of cores, or LULL_MODEL_NONE: each process has its own core
                       */
    bool has_work; /* the file says how much work there is: speedups are those of work per time */
    bool has_uncertainty; /* the file says how far measured times may lie from predicted ones */
    struct lull_model_code *code;
};

/* Reads the file. Texts live in `arena`. Errors are one line that names the file, and the line
 * where Lua knows it: LULL_ERR_IO, LULL_ERR_FORMAT, LULL_ERR_MEMORY. Ends with
 * lull_program_model_close in either case. */
lull_status lull_program_model_open(const char *path, struct lull_arena *arena,
                                    struct lull_program_model *ret_model, struct lull_error *err);
void lull_program_model_close(struct lull_program_model *model);

/* The index of a parameter; LULL_MODEL_NONE: there is none of this name. */
uint32_t lull_model_parameter_find(const struct lull_program_model *model, const char *name);
/* Sets a parameter by a text "NAME=VALUE", with a number or one of its words. Fails with
 * LULL_ERR_RANGE. */
lull_status lull_model_set(struct lull_program_model *model, const char *text,
                           enum lull_parameter_source source, struct lull_error *err);
/* Gives parameters that name a number of a machine file its value, except those that the user has
 * set. Kernels of terms are predicted for this machine from now on; it must outlive the model.
 * *ret_missing gets a line for each parameter whose number the machine does not have, NULL at the
 * end. Fails with LULL_ERR_RANGE where the unit differs. */
lull_status lull_model_take_machine(struct lull_program_model *model,
                                    const struct lull_machine *machine, const char *path,
                                    const char *const **ret_missing, struct lull_error *err);
/* What a region of a recorded run took in a process, with all that the region calls: seconds of all
 * its visits, as the mean of the processes and of the process where it took longest. */
struct lull_region_time {
    double mean, longest;
    double visits; /* of a process, on average; above 0 */
};
typedef lull_status lull_region_reader(void *context, const char *run, const char *region,
                                       struct lull_region_time *ret_time, struct lull_error *err);
/* Sets the function that reads the recorded runs that terms name (compute{region = ...}). It is
 * called once for each region; its errors name the run. Without it such a term fails. */
void lull_model_set_reader(struct lull_program_model *model, lull_region_reader *read,
                           void *context);

/* Fails with LULL_ERR_RANGE for the first parameter without a value, unless it is marked in `open`
 * ([n_parameters], NULL: none is). */
lull_status lull_model_check_values(const struct lull_program_model *model, const bool *open,
                                    struct lull_error *err);

/* The values of all parameters, [n_parameters]. */
void lull_model_values(const struct lull_program_model *model, double *ret_values);

/* The terms at a point, ret_terms[n_terms]. Fails with LULL_ERR_FORMAT and a line that names the
 * file for an error in Lua, and for a time that is negative or no number. */
lull_status lull_model_evaluate(struct lull_program_model *model, const double *values,
                                struct lull_term_cost *ret_terms, struct lull_error *err);
/* The work at a point, 1 where the model does not say. Fails as lull_model_evaluate. */
lull_status lull_model_work(struct lull_program_model *model, const double *values,
                            double *ret_work, struct lull_error *err);

/* How far the time of a run may lie from the sum of the terms: between time / (1 + uncertainty) and
 * time * (1 + uncertainty) in 95 of 100 runs. INFINITY: the model does not say. Fails as
 * lull_model_evaluate. */
lull_status lull_model_uncertainty(struct lull_program_model *model, const double *values,
                                   double *ret_uncertainty, struct lull_error *err);

/* The sum of the terms. */
struct lull_term_cost lull_model_total(const struct lull_program_model *model,
                                       const struct lull_term_cost *terms);
/* The number of processes on the core that has most of them, at least 1: ceil(processes / cores).
 * The system gives each core the same number of processes, as far as that goes, and does not move
 * them later, because a process that waits for a message polls for it and is never idle. `cores` is
 * above 0. */
double lull_processes_of_core(double processes, double cores);
/* The resource with the largest part. */
enum lull_resource lull_model_limit(const struct lull_term_cost *cost);

#endif
