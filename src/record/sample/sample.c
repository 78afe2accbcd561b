/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/sample/sample.h"

#include "base/clock.h"
#include "base/mix.h"
#include "record/keep.h"
#include "record/report.h"
#include "record/sample/source.h"
#include "record/site/code.h"
#include "record/store/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ==== settings ================================================================================ */

static const struct rec_sample_source *const sample_sources[] = {
    &rec_samples_perf, &rec_samples_timer, &rec_samples_fake};

/* At MOST_SAMPLE_RATE the samples themselves take a few percent of the time. */
enum {
    DEFAULT_SAMPLE_RATE = 100,
    DEFAULT_SAMPLE_BYTES = 16 << 10,
    DEFAULT_STACK_BYTES = 256 << 10,
    MOST_SAMPLE_RATE = 10000
};
#define MOST_SAMPLE_BYTES ((uint64_t)1 << 30)

static struct {
    const struct rec_sample_source *source; /* NULL: no samples are taken */
    int64_t interval;                       /* ns of processor time */
    size_t bytes;                           /* of the file for a thread, at most; whole pages */
    bool stack;                             /* with the begin of the thread's stack */
    bool asked;                             /* for samples: the user is told why there are none */
    _Atomic bool started;                   /* definitions can be written */
    _Atomic bool refused;                   /* the first thread could not be sampled */
} sample_settings;

/* The source with whose name and a colon the text begins; else the first. *text is moved behind. */
static const struct rec_sample_source *read_sample_source(const char **text)
{
    for (size_t i = 0; i < sizeof sample_sources / sizeof *sample_sources; i++) {
        const size_t length = strlen(sample_sources[i]->name);
        if (strncmp(*text, sample_sources[i]->name, length) != 0 || (*text)[length] != ':')
            continue;
        *text += length + 1;
        return sample_sources[i];
    }
    return sample_sources[0];
}

/* Anything else than described in sample.h switches sampling off: `lull record` has checked it. */
void rec_sample_prepare(void)
{
    const char *text = getenv("LULL_RECORD_SAMPLE");
    const struct rec_sample_source *source = sample_sources[0];
    double rate = DEFAULT_SAMPLE_RATE;
    sample_settings.stack = getenv("LULL_RECORD_SAMPLE_STACK") != NULL;
    sample_settings.asked = text || sample_settings.stack;
    uint64_t bytes = sample_settings.stack ? DEFAULT_STACK_BYTES : DEFAULT_SAMPLE_BYTES;
    if (text) {
        char *end;
        source = read_sample_source(&text);
        rate = strtod(text, &end);
        if (end == text || !(rate > 0 && rate <= MOST_SAMPLE_RATE))
            return;
        if (*end == ':')
            bytes = strtoull(end + 1, &end, 10);
        if (*end || bytes > MOST_SAMPLE_BYTES)
            return;
    } else if (rec_process.profile && !sample_settings.asked) {
        return;
    }
    bytes = (bytes + REC_PAGE - 1) / REC_PAGE * REC_PAGE;
    sample_settings.interval = (int64_t)(1e9 / rate);
    sample_settings.bytes = bytes > 0 ? bytes : REC_PAGE;
    sample_settings.source = source;
}

int64_t rec_sample_vary(int64_t interval, pid_t thread)
{
    const uint64_t drawn = lull_mix((uint64_t)thread, (uint64_t)lull_clock_read(CLOCK_MONOTONIC));
    return interval + (int64_t)((double)interval * 0.2 * ((double)(drawn >> 11) * 0x1p-53 - 0.5));
}

/* ==== samplers ================================================================================ */

/* The samples of one location: of the threads that live there one after the other. */
struct rec_sampler {
    struct rec_sampler *next; /* of all samplers of the process; it is never taken out */
    bool taken;               /* atomic: somebody works with what follows */
    bool over;                /* no samples come any more */
    uint32_t location;
    pid_t thread;                      /* the system's number of the thread that lives there */
    struct rec_sample_ring ring;       /* without memory: no thread is sampled */
    struct lull_clock_point last, now; /* when the ring was emptied before, or began; and now */
    struct lull_tape_samples_header *header; /* NULL: there were no samples yet */
    size_t mapped;                           /* bytes behind `header` that are in the file */
    bool fixed;                              /* there is no room for more in the file */
    bool full;          /* there was no room for a sample: the interval is to be doubled */
    uint64_t random;    /* the state of a generator, for choosing one of several samples */
    uint64_t pending[]; /* a sample, chosen of several that come into one; its weight is theirs. 0:
                           there are none */
};

static struct rec_sampler *all_samplers; /* atomic */

