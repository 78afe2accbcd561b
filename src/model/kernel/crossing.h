/* Vectors that cross from one cache line to the next, which the first cache has to serve with both.
 *
 * An array that is walked element by element in vectors crosses once per line, whatever the width
 * of the vectors, unless it begins at a multiple of their width: a[i - 1], a[i] and a[i + 1] cannot
 * all do. Arrays are taken to begin on a line, as --run puts them, and a loop to begin with whole
 * vectors. llvm-mca knows no addresses. What a crossing costs is in the machine file (`lull bench
 * crossing`); where it is not, it counts nothing. */
#ifndef LULL_MODEL_KERNEL_CROSSING_H
#define LULL_MODEL_KERNEL_CROSSING_H

#include "machine/machine.h"
#include "model/kernel/kernel.h"

struct lull_crossing {
    double loads, stores;              /* vectors that cross, per unit of work */
    double lines_loaded, lines_stored; /* by vectors, whether they cross or not, likewise */
    bool known;                        /* the machine file says what that costs */
    double load_cycles;  /* per unit of work, for the loads that cross: in addition to T_nOL */
    double store_cycles; /* per unit of work, for all stores of vectors: T_OL is not below */
};

/* Of the kernel's body, compiled to vectors of so many bits; 0, or those of a single element: no
 * vectors, nothing crosses. */
struct lull_crossing lull_crossing_find(const struct lull_kernel *kernel,
                                        const struct lull_machine *machine, unsigned vector_bits,
                                        double line_bytes);

#endif
