/* SPDX-License-Identifier: BSD-3-Clause */
/* In-core time: the cycles that a core takes for a unit of work with all data in its first cache.
 *
 * The kernel is compiled, and its body is found in the assembler code; where there are several
 * innermost loops, by the lines of the source that the compiler notes. llvm-mca says how long each
 * port of the processor is busy with it. T_nOL is how long load instructions keep the ports busy
 * that load; T_OL is how long the busiest of the other ports is busy. Where llvm-mca is missing or
 * does not know the processor, instructions are counted and divided by what a present x86 core does
 * per cycle. */
#ifndef LULL_MODEL_KERNEL_INCORE_H
#define LULL_MODEL_KERNEL_INCORE_H

#include "machine/machine.h"
#include "model/kernel/kernel.h"

#include <jansson.h>

/* ==== the in-core times ======================================================================= */

enum lull_incore_source { LULL_INCORE_GIVEN, LULL_INCORE_MCA, LULL_INCORE_ESTIMATE };

struct lull_incore_port {
    const char *name;
    double cycles; /* busy, per unit of work */
    bool loads;    /* belongs to a group of load ports */
};

struct lull_incore { /* cycles per unit of work */
    enum lull_incore_source source;
    double t_ol, t_nol;
    double chain;         /* latency of the longest chain of instructions from one iteration to the
                             next, as of a sum; NAN: unknown */
    double alone;         /* what llvm-mca simulates for the loop by itself; NAN: unknown */
    double per_pass;      /* iterations of the kernel in one pass of the compiled loop */
    unsigned vector_bits; /* width of the vectors in its arithmetic; 0: unknown */
    const char *cpu, *compiler, *flags; /* cpu: llvm-mca's name; NULL: none was used */
    const char *assembly;               /* text of the compiled loop; NULL: none */
    struct lull_incore_port *ports;
    size_t n_ports;
    const char **notes; /* sentences for the user */
    size_t n_notes;
};

struct lull_incore_times { /* cycles per unit of work */
    double t_ol, t_nol;
};

/* What the compiler made of a nest, for the loops of the nest that are looked at next. */
struct lull_incore_code {
    struct lull_arena *arena;
    const char *assembly[2]; /* with constant sizes, with any sizes; NULL: not compiled yet */
};

struct lull_incore_options {
    const struct lull_incore_times *given; /* [n_given] times that the user gives instead, one for
                                              each innermost loop in order of the source; NULL: find
                                              them */
    size_t n_given;
    const char *compiler;     /* its command; NULL: cc */
    const char *const *flags; /* of the compiler, NULL at the end; NULL: chosen for the machine */
    const char *const *more_flags; /* beside those that are chosen: where headers are; NULL at the
                                      end; NULL: none */
    const char *mca;               /* command of llvm-mca; NULL: whichever version is found */
    bool here;     /* the machine file is of this machine: compile with -march=native */
    bool estimate; /* do without llvm-mca */
};

/* The in-core times of the kernel's body. The stated costs of calls are part of T_OL. `line_bytes`
 * defines the unit of work. Fails with LULL_ERR_IO where the compiler does not run, LULL_ERR_FORMAT
 * where it refuses the kernel or the loop is not found in what it makes, LULL_ERR_RANGE where two
 * innermost loops stand on one line or times are not given for each. `code` is kept by the caller from one
 * loop of a nest to the next, and begins as {arena}. */
lull_status lull_incore_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                             const struct lull_incore_options *options, double line_bytes,
                             struct lull_incore_code *code, struct lull_arena *arena,
                             struct lull_incore *ret_incore, struct lull_error *err);

/* What the machine code of a loop says of its time in the core, in cycles per pass. */
struct lull_incore_binary {
    struct lull_incore incore; /* without the iterations of the source: per_pass is 1 */
    size_t n_instructions;
    /* Instructions that calculate with one floating-point number, and with vectors of them. */
    unsigned scalar, packed;
    unsigned element_bytes; /* of these numbers; 0: there are none */
    unsigned lanes;         /* numbers in the widest of these vectors; 1: there are no vectors */
    double loaded, stored;  /* bytes of data */
    /* No pass takes less with its data in the first cache, as far as the ports, and the chain where it is
     * known, tell. */
    double cycles;
    const char *limit; /* "port HWPort1", "dependency chain", "loads from L1" */
};

