/* Where a command's document goes: the options that all commands share, and the rendering. */
#ifndef LULL_CLI_OUTPUT_H
#define LULL_CLI_OUTPUT_H

#include "report/document.h"

#include <popt.h>

/* As the user typed it; NULL or 0 where nothing was said. */
struct lull_output_settings {
    char *format, *path, *colour;
    int digits;
};

/* Lines for a table of options; `settings` is an object of static storage. */
#define LULL_OUTPUT_OPTIONS(settings)                                                           \
    {"format",       'f', POPT_ARG_STRING, &(settings).format, 0, "how to print the result",    \
     "text|json|csv"},                                                                          \
        {"output",                                                                              \
         'o',                                                                                   \
         POPT_ARG_STRING,                                                                       \
         &(settings).path,                                                                      \
         0,                                                                                     \
         "write the result to FILE instead of standard output",                                 \
         "FILE"},                                                                               \
    {                                                                                           \
        "color", '\0', POPT_ARG_STRING, &(settings).colour, 0,                                  \
            "colours in text; auto: on a terminal, unless NO_COLOR is set", "auto|always|never" \
    }

/* LULL_EXIT_OK, or LULL_EXIT_USAGE after a message. To be called before long work. */
int lull_output_check(const struct lull_output_settings *settings);

/* Renders the document to standard output or to a file, which appears whole or not at all.
 * Returns an exit status; failure has been told. */
int lull_output_write(const struct lull_output_settings *settings,
                      const struct lull_document *document);

#endif
