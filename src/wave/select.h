/* The k-th smallest of some times, without sorting them. Internal to the wave room. */
#ifndef LULL_WAVE_SELECT_H
#define LULL_WAVE_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* Reorders `values`; k < count. Quickselect (Hoare 1961) with the median of three as pivot. */
int64_t lull_wave_select(int64_t *values, size_t count, size_t k);

#endif
