/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the coding of each block, and decodes each block by its coding. */
#include "trace/format/tape/pack/blocks.h"

#include "lull_features.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if LULL_HAVE_ZSTD

lull_status lull_pack_check_built(const char *what, struct lull_error *err)
{
    (void)what;
    (void)err;
    return LULL_OK;
}

static uint64_t checksum_of(const struct lull_tape_node_block *block, const void *packed)
{
    return lull_tape_checksum(lull_tape_mix(block->origin, block->form), packed, block->size);
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void set_form(struct lull_tape_node_block *block, size_t size, size_t length,
                     enum lull_tape_node_coding coding, const void *packed)
{
    block->size = (uint32_t)size;
    block->form = (uint32_t)length | (uint32_t)coding << 24;
    block->checksum = checksum_of(block, packed);
}

static bool comes_back(struct pack_decoder *decoder, enum lull_tape_node_coding coding,
                       const void *packed, size_t size, const void *bytes, size_t length,
                       void *back)
{
    const bool good = coding == LULL_TAPE_NODE_COLUMNS
                          ? lull_unpack_columns(decoder, packed, size, back, length)
                          : lull_unpack_plain(decoder, packed, size, back, length);
    return good && memcmp(bytes, back, length) == 0;
}

void lull_pack_block(struct pack_encoder *encoder, struct pack_decoder *decoder, const void *bytes,
                     size_t length, bool records, unsigned lead, unsigned char *out, void *back,
                     struct lull_tape_node_block *block)
{
    if (is_zero(bytes, length)) {
        set_form(block, 0, length, LULL_TAPE_NODE_ZEROS, out);
        return;
    }
    enum lull_tape_node_coding coding =
        records && length % 16 == 0 ? LULL_TAPE_NODE_COLUMNS : LULL_TAPE_NODE_FRAME;
    const size_t most = length - 1; /* a block that does not become shorter is stored */
    size_t size = coding == LULL_TAPE_NODE_COLUMNS
                      ? lull_pack_columns(encoder, bytes, length, lead, out, most)
                      : lull_pack_plain(encoder, bytes, length, out, most);
    if (size == 0 || !comes_back(decoder, coding, out, size, bytes, length, back)) {
        coding = LULL_TAPE_NODE_STORED;
        size = length;
        memcpy(out, bytes, length);
    }
    set_form(block, size, length, coding, out);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Decoders are large, and thousands of locations may be read in turns. So decoders do not belong to
 * locations: there are as many as threads have decoded at one time. */
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
enum { MOST_SPARE = 64 };
static struct pack_decoder *spare[MOST_SPARE];
static int n_spare;

static struct pack_decoder *take_decoder(void)
{
    pthread_mutex_lock(&spare_lock);
    struct pack_decoder *decoder = n_spare > 0 ? spare[--n_spare] : NULL;
    pthread_mutex_unlock(&spare_lock);
    return decoder ? decoder : lull_pack_decoder_create();
}

static void give_back_decoder(struct pack_decoder *decoder)
{
    pthread_mutex_lock(&spare_lock);
    const bool kept = n_spare < MOST_SPARE;
    if (kept)
        spare[n_spare++] = decoder;
    pthread_mutex_unlock(&spare_lock);
    if (!kept)
        lull_pack_decoder_destroy(decoder);
}

static bool decode_block(const struct lull_tape_node_block *block, const void *packed, void *bytes)
{
    struct pack_decoder *decoder = take_decoder();
    if (!decoder)
        return false;
    const size_t length = lull_tape_block_length(block);
    const bool good = lull_tape_block_coding(block) == LULL_TAPE_NODE_COLUMNS
                          ? lull_unpack_columns(decoder, packed, block->size, bytes, length)
                          : lull_unpack_plain(decoder, packed, block->size, bytes, length);
    give_back_decoder(decoder);
    return good;
}

bool lull_unpack_block(const struct lull_tape_node_block *block, const void *packed, void *bytes)
{
    const size_t length = lull_tape_block_length(block);
    if (checksum_of(block, packed) != block->checksum)
        return false;
    switch (lull_tape_block_coding(block)) {
    case LULL_TAPE_NODE_ZEROS:
        memset(bytes, 0, length);
        return block->size == 0;
    case LULL_TAPE_NODE_STORED:
        if (block->size != length)
            return false;
        memcpy(bytes, packed, length);
        return true;
    case LULL_TAPE_NODE_FRAME:
    case LULL_TAPE_NODE_COLUMNS:
        return decode_block(block, packed, bytes);
    default:
        return false;
    }
}

#else

lull_status lull_pack_check_built(const char *what, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_UNSUPPORTED,
                     "%s: lull was built without libzstd, which packed runs need", what);
}

/* lull_pack_check_built fails first, so that none of these is called. */

struct pack_encoder *lull_pack_encoder_create(void)
{
    return NULL;
}

void lull_pack_encoder_destroy(struct pack_encoder *encoder)
{
    (void)encoder;
}

struct pack_decoder *lull_pack_decoder_create(void)
{
    return NULL;
}

void lull_pack_decoder_destroy(struct pack_decoder *decoder)
{
    (void)decoder;
}

void lull_pack_block(struct pack_encoder *encoder, struct pack_decoder *decoder, const void *bytes,
                     size_t length, bool records, unsigned lead, unsigned char *out, void *back,
                     struct lull_tape_node_block *block)
{
    (void)encoder, (void)decoder, (void)bytes, (void)length, (void)records, (void)lead;
    (void)out, (void)back, (void)block;
}

bool lull_unpack_block(const struct lull_tape_node_block *block, const void *packed, void *bytes)
{
    (void)block, (void)packed, (void)bytes;
    return false;
}
#endif
