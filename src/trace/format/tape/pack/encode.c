/* Dividing a chunk of records into columns, and these into planes of bytes. */
#include "trace/format/tape/pack/columns.h"

#include "lull_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    /* Of the chunk. */
    struct pack_sort sorts[PACK_SLOTS];
    size_t n_records, n_sorts, rest;
    uint16_t sort_of[PACK_SLOTS], place_of[PACK_SLOTS]; /* of records; place: slot */
    uint64_t from_last[PACK_SLOTS], from_end[PACK_SLOTS], words[PACK_SLOTS];
    uint64_t bits_last[PACK_SLOTS], bits_end[PACK_SLOTS]; /* of sorts */
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

/* ---- sorts of records -------------------------------------------------------------------------
 */

static uint16_t sort_of(struct pack_encoder *encoder, uint32_t head, uint32_t value)
{
    const uint64_t both = (uint64_t)head << 32 | value;
    size_t at = (size_t)(both * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HASH_BITS));
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

/* ---- planes -----------------------------------------------------------------------------------
 */

/* Which bin suits bytes: noise is not compressed, and what is compressed together has about the
 * same entropy, as it shares a table of codes. */
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

/* As they are, or as differences where these are clearly shorter, as of numbers that count up. */
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

/* ---- columns ----------------------------------------------------------------------------------
 */

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

/* The slots of one sort of records, word by word. */
static void put_slots_of_sort(struct pack_encoder *encoder, const union lull_tape_slot *slots,
                              size_t sort)
{
    const unsigned words = 2 * lull_tape_extra_of(encoder->sorts[sort].head);
    uint16_t *places = (uint16_t *)(void *)encoder->from_last; /* not needed any more */
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

/* All slots that are in no column. */
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

/* ---- frames -----------------------------------------------------------------------------------
 */

size_t lull_pack_plain(struct pack_encoder *encoder, const void *bytes, size_t size, void *out,
                       size_t capacity)
{
    const size_t got = ZSTD_compressCCtx(encoder->zstd, out, capacity, bytes, size, LEVEL);
    return ZSTD_isError(got) ? 0 : got;
}

/* The first bin begins with what describes all planes. */
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
