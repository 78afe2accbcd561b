/* SPDX-License-Identifier: BSD-3-Clause */
/* Made-up samples, for tests of the way from a source to the reader: one after each interval of time,
 * not of processor time, since the ring began. The address of a sample is that of byte t % 4096 of a
 * page of the recorder's own code, where t is the time of the sample in ms. So a
 * reader can tell that time and place of each sample belong together. A ring has room for FAKE_ROOM
 * samples; those beyond are lost.
 *
 * For each ns that a sample stands for there were 3 instructions and 2 cycles. A stack that is wished for has four words: the code of a sample 1 ms later, a pointer to the word behind
 * them, a number that points to nothing, and the code of a sample 2 ms later. */
#include "record/sample/source.h"

#include "base/clock.h"

#include <time.h>

enum { FAKE_ROOM = 4096, FAKE_STACK = 0x70000000 };

static int begin_fake_samples(struct rec_sample_ring *ret_ring, const struct rec_sample_wish *wish)
{
    *ret_ring = (struct rec_sample_ring){.memory = ret_ring,
                                         .interval = wish->interval,
                                         .began = lull_clock_read(CLOCK_MONOTONIC),
                                         .fields = LULL_TAPE_SAMPLE_COUNTS |
                                                   (wish->stack ? LULL_TAPE_SAMPLE_STACK : 0)};
    return 0;
}

static uintptr_t fake_address(int64_t ns)
{
    const uintptr_t page = (uintptr_t)&begin_fake_samples / REC_PAGE * REC_PAGE;
    return page + (uintptr_t)(ns / 1000000 % REC_PAGE);
}

static uint64_t take_fake_samples(struct rec_sample_ring *ring, rec_sample_taker *taker,
                                  void *context)
{
    const uint64_t due =
        (uint64_t)(lull_clock_read(CLOCK_MONOTONIC) - ring->began) / (uint64_t)ring->interval;
    const uint64_t room = ring->count + FAKE_ROOM, end = due < room ? due : room;
    for (uint64_t k = ring->count; k < end; k++) {
        const int64_t ns = ring->began + (int64_t)(k + 1) * ring->interval;
        const uint64_t words[4] = {fake_address(ns + 1000000), FAKE_STACK + sizeof words, 12345,
                                   fake_address(ns + 2000000)};
        struct rec_raw_sample sample = {.address = fake_address(ns),
                                        .ns = ns,
                                        .weight = ring->interval,
                                        .instructions = 3 * (uint64_t)ring->interval,
                                        .cycles = 2 * (uint64_t)ring->interval};
        if (ring->fields & LULL_TAPE_SAMPLE_STACK)
            sample.stack = (struct rec_raw_stack){.pointer = FAKE_STACK,
                                                  .frame = FAKE_STACK + sizeof words,
                                                  .words = sizeof words / sizeof *words,
                                                  .ring = (const unsigned char *)words,
                                                  .mask = sizeof words - 1};
        taker(context, &sample);
    }
    ring->count = due;
    return due - end;
}

static void end_fake_samples(struct rec_sample_ring *ring)
{
    ring->memory = NULL;
}

static int64_t fake_ring_lasts(int64_t interval, bool stack)
{
    (void)stack;
    return FAKE_ROOM * interval;
}

const struct rec_sample_source rec_samples_fake = {.name = "fake",
                                                   .id = LULL_TAPE_SAMPLES_FAKE,
                                                   .begin = begin_fake_samples,
                                                   .take = take_fake_samples,
                                                   .end = end_fake_samples,
                                                   .lasts = fake_ring_lasts};
