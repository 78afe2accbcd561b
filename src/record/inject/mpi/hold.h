/* Holding back what has come too early. Internal to the folder. */
#ifndef LULL_RECORD_INJECT_MPI_HOLD_H
#define LULL_RECORD_INJECT_MPI_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* Returns when it is due (INT64_MIN: at once); MPI makes progress meanwhile. */
void rec_disturb_hold(int64_t due);
bool rec_disturb_is_early(int64_t due);

#endif
