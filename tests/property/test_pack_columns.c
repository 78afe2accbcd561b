/* Chunks by columns: whatever is in them comes back, be it records, parts of records or noise, and
 * a damaged one is refused or gives other bytes, but nothing else happens. */
#include "lull_features.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/seed.h"
#include "support/test.h"
#include "tape/records.h"
#include "trace/format/tape/pack/record_columns.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if LULL_HAVE_ZSTD

enum { ROUNDS = 400, ROOM = 3 * LULL_TAPE_CHUNK };

static union lull_tape_slot *chunk;
static unsigned char *packed, *back;

enum { WHOLE, SHORT, LONG, BRANCHES };
static struct branch branches[BRANCHES] = {
    [WHOLE] = {.what = "it is a whole chunk", .least = 200},
    [SHORT] = {.what = "it takes half of the bytes at most", .least = 200},
    [LONG] = {.what = "it takes as many bytes or more", .least = 50},
};

/* ---- what may be in a chunk -------------------------------------------------------------------
 */

static void draw_noise(struct lull_random *random, size_t slots)
{
    for (size_t i = 0; i < slots; i++)
        chunk[i] =
            (union lull_tape_slot){.u64 = {lull_random_u64(random), lull_random_u64(random)}};
}

/* A number with so many bits that all widths come up. */
static uint64_t some_number(struct lull_random *random)
{
    return lull_random_u64(random) >> lull_random_below(random, 64);
}

/* Records of few sorts, whose slots repeat, count up or are noise. */
static void draw_records(struct lull_random *random, size_t slots)
{
    uint32_t heads[12];
    const uint64_t sorts = 1 + lull_random_below(random, 12), gap = some_number(random) >> 20;
    const uint64_t way = lull_random_below(random, 4);
    uint64_t now = lull_random_u64(random) >> 8, count = 0;
    for (uint64_t s = 0; s < sorts; s++)
        heads[s] = lull_tape_head((unsigned)lull_random_below(random, LULL_TAPE_KINDS),
                                  (unsigned)lull_random_below(random, way + 1),
                                  (uint32_t)lull_random_below(random, 300));
    for (size_t i = 0; i < slots;) {
        const uint32_t head = heads[lull_random_below(random, sorts)];
        now += lull_random_below(random, gap + 1);
        chunk[i++].record =
            (struct lull_tape_record){.time = now, .head = head, .value = (uint32_t)(now % 1000)};
        for (unsigned e = 0; e < lull_tape_extra_of(head) && i < slots; e++)
            chunk[i++] =
                (union lull_tape_slot){.u64 = {count++, way > 1 ? some_number(random) : now % 3}};
    }
}

/* More sorts than one byte can number. */
static void draw_many_sorts(struct lull_random *random, size_t slots)
{
    uint64_t now = 0;
    for (size_t i = 0; i < slots; i++)
        chunk[i].record = (struct lull_tape_record){
            .time = now += lull_random_below(random, 3),
            .head = lull_tape_head(LULL_TAPE_ENTER, 0, (uint32_t)lull_random_below(random, 3000)),
            .value = (uint32_t)lull_random_below(random, 3)};
}

static size_t draw(struct lull_random *random)
{
    const size_t slots =
        lull_random_below(random, 3) == 0 ? PACK_SLOTS : lull_random_below(random, PACK_SLOTS);
    memset(chunk, 0, LULL_TAPE_CHUNK);
    switch (lull_random_below(random, 5)) {
    case 0:
        draw_noise(random, slots);
        break;
    case 1:
        draw_many_sorts(random, slots);
        break;
    default:
        draw_records(random, slots);
    }
    if (slots > 0 && lull_random_below(random, 3) == 0) { /* zeros behind */
        const size_t from = lull_random_below(random, slots);
        memset(chunk + from, 0, (slots - from) * sizeof *chunk);
    }
    return slots * sizeof *chunk;
}

/* ---- the tests ---------------------------------------------------------------------------------
 */

static struct pack_encoder *encoder;
static struct pack_decoder *decoder;

