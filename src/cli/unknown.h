/* Words that lull does not know, told with what they may have meant. Both return
 * LULL_EXIT_USAGE. */
#ifndef LULL_CLI_UNKNOWN_H
#define LULL_CLI_UNKNOWN_H

#include <popt.h>

int lull_unknown_command(const char *name);

/* A mistake in the options; `code` is what poptGetNextOpt() returned. */
int lull_bad_option(poptContext context, const struct poptOption *options, int code);

#endif
