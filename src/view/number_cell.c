#include "view/number_cell.h"

#include <math.h>

struct lull_cell lull_number_cell(double value)
{
    enum { MOST_DECIMALS = 10 };
    double decimals = value == 0 ? 3 : 3 - floor(log10(fabs(value)));
    return lull_cell_number(value, decimals > MOST_DECIMALS ? 3 : (int)fmax(0, decimals));
}

struct lull_cell lull_value_cell(double value, const char *unit)
{
    return *unit ? lull_cell_quantity(value, unit) : lull_number_cell(value);
}
