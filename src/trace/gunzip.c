/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/gunzip.h"

#include "lull_features.h"

#include <stdlib.h>

#if LULL_HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

/* The parts of a gzip member, in their order (RFC 1952). Header and trailer are read here, because
 * ISA-L 2.30 takes good ones for bad if they come in several pieces. */
enum part { FIXED, EXTRA_SIZE, EXTRA, NAME, COMMENT, HEADER_CHECK, BODY, TRAILER, PARTS };
enum { FIXED_BYTES = 10, FLAGS_AT = 3, UNKNOWN_FLAGS = 0xe0, TRAILER_BYTES = 8 };

struct gzip_member {
    enum part part;
    uint8_t bytes[FIXED_BYTES]; /* of the part at hand */
    uint32_t n;                 /* bytes of it that were read so far */
    uint32_t extra;             /* length of the EXTRA part in bytes */
    uint8_t flags;
    uint32_t check; /* CRC-32 of the header so far */
    struct inflate_state state;
};

bool lull_gunzip_open(struct lull_gunzip *gunzip)
{
    return (gunzip->state = malloc(sizeof(struct gzip_member)));
}

void lull_gunzip_close(struct lull_gunzip *gunzip)
{
    free(gunzip->state);
}

void lull_gunzip_begin(struct lull_gunzip *gunzip)
{
    struct gzip_member *member = gunzip->state;
    member->part = FIXED;
    member->n = 0;
    member->check = 0;
    isal_inflate_init(&member->state);
    member->state.crc_flag = ISAL_GZIP_NO_HDR;
}

/* Reads `size` bytes of a part, and keeps what there is room for; false: not all are there yet. */
static bool read_member_bytes(struct lull_gunzip *gunzip, struct gzip_member *member, uint32_t size)
{
    for (; gunzip->n_in > 0 && member->n < size; gunzip->n_in--, gunzip->in++)
        if (member->n++ < sizeof member->bytes)
            member->bytes[member->n - 1] = *gunzip->in;
    return member->n == size;
}

/* Skips bytes up to and with a zero; false: the zero is not there yet. */
static bool read_text(struct lull_gunzip *gunzip)
{
    bool ended = false;
    for (; gunzip->n_in > 0 && !ended; gunzip->n_in--, gunzip->in++)
        ended = *gunzip->in == 0;
    return ended;
}

/* Whether the header has a part. */
static bool has_part(const struct gzip_member *member, enum part part)
{
    static const uint8_t flags[PARTS] = {
        [EXTRA_SIZE] = 4, [EXTRA] = 4, [NAME] = 8, [COMMENT] = 16, [HEADER_CHECK] = 2};
    return member->flags & flags[part];
}

/* Reads the part of the header at hand; false: not all of it is there yet. */
static bool read_member_part(struct lull_gunzip *gunzip, struct gzip_member *member)
{
    switch (member->part) {
    case FIXED:
        return read_member_bytes(gunzip, member, FIXED_BYTES);
    case EXTRA:
        return read_member_bytes(gunzip, member, member->extra);
    case NAME:
    case COMMENT:
        return read_text(gunzip);
    default:
        return read_member_bytes(gunzip, member, 2);
    }
}

/* Reads the part at hand and counts it into the check sum of the header; the check sum itself does
 * not count. False: not all of it is there yet. */
static bool read_checked(struct lull_gunzip *gunzip, struct gzip_member *member)
{
    const uint8_t *begin = gunzip->in;
    bool whole = read_member_part(gunzip, member);
    if (member->part != HEADER_CHECK)
        member->check = crc32_gzip_refl(member->check, begin, (uint64_t)(gunzip->in - begin));
    return whole;
}

/* Looks at a part of the header that was read; false: it is bad. */
static bool take_part(struct gzip_member *member)
{
    const uint8_t *bytes = member->bytes;
    const uint32_t number = bytes[0] | (uint32_t)bytes[1] << 8;
    switch (member->part) {
    case FIXED:
        member->flags = bytes[FLAGS_AT];
        return bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8 &&
               !(member->flags & UNKNOWN_FLAGS);
    case EXTRA_SIZE:
        member->extra = number;
        return true;
    case HEADER_CHECK:
        return number == (member->check & 0xffff);
    default:
        return true;
    }
}

