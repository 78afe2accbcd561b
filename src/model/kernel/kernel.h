/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel: a loop nest whose performance is to be predicted, as read from source in C, C++ or Fortran. It
 * lives in an arena.
 *
 * One innermost loop is looked at; it is called the body. In a nest with several innermost loops
 * the body is the busiest, which makes the most iterations, until lull_kernel_look_at makes another
 * one the body. What stands outside of all innermost loops is spread over the iterations of the
 * busiest.
 *
 * The unit of work is the iterations of the body that make one cache line of results: line_bytes /
 * bytes of an element, of the first array that the body writes or, where it writes none, of the
 * first that it reads. With doubles and lines of 64 bytes that is 8 iterations. */
#ifndef LULL_MODEL_KERNEL_KERNEL_H
#define LULL_MODEL_KERNEL_KERNEL_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== polynomials ============================================================================= */

/* Polynomials with integer coefficients in the symbols of a kernel: sizes (N) and loop variables
 * (i). Array extents, loop bounds and indices are such polynomials, so that layer conditions can be
 * written down with the sizes in them. A polynomial is a plain value: copies share nothing. */

enum { LULL_POLY_SYMBOLS = 16, LULL_POLY_TERMS = 24 };

struct lull_poly_term {
    int64_t factor;                   /* not 0 */
    uint8_t power[LULL_POLY_SYMBOLS]; /* of each symbol */
};

struct lull_poly {
    size_t count; /* 0 terms: zero; higher powers first, each combination of powers once */
    struct lull_poly_term terms[LULL_POLY_TERMS];
};

struct lull_poly lull_poly_constant(int64_t value);
struct lull_poly lull_poly_symbol(size_t symbol);

/* a + factor_of_b b, a b, and a / divisor. These return false, and write no result, where the
 * result would have too many terms or too large powers or factors. */
bool lull_poly_add(const struct lull_poly *a, const struct lull_poly *b, int64_t factor_of_b,
                   struct lull_poly *ret_sum);
bool lull_poly_multiply(const struct lull_poly *a, const struct lull_poly *b,
                        struct lull_poly *ret_product);
/* Returns false, too, unless every factor is a multiple of `divisor`. */
bool lull_poly_divide(const struct lull_poly *a, int64_t divisor, struct lull_poly *ret_quotient);

bool lull_poly_equal(const struct lull_poly *a, const struct lull_poly *b);
/* Whether it has no symbols; ret_value may be NULL. */
bool lull_poly_is_constant(const struct lull_poly *a, int64_t *ret_value);
bool lull_poly_contains(const struct lull_poly *a, size_t symbol);

/* a = ret_factor * symbol + ret_rest, where neither part contains the symbol; false where `a` is of
 * a higher degree in the symbol. */
bool lull_poly_split(const struct lull_poly *a, size_t symbol, struct lull_poly *ret_factor,
                     struct lull_poly *ret_rest);

/* The value of `a`, given the values of all symbols. In double, because a search for the largest
 * size tries sizes with which integers would overflow. */
double lull_poly_value(const struct lull_poly *a, const double *values);

/* "N^2 + 2 N - 1", in the arena. */
const char *lull_poly_text(const struct lull_poly *a, const char *const *names,
                           struct lull_arena *arena);

/* ==== the kernel ============================================================================== */

enum { LULL_KERNEL_NONE = -1, LULL_KERNEL_DIMENSIONS = 6 };

/* Sizes and loop variables. */
struct lull_kernel_symbol {
    const char *name;
    bool is_size;
    bool has_value; /* of a size: it was given */
    double value;
    unsigned line;  /* where it is used first */
    bool is_member; /* part of a structure: `name` is "grid.rows" */
    bool varies; /* the value of a bound that is not understood: it may differ from pass to pass */
    bool supposed; /* nobody has said its value: lull_kernel_suppose has chosen it */
    /* The rounded quotient of a polynomial in sizes and a whole number, as N / 2, is a size of its
     * own, whose value follows from the other sizes. */
    int64_t divisor; /* 0: this is no quotient */
    struct lull_poly dividend;
};

struct lull_kernel_loop {
    size_t symbol;               /* its variable */
    struct lull_poly first, end; /* first <= variable < end, or first >= variable > end */
    int64_t step;                /* not 0; below 0 it counts down */
    int parent;                  /* index of the loop around it, or LULL_KERNEL_NONE */
    size_t first_access;         /* the kernel's accesses from this one on come after the loop's
                                    begin in the source */
    unsigned line;
    unsigned first_line, last_line; /* of its text within the kernel's code, from 0 on */
};

