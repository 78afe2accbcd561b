#include "support/live_tape.h"

#include "support/tape_maker.h"
#include "tape/life.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FILE_BYTES = 8 << 20,
    SLOTS = LULL_TAPE_CHUNK / 16,
    FIRST_SLOTS = LULL_TAPE_PAGE / 16,
    MOST_QUEUED = 1 << 14,
    MOST_POLLED = 8
};

struct live_tape_counts live_tape_counts;

/* A few bytes, or with `from` as many as stand there when the store is made. */
struct store {
    unsigned char *to;
    const unsigned char *from;
    size_t size;
    unsigned char bytes[16];
};

struct location {
    struct lull_tape_header *header;
    union lull_tape_slot *first, *rest; /* its tail: a page, and what is behind it, or NULL */
    union lull_tape_slot is[SLOTS];     /* the tail as it is when the queue is empty */
    unsigned at;
    uint64_t flushed, now;
    uint64_t chunks; /* bytes of the file where the next chunks go */
    unsigned n_chunks;
    unsigned polls, n_polls; /* the slot of the first, and how many */
    unsigned depth, open[16];
    uint32_t number;
};

struct live_tape {
    struct lull_random *random;
    unsigned char *file;
    struct lull_tape_process_header *header;
    uint32_t n_extents;
    uint64_t end;
    struct location locations[LIVE_LOCATIONS];
    struct store queue[MOST_QUEUED];
    unsigned n_queued, done;
    pid_t process;
};

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

