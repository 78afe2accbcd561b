/* Inflates gzip data piece by piece; internal to the Paraver format.
 *
 * By ISA-L where it was built in, which is two to three times as fast, else by zlib. */
#ifndef LULL_TRACE_FORMAT_PARAVER_GUNZIP_H
#define LULL_TRACE_FORMAT_PARAVER_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

enum lull_gunzip_result {
    LULL_GUNZIP_MORE, /* there is no input or no room left */
    LULL_GUNZIP_END,  /* of a member; its check sum and length are right */
    LULL_GUNZIP_BAD
};

struct lull_gunzip {
    uint8_t *in, *out; /* next bytes, the caller's; both move on */
    uint32_t n_in, n_out;
    void *state;
};

/* false: no memory. */
bool lull_gunzip_open(struct lull_gunzip *gunzip);
void lull_gunzip_close(struct lull_gunzip *gunzip);

/* The next input is the header of a member. */
void lull_gunzip_begin(struct lull_gunzip *gunzip);

/* `ret_what`, of bad data only: what is wrong with it. */
enum lull_gunzip_result lull_gunzip_run(struct lull_gunzip *gunzip, const char **ret_what);

#endif
