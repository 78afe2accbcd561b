/* SPDX-License-Identifier: BSD-3-Clause */
/* A chunk of records packed by columns: fields that are alike stand together, so that they compress
 * well.
 *
 * Any bytes can be packed, as long as they are whole slots. What looks like records is divided into
 * columns, the rest is kept as it is, and unpacking gives the same bytes. Each chunk is decoded
 * alone. docs/formats/tape.md describes the coding ("A packed chunk").
 *
 * Records of one sort have the same head, and where their value is not a duration, the same value,
 * too. Head and value of each sort are written once, and for each record the number of its sort.
 * Encoder and decoder both follow two times: `last`, the time of the record before, and `end`, when
 * the last region or span ended. The time of a record is kept as its distance from one of the two;
 * for all records of a sort from the same one, with which their distances have fewer bits. */
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

/* Working memory for encoding or decoding, with what libzstd needs; for one thread at a time. NULL:
 * no memory. */
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
/* The same for bytes of any kind, not by columns: one frame of libzstd. */
size_t lull_pack_plain(struct pack_encoder *encoder, const void *bytes, size_t size, void *out,
                       size_t capacity);
bool lull_unpack_plain(struct pack_decoder *decoder, const void *packed, size_t packed_size,
                       void *bytes, size_t size);

#endif