static unsigned below(struct live_tape *tape, unsigned n)
{
    return (unsigned)lull_random_below(tape->random, n);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static struct store *queue_store(struct live_tape *tape, void *to, size_t size)
{
    must(tape->n_queued < MOST_QUEUED, "queue");
    struct store *store = &tape->queue[tape->n_queued++];
    *store = (struct store){.to = to, .size = size};
    return store;
}

static void store_bytes(struct live_tape *tape, void *to, const void *bytes, size_t size)
{
    memcpy(queue_store(tape, to, size)->bytes, bytes, size);
}

static void store_u64(struct live_tape *tape, uint64_t *to, uint64_t value)
{
    store_bytes(tape, to, &value, sizeof value);
}

static void store_copy(struct live_tape *tape, void *to, const void *from, size_t size)
{
    queue_store(tape, to, size)->from = from;
}

bool live_tape_step(struct live_tape *tape)
{
    if (tape->done == tape->n_queued) {
        tape->done = tape->n_queued = 0;
        return false;
    }
    const struct store *store = &tape->queue[tape->done++];
    if (store->size == 8) {
        uint64_t value;
        memcpy(&value, store->bytes, sizeof value);
        __atomic_store_n((uint64_t *)(void *)store->to, value, __ATOMIC_RELEASE);
    } else {
        memcpy(store->to, store->from ? store->from : store->bytes, store->size);
    }
    return true;
}

/* ---- extents --------------------------------------------------------------------------------- */

static uint64_t take_space(struct live_tape *tape, size_t size)
{
    const uint64_t offset = tape->end;
    tape->end += size;
    must(tape->end <= FILE_BYTES, "space");
    store_u64(tape, &tape->header->end, tape->end);
    return offset;
}

/* The entry gets its number before it is filled, and its part last. */
static void enter_extent(struct live_tape *tape, unsigned part, uint32_t location, uint64_t offset,
                         size_t size)
{
    struct lull_tape_extent *entry =
        (struct lull_tape_extent *)(tape->header + 1) + tape->n_extents++;
    must(tape->n_extents < LULL_TAPE_FIRST_EXTENTS, "extents");
    const struct lull_tape_extent extent = {(uint32_t)(offset / LULL_TAPE_PAGE),
                                            (uint32_t)(size / LULL_TAPE_PAGE), location, part};
    store_bytes(tape, &tape->header->n_extents, &tape->n_extents, sizeof tape->n_extents);
    store_bytes(tape, entry, &extent, offsetof(struct lull_tape_extent, part));
    store_bytes(tape, &entry->part, &extent.part, sizeof extent.part);
}

/* ---- records --------------------------------------------------------------------------------- */

static union lull_tape_slot *place_of(struct location *location, unsigned slot)
{
    return slot < FIRST_SLOTS ? location->first + slot : location->rest + (slot - FIRST_SLOTS);
}

static void commit(struct live_tape *tape, struct location *location, unsigned slots)
{
    location->at += slots;
    store_u64(tape, &location->header->committed,
              location->flushed + location->at * sizeof(union lull_tape_slot));
}

static void put_slot(struct live_tape *tape, struct location *location, unsigned slot,
                     const union lull_tape_slot *value)
{
    location->is[slot] = *value;
    store_bytes(tape, place_of(location, slot), value, sizeof *value);
}

static void complete_tail(struct live_tape *tape, struct location *location)
{
    const size_t size = LULL_TAPE_CHUNK - LULL_TAPE_PAGE;
    const uint64_t offset = take_space(tape, size);
    location->rest = (void *)(tape->file + offset);
    enter_extent(tape, LULL_TAPE_PART_TAIL, location->number, offset, size);
}

static void store_chunk(struct live_tape *tape, struct location *location)
{
    live_tape_counts.chunks++;
    if (location->at < SLOTS) {
        const union lull_tape_slot pad = {
            .record = {location->now, lull_tape_head(LULL_TAPE_PAD, 0, 0), 0}};
        put_slot(tape, location, location->at, &pad);
        commit(tape, location, SLOTS - location->at);
    }
    if (location->n_chunks == 0) {
        location->n_chunks = 1 + below(tape, 3);
        location->chunks = take_space(tape, location->n_chunks * (size_t)LULL_TAPE_CHUNK);
        enter_extent(tape, LULL_TAPE_PART_RECORDS, location->number, location->chunks,
                     location->n_chunks * (size_t)LULL_TAPE_CHUNK);
    }
    store_copy(tape, tape->file + location->chunks, location->first, LULL_TAPE_PAGE);
    store_copy(tape, tape->file + location->chunks + LULL_TAPE_PAGE, location->rest,
               LULL_TAPE_CHUNK - LULL_TAPE_PAGE);
    location->n_chunks--;
    location->chunks += LULL_TAPE_CHUNK;
    location->flushed += LULL_TAPE_CHUNK;
    store_u64(tape, &location->header->flushed, location->flushed);
    location->at = location->n_polls = 0;
}

static void make_room(struct live_tape *tape, struct location *location, unsigned slots)
{
    if (!location->rest && location->at + slots > FIRST_SLOTS)
        complete_tail(tape, location);
    if (location->at + slots > SLOTS)
        store_chunk(tape, location);
}

static void append(struct live_tape *tape, struct location *location,
                   const union lull_tape_slot *slots, unsigned n)
{
    make_room(tape, location, n);
    for (unsigned i = 0; i < n; i++)
        put_slot(tape, location, location->at + i, &slots[i]);
    commit(tape, location, n);
}

static void put_call(struct live_tape *tape, struct location *location, uint64_t duration)
{
    union lull_tape_slot slots[2];
    const unsigned n =
        lull_tape_put_call(slots, location->now, 1 + below(tape, LIVE_REGIONS), duration);
    append(tape, location, slots, n);
    location->now += duration + 1;
}

static void put_region(struct live_tape *tape, struct location *location)
{
    const bool enter = location->depth == 0 || (location->depth < 16 && below(tape, 2) == 0);
    const uint32_t region =
        enter ? 1 + below(tape, LIVE_REGIONS) : location->open[location->depth - 1];
    const union lull_tape_slot slot = {
        .record = {location->now++,
                   lull_tape_head(enter ? LULL_TAPE_ENTER : LULL_TAPE_LEAVE, 0, region), 0}};
    if (enter)
        location->open[location->depth++] = region;
    else
        location->depth--;
    append(tape, location, &slot, 1);
}

/* A query that found nothing: added to the last ones, or behind them (record/mpi/records.c). */
static void put_poll(struct live_tape *tape, struct location *location)
{
    const uint32_t region = 1 + below(tape, LIVE_REGIONS);
    const uint64_t duration = 1 + below(tape, 9);
    union lull_tape_slot *polls = location->is + location->polls;
    unsigned i = 0,
             n = location->polls + 2 * location->n_polls == location->at ? location->n_polls : 0;
    while (i < n && lull_tape_id_of(polls[2 * i].record.head) != region)
        i++;
    if (i < n) {
        live_tape_counts.changed++;
        for (unsigned later = n; --later > i;) {
            polls[2 * later].record.time += duration;
            store_u64(tape, &place_of(location, location->polls + 2 * later)->record.time,
                      polls[2 * later].record.time);
        }
        union lull_tape_slot *place = place_of(location, location->polls + 2 * i + 1);
        polls[2 * i + 1].u64[0] += duration;
        polls[2 * i + 1].u64[1]++;
        store_u64(tape, &place->u64[0], polls[2 * i + 1].u64[0]);
        store_u64(tape, &place->u64[1], polls[2 * i + 1].u64[1]);
    } else if (n < MOST_POLLED) {
        union lull_tape_slot slots[2];
        make_room(tape, location, 2);
        if (location->at == 0 || n == 0) {
            location->polls = location->at;
            location->n_polls = 0;
        }
        lull_tape_put_calls(slots, location->now, region, duration, 0);
        append(tape, location, slots, 2);
        location->n_polls++;
    }
    location->now += duration;
}

/* A call that may be seen open before it is complete. */
static void put_open_call(struct live_tape *tape, struct location *location)
{
    const uint32_t region = 1 + below(tape, LIVE_REGIONS);
    live_tape_counts.opened++;
    make_room(tape, location, 2);
    union lull_tape_slot slot = {
        .record = {location->now, lull_tape_head(LULL_TAPE_CALL, 0, region), LULL_TAPE_OPEN}};
    union lull_tape_slot *place = place_of(location, location->at);
    store_bytes(tape, &place->record.head, &slot.record.head, 8);
    store_u64(tape, &place->record.time, slot.record.time);
    slot.record.value = 1 + below(tape, 100);
    location->now += slot.record.value;
    append(tape, location, &slot, 1);
}

static void store_page(struct live_tape *tape, uint64_t offset,
                       const struct definitions_maker *maker)
{
    unsigned char *page = tape->file + offset;
    memcpy(page, &maker->header, sizeof maker->header);
    memcpy(page + sizeof maker->header, maker->bytes, maker->size);
}

void live_tape_define_late(struct live_tape *tape)
{
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 1 + LIVE_REGIONS, "late");
    maker.header.committed = maker.size;
    const uint64_t offset = take_space(tape, LULL_TAPE_PAGE);
    store_page(tape, offset, &maker);
    free(maker.bytes);
    enter_extent(tape, LULL_TAPE_PART_DEFINITIONS, 0, offset, LULL_TAPE_PAGE);
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++) {
        struct location *location = &tape->locations[l];
        union lull_tape_slot slots[2];
        const unsigned n = lull_tape_put_call(slots, location->now, 1 + LIVE_REGIONS, 7);
        append(tape, location, slots, n);
        location->now += 8;
    }
}