/* The same of code of x86-64, in the order of execution. `whole`: it is all that a pass executes, so that the
 * chain from one pass to the next can be followed. llvm-mc reads the instructions. Fails with
 * LULL_ERR_UNSUPPORTED where there is no llvm-mc, and LULL_ERR_FORMAT where it does not understand the code. */
lull_status lull_incore_of_code(const uint8_t *code, size_t size, bool whole,
                                const struct lull_machine *machine,
                                const struct lull_incore_options *options, struct lull_arena *arena,
                                struct lull_incore_binary *ret_binary, struct lull_error *err);

/* The in-core times of the kernel's body, by machine code that is known to be its. False: it is not known how many
 * iterations of the body a pass is, from the bytes that both load and store. */
bool lull_incore_of_body(const struct lull_kernel *kernel, const struct lull_incore_binary *binary,
                         double line_bytes, struct lull_arena *arena,
                         struct lull_incore *ret_incore);

/* What limits the in-core times: the busiest of the ports that do not load, by name. */
const char *lull_incore_busiest_port(const struct lull_incore *incore, struct lull_arena *arena);

/* Compiles the kernel into a shared object at `path`, with the same compiler and flags. */
lull_status lull_incore_build(const struct lull_kernel *kernel, const struct lull_machine *machine,
                              const struct lull_incore_options *options, const char *path,
                              struct lull_arena *arena, struct lull_error *err);

/* ==== assembler code ========================================================================== */

/* What incore.c and assembly.c know of each other; internal to these two. */

struct lull_assembly_instruction {
    const char *text; /* "vaddpd (%rax), %ymm0, %ymm1" */
    bool load, store, floating;
    bool arithmetic, division; /* on vectors or floating-point numbers */
    unsigned memory_bytes;     /* of data that it loads or stores; 0: none, or not known */
    unsigned register_bits;    /* width of its widest vector register; 0: it has none */
};

struct lull_assembly_loop {
    struct lull_assembly_instruction *items;
    size_t count;
    const char *text;      /* its lines, with its label */
    double loaded, stored; /* bytes of data per pass */
};

/* Lines `first` to `last` of a source file; last 0: all lines. */
struct lull_source_lines {
    const char *file;
    unsigned first, last;
};

/* Finds among the innermost loops of the function that come from these lines (most of their
 * instructions do) the one that moves most data in a pass. Returns false where there is none. */
bool lull_assembly_find(const char *assembly, const char *function, struct lull_source_lines from,
                        struct lull_arena *arena, struct lull_assembly_loop *ret_loop);

/* The same for a loop that the compiler has unrolled completely: all instructions of the function
 * that come from these lines. Returns false where none of them moves data. */
bool lull_assembly_find_unrolled(const char *assembly, const char *function,
                                 struct lull_source_lines from, struct lull_arena *arena,
                                 struct lull_assembly_loop *ret_loop);

/* All instructions of a text, one in a line. */
struct lull_assembly_loop lull_assembly_read(const char *text, struct lull_arena *arena);

/* Whether an instruction calculates with floating-point numbers: adds, multiplies, divides, compares, takes roots.
 * *ret_bytes is the size of a number, and *ret_bits that of the vectors; 0 where it is one number. */
bool lull_assembly_calculates(const struct lull_assembly_instruction *instruction,
                              unsigned *ret_bytes, unsigned *ret_bits);

/* The text of the instruction with a register in the place of the memory operand that it loads into
 * a vector register. */
const char *lull_assembly_without_load(const struct lull_assembly_instruction *instruction,
                                       struct lull_arena *arena);

/* Cycles of the longest chain of instructions that leads from a register at the begin of a pass to
 * the same register at its end. `latency` holds the cycles of each instruction of the loop. */
double lull_assembly_chain(const struct lull_assembly_loop *loop, const double *latency,
                           struct lull_arena *arena);

/* Sets times and chain of *incore, in cycles per pass, from counted instructions and usual
 * latencies. Its vector_bits is set already. */
void lull_incore_estimate(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                          struct lull_arena *arena, struct lull_incore *incore);

#endif
