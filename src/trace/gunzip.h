/* SPDX-License-Identifier: BSD-3-Clause */
/* Inflates gzip data piece by piece, by ISA-L where lull was built with it (two to three times as
 * fast), else by zlib; internal to the trace room. */
#ifndef LULL_TRACE_GUNZIP_H
#define LULL_TRACE_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

enum lull_gunzip_result {
    LULL_GUNZIP_MORE, /* there is no input or no room left */
    LULL_GUNZIP_END,  /* a member has ended; its checksum and length are right */
    LULL_GUNZIP_BAD   /* the data are damaged */
};

struct lull_gunzip {
    uint8_t *in, *out;    /* the next input bytes and where output goes, both of the caller; both
                             move on */
    uint32_t n_in, n_out; /* bytes that are left of either */
    void *state;          /* of the library */
};

/* false: no memory. */
bool lull_gunzip_open(struct lull_gunzip *gunzip);
void lull_gunzip_close(struct lull_gunzip *gunzip);

/* Begins a member: the next input is its header. */
void lull_gunzip_begin(struct lull_gunzip *gunzip);

/* Inflates until input, output or the member ends. With LULL_GUNZIP_BAD *ret_what says what is
 * wrong. */
enum lull_gunzip_result lull_gunzip_run(struct lull_gunzip *gunzip, const char **ret_what);

#endif
