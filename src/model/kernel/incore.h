/* In-core time: what a core takes for a unit of work with all data in its first cache.
 *
 * The kernel is compiled, its body is found in the assembler code, of several innermost loops by
 * the lines of the source that the compiler notes, and llvm-mca says how long each port is busy.
 * T_nOL: the ports that load, in use by load instructions; T_OL: the busiest of the other ports.
 * Where llvm-mca is missing or does not know the processor, instructions are counted and divided by
 * what such a core does per cycle. */
#ifndef LULL_MODEL_KERNEL_INCORE_H
#define LULL_MODEL_KERNEL_INCORE_H

#include "machine/machine.h"
#include "model/kernel/kernel.h"

#include <jansson.h>

/* ==== incore ================================================================================== */

enum lull_incore_source { LULL_INCORE_GIVEN, LULL_INCORE_MCA, LULL_INCORE_ESTIMATE };

struct lull_incore_port {
    const char *name;
    double cycles; /* busy, per unit of work */
    bool loads;    /* belongs to a group of load ports */
};

struct lull_incore { /* cycles per unit of work */
    enum lull_incore_source source;
    double t_ol, t_nol;
    double chain;         /* latency of what one iteration hands to the next; NAN: unknown */
    double alone;         /* what llvm-mca simulates for the loop by itself; NAN: unknown */
    double per_pass;      /* iterations of the kernel in one pass of the compiled loop */
    unsigned vector_bits; /* of its arithmetic; 0: unknown */
    const char *cpu, *compiler, *flags; /* what was used; NULL: nothing */
    const char *assembly;               /* the loop; NULL: none */
    struct lull_incore_port *ports;
    size_t n_ports;
    const char **notes; /* sentences */
    size_t n_notes;
};

struct lull_incore_times { /* cycles per unit of work */
    double t_ol, t_nol;
};

struct lull_incore_options {
    const struct lull_incore_times *given; /* what the user says, of each innermost loop in order of
                                              the source; NULL: nothing */
    size_t n_given;
    const char *compiler;     /* NULL: cc */
    const char *const *flags; /* NULL: chosen for the machine */
    const char *mca;          /* NULL: llvm-mca, by any version's name */
    bool here;                /* the machine file is of this machine: -march=native */
    bool estimate;            /* do without llvm-mca */
};

/* Of the kernel's body. Calls have their stated costs in T_OL. `line_bytes` defines the unit of
 * work. Fails with LULL_ERR_IO where the compiler does not run, LULL_ERR_FORMAT where it refuses
 * the kernel or the loop is not found in what it makes, LULL_ERR_RANGE where two innermost loops
 * stand on one line or times are not given for each. */
lull_status lull_incore_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                             const struct lull_incore_options *options, double line_bytes,
                             struct lull_arena *arena, struct lull_incore *ret_incore,
                             struct lull_error *err);

/* Compiles that into a shared object at `path`, with the same compiler and flags. */
lull_status lull_incore_build(const struct lull_kernel *kernel, const struct lull_machine *machine,
                              const struct lull_incore_options *options, const char *path,
                              struct lull_arena *arena, struct lull_error *err);

/* ==== parts =================================================================================== */

/* Between the parts of the in-core analysis; internal to incore. */

/* ---- assembler code ------------------------------------------------------------------------ */

struct lull_instruction {
    const char *text; /* "vaddpd (%rax), %ymm0, %ymm1" */
    bool load, store, floating;
    bool arithmetic, division; /* on vectors or floating-point numbers */
    unsigned memory_bytes;     /* loaded or stored; 0: none, or no data of a vector or number */
    unsigned register_bits;    /* of the widest vector register; 0: none */
};

struct lull_assembly_loop {
    struct lull_instruction *items;
    size_t count;
    const char *text;      /* with its label */
    double loaded, stored; /* bytes of data per pass */
};

/* Lines of a source file; last 0: everything. */
struct lull_source_lines {
    const char *file;
    unsigned first, last;
};

/* The innermost loop of the function that moves the most data in a pass, of those most of whose
 * instructions come from these lines; false: there is none. */
bool lull_assembly_find(const char *assembly, const char *function, struct lull_source_lines from,
                        struct lull_arena *arena, struct lull_assembly_loop *ret_loop);

/* All instructions of the function that come from these lines, of a loop that is no loop any more;
 * false: none of them moves data. */
bool lull_assembly_find_unrolled(const char *assembly, const char *function,
                                 struct lull_source_lines from, struct lull_arena *arena,
                                 struct lull_assembly_loop *ret_loop);

/* The instruction with a register in the place of what it loads into vector registers. */
const char *lull_assembly_without_load(const struct lull_instruction *instruction,
                                       struct lull_arena *arena);

/* Longest latency from a register at the begin of a pass to the same register at its end;
 * `latency`: cycles of each instruction. */
double lull_assembly_chain(const struct lull_assembly_loop *loop, const double *latency,
                           struct lull_arena *arena);

/* From counted instructions and usual latencies; `incore` knows the width of its vectors. */
void lull_incore_estimate(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                          struct lull_arena *arena, struct lull_incore *incore);

#endif
