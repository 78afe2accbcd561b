/* Call sites: the place in the program from which a function is called, or with --callpath the
 * path of places. Each becomes a region of its own, whose definition says of which region it is a
 * part; the calls of a site have its id. Places are written as a loaded file and an offset in it,
 * and get their names when the run is read.
 *
 * What a call costs: the return address is looked up in a table without a lock. Only calls through
 * a binding (Fortran's) and call paths need more frames. They are walked without frame pointers:
 * how far apart two return addresses lie on the stack depends on the lower one alone, unless a
 * function has arrays of variable size; it is found once by the unwinder of the C library, at the
 * first call from a site, kept, and looked up later. Every new path is compared with what the
 * unwinder finds, and where the distance is not always the same the path ends. */
#ifndef LULL_RECORD_SITE_SITE_H
#define LULL_RECORD_SITE_SITE_H

#include "record/core.h"
#include "record/site/map.h"

/* ==== site ==================================================================================== */

#define REC_CALLER __builtin_return_address(0)
#define REC_FRAME  __builtin_dwarf_cfa() /* the stack of the caller begins here */

/* Place and function -> region, of calls that need no more than the return address. */
extern struct rec_map rec_sites;

/* Exact: addresses of programs have 47 bits, or 48. */
static inline uintptr_t rec_site_key(const void *from, unsigned function)
{
    return (uintptr_t)from ^ (uintptr_t)((uint64_t)(function + 1) << 48);
}

/* The region of a call of `parent` by `function`, any number that stands for it; `from` and `frame`
 * are REC_CALLER and REC_FRAME in the function that the program has called. Never 0 unless `parent`
 * is: what has no site of its own counts as `parent`. */
uint32_t rec_site_region(struct rec_thread *self, uint32_t parent, unsigned function,
                         const void *from, const void *frame);

/* The same where nothing but the return address `from` is known. */
uint32_t rec_site_of_place(uint32_t parent, unsigned function, const void *from);

/* Asks for all that needs memory of the program's heap: once for a thread, and for the process. */
void rec_site_prepare(struct rec_thread *self);

/* Whether that lies in the stack which the calling thread began on, not in a coroutine's. */
bool rec_site_is_stack(struct rec_thread *self, uintptr_t frame);

/* A region that is named after `parent` and the place of its code; `parent` when it is in no file.
 */
uint32_t rec_site_of_code(uint32_t parent, const void *code);
/* A region that has the name of the function which begins there; likewise. */
uint32_t rec_site_of_function(uint32_t parent, const void *function);

/* The function, as the linker sees it, that calls from `place`, where `frame` is REC_FRAME in what
 * it calls. No lock is held meanwhile, as the unwinder may have to be loaded. */
struct rec_enclosing {
    uintptr_t start; /* where its code begins; 0: not known, and neither is the rest */
    uintptr_t frame; /* where its own stack begins, behind its return address */
};
struct rec_enclosing rec_site_enclosing(const void *place, const void *frame);

/* A file that is loaded: an address in it is that in the file and `bias`. */
enum { REC_MOST_PATH = 4096, REC_BUILD_ID = 2 * 64 + 1 };
struct rec_loaded {
    uintptr_t bias;
    char path[REC_MOST_PATH];
    char build_id[REC_BUILD_ID]; /* hexadecimal, or "" */
};
/* The one that holds the address; false: none does. */
bool rec_site_loaded(uintptr_t address, struct rec_loaded *ret_file);
bool rec_site_bias(uintptr_t address, uintptr_t *ret_bias);

/* ==== left ==================================================================================== */

/* Calls that never return: left by longjmp, or by an exception out of an error handler. */

/* The thread is inside a call that is recorded, or paused, and calls something from `frame`
 * (REC_FRAME). False: that is a call inside the other one. True: the other one was left without a
 * return; it has been closed, and nothing is open. */
bool rec_forget_left(struct rec_thread *self, uintptr_t frame);

#endif