/* Reads the header as far as it is there; false: it is no gzip header. */
static bool read_member_header(struct lull_gunzip *gunzip, struct gzip_member *member)
{
    while (member->part < BODY && read_checked(gunzip, member)) {
        if (!take_part(member))
            return false;
        member->n = 0;
        do
            member->part++;
        while (member->part < BODY && !has_part(member, member->part));
    }
    return true;
}

static const char *describe(int result)
{
    return result == ISAL_INVALID_BLOCK    ? "invalid block"
           : result == ISAL_INVALID_SYMBOL ? "invalid symbol"
                                           : "invalid distance";
}

/* Inflates the body. NULL: all is well so far; else what is wrong. */
static const char *inflate_body(struct lull_gunzip *gunzip, struct gzip_member *member)
{
    struct inflate_state *state = &member->state;
    state->next_in = gunzip->in;
    state->avail_in = gunzip->n_in;
    state->next_out = gunzip->out;
    state->avail_out = gunzip->n_out;
    int result = isal_inflate(state);
    gunzip->in = state->next_in;
    gunzip->n_in = state->avail_in;
    gunzip->out = state->next_out;
    gunzip->n_out = state->avail_out;
    if (result < 0)
        return describe(result);
    if (state->block_state != ISAL_BLOCK_FINISH)
        return NULL;
    member->part = TRAILER; /* ISA-L may have read up to eight bytes of it with the body */
    uint64_t ahead = state->read_in >> state->read_in_length % 8;
    for (member->n = 0; member->n < (uint32_t)state->read_in_length / 8; member->n++)
        member->bytes[member->n] = (uint8_t)(ahead >> 8 * member->n);
    return NULL;
}

static uint32_t number_at(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

enum lull_gunzip_result lull_gunzip_run(struct lull_gunzip *gunzip, const char **ret_what)
{
    struct gzip_member *member = gunzip->state;
    const char *what = read_member_header(gunzip, member) ? NULL : "invalid header";
    if (!what && member->part == BODY)
        what = inflate_body(gunzip, member);
    if (!what && member->part == TRAILER && read_member_bytes(gunzip, member, TRAILER_BYTES)) {
        if (number_at(member->bytes) == member->state.crc &&
            number_at(member->bytes + 4) == member->state.total_out)
            return LULL_GUNZIP_END;
        what = "incorrect check sum or length";
    }
    *ret_what = what;
    return what ? LULL_GUNZIP_BAD : LULL_GUNZIP_MORE;
}

#else
#include <zlib.h>

bool lull_gunzip_open(struct lull_gunzip *gunzip)
{
    z_stream *stream = gunzip->state = calloc(1, sizeof *stream);
    if (stream && inflateInit2(stream, 15 + 16) == Z_OK)
        return true;
    free(stream);
    gunzip->state = NULL;
    return false;
}

void lull_gunzip_close(struct lull_gunzip *gunzip)
{
    if (gunzip->state)
        inflateEnd(gunzip->state);
    free(gunzip->state);
}

void lull_gunzip_begin(struct lull_gunzip *gunzip)
{
    inflateReset(gunzip->state);
}

enum lull_gunzip_result lull_gunzip_run(struct lull_gunzip *gunzip, const char **ret_what)
{
    z_stream *stream = gunzip->state;
    stream->next_in = gunzip->in;
    stream->avail_in = gunzip->n_in;
    stream->next_out = gunzip->out;
    stream->avail_out = gunzip->n_out;
    int result = inflate(stream, Z_NO_FLUSH);
    gunzip->in = stream->next_in;
    gunzip->n_in = stream->avail_in;
    gunzip->out = stream->next_out;
    gunzip->n_out = stream->avail_out;
    if (result == Z_STREAM_END)
        return LULL_GUNZIP_END;
    if (result == Z_OK || result == Z_BUF_ERROR)
        return LULL_GUNZIP_MORE;
    *ret_what = stream->msg ? stream->msg : zError(result);
    return LULL_GUNZIP_BAD;
}
#endif
