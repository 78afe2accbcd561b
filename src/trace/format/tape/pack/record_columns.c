/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/tape/pack/record_columns.h"

#include "base/mix.h"
#include "lull_features.h"
#include "tape/layout.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What records of one sort have in common, as in the file. */
struct pack_sort {
    uint32_t head;
    uint32_t value; /* 0 where the value is a duration */
    uint16_t count; /* of records */
    uint16_t from_last;
};

/* Stands in front of a chunk by columns; the raw planes follow, and then the frame of each bin. */
struct pack_columns_header {
    uint16_t records, sorts;
    uint16_t lead, rest; /* slots before and behind the records */
    uint32_t raw;        /* bytes of planes that are not compressed */
    uint32_t meta; /* bytes at the begin of the first bin: sorts, then what planes there are */
    uint32_t frames[PACK_BINS]; /* compressed bytes */
};

/* Describes the planes of one word: this struct, then the `constant` if the mode says that there is
 * one, then for each plane that varies one byte, the bin in which it is. */
enum { PACK_WORD_DELTA = 1, PACK_WORD_CONSTANT = 2 };

struct pack_word {
    uint8_t mode, varying; /* bit i: the i-th byte from the lowest varies */
};

/* Whether the value of such a record is a duration. */
static inline bool pack_lasts(unsigned kind)
{
    return (kind >= LULL_TAPE_CALL && kind <= LULL_TAPE_FLUSH) || kind == LULL_TAPE_CALL_LIKE ||
           kind == LULL_TAPE_CALL_OPERATION;
}

/* Whether such a record moves `end`: it is the begin or end of a region, or has a duration. */
static inline bool pack_moves_end(unsigned kind)
{
    return kind == LULL_TAPE_ENTER || kind == LULL_TAPE_LEAVE || pack_lasts(kind);
}

/* ==== decode ================================================================================== */

/* Putting a chunk of records together from its columns: the hot path of reading packed runs. The
 * work for each record has no branches, apart from records with more than one slot; planes become
 * words in loops that compilers vectorise. */

#if LULL_HAVE_ZSTD
#include <zstd.h>

enum {
    MOST_BIN = 2 * LULL_TAPE_CHUNK + PACK_SLOTS * ((int)sizeof(struct pack_sort) + 64),
    RAW_PLANE = PACK_BINS
};

struct bytes {
    const unsigned char *at, *end;
};

/* What the records of one sort are made of; it fits into a cache line. */
struct sort_reader {
    uint32_t head, value;
    uint64_t lasts;                    /* mask of a duration, or 0 */
    uint8_t is_long, moves, from_last; /* the value is a duration; the record moves `end`; its time
                                          is a distance from `last` */
    uint8_t words;                     /* of the slots behind a record */
    uint32_t left;                     /* records that are still to come */
    uint32_t stride;                   /* words from one column to the next */
    const uint64_t *column; /* first word of the next record; NULL: its slots are loose */
};

/* A column whose words are not made in advance, but one by one when they are needed: the planes of
 * their lowest bytes, and the bits that all of them have. */
enum { NARROW = 4 };
struct narrow {
    const unsigned char *planes[NARROW];
    uint64_t constant;
};

static const unsigned char nothing[PACK_SLOTS];

struct pack_decoder {
    ZSTD_DCtx *zstd;
    unsigned char *bins[PACK_BINS + 1]; /* MOST_BIN each, and PACK_SLOTS that may be read behind */
    /* The rest is about the present chunk. */
    struct sort_reader sorts[PACK_SLOTS];
    uint64_t times[PACK_SLOTS], columns[2 * PACK_SLOTS];
    struct bytes planes[PACK_BINS + 1], meta;
};

struct pack_decoder *lull_pack_decoder_create(void)
{
    struct pack_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->zstd = ZSTD_createDCtx();
    bool good = decoder->zstd != NULL;
    for (int b = 0; b <= PACK_BINS; b++) {
        decoder->bins[b] = calloc(1, MOST_BIN + PACK_SLOTS);
        good &= decoder->bins[b] != NULL;
    }
    if (good)
        return decoder;
    lull_pack_decoder_destroy(decoder);
    return NULL;
}

