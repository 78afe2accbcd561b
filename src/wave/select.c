#include "wave/select.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

static int64_t median_of_three(int64_t a, int64_t b, int64_t c)
{
    if (a > b)
        swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

int64_t lull_wave_select(int64_t *values, size_t count, size_t k)
{
    size_t low = 0, high = count; /* the value is in [low, high) */
    while (high - low > 1) {
        int64_t pivot =
            median_of_three(values[low], values[low + (high - low) / 2], values[high - 1]);
        size_t less = low, next = low, greater = high;
        while (next < greater) {
            if (values[next] < pivot)
                swap(&values[less++], &values[next++]);
            else if (values[next] > pivot)
                swap(&values[next], &values[--greater]);
            else
                next++;
        }
        if (k < less)
            high = less;
        else if (k < greater)
            return pivot;
        else
            low = greater;
    }
    return values[low];
}
