/* Limits of the process. */
#ifndef LULL_CLI_LIMITS_H
#define LULL_CLI_LIMITS_H

/* As many open files as the system allows: some formats keep one open per location. For commands
 * that read traces, not for those that start the user's program, which would inherit it. */
void lull_limits_raise_files(void);

#endif
