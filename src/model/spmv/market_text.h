/* Internal to model/spmv: numbers and words in the text of a Matrix Market file. */
#ifndef LULL_MODEL_SPMV_MARKET_TEXT_H
#define LULL_MODEL_SPMV_MARKET_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* All of these take a place in the text and its end, and move the place behind what they took. */
void lull_market_skip_blanks(const char **place, const char *end); /* not over the end of a line */
bool lull_market_at_line_end(const char *place, const char *end);
/* Behind the next end of a line, or to the end. */
void lull_market_next_line(const char **place, const char *end);
/* Decimal digits after blanks; false where there are none or the number is above 2^32 - 1. */
bool lull_market_whole(const char **place, const char *end, uint64_t most, uint64_t *ret_value);
/* A real number after blanks, rounded to the nearest. */
bool lull_market_real(const char **place, const char *end, double *ret_value);

#endif
