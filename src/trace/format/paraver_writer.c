#include "trace/format/paraver.h"
lull_status lull_prv_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                 struct lull_writer *ret_writer, struct lull_error *err)
{
    (void)trace;
    (void)replace;
    (void)ret_writer;
    return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: x", path);
}
