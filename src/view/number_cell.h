/* Internal to view: numbers of any size for people. */
#ifndef LULL_VIEW_NUMBER_CELL_H
#define LULL_VIEW_NUMBER_CELL_H

#include "report/document.h"

/* Four significant digits, as long as the number does not grow too long for people. */
struct lull_cell lull_number_cell(double value);
/* The same in an SI unit; without one ("") a plain number. */
struct lull_cell lull_value_cell(double value, const char *unit);

#endif
