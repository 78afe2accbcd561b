/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked: what the linker has made of a file: its bytes as they lie in memory, the functions of its symbol
 * table, and the stubs by which functions of other files are called. Internal to the room. */
#ifndef LULL_BINARY_LINKED_H
#define LULL_BINARY_LINKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull_features.h"

#if LULL_HAVE_LIBDW

#include <elfutils/libdwfl.h>

/* A function of the symbol table. */
struct lull_linked_function {
    uint64_t begin, end; /* addresses in the file */
    const char *name;
    bool is_seen; /* by other files */
};

/* A memory of the program that holds a pointer to a function of another file. */
struct lull_linked_slot {
    uint64_t address;
    const char *name; /* of the function */
};

/* `module` and `bias` are set by who opens the file; what is read of it is private. */
struct lull_linked {
    Dwfl_Module *module; /* borrowed */
    GElf_Addr bias;      /* of its addresses */
    unsigned machine;
    const uint8_t *image; /* the bytes of the file; NULL: it cannot be read so */
    size_t image_size;
    struct lull_linked_function *functions; /* ascending by begin, once they were needed */
    size_t n_functions, capacity;
    struct lull_linked_slot *slots; /* ascending */
    size_t n_slots, slots_capacity;
    bool is_listed, has_slots;
};

/* Finds `size` bytes at an address in the file; NULL: it does not hold them. *ret_left is how many follow in
 * the same segment. */
const uint8_t *lull_linked_bytes(const struct lull_linked *linked, uint64_t address, size_t size,
                                 uint64_t *ret_left);
/* The function of the symbol table at an offset; NULL: none. */
const struct lull_linked_function *lull_linked_find(struct lull_linked *linked, uint64_t offset);
/* The function whose address the dynamic linker writes into a slot; NULL: not known. */
const char *lull_linked_slot(struct lull_linked *linked, uint64_t address);
/* The function that a stub at an offset calls; NULL: there is no stub. */
const char *lull_linked_stub(struct lull_linked *linked, uint64_t offset);
/* Releases what was read of the file. */
void lull_linked_free(struct lull_linked *linked);

#endif
#endif
