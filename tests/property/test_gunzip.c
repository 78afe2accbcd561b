/* Inflating gzip data: what zlib deflates, in members of all kinds, comes back whatever the pieces
 * in which input and room are given; and data of which a bit is flipped never passes for another
 * content. */
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/gunzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MOST = 300000, PACKED_MOST = 2 * MOST + 4096, ROUNDS = 400 };

static struct lull_random drawing;
static uint8_t content[MOST], packed[PACKED_MOST], got[MOST + 1];

static uint32_t below(uint32_t bound)
{
    return (uint32_t)lull_random_below(&drawing, bound);
}

/* Lines of numbers, bytes of chance, or few different bytes; or nothing. */
static uint32_t draw_content(void)
{
    uint32_t size = below(4) ? below(3000) : below(MOST), kind = below(4);
    for (uint32_t i = 0; i < size; i++)
        content[i] = kind == 0   ? (uint8_t)below(256)
                     : kind == 1 ? (uint8_t)('a' + below(2))
                                 : (uint8_t) "0123456789:\n"[below(12)];
    if (kind == 3) /* repeats from as far behind as can be */
        for (uint32_t i = 32768; i < size; i++)
            content[i] = content[i - 32768 + i % 768];
    return size;
}

static uint32_t pack(const uint8_t *bytes, uint32_t size, uint8_t *ret_packed, uint32_t room)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE};
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                       .avail_in = size,
                       .next_out = ret_packed,
                       .avail_out = room};
    assert_int_equal(
        deflateInit2(&stream, (int)below(10), Z_DEFLATED, 15 + 16, 8, strategies[below(4)]), Z_OK);
    gz_header header = {.name = (Bytef *)(uintptr_t) "name", .comment = Z_NULL, .hcrc = 1};
    if (below(3) == 0)
        assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    uint32_t length = (uint32_t)stream.total_out;
    deflateEnd(&stream);
    return length;
}

/* The content as one member or several, one behind the other. */
static uint32_t pack_members(uint32_t size, unsigned *ret_members)
{
    uint32_t length = 0, at = 0;
    *ret_members = 0;
    do {
        ++*ret_members;
        uint32_t part = below(2) ? size - at : below(size - at + 1);
        length += pack(content + at, part, packed + length, PACKED_MOST - length);
        at += part;
    } while (at < size);
    return length;
}

/* Everything, by pieces of up to `most`; `ret_size` of it. false: it is bad or ends early. */
static bool unpack(uint32_t length, uint32_t most, uint32_t *ret_size)
{
    struct lull_gunzip gunzip = {.in = packed, .out = got};
    const char *what = NULL;
    bool inside = false, good = true;
    assert_true(lull_gunzip_open(&gunzip));
    for (;;) {
        if (gunzip.n_in == 0) {
            uint32_t left = length - (uint32_t)(gunzip.in - packed), piece = 1 + below(most);
            gunzip.n_in = piece < left ? piece : left;
        }
        if (gunzip.n_in == 0 && !inside)
            break;
        uint32_t room = 1 + below(most), left = sizeof got - (uint32_t)(gunzip.out - got);
        gunzip.n_out = room = room < left ? room : left;
        if (!inside)
            lull_gunzip_begin(&gunzip);
        bool at_end = gunzip.n_in == 0;
        enum lull_gunzip_result result = lull_gunzip_run(&gunzip, &what);
        inside = result != LULL_GUNZIP_END;
        good = result != LULL_GUNZIP_BAD && !(at_end && inside && gunzip.n_out == room);
        if (!good)
            break;
    }
    if (!good && what)
        assert_true(strlen(what) > 0);
    *ret_size = (uint32_t)(gunzip.out - got);
    lull_gunzip_close(&gunzip);
    return good;
}

static void test_pieces(void **state)
{
    (void)state;
    static const uint32_t pieces[] = {1, 9, 400, 70000, MOST};
    const unsigned rounds = lull_test_rounds(ROUNDS);
    unsigned several = 0, cut = 0, members;
    for (unsigned round = 0; round < rounds; round++) {
        uint32_t size = draw_content(), length = pack_members(size, &members), unpacked;
        uint32_t most = pieces[below(size < 3000 ? 5 : 3) + (size < 3000 ? 0 : 2)];
        fail_if(!unpack(length, most, &unpacked),
                "round %u: %u bytes in pieces up to %u do not come back", round, size, most);
        assert_int_equal(unpacked, size);
        assert_memory_equal(got, content, size);
        assert_false(unpack(length - 1 - below(8), most, &unpacked)); /* inside the trailer */
        several += members > 1;
        cut += most < length;
    }
    assert_reached("there are several members", several, rounds / 5, rounds);
    assert_reached("it comes in several pieces", cut, rounds / 5, rounds);
}

/* Where a flip is not told it was of a part of a header that means nothing: file names, times. */
static void test_flips(void **state)
{
    (void)state;
    const unsigned rounds = lull_test_rounds(ROUNDS);
    unsigned told = 0;
    for (unsigned round = 0; round < rounds; round++) {
        uint32_t size = 1 + below(3000), unpacked;
        for (uint32_t i = 0; i < size; i++)
            content[i] = (uint8_t)("0123456789:\n"[below(12)]);
        uint32_t length = pack(content, size, packed, PACKED_MOST);
        packed[below(length)] ^= (uint8_t)(1u << below(8));
        if (!unpack(length, 500, &unpacked)) {
            told++;
            continue;
        }
        assert_int_equal(unpacked, size);
        assert_memory_equal(got, content, size);
    }
    assert_reached("the flip is told", told, rounds / 2, rounds);
}

/* A header with a check sum of its own: each bit of it, of the name and of the sum is told. */
static void test_header_check(void **state)
{
    (void)state;
    enum { HEADER = 10 + sizeof "name" + 2 };
    gz_header header = {.name = (Bytef *)(uintptr_t) "name", .hcrc = 1};
    z_stream stream = {
        .next_in = content, .avail_in = 1000, .next_out = packed, .avail_out = PACKED_MOST};
    uint32_t unpacked;
    for (uint32_t i = 0; i < 1000; i++)
        content[i] = (uint8_t)below(256);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const uint32_t length = (uint32_t)stream.total_out;
    deflateEnd(&stream);
    for (uint32_t bit = 0; bit < 8 * HEADER; bit++) {
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        fail_if(unpack(length, 1 + below(100), &unpacked),
                "bit %u of the header is flipped, and nobody says so", bit);
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(unpack(length, 7, &unpacked));
    assert_int_equal(unpacked, 1000);
}

TEST_GROUP(test_gunzip)
{
    lull_random_seed(&drawing, lull_test_seed());
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_flips),
                                       cmocka_unit_test(test_header_check)};
    return run_cases(tests, NULL, NULL);
}