enum {
    STACK_WORDS = 56, /* that are kept of a stack, at most */
    MOST_SAMPLE_WORDS =
        STACK_WORDS + (sizeof(struct lull_tape_sample) + sizeof(struct lull_tape_sample_counts)) /
                          sizeof(uint64_t)
};

/* Bytes of a sample. */
static size_t size_of_sample(uint64_t fields)
{
    return sizeof(struct lull_tape_sample) +
           (fields & LULL_TAPE_SAMPLE_COUNTS ? sizeof(struct lull_tape_sample_counts) : 0) +
           (fields & LULL_TAPE_SAMPLE_STACK ? STACK_WORDS * sizeof(uint64_t) : 0);
}

static bool take_sampler(struct rec_sampler *sampler)
{
    return !__atomic_test_and_set(&sampler->taken, __ATOMIC_ACQUIRE);
}

static void give_sampler(struct rec_sampler *sampler)
{
    __atomic_clear(&sampler->taken, __ATOMIC_RELEASE);
}

/* Takes the sampler. Where another thread has it, waits for that thread, for a second at most. */
static bool wait_for_sampler(struct rec_sampler *sampler)
{
    enum { TURNS = 20000 };
    static const struct timespec turn = {.tv_nsec = 50000};
    for (unsigned i = 0; i < TURNS; i++) {
        if (take_sampler(sampler))
            return true;
        nanosleep(&turn, NULL);
    }
    return false;
}

