/* A chunk of records by columns: what is alike stands together and becomes short.
 *
 * Any bytes can be given, as long as they are whole slots: what looks like records is divided, what
 * does not is kept as it is, and the same bytes come back. Each chunk decodes alone. How it is
 * coded, docs/formats/tape.md says ("A packed chunk").
 *
 * Two states follow the records: `last`, the time of the one before, and `end`, when the last
 * region or span ended. A record's time is kept as the distance from that of the two which is
 * nearer for most of its like. Records with the same head, and, where their value is no duration,
 * with the same value, are alike: of these one is written, and a number for each of the others. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_RECORD_COLUMNS_H
#define LULL_TRACE_FORMAT_TAPE_PACK_RECORD_COLUMNS_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PACK_SLOTS = LULL_TAPE_CHUNK / 16,
    PACK_BINS = 3,      /* planes of little, middle and much entropy; each compressed by itself */
    PACK_LEAST_ROWS = 8 /* slots of fewer records of one sort stay together */
};

/* Memory that encoding or decoding works in, with what libzstd needs; one per thread. NULL: there
 * is no memory. */
struct pack_encoder;
struct pack_encoder *lull_pack_encoder_create(void);
void lull_pack_encoder_destroy(struct pack_encoder *encoder);
struct pack_decoder;
struct pack_decoder *lull_pack_decoder_create(void);
void lull_pack_decoder_destroy(struct pack_decoder *decoder);

/* `size` is a multiple of 16 and at most LULL_TAPE_CHUNK; the first `lead` slots belong to a record
 * that began before. Returns how many bytes of `out` it took, 0 if it would be more than
 * `capacity`. */
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
