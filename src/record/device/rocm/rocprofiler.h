/* SPDX-License-Identifier: BSD-3-Clause */
/* What the back-end needs of rocprofiler-sdk's headers, declared here, so that it is built on machines
 * without them. Numbers and layouts are facts of version 1 (ROCm 7), for 64-bit machines; version 0
 * had other ones. Kinds and functions have other numbers in each version: they are looked up by their
 * names. Handles are structures of one 64-bit number there, which are passed as such a number. */
#ifndef LULL_RECORD_DEVICE_ROCM_ROCPROFILER_H
#define LULL_RECORD_DEVICE_ROCM_ROCPROFILER_H

#include <stddef.h>
#include <stdint.h>

enum {
    ROCPROFILER_VERSION = 1, /* the major one */
    ROCPROFILER_OK = 0,
    ROCPROFILER_ENTER = 1, /* phases of callbacks */
    ROCPROFILER_EXIT = 2,
    ROCPROFILER_LOSSLESS =
        2, /* policy of a buffer: records wait while both of its halves are full */
    ROCPROFILER_RECORDS = 1, /* category of records of tracing */
    ROCPROFILER_AGENTS = 1,  /* version of struct rocprofiler_agent */
    ROCPROFILER_GPU = 2      /* type of an agent */
};

/* Operations of kinds of callbacks. */
enum { ROCPROFILER_STREAM_SET = 3, ROCPROFILER_ENQUEUE = 1, ROCPROFILER_KERNEL_SYMBOL = 2 };

/* Directions of copies. */
enum {
    ROCPROFILER_HOST_TO_HOST = 1,
    ROCPROFILER_HOST_TO_DEVICE,
    ROCPROFILER_DEVICE_TO_HOST,
    ROCPROFILER_DEVICE_TO_DEVICE
};

/* What a callback is told. */
struct rocprofiler_callback_record {
    uint64_t context, thread;
    uint64_t correlation, external, ancestor;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
};

/* Payload of HIP's calls: the arguments as in a structure, behind them, at the end, the result in
 * ROCPROFILER_RESULT bytes. How many bytes arguments have differs between versions. */
struct rocprofiler_hip_call {
    uint64_t size; /* of the whole */
    unsigned char arguments[];
};
enum { ROCPROFILER_RESULT = 24 };

/* Payload of a change of the thread's stream, and of a kernel of loaded code. */
struct rocprofiler_stream {
    uint64_t size, id;
};
struct rocprofiler_symbol {
    uint64_t size, kernel, code_object;
    const char *name;
};

/* A kernel and a copy: payloads of callbacks, where times are 0 before the end, and within records. */
struct rocprofiler_dispatch {
    uint64_t size, agent, queue, kernel, number;
};
struct rocprofiler_dispatch_call {
    uint64_t size, start, end;
    struct rocprofiler_dispatch dispatch;
};
struct rocprofiler_copy_call {
    uint64_t size, start, end, to, from, bytes;
};

/* Beginnings of records. Times are in ns. */
struct rocprofiler_record {
    uint64_t size;
    uint32_t kind;
    int32_t operation;
    uint64_t correlation, external, thread, start, end;
};
struct rocprofiler_dispatch_record {
    struct rocprofiler_record record;
    struct rocprofiler_dispatch dispatch;
};
struct rocprofiler_copy_record {
    struct rocprofiler_record record;
    uint64_t to, from, bytes;
};
struct rocprofiler_header {
    uint32_t category, kind;
    void *record;
};

/* The beginning of what is known of a device or processor. `place` has the bus in bits 8 to 15, the
 * device in 3 to 7, the function in 0 to 2. */
struct rocprofiler_agent {
    uint64_t size, id;
    uint32_t type, counts[21];
    uint16_t vendor, model;
    uint32_t place, domain, more[15];
    uint64_t memory, hive, gpu;
    uint32_t limits[6];
    const void *parts[3];
    const char *name, *vendor_name, *product_name, *model_name;
    uint32_t node;
};

struct rocprofiler_client {
    const char *name;
    uint32_t handle;
};
struct rocprofiler_tool {
    size_t size;
    int (*initialize)(void (*finish)(struct rocprofiler_client client), void *data);
    void (*finalize)(void *data);
    void *data;
};

typedef void rocprofiler_callback(struct rocprofiler_callback_record record, uint64_t *user,
                                  void *data);
typedef void rocprofiler_deliver(uint64_t context, uint64_t buffer,
                                 struct rocprofiler_header **headers, size_t n, void *data,
                                 uint64_t dropped);
typedef int rocprofiler_see_kind(uint32_t kind, void *data);
typedef int rocprofiler_see_operation(uint32_t kind, int32_t operation, void *data);
typedef int rocprofiler_see_agents(uint32_t version, const void **agents, size_t n, void *data);

/* Functions without which nothing is recorded. */
/* clang-format off */
#define ROCPROFILER_NEEDED(X)                                                                      \
    X(rocprofiler_create_context, (uint64_t *ret_context))                                         \
    X(rocprofiler_start_context, (uint64_t context))                                               \
    X(rocprofiler_stop_context, (uint64_t context))                                                \
    X(rocprofiler_create_buffer, (uint64_t context, size_t size, size_t watermark, int policy,     \
                                  rocprofiler_deliver *deliver, void *data, uint64_t *ret_buffer)) \
    X(rocprofiler_flush_buffer, (uint64_t buffer))                                                 \
    X(rocprofiler_configure_callback_tracing_service,                                              \
      (uint64_t context, uint32_t kind, const int32_t *operations, size_t n,                       \
       rocprofiler_callback *callback, void *data))                                                \
    X(rocprofiler_configure_buffer_tracing_service,                                                \
      (uint64_t context, uint32_t kind, const int32_t *operations, size_t n, uint64_t buffer))     \
    X(rocprofiler_iterate_callback_tracing_kinds, (rocprofiler_see_kind *see, void *data))         \
    X(rocprofiler_query_callback_tracing_kind_name,                                                \
      (uint32_t kind, const char **ret_name, uint64_t *ret_length))                                \
    X(rocprofiler_iterate_callback_tracing_kind_operations,                                        \
      (uint32_t kind, rocprofiler_see_operation *see, void *data))                                 \
    X(rocprofiler_query_callback_tracing_kind_operation_name,                                      \
      (uint32_t kind, int32_t operation, const char **ret_name, uint64_t *ret_length))             \
    X(rocprofiler_iterate_buffer_tracing_kinds, (rocprofiler_see_kind *see, void *data))           \
    X(rocprofiler_query_buffer_tracing_kind_name,                                                  \
      (uint32_t kind, const char **ret_name, uint64_t *ret_length))                                \
    X(rocprofiler_query_available_agents,                                                          \
      (uint32_t version, rocprofiler_see_agents *see, size_t size, void *data))                    \
    X(rocprofiler_get_timestamp, (uint64_t *ret_ns))
/* clang-format on */

#endif