static struct rec_sampler *make_sampler(uint32_t location)
{
    const uint64_t fields =
        LULL_TAPE_SAMPLE_COUNTS | (sample_settings.stack ? LULL_TAPE_SAMPLE_STACK : 0);
    struct rec_sampler *sampler = rec_keep(sizeof *sampler + size_of_sample(fields));
    if (!sampler)
        return NULL;
    sampler->location = location;
    sampler->random = lull_mix(0, location + UINT64_C(1));
    sampler->taken = true;
    sampler->next = __atomic_load_n(&all_samplers, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_samplers, &sampler->next, sampler, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
    return sampler;
}

/* ---- in the file ----------------------------------------------------------------------------- */

static struct lull_tape_sample *kept_sample(const struct rec_sampler *sampler, uint64_t i)
{
    unsigned char *first = (unsigned char *)(sampler->header + 1);
    return (struct lull_tape_sample *)(void *)(first + i * sampler->header->sample_size);
}

static struct lull_tape_sample *pending_sample(struct rec_sampler *sampler)
{
    return (struct lull_tape_sample *)(void *)sampler->pending;
}

/* Maps more of the file behind what there is: as much as there is already. */
static bool grow_samples(struct rec_sampler *sampler)
{
    const size_t most = sample_settings.bytes;
    size_t size = sampler->mapped > 0 ? sampler->mapped : REC_PAGE;
    struct rec_extent extent;
    size = size < most - sampler->mapped ? size : most - sampler->mapped;
    if (size == 0 || sampler->fixed ||
        rec_container_map(size, (unsigned char *)sampler->header + sampler->mapped, &extent) ==
            MAP_FAILED) {
        sampler->fixed = true;
        return false;
    }
    sampler->mapped += size;
    if (sampler->header->sample_size > 0)
        sampler->header->room =
            (sampler->mapped - sizeof *sampler->header) / sampler->header->sample_size;
    rec_container_enter(&extent, LULL_TAPE_PART_SAMPLES, sampler->location);
    return true;
}

static void fill_samples_header(const struct rec_sampler *sampler, uint32_t source, int refused)
{
    struct lull_tape_samples_header *header = sampler->header;
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = sizeof *header;
    header->fields = sampler->ring.memory ? sampler->ring.fields : 0;
    header->sample_size = (uint32_t)size_of_sample(header->fields);
    header->room = (sampler->mapped - sizeof *header) / header->sample_size;
    header->process = rec_process.number;
    header->number = sampler->location;
    header->source = source;
    header->refused = (uint32_t)refused;
    header->interval = header->last_interval = (uint64_t)sample_settings.interval;
    atomic_signal_fence(memory_order_release);
    memcpy(header->magic, LULL_TAPE_SAMPLES_MAGIC, sizeof header->magic);
}

/* The extent is entered before the header is filled: until then a reader sees no magic there. */
static bool has_samples_file(struct rec_sampler *sampler, uint32_t source, int refused)
{
    if (sampler->header)
        return true;
    if (sampler->fixed)
        return false;
    void *space = mmap(NULL, sample_settings.bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
        sampler->fixed = true;
        return false;
    }
    sampler->header = space;
    if (grow_samples(sampler)) {
        fill_samples_header(sampler, source, refused);
        return true;
    }
    munmap(space, sample_settings.bytes);
    sampler->header = NULL;
    return false;
}

/* ---- thinning -------------------------------------------------------------------------------- */

static uint64_t draw_random(struct rec_sampler *sampler)
{
    uint64_t x = sampler->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return sampler->random = x;
}

static struct lull_tape_sample_counts *counts_of_sample(const struct rec_sampler *sampler,
                                                        struct lull_tape_sample *sample)
{
    return sampler->header->fields & LULL_TAPE_SAMPLE_COUNTS ? (void *)(sample + 1) : NULL;
}

/* Makes one sample of two: *one becomes one of the two, chosen by chance in proportion to their
 * weights, with the weights and counts of both. */
static void join_samples(struct rec_sampler *sampler, struct lull_tape_sample *one,
                         struct lull_tape_sample *other)
{
    const uint64_t weight = one->weight + other->weight;
    struct lull_tape_sample_counts sums = {0}, *counts = counts_of_sample(sampler, one);
    if (counts) {
        const struct lull_tape_sample_counts *others = counts_of_sample(sampler, other);
        sums.instructions = counts->instructions + others->instructions;
        sums.cycles = counts->cycles + others->cycles;
    }
    if (draw_random(sampler) % weight >= one->weight)
        memcpy(one, other, sampler->header->sample_size);
    one->weight = weight;
    if (counts)
        *counts = sums;
}

static void set_samples_state(struct rec_sampler *sampler, uint64_t count, uint64_t kept)
{
    __atomic_store_n(&sampler->header->state, count | kept << 32, __ATOMIC_RELEASE);
}

/* Keeps one of each two samples; see struct lull_tape_samples_header. */
static void thin_samples(struct rec_sampler *sampler)
{
    const uint64_t n = sampler->header->state;
    uint64_t kept = 0;
    for (; 2 * kept < n; set_samples_state(sampler, n, ++kept)) {
        struct lull_tape_sample *joined = kept_sample(sampler, kept);
        if (kept > 0)
            memcpy(joined, kept_sample(sampler, 2 * kept), sampler->header->sample_size);
        if (2 * kept + 1 < n)
            join_samples(sampler, joined, kept_sample(sampler, 2 * kept + 1));
    }
    set_samples_state(sampler, kept, 0);
    sampler->header->last_interval *= 2;
    sampler->full = true;
}

static void store_sample(struct rec_sampler *sampler, const struct lull_tape_sample *sample)
{
    struct lull_tape_samples_header *header = sampler->header;
    if (header->state == header->room && !grow_samples(sampler))
        thin_samples(sampler);
    memcpy(kept_sample(sampler, header->state), sample, header->sample_size);
    set_samples_state(sampler, header->state + 1, 0);
}

/* The ticks of a moment since the ring was last emptied, by the line through both ends of that time:
 * the rate at which the two clocks go differs by up to 5e-4 in the long run (adjtimex(2)), but not in
 * the second or so that lies between. */
static uint64_t ticks_of_moment(const struct rec_sampler *sampler, int64_t ns)
{
    const struct lull_clock_point *from = &sampler->last, *to = &sampler->now;
    if (!rec_process.tsc)
        return (uint64_t)ns;
    const double rate = to->ns > from->ns
                            ? (double)(to->ticks - from->ticks) / (double)(to->ns - from->ns)
                            : 1 / rec_process.ns_per_tick;
    return from->ticks + (uint64_t)(int64_t)((double)(ns - from->ns) * rate);
}

/* What a word of a stack may point to: 0 where that is neither code nor the stack. */
static uint64_t stack_word(const struct rec_raw_sample *raw, uint32_t slot, uint64_t word)
{
    enum { MOST_STACK = 16 << 20 };
    const uint64_t most_offset = (UINT64_C(1) << LULL_TAPE_STACK_OFFSET_BITS) - 1;
    if (word - raw->stack.pointer < MOST_STACK)
        return lull_tape_stack_word(slot, LULL_TAPE_IN_STACK, word - raw->stack.pointer);
    const uint64_t place = rec_code_place((uintptr_t)word, raw->ns);
    const uint64_t object = place >> 40, offset = place & LULL_TAPE_OFFSET_MASK;
    return object >= LULL_TAPE_IN_STACK || offset > most_offset
               ? 0
               : lull_tape_stack_word(slot, object, offset);
}

/* Keeps the words of the stack by which its frames can be found, from the innermost on. */
static void keep_stack(const struct rec_raw_sample *raw, uint64_t *words, const uint64_t *end)
{
    const struct rec_raw_stack *stack = &raw->stack;
    if (stack->words == 0)
        return;
    if ((*words = stack_word(raw, LULL_TAPE_STACK_FRAME, stack->frame)) != 0)
        words++;
    if (stack->link != 0 && (*words = stack_word(raw, LULL_TAPE_STACK_LINK, stack->link)) != 0)
        words++;
    for (uint32_t i = 0; i < stack->words && i < LULL_TAPE_STACK_SLOTS && words < end; i++)
        if ((*words = stack_word(raw, i, rec_stack_word(stack, i))) != 0)
            words++;
}

static void fill_sample(const struct rec_sampler *sampler, const struct rec_raw_sample *raw,
                        struct lull_tape_sample *sample)
{
    const struct lull_tape_samples_header *header = sampler->header;
    unsigned char *more = (unsigned char *)(sample + 1), *end;
    end = (unsigned char *)sample + header->sample_size;
    memset(sample, 0, header->sample_size);
    *sample =
        (struct lull_tape_sample){ticks_of_moment(sampler, raw->ns),
                                  rec_code_place(raw->address, raw->ns), (uint64_t)raw->weight};
    if (header->fields & LULL_TAPE_SAMPLE_COUNTS) {
        *(struct lull_tape_sample_counts *)(void *)more =
            (struct lull_tape_sample_counts){raw->instructions, raw->cycles};
        more += sizeof(struct lull_tape_sample_counts);
    }
    if (header->fields & LULL_TAPE_SAMPLE_STACK)
        keep_stack(raw, (uint64_t *)(void *)more, (uint64_t *)(void *)end);
}

/* A sample of the ring. It is stored by itself where the ring has the interval of the file, else
 * together with those that come behind it. */
static void keep_raw_sample(void *context, const struct rec_raw_sample *raw)
{
    struct rec_sampler *sampler = context;
    if (!has_samples_file(sampler, sample_settings.source->id, 0))
        return;
    uint64_t words[MOST_SAMPLE_WORDS];
    struct lull_tape_sample *pending = pending_sample(sampler), *sample = (void *)words;
    if (pending->weight > 0) {
        fill_sample(sampler, raw, sample);
        join_samples(sampler, pending, sample);
    } else {
        fill_sample(sampler, raw, pending);
    }
    sampler->header->taken++;
    if (2 * pending->weight + (uint64_t)raw->weight < 2 * sampler->header->last_interval)
        return;
    store_sample(sampler, pending);
    pending->weight = 0;
}

/* Keeps the pending sample, which stands for samples of the ring that none in the file stands
 * for. */
static void keep_pending(struct rec_sampler *sampler)
{
    struct lull_tape_sample *pending = pending_sample(sampler);
    if (sampler->header && pending->weight > 0)
        store_sample(sampler, pending);
    pending->weight = 0;
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* Takes what is in the ring. */
static void empty_ring(struct rec_sampler *sampler)
{
    const struct rec_sample_source *source = sample_settings.source;
    rec_code_look();
    sampler->now = lull_clock_pair(rec_process.tsc);
    const uint64_t lost = source->take(&sampler->ring, keep_raw_sample, sampler);
    rec_code_done();
    sampler->last = sampler->now;
    if (lost > 0 && has_samples_file(sampler, source->id, 0))
        sampler->header->lost += lost;
}

static struct rec_sample_wish wish_of(const struct rec_sampler *sampler, int64_t interval)
{
    return (struct rec_sample_wish){.thread = sampler->thread,
                                    .interval = interval,
                                    .alone = sampler->location == 0,
                                    .stack = sample_settings.stack};
}

/* Gives the ring the present interval. Where a source cannot change the interval of a ring, another
 * ring takes its place. Where there can be no other ring, the old one goes on, and several of its
 * samples become one. */
static void exchange_ring(struct rec_sampler *sampler)
{
    const struct rec_sample_source *source = sample_settings.source;
    const int64_t interval = (int64_t)sampler->header->last_interval;
    const struct rec_sample_wish wish = wish_of(sampler, interval);
    struct rec_sample_ring ring;
    sampler->full = false;
    if (source->change)
        source->change(&sampler->ring, interval);
    if (source->change || source->begin(&ring, &wish) != 0)
        return;
    empty_ring(sampler);
    source->end(&sampler->ring);
    sampler->ring = ring;
}

static void keep_ring(struct rec_sampler *sampler)
{
    if (!sampler->ring.memory || sampler->over)
        return;
    empty_ring(sampler);
    if (sampler->full)
        exchange_ring(sampler);
}

static void end_ring(struct rec_sampler *sampler)
{
    if (!sampler->ring.memory)
        return;
    empty_ring(sampler);
    keep_pending(sampler);
    sample_settings.source->end(&sampler->ring);
}

/* ==== threads ================================================================================= */

static int64_t present_interval(const struct rec_sampler *sampler)
{
    return sampler->header ? (int64_t)sampler->header->last_interval : sample_settings.interval;
}

/* Notes that the thread is not sampled. The file says why, unless the reason holds for all threads
 * and the file of the first one says it. */
static void note_refused(struct rec_sampler *sampler, int reason)
{
    const bool first = sampler->location == 0;
    if (first && sample_settings.asked)
        rec_report_say("no samples: %s: %s%s", sample_settings.source->name, strerror(reason),
                       sample_settings.source == sample_sources[0]
                           ? "; --sample timer:100 takes them by signals"
                           : "");
    if (!sample_settings.refused)
        has_samples_file(sampler, LULL_TAPE_SAMPLES_REFUSED, reason);
    if (first)
        sample_settings.refused = true;
}

void rec_sample_start(void)
{
    const struct rec_sample_source *source = sample_settings.source;
    const int64_t least = source && source->least ? source->least() : 0;
    if (source && sample_settings.interval < least) {
        sample_settings.interval = least;
        rec_report_say("%.0f samples a second: the system's clock has no more ticks",
                       1e9 / (double)least);
    }
    if (source) { /* else what goes before the first look is taken for what lies in its place then */
        rec_code_look();
        rec_code_done();
    }
    sample_settings.started = source != NULL;
}

void rec_sample_begin(struct rec_thread *self)
{
    if (!sample_settings.started || sample_settings.refused)
        return;
    if (!self->sampler)
        self->sampler = make_sampler(self->number);
    else if (!wait_for_sampler(self->sampler))
        return;
    struct rec_sampler *sampler = self->sampler;
    if (!sampler)
        return;
    sampler->thread = gettid();
    sampler->last = lull_clock_pair(rec_process.tsc);
    const struct rec_sample_wish wish = wish_of(sampler, present_interval(sampler));
    int reason = 0;
    if (!sampler->over)
        reason = sample_settings.source->begin(&sampler->ring, &wish);
    if (reason != 0)
        note_refused(sampler, reason);
    else if (sampler->header) /* an earlier thread of the location was perhaps refused */
        sampler->header->source = sample_settings.source->id;
    give_sampler(sampler);
}

void rec_sample_end(struct rec_thread *self)
{
    if (!self->sampler || !wait_for_sampler(self->sampler))
        return;
    if (!self->sampler->over)
        end_ring(self->sampler);
    give_sampler(self->sampler);
}

void rec_sample_keep(struct rec_thread *self)
{
    if (!self->sampler || !take_sampler(self->sampler))
        return;
    keep_ring(self->sampler);
    give_sampler(self->sampler);
}

void rec_sample_stop(void)
{
    struct rec_sampler *sampler = __atomic_load_n(&all_samplers, __ATOMIC_ACQUIRE);
    sample_settings.started = false;
    for (; sampler; sampler = sampler->next) {
        if (!wait_for_sampler(sampler))
            continue;
        if (!sampler->over)
            end_ring(sampler);
        sampler->over = true;
        give_sampler(sampler);
    }
}

void rec_sample_hold(void)
{
    if (sample_settings.source && sample_settings.source->hold)
        sample_settings.source->hold();
}

void rec_sample_release(void)
{
    if (sample_settings.source && sample_settings.source->release)
        sample_settings.source->release();
}

/* ==== the recorder's own thread =============================================================== */

/* The next turn comes when a ring is half full that began to fill at the last turn. */
static _Atomic int64_t next_turn; /* ns; 0: there was none yet */

static int64_t time_between_turns(void)
{
    return sample_settings.source->lasts(sample_settings.interval, sample_settings.stack) / 2;
}

bool rec_sample_next_turn(struct timespec *ret_when)
{
    if (!sample_settings.started || sample_settings.refused)
        return false;
    if (next_turn == 0)
        next_turn = lull_clock_read(CLOCK_MONOTONIC) + time_between_turns();
    *ret_when = (struct timespec){next_turn / 1000000000, next_turn % 1000000000};
    return true;
}

void rec_sample_turn(void)
{
    struct rec_sampler *sampler = __atomic_load_n(&all_samplers, __ATOMIC_ACQUIRE);
    for (; sampler; sampler = sampler->next) {
        if (!take_sampler(sampler))
            continue;
        keep_ring(sampler);
        give_sampler(sampler);
    }
    next_turn = lull_clock_read(CLOCK_MONOTONIC) + time_between_turns();
}
