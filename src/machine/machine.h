/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine file: what was measured of a host, how, and how sure it is (docs/formats/machine.md).
 *
 * Everything lives in the arena that was given when the machine was made. A missing text is NULL, a
 * missing number NAN, a missing size 0 unless said otherwise. Units: s, B, Hz, B/s, flop/s. */
#ifndef LULL_MACHINE_MACHINE_H
#define LULL_MACHINE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How far a number can be trusted. */
enum lull_verdict {
    LULL_VERDICT_QUIET,            /* nothing disturbed it, and it is as precise as was asked */
    LULL_VERDICT_NOISY,            /* as precise as was asked, but the system was not quiet */
    LULL_VERDICT_NOT_CONVERGED,    /* the time was up before it was as precise as was asked */
    LULL_VERDICT_BELOW_RESOLUTION, /* only a bound is known: the number lies between 0 and `high`,
                                      and `value` is the middle */
    LULL_VERDICT_PUBLISHED         /* taken from a publication, not measured by lull */
};
const char *
lull_verdict_name(enum lull_verdict verdict); /* "quiet", "noisy", "not converged", ... */

struct lull_number {
    const char *name;      /* "memory.load.1", see docs/formats/machine.md; NULL inside `network` */
    double value;          /* NAN: there is none */
    const char *unit;      /* "B/s" */
    const char *statistic; /* what `value` is: "p10", "median", "fit", "published" */
    double low, high;      /* the interval in which a later visit finds the number; NAN: unknown */
    double confidence;     /* the probability that it does, 0 .. 1; 0 without an interval */
    double in_cycles;      /* the number with a cycle of the core's clock as the unit of time: flop
                              per cycle, B per cycle or cycles; NAN where it does not follow that
                              clock */
    double in_cycles_low, in_cycles_high; /* its interval, of the same confidence */
    uint64_t samples;                     /* timed blocks; 0: unknown */
    uint32_t rounds; /* visits, spread over the run of the benchmark, that the samples come from */
    double *visits;  /* [n_visits], ascending: the number as each visit found it, in the unit of
                        in_cycles where that is known; NULL: not known */
    size_t n_visits;
    enum lull_verdict verdict;
    double with_write_allocate; /* of a bandwidth: the same, with the lines counted that are read
                                   only because they are written to; NAN where it does not apply */
    double mean; /* of a rate: the same from the mean of the block times, while `value` is from a
                    quantile of them; NAN: not known */
    const char *note; /* what disturbed the measurement, or what limits the number */
};

struct lull_number_list {
    struct lull_number *items;
    size_t count, capacity;
};

struct lull_machine_provenance {
    const char *kind;   /* "measured" or "published" */
    const char *source; /* of a published machine: where the numbers are printed */
    const char *date;   /* ISO 8601, UTC */
    const char *lull;   /* version */
    const char *effort; /* "quick", "standard" or "full" */
    const char *kernel, *compiler, *flags, *mpi, *openmp, *governor, *turbo;
    const char *openmp_environment; /* the variables that decide how OpenMP threads wait, as set */
    const char *clock_source;       /* what times were read from */
    const char *pinning;
    const char *pages; /* "transparent huge pages", ... */
    const char **remarks;
    size_t n_remarks;
};

struct lull_machine_host {
    const char *name, *system, *hypervisor;
};

struct lull_machine_cpu {
    const char *vendor, *model, *architecture;
    const char **isa; /* "sse2", "avx2", "fma", "avx512f" */
    size_t n_isa;
    uint32_t packages, numa_domains, cores, threads; /* how many of them may be used */
    uint32_t threads_per_core, cores_per_numa_domain;
};

enum lull_known { LULL_UNKNOWN, LULL_NO, LULL_YES };

struct lull_machine_cache {
    uint32_t level;        /* 1, 2, 3 */
    const char *kind;      /* "data" or "unified" */
    uint64_t bytes;        /* of one instance; 0: unknown */
    uint32_t ways;         /* 0: unknown */
    uint32_t line_bytes;   /* 0: unknown */
    uint32_t instances;    /* 0: unknown */
    uint32_t shared_cores; /* cores that share one instance; 0: unknown */
    enum lull_known inclusive;
    const char *source; /* "hwloc", "sysfs", "cpuid", "published" */
};

struct lull_machine_numa {
    uint32_t os_index;
    uint64_t bytes;
    uint32_t cores;
};

/* A link between two neighbouring levels of the memory hierarchy. */
struct lull_machine_link {
    const char *from, *to; /* "L1", "L2"; `to` is the one farther from the core */
    double bytes_per_cycle;
    bool full_duplex; /* it carries reads and writes at the same time */
};

/* What models of single loops need to know of a core beyond the measured numbers. */
struct lull_machine_core {
    const char *overlap; /* which transfers between levels overlap: "none" or "caches"; NULL:
                            unknown */
    struct lull_machine_link *links;
    size_t n_links;
    const char *llvm_cpu;    /* name for llvm-mca -mcpu */
    const char **load_ports; /* resources of llvm-mca that loads occupy */
    size_t n_load_ports;
};

/* A message of n bytes, from <= n <= to, takes latency + n / bandwidth. */
struct lull_network_range {
    uint64_t from, to;            /* to UINT64_MAX: no end */
    const char *protocol;         /* "eager", "rendezvous" or NULL */
    struct lull_number latency;   /* s */
    struct lull_number bandwidth; /* B/s */
};

