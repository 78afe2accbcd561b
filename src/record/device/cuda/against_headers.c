/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares cupti.h and calls.h with the headers of CUDA 13, where these are. There is no code in
 * this file. */
#include "record/device/cuda/calls.h"
#include "record/device/cuda/cupti.h"

#include <assert.h>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h> /* and with it structures of all functions' arguments */

#if CUPTI_API_VERSION >= 130000

#define SAME(own, theirs) \
    static_assert((long long)(own) == (long long)(theirs), "the value of " #theirs)
SAME(CUPTI_OK, CUPTI_SUCCESS);
SAME(CUPTI_END_OF_BUFFER, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CUPTI_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(CUPTI_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_CONTEXT_ENDS, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME(CUPTI_STREAM_ENDS, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
SAME(CUPTI_OLD_NAME, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
SAME(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME(CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(CUPTI_BUFFER_FLUSH, CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
SAME(CUPTI_INSTRUMENTATION, CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION);
SAME(CUPTI_OWN_RESOURCE, CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE);
SAME(CUPTI_COMMAND_BUFFER_FULL, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
SAME(CUPTI_BUFFER_REQUEST, CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST);
SAME(CUPTI_UNIFIED_MEMORY, CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT);
SAME(CUPTI_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME(CUPTI_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME(CUPTI_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
SAME(CUPTI_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME(CUPTI_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
SAME(CUPTI_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
SAME(CUPTI_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
SAME(CUPTI_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME(CUPTI_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME(CUPTI_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME(CUDA_DEVICE_TO_HOST, cudaMemcpyDeviceToHost);
SAME(CUDA_CAPTURES, CU_STREAM_CAPTURE_STATUS_ACTIVE);

#define AT(own, member, theirs, their_member)                                                   \
    static_assert(offsetof(struct own, member) == offsetof(theirs, their_member) &&             \
                      sizeof(((struct own *)0)->member) == sizeof(((theirs *)0)->their_member), \
                  #own "." #member)
AT(cupti_kernel, kind, CUpti_ActivityKernel10, kind);
AT(cupti_kernel, start, CUpti_ActivityKernel10, start);
AT(cupti_kernel, end, CUpti_ActivityKernel10, end);
AT(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
AT(cupti_kernel, context, CUpti_ActivityKernel10, contextId);
AT(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
AT(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
AT(cupti_kernel, name, CUpti_ActivityKernel10, name);
AT(cupti_kernel, start, CUpti_ActivityKernel9, start); /* CUDA 12 */
AT(cupti_kernel, end, CUpti_ActivityKernel9, end);
AT(cupti_kernel, device, CUpti_ActivityKernel9, deviceId);
AT(cupti_kernel, context, CUpti_ActivityKernel9, contextId);
AT(cupti_kernel, stream, CUpti_ActivityKernel9, streamId);
AT(cupti_kernel, correlation, CUpti_ActivityKernel9, correlationId);
AT(cupti_kernel, name, CUpti_ActivityKernel9, name);
#define COPY_LIKE(theirs)                          \
    AT(cupti_memcpy, kind, theirs, kind);          \
    AT(cupti_memcpy, direction, theirs, copyKind); \
    AT(cupti_memcpy, bytes, theirs, bytes);        \
    AT(cupti_memcpy, start, theirs, start);        \
    AT(cupti_memcpy, end, theirs, end);            \
    AT(cupti_memcpy, device, theirs, deviceId);    \
    AT(cupti_memcpy, context, theirs, contextId);  \
    AT(cupti_memcpy, stream, theirs, streamId);    \
    AT(cupti_memcpy, correlation, theirs, correlationId)
COPY_LIKE(CUpti_ActivityMemcpy6);
COPY_LIKE(CUpti_ActivityMemcpy5);
AT(cupti_memcpy, runtime_correlation, CUpti_ActivityMemcpy6, runtimeCorrelationId);
AT(cupti_memcpy, runtime_correlation, CUpti_ActivityMemcpy5, runtimeCorrelationId);
AT(cupti_memcpy_peer, kind, CUpti_ActivityMemcpyPtoP4, kind);
AT(cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
AT(cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
AT(cupti_memcpy_peer, end, CUpti_ActivityMemcpyPtoP4, end);
AT(cupti_memcpy_peer, device, CUpti_ActivityMemcpyPtoP4, deviceId);
AT(cupti_memcpy_peer, context, CUpti_ActivityMemcpyPtoP4, contextId);
AT(cupti_memcpy_peer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
AT(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
AT(cupti_memset, kind, CUpti_ActivityMemset4, kind);
AT(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
AT(cupti_memset, start, CUpti_ActivityMemset4, start);
AT(cupti_memset, end, CUpti_ActivityMemset4, end);
AT(cupti_memset, device, CUpti_ActivityMemset4, deviceId);
AT(cupti_memset, context, CUpti_ActivityMemset4, contextId);
AT(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
AT(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
AT(cupti_migration, kind, CUpti_ActivityUnifiedMemoryCounter3, kind);
AT(cupti_migration, what, CUpti_ActivityUnifiedMemoryCounter3, counterKind);
AT(cupti_migration, bytes, CUpti_ActivityUnifiedMemoryCounter3, value);
AT(cupti_migration, start, CUpti_ActivityUnifiedMemoryCounter3, start);
AT(cupti_migration, end, CUpti_ActivityUnifiedMemoryCounter3, end);
AT(cupti_migration, from, CUpti_ActivityUnifiedMemoryCounter3, srcId);
AT(cupti_migration, to, CUpti_ActivityUnifiedMemoryCounter3, dstId);
AT(cupti_migration, to, CUpti_ActivityUnifiedMemoryCounter2, dstId);
AT(cupti_migration_wish, what, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
AT(cupti_migration_wish, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
AT(cupti_migration_wish, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
AT(cupti_overhead, kind, CUpti_ActivityOverhead3, kind);
AT(cupti_overhead, what, CUpti_ActivityOverhead3, overheadKind);
AT(cupti_overhead, start, CUpti_ActivityOverhead3, start);
AT(cupti_overhead, end, CUpti_ActivityOverhead3, end);
AT(cupti_overhead, data, CUpti_ActivityOverhead3, overheadData);
AT(cupti_overhead, what, CUpti_ActivityOverhead, overheadKind);
AT(cupti_overhead, start, CUpti_ActivityOverhead, start);
AT(cupti_overhead, end, CUpti_ActivityOverhead, end);
AT(cupti_call, site, CUpti_CallbackData, callbackSite);
AT(cupti_call, function, CUpti_CallbackData, functionName);
AT(cupti_call, arguments, CUpti_CallbackData, functionParams);
AT(cupti_call, result, CUpti_CallbackData, functionReturnValue);
AT(cupti_call, context, CUpti_CallbackData, context);
AT(cupti_call, context_id, CUpti_CallbackData, contextUid);
AT(cupti_call, correlation, CUpti_CallbackData, correlationId);
AT(cupti_subscription, size, CUpti_SubscriberParams, structSize);
AT(cupti_subscription, name, CUpti_SubscriberParams, subscriberName);
AT(cupti_subscription, old_name, CUpti_SubscriberParams, oldSubscriberName);
AT(cupti_subscription, old_size, CUpti_SubscriberParams, oldSubscriberSize);
static_assert(sizeof(struct cupti_subscription) == CUpti_SubscriberParams_STRUCT_SIZE,
              "subscription");
static_assert(offsetof(CUlaunchConfig, hStream) == IN_CONFIG_AT, "stream of a launch");
static_assert(offsetof(cudaLaunchConfig_t, stream) == IN_CONFIG_AT, "stream of a launch");

#define ID_D(name) CUPTI_DRIVER_TRACE_CBID_##name
#define ID_R(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define SAME_ID(what, domain, name, suffix, id, stream, other) \
    static_assert(ID_##domain(name##suffix) == (id), "the number of " #name #suffix);
CUDA_CALLS(SAME_ID)

/* Where arguments stand: a macro for each place that calls.h names, and for each function the
 * argument's name there. */
#define STANDS(at, type, member) static_assert(offsetof(type, member) == (at), #type "." #member);
#define AT_NONE(type, member)
#define AT_IN_CONFIG(type, member) STANDS(0, type, config)
#define AT_NOT_KNOWN(type, member)
#define AT_0(type, member)       STANDS(0, type, member)
#define AT_8(type, member)       STANDS(8, type, member)
#define AT_24(type, member)      STANDS(24, type, member)
#define AT_32(type, member)      STANDS(32, type, member)
#define AT_40(type, member)      STANDS(40, type, member)
#define AT_48(type, member)      STANDS(48, type, member)
#define AT_56(type, member)      STANDS(56, type, member)
#define AT_64(type, member)      STANDS(64, type, member)
#define EVENT_D                  hEvent
#define EVENT_R                  event
#define OTHER_FORGET(domain)     EVENT_##domain
#define OTHER_SYNC_EVENT(domain) EVENT_##domain
#define OTHER_RECORD(domain)     EVENT_##domain
#define OTHER_AWAIT(domain)      EVENT_##domain
#define OTHER_COPY_KIND(domain)  kind
#define OTHER_HOST(domain)
#define OTHER_CAPTURE(domain)
#define OTHER_CAPTURED(domain)
#define OTHER_SYNC_STREAM(domain)
#define OTHER_SYNC_CONTEXT(domain)
#define OTHER_KERNEL(domain)
#define OTHER_GRAPH(domain)
#define OTHER_COPY(domain)
#define OTHER_COPY_HOST(domain)
#define OTHER_FILL(domain)
#define STREAM_D hStream
#define STREAM_R stream
#define STAND(what, domain, name, suffix, id, stream, other) \
    AT_##stream(name##suffix##_params, STREAM_##domain)      \
        AT_##other(name##suffix##_params, OTHER_##what(domain))
CUDA_CALLS(STAND)

#endif
