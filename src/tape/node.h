/* Tape: the file of a node, RUN/<node>.tapes, which `lull pack` makes of the files of the node's
 * processes.
 *
 * It holds the bytes of these files in blocks, each of which can be decoded alone: chunks of
 * records by columns, all others as they are or compressed. The tables stand in front, so that of a
 * file that has been cut short all is there up to where it ends:
 *
 *     struct lull_tape_node_header
 *     struct lull_tape_node_file[n_files]           by process, number and kind
 *     struct lull_tape_node_location[n_locations]   by process and number
 *     struct lull_tape_node_block[n_blocks]         of one file after the other
 *     the blocks, without gaps, in the order of the table
 *
 * docs/formats/tape.md says the same in prose, and how blocks are coded. */
#ifndef LULL_TAPE_NODE_H
#define LULL_TAPE_NODE_H

#include "tape/layout.h"

#include <stddef.h>

#define LULL_TAPE_NODE_ENDING  ".tapes"
#define LULL_TAPE_NODE_MAGIC   "LULLNODE"
#define LULL_TAPE_NODE_VERSION 1
#define LULL_TAPE_NODE_NEWEST  2 /* of packed files that hold a LULL_TAPE_NODE_CONTAINER */

/* Flags, of which a file has one: with others it is of a newer lull. */
#define LULL_TAPE_NODE_PACKED   1
#define LULL_TAPE_NODE_RECORDED 2 /* not this form, but that of container.h */

struct lull_tape_node_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size, flags;
    uint32_t n_files, n_locations;
    uint64_t n_blocks;
    uint64_t size;     /* bytes of the whole file */
    uint64_t checksum; /* lull_tape_checksum of the tables of files and of locations */
};

/* What a file was called: <p>.tape, <p>.definitions, <p>.<n>.tape and so on. */
enum lull_tape_node_kind {
    LULL_TAPE_NODE_PROCESS, /* all of a process: <p>.tape */
    LULL_TAPE_NODE_DEFINITIONS,
    LULL_TAPE_NODE_TAPE,
    LULL_TAPE_NODE_TAIL,
    LULL_TAPE_NODE_SUMS,
    LULL_TAPE_NODE_CONTAINER, /* what all processes of a node have recorded: <node>.tapes, with the
                                 name of the file that it is packed in. `number` counts these in
                                 the run. Only in files of version 2 */
    LULL_TAPE_NODE_KINDS
};

struct lull_tape_node_file {
    uint32_t process, number; /* number: 0 where the name has none */
    uint32_t kind;            /* enum lull_tape_node_kind */
    uint32_t n_plain;         /* blocks that are no records; these come first */
    uint64_t size;            /* bytes of the file */
    uint64_t first;           /* of its blocks in the table */
    uint64_t n_chunks;        /* blocks of records. Either kind in the order of their origins */
};

/* What opening a run has to know of a location. */
struct lull_tape_node_location {
    uint32_t process, number;
    uint64_t committed; /* bytes of records that are kept */
    struct lull_tape_ends ends;
};

enum lull_tape_node_coding {
    LULL_TAPE_NODE_ZEROS,   /* zeros; nothing is stored */
    LULL_TAPE_NODE_STORED,  /* as it is */
    LULL_TAPE_NODE_FRAME,   /* one zstd frame */
    LULL_TAPE_NODE_COLUMNS, /* records by columns */
    LULL_TAPE_NODE_CODINGS
};

struct lull_tape_node_block {
    uint64_t origin;   /* where it is in its file */
    uint64_t place;    /* where it stands in this one */
    uint32_t size;     /* bytes there */
    uint32_t form;     /* bytes of the file in the lower 24 bits, coding in the upper 8 */
    uint64_t checksum; /* of the bytes there; the seed is `origin` mixed with `form` */
};

static inline uint32_t lull_tape_block_length(const struct lull_tape_node_block *block)
{
    return block->form & 0xffffff;
}

static inline uint32_t lull_tape_block_coding(const struct lull_tape_node_block *block)
{
    return block->form >> 24;
}

static inline uint64_t lull_tape_mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

/* Finds damage, not malice. Four sums of every fourth word of 8 bytes, so that they do not wait for
 * each other, the last word filled with zeros; then one of these, of `seed` and of the size. Words
 * are little endian. */
static inline uint64_t lull_tape_checksum(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t sums[4] = {1, 2, 3, 4}, all = seed;
    size_t left = size;
    for (; left >= sizeof sums; at += sizeof sums, left -= sizeof sums)
        for (int s = 0; s < 4; s++) {
            uint64_t word;
            __builtin_memcpy(&word, at + s * sizeof word, sizeof word);
            sums[s] = lull_tape_mix(sums[s], word);
        }
    for (int s = 0; left > 0; s++) {
        uint64_t word = 0;
        const size_t part = left < sizeof word ? left : sizeof word;
        __builtin_memcpy(&word, at, part);
        sums[s] = lull_tape_mix(sums[s], word);
        at += part;
        left -= part;
    }
    for (int s = 0; s < 4; s++)
        all = lull_tape_mix(all, sums[s]);
    return lull_tape_mix(all, size);
}

#endif