struct lull_kernel_array {
    const char *name;
    const char *element;                             /* type of an element, "double" */
    unsigned bytes;                                  /* of an element */
    bool floating;                                   /* its elements are floating-point numbers */
    bool is_pointer;                                 /* its first extent is not known */
    bool is_const;                                   /* declared so */
    bool is_member;                                  /* part of a structure, "grid.now" */
    size_t n_dimensions;                             /* of a pointer, too, with the first one */
    struct lull_poly extent[LULL_KERNEL_DIMENSIONS]; /* extent[0] of a pointer is not used */
    const char *extent_text[LULL_KERNEL_DIMENSIONS]; /* as C source */
    unsigned line;
};

/* One read or write of an array's element at each iteration of a loop. */
struct lull_kernel_access {
    size_t array;
    int loop; /* innermost loop around it, LULL_KERNEL_NONE: none */
    bool write;
    struct lull_poly offset; /* elements from the array's begin, without the indirect part */
    /* Of an indirect access, x[idx[i]]: the number of the access that reads idx[i]. Each unit of
     * that index moves the access on by `index_factor` elements of x. */
    int index_access; /* LULL_KERNEL_NONE: the access is not indirect */
    struct lull_poly index_factor;
    unsigned line;
};

struct lull_kernel_scalar {
    const char *name, *type;
    bool floating, written;
    bool is_member; /* part of a structure, "grid.weight" */
};

/* A variable of the function around the nest that is a structure, or points to one. */
struct lull_kernel_object {
    const char *name;
    const char *type; /* "const struct grid *" */
    bool is_pointer;
};

struct lull_kernel_call {
    const char *name;
    int loop;
    unsigned line;
    double cycles; /* of one call, as stated */
};

/* Floating-point operations at each iteration of a loop, outside of called functions. */
struct lull_kernel_flops {
    double add, multiply, divide, other; /* other: square roots, comparisons; they count as no
                                            flop */
};

struct lull_kernel {
    const char *name; /* of the file, function or mark */
    const char *path;
    struct lull_kernel_symbol symbols[LULL_POLY_SYMBOLS];
    size_t n_symbols;
    struct lull_kernel_loop *loops; /* outer ones before inner ones, in order of the source */
    size_t n_loops;
    struct lull_kernel_flops *flops; /* [n_loops] */
    struct lull_kernel_array *arrays;
    size_t n_arrays;
    struct lull_kernel_access *accesses; /* in the order in which an iteration makes them */
    size_t n_accesses;
    struct lull_kernel_scalar *scalars; /* declared outside of the loops */
    size_t n_scalars;
    struct lull_kernel_object *objects; /* of which the nest uses members; those of the file itself
                                           are not among them */
    size_t n_objects;
    struct lull_kernel_call *calls;
    size_t n_calls;
    int body;             /* index of the innermost loop that is looked at */
    bool reduces;         /* a floating-point scalar carries a sum from iteration to iteration */
    unsigned precision;   /* bytes of its floating-point numbers */
    const char *code;     /* the loop nest as it stands in the source */
    const char *preamble; /* declarations of integers that it uses, "int n2 = n * n;"; "": none */
    const char
        *macros; /* what has to stand before it when it is compiled alone: sizes that a source
                             file has as macros, "#define N 1000", functions of Fortran; "": nothing */
    unsigned code_line;
    bool is_cpp;     /* that file is C++: the nest cannot be compiled alone */
    bool is_fortran; /* it is Fortran, whose names have no case, and `code` the same nest in C */
    bool is_file; /* it stands in a source file of a program and may use that file's declarations */
    /* Of a nest that was found by its lines: */
    const char *function; /* in which it stands; NULL: it was found otherwise */
    const char *around;   /* why the loop around it is not part of it; NULL: none is around it */
    unsigned omp_line;    /* of the "#pragma omp parallel for" before it; 0: there is none */
    double executions;    /* how often a process executes it, by the source alone; NAN: not known */
    bool whole_function;  /* each call of the function executes it once */
};

/* How indices of x[idx[i]] are distributed, as the user states it. */
enum lull_index_kind {
    LULL_INDEX_UNIFORM,
    LULL_INDEX_SEQUENTIAL,
    LULL_INDEX_BAND,
    LULL_INDEX_FILE
};
struct lull_kernel_index {
    const char *array; /* idx */
    enum lull_index_kind kind;
    double width;          /* BAND: an index is within so many elements of the iteration's number */
    const int64_t *sample; /* FILE: indices in order, which begin anew where they end */
    size_t n_sample;
};

