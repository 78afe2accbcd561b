/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/noise_trace.h"

#include "base/output_file.h"

#include <inttypes.h>
#include <math.h>

/* Appends the detours of one recording, rounded to whole ns. A detour that overlaps the one before
 * is cut; one of which less than 1 ns is left is dropped. */
static void append(struct lull_noise_trace *trace, const struct lull_machine_noise *noise,
                   int64_t start, int64_t *lost)
{
    int64_t end = start;
    for (size_t i = 0; i < noise->n_detours; i++) {
        int64_t begin = start + llround(noise->detours[i].at * 1e9);
        int64_t until = start + llround((noise->detours[i].at + noise->detours[i].length) * 1e9);
        if (begin < end)
            begin = end;
        if (until > trace->duration)
            until = trace->duration;
        if (until <= begin)
            continue;
        trace->detours[trace->count++] = (struct lull_noise_detour){begin, until - begin};
        *lost += until - begin;
        end = until;
    }
}

lull_status lull_noise_trace_of(const struct lull_machine *machine, struct lull_arena *arena,
                                struct lull_noise_trace *ret_trace, struct lull_error *err)
{
    size_t detours = 0;
    double seconds = 0;
    for (size_t i = 0; i < machine->n_noise; i++) {
        detours += machine->noise[i].n_detours;
        seconds += machine->noise[i].duration;
    }
    if (machine->n_noise == 0)
        return lull_fail(err, LULL_ERR_RANGE, "the machine file has no noise");
    if (!(seconds >= 1e-9 && seconds < 1e9))
        return lull_fail(err, LULL_ERR_RANGE,
                         "the noise was recorded for %g s, expected 1 ns to "
                         "30 years",
                         seconds);
    struct lull_noise_trace trace = {
        .detours = lull_arena_alloc(arena, (detours + 1) * sizeof *trace.detours)};
    int64_t start = 0, lost = 0;
    for (size_t i = 0; i < machine->n_noise; i++, start = trace.duration) {
        trace.duration = start + llround(machine->noise[i].duration * 1e9);
        append(&trace, &machine->noise[i], start, &lost);
    }
    if (lost >= trace.duration)
        return lull_fail(err, LULL_ERR_RANGE, "the recorded noise leaves no time to the program");
    *ret_trace = trace;
    return LULL_OK;
}

void lull_noise_trace_write(const struct lull_noise_trace *trace, FILE *out)
{
    fprintf(out, "{\"lull_noise\": 1, \"duration\": %" PRId64 ", \"detours\": [", trace->duration);
    for (size_t i = 0; i < trace->count; i++)
        fprintf(out, "%s\n[%" PRId64 ", %" PRId64 "]", i ? "," : "", trace->detours[i].begin,
                trace->detours[i].length);
    fprintf(out, "\n]}\n");
}

static void write_trace_content(const void *content, FILE *out)
{
    lull_noise_trace_write(content, out);
}

lull_status lull_noise_trace_save(const char *path, const struct lull_noise_trace *trace,
                                  struct lull_error *err)
{
    return lull_file_write(path, write_trace_content, trace, err);
}
