/* Program models: how long a program takes on P processes, as a sum of named terms, from a file in
 * Lua (docs/model-program.md).
 *
 * A file describes parameters with units, and terms: functions that return seconds, put together
 * from primitives (computation, messages, halo swaps, collective operations, threads, noise). The
 * same primitives give a closed form, the part of it that each resource causes, the numbers of
 * messages and bytes, and the operations that a simulation carries out. */
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
    LULL_RESOURCE_LATENCY,   /* messages, however short */
    LULL_RESOURCE_BANDWIDTH, /* content of messages */
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
    const char *machine;             /* what it is in a machine file; NULL */
    const char *run;                 /* "processes", "threads" of a process, "cores"; NULL */
    bool is_free;                    /* to be calibrated */
    const char *const *choices;      /* words instead of numbers, the value is an index; NULL */
    uint32_t n_choices;
    double value; /* NAN: none */
    enum lull_parameter_source source;
    const char *origin; /* CALIBRATED, MACHINE: from what, for people; NULL */
    double low, high;   /* interval of a calibrated one; NAN */
};

struct lull_model_term {
    const char *name;
    const char *const *regions; /* of recorded runs, NULL at the end; NULL: none */
    bool is_uneven;             /* what one process computes beyond the mean; the others together
                                   have as much less */
};

/* A term at one point: seconds and numbers of the whole run, of all iterations. */
struct lull_term_cost {
    double seconds; /* of a process */
    double parts[LULL_RESOURCES];
    double messages, bytes; /* from one process to another, of all processes */
    double collectives;     /* taken part in, of all processes */
};

enum { LULL_MODEL_NONE = 0xffff };

struct lull_program_model {
    struct lull_arena *arena;
    const char *path, *title;
    struct lull_model_parameter *parameters;
    uint32_t n_parameters;
    struct lull_model_term *terms;
    uint32_t n_terms;
    uint32_t processes;  /* the parameter that counts them */
    uint32_t iterations; /* likewise, or LULL_MODEL_NONE: times are those of one */
    uint32_t waiting; /* the term of processes that wait for a core, which follows from the others
                         and the number of cores, or LULL_MODEL_NONE: each has its own */
    bool has_work;    /* says how much work there is: speedups are those of work per time */
    bool has_uncertainty; /* says how far measured times may lie from it */
    struct lull_model_code *code;
};

/* Reads the file. Texts live in `arena`. Errors are one line that names the file, and the line
 * where Lua knows it: LULL_ERR_IO, LULL_ERR_FORMAT, LULL_ERR_MEMORY. Ends with
 * lull_program_model_close in either case. */
lull_status lull_program_model_open(const char *path, struct lull_arena *arena,
                                    struct lull_program_model *ret_model, struct lull_error *err);
void lull_program_model_close(struct lull_program_model *model);

/* LULL_MODEL_NONE: there is none. */
uint32_t lull_model_parameter_find(const struct lull_program_model *model, const char *name);
/* "NAME=VALUE": sets a parameter, a number or one of its words. LULL_ERR_RANGE. */
lull_status lull_model_set(struct lull_program_model *model, const char *text,
                           enum lull_parameter_source source, struct lull_error *err);
/* Takes what parameters name from a machine file; not those that the user has set. Kernels of terms
 * are predicted for this machine from now on, which must outlive the model. *ret_missing is
 * what the machine does not have, a line for each parameter, NULL at the end. Fails with
 * LULL_ERR_RANGE where the unit differs. */
lull_status lull_model_take_machine(struct lull_program_model *model,
                                    const struct lull_machine *machine, const char *path,
                                    const char *const **ret_missing, struct lull_error *err);
/* What a region of a recorded run took, with all that it calls. */
struct lull_region_time {
    double mean,
        longest;   /* seconds of a process, all visits: of all, of the one that took longest */
    double visits; /* of a process, on average; above 0 */
};
typedef lull_status lull_region_reader(void *context, const char *run, const char *region,
                                       struct lull_region_time *ret_time, struct lull_error *err);
/* Who reads recorded runs that terms name (compute{region = ...}), each region once; errors of
 * `read` name the run. Without it such a term fails. */
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
/* The work at a point, 1 where the model does not say; likewise. */
lull_status lull_model_work(struct lull_program_model *model, const double *values,
                            double *ret_work, struct lull_error *err);

/* How far the time of a run may lie from the sum of the terms: between time / (1 + uncertainty) and
 * time * (1 + uncertainty) in 95 of 100 runs. INFINITY: the model does not know. Likewise. */
lull_status lull_model_uncertainty(struct lull_program_model *model, const double *values,
                                   double *ret_uncertainty, struct lull_error *err);

/* Sum of the terms. */
struct lull_term_cost lull_model_total(const struct lull_program_model *model,
                                       const struct lull_term_cost *terms);
/* Processes of the core that has most, at least 1: the system divides them among cores by number,
 * and they stay where they are, since who waits for a message looks for it all the time and is
 * never idle. cores above 0. */
double lull_processes_of_core(double processes, double cores);
/* The resource with the largest part. */
enum lull_resource lull_model_limit(const struct lull_term_cost *cost);

#endif
