/* A library that stands for NCCL, as far as its profiler plug-ins can tell: it asks for NCCL_PROFILER_PLUGIN, opens what
 * is named, and calls the interface of one version with operations that are known. The places of fields are those of
 * NCCL's own headers (plugins/profiler/example/nccl), as numbers of bytes on 64-bit machines. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COLLECTIVE = 2,
    POINT_TO_POINT = 4,
    PROXY = 8,
    KERNEL = 64,
    STOPPED = 22,
    MOST_CHANNELS = 4
};

/* All versions have these functions in this order; init differs. */
struct profiler {
    const char *name;
    void *init;
    int (*start)(void *context, void **event, void *what);
    int (*stop)(void *event);
    int (*state)(void *event, int state, void *arguments);
    int (*finalize)(void *context);
};

static const struct profiler *profiler;
static int version, rank;
static void *context;
static uint64_t communicator;
static unsigned char event[256];

static void put(unsigned at, const void *value, size_t size)
{
    memcpy(event + at, value, size);
}

#define PUT(at, type, value) put(at, &(type){value}, sizeof(type))

static void begin_event(unsigned kind, void *parent)
{
    memset(event, 0xa5, sizeof event); /* nobody may read what is not told */
    if (version <= 4)
        PUT(0, uint8_t, (uint8_t)kind);
    else
        PUT(0, uint64_t, kind);
    PUT(8, void *, parent);
    PUT(16, int, rank);
}

static void *start(void)
{
    void *handle = NULL;
    if (profiler->start(context, &handle, event) != 0)
        abort();
    return handle;
}

/* Launches a kernel, as NCCL does before it tells what the kernel carries out; NULL: there are none. */
static void (*launch)(const char *kernel);

static void launch_kernel_of(const char *function)
{
    char name[64];
    snprintf(name, sizeof name, "ncclDevKernel_%s_RING_LL", function);
    if (launch)
        launch(name);
}

static void *start_collective(const char *function, uint64_t sequence, size_t count,
                              const char *type, int root, unsigned channels)
{
    launch_kernel_of(function);
    begin_event(COLLECTIVE, NULL);
    if (version == 3) {
        PUT(24, const char *, "a name");
        PUT(32, uint64_t, communicator);
    }
    const unsigned at = version == 3 ? 40 : 24;
    PUT(at, uint64_t, sequence);
    PUT(at + 8, const char *, function);
    PUT(at + 32, size_t, count);
    PUT(at + 40, int, root);
    PUT(at + 48, const char *, type);
    PUT(at + 56, uint8_t, (uint8_t)(version == 3 ? 32 : channels)); /* a bound in version 3 */
    PUT(at + 64, const char *, "RING");
    PUT(at + 72, const char *, "LL");
    return start();
}

static void *start_message(const char *function, size_t count, const char *type, int peer)
{
    launch_kernel_of(function);
    begin_event(POINT_TO_POINT, NULL);
    if (version == 3) {
        PUT(24, const char *, "a name");
        PUT(32, uint64_t, communicator);
        PUT(40, const char *, function);
        PUT(56, const char *, type);
        PUT(64, size_t, count);
        PUT(72, int, peer);
    } else {
        PUT(24, const char *, function);
        PUT(40, const char *, type);
        PUT(48, size_t, count);
        PUT(56, int, peer);
        PUT(60, uint8_t, 1);
    }
    return start();
}

static void *start_kernel(void *parent, unsigned channel, uint64_t time)
{
    begin_event(KERNEL, parent);
    PUT(24, uint8_t, (uint8_t)channel);
    if (version > 3)
        PUT(32, uint64_t, time);
    return start();
}

/* Channels begin and end one after the other, of which the device's clock says that they lasted `ns` together. */
static void run(void *parent, unsigned channels, uint64_t ns)
{
    static uint64_t clock = 5000000000;
    void *kernels[MOST_CHANNELS];
    for (unsigned c = 0; c < channels; c++)
        kernels[c] = start_kernel(parent, c, clock + c);
    usleep(2000); /* longer than any `ns` */
    for (unsigned c = 0; c < channels; c++) {
        uint64_t arguments[4] = {clock + ns - (channels - 1 - c)};
        profiler->state(kernels[c], STOPPED, arguments);
        profiler->stop(kernels[c]);
    }
    clock += ns;
}

static int begin(const char *path)
{
    char name[32];
    int kinds = 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    profiler = library ? dlsym(library, name) : NULL;
    if (!profiler)
        return 0;
    if (version == 3)
        ((int (*)(void **, int *))profiler->init)(&context, &kinds);
    else if (version == 4)
        ((int (*)(void **, int *, const char *, uint64_t, int, int, int, void *))profiler->init)(
            &context, &kinds, "a name", communicator, 1, launch ? 1 : 2, rank, NULL);
    else
        ((int (*)(void **, uint64_t, int *, const char *, int, int, int, void *))profiler->init)(
            &context, communicator, &kinds, "a name", 1, launch ? 1 : 2, rank, NULL);
    return (kinds & (COLLECTIVE | POINT_TO_POINT | KERNEL)) ==
           (COLLECTIVE | POINT_TO_POINT | KERNEL);
}

/* As NCCL does for a communicator of two ranks: five AllReduce, a Broadcast, a message each way, and an AllReduce of
 * which the device never tells. With kernels it is a communicator of one rank, for which NCCL itself would launch none. */
__attribute__((visibility("default"))) void fake_nccl(int with_version, int as_rank, uint64_t as,
                                                      int with_broadcast,
                                                      void (*with_kernels)(const char *));
void fake_nccl(int with_version, int as_rank, uint64_t as, int with_broadcast,
               void (*with_kernels)(const char *))
{
    launch = with_kernels;
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *last = NULL;
    version = with_version;
    rank = as_rank;
    communicator = as;
    if (!path || !begin(path))
        return;
    for (unsigned i = 0; i < 5; i++) {
        last = start_collective("AllReduce", i, 1000 + i, "ncclFloat32", 0, 2);
        if (i % 2) { /* the device may be done before the host is told that all is submitted */
            run(last, 2, 100000 * (i + 1));
            profiler->stop(last);
        } else {
            profiler->stop(last);
            run(last, 2, 100000 * (i + 1));
        }
    }
    if (start_kernel(last, 3, 1) != NULL) /* too late: the operation is over */
        abort();
    begin_event(PROXY, NULL); /* for which nobody has asked */
    if (start() != NULL)
        abort();
    if (with_broadcast) {
        last = start_collective("Broadcast", 0, 64, "ncclBfloat16", 1, 1);
        profiler->stop(last);
        run(last, 1, 300000);
    }
    last = start_message(rank ? "Recv" : "Send", 256, "ncclInt8", 1 - rank);
    profiler->stop(last);
    run(last, 1, 200000);
    profiler->stop(start_collective("AllReduce", 5, 10, "ncclFloat64", 0, 2));
    profiler->finalize(context);
}
