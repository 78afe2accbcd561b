/* SPDX-License-Identifier: BSD-3-Clause */
/* Where results go: the options that commands share, rendering, and files that appear whole or not
 * at all. */
#ifndef LULL_CLI_OUTPUT_H
#define LULL_CLI_OUTPUT_H

#include "report/chart.h"
#include "report/document.h"

#include <popt.h>

/* As the user typed it; NULL or 0 where an option was not given. */
struct lull_output_settings {
    char *format, *path, *colour;
    int digits;
    uint64_t most_bytes; /* of a page; 0: no limit */
};

/* Lines for a table of options. `settings` is an object of static storage. */
/* clang-format off */
#define LULL_FORMAT_OPTION(settings) \
    {"format", 'f', POPT_ARG_STRING, &(settings).format, 0, "how to print the result", \
     "text|json|csv|html"}
#define LULL_COLOUR_OPTION(settings) \
    {"color", '\0', POPT_ARG_STRING, &(settings).colour, 0, \
     "colours in text; auto: on a terminal, unless NO_COLOR is set", "auto|always|never"}
#define LULL_DIGITS_OPTION(settings) \
    {"digits", '\0', POPT_ARG_INT, &(settings).digits, LULL_OPTION_DIGITS, \
     "decimals of efficiencies in text (2)", "N"}
#define LULL_OUTPUT_OPTIONS(settings) \
    LULL_FORMAT_OPTION(settings), \
    {"output", 'o', POPT_ARG_STRING, &(settings).path, 0, \
     "write the result to FILE; endings .html, .json and .csv tell the format", "FILE"}, \
    LULL_COLOUR_OPTION(settings)
/* clang-format on */

/* Checks the options. Returns LULL_EXIT_OK, or LULL_EXIT_USAGE after a message. */
int lull_output_check(const struct lull_output_settings *settings);

/* Renders the document to standard output or to a file, which appears whole or not at all.
 * Returns an exit status; failure has been told. Colours, width and characters are those of the
 * terminal, so that the locale must be set. */
int lull_output_write(const struct lull_output_settings *settings,
                      const struct lull_document *document);

/* Writes a chart as SVG; `path` NULL: nothing is written. Returns an exit status; failure has been
 * told. */
int lull_output_chart(const char *path, const struct lull_chart *chart);

/* Checks whether a file can be written there, before long work. Returns an exit status; failure has
 * been told. */
int lull_output_probe(const char *path);

/* From now on standard output is taken to be no terminal: a launcher passes on what it reads there,
 * and some launchers make it look like a terminal. */
void lull_output_pass_on(void);

#endif
