/* SPDX-License-Identifier: BSD-3-Clause */
/* What the back-end needs of OpenCL's headers, declared here, so that it is built on machines without
 * them. Numbers and the order of the table of functions are those of CL/cl.h and CL/cl_icd.h (OpenCL
 * 3.0), which only append; opencl.c compares them where the headers are there. */
#ifndef LULL_RECORD_DEVICE_OPENCL_CL_H
#define LULL_RECORD_DEVICE_OPENCL_CL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t ocl_int;
typedef uint32_t ocl_uint;
typedef uint64_t ocl_ulong;
typedef struct ocl_platform_object *ocl_platform;
typedef struct ocl_device_object *ocl_device;
typedef struct ocl_context_object *ocl_context;
typedef struct ocl_queue_object *ocl_queue;
typedef struct ocl_mem_object *ocl_mem;
typedef struct ocl_program_object *ocl_program;
typedef struct ocl_kernel_object *ocl_kernel;
typedef struct ocl_event_object *ocl_event;

enum {
    OCL_SUCCESS = 0,
    OCL_PROFILING_INFO_NOT_AVAILABLE = -7,
    OCL_INVALID_VALUE = -30,
    OCL_COMPLETE = 0, /* of an event's status; below 0: it has failed */
    OCL_TRUE = 1,
    OCL_OUT_OF_ORDER = 1, /* bits of the properties of a queue */
    OCL_PROFILING = 2,
    OCL_PLATFORM_NAME = 0x0902,
    OCL_DEVICE_NAME = 0x102B,
    OCL_DEVICE_PLATFORM = 0x1031,
    OCL_DEVICE_PARENT = 0x1042,
    OCL_DEVICE_UUID = 0x106A,
    OCL_DEVICE_PCI = 0x410F,
    OCL_QUEUE_CONTEXT = 0x1090,
    OCL_QUEUE_DEVICE = 0x1091,
    OCL_QUEUE_PROPERTIES = 0x1093,
    OCL_QUEUE_PROPERTIES_ARRAY = 0x1098,
    OCL_IMAGE_ELEMENT_SIZE = 0x1111,
    OCL_KERNEL_NAME = 0x1190,
    OCL_EVENT_QUEUE = 0x11D0,
    OCL_EVENT_STATUS = 0x11D3,
    OCL_QUEUED = 0x1280,
    OCL_START = 0x1282,
    OCL_END = 0x1283,
    OCL_LAYER_API_VERSION = 0x4240,
    OCL_LAYER_NAME = 0x4241,
    OCL_LAYER_API_VERSION_100 = 100
};

#define OCL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)

/* Functions, by their place in the table through which a layer calls the next one. */
/* clang-format off */
#define OCL_FUNCTIONS(X)                                                                          \
    X(clGetPlatformIDs, 0) X(clGetPlatformInfo, 1) X(clGetDeviceIDs, 2) X(clGetDeviceInfo, 3)     \
    X(clCreateContext, 4) X(clCreateContextFromType, 5) X(clReleaseContext, 7)                    \
    X(clCreateCommandQueue, 9) X(clReleaseCommandQueue, 11) X(clGetCommandQueueInfo, 12)          \
    X(clCreateBuffer, 14) X(clReleaseMemObject, 18) X(clGetImageInfo, 21)                         \
    X(clCreateProgramWithSource, 26) X(clCreateProgramWithBinary, 27) X(clBuildProgram, 30)       \
    X(clCreateKernel, 34) X(clCreateKernelsInProgram, 35) X(clGetKernelInfo, 39)                  \
    X(clWaitForEvents, 41) X(clGetEventInfo, 42) X(clRetainEvent, 43) X(clReleaseEvent, 44)       \
    X(clGetEventProfilingInfo, 45) X(clFlush, 46) X(clFinish, 47) X(clEnqueueReadBuffer, 48)      \
    X(clEnqueueWriteBuffer, 49) X(clEnqueueCopyBuffer, 50) X(clEnqueueReadImage, 51)              \
    X(clEnqueueWriteImage, 52) X(clEnqueueCopyImage, 53) X(clEnqueueCopyImageToBuffer, 54)        \
    X(clEnqueueCopyBufferToImage, 55) X(clEnqueueMapBuffer, 56) X(clEnqueueMapImage, 57)          \
    X(clEnqueueUnmapMemObject, 58) X(clEnqueueNDRangeKernel, 59) X(clEnqueueTask, 60)             \
    X(clEnqueueNativeKernel, 61) X(clEnqueueMarker, 62) X(clEnqueueWaitForEvents, 63)             \
    X(clEnqueueBarrier, 64) X(clCreateUserEvent, 84) X(clEnqueueReadBufferRect, 86)               \
    X(clEnqueueWriteBufferRect, 87) X(clEnqueueCopyBufferRect, 88) X(clCompileProgram, 98)        \
    X(clLinkProgram, 99) X(clEnqueueFillBuffer, 102) X(clEnqueueFillImage, 103)                   \
    X(clEnqueueMigrateMemObjects, 104) X(clEnqueueMarkerWithWaitList, 105)                        \
    X(clEnqueueBarrierWithWaitList, 106) X(clCreateCommandQueueWithProperties, 123)               \
    X(clSVMAlloc, 126) X(clSVMFree, 127) X(clEnqueueSVMMemcpy, 129) X(clEnqueueSVMMemFill, 130)   \
    X(clEnqueueSVMMap, 131) X(clEnqueueSVMUnmap, 132) X(clCloneKernel, 137)                       \
    X(clGetDeviceAndHostTimer, 140)
/* clang-format on */

#endif
