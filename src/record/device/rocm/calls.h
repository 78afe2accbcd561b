/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of HIP whose calls are recorded: those that submit, wait, allocate, or load code. Their names
 * and arguments are facts of ROCm 7; rocprofiler-sdk is asked for their numbers. A function that a version
 * does not know is not recorded there.
 *
 * A row has: what the function does (enum what of rocm.c), its name, and the bytes at which `other` stands
 * among its arguments: the event, or the direction of the copy. */
#ifndef LULL_RECORD_DEVICE_ROCM_CALLS_H
#define LULL_RECORD_DEVICE_ROCM_CALLS_H

/* clang-format off */
#define HIP_CALLS(X) \
    /* Kernels; graphs of operations. */ \
    X(SUBMIT, hipLaunchKernel, 0) X(SUBMIT, hipLaunchKernel_spt, 0) X(SUBMIT, hipExtLaunchKernel, 0)                  \
    X(SUBMIT, hipLaunchKernelExC, 0) X(SUBMIT, hipDrvLaunchKernelEx, 0) X(SUBMIT, hipLaunchByPtr, 0)                  \
    X(SUBMIT, hipLaunchCooperativeKernel, 0) X(SUBMIT, hipLaunchCooperativeKernel_spt, 0)                             \
    X(SUBMIT, hipModuleLaunchKernel, 0) X(SUBMIT, hipModuleLaunchCooperativeKernel, 0)                                \
    X(SUBMIT, hipExtModuleLaunchKernel, 0) X(SUBMIT, hipHccModuleLaunchKernel, 0)                                     \
    X(SUBMIT, hipLaunchCooperativeKernelMultiDevice, 0) X(SUBMIT, hipExtLaunchMultiKernelMultiDevice, 0)              \
    X(SUBMIT, hipModuleLaunchCooperativeKernelMultiDevice, 0)                                                         \
    X(SUBMIT, hipGraphLaunch, 0) X(SUBMIT, hipGraphLaunch_spt, 0)                                                     \
    /* Copies, most of which may end after the call. */ \
    X(SUBMIT, hipMemcpyAsync, 0) X(SUBMIT, hipMemcpyAsync_spt, 0) X(SUBMIT, hipMemcpyDtoDAsync, 0)                    \
    X(SUBMIT, hipMemcpyDtoHAsync, 0) X(SUBMIT, hipMemcpyHtoDAsync, 0) X(SUBMIT, hipMemcpyAtoHAsync, 0)                \
    X(SUBMIT, hipMemcpyHtoAAsync, 0) X(SUBMIT, hipMemcpyPeerAsync, 0) X(SUBMIT, hipMemcpyParam2DAsync, 0)             \
    X(SUBMIT, hipMemcpy2DAsync, 0) X(SUBMIT, hipMemcpy2DAsync_spt, 0) X(SUBMIT, hipMemcpy3DAsync, 0)                  \
    X(SUBMIT, hipMemcpy3DAsync_spt, 0) X(SUBMIT, hipDrvMemcpy3DAsync, 0) X(SUBMIT, hipMemcpy2DToArrayAsync, 0)        \
    X(SUBMIT, hipMemcpy2DToArrayAsync_spt, 0) X(SUBMIT, hipMemcpy2DFromArrayAsync, 0)                                 \
    X(SUBMIT, hipMemcpy2DFromArrayAsync_spt, 0) X(SUBMIT, hipMemcpyToSymbolAsync, 0)                                  \
    X(SUBMIT, hipMemcpyToSymbolAsync_spt, 0) X(SUBMIT, hipMemcpyFromSymbolAsync, 0)                                   \
    X(SUBMIT, hipMemcpyFromSymbolAsync_spt, 0) X(SUBMIT, hipMemcpyHtoD, 0) X(SUBMIT, hipMemcpyDtoD, 0)                \
    X(SUBMIT, hipMemcpyHtoA, 0) X(SUBMIT, hipMemcpyAtoD, 0) X(SUBMIT, hipMemcpyDtoA, 0) X(SUBMIT, hipMemcpyAtoA, 0)   \
    X(SUBMIT, hipMemcpyPeer, 0) X(SUBMIT, hipMemcpyParam2D, 0) X(SUBMIT, hipMemcpy3D, 0)                              \
    X(SUBMIT, hipMemcpy3D_spt, 0) X(SUBMIT, hipDrvMemcpy3D, 0) X(SUBMIT, hipDrvMemcpy2DUnaligned, 0)                  \
    /* Copies that have ended when the call ends; and those of which that is so if they go to the host. */ \
    X(COPY_HOST, hipMemcpyDtoH, 0) X(COPY_HOST, hipMemcpyAtoH, 0)                                                     \
    X(COPY_KIND, hipMemcpy, 24) X(COPY_KIND, hipMemcpy_spt, 24) X(COPY_KIND, hipMemcpyWithStream, 24)                 \
    X(COPY_KIND, hipMemcpy2D, 48) X(COPY_KIND, hipMemcpy2D_spt, 48) X(COPY_KIND, hipMemcpyToSymbol, 32)               \
    X(COPY_KIND, hipMemcpyToSymbol_spt, 32) X(COPY_KIND, hipMemcpyFromSymbol, 32)                                     \
    X(COPY_KIND, hipMemcpyFromSymbol_spt, 32) X(COPY_KIND, hipMemcpyToArray, 40)                                      \
    X(COPY_KIND, hipMemcpyFromArray, 40) X(COPY_KIND, hipMemcpyFromArray_spt, 40)                                     \
    X(COPY_KIND, hipMemcpy2DToArray, 56) X(COPY_KIND, hipMemcpy2DToArray_spt, 56)                                     \
    X(COPY_KIND, hipMemcpy2DFromArray, 56) X(COPY_KIND, hipMemcpy2DFromArray_spt, 56)                                 \
    /* Memory that is filled. */ \
    X(SUBMIT, hipMemset, 0) X(SUBMIT, hipMemset_spt, 0) X(SUBMIT, hipMemset2D, 0) X(SUBMIT, hipMemset2D_spt, 0)       \
    X(SUBMIT, hipMemset3D, 0) X(SUBMIT, hipMemset3D_spt, 0) X(SUBMIT, hipMemsetD8, 0) X(SUBMIT, hipMemsetD16, 0)      \
    X(SUBMIT, hipMemsetD32, 0) X(SUBMIT, hipMemsetAsync, 0) X(SUBMIT, hipMemsetAsync_spt, 0)                          \
    X(SUBMIT, hipMemset2DAsync, 0) X(SUBMIT, hipMemset2DAsync_spt, 0) X(SUBMIT, hipMemset3DAsync, 0)                  \
    X(SUBMIT, hipMemset3DAsync_spt, 0) X(SUBMIT, hipMemsetD8Async, 0) X(SUBMIT, hipMemsetD16Async, 0)                 \
    X(SUBMIT, hipMemsetD32Async, 0)                                                                                   \
    /* Events. */ \
    X(RECORD, hipEventRecord, 0) X(RECORD, hipEventRecord_spt, 0) X(RECORD, hipEventRecordWithFlags, 0)               \
    X(AWAIT, hipStreamWaitEvent, 8) X(AWAIT, hipStreamWaitEvent_spt, 8) X(FORGET, hipEventDestroy, 0)                 \
    /* Waits. */ \
    X(SYNC_STREAM, hipStreamSynchronize, 0) X(SYNC_STREAM, hipStreamSynchronize_spt, 0)                               \
    X(SYNC_EVENT, hipEventSynchronize, 0) X(SYNC_DEVICE, hipDeviceSynchronize, 0)                                     \
    X(SYNC_DEVICE, hipCtxSynchronize, 0)                                                                              \
    /* Streams whose work becomes a graph. */ \
    X(CAPTURE, hipStreamBeginCapture, 0) X(CAPTURE, hipStreamBeginCapture_spt, 0)                                     \
    X(CAPTURE, hipStreamBeginCaptureToGraph, 0) X(CAPTURED, hipStreamEndCapture, 0)                                   \
    X(CAPTURED, hipStreamEndCapture_spt, 0)                                                                           \
    /* What else takes time. */ \
    X(HOST, hipInit, 0) X(HOST, hipDeviceReset, 0) X(HOST, hipDevicePrimaryCtxReset, 0) X(HOST, hipModuleLoad, 0)     \
    X(HOST, hipModuleLoadData, 0) X(HOST, hipModuleLoadDataEx, 0) X(HOST, hipModuleUnload, 0) X(HOST, hipMalloc, 0)   \
    X(HOST, hipMallocPitch, 0) X(HOST, hipMalloc3D, 0) X(HOST, hipMallocArray, 0) X(HOST, hipMalloc3DArray, 0)        \
    X(HOST, hipMallocHost, 0) X(HOST, hipHostMalloc, 0) X(HOST, hipHostAlloc, 0) X(HOST, hipExtMallocWithFlags, 0)    \
    X(HOST, hipMallocManaged, 0) X(HOST, hipMallocAsync, 0) X(HOST, hipMallocFromPoolAsync, 0)                        \
    X(HOST, hipMemAllocHost, 0) X(HOST, hipMemAllocPitch, 0) X(HOST, hipFree, 0) X(HOST, hipFreeAsync, 0)             \
    X(HOST, hipFreeArray, 0) X(HOST, hipFreeHost, 0) X(HOST, hipHostFree, 0) X(HOST, hipHostRegister, 0)              \
    X(HOST, hipHostUnregister, 0) X(HOST, hipMemCreate, 0) X(HOST, hipMemRelease, 0) X(HOST, hipMemMap, 0)            \
    X(HOST, hipMemUnmap, 0) X(HOST, hipMemPrefetchAsync, 0) X(HOST, hipIpcOpenMemHandle, 0)                           \
    X(HOST, hipStreamCreate, 0) X(HOST, hipStreamCreateWithFlags, 0) X(HOST, hipStreamCreateWithPriority, 0)          \
    X(HOST, hipExtStreamCreateWithCUMask, 0) X(HOST, hipStreamDestroy, 0) X(HOST, hipGraphInstantiate, 0)             \
    X(HOST, hipGraphInstantiateWithFlags, 0) X(HOST, hipGraphInstantiateWithParams, 0)                                \
    X(HOST, hipGraphExecUpdate, 0) X(HOST, hipGraphExecDestroy, 0) X(HOST, hipGraphUpload, 0)                         \
    X(HOST, hipLaunchHostFunc, 0) X(HOST, hipStreamAddCallback, 0)
/* clang-format on */

#endif
