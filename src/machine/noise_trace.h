/* SPDX-License-Identifier: BSD-3-Clause */
/* The recordings of noise in a machine file as one recording, for the simulator.
 *
 * It holds those of all cores, one after the other. So ranks that begin at random places in it
 * (`phase=random`) are disturbed like cores that were picked at random. */
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

/* Joins the recordings of a machine, rounded to whole ns. The detours live in `arena`. Fails with
 * LULL_ERR_RANGE where there is no recording, where the detours leave the program no time, and for
 * recordings shorter than 1 ns or longer than 1e9 s together. */
lull_status lull_noise_trace_of(const struct lull_machine *machine, struct lull_arena *arena,
                                struct lull_noise_trace *ret_trace, struct lull_error *err);

/* Writes it as JSON (docs/formats/noise.md); errors of the stream stay in ferror(out). */
void lull_noise_trace_write(const struct lull_noise_trace *trace, FILE *out);
/* Writes it to a file, as lull_file_write does (base/output_file.h). */
lull_status lull_noise_trace_save(const char *path, const struct lull_noise_trace *trace,
                                  struct lull_error *err);

#endif
