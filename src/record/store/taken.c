#include "record/store/taken.h"

#include "record/store/buffer.h"
#include "record/store/file.h"

#include <assert.h>
#include <sys/mman.h>

/* A word that its owner may be changing. Whoever reads several of them finds out afterwards whether
 * they belong together, so that the sanitizer need not know. */
__attribute__((no_sanitize("thread"))) static uint64_t word_of(const void *words, size_t i)
{
    return ((const volatile uint64_t *)words)[i];
}

/* All but the shapes, which are the last. */
static void look_at(const struct rec_thread *thread, struct rec_thread *ret_copy)
{
    static_assert(offsetof(struct rec_thread, shapes) % sizeof(uint64_t) == 0, "whole words");
    for (size_t i = 0; i < offsetof(struct rec_thread, shapes) / sizeof(uint64_t); i++)
        ((uint64_t *)(void *)ret_copy)[i] = word_of(thread, i);
}

uint64_t rec_taken_until(const struct rec_thread *thread)
{
    const uint64_t *until = (const uint64_t *)(uintptr_t)word_of(&thread->until, 0);
    return word_of(until, 0);
}

/* ---- mappings of the same pages ---------------------------------------------------------------
 */

/* Of `n` parts, which follow each other in memory and not in the file. NULL: no memory. */
static void *map_beside(const void *mapping, size_t reserved, const uint32_t *parts, unsigned n)
{
    char *space =
        mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return NULL;
    size_t at = 0;
    for (unsigned i = 0; i < n; at += parts[i++])
        /* Of a mapping that is shared, a length of 0 makes a second one (mremap(2)). */
        if (mremap((char *)(uintptr_t)mapping + at, 0, parts[i], MREMAP_MAYMOVE | MREMAP_FIXED,
                   space + at) == MAP_FAILED) {
            munmap(space, reserved);
            return NULL;
        }
    return space;
}

struct beside {
    struct lull_tape_header *header;
    struct lull_tape_sums_header *sums;
    union lull_tape_slot *tail;
};

/* Of a thread that keeps no events, a chunk for those that its end makes. */
static union lull_tape_slot *map_tail(const struct rec_thread *seen)
{
    const uint32_t parts[] = {LULL_TAPE_PAGE, (uint32_t)seen->tail_size - LULL_TAPE_PAGE};
    if (seen->storing)
        return map_beside(seen->tail, LULL_TAPE_CHUNK, parts, parts[1] > 0 ? 2 : 1);
    union lull_tape_slot *chunk =
        mmap(NULL, LULL_TAPE_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL;
    chunk->u64[0] = word_of(seen->at, 0); /* the call that may be open */
    chunk->u64[1] = word_of(seen->at, 1);
    return chunk;
}

static void unmap_all(const struct beside *beside, const struct rec_thread *seen)
{
    if (beside->header)
        munmap(beside->header, LULL_TAPE_HEADER_SIZE);
    if (beside->sums)
        munmap(beside->sums, seen->sums_file.reserved);
    if (beside->tail)
        munmap(beside->tail, LULL_TAPE_CHUNK);
}

static bool map_all(const struct rec_thread *seen, struct beside *ret_beside)
{
    const uint32_t whole = LULL_TAPE_HEADER_SIZE;
    const struct rec_sums *sums = &seen->sums_file;
    *ret_beside = (struct beside){
        .header = map_beside(seen->header, whole, &whole, 1),
        .sums = map_beside(sums->header, sums->reserved, sums->parts, sums->n_parts),
        .tail = map_tail(seen)};
    if (ret_beside->header && ret_beside->sums && ret_beside->tail)
        return true;
    unmap_all(ret_beside, seen);
    return false;
}

/* ---- taking -----------------------------------------------------------------------------------
 */

/* Whether the thread has written nothing from one look to the other, and nothing that is not in the
 * file. A commit changes `at` before the file, so that half of one is seen. */
static bool stood_still(const struct rec_thread *before, const struct rec_thread *after,
                        const struct beside *beside)
{
    return before->at == after->at && before->gate == after->gate && before->tail == after->tail &&
           before->tail_size == after->tail_size && before->inside == after->inside &&
           before->n_frames == after->n_frames &&
           before->sums_file.n_parts == after->sums_file.n_parts &&
           (!after->storing ||
            (uint64_t)(uintptr_t)after->at + after->bias == beside->header->committed);
}

static void move_to(struct rec_thread *taken, const struct beside *beside)
{
    const size_t used = taken->storing ? (size_t)(taken->at - taken->tail) : 0;
    if (taken->storing) {
        taken->bias += (uint64_t)(uintptr_t)taken->tail - (uint64_t)(uintptr_t)beside->tail;
        taken->committed = &beside->header->committed;
    } else {
        taken->tail_size = LULL_TAPE_CHUNK;
        taken->committed = &taken->nowhere;
    }
    taken->tail = beside->tail;
    taken->at = taken->tail + used;
    taken->end = taken->tail + taken->tail_size / sizeof *taken->tail;
    taken->header = beside->header;
    taken->sums_file.header = beside->sums;
    taken->sums = (unsigned char *)(beside->sums + 1);
    taken->until = &beside->sums->end;
}

bool rec_taken_from(struct rec_thread *thread, struct rec_thread *ret_taken)
{
    static struct rec_thread before; /* too large for a stack */
    struct beside beside;
    look_at(thread, &before);
    const bool mapped = map_all(&before, &beside);
    rec_buffer_detach(thread);
    look_at(thread, ret_taken);
    ret_taken->storing = before.storing; /* which the thread has lost now */
    ret_taken->sums_file.full = before.sums_file.full;
    thread->closed = true;
    if (mapped && stood_still(&before, ret_taken, &beside)) {
        move_to(ret_taken, &beside);
        return true;
    }
    if (mapped)
        unmap_all(&beside, &before);
    ret_taken->sums = NULL;
    rec_buffer_close(ret_taken);
    return false;
}
