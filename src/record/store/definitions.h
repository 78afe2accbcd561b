/* SPDX-License-Identifier: BSD-3-Clause */
/* The definitions of this process: what the ids in its tapes stand for. They are appended to its
 * file under a mutex, never on the hot path. Ids are given out here, from 1 on; 0 says that there
 * is none (yet). */
#ifndef LULL_RECORD_STORE_DEFINITIONS_H
#define LULL_RECORD_STORE_DEFINITIONS_H

#include "record/core.h"

struct rec_region {
    uint32_t paradigm, role; /* enum lull_tape_paradigm, enum lull_tape_role */
    bool parallel;           /* what is inside of it is inside of an OpenMP parallel region */
    uint32_t line;
    const char *name;
    const char *file; /* NULL: unknown */
};

struct rec_comm {
    uint64_t key; /* the same at all members, different from all other communicators; 0: only this
                     process is in it */
    uint32_t paradigm;
    uint32_t size;
    uint32_t first;          /* process number of rank 0, where the members have consecutive
                                numbers */
    uint32_t parent, remote; /* ids or UINT32_MAX */
    const uint32_t *members; /* process numbers; NULL: `size` from `first` on */
    bool tells_rank;         /* the members are not known, but `rank` is (with `members` NULL) */
    uint64_t rank;           /* of this process; LULL_TAPE_NO_RANK: it is not in this group */
    const char *name;
};

/* A part of a region: its calls from one place of the program, or with `code` the region whose code
 * is at that place. */
struct rec_site {
    uint32_t region;
    uint32_t code;                       /* enum lull_tape_code */
    unsigned n;                          /* places, the innermost first; of code 1 */
    uint32_t objects[REC_MOST_CALLPATH]; /* ids */
    uint64_t offsets[REC_MOST_CALLPATH]; /* in the file, not in memory */
};

/* Begins the definitions in the place that this process takes (container.h). False: nothing can be
 * recorded; errno says why. */
bool rec_definitions_begin(const char *run, const char *store);
/* Nothing can be recorded after all: the file goes away. */
void rec_definitions_drop(void);
/* No definitions come any more. Returns where the exit status of the process is to be written once
 * it is known; NULL: nowhere. */
uint64_t *rec_definitions_end(void);

uint32_t rec_define_region(const struct rec_region *region);
/* Defines a region once: *id is set when it is 0, by whichever thread comes first. Returns it. */
uint32_t rec_define_region_once(uint32_t *id, const struct rec_region *region);
/* A loaded file; `build_id` hexadecimal, or "". With `function` a file in which an interpreter executes
 * the function of this name: an offset in it is a line. */
uint32_t rec_define_object(const char *path, const char *build_id, const char *function);
uint32_t rec_define_site(const struct rec_site *site); /* its id is that of a region */
uint32_t rec_define_comm(const struct rec_comm *comm);
/* The two groups of an intercommunicator, which are each other's `remote`; returns the id of the
 * local one. */
uint32_t rec_define_intercomm(struct rec_comm *local, struct rec_comm *remote);
/* The same where no key names both groups: see LULL_TAPE_DEFINE_FAR, to whose fields `link`, `own`
 * and (the key of `far`) `theirs` go. */
uint32_t rec_define_half(const struct rec_comm *local, uint64_t link, uint64_t own,
                         const struct rec_comm *far);
/* Calls of a function have been left out from here on, because their mean of `ns` was too short.
 * `calls` is how many they were; LULL_TAPE_NOT_COUNTED: the process still goes on. */
void rec_define_throttled(uint32_t region, uint64_t ns, uint64_t calls);
uint32_t rec_define_marker(const char *name);
/* `kind`: enum lull_tape_file_kind. */
uint32_t rec_define_file(const char *path, unsigned kind);
uint32_t rec_define_counter(const char *name, const char *unit, unsigned role);
void rec_define_run(void);     /* who records, and since when */
void rec_define_process(void); /* from rec_process; again when the rank changes */
/* Which process of the system this is, for who reads the run while it is recorded. */
void rec_define_life(void);
/* This process has `rank` in a world of MPI with `size` ranks, which have the process numbers
 * `first` and up in the definitions of communicators. */
void rec_define_world(uint32_t first, uint32_t size, uint32_t rank);

/* What this process alone says of itself (LULL_TAPE_DEFINE_PROPERTY). */
void rec_define_property(const char *key, const char *value);

/* Returns where the numbers stand in the run, to be changed in place until the process ends; NULL: nowhere. */
struct lull_tape_memory *rec_define_memory(const struct lull_tape_memory *memory);
/* Room for LULL_TAPE_READINGS readings, all of 0 bytes, likewise. */
struct lull_tape_reading *rec_define_readings(void);
/* Room for the memory of the process within a region, all 0, likewise. */
struct lull_tape_region_memory *rec_define_region_memory(uint32_t region);

/* The program was disturbed on purpose: what the user asked for, in lines, and the seed. */
void rec_define_disturbance(uint64_t seed, const char *specs);
/* How many messages were held back, or had come late enough by themselves (`known`), and of how
 * many it was not known when they were sent. */
void rec_define_held(uint64_t known, uint64_t unknown);

/* At `ns` of this node's clock, the clock of rank 0 is `to_root` ns ahead, give or take `error`
 * ns. */
void rec_define_offset(int64_t ns, int64_t to_root, double error);
/* Adds a calibration point of the clock if the last one is older than `ns`. */
void rec_define_clock(int64_t ns);

#endif
