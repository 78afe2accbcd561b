/* Putting a chunk of records together from its columns: the hot path of reading packed runs. What
 * is done for each record has no branch but for those with more slots; planes become words in loops
 * that compilers vectorise. */
#include "trace/format/tape/pack/columns.h"

#include "lull_features.h"

#include <stdlib.h>
#include <string.h>

#if LULL_HAVE_ZSTD
#include <zstd.h>

enum {
    MOST_BIN = 2 * LULL_TAPE_CHUNK + PACK_SLOTS * ((int)sizeof(struct pack_sort) + 64),
    RAW_PLANE = PACK_BINS
};

struct bytes {
    const unsigned char *at, *end;
};

/* Of one sort, what its records are made of: in a cache line. */
struct sort_reader {
    uint32_t head, value;
    uint64_t lasts;                    /* mask of a duration, or 0 */
    uint8_t is_long, moves, from_last; /* is_long: its value is a duration; else see pack_sort */
    uint8_t words;                     /* of its slots */
    uint32_t left;                     /* records to come */
    uint32_t stride;                   /* words from one column to the next */
    const uint64_t *column;            /* the next one's first word; NULL: in the loose slots */
};

/* A column that is not put together: bytes of its words, from the lowest, and what they share. */
enum { NARROW = 4 };
struct narrow {
    const unsigned char *planes[NARROW];
    uint64_t constant;
};

static const unsigned char nothing[PACK_SLOTS];

struct pack_decoder {
    ZSTD_DCtx *zstd;
    unsigned char *bins[PACK_BINS + 1]; /* MOST_BIN each, and PACK_SLOTS that may be read behind */
    /* Of the chunk. */
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

/* The next `size` of them; NULL: there are not so many. */
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

/* ---- words ------------------------------------------------------------------------------------
 */

/* Two planes at a time, so that memory is passed half as often. */
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

/* The planes of a word that vary, of `n` bytes each. Returns how many there are, -1 if they are
 * not. */
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

/* The lowest bytes of a word of which no others vary. */
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

/* ---- columns ----------------------------------------------------------------------------------
 */

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

/* What there is of each sort; *ret_values of the records have a duration, *ret_loose slots are in
 * no column. False: these are not the sorts of so many records in so many slots. */
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

/* ---- records ----------------------------------------------------------------------------------
 */

/* The columns that all records have. */
struct records {
    size_t n, n_values;
    const unsigned char *low, *high; /* of the numbers of sorts */
    unsigned shift;                  /* of `high`, which is `low` where there is none */
    bool narrow;                     /* times are, and there is no `high` */
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

/* The slots of a record behind its first one. False: there are no more of this sort. */
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

/* Where sorts are not there as often as they say, what is left of values or slots tells it. */
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
