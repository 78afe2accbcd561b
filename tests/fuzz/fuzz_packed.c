/* The file of a node from a blob. Checksums are made right, where there is room for what they are
 * of, so that what lies behind them is reached. */
#include "support/fuzz_folder.h"
#include "tape/layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void right_block(uint8_t *bytes, size_t size, size_t at)
{
    struct lull_tape_node_block block;
    memcpy(&block, bytes + at, sizeof block);
    if (block.place > size || block.size > size - block.place)
        return;
    block.checksum = lull_tape_checksum(lull_tape_mix(block.origin, block.form),
                                        bytes + block.place, block.size);
    memcpy(bytes + at, &block, sizeof block);
}

static void right_checksums(uint8_t *bytes, size_t size)
{
    struct lull_tape_node_header header;
    if (size < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    const uint64_t tables = header.n_files * (uint64_t)sizeof(struct lull_tape_node_file) +
                            header.n_locations * (uint64_t)sizeof(struct lull_tape_node_location);
    if (tables > size - sizeof header)
        return;
    header.checksum = lull_tape_checksum(header.n_blocks, bytes + sizeof header, (size_t)tables);
    memcpy(bytes, &header, sizeof header);
    size_t at = sizeof header + (size_t)tables;
    for (uint64_t b = 0; b < header.n_blocks && at + sizeof(struct lull_tape_node_block) <= size;
         b++, at += sizeof(struct lull_tape_node_block))
        right_block(bytes, size, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    right_checksums(bytes, size);
    fuzz_write(LULL_TAPE_ANCHOR_NAME, (const uint8_t *)LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR));
    fuzz_write("n" LULL_TAPE_NODE_ENDING, bytes, size);
    free(bytes);
    fuzz_read_trace(fuzz_folder(), fuzz_read_sums);
    return 0;
}
