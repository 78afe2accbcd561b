#include "record/store/taken.h"

#include "record/store/buffer.h"
#include "record/store/file.h"

#include <assert.h>
#include <sys/mman.h>

/* ---- what a thread has written ----------------------------------------------------------------
 */

/* A thread at one moment. */
struct taken_look {
    struct rec_thread thread; /* all but the shapes, which are the last */
    uint64_t until, committed;
    union lull_tape_slot next; /* behind what is committed: a call that is open */
};

/* Its owner may be changing it. Whoever reads several words finds out afterwards whether they
 * belong together, so that the sanitizer need not know. */
__attribute__((no_sanitize("thread"))) static uint64_t word_of(const void *words, size_t i)
{
    return ((const volatile uint64_t *)words)[i];
}

static void copy_words(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] = word_of(from, i);
}

static size_t used_bytes(const struct rec_thread *thread)
{
    return (uintptr_t)thread->at - (uintptr_t)thread->tail;
}

/* What was copied while it changed may be anywhere. */
static bool has_next(const struct rec_thread *thread)
{
    return thread->at >= thread->tail && thread->tail_size <= LULL_TAPE_CHUNK &&
           used_bytes(thread) + sizeof *thread->at <= thread->tail_size;
}

static void look_at_thread(const struct rec_thread *thread, struct taken_look *ret_look)
{
    static_assert(offsetof(struct rec_thread, shapes) % sizeof(uint64_t) == 0, "whole words");
    struct rec_thread *copy = &ret_look->thread;
    copy_words(copy, thread, offsetof(struct rec_thread, shapes));
    ret_look->until = word_of(copy->until, 0);
    ret_look->committed = word_of(&copy->header->committed, 0);
    ret_look->next = (union lull_tape_slot){.u64 = {0, 0}};
    if (has_next(copy))
        copy_words(&ret_look->next, copy->at, sizeof ret_look->next);
}

uint64_t rec_taken_until(const struct rec_thread *thread)
{
    return word_of(thread->until, 0);
}

/* ---- mappings of the same pages ---------------------------------------------------------------
 */

/* One extent of the file at `offset` of the thread's space: of a mapping that is shared, a length
 * of 0 makes a second one (mremap(2)). */
static bool map_extent(const struct rec_thread *seen, unsigned char *space, size_t offset,
                       size_t size)
{
    return size == 0 || rec_file_remap(seen->space + offset, 0, space + offset, size);
}

/* Of a thread that keeps no events, a chunk for those that its end makes. */
static bool map_tail(const struct rec_thread *seen, unsigned char *space)
{
    const size_t rest = REC_SPACE_TAIL + LULL_TAPE_PAGE;
    if (!seen->storing)
        return mmap(space + REC_SPACE_TAIL, LULL_TAPE_CHUNK, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    return map_extent(seen, space, REC_SPACE_TAIL, LULL_TAPE_PAGE) &&
           map_extent(seen, space, rest, seen->tail_size - LULL_TAPE_PAGE);
}

static bool map_sums(const struct rec_thread *seen, unsigned char *space)
{
    const struct rec_sums *sums = &seen->sums_file;
    size_t offset = REC_SPACE_SUMS;
    for (uint32_t i = 0; i < sums->n_parts; offset += sums->parts[i++])
        if (sums->parts[i] == 0 || !map_extent(seen, space, offset, sums->parts[i]))
            return false;
    return true;
}

/* The thread's space a second time; NULL: no memory. */
static unsigned char *map_beside(const struct rec_thread *seen)
{
    unsigned char *space =
        mmap(NULL, seen->space_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return NULL;
    if (map_extent(seen, space, 0, LULL_TAPE_HEADER_SIZE) && map_tail(seen, space) &&
        map_sums(seen, space))
        return space;
    munmap(space, seen->space_size);
    return NULL;
}

/* ---- taking -----------------------------------------------------------------------------------
 */

static void move_to(struct rec_thread *taken, unsigned char *space)
{
    const size_t used = used_bytes(taken) / sizeof *taken->at;
    union lull_tape_slot *tail = (union lull_tape_slot *)(void *)(space + REC_SPACE_TAIL);
    taken->space = space;
    taken->header = (struct lull_tape_header *)(void *)space;
    taken->sums_file.header = (struct lull_tape_sums_header *)(void *)(space + REC_SPACE_SUMS);
    taken->sums = (unsigned char *)(taken->sums_file.header + 1);
    taken->until = &taken->sums_file.header->end;
    if (taken->storing) {
        taken->bias += (uint64_t)(uintptr_t)taken->tail - (uint64_t)(uintptr_t)tail;
        taken->committed = &taken->header->committed;
        taken->at = tail + used;
    } else {
        taken->tail_size = LULL_TAPE_CHUNK;
        taken->committed = &taken->nowhere;
        taken->at = tail;
    }
    taken->tail = tail;
    taken->end = tail + taken->tail_size / sizeof *tail;
}

/* Whether the thread has written nothing since `before`, and nothing that is not in the file: a
 * commit changes `at` before the file, so that half of one is seen. */
static bool stood_still(const struct taken_look *before, const struct taken_look *after)
{
    const struct rec_thread *one = &before->thread, *other = &after->thread;
    return one->begun && one->at == other->at && one->gate == other->gate &&
           one->tail == other->tail && one->tail_size == other->tail_size &&
           one->flushed == other->flushed && one->inside == other->inside &&
           one->n_frames == other->n_frames && one->sums_file.n_parts == other->sums_file.n_parts &&
           before->until == after->until && before->next.u64[0] == after->next.u64[0] &&
           before->next.u64[1] == after->next.u64[1] &&
           (!one->storing || (uint64_t)(uintptr_t)other->at + other->bias == after->committed);
}

/* The thread as it is, and what its file holds since nothing more comes there. */
static void look_beside(const struct rec_thread *thread, const struct taken_look *before,
                        unsigned char *space, struct taken_look *ret_look)
{
    struct rec_thread *now = &ret_look->thread;
    look_at_thread(thread, ret_look);
    now->storing = before->thread.storing; /* which it has lost */
    now->sums_file.full = before->thread.sums_file.full;
    if (now->storing && before->thread.tail == now->tail && has_next(now))
        copy_words(&ret_look->next, space + REC_SPACE_TAIL + used_bytes(now),
                   sizeof ret_look->next);
    ret_look->committed = word_of(&((struct lull_tape_header *)(void *)space)->committed, 0);
    ret_look->until =
        word_of(&((struct lull_tape_sums_header *)(void *)(space + REC_SPACE_SUMS))->end, 0);
}

bool rec_taken_from(struct rec_thread *thread, struct rec_thread *ret_taken)
{
    static struct taken_look before, after; /* too large for a stack */
    look_at_thread(thread, &before);
    unsigned char *space = map_beside(&before.thread);
    rec_buffer_detach(thread);
    thread->closed = true;
    if (space)
        look_beside(thread, &before, space, &after);
    if (space && stood_still(&before, &after)) {
        *ret_taken = after.thread;
        move_to(ret_taken, space);
        if (!ret_taken->storing)
            *ret_taken->at = after.next;
        return true;
    }
    if (space)
        munmap(space, before.thread.space_size);
    return false;
}
