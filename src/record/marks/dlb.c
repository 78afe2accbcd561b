/* DLB (BSC): monitoring regions of TALP. */
#include "record/marks/foreign.h"

#define DLB_LIBRARY "libdlb"
enum { SUCCESS = 0, MOST_OPEN_MONITORS = 64 };

/* dlb_monitor_t begins with the name; what programs read behind it are numbers. */
typedef struct monitor monitor;
enum { MONITOR_SIZE = 1024 };

REC_EXPORT monitor *DLB_MonitoringRegionRegister(const char *name);
REC_EXPORT int DLB_MonitoringRegionStart(monitor *handle);
REC_EXPORT int DLB_MonitoringRegionStop(monitor *handle);

/* The original has none to offer where TALP was not asked for. */
monitor *DLB_MonitoringRegionRegister(const char *name)
{
    __typeof__(&DLB_MonitoringRegionRegister) original =
        REC_ORIGINAL(DLB_LIBRARY, DLB_MonitoringRegionRegister);
    monitor *handle = original ? original(name) : NULL;
    if (handle)
        rec_handle_is(handle, name);
    else if (name)
        handle = rec_handle_make(name, MONITOR_SIZE);
    return handle;
}

/* Regions of TALP need not end in the order in which they began: what is inside of one that ends
 * is ended with it, and begun again. */
static __thread struct {
    unsigned n;
    const monitor *open[MOST_OPEN_MONITORS];
} open_monitors;

static void begin_monitor(const monitor *handle)
{
    if (!rec_handle_name(handle) || open_monitors.n == MOST_OPEN_MONITORS)
        return;
    open_monitors.open[open_monitors.n++] = handle;
    rec_mark_begin(rec_handle_name(handle));
}

static void end_monitor(const monitor *handle)
{
    unsigned at = open_monitors.n;
    while (at > 0 && open_monitors.open[at - 1] != handle)
        at--;
    if (at == 0)
        return;
    for (unsigned i = at - 1; i < open_monitors.n; i++)
        rec_mark_end();
    open_monitors.n--;
    for (unsigned i = at - 1; i < open_monitors.n; i++) {
        open_monitors.open[i] = open_monitors.open[i + 1];
        rec_mark_begin(rec_handle_name(open_monitors.open[i]));
    }
}

int DLB_MonitoringRegionStart(monitor *handle)
{
    __typeof__(&DLB_MonitoringRegionStart) original =
        REC_ORIGINAL(DLB_LIBRARY, DLB_MonitoringRegionStart);
    const int status = original && !rec_handle_is_own(handle) ? original(handle) : SUCCESS;
    begin_monitor(handle);
    return status;
}

int DLB_MonitoringRegionStop(monitor *handle)
{
    __typeof__(&DLB_MonitoringRegionStop) original =
        REC_ORIGINAL(DLB_LIBRARY, DLB_MonitoringRegionStop);
    end_monitor(handle);
    return original && !rec_handle_is_own(handle) ? original(handle) : SUCCESS;
}
