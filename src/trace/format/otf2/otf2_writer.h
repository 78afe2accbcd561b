/* Writing OTF2 archives; internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_WRITER_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_WRITER_H

#include "trace/format/otf2/otf2.h"

lull_status lull_otf2_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err);

#endif