void live_tape_go_on(struct live_tape *tape)
{
    struct location *location = &tape->locations[below(tape, LIVE_LOCATIONS)];
    const unsigned what = below(tape, 100), many = 1 + below(tape, 6);
    for (unsigned i = 0; i < many; i++) {
        if (what < 40)
            put_call(tape, location, below(tape, 8) == 0 ? UINT64_C(1) << 33 : below(tape, 50));
        else if (what < 60)
            put_region(tape, location);
        else if (what < 80)
            put_poll(tape, location);
        else
            put_open_call(tape, location);
    }
    if (what != 99) /* else a chunk is filled but for a few slots */
        return;
    while (location->at + 2 + below(tape, 40) < SLOTS)
        put_call(tape, location, 0);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* A process that does nothing, and what the system calls it. */
static pid_t begin_process(struct lull_tape_life *ret_life)
{
    int ends[2];
    must(pipe(ends) == 0, "pipe");
    const pid_t process = fork();
    must(process >= 0, "fork");
    if (process == 0) {
        struct lull_tape_life life;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        lull_tape_own_life(&life);
        if (write(ends[1], &life, sizeof life) == (ssize_t)sizeof life)
            pause();
        _exit(1);
    }
    must(read(ends[0], ret_life, sizeof *ret_life) == (ssize_t)sizeof *ret_life, "read");
    close(ends[0]);
    close(ends[1]);
    return process;
}

static void define_all(struct live_tape *tape, const struct lull_tape_life *life)
{
    struct definitions_maker maker;
    static const char *const names[LIVE_REGIONS] = {"one", "two", "three", "four"};
    definitions_begin(&maker, 0);
    definitions_add(&maker, LULL_TAPE_DEFINE_PROCESS, 0, "uuus", 0, 0, UINT32_MAX, "rank 0");
    definitions_add(&maker, LULL_TAPE_DEFINE_LIFE, 0, "UUUU", life->node, life->space, life->pid,
                    life->start);
    for (uint32_t r = 0; r < LIVE_REGIONS; r++)
        define_region(&maker, 1 + r, names[r]);
    maker.header.committed = maker.size;
    const uint64_t offset = take_space(tape, LULL_TAPE_PAGE);
    store_page(tape, offset, &maker);
    free(maker.bytes);
    enter_extent(tape, LULL_TAPE_PART_DEFINITIONS, 0, offset, LULL_TAPE_PAGE);
}

static void begin_location(struct live_tape *tape, uint32_t number)
{
    struct location *location = &tape->locations[number];
    struct tape_maker maker;
    const uint64_t tail = take_space(tape, LULL_TAPE_PAGE),
                   head = take_space(tape, LULL_TAPE_HEADER_SIZE);
    tape_begin(&maker, 0, number);
    maker.header.flags = LULL_TAPE_TAILED;
    *location = (struct location){.header = (void *)(tape->file + head),
                                  .first = (void *)(tape->file + tail),
                                  .now = 1000,
                                  .number = number};
    memcpy(location->header, &maker.header, sizeof maker.header);
    enter_extent(tape, LULL_TAPE_PART_TAIL, number, tail, LULL_TAPE_PAGE);
    enter_extent(tape, LULL_TAPE_PART_HEAD, number, head, LULL_TAPE_HEADER_SIZE);
    put_call(tape, location, 1);
}

struct live_tape *live_tape_begin(const char *run, struct lull_random *random)
{
    struct live_tape *tape = calloc(1, sizeof *tape);
    struct lull_tape_life life;
    char path[4600];
    must(tape != NULL, "calloc");
    tape->random = random;
    run_begin(run);
    snprintf(path, sizeof path, "%s/0/0.tape", run);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0 && ftruncate(fd, FILE_BYTES) == 0, path);
    tape->file = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(tape->file != MAP_FAILED, "mmap");
    close(fd);
    tape->header = (void *)tape->file;
    tape->end = LULL_TAPE_PAGE;
    *tape->header =
        (struct lull_tape_process_header){.version = LULL_TAPE_VERSION,
                                          .byte_order = LULL_TAPE_BYTE_ORDER,
                                          .header_size = sizeof(struct lull_tape_process_header),
                                          .end = LULL_TAPE_PAGE};
    memcpy(tape->header->magic, LULL_TAPE_PROCESS_MAGIC, sizeof tape->header->magic);
    tape->process = begin_process(&life);
    define_all(tape, &life);
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++)
        begin_location(tape, l);
    while (live_tape_step(tape))
        continue;
    return tape;
}

void live_tape_end(struct live_tape *tape, unsigned flag)
{
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++) {
        struct lull_tape_header *header = tape->locations[l].header;
        const uint16_t flags = (uint16_t)(LULL_TAPE_TAILED | flag);
        store_bytes(tape, &header->flags, &flags, sizeof flags);
    }
}

void live_tape_kill(struct live_tape *tape)
{
    if (tape->process > 0) {
        kill(tape->process, SIGKILL);
        waitpid(tape->process, NULL, 0);
    }
    tape->process = 0;
    tape->done = tape->n_queued = 0;
}

void live_tape_free(struct live_tape *tape)
{
    live_tape_kill(tape);
    munmap(tape->file, FILE_BYTES);
    free(tape);
}
