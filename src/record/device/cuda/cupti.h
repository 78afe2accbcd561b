/* SPDX-License-Identifier: BSD-3-Clause */
/* What the back-end needs of CUDA's and CUPTI's headers, declared here, so that it is built on
 * machines without them: those headers may not be handed on. Numbers and layouts are facts of
 * CUDA 12 and 13 on 64-bit machines. NVIDIA lengthens its structures at their ends and changes
 * nothing before. against_headers.c compares all of it with the headers, where these are. */
#ifndef LULL_RECORD_DEVICE_CUDA_CUPTI_H
#define LULL_RECORD_DEVICE_CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

typedef struct cuda_context_object *cuda_context;
typedef struct cuda_stream_object *cuda_stream;
typedef struct cupti_subscriber_object *cupti_subscriber;

enum {
    CUPTI_OK = 0,
    CUPTI_END_OF_BUFFER = 12,
    CUPTI_TAKEN = 39,           /* there is a subscriber, and there can be one only */
    CUPTI_VERSION_OF_NULL = 27, /* from CUDA 12.9 on CUPTI bears that no buffer is given to it */
    CUPTI_VERSION_NOT_KNOWN = 140000, /* and later ones: that of CUDA 14 */
    CUPTI_FLUSH_FORCED = 1,           /* also records of what has not ended */
    CUPTI_ZEROED_BUFFERS = 5,         /* an attribute: buffers are given zeroed */
    CUPTI_ENTER = 0,                  /* sites of callbacks */
    CUPTI_EXIT = 1,
    CUPTI_DRIVER = 1, /* domains of callbacks */
    CUPTI_RUNTIME = 2,
    CUPTI_RESOURCE = 3,
    CUPTI_CONTEXT_ENDS = 2, /* callbacks of resources */
    CUPTI_STREAM_ENDS = 4,
    CUPTI_OLD_NAME = 64 /* bytes of the name of another subscriber */
};

/* Kinds of records. */
enum {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_KERNEL =
        3, /* CUPTI may say this of a kernel whose records were asked for as the next kind */
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY_PEER = 22,
    CUPTI_MIGRATION = 25 /* and other events of managed memory */
};

/* What a record of managed memory tells. The processor is CUPTI_PROCESSOR as a device. */
enum {
    CUPTI_MIGRATED_TO = 1, /* the device; the next one: from there */
    CUPTI_MIGRATED_FROM = 2,
    CUPTI_MIGRATED_WITHIN = 8,
    CUPTI_ALL_DEVICES = 2 /* a scope */
};
#define CUPTI_PROCESSOR UINT32_MAX

/* Kinds of overhead that CUPTI has for its own sake: it fills and hands over buffers, changes
 * code, makes room. */
enum {
    CUPTI_BUFFER_FLUSH = 1 << 16,
    CUPTI_INSTRUMENTATION = 2 << 16,
    CUPTI_OWN_RESOURCE = 3 << 16,
    CUPTI_COMMAND_BUFFER_FULL = 6 << 16, /* of the driver; its record leads to memory of malloc's */
    CUPTI_BUFFER_REQUEST = 7 << 16,
    CUPTI_UNIFIED_MEMORY = 8 << 16,
    CUPTI_VERSION_OF_OVERHEAD_DATA = 130000 /* from here on it is known to */
};

/* Directions of copies: H host, D device, A array on a device, P devices to each other. */
enum {
    CUPTI_HTOD = 1,
    CUPTI_DTOH,
    CUPTI_HTOA,
    CUPTI_ATOH,
    CUPTI_ATOA,
    CUPTI_ATOD,
    CUPTI_DTOA,
    CUPTI_DTOD,
    CUPTI_HTOH,
    CUPTI_PTOP
};
enum {
    CUDA_DEVICE_TO_HOST = 2 /* enum cudaMemcpyKind */,
    CUDA_CAPTURES = 1 /* status of a stream */
};

