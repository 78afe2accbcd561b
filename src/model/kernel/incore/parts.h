/* Between the parts of the in-core analysis; internal to incore. */
#ifndef LULL_MODEL_KERNEL_INCORE_PARTS_H
#define LULL_MODEL_KERNEL_INCORE_PARTS_H

#include "model/kernel/incore/incore.h"

#include <jansson.h>

/* ---- processes ----------------------------------------------------------------------------- */

/* Runs a program and waits for it; what it prints goes to the files, which may be NULL: nowhere.
 * LULL_ERR_IO where it cannot be started, LULL_ERR_FORMAT where it fails: the first line that it
 * printed as an error is in the text. */
lull_status lull_incore_run(const char *const *words, const char *out_path, const char *err_path,
                            struct lull_arena *arena, struct lull_error *err);
/* The whole of a file; NULL where it cannot be read. */
char *lull_incore_slurp(const char *path, struct lull_arena *arena);

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

/* ---- throughput ---------------------------------------------------------------------------- */

/* With cycles per pass. LULL_ERR_UNSUPPORTED: llvm-mca is missing or does not know the processor.
 */
lull_status lull_incore_mca(const struct lull_assembly_loop *loop,
                            const struct lull_machine *machine, const char *cpu, const char *mca,
                            const char *folder, struct lull_arena *arena,
                            struct lull_incore *incore, struct lull_error *err);
/* From counted instructions and usual latencies; `incore` knows the width of its vectors. */
void lull_incore_estimate(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                          struct lull_arena *arena, struct lull_incore *incore);

/* lull_assembly_chain with usual latencies. */
double lull_incore_estimate_chain(const struct lull_assembly_loop *loop, struct lull_arena *arena);

void lull_incore_note(struct lull_incore *incore, struct lull_arena *arena, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
