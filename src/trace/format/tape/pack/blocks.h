/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding and decoding the blocks of the packed file of a node, each of them alone. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_BLOCKS_H
#define LULL_TRACE_FORMAT_TAPE_PACK_BLOCKS_H

#include "base/error.h"
#include "tape/layout.h"
#include "trace/format/tape/pack/record_columns.h"

/* Bytes: no block is longer, packed or unpacked. */
enum { PACK_MOST_LENGTH = LULL_TAPE_CHUNK };

/* Fails with LULL_ERR_UNSUPPORTED where lull was built without libzstd; `what` begins the text. */
lull_status lull_pack_check_built(const char *what, struct lull_error *err);

/* Packs `length` bytes of a file into `out`, and sets size, form and checksum of the block, whose
 * origin is set already. With `records` the bytes are records, the first of which begins at slot
 * `lead`. The result is decoded again into `back` and compared: where that does not give the same
 * bytes, the block is stored as it is. `out` and `back` have PACK_MOST_LENGTH bytes each. */
void lull_pack_block(struct pack_encoder *encoder, struct pack_decoder *decoder, const void *bytes,
                     size_t length, bool records, unsigned lead, unsigned char *out, void *back,
                     struct lull_tape_node_block *block);
/* Unpacks a block: `packed` has block->size bytes, `bytes` room for lull_tape_block_length(block).
 * False: it is damaged. */
bool lull_unpack_block(const struct lull_tape_node_block *block, const void *packed, void *bytes);

#endif
