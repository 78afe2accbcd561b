/* A mock of CUDA: libcuda.so.1 (mock_cuda.c) with a device that is a clock and a random number, and libcupti
 * (mock_cupti.c) with the layouts of CUDA 12 and 13. Numbers and offsets are those of NVIDIA's headers, written down here
 * apart from what the recorder declares; mock_cupti.c compares its sizes with the headers, where these are.
 *
 * MOCK, words between commas, says what is odd:
 *
 *     seed:N        of all that is random
 *     free          operations take no time
 *     sized         kernels of cuLaunchKernel take a microsecond for each block of the grid
 *     long          they take a millisecond and more, and an event happens when the next one begins, if there is one
 *     small         few records fit into a buffer
 *     shuffle       buffers are handed over in any order
 *     eager         a record is handed over before the call returns that has submitted its operation
 *     swap          records stand in pairs, the later one first; with an odd number the last one is never told
 *     worker        always by CUPTI's own thread, also where a thread has asked for it
 *     inner-ids     the driver's call within one of the runtime has an id of its own, by which its operation goes
 *     wrap          ids of calls are about to wrap
 *     foreign       some operations have ids of no call
 *     managed       kernels find some of their memory on the processor, or on another device; and other events of managed
 *                   memory are told
 *     no-managed    CUPTI does not tell of managed memory; old-managed: not of migrations between devices
 *     reuse         names of kernels stand at one address, as where code is unloaded and other code is loaded there: another
 *                   name in each buffer
 *     drops         records are dropped now and then
 *     overhead      CUPTI says again and again that it has taken 100 s
 *     starved       for a while nobody gives any more buffers, because there are too many, and records are dropped
 *     odd-times     times are 0, or an hour wrong, now and then
 *     late          the last records are handed over when the process has nearly ended
 *     busy-end      who asks for all records at the end computes for four seconds first, as if it had no core
 *     silent        who asks for all records at the end waits for ever
 *     no-clock      CUPTI keeps its own clock
 *     step          which is set an hour ahead after 10 operations
 *     taken         another tool has subscribed; taken-v1: and this version does not say who
 *     refuses       CUPTI cannot be used
 *     two-copies    the program has loaded libcupti of both versions
 *     no-device     cuInit finds no device
 *     mig           devices are parts of cards
 *     no-priority   the driver does not tell the priorities of streams
 *     driver-12     the driver is that of CUDA 12; driver-11: of CUDA 11; driver-14: of CUDA 14
 *     unknown       CUPTI says that its version is that of CUDA 14
 *     killed        truth is on disk before records are handed over, and again when they have been
 *
 * MOCK_TRUTH names a file, with a rank's number behind it under MPI, to which lines are written; threads have numbers in the order in which they call:
 *
 *     call THREAD CALL FUNCTION                a call of the program, CALL counted from 1 in the process
 *     stream STREAM PRIORITY                   a stream was made; those by default, of priority 0, have no line
 *     submit THREAD CALL CONTEXT STREAM        that call has submitted something
 *     op NUMBER CALL DEVICE CONTEXT STREAM REGION BYTES BEGIN END
 *                                              CALL 0: none; STREAM -200: none, memory is migrated
 *     overhead KIND NS                         CUPTI says that it has taken so much time for something (CUpti_ActivityOverheadKind
 *                                              is KIND << 16)
 *     foreign NUMBER                           its record names no call
 *     delivered NUMBER                         its record was handed over with these times
 *     lost NUMBER | dropped NUMBER             it was not, or without them; or there was no room for a record
 *     untold NUMBER                            nobody has asked for a record
 *     depend CALL OTHER                        what it has submitted begins behind what the other call did; 0: behind all
 *                                              that was submitted to its stream before
 *     wait THREAD CALL stream CONTEXT STREAM | context CONTEXT | call CALL     what the call has waited for */
#ifndef MOCK_H
#define MOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef int result;
typedef struct context *context_t;
typedef struct stream *stream_t;
typedef struct event *event_t;
typedef struct graph *graph_t;
typedef struct function *function_t;
typedef uint64_t device_memory;

enum { DRIVER = 1, RUNTIME = 2, RESOURCE = 3, ENTER = 0, EXIT = 1 };
enum { MEMCPY = 1, MEMSET = 2, KERNEL = 10, OVERHEAD = 17, MEMCPY_PEER = 22, MIGRATION = 25 };
enum { HTOD = 1, DTOH = 2, DTOD = 8, PTOP = 10 };

struct operation {
    unsigned kind, direction;
    uint32_t device, context, stream, correlation, runtime_correlation;
    uint64_t bytes, begin, end;
    const char *name;
    long number;
};