void lull_pack_decoder_destroy(struct pack_decoder *decoder)
{
    if (!decoder)
        return;
    ZSTD_freeDCtx(decoder->zstd);
    for (int b = 0; b <= PACK_BINS; b++)
        free(decoder->bins[b]);
    free(decoder);
}

/* The next `size` bytes; NULL: there are not so many. */
static const unsigned char *take_bytes(struct bytes *bytes, size_t size)
{
    if ((size_t)(bytes->end - bytes->at) < size)
        return NULL;
    bytes->at += size;
    return bytes->at - size;
}

static bool take_into(struct bytes *bytes, void *to, size_t size)
{
    const unsigned char *from = take_bytes(bytes, size);
    if (from && size > 0)
        memcpy(to, from, size);
    return from != NULL;
}

bool lull_unpack_plain(struct pack_decoder *decoder, const void *packed, size_t packed_size,
                       void *bytes, size_t size)
{
    return ZSTD_decompressDCtx(decoder->zstd, bytes, size, packed, packed_size) == size;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Two planes are added at a time, so that the words are read and written half as often. */
static void add_planes(uint64_t *words, size_t n, const unsigned char *a, unsigned a_shift,
                       const unsigned char *b, unsigned b_shift, uint64_t constant)
{
    for (size_t i = 0; i < n; i++)
        words[i] = (uint64_t)a[i] << a_shift | (uint64_t)b[i] << b_shift | constant;
}

static void or_plane(uint64_t *words, size_t n, const unsigned char *a, unsigned shift)
{
    for (size_t i = 0; i < n; i++)
        words[i] |= (uint64_t)a[i] << shift;
}

static void or_planes(uint64_t *words, size_t n, const unsigned char *a, unsigned a_shift,
                      const unsigned char *b, unsigned b_shift)
{
    for (size_t i = 0; i < n; i++)
        words[i] |= (uint64_t)a[i] << a_shift | (uint64_t)b[i] << b_shift;
}

static uint64_t unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

static void add_up(uint64_t *words, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        words[i] = sum += unzigzag(words[i]);
}

/* Finds the planes of a word that vary, of `n` bytes each. Returns how many they are; -1: they are
 * not there. */
static int find_planes(struct pack_decoder *decoder, unsigned varying, size_t n,
                       const unsigned char *planes[8], unsigned shifts[8])
{
    int count = 0;
    for (unsigned p = 0; p < 8; p++) {
        if (!(varying >> p & 1))
            continue;
        const unsigned char *bin = take_bytes(&decoder->meta, 1);
        if (!bin || *bin > RAW_PLANE || !(planes[count] = take_bytes(&decoder->planes[*bin], n)))
            return -1;
        shifts[count++] = 8 * p;
    }
    return count;
}

/* What the planes of a word are like, and where they are. */
struct planes {
    const unsigned char *bytes[8];
    unsigned shifts[8], varying, mode;
    int count;
    uint64_t constant;
};

static bool take_planes(struct pack_decoder *decoder, size_t n, struct planes *planes)
{
    struct pack_word word;
    planes->constant = 0;
    if (!take_into(&decoder->meta, &word, sizeof word) ||
        (word.mode & PACK_WORD_CONSTANT &&
         !take_into(&decoder->meta, &planes->constant, sizeof planes->constant)))
        return false;
    planes->varying = word.varying;
    planes->mode = word.mode;
    planes->count = find_planes(decoder, word.varying, n, planes->bytes, planes->shifts);
    return planes->count >= 0;
}

static void make_words(const struct planes *planes, uint64_t *words, size_t n)
{
    const int count = planes->count;
    const unsigned char *const *bytes = planes->bytes;
    const unsigned *shifts = planes->shifts;
    if (count >= 2)
        add_planes(words, n, bytes[0], shifts[0], bytes[1], shifts[1], planes->constant);
    else
        for (size_t i = 0; i < n; i++)
            words[i] = planes->constant;
    for (int p = count >= 2 ? 2 : 0; p < count; p += 2) {
        if (p + 1 < count)
            or_planes(words, n, bytes[p], shifts[p], bytes[p + 1], shifts[p + 1]);
        else
            or_plane(words, n, bytes[p], shifts[p]);
    }
    if (planes->mode & PACK_WORD_DELTA)
        add_up(words, n);
}

/* Describes a column of which only the NARROW lowest bytes vary; false: others vary, too. */
static bool make_narrow(const struct planes *planes, struct narrow *narrow)
{
    if (planes->varying >> NARROW != 0 || planes->mode & PACK_WORD_DELTA)
        return false;
    for (unsigned p = 0; p < NARROW; p++)
        narrow->planes[p] = nothing;
    for (int p = 0; p < planes->count; p++)
        narrow->planes[planes->shifts[p] / 8] = planes->bytes[p];
    narrow->constant = planes->constant;
    return true;
}

static inline uint64_t narrow_at(const struct narrow *narrow, size_t i)
{
    return ((uint64_t)narrow->planes[0][i] | (uint64_t)narrow->planes[1][i] << 8 |
            (uint64_t)narrow->planes[2][i] << 16 | (uint64_t)narrow->planes[3][i] << 24) |
           narrow->constant;
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool open_bins(struct pack_decoder *decoder, const struct pack_columns_header *header,
                      struct bytes packed)
{
    if (header->raw > MOST_BIN || !take_into(&packed, decoder->bins[RAW_PLANE], header->raw))
        return false;
    decoder->planes[RAW_PLANE] =
        (struct bytes){decoder->bins[RAW_PLANE], decoder->bins[RAW_PLANE] + header->raw};
    for (int b = 0; b < PACK_BINS; b++) {
        unsigned char *bin = decoder->bins[b];
        decoder->planes[b] = (struct bytes){bin, bin};
        if (header->frames[b] == 0)
            continue;
        const unsigned char *frame = take_bytes(&packed, header->frames[b]);
        if (!frame)
            return false;
        const size_t size =
            ZSTD_decompressDCtx(decoder->zstd, bin, MOST_BIN, frame, header->frames[b]);
        if (ZSTD_isError(size))
            return false;
        decoder->planes[b].end = bin + size;
    }
    const unsigned char *meta = take_bytes(&decoder->planes[0], header->meta);
    if (!meta)
        return false;
    decoder->meta = (struct bytes){meta, meta + header->meta};
    return packed.at == packed.end;
}

/* Takes the description of each sort. *ret_values: how many records have a duration; *ret_loose:
 * how many slots are in no column. False: these cannot be the sorts of header->records records in
 * `slots` slots. */
static bool take_sorts(struct pack_decoder *decoder, const struct pack_columns_header *header,
                       size_t slots, size_t *ret_values, size_t *ret_loose)
{
    size_t records = 0, used = (size_t)header->lead + header->rest;
    *ret_values = 0;
    *ret_loose = used;
    for (size_t s = 0; s < header->sorts; s++) {
        struct pack_sort sort;
        if (!take_into(&decoder->meta, &sort, sizeof sort))
            return false;
        const unsigned kind = lull_tape_kind_of(sort.head), extra = lull_tape_extra_of(sort.head);
        records += sort.count;
        used += (size_t)sort.count * (1 + extra);
        decoder->sorts[s] = (struct sort_reader){.head = sort.head,
                                                 .value = sort.value,
                                                 .lasts = pack_lasts(kind) ? UINT32_MAX : 0,
                                                 .is_long = pack_lasts(kind),
                                                 .moves = pack_moves_end(kind),
                                                 .from_last = sort.from_last != 0,
                                                 .words = (uint8_t)(2 * extra),
                                                 .left = sort.count};
        if (pack_lasts(kind))
            *ret_values += sort.count;
        if (sort.count < PACK_LEAST_ROWS)
            *ret_loose += (size_t)sort.count * extra;
    }
    return records == header->records && used <= slots;
}

static bool take_columns(struct pack_decoder *decoder, const struct pack_columns_header *header)
{
    uint64_t *column = decoder->columns;
    for (size_t s = 0; s < header->sorts; s++) {
        struct sort_reader *sort = &decoder->sorts[s];
        if (sort->words == 0 || sort->left < PACK_LEAST_ROWS)
            continue;
        sort->stride = sort->left;
        sort->column = column;
        for (unsigned w = 0; w < sort->words; w++, column += sort->left) {
            struct planes planes;
            if (!take_planes(decoder, sort->left, &planes))
                return false;
            make_words(&planes, column, sort->left);
        }
    }
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The columns that all records have. */
struct records {
    size_t n, n_values;
    const unsigned char *low, *high; /* planes of the numbers of sorts */
    unsigned shift;                  /* of `high`; 0: there is no such plane, and high is low */
    bool narrow;                     /* times are narrow, and there is no plane `high` */
    struct narrow times, values;
    const unsigned char *loose;
};

static bool are_sorts(const struct records *records, size_t sorts)
{
    unsigned most = 0;
    for (size_t r = 0; r < records->n; r++) {
        const unsigned sort = records->low[r] | (unsigned)records->high[r] << records->shift;
        most = sort > most ? sort : most;
    }
    return records->n == 0 || most < sorts;
}

static bool take_records(struct pack_decoder *decoder, const struct pack_columns_header *header,
                         struct records *records)
{
    struct planes planes;
    const bool two = header->sorts > 256;
    records->low = take_bytes(&decoder->planes[0], records->n);
    records->high = two ? take_bytes(&decoder->planes[0], records->n) : records->low;
    records->shift = two ? 8 : 0;
    if (!records->low || !records->high || !are_sorts(records, header->sorts))
        return false;
    if (records->n_values > 0 && (!take_planes(decoder, records->n_values, &planes) ||
                                  !make_narrow(&planes, &records->values)))
        return false;
    if (records->n == 0)
        return true;
    if (!take_planes(decoder, records->n, &planes))
        return false;
    records->narrow = make_narrow(&planes, &records->times) && !two;
    if (!records->narrow)
        make_words(&planes, decoder->times, records->n);
    return true;
}

/* Writes the slots of a record behind its first one. False: no more records of this sort are
 * there. */
static inline bool put_next_slots(struct sort_reader *sort, const unsigned char **loose,
                                  uint64_t *out)
{
    if (sort->left == 0)
        return false;
    sort->left--;
    if (!sort->column) {
        memcpy(out, *loose, sort->words * sizeof *out);
        *loose += sort->words * sizeof *out;
        return true;
    }
    const uint64_t *word = sort->column++;
    const size_t stride = sort->stride;
    for (unsigned w = 0; w < sort->words; w += 2) {
        out[w] = word[w * stride];
        out[w + 1] = word[(w + 1) * stride];
    }
    return true;
}

/* Puts all records together. Where records are not of the sorts, and so many of each, as was said,
 * the number of values that were used tells it, or a sort has no records left: false. */
static inline __attribute__((always_inline)) bool put_records(struct pack_decoder *decoder,
                                                              const struct records *records,
                                                              bool is_narrow,
                                                              union lull_tape_slot **at)
{
    union lull_tape_slot *out = *at;
    const unsigned char *loose = records->loose, *low = records->low, *high = records->high;
    const struct narrow times = records->times, values = records->values;
    const uint64_t *wide = decoder->times;
    const size_t n = records->n;
    const unsigned shift = records->shift;
    uint64_t last = 0, end = 0;
    size_t value = 0;
    for (size_t r = 0; r < n; r++) {
        struct sort_reader *sort =
            &decoder->sorts[is_narrow ? low[r] : (low[r] | (unsigned)high[r] << shift)];
        const uint64_t duration = narrow_at(&values, value) & sort->lasts;
        const uint64_t distance = unzigzag(is_narrow ? narrow_at(&times, r) : wide[r]);
        value += sort->is_long;
        last = (sort->from_last ? last : end) + distance;
        end = sort->moves ? last + duration : end;
        out->u64[0] = last;
        out->u64[1] = sort->head | (duration | sort->value) << 32;
        out++;
        if (sort->words > 0) {
            if (!put_next_slots(sort, &loose, out->u64))
                return false;
            out += sort->words / 2;
        }
    }
    *at = out;
    return value == records->n_values;
}

bool lull_unpack_columns(struct pack_decoder *decoder, const void *packed, size_t packed_size,
                         void *bytes, size_t size)
{
    struct pack_columns_header header;
    struct bytes left = {packed, (const unsigned char *)packed + packed_size};
    union lull_tape_slot *slots = bytes, *at = slots;
    const size_t n_slots = size / sizeof *slots;
    if (size % sizeof *slots != 0 || n_slots > PACK_SLOTS ||
        !take_into(&left, &header, sizeof header) || header.records > n_slots ||
        header.sorts > header.records || !open_bins(decoder, &header, left))
        return false;
    struct records records = {.n = header.records};
    size_t n_loose;
    for (unsigned p = 0; p < NARROW; p++)
        records.values.planes[p] = nothing;
    if (!take_sorts(decoder, &header, n_slots, &records.n_values, &n_loose) ||
        !take_records(decoder, &header, &records) || !take_columns(decoder, &header))
        return false;
    const unsigned char *loose = take_bytes(&decoder->planes[1], n_loose * sizeof *slots);
    if (!loose)
        return false;
    const size_t lead = header.lead * sizeof *at, rest = header.rest * sizeof *at;
    memcpy(at, loose, lead);
    at += header.lead;
    records.loose = loose + lead;
    if (!(records.narrow ? put_records(decoder, &records, true, &at)
                         : put_records(decoder, &records, false, &at)))
        return false;
    memcpy(at, loose + n_loose * sizeof *at - rest, rest);
    at += header.rest;
    memset(at, 0, (size_t)(slots + n_slots - at) * sizeof *at);
    return true;
}
#endif

/* ==== encode ================================================================================== */

/* Dividing a chunk of records into columns, and these into planes of bytes. */

#if LULL_HAVE_ZSTD
#include <zstd.h>

enum {
    HASH_BITS = 13,
    LEVEL = 1,
    RAW_BIN = PACK_BINS,
    MOST_META = PACK_SLOTS * ((int)sizeof(struct pack_sort) + 64)
};

/* Bytes that grow. */
struct bin {
    unsigned char *bytes;
    size_t size;
};

struct pack_encoder {
    ZSTD_CCtx *zstd;
    float n_log_n[PACK_SLOTS + 1];
    uint16_t hash[1 << HASH_BITS]; /* sort + 1 */
    /* The rest is about the present chunk. */
    struct pack_sort sorts[PACK_SLOTS];
    size_t n_records, n_sorts, rest;
    uint16_t sort_of[PACK_SLOTS], place_of[PACK_SLOTS]; /* of each record: its sort, its slot */
    uint64_t from_last[PACK_SLOTS], from_end[PACK_SLOTS], words[PACK_SLOTS];
    uint64_t bits_last[PACK_SLOTS], bits_end[PACK_SLOTS]; /* of each sort: bits of its distances */
    struct bin meta, bins[PACK_BINS + 1];
    unsigned char plane[LULL_TAPE_CHUNK];
};

struct pack_encoder *lull_pack_encoder_create(void)
{
    struct pack_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->zstd = ZSTD_createCCtx();
    bool good = encoder->zstd != NULL;
    encoder->meta.bytes = malloc(MOST_META);
    good &= encoder->meta.bytes != NULL;
    for (int b = 0; b <= PACK_BINS; b++) {
        encoder->bins[b].bytes = malloc(2 * LULL_TAPE_CHUNK + MOST_META);
        good &= encoder->bins[b].bytes != NULL;
    }
    for (int i = 1; i <= PACK_SLOTS; i++)
        encoder->n_log_n[i] = (float)i * log2f((float)i);
    if (good)
        return encoder;
    lull_pack_encoder_destroy(encoder);
    return NULL;
}

void lull_pack_encoder_destroy(struct pack_encoder *encoder)
{
    if (!encoder)
        return;
    ZSTD_freeCCtx(encoder->zstd);
    for (int b = 0; b <= PACK_BINS; b++)
        free(encoder->bins[b].bytes);
    free(encoder->meta.bytes);
    free(encoder);
}

static void put_in_bin(struct bin *bin, const void *bytes, size_t size)
{
    memcpy(bin->bytes + bin->size, bytes, size);
    bin->size += size;
}

static void put_byte(struct bin *bin, unsigned byte)
{
    bin->bytes[bin->size++] = (unsigned char)byte;
}

/* ---- sorts of records ------------------------------------------------------------------------ */

static uint16_t sort_of(struct pack_encoder *encoder, uint32_t head, uint32_t value)
{
    const uint64_t both = (uint64_t)head << 32 | value;
    size_t at = (size_t)(lull_spread(both) >> (64 - HASH_BITS));
    for (;; at = (at + 1) & ((1 << HASH_BITS) - 1)) {
        if (encoder->hash[at] == 0)
            break;
        const struct pack_sort *sort = &encoder->sorts[encoder->hash[at] - 1];
        if (sort->head == head && sort->value == value)
            return (uint16_t)(encoder->hash[at] - 1);
    }
    encoder->sorts[encoder->n_sorts] = (struct pack_sort){.head = head, .value = value};
    encoder->hash[at] = (uint16_t)++encoder->n_sorts;
    return (uint16_t)(encoder->n_sorts - 1);
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static unsigned bits_of(uint64_t number)
{
    return 64 - (unsigned)__builtin_clzll(number | 1);
}

/* Slots up to the last one that is not zero. */
static size_t used_slots(const union lull_tape_slot *slots, size_t count)
{
    while (count > 0 && slots[count - 1].u64[0] == 0 && slots[count - 1].u64[1] == 0)
        count--;
    return count;
}

static void find_records(struct pack_encoder *encoder, const union lull_tape_slot *slots,
                         size_t lead, size_t used)
{
    uint64_t last = 0, end = 0;
    size_t n = 0, i = lead;
    memset(encoder->hash, 0, sizeof encoder->hash);
    encoder->n_sorts = 0;
    for (size_t next; i < used; i = next) {
        const struct lull_tape_record record = slots[i].record;
        const unsigned kind = lull_tape_kind_of(record.head);
        next = i + 1 + lull_tape_extra_of(record.head);
        if (next > used)
            break;
        const uint16_t sort = sort_of(encoder, record.head, pack_lasts(kind) ? 0 : record.value);
        encoder->sorts[sort].count++;
        if (encoder->sorts[sort].count == 1)
            encoder->bits_last[sort] = encoder->bits_end[sort] = 0;
        encoder->sort_of[n] = sort;
        encoder->place_of[n] = (uint16_t)i;
        encoder->from_last[n] = zigzag(record.time - last);
        encoder->from_end[n] = zigzag(record.time - end);
        encoder->bits_last[sort] += bits_of(encoder->from_last[n]);
        encoder->bits_end[sort] += bits_of(encoder->from_end[n]);
        last = record.time;
        if (pack_moves_end(kind))
            end = record.time + (pack_lasts(kind) ? record.value : 0);
        n++;
    }
    encoder->n_records = n;
    encoder->rest = used - i;
    for (size_t s = 0; s < encoder->n_sorts; s++)
        encoder->sorts[s].from_last = encoder->bits_last[s] < encoder->bits_end[s];
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* Chooses a bin for a plane by its entropy. Noise is not compressed, and planes that are compressed
 * together have about the same entropy, because they share a table of codes. */
static unsigned bin_of(const struct pack_encoder *encoder, const unsigned char *bytes, size_t n)
{
    uint16_t counts[256] = {0};
    if (n > PACK_SLOTS)
        return 1;
    for (size_t i = 0; i < n; i++)
        counts[bytes[i]]++;
    float sum = 0;
    for (int b = 0; b < 256; b++)
        sum += encoder->n_log_n[counts[b]];
    const float bits = (encoder->n_log_n[n] - sum) / (float)n;
    const float most = fminf(8, encoder->n_log_n[n] / (float)n);
    if (n >= 64 && bits > 0.93F * most)
        return RAW_BIN;
    return bits < 2 ? 0 : bits < 5 ? 1 : 2;
}

static void put_plane(struct pack_encoder *encoder, const unsigned char *bytes, size_t n)
{
    const unsigned bin = bin_of(encoder, bytes, n);
    put_byte(&encoder->meta, bin);
    put_in_bin(&encoder->bins[bin], bytes, n);
}

static uint64_t differing_bits(const uint64_t *words, size_t n)
{
    uint64_t any = words[0], all = words[0];
    for (size_t i = 1; i < n; i++) {
        any |= words[i];
        all &= words[i];
    }
    return any ^ all;
}

static void put_planes(struct pack_encoder *encoder, const uint64_t *words, size_t n, unsigned mode)
{
    const uint64_t differing = differing_bits(words, n);
    struct pack_word word = {.mode = (uint8_t)mode};
    uint64_t constant = words[0];
    for (unsigned p = 0; p < 8; p++)
        if (differing >> 8 * p & 0xff) {
            word.varying |= (uint8_t)(1U << p);
            constant &= ~(UINT64_C(0xff) << 8 * p);
        }
    if (constant)
        word.mode |= PACK_WORD_CONSTANT;
    put_in_bin(&encoder->meta, &word, sizeof word);
    if (constant)
        put_in_bin(&encoder->meta, &constant, sizeof constant);
    for (unsigned p = 0; p < 8; p++) {
        if (!(word.varying >> p & 1))
            continue;
        for (size_t i = 0; i < n; i++)
            encoder->plane[i] = (unsigned char)(words[i] >> 8 * p);
        put_plane(encoder, encoder->plane, n);
    }
}

/* Puts words as they are, or as differences where these are clearly shorter, as with numbers that
 * count up. */
static void put_words(struct pack_encoder *encoder, uint64_t *words, size_t n)
{
    uint64_t plain = 0, delta = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        plain += bits_of(words[i]);
        delta += bits_of(zigzag(words[i] - before));
        before = words[i];
    }
    if (delta >= plain - plain / 4) {
        put_planes(encoder, words, n, 0);
        return;
    }
    for (size_t i = n; i-- > 1;)
        words[i] = zigzag(words[i] - words[i - 1]);
    words[0] = zigzag(words[0]);
    put_planes(encoder, words, n, PACK_WORD_DELTA);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void put_sorts(struct pack_encoder *encoder)
{
    for (int high = 0; high < (encoder->n_sorts > 256 ? 2 : 1); high++) {
        for (size_t r = 0; r < encoder->n_records; r++)
            encoder->plane[r] = (unsigned char)(encoder->sort_of[r] >> 8 * high);
        put_in_bin(&encoder->bins[0], encoder->plane, encoder->n_records);
    }
}

static void put_values(struct pack_encoder *encoder, const union lull_tape_slot *slots)
{
    size_t n = 0;
    for (size_t r = 0; r < encoder->n_records; r++) {
        const struct lull_tape_record *record = &slots[encoder->place_of[r]].record;
        encoder->words[n] = record->value;
        n += pack_lasts(lull_tape_kind_of(record->head));
    }
    if (n > 0)
        put_planes(encoder, encoder->words, n, 0);
}

static void put_times(struct pack_encoder *encoder)
{
    for (size_t r = 0; r < encoder->n_records; r++)
        encoder->words[r] = encoder->sorts[encoder->sort_of[r]].from_last ? encoder->from_last[r]
                                                                          : encoder->from_end[r];
    if (encoder->n_records > 0)
        put_planes(encoder, encoder->words, encoder->n_records, 0);
}

/* Puts the slots of all records of a sort, word by word. */
static void put_slots_of_sort(struct pack_encoder *encoder, const union lull_tape_slot *slots,
                              size_t sort)
{
    const unsigned words = 2 * lull_tape_extra_of(encoder->sorts[sort].head);
    uint16_t *places = (uint16_t *)(void *)encoder->from_last; /* which is not needed any more */
    size_t n = 0;
    for (size_t r = 0; words > 0 && r < encoder->n_records; r++)
        if (encoder->sort_of[r] == sort)
            places[n++] = encoder->place_of[r];
    for (unsigned w = 0; w < words; w++) {
        for (size_t i = 0; i < n; i++)
            encoder->words[i] = slots[places[i] + 1 + w / 2].u64[w % 2];
        put_words(encoder, encoder->words, n);
    }
}

/* Puts all slots that are in no column. */
static void put_loose(struct pack_encoder *encoder, const union lull_tape_slot *slots, size_t lead,
                      size_t used)
{
    struct bin loose = {.bytes = encoder->plane};
    put_in_bin(&loose, slots, lead * sizeof *slots);
    for (size_t r = 0; r < encoder->n_records; r++) {
        const union lull_tape_slot *slot = &slots[encoder->place_of[r]];
        if (encoder->sorts[encoder->sort_of[r]].count < PACK_LEAST_ROWS)
            put_in_bin(&loose, slot + 1, lull_tape_extra_of(slot->record.head) * sizeof *slots);
    }
    put_in_bin(&loose, slots + used - encoder->rest, encoder->rest * sizeof *slots);
    if (loose.size > 0)
        put_in_bin(&encoder->bins[1], loose.bytes, loose.size);
}

/* ---- frames ---------------------------------------------------------------------------------- */

size_t lull_pack_plain(struct pack_encoder *encoder, const void *bytes, size_t size, void *out,
                       size_t capacity)
{
    const size_t got = ZSTD_compressCCtx(encoder->zstd, out, capacity, bytes, size, LEVEL);
    return ZSTD_isError(got) ? 0 : got;
}

/* Puts the description of all planes at the begin of the first bin. */
static void put_meta(struct pack_encoder *encoder)
{
    struct bin *first = &encoder->bins[0];
    memmove(first->bytes + encoder->meta.size, first->bytes, first->size);
    memcpy(first->bytes, encoder->meta.bytes, encoder->meta.size);
    first->size += encoder->meta.size;
}

static size_t put_frames(struct pack_encoder *encoder, size_t lead, unsigned char *out,
                         size_t capacity)
{
    struct pack_columns_header header = {.records = (uint16_t)encoder->n_records,
                                         .sorts = (uint16_t)encoder->n_sorts,
                                         .lead = (uint16_t)lead,
                                         .rest = (uint16_t)encoder->rest,
                                         .raw = (uint32_t)encoder->bins[RAW_BIN].size,
                                         .meta = (uint32_t)encoder->meta.size};
    size_t size = sizeof header;
    if (size + header.raw > capacity)
        return 0;
    memcpy(out + size, encoder->bins[RAW_BIN].bytes, header.raw);
    size += header.raw;
    for (int b = 0; b < PACK_BINS; b++) {
        const struct bin *bin = &encoder->bins[b];
        if (bin->size == 0)
            continue;
        const size_t got =
            lull_pack_plain(encoder, bin->bytes, bin->size, out + size, capacity - size);
        if (got == 0)
            return 0;
        header.frames[b] = (uint32_t)got;
        size += got;
    }
    memcpy(out, &header, sizeof header);
    return size;
}

size_t lull_pack_columns(struct pack_encoder *encoder, const void *bytes, size_t size,
                         unsigned lead, void *out, size_t capacity)
{
    const union lull_tape_slot *slots = bytes;
    const size_t used = used_slots(slots, size / sizeof *slots);
    if (lead > used)
        lead = (unsigned)used;
    encoder->meta.size = 0;
    for (int b = 0; b <= PACK_BINS; b++)
        encoder->bins[b].size = 0;
    find_records(encoder, slots, lead, used);
    put_in_bin(&encoder->meta, encoder->sorts, encoder->n_sorts * sizeof *encoder->sorts);
    put_sorts(encoder);
    put_values(encoder, slots);
    put_times(encoder);
    for (size_t s = 0; s < encoder->n_sorts; s++)
        if (encoder->sorts[s].count >= PACK_LEAST_ROWS)
            put_slots_of_sort(encoder, slots, s);
    put_loose(encoder, slots, lead, used);
    put_meta(encoder);
    return put_frames(encoder, lead, out, capacity);
}
#endif
