/* Tape: the file of a process, RUN/<p / 1000>/<p>.tape, in which a recorder writes all that it
 * records: extents, and tables that say what they are part of. In the file of a node (container.h)
 * many processes have all of that. */
#ifndef LULL_TAPE_PROCESS_H
#define LULL_TAPE_PROCESS_H

#include "tape/layout.h"

#define LULL_TAPE_PROCESS_MAGIC "LULLPROC"
#define LULL_TAPE_PAGE          4096 /* extents begin at multiples of this and are as long */
#define LULL_TAPE_TABLES        20   /* of extents, beside the one behind the header */

/* What an extent is part of. The parts of one location, or the definitions, follow each other in
 * the order of their extents' numbers. */
enum lull_tape_part {
    LULL_TAPE_PART_NONE,        /* not (yet) in use */
    LULL_TAPE_PART_DEFINITIONS, /* each like a file of definitions: a header, then definitions */
    LULL_TAPE_PART_HEAD,        /* struct lull_tape_header */
    LULL_TAPE_PART_RECORDS,     /* chunks; of all that there are, `flushed` bytes count */
    LULL_TAPE_PART_TAIL,        /* the chunk that is being filled */
    LULL_TAPE_PART_SUMS,        /* like a file of sums */
    LULL_TAPE_PART_RING, /* one chunk; `pages` says which of its location, counted from 0. When
                            it gives way to a newer one, of any location, the entry is NONE until
                            that is written. Of a location those count that follow each other
                            up to `flushed` */
    LULL_TAPE_PARTS
};

/* `part` is stored last, with release order, before the extent is used. */
struct lull_tape_extent {
    uint32_t page, pages; /* where it begins and how long it is */
    uint32_t location;    /* its number in the process; 0 of definitions */
    uint32_t part;
};

/* A page with this, and behind it as many extents as fit. The table with index k has 256 << k
 * extents more. Where extents and tables stand counts from the begin of the file. */
struct lull_tape_process_header {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t header_size; /* of this struct; the first extent stands there */
    uint32_t process;     /* its number, p of the file name */
    uint64_t end;         /* bytes of the file that are given out; 0 in the file of a node */
    uint32_t n_extents;   /* that are given out; some of them may be NONE */
    uint32_t reserved;
    uint64_t tables[LULL_TAPE_TABLES]; /* where they stand; 0: there is none yet */
};

/* Extents in the first page. */
#define LULL_TAPE_FIRST_EXTENTS                                              \
    ((uint32_t)((LULL_TAPE_PAGE - sizeof(struct lull_tape_process_header)) / \
                sizeof(struct lull_tape_extent)))

/* Which table the entry with that number stands in, and at which place, where `first` entries stand
 * behind a header and the table with index k has 256 << k more; -1: behind the header. */
static inline int lull_tape_table_behind(uint32_t first, uint32_t entry, uint32_t *ret_place)
{
    int table = -1;
    uint32_t size = first;
    while (entry >= size && table < LULL_TAPE_TABLES) {
        entry -= size;
        size = UINT32_C(256) << ++table;
    }
    *ret_place = entry;
    return table;
}

/* The same of extents. */
static inline int lull_tape_table_of(uint32_t extent, uint32_t *ret_place)
{
    return lull_tape_table_behind(LULL_TAPE_FIRST_EXTENTS, extent, ret_place);
}

#endif