/* What messages cost between two ranks at some distance: on one socket, in one node, on different
 * nodes. */
struct lull_network_level {
    const char *name;                  /* "socket", "node", "remote" */
    const char *about;                 /* what was measured between: "cores 0 and 1" */
    struct lull_network_range *ranges; /* ascending, without gaps */
    size_t n_ranges;
    bool has_eager_limit;
    uint64_t eager_limit; /* largest message sent without waiting for its receiver, bytes */
    struct lull_number latency, overhead, gap, gap_per_byte; /* LogGP: L, o, g in s; G in s/B */
};

/* A time in which the core did something else than the program's work. */
struct lull_detour {
    double at, length; /* s from the start of the recording */
};

/* The noise of a core: a recording that the simulator plays, and a histogram of its detours. */
struct lull_machine_noise {
    uint32_t core;                   /* as the system numbers it */
    double quantum;                  /* undisturbed time of the work that was timed, s */
    double duration;                 /* of the recording, s */
    struct lull_number share, power; /* stats/noise.h */
    struct lull_detour *detours;     /* in order of time, not overlapping */
    size_t n_detours;
    double *edges;  /* of the histogram of detours, ascending, s */
    size_t n_edges; /* n_bins + 1, or 0 without a histogram */
    uint64_t *bins;
    size_t n_bins;
};

/* A curve: bandwidth over working set, time over message size. */
struct lull_series_point {
    double x, y, low, high; /* low, high: the interval of y, or NAN */
};

struct lull_series {
    const char *name;  /* "sweep.load.1" */
    const char *title; /* for people */
    const char *x_label, *x_unit, *y_label, *y_unit;
    struct lull_series_point *points; /* ascending x */
    size_t n_points;
};

struct lull_machine {
    const char *name; /* of a shipped file; NULL for a measured one */
    struct lull_machine_provenance provenance;
    struct lull_machine_host host;
    struct lull_machine_cpu cpu;
    uint64_t memory_bytes;
    struct lull_machine_cache *caches; /* ascending level */
    size_t n_caches;
    struct lull_machine_numa *numa;
    size_t n_numa;
    struct lull_machine_core core;
    struct lull_number_list numbers;    /* names differ */
    struct lull_network_level *network; /* nearest first */
    size_t n_network;
    struct lull_machine_noise *noise; /* one per core measured */
    size_t n_noise;
    struct lull_series *series;
    size_t n_series;
};

/* A number without value and interval, for the caller to fill in. */
struct lull_number lull_number_empty(void);
/* A number that was published or derived, without an interval. */
struct lull_number lull_number_plain(double value, const char *unit, const char *statistic);

struct lull_machine *lull_machine_create(struct lull_arena *arena);

/* What a machine is called: the name in its file, else that of its host, else its processor's. It lives as long as the
 * machine. NULL: the file has none of them. */
const char *lull_machine_label(const struct lull_machine *machine);
/* Whether its cores have some instructions, "avx2". */
bool lull_machine_has_isa(const struct lull_machine *machine, const char *name);
/* Width of the widest vectors of x86; 0: it is none. */
unsigned lull_machine_vector_bits(const struct lull_machine *machine);

/* Adds a number, or replaces the one of that name. Its texts are not copied: they must live as long
 * as the arena. */
void lull_machine_set(struct lull_machine *machine, struct lull_arena *arena,
                      const struct lull_number *number);
/* The number of that name; NULL where there is none. */
const struct lull_number *lull_machine_find(const struct lull_machine *machine, const char *name);
/* The number "<base>.<threads>", or else the one of the next smaller number of threads; NULL where
 * there is none. *ret_threads becomes the number of threads found; ret_threads may be NULL. */
const struct lull_number *lull_machine_find_threads(const struct lull_machine *machine,
                                                    const char *base, unsigned threads,
                                                    unsigned *ret_threads);
const struct lull_network_level *lull_machine_network(const struct lull_machine *machine,
                                                      const char *name);
const struct lull_series *lull_machine_series(const struct lull_machine *machine, const char *name);
/* The data or unified cache of a level; NULL where there is none. */
const struct lull_machine_cache *lull_machine_cache(const struct lull_machine *machine,
                                                    unsigned level);

/* Reads a machine file. Messages name file and place: "m.json: /numbers/3/value: expected a
 * number". Unknown keys are refused. Fails with LULL_ERR_IO, LULL_ERR_FORMAT or LULL_ERR_MEMORY. */
lull_status lull_machine_read(const char *path, struct lull_arena *arena,
                              struct lull_machine **ret_machine, struct lull_error *err);
/* Reads it from memory; `path` is for messages only. */
lull_status lull_machine_parse(const char *text, size_t size, const char *path,
                               struct lull_arena *arena, struct lull_machine **ret_machine,
                               struct lull_error *err);

/* Writes a machine as JSON; reading it gives the same machine. Errors of the stream stay in
 * ferror(out). */
void lull_machine_write(const struct lull_machine *machine, FILE *out);
/* Writes it to a file, as lull_file_write does (base/output_file.h). */
lull_status lull_machine_save(const char *path, const struct lull_machine *machine,
                              struct lull_error *err);

/* Whether the machine is the one that lull runs on now, by the name of the host. */
bool lull_machine_is_here(const struct lull_machine *machine);

#endif
