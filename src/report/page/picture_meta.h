/* Pictures of a page while it is decided what of them fits. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_PICTURE_META_H
#define LULL_REPORT_PAGE_PICTURE_META_H

#include "report/model.h"

struct lull_page_block {
    const char *kind;      /* "tile", "messages", "counts", "steps" or "layer" */
    unsigned level;        /* of a tile */
    const uint32_t *rows;  /* of a tile, [count] */
    uint32_t first, count; /* leaves of steps and counts, number of a layer */
    const char *base64;
    size_t length;
};

/* A timeline or a matrix. */
struct lull_page_picture {
    const struct lull_picture_timeline *timeline;
    const struct lull_picture_matrix *matrix;
    struct lull_page_block *blocks;
    size_t n_blocks, capacity;
    uint32_t kept_leaves;    /* whose steps are in blocks: those before this one */
    const char *left_out[6]; /* what did not fit, as sentences; NULL at the end */
};

/* What the script knows of the picture beside the bytes of its blocks, as JSON in the arena. */
const char *lull_page_picture_meta(const struct lull_page_picture *picture,
                                   struct lull_arena *arena);

#endif
