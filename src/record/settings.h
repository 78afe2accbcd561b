/* What the recorder is told by environment variables (core.h has the list). */
#ifndef LULL_RECORD_SETTINGS_H
#define LULL_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* False: it is not set, or no number. */
bool rec_setting_number(const char *name, uint64_t *ret_value);
/* Rank, application and number of the process. False: we have been spawned, and those who did it
 * expect us under a number that follows from a rank which nobody tells us. */
bool rec_find_place(void);

#endif
