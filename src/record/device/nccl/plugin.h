/* SPDX-License-Identifier: BSD-3-Clause */
/* What the back-end needs of NCCL's interface for profilers, versions 3 to 6, declared here: NCCL has no
 * header for it, and asks plug-ins to bring declarations of their own. Places and numbers are those of NCCL
 * 2.26 (version 3) to 2.30 (version 6) on 64-bit machines. Of each struct only what comes before the first
 * unused end is declared: NCCL makes it, and it may be longer. */
#ifndef LULL_RECORD_DEVICE_NCCL_PLUGIN_H
#define LULL_RECORD_DEVICE_NCCL_PLUGIN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { NCCL_SUCCESS = 0 };

/* Kinds of events; a plug-in asks for those whose bits it sets. */
enum { NCCL_COLLECTIVE = 1 << 1, NCCL_POINT_TO_POINT = 1 << 2, NCCL_KERNEL_CHANNEL = 1 << 6 };

enum { NCCL_KERNEL_CHANNEL_STOP = 22 }; /* a state of such an event */

struct nccl_collective_3 {
    const char *name;
    uint64_t communicator, sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *type;
    uint8_t most_channels, warps;
    const char *algorithm, *protocol;
};

struct nccl_point_to_point_3 {
    const char *name;
    uint64_t communicator;
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
};

struct nccl_collective_4 {
    uint64_t sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct nccl_point_to_point_4 {
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
};

struct nccl_kernel_channel_4 {
    uint8_t channel;
    uint64_t time; /* ns of the device's clock */
};

/* What an event that starts is. Versions 3 and 4 have 8 bits for the kind, 5 and 6 have 64. */
struct nccl_event_3 {
    uint8_t kind;
    void *parent; /* what the plug-in has called the event to which it belongs */
    int rank;
    union {
        struct nccl_collective_3 collective;
        struct nccl_point_to_point_3 point_to_point;
    };
};

struct nccl_event_4 {
    union {
        uint8_t kind_8;
        uint64_t kind_64;
    };
    void *parent;
    int rank;
    union {
        struct nccl_collective_4 collective;
        struct nccl_point_to_point_4 point_to_point;
        struct nccl_kernel_channel_4 kernel_channel;
    };
};

static_assert(sizeof(void *) != 8 || offsetof(struct nccl_event_3, collective.protocol) == 112,
              "v3");
static_assert(sizeof(void *) != 8 || offsetof(struct nccl_event_3, point_to_point.peer) == 72,
              "v3");
static_assert(sizeof(void *) != 8 || offsetof(struct nccl_event_4, collective.protocol) == 96,
              "v4");
static_assert(sizeof(void *) != 8 || offsetof(struct nccl_event_4, point_to_point.channels) == 60,
              "v4");
static_assert(sizeof(void *) != 8 || offsetof(struct nccl_event_4, kernel_channel.time) == 32,
              "v4");

/* More of a state than its number; version 3 tells no time. */
union nccl_state {
    struct {
        uint64_t time; /* of the end of a kernel channel: ns of the device's clock */
    } kernel_channel;
};

/* `context` stands for a communicator. The functions return NCCL_SUCCESS. */
struct nccl_profiler_3 {
    const char *name;
    int (*init)(void **context, int *kinds);
    int (*start)(void *context, void **event, struct nccl_event_3 *what);
    int (*stop)(void *event);
    int (*state)(void *event, int state, union nccl_state *what);
    int (*finalize)(void *context);
};

struct nccl_profiler_4 {
    const char *name;
    int (*init)(void **context, int *kinds, const char *name, uint64_t communicator, int nodes,
                int ranks, int rank, void (*log)(void));
    int (*start)(void *context, void **event, struct nccl_event_4 *what);
    int (*stop)(void *event);
    int (*state)(void *event, int state, union nccl_state *what);
    int (*finalize)(void *context);
};

/* Also version 6. */
struct nccl_profiler_5 {
    const char *name;
    int (*init)(void **context, uint64_t communicator, int *kinds, const char *name, int nodes,
                int ranks, int rank, void (*log)(void));
    int (*start)(void *context, void **event, struct nccl_event_4 *what);
    int (*stop)(void *event);
    int (*state)(void *event, int state, union nccl_state *what);
    int (*finalize)(void *context);
};

#endif