static void test_come_back(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    const unsigned rounds = lull_test_rounds(ROUNDS);
    for (uint64_t seed = first; seed - first < rounds; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        const size_t size = draw(&random);
        const unsigned lead = (unsigned)lull_random_below(&random, 16);
        const size_t got = lull_pack_columns(encoder, chunk, size, lead, packed, ROOM);
        memset(back, 0xa5, LULL_TAPE_CHUNK);
        fail_if(got == 0 || !lull_unpack_columns(decoder, packed, got, back, size) ||
                    memcmp(back, chunk, size) != 0,
                "seed %llu: %zu bytes, lead %u: other bytes came back", (unsigned long long)seed,
                size, lead);
        for (size_t i = size; i < LULL_TAPE_CHUNK; i++)
            assert_int_equal(back[i], 0xa5);
        branch_reach(&branches[WHOLE], size == LULL_TAPE_CHUNK);
        branch_reach(&branches[SHORT], got <= size / 2);
        branch_reach(&branches[LONG], got >= size);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

/* Records of a run that repeats itself take a few bytes. */
static void test_is_short(void **state)
{
    (void)state;
    struct lull_random random;
    uint64_t now = 1000;
    lull_random_seed(&random, 1);
    for (size_t i = 0; i < PACK_SLOTS; i++) {
        const uint32_t duration = (uint32_t)lull_random_below(&random, 256);
        lull_tape_put_call(&chunk[i], now, (uint32_t)(i % 4), duration);
        now += duration + lull_random_below(&random, 256);
    }
    /* Two random bytes a record are all that there is to know; distances have a sign. */
    const size_t got = lull_pack_columns(encoder, chunk, LULL_TAPE_CHUNK, 0, packed, ROOM);
    assert_in_range(got, 16 * PACK_SLOTS / 8, 17 * PACK_SLOTS / 8);
    assert_int_equal(lull_pack_columns(encoder, chunk, LULL_TAPE_CHUNK, 0, packed, got - 1), 0);
}

/* Damaged columns are refused or give some bytes, but write nowhere else: sanitizers watch, too. A
 * cut may be behind all that is needed for a chunk that is shorter. */
static void test_damaged(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    unsigned long tried = 0, refused = 0;
    for (uint64_t seed = first; seed - first < lull_test_rounds(ROUNDS); seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        const size_t size = draw(&random);
        const size_t got = lull_pack_columns(encoder, chunk, size, 0, packed, ROOM);
        unsigned char *damaged = malloc(got);
        for (int i = 0; i < 20; i++) {
            memcpy(damaged, packed, got);
            const uint64_t near = lull_random_below(&random, 2) ? got : 40;
            damaged[lull_random_below(&random, near < got ? near : got)] ^=
                (unsigned char)(1 + lull_random_below(&random, 255));
            const size_t cut =
                lull_random_below(&random, 4) ? got : lull_random_below(&random, got);
            memset(back, 0xa5, LULL_TAPE_CHUNK);
            tried++;
            refused += !lull_unpack_columns(decoder, damaged, cut, back, size);
            if (size > 0)
                lull_unpack_columns(decoder, packed, got, back, size - sizeof *chunk);
            for (size_t at = size; at < LULL_TAPE_CHUNK; at++)
                assert_int_equal(back[at], 0xa5);
        }
        free(damaged);
    }
    assert_reached("damage is seen", refused, tried / 4, tried);
}

TEST_GROUP(test_pack_columns)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_come_back),
                                       cmocka_unit_test(test_is_short),
                                       cmocka_unit_test(test_damaged)};
    chunk = aligned_alloc(64, LULL_TAPE_CHUNK);
    packed = malloc(ROOM);
    back = aligned_alloc(64, LULL_TAPE_CHUNK);
    encoder = lull_pack_encoder_create();
    decoder = lull_pack_decoder_create();
    const int failed = run_cases(tests, NULL, NULL);
    lull_pack_encoder_destroy(encoder);
    lull_pack_decoder_destroy(decoder);
    free(chunk);
    free(packed);
    free(back);
    return failed;
}
#else
TEST_GROUP(test_pack_columns)
{
    puts("skipped: built without libzstd");
    return 77;
}
#endif
