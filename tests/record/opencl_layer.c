/* A layer of OpenCL that lies between the recorder's layer and the driver, and makes of it an odd driver. ODD_DRIVER
 * says which one:
 *
 *     timer              clGetDeviceAndHostTimer works, which PoCL 3.1 does not have
 *     other-clock        it tells of a clock that is an hour ahead of that of events
 *     refuses            queues with profiling cannot be made
 *     without-times      events do not tell times
 *     contradicts        operations began an hour before they were enqueued, or as the clock began
 *     backwards          operations ended a second before they began
 *     runs-for-ever      no operation is ever said to have ended, but calls that wait for it return
 *
 * It tells that it is there by a line on stderr. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { API_VERSION = 0x4240, VERSION_100 = 100 };
static const cl_ulong second = 1000000000U, hour = 3600ULL * 1000000000U;
static const struct _cl_icd_dispatch *driver;
static struct _cl_icd_dispatch table;
static const char *odd;

static int is(const char *kind)
{
    return odd && strcmp(odd, kind) == 0;
}

static cl_int timer(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time)
{
    struct timespec now;
    if (!is("timer") && !is("other-clock"))
        return driver->clGetDeviceAndHostTimer(device, device_time, host_time);
    clock_gettime(CLOCK_MONOTONIC_RAW, &now); /* of which PoCL's events tell */
    *host_time = (cl_ulong)now.tv_sec * 1000000000U + (cl_ulong)now.tv_nsec;
    *device_time = *host_time + (is("other-clock") ? hour : 0);
    return CL_SUCCESS;
}

static cl_command_queue make(cl_context context, cl_device_id device,
                             cl_command_queue_properties properties, cl_int *status)
{
    if (!is("refuses") || !(properties & CL_QUEUE_PROFILING_ENABLE))
        return driver->clCreateCommandQueue(context, device, properties, status);
    if (status)
        *status = CL_INVALID_QUEUE_PROPERTIES;
    return NULL;
}

static cl_int times(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *got)
{
    if (is("without-times"))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    const cl_int status = driver->clGetEventProfilingInfo(event, what, size, value, got);
    cl_ulong *const time = value;
    if (status == CL_SUCCESS && is("contradicts") && what == CL_PROFILING_COMMAND_START)
        *time = *time > hour ? *time - hour : 1;
    if (status == CL_SUCCESS && is("backwards") && what == CL_PROFILING_COMMAND_END)
        *time -= second;
    return status;
}

static cl_int event_info(cl_event event, cl_event_info what, size_t size, void *value, size_t *got)
{
    const cl_int status = driver->clGetEventInfo(event, what, size, value, got);
    if (status == CL_SUCCESS && is("runs-for-ever") && what == CL_EVENT_COMMAND_EXECUTION_STATUS)
        *(cl_int *)value = CL_RUNNING;
    return status;
}

EXPORT cl_int clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *got);
EXPORT cl_int clInitLayer(cl_uint n, const struct _cl_icd_dispatch *next, cl_uint *ret_n,
                          const struct _cl_icd_dispatch **ret_table);

cl_int clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *got)
{
    const cl_uint version = VERSION_100;
    if (what != API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (got)
        *got = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint n, const struct _cl_icd_dispatch *next, cl_uint *ret_n,
                   const struct _cl_icd_dispatch **ret_table)
{
    const cl_uint own = (cl_uint)(sizeof table / sizeof(void *));
    driver = next;
    odd = getenv("ODD_DRIVER");
    memcpy(&table, next, (n < own ? n : own) * sizeof(void *));
    table.clGetDeviceAndHostTimer = timer;
    table.clCreateCommandQueue = make;
    table.clGetEventProfilingInfo = times;
    table.clGetEventInfo = event_info;
    fprintf(stderr, "odd driver: %s\n", odd ? odd : "");
    *ret_n = own;
    *ret_table = &table;
    return CL_SUCCESS;
}