/* What the user says beside the source. Texts are borrowed. */
struct lull_kernel_size {
    const char *name;
    double value;
};
struct lull_kernel_cost { /* of a called function, cycles per call */
    const char *name;
    double cycles;
};
struct lull_kernel_source {
    const char *path;
    const char *place; /* a function or mark in a source file; NULL: the file is the kernel */
    /* Instead of a place, lines of a source file: the innermost loop around all of them is wanted,
     * with as many of the loops around it as are understood. */
    unsigned first_line, last_line; /* 0: there are none */
    /* Bytes that the arrays of such a nest should have at least where nobody says a size; and sizes
     * may be given that it does not have. */
    double suppose_bytes;
    const struct lull_kernel_size *sizes;
    size_t n_sizes;
    const struct lull_kernel_cost *costs;
    size_t n_costs;
    const struct lull_kernel_index *indices;
    size_t n_indices;
    const char *const *flags; /* for the compiler that reads it: -I, -D; NULL at the end; may be
                                 NULL */
};

/* Reads a kernel. Fails with LULL_ERR_UNSUPPORTED in a build without libclang or where the library
 * is not found, LULL_ERR_IO, or LULL_ERR_FORMAT with "file: line 3: what is not understood". */
lull_status lull_kernel_read(const struct lull_kernel_source *source, struct lull_arena *arena,
                             struct lull_kernel **ret_kernel, struct lull_error *err);

/* Whether this machine has the library that lull_kernel_read needs. Fails with LULL_ERR_UNSUPPORTED
 * where it has none, or one that lacks a function, and in a build without libclang. */
lull_status lull_kernel_find_reader(struct lull_error *err);

/* Chooses values for the sizes that nobody has said: the smallest power of two, from 64 on, with which all
 * arrays together have so many bytes, or the largest with which accesses are inside of their arrays. Sizes
 * on which no length of a loop and no distance of two accesses depends, and those that vary, become 1. */
void lull_kernel_suppose(struct lull_kernel *kernel, double bytes);
/* Whether the number of iterations of a loop in one execution of the nest depends on no supposed size. */
bool lull_kernel_knows_iterations(const struct lull_kernel *kernel, int loop);

/* Gives a size another value, and quotients of sizes theirs, as a sweep over a size needs it.
 * False: there is no such size. */
bool lull_kernel_resize(struct lull_kernel *kernel, const char *name, double value);
/* Makes the busiest loop the body again, and checks what depends on sizes: that loops run, and that
 * accesses are inside of their arrays. lull_kernel_read has called it; after lull_kernel_resize the
 * caller does. */
lull_status lull_kernel_check(struct lull_kernel *kernel, struct lull_error *err);

/* Sets the values of quotients from those of the sizes. */
void lull_kernel_divide(struct lull_kernel *kernel);
/* The values of all symbols; loop variables stand at their first iteration. */
void lull_kernel_values(const struct lull_kernel *kernel, double values[LULL_POLY_SYMBOLS]);
const char *const *lull_kernel_names(const struct lull_kernel *kernel, struct lull_arena *arena);
/* Iterations of a loop at each execution, with the loops around it in the middle of their range. */
double lull_kernel_trips(const struct lull_kernel *kernel, size_t loop);
/* How many iterations the loop makes in one execution of the nest. */
double lull_kernel_iterations(const struct lull_kernel *kernel, int loop);
/* Elements that an access moves on with each iteration of a loop; 0: it stays. */
double lull_kernel_stride(const struct lull_kernel *kernel, const struct lull_kernel_access *access,
                          size_t loop);
bool lull_kernel_is_innermost(const struct lull_kernel *kernel, int loop);
size_t lull_kernel_count_innermost(const struct lull_kernel *kernel);
/* The number of the body among the innermost loops, in order of the source, from 1 on. */
size_t lull_kernel_number(const struct lull_kernel *kernel);
/* The innermost loop that makes the most iterations, the first of them where several do.
 * LULL_KERNEL_NONE: no loop makes any iteration. */
int lull_kernel_busiest(const struct lull_kernel *kernel);
/* The same kernel with another innermost loop as its body. Everything but `body` is shared. */
struct lull_kernel lull_kernel_look_at(const struct lull_kernel *kernel, int loop);
/* How often what stands directly in `loop`, or outside of all loops (LULL_KERNEL_NONE), happens per
 * iteration of the body. It is 0 for other innermost loops; and for what stands outside of all
 * innermost loops it is 0 unless the body is the busiest loop. */
double lull_kernel_per_iteration(const struct lull_kernel *kernel, int loop);
/* Iterations of the body in a unit of work with cache lines of so many bytes. */
double lull_kernel_unit(const struct lull_kernel *kernel, double line_bytes);
/* Floating-point operations per iteration of the body. */
double lull_kernel_flops_per_iteration(const struct lull_kernel *kernel);
/* Bytes of all arrays together: by their declared extents; of a pointer, what the nest touches. */
double lull_kernel_footprint(const struct lull_kernel *kernel);
/* Bytes of one array, counted in the same way. */
double lull_kernel_array_bytes(const struct lull_kernel *kernel, size_t array);

#endif
