#include "support/series.h"

#include <math.h>

/* Box and Muller. */
static double draw_normal(struct lull_random *random)
{
    const double u = 1 - lull_random_uniform(random), v = lull_random_uniform(random);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

void noise_draw(struct lull_random *random, enum noise_kind kind, size_t count, double *ret_values)
{
    double before = draw_normal(random);
    for (size_t i = 0; i < count; i++)
        switch (kind) {
        case NOISE_SKEWED:
            ret_values[i] = -log(1 - lull_random_uniform(random));
            break;
        case NOISE_BIMODAL:
            ret_values[i] = 0.3 * draw_normal(random) + (lull_random_uniform(random) < 0.3 ? 3 : 0);
            break;
        case NOISE_CORRELATED:
            ret_values[i] = before = 0.5 * before + sqrt(0.75) * draw_normal(random);
            break;
        default:
            ret_values[i] = draw_normal(random);
        }
}
