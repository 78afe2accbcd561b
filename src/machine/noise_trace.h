/* The recordings of noise in a machine file as one, for the simulator.
 *
 * The recordings of all cores, one after the other: ranks that start at random places in it
 * (`phase=random`) are disturbed like cores that are picked at random. */
#ifndef LULL_MACHINE_NOISE_TRACE_H
#define LULL_MACHINE_NOISE_TRACE_H

#include "machine/machine.h"

struct lull_noise_detour {
    int64_t begin, length; /* ns; length > 0 */
};

struct lull_noise_trace {
    int64_t duration;                  /* ns */
    struct lull_noise_detour *detours; /* in order, not overlapping, within the duration */
    size_t count;
};

/* In whole ns, in the arena. Fails with LULL_ERR_RANGE where the machine has no recording, or one
 * that leaves no time to the program. */
lull_status lull_noise_trace_of(const struct lull_machine *machine, struct lull_arena *arena,
                                struct lull_noise_trace *ret_trace, struct lull_error *err);

/* As docs/formats/noise.md has it, in JSON; errors of the stream stay in ferror(out). */
void lull_noise_trace_write(const struct lull_noise_trace *trace, FILE *out);
/* As a file, as lull_file_write does (base/output_file.h). */
lull_status lull_noise_trace_save(const char *path, const struct lull_noise_trace *trace,
                                  struct lull_error *err);

#endif