/* What libcupti has libcuda call. */
struct hooks {
    void (*call)(unsigned domain, unsigned id, unsigned site, const char *function,
                 const void *arguments, int *result, context_t context, uint32_t context_id,
                 uint64_t *shared, uint32_t correlation);
    void (*operation)(const struct operation *operation);
    void (*resource)(unsigned id);
    uint64_t (*now)(void);
    bool (*attached)(void);
};
extern struct hooks mock_hooks;

/* A call, by whoever makes it: begin and end of it are told to libcupti. */
struct call {
    unsigned domain, id;
    const char *name;
    const void *arguments;
    uint32_t correlation;
    uint64_t shared;
    long number;
    struct call *outer;
};
void mock_enter(struct call *call);
result mock_leave(struct call *call, result value);

bool mock_is(const char *word);
uint64_t mock_random(uint64_t below);
uint64_t mock_now(void);
void mock_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mock_flush_truth(void);
bool mock_attached(void);       /* somebody has records made */
void mock_renew(event_t event); /* as if it had been destroyed and made again */
int mock_descriptor(void);      /* of the file of truth; -1: there is none */
void mock_ids(context_t context, stream_t stream, bool per_thread, uint32_t *device,
              uint32_t *context_id, uint32_t *stream_id);

/* The driver's interface, as far as the programs use it. */
result cuInit(unsigned flags);
result cuDeviceGetCount(int *count);
result cuDevicePrimaryCtxRetain(context_t *context, int device);
result cuDevicePrimaryCtxReset_v2(int device);
result cuCtxSetCurrent(context_t context);
result cuCtxSynchronize(void);
result cuModuleGetFunction(function_t *function, void *module, const char *name);
result cuMemAlloc_v2(device_memory *memory, size_t bytes);
result cuMemFree_v2(device_memory memory);
result cuStreamCreate(stream_t *stream, unsigned flags);
result cuStreamCreateWithPriority(stream_t *stream, unsigned flags, int priority);
result cuStreamDestroy_v2(stream_t stream);
result cuStreamSynchronize(stream_t stream);
result cuStreamWaitEvent(stream_t stream, event_t event, unsigned flags);
result cuStreamBeginCapture_v2(stream_t stream, int mode);
result cuStreamEndCapture(stream_t stream, graph_t *graph);
result cuEventCreate(event_t *event, unsigned flags);
result cuEventDestroy_v2(event_t event);
result cuEventRecord(event_t event, stream_t stream);
result cuEventSynchronize(event_t event);
result cuEventElapsedTime(float *ms, event_t begin, event_t end);
result cuLaunchKernel(function_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, stream_t stream, void **arguments,
                      void **extra);
result cuLaunchKernel_ptsz(function_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                           unsigned by, unsigned bz, unsigned shared, stream_t stream,
                           void **arguments, void **extra);
struct launch_config {
    unsigned grid[3], block[3], shared;
    stream_t stream;
    void *attributes;
    unsigned n_attributes;
};
result cuLaunchKernelEx(const struct launch_config *config, function_t function, void **arguments,
                        void **extra);
result cuMemcpyHtoD_v2(device_memory to, const void *from, size_t bytes);
result cuMemcpyDtoH_v2(void *to, device_memory from, size_t bytes);
result cuMemcpyHtoDAsync_v2(device_memory to, const void *from, size_t bytes, stream_t stream);
result cuMemcpyDtoHAsync_v2(void *to, device_memory from, size_t bytes, stream_t stream);
result cuMemcpyDtoDAsync_v2(device_memory to, device_memory from, size_t bytes, stream_t stream);
result cuMemcpyPeerAsync(device_memory to, context_t to_context, device_memory from,
                         context_t from_context, size_t bytes, stream_t stream);
result cuMemsetD8Async(device_memory memory, unsigned char value, size_t bytes, stream_t stream);
result cuGraphInstantiateWithFlags(graph_t *executable, graph_t graph, unsigned long long flags);
result cuGraphLaunch(graph_t executable, stream_t stream);
result cuLaunchHostFunc(stream_t stream, void (*function)(void *data), void *data);

/* The runtime's, as a static library has it. */
result cudaMalloc(void **memory, size_t bytes);
result cudaFree(void *memory);
result cudaLaunchKernel(const void *function, const unsigned grid[3], const unsigned block[3],
                        void **arguments, size_t shared, stream_t stream);
result cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
result cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream);
result cudaMemsetAsync(void *memory, int value, size_t bytes, stream_t stream);
result cudaStreamCreateWithPriority(stream_t *stream, unsigned flags, int priority);
result cudaStreamSynchronize(stream_t stream);
result cudaDeviceSynchronize(void);
result cudaEventRecord(event_t event, stream_t stream);
result cudaStreamWaitEvent(stream_t stream, event_t event, unsigned flags);
result cudaGraphLaunch(graph_t executable, stream_t stream);

#endif
