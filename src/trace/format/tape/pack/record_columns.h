/* A chunk of records packed by columns: fields that are alike stand together, and so become short.
 *
 * Any bytes can be packed, as long as they are whole slots. What looks like records is divided into
 * columns, the rest is kept as it is, and unpacking gives the same bytes. Each chunk is decoded
 * alone. docs/formats/tape.md describes the coding ("A packed chunk").
 *
 * Records with the same head are of one sort; where their value is not a duration, they must have
 * the same value, too. Of each sort one record is written, and a number for each of the others.
 * Coder and decoder follow two times: `last`, that of the record before, and `end`, when the last
 * region or span ended. The time of a record is kept as its distance from one of the two, for each
 * sort from the one that is nearer for most of its records. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_RECORD_COLUMNS_H
#define LULL_TRACE_FORMAT_TAPE_PACK_RECORD_COLUMNS_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PACK_SLOTS = LULL_TAPE_CHUNK / 16,
    PACK_BINS = 3,      /* byte planes of low, middle and high entropy are compressed apart */
    PACK_LEAST_ROWS = 8 /* a sort with fewer records is not divided into columns */
};

/* Working memory for encoding or decoding, with what libzstd needs; one per thread. NULL: no
 * memory.
 */
struct pack_encoder;
struct pack_encoder *lull_pack_encoder_create(void);
void lull_pack_encoder_destroy(struct pack_encoder *encoder);
struct pack_decoder;
struct pack_decoder *lull_pack_decoder_create(void);
void lull_pack_decoder_destroy(struct pack_decoder *decoder);

/* Packs slots by columns. `size` is a multiple of 16 and at most LULL_TAPE_CHUNK; the first `lead`
 * slots belong to a record that began before. Returns the number of bytes written to `out`, 0 if
 * there would be more than `capacity`. */
size_t lull_pack_columns(struct pack_encoder *encoder, const void *bytes, size_t size,
                         unsigned lead, void *out, size_t capacity);
/* False: these are not `size` bytes by columns. */
bool lull_unpack_columns(struct pack_decoder *decoder, const void *packed, size_t packed_size,
                         void *bytes, size_t size);
/* The same for bytes of any kind. */
size_t lull_pack_plain(struct pack_encoder *encoder, const void *bytes, size_t size, void *out,
                       size_t capacity);
bool lull_unpack_plain(struct pack_decoder *decoder, const void *packed, size_t packed_size,
                       void *bytes, size_t size);

#endif
