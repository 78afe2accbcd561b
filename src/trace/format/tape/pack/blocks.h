/* Blocks of a file of a node: encoded and decoded, each alone. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_BLOCKS_H
#define LULL_TRACE_FORMAT_TAPE_PACK_BLOCKS_H

#include "base/error.h"
#include "tape/layout.h"
#include "trace/format/tape/pack/record_columns.h"

/* No block is longer, be it packed or not. */
enum { PACK_MOST_LENGTH = LULL_TAPE_CHUNK };

/* LULL_ERR_UNSUPPORTED where lull was built without libzstd; `what` begins the text. */
lull_status lull_pack_check_built(const char *what, struct lull_error *err);

/* Bytes of a file, `records` from slot `lead` on or others, into `out`, which has PACK_MOST_LENGTH
 * bytes. Sets size, form and checksum; origin is set. What comes back is compared: a block whose
 * bytes would not is stored as it is. `back` has PACK_MOST_LENGTH bytes. */
void lull_pack_block(struct pack_encoder *encoder, struct pack_decoder *decoder, const void *bytes,
                     size_t length, bool records, unsigned lead, unsigned char *out, void *back,
                     struct lull_tape_node_block *block);
/* `packed`: as many bytes as the block has; `bytes`: as many as its length. False: damaged. */
bool lull_unpack_block(const struct lull_tape_node_block *block, const void *packed, void *bytes);

#endif
