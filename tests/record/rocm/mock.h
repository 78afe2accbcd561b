/* A mock of ROCm: libamdhip64.so.7 (mock_hip.c) with two devices that are a clock and a random number, librocprofiler-register.so.0
 * (mock_register.c), and librocprofiler-sdk.so.1 (mock_sdk.c) with the layouts and numbers of rocprofiler-sdk 1, which are
 * written down here apart from what the recorder declares.
 *
 * MOCK, words between commas, says what is odd:
 *
 *     seed:N        of all that is random
 *     small         records are handed over a few at a time
 *     shuffle       in any order
 *     eager         a record is handed over before the call returns that has submitted its operation
 *     worker        always by a thread of rocprofiler-sdk, also where a thread has asked for it
 *     set-inside    the stream is told within the call of HIP; else around it
 *     other-ids     functions have other numbers, and arguments more space, as in another version
 *     foreign       some operations have the id of no call
 *     drops         records are dropped now and then
 *     odd-times     times are 0, or an hour wrong, now and then
 *     late          records are handed over when the process has nearly ended, and not before
 *     partition     the devices are parts of one card
 *     version-0, version-2   rocprofiler-sdk has another version
 *     conflict      another tool has what is asked for
 *     lacks         a function is not there
 *     no-sdk        librocprofiler-sdk is not there
 *     killed        truth is on disk before records are handed over, and again when they have been
 *
 * MOCK_TRUTH names a file, to which lines are written as in ../cuda/mock.h; a context is a device. */
#ifndef MOCK_H
#define MOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int result;
typedef struct stream *stream_t;
typedef struct event *event_t;
typedef struct graph *graph_t;
typedef struct function *function_t;

enum { ENTER = 1, EXIT = 2 };
enum { DISPATCH, COPY };
enum { HOST_TO_HOST = 1, HTOD, DTOH, DTOD }; /* of rocprofiler-sdk */
enum { HIP_HTOD = 1, HIP_DTOH, HIP_DTOD };   /* of HIP */
enum { DEVICES = 2, FIRST_AGENT = 100, CPU_AGENT = 99 };

struct operation {
    unsigned kind, direction, device;
    uint64_t correlation, thread, queue, kernel, bytes, begin, end;
    long number;
};

/* What librocprofiler-sdk has libamdhip64 call. */
struct hooks {
    void (*call)(const char *name, unsigned phase, uint64_t correlation, const void *arguments,
                 size_t bytes, result value);
    void (*stream)(unsigned phase, uint64_t id, const void *handle);
    void (*submission)(unsigned phase, const struct operation *operation);
    void (*operation)(const struct operation *operation);
    void (*symbol)(uint64_t kernel, const char *name);
    bool (*attached)(void);
};
extern struct hooks mock_hooks;

bool mock_is(const char *word);
uint64_t mock_random(uint64_t below);
uint64_t mock_now(void);
void mock_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mock_flush_truth(void);
bool mock_attached(void); /* somebody has records made of kernels */

/* librocprofiler-register: loads rocprofiler-sdk where there is a tool. */
void mock_register(void);
/* librocprofiler-sdk: loads the tools. */
void mock_start(void);

/* HIP, as far as the programs use it. */
struct dim {
    unsigned x, y, z;
};
result hipInit(unsigned flags);
result hipSetDevice(int device);
result hipMalloc(void **memory, size_t bytes);
result hipFree(void *memory);
result hipStreamCreate(stream_t *stream);
result hipStreamDestroy(stream_t stream);
result hipStreamSynchronize(stream_t stream);
result hipDeviceSynchronize(void);
result hipStreamBeginCapture(stream_t stream, int mode);
result hipStreamEndCapture(stream_t stream, graph_t *graph);
result hipGraphInstantiate(graph_t *executable, graph_t graph, void *node, char *log, size_t size);
result hipGraphLaunch(graph_t executable, stream_t stream);
result hipEventCreate(event_t *event);
result hipEventDestroy(event_t event);
result hipEventRecord(event_t event, stream_t stream);
result hipEventSynchronize(event_t event);
result hipStreamWaitEvent(stream_t stream, event_t event, unsigned flags);
result hipModuleGetFunction(function_t *function, void *module, const char *name);
result hipLaunchKernel(const void *function, struct dim grid, struct dim block, void **arguments,
                       size_t shared, stream_t stream);
result hipModuleLaunchKernel(function_t function, unsigned gx, unsigned gy, unsigned gz,
                             unsigned bx, unsigned by, unsigned bz, unsigned shared,
                             stream_t stream, void **arguments, void **extra);
result hipMemcpy(void *to, const void *from, size_t bytes, int kind);
result hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream);
result hipMemsetAsync(void *memory, int value, size_t bytes, stream_t stream);

#endif
