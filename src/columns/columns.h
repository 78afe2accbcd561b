/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as tables of columns, for pandas, polars, duckdb: a folder with one Arrow file per table.
 * docs/formats/arrow.md has the tables.
 *
 * Memory: for each location a stream and an interpreter (activity/pass.h), for each message that was
 * sent and not received yet 40 bytes, a batch per table, and the definitions. Where more
 * locations are in a run than its format can read abreast (trace/format.h), messages wait until the
 * locations of their receivers are read. */
#ifndef LULL_COLUMNS_COLUMNS_H
#define LULL_COLUMNS_COLUMNS_H

#include "trace/format.h"

/* Not in lull_formats, because the trace room does not know steps. */
extern const struct lull_format lull_format_arrow;

#endif
