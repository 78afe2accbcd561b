/* Compares what the mock writes with NVIDIA's headers, where these are. There is no code in this file. */
#include "sizes.h"

#include <assert.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stddef.h>

#define SAME(size, type) static_assert(sizeof(type) == (size), #type)
SAME(KERNEL_SIZE_12, CUpti_ActivityKernel9);
SAME(KERNEL_SIZE_13, CUpti_ActivityKernel10);
SAME(MEMCPY_SIZE_12, CUpti_ActivityMemcpy5);
SAME(MEMCPY_SIZE_13, CUpti_ActivityMemcpy6);
SAME(PEER_SIZE, CUpti_ActivityMemcpyPtoP4);
SAME(MEMSET_SIZE, CUpti_ActivityMemset4);
SAME(MIGRATION_SIZE_12, CUpti_ActivityUnifiedMemoryCounter2);
SAME(MIGRATION_SIZE_13, CUpti_ActivityUnifiedMemoryCounter3);
SAME(OVERHEAD_SIZE_12, CUpti_ActivityOverhead);
SAME(OVERHEAD_SIZE_13, CUpti_ActivityOverhead3);

/* Where put_record of mock_cupti.c puts what. */
#define STANDS(at, type, member) static_assert(offsetof(type, member) == (at), #type "." #member)
STANDS(16, CUpti_ActivityKernel10, start);
STANDS(24, CUpti_ActivityKernel10, end);
STANDS(40, CUpti_ActivityKernel10, deviceId);
STANDS(44, CUpti_ActivityKernel10, contextId);
STANDS(48, CUpti_ActivityKernel10, streamId);
STANDS(92, CUpti_ActivityKernel10, correlationId);
STANDS(104, CUpti_ActivityKernel10, name);
STANDS(4, CUpti_ActivityMemcpy6, copyKind);
STANDS(8, CUpti_ActivityMemcpy6, bytes);
STANDS(16, CUpti_ActivityMemcpy6, start);
STANDS(32, CUpti_ActivityMemcpy6, deviceId);
STANDS(44, CUpti_ActivityMemcpy6, correlationId);
STANDS(48, CUpti_ActivityMemcpy6, runtimeCorrelationId);
STANDS(8, CUpti_ActivityMemcpyPtoP4, bytes);
STANDS(16, CUpti_ActivityMemcpyPtoP4, start);
STANDS(32, CUpti_ActivityMemcpyPtoP4, deviceId);
STANDS(60, CUpti_ActivityMemcpyPtoP4, correlationId);
STANDS(8, CUpti_ActivityMemset4, bytes);
STANDS(16, CUpti_ActivityMemset4, start);
STANDS(32, CUpti_ActivityMemset4, deviceId);
STANDS(44, CUpti_ActivityMemset4, correlationId);
STANDS(4, CUpti_ActivityUnifiedMemoryCounter3, counterKind);
STANDS(8, CUpti_ActivityUnifiedMemoryCounter3, value);
STANDS(16, CUpti_ActivityUnifiedMemoryCounter3, start);
STANDS(40, CUpti_ActivityUnifiedMemoryCounter3, srcId);
STANDS(44, CUpti_ActivityUnifiedMemoryCounter3, dstId);
STANDS(4, CUpti_ActivityOverhead3, overheadKind);
STANDS(24, CUpti_ActivityOverhead3, start);
STANDS(0, CUpti_CallbackData, callbackSite);
STANDS(8, CUpti_CallbackData, functionName);
STANDS(16, CUpti_CallbackData, functionParams);
STANDS(24, CUpti_CallbackData, functionReturnValue);
STANDS(40, CUpti_CallbackData, context);
STANDS(48, CUpti_CallbackData, contextUid);
STANDS(64, CUpti_CallbackData, correlationId);
