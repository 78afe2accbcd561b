/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of this process, or its part of the file of its node, with all that is recorded in it.
 * The file consists of extents, each of which is entered in a table of the process before it is
 * used, so that a process may die at any moment. See struct lull_tape_process_header and struct
 * lull_tape_container_header. Functions that several threads may call take a lock: only threads
 * that have stepped aside (core.h) call them. Failures set errno. */
#ifndef LULL_RECORD_STORE_CONTAINER_H
#define LULL_RECORD_STORE_CONTAINER_H

#include "record/core.h"

/* ==== extents ================================================================================= */

enum rec_joined {
    REC_JOINED_NOT,   /* the file cannot be used; errno says why */
    REC_JOINED,       /* this process records in the file */
    REC_JOINED_TAKEN, /* another process with this number records there */
};

/* Opens the file of the node, RUN/<node>.tapes, into which other processes of the node write as
 * well, and makes it where it is missing. */
enum rec_joined rec_container_join(const char *run);
/* Nothing is recorded after all: a file of the process alone goes away; in a file of the node the
 * number of the process stays taken. */
void rec_container_drop(void);

/* Takes space for `size` bytes, a multiple of LULL_TAPE_PAGE, asks for its blocks, so that writing
 * there cannot fail, and maps it at `at` (NULL: anywhere). Returns where; MAP_FAILED: it cannot be
 * had. */
void *rec_container_map(size_t size, void *at, struct rec_extent *ret_extent);
/* Takes space for what rec_container_write will write, without blocks. */
bool rec_container_reserve(size_t size, struct rec_extent *ret_extent);
/* From here on the extent is part of that location, or of the definitions. */
void rec_container_enter(const struct rec_extent *extent, enum lull_tape_part part,
                         uint32_t location);

/* The same for a chunk of a ring: the extent holds the location's chunk with that number. */
void rec_container_enter_chunk(const struct rec_extent *extent, uint32_t location, uint32_t number);
/* From here on the extent is part of nothing. */
void rec_container_vacate(const struct rec_extent *extent);

bool rec_container_write(const void *bytes, size_t size, uint64_t offset);
bool rec_container_read(void *bytes, size_t size, uint64_t offset);
/* Gives back the blocks of a part that is no longer used, where the file system can do that. */
void rec_container_free(uint64_t offset, size_t size);

/* ==== the place in a run ====================================================================== */

/* Takes the place of this process in a run: its number, and a file. With `store` "node" that is a
 * part of RUN/<node>.tapes, if it can be had. Else it is a new file RUN/<p / 1000>/<p>.tape, where
 * p is rec_process.number or, if that is taken, the first free number behind it; rec_process.number
 * is set to p. `store` NULL: no process of the run uses the file of a node. False: no place can be
 * had; errno says why. */
bool rec_place_take(const char *run, const char *store);

#endif
