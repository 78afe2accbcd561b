#include "replay/what_if/units.h"

#include "base/array.h"

#include <stdlib.h>

size_t lull_units_of(uint32_t bursts, unsigned shift)
{
    return (size_t)(((uint64_t)bursts + (UINT64_C(1) << shift) - 1) >> shift);
}

size_t lull_units_in(const struct lull_units *units, size_t epoch)
{
    return epoch < units->n_epochs ? lull_units_of(units->epochs[epoch].bursts, units->shift) : 0;
}

void lull_units_merge(struct lull_units *units, unsigned shift)
{
    const unsigned more = shift - units->shift;
    size_t count = 0;
    if (shift <= units->shift)
        return;
    for (size_t e = 0; e < units->n_epochs; e++) {
        const size_t n = lull_units_in(units, e), from = units->epochs[e].first, to = count;
        for (size_t i = 0; i < n; i++) {
            const size_t unit = to + (i >> more);
            const double value = units->values[from + i];
            units->values[unit] = unit < count ? units->values[unit] + value : value;
            count = unit + 1;
        }
        units->epochs[e].first = to;
    }
    units->count = count;
    units->shift = shift;
}

/* To the last epoch. */
static bool append(struct lull_units *units, int64_t ns)
{
    struct lull_units_epoch *epoch = &units->epochs[units->n_epochs - 1];
    if (!lull_array_reserve(&units->values, &units->capacity, units->count + 1,
                            sizeof *units->values))
        return false;
    if ((epoch->bursts++ & ((UINT32_C(1) << units->shift) - 1)) == 0)
        units->values[units->count++] = 0;
    units->values[units->count - 1] += (double)ns;
    if (units->count > LULL_UNITS_MOST && units->count > 2 * units->n_epochs && units->shift < 31)
        lull_units_merge(units, units->shift + 1);
    return true;
}

bool lull_units_add(struct lull_units *units, uint32_t epoch, int64_t ns)
{
    if (!lull_array_reserve(&units->epochs, &units->epochs_capacity, epoch + (size_t)1,
                            sizeof *units->epochs))
        return false;
    if (units->n_epochs <= epoch)
        units->idle = 0;
    while (units->n_epochs <= epoch)
        units->epochs[units->n_epochs++] = (struct lull_units_epoch){.first = units->count};
    if (ns <= 0) {
        units->idle++;
        return true;
    }
    for (; units->idle > 0; units->idle--)
        if (!append(units, 0))
            return false;
    return append(units, ns);
}

void lull_units_free(struct lull_units *units)
{
    free(units->values);
    free(units->epochs);
    *units = (struct lull_units){0};
}
