/* SPDX-License-Identifier: BSD-3-Clause */
/* Call sites: the place in the program from which a function is called, and for calls of MPI, or with
 * --callpath, also the places that its callers are called from. Each such path becomes a region of
 * its own, whose definition says of which region it is a part, and a call is recorded with the id of
 * its path. Places are written as a loaded file and an offset in it, and get their names when the
 * run is read.
 *
 * Calls of a program go through runtimes: bindings of MPI, the libraries of a language, its
 * interpreter. The site is the first place in the program; where there is none, the call itself.
 *
 * What a call costs: its return address is looked up in a table without a lock, which leads to the
 * paths that have come through there before. The words of the stack are compared with those of the
 * paths; where none fits, the stack is walked. Both do without frame pointers: how far apart two return addresses lie
 * on the stack depends on the lower address alone, unless a function has arrays of variable size.
 * The unwinder of the C library finds that distance at the first call from a site, and it is kept
 * for later calls. Every new path is compared with what the unwinder finds; where the distance is
 * not always the same, the path ends. */
#ifndef LULL_RECORD_SITE_SITE_H
#define LULL_RECORD_SITE_SITE_H

#include "record/core.h"
#include "record/site/map.h"

/* ==== sites =================================================================================== */

#define REC_CALLER __builtin_return_address(0)
#define REC_FRAME  __builtin_dwarf_cfa() /* the stack of the caller begins here */

/* Place and function -> region, for calls of which the return address tells enough. */
extern struct rec_map rec_sites __attribute__((visibility("hidden")));

/* A path as words on the stack: return addresses at distances from the frame of the call. Where these
 * words are there again, the call has come along that path again: the same steps lead to them. */
enum { REC_PATH_WORDS = 6 };
struct rec_known_path {
    const struct rec_known_path *next; /* of the same place and function */
    uint32_t region; /* atomic; 0: does not count any more, because one of its steps may vary */
    uint32_t n;      /* words; 0: the return address of the call alone tells the path */
    uintptr_t from;  /* that address */
    struct {
        uintptr_t bytes; /* from the frame to the end of the word; ascending */
        uintptr_t place;
    } words[REC_PATH_WORDS];
};
/* Place and function -> the newest struct rec_known_path, for calls that go through
 * rec_site_region. */
extern struct rec_map rec_known_paths __attribute__((visibility("hidden")));

/* The key of a place and a function in rec_sites and rec_known_paths. No two pairs have the same
 * key, because addresses of programs have 47 or 48 bits. */
static inline uintptr_t rec_site_key(const void *from, unsigned function)
{
    return (uintptr_t)from ^ (uintptr_t)((uint64_t)(function + 1) << 48);
}

/* Functions of the system, which a signal's handler may call as well, have numbers from here on. */
enum { REC_SYSTEM_SITES = 0x5000 };

/* Whether a call from that frame has come along a known path. */
REC_INLINE bool rec_site_is_path(const struct rec_known_path *known, const struct rec_thread *self,
                                 uintptr_t frame)
{
    const uint32_t n = known->n;
    if (n == 0)
        return true;
    /* Only the stack on which the thread began may be read, and no further than to its end. */
    if (REC_UNLIKELY(frame < self->stack_begin || frame >= self->stack_end ||
                     known->words[n - 1].bytes > self->stack_end - frame))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (((const uintptr_t *)(frame + known->words[i].bytes))[-1] != known->words[i].place)
            return false;
    return true;
}

/* The region of a call that has come along one of the paths behind `known`; 0: ask
 * rec_site_region. */
uint32_t rec_site_known_behind(const struct rec_known_path *known, const struct rec_thread *self,
                               uintptr_t frame);

/* The region of a call that has come along a known path; 0: ask rec_site_region. */
REC_INLINE uint32_t rec_site_known(const struct rec_thread *self, unsigned function,
                                   const void *from, const void *frame)
{
    const struct rec_known_path *known =
        (const struct rec_known_path *)rec_map_get(&rec_known_paths, rec_site_key(from, function));
    if (REC_UNLIKELY(!known))
        return 0;
    if (REC_LIKELY(rec_site_is_path(known, self, (uintptr_t)frame)))
        return __atomic_load_n(&known->region, __ATOMIC_RELAXED);
    return rec_site_known_behind(known, self, (uintptr_t)frame);
}

/* The region of a call. `parent` is the region of what is called, and `function` any number that
 * stands for it; `from` and `frame` are REC_CALLER and REC_FRAME in the function that the program
 * has called. Returns `parent` where the call has no site of its own, so never 0 unless `parent` is
 * 0. */
uint32_t rec_site_region(struct rec_thread *self, uint32_t parent, unsigned function,
                         const void *from, const void *frame);

/* The same where nothing but the return address `from` is known. */
uint32_t rec_site_of_place(uint32_t parent, unsigned function, const void *from);

/* Asks early for all that takes memory of the program's heap: once for each thread and for the
 * process. */
void rec_site_prepare(struct rec_thread *self);

/* Whether the address lies in the stack on which the calling thread began, not in a coroutine's. */
bool rec_site_is_stack(struct rec_thread *self, uintptr_t frame);

/* A region that is named after `parent` and the place of its code; `parent` itself when no loaded
 * file holds the code. */
uint32_t rec_site_of_code(uint32_t parent, const void *code);
/* A region that has the name of the function which begins there; `parent` as above. */
uint32_t rec_site_of_function(uint32_t parent, const void *function);

/* The function, as the linker sees it, that makes a call from `place`; `frame` is REC_FRAME in what
 * it calls. The caller must hold no lock, because the unwinder may have to be loaded. */
struct rec_enclosing {
    uintptr_t start; /* where its code begins; 0: not known, and neither is the rest */
    uintptr_t frame; /* where its own stack begins, behind its return address */
};
struct rec_enclosing rec_site_enclosing(const void *place, const void *frame);

/* A file that is loaded. An address in memory is the address in the file plus `bias`. */
enum { REC_MOST_PATH = 4096, REC_BUILD_ID = 2 * 64 + 1 };
struct rec_loaded {
    uintptr_t bias;
    char path[REC_MOST_PATH];
    char build_id[REC_BUILD_ID]; /* hexadecimal, or "" */
};
/* The loaded file that holds the address; false: none does. */
bool rec_site_loaded(uintptr_t address, struct rec_loaded *ret_file);
bool rec_site_bias(uintptr_t address, uintptr_t *ret_bias);
/* The id of that file, which is defined if need be; 0: no file holds the address, or the file cannot
 * be defined. */
uint32_t rec_site_object(uintptr_t address, uintptr_t *ret_bias);

/* The id of a function that an interpreter executes, and that is defined if need be: its file, "" where that
 * is not known, and name. 0: it cannot be defined. */
uint32_t rec_site_source(const char *file, const char *function);

/* ==== calls that never return ================================================================= */

/* Calls are left by longjmp, or by an exception out of an error handler. */

/* A thread that is inside a recorded call, or paused, calls something from `frame` (REC_FRAME).
 * False: that is a call inside the recorded one. True: the recorded call was left without a return;
 * it has been closed, and nothing is open. */
bool rec_forget_left(struct rec_thread *self, uintptr_t frame);

#endif
