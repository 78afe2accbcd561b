/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of CUDA whose calls are recorded: those that submit, wait, allocate, or load code.
 * The numbers by which CUPTI knows them, and where their arguments stand in the memory that it
 * shows, are facts of CUDA 13.0; later versions add functions, and leave these.
 * against_headers.c compares them with CUDA's headers, where these are.
 *
 * A row has: what the function does (enum what of cuda.c); whether it is of the driver's
 * interface (D) or of the runtime's (R); its name; the suffix of its version, which also says
 * whether the default stream is one for each thread (_ptsz, _ptds); its number; the bytes at
 * which the stream and something `other` stand among its arguments. NONE: it has no such
 * argument; without a stream it uses the default stream. IN_CONFIG: the first argument points to
 * a structure, in which the stream stands at IN_CONFIG_AT. NOT_KNOWN: the headers do not tell.
 * The call of the driver that is made inside tells the stream then. */
#ifndef LULL_RECORD_DEVICE_CUDA_CALLS_H
#define LULL_RECORD_DEVICE_CUDA_CALLS_H

enum { NONE = 255, IN_CONFIG = 254, NOT_KNOWN = 253, IN_CONFIG_AT = 32 };

/* clang-format off */
#define CUDA_CALLS(X) \
    /* One kernel. */                                                                                                \
    X(KERNEL, D, cuLaunchKernel, , 307, 40, NONE) X(KERNEL, D, cuLaunchKernel, _ptsz, 442, 40, NONE)                 \
    X(KERNEL, D, cuLaunchKernelEx, , 652, IN_CONFIG, NONE)                                                           \
    X(KERNEL, D, cuLaunchKernelEx, _ptsz, 653, IN_CONFIG, NONE)                                                      \
    X(KERNEL, D, cuLaunchCooperativeKernel, , 477, 40, NONE)                                                         \
    X(KERNEL, D, cuLaunchCooperativeKernel, _ptsz, 478, 40, NONE)                                                    \
    X(KERNEL, R, cudaLaunchKernel, _v7000, 211, 48, NONE)                                                            \
    X(KERNEL, R, cudaLaunchKernel, _ptsz_v7000, 214, 48, NONE)                                                       \
    X(KERNEL, R, cudaLaunchKernelExC, _v11060, 430, IN_CONFIG, NONE)                                                 \
    X(KERNEL, R, cudaLaunchKernelExC, _ptsz_v11060, 431, IN_CONFIG, NONE)                                            \
    X(KERNEL, R, cudaLaunchCooperativeKernel, _v9000, 269, 48, NONE)                                                 \
    X(KERNEL, R, cudaLaunchCooperativeKernel, _ptsz_v9000, 270, 48, NONE)                                            \
    X(KERNEL, R, __cudaLaunchKernel, _v13000, 505, NOT_KNOWN, NONE)                                                  \
    X(KERNEL, R, __cudaLaunchKernel, _ptsz_v13000, 506, NOT_KNOWN, NONE)                                             \
    /* A graph: as many operations as it has nodes. */                                                               \
    X(GRAPH, D, cuGraphLaunch, , 514, 8, NONE) X(GRAPH, D, cuGraphLaunch, _ptsz, 515, 8, NONE)                       \
    X(GRAPH, R, cudaGraphLaunch, _v10000, 311, 8, NONE) X(GRAPH, R, cudaGraphLaunch, _ptsz_v10000, 312, 8, NONE)     \
    /* Copies that have ended when the call ends. */                                                                 \
    X(COPY_HOST, D, cuMemcpyDtoH, _v2, 278, NONE, NONE) X(COPY_HOST, D, cuMemcpyDtoH, _v2_ptds, 398, NONE, NONE)     \
    X(COPY_HOST, D, cuMemcpyAtoH, _v2, 282, NONE, NONE) X(COPY_HOST, D, cuMemcpyAtoH, _v2_ptds, 403, NONE, NONE)     \
    /* Copies, most of which may end after the call. */                                                              \
    X(COPY, D, cuMemcpy, , 305, NONE, NONE) X(COPY, D, cuMemcpy, _ptds, 408, NONE, NONE)                             \
    X(COPY, D, cuMemcpyHtoD, _v2, 276, NONE, NONE) X(COPY, D, cuMemcpyHtoD, _v2_ptds, 397, NONE, NONE)               \
    X(COPY, D, cuMemcpyDtoD, _v2, 280, NONE, NONE) X(COPY, D, cuMemcpyDtoD, _v2_ptds, 399, NONE, NONE)               \
    X(COPY, D, cuMemcpyDtoA, _v2, 285, NONE, NONE) X(COPY, D, cuMemcpyDtoA, _v2_ptds, 400, NONE, NONE)               \
    X(COPY, D, cuMemcpyAtoD, _v2, 284, NONE, NONE) X(COPY, D, cuMemcpyAtoD, _v2_ptds, 401, NONE, NONE)               \
    X(COPY, D, cuMemcpyHtoA, _v2, 292, NONE, NONE) X(COPY, D, cuMemcpyHtoA, _v2_ptds, 402, NONE, NONE)               \
    X(COPY, D, cuMemcpyAtoA, _v2, 286, NONE, NONE) X(COPY, D, cuMemcpyAtoA, _v2_ptds, 404, NONE, NONE)               \
    X(COPY, D, cuMemcpy2D, _v2, 287, NONE, NONE) X(COPY, D, cuMemcpy2D, _v2_ptds, 405, NONE, NONE)                   \
    X(COPY, D, cuMemcpy2DUnaligned, _v2, 288, NONE, NONE)                                                            \
    X(COPY, D, cuMemcpy2DUnaligned, _v2_ptds, 406, NONE, NONE) X(COPY, D, cuMemcpy3D, _v2, 290, NONE, NONE)          \
    X(COPY, D, cuMemcpy3D, _v2_ptds, 407, NONE, NONE) X(COPY, D, cuMemcpyPeer, , 318, NONE, NONE)                    \
    X(COPY, D, cuMemcpyPeer, _ptds, 409, NONE, NONE) X(COPY, D, cuMemcpy3DPeer, , 320, NONE, NONE)                   \
    X(COPY, D, cuMemcpy3DPeer, _ptds, 410, NONE, NONE) X(COPY, D, cuMemcpyAsync, , 306, 24, NONE)                    \
    X(COPY, D, cuMemcpyAsync, _ptsz, 418, 24, NONE) X(COPY, D, cuMemcpyHtoDAsync, _v2, 277, 24, NONE)                \
    X(COPY, D, cuMemcpyHtoDAsync, _v2_ptsz, 421, 24, NONE) X(COPY, D, cuMemcpyDtoHAsync, _v2, 279, 24, NONE)         \
    X(COPY, D, cuMemcpyDtoHAsync, _v2_ptsz, 422, 24, NONE) X(COPY, D, cuMemcpyDtoDAsync, _v2, 281, 24, NONE)         \
    X(COPY, D, cuMemcpyDtoDAsync, _v2_ptsz, 423, 24, NONE) X(COPY, D, cuMemcpyHtoAAsync, _v2, 293, 32, NONE)         \
    X(COPY, D, cuMemcpyHtoAAsync, _v2_ptsz, 419, 32, NONE) X(COPY, D, cuMemcpyAtoHAsync, _v2, 283, 32, NONE)         \
    X(COPY, D, cuMemcpyAtoHAsync, _v2_ptsz, 420, 32, NONE) X(COPY, D, cuMemcpy2DAsync, _v2, 289, 8, NONE)            \
    X(COPY, D, cuMemcpy2DAsync, _v2_ptsz, 424, 8, NONE) X(COPY, D, cuMemcpy3DAsync, _v2, 291, 8, NONE)               \
    X(COPY, D, cuMemcpy3DAsync, _v2_ptsz, 425, 8, NONE) X(COPY, D, cuMemcpyPeerAsync, , 319, 40, NONE)               \
    X(COPY, D, cuMemcpyPeerAsync, _ptsz, 426, 40, NONE) X(COPY, D, cuMemcpy3DPeerAsync, , 321, 8, NONE)              \
    X(COPY, D, cuMemcpy3DPeerAsync, _ptsz, 427, 8, NONE) X(COPY, D, cuMemcpyBatchAsync, , 776, 64, NONE)             \
    X(COPY, D, cuMemcpyBatchAsync, _ptsz, 777, 64, NONE) X(COPY, D, cuMemcpyBatchAsync, _v2, 796, 56, NONE)          \
    X(COPY, D, cuMemcpyBatchAsync, _v2_ptsz, 797, 56, NONE) X(COPY, D, cuMemcpy3DBatchAsync, , 778, 32, NONE)        \
    X(COPY, D, cuMemcpy3DBatchAsync, _ptsz, 779, 32, NONE) X(COPY, D, cuMemcpy3DBatchAsync, _v2, 798, 24, NONE)      \
    X(COPY, D, cuMemcpy3DBatchAsync, _v2_ptsz, 799, 24, NONE) X(COPY, R, cudaMemcpy3D, _v3020, 144, NONE, NONE)      \
    X(COPY, R, cudaMemcpy3D, _ptds_v7000, 245, NONE, NONE) X(COPY, R, cudaMemcpyPeer, _v4000, 160, NONE, NONE)       \
    X(COPY, R, cudaMemcpy3DPeer, _v4000, 162, NONE, NONE)                                                            \
    X(COPY, R, cudaMemcpy3DPeer, _ptds_v7000, 249, NONE, NONE) X(COPY, R, cudaMemcpyAsync, _v3020, 41, 32, NONE)     \
    X(COPY, R, cudaMemcpyAsync, _ptsz_v7000, 225, 32, NONE) X(COPY, R, cudaMemcpy2DAsync, _v3020, 44, 56, NONE)      \
    X(COPY, R, cudaMemcpy2DAsync, _ptsz_v7000, 228, 56, NONE)                                                        \
    X(COPY, R, cudaMemcpy3DAsync, _v3020, 145, 8, NONE) X(COPY, R, cudaMemcpy3DAsync, _ptsz_v7000, 246, 8, NONE)     \
    X(COPY, R, cudaMemcpyToSymbolAsync, _v3020, 47, 40, NONE)                                                        \
    X(COPY, R, cudaMemcpyToSymbolAsync, _ptsz_v7000, 231, 40, NONE)                                                  \
    X(COPY, R, cudaMemcpyFromSymbolAsync, _v3020, 48, 40, NONE)                                                      \
    X(COPY, R, cudaMemcpyFromSymbolAsync, _ptsz_v7000, 232, 40, NONE)                                                \
    X(COPY, R, cudaMemcpyToArrayAsync, _v3020, 42, 48, NONE)                                                         \
    X(COPY, R, cudaMemcpyToArrayAsync, _ptsz_v7000, 226, 48, NONE)                                                   \
    X(COPY, R, cudaMemcpyFromArrayAsync, _v3020, 43, 48, NONE)                                                       \
    X(COPY, R, cudaMemcpyFromArrayAsync, _ptsz_v7000, 227, 48, NONE)                                                 \
    X(COPY, R, cudaMemcpy2DToArrayAsync, _v3020, 45, 64, NONE)                                                       \
    X(COPY, R, cudaMemcpy2DToArrayAsync, _ptsz_v7000, 229, 64, NONE)                                                 \
    X(COPY, R, cudaMemcpy2DFromArrayAsync, _v3020, 46, 64, NONE)                                                     \
    X(COPY, R, cudaMemcpy2DFromArrayAsync, _ptsz_v7000, 230, 64, NONE)                                               \
    X(COPY, R, cudaMemcpyPeerAsync, _v4000, 161, 40, NONE)                                                           \
    X(COPY, R, cudaMemcpy3DPeerAsync, _v4000, 163, 8, NONE)                                                          \
    X(COPY, R, cudaMemcpy3DPeerAsync, _ptsz_v7000, 250, 8, NONE)                                                     \
    X(COPY, R, cudaMemcpyBatchAsync, _v12080, 482, NOT_KNOWN, NONE)                                                  \
    X(COPY, R, cudaMemcpyBatchAsync, _ptsz_v12080, 483, NOT_KNOWN, NONE)                                             \
    X(COPY, R, cudaMemcpyBatchAsync, _v13000, 509, 56, NONE)                                                         \
    X(COPY, R, cudaMemcpyBatchAsync, _ptsz_v13000, 510, 56, NONE)                                                    \
    X(COPY, R, cudaMemcpy3DBatchAsync, _v12080, 484, NOT_KNOWN, NONE)                                                \
    X(COPY, R, cudaMemcpy3DBatchAsync, _ptsz_v12080, 485, NOT_KNOWN, NONE)                                           \
    X(COPY, R, cudaMemcpy3DBatchAsync, _v13000, 511, 24, NONE)                                                       \
    X(COPY, R, cudaMemcpy3DBatchAsync, _ptsz_v13000, 512, 24, NONE)                                                  \
    /* Copies that have ended when the call ends, if they go to the host: `other` is where the direction stands. */  \
    X(COPY_KIND, R, cudaMemcpy, _v3020, 31, NONE, 24) X(COPY_KIND, R, cudaMemcpy, _ptds_v7000, 215, NONE, 24)        \
    X(COPY_KIND, R, cudaMemcpy2D, _v3020, 32, NONE, 48)                                                              \
    X(COPY_KIND, R, cudaMemcpy2D, _ptds_v7000, 216, NONE, 48)                                                        \
    X(COPY_KIND, R, cudaMemcpyToSymbol, _v3020, 39, NONE, 32)                                                        \
    X(COPY_KIND, R, cudaMemcpyToSymbol, _ptds_v7000, 223, NONE, 32)                                                  \
    X(COPY_KIND, R, cudaMemcpyFromSymbol, _v3020, 40, NONE, 32)                                                      \
    X(COPY_KIND, R, cudaMemcpyFromSymbol, _ptds_v7000, 224, NONE, 32)                                                \
    X(COPY_KIND, R, cudaMemcpyToArray, _v3020, 33, NONE, 40)                                                         \
    X(COPY_KIND, R, cudaMemcpyToArray, _ptds_v7000, 217, NONE, 40)                                                   \
    X(COPY_KIND, R, cudaMemcpyFromArray, _v3020, 35, NONE, 40)                                                       \
    X(COPY_KIND, R, cudaMemcpyFromArray, _ptds_v7000, 219, NONE, 40)                                                 \
    X(COPY_KIND, R, cudaMemcpy2DToArray, _v3020, 34, NONE, 56)                                                       \
    X(COPY_KIND, R, cudaMemcpy2DToArray, _ptds_v7000, 218, NONE, 56)                                                 \
    X(COPY_KIND, R, cudaMemcpy2DFromArray, _v3020, 36, NONE, 56)                                                     \
    X(COPY_KIND, R, cudaMemcpy2DFromArray, _ptds_v7000, 220, NONE, 56)                                               \
    X(COPY_KIND, R, cudaMemcpyArrayToArray, _v3020, 37, NONE, 56)                                                    \
    X(COPY_KIND, R, cudaMemcpyArrayToArray, _ptds_v7000, 221, NONE, 56)                                              \
    X(COPY_KIND, R, cudaMemcpy2DArrayToArray, _v3020, 38, NONE, 64)                                                  \
    X(COPY_KIND, R, cudaMemcpy2DArrayToArray, _ptds_v7000, 222, NONE, 64)                                            \
    /* Memory that is filled. */                                                                                     \
    X(FILL, D, cuMemsetD8, _v2, 249, NONE, NONE) X(FILL, D, cuMemsetD8, _v2_ptds, 411, NONE, NONE)                   \
    X(FILL, D, cuMemsetD16, _v2, 250, NONE, NONE) X(FILL, D, cuMemsetD16, _v2_ptds, 412, NONE, NONE)                 \
    X(FILL, D, cuMemsetD32, _v2, 251, NONE, NONE) X(FILL, D, cuMemsetD32, _v2_ptds, 413, NONE, NONE)                 \
    X(FILL, D, cuMemsetD2D8, _v2, 252, NONE, NONE) X(FILL, D, cuMemsetD2D8, _v2_ptds, 414, NONE, NONE)               \
    X(FILL, D, cuMemsetD2D16, _v2, 253, NONE, NONE) X(FILL, D, cuMemsetD2D16, _v2_ptds, 415, NONE, NONE)             \
    X(FILL, D, cuMemsetD2D32, _v2, 254, NONE, NONE) X(FILL, D, cuMemsetD2D32, _v2_ptds, 416, NONE, NONE)             \
    X(FILL, D, cuMemsetD8Async, , 216, 24, NONE) X(FILL, D, cuMemsetD8Async, _ptsz, 428, 24, NONE)                   \
    X(FILL, D, cuMemsetD16Async, , 218, 24, NONE) X(FILL, D, cuMemsetD16Async, _ptsz, 429, 24, NONE)                 \
    X(FILL, D, cuMemsetD32Async, , 220, 24, NONE) X(FILL, D, cuMemsetD32Async, _ptsz, 430, 24, NONE)                 \
    X(FILL, D, cuMemsetD2D8Async, , 222, 40, NONE) X(FILL, D, cuMemsetD2D8Async, _ptsz, 431, 40, NONE)               \
    X(FILL, D, cuMemsetD2D16Async, , 224, 40, NONE) X(FILL, D, cuMemsetD2D16Async, _ptsz, 432, 40, NONE)             \
    X(FILL, D, cuMemsetD2D32Async, , 226, 40, NONE) X(FILL, D, cuMemsetD2D32Async, _ptsz, 433, 40, NONE)             \
    X(FILL, R, cudaMemset, _v3020, 49, NONE, NONE) X(FILL, R, cudaMemset, _ptds_v7000, 233, NONE, NONE)              \
    X(FILL, R, cudaMemset2D, _v3020, 50, NONE, NONE) X(FILL, R, cudaMemset2D, _ptds_v7000, 234, NONE, NONE)          \
    X(FILL, R, cudaMemset3D, _v3020, 142, NONE, NONE) X(FILL, R, cudaMemset3D, _ptds_v7000, 243, NONE, NONE)         \
    X(FILL, R, cudaMemsetAsync, _v3020, 51, 24, NONE) X(FILL, R, cudaMemsetAsync, _ptsz_v7000, 235, 24, NONE)        \
    X(FILL, R, cudaMemset2DAsync, _v3020, 52, 40, NONE)                                                              \
    X(FILL, R, cudaMemset2DAsync, _ptsz_v7000, 236, 40, NONE)                                                        \
    X(FILL, R, cudaMemset3DAsync, _v3020, 143, 64, NONE)                                                             \
    X(FILL, R, cudaMemset3DAsync, _ptsz_v7000, 244, 64, NONE)                                                        \
    /* An event is recorded. */                                                                                      \
    X(RECORD, D, cuEventRecord, , 119, 8, 0) X(RECORD, D, cuEventRecord, _ptsz, 441, 8, 0)                           \
    X(RECORD, D, cuEventRecordWithFlags, , 587, 8, 0) X(RECORD, D, cuEventRecordWithFlags, _ptsz, 588, 8, 0)         \
    X(RECORD, R, cudaEventRecord, _v3020, 135, 8, 0) X(RECORD, R, cudaEventRecord, _ptsz_v7000, 242, 8, 0)           \
    X(RECORD, R, cudaEventRecordWithFlags, _v11010, 370, 8, 0)                                                       \
    X(RECORD, R, cudaEventRecordWithFlags, _ptsz_v11010, 371, 8, 0)                                                  \
    /* What is submitted later waits for an event. */                                                                \
    X(AWAIT, D, cuStreamWaitEvent, , 295, 0, 8) X(AWAIT, D, cuStreamWaitEvent, _ptsz, 436, 0, 8)                     \
    X(AWAIT, R, cudaStreamWaitEvent, _v3020, 147, 0, 8) X(AWAIT, R, cudaStreamWaitEvent, _ptsz_v7000, 247, 0, 8)     \
    /* The host waits for a stream, */                                                                               \
    X(SYNC_STREAM, D, cuStreamSynchronize, , 126, 0, NONE)                                                           \
    X(SYNC_STREAM, D, cuStreamSynchronize, _ptsz, 440, 0, NONE)                                                      \
    X(SYNC_STREAM, R, cudaStreamSynchronize, _v3020, 131, 0, NONE)                                                   \
    X(SYNC_STREAM, R, cudaStreamSynchronize, _ptsz_v7000, 239, 0, NONE)                                              \
    /* for an event, */                                                                                              \
    X(SYNC_EVENT, D, cuEventSynchronize, , 121, NONE, 0)                                                             \
    X(SYNC_EVENT, R, cudaEventSynchronize, _v3020, 137, NONE, 0)                                                     \
    /* or for all streams of a context. */                                                                           \
    X(SYNC_CONTEXT, D, cuCtxSynchronize, , 17, NONE, NONE)                                                           \
    X(SYNC_CONTEXT, D, cuCtxSynchronize, _v2, 800, NONE, NONE)                                                       \
    X(SYNC_CONTEXT, R, cudaDeviceSynchronize, _v3020, 165, NONE, NONE)                                               \
    X(SYNC_CONTEXT, R, cudaThreadSynchronize, _v3020, 126, NONE, NONE)                                               \
    /* Until its end what is submitted becomes a graph. */                                                           \
    X(CAPTURE, D, cuStreamBeginCapture, , 495, NONE, NONE)                                                           \
    X(CAPTURE, D, cuStreamBeginCapture, _ptsz, 496, NONE, NONE)                                                      \
    X(CAPTURE, D, cuStreamBeginCapture, _v2, 539, NONE, NONE)                                                        \
    X(CAPTURE, D, cuStreamBeginCapture, _v2_ptsz, 540, NONE, NONE)                                                   \
    X(CAPTURE, D, cuStreamBeginCaptureToGraph, , 720, NONE, NONE)                                                    \
    X(CAPTURE, D, cuStreamBeginCaptureToGraph, _ptsz, 721, NONE, NONE)                                               \
    X(CAPTURE, R, cudaStreamBeginCapture, _v10000, 315, NONE, NONE)                                                  \
    X(CAPTURE, R, cudaStreamBeginCapture, _ptsz_v10000, 316, NONE, NONE)                                             \
    X(CAPTURE, R, cudaStreamBeginCaptureToGraph, _v12030, 452, NONE, NONE)                                           \
    X(CAPTURE, R, cudaStreamBeginCaptureToGraph, _ptsz_v12030, 453, NONE, NONE)                                      \
    X(CAPTURED, D, cuStreamEndCapture, , 497, NONE, NONE)                                                            \
    X(CAPTURED, D, cuStreamEndCapture, _ptsz, 498, NONE, NONE)                                                       \
    X(CAPTURED, R, cudaStreamEndCapture, _v10000, 319, NONE, NONE)                                                   \
    X(CAPTURED, R, cudaStreamEndCapture, _ptsz_v10000, 320, NONE, NONE)                                              \
    /* An event is no more. */                                                                                       \
    X(FORGET, D, cuEventDestroy, _v2, 325, NONE, 0) X(FORGET, R, cudaEventDestroy, _v3020, 136, NONE, 0)             \
    /* Calls that allocate, load, or prepare. */                                                                     \
    X(HOST, D, cuCtxCreate, _v2, 235, NONE, NONE) X(HOST, D, cuCtxCreate, _v3, 645, NONE, NONE)                      \
    X(HOST, D, cuCtxCreate, _v4, 757, NONE, NONE) X(HOST, D, cuCtxDestroy, _v2, 322, NONE, NONE)                     \
    X(HOST, D, cuDevicePrimaryCtxRetain, , 386, NONE, NONE)                                                          \
    X(HOST, D, cuDevicePrimaryCtxRelease, , 387, NONE, NONE)                                                         \
    X(HOST, D, cuDevicePrimaryCtxRelease, _v2, 544, NONE, NONE)                                                      \
    X(HOST, D, cuDevicePrimaryCtxReset, , 389, NONE, NONE)                                                           \
    X(HOST, D, cuDevicePrimaryCtxReset, _v2, 545, NONE, NONE) X(HOST, D, cuModuleLoad, , 18, NONE, NONE)             \
    X(HOST, D, cuModuleLoadData, , 19, NONE, NONE) X(HOST, D, cuModuleLoadDataEx, , 20, NONE, NONE)                  \
    X(HOST, D, cuModuleLoadFatBinary, , 21, NONE, NONE) X(HOST, D, cuModuleUnload, , 22, NONE, NONE)                 \
    X(HOST, D, cuLibraryLoadData, , 678, NONE, NONE) X(HOST, D, cuLibraryLoadFromFile, , 679, NONE, NONE)            \
    X(HOST, D, cuLibraryUnload, , 680, NONE, NONE) X(HOST, D, cuMemAlloc, _v2, 243, NONE, NONE)                      \
    X(HOST, D, cuMemAllocPitch, _v2, 244, NONE, NONE) X(HOST, D, cuMemFree, _v2, 245, NONE, NONE)                    \
    X(HOST, D, cuMemAllocHost, _v2, 294, NONE, NONE) X(HOST, D, cuMemFreeHost, , 38, NONE, NONE)                     \
    X(HOST, D, cuMemHostAlloc, _v2, 271, NONE, NONE) X(HOST, D, cuMemHostRegister, _v2, 379, NONE, NONE)             \
    X(HOST, D, cuMemHostUnregister, , 302, NONE, NONE) X(HOST, D, cuMemAllocManaged, , 371, NONE, NONE)              \
    X(HOST, D, cuMemAllocAsync, , 598, NONE, NONE) X(HOST, D, cuMemAllocAsync, _ptsz, 599, NONE, NONE)               \
    X(HOST, D, cuMemAllocFromPoolAsync, , 611, NONE, NONE)                                                           \
    X(HOST, D, cuMemAllocFromPoolAsync, _ptsz, 612, NONE, NONE) X(HOST, D, cuMemFreeAsync, , 600, NONE, NONE)        \
    X(HOST, D, cuMemFreeAsync, _ptsz, 601, NONE, NONE) X(HOST, D, cuMemCreate, , 549, NONE, NONE)                    \
    X(HOST, D, cuMemRelease, , 550, NONE, NONE) X(HOST, D, cuMemMap, , 551, NONE, NONE)                              \
    X(HOST, D, cuMemUnmap, , 552, NONE, NONE) X(HOST, D, cuMemPrefetchAsync, , 467, NONE, NONE)                      \
    X(HOST, D, cuMemPrefetchAsync, _ptsz, 468, NONE, NONE) X(HOST, D, cuMemPrefetchAsync, _v2, 716, NONE, NONE)      \
    X(HOST, D, cuMemPrefetchAsync, _v2_ptsz, 717, NONE, NONE) X(HOST, D, cuArrayCreate, _v2, 272, NONE, NONE)        \
    X(HOST, D, cuArray3DCreate, _v2, 274, NONE, NONE) X(HOST, D, cuArrayDestroy, , 89, NONE, NONE)                   \
    X(HOST, D, cuIpcOpenMemHandle, , 329, NONE, NONE) X(HOST, D, cuIpcOpenMemHandle, _v2, 567, NONE, NONE)           \
    X(HOST, D, cuStreamCreate, , 124, NONE, NONE) X(HOST, D, cuStreamCreateWithPriority, , 367, NONE, NONE)          \
    X(HOST, D, cuStreamDestroy, _v2, 326, NONE, NONE) X(HOST, D, cuGraphInstantiate, , 513, NONE, NONE)              \
    X(HOST, D, cuGraphInstantiate, _v2, 578, NONE, NONE)                                                             \
    X(HOST, D, cuGraphInstantiateWithFlags, , 643, NONE, NONE)                                                       \
    X(HOST, D, cuGraphInstantiateWithParams, , 656, NONE, NONE)                                                      \
    X(HOST, D, cuGraphInstantiateWithParams, _ptsz, 657, NONE, NONE)                                                 \
    X(HOST, D, cuGraphExecUpdate, , 561, NONE, NONE) X(HOST, D, cuGraphExecUpdate, _v2, 696, NONE, NONE)             \
    X(HOST, D, cuGraphExecDestroy, , 516, NONE, NONE) X(HOST, D, cuGraphUpload, , 580, NONE, NONE)                   \
    X(HOST, D, cuGraphUpload, _ptsz, 581, NONE, NONE) X(HOST, D, cuLaunchHostFunc, , 527, NONE, NONE)                \
    X(HOST, D, cuLaunchHostFunc, _ptsz, 528, NONE, NONE) X(HOST, D, cuStreamAddCallback, , 346, NONE, NONE)          \
    X(HOST, D, cuStreamAddCallback, _ptsz, 437, NONE, NONE) X(HOST, R, cudaDeviceReset, _v3020, 164, NONE, NONE)     \
    X(HOST, R, cudaInitDevice, _v12000, 444, NONE, NONE) X(HOST, R, cudaMalloc, _v3020, 20, NONE, NONE)              \
    X(HOST, R, cudaMallocPitch, _v3020, 21, NONE, NONE) X(HOST, R, cudaMalloc3D, _v3020, 140, NONE, NONE)            \
    X(HOST, R, cudaMallocArray, _v3020, 23, NONE, NONE) X(HOST, R, cudaMalloc3DArray, _v3020, 141, NONE, NONE)       \
    X(HOST, R, cudaMallocHost, _v3020, 25, NONE, NONE) X(HOST, R, cudaHostAlloc, _v3020, 27, NONE, NONE)             \
    X(HOST, R, cudaMallocManaged, _v6000, 206, NONE, NONE) X(HOST, R, cudaMallocAsync, _v11020, 373, NONE, NONE)     \
    X(HOST, R, cudaMallocAsync, _ptsz_v11020, 374, NONE, NONE)                                                       \
    X(HOST, R, cudaMallocFromPoolAsync, _v11020, 391, NONE, NONE)                                                    \
    X(HOST, R, cudaMallocFromPoolAsync, _ptsz_v11020, 392, NONE, NONE)                                               \
    X(HOST, R, cudaFree, _v3020, 22, NONE, NONE) X(HOST, R, cudaFreeArray, _v3020, 24, NONE, NONE)                   \
    X(HOST, R, cudaFreeHost, _v3020, 26, NONE, NONE) X(HOST, R, cudaFreeAsync, _v11020, 375, NONE, NONE)             \
    X(HOST, R, cudaFreeAsync, _ptsz_v11020, 376, NONE, NONE)                                                         \
    X(HOST, R, cudaHostRegister, _v4000, 152, NONE, NONE)                                                            \
    X(HOST, R, cudaHostUnregister, _v4000, 153, NONE, NONE)                                                          \
    X(HOST, R, cudaMemPrefetchAsync, _v8000, 252, NONE, NONE)                                                        \
    X(HOST, R, cudaMemPrefetchAsync, _ptsz_v8000, 253, NONE, NONE)                                                   \
    X(HOST, R, cudaMemPrefetchAsync, _v12020, 449, NONE, NONE)                                                       \
    X(HOST, R, cudaMemPrefetchAsync, _ptsz_v12020, 450, NONE, NONE)                                                  \
    X(HOST, R, cudaIpcOpenMemHandle, _v4010, 179, NONE, NONE)                                                        \
    X(HOST, R, cudaStreamCreate, _v3020, 129, NONE, NONE)                                                            \
    X(HOST, R, cudaStreamCreateWithFlags, _v5000, 198, NONE, NONE)                                                   \
    X(HOST, R, cudaStreamCreateWithPriority, _v5050, 202, NONE, NONE)                                                \
    X(HOST, R, cudaStreamDestroy, _v3020, 130, NONE, NONE)                                                           \
    X(HOST, R, cudaStreamDestroy, _v5050, 201, NONE, NONE)                                                           \
    X(HOST, R, cudaGraphInstantiate, _v10000, 310, NONE, NONE)                                                       \
    X(HOST, R, cudaGraphInstantiate, _v12000, 443, NONE, NONE)                                                       \
    X(HOST, R, cudaGraphInstantiateWithFlags, _v11040, 418, NONE, NONE)                                              \
    X(HOST, R, cudaGraphInstantiateWithParams, _v12000, 436, NONE, NONE)                                             \
    X(HOST, R, cudaGraphInstantiateWithParams, _ptsz_v12000, 437, NONE, NONE)                                        \
    X(HOST, R, cudaGraphExecUpdate, _v10020, 335, NONE, NONE)                                                        \
    X(HOST, R, cudaGraphExecDestroy, _v10000, 313, NONE, NONE)                                                       \
    X(HOST, R, cudaGraphUpload, _v10000, 348, NONE, NONE)                                                            \
    X(HOST, R, cudaGraphUpload, _ptsz_v10000, 349, NONE, NONE)                                                       \
    X(HOST, R, cudaLibraryLoadData, _v12060, 470, NONE, NONE)                                                        \
    X(HOST, R, cudaLibraryLoadFromFile, _v12060, 471, NONE, NONE)                                                    \
    X(HOST, R, cudaLibraryUnload, _v12060, 472, NONE, NONE)                                                          \
    X(HOST, R, cudaLaunchHostFunc, _v10000, 284, NONE, NONE)                                                         \
    X(HOST, R, cudaLaunchHostFunc, _ptsz_v10000, 285, NONE, NONE)                                                    \
    X(HOST, R, cudaStreamAddCallback, _v5000, 197, NONE, NONE)                                                       \
    X(HOST, R, cudaStreamAddCallback, _ptsz_v7000, 248, NONE, NONE)
/* clang-format on */

#endif
