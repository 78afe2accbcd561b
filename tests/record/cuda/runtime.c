/* The runtime of the mock, a part of the program as nvcc links it by default: each function tells libcupti that it is
 * called, and calls the driver. */
#include "mock.h"

#define BEGIN(function, number, ...)                                                    \
    const struct {                                                                      \
        __VA_ARGS__                                                                     \
    } arguments = ARGUMENTS;                                                            \
    struct call call = {                                                                \
        .domain = RUNTIME, .id = (number), .name = #function, .arguments = &arguments}; \
    mock_enter(&call)
#define END(value) return mock_leave(&call, (value))

result cudaMalloc(void **memory, size_t bytes)
{
#define ARGUMENTS {memory, bytes}
    BEGIN(cudaMalloc, 20, void **memory; size_t bytes;);
#undef ARGUMENTS
    END(cuMemAlloc_v2((device_memory *)memory, bytes));
}

result cudaFree(void *memory)
{
#define ARGUMENTS {memory}
    BEGIN(cudaFree, 22, void *memory;);
#undef ARGUMENTS
    END(cuMemFree_v2((device_memory)memory));
}

result cudaLaunchKernel(const void *function, const unsigned grid[3], const unsigned block[3],
                        void **list, size_t shared, stream_t stream)
{
#define ARGUMENTS \
    {function, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, list, shared, stream}
    BEGIN(cudaLaunchKernel, 211, const void *function; unsigned grid[3], block[3]; void **list;
          size_t shared; stream_t stream;);
#undef ARGUMENTS
    END(cuLaunchKernel((function_t)(uintptr_t)function, grid[0], grid[1], grid[2], block[0],
                       block[1], block[2], (unsigned)shared, stream, list, NULL));
}

result cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
#define ARGUMENTS {to, from, bytes, kind}
    BEGIN(cudaMemcpy, 31, void *to; const void *from; size_t bytes; int kind;);
#undef ARGUMENTS
    END(kind == HTOD ? cuMemcpyHtoD_v2((device_memory)to, from, bytes)
                     : cuMemcpyDtoH_v2(to, (device_memory)from, bytes));
}

result cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream)
{
#define ARGUMENTS {to, from, bytes, kind, stream}
    BEGIN(cudaMemcpyAsync, 41, void *to; const void *from; size_t bytes; int kind;
          stream_t stream;);
#undef ARGUMENTS
    END(kind == HTOD ? cuMemcpyHtoDAsync_v2((device_memory)to, from, bytes, stream)
        : kind == DTOH
            ? cuMemcpyDtoHAsync_v2(to, (device_memory)from, bytes, stream)
            : cuMemcpyDtoDAsync_v2((device_memory)to, (device_memory)from, bytes, stream));
}

result cudaMemsetAsync(void *memory, int value, size_t bytes, stream_t stream)
{
#define ARGUMENTS {memory, value, bytes, stream}
    BEGIN(cudaMemsetAsync, 51, void *memory; int value; size_t bytes; stream_t stream;);
#undef ARGUMENTS
    END(cuMemsetD8Async((device_memory)memory, (unsigned char)value, bytes, stream));
}

result cudaStreamCreateWithPriority(stream_t *stream, unsigned flags, int priority)
{
#define ARGUMENTS {stream, flags, priority}
    BEGIN(cudaStreamCreateWithPriority, 202, stream_t * stream; unsigned flags; int priority;);
#undef ARGUMENTS
    END(cuStreamCreateWithPriority(stream, flags, priority));
}

result cudaStreamSynchronize(stream_t stream)
{
#define ARGUMENTS {stream}
    BEGIN(cudaStreamSynchronize, 131, stream_t stream;);
#undef ARGUMENTS
    END(cuStreamSynchronize(stream));
}

result cudaDeviceSynchronize(void)
{
    struct call call = {.domain = RUNTIME, .id = 165, .name = "cudaDeviceSynchronize"};
    mock_enter(&call);
    END(cuCtxSynchronize());
}

result cudaEventRecord(event_t event, stream_t stream)
{
#define ARGUMENTS {event, stream}
    BEGIN(cudaEventRecord, 135, event_t event; stream_t stream;);
#undef ARGUMENTS
    END(cuEventRecord(event, stream));
}

result cudaStreamWaitEvent(stream_t stream, event_t event, unsigned flags)
{
#define ARGUMENTS {stream, event, flags}
    BEGIN(cudaStreamWaitEvent, 147, stream_t stream; event_t event; unsigned flags;);
#undef ARGUMENTS
    END(cuStreamWaitEvent(stream, event, flags));
}

result cudaGraphLaunch(graph_t executable, stream_t stream)
{
#define ARGUMENTS {executable, stream}
    BEGIN(cudaGraphLaunch, 311, graph_t executable; stream_t stream;);
#undef ARGUMENTS
    END(cuGraphLaunch(executable, stream));
}