/* Beginnings of records. Times are in ns. */
struct cupti_kernel {
    uint32_t kind;
    unsigned char configuration[12];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    unsigned char sizes[36];
    uint32_t memory, correlation;
    int64_t grid;
    const char *name;
};
struct cupti_memcpy { /* memory is copied within a device, or from or to it */
    uint32_t kind;
    uint8_t direction, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation;
};
struct cupti_memcpy_peer { /* between devices */
    uint32_t kind;
    uint8_t direction, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
};
struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};
struct cupti_migration {
    uint32_t kind, what;
    uint64_t bytes, start, end, address;
    uint32_t from, to; /* devices */
};
struct cupti_migration_wish {
    uint32_t scope, what, device, enable;
};
struct cupti_overhead {
    uint32_t kind, what, object_kind, object[3];
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data; /* from CUPTI_VERSION_OF_OVERHEAD_DATA on */
};

/* What a callback of an API's function is given. */
struct cupti_call {
    uint32_t site;
    const char *function;
    const void *arguments;
    void *result; /* int; at the end */
    const char *symbol;
    cuda_context context;
    uint32_t context_id;
    uint64_t *shared;
    uint32_t correlation;
};

struct cupti_subscription {
    size_t size; /* of this structure */
    const char *name;
    char *old_name; /* CUPTI_OLD_NAME bytes for the name of who has subscribed before */
    size_t old_size;
};

typedef void cupti_callback(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void cupti_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most);
typedef void cupti_complete(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);
typedef uint64_t cupti_timestamp(void);

/* Functions of CUPTI without which nothing is recorded, and those that may be missing. */
/* clang-format off */
#define CUPTI_NEEDED(X)                                                                            \
    X(cuptiGetVersion, (uint32_t *ret_version))                                                    \
    X(cuptiSubscribe, (cupti_subscriber *ret_subscriber, cupti_callback *callback, void *user))    \
    X(cuptiUnsubscribe, (cupti_subscriber subscriber))                                             \
    X(cuptiEnableCallback, (uint32_t enable, cupti_subscriber s, uint32_t domain, uint32_t id))    \
    X(cuptiActivityRegisterCallbacks, (cupti_request *request, cupti_complete *complete))          \
    X(cuptiActivityEnable, (uint32_t kind))                                                        \
    X(cuptiActivityFlushAll, (uint32_t flag))                                                      \
    X(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid, void **record))                  \
    X(cuptiActivityGetNumDroppedRecords, (cuda_context context, uint32_t stream, size_t *ret_n))   \
    X(cuptiGetStreamIdEx, (cuda_context context, cuda_stream stream, uint8_t per_thread, uint32_t *ret_id)) \
    X(cuptiGetContextId, (cuda_context context, uint32_t *ret_id))                                 \
    X(cuptiGetDeviceId, (cuda_context context, uint32_t *ret_id))                                  \
    X(cuptiGetTimestamp, (uint64_t *ret_ns))
#define CUPTI_OPTIONAL(X)                                                                          \
    X(cuptiSubscribe_v2, (cupti_subscriber *ret_subscriber, cupti_callback *callback, void *user,  \
                          struct cupti_subscription *about))                                       \
    X(cuptiActivityRegisterTimestampCallback, (cupti_timestamp *timestamp))                        \
    X(cuptiActivitySetAttribute, (uint32_t attribute, size_t *size, void *value))                  \
    X(cuptiActivityDisable, (uint32_t kind))                                                       \
    X(cuptiActivityConfigureUnifiedMemoryCounter,                                                  \
      (const struct cupti_migration_wish *wishes, uint32_t n))                                     \
    X(cuptiGetResultString, (int result, const char **ret_text))
/* Functions of the driver. All of them may be missing. */
#define CUDA_ASKED(X)                                                                              \
    X(cuDriverGetVersion, (int *ret_version))                                                      \
    X(cuDeviceGet, (int *ret_device, int ordinal))                                                 \
    X(cuDeviceGetName, (char *ret_name, int size, int device))                                     \
    X(cuDeviceGetPCIBusId, (char *ret_id, int size, int device))                                   \
    X(cuDeviceGetUuid, (unsigned char *ret_uuid, int device))                                      \
    X(cuDeviceGetUuid_v2, (unsigned char *ret_uuid, int device))                                   \
    X(cuStreamGetCtx, (cuda_stream stream, cuda_context *ret_context))                             \
    X(cuStreamGetPriority, (cuda_stream stream, int *ret_priority))                                \
    X(cuStreamIsCapturing, (cuda_stream stream, int *ret_status))                                  \
    X(cuStreamIsCapturing_ptsz, (cuda_stream stream, int *ret_status))
/* clang-format on */

#endif
