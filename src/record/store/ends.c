/* It is what a reader would find (trace/format/tape/read/length.c): the begin of the first chunk,
 * and what the last two hold. The records are those in the file, which nobody changes any more. */
#include "record/store/ends.h"

#include "tape/records.h"

#include <string.h>
#include <sys/mman.h>

/* Of a chunk of records. */
static bool see(const union lull_tape_slot *slots, uint64_t size, struct lull_tape_span *span)
{
    return lull_tape_span_chunk(slots, (size_t)size / sizeof *slots, span);
}

/* Of the tail that many bytes, as many as there are. Returns how many it has. */
static size_t read_tail(const struct rec_thread *self, unsigned char *bytes, size_t wanted)
{
    const struct rec_extent *parts[] = {&self->tail_first, &self->tail_rest};
    size_t got = 0;
    for (size_t i = 0; i < 2 && got < wanted; i++) {
        const size_t left = wanted - got, part = left < parts[i]->size ? left : parts[i]->size;
        if (part == 0 || !rec_container_read(bytes + got, part, parts[i]->offset))
            break;
        got += part;
    }
    return got;
}

/* The full ones among the last two chunks; `self->first` is when the first of all begins. */
static bool see_chunks(const struct rec_thread *self, const struct lull_tape_header *header,
                       void *bytes, struct lull_tape_span *span)
{
    const uint64_t full = header->flushed / LULL_TAPE_CHUNK;
    const uint64_t wanted = header->committed > header->flushed ? 1 : 2;
    bool good = true;
    if (full > 0)
        span->first = self->first;
    for (uint64_t i = wanted < full ? wanted : full; good && i-- > 0;)
        good = rec_container_read(bytes, LULL_TAPE_CHUNK, self->newest[i]) &&
               see(bytes, LULL_TAPE_CHUNK, span);
    return good;
}

static void find_record_ends(const struct rec_thread *self, const struct lull_tape_header *header,
                             void *bytes, struct lull_tape_ends *ends)
{
    const uint64_t used = header->committed - header->flushed;
    const size_t slot = sizeof(union lull_tape_slot);
    struct lull_tape_span span = LULL_TAPE_SPAN_EMPTY;
    if (used > LULL_TAPE_CHUNK || !see_chunks(self, header, bytes, &span))
        return;
    const size_t got = read_tail(self, bytes, (size_t)used + slot);
    if (got < used || !see(bytes, used, &span))
        return;
    *ends = (struct lull_tape_ends){.first = span.first,
                                    .last = span.last,
                                    .known = LULL_TAPE_KNOWN_SPAN | LULL_TAPE_KNOWN_SOUND};
    if (got < used + slot)
        return;
    ends->known |= LULL_TAPE_KNOWN_BEHIND;
    memcpy(ends->behind, (unsigned char *)bytes + used, slot);
}

void rec_ends_find(const struct rec_thread *self, const struct lull_tape_header *header,
                   struct lull_tape_ends *ret_ends)
{
    /* The thread may have been taken between writing a chunk and telling so. */
    if (header->flags & LULL_TAPE_RING || self->written != header->flushed)
        return;
    const size_t size = LULL_TAPE_CHUNK + sizeof(union lull_tape_slot);
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return;
    find_record_ends(self, header, bytes, ret_ends);
    munmap(bytes, size);
}
